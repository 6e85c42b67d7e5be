//! The subset of fio's job files that flushmark reads.
//!
//! `docs/fio.md` lists the keys and where their meaning differs. What is not understood is refused by name: an option that is dropped in silence
//! changes what is measured.

use std::time::Duration;

use crate::blocks::{Arrivals, BlockBytes, Content, Depth, EngineChoice, Jobs, Limit, Rate, Until, WarmUp, Workload};
use crate::pattern::Pattern;
use crate::plan::{Plan, PlanError, Table, Test, Work};
use crate::sync::SyncMethod;

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
        let sections = sections(file, text)?;
        let mut tests: Vec<Test> = Vec::new();
        let mut target: Option<String> = None;
        for (index, section) in sections.iter().enumerate() {
            if index > 0 && !section.flag("stonewall")?.unwrap_or(false) {
                return Err(section.error(
                    section.line,
                    "fio runs sections at the same time, flushmark one after the other; add `stonewall` to this section",
                ));
            }
            if let Some((line, wanted)) = section.target()? {
                if target.as_ref().is_some_and(|known| *known != wanted) {
                    let known = target.unwrap_or_default();
                    return Err(
                        section.error(line, &format!("one run has one target, and another section names {known}"))
                    );
                }
                target = Some(wanted);
            }
            let name = section.text("name").map_or_else(|| section.name.clone(), str::to_owned);
            if tests.iter().any(|test| test.name == name) {
                return Err(section.error(section.line, &format!("there are two sections called {name}; rename one")));
            }
            tests.push(Test { name, work: Work::Blocks(section.workload()?) });
        }
        if tests.is_empty() {
            return Err(PlanError {
                file: file.to_owned(),
                line: 1,
                message: "no job section; a job begins with its name in brackets, such as [journal]".to_owned(),
            });
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

/// One `key=value` line.
#[derive(Debug, Clone)]
struct Setting {
    key: &'static str,
    /// `None` for a key that stands alone.
    value: Option<String>,
    line: usize,
}

/// A job section with what `[global]` gave it.
#[derive(Debug, Clone)]
struct Section {
    file: String,
    name: String,
    line: usize,
    settings: Vec<Setting>,
}

/// Splits the text into job sections. A later setting goes before an earlier one, the section's own before the global one.
fn sections(file: &str, text: &str) -> Result<Vec<Section>, PlanError> {
    let mut global: Vec<Setting> = Vec::new();
    let mut sections: Vec<Section> = Vec::new();
    let mut in_global = false;
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let error = |message: String| PlanError { file: file.to_owned(), line, message };
        let content = raw.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = content.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or_else(|| error(format!("{content} is no section; write [name]")))?;
            in_global = name.trim() == "global";
            if !in_global {
                let (file, name) = (file.to_owned(), name.trim().to_owned());
                sections.push(Section { file, name, line, settings: global.clone() });
            }
            continue;
        }
        let (key, value) = match content.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim().to_owned())),
            None => (content, None),
        };
        let known = match key {
            "readwrite" => Some("rw"),
            "blocksize" => Some("bs"),
            key => KEYS.into_iter().find(|known| *known == key),
        };
        let Some(key) = known else {
            return Err(error(format!(
                "{key} is not understood and not ignored either; understood are {}",
                KEYS.join(", ")
            )));
        };
        let setting = Setting { key, value, line };
        match (in_global, sections.last_mut()) {
            (true, _) => global.push(setting),
            (false, Some(section)) => section.settings.push(setting),
            (false, None) => {
                return Err(error(format!("{key} stands before any section; put it under [global] or a job")));
            }
        }
    }
    Ok(sections)
}

impl Section {
    fn error(&self, line: usize, message: &str) -> PlanError {
        PlanError { file: self.file.clone(), line, message: message.to_owned() }
    }

