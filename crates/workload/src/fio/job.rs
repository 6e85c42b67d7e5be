//! Builds the workload of a section, with fio's defaults.

use std::time::Duration;

use super::engine::FioEngine;
use super::libblkio::LIBBLKIO;
use super::rbd::RBD;
use super::section::Section;
use super::value;
use super::zones::ZoneMode;
use crate::blocks::{
    Area, Arrivals, BlockBytes, Content, Depth, EngineChoice, Jobs, Layout, Limit, Rate, Room,
    Sharing, SyncTiming, Until, WarmUp, Workload,
};
use crate::dedupe::{Dedupe, DedupeSource};
use crate::ending::Ends;
use crate::files::{FileOrder, JobFiles, SyncedFile};
use crate::latency_target::LatencyTarget;
use crate::order::BlockOrder;
use crate::pacing::{Flow, RateMin, ThinkTime};
use crate::pattern::Pattern;
use crate::plan::PlanError;
use crate::size::format_bytes;
use crate::sizes::{BlockSizes, CoarseAlignment, SizeShare};
use crate::steady::{SteadyChange, SteadyQuantity, UntilSteady};
use crate::sync::SyncMethod;
use crate::target::TargetName;

/// A range with more sizes is a typing error.
const RANGE_SIZES_MAX: u32 = 1024;
const RATE_MAX: f64 = 10_000_000.0;

/// The start of a section's work, relative to the previous sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// After all previous sections have ended.
    Alone,
    /// At the same time as the previous section.
    WithPrevious,
}

impl Section {
    /// The start of the section, given the sections `before` it.
    ///
    /// # Errors
    /// Fails if it waits for one section but not for another that runs concurrently with it.
    pub fn starts(&self, before: &[Section]) -> Result<Start, PlanError> {
        let stonewall = self.flag("stonewall")?.unwrap_or(false);
        let waits_for = self.text("wait_for", "the name of a section")?;
        let [.., last] = before else { return Ok(Start::Alone) };
        match waits_for {
            _ if stonewall => Ok(Start::Alone),
            None => Ok(Start::WithPrevious),
            Some(name)
                if name == last.name
                    && last.starts(&before[..before.len() - 1])? == Start::Alone =>
            {
                Ok(Start::Alone)
            }
            // The sections before this one that run together, and those that have ended by then.
            Some(name) if Section::ended_before_last(before)?.any(|ended| ended.name == name) => {
                Ok(Start::WithPrevious)
            }
            Some(name) => {
                let message = format!(
                    "wait_for: a section waits for all previous sections, not only for {name}; use \
                     stonewall"
                );
                Err(self.wrong("wait_for", &message))
            }
        }
    }

    /// The sections that have ended when the last one starts.
    fn ended_before_last(before: &[Section]) -> Result<impl Iterator<Item = &Section>, PlanError> {
        let mut first = before.len().saturating_sub(1);
        while first > 0 && before[first].starts(&before[..first])? == Start::WithPrevious {
            first -= 1;
        }
        Ok(before[..first].iter())
    }

    /// The target of the section, with its line.
    ///
    /// # Errors
    /// Fails if there are several targets.
    pub fn target(&self) -> Result<Option<(usize, String)>, PlanError> {
        if self.has_engine(LIBBLKIO) {
            return self.libblkio_target();
        }
        if let Some(image) = self.rbd_target()? {
            return Ok(Some(image));
        }
        let filename = self.text("filename", "the path of a file or device")?;
        let directory = self.text("directory", "the path of a directory")?;
        let single = |key, name: &str| {
            // A colon separates names; one that is part of a name is escaped with a backslash.
            let separates = |(at, _)| !name[..at].ends_with('\\');
            if name.match_indices(':').any(separates) {
                return Err(self.wrong(
                    key,
                    &format!("{key}: {name:?} is a list of targets; expected a single one"),
                ));
            }
            Ok(name.replace("\\:", ":"))
        };
        if let Some(uri) = self.export()? {
            let Some(key) = ["filename", "directory"].into_iter().find(|key| self.has(key)) else {
                return Ok(Some((self.line_of("uri"), uri)));
            };
            let message = format!("{key}: ioengine=nbd has no files; remove it, uri is the target");
            return Err(self.wrong(key, &message));
        }
        match (filename, directory) {
            (Some(filename), None) => {
                Ok(Some((self.line_of("filename"), single("filename", &filename)?)))
            }
            (None, Some(directory)) => {
                Ok(Some((self.line_of("directory"), single("directory", &directory)?)))
            }
            (Some(filename), Some(directory)) => {
                let (filename, directory) =
                    (single("filename", &filename)?, single("directory", &directory)?);
                if filename.starts_with('/') {
                    let message = format!(
                        "filename: expected a file name in {directory} instead of {filename}"
                    );
                    return Err(self.wrong("filename", &message));
                }
                Ok(Some((
                    self.line_of("filename"),
                    format!("{}/{filename}", directory.trim_end_matches('/')),
                )))
            }
            (None, None) if self.has_engine("null") => {
                Ok(Some((self.line_of("ioengine"), TargetName::Null.to_string())))
            }
            (None, None) => Ok(None),
        }
    }

    /// Returns `true` if the section has the engine of this name.
    pub(super) fn has_engine(&self, engine: &str) -> bool {
        self.read("ioengine", "", |name| (name == engine).then_some(()))
            .is_ok_and(|found| found.is_some())
    }

