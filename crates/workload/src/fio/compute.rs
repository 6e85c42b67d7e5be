//! Builds the workload of a section with `ioengine=cpuio`, which computes instead of doing I/O.

use super::section::Section;
use crate::blocks::{Area, BlockBytes, EngineChoice, Limit, Sharing, Until, WarmUp, Workload};
use crate::compute::{Compute, ComputeTask};
use crate::pattern::Pattern;
use crate::plan::{PlanError, Test, Work};

/// The name of the engine.
pub(super) const CPUIO: &str = "cpuio";

/// Options that are about the time of operations, which the load determines here.
const REFUSED: [(&str, &str); 6] = [
    ("thinktime", "cpuload determines the pauses; remove it"),
    ("rate_iops", "cpuload determines the rate; remove it"),
    ("rate", "no bytes are transferred; remove it"),
    ("rate_min", "no bytes are transferred; remove it"),
    ("flow", "a computation is not an operation of a flow; remove it"),
    ("latency_target", "there is no depth to search for; remove it"),
];
const OPTIONS: [&str; 4] = ["cpuload", "cpuchunks", "cpumode", EXIT];
const EXIT: &str = "exit_on_io_done";

/// More computations than any run has time for.
const ENDLESS: u64 = u64::MAX >> 1;

impl Section {
    /// The computations of the section.
    ///
    /// # Errors
    /// Fails if a value is invalid, or another engine has these options.
    pub(super) fn compute(&self) -> Result<Option<Compute>, PlanError> {
        // As in fio, more than 100 is 100.
        let takes = "a percentage above 0";
        let load = self.read("cpuload", takes, |text| {
            text.parse::<u32>().ok().filter(|load| *load > 0).map(|load| load.min(100))
        })?;
        let chunk_us = self.whole("cpuchunks", 1, 60_000_000)?;
        let task = self.read("cpumode", "one of noop, qsort", |text| match text {
            "noop" => Some(ComputeTask::Spin),
            "qsort" => Some(ComputeTask::Sort),
            _ => None,
        })?;
        let while_io = self.flag(EXIT)?.unwrap_or(false);
        if !self.has_engine(CPUIO) {
            return match OPTIONS.into_iter().find(|key| self.has_own(key)) {
                Some(key) => Err(self.wrong(key, &format!("{key}: requires ioengine={CPUIO}"))),
                None => Ok(None),
            };
        }
        let load = load.ok_or_else(|| {
            let message = "cpuload: missing; set the percentage of a processor that each job uses";
            self.wrong("ioengine", message)
        })?;
        Ok(Some(Compute {
            load_percent: load as u8,
            chunk_us: chunk_us.unwrap_or(Compute::DEFAULT.chunk_us),
            task: task.unwrap_or(ComputeTask::Spin),
            while_io,
        }))
    }

    /// The workload of a section that computes. As in fio, options of blocks, data and files have
    /// no effect.
    ///
    /// # Errors
    /// Fails at the first setting that is invalid, or that would change what fio does.
    pub(super) fn computing(&self, compute: Compute) -> Result<Workload, PlanError> {
        if let Some((key, because)) = REFUSED.iter().find(|(key, _)| self.has(key)) {
            return Err(self.wrong(key, &format!("{key}: with ioengine={CPUIO}, {because}")));
        }
        let (rw, _) = self.pattern()?;
        self.check_unused(rw)?;
        let mut workload = Workload::new(Pattern::Compute, BlockBytes::MIN);
        workload.compute = compute;
        workload.engine = EngineChoice::Psync;
        workload.direct = false;
        workload.sharing = Sharing::Device;
        workload.size = Area::Bytes(BlockBytes::MIN.get().into());
        workload.jobs = self.jobs()?;
        workload.warm_up = WarmUp(self.time("ramp_time")?.unwrap_or_default());
        workload.start_delay = self.start_delay(&workload)?;
        if let Some(seed) = self.whole("randseed", 0, u64::MAX >> 1)? {
            workload.seed = seed;
        }
        self.flag("time_based")?;
        let time = self.time("runtime")?.filter(|time| !time.is_zero());
        workload.limit = match (time, self.whole("number_ios", 1, u64::MAX >> 1)?) {
            (Some(time), None) => Limit::Time(time),
            (None, Some(count)) => Limit::Count(count),
            (Some(time), Some(count)) => Limit::TimeAndCount { time, count, until: Until::First },
            (None, None) if compute.while_io => Limit::Count(ENDLESS),
            (None, None) => {
                let message = "runtime: missing; computations would never end";
                return Err(self.wrong("ioengine", message));
            }
        };
        workload.until_steady = self.steady(&workload)?;
        workload.processors = self.processors()?;
        Ok(workload)
    }
}

/// The effect of `exit_on_io_done` in a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// The section ends with those that run at the same time.
    WithOthers,
    /// A later section does I/O, or none does: fio never ends the section for that reason.
    Never,
    /// All sections that do I/O have ended before the section starts.
    AtOnce,
}

/// Resolves `exit_on_io_done`, which in fio looks at all sections, including those that have not
/// started.
///
/// # Errors
/// Fails if the section would never end, or end before its first computation.
pub(super) fn resolve_exits(tests: &mut [Test], sections: &[Section]) -> Result<(), PlanError> {
    let does_io = |test: &Test| match &test.work {
        Work::Blocks(workload) => !workload.pattern.computes(),
        Work::Steps(_) | Work::Sort(_) => true,
    };
    for index in 0..tests.len() {
        let begin = (0..=index).rfind(|&test| !tests[test].with_previous).unwrap_or(0);
        let end = (index + 1..tests.len()).find(|&test| !tests[test].with_previous);
        let end = end.unwrap_or(tests.len());
        let exit = match [&tests[end..], &tests[begin..end], &tests[..begin]]
            .map(|tests| tests.iter().any(does_io))
        {
            [false, true, _] => Exit::WithOthers,
            [true, ..] | [false, false, false] => Exit::Never,
            [false, false, true] => Exit::AtOnce,
        };
        let Work::Blocks(workload) = &mut tests[index].work else { continue };
        if !workload.pattern.computes() || !workload.compute.while_io {
            continue;
        }
        let because = match exit {
            Exit::WithOthers => continue,
            Exit::Never if workload.limit != Limit::Count(ENDLESS) => {
                workload.compute.while_io = false;
                continue;
            }
            Exit::Never => {
                "no section that runs at the same time is the last one with I/O, so the \
                            computations would never end; set runtime"
            }
            Exit::AtOnce => {
                "all sections with I/O have ended before this one starts, so nothing \
                             would be computed; remove it"
            }
        };
        return Err(sections[index].wrong(EXIT, &format!("{EXIT}: {because}")));
    }
    Ok(())
}
