//! The subset of fio's job files that flushmark reads.
//!
//! `docs/fio.md` lists the keys and where their meaning differs. What is not understood is refused by name: an option that is dropped in silence
//! changes what is measured.

mod section;
pub mod value;

use section::Section;

use crate::blocks::{
    Area, Arrivals, BlockBytes, Content, Depth, EngineChoice, Jobs, Limit, Rate, Until, WarmUp, Workload,
};
use crate::pattern::Pattern;
use crate::plan::{Plan, PlanError, Table, Test, Work};
use crate::sync::SyncMethod;

/// What a job without a size works on, all its processes together.
const DEFAULT_BYTES: u64 = 1 << 30;

/// The keys that are understood, in the order in which errors list them.
pub const KEYS: [&str; 23] = [
    "rw",
    "bs",
    "iodepth",
    "numjobs",
    "fsync",
    "fdatasync",
    "sync",
    "direct",
    "ioengine",
    "runtime",
    "time_based",
    "size",
    "filename",
    "directory",
    "rwmixread",
    "rate_iops",
    "ramp_time",
    "stonewall",
    "group_reporting",
    "invalidate",
    "zero_buffers",
    "refill_buffers",
    "name",
];

impl Plan {
    /// Reads a fio job file. Each section is a test; they run one after the other, so all but the first need `stonewall`.
    ///
    /// ```
    /// let plan = workload::Plan::from_fio("journal.fio", "
    ///     [journal]
    ///     rw=randwrite
    ///     bs=4k
    ///     fsync=1
    ///     direct=1
    ///     size=1g
    ///     runtime=15
    ///     time_based
    /// ")?;
    /// assert_eq!(plan.tests[0].name, "journal");
    /// # Ok::<(), workload::plan::PlanError>(())
    /// ```
    ///
    /// # Errors
    /// The first line that is not understood, or cannot be done as fio would.
    pub fn from_fio(file: &str, text: &str) -> Result<Plan, PlanError> {
        let sections = section::sections(file, text)?;
        let mut tests: Vec<Test> = Vec::new();
        let mut target: Option<String> = None;
        for (index, section) in sections.iter().enumerate() {
            let stonewall = section.flag("stonewall")?.unwrap_or(false);
            if index > 0 && !stonewall {
                return Err(section.error(
                    section.line,
                    "fio runs sections at the same time, flushmark one after the other; add `stonewall` to this section",
                ));
            }
            let wanted = section.target()?;
            match (&target, wanted) {
                (_, wanted) if index == 0 => target = wanted.map(|(_, name)| name),
                (Some(known), None) => {
                    let message = format!("one run has one target; another section names {known}, this one none");
                    return Err(section.error(section.line, &message));
                }
                (known, Some((line, wanted))) if *known != Some(wanted.clone()) => {
                    let known = known.as_deref().unwrap_or("none");
                    return Err(
                        section.error(line, &format!("one run has one target, and another section names {known}"))
                    );
                }
                _ => {}
            }
            let name = section.text("name", "a name")?.unwrap_or_else(|| section.name.clone());
            if tests.iter().any(|test| test.name == name) {
                return Err(section.error(section.line, &format!("there are two sections called {name}; rename one")));
            }
            let work = Work::Blocks(section.workload()?);
            tests.push(Test { name, work, write_cache: crate::WriteCache::Unchanged });
        }
        if tests.is_empty() {
            let message = "no job section; a job begins with its name in brackets, such as [journal]";
            return Err(PlanError::new(file, 1, message));
        }
        let stem = file.rsplit('/').next().unwrap_or(file);
        let name = stem.rsplit_once('.').map_or(stem, |(name, _)| name).to_owned();
        Ok(Plan {
            name,
            answers: String::new(),
            source: "a fio job file".to_owned(),
            table: Table::Tests,
            target,
            tests,
        })
    }
}

