//! Results as an engine would hand them over, for golden tests.

use std::path::PathBuf;

use drive::{
    Backing, BlockDevice, DeviceNumber, HostFacts, Mount, NoBlockDevice, Partition, Place, PlaceKind, Queue, Transport,
    WriteCache,
};
use measurement::document::SCHEMA;
use measurement::result::Measured;
use measurement::{
    CpuUse, DeviceProof, Ended, Histogram, Histograms, Proof, RunDocument, Series, SortFigures, TargetKind,
    TargetRecord, TestResult, WorkloadRecord,
};
use workload::{OpenFlag, Step, StepProgram, SyncCall, SyncMethod, Test, Work};

/// A result of `test` whose operation takes about `write_us` and whose sync about `sync_us`, spread by a few percent with a thin tail.
pub(crate) fn result(test: &Test, write_us: f64, sync_us: Option<f64>) -> TestResult {
    let around = |us: f64| {
        let mut histogram = Histogram::new();
        for (share, times) in [(0.95, 300), (1.0, 500), (1.04, 190), (1.6, 9), (5.0, 1)] {
            histogram.record_n((us * share * 1e3) as u64, times);
        }
        Some(histogram)
    };
    let workload = WorkloadRecord::of(test);
    let reads = workload.pattern.is_some_and(|pattern| !pattern.writes());
    let durable = workload.sync.is_none_or(SyncMethod::is_durable) && workload.sort.is_none() && !reads;
    let total_us = write_us + sync_us.unwrap_or(0.0);
    // What waits for a flush gains nothing from depth; all else gains much, and less than it should.
    let in_flight = if sync_us.is_some() { workload.jobs } else { workload.depth * workload.jobs };
    let elapsed_s = total_us * 1000.0 / 1e6 / f64::from(in_flight).powf(0.8);
    // Rate times mean latency is the depth.
    let waits = if workload.constant_depth().is_some() { f64::from(in_flight).powf(0.2) } else { 1.0 };
    let operation = around(write_us * waits);
    let flushes = sync_us.map_or(0, |_| 1000);
    let histograms = Histograms {
        read: operation.clone().filter(|_| reads),
        write: operation.filter(|_| !reads),
        sync: sync_us.and_then(around),
        commit: if durable { around(total_us) } else { None },
    };
    let measured = Measured {
        turns: (!workload.steps.is_empty()).then_some(1000),
        bytes: workload.block_bytes * 1000,
        workload,
        engine: "psync",
        elapsed_s,
        histograms,
        series: Series::new(),
        proof: Proof {
            reads: if reads { 1000 } else { 0 },
            writes: if reads { 0 } else { 1000 },
            syncs: flushes,
            commits: if durable { 1000 } else { 0 },
            device: Some(DeviceProof {
                reads: 0,
                writes: 2000,
                bytes_written: 4_096_000,
                flushes: Some(flushes),
                flush_mean_us: sync_us,
                flushes_per_commit: durable.then_some(flushes as f64 / 1000.0),
                bytes_per_byte: Some(1.0),
            }),
        },
        cpu: CpuUse { user_s: 0.01, system_s: 0.02 },
        ended: Ended::Limit,
        notes: Vec::new(),
    };
    TestResult::new(&test.name, measured)
}

/// The results of a built-in suite on a drive whose 4 KiB write takes `write_us` and whose sync takes `sync_us`.
pub(crate) fn suite(name: &str, write_us: f64, sync_us: f64) -> Vec<TestResult> {
    let plan = workload::suites::named(name).unwrap_or_else(|| panic!("no suite {name}"));
    let sized = |test: &Test| {
        let (bytes, sync) = match &test.work {
            Work::Blocks(workload) => (f64::from(workload.block_bytes.get()), workload.sync),
            Work::Steps(program) => (program.turn_bytes() as f64, method(program)),
            Work::Sort(sort) => (f64::from(sort.block_bytes.get()), sort.sync_method()),
        };
        let sync_us = sync_us * price(sync);
        let inline_us = if sync.is_durable() && sync.call().is_none() { sync_us } else { 0.0 };
        result(test, write_us * (0.5 + bytes / 8192.0) + inline_us, sync.call().map(|_| sync_us))
    };
    plan.tests.iter().map(sized).collect()
}

