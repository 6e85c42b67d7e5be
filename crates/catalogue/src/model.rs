//! The parameters of a modelled drive.
//!
//! Each model has a file, `models/NAME.toml`, in which every number is a property of the drive and
//! never a result: the latency of a commit, write amplification and slow-downs follow from these
//! numbers by simulation (crate `simdrive`). Times are in microseconds, speeds in MB/s (10^6 bytes,
//! as datasheets print them), sizes are written as `"4 KiB"`.

use serde::{Deserialize, Serialize};
use workload::ByteSize;

use crate::drive::Class;

/// A modelled drive and the host that it is attached to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The name that commands accept: `sim:NAME`. The model of a published drive has the name of
    /// its catalogue entry.
    pub model: String,
    /// The name shown to users.
    pub label: String,
    /// The kind of drive, and the market it is made for.
    pub class: Class,
    /// The basis of the parameters: the rows they were fitted to, or for a generic model the ranges
    /// they were taken from.
    pub basis: String,
    /// The published drive whose rows the parameters were fitted to; `None` for a generic model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted_to: Option<String>,
    /// The path from an application to the drive.
    #[serde(default)]
    pub host: Host,
    /// The drive, or several as an array.
    pub drive: Parameters,
}

/// The software between application and drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// The filesystem that holds the test file, or none for a raw block device.
    pub filesystem: Filesystem,
    /// Processor time of a read or write on its way into and out of the kernel.
    pub call_us: f64,
    /// Processor time of a sync call that has nothing to do.
    pub sync_us: f64,
    /// The largest request that the kernel sends (`queue/max_sectors_kb`); larger ones are split,
    /// and their parts sent together.
    pub request_most: Bytes,
    /// The hardware queues over which processors are spread: one of a SATA drive, one per processor
    /// of an NVMe drive, up to the drive's limit. Calls in the same queue share flushes.
    pub hardware_queues: u32,
    /// Time between the wake-ups of two callers that waited for the same journal commit: one
    /// processor wakes them one after the other, and sleeping processors take long to respond.
    pub wake_us: f64,
    /// Resolution of the clock for file times. A write changes a file's time only when the clock
    /// has ticked since the last one, and `fsync` has metadata to write only then
    /// (`ktime_get_coarse_real_ts64`, 1000 Hz in current distributions).
    pub tick_us: f64,
}

impl Default for Host {
    fn default() -> Host {
        Host {
            filesystem: Filesystem::None,
            call_us: 1.0,
            sync_us: 0.7,
            request_most: Bytes(1280 << 10),
            hardware_queues: 1,
            wake_us: 3.0,
            tick_us: 1000.0,
        }
    }
}

/// The filesystem between an application and the block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filesystem {
    /// No filesystem: a raw block device.
    None,
    /// ext4 with an ordered journal, as distributions mount it.
    Ext4,
}

impl Filesystem {
    /// The name in target strings.
    pub const fn name(self) -> &'static str {
        match self {
            Filesystem::None => "none",
            Filesystem::Ext4 => "ext4",
        }
    }
}

/// The parameters of a drive, by its technology.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Parameters {
    /// Flash with a page-mapping translation layer.
    SolidState(SolidState),
    Disk(Disk),
    /// Flash whose translation layer maps whole erase blocks: a USB stick or memory card.
    Stick(Stick),
    /// A volume served by a cloud: latency, a share of a network, a limit.
    Volume(Volume),
    /// Several drives combined.
    Array(Array),
}

