//! One job of a block pattern, in a separate thread: opens its files, sets up its interface, and
//! runs its stage.

use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::{Errno, ReadWriteFlags};
use workload::{
    BlockContents, CheckTime, Content, DepthSearch, Donor, JobPart, Layout, Operation, SyncCall,
    SyncMethod, Verification, Workload,
};

use crate::batching::Batching;
use crate::blocking::Blocking;
use crate::buffers::Buffers;
use crate::carrier::Carrier;
use crate::ceph::{CephDisk, CephQueue};
use crate::clock::Clock;
use crate::computing::Computing;
use crate::crew::{Phase, Report, Stage};
use crate::disk::{Backed, BlockDisk, Disk, FileDisk, NullDisk, Renewal};
use crate::entries::EntryDisk;
use crate::export::{ExportDisk, ExportQueue, ExportTarget, WriteRequest};
use crate::flow::{FlowCounters, FlowShare};
use crate::job::{Failure, JobEnd, Stop, Tally};
use crate::libaio::Libaio;
use crate::open_files::OpenFiles;
use crate::open_flags::open_flags;
use crate::part::{Part, donor_name};
use crate::placement::Placement;
use crate::prepare::open_part;
use crate::priorities::{self, Prioritised};
use crate::queue::{NullQueue, Queue};
use crate::queued::Queued;
use crate::readback::Verified;
use crate::seal::Sealer;
use crate::space::SpaceDisk;
use crate::target::{Opened, Target};
use crate::uring::{Uring, UringSetup};
use crate::writers::{Writers, Writing};
use crate::zoned_disk::{Storage as ZoneStorage, ZonedDisk, ZonedEnd};
use crate::zones::Zones;
use workload::access::Operations;
use workload::random::generator;
use workload::zones::ZoneJob;

/// Blocks that consecutive depth-1 writes rotate through, so neighbouring writes differ in more
/// than their stamps. Few, so small blocks stay in the L1 cache: a larger pool was measured to cost
/// 60 ns per write where the processor itself copies the data (zram, loop).
const POOL_SLOTS: usize = 4;

pub struct BlockJob<'a> {
    pub target: &'a Target,
    pub workload: &'a Workload,
    pub carrier: Carrier,
    /// The files of the job's part.
    pub files: &'a [Part],
    pub part: JobPart,
    /// The zones of the job's file, if the workload respects them.
    pub zones: Option<Arc<Zones>>,
    pub flow: Option<Arc<FlowCounters>>,
    /// The jobs that write the same blocks, if these are checked.
    pub writers: Option<Arc<Writers>>,
    /// The processors and memory nodes of the job's thread.
    pub placement: &'a Placement,
    pub clock: Clock,
    pub job: u32,
    /// Checked while reading back.
    pub stop: &'a Stop,
}

