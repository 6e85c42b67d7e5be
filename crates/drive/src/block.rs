//! A block device as sysfs describes it, with the layers below it.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mount::MountTable;
use crate::system_root::Attributes;
use crate::{DeviceNumber, DriveError, Link, RbdImage, SystemRoot, Transport, emulated};

/// More layers than any real stack has. Reading a broken (or hostile) sysfs tree stops here.
const LAYERS_MAX: usize = 256;

/// Sysfs counts sizes and starts in units of 512 bytes, whatever the device's own block size
/// (Documentation/ABI/stable/sysfs-block).
pub(crate) const SECTOR_BYTES: u64 = 512;

/// One block device: a disk, a partition, or a layer such as LVM, dm-crypt or software RAID.
///
/// Fields that sysfs does not provide are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDevice {
    /// Major and minor number.
    pub device: DeviceNumber,
    /// The kernel's name: `nvme0n1p2`, `sda`, `dm-3`.
    pub name: String,
    /// The path that users know: `/dev/sda2`, `/dev/mapper/vg-root`.
    #[serde(with = "crate::lossy_path")]
    #[schemars(with = "String")]
    pub path: PathBuf,
    /// Position on the disk, if this is a partition. All other fields except the size, the holders
    /// and `read_only` then describe the disk.
    pub partition: Option<Partition>,
    /// The bus or driver of the disk.
    pub transport: Transport,
    /// The kind of layer, if this is one: `lvm`, `crypt`, `mpath`, `raid1`.
    pub layer: Option<String>,
    /// The drive's model, without padding.
    pub model: Option<String>,
    /// The drive's vendor; SCSI reports `ATA` for all SATA drives.
    pub vendor: Option<String>,
    /// The drive's serial number, if this user may read it.
    pub serial: Option<String>,
    pub firmware: Option<String>,
    pub size_bytes: Option<u64>,
    /// True if the kernel refuses writes.
    pub read_only: Option<bool>,
    /// Block sizes, cache and scheduler.
    pub queue: Queue,
    /// The cache type that the drive reported to its driver (`write back`, `write through`,
    /// `none`...), where the driver exposes it (SCSI, virtio). It differs from
    /// `write_cache` when the kernel's view has been overridden.
    pub cache_type: Option<String>,
    /// The link to the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<Link>,
    /// The file that backs a loop device.
    #[serde(with = "crate::lossy_path::option")]
    #[schemars(with = "Option<String>")]
    pub backing_file: Option<PathBuf>,
    /// The device of the filesystem that contains `backing_file`, if it has exactly one. It is not
    /// one of the `layers`: the loop device stores its bytes in a file, through that filesystem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing_device: Option<Box<BlockDevice>>,
    /// The image of a Ceph cluster that the kernel presents as this device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rbd_image: Option<RbdImage>,
    /// The devices directly below, each with its own layers; empty for a drive.
    pub layers: Vec<BlockDevice>,
    /// Kernel names of the devices built on top of this one.
    pub holders: Vec<String>,
}

/// A partition's place on its disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Partition {
    /// Counted from 1.
    pub number: Option<u32>,
    /// Start on the disk, in bytes.
    pub start_bytes: Option<u64>,
    /// The disk's kernel name.
    pub disk: String,
    /// The disk's major and minor number.
    pub disk_device: Option<DeviceNumber>,
}

/// What the kernel believes about a drive's volatile cache. The belief may be wrong: a command that
/// bypassed the kernel may have switched the cache, and a drive with power-loss protection may
/// report a cache that loses nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// The drive has a volatile cache: the kernel sends flushes.
    WriteBack,
    /// No volatile cache: the kernel sends no flushes, and a completed write counts as durable.
    WriteThrough,
}

