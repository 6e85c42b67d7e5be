//! The head of a report: the target, its storage stack, and its cache state as far as it is
//! readable without root.

use std::ops::RangeInclusive;

use drive::{
    Backing, BlockDevice, HostFacts, Mount, Place, PlaceKind, Transport, Virtualisation, WriteCache,
};
use measurement::{ExportRecord, RunDocument, TargetKind, TargetRecord};
use workload::format_bytes;
use workload::number::{about_bytes, capacity, number};

use crate::database::settings_words;
use crate::look::{Detail, Look, paint};

/// A test on at least this share of the target counts as on all of it: parts are whole blocks.
const WHOLE_SHARE_MIN: f64 = 0.99;
const LABEL: usize = 13;

/// One line of the head of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFact {
    /// For example `filesystem` or `write cache`; empty if it continues the previous line.
    pub label: &'static str,
    pub words: String,
    pub weight: Weight,
}

/// The severity of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    Plain,
    /// The numbers may be misleading.
    Warning,
    /// Data is at risk.
    Bad,
}

/// Target, filesystem, device, drive, cache and host; one line each, more for a device built from
/// several.
///
/// `tested_bytes` is the smallest and largest part of the target used by a test.
pub fn target_header(
    document: &RunDocument,
    tested_bytes: Option<RangeInclusive<u64>>,
    look: &Look,
) -> String {
    let facts = target_facts(document, tested_bytes);
    let facts = match look.detail {
        Detail::Full => facts,
        Detail::Brief => brief(document, facts),
    };
    let mut text = String::new();
    for TargetFact { label, words, weight } in facts {
        let style = match weight {
            Weight::Plain => anstyle::Style::new(),
            Weight::Warning => look.palette.warning,
            Weight::Bad => look.palette.bad,
        };
        let label = paint(look.palette.faint, &format!("{label:<LABEL$}"));
        text += &look.hanging_in(style, &label, &words);
    }
    look.finish(text)
}

/// The lines of [`target_header`] as data, for other layouts.
pub fn target_facts(
    document: &RunDocument,
    tested_bytes: Option<RangeInclusive<u64>>,
) -> Vec<TargetFact> {
    let RunDocument { target, drive: place, host, .. } = document;
    let place = place.as_ref();
    let mut facts = Facts(Vec::new());
    if let Some(label) = &document.label {
        facts.add("label", label.clone());
    }
    facts.add("target", target_words(target, place));
    let size_bytes = place.and_then(|place| place.size_bytes);
    let size_bytes = size_bytes.or(target.export.as_ref().map(|export| export.size_bytes));
    if let Some(words) = tested_words(tested_bytes, size_bytes) {
        facts.add("tested", words);
    }
    if let Some(export) = &target.export {
        facts.export(export);
    }
    if let Some(database) = &target.database {
        facts.add("server", format!("{} {}", database.product.label(), database.version));
        facts.add("settings", settings_words(database));
    }
    if let Some(place) = place {
        if let Some(mount) = &place.mount {
            facts.filesystem(mount);
        }
        if let Some(what) = judge::kept_in_memory(place) {
            let words =
                format!("none: {what} keeps everything in memory, and a power cut loses all of it");
            facts.add_weighted("durability", words, Weight::Bad);
        }
        match &place.backing {
            Backing::BlockDevice(device) => facts.device(device, place.kind, &target.kind),
            Backing::NoBlockDevice(reason) => {
                facts.add_weighted("device", format!("none visible: {reason}"), Weight::Warning);
            }
        }
    }
    // The host of a model is part of the model.
    if target.kind != TargetKind::Model {
        facts.add("host", host_words(host));
    }
    facts.0
}

/// The target with its drive in one line, the host in another, and every warning.
fn brief(document: &RunDocument, mut facts: Vec<TargetFact>) -> Vec<TargetFact> {
    let is_real = document.target.kind != TargetKind::Model;
    facts.retain(|fact| {
        fact.weight != Weight::Plain
            || ["target", "label", "settings", "host"].contains(&fact.label)
            || (fact.label == "tested" && is_real)
    });
    if let (Some(words), Some(target)) =
        (storage_words(document), facts.iter_mut().find(|fact| fact.label == "target"))
    {
        target.words = words;
    }
    facts
}

