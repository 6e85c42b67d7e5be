//! A measured result as an entry of the catalogue of published drives.
//!
//! Nothing is guessed: what the document does not say comes from the user, or is refused with the
//! option that says it.

use catalogue::{
    Class, Drive, PowerLossProtection, PublishedFilesystem, PublishedSync, Row, Table,
};
use drive::{BlockDevice, Transport};
use measurement::{Ended, RunDocument, TargetKind, TestResult};
use workload::Submission;

/// A shorter test has measured the beginning of something.
const SECONDS_MIN: f64 = 1.0;
/// Fewer operations show no median. An old USB stick makes about ten commits per second.
const OPERATIONS_MIN: u64 = 30;

/// The user's statements about the drive and the publication.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryDetails {
    pub name: Option<String>,
    pub label: Option<String>,
    pub vendor: Option<String>,
    pub class: Option<Class>,
    /// In units of 10⁹ bytes.
    pub capacity_gb: Option<u32>,
    pub power_loss_protection: PowerLossProtection,
    pub source: Option<String>,
    pub source_url: Option<String>,
}

/// Why a result cannot be an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnEntry {
    #[error("the result is of a smoke run, whose figures mean nothing")]
    Smoke,
    #[error("the result is of a {0}; the catalogue has drives that were really measured")]
    NotADrive(&'static str),
    #[error("the result is not evidence about the drive: {0}")]
    Finding(String),
    #[error(
        "{0} drives are below the target; `catalogue add` takes results of a single drive, because \
         the result does not say how an array divides its writes"
    )]
    SeveralDrives(usize),
    #[error("the result does not say how the drive is called; name it with --label")]
    NoModel,
    #[error(
        "the result does not say which market the drive is made for; state it with --class ({0})"
    )]
    NoClass(String),
    #[error("the drive is virtual, so its class is cloud-volume or cloud-local, not {}", .0.name())]
    Virtual(Class),
    #[error(
        "another tool measured, and the result does not say who published it; state that with \
         {option}"
    )]
    NoSource { option: &'static str },
    #[error("the catalogue has no figures of {0}")]
    UnknownTool(String),
    #[error(
        "no test of the result fits: a row is a block workload that ran to its end, for at least \
         1 s and 30 operations"
    )]
    NoRows,
    #[error("invalid name `{0}`: expected lower-case letters, digits and hyphens")]
    BadName(String),
    #[error("the result cannot be made anonymous: {0}")]
    NotAnonymous(String),
}

/// Findings after which the figures are not those of the drive.
const NOT_OF_THE_DRIVE: [&str; 7] = [
    "emulated-disk", "flush-vanished", "flushes-switched-off", "loop-device", "no-block-device",
    "no-flush-sent", "target-in-memory",
];
/// Findings after which the figures may mean something else.
const DOUBTFUL: [&str; 8] = [
    "behind-raid-controller",
    "flush-too-fast",
    "latencies-do-not-add-up",
    "noisy-numbers",
    "o-dsync-ignored",
    "repeats-differ",
    "small-test-area",
    "virtual-flush-unproven",
];

/// The entry of a result, without serial numbers, names of hosts and paths.
pub fn catalogue_entry(
    document: &RunDocument,
    details: &EntryDetails,
) -> Result<Drive, NotAnEntry> {
    let document =
        document.anonymous().map_err(|error| NotAnEntry::NotAnonymous(error.to_string()))?;
    expect_evidence(&document)?;
    let device = device(&document)?;
    let model = details.label.clone().or_else(|| match &document.source {
        Some(source) => source.drive.clone(),
        None => device.and_then(|device| device.model.clone()),
    });
    let label = model.ok_or(NotAnEntry::NoModel)?;
    let name = details.name.clone().unwrap_or_else(|| name_of(&label));
    let is_name_letter =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if name.is_empty() || !name.chars().all(is_name_letter) {
        return Err(NotAnEntry::BadName(name));
    }
    Ok(Drive {
        name,
        aliases: Vec::new(),
        label: label.clone(),
        vendor: details.vendor.clone().or_else(|| device.and_then(vendor)),
        model: Some(device.and_then(|device| device.model.clone()).unwrap_or(label)),
        capacity_gb: details.capacity_gb.or_else(|| capacity_gb(&document, device?)),
        class: class(details, device)?,
        array: None,
        power_loss_protection: details.power_loss_protection.clone(),
        tables: tables(&document, details, device)?,
    })
}

