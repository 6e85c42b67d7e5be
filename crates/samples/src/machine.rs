//! Machines that lead to different findings, each with facts and with results made of a few
//! latencies.

use std::path::PathBuf;

use SyncMethod::{Fdatasync, Fsync, None as NoSync, ODsync};
use drive::{
    Backing, BlockDevice, HostFacts, NoBlockDevice, Partition, Place, Space, Transport,
    Virtualisation, WriteCache,
};
use measurement::{DeviceProof, Histogram, Histograms, Measured, Series, TestResult};
use workload::{BlockBytes, Jobs, Pattern, SyncMethod, Test, Work, Workload};

use crate::measured::measured;
use crate::place::{device, directory, drive};

/// A machine and what was measured on it.
#[derive(Debug, Clone)]
pub struct Machine {
    pub results: Vec<TestResult>,
    /// The storage under the target.
    pub place: Option<Place>,
    pub host: HostFacts,
}

impl Machine {
    /// Adds the results of these tests.
    pub fn measure(mut self, tests: impl IntoIterator<Item = Run>) -> Machine {
        self.results.extend(tests.into_iter().map(Run::result));
        self
    }
}

/// The result of a test, in a few numbers.
#[derive(Debug, Clone)]
pub struct Run {
    pattern: Pattern,
    block_bytes: u64,
    sync: SyncMethod,
    jobs: u64,
    first_us: f64,
    sync_us: f64,
    flushes_per_commit: Option<f64>,
    direct: bool,
    size_bytes: u64,
    note: Option<&'static str>,
    slow_share: f64,
    slow_factor: f64,
    iops_by_second: [f64; 6],
    samples: u64,
}

