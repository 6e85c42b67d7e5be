//! The workload that a section asks for, with fio's own defaults.

use super::NULL_TARGET;
use super::section::Section;
use super::value;
use crate::blocks::{
    Area, Arrivals, BlockBytes, Content, Depth, EngineChoice, Jobs, Layout, Limit, Rate, Room, Sharing, SyncTiming,
    Until, WarmUp, Workload,
};
use crate::pattern::Pattern;
use crate::plan::PlanError;
use crate::size::format_bytes;
use crate::sync::SyncMethod;

/// What a job without a size works on, all its processes together.
const DEFAULT_BYTES: u64 = 1 << 30;

impl Section {
    /// Checks that this section runs after the one before it.
    ///
    /// # Errors
    /// When fio would run both at the same time.
    pub fn follows(&self, before: &Section) -> Result<(), PlanError> {
        let stonewall = self.flag("stonewall")?.unwrap_or(false);
        match self.text("wait_for", "the name of a section")? {
            Some(name) if name == before.name => Ok(()),
            None if stonewall => Ok(()),
            Some(name) => Err(self.wrong(
                "wait_for",
                &format!(
                    "wait_for: flushmark runs sections one after the other; wait for {} instead of {name}",
                    before.name
                ),
            )),
            None => Err(self.error(
                self.line,
                "fio runs sections at the same time, flushmark one after the other; add `stonewall` to this section",
            )),
        }
    }

    /// The target that the section names, and in which line.
    ///
    /// # Errors
    /// When it names several.
    pub fn target(&self) -> Result<Option<(usize, String)>, PlanError> {
        let filename = self.text("filename", "the path of a file or device")?;
        let directory = self.text("directory", "the path of a directory")?;
        let single = |key, name: &str| {
            // A colon separates names; one that belongs to a name has a backslash before it.
            let separates = |(at, _)| !name[..at].ends_with('\\');
            if name.match_indices(':').any(separates) {
                return Err(self.wrong(key, &format!("{key}: {name:?} names several places; one run has one target")));
            }
            Ok(name.replace("\\:", ":"))
        };
        match (filename, directory) {
            (Some(filename), None) => Ok(Some((self.line_of("filename"), single("filename", &filename)?))),
            (None, Some(directory)) => Ok(Some((self.line_of("directory"), single("directory", &directory)?))),
            (Some(filename), Some(directory)) => {
                let (filename, directory) = (single("filename", &filename)?, single("directory", &directory)?);
                if filename.starts_with('/') {
                    let message = format!("filename: expected the name of a file in {directory} instead of {filename}");
                    return Err(self.wrong("filename", &message));
                }
                Ok(Some((self.line_of("filename"), format!("{}/{filename}", directory.trim_end_matches('/')))))
            }
            (None, None) if self.is_null() => Ok(Some((self.line_of("ioengine"), NULL_TARGET.to_owned()))),
            (None, None) => Ok(None),
        }
    }

    fn is_null(&self) -> bool {
        self.read("ioengine", "", |name| (name == "null").then_some(())).is_ok_and(|null| null.is_some())
    }

    /// Whether `filename` is that of a device, whose size fio takes where none is given.
    fn names_device(&self) -> bool {
        let is_device = |name: &str| name.starts_with("/dev/") && !name.starts_with("/dev/shm/");
        self.read("filename", "", |name| is_device(name).then_some(())).is_ok_and(|device| device.is_some())
    }

    /// The workload that the section asks for.
    ///
    /// # Errors
    /// The first setting that is wrong, or contradicts another.
    pub fn workload(&self) -> Result<Workload, PlanError> {
        let pattern = self.pattern()?;
        let block = self.block()?;
        let mut workload = Workload::new(pattern, block);
        workload.engine = self.engine()?;
        let depth = self.whole("iodepth", 1, 1024)?.unwrap_or(1);
        // fio's synchronous engines do one operation at a time, whatever iodepth says.
        let depth = if workload.engine == EngineChoice::Psync { 1 } else { depth };
        workload.depth = Depth::new(depth).map_err(|error| self.wrong("iodepth", &error.to_string()))?;
        let jobs = self.whole("numjobs", 1, 256)?.unwrap_or(1);
        workload.jobs = Jobs::new(jobs).map_err(|error| self.wrong("numjobs", &error.to_string()))?;
        self.whole("nrfiles", 1, 1)?;
        self.flag("stonewall")?;
        (workload.sync, workload.sync_every) = self.sync(pattern)?;
        // fio's asynchronous engines take a sync as one operation more (`fio_libaio_prep`, `fio_ioring_prep`).
        if workload.engine != EngineChoice::Psync {
            workload.sync_timing = SyncTiming::Queued;
        }
        workload.end_fsync = self.flag("end_fsync")?.unwrap_or(false) && pattern.writes();
        workload.direct = self.direct()?;
        workload.invalidate = self.flag("invalidate")?.unwrap_or(true);
        workload.read_percent = self.read_percent()?.unwrap_or(workload.read_percent);
        workload.content = self.content()?;
        workload.sharing = if self.has("filename") { Sharing::All } else { Sharing::Device };
        workload.layout = self.layout(pattern)?;
        if let Some(seed) = self.whole("randseed", 0, u64::MAX >> 1)? {
            workload.seed = seed;
        }
        (workload.size, workload.limit) = self.extent(block)?;
        workload.offset_bytes = self.offset("offset", block)?;
        workload.offset_increment_bytes = self.offset("offset_increment", block)?;
        let addressable = u128::from(workload.size.bytes(Room::Unlimited))
            + u128::from(workload.offset_bytes)
            + u128::from(workload.offset_increment_bytes) * u128::from(jobs);
        if i64::try_from(addressable).is_err() || workload.size.bytes(Room::Unlimited).checked_mul(jobs).is_none() {
            let message = "size: size, offset and offset_increment of all jobs together are more than can be addressed";
            return Err(self.wrong("size", message));
        }
        workload.warm_up = WarmUp(self.time("ramp_time")?.unwrap_or_default());
        workload.rate = self.rate(pattern)?;
        if workload.direct && block.get() % 512 != 0 {
            let message = format!(
                "bs: direct I/O moves whole sectors of 512 B, and {} B is not a multiple (fio's k is 1024, its KiB 1000)",
                block.get()
            );
            return Err(self.wrong("bs", &message));
        }
        Ok(workload)
    }

