//! Ceph's libraries, loaded when they are first needed.
//!
//! A program that is linked with librados does not start without it. flushmark has to start on
//! machines without Ceph, so it asks the dynamic loader at run time. The libraries stay loaded
//! until the process ends: their threads run code in them.

use std::error::Error as _;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use blame::Blame;

/// The names of Ceph's C interfaces have kept these version numbers since 2011.
const RADOS: LibraryFile = LibraryFile { file: "librados.so.2", package: "librados2" };
const RBD: LibraryFile = LibraryFile { file: "librbd.so.1", package: "librbd1" };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LibraryFile {
    /// The name that the dynamic loader searches for.
    file: &'static str,
    /// Debian's package.
    package: &'static str,
}

/// Why a library of Ceph cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error(
        "cannot load {file} ({reason}): install Ceph's client libraries (Debian and Ubuntu: \
         package {package})"
    )]
    Missing {
        file: &'static str,
        package: &'static str,
        /// The dynamic loader's message.
        reason: String,
    },
    #[error(
        "{file} has no function {function}: update Ceph's client libraries (Debian and Ubuntu: \
         package {package})"
    )]
    MissingFunction { file: &'static str, package: &'static str, function: &'static str },
}

impl LoadError {
    /// The party at fault.
    pub fn blame(&self) -> Blame {
        Blame::System
    }
}

/// Opens a library for good.
#[expect(unsafe_code, reason = "loading a library runs its initialisers")]
fn open(wanted: LibraryFile) -> Result<&'static libloading::Library, LoadError> {
    // SAFETY: The initialisers of Ceph's libraries set up their own globals and need nothing from
    // the program.
    let library = unsafe { libloading::Library::new(wanted.file) };
    match library {
        Ok(library) => Ok(Box::leak(Box::new(library))),
        Err(error) => Err(LoadError::Missing {
            file: wanted.file,
            package: wanted.package,
            reason: loader_message(&error, wanted.file),
        }),
    }
}

/// Makes glibc return blocks of this size to the kernel when they are freed, whatever their number.
///
/// By default its limit grows with the blocks that a program frees, here the library's copies of
/// whole objects. Then each thread keeps some megabytes, and zeroed memory is written instead of
/// being mapped: with 100 OSDs at a time, hundreds of megabytes.
#[expect(unsafe_code, reason = "the loader knows no types")]
fn return_large_blocks() {
    const M_MMAP_THRESHOLD: c_int = -3;
    const LARGE_BYTES: c_int = 128 << 10;
    let program = libloading::os::unix::Library::this();
    // SAFETY: The function's type in malloc.h. Other libraries of C do not have it.
    let mallopt = unsafe { program.get::<extern "C" fn(c_int, c_int) -> c_int>("mallopt\0") };
    if let Ok(mallopt) = mallopt {
        mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    }
}

/// Returns the dynamic loader's text, which begins with the file's name.
fn loader_message(error: &libloading::Error, file: &str) -> String {
    let text = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    text.strip_prefix(file).unwrap_or(&text).trim_start_matches(": ").to_lowercase()
}

