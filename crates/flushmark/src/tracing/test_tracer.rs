//! Short repetitions of a run's tests, for their traces: the tracer disturbs no figure then.

use std::time::Duration;

use anyhow::Context as _;
use drive::{Place, SystemRoot};
use measurement::{Progress, TraceRecord};
use trace::{Detail, Header, Live};
use workload::Test;

use super::recording::Recording;
use super::{scope, threads};
use crate::exit::WrongUse;

/// Some hundred commits of a hard disk.
const TIME: Duration = Duration::from_secs(2);

/// The traces of a run's tests.
pub struct TestTracer {
    header: Header,
}

impl TestTracer {
    /// # Errors
    /// If the kernel does not see the target's writes, or its tracer may not be used.
    pub fn of(target: &str, place: Option<&Place>) -> anyhow::Result<TestTracer> {
        let place = place.ok_or_else(|| {
            WrongUse(format!(
                "--trace has no effect on {target}, which is not reached through the kernel's \
                 block layer; leave it out"
            ))
        })?;
        let header = scope::of_place(&SystemRoot::default(), target, place)?;
        // A refusal should come before minutes of measuring.
        drop(Live::start(&header.scope, Detail::Commits)?);
        Ok(TestTracer { header })
    }

    /// The tests as they are repeated.
    pub fn shortened(tests: &[Test]) -> Vec<Test> {
        let mut tests = tests.to_vec();
        tests.iter_mut().for_each(|test| test.shorten(TIME, u64::MAX));
        tests
    }

    /// Traces the threads that work while `run` measures. Returns `None` if no commit followed the
    /// first sign of progress.
    pub fn trace(
        &self,
        run: impl FnOnce(&mut dyn FnMut(&Progress)) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<TraceRecord>> {
        let mut recording: Option<Recording<'_>> = None;
        let mut traced = Ok(());
        // Preparation shows no progress, and its commits are not the test's.
        let ran = run(&mut |_| {
            if traced.is_ok() {
                traced = self.look(&mut recording);
            }
        });
        traced.context("cannot trace")?;
        ran?;
        let record = recording.map(Recording::finish).transpose()?;
        Ok(record.filter(|record| !record.anatomies.is_empty()))
    }

    fn look<'a>(&'a self, recording: &mut Option<Recording<'a>>) -> anyhow::Result<()> {
        if let Some(running) = recording {
            return running.read();
        }
        let own = std::process::id();
        let mut jobs = threads::of_process(own);
        // The main thread watches the others.
        jobs.retain(|thread| *thread != own);
        recording.insert(Recording::start(&self.header, None)?).follow(&jobs)
    }
}