impl Section {
    fn target(&self) -> Result<Option<(usize, String)>, PlanError> {
        let filename = self.text("filename", "the path of a file or device")?;
        let directory = self.text("directory", "the path of a directory")?;
        let (key, name) = match (filename, directory) {
            (Some(_), Some(_)) => {
                let message = "give filename or directory, not both: one run has one target";
                return Err(self.error(self.line_of("filename"), message));
            }
            (Some(name), None) => ("filename", name),
            (None, Some(name)) => ("directory", name),
            (None, None) => return Ok(None),
        };
        // A colon separates names; one that belongs to a name has a backslash before it.
        let separates = |(at, _)| !name[..at].ends_with('\\');
        if name.match_indices(':').any(separates) {
            let message = format!("{key}: {name:?} names several places; one run has one target");
            return Err(self.error(self.line_of(key), &message));
        }
        Ok(Some((self.line_of(key), name.replace("\\:", ":"))))
    }

    /// The workload that the section asks for, with fio's own defaults.
    fn workload(&self) -> Result<Workload, PlanError> {
        let patterns = format!("one of {}, readwrite", Pattern::ALL.map(Pattern::name).join(", "));
        let pattern = self.read("rw", &patterns, Pattern::from_name)?.unwrap_or(Pattern::Read);
        let block = self
            .read("bs", "one size from 512 to 64m, such as 4k", |value| BlockBytes::new(value::number(value)?).ok())?
            .map_or_else(|| BlockBytes::new(4096), Ok)
            .map_err(|error| self.error(self.line_of("bs"), &error.to_string()))?;
        let mut workload = Workload::new(pattern, block);
        workload.engine = self.engine()?;
        let depth = self.whole("iodepth", 1, 1024)?.unwrap_or(1);
        // fio's synchronous engines do one operation at a time, whatever iodepth says.
        let depth = if workload.engine == EngineChoice::Psync { 1 } else { depth };
        workload.depth = Depth::new(depth).map_err(|error| self.error(self.line_of("iodepth"), &error.to_string()))?;
        let jobs = self.whole("numjobs", 1, 256)?.unwrap_or(1);
        workload.jobs = Jobs::new(jobs).map_err(|error| self.error(self.line_of("numjobs"), &error.to_string()))?;
        (workload.sync, workload.sync_every) = self.sync(pattern)?;
        workload.direct = self.flag("direct")?.unwrap_or(false);
        workload.invalidate = self.flag("invalidate")?.unwrap_or(true);
        if let Some(percent) = self.whole("rwmixread", 1, 99)? {
            workload.read_percent = percent as u8;
        }
        workload.content = self.content()?;
        let size = self.read("size", "a size of at least one block, such as 1g", |value| {
            value::number(value).filter(|&size| size >= u64::from(block.get()))
        })?;
        // fio's size is each job's, ours is that of all jobs.
        let each = size.unwrap_or((DEFAULT_BYTES / jobs).max(u64::from(block.get())));
        let all = each
            .checked_mul(jobs)
            .filter(|&all| i64::try_from(all).is_ok())
            .ok_or_else(|| self.error(self.line_of("size"), "size: times numjobs it is more than can be addressed"))?;
        workload.size = Area::Bytes(all);
        workload.limit = self.limit(size, each / u64::from(block.get()))?;
        workload.warm_up = WarmUp(self.time("ramp_time")?.unwrap_or_default());
        workload.rate = self.rate(pattern)?;
        if workload.direct && block.get() % 512 != 0 {
            let message = format!(
                "bs: direct I/O moves whole sectors of 512 B, and {} B is no multiple (fio's k is 1024, its KiB 1000)",
                block.get()
            );
            return Err(self.error(self.line_of("bs"), &message));
        }
        self.flag("group_reporting")?;
        Ok(workload)
    }