/// The results of `sort-spill`: a drive that limits the sort, one that does not, the page cache, and more sorts than processors.
pub(crate) fn sorts() -> Vec<TestResult> {
    let alone = SortFigures {
        sorts: 1,
        records: 9_300_000,
        bytes: 1 << 30,
        runs: 22,
        written_bytes: 880 << 20,
        read_bytes: 880 << 20,
        input_s: 0.62,
        sorting_s: 1.31,
        coding_s: 0.74,
        merging_s: 1.48,
        waiting_s: 0.01,
        writing_s: 4.4,
        writing_cpu_s: 0.07,
        reading_s: 2.93,
        reading_cpu_s: 0.05,
        first_row_s: Some(6.1),
    };
    let figures = [
        alone,
        SortFigures { records: 12_700_000, writing_s: 0.88, reading_s: 0.59, first_row_s: Some(3.2), ..alone },
        SortFigures {
            writing_s: 0.61,
            writing_cpu_s: 0.48,
            reading_s: 0.44,
            reading_cpu_s: 0.29,
            first_row_s: Some(2.9),
            ..alone
        },
        SortFigures {
            sorts: 4,
            runs: 92,
            written_bytes: 884 << 20,
            read_bytes: 884 << 20,
            sorting_s: 1.42,
            coding_s: 0.81,
            merging_s: 1.63,
            waiting_s: 2.36,
            writing_s: 15.2,
            writing_cpu_s: 0.08,
            reading_s: 10.7,
            reading_cpu_s: 0.06,
            first_row_s: Some(5.4),
            ..alone
        },
    ];
    let results = suite("sort-spill", 15.0, 0.0).into_iter().zip(figures);
    results.map(|(result, figures)| result.with_sort(figures)).collect()
}

/// What makes a program's writes durable.
fn method(program: &StepProgram) -> SyncMethod {
    let called = |wanted| program.steps.iter().any(|step| matches!(step, Step::Sync { call, .. } if *call == wanted));
    match program.files.iter().find_map(|file| file.open_flag) {
        _ if called(SyncCall::Fsync) => SyncMethod::Fsync,
        _ if called(SyncCall::Fdatasync) => SyncMethod::Fdatasync,
        Some(OpenFlag::ODsync) => SyncMethod::ODsync,
        Some(OpenFlag::OSync) => SyncMethod::OSync,
        None => SyncMethod::None,
    }
}

/// What a method costs beside `fdatasync`: no two cost the same, so that a verdict on the wrong row is seen.
fn price(sync: SyncMethod) -> f64 {
    match sync {
        SyncMethod::Fsync => 1.2,
        SyncMethod::OSync => 1.3,
        SyncMethod::ODsync => 0.9,
        _ => 1.0,
    }
}

/// What `check` measures on a consumer NVMe drive.
pub(crate) fn quick() -> Vec<TestResult> {
    suite("quick", 15.0, 1700.0)
}

/// A run of `quick` with these results, judged.
pub(crate) fn document(results: Vec<TestResult>) -> RunDocument {
    let host = HostFacts::default();
    let judge::Judgement { findings, fitness } = judge::judge(&judge::Case::new(&results, None, &host));
    RunDocument {
        schema: SCHEMA.to_owned(),
        flushmark: "0.1.0".to_owned(),
        started_at: "2026-11-20T19:30:00Z".to_owned(),
        source: None,
        merged_runs: None,
        suite: "quick".to_owned(),
        smoke: false,
        target: TargetRecord { given: "/var/lib/db".to_owned(), kind: TargetKind::Directory },
        host,
        drive: None,
        drives: Vec::new(),
        results,
        skipped: Vec::new(),
        findings,
        fitness,
    }
}

/// About `count` latencies around `us`, with a tail of a few at three times that.
pub(crate) fn spread(us: f64, count: u64) -> Histogram {
    let mut histogram = Histogram::new();
    for (share, part) in [(0.8, 0.05), (0.92, 0.25), (1.0, 0.4), (1.08, 0.2), (1.25, 0.08), (1.8, 0.019), (3.0, 0.001)]
    {
        histogram.record_n((us * share * 1e3) as u64, (count as f64 * part).ceil() as u64);
    }
    histogram
}