impl BlockJob<'_> {
    /// Sets up, runs the stage, and reports.
    pub fn run(self, stage: Stage<'_>) -> Report {
        let writing = self.writers.clone().map(Writing);
        let mut report = self.carried(stage, writing).unwrap_or_else(Report::failed);
        report.end.ignored.within_file(&self.part);
        report.end.failure = report.end.failure.map(|failure| failure.within_file(&self.part));
        report
    }

    fn open(&self) -> Result<OpenFiles, Failure> {
        let flags = open_flags(self.workload.sync.open_flag());
        let open = |file: &Part| {
            open_part(self.target, &file.name, file.direct, flags).map(|(file, _)| file)
        };
        let failed = |errno| Failure::of("opening the job's file", errno);
        let mut files = self.files.iter().map(open);
        let first = files.next().unwrap_or(Err(Errno::NOENT)).map_err(failed)?;
        Ok(OpenFiles::new(self.part, first, files.collect::<Result<_, _>>().map_err(failed)?))
    }

    /// `writing` ends with the writes of the job.
    fn carried(&self, stage: Stage<'_>, writing: Option<Writing>) -> Result<Report, Failure> {
        let depth = self.workload.depth_effective();
        self.placement.apply(self.job)?;
        priorities::apply(&self.workload.priorities)?;
        if self.workload.pattern.computes() {
            let draws = generator(self.workload.seed, self.job);
            return Ok(Computing::new(self.workload.compute, self.clock, draws).run(stage));
        }
        if self.carrier == Carrier::Null {
            return if depth == 1 && !self.workload.priorities.vary() {
                self.blocking(&mut NullDisk, stage)
            } else {
                let buffers = self.buffers(depth as usize)?;
                Ok(self.queued(NullQueue::new(depth), &mut NullDisk, buffers, Vec::new(), stage))
            };
        }
        if let Opened::Export(export) = self.target.opened() {
            return self.on_export(export, stage, writing);
        }
        if let Opened::Ceph(ceph) = self.target.opened() {
            let transfers = self.workload.pattern.transfers();
            let mut disk = CephDisk::new(ceph, self.part, !transfers);
            return if transfers {
                self.transferring(disk, stage, writing)
            } else {
                self.blocking(&mut disk, stage)
            };
        }
        match self.workload.pattern.operation() {
            Operation::Transfer => match &self.zones {
                Some(zones) => self.transferring_in_zones(zones, self.file_disk()?, stage, writing),
                None => self.transferring(self.file_disk()?, stage, writing),
            },
            Operation::Space(call) => {
                let failed = |errno| Failure::of("querying the target", errno);
                let mut disk = SpaceDisk::new(self.open()?, call).map_err(failed)?;
                if let Some(Donor { number, space }) = self.workload.donor {
                    let name = donor_name(number);
                    let (donor, _) = open_part(self.target, &name, false, OFlags::empty())
                        .map_err(|errno| Failure::of("opening the donor file", errno))?;
                    disk = disk.with_donor(donor, space).map_err(failed)?;
                }
                match &self.zones {
                    Some(zones) => Ok(self.zoned(zones, ZoneStorage::Resets(disk), stage)?.0),
                    None => self.blocking(&mut disk, stage),
                }
            }
            // Computations have returned above; they use no files.
            Operation::Compute => Err(Failure::of("a computation", Errno::OPNOTSUPP)),
            Operation::Entry(call, kind) => {
                let Opened::Directory { scratch, .. } = self.target.opened() else {
                    return Err(Failure::of("a directory operation", Errno::NOTDIR));
                };
                let prefix = self.files.first().map_or("", |file| &file.name);
                let bytes = self.workload.block_bytes.get();
                let mut disk = EntryDisk::new(scratch.directory(), call, kind, prefix, bytes);
                self.blocking(&mut disk, stage)
            }
        }
    }

    /// Runs the stage over a connection to the server of an export.
    fn on_export(
        &self,
        export: &ExportTarget,
        stage: Stage<'_>,
        writing: Option<Writing>,
    ) -> Result<Report, Failure> {
        let write = if !self.workload.pattern.transfers() {
            WriteRequest::Trim
        } else if self.workload.sync.is_write_flag() {
            WriteRequest::WriteFua
        } else {
            WriteRequest::Write
        };
        let (depth, bytes) = (self.workload.depth_effective(), self.workload.largest_bytes());
        let mut report = None;
        let connected = export.with_channel(depth, bytes, |channel| {
            let mut disk = ExportDisk::new(channel, self.part, write);
            report = Some(if self.workload.pattern.transfers() {
                self.transferring(disk, stage, writing)
            } else {
                self.blocking(&mut disk, stage)
            });
            Ok(())
        });
        let failure = connected.err().map(|error| Failure::Server(error.to_string()));
        match (report, failure) {
            // The server's fault explains the error that ended the job.
            (Some(Ok(mut report)), Some(failure)) => {
                report.end.failure = Some(failure);
                Ok(report)
            }
            (_, Some(failure)) => Err(failure),
            (report, None) => report.unwrap_or(Err(Failure::Panic)),
        }
    }

    /// The disk over the job's files.
    fn file_disk(&self) -> Result<FileDisk, Failure> {
        let renewal = match self.workload.layout {
            Layout::Overwrite | Layout::PreallocatedOnce | Layout::Empty => Renewal::Unneeded,
            Layout::Append => Renewal::Empty,
            Layout::Preallocated => Renewal::Reserve(self.part.start + self.part.bytes),
        };
        Ok(FileDisk::new(self.open()?, self.write_flags(), renewal))
    }

    /// Reads and writes data.
    fn transferring<D: Backed<Storage: Storage>>(
        &self,
        mut disk: D,
        stage: Stage<'_>,
        writing: Option<Writing>,
    ) -> Result<Report, Failure> {
        let Some(verification) = &self.workload.verify else {
            return D::Storage::carry(self, &mut disk, stage);
        };
        let mut disk = self.verified(disk, verification)?;
        let report = D::Storage::carry(self, &mut disk, stage)?;
        Ok(self.read_back(disk, verification, report, writing))
    }

    /// Reads and writes data in zones.
    fn transferring_in_zones(
        &self,
        zones: &Arc<Zones>,
        disk: FileDisk,
        stage: Stage<'_>,
        writing: Option<Writing>,
    ) -> Result<Report, Failure> {
        let Some(verification) = &self.workload.verify else {
            return Ok(self.zoned(zones, ZoneStorage::Files(disk), stage)?.0);
        };
        let disk = Box::new(self.verified(disk, verification)?);
        let (report, storage) = self.zoned(zones, ZoneStorage::Verified(disk), stage)?;
        let ZoneStorage::Verified(disk) = storage else { return Ok(report) };
        Ok(self.read_back(*disk, verification, report, writing))
    }

    fn verified<D: Backed>(
        &self,
        disk: D,
        verification: &Verification,
    ) -> Result<Verified<D>, Failure> {
        let region = self.operations(Phase::Measurement).region();
        let earlier = self.target.written_to(&self.files[0].name);
        Verified::new(disk, verification, region, earlier)
            .map_err(|_| Failure::of("allocating memory", Errno::NOMEM))
    }

    /// Checks what the stage wrote, and keeps the record for a later test.
    fn read_back<D: Backed>(
        &self,
        mut disk: Verified<D>,
        verification: &Verification,
        mut report: Report,
        writing: Option<Writing>,
    ) -> Report {
        drop(writing);
        if let Some(writers) = self.writers.as_ref().filter(|_| report.end.writes > 0) {
            writers.wait(self.stop);
        }
        if report.end.failure.is_none() {
            let end = &mut report.end;
            let on_mismatch =
                &mut |failure| end.forgive(self.workload, failure).map(|_forgiven| ());
            match disk.conclude(self.stop, on_mismatch) {
                Ok(note) => report.notes.push(note),
                Err(failure) => report.end.failure = Some(failure),
            }
        }
        if verification.time == CheckTime::InLaterTest && self.workload.kept_file.is_some() {
            self.target.keep_written(&self.files[0].name, disk.into_written());
        }
        report
    }

    /// Runs the stage on zones.
    fn zoned(
        &self,
        zones: &Arc<Zones>,
        storage: ZoneStorage,
        stage: Stage<'_>,
    ) -> Result<(Report, ZoneStorage), Failure> {
        let zoning = self.workload.zoning.unwrap_or_default();
        let job = ZoneJob::new(self.workload, &zoning, self.part, &mut zones.table());
        let mut disk = ZonedDisk::new(storage, Arc::clone(zones), job);
        let mut report = if self.workload.pattern.transfers() {
            self.on_files(&mut disk, stage)?
        } else {
            self.blocking(&mut disk, stage)?
        };
        let ZonedEnd { storage, resets, note } = disk.end();
        report.end.zone_resets = resets;
        report.notes.extend(note.map(str::to_owned));
        Ok((report, storage))
    }

    /// The flags of each write.
    fn write_flags(&self) -> ReadWriteFlags {
        let mut flags = ReadWriteFlags::empty();
        flags.set(ReadWriteFlags::DSYNC, self.workload.sync == SyncMethod::RwfDsync);
        // Not in rustix 1.1.
        let atomic = ReadWriteFlags::from_bits_retain(libc::RWF_ATOMIC as u32);
        if self.workload.atomic { flags | atomic } else { flags }
    }

    /// Runs the stage on the job's files.
    fn on_files<D: Backed<Storage = OpenFiles>>(
        &self,
        disk: &mut D,
        stage: Stage<'_>,
    ) -> Result<Report, Failure> {
        let (depth, write_flags) = (self.workload.depth_effective(), self.write_flags());
        match self.carrier {
            Carrier::Psync
            | Carrier::Processor
            | Carrier::Nbd
            | Carrier::Librbd
            | Carrier::Librados
            | Carrier::Null => self.blocking(disk, stage),
            Carrier::IoUring => {
                let buffers = self.buffers(depth as usize)?;
                let linked = self.workload.sync.linked_call();
                let queued = self.workload.queued_sync();
                let uring = Uring::new(
                    UringSetup { files: disk.storage(), depth, write_flags, linked, queued },
                    &buffers,
                )
                .map_err(|errno| setting_up("io_uring", errno))?;
                let mut notes = Vec::new();
                if !uring.has_registered_buffers() {
                    notes.push(
                        "the limit on locked memory (ulimit -l) prevented registered buffers; each \
                         I/O uses slightly more CPU time"
                            .to_owned(),
                    );
                }
                Ok(self.queued(uring, disk, buffers, notes, stage))
            }
            Carrier::Libaio => {
                let buffers = self.buffers(depth as usize)?;
                let libaio = Libaio::new(
                    disk.storage(),
                    depth,
                    write_flags,
                    self.workload.queued_sync(),
                    &buffers,
                )
                .map_err(|errno| setting_up("libaio", errno))?;
                Ok(self.queued(libaio, disk, buffers, Vec::new(), stage))
            }
        }
    }

    fn buffers(&self, slots: usize) -> Result<Buffers, Failure> {
        let mut draws = generator(self.workload.seed, self.job);
        let block_bytes = self.workload.largest_bytes() as usize;
        let no_memory = |_| Failure::of("allocating memory", Errno::NOMEM);
        if !self.workload.pattern.transfers() {
            return Buffers::unused(slots, block_bytes).map_err(no_memory);
        }
        let content = self.workload.content;
        let buffers = Buffers::new(slots, block_bytes, content, &mut draws).map_err(no_memory)?;
        if let Some(verification) = &self.workload.verify {
            return Ok(buffers.with_seal(Sealer::new(verification)));
        }
        let Some(dedupe) = self.workload.dedupe else { return Ok(buffers) };
        let blocks = self.part.total_bytes() / u64::from(self.workload.block_bytes.get());
        let contents = BlockContents::new(dedupe, self.job, blocks, draws);
        Ok(buffers.with_duplicates(contents))
    }

    /// The operations of a phase.
    fn operations(&self, phase: Phase) -> Operations<'_> {
        let operations = Operations::new(self.workload, self.part, self.job);
        match phase {
            Phase::WarmUp => operations.warm_up(),
            Phase::Measurement => operations,
        }
    }

    fn blocking<D: BlockDisk>(&self, disk: &mut D, stage: Stage<'_>) -> Result<Report, Failure> {
        let slots = if self.workload.content == Content::Zero { 1 } else { POOL_SLOTS };
        let mut buffers = self.buffers(slots)?;
        let mut flow = self.flow();
        let report = stage.act(Vec::new(), |phase, bounds, tally, stop| {
            let (operations, clock) = (self.operations(phase), self.clock);
            if let Err(failure) = start_over(disk, &operations) {
                return JobEnd { failure: Some(failure), ..JobEnd::new() };
            }
            let (disk_now, buffers) = (&mut *disk, &mut buffers);
            let flow = flow.as_mut();
            let job =
                Blocking { disk: disk_now, clock, operations, bounds, buffers, tally, stop, flow };
            let end = if D::PLACES { operations.run_any(job) } else { operations.run(job) };
            self.ended(phase, end, disk, tally)
        });
        drop(flow);
        Ok(report)
    }

    /// The job's share of its flow, until the measurement ends.
    fn flow(&self) -> Option<FlowShare> {
        self.workload
            .flow
            .zip(self.flow.clone())
            .map(|(flow, counters)| FlowShare::new(flow, counters))
    }

    fn queued<Q: Queue, D: BlockDisk>(
        &self,
        mut queue: Q,
        disk: &mut D,
        mut buffers: Buffers,
        notes: Vec<String>,
        stage: Stage<'_>,
    ) -> Report {
        let depth = self.workload.depth_effective();
        let mut batching = Batching::new(depth, self.clock);
        let mut flow = self.flow();
        let mut search = self
            .workload
            .latency_target
            .map(|target| DepthSearch::new(target, depth, self.clock.ticks_of(target.window())));
        let mut report = stage.act(notes, |phase, bounds, tally, stop| {
            let operations = self.operations(phase);
            if let Err(failure) = start_over(disk, &operations) {
                return JobEnd { failure: Some(failure), ..JobEnd::new() };
            }
            let (queue, buffers, batching) = (&mut queue, &mut buffers, &mut batching);
            let mut priorities =
                operations.priorities().map(|draws| Prioritised::new(draws, depth));
            let end = Queued {
                queue,
                disk: &mut *disk,
                depth,
                clock: self.clock,
                operations,
                bounds,
                batching,
                buffers,
                tally,
                stop,
                flow: flow.as_mut(),
                priorities: priorities.as_mut(),
                search: search.as_mut(),
            }
            .run();
            let priorities = priorities.map_or(Vec::new(), Prioritised::latencies);
            let end = JobEnd { priorities, ..end };
            self.ended(phase, end, disk, tally)
        });
        report.notes.extend(search.map(|search| search.outcome()));
        let is_stuck = queue.is_stuck();
        // Before the buffers, whose memory can be registered with the kernel.
        drop(queue);
        if is_stuck {
            std::mem::forget(buffers);
        }
        drop(flow);
        report
    }
}

