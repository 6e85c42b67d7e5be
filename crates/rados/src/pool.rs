//! Objects of a pool, one call at a time.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_int};
use std::sync::Arc;

use rustix::io::Errno;

use crate::cluster::ClusterHandle;
use crate::connecting::GRACE;
use crate::error::{InvalidName, OpError, PoolError, errno_of};
use crate::library::{Handle, Rados};
use crate::time_limit;

/// `LIBRADOS_OPERATION_FULL_FORCE`: otherwise even a removal waits until a full pool has room.
const FULL_FORCE: c_int = 128;

/// The name of an object, ready to be passed to the library without a copy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName(CString);

impl ObjectName {
    /// Checks a name, which is bytes: not empty, and without a zero byte. An OSD also refuses names
    /// beyond 2048 bytes (`osd_max_object_name_len`).
    pub fn new(name: impl Into<Vec<u8>>) -> Result<ObjectName, InvalidName> {
        c_name("object name", name.into()).map(ObjectName)
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    pub(crate) fn as_c_str(&self) -> &CStr {
        &self.0
    }
}

pub(crate) fn c_name(kind: &'static str, name: Vec<u8>) -> Result<CString, InvalidName> {
    if name.is_empty() {
        return Err(InvalidName::Empty { kind });
    }
    CString::new(name).map_err(|error| {
        let name = String::from_utf8_lossy(&error.into_vec()).replace('\0', "\\0");
        InvalidName::ZeroByte { kind, name }
    })
}

/// One namespace of a pool.
///
/// Threads may share it. Each operation takes a lock of the library's handle for a moment, so many
/// threads do better with one pool each ([`Pool::reopen`]).
#[derive(Debug)]
pub struct Pool {
    context: Arc<IoContext>,
    name: String,
    /// Empty for the default namespace.
    namespace: CString,
}

/// A `rados_ioctx_t`.
#[derive(Debug)]
pub(crate) struct IoContext {
    cluster: Arc<ClusterHandle>,
    raw: Handle,
}

// SAFETY: librados's I/O contexts belong to no thread.
#[expect(unsafe_code, reason = "a handle of a thread-safe library")]
unsafe impl Send for IoContext {}
// SAFETY: librados permits concurrent operations on an I/O context. Only its settings (namespace,
// locator key, snapshot) must not change meanwhile; the one that is used here is changed through
// `&mut Pool`, and each operation copies it when it is submitted.
#[expect(unsafe_code, reason = "a handle of a thread-safe library")]
unsafe impl Sync for IoContext {}

impl IoContext {
    pub(crate) fn cluster(&self) -> &Arc<ClusterHandle> {
        &self.cluster
    }

    pub(crate) fn rados(&self) -> &'static Rados {
        self.cluster.rados()
    }

    pub(crate) fn raw(&self) -> Handle {
        self.raw
    }
}

#[expect(unsafe_code, reason = "calls the library")]
impl Drop for IoContext {
    fn drop(&mut self) {
        let functions = &self.rados().functions;
        // SAFETY: A live handle that nobody else refers to. Flushing waits for writes that are in
        // flight, each of which ends within its time limit.
        unsafe {
            (functions.rados_aio_flush)(self.raw);
            (functions.rados_ioctx_destroy)(self.raw);
        }
    }
}

#[expect(unsafe_code, reason = "calls the library")]
impl Pool {
    pub(crate) fn open(cluster: &Arc<ClusterHandle>, name: &str) -> Result<Pool, PoolError> {
        let c_name = c_name("pool name", name.into())?;
        Pool::created(cluster, name, move |rados, cluster, place| {
            // SAFETY: A live, connected handle, a C string, and a place for the result.
            unsafe { (rados.functions.rados_ioctx_create)(cluster, c_name.as_ptr(), place) }
        })
    }

    /// Opens the pool once more in the same namespace, for another thread. Sends nothing.
    pub fn reopen(&self) -> Result<Pool, PoolError> {
        let id = self.id();
        let mut pool =
            Pool::created(self.context.cluster(), &self.name, move |rados, cluster, place| {
                // SAFETY: A live, connected handle, and a place for the result.
                unsafe { (rados.functions.rados_ioctx_create2)(cluster, id, place) }
            })?;
        pool.use_namespace(self.namespace.clone());
        Ok(pool)
    }

