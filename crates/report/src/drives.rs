//! The drives of a machine: what they are, how their caches stand, what they are used for.

use drive::cache_switch::{By, Record};
use drive::{Answer, BlockDevice, DriveRecord, Health, Usage, WriteCache};
use measurement::DrivesDocument;

use crate::cache::{on_off, told_by};
use crate::columns::{Cell, Column, Columns, NONE};
use crate::findings::findings;
use crate::look::{Look, paint};
use crate::number::{about_bytes, capacity};
use crate::prose::hanging;
use crate::target::{stack_words, transport_words};

/// Width of the labels on the left of a drive's details.
const LABEL: usize = 13;

/// Each drive in a line; `detailed`, each in a paragraph as well.
pub fn drives_page(document: &DrivesDocument, detailed: bool, look: &Look) -> String {
    let mut table = Columns::new([
        Column::left("drive"),
        Column::left("model").may_leave(2),
        Column::right("size").may_leave(3),
        Column::left("bus"),
        Column::left("media").may_leave(4),
        Column::left("cache"),
        Column::left("kernel"),
        Column::left("filesystem"),
        Column::prose("used for"),
    ]);
    for record in &document.drives {
        let device = &record.device;
        table.row([
            Cell::styled(device.path.display().to_string(), look.palette.strong),
            Cell::maybe(device.model.clone(), |model| model),
            Cell::maybe(device.size_bytes, capacity),
            Cell::from(bus(device)),
            Cell::from(media(device)),
            Cell::from(drive_view(record)),
            Cell::from(kernel_view(record)),
            Cell::from(filesystem_view(record)),
            Cell::from(used_for(record)),
        ]);
    }
    let mut text =
        if document.drives.is_empty() { "No drive can be seen here.\n".to_owned() } else { table.render(look) };
    if detailed {
        for record in &document.drives {
            text += &format!("\n{}", details(record, look));
        }
    }
    text += &closing(document, look);
    look.finish(text)
}

/// One line a cache: what each view says, and what would be put back.
pub fn cache_status_page(document: &DrivesDocument, look: &Look) -> String {
    let mut table = Columns::new([
        Column::left("drive"),
        Column::left("model").may_leave(1),
        Column::left("drive says"),
        Column::left("kernel"),
        Column::left("filesystem"),
        Column::left("can be switched"),
        Column::left("after a power cycle"),
    ]);
    for record in &document.drives {
        let reading = record.cache.drive.told().filter(|reading| reading.present);
        let after = reading.filter(|reading| reading.switchable).map(|reading| match reading.after_power_cycle {
            drive::AfterPowerCycle::Keeps => "kept",
            drive::AfterPowerCycle::Reverts => "forgotten",
            drive::AfterPowerCycle::Unknown => "unknown",
        });
        table.row([
            Cell::styled(record.device.path.display().to_string(), look.palette.strong),
            Cell::maybe(record.device.model.clone(), |model| model),
            Cell::from(drive_view(record)),
            Cell::from(kernel_view(record)),
            Cell::from(filesystem_view(record)),
            Cell::maybe(reading, |reading| if reading.switchable { "yes" } else { "no" }.to_owned()),
            Cell::maybe(after, str::to_owned),
        ]);
    }
    let mut text =
        if document.drives.is_empty() { "No drive can be seen here.\n".to_owned() } else { table.render(look) };
    text += &closing(document, look);
    look.finish(text)
}

/// What stands below every table: what could not be seen, what is switched, what contradicts itself.
fn closing(document: &DrivesDocument, look: &Look) -> String {
    let mut text = String::new();
    let hidden: Vec<String> = document
        .drives
        .iter()
        .filter(|record| record.needs_root())
        .map(|record| record.device.path.display().to_string())
        .collect();
    if !hidden.is_empty() {
        let who = if hidden.len() > 3 { format!("{} of these drives", hidden.len()) } else { hidden.join(", ") };
        let words = format!(
            "{who} would tell root more: how the cache stands by the drive's own word, names that sysfs hides, health."
        );
        text += &format!("\n{}", hanging("", 0, &words, look.columns()));
    }
    for name in &document.vanished {
        text += &format!("\n/dev/{name} was listed, and gone when it was looked at.\n");
    }
    for record in &document.switched {
        text += &format!("\n{}", hanging("", 0, &on_record(record), look.columns()));
    }
    let findings = findings(&document.findings, look);
    if !findings.is_empty() {
        text += &format!("\n{findings}");
    }
    text
}