impl BlockJob<'_> {
    /// Ends the measurement with a sync of each file, if requested.
    fn ended(&self, phase: Phase, mut end: JobEnd, disk: &mut impl Disk, tally: &Tally) -> JobEnd {
        if !self.workload.end_fsync || phase != Phase::Measurement {
            return end;
        }
        for file in self.operations(phase).files() {
            if end.failure.is_some() {
                break;
            }
            let begun = self.clock.ticks();
            match disk.sync(SyncCall::Fsync, file) {
                Ok(()) => {
                    tally.sync.record(self.clock.ns(self.clock.ticks().saturating_sub(begun)));
                    end.syncs += 1;
                }
                Err(errno) => {
                    end.failure = Some(Failure::of("fsync", errno));
                }
            }
        }
        end
    }
}

/// Storage of jobs that read and write data.
trait Storage {
    /// Runs the stage on a disk over this storage.
    fn carry<D: Backed<Storage = Self>>(
        job: &BlockJob<'_>,
        disk: &mut D,
        stage: Stage<'_>,
    ) -> Result<Report, Failure>;
}

impl Storage for OpenFiles {
    fn carry<D: Backed<Storage = OpenFiles>>(
        job: &BlockJob<'_>,
        disk: &mut D,
        stage: Stage<'_>,
    ) -> Result<Report, Failure> {
        job.on_files(disk, stage)
    }
}