impl Parameters {
    /// Changes the capacity. No effect on an array, whose members have theirs.
    pub const fn set_capacity_gb(&mut self, gb: f64) {
        match self {
            Parameters::SolidState(drive) => drive.capacity_gb = gb,
            Parameters::Disk(drive) => drive.capacity_gb = gb,
            Parameters::Stick(drive) => drive.capacity_gb = gb,
            Parameters::Volume(drive) => drive.capacity_gb = gb,
            Parameters::Array(_) => {}
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SolidState {
    /// Capacity as sold.
    pub capacity_gb: f64,
    /// The connection to the host.
    pub link: Link,
    /// A limit that the firmware sets to writes; `None` if only the flash limits them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Throttle>,
    /// The cache in which writes wait for the flash.
    pub cache: Cache,
    /// The behaviour of FLUSH CACHE.
    pub flush: Flush,
    /// The behaviour of a write with forced unit access.
    pub fua: Fua,
    pub flash: Flash,
}

/// The connection between host and drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Maximum number of commands in the drive: 32 with SATA's NCQ, thousands with NVMe.
    pub queue_depth: u32,
    pub mb_per_s: f64,
    /// True if it carries both directions at once, as PCI Express does and SATA does not.
    pub full_duplex: bool,
    /// Time for which each command occupies the controller.
    pub command_us: f64,
    /// Additional time of a write that can overlap with other commands.
    pub write_us: f64,
    /// Additional time of a read, beyond command and flash, that can overlap with other commands.
    pub read_us: f64,
}

/// A limit of the firmware, which at every tick allows a number of bytes to be written. The rest
/// waits for the next tick.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    pub mb_per_s: f64,
    /// Time between two ticks.
    pub tick_us: f64,
    /// Data starts in chunks of this size, the last of which may exceed what was allowed.
    pub chunk: Bytes,
}

/// A drive's write cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Bytes of writes that can wait for the flash.
    pub size: Bytes,
    /// True if capacitors write the cache out on power loss.
    pub protected: bool,
    /// True if the drive reports a volatile cache to the host. Protected NVMe drives do not, so no
    /// flush is sent; protected SATA drives mostly do.
    pub told_volatile: bool,
}

/// The costs of FLUSH CACHE.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flush {
    /// Round trip of the command, even when nothing waits to be written.
    pub command_us: f64,
    /// The data that must be on the flash before it completes.
    pub waits_for: WaitsFor,
    /// Time to write the journal of the mapping table, if the flush waits for that.
    #[serde(default)]
    pub journal_us: f64,
    /// Time for each further changed page of the mapping table, if the flush waits for that.
    #[serde(default)]
    pub map_page_us: f64,
    /// True if it waits for all other commands and blocks them meanwhile, as SATA's FLUSH CACHE
    /// does, which cannot be queued, and as some NVMe drives do.
    #[serde(default)]
    pub drains_queue: bool,
    /// True if a flush that waits for the map writes the journal even when nothing has changed
    /// since the last flush. Concurrent flushes then cost as much as flushes one after the other.
    #[serde(default)]
    pub journals_clean: bool,
    /// True if whole stripes, one program of every die, need no journal: each describes its own
    /// content.
    #[serde(default)]
    pub trusts_stripes: bool,
}

/// The data that a flush waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsFor {
    /// Nothing, because the cache is protected.
    Nothing,
    Data,
    /// The data and the mapping table.
    Map,
}

/// The implementation of writes with forced unit access.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "how", deny_unknown_fields)]
pub enum Fua {
    /// Not supported: the host sends a flush after the write. Linux's default for SATA.
    Absent,
    /// Stored in the protected cache like any write.
    Cached {
        /// Additional time for which it occupies the controller, compared with a plain write.
        extra_us: f64,
    },
    /// Acknowledged when it is in the flash. In the SLC cache a page describes itself; elsewhere
    /// the mapping journal is written, too, depending on `journal`.
    Programmed {
        /// Additional time, beyond a plain write and the flash.
        extra_us: f64,
        /// When it also waits for the mapping journal.
        journal: Journalled,
    },
    /// A lie: stored in the volatile cache and reported as durable.
    Ignored,
}

/// When a write with forced unit access waits for the mapping journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Journalled {
    /// Never, because pages describe themselves.
    Never,
    /// Only if it goes to multi-bit flash directly.
    MultiBit,
    /// For every such write.
    Always,
}

/// The flash and its translation layer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Number of dies that work in parallel.
    pub dies: u32,
    /// Number of channels that the dies share.
    pub channels: u32,
    pub channel_mb_per_s: f64,
    /// Bytes that one die programs at once: all planes, all bits of a word line.
    pub program: Bytes,
    /// Time of one program operation.
    pub program_us: f64,
    /// Time to read a page from the cells.
    pub read_us: f64,
    /// Standard deviation of that time, as a share of it, from 0 to 1: pages of one cell need
    /// different numbers of senses, and some reads are repeated. The more it varies, the less
    /// concurrent reads gain.
    #[serde(default)]
    pub read_spread: f64,
    /// Time to erase a block.
    pub erase_us: f64,
    /// Number of programs that fill an erase block.
    pub programs_per_block: u32,
    /// Over-provisioning: flash beyond the capacity, as a share of it.
    pub spare_percent: f64,
    /// The SLC cache: flash written one bit per cell, and folded into the rest later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<Slc>,
}