/// `/srv/db: ext4 on Samsung SSD 980 1TB, NVMe, write-back cache`; `None` without a block device.
fn storage_words(document: &RunDocument) -> Option<String> {
    let place = document.drive.as_ref()?;
    let Backing::BlockDevice(device) = &place.backing else { return None };
    let name = match document.target.kind {
        TargetKind::Model => document.target.given.clone(),
        _ => place.path.display().to_string(),
    };
    let filesystem = place.mount.iter().map(|mount| mount.fs_type.clone());
    let mut layers: Vec<&BlockDevice> = vec![device];
    while let [below, ..] = &layers[layers.len() - 1].layers[..] {
        layers.push(below);
    }
    let layers = layers.into_iter().filter_map(|device| match &device.layer {
        Some(layer) => Some(layer.clone()),
        None => (device.transport == Transport::Loop).then(|| "loop device".to_owned()),
    });
    let above: Vec<String> = filesystem.chain(layers).map(|layer| format!("{layer} on ")).collect();
    let drives = device.drives();
    let drives = counted(&drives, drive_words).into_iter().map(|(count, drive)| {
        let times = if count == 1 { String::new() } else { format!("{count} × ") };
        let cache = match drive.queue.write_cache {
            Some(WriteCache::WriteBack) => ", write-back cache",
            Some(WriteCache::WriteThrough) => ", write-through",
            None => "",
        };
        let transport = transport_words(drive.transport);
        format!("{times}{}, {transport}{cache}", drive_name(drive))
    });
    let drives: Vec<String> = drives.collect();
    Some(format!("{name}: {}{}", above.concat(), drives.join("; ")))
}

struct Facts(Vec<TargetFact>);

impl Facts {
    fn add(&mut self, label: &'static str, words: String) {
        self.add_weighted(label, words, Weight::Plain);
    }

    fn add_weighted(&mut self, label: &'static str, words: String, weight: Weight) {
        self.0.push(TargetFact { label, words, weight });
    }

    fn filesystem(&mut self, mount: &Mount) {
        let options = mount.options_that_matter().join(",");
        let options = if options.is_empty() { String::new() } else { format!(", {options}") };
        self.add(
            "filesystem",
            format!("{} mounted on {}{options}", mount.fs_type, mount.mount_point.display()),
        );
        if let Some(option) = mount.flushes_disabled_by() {
            self.add_weighted(
                "",
                format!("`{option}`: syncs send no flush to the drive"),
                Weight::Bad,
            );
        }
    }

    fn export(&mut self, export: &ExportRecord) {
        let offers = [
            (export.flush, "flush"),
            (export.fua, "durable writes (FUA)"),
            (export.trim, "trim"),
            (export.several_connections, "several connections"),
        ];
        let offered: Vec<&str> =
            offers.iter().filter(|(offered, _)| *offered).map(|(_, what)| *what).collect();
        let offered =
            if offered.is_empty() { "nothing else".to_owned() } else { offered.join(", ") };
        let access = if export.read_only { "reads only" } else { "reads and writes" };
        self.add(
            "server",
            format!(
                "offers {access}; {offered}; requests of {} to {}",
                format_bytes(export.request_bytes_min.into()),
                format_bytes(export.request_bytes_max.into())
            ),
        );
        if !export.flush && !export.read_only {
            self.add_weighted(
                "",
                "no flush: its writes are durable when acknowledged, or at no known time"
                    .to_owned(),
                Weight::Warning,
            );
        }
    }

    fn device(&mut self, device: &BlockDevice, kind: PlaceKind, target_kind: &TargetKind) {
        let alone = device.layers.is_empty()
            && device.transport != Transport::Loop
            && device.partition.is_none()
            && kind == PlaceKind::BlockDevice;
        if !alone {
            self.add("device", stack_words(device));
        }
        let drives = device.drives();
        for (count, drive) in counted(&drives, drive_words) {
            let times = if count == 1 { String::new() } else { format!("{count} × ") };
            self.add(
                if count == 1 { "drive" } else { "drives" },
                format!("{times}{}", drive_words(drive)),
            );
        }
        let cache_words = |drive: &BlockDevice| cache_words(drive, target_kind);
        for (_, drive) in counted(&drives, cache_words) {
            let weight =
                if drive_contradicts_kernel(drive) { Weight::Warning } else { Weight::Plain };
            self.add_weighted("write cache", cache_words(drive), weight);
        }
    }
}