fn expect_evidence(document: &RunDocument) -> Result<(), NotAnEntry> {
    if document.smoke {
        return Err(NotAnEntry::Smoke);
    }
    let other = match document.target.kind {
        TargetKind::Model => Some("model"),
        TargetKind::Null => Some("target that discards everything"),
        TargetKind::Nbd => Some("server's export"),
        TargetKind::Image | TargetKind::Objects => Some("cluster"),
        TargetKind::Database => Some("database server"),
        TargetKind::Directory
        | TargetKind::File
        | TargetKind::BlockDevice
        | TargetKind::Unknown
        | TargetKind::Other(_) => None,
    };
    if let Some(other) = other {
        return Err(NotAnEntry::NotADrive(other));
    }
    let other = document.findings.iter().find(|found| NOT_OF_THE_DRIVE.contains(&&*found.id));
    other.map_or(Ok(()), |found| Err(NotAnEntry::Finding(found.title.clone())))
}

/// The only drive below the target; `None` if another tool measured.
fn device(document: &RunDocument) -> Result<Option<&BlockDevice>, NotAnEntry> {
    if document.source.is_some() {
        return Ok(None);
    }
    let below = document.drive.as_ref().and_then(drive::Place::block_device);
    let below = below.ok_or(NotAnEntry::NotADrive("target without a block device"))?;
    let device = match below.drives()[..] {
        [device] => device,
        ref several => return Err(NotAnEntry::SeveralDrives(several.len())),
    };
    let other = match device.transport {
        Transport::Loop => Some("file"),
        Transport::Zram | Transport::Ram => Some("memory disk"),
        Transport::Nbd => Some("server's export"),
        Transport::Rbd => Some("cluster"),
        _ => None,
    };
    other.map_or(Ok(Some(device)), |other| Err(NotAnEntry::NotADrive(other)))
}

/// A name in the style of the catalogue: `samsung-ssd-980-1tb`.
fn name_of(label: &str) -> String {
    let words = label.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<String> =
        words.filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    words.join("-")
}

/// The vendor that the drive reports; SCSI's words for SATA and NVMe drives are none.
fn vendor(device: &BlockDevice) -> Option<String> {
    device.vendor.clone().filter(|vendor| !matches!(vendor.as_str(), "ATA" | "NVMe"))
}

/// The size of the whole drive, which a partition does not show.
fn capacity_gb(document: &RunDocument, device: &BlockDevice) -> Option<u32> {
    let records = document.drives.iter().map(|record| &record.device);
    let mut whole = records
        .chain([device])
        .filter(|one| one.partition.is_none() && one.disk_device() == device.disk_device());
    let bytes = whole.find_map(|one| one.size_bytes)?;
    u32::try_from((bytes + 500_000_000) / 1_000_000_000).ok().filter(|&gb| gb > 0)
}

fn class(details: &EntryDetails, device: Option<&BlockDevice>) -> Result<Class, NotAnEntry> {
    let is_virtual = device.is_some_and(|device| {
        matches!(device.transport, Transport::Virtio | Transport::HyperV | Transport::Xen)
    });
    match details.class {
        Some(class) if is_virtual && !matches!(class, Class::CloudVolume | Class::CloudLocal) => {
            return Err(NotAnEntry::Virtual(class));
        }
        Some(class) => return Ok(class),
        None => {}
    }
    if let Some(device) = device {
        let is_disk = device.queue.rotational == Some(true)
            && matches!(device.transport, Transport::Sata | Transport::Sas | Transport::Scsi);
        if is_disk {
            return Ok(Class::Disk);
        }
    }
    let possible: &[Class] = match device.map(|device| device.transport) {
        Some(Transport::Nvme) => &[Class::EnterpriseNvme, Class::ConsumerNvme, Class::CloudLocal],
        Some(Transport::Sata) => &[Class::EnterpriseSata, Class::ConsumerSata],
        Some(Transport::Sas) => &[Class::EnterpriseSas, Class::EnterpriseSata],
        Some(Transport::Usb | Transport::Mmc) => &[Class::UsbStick, Class::ConsumerSata],
        _ if is_virtual => &[Class::CloudVolume, Class::CloudLocal],
        _ => &Class::ALL,
    };
    let names: Vec<&str> = possible.iter().map(|class| class.name()).collect();
    Err(NotAnEntry::NoClass(names.join(", ")))
}