    /// The address of the export, with `ioengine=nbd`.
    fn export(&self) -> Result<Option<String>, PlanError> {
        let takes = "an NBD address such as nbd://HOST/EXPORT or nbd+unix:///EXPORT?socket=PATH";
        let is_address = |uri: &str| matches!(TargetName::parse(uri), TargetName::Nbd(_));
        let uri =
            self.read("uri", takes, |uri| Some(uri.to_owned()).filter(|uri| is_address(uri)))?;
        match (self.has_engine("nbd"), uri) {
            (true, None) => {
                Err(self.wrong("ioengine", &format!("ioengine=nbd requires uri, {takes}")))
            }
            (false, Some(_)) => Err(self.wrong("uri", "uri requires ioengine=nbd")),
            (_, uri) => Ok(uri),
        }
    }

    /// The workload of the section.
    ///
    /// # Errors
    /// Fails at the first setting that is invalid or contradicts another.
    pub fn workload(&self) -> Result<Workload, PlanError> {
        let engine = self.engine()?;
        self.check_libblkio()?;
        if let FioEngine::Entries(pattern) = engine {
            return self.entries(pattern);
        }
        if let Some(compute) = self.compute()? {
            return self.computing(compute);
        }
        let (rw, skip) = self.pattern()?;
        let pattern = engine
            .pattern(rw)
            .ok_or_else(|| self.wrong("rw", &format!("rw: {}", engine.takes(rw))))?;
        let (block, sizes) = self.blocks(rw)?;
        let mut workload = Workload::new(pattern, block);
        workload.sizes = sizes;
        workload.order = self.order(pattern, skip, workload.largest_bytes())?;
        workload.engine = engine.interface();
        let depth = self.whole("iodepth", 1, 1024)?.unwrap_or(1);
        // fio's synchronous engines perform one operation at a time and ignore iodepth.
        let depth = if workload.engine == EngineChoice::Psync { 1 } else { depth };
        let depth = if pattern.transfers() { depth } else { self.trims(&mut workload, depth)? };
        workload.depth =
            Depth::new(depth).map_err(|error| self.wrong("iodepth", &error.to_string()))?;
        workload.jobs = self.jobs()?;
        workload.files = self.files()?;
        if let Some(order) = self.steady_fill(&workload)? {
            workload.order = order;
        }
        self.flag("stonewall")?;
        (workload.sync, workload.sync_every) = self.sync(rw)?;
        if workload.sync.is_durable() && !pattern.transfers() {
            let key = ["fsync", "fdatasync", "sync"].into_iter().find(|key| self.has(key));
            let key = key.unwrap_or("sync");
            let message = format!("{key}: {} writes no data to sync; remove it", pattern.name());
            return Err(self.wrong(key, &message));
        }
        // fio's asynchronous engines issue a sync as one more operation (`fio_libaio_prep`,
        // `fio_ioring_prep`).
        if workload.engine != EngineChoice::Psync {
            workload.sync_timing = SyncTiming::Queued;
        }
        if workload.files.per_job > 1 && workload.sync.call().is_some() {
            workload.files.synced = SyncedFile::Next;
        }
        workload.end_fsync = self.flag("end_fsync")?.unwrap_or(false) && rw.writes() && !rw.trims();
        // Neither engine moves data, and fio's falloc ignores the option.
        workload.direct = self.direct()? && (pattern.transfers() || pattern.trims());
        workload.invalidate = self.flag("invalidate")?.unwrap_or(true);
        workload.read_percent = self.read_percent()?.unwrap_or(workload.read_percent);
        workload.content = self.content()?;
        workload.dedupe = self.dedupe()?.filter(|_| pattern.transfers());
        let named = ["filename", "libblkio_path", "uri"].into_iter().any(|key| self.has(key));
        let shared = named || self.has_engine(RBD);
        workload.sharing = if shared { Sharing::All } else { Sharing::Device };
        let laid_out = self.layout(rw, engine)?;
        workload.layout = self.unprepared(rw)?.unwrap_or(laid_out);
        workload.existing_only = self.flag("allow_file_create")? == Some(false);
        if let Some(seed) = self.whole("randseed", 0, u64::MAX >> 1)? {
            workload.seed = seed;
        }
        self.extent(&mut workload)?;
        workload.offset_bytes = self.offset("offset", workload.unit_bytes())?;
        workload.offset_increment_bytes = self.offset("offset_increment", workload.unit_bytes())?;
        self.check_addressable(&workload)?;
        workload.warm_up = WarmUp(self.time("ramp_time")?.unwrap_or_default());
        workload.rate = self.rate(&workload)?;
        if let Some(Rate { per_second, reads_per_second: Some(reads), .. }) = workload.rate {
            // As in fio, the rates of a mix override its percentage of reads.
            workload.read_percent = (100.0 * reads / per_second).round().clamp(1.0, 99.0) as u8;
        }
        workload.rate_min = self.rate_min(&workload)?;
        workload.think = self.think(&workload)?;
        workload.latency_target = self.latency_target(&workload)?;
        workload.until_steady = self.steady(&workload)?;
        workload.flow = self.flow()?;
        workload.start_delay = self.start_delay(&workload)?;
        workload.donor = self.donor(&workload)?;
        workload.zoning = self.zoning(&workload)?;
        workload.verify = self.verification(&workload)?;
        workload.atomic = self.atomic(&workload)?;
        workload.tolerance = self.tolerance()?;
        workload.fills = self.fills_device(pattern)?;
        workload.priorities = self.priorities(&workload)?;
        workload.processors = self.processors()?;
        if workload.direct && !workload.is_aligned_to(512) {
            let key =
                ["bssplit", "bsrange", "bs"].into_iter().find(|key| self.has(key)).unwrap_or("bs");
            let what = match workload.sizes {
                None => format!("{} B is not a multiple of 512 B", block.get()),
                Some(_) => "not all of these sizes are multiples of 512 B".to_owned(),
            };
            let message = format!(
                "{key}: {what}, as direct I/O requires (in fio, k is 1024 and KiB is 1000)"
            );
            return Err(self.wrong(key, &message));
        }
        Ok(workload)
    }