/// Groups devices with the same description: the first of each group, and their number.
fn counted<'a>(
    devices: &[&'a BlockDevice],
    words: impl Fn(&BlockDevice) -> String,
) -> Vec<(usize, &'a BlockDevice)> {
    let mut kinds: Vec<(usize, &BlockDevice)> = Vec::new();
    for device in devices {
        match kinds.iter_mut().find(|(_, first)| words(first) == words(device)) {
            Some((count, _)) => *count += 1,
            None => kinds.push((1, device)),
        }
    }
    kinds
}

fn target_words(target: &TargetRecord, place: Option<&Place>) -> String {
    let kind = match &target.kind {
        TargetKind::Database => "a database server",
        TargetKind::Null => "completes every request immediately: measures the engine's overhead",
        TargetKind::BlockDevice => "block device",
        TargetKind::Nbd => "NBD export",
        TargetKind::Image => "Ceph image",
        TargetKind::Objects => "objects of this run in a Ceph pool",
        TargetKind::Model => "a modelled drive, in virtual time",
        other => other.name(),
    };
    let mut words = format!("{}, {kind}", target.given);
    if let Some(export) = &target.export {
        words += &format!(" of {}", about_bytes(export.size_bytes));
    }
    if let Some(ceph) = &target.ceph {
        words += &format!(" of {}", about_bytes(ceph.size_bytes));
        if let Some(replicas) = ceph.replicas {
            words += &format!(", size={replicas}");
        }
        words += if ceph.cached { ", with librbd's cache" } else { "" };
    }
    if let Some(place) = place {
        let shown = place.path.display().to_string();
        if target.kind == TargetKind::Database {
            words += &format!(", its log in {shown}");
        } else if shown != target.given {
            words = format!("{shown}, {kind}");
        }
        if let Some(size_bytes) = place.size_bytes.filter(|_| target.kind != TargetKind::Model) {
            words += &format!(" of {}", about_bytes(size_bytes));
        }
        if let Some(space) = place.space {
            words += &format!(
                ", {} free of {}",
                about_bytes(space.available_bytes),
                about_bytes(space.total_bytes)
            );
        }
    }
    words
}

/// `all of it`, `1 GiB, 0.1 % of it`, `250 GiB to all of it`; `None` for a target without a size.
fn tested_words(
    tested_bytes: Option<RangeInclusive<u64>>,
    size_bytes: Option<u64>,
) -> Option<String> {
    let (smallest, largest) = tested_bytes?.into_inner();
    let size_bytes = size_bytes.filter(|&bytes| bytes > 0)?;
    let is_all = |bytes: u64| bytes as f64 >= WHOLE_SHARE_MIN * size_bytes as f64;
    let share = |bytes: u64| format!("{} %", number(bytes as f64 / size_bytes as f64 * 100.0));
    let words = |bytes: u64| {
        if is_all(bytes) {
            "all of it".to_owned()
        } else {
            format!("{}, {} of it", about_bytes(bytes), share(bytes))
        }
    };
    if smallest == largest || is_all(smallest) {
        return Some(words(smallest));
    }
    Some(format!("{} to {}", about_bytes(smallest), words(largest)))
}

/// `/dev/mapper/vg-db (lvm) on md0 (raid1) on sda2, sdb2`.
pub(crate) fn stack_words(device: &BlockDevice) -> String {
    let mut words = device.path.display().to_string();
    let mut level = vec![device];
    loop {
        let top = level[0];
        if let Some(layer) = &top.layer {
            words += &format!(" ({layer})");
        } else if top.transport == Transport::Loop {
            let file = top
                .backing_file
                .as_ref()
                .map_or("a file".to_owned(), |file| file.display().to_string());
            words += &format!(" (loop device on {file}");
            if let Some(below) = &top.backing_device {
                let drives: Vec<String> = below.drives().into_iter().map(drive_words).collect();
                words += &format!(", stored by {}: {}", below.path.display(), drives.join("; "));
            }
            words += ")";
        }
        let below: Vec<&BlockDevice> = level.iter().flat_map(|device| &device.layers).collect();
        if below.is_empty() {
            break;
        }
        let names: Vec<&str> = below.iter().map(|device| device.name.as_str()).collect();
        words += &format!(" on {}", names.join(", "));
        level = below;
    }
    if let Some(scheduler) =
        device.queue.scheduler.as_deref().filter(|&scheduler| scheduler != "none")
    {
        words += &format!(", scheduler {scheduler}");
    }
    words
}

