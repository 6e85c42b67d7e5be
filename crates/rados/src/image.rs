//! A block device image (RBD).

use std::ffi::{CStr, c_char};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use crate::error::{ImageError, OpError, errno_of};
use crate::library::{Handle, RawImageInfo, RawWatcher, Rbd};
use crate::pool::{IoContext, Pool, c_name};

/// `RBD_FEATURE_EXCLUSIVE_LOCK` of rbd/features.h.
const FEATURE_EXCLUSIVE_LOCK: u64 = 1 << 2;

/// Limit of the requests for a list that grows meanwhile.
const ATTEMPTS_MAX: usize = 8;

/// Watchers to begin with.
const WATCHERS: usize = 16;

/// Bytes of a list of lockers to begin with.
const LOCKER_BYTES: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Registers no watch, so others do not see that the image is open.
    ReadOnly,
    ReadWrite,
}

/// An image that is open, and is closed when dropped.
///
/// Whether librbd caches was decided when the cluster was connected
/// ([`Access::rbd_cache`](crate::Access)). Threads may share an image. An image can be open twice
/// in a process, but its exclusive lock then passes back and forth.
#[derive(Debug)]
pub struct Image {
    handle: Arc<ImageHandle>,
    size: u64,
    object_size: u64,
    features: u64,
    stripe_unit: u64,
}

/// An `rbd_image_t`.
#[derive(Debug)]
pub(crate) struct ImageHandle {
    rbd: &'static Rbd,
    raw: Handle,
    pool: Arc<IoContext>,
}

// SAFETY: librbd's images belong to no thread, and it permits concurrent operations on them.
#[expect(unsafe_code, reason = "a handle of a thread-safe library")]
unsafe impl Send for ImageHandle {}
// SAFETY: As above.
#[expect(unsafe_code, reason = "a handle of a thread-safe library")]
unsafe impl Sync for ImageHandle {}

impl ImageHandle {
    pub(crate) fn rbd(&self) -> &'static Rbd {
        self.rbd
    }

    pub(crate) fn raw(&self) -> Handle {
        self.raw
    }

    pub(crate) fn osd_timeout(&self) -> Duration {
        self.pool.cluster().osd_timeout()
    }
}

#[expect(unsafe_code, reason = "calls the library")]
impl Drop for ImageHandle {
    fn drop(&mut self) {
        // Flushes the cache, releases the lock and the watch. An error has no receiver here; who
        // needs to know whether writes are durable has called `flush`.
        // SAFETY: A live handle that nobody else refers to.
        unsafe { (self.rbd.functions.rbd_close)(self.raw) };
    }
}

/// A client that has an image open for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watcher {
    /// Address and nonce, such as `10.0.0.1:0/1234`.
    pub address: String,
    /// The client's number: [`Cluster::instance_id`](crate::Cluster::instance_id) if it is this
    /// connection.
    pub client: u64,
    pub cookie: u64,
}

/// The holder of an image's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locker {
    /// Such as `client.4123`.
    pub client: String,
    /// Begins with `auto ` if it is the exclusive lock that librbd manages.
    pub cookie: String,
    pub address: String,
}

/// An image's lock and who holds it. A client that crashed still holds it, until another takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageLock {
    pub exclusive: bool,
    pub lockers: Vec<Locker>,
}

