//! Tests of patterns of blocks: most often one, or several at the same time on the same target.

use std::collections::BTreeMap;

use measurement::{Headline, Progress, TargetKind, TestResult, WorkloadRecord};
use workload::{Area, JobPart, Layout, Parts, Room, Sharing, Test, Workload};

use super::{Described, NotRun, Run};
use crate::block_job::BlockJob;
use crate::carrier::{Carrier, choose};
use crate::clock::Clock;
use crate::crew::Team;
use crate::error::EngineError;
use crate::limits;
use crate::prepare::{Part, PartSpec, Prepared};
use crate::uring::Uring;

/// A test before its files are prepared.
struct Asked<'a> {
    test: &'a Test,
    workload: &'a Workload,
    carrier: Carrier,
    note: Option<String>,
    parts: Parts,
    specs: Vec<PartSpec>,
}

/// A test that is ready to run.
struct Ready<'a> {
    workload: &'a Workload,
    parts: Vec<Part>,
    team: Team,
    described: Described<'a>,
}

impl Run<'_> {
    /// Runs tests at the same time.
    pub(super) fn blocks<'a>(
        &self,
        tests: &[(&'a Test, &'a Workload)],
        observe: &mut dyn FnMut(&Progress),
    ) -> Result<Vec<TestResult>, NotRun> {
        let workloads: Vec<&Workload> = tests.iter().map(|(_, workload)| *workload).collect();
        limits::open_files(workloads.iter().map(|workload| workload.jobs.get()).sum(), 3)?;
        limits::memory(&workloads)?;
        let mut asked = Vec::new();
        // A file that several jobs share has the first number.
        let mut files = usize::from(workloads.len() > 1);
        for &(test, workload) in tests {
            let one = self.asked(test, workload, if workload.sharing == Sharing::All { 0 } else { files })?;
            files += one.specs.len();
            asked.push(one);
        }
        let specs = united(asked.iter().flat_map(|one| &one.specs));
        let Prepared { parts, notes } = self.prepare(&specs, workloads.first().map_or(0, |workload| workload.seed))?;
        let files: BTreeMap<&str, &Part> = parts.iter().map(|part| (part.name.as_str(), part)).collect();
        let ready = |one: Asked<'a>| {
            let record = WorkloadRecord::among(one.test, tests);
            self.ready(one, record, &files, &notes)
        };
        let ready: Vec<Ready<'_>> = asked.into_iter().map(ready).collect::<Result<_, _>>()?;
        self.rest(workloads.iter().map(|workload| workload.rest).max().unwrap_or_default())?;

        let clock = Clock::calibrated();
        let crew = self.crew(ready.iter().map(|one| one.team).collect(), clock);
        let finished = crew.measure(observe, &|team, job, stage| {
            let Ready { workload, parts, described, .. } = &ready[team];
            let (carrier, part) = (described.carrier, &parts[job as usize]);
            BlockJob { target: self.target, workload, carrier, part, clock, job, stop: self.stop }.run(stage)
        })?;
        self.forget(&specs);
        Ok(self.results(ready.into_iter().map(|one| one.described).collect(), finished))
    }

    /// What a test asks of its target; its own files are numbered from `first_file` on.
    fn asked<'a>(&self, test: &'a Test, workload: &'a Workload, first_file: usize) -> Result<Asked<'a>, NotRun> {
        let kind = self.target.kind();
        if workload.layout.starts_over() && !matches!(kind, TargetKind::Directory | TargetKind::Null) {
            let layout = workload.layout.name();
            return Err(NotRun::Skip(format!("a layout of {layout} needs a directory as its target")));
        }
        let (carrier, note) = match kind {
            TargetKind::Null => (Carrier::Null, None),
            _ => choose(workload, self.options.engine, Uring::probe)?,
        };
        if workload.verify && carrier == Carrier::Null {
            return Err(NotRun::Skip("it reads back what it wrote, and null: keeps nothing".to_owned()));
        }
        let room = self.target.room();
        if let (Area::Percent(percent), Room::Unlimited) = (workload.size, room) {
            return Err(NotRun::Skip(format!("it works on {percent}% of its target, and null: has no size")));
        }
        // A device that holds data already is neither empty nor reserved.
        let is_new = matches!(kind, TargetKind::Directory | TargetKind::Null);
        let (layout, first_file) = if is_new { (workload.layout, first_file) } else { (Layout::Overwrite, 0) };
        let parts = workload.parts(is_new, room);
        let spec = |(file, &size_bytes): (usize, &u64)| PartSpec {
            name: format!("{}-{}", layout.name(), first_file + file),
            size_bytes,
            unit_bytes: workload.unit_bytes(),
            layout,
            direct: workload.direct,
            invalidate: workload.invalidate,
            precondition: workload.precondition.then_some(workload.offset_bytes),
            content: workload.content,
        };
        let specs = parts.files.iter().enumerate().map(spec).collect();
        Ok(Asked { test, workload, carrier, note, parts, specs })
    }

    /// A test whose `files` are there.
    fn ready<'a>(
        &self,
        asked: Asked<'a>,
        mut record: WorkloadRecord,
        files: &BTreeMap<&str, &Part>,
        notes: &[String],
    ) -> Result<Ready<'a>, NotRun> {
        let Asked { test, workload, carrier, note, parts, specs } = asked;
        let own: Vec<&Part> = specs.iter().filter_map(|spec| files.get(spec.name.as_str()).copied()).collect();
        let sizes: Vec<u64> = own.iter().zip(&specs).map(|(file, spec)| file.size_bytes.min(spec.size_bytes)).collect();
        let Some(placed) = workload.parts_within(&parts, &sizes) else {
            let path = self.target.path().to_owned();
            let (size_bytes, needed_bytes) = (sizes.iter().sum(), parts.files.iter().sum());
            return Err(EngineError::TooSmall { path, size_bytes, needed_bytes }.into());
        };
        let of_job = |part: &JobPart| {
            let file = own[part.file];
            Part { start: part.start, size_bytes: part.bytes, direct: file.direct && workload.direct, ..file.clone() }
        };
        let parts: Vec<Part> = placed.jobs.iter().map(of_job).collect();
        if let Some(part) = parts.iter().find(|part| part.direct && !workload.is_aligned_to(part.alignment_bytes)) {
            return Err(NotRun::Skip(self.misaligned(u64::from(workload.block_bytes.get()), part.alignment_bytes)));
        }

        record.direct = workload.direct && parts.iter().all(|part| part.direct);
        record.submission = carrier.submission();
        record.size_bytes = placed.span_bytes();
        let syncs_apart = workload.sync.call().or(workload.sync.linked_call()).is_some();
        let commits = syncs_apart && workload.pattern.writes() && workload.syncs_commit();
        let team = Team {
            jobs: workload.jobs.get(),
            limit: workload.limit_on(parts.iter().map(|part| part.size_bytes).max().unwrap_or(0)),
            warm_up: workload.warm_up.0,
            headline: if commits { Headline::Commits } else { Headline::Operations },
        };
        let writes_are_commits = !syncs_apart && workload.sync.is_durable() && workload.pattern.writes();
        let notes = notes.iter().cloned().chain(note).collect();
        let described = Described { test, record, carrier, notes, writes_are_commits };
        Ok(Ready { workload, parts, team, described })
    }
}

/// Each file once, as large as the test that needs most of it.
fn united<'a>(specs: impl Iterator<Item = &'a PartSpec>) -> Vec<PartSpec> {
    let mut united: Vec<PartSpec> = Vec::new();
    for spec in specs {
        match united.iter_mut().find(|known| known.name == spec.name) {
            None => united.push(spec.clone()),
            Some(known) => {
                known.size_bytes = known.size_bytes.max(spec.size_bytes);
                known.unit_bytes = known.unit_bytes.max(spec.unit_bytes);
                known.direct |= spec.direct;
                known.invalidate |= spec.invalidate;
                known.precondition = known.precondition.into_iter().chain(spec.precondition).min();
            }
        }
    }
    united
}