/// The tests by method: those of a table have all in common that a table states once.
fn tables(
    document: &RunDocument,
    details: &EntryDetails,
    device: Option<&BlockDevice>,
) -> Result<Vec<Table>, NotAnEntry> {
    let tool = document.source.as_ref().map_or("flushmark", |source| &source.tool);
    let tool = catalogue::Tool::ALL
        .into_iter()
        .find(|known| known.name() == tool)
        .ok_or_else(|| NotAnEntry::UnknownTool(tool.to_owned()))?;
    let (source, source_url) = publication(document, details)?;
    let began = document.began();
    let mut tables: Vec<Table> = Vec::new();
    for result in &document.results {
        let Some(row) = row(result) else { continue };
        let table = Table {
            workload: document.suite.clone(),
            source: source.clone(),
            source_url: source_url.clone(),
            year: began.and_then(|at| at.strftime("%Y").to_string().parse().ok()),
            os: system(document),
            tool,
            filesystem: filesystem(document),
            calls: result.workload.submission.or_else(|| calls(result)),
            direct: document.source.is_none().then_some(result.workload.direct),
            file_bytes: file_bytes(result),
            seconds: seconds(result),
            note: note(device, document),
            doubt: doubt(document),
            held_out: false,
            rows: Vec::new(),
        };
        let same = tables.iter_mut().find(|other| {
            let method =
                |table: &Table| (table.calls, table.direct, table.file_bytes, table.seconds);
            method(other) == method(&table)
        });
        match same {
            Some(other) => other.rows.push(row),
            None => tables.push(Table { rows: vec![row], ..table }),
        }
    }
    if tables.is_empty() { Err(NotAnEntry::NoRows) } else { Ok(tables) }
}

/// Title and address of the publication.
fn publication(
    document: &RunDocument,
    details: &EntryDetails,
) -> Result<(String, String), NotAnEntry> {
    let needed = |given: &Option<String>, option, own: String| match (given, &document.source) {
        (Some(given), _) => Ok(given.clone()),
        (None, None) => Ok(own),
        (None, Some(_)) => Err(NotAnEntry::NoSource { option }),
    };
    let month = document.began().map(|at| at.strftime(", %Y-%m").to_string());
    let measured =
        format!("measured with flushmark {}{}", document.flushmark, month.unwrap_or_default());
    let project = env!("CARGO_PKG_REPOSITORY").to_owned();
    Ok((
        needed(&details.source, "--source", measured)?,
        needed(&details.source_url, "--source-url", project)?,
    ))
}

/// `Linux 6.12`, without the rest of a release, which may name who built it.
fn system(document: &RunDocument) -> Option<String> {
    let release = document.host.kernel_release.as_deref()?;
    let numbers: Vec<&str> = release.split(['.', '-']).take(2).collect();
    let is_number = |part: &&str| part.chars().all(|letter| letter.is_ascii_digit());
    (numbers.len() == 2 && numbers.iter().all(is_number))
        .then(|| format!("Linux {}", numbers.join(".")))
}

fn filesystem(document: &RunDocument) -> PublishedFilesystem {
    if document.target.kind == TargetKind::BlockDevice {
        return PublishedFilesystem::None;
    }
    let mount = document.drive.as_ref().and_then(|place| place.mount.as_ref());
    mount.map_or(PublishedFilesystem::Unknown, |mount| PublishedFilesystem::of_type(&mount.fs_type))
}