impl Storage for ExportDisk {
    fn carry<D: Backed<Storage = ExportDisk>>(
        job: &BlockJob<'_>,
        disk: &mut D,
        stage: Stage<'_>,
    ) -> Result<Report, Failure> {
        let depth = job.workload.depth_effective();
        if depth == 1 {
            return job.blocking(disk, stage);
        }
        let buffers = job.buffers(depth as usize)?;
        let queue = ExportQueue::new(disk.storage().clone(), &buffers);
        Ok(job.queued(queue, disk, buffers, Vec::new(), stage))
    }
}

impl Storage for CephDisk<'_> {
    fn carry<D: Backed<Storage = Self>>(
        job: &BlockJob<'_>,
        disk: &mut D,
        stage: Stage<'_>,
    ) -> Result<Report, Failure> {
        let depth = job.workload.depth_effective();
        if depth == 1 {
            return job.blocking(disk, stage);
        }
        let buffers = job.buffers(depth as usize)?;
        let queue = CephQueue::new(*disk.storage(), &buffers);
        Ok(job.queued(queue, disk, buffers, Vec::new(), stage))
    }
}

/// Resets the layout, so each phase starts with one that is not used up.
fn start_over(disk: &mut impl Disk, operations: &Operations<'_>) -> Result<(), Failure> {
    if operations.renew_every().is_none() {
        return Ok(());
    }
    disk.renew().map_err(|errno| Failure::of("emptying the file", errno))
}

fn setting_up(interface: &'static str, errno: Errno) -> Failure {
    Failure::Interface { interface, errno }
}
