//! One run: a plan on a target, test by test, into a result document.

use drive::{HostFacts, SystemRoot};
use engine::{EngineError, Intent, Options, Outcome, Target};
use judge::Case;
use measurement::{Ended, RunDocument, TargetRecord, TestResult};
use workload::Plan;

use crate::exit::{self, Verdict};
use crate::progress::Progress;
use crate::signals::{self, STOP};

/// An opened target with a plan for it.
pub struct Session {
    target: Target,
    options: Options,
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
    pub fn open(
        plan: &Plan,
        given: &str,
        destroy_data: bool,
        options: Options,
        smoke: bool,
    ) -> Result<Session, EngineError> {
        let root: &SystemRoot = &options.root;
        let target = Target::open(root, given, Intent::of(plan, destroy_data))?;
        let document = RunDocument {
            schema: measurement::document::SCHEMA.to_owned(),
            flushmark: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: now(),
            suite: plan.name.clone(),
            smoke,
            target: TargetRecord { given: target.given().to_owned(), kind: target.kind_name().to_owned() },
            host: HostFacts::read(root),
            drive: target.place().cloned(),
            results: Vec::new(),
            skipped: Vec::new(),
            findings: Vec::new(),
            fitness: std::collections::BTreeMap::new(),
        };
        Ok(Session { target, options, document })
    }

    /// What is known before anything is measured.
    pub fn document(&self) -> &RunDocument {
        &self.document
    }

    /// What the person should know about how the target was opened.
    pub fn notes(&self) -> Vec<String> {
        self.target.notes()
    }

    /// Runs the tests in order. `done` is called after each, because a later one may fail.
    pub fn run(
        mut self,
        plan: &Plan,
        progress: &mut Progress,
        mut done: impl FnMut(&TestResult) -> anyhow::Result<()>,
    ) -> anyhow::Result<Completed> {
        let mut error = None;
        let mut failed = false;
        for (index, test) in plan.tests.iter().enumerate() {
            if STOP.is_requested() || failed {
                break;
            }
            progress.begin(plan, index);
            let outcome = engine::run(test, &self.target, &self.options, &STOP, &mut |live| progress.live(live));
            match outcome {
                Ok(Outcome::Measured(result)) => {
                    failed = matches!(result.ended, Ended::Failed { .. });
                    progress.measured(&result);
                    done(&result)?;
                    self.document.results.push(*result);
                }
                Ok(Outcome::Skipped(skipped)) => {
                    progress.skipped(&skipped);
                    self.document.skipped.push(skipped);
                }
                Err(EngineError::Interrupted) => break,
                Err(cause) => {
                    error = Some(anyhow::Error::from(cause));
                    break;
                }
            }
        }
        progress.finish();
        // Removes the test files before the results are printed: a reader may be slow, or gone.
        drop(self.target);
        // A smoke run's numbers mean nothing, so nothing is concluded from them.
        if !self.document.smoke {
            let case = Case::new(&self.document.results, self.document.drive.as_ref(), &self.document.host);
            let (findings, fitness) = (judge::findings(&case), judge::fitness(&case));
            self.document.findings = findings;
            self.document.fitness = fitness;
        }
        let verdict = match signals::received() {
            Some(signal) => Verdict::Interrupted(signal),
            None if failed => Verdict::Failed,
            None if self.document.results.is_empty() && error.is_none() => Verdict::NothingRan,
            None => Verdict::Done,
        };
        Ok(Completed { document: self.document, verdict, error })
    }
}

/// UTC to the second.
fn now() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
