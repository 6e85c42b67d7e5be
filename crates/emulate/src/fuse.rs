//! A directory with files in it that are drives: the kernel's FUSE protocol, spoken without a library, because each copy and each wake-up on this way is latency that a drive does not have.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`files`] | files of a fixed size: what is answered without knowing what is in them |
//! | [`wire`] | requests and answers as bytes (`include/uapi/linux/fuse.h`) |
//! | [`mount`] | mounting, with and without root, and what killed processes leave |
//!
//! The file takes direct I/O, several at a time, so that a loop device on it (`losetup --direct-io=on`) passes its requests on as they are. FUSE has an fsync and no forced unit access: the kernel makes
//! a write and a flush of one.

pub mod files;
pub mod mount;
pub mod server;
pub mod wire;

/// The type of our mounts in the list of mounts.
pub const FILESYSTEM: &str = "fuse.flushmark";