/// A machine with bare metal.
pub(crate) fn host() -> HostFacts {
    HostFacts {
        kernel_release: Some("6.12.9-amd64".to_owned()),
        cpu_model: Some("AMD Ryzen 7 PRO 7840U".to_owned()),
        logical_cpus: Some(16),
        memory_bytes: Some(32 << 30),
        clocksource: Some("tsc".to_owned()),
        ..HostFacts::default()
    }
}

fn device(name: &str, transport: Transport) -> BlockDevice {
    BlockDevice {
        device: DeviceNumber { major: 259, minor: 0 },
        name: name.to_owned(),
        path: PathBuf::from(format!("/dev/{name}")),
        partition: None,
        transport,
        layer: None,
        model: None,
        vendor: None,
        serial: None,
        firmware: None,
        size_bytes: Some(1_000_204_886_016),
        read_only: Some(false),
        queue: Queue {
            logical_block_bytes: Some(512),
            rotational: Some(false),
            scheduler: Some("none".to_owned()),
            write_cache: Some(WriteCache::WriteBack),
            fua: Some(true),
            ..Queue::default()
        },
        cache_type: None,
        backing_file: None,
        layers: Vec::new(),
        holders: Vec::new(),
    }
}

fn directory(path: &str, fs_type: &str, source: &str, options: &[&str], backing: Backing) -> Place {
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    Place {
        path: PathBuf::from(path),
        kind: PlaceKind::Directory,
        device: DeviceNumber { major: 259, minor: 2 },
        mount: Some(Mount {
            id: 30,
            parent_id: 1,
            device: DeviceNumber { major: 259, minor: 2 },
            root: PathBuf::from("/"),
            mount_point: PathBuf::from("/"),
            fs_type: fs_type.to_owned(),
            source: PathBuf::from(source),
            options: vec!["rw".to_owned(), "relatime".to_owned()],
            super_options: options,
            effective_options: None,
        }),
        backing,
        space: None,
        direct_io: None,
        size_bytes: None,
    }
}

/// A laptop: ext4 on the second partition of an NVMe drive.
pub(crate) fn laptop() -> Place {
    let mut partition = device("nvme0n1p2", Transport::Nvme);
    partition.model = Some("Samsung SSD 980 1TB".to_owned());
    partition.partition = Some(Partition {
        number: Some(2),
        start_bytes: Some(1 << 29),
        disk: "nvme0n1".to_owned(),
        disk_device: Some(DeviceNumber { major: 259, minor: 0 }),
    });
    directory(
        "/home/me/db",
        "ext4",
        "/dev/nvme0n1p2",
        &["rw", "errors=remount-ro"],
        Backing::BlockDevice(Box::new(partition)),
    )
}

/// A server: ext4 without barriers on a logical volume over two SATA drives.
pub(crate) fn raid() -> Place {
    let mut volume = device("dm-0", Transport::DeviceMapper);
    volume.layer = Some("lvm".to_owned());
    for (minor, name) in [(0, "sda"), (16, "sdb")] {
        let mut drive = device(name, Transport::Sata);
        drive.device = DeviceNumber { major: 8, minor };
        drive.model = Some("INTEL SSDSC2BB480G4".to_owned());
        drive.queue.write_cache = Some(WriteCache::WriteThrough);
        volume.layers.push(drive);
    }
    directory("/srv", "ext4", "/dev/mapper/vg-srv", &["rw", "nobarrier"], Backing::BlockDevice(Box::new(volume)))
}

/// A raw device of which sysfs says next to nothing.
pub(crate) fn bare_device() -> Place {
    let mut bare = device("sdx", Transport::Unknown);
    bare.queue = Queue::default();
    bare.size_bytes = None;
    bare.read_only = None;
    Place {
        kind: PlaceKind::BlockDevice,
        mount: None,
        ..directory("/dev/sdx", "none", "none", &[], Backing::BlockDevice(Box::new(bare)))
    }
}

/// A directory in memory.
pub(crate) fn memory() -> Place {
    let backing = Backing::NoBlockDevice(NoBlockDevice::Memory { fs_type: "tmpfs".to_owned() });
    directory("/dev/shm", "tmpfs", "tmpfs", &["rw"], backing)
}
