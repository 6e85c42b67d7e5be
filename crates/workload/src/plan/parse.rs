//! Parses the text of a plan into a [`Plan`].

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::error::{PlanError, did_you_mean};
use super::fields::{self, Kind, Scope};
use super::value::{Reader, Source, Value, description};
use super::{Plan, Table, Test, Work, cache_words};
use crate::blocks::{
    Area, Arrivals, BlockBytes, Content, Depth, EngineChoice, Jobs, Layout, Limit, Rate, Sharing,
    Streams, Submission, SyncTiming, Until, WarmUp, Workload,
};
use crate::ending::Ends;
use crate::files::{FileOrder, JobFiles, SyncedFile};
use crate::pacing::{Flow, RateMin, ThinkTime};
use crate::pattern::Pattern;
use crate::size::format_bytes;
use crate::sort::{SortKeys, SortWork};
use crate::steps::{FileSpec, Step, StepProgram};
use crate::sync::{OpenFlag, SyncMethod};
use crate::write_cache::WriteCache;

/// A plan with more tests is assumed to have an error in its matrix.
const TESTS_MAX: usize = 10_000;

impl Plan {
    /// Parses a plan. `file` is the name shown in errors and, without its extension, the default
    /// name of the plan.
    ///
    /// ```
    /// let plan = workload::Plan::from_toml("mine.toml", r#"
    ///     [[test]]
    ///     pattern = "randwrite"
    ///     sync = "fsync"
    ///     [test.matrix]
    ///     jobs = [1, 8]
    /// "#)?;
    /// assert_eq!(plan.tests[1].name, "randwrite 4 KiB, fsync=1, depth 1, jobs 8");
    /// # Ok::<(), workload::plan::PlanError>(())
    /// ```
    ///
    /// # Errors
    /// Fails at the first error, and names its line, field, value and the expected values.
    pub fn from_toml(file: &str, text: &str) -> Result<Plan, PlanError> {
        let source = Source { file, text };
        let document = DeTable::parse(text).map_err(|error| {
            source.error(&error.span().unwrap_or(0..0), error.message().trim().replace('\n', ", "))
        })?;
        let top = Fields::of(source, document.get_ref(), document.span(), &[Scope::Plan])?;
        let defaults = top.test_fields("defaults")?.unwrap_or_default();
        let tests = top.all_tests(&defaults, &[])?;
        let published = top
            .test_fields("published")?
            .map(|published| top.all_tests(&defaults, &published))
            .transpose()?;
        let stem = file.rsplit('/').next().unwrap_or(file);
        let stem = stem.strip_suffix(".toml").unwrap_or(stem);
        Ok(Plan {
            name: top
                .read("name", |reader, value| reader.text(value))?
                .unwrap_or_else(|| stem.to_owned()),
            answers: top.read("answers", |reader, value| reader.text(value))?.unwrap_or_default(),
            source: top.read("source", |reader, value| reader.text(value))?.unwrap_or_default(),
            table: top
                .read("table", |reader, value| reader.word(value, Table::from_name))?
                .unwrap_or(Table::Tests),
            target: top.read("target", |reader, value| reader.text(value))?,
            targets_differ: None,
            notes: Vec::new(),
            tests,
            published,
        })
    }
}

/// Names and values of fields.
type Entries<'a> = Vec<(&'a str, Value<'a>)>;

/// The fields of one table, with their positions.
#[derive(Debug, Clone)]
struct Fields<'a> {
    source: Source<'a>,
    scopes: &'a [Scope],
    span: Range<usize>,
    entries: Entries<'a>,
}