fn on_record(record: &Record) -> String {
    let Some(last) = record.changes.last() else { return String::new() };
    let who = match last.by {
        By::Command => "`flushmark cache`",
        By::Run => "a run that was killed, or is running,",
    };
    format!(
        "{who} switched the write cache of {}, which was {}; `flushmark cache restore` puts it back.",
        record.drive.title(),
        on_off(last.was_on)
    )
}

/// The bus without its explanation, or what the layer does.
fn bus(device: &BlockDevice) -> String {
    let words = transport_words(device.transport);
    device.layer.clone().unwrap_or_else(|| words.split(" (").next().unwrap_or(words).to_owned())
}

fn media(device: &BlockDevice) -> &'static str {
    match device.queue.rotational {
        Some(true) => "rotating",
        Some(false) => "flash",
        None => NONE,
    }
}

/// What the drive says of its cache, in a word.
fn drive_view(record: &DriveRecord) -> String {
    match &record.cache.drive {
        Answer::Told { told } if !told.present => "none".to_owned(),
        Answer::Told { told } => on_off(told.enabled).to_owned(),
        Answer::NeedsRoot => "needs root".to_owned(),
        Answer::NotAsked { .. } => NONE.to_owned(),
        Answer::Failed { .. } => "no answer".to_owned(),
    }
}

/// What the kernel does about it.
fn kernel_view(record: &DriveRecord) -> String {
    match (record.cache.kernel.write_cache, record.cache.kernel.fua) {
        (Some(WriteCache::WriteBack), Some(true)) => "flushes, FUA".to_owned(),
        (Some(WriteCache::WriteBack), _) => "flushes".to_owned(),
        (Some(WriteCache::WriteThrough), _) => "no flushes".to_owned(),
        (None, _) => NONE.to_owned(),
    }
}

/// What the mounted filesystems do.
fn filesystem_view(record: &DriveRecord) -> String {
    let views = &record.cache.filesystems;
    let off = views.iter().find_map(|view| view.flushes_disabled_by.clone());
    let stopped = views.iter().find_map(|view| view.stopped_by.as_ref().map(|layer| format!("stopped by {layer}")));
    match (off.or(stopped), views.is_empty()) {
        (Some(words), _) => words,
        (None, true) => NONE.to_owned(),
        (None, false) => "flushes".to_owned(),
    }
}

/// `/ (ext4), /home (xfs), swap, md0 (raid1)`.
fn used_for(record: &DriveRecord) -> String {
    let mut words = Vec::new();
    if let Some(usage) = &record.usage {
        for part in usage.all() {
            words
                .extend(part.mounts.iter().map(|mount| format!("{} ({})", mount.mount_point.display(), mount.fs_type)));
            if part.mounts.is_empty() {
                words.extend(part.btrfs.as_ref().map(|uuid| format!("Btrfs {uuid}")));
            }
            if part.swap {
                words.push("swap".to_owned());
            }
        }
        if words.is_empty() {
            let layers = usage
                .all()
                .into_iter()
                .skip(1)
                .filter_map(|part| part.layer.as_ref().map(|layer| format!("{} ({layer})", part.path.display())));
            words.extend(layers);
        }
    }
    if words.is_empty() && record.claimed == Some(true) {
        words.push("claimed by a program".to_owned());
    }
    if words.is_empty() { NONE.to_owned() } else { words.join(", ") }
}

