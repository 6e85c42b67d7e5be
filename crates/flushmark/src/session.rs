//! One run: runs a plan on a target, test by test, and fills the result document.

use std::ops::RangeInclusive;

use judge::{Case, Judgement};
use measurement::{Ended, Outcome, RunDocument, Skipped, TargetRecord, TestResult};
use together::Runner;
use workload::{Plan, Test};

use crate::bench::{Bench, TargetOptions};
use crate::exit::{self, ExitStatus};
use crate::live::Live;
use crate::progress::{self, Progress};
use crate::signals::{self, STOP};
use crate::tracing::TestTracer;

/// An opened target and the document of its run.
pub struct Session {
    bench: Bench,
    tracer: Option<TestTracer>,
    document: RunDocument,
}

/// The outcome of a run.
pub struct Completed {
    pub document: RunDocument,
    /// The exit status that the program should have.
    pub verdict: ExitStatus,
    /// The error that kept the remaining tests from running, if any.
    pub error: Option<anyhow::Error>,
}

impl Completed {
    /// Returns the error that ended the run, or else its document and status. Prints on stderr why
    /// tests were not measured.
    pub fn end(self) -> anyhow::Result<(RunDocument, ExitStatus)> {
        if let Some(error) = self.error {
            return Err(error);
        }
        for sentence in self.complaints() {
            exit::complain(&sentence);
        }
        Ok((self.document, self.verdict))
    }

    fn complaints(&self) -> Vec<String> {
        let failed = self.document.results.iter().filter_map(|result| match &result.ended {
            Ended::Failed { error } => Some(format!("{}: {error}; the run ends here", result.test)),
            Ended::Limit | Ended::Interrupted => None,
        });
        match self.verdict {
            ExitStatus::NothingRan => Skipped::sentences(&self.document.skipped),
            ExitStatus::Interrupted(_) if self.document.results.is_empty() => {
                vec!["interrupted before anything was measured".to_owned()]
            }
            ExitStatus::Interrupted(_) => failed
                .chain(["interrupted; what was measured before is printed".to_owned()])
                .collect(),
            _ => failed.collect(),
        }
    }
}

impl Session {
    /// Opens the target for a plan, `with_traces` for a trace of each test that commits.
    pub fn open(
        plan: &Plan,
        given: &str,
        wanted: TargetOptions,
        smoke: bool,
        with_traces: bool,
    ) -> anyhow::Result<Session> {
        let bench = Bench::open(plan, given, wanted)?;
        let tracer =
            with_traces.then(|| TestTracer::of(given, bench.storage_place())).transpose()?;
        let document = RunDocument {
            smoke,
            host: bench.host(),
            drive: bench.place().cloned(),
            drives: bench.drives(),
            ..new_document(&plan.name, bench.record(), bench.began())
        };
        Ok(Session { bench, tracer, document })
    }

    /// Gives the run a name.
    pub fn labelled(mut self, label: Option<&str>) -> Session {
        self.document.label = label.map(str::to_owned);
        self
    }

    /// The document. Before the run it holds what is known without measuring.
    pub fn document(&self) -> &RunDocument {
        &self.document
    }

    /// Sizes of the smallest and the largest part of the target that the plan's tests use, in
    /// bytes.
    pub fn tested_bytes(&self, plan: &Plan) -> Option<RangeInclusive<u64>> {
        plan.tested_bytes(self.bench.room())
    }

    /// Notes for the user about how the target was opened.
    pub fn notes(&self) -> Vec<String> {
        self.bench.notes()
    }