    /// Checks that the parts of all jobs have offsets that the kernel can address.
    fn check_addressable(&self, workload: &Workload) -> Result<(), PlanError> {
        let addressable = u128::from(workload.size.bytes(Room::Unlimited))
            + u128::from(workload.offset_bytes)
            + u128::from(workload.offset_increment_bytes) * u128::from(workload.jobs.get());
        if i64::try_from(addressable).is_err()
            || workload
                .size
                .bytes(Room::Unlimited)
                .checked_mul(workload.jobs.get().into())
                .is_none()
        {
            let message = "size: the sum of size, offset and offset_increment of all jobs is too \
                           large to address";
            return Err(self.wrong("size", message));
        }
        Ok(())
    }

    /// The delay of the first operation.
    pub(super) fn start_delay(&self, workload: &Workload) -> Result<Duration, PlanError> {
        let delay = self.time("startdelay")?.unwrap_or_default();
        if !delay.is_zero() && !workload.warm_up.0.is_zero() {
            let message = "startdelay: flushmark warms up before the common start of all sections; \
                           remove ramp_time";
            return Err(self.wrong("startdelay", message));
        }
        Ok(delay)
    }

    /// The files of each job.
    fn files(&self) -> Result<JobFiles, PlanError> {
        let files = self.whole("nrfiles", 1, JobFiles::PER_JOB_MAX.into())?.unwrap_or(1);
        let takes =
            format!("at least the {files} of nrfiles, because all files of a job stay open");
        self.read("openfiles", &takes, |text| {
            value::number(text).filter(|open| *open == 0 || *open >= files)
        })?;
        let takes = "roundrobin, random or sequential, or one of these with the operations of a \
                     turn, such as random:8";
        let service = self.read("file_service_type", takes, |text| {
            let (order, turn) =
                text.split_once(':').map_or((text, None), |(order, turn)| (order, Some(turn)));
            let order = match order {
                "roundrobin" => FileOrder::RoundRobin,
                "random" => FileOrder::Random,
                "sequential" => FileOrder::Sequential,
                _ => return None,
            };
            let turn = turn.map_or(Some(1), |turn| turn.parse().ok())?;
            (1..=JobFiles::TURN_MAX).contains(&turn).then_some((order, turn))
        })?;
        // As in fio, a list of names takes the place of numbered files.
        if files == 1 || self.has("filename") {
            return Ok(JobFiles::ONE);
        }
        let (order, turn) = service.unwrap_or((JobFiles::ONE.order, JobFiles::ONE.turn));
        // A turn of fio's sequential service lasts until the file is done, whatever the number.
        let turn = if order == FileOrder::Sequential { 1 } else { turn };
        Ok(JobFiles { per_job: files as u32, order, turn, ..JobFiles::ONE })
    }

    /// The sizes of reads and writes, as in fio: `bssplit` overrides `bsrange`, which overrides
    /// `bs`.
    pub(super) fn blocks(
        &self,
        pattern: Pattern,
    ) -> Result<(BlockBytes, Option<BlockSizes>), PlanError> {
        let resets = pattern.trims() && self.zone_mode()? == ZoneMode::Zoned;
        let block = |bytes: u64| {
            if resets { BlockBytes::of_zone(bytes) } else { BlockBytes::new(bytes).ok() }
        };
        let size = |text: &str| Some(block(value::number(text)?)?.get());
        let single = |text: &str| Some(vec![SizeShare { bytes: size(text)?, weight: 1 }]);
        let bs = self.directions(
            "bs",
            "a size from 512 to 64m, such as 4k, or one for reads and one for writes",
            single,
        )?;
        let takes = "a range of sizes from 512 to 64m with at most 1024 multiples of the first, \
                     such as 4k-16k";
        let range = self.directions("bsrange", takes, |text| {
            let (low, high) = text.split_once('-')?;
            let (low, high) = (size(low)?, size(high)?);
            let multiples = 1..=(high / low);
            let share = |times: u32| SizeShare { bytes: low * times, weight: 1 };
            (low <= high && high / low <= RANGE_SIZES_MAX).then(|| multiples.map(share).collect())
        })?;
        let takes = "sizes with percentages that add up to 100, such as 4k/60:64k/40";
        let sized = self.directions("bssplit", takes, |text| split(text, size))?;
        let default = || vec![SizeShare { bytes: 4096, weight: 1 }];
        let [reads, writes] = [0, 1].map(|direction| {
            let given = [&sized, &range, &bs].into_iter().find_map(|list| list[direction].clone());
            given.unwrap_or_else(default)
        });
        let least =
            |shares: &[SizeShare]| shares.iter().map(|share| share.bytes).min().unwrap_or(4096);
        // Operations that do not occur have no size.
        let (reads, writes) = match (pattern.reads(), pattern.writes()) {
            (true, false) => (reads.clone(), reads),
            (false, _) => (writes.clone(), writes),
            (true, true) => (reads, writes),
        };
        let align = self.read("blockalign", "one size from 512 to 64m, such as 4k", size)?;
        // As in fio: only random blocks can have an alignment other than their smallest size.
        let align = align.filter(|_| pattern.is_random());
        let key =
            ["bssplit", "bsrange", "bs"].into_iter().find(|key| self.has(key)).unwrap_or("bs");
        let smallest = least(&reads).min(least(&writes));
        let align = match align {
            Some(align) => align,
            None => smallest,
        };
        let coarse = CoarseAlignment {
            reads: least(&reads) > least(&writes),
            bytes: least(&reads).max(least(&writes)),
        };
        let given = self.has("blockalign") || !pattern.is_random() || coarse.bytes == smallest;
        let coarse = (!given).then_some(coarse);
        // The numbering of blocks through several files knows one alignment only.
        let several = coarse.is_some() && self.files()?.per_job > 1;
        if coarse.is_some_and(|coarse| !coarse.bytes.is_multiple_of(smallest) || several) {
            let message = format!(
                "{key}: fio aligns reads to {} B and writes to {} B; set blockalign to use one \
                 alignment for both",
                least(&reads),
                least(&writes)
            );
            return Err(self.wrong(key, &message));
        }
        let block = block(u64::from(smallest)).unwrap_or(BlockBytes::MIN);
        let uniform =
            align == smallest && reads.iter().chain(&writes).all(|share| share.bytes == smallest);
        Ok((block, (!uniform).then_some(BlockSizes { align_bytes: align, coarse, reads, writes })))
    }