/// Everything about one drive.
fn details(record: &DriveRecord, look: &Look) -> String {
    let device = &record.device;
    let mut text = look.heading(&device.path.display().to_string());
    let mut add = |label: &str, parts: Vec<Option<String>>| {
        let words: Vec<String> = parts.into_iter().flatten().collect();
        if !words.is_empty() {
            let label = paint(look.palette.faint, &format!("  {label:<LABEL$}"));
            text += &hanging(&label, LABEL + 2, &words.join(", "), look.columns());
        }
    };
    let queue = &device.queue;
    let bytes = |what: &str, value: Option<u64>| value.map(|value| format!("{what} {}", workload::format_bytes(value)));
    add(
        "drive",
        vec![
            device.vendor.clone().filter(|vendor| vendor != "ATA"),
            device.model.clone(),
            device.serial.as_ref().map(|serial| format!("serial number {serial}")),
            device.firmware.as_ref().map(|firmware| format!("firmware {firmware}")),
            record.wwn.clone(),
        ],
    );
    add(
        "attached",
        vec![
            Some(transport_words(device.transport).to_owned()),
            record.pci_address.as_ref().map(|address| format!("PCI {address}")),
            record.numa_node.map(|node| format!("NUMA node {node}")),
        ],
    );
    if !device.layers.is_empty() || device.backing_file.is_some() {
        add("made of", vec![Some(stack_words(device))]);
    }
    add(
        "size",
        vec![
            device.size_bytes.map(capacity),
            bytes("sectors of", queue.logical_block_bytes),
            bytes("physically", queue.physical_block_bytes),
            bytes("at best", queue.optimal_io_bytes),
            bytes("requests up to", queue.max_request_bytes),
            device.read_only.filter(|read_only| *read_only).map(|_| "read-only".to_owned()),
            queue.zoned.clone(),
        ],
    );
    add(
        "queue",
        vec![
            queue.scheduler.as_ref().map(|scheduler| format!("scheduler {scheduler}")),
            queue.nr_requests.map(|requests| format!("{requests} requests")),
            queue
                .hardware_queues
                .map(|queues| format!("{queues} hardware {}", if queues == 1 { "queue" } else { "queues" })),
            match (record.poll_queues, queue.polls) {
                (Some(queues), _) if queues > 0 => Some(format!("{queues} poll queues")),
                (_, polls) => polls.map(|polls| if polls { "polled" } else { "not polled" }.to_owned()),
            },
            queue.io_timeout_ms.map(|ms| format!("timeout {} s", ms as f64 / 1e3)),
        ],
    );
    let discard = match (queue.discard_max_bytes, queue.discard_granularity_bytes) {
        (Some(_), Some(granularity)) => format!("yes, in units of {}", workload::format_bytes(granularity)),
        (Some(_), None) => "yes".to_owned(),
        (None, _) => "not supported".to_owned(),
    };
    add("discard", vec![Some(discard)]);
    add("write cache", vec![Some(cache_words(record))]);
    add("health", vec![Some(health_words(&record.health))]);
    if let Some(usage) = &record.usage {
        for (depth, line) in usage_lines(usage, 0) {
            add(if depth == 0 { "use" } else { "" }, vec![Some(line)]);
        }
    }
    text
}

fn cache_words(record: &DriveRecord) -> String {
    let drive = match &record.cache.drive {
        Answer::Told { told } if !told.present => {
            format!("the drive says that it has none ({})", told_by(told.told_by))
        }
        Answer::Told { told } => format!("{} ({})", on_off(told.enabled), told_by(told.told_by)),
        Answer::NeedsRoot => "the drive tells root only".to_owned(),
        Answer::NotAsked { because } => because.clone(),
        Answer::Failed { error } => error.clone(),
    };
    let kernel = match record.cache.kernel.write_cache {
        Some(WriteCache::WriteBack) => "; the kernel believes in a volatile cache and sends flushes",
        Some(WriteCache::WriteThrough) => "; the kernel believes in no volatile cache and sends no flushes",
        None => "",
    };
    let fua = match record.cache.kernel.fua {
        Some(true) => ", and single writes past it (FUA)",
        _ => "",
    };
    let told = record.cache.kernel.cache_type.as_ref().map_or(String::new(), |told| format!("; cache_type {told}"));
    format!("{drive}{kernel}{fua}{told}")
}

