//! Reads fio's normal text output, of fio 3, 2 and 1, with or without indentation.
//!
//! Rates are printed rounded (`IOPS=36.6k`), so they are computed from the line `issued rwts` and
//! the run time, which are exact. That line is nearly the last of a job: a job without it was cut
//! short.

mod figures;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use measurement::{DiskCounters, RunDocument};

use self::figures::{fields, number, unit_ns};
use super::command::{Command, job_file_section};
use super::job::{Direction, Job};
use super::latency::Timed;
use super::options::Options;
use super::report::{self, ALL_CLIENTS, Report};
use super::syncs::Counters;
use crate::error::ImportError;
use crate::origin::Origin;
use crate::pasted::{Line, lines};

pub fn read(suite: &str, text: &str) -> Result<Vec<RunDocument>, ImportError> {
    let mut processes = vec![Process::default()];
    for line in lines(text) {
        if is_flattened(line.text) {
            return Err(ImportError::Flattened(Origin::FioText, line.number));
        }
        if processes.last().is_some_and(|process| process.is_followed_by(line.text)) {
            processes.push(Process::default());
        }
        if let Some(process) = processes.last_mut() {
            process.read(line)?;
        }
    }
    if processes.iter().all(|process| process.jobs.is_empty()) {
        let missing = "it has no line `write: IOPS=…` or `read: IOPS=…`".to_owned();
        return Err(ImportError::CutShort(Origin::FioText, missing));
    }
    let reports: Vec<Report> =
        processes.into_iter().map(Process::report).collect::<Result<_, _>>()?;
    report::documents(reports.into_iter().flat_map(|report| report.runs(suite)), Origin::FioText)
}

/// Returns whether a line contains several lines of a report. Part of them would be lost.
fn is_flattened(line: &str) -> bool {
    let has = |word: &str| line.contains(word);
    line.matches("avg=").count() > 1
        || has("(groupid=") && (has("min=") || has("BW=") || has("bw=") || has("issued"))
        || has("IO depths") && has("issued")
}

/// The part of the report being read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Between jobs.
    #[default]
    Outside,
    Read,
    Write,
    Trim,
    Sync,
}

/// The kind of latency whose percentiles follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Completion,
    Total,
    /// Submission latencies, which are ignored.
    Submission,
}

/// The output of one fio process.
#[derive(Debug, Default)]
struct Process {
    version: Option<String>,
    command: Command,
    /// Name and text of each job's first line.
    headers: Vec<(String, String)>,
    jobs: Vec<Parsed>,
    /// Lines of counters.
    disks: Vec<String>,
    host: Option<String>,
    ended_at: Option<Timestamp>,
    place: Place,
    percentiles: Option<(Kind, f64)>,
    in_disks: bool,
    /// True from the first section of a pasted job file to fio's own first line.
    in_job_file: bool,
    /// True after the report of a group: a summary and other text follow.
    is_summed_up: bool,
    /// A command whose last line ended with a backslash.
    open_command: Option<String>,
    /// A line of percentiles that a mail has broken within one.
    open_percentiles: Option<String>,
}

#[derive(Debug, Default)]
struct Parsed {
    job: Job,
    /// Id of the process, or of the first of a group.
    pid: Option<i64>,
    /// Operations per read or write in percent; syncs count as operations.
    submitted_percent: f64,
    /// True if the heading shows a version that counts every kind of sync together.
    counts_all_syncs: bool,
    complete: bool,
}

impl Process {
    /// Returns whether a line belongs to the next process: a command line, the line that fio
    /// prints for a job before it runs, or, if those were not pasted, a job after the end of a
    /// report. Intermediate reports (`--status-interval`) are recognised by the same processes.
    fn is_followed_by(&self, line: &str) -> bool {
        let is_next_job = || match line.split_once(": (groupid=") {
            Some((_, rest)) => {
                self.in_disks
                    && self.host.is_none()
                    && self.jobs.iter().all(|parsed| parsed.pid != pid(rest))
            }
            None => false,
        };
        let is_next_file = || self.is_summed_up && job_file_section(line).is_some();
        !self.jobs.is_empty()
            && (Command::in_line(line).is_some()
                || line.contains(": (g=")
                || is_next_file()
                || is_next_job())
    }