    /// A value for reads, then, separated by commas, one for writes and one for trims; returns that
    /// of reads, and that of trims or else writes. A value that is left out is the one before it;
    /// an empty one keeps its default.
    pub(super) fn directions<T: Clone>(
        &self,
        key: &str,
        takes: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<[Option<T>; 2], PlanError> {
        let second = if self.pattern()?.0.trims() { 2 } else { 1 };
        let values = self.read(key, takes, |text| {
            let parts: Vec<&str> = text.split(',').collect();
            if parts.len() > 3 || parts.iter().all(|part| part.is_empty()) {
                return None;
            }
            let one = |part: &str| if part.is_empty() { Some(None) } else { read(part).map(Some) };
            let all = parts.iter().map(|part| one(part)).collect::<Option<Vec<Option<T>>>>()?;
            let changes = all.get(second).or(all.last()).cloned().flatten();
            Some([all[0].clone(), changes])
        })?;
        Ok(values.unwrap_or([None, None]))
    }

    /// The pattern, and the number of bytes that a sequential pattern skips after each block.
    pub(super) fn pattern(&self) -> Result<(Pattern, Option<i64>), PlanError> {
        let names: Vec<&str> = FioEngine::patterns().map(Pattern::name).collect();
        let patterns = format!("one of {}, readwrite", names.join(", "));
        let known = |name: &str| {
            Pattern::from_name(name)
                .filter(|pattern| FioEngine::patterns().any(|known| known == *pattern))
        };
        let pattern = self.read("rw", &patterns, |text| {
            let Some((name, skip)) = text.split_once(':') else {
                return Some((known(text)?, None));
            };
            let bytes =
                |text: &str| value::number(text).and_then(|bytes| i64::try_from(bytes).ok());
            let skip = match skip.strip_prefix('-') {
                Some(back) => -bytes(back)?,
                None => bytes(skip)?,
            };
            Some((known(name)?, Some(skip)))
        })?;
        Ok(pattern.unwrap_or((Pattern::Read, None)))
    }

    fn order(
        &self,
        pattern: Pattern,
        skip: Option<i64>,
        largest: u32,
    ) -> Result<BlockOrder, PlanError> {
        let takes = "random, zipf:THETA, pareto:SHARE, sequence:BLOCK,…, or zoned:DRAWS/BLOCKS:… \
                     with percentages that add up \
                     to 100";
        let distribution =
            self.read("random_distribution", takes, BlockOrder::from_distribution)?;
        let goes_on = self.flag("random_sequence_stride")?.unwrap_or(false);
        let distribution = distribution.map(|order| match order {
            BlockOrder::Sequence { blocks, .. } => {
                BlockOrder::Sequence { blocks, advances: goes_on }
            }
            order => order,
        });
        if let Some(strided) = self.strided(pattern, skip, largest)? {
            return Ok(strided);
        }
        match skip {
            Some(_) if pattern.is_random() => {
                let message = format!(
                    "rw: a number after {} repeats each random position for several blocks; \
                     flushmark draws every block",
                    pattern.name()
                );
                Err(self.wrong("rw", &message))
            }
            Some(skip) if skip < 0 && skip.unsigned_abs() < u64::from(largest) => {
                let message =
                    format!("rw: a block of {largest} B is larger than the {} B to go back", -skip);
                Err(self.wrong("rw", &message))
            }
            Some(0) | None => Ok(distribution.filter(|_| pattern.is_random()).unwrap_or_default()),
            Some(skip) => Ok(BlockOrder::SkipBytes(skip)),
        }
    }

    pub(super) fn direct(&self) -> Result<bool, PlanError> {
        let (direct, buffered) = (self.flag("direct")?, self.flag("buffered")?);
        // As in fio, the last one takes effect.
        Ok(match self.later("direct", "buffered") {
            Some("buffered") => !buffered.unwrap_or(true),
            _ => direct.unwrap_or(false),
        })
    }

    pub(super) fn read_percent(&self) -> Result<Option<u8>, PlanError> {
        let (reads, writes) = (self.whole("rwmixread", 1, 99)?, self.whole("rwmixwrite", 1, 99)?);
        Ok(match self.later("rwmixread", "rwmixwrite") {
            Some("rwmixwrite") => writes.map(|percent| 100 - percent as u8),
            _ => reads.map(|percent| percent as u8),
        })
    }

    pub(super) fn content(&self) -> Result<Content, PlanError> {
        let zero = self.flag("zero_buffers")?.unwrap_or(false);
        let refill = self.flag("refill_buffers")?.unwrap_or(false);
        let compressed = self.whole("buffer_compress_percentage", 0, 100)?.unwrap_or(0) as u8;
        let key = if compressed > 0 { "buffer_compress_percentage" } else { "dedupe_percentage" };
        if zero && (compressed > 0 || self.dedupe()?.is_some()) {
            return Err(self.wrong(key, &format!("zero_buffers and {key} exclude each other")));
        }
        match (zero, refill) {
            (true, true) => {
                Err(self
                    .wrong("refill_buffers", "zero_buffers and refill_buffers exclude each other"))
            }
            (true, false) => Ok(Content::Zero),
            (false, _) => Ok(match compressed {
                0 => Content::Random,
                1..=99 => Content::Compressible(compressed),
                _ => Content::Zero,
            }),
        }
    }

    /// The duplicates among the section's writes, without those of other sections.
    pub(super) fn dedupe(&self) -> Result<Option<Dedupe>, PlanError> {
        let percent = self.whole("dedupe_percentage", 0, 100)?.unwrap_or(0) as u8;
        let set = self.whole("dedupe_working_set_percentage", 1, 100)?.unwrap_or(5) as u8;
        let source = self.read("dedupe_mode", "one of repeat, working_set", |mode| match mode {
            "repeat" => Some(DedupeSource::Previous),
            "working_set" => Some(DedupeSource::WorkingSet(set)),
            _ => None,
        })?;
        let source = source.unwrap_or(DedupeSource::Previous);
        if percent > 0 && source == DedupeSource::WorkingSet(set) && percent + set > 100 {
            let message = format!(
                "dedupe_working_set_percentage: {set} % of the job's size cannot be unique if \
                 {percent} % of the writes are duplicates; use at most {}",
                100 - percent
            );
            return Err(self.wrong("dedupe_working_set_percentage", &message));
        }
        let is_global = self.flag("dedupe_global")?.unwrap_or(false);
        let shared_jobs = if is_global { self.jobs()?.get() } else { 0 };
        Ok((percent > 0).then_some(Dedupe { percent, source, first_job: 0, shared_jobs }))
    }

    pub(super) fn jobs(&self) -> Result<Jobs, PlanError> {
        let jobs = self.whole("numjobs", 1, 256)?.unwrap_or(1);
        Jobs::new(jobs).map_err(|error| self.wrong("numjobs", &error.to_string()))
    }

    /// The initial state of a new file (`extend_file` in `filesetup.c`): written once for reads and
    /// with `overwrite`, otherwise the state that `fallocate` leaves.
    pub(super) fn layout(&self, rw: Pattern, engine: FioEngine) -> Result<Layout, PlanError> {
        let overwrite = self.flag("overwrite")?.unwrap_or(false);
        let fallocated = self.read(
            "fallocate",
            "one of native, posix, 1, none, 0; keep and truncate are not supported",
            |value| match value {
                "native" | "posix" | "1" => Some(Layout::PreallocatedOnce),
                "none" | "0" => Some(Layout::Empty),
                _ => None,
            },
        )?;
        // A file that is only trimmed is written first, so there is something to discard, unless
        // the job file says how to make it. With falloc, the space that another section reserves is
        // enough.
        let trims_data = rw.trims() && engine != FioEngine::Falloc && fallocated.is_none();
        if rw.reads() || trims_data || overwrite {
            return Ok(Layout::Overwrite);
        }
        Ok(fallocated.unwrap_or(Layout::PreallocatedOnce))
    }

    /// The zones of `zonemode=strided`.
    fn strided(
        &self,
        pattern: Pattern,
        skip: Option<i64>,
        largest: u32,
    ) -> Result<Option<BlockOrder>, PlanError> {
        if self.zone_mode()? != ZoneMode::Strided {
            return Ok(None);
        }
        let takes = format!("a size of at least one block, {largest} B");
        let size = |value: &str| value::number(value).filter(|&bytes| bytes >= u64::from(largest));
        let zone_bytes = self.read("zonesize", &takes, size)?;
        let range_bytes = self.read("zonerange", &takes, size)?;
        let skip_bytes =
            self.read("zoneskip", "a size", |text| self.bytes_or_zones(text))?.unwrap_or(0);
        match zone_bytes {
            None => Err(self.wrong("zonemode", "zonemode: strided requires zonesize")),
            Some(_) if pattern.is_random() || skip.is_some() => {
                let message = "zonemode: flushmark only supports sequential access within zones; \
                               use rw=read or rw=write";
                Err(self.wrong("zonemode", message))
            }
            Some(zone_bytes) if range_bytes.is_some_and(|bytes| bytes != zone_bytes) => Err(self
                .wrong(
                    "zonerange",
                    "zonerange: flushmark makes one pass over each zone; set zonerange to zonesize",
                )),
            Some(_) if self.files()?.per_job > 1 => Err(self.wrong(
                "zonemode",
                "zonemode: fio accesses zones only in a single file; use nrfiles=1",
            )),
            Some(zone_bytes) => Ok(Some(BlockOrder::Strided { zone_bytes, skip_bytes })),
        }
    }

    fn offset(&self, key: &str, unit: u64) -> Result<u64, PlanError> {
        let takes = format!(
            "a size that is a multiple of 512, or of bs, {}, or zones such as 8z with zonesize",
            format_bytes(unit)
        );
        let aligned = |bytes: &u64| bytes.is_multiple_of(unit) || bytes.is_multiple_of(512);
        let bytes = self.read(key, &takes, |value| self.bytes_or_zones(value).filter(aligned))?;
        Ok(bytes.unwrap_or(0))
    }

    /// Discards and calls without data are issued one at a time, as by fio's synchronous engines and libaio. Returns the
    /// depth.
    fn trims(&self, workload: &mut Workload, depth: u64) -> Result<u64, PlanError> {
        if workload.engine == EngineChoice::IoUring && depth > 1 {
            let message = "iodepth: flushmark issues one discard at a time; use iodepth=1, or \
                           libaio, where fio does the same";
            return Err(self.wrong("iodepth", message));
        }
        if workload.engine != EngineChoice::Auto {
            workload.engine = EngineChoice::Psync;
        }
        Ok(1)
    }

    pub(super) fn rate(&self, workload: &Workload) -> Result<Option<Rate>, PlanError> {
        let arrivals =
            self.read("rate_process", "one of linear, poisson", |value| match value {
                "linear" => Some(Arrivals::Constant),
                "poisson" => Some(Arrivals::Poisson),
                _ => None,
            })?;
        let rate = self.offered(workload)?;
        let offloaded =
            self.read("io_submit_mode", "one of inline, offload", |value| match value {
                "inline" => Some(false),
                "offload" => Some(true),
                _ => None,
            })?;
        let Some((per_second, reads_per_second)) = rate else {
            if offloaded == Some(true) {
                let message = "io_submit_mode: flushmark has no submission threads and needs none \
                               with rate_iops; \
                               without rate_iops, use inline";
                return Err(self.wrong("io_submit_mode", message));
            }
            return Ok(None);
        };
        let arrivals = arrivals.unwrap_or(Arrivals::Constant);
        Ok(Some(Rate { per_second, reads_per_second, arrivals }))
    }

    /// The operations offered per second, and of a mix how many of these are reads. As in fio, each
    /// direction has its own rate.
    fn offered(&self, workload: &Workload) -> Result<Option<(f64, Option<f64>)>, PlanError> {
        let takes = "a whole number from 0 to 10000000, or one for reads and one for writes";
        let operations = self.directions("rate_iops", takes, |text| {
            value::number(text).filter(|rate| *rate as f64 <= RATE_MAX)
        })?;
        let takes = "bytes per second, such as 10m, or one number for reads and one for writes";
        let bytes = self.directions("rate", takes, value::number)?;
        let limits = |rates: &[Option<u64>; 2]| rates.iter().flatten().any(|rate| *rate > 0);
        let (key, rates) = match (limits(&operations), limits(&bytes)) {
            (true, true) => {
                return Err(self.wrong("rate", "rate and rate_iops exclude each other"));
            }
            (false, true) if workload.sizes.is_some() => {
                return Err(
                    self.wrong("rate", "rate: invalid with several block sizes; use rate_iops")
                );
            }
            (false, true) => ("rate", bytes),
            (_, false) => ("rate_iops", operations),
        };
        let block_bytes = if key == "rate" { workload.block_bytes.get() } else { 1 };
        let [reads, writes] = rates
            .map(|rate| rate.filter(|&rate| rate > 0))
            .map(|rate| rate.map(|rate| rate as f64 / f64::from(block_bytes)));
        // The direction is that of `rw`, even if an engine does something else.
        let (rw, _) = self.pattern()?;
        let rate = match (rw.reads(), rw.writes()) {
            (true, true) => match (reads, writes) {
                (Some(reads), Some(writes)) => Some((reads + writes, Some(reads))),
                (None, None) => None,
                _ => {
                    let message = format!(
                        "{key}: a rate for one direction of a mix needs one for the other; give \
                         both, as in {key}=1000,1000"
                    );
                    return Err(self.wrong(key, &message));
                }
            },
            (true, false) => reads.map(|reads| (reads, None)),
            (false, _) => writes.map(|writes| (writes, None)),
        };
        if let Some((per_second, _)) = rate.filter(|&(rate, _)| rate > RATE_MAX) {
            let message = format!(
                "{key}: {per_second:.0} operations per second exceed the limit of {RATE_MAX:.0}"
            );
            return Err(self.wrong(key, &message));
        }
        Ok(rate)
    }

    /// The rate below which the job fails.
    fn rate_min(&self, workload: &Workload) -> Result<Option<RateMin>, PlanError> {
        let takes = "bytes per second, such as 10m, or one number for reads and one for writes";
        let [read_bytes, write_bytes] =
            self.directions("rate_min", takes, value::number)?.map(Option::unwrap_or_default);
        let takes = "a number of milliseconds from 1 to 3600000";
        let cycle = self.read("rate_cycle", takes, |text| {
            value::number(text).filter(|cycle| (1..=3_600_000).contains(cycle))
        })?;
        if read_bytes == 0 && write_bytes == 0 {
            return Ok(None);
        }
        if let Some(rate) = workload.rate {
            let (reads, writes) = match rate.reads_per_second {
                Some(reads) => (reads, rate.per_second - reads),
                None => (rate.per_second, rate.per_second),
            };
            let bytes = |per_second: f64| per_second * f64::from(workload.block_bytes.get());
            let required = [
                (workload.pattern.reads(), read_bytes, bytes(reads)),
                (workload.pattern.writes(), write_bytes, bytes(writes)),
            ];
            let exceeding = (required.into_iter())
                .find(|&(occurs, required, bytes)| occurs && required as f64 > bytes);
            if workload.sizes.is_none()
                && let Some((_, required, bytes)) = exceeding
            {
                let message =
                    format!("rate_min: {required} B/s exceeds the offered rate of {bytes:.0} B/s");
                return Err(self.wrong("rate_min", &message));
            }
        }
        Ok(Some(RateMin { read_bytes, write_bytes, cycle_ms: cycle.unwrap_or(RateMin::CYCLE_MS) }))
    }

    /// The latency for which the largest depth is searched.
    fn latency_target(&self, workload: &Workload) -> Result<Option<LatencyTarget>, PlanError> {
        let target = self.short_time("latency_target")?;
        let window = self.short_time("latency_window")?.filter(|time| !time.is_zero());
        let percent = self.read("latency_percentile", "a number from 1 to 100", |text| {
            text.parse().ok().filter(|percent| (1.0..=100.0).contains(percent))
        })?;
        let Some(target) = target.filter(|time| !time.is_zero()) else { return Ok(None) };
        let because = if workload.engine == EngineChoice::Psync || workload.depth == Depth::MIN {
            "requires an iodepth above 1, and libaio or io_uring"
        } else if !workload.warm_up.0.is_zero() {
            "flushmark searches in place of a warm-up; remove ramp_time"
        } else if let Some(window) = window {
            return Ok(Some(LatencyTarget {
                latency_ns: target.as_nanos() as u64,
                percent: percent.unwrap_or(100.0),
                window_us: window.as_micros() as u64,
            }));
        } else {
            "requires latency_window"
        };
        Err(self.wrong("latency_target", &format!("latency_target: {because}")))
    }

    /// The steady state that ends the section. With one block size, a rate in bytes is steady when
    /// the IOPS are.
    pub(super) fn steady(&self, workload: &Workload) -> Result<Option<UntilSteady>, PlanError> {
        let takes = "iops, iops_slope, bw, bw_slope, lat or lat_slope with a limit, such as \
                     iops:10%; lat takes a percentage";
        let block_bytes = f64::from(workload.block_bytes.get());
        let criterion = self.read("steadystate", takes, |text| {
            let (name, limit) = text.split_once(':')?;
            let (name, change) = match name.strip_suffix("_slope") {
                Some(name) => (name, SteadyChange::Slope),
                None => (name, SteadyChange::Deviation),
            };
            let (limit, percent) = match limit.strip_suffix('%') {
                Some(percent) => (percent.trim_end().parse().ok()?, true),
                None if name == "bw" => (value::number(limit)? as f64 / block_bytes, false),
                None => (limit.parse().ok()?, false),
            };
            let quantity = match name {
                "iops" => SteadyQuantity::Iops,
                "bw" if workload.sizes.is_none() => SteadyQuantity::Iops,
                "lat" if percent => SteadyQuantity::Latency,
                _ => return None,
            };
            (f64::is_finite(limit) && limit >= 0.0).then_some((quantity, change, limit, percent))
        })?;
        let seconds = |key, low| {
            let takes = format!("a time of at least {low} s, in whole seconds");
            self.read(key, &takes, |text| {
                let time = value::time(text).filter(|time| time.subsec_nanos() == 0)?;
                u32::try_from(time.as_secs()).ok().filter(|seconds| *seconds >= low)
            })
        };
        let window_s = seconds("steadystate_duration", 0)?.unwrap_or(0);
        let ramp_s = seconds("steadystate_ramp_time", 0)?.unwrap_or(0);
        let interval_s = seconds("steadystate_check_interval", 1)?.unwrap_or(1);
        if window_s == 0 {
            return Ok(None);
        }
        if window_s <= interval_s || !window_s.is_multiple_of(interval_s) {
            let message = format!(
                "steadystate_duration: {window_s} s is invalid: expected a multiple of \
                 steadystate_check_interval, {interval_s} s, and more than that"
            );
            return Err(self.wrong("steadystate_duration", &message));
        }
        let (quantity, change, limit, percent) =
            criterion.unwrap_or((SteadyQuantity::Iops, SteadyChange::Slope, 0.01, true));
        Ok(Some(UntilSteady { quantity, change, limit, percent, window_s, ramp_s, interval_s }))
    }

    /// The pauses between operations.
    pub(super) fn think(&self, workload: &Workload) -> Result<Option<ThinkTime>, PlanError> {
        let time = self.short_time("thinktime")?;
        let every = self.whole("thinktime_blocks", 1, 1_000_000)?.unwrap_or(1) as u32;
        let Some(time) = time.filter(|time| !time.is_zero()) else { return Ok(None) };
        if workload.engine != EngineChoice::Psync {
            let message = "thinktime: flushmark pauses only between operations of which one is in \
                           flight at a time; use \
                           ioengine=psync";
            return Err(self.wrong("thinktime", message));
        }
        Ok(Some(ThinkTime { time_us: time.as_micros() as u64, every }))
    }

    /// The section's share of a flow. As in fio, a weight of 0 means no limit.
    pub(super) fn flow(&self) -> Result<Option<Flow>, PlanError> {
        let id = self.whole("flow_id", 0, u32::MAX.into())?.unwrap_or(0) as u32;
        let sleep_us = self.whole("flow_sleep", 0, 1_000_000_000)?.unwrap_or(0);
        let weight = self.whole("flow", 0, 1_000_000)?.filter(|&weight| weight > 0);
        Ok(weight.map(|weight| Flow { id, weight: weight as u32, sleep_us }))
    }

    /// The sections that `exitall` ends.
    ///
    /// # Errors
    /// Fails if the value is invalid.
    pub fn exit_what(&self) -> Result<Ends, PlanError> {
        let what = self.read("exit_what", "one of group, stonewall, all", |text| match text {
            "group" => Some(Ends::Group),
            "stonewall" => Some(Ends::Concurrent),
            "all" => Some(Ends::Run),
            _ => None,
        })?;
        Ok(what.unwrap_or(Ends::Group))
    }

    fn engine(&self) -> Result<FioEngine, PlanError> {
        let engine = self.read("ioengine", FioEngine::NAMES, FioEngine::from_name)?;
        Ok(engine.unwrap_or(FioEngine::Transfer(EngineChoice::Psync)))
    }

    pub(super) fn sync(&self, pattern: Pattern) -> Result<(SyncMethod, u32), PlanError> {
        let open = self.read("sync", "one of 0, none, 1, sync, dsync", |value| match value {
            "0" | "none" => Some(SyncMethod::None),
            "1" | "sync" => Some(SyncMethod::OSync),
            "dsync" => Some(SyncMethod::ODsync),
            _ => None,
        })?;
        let every =
            |key| Ok::<_, PlanError>(self.whole(key, 0, 1_000_000)?.filter(|&every| every > 0));
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
            // fio ignores sync options if nothing is written, and so does flushmark.
            _ if !pattern.writes() || pattern.trims() => Ok((SyncMethod::None, 1)),
            [] => Ok((SyncMethod::None, 1)),
            [(_, method, every)] => Ok((*method, *every)),
            [(first, ..), .., (last, ..)] => {
                let message =
                    format!("{last}: a test has one sync method, but {first} sets another");
                Err(self.wrong(last, &message))
            }
        }
    }

