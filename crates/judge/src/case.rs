//! The input of the judgement, and how to look things up in it.

use drive::host::Controller;
use drive::{BlockDevice, DriveRecord, HostFacts, Place, PlaceKind, Transport, WriteCache};
use measurement::{CephRecord, ExportRecord, LatencySummary, TestResult};
use workload::{Layout, Pattern, Submission, SyncMethod, TargetName};

/// The most common block size of a commit: a page of the page cache, a log block, and the size used
/// by the published commit figures.
const USUAL_BLOCK_BYTES: u64 = 4096;
/// In larger blocks, the data transfer, not the sync, dominates the time of a commit.
const SMALL_BLOCK_BYTES_MAX: u64 = 16384;
/// From this size on, a write takes longer than its commands.
const LARGE_BLOCK_BYTES_MIN: u64 = 1 << 20;

/// A pool or an image of a Ceph cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CephPlace {
    /// `the pool rbd`, `the image rbd/disk`, or the device if the kernel does not name its image.
    pub label: String,
    /// Copies that each write waits for, if known.
    pub replicas: Option<u32>,
}

/// Everything that the judgement may use. Results are looked up by their workload, never by the
/// name of the test.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    pub(crate) results: &'a [TestResult],
    /// The results under each setting of the write cache, if a run measured both.
    pub(crate) both_settings: Option<BothSettings<'a>>,
    /// The place where the tests ran; `None` for `null:`, models and NBD exports.
    pub(crate) place: Option<&'a Place>,
    /// The NBD export on which the tests ran. The host is then only its client.
    pub(crate) export: Option<&'a ExportRecord>,
    /// The pool or image of a Ceph cluster on which the tests ran.
    pub(crate) ceph: Option<&'a CephRecord>,
    pub(crate) host: &'a HostFacts,
    /// The reports of the underlying drives; empty if they were not queried.
    pub(crate) records: &'a [DriveRecord],
    /// Whether the drives' write caches were on before the run; `None` if unknown or if they
    /// differ.
    pub(crate) caches_found_on: Option<bool>,
}

/// Results with the drive's write cache off, and with it on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BothSettings<'a> {
    pub(crate) off: &'a [TestResult],
    pub(crate) on: &'a [TestResult],
}