/// The request queue of the whole disk: Documentation/ABI/stable/sysfs-block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// The smallest write, and the alignment that direct I/O must keep.
    pub logical_block_bytes: Option<u64>,
    /// The smallest write that the drive does without reading first.
    pub physical_block_bytes: Option<u64>,
    /// The smallest write that the drive prefers (a RAID's chunk).
    pub minimum_io_bytes: Option<u64>,
    /// The write size that the drive prefers (a RAID's stripe); `None` when not reported.
    pub optimal_io_bytes: Option<u64>,
    /// The largest request that reaches the drive in one piece.
    pub max_request_bytes: Option<u64>,
    /// As reported: virtual disks often claim to rotate.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use: `none`, `mq-deadline`, `kyber`, `bfq`.
    pub scheduler: Option<String>,
    /// Number of requests that fit the scheduler's queue.
    pub nr_requests: Option<u64>,
    /// The kernel's view of the cache: it sends flushes only to a write-back cache.
    pub write_cache: Option<WriteCache>,
    /// True if a single write can bypass the cache (Force Unit Access, FUA); without it, the kernel
    /// flushes instead.
    pub fua: Option<bool>,
    /// True if the kernel counts reads and writes for this device (`queue/iostats`; off for zram by
    /// default). Flushes are counted regardless: seen on a loop device under Linux 6.18.
    pub counts_io: Option<bool>,
    /// Number of hardware queues (`mq/`).
    #[serde(default)]
    pub hardware_queues: Option<u64>,
    /// True if completions can be polled instead of signalled by interrupts (`queue/io_poll`).
    #[serde(default)]
    pub polls: Option<bool>,
    /// The timeout after which the kernel resets the drive, in milliseconds.
    #[serde(default)]
    pub io_timeout_ms: Option<u64>,
    /// The smallest discard, in bytes; `None` without discard support.
    #[serde(default)]
    pub discard_granularity_bytes: Option<u64>,
    /// The largest discard, in bytes; `None` without discard support.
    #[serde(default)]
    pub discard_max_bytes: Option<u64>,
    /// `host-managed` or `host-aware` for a zoned device; `None` otherwise.
    pub zoned: Option<String>,
    /// Size of the zones of a zoned device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_bytes: Option<u64>,
    /// The number of zones that may be open at a time; `None` if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_open_zones: Option<u64>,
    /// The number of zones that may be partly written at a time; `None` if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_active_zones: Option<u64>,
}

impl BlockDevice {
    /// Reads everything that `root` knows about a device.
    ///
    /// # Errors
    ///
    /// [`DriveError::NoSuchDevice`] when `/sys/dev/block` does not list it.
    pub fn read(root: &SystemRoot, device: DeviceNumber) -> Result<Self, DriveError> {
        let place = sysfs_place(root, device).ok_or(DriveError::NoSuchDevice { device })?;
        let mut device = Reader { left: LAYERS_MAX }.read(&place, device, &mut Vec::new());
        device.find_backing_devices(root);
        device.find_images(root);
        Ok(device)
    }

    /// Looks up what is under the file of each loop device in the stack: an emulated drive, whose
    /// model it then has, or a device, but not what is under the file of another loop device.
    fn find_backing_devices(&mut self, root: &SystemRoot) {
        for layer in &mut self.layers {
            layer.find_backing_devices(root);
        }
        let Some(file) = &self.backing_file else { return };
        let Ok(table) = MountTable::read(root) else { return };
        let Some(mount) = table.holding(file, None) else { return };
        self.model = emulated::model(mount);
        self.backing_device = sysfs_place(root, mount.device).map(|place| {
            Box::new(Reader { left: LAYERS_MAX }.read(&place, mount.device, &mut Vec::new()))
        });
    }

    /// Looks up the image of each mapped one in the stack.
    fn find_images(&mut self, root: &SystemRoot) {
        for layer in &mut self.layers {
            layer.find_images(root);
        }
        if self.transport == Transport::Rbd {
            self.rbd_image = RbdImage::mapped_as(root, self.disk_name());
        }
    }