    /// Runs the tests in order, with a `runner` each one together with others. Calls `done` after
    /// each, because a later one may fail.
    pub fn run(
        mut self,
        plan: &Plan,
        runner: Option<Runner>,
        progress: &mut Progress,
        mut live: Live,
        mut done: impl FnMut(&TestResult),
    ) -> Completed {
        let plan = &self.bench.adapted(plan);
        let mut error = None;
        let mut failed = false;
        let mut begun = 0;
        let mut measured: Vec<&Test> = Vec::new();
        for (number, group_tests) in plan.groups().enumerate() {
            if STOP.is_requested() || failed {
                break;
            }
            let group = begun..begun + group_tests.len();
            begun = group.end;
            let mut tests = Vec::new();
            for test in group_tests {
                match measured.iter().find(|earlier| prevents(earlier, test)) {
                    None => tests.push(test.clone()),
                    Some(earlier) => {
                        let (test, because) =
                            (test.name.clone(), format!("{} has ended the run", earlier.name));
                        let skipped = Outcome::Skipped(Skipped { test, because });
                        self.take(skipped, progress, &mut done);
                    }
                }
            }
            if tests.is_empty() {
                continue;
            }
            progress.begin(plan, group.clone());
            live.begin(plan, group);
            let mut observe = |seen: &measurement::Progress| {
                progress.live(seen);
                live.see(seen);
            };
            let start_line =
                runner.as_ref().map(|runner| runner.test(number, &progress::names(&tests)));
            let mut outcomes = match self.bench.run(&tests, start_line, &mut observe) {
                Ok(Some(outcomes)) => outcomes,
                Ok(None) => break,
                Err(cause) => {
                    error = Some(cause);
                    break;
                }
            };
            self.trace(&tests, &mut outcomes, progress);
            for outcome in outcomes {
                if let Outcome::Measured(result) = &outcome {
                    measured.extend(group_tests.iter().filter(|test| test.name == result.test));
                }
                failed |= self.take(outcome, progress, &mut done);
            }
        }
        self.document.group = runner.map(Runner::finish);
        progress.finish();
        drop(live);
        let found_on = self.bench.found_on();
        // The bench is closed before the results are printed, because their reader may be slow or
        // gone.
        if let Err(cause) = self.bench.close() {
            // Worse than whatever ended the run: the machine is not as it was.
            exit::complain(&format!("{cause}; run `flushmark cache restore` to try again"));
            error = error.or_else(|| Some(anyhow::anyhow!("a write cache was not restored")));
        }
        judge(&mut self.document, found_on);
        let verdict = match signals::received() {
            Some(signal) => ExitStatus::Interrupted(signal),
            None if failed => ExitStatus::Failed,
            None if self.document.results.is_empty() && error.is_none() => ExitStatus::NothingRan,
            None => ExitStatus::Done,
        };
        Completed { document: self.document, verdict, error }
    }
}

impl Session {
    /// Repeats tests that commit under the tracer, if traces are wanted. A trace cannot separate
    /// tests that ran together, so the first of them has it.
    fn trace(&mut self, tests: &[Test], outcomes: &mut [Outcome], progress: &Progress) {
        let Some(tracer) = &self.tracer else { return };
        let measured = outcomes.iter_mut().filter_map(|outcome| match outcome {
            Outcome::Measured(result) if matches!(result.ended, Ended::Limit) => Some(result),
            _ => None,
        });
        let mut committing = measured.filter(|result| result.commits_per_s.is_some());
        let Some(result) = committing.next() else { return };
        if STOP.is_requested() {
            return;
        }
        progress.tracing();
        let bench = &mut self.bench;
        let tests = TestTracer::shortened(tests);
        match tracer.trace(|observe| bench.run(&tests, None, observe).map(drop)) {
            Ok(Some(trace)) => {
                if committing.next().is_some() {
                    result.notes.push(TRACED_TOGETHER.to_owned());
                }
                result.trace = Some(trace);
            }
            Ok(None) => result.notes.push(NOT_SEEN.to_owned()),
            Err(error) => result.notes.push(format!("not traced: {error:#}")),
        }
    }