    /// The setting that holds: the last one.
    fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|setting| setting.key == key)
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.value.as_deref()
    }

    fn line_of(&self, key: &str) -> usize {
        self.get(key).map_or(self.line, |setting| setting.line)
    }

    /// A value read by `read`, or an error that says what it `takes`.
    fn read<T>(&self, key: &str, takes: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, PlanError> {
        let Some(setting) = self.get(key) else { return Ok(None) };
        let value = setting.value.as_deref().unwrap_or_default();
        read(value).map(Some).ok_or_else(|| self.error(setting.line, &format!("{key}: {value:?} is not {takes}")))
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, PlanError> {
        if self.get(key).is_some_and(|setting| setting.value.is_none()) {
            return Ok(Some(true));
        }
        self.read(key, "0 or 1", |value| match value {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    fn whole(&self, key: &str, low: u64, high: u64) -> Result<Option<u64>, PlanError> {
        let takes = format!("a whole number from {low} to {high}");
        self.read(key, &takes, |value| value.parse().ok().filter(|number| (low..=high).contains(number)))
    }

    fn target(&self) -> Result<Option<(usize, String)>, PlanError> {
        match (self.text("filename"), self.text("directory")) {
            (Some(_), Some(_)) => {
                Err(self
                    .error(self.line_of("filename"), "give filename or directory, not both: one run has one target"))
            }
            (Some(name), None) if name.contains(':') => Err(self.error(
                self.line_of("filename"),
                &format!("filename: {name:?} names several files; one run has one target"),
            )),
            (Some(name), None) => Ok(Some((self.line_of("filename"), name.to_owned()))),
            (None, Some(name)) => Ok(Some((self.line_of("directory"), name.to_owned()))),
            (None, None) => Ok(None),
        }
    }

    /// The workload that the section asks for, with fio's own defaults.
    fn workload(&self) -> Result<Workload, PlanError> {
        let patterns = format!("one of {}, readwrite", Pattern::ALL.map(Pattern::name).join(", "));
        let pattern = self.read("rw", &patterns, Pattern::from_name)?.unwrap_or(Pattern::Read);
        let block = self
            .read("bs", "one size from 512 to 64m, such as 4k", |value| BlockBytes::new(bytes(value)?).ok())?
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
        let zero = self.flag("zero_buffers")?.unwrap_or(false);
        if zero && self.flag("refill_buffers")?.unwrap_or(false) {
            return Err(
                self.error(self.line_of("refill_buffers"), "zero_buffers and refill_buffers exclude each other")
            );
        }
        workload.content = if zero { Content::Zero } else { Content::Random };
        let size = self.read("size", "a size of at least one block, such as 1g", |value| {
            bytes(value).filter(|&size| size >= u64::from(block.get()))
        })?;
        // fio's size is each job's, ours is that of all jobs.
        let each = size.unwrap_or(workload.size_bytes / jobs);
        workload.size_bytes = each
            .checked_mul(jobs)
            .ok_or_else(|| self.error(self.line_of("size"), "size: times numjobs it is more than can be addressed"))?;
        workload.limit = self.limit(size, each / u64::from(block.get()))?;
        workload.warm_up = WarmUp(self.time("ramp_time")?.unwrap_or_default());
        workload.rate = self
            .read("rate_iops", "one number above 0, up to 10000000", |value| {
                value.parse().ok().filter(|&rate: &f64| rate > 0.0 && rate <= 1e7)
            })?
            .map(|per_second| Rate { per_second, arrivals: Arrivals::Constant });
        if workload.direct && block.get() % 512 != 0 {
            let message = format!("bs: direct I/O moves whole sectors of 512 B, and {} is no multiple", block.get());
            return Err(self.error(self.line_of("bs"), &message));
        }
        self.flag("group_reporting")?;
        Ok(workload)
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

    fn time(&self, key: &str) -> Result<Option<Duration>, PlanError> {
        self.read(key, "a time in seconds, or with us, ms, s, m, h", |value| {
            let digits = value.bytes().take_while(u8::is_ascii_digit).count();
            let (number, unit) = value.split_at(digits);
            let number: u64 = number.parse().ok()?;
            match unit {
                "us" => Some(Duration::from_micros(number)),
                "ms" => Some(Duration::from_millis(number)),
                "" | "s" => Some(Duration::from_secs(number)),
                "m" => number.checked_mul(60).map(Duration::from_secs),
                "h" => number.checked_mul(3600).map(Duration::from_secs),
                _ => None,
            }
            .filter(|time| *time <= Duration::from_hours(24 * 366))
        })
    }
}

/// A size as fio writes it: `4096`, `4k`, `1g`, `16MiB`. Powers of 1024, as fio has it unless told otherwise.
fn bytes(value: &str) -> Option<u64> {
    value.parse::<crate::size::ByteSize>().ok().map(|size| size.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn only(text: &str) -> Workload {
        match Plan::from_fio("job.fio", text).unwrap().tests.remove(0).work {
            Work::Blocks(workload) => workload,
            Work::Steps(_) => unreachable!("fio has no steps"),
        }
    }

    fn error(text: &str) -> String {
        Plan::from_fio("job.fio", text).unwrap_err().to_string()
    }

    #[test]
    fn the_one_line_test_for_ceph() {
        let journal = only(
            "[t]\nioengine=libaio\nfsync=1\ndirect=1\nbs=4k\niodepth=1\nrw=randwrite\nruntime=15\nsize=1g\ntime_based\n",
        );
        assert_eq!(journal.pattern, Pattern::RandWrite);
        assert_eq!((journal.sync, journal.sync_every), (SyncMethod::Fsync, 1));
        assert_eq!(journal.engine, EngineChoice::Libaio);
        assert_eq!(journal.limit, Limit::Time(Duration::from_secs(15)));
        assert!(journal.direct && journal.warm_up.0.is_zero());
    }

    #[test]
    fn the_folk_test_for_etcd() {
        let etcd = only("[t]\nrw=write\nioengine=sync\nfdatasync=1\nsize=22m\nbs=2300\n");
        assert_eq!(etcd.block_bytes.get(), 2300);
        assert_eq!(etcd.limit, Limit::Count((22 << 20) / 2300));
        assert!(!etcd.direct);
    }

    #[test]
    fn defaults_are_fio_s() {
        let job = only("[t]\nsize=1m\n");
        assert_eq!((job.pattern, job.block_bytes.get(), job.depth.get()), (Pattern::Read, 4096, 1));
        assert_eq!((job.engine, job.direct, job.invalidate), (EngineChoice::Psync, false, true));
    }

    #[test]
    fn global_holds_for_later_sections_and_sections_go_before_it() {
        let text =
            "; a comment\n[global]\nbs=8k\nsize=64m\nstonewall\n[a]\nrw=write\n[b]\nrw=randread\nbs=16k\n# another\n";
        let plan = Plan::from_fio("dir/job.fio", text).unwrap();
        let sizes: Vec<u32> = plan
            .tests
            .iter()
            .map(|test| match &test.work {
                Work::Blocks(workload) => workload.block_bytes.get(),
                Work::Steps(_) => 0,
            })
            .collect();
        assert_eq!((plan.name.as_str(), sizes), ("job", vec![8192, 16384]));
    }

    #[test]
    fn a_synchronous_engine_has_depth_1_and_size_is_each_job_s() {
        let job = only("[t]\nrw=randwrite\nioengine=psync\niodepth=32\nnumjobs=4\nsize=1g\n");
        assert_eq!((job.depth.get(), job.size_bytes), (1, 4 << 30));
        assert_eq!(only("[t]\nrw=randwrite\nioengine=io_uring\niodepth=32\nsize=1g\n").depth.get(), 32);
    }

    #[test]
    fn targets() {
        assert_eq!(Plan::from_fio("f", "[t]\nsize=1m\nfilename=/dev/sdx\n").unwrap().target.unwrap(), "/dev/sdx");
        assert_eq!(Plan::from_fio("f", "[t]\nsize=1m\ndirectory=/srv\n").unwrap().target.unwrap(), "/srv");
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        insta::assert_snapshot!(error("[t]\nsize=1m\nverify=crc32c\n"), @"job.fio:3: verify is not understood and not ignored either; understood are rw, bs, iodepth, numjobs, fsync, fdatasync, sync, direct, ioengine, runtime, time_based, size, filename, directory, rwmixread, rate_iops, ramp_time, stonewall, group_reporting, invalidate, zero_buffers, refill_buffers, name");
        insta::assert_snapshot!(error("[t]\nrw=trim\nsize=1m\n"), @r#"job.fio:2: rw: "trim" is not one of read, write, randread, randwrite, rw, randrw, readwrite"#);
        insta::assert_snapshot!(error("[t]\nbs=4k,8k\nsize=1m\n"), @r#"job.fio:2: bs: "4k,8k" is not one size from 512 to 64m, such as 4k"#);
        insta::assert_snapshot!(error("[t]\niodepth=0\nsize=1m\n"), @r#"job.fio:2: iodepth: "0" is not a whole number from 1 to 1024"#);
        insta::assert_snapshot!(error("[t]\nioengine=null\nsize=1m\n"), @r#"job.fio:2: ioengine: "null" is not an engine that flushmark has: sync, psync, pvsync, pvsync2, vsync, io_uring, libaio (for null, use --target null:)"#);
        insta::assert_snapshot!(error("[t]\nsync=yes\nsize=1m\n"), @r#"job.fio:2: sync: "yes" is not one of 0, none, 1, sync, dsync"#);
        insta::assert_snapshot!(error("[t]\ndirect=yes\nsize=1m\n"), @r#"job.fio:2: direct: "yes" is not 0 or 1"#);
        insta::assert_snapshot!(error("[t]\nrw=write\nfsync=1\nfdatasync=1\nsize=1m\n"), @"job.fio:4: fdatasync: a test has one sync method, and fsync asks for another");
        insta::assert_snapshot!(error("[a]\nsize=1m\n[b]\nsize=1m\n"), @"job.fio:3: fio runs sections at the same time, flushmark one after the other; add `stonewall` to this section");
        insta::assert_snapshot!(error("[a]\nsize=1m\n[a]\nsize=1m\nstonewall\n"), @"job.fio:3: there are two sections called a; rename one");
        insta::assert_snapshot!(error("[a]\nrw=write\n"), @"job.fio:1: a job needs a size or a runtime to know when it is done");
        insta::assert_snapshot!(error("[a]\ntime_based\nsize=1m\n"), @"job.fio:2: time_based needs a runtime");
        insta::assert_snapshot!(error("[a]\nruntime=soon\nsize=1m\n"), @r#"job.fio:2: runtime: "soon" is not a time in seconds, or with us, ms, s, m, h"#);
        insta::assert_snapshot!(error("rw=write\n"), @"job.fio:1: rw stands before any section; put it under [global] or a job");
        insta::assert_snapshot!(error("[broken\n"), @"job.fio:1: [broken is no section; write [name]");
        insta::assert_snapshot!(error(""), @"job.fio:1: no job section; a job begins with its name in brackets, such as [journal]");
        insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=x\n[b]\nsize=1m\nfilename=y\nstonewall\n"), @"job.fio:6: one run has one target, and another section names x");
        insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=x:y\n"), @r#"job.fio:3: filename: "x:y" names several files; one run has one target"#);
        insta::assert_snapshot!(error("[a]\nsize=1m\nfilename=x\ndirectory=y\n"), @"job.fio:3: give filename or directory, not both: one run has one target");
        insta::assert_snapshot!(error("[a]\nbs=1000\ndirect=1\nsize=1m\n"), @"job.fio:2: bs: direct I/O moves whole sectors of 512 B, and 1000 is no multiple");
        insta::assert_snapshot!(error("[a]\nsize=1m\nzero_buffers\nrefill_buffers\n"), @"job.fio:4: zero_buffers and refill_buffers exclude each other");
    }

    proptest! {
        #[test]
        fn any_text_is_a_plan_or_an_error(text in "\\PC{0,200}") {
            let _ = Plan::from_fio("f", &text);
        }

        #[test]
        fn text_near_a_job_is_a_plan_that_holds_together(lines in prop::collection::vec(
            (0..KEYS.len(), prop::sample::select(vec!["", "0", "1", "32", "4k", "1g", "15", "randwrite", "rw", "libaio", "dsync", "x"])), 0..12)
        ) {
            let settings: String = lines.iter().map(|(key, value)| format!("{}={value}\n", KEYS[*key])).collect();
            if let Ok(plan) = Plan::from_fio("f", &format!("[job]\n{settings}")) {
                for test in &plan.tests {
                    let Work::Blocks(workload) = &test.work else { panic!("fio has no steps") };
                    prop_assert!(workload.pattern.writes() || !workload.sync.is_durable());
                    prop_assert!(workload.size_per_job_bytes() >= u64::from(workload.block_bytes.get()));
                    prop_assert!(workload.engine != EngineChoice::Psync || workload.depth.get() == 1);
                }
            }
        }
    }
}