fn health_words(health: &Answer<Health>) -> String {
    let health = match health {
        Answer::Told { told } => told,
        Answer::NeedsRoot => return "the drive tells root only".to_owned(),
        Answer::NotAsked { because } => return because.clone(),
        Answer::Failed { error } => return error.clone(),
    };
    let parts = [
        health.failing.map(|failing| if failing { "failing" } else { "the drive says it is sound" }.to_owned()),
        health.used_percent.map(|used| format!("{used} % of its endurance used")),
        health.spare_percent.map(|spare| format!("{spare} % spare left")),
        health.temperature_celsius.map(|celsius| format!("{celsius} °C")),
        health.power_on_hours.map(|hours| format!("{hours} hours on")),
        health.power_cycles.map(|cycles| format!("{cycles} power cycles")),
        health.unsafe_shutdowns.map(|times| format!("{times} unsafe shutdowns")),
        health.media_errors.map(|errors| format!("{errors} media errors")),
    ];
    let told: Vec<String> = parts.into_iter().flatten().collect();
    if told.is_empty() { "the drive counts nothing".to_owned() } else { told.join(", ") }
}

/// A line for each device on the disk, indented by how high it stands.
fn usage_lines(usage: &Usage, depth: usize) -> Vec<(usize, String)> {
    let mut words = vec![usage.path.display().to_string()];
    if let Some(layer) = &usage.layer {
        words[0] += &format!(" ({layer})");
    }
    if depth > 0 {
        words.extend(usage.size_bytes.map(about_bytes));
    }
    for mount in &usage.mounts {
        let options = if mount.options.is_empty() { String::new() } else { format!(" {}", mount.options.join(",")) };
        words.push(format!("{} on {}{options}", mount.fs_type, mount.mount_point.display()));
    }
    words.extend(usage.btrfs.as_ref().map(|uuid| format!("device of Btrfs {uuid}")));
    if usage.swap {
        words.push("swap".to_owned());
    }
    let indent = "· ".repeat(depth);
    let mut lines = vec![(depth, format!("{indent}{}", words.join(", ")))];
    lines.extend(usage.parts.iter().flat_map(|part| usage_lines(part, depth + 1)));
    lines
}

#[cfg(test)]
mod golden {
    use std::path::PathBuf;

    use drive::cache_switch::{Change, Identity};
    use drive::{AfterPowerCycle, CacheReading, CacheViews, MountedOn, ToldBy};

    use super::*;
    use crate::samples;

    fn answer(enabled: bool) -> Answer<CacheReading> {
        let after_power_cycle = AfterPowerCycle::Reverts;
        let told =
            CacheReading { present: true, enabled, switchable: true, after_power_cycle, told_by: ToldBy::AtaIdentify };
        Answer::Told { told }
    }

    fn usage(name: &str, mounts: &[(&str, &str, Option<&str>)], parts: Vec<Usage>) -> Usage {
        let mounts = mounts.iter().map(|(mount_point, fs_type, off)| MountedOn {
            mount_point: PathBuf::from(mount_point),
            fs_type: (*fs_type).to_owned(),
            options: vec!["noatime".to_owned()],
            flushes_disabled_by: off.map(str::to_owned),
        });
        Usage {
            path: PathBuf::from(format!("/dev/{name}")),
            name: name.to_owned(),
            layer: None,
            size_bytes: Some(500 << 30),
            write_cache: Some(WriteCache::WriteBack),
            mounts: mounts.collect(),
            partition: None,
            btrfs: None,
            swap: false,
            parts,
        }
    }

    fn record(device: &BlockDevice, drive: Answer<CacheReading>, usage: Option<Usage>) -> DriveRecord {
        DriveRecord {
            cache: CacheViews::of(device, usage.as_ref(), drive),
            device: device.clone(),
            numa_node: Some(1),
            wwn: Some("naa.5000c50015ea71ac".to_owned()),
            pci_address: Some("0000:3b:00.0".to_owned()),
            health: Answer::NeedsRoot,
            usage,
            poll_queues: None,
            claimed: None,
        }
    }

    fn document(drives: Vec<DriveRecord>) -> DrivesDocument {
        DrivesDocument {
            schema: "flushmark/drives/1".to_owned(),
            flushmark: "0.1.0".to_owned(),
            findings: judge::drives(&drives),
            drives,
            vanished: Vec::new(),
            switched: Vec::new(),
        }
    }