    /// Adds a test's outcome to the document. Returns `true` if the test failed.
    fn take(
        &mut self,
        outcome: Outcome,
        progress: &Progress,
        done: &mut impl FnMut(&TestResult),
    ) -> bool {
        match outcome {
            Outcome::Measured(result) => {
                let failed = matches!(result.ended, Ended::Failed { .. });
                progress.measured(&result);
                done(&result);
                self.document.results.push(*result);
                failed
            }
            Outcome::Skipped(skipped) => {
                progress.skipped(&skipped);
                self.document.skipped.push(skipped);
                false
            }
        }
    }
}

const NOT_SEEN: &str = "the tracer saw no commit of this test";
const TRACED_TOGETHER: &str = "the trace is of all the tests that ran at the same time";

/// A document without results, and without facts about this machine.
pub fn new_document(
    suite: &str,
    target: TargetRecord,
    began: Option<jiff::Timestamp>,
) -> RunDocument {
    RunDocument {
        schema: measurement::document::SCHEMA.to_owned(),
        flushmark: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: measurement::started_at::write(began),
        source: None,
        merged_runs: None,
        group: None,
        suite: suite.to_owned(),
        label: None,
        smoke: false,
        target,
        host: drive::HostFacts::default(),
        drive: None,
        drives: Vec::new(),
        results: Vec::new(),
        skipped: Vec::new(),
        findings: Vec::new(),
        fitness: std::collections::BTreeMap::new(),
        fitness_under_each_setting: None,
    }
}

/// Returns `true` if `later` must not start once `earlier` has ended.
fn prevents(earlier: &Test, later: &Test) -> bool {
    let (ends, group) = earlier.work.ends();
    ends.prevents(group, later.work.ends().1)
}

/// Adds findings and fitness to the document. A smoke run's numbers are meaningless, and `null:`
/// stores nothing, so these get none.
pub fn judge(document: &mut RunDocument, found_on: Option<bool>) {
    if document.smoke || document.target.kind == measurement::TargetKind::Null {
        return;
    }
    if let Some(database) = &document.target.database {
        let case = Case::new(&document.results, document.drive.as_ref(), &document.host);
        document.findings = judge::database(database, &case);
        return;
    }
    let Judgement { findings, fitness, under_each_setting } = if let Some(source) = &document.source
    {
        judge::judge_imported(&document.results, source)
    } else {
        let case = Case::new(&document.results, document.drive.as_ref(), &document.host)
            .with_export(document.target.export.as_ref())
            .with_ceph(document.target.ceph.as_ref())
            .with_drives(&document.drives)
            .with_caches_found(found_on);
        judge::judge(&case)
    };
    document.findings = findings;
    document.fitness = fitness;
    document.fitness_under_each_setting = under_each_setting;
}

/// Judges the sum of several runs if they are of one storage: a finding about two drives would be
/// true of neither.
///
/// # Errors
/// A message for the user if nothing is judged.
pub fn judge_merged(merged: &mut RunDocument, runs: &[RunDocument]) -> Result<(), &'static str> {
    if !RunDocument::of_one_storage(runs) {
        return Err(
            "the runs are not of one drive and filesystem, so the merged result has no findings \
             and no fitness",
        );
    }
    let mut found = runs.iter().map(found_on);
    let first = found.next().flatten();
    judge(merged, first.filter(|_| found.all(|other| other == first)));
    Ok(())
}

/// Whether the write caches were found on, if that is the same for all: as the drives report it, or
/// else the kernel.
fn found_on(document: &RunDocument) -> Option<bool> {
    let own: Option<Vec<bool>> = document.drives.iter().map(|drive| drive.cache.is_on()).collect();
    let kernel = || {
        let device = document.drive.as_ref().and_then(drive::Place::block_device)?;
        Some(vec![device.queue.write_cache? == drive::WriteCache::WriteBack])
    };
    let all = own.filter(|own| !own.is_empty()).or_else(kernel)?;
    let first = *all.first()?;
    all.iter().all(|on| *on == first).then_some(first)
}
