//! Builds the workload of a section whose engine creates, stats or removes files or directories.

use super::engine::FioEngine;
use super::section::Section;
use super::value;
use crate::blocks::{
    Area, BlockBytes, ENTRIES_MAX, EngineChoice, Limit, Sharing, Until, WarmUp, Workload,
};
use crate::pattern::{EntryCall, Operation, Pattern};
use crate::plan::PlanError;

/// Options that would change what fio does, and that flushmark does not support here.
const REFUSED: [(&str, &str); 10] = [
    ("filename", "each job has files with separate names; use directory, or --target"),
    ("size", "set the size of each file with filesize, and their number with nrfiles"),
    ("io_size", "each file has its turn once; set nrfiles"),
    ("offset", "a file is created, looked up or removed as a whole"),
    ("offset_increment", "a file is created, looked up or removed as a whole"),
    ("ramp_time", "each file has its turn once, so there is nothing to warm up with"),
    ("rate", "no bytes are transferred; use rate_iops"),
    ("rate_min", "no bytes are transferred"),
    ("verify", "no data is written that could be read back"),
    ("latency_target", "requires an iodepth above 1, and libaio or io_uring"),
];

impl Section {
    /// The workload of an engine whose operations each visit one file or directory. As in fio,
    /// options of blocks and their data have no effect.
    ///
    /// # Errors
    /// Fails at the first setting that is invalid, or that would change what fio does.
    pub(super) fn entries(&self, pattern: Pattern) -> Result<Workload, PlanError> {
        if let Some((key, because)) = REFUSED.iter().find(|(key, _)| self.has(key)) {
            return Err(self.wrong(key, &format!("{key}: {because}")));
        }
        let (rw, _) = self.pattern()?;
        let ends = self.flag("end_fsync")?.unwrap_or(false) && rw.writes();
        if ends || self.sync(rw)?.0.is_durable() {
            let keys = ["fsync", "fdatasync", "sync", "end_fsync"];
            let key = keys.into_iter().find(|key| self.has(key)).unwrap_or("sync");
            return Err(self.wrong(
                key,
                &format!("{key}: flushmark does not sync entries of directories here; use steps"),
            ));
        }
        let block = self.file_bytes()?;
        let files = self.whole("nrfiles", 1, ENTRIES_MAX)?.unwrap_or(1);
        let mut workload = Workload::new(pattern, block);
        workload.engine = EngineChoice::Psync;
        workload.direct = false;
        workload.sharing = Sharing::Device;
        workload.jobs = self.jobs()?;
        workload.size = Area::Bytes(files * u64::from(block.get()));
        workload.warm_up = WarmUp::default();
        if let Some(seed) = self.whole("randseed", 0, u64::MAX >> 1)? {
            workload.seed = seed;
        }
        self.turns(pattern, &mut workload)?;
        self.check_unused(rw)?;
        workload.rate = self.rate(&workload)?;
        workload.think = self.think(&workload)?;
        workload.until_steady = self.steady(&workload)?;
        workload.flow = self.flow()?;
        workload.priorities = self.priorities(&workload)?;
        workload.processors = self.processors()?;
        workload.start_delay = self.time("startdelay")?.unwrap_or_default();
        Ok(workload)
    }

    /// Checks the values of options that have no effect here: one that fio would reject is an
    /// error.
    pub(super) fn check_unused(&self, rw: Pattern) -> Result<(), PlanError> {
        self.blocks(rw)?;
        self.whole("iodepth", 1, 1024)?;
        self.layout(rw, FioEngine::Transfer(EngineChoice::Psync))?;
        self.direct()?;
        self.content()?;
        self.dedupe()?;
        self.read_percent()?;
        self.whole("openfiles", 0, u64::MAX >> 1)?;
        let flags = ["create_on_open", "stonewall", "invalidate", "allow_file_create"];
        flags.into_iter().try_for_each(|flag| self.flag(flag).map(drop))
    }

    /// The size of each file that exists beforehand. fio needs it even where none does.
    fn file_bytes(&self) -> Result<BlockBytes, PlanError> {
        let size = self.read("filesize", "one size from 512 to 64m, such as 4k", |text| {
            BlockBytes::new(value::number(text)?).ok()
        })?;
        size.ok_or_else(|| {
            let message = "filesize: missing; set the size of each file, such as filesize=4k. fio \
                           requires it, too";
            self.wrong("ioengine", message)
        })
    }

    /// The end of a section: each file has its turn once, unless it is only looked up.
    fn turns(&self, pattern: Pattern, workload: &mut Workload) -> Result<(), PlanError> {
        let loops = self.whole("loops", 1, 1_000_000_000)?.unwrap_or(1);
        let most = self.whole("number_ios", 1, u64::MAX >> 1)?.unwrap_or(u64::MAX);
        let time = self.time("runtime")?.filter(|time| !time.is_zero());
        let time_based = self.flag("time_based")?.unwrap_or(false);
        let stats = matches!(pattern.operation(), Operation::Entry(EntryCall::Stat, _));
        for (key, again) in [("loops", loops > 1), ("time_based", time_based && time.is_some())] {
            if again && !stats {
                let message =
                    format!("{key}: a file can be created or removed only once; set nrfiles");
                return Err(self.wrong(key, &message));
            }
        }
        workload.passes = Some(loops);
        workload.limit = match time {
            Some(time) if time_based => {
                workload.passes = None;
                Limit::Time(time)
            }
            Some(time) => Limit::TimeAndCount { time, count: most, until: Until::First },
            None => Limit::Count(most),
        };
        Ok(())
    }
}
