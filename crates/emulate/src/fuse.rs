//! A directory whose files are drives. The kernel's FUSE protocol is implemented without a library,
//! because each copy and each wake-up is latency that a drive does not have.
//!
//! | module | content |
//! | --- | --- |
//! | `descriptors` | a separate descriptor table for the serving threads |
//! | `files` | files of a fixed size: requests that do not need their content |
//! | [`wire`] | encoding of requests and replies (`include/uapi/linux/fuse.h`) |
//! | `mount` | mounting with and without root, and mounts left behind by killed processes |
//! | `server` | the process that serves a mount, found without a call on the mount |
//!
//! The file supports direct I/O with several requests at a time, so a loop device on it (`losetup
//! --direct-io=on`) passes its requests on unchanged. FUSE has fsync but no FUA: the kernel
//! replaces FUA by a write and a flush.

mod descriptors;
pub(crate) mod files;
pub(crate) mod mount;
pub(crate) mod server;
pub mod wire;

pub use descriptors::separate_descriptors;
pub use files::{FIRST_FILE, FileFacts, Files, Next, Wanted, dispatch, whole_sectors};
pub use mount::{MountError, Mounted, attach};
pub use server::resolved;