/// A random write of 4 KiB that takes `write_us`; if it is synced by a call, that takes `sync_us`.
pub fn write(sync: SyncMethod, write_us: f64, sync_us: f64) -> Run {
    Run {
        pattern: Pattern::RandWrite,
        block_bytes: 4096,
        sync,
        jobs: 1,
        first_us: write_us,
        sync_us,
        flushes_per_commit: None,
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
pub fn read(read_us: f64) -> Run {
    Run { pattern: Pattern::RandRead, ..write(SyncMethod::None, read_us, 0.0) }
}

impl Run {
    /// Sets the number of flushes that the device counts per commit.
    pub fn flushes(self, per_commit: f64) -> Run {
        Run { flushes_per_commit: Some(per_commit), ..self }
    }

    /// Sets the block size in bytes.
    pub fn block(self, block_bytes: u64) -> Run {
        Run { block_bytes, ..self }
    }

    /// Makes the accesses sequential.
    pub fn sequential(self) -> Run {
        Run { pattern: Pattern::Write, ..self }
    }

    /// Runs several jobs that are as fast together as one.
    pub fn jobs(self, jobs: u64) -> Run {
        Run { jobs, ..self }
    }

    /// Uses the page cache, with this note.
    pub fn buffered(self, note: &'static str) -> Run {
        Run { direct: false, note: Some(note), ..self }
    }

    /// Sets the size of the area in bytes.
    pub fn size(self, size_bytes: u64) -> Run {
        Run { size_bytes, ..self }
    }

    /// Makes this share of the operations slower by this factor.
    pub fn slow(self, slow_share: f64, slow_factor: f64) -> Run {
        Run { slow_share, slow_factor, ..self }
    }

    /// Makes the rate fall from second to second.
    pub fn drifting(self) -> Run {
        Run { iops_by_second: [2.0, 1.8, 1.5, 1.2, 1.0, 0.8], ..self }
    }

    /// The result with these numbers.
    pub fn result(self) -> TestResult {
        let mut workload = Workload::new(self.pattern, BlockBytes::new(self.block_bytes).unwrap());
        workload.sync = self.sync;
        workload.jobs = Jobs::new(self.jobs).unwrap();
        workload.direct = self.direct;
        workload.size = workload::Area::Bytes(self.size_bytes);
        let test = Test::alone(workload.title(), Work::Blocks(workload));
        let mut base = measured(&test, self.samples);

        let by_call = self.sync.call().is_some();
        let (mut first, mut sync, mut commit) =
            (Histogram::new(), Histogram::new(), Histogram::new());
        let mut total_us = 0.0;
        for index in 0..self.samples {
            // Within 5 % of the median; the slow share is spread evenly over the run.
            let spread = 0.95 + 0.1 * (index * 37 % 101) as f64 / 100.0;
            let slow = index * 377 % 1000 < (self.slow_share * 1000.0) as u64;
            let factor = if slow { spread * self.slow_factor } else { spread };
            let (first_us, sync_us) =
                (self.first_us * factor, if by_call { self.sync_us * factor } else { 0.0 });
            first.record((first_us * 1e3) as u64);
            sync.record((sync_us * 1e3) as u64);
            commit.record(((first_us + sync_us) * 1e3) as u64);
            total_us += first_us + sync_us;
        }
        let durable = base.proof.commits > 0;
        base.proof.device = self.flushes_per_commit.map(|per_commit| DeviceProof {
            reads: 0,
            writes: self.samples,
            writes_merged: None,
            bytes_written: self.samples * self.block_bytes,
            flushes: Some((per_commit * base.proof.commits as f64) as u64),
            flush_mean_us: None,
            flushes_per_commit: Some(per_commit),
            bytes_per_byte: Some(1.0),
            medium_bytes_written: None,
        });
        let p50_us = self.first_us + self.sync_us;
        let iops: Vec<f64> =
            self.iops_by_second.iter().map(|factor| factor * 1e6 / p50_us).collect();
        let latency_us: Vec<Option<f64>> =
            self.iops_by_second.iter().map(|factor| Some(p50_us / factor)).collect();
        let measured = Measured {
            elapsed_s: total_us / 1e6 / self.jobs as f64,
            histograms: Histograms {
                read: (base.proof.reads > 0).then(|| first.clone()),
                write: (base.proof.writes > 0).then_some(first),
                sync: (durable && by_call).then_some(sync),
                commit: durable.then_some(commit),
            },
            series: Series {
                iops,
                commit_p50_us: latency_us.clone(),
                commit_p99_us: latency_us,
                ..Series::new()
            },
            notes: self.note.map(str::to_owned).into_iter().collect(),
            ..base
        };
        TestResult::new(&test.name, measured)
    }
}

/// `/srv/db` on a mounted filesystem with this backing.
fn mounted(fs_type: &str, options: &str, backing: Backing) -> Place {
    let space = Space { total_bytes: 1 << 40, free_bytes: 1 << 39, available_bytes: 1 << 39 };
    Place { space: Some(space), ..directory("/srv/db", "/srv/db", fs_type, options, backing) }
}

/// `/srv/db` on a drive, without results.
pub fn on(fs_type: &str, options: &str, drive: BlockDevice) -> Machine {
    Machine {
        results: Vec::new(),
        place: Some(mounted(fs_type, options, Backing::BlockDevice(Box::new(drive)))),
        host: HostFacts::default(),
    }
}

/// A raw drive, without results.
pub fn raw(drive: BlockDevice) -> Machine {
    Machine { results: Vec::new(), place: Some(device(drive)), host: HostFacts::default() }
}

/// An enterprise NVMe drive with PLP, whose flush takes almost no time.
pub fn protected_nvme() -> Machine {
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
pub fn consumer_nvme() -> Machine {
    let mut nvme = drive("nvme0n1p2", Transport::Nvme);
    nvme.partition = Some(Partition {
        number: Some(2),
        start_bytes: None,
        disk: "nvme0n1".to_owned(),
        disk_device: None,
    });
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

/// A 7200 rpm disk with its cache enabled.
pub fn disk() -> Machine {
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

/// A network volume of a cloud, whose virtio disk reports itself as rotational.
pub fn cloud_volume() -> Machine {
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

/// A virtual disk whose host acknowledges flushes without doing anything.
pub fn lying_virtual_disk() -> Machine {
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

/// A virtual disk that reports no volatile cache.
pub fn cacheless_virtual_disk() -> Machine {
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
pub fn without_barriers() -> Machine {
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
pub fn tmpfs() -> Machine {
    const NOTE: &str = "O_DIRECT is refused here, so the page cache took part.";
    let memory = Backing::NoBlockDevice(NoBlockDevice::Memory { fs_type: "tmpfs".to_owned() });
    let machine = Machine {
        results: Vec::new(),
        place: Some(mounted("tmpfs", "rw", memory)),
        host: HostFacts::default(),
    };
    machine.measure([
        write(NoSync, 0.9, 0.0).buffered(NOTE),
        write(Fsync, 0.9, 0.3).buffered(NOTE),
        write(Fdatasync, 0.9, 0.3).buffered(NOTE),
        read(0.6).buffered(NOTE),
    ])
}

/// The consumer NVMe drive while another program copies files: two speeds, a drift, a long tail.
pub fn noisy() -> Machine {
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

/// A disk of a virtual machine, with a layer between it and the kernel that drops flushes.
pub fn swallowed_flushes() -> Machine {
    on("ext4", "rw", drive("sdc", Transport::Scsi)).measure([
        write(NoSync, 40.0, 0.0),
        write(Fsync, 41.0, 3.0).flushes(0.0),
        write(Fdatasync, 41.0, 1.0).flushes(0.0),
        read(70.0),
    ])
}

/// The root of a container.
pub fn overlay() -> Machine {
    let upper = Some(PathBuf::from("/var/lib/containers/overlay/7/diff"));
    let overlay = Backing::NoBlockDevice(NoBlockDevice::Overlay { upper });
    let mut machine = Machine {
        results: Vec::new(),
        place: Some(mounted("overlay", "rw", overlay)),
        host: HostFacts::default(),
    };
    machine.place.as_mut().unwrap().space =
        Some(Space { total_bytes: 1 << 30, free_bytes: 100 << 20, available_bytes: 100 << 20 });
    machine.measure([
        write(NoSync, 90.0, 0.0).size(50 << 20),
        write(Fsync, 90.0, 900.0).size(50 << 20),
        write(Fdatasync, 90.0, 420.0).size(50 << 20),
    ])
}