    /// The numbers of a disk's partitions.
    pub fn partitions(root: &SystemRoot, disk: DeviceNumber) -> Vec<DeviceNumber> {
        let Some(place) = sysfs_place(root, disk) else { return Vec::new() };
        let disk = Attributes { directory: place };
        let names = disk.entries("").into_iter();
        names
            .filter(|name| disk.exists(format!("{name}/partition")))
            .filter_map(|name| disk.parsed(format!("{name}/dev")))
            .collect()
    }

    /// The drive's name for users: its model, or the image of a Ceph cluster.
    pub fn label(&self) -> Option<String> {
        let image = self.rbd_image.as_ref().map(|image| format!("image {image}"));
        image.or_else(|| self.model.clone())
    }

    /// The number of the whole disk: the device's own, unless it is a partition.
    pub fn disk_device(&self) -> DeviceNumber {
        self.partition.as_ref().and_then(|partition| partition.disk_device).unwrap_or(self.device)
    }

    /// The kernel's name of the whole disk.
    pub fn disk_name(&self) -> &str {
        self.partition.as_ref().map_or(&self.name, |partition| &partition.disk)
    }

    /// The devices at the bottom of the stack, each listed once: the drives that finally store the
    /// bytes.
    pub fn drives(&self) -> Vec<&BlockDevice> {
        let mut drives = Vec::new();
        self.collect_drives(&mut drives);
        drives
    }

    fn collect_drives<'a>(&'a self, drives: &mut Vec<&'a BlockDevice>) {
        for layer in &self.layers {
            layer.collect_drives(drives);
        }
        if self.layers.is_empty()
            && !drives.iter().any(|drive| drive.disk_device() == self.disk_device())
        {
            drives.push(self);
        }
    }

    /// The disks at which the kernel counts the flushes that a sync on this device causes: the disk
    /// itself, or the drives below a layer that passes flushes on without counting them. Empty
    /// where no device counts (zram).
    pub fn flush_counting_devices(&self) -> Vec<DeviceNumber> {
        if self.transport.counts_flushes() {
            return vec![self.disk_device()];
        }
        let drives = self.drives().into_iter().filter(|drive| drive.transport.counts_flushes());
        drives.map(BlockDevice::disk_device).collect()
    }
}

/// The directory of a device in sysfs, links followed.
pub(crate) fn sysfs_place(root: &SystemRoot, device: DeviceNumber) -> Option<PathBuf> {
    fs::canonicalize(root.path(format!("sys/dev/block/{device}"))).ok()
}

/// The directory of the whole disk, given the directory of a disk or a partition: sysfs nests a
/// partition in its disk.
pub(crate) fn disk_place(place: &Path) -> &Path {
    match place.parent() {
        Some(parent) if place.join("partition").exists() => parent,
        _ => place,
    }
}

/// Walks down a stack of devices; cycles and unlimited depth are cut off.
struct Reader {
    left: usize,
}

impl Reader {
    /// `above` lists the devices on the path from the top to this one.
    fn read(
        &mut self,
        place: &Path,
        device: DeviceNumber,
        above: &mut Vec<PathBuf>,
    ) -> BlockDevice {
        self.left = self.left.saturating_sub(1);
        let disk_place = disk_place(place);
        let own = Attributes { directory: place.to_owned() };
        let disk = Attributes { directory: disk_place.to_owned() };
        let transport = Transport::of_sysfs_path(disk_place);

        above.push(place.to_owned());
        let mut layers = Vec::new();
        for slave in disk.entries("slaves") {
            let Ok(below) = fs::canonicalize(disk_place.join("slaves").join(slave)) else {
                continue;
            };
            let Some(number) = (Attributes { directory: below.clone() }).parsed("dev") else {
                continue;
            };
            if self.left > 0 && !above.contains(&below) {
                layers.push(self.read(&below, number, above));
            }
        }
        above.pop();

        BlockDevice {
            device,
            path: device_path(place),
            partition: (place != disk_place).then(|| Partition {
                number: own.parsed("partition"),
                start_bytes: own
                    .parsed::<u64>("start")
                    .and_then(|sectors| sectors.checked_mul(SECTOR_BYTES)),
                disk: file_name(disk_place),
                disk_device: disk.parsed("dev"),
            }),
            transport,
            layer: layer(&disk),
            // MMC calls its model a name.
            model: disk.text("device/model").or_else(|| disk.text("device/name")),
            // virtio publishes the number of its PCI vendor here, not a name.
            vendor: disk.text("device/vendor").filter(|vendor| !vendor.starts_with("0x")),
            serial: serial(&disk).or_else(|| usb_serial(disk_place)),
            firmware: ["device/firmware_rev", "device/rev", "device/fwrev"]
                .iter()
                .find_map(|file| disk.text(file)),
            size_bytes: own
                .parsed::<u64>("size")
                .and_then(|sectors| sectors.checked_mul(SECTOR_BYTES)),
            read_only: own.flag("ro"),
            queue: Queue::read(&disk),
            cache_type: disk.text("cache_type").or_else(|| scsi_cache_type(&disk)),
            link: Link::of_sysfs_path(disk_place, transport),
            backing_file: disk.text("loop/backing_file").map(PathBuf::from),
            backing_device: None,
            rbd_image: None,
            layers,
            holders: own.entries("holders"),
            name: file_name(place),
        }
    }
}

