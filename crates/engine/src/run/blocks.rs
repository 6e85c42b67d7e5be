//! Tests of block patterns.

use std::sync::Arc;

use drive::AtomicWrites;
use measurement::{TargetKind, WorkloadRecord};
use rustix::fs::OFlags;
use workload::{
    Area, BlockOrder, CheckTime, Commits, Donor, DonorSpace, JobPart, Layout, Operation, Parts,
    Room, SpaceCall, Test, Workload, format_bytes,
};

use super::{Described, NotRun, Planned, Ready, Run};
use crate::block_job::BlockJob;
use crate::carrier::{Carrier, choose};
use crate::clock::Clock;
use crate::crew::{Stage, Team};
use crate::error::EngineError;
use crate::export::ExportTarget;
use crate::flow::{FlowCounters, Flows};
use crate::limits;
use crate::part::{Part, PartSpec, donor_name};
use crate::placement::Placement;
use crate::prepare::open_part;
use crate::target::Opened;
use crate::uring::Uring;
use crate::writers::Writers;

impl Run<'_> {
    /// Prepares a test whose separate files are numbered from `first_file` on.
    pub(super) fn blocks<'a>(
        &'a self,
        test: &'a Test,
        record: WorkloadRecord,
        workload: &'a Workload,
        first_file: usize,
        flows: &Flows,
        writers: &Arc<Writers>,
    ) -> Result<Planned<'a>, NotRun> {
        let kind = self.target.kind();
        self.check_operation(workload)?;
        self.check_zoning(workload)?;
        self.check_layout(workload)?;
        let (carrier, note) = match self.target.opened() {
            _ if workload.pattern.computes() => (Carrier::Processor, None),
            Opened::Null => (Carrier::Null, None),
            Opened::Export(export) => {
                export.check(workload).map_err(NotRun::Skip)?;
                (Carrier::Nbd, ExportTarget::note(workload))
            }
            Opened::Ceph(ceph) => {
                ceph.check(workload).map_err(NotRun::Skip)?;
                let carrier = match kind {
                    TargetKind::Image => Carrier::Librbd,
                    _ => Carrier::Librados,
                };
                (carrier, ceph.note(workload))
            }
            _ => choose(workload, self.options.engine, Uring::probe)?,
        };
        let place = self.place(workload, first_file)?;
        if carrier == Carrier::Null {
            check_null(workload, place.room)?;
        }
        let half = workload.fills && kind == TargetKind::Directory && !place.unbudgeted;
        let note = note.or_else(|| {
            half.then(|| {
                "fill_device used at most half of the free space; --destroy-data allows all of it"
                    .to_owned()
            })
        });
        let durable = self.target.writes_are_durable(workload.direct) && workload.pattern.writes();
        let writes_are_commits = match workload.commits() {
            Commits::EachWrite => true,
            Commits::EachSync => false,
            Commits::None => durable && workload.pattern.transfers(),
        };
        let by_cluster = writes_are_commits && !workload.sync.is_durable();
        let note = note.or_else(|| {
            by_cluster.then(|| {
                "the device is a Ceph image, where each write is durable when it is acknowledged"
                    .to_owned()
            })
        });
        let flow = workload.flow.and_then(|flow| flows.get(&flow.id).cloned());
        let placement =
            Placement::on_host(&workload.processors, &self.options.root).map_err(NotRun::Skip)?;
        let writers = (workload.verify.filter(|verify| verify.shared)).map(|_| Arc::clone(writers));
        let threads = Threads { flow, writers, placement };
        let described = Described { test, record, carrier, note, writes_are_commits };
        if workload.pattern.visits_entries() && kind == TargetKind::Directory {
            let ready = move |_: &[&Part]| self.entries(workload, first_file, threads, described);
            return Ok(Planned { specs: Vec::new(), ready: Box::new(ready) });
        }
        if workload.pattern.computes() {
            let ready = move |_: &[&Part]| Ok(self.computing_ready(workload, threads, described));
            return Ok(Planned { specs: Vec::new(), ready: Box::new(ready) });
        }
        let parts = workload.parts(place.is_new, place.room);
        let specs = part_specs(workload, &place, &parts);
        Ok(Planned {
            specs,
            ready: Box::new(move |files| {
                self.blocks_ready(workload, &parts, threads, described, files)
            }),
        })
    }

    /// Checks that the target can have the files that the workload requires.
    fn check_layout(&self, workload: &Workload) -> Result<(), NotRun> {
        match self.target.kind() {
            TargetKind::Directory if workload.existing_only => Err(NotRun::Skip(
                "it must not create a file (allow_file_create=0), but its target is a directory; \
                 use an existing file or a device"
                    .to_owned(),
            )),
            TargetKind::Directory | TargetKind::Null => Ok(()),
            _ if workload.layout.starts_over() => Err(NotRun::Skip(format!(
                "layout {} requires a directory as the target",
                workload.layout.name()
            ))),
            _ => Ok(()),
        }
    }

    /// Checks that the target has what the operations act on.
    fn check_operation(&self, workload: &Workload) -> Result<(), NotRun> {
        let kind = self.target.kind();
        let because = match workload.pattern.operation() {
            Operation::Space(SpaceCall::Exchange)
                if kind != TargetKind::Null && !self.target.is_directory_on_ext4() =>
            {
                "it exchanges blocks of files (EXT4_IOC_MOVE_EXT), which requires a directory on \
                 ext4 as the target"
            }
            _ if matches!(kind, TargetKind::Directory | TargetKind::Null) => return Ok(()),
            Operation::Transfer | Operation::Compute | Operation::Space(SpaceCall::Discard) => {
                return Ok(());
            }
            Operation::Space(SpaceCall::Allocate | SpaceCall::Reserve) => match kind {
                TargetKind::File => return Ok(()),
                _ => {
                    "it reserves space (fallocate), which a device does not support; use a \
                      directory"
                }
            },
            Operation::Space(SpaceCall::Exchange) => return Ok(()),
            Operation::Space(SpaceCall::Truncate) => {
                "it truncates a file, so its target must be a directory, where it creates one"
            }
            Operation::Entry(..) => {
                "it creates, looks up or removes files or directories, which requires a directory \
                 as the target"
            }
        };
        Err(NotRun::Skip(because.to_owned()))
    }

    /// Decides which file a workload uses, and how much of it.
    fn place(&self, workload: &Workload, first_file: usize) -> Result<FilePlace, NotRun> {
        let kind = self.target.kind();
        // A device that contains data is neither empty nor reserved.
        let is_new = matches!(kind, TargetKind::Directory | TargetKind::Null);
        let (layout, first_file) =
            if is_new { (workload.layout, first_file) } else { (Layout::Overwrite, 0) };
        let expects_full = layout == Layout::Empty && workload.expects_full_disk();
        let to_fill = self.target.room_to_fill().filter(|_| expects_full);
        let (room, unbudgeted) = (to_fill.unwrap_or(self.target.room()), to_fill.is_some());
        let place = FilePlace { is_new, layout, first_file, room, unbudgeted, checked: false };
        match workload.verify.map(|verification| verification.time) {
            Some(CheckTime::InLaterTest) => {
                if let Some(number) = workload.kept_file {
                    self.target.forget_written(&kept_name(number));
                }
                Ok(place)
            }
            Some(CheckTime::OnRead) => {
                let name = workload.kept_file.map(kept_name).unwrap_or_default();
                if self.target.written_to(&name).is_empty() {
                    return Err(NotRun::Skip(
                        "it checks what an earlier section wrote, but that section did not run"
                            .to_owned(),
                    ));
                }
                let room = self.target.file_bytes(&name).map_or(place.room, Room::Whole);
                let layout = Layout::Overwrite;
                Ok(FilePlace {
                    checked: true,
                    unbudgeted: true,
                    is_new: false,
                    layout,
                    room,
                    ..place
                })
            }
            _ => Ok(place),
        }
    }

    /// Checks that each block can be written atomically.
    fn expect_atomic(&self, workload: &Workload, files: &[Part]) -> Result<(), NotRun> {
        let block_bytes = workload.block_bytes.get();
        let refused = |because: &str| {
            Err(NotRun::Skip(format!(
                "atomic: {} cannot write {} atomically: {because}",
                self.target.given(),
                format_bytes(block_bytes.into())
            )))
        };
        for part in files {
            if !part.direct {
                return refused("atomic writes require direct I/O");
            }
            let (file, _) = open_part(self.target, &part.name, true, OFlags::empty())
                .map_err(|errno| EngineError::opening(self.target.path(), errno))?;
            match AtomicWrites::of(&file) {
                Some(atomic) if atomic.allow(block_bytes) => {}
                Some(AtomicWrites { bytes_min, bytes_max }) => {
                    return refused(&format!(
                        "the kernel reports powers of two from {} to {}",
                        format_bytes(bytes_min.into()),
                        format_bytes(bytes_max.into())
                    ));
                }
                None => {
                    return refused(
                        "the kernel reports no support (statx STATX_WRITE_ATOMIC); it requires a \
                         drive with atomic writes, and Linux 6.11 for the device itself, 6.13 for \
                         ext4 or XFS",
                    );
                }
            }
        }
        Ok(())
    }

    /// A workload that computes uses no files.
    fn computing_ready<'a>(
        &'a self,
        workload: &'a Workload,
        threads: Threads,
        mut described: Described<'a>,
    ) -> Ready<'a> {
        described.record.submission = described.carrier.submission();
        described.record.size_bytes = 0;
        let (carrier, clock) = (described.carrier, Clock::calibrated());
        let work = Box::new(move |job: u32, stage: Stage<'_>| {
            BlockJob {
                target: self.target,
                workload,
                carrier,
                files: &[],
                part: JobPart::within_one_file(0, workload.unit_bytes()),
                zones: None,
                flow: None,
                writers: None,
                placement: &threads.placement,
                clock,
                job,
                stop: self.stop,
            }
            .run(stage)
        });
        Ready { team: team(workload, workload.unit_bytes(), 1), work, described }
    }

    /// `parts` is what the workload requested, `files` what was prepared.
    fn blocks_ready<'a>(
        &'a self,
        workload: &'a Workload,
        parts: &Parts,
        threads: Threads,
        mut described: Described<'a>,
        files: &[&Part],
    ) -> Result<Ready<'a>, NotRun> {
        let sizes: Vec<u64> = files
            .iter()
            .zip(&parts.files)
            .map(|(file, asked)| file.size_bytes.min(*asked))
            .collect();
        let Some(mut placed) = workload.parts_within(parts, &sizes) else {
            let path = self.target.path().to_owned();
            let (size_bytes, needed_bytes) = (sizes.iter().sum(), parts.files.iter().sum());
            return Err(EngineError::TooSmall { path, size_bytes, needed_bytes }.into());
        };
        let is_direct = workload.direct || self.target.beyond_the_kernel().is_some();
        let of_test = |&file: &&Part| Part { direct: file.direct && is_direct, ..file.clone() };
        let files: Vec<Part> = files.iter().map(of_test).collect();
        for file in files.iter().filter(|file| file.direct) {
            self.expect_aligned(file, workload.offset_bytes)?;
            self.expect_aligned(file, workload.offset_increment_bytes)?;
        }
        if let Some(file) =
            files.iter().find(|file| file.direct && !workload.is_aligned_to(file.alignment_bytes))
        {
            return Err(NotRun::Skip(
                self.misaligned(u64::from(workload.block_bytes.get()), file.alignment_bytes),
            ));
        }
        if workload.atomic {
            self.expect_atomic(workload, &files)?;
        }
        let zones = match &workload.zoning {
            Some(zoning) => self.zones(workload, zoning, &mut placed, &files)?,
            None => Vec::new(),
        };
        expect_memory(workload, &placed)?;
        let Described { record, carrier, .. } = &mut described;
        if let (Some(zoning), Some(zones)) = (&mut record.zoning, zones.first()) {
            zoning.zone_bytes = Some(zones.table().zone_bytes());
            zoning.max_open = zones.limit;
        }
        record.direct = is_direct && files.iter().all(|file| file.direct);
        record.submission = carrier.submission();
        record.size_bytes = placed.span_bytes();
        record.job_files = record.job_files.filter(|_| placed.files_per_job() > 1);
        let part_bytes = placed.jobs.iter().map(JobPart::total_bytes).max().unwrap_or(0);
        let team = team(workload, part_bytes, placed.files_per_job());
        let (carrier, clock) = (*carrier, Clock::calibrated());
        let work = Box::new(move |job: u32, stage: Stage<'_>| {
            let part = placed.jobs[job as usize];
            let files = &files[part.file..][..part.files as usize];
            let zones = zones.get(part.file).cloned();
            BlockJob {
                target: self.target,
                workload,
                carrier,
                files,
                part,
                zones,
                flow: threads.flow.clone(),
                writers: threads.writers.clone(),
                placement: &threads.placement,
                clock,
                job,
                stop: self.stop,
            }
            .run(stage)
        });
        Ok(Ready { team, work, described })
    }
}