/// The SLC cache: flash written one bit per cell, fast and small.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slc {
    /// Capacity when it is empty.
    pub size: Bytes,
    /// The share that is empty when a measurement begins: all of it in a new drive, little in one
    /// that is used heavily.
    pub free: Bytes,
    /// Bytes that one die programs at once.
    pub program: Bytes,
    /// Time of one program operation.
    pub program_us: f64,
    /// The largest request that goes there; larger ones bypass it. Without it, all requests do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_most: Option<Bytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Capacity as sold.
    pub capacity_gb: f64,
    /// Revolutions per minute.
    pub rpm: f64,
    /// Seek to the next track.
    pub seek_track_us: f64,
    /// Mean seek between random positions.
    pub seek_mean_us: f64,
    /// Additional settling time of the head for a write, compared with a read.
    pub write_settle_us: f64,
    /// Throughput at the outer edge.
    pub outer_mb_per_s: f64,
    /// Throughput at the inner edge.
    pub inner_mb_per_s: f64,
    /// Electronics overhead per command.
    pub command_us: f64,
    pub link_mb_per_s: f64,
    /// Maximum number of commands in the drive.
    pub queue_depth: u32,
    /// Bytes of writes that can wait for the medium while the write cache is on.
    pub cache: Bytes,
    /// True if the write cache is on by default.
    pub cache_on: bool,
}

/// A USB stick or memory card.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stick {
    /// Capacity as sold.
    pub capacity_gb: f64,
    /// The block that the translation layer maps: an allocation unit.
    pub block: Bytes,
    /// Number of blocks that can be written to at once.
    pub open_blocks: u32,
    /// Round trip of each command.
    pub command_us: f64,
    /// Throughput of writes into an open block.
    pub write_mb_per_s: f64,
    pub read_mb_per_s: f64,
    /// Throughput of copying what was not overwritten when a block is closed.
    pub copy_mb_per_s: f64,
    /// Time to erase a block.
    pub erase_us: f64,
}

/// A cloud volume, or a local drive with limits set by the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    pub capacity_gb: f64,
    /// Maximum number of commands in the volume.
    pub queue_depth: u32,
    /// Round trip of a small write.
    pub write_us: f64,
    /// Round trip of a small read.
    pub read_us: f64,
    /// The unit in which the volume is spread over servers: the units of a command travel in
    /// parallel.
    pub unit: Bytes,
    pub unit_mb_per_s: f64,
    /// Throughput of all units together.
    pub link_mb_per_s: f64,
    /// Sustained throughput of writes by contract; writes above it wait. The link limits reads.
    pub sustained_mb_per_s: f64,
    /// Commands per second by contract.
    pub iops_most: f64,
    /// Bytes that may exceed the contract in a burst.
    pub burst: Bytes,
    /// Round trip of a flush; it also waits for bytes in excess of the contract.
    pub flush_us: f64,
    /// True if it supports writes with forced unit access, as NVMe does and virtio-blk does not:
    /// there the host sends a flush after the write.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub fua: bool,
}

const fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
const fn is_yes(value: &bool) -> bool {
    *value
}

/// Several drives combined into one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Array {
    /// The distribution of data over the members.
    pub level: Level,
    pub members: u32,
    /// Bytes on one member before the next one follows.
    pub chunk: Bytes,
    /// True if stripes are written to a journal first, so a power loss leaves none half changed.
    #[serde(default)]
    pub journal: bool,
    pub member: Box<Parameters>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Striping: each member holds a part.
    Raid0,
    /// Mirroring: each member holds everything.
    Raid1,
    /// Striping with the space of one member for parity.
    Raid5,
    /// Striping with the space of two members for parity.
    Raid6,
}

impl Level {
    /// The name in target strings.
    pub const fn number(self) -> u32 {
        match self {
            Level::Raid0 => 0,
            Level::Raid1 => 1,
            Level::Raid5 => 5,
            Level::Raid6 => 6,
        }
    }
}

/// A size in a model's file, written as `"4 KiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(pub u64);

impl TryFrom<String> for Bytes {
    type Error = workload::InvalidSize;

    fn try_from(text: String) -> Result<Bytes, Self::Error> {
        text.parse::<ByteSize>().map(|size| Bytes(size.0))
    }
}

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> String {
        workload::format_bytes(bytes.0)
    }
}