fn calls(result: &TestResult) -> Option<Submission> {
    match result.engine.as_str() {
        "psync" => Some(Submission::Blocking),
        "io_uring" | "libaio" => Some(Submission::Asynchronous),
        _ => None,
    }
}

fn file_bytes(result: &TestResult) -> Option<u64> {
    let each = result.workload.size_bytes / u64::from(result.workload.jobs.max(1));
    (each > 0).then_some(each)
}

fn seconds(result: &TestResult) -> Option<u32> {
    let seconds = result.elapsed_s.round();
    (seconds < f64::from(u32::MAX)).then_some(seconds as u32)
}

fn note(device: Option<&BlockDevice>, document: &RunDocument) -> Option<String> {
    let firmware = device?.firmware.as_ref().map(|firmware| format!("firmware {firmware}"));
    let top = document.drive.as_ref()?.block_device()?;
    let layer = top.layer.as_ref().map(|layer| format!("through {layer}"));
    let notes: Vec<String> = [firmware, layer].into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join(", "))
}

fn doubt(document: &RunDocument) -> Option<String> {
    let found = document.findings.iter().filter(|found| DOUBTFUL.contains(&&*found.id));
    let doubts: Vec<&str> = found.map(|found| found.title.trim_end_matches('.')).collect();
    (!doubts.is_empty()).then(|| doubts.join("; "))
}

/// A test as a row; `None` if it is not a block workload, or no evidence.
fn row(result: &TestResult) -> Option<Row> {
    let work = &result.workload;
    let pattern = work.pattern?;
    let is_evidence = result.ended == Ended::Limit
        && result.elapsed_s >= SECONDS_MIN
        && result.ops >= OPERATIONS_MIN
        && result.iops.is_finite();
    let is_known = work.block_bytes > 0 && work.depth > 0 && work.jobs > 0;
    // A row does not say that a rate was fixed, that bytes were shared, or how many reads there
    // were among the writes.
    let is_plain = work.rate.is_none() && !pattern.is_mixed() && result.osd.is_none();
    if !(is_evidence && is_known && is_plain) {
        return None;
    }
    let sync = work.sync?;
    // Six digits are more than any two measurements share.
    let figure = |value: f64| {
        let rounded: f64 = format!("{value:.5e}").parse().ok()?;
        Some(rounded).filter(|value| *value > 0.0 && value.is_finite())
    };
    let [write, sync_us, whole] = if pattern.writes() {
        [result.write_us, result.sync_us, result.commit_us]
    } else {
        [None; 3]
    };
    Some(Row {
        pattern: Some(pattern),
        block_bytes: work.block_bytes,
        depth: work.depth,
        jobs: work.jobs,
        sync: PublishedSync::Method(sync),
        sync_every: sync.is_durable().then_some(work.sync_every.max(1)),
        write_cache: match work.write_cache {
            workload::WriteCache::On => catalogue::WriteCache::On,
            workload::WriteCache::Off => catalogue::WriteCache::Off,
            workload::WriteCache::Unchanged => catalogue::WriteCache::Default,
        },
        iops: figure(result.iops),
        mib_per_s: figure(result.mib_per_s),
        write_us: write.and_then(|us| figure(us.mean)),
        write_p50_us: write.and_then(|us| figure(us.p50)),
        write_p99_us: write.and_then(|us| figure(us.p99)),
        sync_us: sync_us.and_then(|us| figure(us.mean)),
        sync_p50_us: sync_us.and_then(|us| figure(us.p50)),
        sync_p99_us: sync_us.and_then(|us| figure(us.p99)),
        io_us: whole.and_then(|us| figure(us.mean)),
        io_p99_us: whole.and_then(|us| figure(us.p99)),
    })
}

#[cfg(test)]
mod tests {
    use measurement::{Confidence, Finding, Source};
    use samples::machine::{self, write};
    use workload::SyncMethod::{Fsync, ODsync};