fn file_name(place: &Path) -> String {
    // sysfs cannot have a slash in a name and writes `!` for it (`cciss!c0d0`).
    place.file_name().map(|name| name.to_string_lossy().replace('!', "/")).unwrap_or_default()
}

/// The path that users know for the device in this sysfs directory.
pub(crate) fn device_path(place: &Path) -> PathBuf {
    match (Attributes { directory: place.to_owned() }).text("dm/name") {
        Some(mapped) => Path::new("/dev/mapper").join(mapped),
        None => Path::new("/dev").join(file_name(place)),
    }
}

/// Device mapper's users prefix their UUIDs: `LVM-...`, `CRYPT-LUKS2-...`, `mpath-...`.
fn layer(disk: &Attributes) -> Option<String> {
    let mapped = disk.text("dm/uuid").and_then(|uuid| Some(uuid.split_once('-')?.0.to_lowercase()));
    mapped.or_else(|| disk.text("md/level"))
}

fn serial(disk: &Attributes) -> Option<String> {
    // virtio and NVMe-like drivers publish text; SCSI the raw Vital Product Data page 80h: four
    // bytes of header, the last two of them the length, then ASCII (SPC-4, 7.8.12).
    disk.text("device/serial").or_else(|| disk.text("serial")).or_else(|| {
        let page = disk.bytes("device/vpd_pg80")?;
        let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
        let text = String::from_utf8_lossy(page.get(4..4 + length)?).trim().to_owned();
        (!text.is_empty()).then_some(text)
    })
}

/// The serial number in a USB device's descriptor. It replaces the disk's own, because the kernel
/// does not ask a bridge for page 80h.
fn usb_serial(disk_place: &Path) -> Option<String> {
    let device = disk_place.ancestors().find(|above| above.join("idVendor").exists())?;
    (Attributes { directory: device.to_owned() }).text("serial")
}

/// `device/scsi_disk/2:0:0:0/cache_type`.
fn scsi_cache_type(disk: &Attributes) -> Option<String> {
    let address = disk.entries("device/scsi_disk").into_iter().next()?;
    disk.text(format!("device/scsi_disk/{address}/cache_type"))
}

impl Queue {
    /// Returns `true` if writes must go to the write pointers of zones.
    pub fn is_host_managed(&self) -> bool {
        self.zoned.as_deref() == Some("host-managed")
    }