/// Vendor and model.
fn drive_name(drive: &BlockDevice) -> String {
    let vendor = drive.vendor.as_deref().filter(|&vendor| vendor != "ATA");
    let label = drive.label();
    match (vendor, label.as_deref()) {
        (Some(vendor), Some(model)) if !model.starts_with(vendor) => format!("{vendor} {model}"),
        (_, Some(model)) => model.to_owned(),
        _ => "model unknown".to_owned(),
    }
}

/// `Samsung SSD 980 1TB, NVMe, 1 TB, firmware 2B4QFXO7`.
fn drive_words(drive: &BlockDevice) -> String {
    let mut words = vec![drive_name(drive), transport_words(drive.transport).to_owned()];
    // A partition's size is not the drive's, which is not among its facts.
    if let (None, Some(size_bytes)) = (&drive.partition, drive.size_bytes) {
        words.push(capacity(size_bytes));
    }
    if let Some(firmware) = &drive.firmware {
        words.push(format!("firmware {firmware}"));
    }
    if drive.queue.rotational == Some(true) {
        words.push("reports that it rotates".to_owned());
    }
    words.join(", ")
}

fn drive_contradicts_kernel(drive: &BlockDevice) -> bool {
    match (drive.queue.write_cache, drive.cache_type.as_deref()) {
        (Some(WriteCache::WriteBack), Some(own)) => {
            own != "write back" && own != "write back, no read (daft)"
        }
        (Some(WriteCache::WriteThrough), Some(own)) => own.starts_with("write back"),
        _ => false,
    }
}

fn cache_words(drive: &BlockDevice, target_kind: &TargetKind) -> String {
    let mut words = match drive.queue.write_cache {
        Some(WriteCache::WriteBack) => {
            "write back: the kernel assumes a volatile cache and sends flushes".to_owned()
        }
        Some(WriteCache::WriteThrough) => {
            "write through: the kernel assumes no volatile cache and sends no flushes".to_owned()
        }
        None => "unknown: not reported by the kernel".to_owned(),
    };
    if drive.queue.write_cache == Some(WriteCache::WriteBack) {
        words += match drive.queue.fua {
            Some(true) => "; FUA writes",
            Some(false) => "; no FUA writes",
            None => "",
        };
    }
    match drive.cache_type.as_deref() {
        Some(own) if drive_contradicts_kernel(drive) => {
            words += &format!("; the drive itself reports `{own}`");
        }
        None if has_own_setting(drive.transport) && *target_kind != TargetKind::Model => {
            words += "; the drive's setting is readable only by root";
        }
        Some(_) | None => {}
    }
    words
}

/// Returns whether such drives have a cache setting that only a command to the drive reveals.
fn has_own_setting(transport: Transport) -> bool {
    matches!(
        transport,
        Transport::Nvme | Transport::Sata | Transport::Sas | Transport::Scsi | Transport::Usb
    )
}

pub(crate) fn transport_words(transport: Transport) -> &'static str {
    match transport {
        Transport::Nvme => "NVMe",
        Transport::NvmeFabrics => "NVMe over fabrics",
        Transport::Sata => "SATA",
        Transport::Sas => "SAS",
        Transport::Scsi => "SCSI",
        Transport::Usb => "USB",
        Transport::Mmc => "SD or eMMC",
        Transport::Virtio => "virtio (a hypervisor's disk)",
        Transport::HyperV => "Hyper-V disk",
        Transport::Xen => "Xen disk",
        Transport::Pmem => "persistent memory",
        Transport::Loop => "loop device",
        Transport::Zram => "zram (compressed memory)",
        Transport::Ram => "RAM disk",
        Transport::DeviceMapper => "device mapper",
        Transport::Md => "software RAID",
        Transport::Bcache => "bcache",
        Transport::Drbd => "DRBD",
        Transport::Nbd => "network block device",
        Transport::Rbd => "Ceph RBD",
        Transport::Zvol => "ZFS volume",
        Transport::Ublk => "ublk (a driver in user space)",
        Transport::NullBlk => "null_blk",
        _ => "transport unknown",
    }
}