impl<'a> Case<'a> {
    /// A case without drive records and without a known setting of the write caches.
    pub const fn new(
        results: &'a [TestResult],
        place: Option<&'a Place>,
        host: &'a HostFacts,
    ) -> Case<'a> {
        let (both_settings, records, caches_found_on) = (None, [].as_slice(), None);
        let (export, ceph) = (None, None);
        Case { results, both_settings, place, export, ceph, host, records, caches_found_on }
    }

    /// The tests ran on an NBD export.
    #[must_use]
    pub const fn with_export(self, export: Option<&'a ExportRecord>) -> Case<'a> {
        Case { export, ..self }
    }

    /// The tests ran in a Ceph cluster, whose drives are behind its software and its network.
    #[must_use]
    pub const fn with_ceph(self, ceph: Option<&'a CephRecord>) -> Case<'a> {
        Case { ceph, ..self }
    }

    /// Adds what the underlying drives report.
    #[must_use]
    pub const fn with_drives(self, records: &'a [DriveRecord]) -> Case<'a> {
        Case { records, ..self }
    }

    /// Adds the setting that the drives' write caches had before the run and have again after it.
    #[must_use]
    pub const fn with_caches_found(self, on: Option<bool>) -> Case<'a> {
        Case { caches_found_on: on, ..self }
    }

    /// The case restricted to the results with the write cache off, and to those with it on; `None`
    /// unless both were measured.
    pub(crate) fn under_each_setting(&self) -> Option<[Case<'a>; 2]> {
        let BothSettings { off, on } = self.both_settings?;
        Some([off, on].map(|results| Case { results, both_settings: None, ..*self }))
    }

    /// The setting of the write cache that all results were measured under, if it is known.
    fn setting(&self) -> Option<WriteCache> {
        let first = self.results.first()?.workload.write_cache;
        let is_on = first.requires_on()?;
        let all = self.results.iter().all(|result| result.workload.write_cache == first);
        all.then_some(if is_on { WriteCache::WriteBack } else { WriteCache::WriteThrough })
    }

    /// The write test with this sync method that best represents one small commit: depth 1, one
    /// job, each write synced, at most 16 KiB. Of several, the one nearest to a 4 KiB random
    /// overwrite with `O_DIRECT`.
    pub(crate) fn small_write(&self, sync: SyncMethod) -> Option<&'a TestResult> {
        self.results
            .iter()
            .filter(|result| is_small_write(result, sync))
            .min_by_key(|result| deviation_from_usual_commit(result))
    }

    /// All small writes with this sync method, each synced, at depth 1 by one job.
    pub(crate) fn small_writes(
        &self,
        sync: SyncMethod,
    ) -> impl Iterator<Item = &'a TestResult> + use<'a> {
        self.results.iter().filter(move |result| is_small_write(result, sync))
    }

    /// The small write synced by this call whose sync was timed apart, the largest of several.
    pub(crate) fn small_synced_write(&self, sync: SyncMethod) -> Option<&'a TestResult> {
        self.small_writes(sync)
            .filter(|result| result.sync_us.is_some())
            .max_by_key(|result| result.workload.block_bytes)
    }

    /// The largest write of at least [`LARGE_BLOCK_BYTES_MIN`] synced by this call, at depth 1 by
    /// one job, whose sync was timed apart.
    pub(crate) fn large_synced_write(&self, sync: SyncMethod) -> Option<&'a TestResult> {
        self.results
            .iter()
            .filter(|result| is_measured_write(result, sync) && result.workload.jobs == 1)
            .filter(|result| result.workload.block_bytes >= LARGE_BLOCK_BYTES_MIN)
            .filter(|result| result.sync_us.is_some())
            .max_by_key(|result| result.workload.block_bytes)
    }

    /// Like [`Case::small_write`], restricted to one way of submitting writes.
    pub(crate) fn small_write_submitted(
        &self,
        sync: SyncMethod,
        submission: Submission,
    ) -> Option<&'a TestResult> {
        self.results
            .iter()
            .filter(|result| is_small_write(result, sync))
            .filter(|result| result.comparable_workload().submission == Some(submission))
            .min_by_key(|result| deviation_from_usual_commit(result))
    }

    /// Two small write tests that differ only in their sync method.
    pub(crate) fn small_write_pair(
        &self,
        one: SyncMethod,
        other: SyncMethod,
    ) -> Option<(&'a TestResult, &'a TestResult)> {
        self.small_write_pairs(one, other)
            .min_by_key(|(first, _)| deviation_from_usual_commit(first))
    }

    /// All such pairs, in the order in which the first test of each was measured.
    pub(crate) fn small_write_pairs(
        &self,
        one: SyncMethod,
        other: SyncMethod,
    ) -> impl Iterator<Item = (&'a TestResult, &'a TestResult)> + use<'a> {
        let results = self.results;
        results.iter().filter(move |result| is_small_write(result, one)).filter_map(move |first| {
            let matching = |second: &&TestResult| {
                is_small_write(second, other) && differ_in_sync_alone(first, second)
            };
            Some((first, results.iter().find(matching)?))
        })
    }

    /// The same test with one job and with the largest number of jobs measured, of the tests that
    /// sync by a system call.
    pub(crate) fn one_and_many_jobs(&self) -> Option<(&'a TestResult, &'a TestResult)> {
        let by_call = [SyncMethod::Fdatasync, SyncMethod::Fsync];
        let pairs = by_call.into_iter().filter_map(|sync| {
            let one = self.small_write(sync)?;
            let many = self
                .results
                .iter()
                .filter(|many| many.workload.jobs > 1 && is_measured_write(many, sync))
                .filter(|many| differ_in_jobs_alone(one, many))
                .max_by_key(|many| many.workload.jobs)?;
            Some((one, many))
        });
        pairs.max_by_key(|(_, many)| many.workload.jobs)
    }

    /// The small commit with the lowest median, by any method.
    pub(crate) fn cheapest_commit(&self) -> Option<&'a TestResult> {
        self.small_commits().min_by(|a, b| a.p50_us().total_cmp(&b.p50_us()))
    }

    /// The small commit by a system call, preferably `fdatasync`: on an overwritten file it costs
    /// the write and the flush, without any metadata of the filesystem.
    pub(crate) fn flushing_commit(&self) -> Option<&'a TestResult> {
        self.small_write(SyncMethod::Fdatasync).or_else(|| self.small_write(SyncMethod::Fsync))
    }

    /// The most representative small commit test of each method that was measured.
    pub(crate) fn small_commits(&self) -> impl Iterator<Item = &'a TestResult> + use<'a> {
        let case = *self;
        SyncMethod::ALL
            .into_iter()
            .filter(|sync| sync.is_durable())
            .filter_map(move |sync| case.small_write(sync))
    }

    /// The small unsynced write to the device: the cost of the same write without durability. A
    /// buffered write cannot serve as the control because it ends in the page cache.
    pub(crate) fn control(&self) -> Option<&'a TestResult> {
        self.small_write(SyncMethod::None).filter(|result| result.workload.direct)
    }

    /// The small random read from the device at depth 1.
    pub(crate) fn random_read(&self) -> Option<&'a TestResult> {
        self.results
            .iter()
            .filter(|result| {
                result.workload.pattern == Some(Pattern::RandRead) && result.workload.direct
            })
            .filter(|result| {
                is_one_at_a_time(result) && result.workload.block_bytes <= SMALL_BLOCK_BYTES_MAX
            })
            .filter(|result| summary(result).is_some())
            .min_by_key(|result| deviation_from_usual_commit(result))
    }

    /// The block device under the target.
    pub(crate) fn device(&self) -> Option<&'a BlockDevice> {
        self.place?.block_device()
    }

    /// The drives at the bottom of the stack.
    pub(crate) fn drives(&self) -> Vec<&'a BlockDevice> {
        self.device().map(BlockDevice::drives).unwrap_or_default()
    }

    /// The name of the underlying drive in texts: its model if known, otherwise its path.
    pub(crate) fn drive_label(&self) -> String {
        if let Some(export) = self.export {
            return export.uri.clone();
        }
        let drives = self.drives();
        match drives.as_slice() {
            [] => "the storage".to_owned(),
            [drive] => drive.label().unwrap_or_else(|| disk_path(drive)),
            several => format!("the array of {} drives", several.len()),
        }
    }

    /// The path of the first drive's whole disk, for commands shown to the user; `/dev/DISK` if
    /// unknown.
    pub(crate) fn disk_path(&self) -> String {
        self.drives().first().map_or_else(|| "/dev/DISK".to_owned(), |drive| disk_path(drive))
    }

    /// The path of each drive's whole disk, for commands shown to the user.
    pub(crate) fn disk_paths(&self) -> Vec<String> {
        self.drives().into_iter().map(disk_path).collect()
    }

    /// The path of the target, for commands shown to the user.
    pub(crate) fn path(&self) -> String {
        match (self.place, self.export) {
            (Some(place), _) => place.path.display().to_string(),
            (None, Some(export)) => export.uri.clone(),
            (None, None) => "PATH".to_owned(),
        }
    }

    pub(crate) fn is_modelled(&self) -> bool {
        let name = self.device().and_then(|device| device.path.to_str());
        name.is_some_and(|name| matches!(TargetName::parse(name), TargetName::Model(_)))
    }

    /// Returns whether the target is a block device without a filesystem.
    pub(crate) fn is_raw_device(&self) -> bool {
        self.place.is_some_and(|place| place.kind == PlaceKind::BlockDevice)
    }

    /// The loop device that the target consists of, whose flushes are syncs of its file.
    pub(crate) fn loop_device(&self) -> Option<&'a BlockDevice> {
        self.drives().into_iter().find(|drive| drive.transport == Transport::Loop)
    }

    /// Returns whether the target consists of images of a Ceph cluster that the kernel has mapped.
    pub(crate) fn is_mapped_image(&self) -> bool {
        let drives = self.drives();
        !drives.is_empty() && drives.iter().all(|drive| drive.transport == Transport::Rbd)
    }

    /// The place in a Ceph cluster where the tests ran, through its libraries or on a mapped image.
    pub(crate) fn in_ceph(&self) -> Option<CephPlace> {
        if let Some(CephRecord { pool, image, replicas, .. }) = self.ceph {
            let label = match image {
                Some(image) => format!("the image {pool}/{image}"),
                None => format!("the pool {pool}"),
            };
            return Some(CephPlace { label, replicas: *replicas });
        }
        if !self.is_mapped_image() {
            return None;
        }
        let label = match self.drives().as_slice() {
            [one] if one.rbd_image.is_some() => format!("the {}", self.drive_label()),
            _ => self.drive_label(),
        };
        Some(CephPlace { label, replicas: None })
    }

    /// Returns whether a hypervisor sits between the kernel and the medium. Timing then also
    /// reflects its host. Of an export, the host is only the client, and its server's machine is
    /// unknown.
    pub(crate) fn is_virtual(&self) -> bool {
        // The file of a loop device is what answers, whatever is under it, and so is a cluster.
        if self.export.is_some() || self.loop_device().is_some() || self.is_mapped_image() {
            return false;
        }
        let by_transport = self.drives().iter().any(|drive| {
            matches!(drive.transport, Transport::Virtio | Transport::HyperV | Transport::Xen)
        });
        by_transport || self.host.virtualisation.is_some()
    }

    /// The RAID controller in front of an underlying drive, if any.
    pub(crate) fn raid_controller(&self) -> Option<&'a Controller> {
        let names = self.device_names();
        let before = |controller: &&Controller| {
            controller.is_raid() && controller.disks.iter().any(|disk| names.contains(disk))
        };
        self.host.controllers.iter().find(before)
    }

    /// Kernel names of all devices from the target down: layers, disks, and the disks of
    /// partitions.
    pub(crate) fn device_names(&self) -> Vec<String> {
        fn collect(device: &BlockDevice, names: &mut Vec<String>) {
            names.push(device.name.clone());
            names.extend(device.partition.as_ref().map(|partition| partition.disk.clone()));
            device.layers.iter().for_each(|layer| collect(layer, names));
        }
        let mut names = Vec::new();
        if let Some(device) = self.device() {
            collect(device, &mut names);
        }
        names
    }

    /// Returns whether every drive is attached to a bus of this machine, with no RAID controller,
    /// network or third-party software in between.
    pub(crate) fn is_directly_attached(&self) -> bool {
        let drives = self.drives();
        let direct = |drive: &&BlockDevice| {
            matches!(
                drive.transport,
                Transport::Nvme | Transport::Sata | Transport::Sas | Transport::Mmc
            )
        };
        !drives.is_empty()
            && drives.iter().all(direct)
            && !self.is_virtual()
            && self.raid_controller().is_none()
    }

    /// True if the kernel reports an underlying drive as rotational; `None` if it reports nothing.
    pub(crate) fn reported_rotational(&self) -> Option<bool> {
        let drives = self.drives();
        let said: Vec<bool> = drives.iter().filter_map(|drive| drive.queue.rotational).collect();
        (!said.is_empty()).then(|| said.contains(&true))
    }

    /// The kernel's belief about a volatile cache anywhere in the stack, which decides whether it
    /// sends flushes; `None` if unknown.
    pub(crate) fn cache_belief(&self) -> Option<WriteCache> {
        let device = self.device()?;
        // A run that switches the cache has the kernel read the setting again.
        if let Some(setting) = self.setting() {
            return Some(setting);
        }
        if device.queue.write_cache == Some(WriteCache::WriteThrough) {
            return Some(WriteCache::WriteThrough);
        }
        let drives = self.drives();
        let beliefs: Vec<WriteCache> =
            drives.iter().filter_map(|drive| drive.queue.write_cache).collect();
        match beliefs.as_slice() {
            [] => device.queue.write_cache,
            _ if beliefs.contains(&WriteCache::WriteBack) => Some(WriteCache::WriteBack),
            _ => Some(WriteCache::WriteThrough),
        }
    }
}