    fn read(disk: &Attributes) -> Self {
        let zoned = disk.text("queue/zoned").filter(|zoned| zoned != "none");
        let chunk_bytes = || disk.nonzero("queue/chunk_sectors")?.checked_mul(SECTOR_BYTES);
        let block_bytes = |file| disk.parsed::<u64>(file).filter(|bytes| bytes.is_power_of_two());
        Queue {
            logical_block_bytes: block_bytes("queue/logical_block_size"),
            physical_block_bytes: block_bytes("queue/physical_block_size"),
            minimum_io_bytes: disk.nonzero("queue/minimum_io_size"),
            optimal_io_bytes: disk.nonzero("queue/optimal_io_size"),
            max_request_bytes: disk
                .nonzero("queue/max_sectors_kb")
                .and_then(|kib| kib.checked_mul(1024)),
            rotational: disk.flag("queue/rotational"),
            scheduler: disk.text("queue/scheduler").and_then(|text| chosen(&text)),
            nr_requests: disk.nonzero("queue/nr_requests"),
            write_cache: match disk.text("queue/write_cache").as_deref() {
                Some("write back") => Some(WriteCache::WriteBack),
                Some("write through") => Some(WriteCache::WriteThrough),
                _ => None,
            },
            fua: disk.flag("queue/fua"),
            counts_io: disk.flag("queue/iostats"),
            hardware_queues: Some(disk.entries("mq").len() as u64).filter(|&queues| queues > 0),
            polls: disk.flag("queue/io_poll"),
            io_timeout_ms: disk.nonzero("queue/io_timeout"),
            discard_granularity_bytes: disk.nonzero("queue/discard_granularity"),
            discard_max_bytes: disk.nonzero("queue/discard_max_bytes"),
            // On other drives, it is the size of a RAID's chunk.
            zone_bytes: zoned.as_ref().and_then(|_| chunk_bytes()),
            max_open_zones: disk.nonzero("queue/max_open_zones"),
            max_active_zones: disk.nonzero("queue/max_active_zones"),
            zoned,
        }
    }
}

