//! What a modelled drive is made of, as data.
//!
//! One file a model, `models/NAME.toml`, in which each number says what it is in the drive and not what comes out of it: latencies of a
//! commit, write amplification and slow-downs follow from these by simulation (crate `simdrive`), and are never written here. Times are in
//! microseconds, speeds in MB/s (10^6 bytes, as datasheets print them), sizes as `"4 KiB"`.

use serde::{Deserialize, Serialize};
use workload::ByteSize;

use crate::drive::Class;

/// A modelled drive and the host that it is attached to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// The name that commands take: `sim:NAME`. A published drive's model has the name of its catalogue entry.
    pub model: String,
    /// The name as people read it.
    pub label: String,
    /// What kind of drive it is.
    pub class: Class,
    /// What the parameters rest on: the rows that they were fitted to, or for a generic model the ranges that they were taken from.
    pub basis: String,
    /// The published drive whose rows the parameters were fitted to; none for a generic model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fitted_to: Option<String>,
    /// The way from an application to the drive.
    #[serde(default)]
    pub host: Host,
    /// The drive.
    pub drive: Parameters,
}

/// The software above the drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Host {
    /// The filesystem that holds the test file, or none for a raw block device.
    pub filesystem: Filesystem,
    /// Processor time of a read or write on its way in and out of the kernel.
    pub call_us: f64,
    /// Processor time of a sync call that finds nothing to do.
    pub sync_us: f64,
    /// The largest request that the kernel sends (`queue/max_sectors_kb`); larger ones leave in pieces, together.
    pub request_most: Bytes,
    /// How often the clock of file times ticks. A write moves a file's time only when the clock has ticked since the last one, and `fsync` has metadata
    /// to write only then (`ktime_get_coarse_real_ts64`, 1000 Hz in current distributions).
    pub tick_us: f64,
}

impl Default for Host {
    fn default() -> Host {
        Host {
            filesystem: Filesystem::None,
            call_us: 1.0,
            sync_us: 0.7,
            request_most: Bytes(1280 << 10),
            tick_us: 1000.0,
        }
    }
}

/// What lies between an application and the block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filesystem {
    /// Nothing: a raw block device.
    None,
    /// ext4 with an ordered journal, as distributions mount it.
    Ext4,
}

impl Filesystem {
    /// As targets write it.
    pub const fn name(self) -> &'static str {
        match self {
            Filesystem::None => "none",
            Filesystem::Ext4 => "ext4",
        }
    }
}

/// A drive's parameters, by how it works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Parameters {
    /// Flash behind a page-mapping translation layer.
    SolidState(SolidState),
    /// A rotating disk.
    Disk(Disk),
    /// Flash behind a translation layer that maps whole erase blocks: a USB stick or memory card.
    Stick(Stick),
    /// A volume that a cloud serves: latency, a share of a network, a limit.
    Volume(Volume),
    /// Several drives as one.
    Array(Array),
}

/// A solid-state drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SolidState {
    /// Capacity as sold.
    pub capacity_gb: f64,
    /// How it is attached.
    pub link: Link,
    /// Where writes wait for the flash.
    pub cache: Cache,
    /// What FLUSH CACHE does.
    pub flush: Flush,
    /// What a write with forced unit access does.
    pub fua: Fua,
    /// The medium.
    pub flash: Flash,
}

/// The way between host and drive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Commands that the drive takes at once: 32 with SATA's native queueing, thousands with NVMe.
    pub queue_depth: u32,
    /// What the link carries.
    pub mb_per_s: f64,
    /// Whether it carries both ways at once, as PCI Express does and SATA does not.
    pub full_duplex: bool,
    /// How long each command keeps the controller from others.
    pub command_us: f64,
    /// What a write's way takes beyond that, when it can overlap with others.
    pub write_us: f64,
    /// What a read's way takes beyond command and flash, when it can overlap with others.
    pub read_us: f64,
}

/// A drive's write cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Bytes of writes that wait for the flash.
    pub size: Bytes,
    /// Whether capacitors write it out when power fails.
    pub protected: bool,
    /// Whether the drive tells the host that its cache is volatile. Protected drives on NVMe say no, so that no flush is sent; those on SATA mostly say yes.
    pub told_volatile: bool,
}

/// FLUSH CACHE.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flush {
    /// The command's own round trip, also when nothing waits to be written.
    pub command_us: f64,
    /// What it waits for.
    pub waits_for: WaitsFor,
    /// Writing the journal of the mapping table, where it waits for that.
    #[serde(default)]
    pub journal_us: f64,
    /// Each further page of the mapping table that was changed, where it waits for that.
    #[serde(default)]
    pub map_page_us: f64,
    /// Whether it waits for all other commands and keeps them waiting, as SATA's FLUSH CACHE does, which cannot be queued.
    #[serde(default)]
    pub drains_queue: bool,
}

/// What a flush waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitsFor {
    /// Nothing: the cache is protected.
    Nothing,
    /// The data in the cache.
    Data,
    /// The data and the mapping table.
    Map,
}