    fn read(&mut self, line: Line<'_>) -> Result<(), ImportError> {
        let text = self.read_host(line.text);
        let whole = self.open_percentiles.take().map(|open| format!("{open} {text}"));
        let text = whole.as_deref().unwrap_or(text);
        let line = Line { text, ..line };
        if text.contains("th=[") && text.rfind('[') > text.rfind(']') {
            self.open_percentiles = Some(text.to_owned());
        } else if let Some(command) = self.open_command.take() {
            self.read_command(&format!("{command} {text}"));
        } else if text.starts_with("Run status group") {
            self.place = Place::Outside;
            self.is_summed_up = true;
        } else if let Some((name, rest)) = text.split_once(": (groupid=") {
            self.begin_job(name, rest, line)?;
        } else if let Some((name, rest)) = text.split_once(": (g=") {
            self.in_job_file = false;
            self.headers.push((name.trim().to_owned(), rest.to_owned()));
        } else if Command::in_line(text).is_some() {
            self.read_command(text);
        } else if self.is_headless_job(text) {
            let name = self.headers.first().map_or("fio", |(name, _)| name.as_str());
            let job = Job { name: name.to_owned(), ..Job::default() };
            self.jobs.push(Parsed { job, ..Parsed::default() });
            self.read_figure(line)?;
        } else if text.starts_with("Disk stats") {
            self.in_disks = true;
        } else if self.in_disks {
            self.read_disk(text);
        } else if self.jobs.is_empty()
            && self.headers.is_empty()
            && (self.in_job_file || job_file_section(text).is_some())
        {
            self.in_job_file = self.command.read_job_file(text);
        } else if self.jobs.is_empty() {
            self.continue_header(text);
            // A client lists the versions of its servers.
            // fio 1 prints `fio 1.59`.
            let of_1 = || {
                let rest = text.strip_prefix("fio ")?;
                rest.starts_with(|c: char| c.is_ascii_digit()).then_some(rest)
            };
            let version = text.strip_prefix("fio-").or_else(of_1).or_else(|| {
                fields(text).find(|(name, _)| *name == "fio").map(|(_, version)| version)
            });
            self.version =
                self.version.take().or_else(|| version.map(|version| version.trim().to_owned()));
        } else if !self.is_summed_up {
            self.read_figure(line)?;
        }
        Ok(())
    }

    /// Returns whether a line begins a job whose first line was not pasted.
    fn is_headless_job(&self, text: &str) -> bool {
        let Some((label, rest)) = text.split_once(':') else { return false };
        let is_direction = matches!(label.trim(), "read" | "write")
            && (rest.contains("BW=") || rest.contains("bw="));
        let between = self.jobs.last().is_none_or(|parsed| parsed.complete);
        is_direction && between && !self.in_disks && !self.is_summed_up
    }

    /// Reads a command, or keeps it until its last line.
    fn read_command(&mut self, text: &str) {
        // `^` continues a line of Windows' command prompt.
        match text.strip_suffix(['\\', '^']) {
            Some(open) => self.open_command = Some(open.trim_end().to_owned()),
            None => self.command = Command::in_line(text).unwrap_or_default(),
        }
    }

    /// The end of a job's first line, if a mail program has broken it.
    fn continue_header(&mut self, text: &str) {
        if let Some((_, header)) = self.headers.last_mut()
            && !header.contains("iodepth=")
        {
            *header += " ";
            *header += text;
        }
    }

    /// A line of counters, or the end of one that a mail program has broken.
    fn read_disk(&mut self, text: &str) {
        match self.disks.last_mut() {
            Some(disk) if !disk.contains("util=") => {
                *disk += " ";
                *disk += text;
            }
            _ if text.contains(": ios=") => self.disks.push(text.to_owned()),
            _ => {}
        }
    }