fn disk_path(drive: &BlockDevice) -> String {
    match &drive.partition {
        Some(partition) => format!("/dev/{}", partition.disk),
        None => drive.path.display().to_string(),
    }
}

/// The latency that an application waits for.
pub(crate) fn summary(result: &TestResult) -> Option<LatencySummary> {
    result.headline_us().filter(|summary| summary.count > 0 && summary.p50 > 0.0)
}

/// Returns whether a test synced with a separate system call, which the kernel turns into a flush
/// if it assumes a volatile cache.
pub(crate) fn syncs_by_call(result: &TestResult) -> bool {
    result.workload.sync.is_some_and(|sync| sync.call().is_some() || sync.linked_call().is_some())
}

fn is_one_at_a_time(result: &TestResult) -> bool {
    result.workload.depth == 1 && result.workload.jobs == 1 && result.workload.rate.is_none()
}

fn is_measured_write(result: &TestResult, sync: SyncMethod) -> bool {
    let work = &result.workload;
    let each_synced = work.sync_every == 1 || sync.is_per_write() || !sync.is_durable();
    let measured =
        if sync.is_durable() { result.commit_us.is_some() } else { result.write_us.is_some() };
    work.sync == Some(sync)
        && matches!(work.pattern, Some(Pattern::Write | Pattern::RandWrite))
        && work.depth == 1
        && work.rate.is_none()
        && each_synced
        && measured
        && summary(result).is_some()
}

fn is_small_write(result: &TestResult, sync: SyncMethod) -> bool {
    is_measured_write(result, sync)
        && result.workload.jobs == 1
        && (1..=SMALL_BLOCK_BYTES_MAX).contains(&result.workload.block_bytes)
}

/// The distance of a test from a 4 KiB random overwrite with `O_DIRECT`; the test with the least
/// represents "a commit".
fn deviation_from_usual_commit(result: &TestResult) -> (bool, bool, u32, bool) {
    let work = &result.workload;
    (
        !work.direct,
        !matches!(work.layout, None | Some(Layout::Overwrite)),
        work.block_bytes.max(1).ilog2().abs_diff(USUAL_BLOCK_BYTES.ilog2()),
        !work.pattern.is_some_and(Pattern::is_random),
    )
}

fn differ_in_sync_alone(one: &TestResult, other: &TestResult) -> bool {
    let (one, other) = (&one.workload, &other.workload);
    one.block_bytes == other.block_bytes
        && one.pattern == other.pattern
        && one.layout == other.layout
        && one.direct == other.direct
}

fn differ_in_jobs_alone(one: &TestResult, other: &TestResult) -> bool {
    one.workload.sync_every == other.workload.sync_every && differ_in_sync_alone(one, other)
}