    /// Three drives: one in order, one whose filesystem sends no flushes, one that the kernel takes for cacheless.
    fn machine() -> DrivesDocument {
        let place = samples::raid();
        let sata = place.block_device().unwrap().drives()[0].clone();
        let mut first = sata.clone();
        first.queue.write_cache = Some(WriteCache::WriteBack);
        first.serial = Some("S3EWNX0K".to_owned());
        first.queue.discard_max_bytes = Some(2 << 30);
        first.queue.discard_granularity_bytes = Some(4096);
        let mut second = BlockDevice { path: "/dev/sdb".into(), name: "sdb".to_owned(), ..first.clone() };
        second.queue.rotational = Some(true);
        let third = BlockDevice { path: "/dev/sdc".into(), name: "sdc".to_owned(), ..sata };
        let mut healthy = record(
            &first,
            answer(true),
            Some(usage("sda", &[], vec![usage("sda1", &[("/", "ext4", None), ("/home", "xfs", None)], vec![])])),
        );
        healthy.health = Answer::Told {
            told: Health {
                used_percent: Some(3),
                temperature_celsius: Some(31),
                power_cycles: Some(12),
                failing: Some(false),
                ..Health::default()
            },
        };
        document(vec![
            healthy,
            record(&second, Answer::NeedsRoot, Some(usage("sdb", &[("/srv", "ext4", Some("nobarrier"))], vec![]))),
            record(&third, answer(true), None),
        ])
    }