    /// The bytes that each job works on, and its end.
    fn extent(&self, workload: &mut Workload) -> Result<(), PlanError> {
        let block_bytes = u64::from(workload.largest_bytes());
        let bytes = |value: &str| self.bytes_or_zones(value).filter(|&size| size >= block_bytes);
        let takes = "a size of at least one block, such as 1g, or zones such as 8z with zonesize";
        let area = self.read("size", &format!("{takes}, or 1% to 100%"), |value| {
            match value.strip_suffix('%') {
                Some(percent) => percent
                    .parse()
                    .ok()
                    .filter(|percent| (1..=100).contains(percent))
                    .map(Area::Percent),
                None => bytes(value).map(Area::Bytes),
            }
        })?;
        let file = self.read("filesize", "one size of at least one block, such as 1g", bytes)?;
        let io_bytes = self.read("io_size", takes, bytes)?;
        let loops = self.whole("loops", 1, 1_000_000_000)?.unwrap_or(1);
        let jobs = u64::from(workload.jobs.get());
        let files = u64::from(workload.files.per_job);
        workload.size = match (area, file) {
            (Some(Area::Percent(_)), Some(_)) => {
                return Err(self.wrong(
                    "filesize",
                    "filesize: conflicts with a size in percent; use one of the two",
                ));
            }
            (_, Some(file)) => Area::Bytes(file.saturating_mul(files)),
            (Some(area), None) => area,
            (None, None) if self.fills_device(workload.pattern)? => Area::Percent(100),
            (None, None) => Area::Whole {
                file_bytes: (Area::DEFAULT.bytes(Room::Unlimited) / jobs).max(block_bytes * files),
            },
        };
        if let (Some(Area::Bytes(size)), None) = (area, file)
            && size / files < block_bytes
        {
            let message = format!(
                "size: {} is less than one block for each of {files} files",
                format_bytes(size)
            );
            return Err(self.wrong("size", &message));
        }
        // With a file size, `size` is the number of bytes after which a job ends.
        let all_files = file.map(|file| file.saturating_mul(files));
        let once = match (io_bytes, area, all_files) {
            // The number of writes in a pass depends on the part's final size.
            _ if matches!(workload.order, BlockOrder::SteadyFill(_)) => None,
            (Some(bytes), ..) => Some(bytes),
            (None, Some(Area::Bytes(size)), Some(all)) => Some(size.min(all)),
            // fio leaves out the remainder that is less than a block of each file.
            (None, Some(Area::Bytes(_)), None) if files > 1 => {
                Some(workload.size_per_job_bytes(Room::Unlimited))
            }
            (None, Some(Area::Bytes(size)), None) => Some(size),
            (None, _, all) => all,
        };
        let count = once.map(|bytes| workload.operations(bytes).saturating_mul(loops));
        let most = self.whole("number_ios", 1, u64::MAX >> 1)?;
        // The size of a device is only known once it is open.
        let passes = count.is_none().then_some(loops);
        let count = [count, most].into_iter().flatten().min();
        let time = self.time("runtime")?.filter(|time| !time.is_zero());
        let time_based = self.flag("time_based")?.unwrap_or(false);
        (workload.limit, workload.passes) = match (time, count) {
            (Some(time), _) if time_based => (Limit::Time(time), None),
            (None, count) => (Limit::Count(count.unwrap_or(u64::MAX)), passes),
            (Some(time), Some(count)) => {
                (Limit::TimeAndCount { time, count, until: Until::First }, passes)
            }
            (Some(time), None) => (Limit::Time(time), passes),
        };
        Ok(())
    }
}