    /// Creates the I/O context. For a pool that it does not know, librados asks the monitors for
    /// the latest map first, and waits for them for ever.
    fn created(
        cluster: &Arc<ClusterHandle>,
        name: &str,
        create: impl FnOnce(&Rados, Handle, *mut Handle) -> i32 + Send + 'static,
    ) -> Result<Pool, PoolError> {
        let limit = cluster.monitor_timeout() + GRACE;
        let cluster = Arc::clone(cluster);
        let created = time_limit::within(limit, move || {
            let mut raw = std::ptr::null_mut();
            match create(cluster.rados(), cluster.raw(), &raw mut raw) {
                0.. => Ok(IoContext { cluster, raw }),
                error => Err(errno_of(error as isize)),
            }
        });
        let name = name.to_owned();
        match created.unwrap_or(Err(Errno::TIMEDOUT)) {
            Ok(context) => {
                Ok(Pool { context: Arc::new(context), name, namespace: CString::default() })
            }
            Err(Errno::NOENT) => Err(PoolError::Missing(name)),
            Err(errno) => Err(PoolError::Call { name, errno }),
        }
    }

    /// The namespace; empty for the default one.
    pub fn namespace(&self) -> Cow<'_, str> {
        self.namespace.to_string_lossy()
    }

    /// Selects the namespace of everything that follows. Empty is the default one.
    pub fn set_namespace(&mut self, namespace: &str) -> Result<(), InvalidName> {
        let namespace = if namespace.is_empty() {
            CString::default()
        } else {
            c_name("namespace", namespace.into())?
        };
        self.use_namespace(namespace);
        Ok(())
    }

    fn use_namespace(&mut self, namespace: CString) {
        let set = self.context.rados().functions.rados_ioctx_set_namespace;
        // SAFETY: A live handle and a C string, which is copied. Nobody submits meanwhile, because
        // the pool is borrowed mutably, and others who own the context only keep it alive.
        unsafe { set(self.context.raw, namespace.as_ptr()) };
        self.namespace = namespace;
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the pool's number, the first part of its PGs' names.
    pub fn id(&self) -> i64 {
        // SAFETY: A live handle.
        unsafe { (self.context.rados().functions.rados_ioctx_get_id)(self.context.raw) }
    }

    pub(crate) fn context(&self) -> &Arc<IoContext> {
        &self.context
    }

    /// Writes bytes at an offset, and returns when they are durable on all replicas. Creates the
    /// object if necessary.
    pub fn write(&self, object: &ObjectName, bytes: &[u8], offset: u64) -> Result<(), OpError> {
        let write = self.context.rados().functions.rados_write;
        let name = object.as_c_str().as_ptr();
        // SAFETY: A live handle, a C string, and bytes with their length.
        let result =
            unsafe { write(self.context.raw, name, bytes.as_ptr().cast(), bytes.len(), offset) };
        done("write to the object", result).map(drop)
    }

    /// Replaces the whole content of an object, and returns when it is durable on all replicas.
    pub fn write_full(&self, object: &ObjectName, bytes: &[u8]) -> Result<(), OpError> {
        let write = self.context.rados().functions.rados_write_full;
        let name = object.as_c_str().as_ptr();
        // SAFETY: A live handle, a C string, and bytes with their length.
        let result = unsafe { write(self.context.raw, name, bytes.as_ptr().cast(), bytes.len()) };
        done("write the object", result).map(drop)
    }

    /// Reads bytes at an offset, and returns their number, which is smaller than that of the buffer
    /// at the object's end.
    pub fn read(
        &self,
        object: &ObjectName,
        buffer: &mut [u8],
        offset: u64,
    ) -> Result<usize, OpError> {
        let read = self.context.rados().functions.rados_read;
        let name = object.as_c_str().as_ptr();
        // SAFETY: A live handle, a C string, and a buffer with its length.
        let result = unsafe {
            read(self.context.raw, name, buffer.as_mut_ptr().cast(), buffer.len(), offset)
        };
        done("read the object", result)
    }

    /// Sets the size of an object. Creates it if necessary.
    pub fn truncate(&self, object: &ObjectName, size: u64) -> Result<(), OpError> {
        let truncate = self.context.rados().functions.rados_trunc;
        // SAFETY: A live handle and a C string.
        let result = unsafe { truncate(self.context.raw, object.as_c_str().as_ptr(), size) };
        done("truncate the object", result).map(drop)
    }

    /// Returns the size of an object in bytes, or `None` if it does not exist.
    pub fn size(&self, object: &ObjectName) -> Result<Option<u64>, OpError> {
        let mut size = 0;
        let stat = self.context.rados().functions.rados_stat;
        let (name, no_time) = (object.as_c_str().as_ptr(), std::ptr::null_mut());
        // SAFETY: A live handle, a C string, a place for the size, and none for the time, which
        // the library then leaves out.
        let result = unsafe { stat(self.context.raw, name, &raw mut size, no_time) };
        match done("look up the object", result) {
            Ok(_) => Ok(Some(size)),
            Err(error) if error.errno == Errno::NOENT => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Removes an object, also from a pool that is full. Returns whether it existed.
    pub fn remove(&self, object: &ObjectName) -> Result<bool, OpError> {
        let functions = &self.context.rados().functions;
        let (name, now) = (object.as_c_str().as_ptr(), std::ptr::null_mut());
        // SAFETY: A live handle, a C string, and an operation that is released once.
        let result = unsafe {
            let remove = (functions.rados_create_write_op)();
            (functions.rados_write_op_remove)(remove);
            let result =
                (functions.rados_write_op_operate)(remove, self.context.raw, name, now, FULL_FORCE);
            (functions.rados_release_write_op)(remove);
            result
        };
        match done("remove the object", result) {
            Ok(_) => Ok(true),
            Err(error) if error.errno == Errno::NOENT => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Lists the objects of the namespace, in no order. Asks each PG, so a pool of many objects
    /// takes long.
    pub fn objects(&self) -> Result<Vec<ObjectName>, OpError> {
        const ACTION: &str = "list the objects";
        let mut list = ObjectList { rados: self.context.rados(), raw: std::ptr::null_mut() };
        let functions = &list.rados.functions;
        // SAFETY: A live handle, and a place for the result.
        let result =
            unsafe { (functions.rados_nobjects_list_open)(self.context.raw, &raw mut list.raw) };
        done(ACTION, result)?;
        let mut found = Vec::new();
        loop {
            let (mut name, null) = (std::ptr::null(), std::ptr::null_mut());
            // SAFETY: An open list, and a place for the name; the library leaves out the others.
            let result = unsafe {
                (functions.rados_nobjects_list_next)(list.raw, &raw mut name, null, null)
            };
            match done(ACTION, result) {
                Ok(_) => {
                    // SAFETY: A C string that lives until the next call.
                    let name = unsafe { CStr::from_ptr(name) };
                    found.push(ObjectName(name.to_owned()));
                }
                // The end.
                Err(error) if error.errno == Errno::NOENT => return Ok(found),
                Err(error) => return Err(error),
            }
        }
    }
}

/// A list that is open.
struct ObjectList {
    rados: &'static Rados,
    /// Null if it could not be opened.
    raw: Handle,
}

#[expect(unsafe_code, reason = "calls the library")]
impl Drop for ObjectList {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: An open list.
            unsafe { (self.rados.functions.rados_nobjects_list_close)(self.raw) };
        }
    }
}

/// The number in a result, or its error.
fn done(action: &'static str, result: i32) -> Result<usize, OpError> {
    usize::try_from(result).map_err(|_| OpError { action, errno: errno_of(result as isize) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_neither_empty_nor_cut_at_a_zero_byte() {
        assert_eq!(ObjectName::new("a b").expect("a name").as_bytes(), b"a b");
        insta::assert_snapshot!(ObjectName::new("").expect_err("empty"), @"invalid object name: expected at least one character");
        insta::assert_snapshot!(ObjectName::new("a\0b").expect_err("zero"), @r"invalid object name `a\0b`: contains a zero byte");
    }
}
