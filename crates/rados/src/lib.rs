//! Ceph's librados and librbd, loaded at run time, and the placement of objects.
//!
//! | module | content |
//! | --- | --- |
//! | `library` | the functions of both libraries, found by the dynamic loader |
//! | `access` | how to reach a cluster: what Ceph's own tools take |
//! | `connecting` | from an access to a connected handle, or a reason |
//! | `cluster` | commands to monitors, manager and OSDs |
//! | `pool` | objects of a pool, one call at a time |
//! | `image` | a block device image |
//! | `completions` | many operations in flight, on pools and images |
//! | `time_limit` | calls that may never return, and the end of a process that has left one |
//! | [`placement`] | which OSD serves an object. Needs no library |
//!
//! Follows Ceph's headers librados.h and librbd.h. Every call ends: before it connects, the crate
//! sets the time limits that Ceph leaves open.

#![warn(unreachable_pub)]

mod access;
mod cluster;
mod completions;
mod connecting;
mod error;
mod image;
mod library;
pub mod placement;
mod pool;
mod time_limit;

pub use access::Access;
pub use cluster::Cluster;
pub use completions::{Completions, Done};
pub use error::{
    CommandError, ConnectError, ImageError, InvalidName, OpError, PoolError, RadosError, Stalled,
    reason,
};
pub use image::{Image, ImageLock, Locker, OpenMode, Watcher};
pub use library::{LibraryVersion, LoadError, library_version, load_librbd};
pub use pool::{ObjectName, Pool};
/// The system's error numbers, which Ceph uses as well.
pub use rustix::io::Errno;
pub use time_limit::exit;