    #[test]
    fn drives_in_a_table() {
        insta::assert_snapshot!(drives_page(&machine(), false, &Look::plain()), @"
          drive     model                bus   cache       kernel        filesystem  used for
          /dev/sda  INTEL SSDSC2BB480G4  SATA  on          flushes, FUA  flushes     / (ext4), /home (xfs)
          /dev/sdb  INTEL SSDSC2BB480G4  SATA  needs root  flushes, FUA  nobarrier   /srv (ext4)
          /dev/sdc  INTEL SSDSC2BB480G4  SATA  on          no flushes    -           -

        /dev/sdb, /dev/sdc would tell root more: how the cache stands by the drive's own word, names that
        sysfs hides, health.

        Findings
         1. /srv is mounted with `nobarrier`: no sync there flushes the write cache of /dev/sdb.
            because: queue/write_cache write back; ext4 on /srv nobarrier
            confidence: high
            to do: `mount -o remount,barrier /srv`, and remove `nobarrier` from /etc/fstab.
         2. /dev/sdc caches writes in volatile memory, and the kernel sends it no flushes: every fsync is a
            lie.
            because: the drive says on; queue/write_cache write through
            confidence: high: A drive with power-loss protection loses nothing by that; only its datasheet
                        tells.
            to do: `echo 'write back' > /sys/block/sdc/queue/write_cache` sends flushes again; or switch the
                   cache itself off: `flushmark cache off /dev/sdc`.
        ");
    }

    #[test]
    fn one_drive_in_detail() {
        let mut document = machine();
        document.drives.truncate(1);
        document.findings.clear();
        insta::assert_snapshot!(drives_page(&document, true, &Look::plain()), @"
          drive     model                size  bus   cache  kernel        filesystem  used for
          /dev/sda  INTEL SSDSC2BB480G4  1 TB  SATA  on     flushes, FUA  flushes     / (ext4), /home (xfs)

        /dev/sda
          drive        INTEL SSDSC2BB480G4, serial number S3EWNX0K, naa.5000c50015ea71ac
          attached     SATA, PCI 0000:3b:00.0, NUMA node 1
          size         1 TB, sectors of 512 B
          queue        scheduler none
          discard      yes, in units of 4 KiB
          write cache  on (ATA IDENTIFY DEVICE, word 85); the kernel believes in a volatile cache and sends
                       flushes, and single writes past it (FUA)
          health       the drive says it is sound, 3 % of its endurance used, 31 °C, 12 power cycles
          use          /dev/sda
                       · /dev/sda1, 500 GiB, ext4 on / noatime, xfs on /home noatime
        ");
    }

    #[test]
    fn caches_and_what_would_be_put_back() {
        let mut document = machine();
        document.findings.clear();
        document.vanished.push("sdx".to_owned());
        let drive = Identity {
            model: Some("Micron 5100".to_owned()),
            serial: Some("S1".to_owned()),
            size_bytes: None,
            place: String::new(),
            path: "/dev/sda".to_owned(),
        };
        document.switched.push(Record::new(
            drive,
            vec![Change { was_on: true, was_unflushed: false, by: By::Run, pid: 7, at_unix_s: 0 }],
        ));
        insta::assert_snapshot!(cache_status_page(&document, &Look::plain()), @"
          drive     drive says  kernel        filesystem  can be switched  after a power cycle
          /dev/sda  on          flushes, FUA  flushes     yes              forgotten
          /dev/sdb  needs root  flushes, FUA  nobarrier   -                -
          /dev/sdc  on          no flushes    -           yes              forgotten

        /dev/sdb, /dev/sdc would tell root more: how the cache stands by the drive's own word, names that
        sysfs hides, health.

        /dev/sdx was listed, and gone when it was looked at.

        a run that was killed, or is running, switched the write cache of Micron 5100 (S1), which was on;
        `flushmark cache restore` puts it back.
        ");
    }

    fn captured(name: &str) -> String {
        let capture = captures::lay_out(name);
        let inventory = drive::Inventory::read(&drive::SystemRoot::new(capture.path()));
        let document = DrivesDocument { vanished: inventory.vanished, ..document(inventory.drives) };
        drives_page(&document, false, &Look::plain())
    }

    #[test]
    fn a_server_with_two_sockets() {
        insta::assert_snapshot!(captured("nvme-server"), @"
        drive         bus   cache  kernel      filesystem  used for
        /dev/nvme0n1  NVMe  -      no flushes  flushes     /boot/efi (vfat), / (ext4)
        /dev/nvme1n1  NVMe  -      no flushes  flushes     /var/lib/postgresql (xfs)
        /dev/nvme2n1  NVMe  -      no flushes  -           -
        /dev/nvme3n1  NVMe  -      no flushes  -           -
        ");
    }

    #[test]
    fn a_box_behind_a_raid_card() {
        insta::assert_snapshot!(captured("raid-card-homelab"), @"
        drive     model                size  bus   cache  kernel      filesystem  used for
        /dev/sda  AVAGO MR9361-8i      4 TB  SCSI  -      no flushes  nobarrier   / (ext4)
        /dev/sdb  WDC WD40EFRX-68W     4 TB  SAS   -      flushes     flushes     /mnt/backup (ext4)
        /dev/sdc  Samsung SSD 860    500 GB  SAS   -      flushes     flushes     /tank (ext4)
        /dev/sdd  Cruzer Fit        15.4 GB  USB   -      no flushes  -           -
        ");
    }

    #[test]
    fn a_raid5() {
        insta::assert_snapshot!(captured("md-raid5"), @"
        drive                    model             bus    cache  kernel   filesystem  used for
        /dev/mapper/office-data  -                 lvm    -      flushes  flushes     /srv/office (ext4)
        /dev/md0                 -                 raid5  -      flushes  flushes     /srv/office (ext4)
        /dev/sda                 CT1000MX500SSD1   SATA   -      flushes  flushes     /srv/office (ext4)
        /dev/sdb                 CT1000MX500SSD1   SATA   -      flushes  flushes     /srv/office (ext4)
        /dev/sdc                 CT1000MX500SSD1   SATA   -      flushes  flushes     /srv/office (ext4)
        /dev/sdd                 KINGSTON SA400S3  SATA   -      flushes  flushes     / (ext4), swap
        ");
    }

    #[test]
    fn a_cloud_machine() {
        insta::assert_snapshot!(captured("cloud-vm"), @"
        drive     model             size  bus     media     cache  kernel        filesystem  used for
        /dev/sr0  QEMU DVD-ROM   1.07 GB  SATA    -         -      -             -           -
        /dev/sda  QEMU HARDDISK   107 GB  virtio  flash     -      flushes, FUA  flushes     /data (btrfs)
        /dev/sdb  QEMU HARDDISK  10.7 GB  SATA    rotating  -      flushes       -           -
        /dev/vda  -              42.9 GB  virtio  rotating  -      flushes       flushes     / (ext4)
        ");
    }

    #[test]
    fn nothing_to_see() {
        insta::assert_snapshot!(drives_page(&document(Vec::new()), false, &Look::plain()), @"No drive can be seen here.");
    }
}