    fn content(&self) -> Result<Content, PlanError> {
        let zero = self.flag("zero_buffers")?.unwrap_or(false);
        let refill = self.flag("refill_buffers")?.unwrap_or(false);
        match (zero, refill) {
            (true, true) => {
                Err(self.error(self.line_of("refill_buffers"), "zero_buffers and refill_buffers exclude each other"))
            }
            (true, false) => Ok(Content::Zero),
            (false, _) => Ok(Content::Random),
        }
    }

    fn rate(&self, pattern: Pattern) -> Result<Option<Rate>, PlanError> {
        let Some(per_second) = self.whole("rate_iops", 0, 10_000_000)?.filter(|&rate| rate > 0) else {
            return Ok(None);
        };
        if pattern.is_mixed() {
            // fio paces each direction by itself, which also overrides rwmixread.
            let message = "rate_iops: fio holds reads and writes to this rate each, flushmark has one rate for both; take \
                           rw=read or rw=write, or a plan in TOML";
            return Err(self.error(self.line_of("rate_iops"), message));
        }
        Ok(Some(Rate { per_second: per_second as f64, arrivals: Arrivals::Constant }))
    }

    fn engine(&self) -> Result<EngineChoice, PlanError> {
        let takes = "an engine that flushmark has: sync, psync, pvsync, pvsync2, vsync, io_uring, libaio \
                     (for null, use --target null:)";
        let engine = self.read("ioengine", takes, |value| match value {
            "sync" | "psync" | "pvsync" | "pvsync2" | "vsync" => Some(EngineChoice::Psync),
            "io_uring" => Some(EngineChoice::IoUring),
            "libaio" => Some(EngineChoice::Libaio),
            _ => None,
        })?;
        Ok(engine.unwrap_or(EngineChoice::Psync))
    }

    fn sync(&self, pattern: Pattern) -> Result<(SyncMethod, u32), PlanError> {
        let open = self.read("sync", "one of 0, none, 1, sync, dsync", |value| match value {
            "0" | "none" => Some(SyncMethod::None),
            "1" | "sync" => Some(SyncMethod::OSync),
            "dsync" => Some(SyncMethod::ODsync),
            _ => None,
        })?;
        let every = |key| Ok::<_, PlanError>(self.whole(key, 0, 1_000_000)?.filter(|&every| every > 0));
        let mut asked = Vec::new();
        if let Some(method) = open.filter(|method| method.is_durable()) {
            asked.push(("sync", method, 1));
        }
        if let Some(every) = every("fsync")? {
            asked.push(("fsync", SyncMethod::Fsync, every as u32));
        }
        if let Some(every) = every("fdatasync")? {
            asked.push(("fdatasync", SyncMethod::Fdatasync, every as u32));
        }
        match asked.as_slice() {
            // fio ignores the methods where nothing is written, and so it is here.
            _ if !pattern.writes() => Ok((SyncMethod::None, 1)),
            [] => Ok((SyncMethod::None, 1)),
            [(_, method, every)] => Ok((*method, *every)),
            [(first, ..), .., (last, ..)] => Err(self.error(
                self.line_of(last),
                &format!("{last}: a test has one sync method, and {first} asks for another"),
            )),
        }
    }

    fn limit(&self, size: Option<u64>, blocks: u64) -> Result<Limit, PlanError> {
        let time = self.time("runtime")?.filter(|time| !time.is_zero());
        let time_based = self.flag("time_based")?.unwrap_or(false);
        match (time, size) {
            (None, _) if time_based => Err(self.error(self.line_of("time_based"), "time_based needs a runtime")),
            (None, None) => Err(self.error(self.line, "a job needs a size or a runtime to know when it is done")),
            (None, Some(_)) => Ok(Limit::Count(blocks)),
            (Some(time), Some(_)) if !time_based => {
                Ok(Limit::TimeAndCount { time, count: blocks, until: Until::First })
            }
            (Some(time), _) => Ok(Limit::Time(time)),
        }
    }
}

#[cfg(test)]
mod tests;
