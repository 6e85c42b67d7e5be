//! Facts about the storage under a path: the mount that contains it, the block devices below, the
//! state of their caches, the users of a raw device, and the host.
//!
//! | module | content |
//! | --- | --- |
//! | `place` | everything about one path: start here |
//! | `mount` | `/proc/self/mountinfo`: the mount that contains a path; `mount_options`: the options that affect durability |
//! | `block` | a block device, its queue, and the layers below it; `transport`: the bus; `link`: its speed; `driver_address`: the names of drives in the kernel's tracepoints |
//! | `rbd` | an image of a Ceph cluster that is mapped as a block device |
//! | `inventory` | every disk of the machine: start here for `flushmark drives`; `usage`: partitions and filesystems on a disk; `health`: its health |
//! | `cache_views` | one write cache as drive, kernel and filesystems see it; [`cache_switch`] switches it |
//! | [`commands`] | asking a drive with its own commands: ATA, SCSI, NVMe |
//! | `zones` | the zones of a zoned drive |
//! | `counters` | what a device has done so far, including flushes; `wear`: what a drive has written to its medium |
//! | [`mod@occupancy`] | users of a raw device; [`signature`]: the content of an unused one |
//! | [`host`] | kernel, CPU, memory, hypervisor, clock; `wall_clock`: how well the time of day is known |
//!
//! This crate only collects facts: `judge` decides what they mean for a commit, and `report` prints
//! them.
//!
//! All of procfs and sysfs is read below a [`SystemRoot`], so tests can lay out a very different
//! machine in a temporary directory and examine it. What sysfs omits, or fills with invalid values,
//! becomes `None`: drivers differ in what they publish, and a missing model name is not a reason
//! to fail. Only facts that safety depends on (the mount table, the swap table, reading
//! signatures) fail loudly.
//!
//! ```no_run
//! use drive::{Place, SystemRoot};
//!
//! let place = Place::of(&SystemRoot::default(), ".".as_ref())?;
//! if let Some(device) = place.block_device() {
//!     println!("{} attached to {:?}", device.path.display(), device.transport);
//! }
//! # Ok::<(), drive::DriveError>(())
//! ```

mod block;
mod bus;
pub mod cache_switch;
mod cache_views;
pub mod commands;
mod counters;
mod device_number;
mod driver_address;
pub mod emulated;
mod error;
mod file_identity;
pub mod governor;
mod health;
pub mod host;
mod inventory;
mod link;
mod loop_devices;
mod mount;
mod mount_options;
pub mod occupancy;
mod place;
mod rbd;
mod resolve;
pub mod signature;
mod system_root;
mod transport;
mod usage;
mod wall_clock;
mod wear;
mod zones;

mod lossy_path;

pub use block::{BlockDevice, Partition, Queue, WriteCache};
pub use cache_views::{CacheViews, Disagreement, FilesystemView, KernelView};
pub use commands::{
    AfterPowerCycle, Answer, CacheReading, CommandError, DriveIdentity, OpenDrive, Rotation, ToldBy,
};
pub use counters::Counters;
pub use device_number::{DeviceNumber, NotADeviceNumber};
pub use driver_address::{DriverAddress, NotADriverAddress};
pub use error::DriveError;
pub use health::Health;
pub use host::{HostFacts, Virtualisation};
pub use inventory::{DriveRecord, Inventory, drives};
pub use link::Link;
pub use mount::{Mount, MountTable};
pub use mount_options::JournalMode;
pub use occupancy::{Occupied, file_occupancy, occupancy};
pub use place::{AtomicWrites, Backing, DirectIo, NoBlockDevice, Place, PlaceKind, Space};
pub use rbd::RbdImage;
pub use resolve::{is_device_path, leads_to_device_path, resolve};
pub use signature::{DeviceEdges, Signature, SignatureKind, read_signatures, signatures};
pub use system_root::SystemRoot;
pub use transport::Transport;
pub use usage::{MountedOn, Usage};
pub use wall_clock::WallClock;
pub use wear::{MediumWrites, Wear, WrittenBytes};
pub use zones::{DriveZone, ZoneCondition, report_zones};
