//! Machines for tests: results made from a few latencies, and the facts that go with them.

use std::path::PathBuf;

use drive::{
    Backing, BlockDevice, DeviceNumber, HostFacts, MountTable, NoBlockDevice, Partition, Place, PlaceKind, Queue,
    Space, Transport, Virtualisation, WriteCache,
};
use measurement::result::Measured;
use measurement::{CpuUse, DeviceProof, Ended, Histogram, Histograms, Proof, Series, TestResult, WorkloadRecord};
use workload::{BlockBytes, Jobs, Pattern, SyncMethod, Test, Work, Workload};

use crate::case::Case;

/// A machine and what was measured on it.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    pub(crate) results: Vec<TestResult>,
    pub(crate) place: Option<Place>,
    pub(crate) host: HostFacts,
}

impl Machine {
    pub(crate) fn case(&self) -> Case<'_> {
        Case::new(&self.results, self.place.as_ref(), &self.host)
    }

    pub(crate) fn measure(mut self, tests: impl IntoIterator<Item = Run>) -> Machine {
        self.results.extend(tests.into_iter().map(Run::result));
        self
    }
}

/// What one test measures, in few numbers.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pattern: Pattern,
    block_bytes: u64,
    sync: SyncMethod,
    jobs: u64,
    first_us: f64,
    sync_us: f64,
    flushes_per_commit: Option<f64>,
    engine: &'static str,
    direct: bool,
    size_bytes: u64,
    note: Option<&'static str>,
    slow_share: f64,
    slow_factor: f64,
    iops_by_second: [f64; 6],
    samples: u64,
}

/// A random write of 4 KiB that takes `write_us`, and where it is synced by a call another `sync_us`.
pub(crate) fn write(sync: SyncMethod, write_us: f64, sync_us: f64) -> Run {
    Run {
        pattern: Pattern::RandWrite,
        block_bytes: 4096,
        sync,
        jobs: 1,
        first_us: write_us,
        sync_us,
        flushes_per_commit: None,
        engine: "psync",
        direct: true,
        size_bytes: 1 << 30,
        note: None,
        slow_share: 0.0,
        slow_factor: 1.0,
        iops_by_second: [1.0; 6],
        samples: 3_000,
    }
}

/// A random read of 4 KiB.
pub(crate) fn read(read_us: f64) -> Run {
    Run { pattern: Pattern::RandRead, ..write(SyncMethod::None, read_us, 0.0) }
}

impl Run {
    pub(crate) fn flushes(self, per_commit: f64) -> Run {
        Run { flushes_per_commit: Some(per_commit), ..self }
    }

    pub(crate) fn block(self, block_bytes: u64) -> Run {
        Run { block_bytes, ..self }
    }

    pub(crate) fn sequential(self) -> Run {
        Run { pattern: Pattern::Write, ..self }
    }

    pub(crate) fn jobs(self, jobs: u64) -> Run {
        Run { jobs, ..self }
    }

    pub(crate) fn buffered(self, note: &'static str) -> Run {
        Run { direct: false, note: Some(note), ..self }
    }

    pub(crate) fn size(self, size_bytes: u64) -> Run {
        Run { size_bytes, ..self }
    }

    /// This share of the operations takes this many times as long.
    pub(crate) fn slow(self, slow_share: f64, slow_factor: f64) -> Run {
        Run { slow_share, slow_factor, ..self }
    }

    pub(crate) fn drifting(self) -> Run {
        Run { iops_by_second: [2.0, 1.8, 1.5, 1.2, 1.0, 0.8], ..self }
    }