/// Checks that the block numbers that the order keeps fit in half of the available memory.
fn expect_memory(workload: &Workload, parts: &Parts) -> Result<(), NotRun> {
    let BlockOrder::SteadyFill(fill) = &workload.order else { return Ok(()) };
    let blocks = parts.span_bytes() / workload.unit_bytes();
    let needed_bytes = fill.memory_bytes(blocks);
    match limits::available_bytes() {
        Some(available) if needed_bytes > available / 2 => Err(NotRun::Skip(format!(
            "it would keep {} of block numbers in memory, but {} are available; use more regions \
             (spr_num_regions)",
            format_bytes(needed_bytes),
            format_bytes(available / 2)
        ))),
        _ => Ok(()),
    }
}

/// The team of a workload whose jobs have parts of at most `part_bytes`.
pub(super) fn team(workload: &Workload, part_bytes: u64, files_per_job: u32) -> Team {
    Team {
        jobs: workload.jobs.get(),
        limit: workload.measured_limit(part_bytes),
        warm_up: workload.preliminary_time(),
        start_delay: workload.start_delay,
        ends: workload.ends,
        group: workload.group,
        compute: workload.pattern.computes().then_some(workload.compute),
        until_steady: workload.until_steady,
        headline: workload.commits_in(files_per_job).into(),
    }
}