    use super::*;

    fn details() -> EntryDetails {
        EntryDetails {
            name: None,
            label: None,
            vendor: None,
            class: Some(Class::ConsumerNvme),
            capacity_gb: None,
            power_loss_protection: PowerLossProtection::Unknown,
            source: None,
            source_url: None,
        }
    }

    fn document() -> RunDocument {
        let machine = machine::consumer_nvme();
        let tests = [
            write(Fsync, 20.0, 1800.0).result(),
            write(ODsync, 900.0, 0.0).result(),
            machine::read(80.0).result(),
        ];
        let mut document = samples::document(tests.to_vec());
        document.drive = machine.place;
        document.host = machine.host;
        for result in &mut document.results {
            result.elapsed_s = 5.0;
        }
        document
    }

    fn entry(
        change: impl FnOnce(&mut RunDocument),
        details: &EntryDetails,
    ) -> Result<Drive, NotAnEntry> {
        let mut document = document();
        change(&mut document);
        catalogue_entry(&document, details)
    }

    #[test]
    fn an_entry_is_a_file_of_the_catalogue() {
        let drive = entry(|_| (), &details()).unwrap();
        let text = catalogue::to_toml(&drive);
        assert_eq!(catalogue::parse(&text).unwrap(), drive);
        insta::assert_snapshot!(text, @r#"
        drive = "samsung-ssd-980-1tb"
        label = "Samsung SSD 980 1TB"
        model = "Samsung SSD 980 1TB"
        class = "consumer-nvme"
        power_loss_protection = "unknown"

        [[table]]
        workload = "check"
        source = "measured with flushmark 0.1.0, 2026-11"
        source_url = "https://github.com/flushmark/flushmark"
        year = 2026
        tool = "flushmark"
        filesystem = "ext4"
        calls = "blocking"
        direct = true
        file_size = "1 GiB"
        seconds = 5
        rows = [
          { pattern = "randwrite", block = "4 KiB", depth = 1, jobs = 1, sync = "fsync", sync_every = 1, write_cache = "default", iops = 549.447, mib_per_s = 2.14628, write_us = 20.0016, write_p50_us = 20.015, write_p99_us = 20.991, sync_us = 1800.01, sync_p50_us = 1800.19, sync_p99_us = 1888.26, io_us = 1820.04, io_p99_us = 1909.76 },
          { pattern = "randwrite", block = "4 KiB", depth = 1, jobs = 1, sync = "o_dsync", sync_every = 1, write_cache = "default", iops = 1111.1, mib_per_s = 4.34025, write_us = 900.003, write_p50_us = 900.095, write_p99_us = 944.127, io_us = 900.003, io_p99_us = 944.127 },
          { pattern = "randread", block = "4 KiB", depth = 1, jobs = 1, sync = "none", write_cache = "default", iops = 12499.9, mib_per_s = 48.8278 },
        ]
        "#);
        let commits: Vec<f64> = drive.rows().filter_map(|(_, row)| row.commit_us()).collect();
        assert_eq!(commits.len(), 2);
    }

    #[test]
    fn nothing_identifies_the_drive_or_the_host() {
        let drive = entry(
            |document| {
                let Some(place) = &mut document.drive else { panic!("a place") };
                let drive::Backing::BlockDevice(device) = &mut place.backing else {
                    panic!("a drive")
                };
                device.serial = Some("S6B0NL0T123456".to_owned());
                document.findings.push(finding(
                    "noisy-numbers",
                    "/dev/disk/by-id/nvme-X_S6B0NL0T123456 under /srv/orders is noisy.",
                ));
            },
            &details(),
        );
        let text = catalogue::to_toml(&drive.unwrap());
        assert!(text.contains("is noisy"), "{text}");
        for secret in ["S6B0NL0T", "/srv", "by-id"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }

    fn finding(id: &str, title: &str) -> Finding {
        Finding {
            id: id.to_owned(),
            title: title.to_owned(),
            evidence: Vec::new(),
            confidence: Confidence::High,
            doubt: None,
            advice: String::new(),
        }
    }

    #[test]
    fn what_is_no_evidence_is_refused() {
        let refused =
            |change: fn(&mut RunDocument)| entry(change, &details()).unwrap_err().to_string();
        let all = [
            refused(|document| document.smoke = true),
            refused(|document| document.target.kind = TargetKind::Model),
            refused(|document| document.target.kind = TargetKind::Database),
            refused(|document| {
                document.findings = vec![finding("flush-vanished", "Flushes do not arrive.")];
            }),
            refused(|document| document.drive = machine::tmpfs().place),
            refused(|document| document.drive = Some(samples::place::raid())),
            refused(|document| {
                document.results.iter_mut().for_each(|result| result.elapsed_s = 0.5);
            }),
            refused(|document| {
                document.results.iter_mut().for_each(|result| result.ended = Ended::Interrupted);
            }),
            refused(|document| {
                let sysbench = Source { tool: "sysbench".to_owned(), ..Source::default() };
                document.source = Some(Source { drive: Some("X".to_owned()), ..sysbench });
            }),
        ];
        insta::assert_snapshot!(all.join("\n"), @"
        the result is of a smoke run, whose figures mean nothing
        the result is of a model; the catalogue has drives that were really measured
        the result is of a database server; the catalogue has drives that were really measured
        the result is not evidence about the drive: Flushes do not arrive.
        the result is of a target without a block device; the catalogue has drives that were really measured
        2 drives are below the target; `catalogue add` takes results of a single drive, because the result does not say how an array divides its writes
        no test of the result fits: a row is a block workload that ran to its end, for at least 1 s and 30 operations
        no test of the result fits: a row is a block workload that ran to its end, for at least 1 s and 30 operations
        the catalogue has no figures of sysbench
        ");
    }

    #[test]
    fn what_the_document_does_not_say_is_asked_for() {
        let foreign = |document: &mut RunDocument| {
            document.source = Some(Source { tool: "fio".to_owned(), ..Source::default() });
            document.drive = None;
        };
        let named = EntryDetails { label: Some("Samsung 980 1TB".to_owned()), ..details() };
        let sourced = EntryDetails { source: Some("a forum".to_owned()), ..named.clone() };
        let refused = |details: &EntryDetails| entry(foreign, details).unwrap_err().to_string();
        let all = [
            refused(&details()),
            refused(&EntryDetails { class: None, ..named.clone() }),
            refused(&named),
            refused(&sourced),
            refused(&EntryDetails { name: Some("A b".to_owned()), ..named.clone() }),
            entry(|_| (), &EntryDetails { class: None, ..details() }).unwrap_err().to_string(),
            entry(|document| document.drive = machine::cloud_volume().place, &named)
                .unwrap_err()
                .to_string(),
        ];
        insta::assert_snapshot!(all.join("\n"), @"
        the result does not say how the drive is called; name it with --label
        the result does not say which market the drive is made for; state it with --class (enterprise-nvme, enterprise-pcie, enterprise-sas, enterprise-sata, consumer-nvme, consumer-pcie, consumer-sata, cloud-local, cloud-volume, disk, usb-stick)
        another tool measured, and the result does not say who published it; state that with --source
        another tool measured, and the result does not say who published it; state that with --source-url
        invalid name `A b`: expected lower-case letters, digits and hyphens
        the result does not say which market the drive is made for; state it with --class (enterprise-nvme, consumer-nvme, cloud-local)
        the drive is virtual, so its class is cloud-volume or cloud-local, not consumer-nvme
        ");
        let url = Some("https://example.org".to_owned());
        let drive = entry(foreign, &EntryDetails { source_url: url, ..sourced }).unwrap();
        assert_eq!(drive.name, "samsung-980-1tb");
        assert_eq!(drive.tables[0].source, "a forum");
        let disk = entry(
            |document| document.drive = machine::disk().place,
            &EntryDetails { class: None, ..details() },
        );
        assert_eq!(disk.unwrap().class, Class::Disk);
    }
}