    pub(crate) fn result(self) -> TestResult {
        let mut workload = Workload::new(self.pattern, BlockBytes::new(self.block_bytes).unwrap());
        workload.sync = self.sync;
        workload.jobs = Jobs::new(self.jobs).unwrap();
        workload.direct = self.direct;
        workload.size = workload::Area::Bytes(self.size_bytes);
        let test = Test::alone(workload.title(), Work::Blocks(workload));

        let reads = !self.pattern.writes();
        let by_call = self.sync.call().is_some();
        let (mut first, mut sync, mut commit) = (Histogram::new(), Histogram::new(), Histogram::new());
        let mut total_us = 0.0;
        for index in 0..self.samples {
            // Within 5 % of the median; the slow share is spread evenly over the run.
            let spread = 0.95 + 0.1 * (index * 37 % 101) as f64 / 100.0;
            let slow = index * 377 % 1000 < (self.slow_share * 1000.0) as u64;
            let factor = if slow { spread * self.slow_factor } else { spread };
            let (first_us, sync_us) = (self.first_us * factor, if by_call { self.sync_us * factor } else { 0.0 });
            first.record((first_us * 1e3) as u64);
            sync.record((sync_us * 1e3) as u64);
            commit.record(((first_us + sync_us) * 1e3) as u64);
            total_us += first_us + sync_us;
        }
        let durable = self.sync.is_durable() && !reads;
        let commits = if durable { self.samples } else { 0 };
        let device = self.flushes_per_commit.map(|per_commit| DeviceProof {
            reads: 0,
            writes: self.samples,
            bytes_written: self.samples * self.block_bytes,
            flushes: Some((per_commit * commits as f64) as u64),
            flush_mean_us: None,
            flushes_per_commit: Some(per_commit),
            bytes_per_byte: Some(1.0),
        });
        let elapsed_s = total_us / 1e6 / self.jobs as f64;
        let p50_us = self.first_us + self.sync_us;
        let iops: Vec<f64> = self.iops_by_second.iter().map(|factor| factor * 1e6 / p50_us).collect();
        let latency_us: Vec<Option<f64>> = self.iops_by_second.iter().map(|factor| Some(p50_us / factor)).collect();
        TestResult::new(
            &test.name,
            Measured {
                workload: WorkloadRecord::of(&test),
                engine: self.engine,
                elapsed_s,
                turns: None,
                bytes: self.samples * self.block_bytes,
                histograms: Histograms {
                    read: reads.then(|| first.clone()),
                    write: (!reads).then(|| first.clone()),
                    sync: (durable && by_call).then_some(sync),
                    commit: durable.then_some(commit),
                },
                series: Series { iops, commit_p50_us: latency_us.clone(), commit_p99_us: latency_us, ..Series::new() },
                proof: Proof {
                    reads: if reads { self.samples } else { 0 },
                    writes: if reads { 0 } else { self.samples },
                    syncs: if by_call { commits } else { 0 },
                    commits,
                    device,
                },
                cpu: CpuUse { user_s: 0.0, system_s: 0.0 },
                ended: Ended::Limit,
                notes: self.note.map(str::to_owned).into_iter().collect(),
            },
        )
    }
}

/// A drive that says nothing of itself but its name and its bus.
pub(crate) fn drive(name: &str, transport: Transport) -> BlockDevice {
    BlockDevice {
        device: DeviceNumber { major: 8, minor: 0 },
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
            rotational: Some(false),
            write_cache: Some(WriteCache::WriteBack),
            fua: Some(false),
            ..Queue::default()
        },
        cache_type: None,
        backing_file: None,
        layers: Vec::new(),
        holders: Vec::new(),
    }
}

/// The directory `/srv/db` on a filesystem of its own.
pub(crate) fn mounted(fs_type: &str, options: &str, backing: Backing) -> Place {
    let source = match &backing {
        Backing::BlockDevice(device) => device.path.display().to_string(),
        Backing::NoBlockDevice(_) => fs_type.to_owned(),
    };
    let line = format!("40 1 8:1 / /srv/db rw,relatime - {fs_type} {source} {options}\n");
    let mount = MountTable::parse(line.as_bytes()).unwrap().mounts().first().cloned();
    Place {
        path: PathBuf::from("/srv/db"),
        kind: PlaceKind::Directory,
        device: DeviceNumber { major: 8, minor: 1 },
        mount,
        backing,
        space: Some(Space { total_bytes: 1 << 40, free_bytes: 1 << 39, available_bytes: 1 << 39 }),
        direct_io: None,
        size_bytes: None,
    }
}