    fn block(&self) -> Result<BlockBytes, PlanError> {
        let size = |value: &str| BlockBytes::new(value::number(value)?).ok();
        let bs = self.read("bs", "one size from 512 to 64m, such as 4k", size)?;
        let range = self.read("bsrange", "a range of one size, such as 4k-4k", |value| {
            let (low, high) = value.split_once('-')?;
            size(low).filter(|&low| Some(low) == size(high))
        })?;
        let block = if self.later("bs", "bsrange") == Some("bsrange") { range } else { bs };
        block.map_or_else(|| BlockBytes::new(4096), Ok).map_err(|error| self.wrong("bs", &error.to_string()))
    }

    fn pattern(&self) -> Result<Pattern, PlanError> {
        let patterns = format!("one of {}, readwrite", Pattern::ALL.map(Pattern::name).join(", "));
        Ok(self.read("rw", &patterns, Pattern::from_name)?.unwrap_or(Pattern::Read))
    }

    fn direct(&self) -> Result<bool, PlanError> {
        let (direct, buffered) = (self.flag("direct")?, self.flag("buffered")?);
        // As in fio, the last one holds.
        Ok(match self.later("direct", "buffered") {
            Some("buffered") => !buffered.unwrap_or(true),
            _ => direct.unwrap_or(false),
        })
    }

    fn read_percent(&self) -> Result<Option<u8>, PlanError> {
        let (reads, writes) = (self.whole("rwmixread", 1, 99)?, self.whole("rwmixwrite", 1, 99)?);
        Ok(match self.later("rwmixread", "rwmixwrite") {
            Some("rwmixwrite") => writes.map(|percent| 100 - percent as u8),
            _ => reads.map(|percent| percent as u8),
        })
    }

    fn content(&self) -> Result<Content, PlanError> {
        let zero = self.flag("zero_buffers")?.unwrap_or(false);
        let refill = self.flag("refill_buffers")?.unwrap_or(false);
        match (zero, refill) {
            (true, true) => Err(self.wrong("refill_buffers", "zero_buffers and refill_buffers exclude each other")),
            (true, false) => Ok(Content::Zero),
            (false, _) => Ok(Content::Random),
        }
    }

    /// What a new file is made of (`extend_file` in `filesetup.c`): written through for reads and with `overwrite`, else what `fallocate` leaves.
    fn layout(&self, pattern: Pattern) -> Result<Layout, PlanError> {
        let overwrite = self.flag("overwrite")?.unwrap_or(false);
        let fallocated =
            self.read("fallocate", "one of native, posix, 1, none, 0; keep and truncate are not supported", |value| {
                match value {
                    "native" | "posix" | "1" => Some(Layout::PreallocatedOnce),
                    "none" | "0" => Some(Layout::Empty),
                    _ => None,
                }
            })?;
        if pattern.reads() || overwrite {
            return Ok(Layout::Overwrite);
        }
        Ok(fallocated.unwrap_or(Layout::PreallocatedOnce))
    }

    fn offset(&self, key: &str, block: BlockBytes) -> Result<u64, PlanError> {
        let takes = format!("a size that is a multiple of bs, {}", format_bytes(u64::from(block.get())));
        let aligned = |bytes: &u64| bytes % u64::from(block.get()) == 0;
        Ok(self.read(key, &takes, |value| value::number(value).filter(aligned))?.unwrap_or(0))
    }

