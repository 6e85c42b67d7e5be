//! A directory whose files are drives. The kernel's FUSE protocol is implemented without a library,
//! because each copy and each wake-up is latency that a drive does not have.
//!
//! | module | content |
//! | --- | --- |
//! | `files` | files of a fixed size: requests that do not need their content |
//! | [`wire`] | encoding of requests and replies (`include/uapi/linux/fuse.h`) |
//! | `mount` | mounting with and without root, and mounts left behind by killed processes |
//!
//! The file supports direct I/O with several requests at a time, so a loop device on it (`losetup
//! --direct-io=on`) passes its requests on unchanged. FUSE has fsync but no FUA: the kernel
//! replaces FUA by a write and a flush.

pub(crate) mod files;
pub(crate) mod mount;
pub(crate) mod server;
pub mod wire;

pub use files::{FIRST_FILE, FileFacts, Files, Next, Wanted, dispatch, whole_sectors};
pub use mount::{MountError, Mounted, attach};

/// The filesystem type of our mounts in the mount table.
pub(crate) const FILESYSTEM: &str = "fuse.flushmark";