impl<'a> Fields<'a> {
    /// Checks that every key is known. Keeps the keys in the order of the file.
    fn of(
        source: Source<'a>,
        table: &'a DeTable<'a>,
        span: Range<usize>,
        scopes: &'a [Scope],
    ) -> Result<Fields<'a>, PlanError> {
        let mut entries = Vec::new();
        for (key, value) in table {
            check_key(source, key, scopes)?;
            let value = Value { content: value.get_ref(), span: value.span() };
            entries.push((key.get_ref().as_ref(), key.span().start, value));
        }
        entries.sort_by_key(|&(_, start, _)| start);
        let entries = entries.into_iter().map(|(name, _, value)| (name, value)).collect();
        Ok(Fields { source, scopes, span, entries })
    }

    /// The fields of tests in a table of the plan, if it has this table.
    fn test_fields(&self, name: &str) -> Result<Option<Entries<'a>>, PlanError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let table = value.content.as_table().ok_or_else(|| self.wrong(name, &value))?;
        Ok(Some(Fields::of(self.source, table, value.span, &[Scope::Test])?.entries))
    }

    /// All tests of the plan, with fields that replace their own.
    fn all_tests(
        &self,
        defaults: &[(&'a str, Value<'a>)],
        replacing: &[(&'a str, Value<'a>)],
    ) -> Result<Vec<Test>, PlanError> {
        let source = self.source;
        let mut tests = Vec::new();
        let mut names = HashSet::new();
        let listed = self
            .get("test")
            .ok_or_else(|| source.error(&(0..0), "the plan has no tests; add a [[test]]"))?;
        let array = listed.content.as_array().ok_or_else(|| self.wrong("test", &listed))?;
        for item in array.iter() {
            let value = Value { content: item.get_ref(), span: item.span() };
            let table = value.content.as_table().ok_or_else(|| self.wrong("test", &value))?;
            let own = Fields::of(source, table, item.span(), &[Scope::Test, Scope::TestOnly])?;
            let fields = own.with_defaults(defaults).with_replaced(replacing);
            for test in fields.tests(tests.last())? {
                if tests.len() == TESTS_MAX {
                    return Err(source.error(
                        &item.span(),
                        format!("the plan has too many tests; the limit is {TESTS_MAX}"),
                    ));
                }
                if !names.insert(test.name.clone()) {
                    let message = format!(
                        "name: duplicate test name \"{}\"; give this test a different name",
                        test.name
                    );
                    return Err(source.error(&item.span(), message));
                }
                tests.push(test);
            }
        }
        if tests.is_empty() {
            return Err(source.error(&listed.span, "the plan has no tests; add a [[test]]"));
        }
        Ok(tests)
    }

    fn with_defaults(mut self, defaults: &[(&'a str, Value<'a>)]) -> Fields<'a> {
        for (name, value) in defaults {
            if self.concerns(name) && self.get(name).is_none() {
                self.entries.push((name, value.clone()));
            }
        }
        self
    }

    fn with_replaced(mut self, replacing: &[(&'a str, Value<'a>)]) -> Fields<'a> {
        for (name, value) in replacing {
            if self.concerns(name) {
                self.entries.retain(|(known, _)| known != name);
                self.entries.push((name, value.clone()));
            }
        }
        self
    }

    /// Returns whether a field for all tests concerns this one.
    fn concerns(&self, name: &str) -> bool {
        // Step programs, sorts and patterns of entries have few fields: defaults that only apply to patterns are
        // ignored.
        let visits_entries = || {
            let pattern = self.get("pattern")?;
            Pattern::from_name(pattern.content.as_str()?).filter(|known| known.visits_entries())
        };
        let own: Option<&[&str]> = if self.get("steps").is_some() {
            Some(&PROGRAM_FIELDS)
        } else if self.get("sort").is_some() {
            Some(&SORT_FIELDS)
        } else if visits_entries().is_some() {
            Some(&ENTRY_FIELDS)
        } else {
            None
        };
        own.is_none_or(|own| own.contains(&name))
    }

    fn get(&self, name: &str) -> Option<Value<'a>> {
        self.entries.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    }

    fn reader(&self, name: &str) -> Option<Reader<'a>> {
        fields::find(self.scopes, name).map(|field| Reader { source: self.source, field })
    }

    /// Parses the value of a field, if the field is present.
    fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Reader<'a>, &Value<'a>) -> Result<T, PlanError>,
    ) -> Result<Option<T>, PlanError> {
        match (self.get(name), self.reader(name)) {
            (Some(value), Some(reader)) => read(&reader, &value).map(Some),
            _ => Ok(None),
        }
    }

    fn whole(&self, name: &str) -> Result<Option<u64>, PlanError> {
        self.read(name, |reader, value| reader.whole(value))
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, PlanError> {
        self.read(name, |reader, value| reader.flag(value))
    }

    fn size(&self, name: &str) -> Result<Option<u64>, PlanError> {
        self.read(name, |reader, value| reader.size(value))
    }

    fn time(&self, name: &str) -> Result<Option<Duration>, PlanError> {
        self.read(name, |reader, value| reader.time(value))
    }

    fn word<T>(
        &self,
        name: &str,
        from_name: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, PlanError> {
        self.read(name, |reader, value| reader.word(value, from_name))
    }

    /// An error at a field, or at the table if the field is missing.
    fn error(&self, name: &str, message: &str) -> PlanError {
        let span = self.get(name).map_or_else(|| self.span.clone(), |value| value.span);
        self.source.error(&span, format!("{name}: {message}"))
    }

    fn wrong(&self, name: &str, value: &Value<'_>) -> PlanError {
        let kind = fields::find(self.scopes, name).map_or(Kind::Text, |field| field.kind);
        let written = match value.content {
            DeValue::Array(list) if list.iter().len() == 0 => "an empty list",
            DeValue::Array(_) => "a list",
            DeValue::Table(table) if table.is_empty() => "an empty table",
            DeValue::Table(_) => "a table",
            _ => self.source.written(&value.span),
        };
        self.source.error(
            &value.span,
            format!("{name}: {written} is invalid: expected {}", description(kind)),
        )
    }

    /// Fails if a field is present that has no meaning in combination with the others.
    fn refuse(&self, name: &str, because: &str) -> Result<(), PlanError> {
        match self.get(name) {
            Some(_) => Err(self.error(name, because)),
            None => Ok(()),
        }
    }

    /// Expands this table into tests: one for each combination of its matrix, times its
    /// repetitions.
    fn tests(&self, previous: Option<&Test>) -> Result<Vec<Test>, PlanError> {
        let mut tests = Vec::new();
        let mut works = Vec::new();
        let mut titles: HashMap<String, usize> = HashMap::new();
        for (fields, varied) in self.combinations()? {
            let work = fields.work()?;
            let write_cache =
                fields.word("write_cache", WriteCache::from_name)?.unwrap_or_default();
            let title = match &work {
                Work::Blocks(workload) => workload.title(),
                Work::Steps(program) => program.title(),
                Work::Sort(sort) => sort.title(),
            };
            let title = match write_cache {
                WriteCache::Unchanged => title,
                setting => title + &cache_words(setting),
            };
            *titles.entry(title.clone()).or_default() += 1;
            works.push((fields, varied, work, write_cache, title));
        }
        let several = works.len() > 1;
        for (fields, varied, work, write_cache, title) in works {
            let name = match fields.read("name", |reader, value| reader.text(value))? {
                Some(name) if several => format!("{name}, {varied}"),
                Some(name) => name,
                // A title does not name every field, so several combinations can have the same one.
                None if titles.get(&title) > Some(&1) => format!("{title}, {varied}"),
                None => title,
            };
            let repeat = fields.whole("repeat")?.unwrap_or(1);
            if tests.len() + repeat as usize > TESTS_MAX {
                return Err(fields.error(
                    "repeat",
                    &format!("the test expands to too many tests; the limit is {TESTS_MAX}"),
                ));
            }
            for run in 1..=repeat {
                let name = if repeat > 1 { format!("{name} (run {run})") } else { name.clone() };
                tests.push(Test { name, work: work.clone(), write_cache, with_previous: false });
            }
        }
        if self.flag("with_previous")?.unwrap_or(false) {
            check_concurrent(&tests, previous)
                .map_err(|message| self.error("with_previous", message))?;
            tests.iter_mut().for_each(|test| test.with_previous = true);
        }
        Ok(tests)
    }

    /// The fields with each combination of the matrix's values inserted, and the combination as
    /// text.
    fn combinations(&self) -> Result<Vec<(Fields<'a>, String)>, PlanError> {
        let mut combinations = vec![(self.clone(), String::new())];
        let Some(matrix) = self.get("matrix") else { return Ok(combinations) };
        let table = matrix.content.as_table().ok_or_else(|| self.wrong("matrix", &matrix))?;
        let varied = Fields::of(self.source, table, matrix.span.clone(), &[Scope::Test])?;
        for (name, list) in &varied.entries {
            let field = fields::find(&[Scope::Test], name).filter(|field| field.varies());
            let Some(items) =
                list.content.as_array().filter(|items| items.iter().len() > 0 && field.is_some())
            else {
                let message = format!(
                    "matrix: invalid value of {name}; expected a list of values, such as {name} = \
                     [...]"
                );
                return Err(self.source.error(&list.span, message));
            };
            if combinations.len() * items.iter().len() > TESTS_MAX {
                return Err(self.source.error(
                    &list.span,
                    format!("matrix: too many combinations; the limit is {TESTS_MAX}"),
                ));
            }
            let mut grown = Vec::new();
            for (fields, words) in &combinations {
                for item in items.iter() {
                    let value = Value { content: item.get_ref(), span: item.span() };
                    let text =
                        self.source.text.get(item.span()).unwrap_or_default().replace('"', "");
                    let mut fields = fields.clone();
                    fields.entries.retain(|(known, _)| known != name);
                    fields.entries.push((name, value));
                    let comma = if words.is_empty() { "" } else { ", " };
                    grown.push((fields, format!("{words}{comma}{name} {text}")));
                }
            }
            combinations = grown;
        }
        Ok(combinations)
    }

    fn work(&self) -> Result<Work, PlanError> {
        match (self.get("pattern"), self.get("steps"), self.get("sort")) {
            (Some(_), None, None) => {
                self.refuse("files", "only valid in a test with steps")?;
                self.refuse("memory", "only valid in a test with sort")?;
                self.blocks().map(Work::Blocks)
            }
            (None, Some(_), None) => self.program().map(Work::Steps),
            (None, None, Some(_)) => self.sort().map(Work::Sort),
            (Some(_), Some(_), _) => {
                Err(self.error("steps", "pattern and steps exclude each other"))
            }
            (_, _, Some(_)) => {
                Err(self.error("sort", "pattern, steps and sort exclude each other"))
            }
            (None, None, None) => {
                let patterns: Vec<&str> = Pattern::planned().map(Pattern::name).collect();
                let patterns = patterns.join(", ");
                let message =
                    format!("missing; expected one of {patterns}, or a test with steps or sort");
                Err(self.error("pattern", &message))
            }
        }
    }

    fn blocks(&self) -> Result<Workload, PlanError> {
        let known =
            |name: &str| Pattern::planned().find(|known| Pattern::from_name(name) == Some(*known));
        let pattern = self.word("pattern", known)?.unwrap_or(Pattern::Read);
        if pattern.visits_entries() {
            return self.entries(pattern);
        }
        self.refuse("entries", "only valid with create, stat, remove, mkdir, statdir and rmdir")?;
        let sync = self.word("sync", SyncMethod::from_name)?.unwrap_or(SyncMethod::None);
        // Space can only be reserved where there is none yet.
        let usual_layout =
            if pattern.transfers() || pattern.trims() { Layout::Overwrite } else { Layout::Empty };
        let layout = self.word("layout", Layout::from_name)?.unwrap_or(usual_layout);
        let engine = self.word("engine", EngineChoice::from_name)?.unwrap_or(EngineChoice::Auto);
        let out_of_range = |name: &str| self.error(name, "out of range");
        let block = BlockBytes::new(self.size("block")?.unwrap_or(4096))
            .map_err(|_| out_of_range("block"))?;
        let mut workload = Workload::new(pattern, block);
        workload.sync = sync;
        workload.layout = layout;
        workload.engine = engine;
        workload.content = self.content()?;
        workload.depth =
            Depth::new(self.whole("depth")?.unwrap_or(1)).map_err(|_| out_of_range("depth"))?;
        workload.jobs = self.jobs()?;
        workload.sync_every = self.whole("sync_every")?.unwrap_or(1) as u32;
        workload.direct = self.flag("direct")?.unwrap_or(usual_layout == Layout::Overwrite);
        workload.invalidate = self.flag("invalidate")?.unwrap_or(workload.invalidate);
        workload.sync_timing = match (self.flag("queue_sync")?, self.flag("drain")?) {
            (Some(true), None) => SyncTiming::Queued,
            (Some(true), Some(_)) => {
                return Err(
                    self.error("drain", "a queued sync never waits for writes; remove drain")
                );
            }
            (_, Some(false)) => SyncTiming::Undrained,
            _ => SyncTiming::Drained,
        };
        workload.streams = Streams::new(self.whole("streams")?.unwrap_or(1))
            .map_err(|_| out_of_range("streams"))?;
        if let Some(file_bytes) = self.size("file_size")? {
            workload.size = Area::Whole { file_bytes };
        }
        workload.size =
            self.read("size", |reader, value| reader.area(value))?.unwrap_or(workload.size);
        workload.sharing = self.word("sharing", Sharing::from_name)?.unwrap_or_default();
        workload.files = self.job_files()?;
        workload.offset_bytes = self.size("offset")?.unwrap_or(0);
        workload.offset_increment_bytes = self.size("offset_increment")?.unwrap_or(0);
        workload.end_fsync = self.flag("end_fsync")?.unwrap_or(false);
        workload.precondition = self.flag("precondition")?.unwrap_or(workload.precondition);
        workload.rest = self.time("rest")?.unwrap_or(workload.rest);
        workload.limit = self.limit()?;
        workload.warm_up = self.time("warm_up")?.map_or(workload.warm_up, WarmUp);
        workload.seed = self.whole("seed")?.unwrap_or(workload.seed);
        if let Some(percent) = self.whole("read_percent")? {
            workload.read_percent = percent as u8;
        }
        workload.rate_min = self.size("rate_min")?.map(|bytes| RateMin {
            read_bytes: bytes,
            write_bytes: bytes,
            cycle_ms: RateMin::CYCLE_MS,
        });
        self.pace(&mut workload)?;
        self.check_blocks(&workload)?;
        Ok(workload)
    }

    /// The times at which operations start.
    fn pace(&self, workload: &mut Workload) -> Result<(), PlanError> {
        let arrivals = self.word("arrivals", |name| match name {
            "constant" => Some(Arrivals::Constant),
            "poisson" => Some(Arrivals::Poisson),
            _ => None,
        })?;
        workload.rate = self.read("rate", |reader, value| reader.rate(value))?.map(|per_second| {
            let arrivals = arrivals.unwrap_or(Arrivals::Constant);
            Rate { per_second, reads_per_second: None, arrivals }
        });
        let every = self.whole("think_every")?.unwrap_or(1) as u32;
        workload.think = self
            .time("think_time")?
            .map(|time| ThinkTime { time_us: time.as_micros() as u64, every });
        workload.flow = self.whole("flow_weight")?.map(|weight| Flow {
            id: 0,
            weight: weight as u32,
            sleep_us: 0,
        });
        workload.start_delay = self.time("start_delay")?.unwrap_or(workload.start_delay);
        if self.flag("ends_others")? == Some(true) {
            workload.ends = Ends::Concurrent;
        }
        Ok(())
    }

    /// A pattern whose operations each visit one file or directory.
    fn entries(&self, pattern: Pattern) -> Result<Workload, PlanError> {
        for (name, _) in &self.entries {
            if !ENTRY_FIELDS.contains(name)
                && !["name", "pattern", "matrix", "with_previous"].contains(name)
            {
                let message = format!("not valid with the pattern {}", pattern.name());
                return Err(self.error(name, &message));
            }
        }
        let block = BlockBytes::new(self.size("block")?.unwrap_or(4096))
            .map_err(|error| self.error("block", &error.to_string()))?;
        let mut workload = Workload::new(pattern, block);
        workload.jobs = self.jobs()?;
        let entries = self.whole("entries")?.unwrap_or(DEFAULT_ENTRIES);
        let jobs = u64::from(workload.jobs.get());
        workload.size = Area::Bytes(entries * jobs * u64::from(block.get()));
        workload.direct = false;
        workload.warm_up = WarmUp::default();
        workload.passes = Some(1);
        workload.limit = match self.time("time")? {
            Some(time) => Limit::TimeAndCount { time, count: entries, until: Until::First },
            None => Limit::Count(entries),
        };
        workload.rest = self.time("rest")?.unwrap_or(workload.rest);
        workload.seed = self.whole("seed")?.unwrap_or(workload.seed);
        self.pace(&mut workload)?;
        self.check_pacing(&workload)?;
        if workload.rate.is_none() {
            self.refuse("arrivals", "only valid with rate")?;
        }
        Ok(workload)
    }

    fn job_files(&self) -> Result<JobFiles, PlanError> {
        let one = JobFiles::ONE;
        Ok(JobFiles {
            per_job: self.whole("files_per_job")?.map_or(one.per_job, |files| files as u32),
            order: self.word("file_order", FileOrder::from_name)?.unwrap_or(one.order),
            turn: self.whole("file_turn")?.map_or(one.turn, |turn| turn as u32),
            synced: if self.flag("sync_next_file")? == Some(true) {
                SyncedFile::Next
            } else {
                one.synced
            },
        })
    }

    fn check_pacing(&self, workload: &Workload) -> Result<(), PlanError> {
        match workload.think {
            None => self.refuse("think_every", "only valid with think_time")?,
            Some(think) if think.time_us == 0 => {
                return Err(
                    self.error("think_time", "shorter than a microsecond; use at least \"1us\"")
                );
            }
            Some(_) if workload.submission() == Submission::Asynchronous => {
                return Err(self.error(
                    "think_time",
                    "a job pauses between operations, so nothing can be in flight; use depth 1 and \
                     psync",
                ));
            }
            Some(_) => {}
        }
        if !workload.start_delay.is_zero() && !workload.warm_up.0.is_zero() {
            return Err(self.error(
                "start_delay",
                "the warm-up precedes the common start; set warm_up = \"0s\"",
            ));
        }
        Ok(())
    }

    fn check_files(&self, workload: &Workload) -> Result<(), PlanError> {
        let files = workload.files;
        if files.per_job == 1 {
            for name in ["file_order", "file_turn", "sync_next_file"] {
                self.refuse(name, "only valid with several files; set files_per_job")?;
            }
            return Ok(());
        }
        if workload.sharing == Sharing::All {
            return Err(self.error(
                "files_per_job",
                "jobs that share all bytes have one file; use sharing = \"device\"",
            ));
        }
        if files.order == FileOrder::Sequential {
            self.refuse(
                "file_turn",
                "a turn lasts until the whole file has been accessed; remove file_turn",
            )?;
        }
        if files.synced == SyncedFile::Next && workload.sync.call().is_none() {
            return Err(
                self.error("sync_next_file", "only valid with sync = \"fsync\" or \"fdatasync\"")
            );
        }
        if files.synced == SyncedFile::Written && workload.sync_every > 1 {
            let message = "a sync covers only the file of the last write; use sync_every = 1, \
                           sync_next_file = true, or \
                           steps that sync each file";
            return Err(self.error("sync_every", message));
        }
        Ok(())
    }

    /// Rejects combinations of fields that are meaningless or impossible.
    fn check_blocks(&self, workload: &Workload) -> Result<(), PlanError> {
        let pattern = workload.pattern.name();
        if !workload.pattern.is_mixed() {
            self.refuse("read_percent", &format!("only valid with rw and randrw, not {pattern}"))?;
        }
        if !workload.pattern.writes() {
            if workload.sync.is_durable() {
                return Err(
                    self.error("sync", &format!("{pattern} writes no data to sync; use none"))
                );
            }
            self.refuse("sync_every", &format!("{pattern} writes no data to sync"))?;
        }
        self.check_space_calls(workload)?;
        self.check_layout(workload)?;
        self.check_alignment(workload)?;
        self.check_files(workload)?;
        self.check_pacing(workload)?;
        if workload.sharing == Sharing::None {
            self.refuse(
                "offset_increment",
                "without sharing, the parts of the jobs are adjacent; set sharing",
            )?;
        }
        if workload.end_fsync && !workload.pattern.writes() {
            return Err(self.error("end_fsync", &format!("{pattern} writes no data to sync")));
        }
        self.check_room(workload)?;
        self.check_sync_calls(workload)?;
        if workload.rate.is_none() {
            self.refuse("arrivals", "only valid with rate")?;
        }
        self.check_engine(workload)
    }

    /// Checks that pattern, jobs and streams suit the layout.
    fn check_layout(&self, workload: &Workload) -> Result<(), PlanError> {
        let pattern = workload.pattern.name();
        if workload.layout != Layout::Overwrite && workload.pattern.reads() {
            let name = workload.layout.name();
            return Err(self.error(
                "layout",
                &format!(
                    "{pattern} would read blocks that were never written; {name} requires \
                          write or randwrite"
                ),
            ));
        }
        if workload.layout == Layout::Append && workload.pattern != Pattern::Write {
            return Err(self.error(
                "layout",
                &format!(
                    "a file grows at its end; append requires the pattern write, not {pattern}"
                ),
            ));
        }
        if workload.layout.starts_over() && workload.sharing == Sharing::All {
            let message = format!(
                "{} starts over, which would empty the file that other jobs are using",
                workload.layout.name()
            );
            return Err(self.error("sharing", &message));
        }
        if workload.streams > Streams::MIN
            && (workload.pattern.is_random() || workload.layout != Layout::Overwrite)
        {
            return Err(self.error(
                "streams",
                "only valid with read, write and rw on blocks that were written before",
            ));
        }
        Ok(())
    }

    fn check_alignment(&self, workload: &Workload) -> Result<(), PlanError> {
        let block = u64::from(workload.block_bytes.get());
        if workload.direct && block % 512 != 0 {
            let message = format!(
                "{block} B is not a multiple of 512 B, as direct I/O requires; set direct = false"
            );
            return Err(self.error("block", &message));
        }
        for (name, bytes) in [
            ("offset", workload.offset_bytes),
            ("offset_increment", workload.offset_increment_bytes),
        ] {
            if bytes % block != 0 {
                return Err(self.error(
                    name,
                    &format!("expected a multiple of the block size of {}", format_bytes(block)),
                ));
            }
        }
        Ok(())
    }

    fn check_room(&self, workload: &Workload) -> Result<(), PlanError> {
        let block = u64::from(workload.block_bytes.get());
        let parts =
            if workload.sharing == Sharing::None { u64::from(workload.jobs.get()) } else { 1 };
        let least =
            block * parts * u64::from(workload.streams.get()) * u64::from(workload.files.per_job);
        let (field, bytes) = match workload.size {
            Area::Bytes(bytes) => ("size", bytes),
            Area::Whole { file_bytes } => ("file_size", file_bytes),
            Area::Percent(_) => ("size", u64::MAX),
        };
        if bytes < least {
            let whose = if workload.files.per_job > 1 { "file" } else { "stream" };
            return Err(
                self.error(field, &format!("each {whose} of each job needs at least one block"))
            );
        }
        Ok(())
    }

    /// Rejects what only a test with separate syncs can have.
    fn check_sync_calls(&self, workload: &Workload) -> Result<(), PlanError> {
        if workload.sync.call().is_some() {
            return Ok(());
        }
        if workload.sync_every != 1 {
            let message = format!(
                "only valid with sync = \"fsync\" or \"fdatasync\", not \"{}\"",
                workload.sync.name()
            );
            return Err(self.error("sync_every", &message));
        }
        self.refuse("drain", "only valid with fsync and fdatasync")?;
        self.refuse(
            "queue_sync",
            "only valid with fsync and fdatasync, which are separate operations",
        )
    }

    fn check_engine(&self, workload: &Workload) -> Result<(), PlanError> {
        let linked = workload.sync.linked_call().is_some();
        match workload.engine {
            EngineChoice::Psync | EngineChoice::Libaio if linked => Err(self.error(
                "engine",
                &format!("only io_uring can link a sync, as required by {}", workload.sync.name()),
            )),
            EngineChoice::Psync if workload.queued_sync().is_some() => {
                Err(self.error("engine", "psync cannot queue a sync; use io_uring or libaio"))
            }
            EngineChoice::Psync if workload.depth_effective() > 1 => Err(self.error(
                "engine",
                &format!(
                    "psync performs one operation at a time, but the depth is {}",
                    workload.depth.get()
                ),
            )),
            _ => Ok(()),
        }
    }

    /// A call that changes the space of a file is blocking, and transfers no data.
    fn check_space_calls(&self, workload: &Workload) -> Result<(), PlanError> {
        if workload.pattern.transfers() {
            return Ok(());
        }
        let pattern = workload.pattern.name();
        if workload.sync.is_durable() || workload.end_fsync {
            let name = if workload.end_fsync { "end_fsync" } else { "sync" };
            return Err(self.error(name, &format!("{pattern} writes no data to sync")));
        }
        if workload.depth > Depth::MIN {
            let message = format!("{pattern} makes one system call at a time; use 1");
            return Err(self.error("depth", &message));
        }
        if !matches!(workload.engine, EngineChoice::Auto | EngineChoice::Psync) {
            let message = format!("{pattern} makes blocking system calls; use psync");
            return Err(self.error("engine", &message));
        }
        if workload.pattern.trims() {
            return match workload.layout {
                Layout::Overwrite => Ok(()),
                _ => Err(self.error(
                    "layout",
                    &format!("{pattern} discards blocks that were written; use overwrite"),
                )),
            };
        }
        if workload.layout.starts_over() {
            let message = format!("{pattern} does not use up a layout that starts over; use empty");
            return Err(self.error("layout", &message));
        }
        self.refuse("direct", &format!("{pattern} bypasses no cache, because it moves no data"))
    }

    fn content(&self) -> Result<Content, PlanError> {
        let percent = self.whole("compressible_percent")?;
        let content = self.word("content", |name| match name {
            "random" => Some(Content::Random),
            "zero" => Some(Content::Zero),
            "compressible" => Some(Content::Compressible(percent.unwrap_or(50) as u8)),
            _ => None,
        })?;
        if !matches!(content, Some(Content::Compressible(_))) {
            self.refuse("compressible_percent", "only valid with content = \"compressible\"")?;
        }
        Ok(content.unwrap_or(Content::Random))
    }

    fn jobs(&self) -> Result<Jobs, PlanError> {
        Jobs::new(self.whole("jobs")?.unwrap_or(1))
            .map_err(|error| self.error("jobs", &error.to_string()))
    }

    fn limit(&self) -> Result<Limit, PlanError> {
        let until = self.word("stop", |name| match name {
            "first" => Some(Until::First),
            "both" => Some(Until::Both),
            _ => None,
        })?;
        match (self.time("time")?, self.whole("count")?) {
            (Some(time), Some(count)) => {
                Ok(Limit::TimeAndCount { time, count, until: until.unwrap_or(Until::First) })
            }
            (time, count) => {
                self.refuse("stop", "only valid with both time and count")?;
                Ok(count.map_or(Limit::Time(time.unwrap_or(DEFAULT_TIME)), Limit::Count))
            }
        }
    }

    fn program(&self) -> Result<StepProgram, PlanError> {
        for (name, _) in &self.entries {
            if !PROGRAM_FIELDS.contains(name)
                && !["name", "steps", "files", "matrix", "repeat"].contains(name)
            {
                return Err(self.error(name, "not valid in a test with steps"));
            }
        }
        let files = self.files()?;
        let steps = self.get("steps").ok_or_else(|| self.error("steps", "missing"))?;
        let lines = steps.content.as_array().filter(|lines| lines.iter().len() > 0);
        let lines = lines.ok_or_else(|| self.wrong("steps", &steps))?;
        let mut parsed = Vec::new();
        for line in lines.iter() {
            let text = line.get_ref().as_str().ok_or_else(|| {
                let written = self.source.written(&line.span());
                let message = format!(
                    "steps: invalid step {written}; expected text such as \"sync log fdatasync\""
                );
                self.source.error(&line.span(), message)
            })?;
            let step = Step::parse(text, &files);
            parsed.push(
                step.map_err(|error| self.source.error(&line.span(), format!("steps: {error}")))?,
            );
        }
        let program = StepProgram {
            files,
            steps: parsed,
            jobs: self.jobs()?,
            content: self.content()?,
            limit: self.limit()?,
            warm_up: self.time("warm_up")?.map_or(WarmUp(DEFAULT_WARM_UP), WarmUp),
            seed: self.whole("seed")?.unwrap_or(1),
        };
        for (index, file) in program.files.iter().enumerate() {
            let largest = program.largest_write_bytes(index);
            if largest > file.size_bytes {
                let message =
                    format!("{} is smaller than its largest write of {largest} B", file.name);
                return Err(self.error("files", &message));
            }
        }
        // Each size is within its range, but the sum may overflow.
        let bytes = program.files.iter().map(|file| u128::from(file.size_bytes)).sum::<u128>();
        if bytes * u128::from(program.jobs.get()) > u128::from(fields::SIZE_MAX) {
            return Err(
                self.error("files", "the total size of all jobs' files is too large to address")
            );
        }
        Ok(program)
    }

    fn sort(&self) -> Result<SortWork, PlanError> {
        for (name, _) in &self.entries {
            if !SORT_FIELDS.contains(name) && !["name", "matrix"].contains(name) {
                return Err(self.error(name, "not valid in a test with sort"));
            }
        }
        let block = self.size("block")?.unwrap_or(SORT_BLOCK_BYTES);
        let sync = match self.word("sync", SyncMethod::from_name)? {
            None | Some(SyncMethod::None) => None,
            Some(method @ (SyncMethod::Fsync | SyncMethod::Fdatasync)) => method.call(),
            Some(method) => {
                let message = format!(
                    "expected fsync or fdatasync, which make a run durable once it is written, not \
                     {}",
                    method.name()
                );
                return Err(self.error("sync", &message));
            }
        };
        let size_bytes = match self.read("size", |reader, value| reader.area(value))? {
            None => SORT_SIZE_BYTES,
            Some(Area::Bytes(bytes)) => bytes,
            Some(Area::Whole { .. } | Area::Percent(_)) => {
                return Err(self.error(
                    "size",
                    "a sort cannot take a percentage of the target; give a number of bytes",
                ));
            }
        };
        let sort = SortWork {
            keys: self.word("sort", SortKeys::from_name)?.unwrap_or(SortKeys::Urls),
            size_bytes,
            memory_bytes: self.size("memory")?.unwrap_or(SORT_MEMORY_BYTES),
            block_bytes: BlockBytes::new(block)
                .map_err(|error| self.error("block", &error.to_string()))?,
            jobs: self.jobs()?,
            direct: self.flag("direct")?.unwrap_or(true),
            sync,
            rest: self.time("rest")?.unwrap_or_default(),
            seed: self.whole("seed")?.unwrap_or(1),
        };
        if sort.direct && block % 512 != 0 {
            let message = format!(
                "{block} B is not a multiple of 512 B, as direct I/O requires; set direct = false"
            );
            return Err(self.error("block", &message));
        }
        if sort.size_per_job_bytes() / 2 < sort.memory_bytes {
            let least = u128::from(sort.memory_bytes) * 2 * u128::from(sort.jobs.get());
            let least = u64::try_from(least).map_or_else(|_| format!("{least} B"), format_bytes);
            let message =
                format!("too small to spill to storage; use {least} or more, or reduce memory");
            return Err(self.error("size", &message));
        }
        Ok(sort)
    }

    fn files(&self) -> Result<Vec<FileSpec>, PlanError> {
        let Some(listed) = self.get("files") else {
            return Err(self.error(
                "files",
                "missing; declare the files used by the steps, as in files = { log = {} }",
            ));
        };
        let table = listed.content.as_table().filter(|table| !table.is_empty());
        let table = table.ok_or_else(|| self.wrong("files", &listed))?;
        let mut keys: Vec<_> = table.iter().collect();
        keys.sort_by_key(|(key, _)| key.span().start);
        keys.into_iter().map(|(key, value)| self.file(key, value)).collect()
    }

    fn file(
        &self,
        key: &'a Spanned<DeString<'a>>,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Result<FileSpec, PlanError> {
        let name = key.get_ref().as_ref();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if name.is_empty()
            || name.starts_with('.')
            || name.len() > 64
            || !name.chars().all(is_plain)
        {
            let message =
                format!("files: invalid name \"{name}\"; use letters, digits, `-`, `_` and `.`");
            return Err(self.source.error(&key.span(), message));
        }
        let table = value.get_ref().as_table().ok_or_else(|| {
            self.source.error(
                &value.span(),
                format!(
                    "files: invalid value of {name}; expected a table, such as \
                         {{ size = \"16MiB\" }}"
                ),
            )
        })?;
        let fields = Fields::of(self.source, table, value.span(), &[Scope::File])?;
        let open_flag = fields.word("open", |name| match name {
            "o_sync" => Some(OpenFlag::OSync),
            "o_dsync" => Some(OpenFlag::ODsync),
            _ => None,
        })?;
        Ok(FileSpec {
            name: name.to_owned(),
            size_bytes: fields.size("size")?.unwrap_or(16 << 20),
            layout: fields.word("layout", file_layout_from_name)?.unwrap_or(Layout::Overwrite),
            direct: fields.flag("direct")?.unwrap_or(false),
            open_flag,
        })
    }
}

/// Checks that a test can run at the same time as the previous one.
fn check_concurrent(tests: &[Test], previous: Option<&Test>) -> Result<(), &'static str> {
    let ([test], Some(previous)) = (tests, previous) else {
        return Err(match previous {
            None => "the first test has no previous test",
            Some(_) => "not valid with matrix or repeat; write each test out",
        });
    };
    if !matches!((&previous.work, &test.work), (Work::Blocks(_), Work::Blocks(_))) {
        return Err("only block patterns can run at the same time");
    }
    if previous.write_cache != test.write_cache {
        return Err("both tests need the same write_cache");
    }
    Ok(())
}

/// Fields of a pattern that also apply to step programs.
const PROGRAM_FIELDS: [&str; 10] = [
    "write_cache", "jobs", "content", "compressible_percent", "time", "count", "stop", "warm_up",
    "seed", "repeat",
];
/// Fields of a pattern that also apply to one that visits entries.
const ENTRY_FIELDS: [&str; 15] = [
    "entries", "block", "jobs", "rest", "write_cache", "time", "rate", "arrivals", "think_time",
    "think_every", "flow_weight", "start_delay", "ends_others", "seed", "repeat",
];
/// Fields of a pattern that also apply to sorts, and the fields of sorts.
const SORT_FIELDS: [&str; 11] = [
    "sort", "memory", "size", "block", "jobs", "direct", "sync", "rest", "write_cache", "seed",
    "repeat",
];
/// The block size of a sort's runs: large enough for drives to reach their full throughput.
const SORT_BLOCK_BYTES: u64 = 256 << 10;
const SORT_SIZE_BYTES: u64 = 1 << 30;
/// Typical for a sort of this size: PostgreSQL's default is 4 MiB, which is often raised for sorts
/// of a gibibyte.
const SORT_MEMORY_BYTES: u64 = 64 << 20;
const DEFAULT_ENTRIES: u64 = 1000;
const DEFAULT_TIME: Duration = Duration::from_secs(5);
const DEFAULT_WARM_UP: Duration = Duration::from_millis(500);

fn file_layout_from_name(name: &str) -> Option<Layout> {
    Layout::from_name(name).filter(|layout| fields::FILE_LAYOUTS.contains(layout))
}

fn check_key(
    source: Source<'_>,
    key: &Spanned<DeString<'_>>,
    scopes: &[Scope],
) -> Result<(), PlanError> {
    let name = key.get_ref().as_ref();
    if fields::find(scopes, name).is_some() {
        return Ok(());
    }
    let known = fields::names(scopes);
    let hint = match fields::location(name) {
        Some(location) => format!(" (it belongs {location})"),
        None => did_you_mean(name, &known),
    };
    Err(source.error(
        &key.span(),
        format!("unknown field `{name}`{hint}; expected one of {}", known.join(", ")),
    ))
}
