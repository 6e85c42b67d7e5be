//! One run: a plan on a target, test by test, into a result document.

use std::ops::RangeInclusive;

use judge::Case;
use measurement::{Ended, Outcome, RunDocument, TestResult};
use workload::{Plan, WriteCache};

use crate::bench::{Bench, Wishes};
use crate::exit::{self, Verdict};
use crate::live::Live;
use crate::progress::Progress;
use crate::signals::{self, STOP};

/// An opened target with a plan for it.
pub struct Session {
    bench: Bench,
    document: RunDocument,
}

/// What a run came to.
pub struct Completed {
    /// Everything that was measured.
    pub document: RunDocument,
    /// How the program should end because of it.
    pub verdict: Verdict,
    /// What kept the remaining tests from running, if anything did.
    pub error: Option<anyhow::Error>,
}

impl Completed {
    /// The error that ended the run, or else its verdict. What kept tests from being measured has its sentence on stderr.
    pub fn end(self) -> anyhow::Result<Verdict> {
        if let Some(error) = self.error {
            return Err(error);
        }
        for sentence in self.complaints() {
            exit::complain(&sentence);
        }
        Ok(self.verdict)
    }

    fn complaints(&self) -> Vec<String> {
        let failed = self.document.results.iter().filter_map(|result| match &result.ended {
            Ended::Failed { error } => Some(format!("{}: {error}; the run ends here", result.test)),
            Ended::Limit | Ended::Interrupted => None,
        });
        let skipped = self.document.skipped.iter().map(|skipped| format!("{}: {}", skipped.test, skipped.because));
        match self.verdict {
            Verdict::NothingRan => skipped.collect(),
            Verdict::Interrupted(_) if self.document.results.is_empty() => {
                vec!["interrupted before anything was measured".to_owned()]
            }
            Verdict::Interrupted(_) => {
                failed.chain(["interrupted; what was measured until then is printed".to_owned()]).collect()
            }
            _ => failed.collect(),
        }
    }
}

impl Session {
    /// Opens the target for a plan.
    ///
    /// # Errors
    /// When the target is wrong, dangerous or out of order.
    pub fn open(plan: &Plan, given: &str, wishes: Wishes, smoke: bool) -> anyhow::Result<Session> {
        let bench = Bench::open(plan, given, wishes)?;
        let document = RunDocument {
            schema: measurement::document::SCHEMA.to_owned(),
            flushmark: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: bench.started_at(),
            source: None,
            merged_runs: None,
            suite: plan.name.clone(),
            smoke,
            target: bench.record(),
            host: bench.host(),
            drive: bench.place().cloned(),
            drives: bench.drives(),
            results: Vec::new(),
            skipped: Vec::new(),
            findings: Vec::new(),
            fitness: std::collections::BTreeMap::new(),
        };
        Ok(Session { bench, document })
    }

    /// What is known before anything is measured.
    pub fn document(&self) -> &RunDocument {
        &self.document
    }

    /// Smallest and largest part of the target that a test of the plan works on, in bytes.
    pub fn tested_bytes(&self, plan: &Plan) -> Option<RangeInclusive<u64>> {
        plan.tested_bytes(self.bench.room())
    }

    /// What the person should know about how the target was opened.
    pub fn notes(&self) -> Vec<String> {
        self.bench.notes()
    }

    /// Runs the tests in order. `done` is called after each, because a later one may fail.
    pub fn run(
        mut self,
        plan: &Plan,
        progress: &mut Progress,
        mut live: Live,
        mut done: impl FnMut(&TestResult) -> anyhow::Result<()>,
    ) -> anyhow::Result<Completed> {
        let mut error = None;
        let mut failed = false;
        let mut begun = 0;
        for tests in plan.groups() {
            if STOP.is_requested() || failed {
                break;
            }
            let group = begun..begun + tests.len();
            begun = group.end;
            progress.begin(plan, group.clone());
            live.begin(plan, group);
            let mut observe = |seen: &measurement::Progress| {
                progress.live(seen);
                live.see(seen);
            };
            let outcomes = match self.bench.run(tests, &mut observe) {
                Ok(Some(outcomes)) => outcomes,
                Ok(None) => break,
                Err(cause) => {
                    error = Some(cause);
                    break;
                }
            };
            for outcome in outcomes {
                match outcome {
                    Outcome::Measured(result) => {
                        failed |= matches!(result.ended, Ended::Failed { .. });
                        progress.measured(&result);
                        done(&result)?;
                        self.document.results.push(*result);
                    }
                    Outcome::Skipped(skipped) => {
                        progress.skipped(&skipped);
                        self.document.skipped.push(skipped);
                    }
                }
            }
        }
        progress.finish();
        drop(live);
        let found_on = self.bench.found_on();
        // Test files are removed before the results are printed: a reader may be slow, or gone.
        if let Err(cause) = self.bench.close() {
            // Graver than whatever ended the run: the machine is not as it was.
            exit::complain(&format!("{cause}; `flushmark cache restore` tries again"));
            error = error.or_else(|| Some(anyhow::anyhow!("a write cache was not put back")));
        }
        judge(&mut self.document, found_on);
        let verdict = match signals::received() {
            Some(signal) => Verdict::Interrupted(signal),
            None if failed => Verdict::Failed,
            None if self.document.results.is_empty() && error.is_none() => Verdict::NothingRan,
            None => Verdict::Done,
        };
        Ok(Completed { document: self.document, verdict, error })
    }
}

/// Writes into the document what its results and facts say. A smoke run's numbers mean nothing, so nothing is concluded from them.
pub fn judge(document: &mut RunDocument, found_on: Option<bool>) {
    if document.smoke {
        return;
    }
    let standing = standing(&document.results, found_on);
    let case = Case::new(&standing, document.drive.as_ref(), &document.host).with_drives(&document.drives);
    let (mut findings, fitness) = (judge::findings(&case), judge::fitness(&case));
    findings.extend(judge::cache_setting(&document.results, &case.drive_label(), &case.disk_paths()));
    findings.extend(judge::probes(&case));
    document.findings = findings;
    document.fitness = fitness;
}

/// Judges the sum of several runs, if it is of one storage: a finding about two drives would be true of neither. Says why it is not.
///
/// # Errors
/// A sentence for the person where nothing is judged.
pub fn judge_merged(merged: &mut RunDocument, runs: &[RunDocument]) -> Result<(), &'static str> {
    if merged.source.is_some() {
        // What another tool measured is not judged when it is imported, either.
        return Ok(());
    }
    if !RunDocument::of_one_storage(runs) {
        return Err("the runs are not of one drive and filesystem, so that their sum has no findings and no fitness");
    }
    let mut found = runs.iter().map(found_on);
    let first = found.next().flatten();
    judge(merged, first.filter(|_| found.all(|other| other == first)));
    Ok(())
}

/// How the document says that the write caches were found, where it is the same for all: the drives' own words, else the kernel's.
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

/// The results under the setting that the caches were found with and have again: what the storage does from now on. What a test measured beside
/// others says what they left to it, and not what the storage can.
fn standing(results: &[TestResult], found_on: Option<bool>) -> Vec<TestResult> {
    let stands = |setting: WriteCache| setting.requires_on().is_none_or(|on| Some(on) == found_on);
    let alone = |result: &&TestResult| result.workload.beside.is_empty();
    results.iter().filter(|result| stands(result.workload.write_cache)).filter(alone).cloned().collect()
}