#[expect(unsafe_code, reason = "calls the library")]
impl Image {
    /// Opens an image of the pool's namespace. Takes no lock; librbd does that at the first write.
    pub fn open(pool: &Pool, name: &str, mode: OpenMode) -> Result<Image, ImageError> {
        let rbd = Rbd::get()?;
        let c_name = c_name("image name", name.into())?;
        let open = match mode {
            OpenMode::ReadOnly => rbd.functions.rbd_open_read_only,
            OpenMode::ReadWrite => rbd.functions.rbd_open,
        };
        let failed = |errno| match errno {
            Errno::NOENT => ImageError::Missing(name.to_owned()),
            errno => ImageError::Call { name: name.to_owned(), errno },
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: A live handle, which is duplicated, a C string, a place for the result, and no
        // snapshot.
        let result =
            unsafe { open(pool.context().raw(), c_name.as_ptr(), &raw mut raw, std::ptr::null()) };
        if result < 0 {
            return Err(failed(errno_of(result as isize)));
        }
        let handle = Arc::new(ImageHandle { rbd, raw, pool: Arc::clone(pool.context()) });
        let image = Image::described(handle).map_err(|error| failed(error.errno))?;
        Ok(image)
    }

    fn described(handle: Arc<ImageHandle>) -> Result<Image, OpError> {
        const ACTION: &str = "read the image's properties";
        let mut info = RawImageInfo {
            size: 0,
            obj_size: 0,
            num_objs: 0,
            order: 0,
            block_name_prefix: [0; 24],
            parent_pool: 0,
            parent_name: [0; 96],
        };
        let (mut features, mut stripe_unit) = (0, 0);
        let (functions, raw) = (&handle.rbd.functions, handle.raw);
        // SAFETY: A live handle, and places of the right types for the results.
        let results = unsafe {
            [
                (functions.rbd_stat)(raw, &raw mut info, size_of::<RawImageInfo>()),
                (functions.rbd_get_features)(raw, &raw mut features),
                (functions.rbd_get_stripe_unit)(raw, &raw mut stripe_unit),
            ]
        };
        for result in results {
            done(ACTION, result as isize)?;
        }
        let RawImageInfo { size, obj_size: object_size, .. } = info;
        Ok(Image { handle, size, object_size, features, stripe_unit })
    }

    pub(crate) fn handle(&self) -> &Arc<ImageHandle> {
        &self.handle
    }

    /// Returns the size in bytes when the image was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the size of the objects that the image consists of, in bytes.
    pub fn object_size(&self) -> u64 {
        self.object_size
    }

    /// Returns the bytes that follow each other in one object; the object's size unless the image
    /// is striped.
    pub fn stripe_unit(&self) -> u64 {
        self.stripe_unit
    }

    /// Returns the bits of rbd/features.h.
    pub fn features(&self) -> u64 {
        self.features
    }

    /// Returns whether a writer takes the image's exclusive lock.
    pub fn has_exclusive_lock_feature(&self) -> bool {
        self.features & FEATURE_EXCLUSIVE_LOCK != 0
    }

    /// Writes all bytes at an offset. With librbd's cache they are durable after [`Self::flush`].
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<(), OpError> {
        let write = self.handle.rbd.functions.rbd_write;
        // SAFETY: A live handle, and bytes with their length.
        let result = unsafe { write(self.handle.raw, offset, bytes.len(), bytes.as_ptr().cast()) };
        done("write to the image", result).map(drop)
    }

    /// Reads bytes at an offset, and returns their number, which is smaller than that of the buffer
    /// at the image's end.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, OpError> {
        let read = self.handle.rbd.functions.rbd_read;
        // SAFETY: A live handle, and a buffer with its length.
        let result =
            unsafe { read(self.handle.raw, offset, buffer.len(), buffer.as_mut_ptr().cast()) };
        done("read the image", result)
    }

    /// Makes completed writes durable.
    pub fn flush(&self) -> Result<(), OpError> {
        // SAFETY: A live handle.
        let result = unsafe { (self.handle.rbd.functions.rbd_flush)(self.handle.raw) };
        done("flush the image", result as isize).map(drop)
    }

    /// Discards a range. What covers a whole object reads as zeros then; the rest may be left
    /// (`rbd_skip_partial_discard`).
    pub fn discard(&self, offset: u64, length: u64) -> Result<(), OpError> {
        // SAFETY: A live handle.
        let result =
            unsafe { (self.handle.rbd.functions.rbd_discard)(self.handle.raw, offset, length) };
        done("discard a range of the image", result as isize).map(drop)
    }

    /// Returns whether this connection holds the exclusive lock.
    pub fn owns_exclusive_lock(&self) -> Result<bool, OpError> {
        let mut is_owner = 0;
        let ask = self.handle.rbd.functions.rbd_is_exclusive_lock_owner;
        // SAFETY: A live handle, and a place for the result.
        let result = unsafe { ask(self.handle.raw, &raw mut is_owner) };
        done("look up the image's lock", result as isize)?;
        Ok(is_owner != 0)
    }