pub(crate) fn on(fs_type: &str, options: &str, drive: BlockDevice) -> Machine {
    Machine {
        results: Vec::new(),
        place: Some(mounted(fs_type, options, Backing::BlockDevice(Box::new(drive)))),
        host: HostFacts::default(),
    }
}

pub(crate) fn raw(drive: BlockDevice) -> Machine {
    let mut machine = on("ext4", "rw", drive);
    let place = machine.place.as_mut().unwrap();
    place.path = PathBuf::from("/dev/nvme1n1");
    place.kind = PlaceKind::BlockDevice;
    place.mount = None;
    place.space = None;
    machine
}

use SyncMethod::{Fdatasync, Fsync, None as NoSync, ODsync};

/// An enterprise NVMe drive: its flush is a formality.
pub(crate) fn protected_nvme() -> Machine {
    let mut nvme = drive("nvme0n1", Transport::Nvme);
    nvme.model = Some("KIOXIA KCD61LUL3T84".to_owned());
    nvme.queue.fua = Some(true);
    on("xfs", "rw", nvme).measure([
        write(NoSync, 14.0, 0.0),
        write(Fsync, 15.0, 17.0).flushes(1.0),
        write(Fdatasync, 15.0, 14.0).flushes(1.0),
        write(ODsync, 19.0, 0.0).flushes(0.0),
        write(Fsync, 19.0, 17.0).block(16384).sequential().flushes(1.0),
        write(Fdatasync, 21.0, 30.0).jobs(8).flushes(0.6),
        read(82.0),
    ])
}

/// A consumer NVMe drive with ext4: each flush programs flash, and `fsync` adds a journal commit.
pub(crate) fn consumer_nvme() -> Machine {
    let mut nvme = drive("nvme0n1p2", Transport::Nvme);
    nvme.partition =
        Some(Partition { number: Some(2), start_bytes: None, disk: "nvme0n1".to_owned(), disk_device: None });
    nvme.model = Some("Samsung SSD 980 1TB".to_owned());
    nvme.queue.fua = Some(true);
    on("ext4", "rw", nvme).measure([
        write(NoSync, 21.2, 0.0),
        write(Fsync, 21.0, 2_900.0).flushes(2.0),
        write(Fdatasync, 21.2, 1_735.0).flushes(1.0),
        write(ODsync, 910.0, 0.0).flushes(0.0),
        write(Fsync, 24.0, 2_950.0).block(16384).sequential().flushes(2.0),
        write(Fsync, 21.0, 10_400.0).jobs(4).flushes(0.55),
        read(58.0),
    ])
}

/// A 7200 rpm disk with its cache on.
pub(crate) fn disk() -> Machine {
    let mut disk = drive("sda", Transport::Sata);
    disk.model = Some("TOSHIBA MG07ACA14TE".to_owned());
    disk.queue.rotational = Some(true);
    on("xfs", "rw", disk).measure([
        write(NoSync, 2_900.0, 0.0),
        write(Fsync, 130.0, 21_000.0).flushes(2.0),
        write(Fdatasync, 130.0, 12_400.0).flushes(1.0),
        write(ODsync, 13_100.0, 0.0).flushes(1.0),
        read(8_100.0),
    ])
}

/// A cloud's network volume whose virtio disk says that it rotates.
pub(crate) fn cloud_volume() -> Machine {
    let mut disk = drive("vda", Transport::Virtio);
    disk.queue.rotational = Some(true);
    let mut machine = on("ext4", "rw", disk).measure([
        write(NoSync, 80.0, 0.0),
        write(Fsync, 84.0, 1_450.0).flushes(2.0),
        write(Fdatasync, 84.0, 640.0).flushes(1.0),
        write(ODsync, 730.0, 0.0).flushes(1.0),
        read(160.0),
    ]);
    machine.host.virtualisation = Some(Virtualisation::Kvm);
    machine
}

/// A virtual disk whose host confirms flushes and does nothing.
pub(crate) fn lying_virtual_disk() -> Machine {
    let mut machine = on("xfs", "rw", drive("vdb", Transport::Virtio)).measure([
        write(NoSync, 52.0, 0.0),
        write(Fsync, 53.0, 24.0).flushes(1.0),
        write(Fdatasync, 53.0, 22.0).flushes(1.0),
        write(ODsync, 75.0, 0.0).flushes(1.0),
        read(48.0),
    ]);
    machine.host.virtualisation = Some(Virtualisation::Kvm);
    machine
}