/// The scheduler in brackets (`none [mq-deadline] kyber`), or the only word if there is just one.
pub(crate) fn chosen(text: &str) -> Option<String> {
    let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let word = bracketed.map_or(text, |(word, _)| word).trim();
    (!word.is_empty() && !word.contains(char::is_whitespace)).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use captures::{Machine, built};

    use super::*;

    fn read(machine: &Machine, device: &str) -> BlockDevice {
        BlockDevice::read(&SystemRoot::new(machine.path()), device.parse().unwrap()).unwrap()
    }

    #[test]
    fn zones_are_facts_of_a_zoned_drive_only() {
        let queue = |files: &[(&str, &str)]| {
            let machine = Machine::new();
            machine.disk("virtual/block/sdz", "8:400", files);
            read(&machine, "8:400").queue
        };
        let limits = [
            ("queue/chunk_sectors", "524288"),
            ("queue/max_open_zones", "128"),
            ("queue/max_active_zones", "0"),
        ];
        let zoned = queue(&[&limits[..], &[("queue/zoned", "host-managed")]].concat());
        assert!(zoned.is_host_managed());
        assert_eq!((zoned.zone_bytes, zoned.max_open_zones), (Some(256 << 20), Some(128)));
        // No limit.
        assert_eq!(zoned.max_active_zones, None);
        let raid = queue(&[("queue/chunk_sectors", "1024"), ("queue/zoned", "none")]);
        assert!(!raid.is_host_managed());
        assert_eq!((raid.zoned, raid.zone_bytes), (None, None));
    }

    #[test]
    fn a_partition_takes_its_queue_and_model_from_its_disk() {
        let device = read(&built::laptop(), "259:2");
        assert_eq!(device.name, "nvme0n1p2");
        assert_eq!(device.path, Path::new("/dev/nvme0n1p2"));
        assert_eq!(
            device.partition,
            Some(Partition {
                number: Some(2),
                start_bytes: Some(1050624 * 512),
                disk: "nvme0n1".to_owned(),
                disk_device: Some(DeviceNumber { major: 259, minor: 0 }),
            })
        );
        assert_eq!(device.transport, Transport::Nvme);
        assert_eq!(device.model.as_deref(), Some("Samsung SSD 980 PRO 1TB"));
        assert_eq!(device.serial.as_deref(), Some("S5GXNX0R000000"));
        assert_eq!(device.firmware.as_deref(), Some("5B2QGXA7"));
        assert_eq!(device.size_bytes, Some(1952473088 * 512));
        assert_eq!(device.queue.write_cache, Some(WriteCache::WriteBack));
        assert_eq!(device.queue.fua, Some(true));
        assert_eq!(device.queue.rotational, Some(false));
        assert_eq!(device.queue.scheduler.as_deref(), Some("none"));
        assert_eq!(device.queue.logical_block_bytes, Some(512));
        assert_eq!(device.queue.optimal_io_bytes, None);
        assert_eq!(device.queue.max_request_bytes, Some(128 * 1024));
        assert_eq!(device.disk_device(), DeviceNumber { major: 259, minor: 0 });
        assert_eq!(device.flush_counting_devices(), [DeviceNumber { major: 259, minor: 0 }]);
    }

    #[test]
    fn a_stack_is_followed_down_to_its_drives() {
        let volume = read(&built::raid_server(), "253:1");
        assert_eq!(volume.path, Path::new("/dev/mapper/vg0-data"));
        assert_eq!(volume.layer.as_deref(), Some("lvm"));
        assert_eq!(volume.transport, Transport::DeviceMapper);
        let crypt = &volume.layers[0];
        assert_eq!((crypt.name.as_str(), crypt.layer.as_deref()), ("dm-0", Some("crypt")));
        let raid = &crypt.layers[0];
        assert_eq!((raid.name.as_str(), raid.layer.as_deref()), ("md0", Some("raid1")));
        assert_eq!(
            raid.layers.iter().map(|leg| leg.name.as_str()).collect::<Vec<_>>(),
            ["sda2", "sdb2"]
        );

        let drives = volume.drives();
        assert_eq!(drives.len(), 2);
        for drive in &drives {
            assert_eq!(drive.transport, Transport::Sata);
            assert_eq!(drive.model.as_deref(), Some("INTEL SSDSC2KB48"));
            assert_eq!(drive.vendor.as_deref(), Some("ATA"));
            assert_eq!(drive.firmware.as_deref(), Some("0132"));
            assert_eq!(drive.cache_type.as_deref(), Some("write back"));
            assert_eq!(drive.queue.fua, Some(false));
        }
        assert_eq!(drives[0].serial.as_deref(), Some("PHYF0001"));
        assert_eq!(drives[0].holders, ["md0"]);
        let (sda, sdb) =
            (DeviceNumber { major: 8, minor: 0 }, DeviceNumber { major: 8, minor: 16 });
        assert_eq!(volume.flush_counting_devices(), [sda, sdb]);
    }

    #[test]
    fn a_cloud_disk_is_quoted_as_it_lies() {
        let disk = read(&built::cloud_vm(), "254:0");
        assert_eq!(disk.transport, Transport::Virtio);
        assert_eq!(disk.queue.rotational, Some(true));
        assert_eq!(disk.queue.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(disk.cache_type.as_deref(), Some("write back"));
        assert_eq!((disk.vendor, disk.model, disk.partition), (None, None, None));
    }

    #[test]
    fn a_loop_device_names_its_file() {
        let machine = built::cloud_vm();
        machine.disk(
            "virtual/block/loop0",
            "7:0",
            &[("size", "2048"), ("loop/backing_file", "/srv/disk image")],
        );
        let device = read(&machine, "7:0");
        assert_eq!(device.transport, Transport::Loop);
        assert_eq!(device.backing_file.as_deref(), Some(Path::new("/srv/disk image")));
        let below = device.backing_device.as_ref().unwrap();
        assert_eq!(below.drives()[0].name, "vda", "the drive of the filesystem with the file");
        assert_eq!(device.drives(), [&device], "which the loop device does not consist of");
    }

    #[test]
    fn a_loop_device_on_an_emulated_drive_has_its_model() {
        let machine = built::cloud_vm();
        let files = [
            ("size", "2048"),
            ("loop/backing_file", "/run/drive-1/drive"),
            ("queue/write_cache", "write through"),
        ];
        machine.disk("virtual/block/loop0", "7:0", &files);
        machine.mounts(
            "30 1 254:1 / / rw - ext4 /dev/vda1 rw\n\
             40 30 0:50 / /run/drive-1 rw - fuse.flushmark flushmark:enterprise-sata rw\n",
        );
        let device = read(&machine, "7:0");
        assert_eq!(device.model.as_deref(), Some("enterprise-sata (emulated)"));
        assert_eq!(device.queue.write_cache, Some(WriteCache::WriteThrough));
        assert_eq!(device.backing_device, None);
    }

    #[test]
    fn slaves_in_a_circle_end() {
        let machine = Machine::new();
        machine.disk("virtual/block/dm-0", "253:0", &[]);
        machine.disk("virtual/block/dm-1", "253:1", &[]);
        machine.stack("virtual/block/dm-0", "virtual/block/dm-1");
        machine.stack("virtual/block/dm-1", "virtual/block/dm-0");
        let device = read(&machine, "253:0");
        assert_eq!(device.layers.len(), 1);
        assert!(device.layers[0].layers.is_empty());
    }

    fn count(device: &BlockDevice) -> usize {
        1 + device.layers.iter().map(count).sum::<usize>()
    }

    #[test]
    fn a_stack_that_doubles_at_each_layer_ends() {
        let machine = Machine::new();
        let place = |level: usize, side: usize| format!("virtual/block/dm-{}", 2 * level + side);
        for minor in 0..40 {
            machine.disk(&format!("virtual/block/dm-{minor}"), &format!("253:{minor}"), &[]);
        }
        for level in 0..19 {
            for (upper, lower) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                machine.stack(&place(level, upper), &place(level + 1, lower));
            }
        }
        assert!(count(&read(&machine, "253:0")) <= LAYERS_MAX);
    }

    #[test]
    fn a_device_that_sysfs_does_not_list_is_an_error() {
        let error = BlockDevice::read(
            &SystemRoot::new(Machine::new().path()),
            DeviceNumber { major: 8, minor: 0 },
        )
        .unwrap_err();
        insta::assert_snapshot!(error, @"/sys/dev/block does not list the block device 8:0: is sysfs mounted, and is the device still there?");
    }

    #[test]
    fn a_device_without_any_attribute_has_no_facts() {
        let machine = Machine::new();
        machine.disk("virtual/block/mystery", "240:0", &[]);
        let device = read(&machine, "240:0");
        assert_eq!(device.transport, Transport::Unknown);
        assert_eq!(device.queue, Queue::default());
        assert_eq!((device.size_bytes, device.model, device.serial), (None, None, None));
    }

    #[test]
    fn facts_survive_json() {
        let volume = read(&built::raid_server(), "253:1");
        let json = serde_json::to_string(&volume).unwrap();
        assert_eq!(serde_json::from_str::<BlockDevice>(&json).unwrap(), volume);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn absurd_attributes_never_panic(value in prop::collection::vec(any::<u8>(), 0..24), number in any::<i128>()) {
            let machine = Machine::new();
            machine.disk("pci0000:00/host0/target0:0:0/0:0:0:0/block/sda", "8:0", &[]);
            for file in [
                "size", "ro", "start", "device/model", "device/serial", "device/vpd_pg80", "dm/uuid", "dm/name", "md/level",
                "queue/scheduler", "queue/write_cache", "queue/logical_block_size", "queue/rotational",
            ] {
                machine.attribute("pci0000:00/host0/target0:0:0/0:0:0:0/block/sda", file, &value);
            }
            for file in ["queue/max_sectors_kb", "queue/physical_block_size", "queue/nr_requests", "queue/optimal_io_size"] {
                machine.attribute("pci0000:00/host0/target0:0:0/0:0:0:0/block/sda", file, number.to_string().as_bytes());
            }
            let device = read(&machine, "8:0");
            prop_assert!(serde_json::to_string(&device).is_ok());
        }
    }
}
