//! Tests of step programs.

use std::time::Duration;

use measurement::{Headline, TargetKind, WorkloadRecord};
use workload::{Ends, Step, StepProgram, Test};

use super::{Described, NotRun, Planned, Ready, Run};
use crate::carrier::Carrier;
use crate::clock::Clock;
use crate::crew::{Report, Stage, Team};
use crate::part::{Part, PartSpec};
use crate::stepping::Stepping;

impl Run<'_> {
    pub(super) fn steps<'a>(
        &'a self,
        test: &'a Test,
        program: &'a StepProgram,
    ) -> Result<Planned<'a>, NotRun> {
        self.expect_no_zones(true)?;
        if let Some(target) = self.target.beyond_the_kernel() {
            return Err(NotRun::Skip(format!(
                "a step program makes calls on files, and {target} has none"
            )));
        }
        match self.target.kind() {
            TargetKind::Null => {
                return Err(NotRun::Skip(
                    "a step program needs files, but null: has none".to_owned(),
                ));
            }
            TargetKind::Directory => {}
            _ if program.runs_without_directory() => {}
            _ => {
                let because = "this step program creates, grows or removes files, which requires a \
                               directory as the target";
                return Err(NotRun::Skip(because.to_owned()));
            }
        }
        let part = |job: u32, index: usize| {
            let file = &program.files[index];
            PartSpec {
                name: format!("{}-{job}-{}", file.layout.name(), file.name),
                size_bytes: file.size_bytes,
                unit_bytes: program.largest_write_bytes(index).min(file.size_bytes),
                layout: file.layout,
                direct: file.direct,
                invalidate: true,
                precondition: None,
                content: program.content,
                single_use: file.layout.needs_new_file(),
                sparse: false,
                unbudgeted: false,
            }
        };
        let files = 0..program.files.len();
        let specs = (0..program.jobs.get())
            .flat_map(|job| files.clone().map(move |index| part(job, index)))
            .collect();
        Ok(Planned { specs, ready: Box::new(|parts| self.steps_ready(test, program, parts)) })
    }

    fn steps_ready<'a>(
        &'a self,
        test: &'a Test,
        program: &'a StepProgram,
        parts: &[&Part],
    ) -> Result<Ready<'a>, NotRun> {
        let parts: Vec<Part> = parts.iter().copied().cloned().collect();
        for step in &program.steps {
            if let Step::Write { file, placement, bytes, .. } = *step {
                self.expect_aligned(&parts[file], placement.unit_bytes(bytes))?;
            }
        }
        let mut record = WorkloadRecord::of(test);
        record.direct = parts.iter().any(|part| part.direct);
        record.size_bytes = parts.iter().map(|part| part.size_bytes).sum();
        let (jobs, files, clock) = (program.jobs.get(), program.files.len(), Clock::calibrated());
        let (limit, warm_up, start_delay) = (program.limit, program.warm_up.0, Duration::ZERO);
        let team = Team {
            jobs,
            limit,
            warm_up,
            start_delay,
            ends: Ends::Nothing,
            group: 0,
            compute: None,
            until_steady: None,
            headline: Headline::Turns,
        };
        let work = Box::new(move |job: u32, stage: Stage<'_>| {
            let own = &parts[job as usize * files..][..files];
            match Stepping::new(self.target, program, own, clock, job) {
                Ok(mut stepping) => stage
                    .act(Vec::new(), |_, bounds, tally, stop| stepping.run(bounds, tally, stop)),
                Err(failure) => Report::failed(failure),
            }
        });
        let described = Described {
            test,
            record,
            carrier: Carrier::Psync,
            note: None,
            writes_are_commits: false,
        };
        Ok(Ready { team, work, described })
    }
}
