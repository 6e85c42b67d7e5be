//! Facts about the place that a workload writes to: which mount holds it, which block devices lie beneath, how their
//! caches stand, what occupies a raw device, and what the host is.
//!
//! | module | its one fact |
//! | --- | --- |
//! | [`place`] | everything about one path: starts here |
//! | [`mount`] | `/proc/self/mountinfo`: which mount holds a path; [`mount_options`] says which options touch durability |
//! | [`block`] | a block device, its queue, and the layers beneath it; [`transport`] names the bus |
//! | [`inventory`] | every disk of the machine: starts here for `flushmark drives`; [`usage`] says what lies on one, [`health`] how it fares |
//! | [`cache_views`] | one write cache as drive, kernel and filesystems see it; [`cache_switch`] switches it |
//! | [`commands`] | asking a drive by its own commands: ATA, SCSI, NVMe |
//! | [`counters`] | what a device has done so far, flushes among it |
//! | [`mod@occupancy`] | who uses a raw device; [`signature`] names what lies on one that nobody uses |
//! | [`host`] | kernel, CPU, memory, hypervisor, clock |
//!
//! Facts only: what they mean for a commit is `judge`'s business, and printing them is `report`'s.
//!
//! All of procfs and sysfs is read below a [`SystemRoot`], so that a machine which looks nothing like the present one can be
//! laid out in a temporary directory and examined. What sysfs leaves out, or fills with nonsense, becomes `None`: drivers
//! differ in what they publish, and a missing model name is no reason to fail. Only what safety hangs on (the mount
//! table, the swap table, the reading of signatures) fails loudly.
//!
//! ```no_run
//! use drive::{Place, SystemRoot};
//!
//! let place = Place::of(&SystemRoot::default(), ".".as_ref())?;
//! if let Some(device) = place.block_device() {
//!     println!("{} behind {:?}", device.path.display(), device.transport);
//! }
//! # Ok::<(), drive::DriveError>(())
//! ```

pub mod block;
mod bus;
pub mod cache_switch;
pub mod cache_views;
pub mod commands;
pub mod counters;
pub mod device_number;
pub mod error;
mod file_identity;
pub mod health;
pub mod host;
pub mod inventory;
mod loop_devices;
pub mod mount;
pub mod mount_options;
pub mod occupancy;
pub mod place;
pub mod signature;
pub mod system_root;
pub mod transport;
pub mod usage;

mod lossy_path;

pub use block::{BlockDevice, Partition, Queue, WriteCache};
pub use cache_views::{CacheViews, Disagreement, FilesystemView, KernelView};
pub use commands::{AfterPowerCycle, Answer, CacheReading, CommandError, DriveIdentity, OpenDrive, Rotation, ToldBy};
pub use counters::Counters;
pub use device_number::DeviceNumber;
pub use error::DriveError;
pub use health::Health;
pub use host::{HostFacts, Virtualisation};
pub use inventory::{DriveRecord, Inventory};
pub use mount::{Mount, MountTable};
pub use mount_options::JournalMode;
pub use occupancy::{Occupied, file_occupancy, occupancy};
pub use place::{Backing, DirectIo, NoBlockDevice, Place, PlaceKind, Space};
pub use signature::{DeviceEdges, Signature, SignatureKind, read_signatures, signatures};
pub use system_root::SystemRoot;
pub use transport::Transport;
pub use usage::{MountedOn, Usage};