/// The state that the threads of a workload's jobs share.
pub(super) struct Threads {
    pub flow: Option<Arc<FlowCounters>>,
    /// All jobs that write the same blocks, if these are checked.
    pub writers: Option<Arc<Writers>>,
    pub placement: Placement,
}

/// The file that a workload uses.
#[derive(Debug, Clone, Copy)]
struct FilePlace {
    /// A test file, not a device or an existing file.
    is_new: bool,
    layout: Layout,
    first_file: usize,
    room: Room,
    /// It takes nothing from the space that test files may use.
    unbudgeted: bool,
    /// It contains what an earlier test wrote, which this one checks.
    checked: bool,
}

/// Checks that a workload makes sense without storage.
fn check_null(workload: &Workload, room: Room) -> Result<(), NotRun> {
    let because = if workload.verify.is_some() {
        "it reads back what it wrote, but null: does not store data".to_owned()
    } else if workload.sync.linked_call().is_some() && workload.depth_effective() > 1 {
        "it links a sync to each write, which only io_uring can do".to_owned()
    } else if let (Area::Percent(percent), Room::Unlimited) = (workload.size, room) {
        format!("it uses {percent}% of its target, but null: has no size")
    } else {
        return Ok(());
    };
    Err(NotRun::Skip(because))
}

