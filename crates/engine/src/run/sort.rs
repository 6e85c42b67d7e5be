//! Tests of sorts of more than fits in memory.

use std::time::Duration;

use measurement::{Headline, TargetKind, WorkloadRecord};
use workload::{Content, Ends, Layout, SortWork, Test, format_bytes};

use super::{Described, NotRun, Planned, Ready, Run};
use crate::carrier::Carrier;
use crate::clock::Clock;
use crate::crew::{Stage, Team};
use crate::limits;
use crate::part::{Part, PartSpec};
use crate::spilling::{self, SortJob};

impl Run<'_> {
    pub(super) fn sort<'a>(
        &'a self,
        test: &'a Test,
        sort: &'a SortWork,
    ) -> Result<Planned<'a>, NotRun> {
        self.expect_no_zones(true)?;
        if let Some(target) = self.target.beyond_the_kernel() {
            return Err(NotRun::Skip(format!(
                "a sort keeps its runs in a file or on a device, and {target} is neither"
            )));
        }
        let room_bytes = spilling::room_bytes(sort, sort.size_per_job_bytes());
        let carrier =
            if self.target.kind() == TargetKind::Null { Carrier::Null } else { Carrier::Psync };
        let kept_bytes = if carrier == Carrier::Null { room_bytes } else { 0 };
        limits::memory_of_sorts(sort.jobs.get(), sort.memory_bytes.saturating_add(kept_bytes))?;
        // Nothing is written beforehand: a database's temporary file is also new each time.
        let part = |job| PartSpec {
            name: format!("runs-{job}"),
            size_bytes: room_bytes,
            unit_bytes: spilling::extent_bytes(sort),
            layout: Layout::Append,
            direct: sort.direct,
            invalidate: true,
            precondition: None,
            content: Content::Zero,
            single_use: true,
            sparse: false,
            unbudgeted: false,
        };
        let specs = (0..sort.jobs.get()).map(part).collect();
        Ok(Planned {
            specs,
            ready: Box::new(move |parts| self.sort_ready(test, sort, carrier, parts)),
        })
    }

    fn sort_ready<'a>(
        &'a self,
        test: &'a Test,
        sort: &'a SortWork,
        carrier: Carrier,
        parts: &[&Part],
    ) -> Result<Ready<'a>, NotRun> {
        let parts: Vec<Part> = parts.iter().copied().cloned().collect();
        for part in &parts {
            self.expect_aligned(part, u64::from(sort.block_bytes.get()))?;
        }
        let bytes = parts
            .iter()
            .map(|part| spilling::records_bytes(sort, part.size_bytes))
            .min()
            .unwrap_or(0);
        if bytes / 2 < sort.memory_bytes {
            return Err(NotRun::Skip(format!(
                "{} has room for the runs of {} of records, but a sort in {} of memory needs twice \
                 that; use less \
                 memory or a larger target",
                self.target.given(),
                format_bytes(bytes >> 20 << 20),
                format_bytes(sort.memory_bytes)
            )));
        }
        let (jobs, clock) = (sort.jobs.get(), Clock::calibrated());
        let mut record = WorkloadRecord::of(test);
        record.direct = sort.direct && parts.iter().all(|part| part.direct);
        record.size_bytes = bytes * u64::from(jobs);
        let (limit, warm_up) = (test.work.limit(), Duration::ZERO);
        let team = Team {
            jobs,
            limit,
            warm_up,
            start_delay: Duration::ZERO,
            ends: Ends::Nothing,
            group: 0,
            compute: None,
            until_steady: None,
            headline: Headline::Operations,
        };
        let work = Box::new(move |job: u32, stage: Stage<'_>| {
            SortJob { target: self.target, sort, part: &parts[job as usize], bytes, clock, job }
                .run(stage)
        });
        let described = Described { test, record, carrier, note: None, writes_are_commits: false };
        Ok(Ready { team, work, described })
    }
}