    /// A client prefixes some lines with the machine's name, and prints it alone before a report,
    /// sometimes after a progress line.
    fn read_host<'a>(&mut self, text: &'a str) -> &'a str {
        if let Some((host, rest)) = text.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
            self.host = Some(host.to_owned());
            return rest.trim_start();
        }
        if let Some((_, host)) = text.strip_suffix('>').and_then(|rest| rest.rsplit_once('<')) {
            self.host = Some(host.to_owned());
        }
        text
    }

    fn begin_job(&mut self, name: &str, rest: &str, line: Line<'_>) -> Result<(), ImportError> {
        let header_field =
            |key: &str| fields(rest).find(|(name, _)| *name == key).map(|(_, value)| value);
        let digits = rest.split(',').next().unwrap_or("");
        let group = digits.trim().parse().map_err(|_| unreadable(line, "a group number"))?;
        let processes =
            header_field("jobs").and_then(number_at).and_then(|jobs| u32::try_from(jobs).ok());
        let error = rest.split_once("err=").and_then(|(_, rest)| number_at(rest.trim_start()));
        self.ended_at =
            self.ended_at.max(rest.split_once("pid=").and_then(|(_, rest)| ended_at(rest)));
        self.place = Place::Outside;
        self.percentiles = None;
        self.in_disks = false;
        self.is_summed_up = false;
        // Progress ends with a carriage return, which may have been lost.
        let name = match name.strip_prefix("Jobs: ") {
            Some(progress) => progress.rsplit(']').next().unwrap_or(progress),
            None => name,
        };
        let name = name.trim().to_owned();
        let host = self.host.clone();
        let job = Job { name, host, group, processes, error: error.unwrap_or(0), ..Job::default() };
        let parsed = Parsed { job, pid: pid(rest), ..Parsed::default() };
        // A later report of the same process is also cumulative.
        let same = |before: &Parsed| {
            let key = |parsed: &Parsed| (parsed.pid, parsed.job.group);
            before.pid.is_some()
                && key(before) == key(&parsed)
                && (&before.job.name, &before.job.host) == (&parsed.job.name, &parsed.job.host)
        };
        self.jobs.retain(|before| !same(before));
        self.jobs.push(parsed);
        Ok(())
    }

    /// A line of a job's report.
    fn read_figure(&mut self, line: Line<'_>) -> Result<(), ImportError> {
        let Some(parsed) = self.jobs.last_mut() else { return Ok(()) };
        let job = &mut parsed.job;
        if let Some(percentiles) =
            line.text.strip_prefix('|').or_else(|| line.text.contains("th=[").then_some(line.text))
        {
            return match (
                self.percentiles,
                timed(job, self.place, self.percentiles.map(|(kind, _)| kind)),
            ) {
                (Some((_, unit_ns)), Some(timed)) => {
                    read_percentiles(percentiles, unit_ns, timed, line)
                }
                _ => Ok(()),
            };
        }
        let Some((label, rest)) = line.text.split_once(':') else { return Ok(()) };
        let (label, unit) = match label.split_once('(') {
            Some((label, unit)) => (label.trim(), Some(unit)),
            None => (label.trim(), None),
        };
        let kind = match label.strip_suffix("percentiles").unwrap_or(label).trim_end() {
            "slat" => Some(Kind::Submission),
            "clat" => Some(Kind::Completion),
            "lat" | "sync" => Some(Kind::Total),
            _ => None,
        };
        if kind.is_none() && line.text.contains("percentiles (") {
            // Those of one I/O priority.
            self.percentiles = None;
            return Ok(());
        }
        if let (Some(kind), Some(unit)) = (kind, unit) {
            let unit_ns = unit_ns(unit.trim().trim_end_matches(')').trim());
            let unit_ns = unit_ns.ok_or_else(|| unreadable(line, "a time unit"))?;
            if label.ends_with("percentiles") {
                self.percentiles = Some((kind, unit_ns));
            } else if rest.contains("min=") {
                if label == "sync" {
                    self.place = Place::Sync;
                }
                read_latency(job, self.place, kind, rest, unit_ns, line)?;
            }
            return Ok(());
        }
        // Other text may begin with a word that fio uses.
        if matches!(label, "read" | "write" | "mixed") && !rest.contains('=') {
            return Ok(());
        }
        match label {
            "read" => {
                self.place = begin_direction(&mut job.read, rest, line).map(|()| Place::Read)?;
            }
            "write" => {
                self.place = begin_direction(&mut job.write, rest, line).map(|()| Place::Write)?;
            }
            "trim" => self.place = Place::Trim,
            "mixed" => {
                begin_direction(&mut Direction::default(), rest, line)?;
                // `unified_rw_reporting=both` also reports reads and writes.
                job.unified = u64::from(job.runtime_ms() == 0);
                self.place = Place::Trim;
            }
            "fsync/fdatasync/sync_file_range" => self.place = Place::Sync,
            "fsync/fdatasync/sync_file_range/syncfs" => {
                self.place = Place::Sync;
                parsed.counts_all_syncs = true;
            }
            "cpu" => read_cpu(job, rest),
            "IO depths" => {
                let shares: Vec<f64> = fields(rest)
                    .filter_map(|(_, share)| number(share.trim_end_matches('%')))
                    .collect();
                parsed.submitted_percent = shares.iter().sum();
                // The first range of depths contains only 1.
                if let [one, deeper @ ..] = shares.as_slice()
                    && *one > 0.0
                    && deeper.iter().all(|share| *share == 0.0)
                {
                    job.depth_seen = Some(1);
                }
            }
            "issued rwts" | "issued rwt" | "issued" | "issued r/w" | "issued r/w/d" => {
                read_issued(parsed, rest, line)?;
                parsed.complete = true;
            }
            "latency" => {
                let asked = fields(rest).find(|(name, _)| *name == "depth");
                let asked = asked.and_then(|(_, depth)| depth.parse().ok());
                job.depth_seen = job.depth_seen.or(asked);
            }
            _ => {}
        }
        Ok(())
    }

    fn report(self) -> Result<Report, ImportError> {
        // A client's total is less complete than the reports it sums up.
        let (jobs, cut): (Vec<_>, Vec<_>) = self
            .jobs
            .into_iter()
            .filter(|parsed| parsed.job.name != ALL_CLIENTS)
            .partition(|parsed| parsed.complete);
        if let Some(cut) = cut.first() {
            let missing = format!("job {} has no line `issued rwts`", cut.job.name);
            return Err(ImportError::CutShort(Origin::FioText, missing));
        }
        let parsed: Vec<Job> = jobs.into_iter().map(|parsed| parsed.job).collect();
        let key = |job: &Job| (job.name.clone(), job.group, job.host.clone());
        let keys: Vec<_> = parsed.iter().map(key).collect();
        let mut jobs = Vec::new();
        for mut job in parsed {
            // The header shows what fio did, and overrides a pasted command line.
            if let Some((_, header)) = self.headers.iter().find(|(name, _)| *name == job.name) {
                job.options = header_options(header);
            }
            job.options.set_missing(&self.command.of_job(&job.name));
            if !self.command.of_job(&job.name).is_empty() {
                job.options.set_defaults();
            }
            // Processes of one section are reported under one name, separately unless grouped.
            let processes = keys
                .iter()
                .filter(|other| **other == key(&job))
                .count()
                .max(job.processes.unwrap_or(1) as usize);
            job.options.set("numjobs", &processes.to_string());
            if self.command.is_unknown() {
                job.notes.push(
                    "The text does not contain fio's command: options missing in its report \
                     (direct, sync, size) are assumed to be fio's defaults."
                        .to_owned(),
                );
            }
            // Amounts are printed rounded; a number of blocks of one size is exact.
            if let Some(bytes) = job.options.block_bytes().filter(|_| !job.options.splits_blocks())
            {
                job.read.bytes = job.read.ios.saturating_mul(bytes);
                job.write.bytes = job.write.ios.saturating_mul(bytes);
            }
            jobs.push(job);
        }
        let disks: Vec<DiskCounters> = self.disks.iter().filter_map(|line| disk(line)).collect();
        Ok(Report {
            version: self.version,
            jobs,
            first_disk: disks.first().map(|disk| disk.device.clone()),
            disks,
            reported: self.ended_at,
            elapsed_s: None,
            began: None,
        })
    }
}