/// The files of a workload.
fn part_specs(workload: &Workload, place: &FilePlace, parts: &Parts) -> Vec<PartSpec> {
    let layout = place.layout;
    let spec = |(file, &size_bytes): (usize, &u64)| PartSpec {
        name: match workload.kept_file {
            Some(number) => kept_name(number),
            None => format!("{}-{}", layout.name(), place.first_file + file),
        },
        // A file that is only checked is never extended.
        size_bytes: match place.room {
            Room::Whole(bytes) if place.checked => size_bytes.min(bytes),
            _ => size_bytes,
        },
        unit_bytes: workload.unit_bytes(),
        layout,
        direct: workload.direct,
        invalidate: workload.invalidate,
        precondition: workload.precondition.then_some(workload.offset_bytes),
        content: workload.content,
        single_use: workload.kept_file.is_none()
            && (layout.needs_new_file() || !workload.pattern.transfers()),
        sparse: layout == Layout::Empty && workload.pattern.reads(),
        unbudgeted: place.unbudgeted,
    };
    let donor = workload.donor.map(|donor| donor_spec(donor, workload, parts));
    parts.files.iter().enumerate().map(spec).chain(donor).collect()
}

/// The file with which a workload exchanges blocks. It is as long as the longest file of a job.
fn donor_spec(donor: Donor, workload: &Workload, parts: &Parts) -> PartSpec {
    let in_place = donor.space == DonorSpace::InPlace;
    PartSpec {
        name: donor_name(donor.number),
        size_bytes: parts.files.iter().copied().max().unwrap_or(0),
        unit_bytes: workload.unit_bytes(),
        layout: if in_place { Layout::Empty } else { Layout::PreallocatedOnce },
        direct: false,
        invalidate: false,
        precondition: None,
        content: workload.content,
        single_use: true,
        sparse: false,
        unbudgeted: in_place,
    }
}

/// The name of a file that stays for later tests.
fn kept_name(number: usize) -> String {
    format!("kept-{number}")
}