/// Declares a table of a library's functions and how it is filled.
macro_rules! functions {
    ($table:ident: $($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of the library, by their names in Ceph's headers.
        #[derive(Debug)]
        #[expect(clippy::struct_field_names, reason = "the names in Ceph's headers")]
        pub(crate) struct $table {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl $table {
            #[expect(unsafe_code, reason = "the loader knows no types")]
            fn resolve(
                library: &'static libloading::Library,
                wanted: LibraryFile,
            ) -> Result<$table, LoadError> {
                Ok($table {
                    $($name: {
                        // SAFETY: The signature is that of Ceph's public header, whose functions
                        // never change theirs, and the library is never unloaded.
                        let found = unsafe { library.get(concat!(stringify!($name), "\0")) };
                        *found.map_err(|_| LoadError::MissingFunction {
                            file: wanted.file,
                            package: wanted.package,
                            function: stringify!($name),
                        })?
                    },)*
                })
            }
        }
    };
}

/// `rados_t`, `rados_ioctx_t`, `rados_completion_t` and so on: opaque.
pub(crate) type Handle = *mut c_void;
/// `rados_callback_t` and `rbd_callback_t`.
pub(crate) type Callback = extern "C" fn(Handle, *mut c_void);
/// `ssize_t` is as wide as `size_t`.
type SignedSize = isize;

functions! { RadosFunctions:
    rados_version(*mut c_int, *mut c_int, *mut c_int);
    rados_create2(*mut Handle, *const c_char, *const c_char, u64) -> c_int;
    rados_conf_read_file(Handle, *const c_char) -> c_int;
    rados_conf_parse_env(Handle, *const c_char) -> c_int;
    rados_conf_set(Handle, *const c_char, *const c_char) -> c_int;
    rados_conf_get(Handle, *const c_char, *mut c_char, usize) -> c_int;
    rados_connect(Handle) -> c_int;
    rados_shutdown(Handle);
    rados_cluster_fsid(Handle, *mut c_char, usize) -> c_int;
    rados_get_instance_id(Handle) -> u64;
    rados_mon_command(
        Handle, *const *const c_char, usize, *const c_char, usize,
        *mut *mut c_char, *mut usize, *mut *mut c_char, *mut usize
    ) -> c_int;
    rados_mon_command_target(
        Handle, *const c_char, *const *const c_char, usize, *const c_char, usize,
        *mut *mut c_char, *mut usize, *mut *mut c_char, *mut usize
    ) -> c_int;
    rados_mgr_command(
        Handle, *const *const c_char, usize, *const c_char, usize,
        *mut *mut c_char, *mut usize, *mut *mut c_char, *mut usize
    ) -> c_int;
    rados_osd_command(
        Handle, c_int, *const *const c_char, usize, *const c_char, usize,
        *mut *mut c_char, *mut usize, *mut *mut c_char, *mut usize
    ) -> c_int;
    rados_buffer_free(*mut c_char);
    rados_ioctx_create(Handle, *const c_char, *mut Handle) -> c_int;
    rados_ioctx_create2(Handle, i64, *mut Handle) -> c_int;
    rados_ioctx_destroy(Handle);
    rados_ioctx_get_id(Handle) -> i64;
    rados_ioctx_set_namespace(Handle, *const c_char);
    rados_write(Handle, *const c_char, *const c_char, usize, u64) -> c_int;
    rados_write_full(Handle, *const c_char, *const c_char, usize) -> c_int;
    rados_read(Handle, *const c_char, *mut c_char, usize, u64) -> c_int;
    rados_trunc(Handle, *const c_char, u64) -> c_int;
    rados_stat(Handle, *const c_char, *mut u64, *mut c_void) -> c_int;
    rados_create_write_op() -> Handle;
    rados_write_op_remove(Handle);
    rados_write_op_operate(Handle, Handle, *const c_char, *mut c_void, c_int) -> c_int;
    rados_release_write_op(Handle);
    rados_nobjects_list_open(Handle, *mut Handle) -> c_int;
    rados_nobjects_list_next(
        Handle, *mut *const c_char, *mut *const c_char, *mut *const c_char
    ) -> c_int;
    rados_nobjects_list_close(Handle);
    rados_aio_write(Handle, *const c_char, Handle, *const c_char, usize, u64) -> c_int;
    rados_aio_read(Handle, *const c_char, Handle, *mut c_char, usize, u64) -> c_int;
    rados_aio_flush(Handle) -> c_int;
    rados_aio_get_return_value(Handle) -> c_int;
    rados_aio_release(Handle);
}

/// `rbd_image_info_t`.
#[repr(C)]
pub(crate) struct RawImageInfo {
    pub(crate) size: u64,
    pub(crate) obj_size: u64,
    pub(crate) num_objs: u64,
    pub(crate) order: c_int,
    pub(crate) block_name_prefix: [c_char; 24],
    pub(crate) parent_pool: i64,
    pub(crate) parent_name: [c_char; 96],
}

/// `rbd_image_watcher_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawWatcher {
    pub(crate) addr: *mut c_char,
    pub(crate) id: i64,
    pub(crate) cookie: u64,
}

functions! { RbdFunctions:
    rbd_open(Handle, *const c_char, *mut Handle, *const c_char) -> c_int;
    rbd_open_read_only(Handle, *const c_char, *mut Handle, *const c_char) -> c_int;
    rbd_close(Handle) -> c_int;
    rbd_stat(Handle, *mut RawImageInfo, usize) -> c_int;
    rbd_get_features(Handle, *mut u64) -> c_int;
    rbd_get_stripe_unit(Handle, *mut u64) -> c_int;
    rbd_write(Handle, u64, usize, *const c_char) -> SignedSize;
    rbd_read(Handle, u64, usize, *mut c_char) -> SignedSize;
    rbd_flush(Handle) -> c_int;
    rbd_discard(Handle, u64, u64) -> c_int;
    rbd_is_exclusive_lock_owner(Handle, *mut c_int) -> c_int;
    rbd_list_lockers(
        Handle, *mut c_int, *mut c_char, *mut usize, *mut c_char, *mut usize,
        *mut c_char, *mut usize, *mut c_char, *mut usize
    ) -> SignedSize;
    rbd_watchers_list(Handle, *mut RawWatcher, *mut usize) -> c_int;
    rbd_watchers_list_cleanup(*mut RawWatcher, usize);
    rbd_aio_create_completion(*mut c_void, Callback, *mut Handle) -> c_int;
    rbd_aio_write(Handle, u64, usize, *const c_char, Handle) -> c_int;
    rbd_aio_read(Handle, u64, usize, *mut c_char, Handle) -> c_int;
    rbd_aio_flush(Handle, Handle) -> c_int;
    rbd_aio_discard(Handle, u64, u64, Handle) -> c_int;
    rbd_aio_get_return_value(Handle) -> SignedSize;
    rbd_aio_release(Handle);
}

/// Creates a completion with a callback, by the function that the library has.
#[derive(Debug)]
enum CreateCompletion {
    /// `rados_aio_create_completion2`, since Ceph 15.
    Current(unsafe extern "C" fn(*mut c_void, Callback, *mut Handle) -> c_int),
    /// `rados_aio_create_completion`, whose second callback reported what is on disk at a time when
    /// replies came earlier. For many versions both have come at the same moment.
    Old(unsafe extern "C" fn(*mut c_void, Callback, Option<Callback>, *mut Handle) -> c_int),
}

/// librados.
#[derive(Debug)]
pub(crate) struct Rados {
    pub(crate) functions: RadosFunctions,
    create_completion: CreateCompletion,
}

impl Rados {
    /// Loads the library, or returns what an earlier call found.
    pub(crate) fn get() -> Result<&'static Rados, LoadError> {
        static LOADED: OnceLock<Result<Rados, LoadError>> = OnceLock::new();
        LOADED.get_or_init(|| Rados::load(RADOS)).as_ref().map_err(Clone::clone)
    }

    #[expect(unsafe_code, reason = "the loader knows no types")]
    fn load(wanted: LibraryFile) -> Result<Rados, LoadError> {
        return_large_blocks();
        let library = open(wanted)?;
        let functions = RadosFunctions::resolve(library, wanted)?;
        // SAFETY: As for the table of functions.
        let current = unsafe { library.get("rados_aio_create_completion2\0") };
        let create_completion = if let Ok(current) = current {
            CreateCompletion::Current(*current)
        } else {
            let function = "rados_aio_create_completion";
            // SAFETY: As for the table of functions.
            let old = unsafe { library.get("rados_aio_create_completion\0") };
            CreateCompletion::Old(*old.map_err(|_| LoadError::MissingFunction {
                file: wanted.file,
                package: wanted.package,
                function,
            })?)
        };
        Ok(Rados { functions, create_completion })
    }

    /// Creates a completion that calls `callback` with `argument`.
    ///
    /// # Safety
    ///
    /// `argument` must be what the callback expects for as long as the completion may be used.
    #[expect(unsafe_code, reason = "passes a pointer through")]
    pub(crate) unsafe fn completion(&self, argument: *mut c_void, callback: Callback) -> Handle {
        let mut made = std::ptr::null_mut();
        // The functions return 0 always.
        match self.create_completion {
            // SAFETY: `made` is a place for the result. The caller answers for `argument`.
            CreateCompletion::Current(create) => unsafe {
                create(argument, callback, &raw mut made)
            },
            // SAFETY: As above.
            CreateCompletion::Old(create) => unsafe {
                create(argument, callback, None, &raw mut made)
            },
        };
        made
    }
}