    fn rate(&self, pattern: Pattern) -> Result<Option<Rate>, PlanError> {
        let arrivals = self.read("rate_process", "one of linear, poisson", |value| match value {
            "linear" => Some(Arrivals::Constant),
            "poisson" => Some(Arrivals::Poisson),
            _ => None,
        })?;
        let rate = self.whole("rate_iops", 0, 10_000_000)?.filter(|&rate| rate > 0);
        let offloaded = self.read("io_submit_mode", "one of inline, offload", |value| match value {
            "inline" => Some(false),
            "offload" => Some(true),
            _ => None,
        })?;
        let Some(per_second) = rate else {
            if offloaded == Some(true) {
                let message = "io_submit_mode: flushmark has no separate submission threads; with rate_iops it needs \
                               none, otherwise use inline";
                return Err(self.wrong("io_submit_mode", message));
            }
            return Ok(None);
        };
        if pattern.is_mixed() {
            // fio paces each direction by itself, which also overrides rwmixread.
            let message = "rate_iops: fio holds reads and writes to this rate each, flushmark has one rate for both; \
                           use rw=read or rw=write, or a plan in TOML";
            return Err(self.wrong("rate_iops", message));
        }
        let arrivals = arrivals.unwrap_or(Arrivals::Constant);
        Ok(Some(Rate { per_second: per_second as f64, arrivals }))
    }

    fn engine(&self) -> Result<EngineChoice, PlanError> {
        let takes = "an engine that flushmark has: sync, psync, pvsync, pvsync2, vsync, io_uring, libaio, null";
        let engine = self.read("ioengine", takes, |value| match value {
            "sync" | "psync" | "pvsync" | "pvsync2" | "vsync" => Some(EngineChoice::Psync),
            "io_uring" => Some(EngineChoice::IoUring),
            "libaio" => Some(EngineChoice::Libaio),
            "null" => Some(EngineChoice::Auto),
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
            [(first, ..), .., (last, ..)] => {
                let message = format!("{last}: a test has one sync method, and {first} asks for another");
                Err(self.wrong(last, &message))
            }
        }
    }

    /// What each job works on, and when it ends.
    fn extent(&self, block: BlockBytes) -> Result<(Area, Limit), PlanError> {
        let block_bytes = u64::from(block.get());
        let bytes = |value: &str| value::number(value).filter(|&size| size >= block_bytes);
        let takes = "a size of at least one block, such as 1g";
        let area = self.read("size", &format!("{takes}, or 1% to 100%"), |value| match value.strip_suffix('%') {
            Some(percent) => percent.parse().ok().filter(|percent| (1..=100).contains(percent)).map(Area::Percent),
            None => bytes(value).map(Area::Bytes),
        })?;
        let file = self.read("filesize", "one size of at least one block, such as 1g", bytes)?;
        let io_bytes = self.read("io_size", takes, bytes)?;
        let loops = self.whole("loops", 1, 1_000_000_000)?.unwrap_or(1);
        let jobs = self.whole("numjobs", 1, 256)?.unwrap_or(1);
        let each = match (area, file) {
            (Some(Area::Percent(_)), Some(_)) => {
                return Err(self.wrong("filesize", "filesize: size is a share of the file; give one of the two"));
            }
            (_, Some(file)) => Area::Bytes(file),
            (Some(area), None) => area,
            (None, None) if self.names_device() => Area::Percent(100),
            (None, None) => Area::Bytes((DEFAULT_BYTES / jobs).max(block_bytes)),
        };
        // With a file size, size is what each job does before it ends.
        let once = match (io_bytes, area, file) {
            (Some(bytes), ..) => Some(bytes),
            (None, Some(Area::Bytes(size)), Some(file)) => Some(size.min(file)),
            (None, Some(Area::Bytes(size)), None) => Some(size),
            (None, None | Some(Area::Percent(_) | Area::Whole { .. }), file) => file,
        };
        let count = once.map(|bytes| (bytes / block_bytes).saturating_mul(loops));
        let most = self.whole("number_ios", 1, u64::MAX >> 1)?;
        let count = [count, most].into_iter().flatten().min();
        Ok((each, self.limit(area, count)?))
    }

    fn limit(&self, area: Option<Area>, count: Option<u64>) -> Result<Limit, PlanError> {
        let time = self.time("runtime")?.filter(|time| !time.is_zero());
        let time_based = self.flag("time_based")?.unwrap_or(false);
        match (time, count) {
            (None, _) if time_based => Err(self.wrong("time_based", "time_based needs a runtime")),
            (None, None) if area.is_some() => {
                Err(self.wrong("size", "size: with a share of the target, add a runtime or io_size"))
            }
            (None, None) => Err(self.error(self.line, "a job needs a size or a runtime to know when it is done")),
            (None, Some(count)) => Ok(Limit::Count(count)),
            (Some(time), Some(count)) if !time_based => Ok(Limit::TimeAndCount { time, count, until: Until::First }),
            (Some(time), _) => Ok(Limit::Time(time)),
        }
    }
}