/// Parses sizes with percentages: `4k/60:64k/40`. Sizes without a percentage divide the remainder
/// equally.
fn split(text: &str, size: impl Fn(&str) -> Option<u32>) -> Option<Vec<SizeShare>> {
    let mut parts: Vec<(u32, Option<u32>)> = Vec::new();
    for part in text.split(':') {
        let (bytes, share) = part.split_once('/').unwrap_or((part, ""));
        let share = if share.is_empty() {
            None
        } else {
            Some(share.parse().ok().filter(|share| *share <= 100)?)
        };
        parts.push((size(bytes)?, share));
    }
    let given: u32 = parts.iter().filter_map(|(_, share)| *share).sum();
    let missing = parts.iter().filter(|(_, share)| share.is_none()).count() as u32;
    let left = 100u32.checked_sub(given)?;
    if missing == 0 && left > 0 {
        return None;
    }
    // In fractions of a percent, so three sizes can share one.
    let weight = |share: Option<u32>| share.map_or(left, |share| share * missing.max(1));
    let shares = parts.into_iter().map(|(bytes, share)| SizeShare { bytes, weight: weight(share) });
    let drawn: Vec<SizeShare> = shares.filter(|share| share.weight > 0).collect();
    (!drawn.is_empty()).then_some(drawn)
}