/// The options in a job's first line: `rw=randwrite, bs=(R) 4096B-4096B, (W) ..., ioengine=libaio,
/// iodepth=1`; fio 2 has `bs=4K-4K/4K-4K/4K-4K`.
fn header_options(rest: &str) -> Options {
    let mut options = Options::default();
    for (name, value) in fields(rest) {
        if ["rw", "ioengine", "iodepth"].contains(&name) {
            options.set(name, value);
        }
    }
    // fio 3 names the directions, fio 2 orders them.
    let range = |mark: &str, place: usize| match rest.split_once(mark) {
        Some((_, range)) => range.split(',').next(),
        None => fields(rest)
            .find(|(name, _)| *name == "bs")
            .and_then(|(_, ranges)| ranges.split('/').nth(place)),
    };
    let pattern = options.pattern();
    let used = [
        pattern.filter(|pattern| pattern.reads()).and_then(|_| range("(R) ", 0)),
        pattern.filter(|pattern| pattern.writes()).and_then(|_| range("(W) ", 1)),
    ];
    let ranges: Vec<(&str, &str)> =
        used.into_iter().flatten().filter_map(|range| range.trim().split_once('-')).collect();
    match ranges.as_slice() {
        // A single size is a range with equal ends.
        [(low, high), others @ ..]
            if low == high && others.iter().all(|other| *other == (*low, *high)) =>
        {
            if let Some(bytes) = figures::bytes(low) {
                options.set("bs", &bytes.to_string());
            }
        }
        ranges => {
            if let Some((low, high)) = ranges.iter().find(|(low, high)| low != high) {
                options.set("bsrange", &format!("{low}-{high}"));
            }
        }
    }
    options
}