/// A virtual disk that declares no volatile cache.
pub(crate) fn cacheless_virtual_disk() -> Machine {
    let mut disk = drive("vda", Transport::Virtio);
    disk.queue.write_cache = Some(WriteCache::WriteThrough);
    let mut machine = on("ext4", "rw", disk).measure([
        write(NoSync, 81.0, 0.0),
        write(Fsync, 81.0, 2.0).flushes(0.0),
        write(Fdatasync, 81.0, 1.0).flushes(0.0),
        write(ODsync, 83.0, 0.0).flushes(0.0),
        read(75.0),
    ]);
    machine.host.virtualisation = Some(Virtualisation::Kvm);
    machine
}

/// A consumer SSD with ext4 mounted without barriers.
pub(crate) fn without_barriers() -> Machine {
    let mut ssd = drive("sdb", Transport::Sata);
    ssd.model = Some("CT1000MX500SSD1".to_owned());
    on("ext4", "rw,nobarrier", ssd).measure([
        write(NoSync, 61.0, 0.0),
        write(Fsync, 62.0, 38.0).flushes(0.0),
        write(Fdatasync, 62.0, 1.5).flushes(0.0),
        write(ODsync, 64.0, 0.0).flushes(0.0),
        read(110.0),
    ])
}

/// A directory in memory.
pub(crate) fn tmpfs() -> Machine {
    const NOTE: &str = "O_DIRECT is refused here, so that the page cache took part.";
    let memory = Backing::NoBlockDevice(NoBlockDevice::Memory { fs_type: "tmpfs".to_owned() });
    let machine =
        Machine { results: Vec::new(), place: Some(mounted("tmpfs", "rw", memory)), host: HostFacts::default() };
    machine.measure([
        write(NoSync, 0.9, 0.0).buffered(NOTE),
        write(Fsync, 0.9, 0.3).buffered(NOTE),
        write(Fdatasync, 0.9, 0.3).buffered(NOTE),
        read(0.6).buffered(NOTE),
    ])
}

/// The consumer NVMe drive while another program copies files: two speeds, a drift, a long tail.
pub(crate) fn noisy() -> Machine {
    let mut machine = consumer_nvme();
    machine.results.clear();
    machine.measure([
        write(NoSync, 21.0, 0.0),
        write(Fsync, 21.0, 2_900.0).flushes(2.1).slow(0.3, 6.0),
        write(Fdatasync, 21.0, 1_735.0).flushes(1.2).drifting(),
        write(ODsync, 900.0, 0.0).slow(0.004, 80.0),
        read(58.0),
    ])
}

/// A virtual machine's disk between which and the kernel something swallows flushes.
pub(crate) fn swallowed_flushes() -> Machine {
    on("ext4", "rw", drive("sdc", Transport::Scsi)).measure([
        write(NoSync, 40.0, 0.0),
        write(Fsync, 41.0, 3.0).flushes(0.0),
        write(Fdatasync, 41.0, 1.0).flushes(0.0),
        read(70.0),
    ])
}

/// A container's root.
pub(crate) fn overlay() -> Machine {
    let upper = Some(PathBuf::from("/var/lib/containers/overlay/7/diff"));
    let overlay = Backing::NoBlockDevice(NoBlockDevice::Overlay { upper });
    let mut machine =
        Machine { results: Vec::new(), place: Some(mounted("overlay", "rw", overlay)), host: HostFacts::default() };
    machine.place.as_mut().unwrap().space =
        Some(Space { total_bytes: 1 << 30, free_bytes: 100 << 20, available_bytes: 100 << 20 });
    machine.measure([
        write(NoSync, 90.0, 0.0).size(50 << 20),
        write(Fsync, 90.0, 900.0).size(50 << 20),
        write(Fdatasync, 90.0, 420.0).size(50 << 20),
    ])
}