/// librbd.
#[derive(Debug)]
pub(crate) struct Rbd {
    pub(crate) functions: RbdFunctions,
}

impl Rbd {
    /// Loads the library, or returns what an earlier call found.
    pub(crate) fn get() -> Result<&'static Rbd, LoadError> {
        static LOADED: OnceLock<Result<Rbd, LoadError>> = OnceLock::new();
        LOADED.get_or_init(|| Rbd::load(RBD)).as_ref().map_err(Clone::clone)
    }

    fn load(wanted: LibraryFile) -> Result<Rbd, LoadError> {
        Ok(Rbd { functions: RbdFunctions::resolve(open(wanted)?, wanted)? })
    }
}

/// The version of librados's interface, which is not that of Ceph: 3.0.0 since Ceph 14.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LibraryVersion {
    pub major: u32,
    pub minor: u32,
    pub extra: u32,
}

impl std::fmt::Display for LibraryVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.extra)
    }
}

/// Loads librados, if it is not loaded yet, and returns its version.
#[expect(unsafe_code, reason = "calls the library")]
pub fn library_version() -> Result<LibraryVersion, LoadError> {
    let rados = Rados::get()?;
    let (mut major, mut minor, mut extra) = (0, 0, 0);
    // SAFETY: Three places for the results.
    unsafe { (rados.functions.rados_version)(&raw mut major, &raw mut minor, &raw mut extra) };
    let [major, minor, extra] = [major, minor, extra].map(|part: c_int| part as c_uint);
    Ok(LibraryVersion { major, minor, extra })
}

/// Loads librbd, which only images need, if it is not loaded yet.
pub fn load_librbd() -> Result<(), LoadError> {
    Rbd::get().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_names_its_package() {
        let wanted = LibraryFile { file: "libflushmark-missing.so.2", package: "librados2" };
        let error = Rados::load(wanted).expect_err("an error");
        insta::assert_snapshot!(error, @"cannot load libflushmark-missing.so.2 (cannot open shared object file: no such file or directory): install Ceph's client libraries (Debian and Ubuntu: package librados2)");
    }

    #[test]
    fn a_library_without_the_functions_names_the_first_that_is_missing() {
        let wanted = LibraryFile { file: "libc.so.6", package: "librbd1" };
        let error = Rbd::load(wanted).expect_err("an error");
        insta::assert_snapshot!(error, @"libc.so.6 has no function rbd_open: update Ceph's client libraries (Debian and Ubuntu: package librbd1)");
    }
}