/// The latencies of a kind in a part of the report.
fn timed(job: &mut Job, place: Place, kind: Option<Kind>) -> Option<&mut Timed> {
    let direction = match place {
        Place::Sync => return Some(&mut job.sync),
        Place::Read => &mut job.read,
        Place::Write => &mut job.write,
        Place::Outside | Place::Trim => return None,
    };
    match kind? {
        Kind::Completion => Some(&mut direction.completion),
        Kind::Total => Some(&mut direction.total),
        Kind::Submission => None,
    }
}

fn unreadable(line: Line<'_>, what: &str) -> ImportError {
    ImportError::Damaged(
        Origin::FioText,
        format!("line {} has an invalid value for {what}: `{}`", line.number, line.text),
    )
}

/// `0, jobs=1): err= 0: pid=3720075: ...`
fn pid(rest: &str) -> Option<i64> {
    rest.split_once("pid=").and_then(|(_, rest)| number_at(rest.trim_start()))
}

fn number_at(text: &str) -> Option<i64> {
    text.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok())
}

/// `3720075: Wed Oct 18 17:04:25 2023`: the end of the job in local time of an unknown time zone.
fn ended_at(rest: &str) -> Option<Timestamp> {
    let (_, time) = rest.split_once(": ")?;
    let (_weekday, time) = time.trim().split_once(' ')?;
    let time = DateTime::strptime("%b %d %H:%M:%S %Y", time.trim()).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

/// `IOPS=36.6k, BW=143MiB/s (150MB/s)(2144MiB/15001msec)`; fio 2: `io=2144.2MB, bw=146366KB/s,
/// iops=36591, runt= 15001msec`.
fn begin_direction(
    direction: &mut Direction,
    rest: &str,
    line: Line<'_>,
) -> Result<(), ImportError> {
    let old = fields(rest).find(|(name, _)| *name == "runt").map(|(_, value)| value);
    let new = || rest.rsplit_once('/').map(|(_, time)| time.split(')').next().unwrap_or(time));
    let runtime = old.or_else(new).and_then(figures::milliseconds);
    direction.runtime_ms = runtime.ok_or_else(|| unreadable(line, "a run time"))?;
    let moved = fields(rest).find(|(name, _)| *name == "io").map(|(_, value)| value);
    let moved = moved.or_else(|| {
        rest.rsplit_once('/')
            .and_then(|(before, _)| before.rsplit_once('('))
            .map(|(_, moved)| moved)
    });
    direction.bytes =
        moved.and_then(figures::bytes).ok_or_else(|| unreadable(line, "an amount of data"))?;
    Ok(())
}

/// ` min=3, max=1828, avg= 5.84, stdev= 3.94`
fn read_latency(
    job: &mut Job,
    place: Place,
    kind: Kind,
    rest: &str,
    unit_ns: f64,
    line: Line<'_>,
) -> Result<(), ImportError> {
    let figure = |name: &str| {
        let value = fields(rest).find(|(key, _)| *key == name).and_then(|(_, value)| number(value));
        value
            .map(|value| value * unit_ns)
            .ok_or_else(|| unreadable(line, &format!("a latency ({name})")))
    };
    let (min_ns, max_ns, mean_ns) = (figure("min")?, figure("max")?, figure("avg")?);
    match (kind, place) {
        (Kind::Submission, Place::Read) => job.read.submission_mean_ns = mean_ns,
        (Kind::Submission, Place::Write) => job.write.submission_mean_ns = mean_ns,
        _ => {
            if let Some(timed) = timed(job, place, Some(kind)) {
                (timed.min_ns, timed.max_ns, timed.mean_ns) = (min_ns, max_ns, mean_ns);
            }
        }
    }
    Ok(())
}

/// `  1.00th=[   16],  5.00th=[   17], ...`
fn read_percentiles(
    text: &str,
    unit_ns: f64,
    timed: &mut Timed,
    line: Line<'_>,
) -> Result<(), ImportError> {
    for item in text
        .split(']')
        .map(|item| item.trim_start_matches([',', ' ', '|']))
        .filter(|item| !item.is_empty())
    {
        let (percent, value) =
            item.split_once("th=[").ok_or_else(|| unreadable(line, "a percentile"))?;
        let percent = percent.trim().parse().map_err(|_| unreadable(line, "a percentile"))?;
        let value = number(value).ok_or_else(|| unreadable(line, "a percentile"))?;
        timed.percentiles.push((percent, value * unit_ns));
    }
    Ok(())
}

/// `usr=19.77%, sys=40.01%, ctx=549142, majf=0, minf=24`: shares of the processes' time.
fn read_cpu(job: &mut Job, rest: &str) {
    let busy_s = job.read.runtime_ms.max(job.write.runtime_ms) as f64 / 1e3
        * f64::from(job.processes.unwrap_or(1));
    let share = |name: &str| {
        let value = fields(rest)
            .find(|(key, _)| *key == name)
            .and_then(|(_, value)| number(value.trim_end_matches('%')));
        value.unwrap_or(0.0) / 100.0
    };
    (job.user_s, job.system_s) = (share("usr") * busy_s, share("sys") * busy_s);
}

/// `total=0,548737,0,548736 short=0,0,0,0 ...`; fio 2: `total=r=0/w=548737/d=0, short=...`; fio 1:
/// `total=0/548737, short=0/0`. Operations that were not timed separately have as many latencies.
fn read_issued(parsed: &mut Parsed, rest: &str, line: Line<'_>) -> Result<(), ImportError> {
    let (submitted_percent, counts_all_syncs) = (parsed.submitted_percent, parsed.counts_all_syncs);
    let job = &mut parsed.job;
    let total = counts(rest, "total=").ok_or_else(|| unreadable(line, "a count"))?;
    let short = counts(rest, "short=").unwrap_or_default();
    let at = |counts: &[u64], index: usize| counts.get(index).copied().unwrap_or(0);
    (job.read.ios, job.write.ios, job.trims) = (at(&total, 0), at(&total, 1), at(&total, 2));
    if job.unified > 0 {
        job.unified = job.read.ios + job.write.ios;
        (job.read.ios, job.write.ios) = (0, 0);
    }
    for direction in [&mut job.read, &mut job.write] {
        for timed in [&mut direction.completion, &mut direction.total] {
            timed.count = if timed.max_ns > 0.0 { direction.ios } else { 0 };
        }
    }
    let counters = Counters {
        syncs: at(&total, 3),
        short_reads: at(&short, 0),
        short_writes: at(&short, 1),
        all_together: counts_all_syncs,
    };
    job.syncs = counters.syncs;
    if job.sync.max_ns > 0.0 {
        (job.syncs, job.sync_call) = counters.syncs();
        if job.syncs == 0 {
            // fio 3 (at least up to 3.33) loses this count when it sums up a group, but no other
            // figure of its syncs.
            let beyond = (submitted_percent - 100.0).max(0.0) / 100.0;
            job.syncs = ((job.read.ios + job.write.ios) as f64 * beyond).round() as u64;
            job.notes.push(
                "fio's count of syncs is missing; it is computed from `IO depths` with a precision \
                 of 0.1 %."
                    .to_owned(),
            );
        }
        job.sync.count = job.syncs;
    }
    Ok(())
}

/// The numbers that follow a name: `0,5632,0,0`, `0/5632` or `r=0/w=5632/d=0`.
fn counts(text: &str, name: &str) -> Option<Vec<u64>> {
    let (_, list) = text.split_once(name)?;
    let list = list.trim_start().split([' ', ';']).next().unwrap_or("").trim_end_matches(',');
    let number =
        |count: &str| count.rsplit_once('=').map_or(count, |(_, count)| count).parse().ok();
    let counts: Vec<u64> = list.split([',', '/']).map(number).collect::<Option<_>>()?;
    (counts.len() >= 2).then_some(counts)
}

/// `sda: ios=0/258623, merge=0/0, ticks=0/13669, in_queue=20496, util=99.21%`; from fio 3.36 on also
/// `sectors=0/1727896`. `aggr…` sums up the devices below and is left out: they have lines as well.
fn disk(text: &str) -> Option<DiskCounters> {
    /// The kernel's unit of sectors, whatever those of the device.
    const SECTOR_BYTES: u64 = 512;
    let (device, rest) = text.split_once(": ios=")?;
    let counted = format!("ios={rest}");
    let pair = |name: &str| {
        let (_, value) = fields(&counted).find(|(key, _)| *key == name)?;
        let (read, written) = value.split_once('/')?;
        Some((read.trim().parse::<u64>().ok()?, written.trim().parse::<u64>().ok()?))
    };
    let (reads, writes) = pair("ios")?;
    let (merged, sectors, ticks) = (pair("merge"), pair("sectors"), pair("ticks"));
    let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
    let busy = fields(&counted).find(|(key, _)| *key == "util");
    Some(DiskCounters {
        device: device.trim().to_owned(),
        reads,
        writes,
        reads_merged: merged.map(|(reads, _)| reads),
        writes_merged: merged.map(|(_, writes)| writes),
        bytes_read: sectors.map(|(read, _)| bytes(read)),
        bytes_written: sectors.map(|(_, written)| bytes(written)),
        read_ms: ticks.map(|(reads, _)| reads),
        write_ms: ticks.map(|(_, writes)| writes),
        busy_percent: busy.and_then(|(_, share)| number(share.trim_end_matches('%'))),
    })
}