pub(crate) fn host_words(host: &HostFacts) -> String {
    let mut words = vec![match &host.kernel_release {
        Some(release) => format!("Linux {release}"),
        None => "kernel unknown".to_owned(),
    }];
    match (&host.cpu_model, host.logical_cpus) {
        (Some(model), Some(cpus)) => words.push(format!("{cpus} × {model}")),
        (Some(model), None) => words.push(model.clone()),
        (None, Some(cpus)) => words.push(format!("{cpus} CPUs")),
        (None, None) => {}
    }
    if let Some(memory_bytes) = host.memory_bytes {
        words.push(format!("{} memory", about_bytes(memory_bytes)));
    }
    if let Some(kind) = host.virtualisation {
        words.push(virtualisation_words(kind).to_owned());
    }
    if let Some(governor) = &host.cpu_governor {
        words.push(format!("governor {governor}"));
    }
    if let Some(clock) =
        host.clocksource.as_deref().filter(|&clock| clock != "tsc" && clock != "arch_sys_counter")
    {
        words.push(format!("clock {clock}"));
    }
    words.join(", ")
}

fn virtualisation_words(kind: Virtualisation) -> &'static str {
    match kind {
        Virtualisation::AmazonEc2 => "Amazon EC2",
        Virtualisation::GoogleCompute => "Google Compute Engine",
        Virtualisation::HyperV => "Hyper-V",
        Virtualisation::VmWare => "VMware",
        Virtualisation::VirtualBox => "VirtualBox",
        Virtualisation::Xen => "Xen",
        Virtualisation::Kvm => "KVM",
        Virtualisation::Parallels => "Apple or Parallels hypervisor",
        _ => "virtual machine",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(place: Option<&Place>, given: &str, kind: TargetKind) -> String {
        let look = Look { columns: 80, ..Look::plain() };
        target_header(&on(place, given, kind), Some(1 << 30..=1 << 30), &look)
    }

    fn on(place: Option<&Place>, given: &str, kind: TargetKind) -> RunDocument {
        RunDocument {
            target: TargetRecord::new(given, kind),
            drive: place.cloned(),
            host: samples::place::host(),
            ..samples::document(Vec::new())
        }
    }

    #[test]
    fn a_mapped_image_is_named_with_its_pool() {
        let place = samples::place::device(samples::place::mapped_image());
        insta::assert_snapshot!(shown(Some(&place), "/dev/rbd0", TargetKind::BlockDevice), @"
        target       /dev/rbd0, block device
        drive        image vms/db, Ceph RBD, 1 TB
        write cache  write through: the kernel assumes no volatile cache and sends no
                     flushes
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
    }

    #[test]
    fn a_directory_on_a_partition() {
        insta::assert_snapshot!(shown(Some(&samples::place::laptop()), "db", TargetKind::Directory), @"
        target       /home/me/db, directory
        filesystem   ext4 mounted on /, relatime
        device       /dev/nvme0n1p2
        drive        Samsung SSD 980 1TB, NVMe
        write cache  write back: the kernel assumes a volatile cache and sends flushes;
                     FUA writes; the drive's setting is readable only by root
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
    }

    #[test]
    fn in_brief_two_lines_and_every_warning() {
        let shown = |place: Place, given: &str, kind: TargetKind| {
            let look = Look { columns: 80, detail: Detail::Brief, ..Look::plain() };
            target_header(&on(Some(&place), given, kind), Some(1 << 30..=1 << 30), &look)
        };
        insta::assert_snapshot!(shown(samples::place::laptop(), "db", TargetKind::Directory), @"
        target       /home/me/db: ext4 on Samsung SSD 980 1TB, NVMe, write-back cache
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
        insta::assert_snapshot!(shown(samples::place::raid(), "/srv", TargetKind::Directory), @"
        target       /srv: ext4 on lvm on 2 × INTEL SSDSC2BB480G4, SATA, write-through
                     `nobarrier`: syncs send no flush to the drive
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
        insta::assert_snapshot!(shown(samples::place::memory(), "/dev/shm", TargetKind::Directory), @"
        target       /dev/shm, directory
        durability   none: tmpfs keeps everything in memory, and a power cut loses all
                     of it
        device       none visible: tmpfs keeps files in memory
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
        let labelled = RunDocument {
            label: Some("new rack".to_owned()),
            ..on(Some(&samples::place::laptop()), "db", TargetKind::Directory)
        };
        insta::assert_snapshot!(target_header(&labelled, None, &Look::plain()), @"
        label        new rack
        target       /home/me/db, directory
        filesystem   ext4 mounted on /, relatime
        device       /dev/nvme0n1p2
        drive        Samsung SSD 980 1TB, NVMe
        write cache  write back: the kernel assumes a volatile cache and sends flushes; FUA writes; the
                     drive's setting is readable only by root
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
    }

    #[test]
    fn a_filesystem_without_barriers_over_layers() {
        insta::assert_snapshot!(shown(Some(&samples::place::raid()), "/srv", TargetKind::Directory), @"
        target       /srv, directory
        filesystem   ext4 mounted on /, relatime,nobarrier
                     `nobarrier`: syncs send no flush to the drive
        device       /dev/dm-0 (lvm) on sda, sdb
        drives       2 × INTEL SSDSC2BB480G4, SATA, 1 TB
        write cache  write through: the kernel assumes no volatile cache and sends no
                     flushes; the drive's setting is readable only by root
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
    }

    #[test]
    fn missing_facts_are_shown_as_unknown() {
        let place = samples::place::bare_device();
        let unknown = RunDocument {
            host: HostFacts::default(),
            ..on(Some(&place), "/dev/sdx", TargetKind::BlockDevice)
        };
        insta::assert_snapshot!(target_header(&unknown, None, &Look::plain()), @"
        target       /dev/sdx, block device
        drive        model unknown, transport unknown
        write cache  unknown: not reported by the kernel
        host         kernel unknown
        ");
    }

    #[test]
    fn the_tested_part_of_a_device() {
        const GIB: u64 = 1 << 30;
        let tested =
            |smallest, largest| tested_words(Some(smallest..=largest), Some(1000 * GIB)).unwrap();
        assert_eq!(tested(1000 * GIB - 4096, 1000 * GIB), "all of it");
        assert_eq!(tested(GIB, GIB), "1 GiB, 0.1 % of it");
        assert_eq!(tested(250 * GIB, 1000 * GIB), "250 GiB to all of it");
        assert_eq!(tested_words(Some(GIB..=GIB), None), None, "a directory has no size");
        assert_eq!(tested_words(None, Some(1000 * GIB)), None, "nothing was tested");
    }

    #[test]
    fn an_export_is_described_by_what_its_server_offers() {
        let shown = |export: ExportRecord| {
            let record = TargetRecord::new(export.uri.clone(), TargetKind::Nbd).with_export(export);
            let document = RunDocument { target: record, ..on(None, "", TargetKind::Nbd) };
            let look = Look { columns: 80, ..Look::plain() };
            target_header(&document, Some(1 << 30..=1 << 30), &look)
        };
        insta::assert_snapshot!(shown(samples::place::export()), @"
        target       nbd://storage.example/disk, NBD export of 64 GiB
        tested       1 GiB, 1.56 % of it
        server       offers reads and writes; flush, durable writes (FUA), trim, several
                     connections; requests of 512 B to 32 MiB
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
        let plain = ExportRecord {
            flush: false,
            fua: false,
            trim: false,
            several_connections: false,
            ..samples::place::export()
        };
        insta::assert_snapshot!(shown(plain.clone()), @"
        target       nbd://storage.example/disk, NBD export of 64 GiB
        tested       1 GiB, 1.56 % of it
        server       offers reads and writes; nothing else; requests of 512 B to 32 MiB
                     no flush: its writes are durable when acknowledged, or at no known
                     time
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
        // A read-only export needs no flush.
        insta::assert_snapshot!(shown(ExportRecord { read_only: true, ..plain }), @"
        target       nbd://storage.example/disk, NBD export of 64 GiB
        tested       1 GiB, 1.56 % of it
        server       offers reads only; nothing else; requests of 512 B to 32 MiB
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
    }

    #[test]
    fn memory_and_null() {
        insta::assert_snapshot!(shown(Some(&samples::place::memory()), "/dev/shm", TargetKind::Directory), @"
        target       /dev/shm, directory
        filesystem   tmpfs mounted on /, relatime
        durability   none: tmpfs keeps everything in memory, and a power cut loses all
                     of it
        device       none visible: tmpfs keeps files in memory
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
        insta::assert_snapshot!(shown(None, "null:", TargetKind::Null), @"
        target       null:, completes every request immediately: measures the engine's
                     overhead
        host         Linux 6.12.9-amd64, 16 × AMD Ryzen 7 PRO 7840U, 32 GiB memory
        ");
    }
}