/// A write with forced unit access.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "how", deny_unknown_fields)]
pub enum Fua {
    /// The drive has none: the host sends a flush after the write. Linux's default for SATA.
    Absent,
    /// Taken into the protected cache like any write.
    Cached {
        /// How much longer than a plain write it keeps the controller.
        extra_us: f64,
    },
    /// Acknowledged when it is in the flash. In single-bit flash a page describes itself; elsewhere the mapping journal is written, too, if `journal` says so.
    Programmed {
        /// What it takes more than a plain write and the flash.
        extra_us: f64,
        /// Whether it waits for the mapping journal, too.
        journal: Journalled,
    },
    /// Taken into the volatile cache and called safe.
    Ignored,
}

/// When a write with forced unit access waits for the mapping journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Journalled {
    /// Never: pages describe themselves.
    Never,
    /// Only where it goes to multi-bit flash directly.
    MultiBit,
    /// Always.
    Always,
}

/// The flash and its translation layer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flash {
    /// Dies that work side by side.
    pub dies: u32,
    /// Channels that the dies share.
    pub channels: u32,
    /// What one channel carries.
    pub channel_mb_per_s: f64,
    /// Bytes that one die programs at once: all planes, all bits of a word line.
    pub program: Bytes,
    /// Time of one program.
    pub program_us: f64,
    /// Time to read a page out of the cells.
    pub read_us: f64,
    /// Time to erase a block.
    pub erase_us: f64,
    /// Programs that fill an erase block.
    pub programs_per_block: u32,
    /// Flash beyond the capacity, as a share of it.
    pub spare_percent: f64,
    /// The part that is written one bit a cell and folded into the rest later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc: Option<Slc>,
}

/// Flash written one bit a cell: fast, and short.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slc {
    /// How much fits, when it is empty.
    pub size: Bytes,
    /// How much of it is empty when a measurement begins: all in a new drive, little in one that is used hard.
    pub free: Bytes,
    /// Bytes that one die programs at once.
    pub program: Bytes,
    /// Time of one program.
    pub program_us: f64,
}

/// A rotating disk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Capacity as sold.
    pub capacity_gb: f64,
    /// Turns a minute.
    pub rpm: f64,
    /// Seek to the next track.
    pub seek_track_us: f64,
    /// Mean seek between random places.
    pub seek_mean_us: f64,
    /// What a write waits longer than a read until the head is still.
    pub write_settle_us: f64,
    /// Speed at the outer edge.
    pub outer_mb_per_s: f64,
    /// Speed at the inner edge.
    pub inner_mb_per_s: f64,
    /// Electronics of each command.
    pub command_us: f64,
    /// What the link carries.
    pub link_mb_per_s: f64,
    /// Commands that the drive takes at once.
    pub queue_depth: u32,
    /// Bytes of writes that wait for the medium while the write cache is on.
    pub cache: Bytes,
    /// Whether the write cache is on as shipped.
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
    /// Blocks that can be written to at once.
    pub open_blocks: u32,
    /// Each command's round trip.
    pub command_us: f64,
    /// Writing into an open block.
    pub write_mb_per_s: f64,
    /// Reading.
    pub read_mb_per_s: f64,
    /// Copying what was not overwritten when a block is closed.
    pub copy_mb_per_s: f64,
    /// Erasing a block.
    pub erase_us: f64,
}

/// A cloud's volume, or local drive behind a cloud's limits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    /// Capacity.
    pub capacity_gb: f64,
    /// Commands that it takes at once.
    pub queue_depth: u32,
    /// A small write's round trip.
    pub write_us: f64,
    /// A small read's round trip.
    pub read_us: f64,
    /// The unit in which it is spread over servers: a command's units travel side by side.
    pub unit: Bytes,
    /// Speed of one unit on its way.
    pub unit_mb_per_s: f64,
    /// Speed of all together.
    pub link_mb_per_s: f64,
    /// What it may write for long, by contract; commands above that wait.
    pub sustained_mb_per_s: f64,
    /// Commands a second, by contract.
    pub iops_most: f64,
    /// Bytes that may run ahead of the contract.
    pub burst: Bytes,
    /// A flush's round trip; it waits for what runs ahead of the contract, too.
    pub flush_us: f64,
    /// Whether it takes writes with forced unit access, as NVMe does and virtio-blk does not: there the host sends a flush after the write.
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

/// Several drives as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Array {
    /// How they share the work.
    pub level: Level,
    /// How many.
    pub members: u32,
    /// What lies on one member before the next one follows.
    pub chunk: Bytes,
    /// Whether stripes are written to a journal first, so that a power cut leaves none half changed.
    #[serde(default)]
    pub journal: bool,
    /// Each of them.
    pub member: Box<Parameters>,
}

/// How the drives of an array share the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Each holds a part.
    Raid0,
    /// Each holds everything.
    Raid1,
    /// Each holds a part, and one part more holds their parity.
    Raid5,
    /// Each holds a part, and two parts more hold parity.
    Raid6,
}

impl Level {
    /// As targets write it.
    pub const fn number(self) -> u32 {
        match self {
            Level::Raid0 => 0,
            Level::Raid1 => 1,
            Level::Raid5 => 5,
            Level::Raid6 => 6,
        }
    }
}

/// A size in a model's file, written `"4 KiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Bytes(pub u64);

impl TryFrom<String> for Bytes {
    type Error = workload::size::InvalidSize;

    fn try_from(text: String) -> Result<Bytes, Self::Error> {
        text.parse::<ByteSize>().map(|size| Bytes(size.0))
    }
}

impl From<Bytes> for String {
    fn from(bytes: Bytes) -> String {
        workload::format_bytes(bytes.0)
    }
}