    /// Lists the clients that have the image open for writing, including this one.
    ///
    /// A client that opened it read-only does not appear. One that crashed does for 30 seconds.
    pub fn watchers(&self) -> Result<Vec<Watcher>, OpError> {
        const ACTION: &str = "list who has the image open";
        let functions = &self.handle.rbd.functions;
        let mut room = WATCHERS;
        for _ in 0..ATTEMPTS_MAX {
            let empty = RawWatcher { addr: std::ptr::null_mut(), id: 0, cookie: 0 };
            let mut raw = vec![empty; room];
            // SAFETY: A live handle, and an array with its length, which the library overwrites
            // with the number it has.
            let result = unsafe {
                (functions.rbd_watchers_list)(self.handle.raw, raw.as_mut_ptr(), &raw mut room)
            };
            if result < 0 && errno_of(result as isize) == Errno::RANGE {
                continue;
            }
            done(ACTION, result as isize)?;
            raw.truncate(room);
            let watchers = raw.iter().map(|watcher| Watcher {
                // SAFETY: A C string that is freed below.
                address: unsafe { CStr::from_ptr(watcher.addr) }.to_string_lossy().into_owned(),
                client: watcher.id as u64,
                cookie: watcher.cookie,
            });
            let watchers = watchers.collect();
            // SAFETY: The entries that the library filled, with the addresses that it allocated.
            unsafe { (functions.rbd_watchers_list_cleanup)(raw.as_mut_ptr(), raw.len()) };
            return Ok(watchers);
        }
        Err(OpError { action: ACTION, errno: Errno::RANGE })
    }

    /// Lists the other clients that have the image open for writing: a virtual machine, a kernel's
    /// mapping (`rbd map`), a mirroring daemon. The image is in use unless this is empty.
    pub fn other_watchers(&self) -> Result<Vec<Watcher>, OpError> {
        let ours = self.handle.pool.cluster().instance_id();
        let mut watchers = self.watchers()?;
        watchers.retain(|watcher| watcher.client != ours);
        Ok(watchers)
    }

    /// Returns who held the image's lock when this was opened, including this client.
    ///
    /// librbd reads it with the header, and again only when that has changed. A lock of `rbd lock
    /// add` is held until it is removed, even if no client has the image open.
    pub fn lock(&self) -> Result<ImageLock, OpError> {
        const ACTION: &str = "list who has locked the image";
        let list = self.handle.rbd.functions.rbd_list_lockers;
        // Tag, clients, cookies, addresses: each a row of C strings.
        let mut sizes = [LOCKER_BYTES; 4];
        for _ in 0..ATTEMPTS_MAX {
            let mut rows = sizes.map(|size| vec![0_u8; size]);
            let mut exclusive = 0;
            let [tag, clients, cookies, addresses] =
                rows.each_mut().map(|row| row.as_mut_ptr().cast::<c_char>());
            let [tag_size, clients_size, cookies_size, addresses_size] = sizes.each_mut();
            // SAFETY: A live handle, a place for the number, and four buffers with their sizes,
            // which the library overwrites with those that it needs.
            let result = unsafe {
                list(
                    self.handle.raw, &raw mut exclusive, tag, tag_size, clients, clients_size,
                    cookies, cookies_size, addresses, addresses_size,
                )
            };
            if result < 0 && errno_of(result) == Errno::RANGE {
                continue;
            }
            let count = done(ACTION, result)?;
            let [_, clients, cookies, addresses] = &rows;
            let lockers = strings(clients)
                .zip(strings(cookies))
                .zip(strings(addresses))
                .map(|((client, cookie), address)| Locker { client, cookie, address });
            return Ok(ImageLock {
                exclusive: count > 0 && exclusive != 0,
                lockers: lockers.take(count).collect(),
            });
        }
        Err(OpError { action: ACTION, errno: Errno::RANGE })
    }
}

/// Splits a row of C strings.
fn strings(row: &[u8]) -> impl Iterator<Item = String> {
    row.split(|&byte| byte == 0).map(|text| String::from_utf8_lossy(text).into_owned())
}

/// The number in a result, or its error.
fn done(action: &'static str, result: isize) -> Result<usize, OpError> {
    usize::try_from(result).map_err(|_| OpError { action, errno: errno_of(result) })
}
