//! Finds and reads fio's JSON documents in a text.
//!
//! fio prints warnings to the same stream, so lines of text may precede a document, as does the
//! normal output with `--output-format=normal,json`. A file may contain several documents if output
//! was appended or if fio reported while running (`--status-interval`). Those reports are
//! cumulative, so only the last one is a result.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use measurement::{DiskCounters, RunDocument};
use serde::Deserialize;
use serde_json::{Deserializer, Value};

use super::job::{Direction, Job};
use super::latency::Timed;
use super::options::Options;
use super::report::{self, ALL_CLIENTS, Report};
use super::syncs::Counters;
use crate::error::ImportError;
use crate::origin::Origin;

/// Lines of surrounding text that are quoted; further ones are only counted.
const QUOTED_LINES_MAX: usize = 3;

/// Reads every document of a text. The remarks quote messages around the documents.
pub fn read(suite: &str, text: &str) -> Result<(Vec<RunDocument>, Vec<String>), ImportError> {
    let mut reports: Vec<Report> = Vec::new();
    let mut replaced = 0;
    let mut beside = Vec::new();
    let mut rest = text;
    while let Some(begin) = next_object(rest) {
        beside.extend(complaints(&rest[..begin]));
        let mut values = Deserializer::from_str(&rest[begin..]).into_iter::<Document>();
        let document = match values.next() {
            Some(Ok(document)) => document,
            Some(Err(error)) => return Err(ImportError::unreadable(Origin::FioJson, &error)),
            None => break,
        };
        rest = &rest[begin + values.byte_offset()..];
        let (report, earlier) = document.report()?;
        replaced += earlier;
        if reports.pop_if(|last| last.goes_on_in(&report)).is_some() {
            replaced += 1;
        }
        reports.push(report);
    }
    beside.extend(complaints(rest));
    let mut remarks = remarks(&beside);
    if replaced > 0 {
        remarks.push(
            "fio also reported while running (--status-interval); its last report is cumulative \
             and is the result"
                .to_owned(),
        );
    }
    let runs = reports.into_iter().flat_map(|report| report.runs(suite));
    Ok((report::documents(runs, Origin::FioJson)?, remarks))
}

/// The start of the next document: a brace at the start of a line or of a list item.
fn next_object(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len()
            - line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '[' | ',')).len();
        if line[indent..].starts_with('{') {
            return Some(at + indent);
        }
        at += line.len();
    }
    None
}

/// fio's error messages, which all start with `fio: `.
fn complaints(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| line.starts_with("fio: ") || line.contains("error"))
}

fn remarks(beside: &[&str]) -> Vec<String> {
    let mut remarks: Vec<String> = beside
        .iter()
        .take(QUOTED_LINES_MAX)
        .map(|line| format!("message from fio outside the document: {line}"))
        .collect();
    if let Some(more @ 1..) = beside.len().checked_sub(QUOTED_LINES_MAX) {
        remarks.push(format!("{more} more such lines"));
    }
    remarks
}

/// A document as fio writes it. Versions differ in their keys, so everything but the jobs is
/// optional.
#[derive(Debug, Deserialize)]
struct Document {
    #[serde(rename = "fio version")]
    version: String,
    #[serde(default)]
    timestamp: Option<i64>,
    #[serde(default)]
    timestamp_ms: Option<i64>,
    #[serde(default, rename = "global options")]
    global_options: Value,
    #[serde(default)]
    jobs: Vec<RawJob>,
    #[serde(default)]
    client_stats: Vec<RawJob>,
    #[serde(default)]
    disk_util: Vec<Disk>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Disk {
    name: String,
    read_ios: Option<u64>,
    write_ios: Option<u64>,
    read_sectors: Option<u64>,
    write_sectors: Option<u64>,
    read_merges: Option<u64>,
    write_merges: Option<u64>,
    read_ticks: Option<u64>,
    write_ticks: Option<u64>,
    util: Option<f64>,
}

impl Disk {
    /// `None` if only the device is named, as in flushmark's own export.
    fn counters(&self) -> Option<DiskCounters> {
        /// The kernel's unit of sectors, whatever those of the device.
        const SECTOR_BYTES: u64 = 512;
        let bytes =
            |sectors: Option<u64>| sectors.map(|sectors| sectors.saturating_mul(SECTOR_BYTES));
        Some(DiskCounters {
            device: self.name.clone(),
            reads: self.read_ios?,
            writes: self.write_ios?,
            reads_merged: self.read_merges,
            writes_merged: self.write_merges,
            bytes_read: bytes(self.read_sectors),
            bytes_written: bytes(self.write_sectors),
            read_ms: self.read_ticks,
            write_ms: self.write_ticks,
            busy_percent: self.util,
        })
    }
}

#[derive(Debug, Deserialize)]
struct RawJob {
    jobname: String,
    #[serde(default)]
    hostname: Option<String>,
    /// The port of the server that ran it, from a client.
    #[serde(default)]
    port: Option<u16>,
    #[serde(default)]
    groupid: u64,
    #[serde(default)]
    error: i64,
    /// Errors that fio was configured to ignore.
    #[serde(default)]
    total_err: u64,
    /// Seconds since fio started.
    #[serde(default)]
    elapsed: Option<u64>,
    #[serde(default, rename = "job options")]
    options: Value,
    #[serde(default)]
    read: RawDirection,
    #[serde(default)]
    write: RawDirection,
    #[serde(default)]
    trim: RawDirection,
    #[serde(default)]
    mixed: RawDirection,
    #[serde(default)]
    sync: RawSync,
    /// Additional keys of flushmark's own export.
    #[serde(default)]
    commit: RawSync,
    #[serde(default)]
    job_runtime: Option<u64>,
    /// Milliseconds since 1970, from fio 3.36.
    #[serde(default)]
    job_start: Option<i64>,
    /// Shares of the depths of the queue in percent, by the lower ends of their ranges.
    #[serde(default)]
    iodepth_level: BTreeMap<String, f64>,
    /// The value of `iodepth`; 0 in versions that do not report it.
    #[serde(default)]
    latency_depth: u32,
    #[serde(default)]
    usr_cpu: f64,
    #[serde(default)]
    sys_cpu: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawDirection {
    io_bytes: u64,
    io_kbytes: Option<u64>,
    iops: f64,
    runtime: u64,
    total_ios: Option<u64>,
    short_ios: u64,
    // Nanoseconds, from fio 3.
    slat_ns: RawLatency,
    clat_ns: RawLatency,
    lat_ns: RawLatency,
    // Microseconds, before.
    slat: RawLatency,
    clat: RawLatency,
    lat: RawLatency,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawSync {
    total_ios: u64,
    lat_ns: RawLatency,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawLatency {
    min: f64,
    max: f64,
    mean: f64,
    #[serde(rename = "N")]
    count: Option<u64>,
    percentile: BTreeMap<String, f64>,
    bins: BTreeMap<String, u64>,
}

impl Document {
    /// The report, and the number of intermediate reports that were dropped.
    fn report(self) -> Result<(Report, usize), ImportError> {
        let global = options(&self.global_options);
        let counts_all_syncs = counts_all_syncs(&self.version);
        let jobs = |raw: Vec<RawJob>| {
            let read = |job: RawJob| job.read(&global, counts_all_syncs);
            raw.into_iter().map(read).collect::<Result<Vec<Job>, _>>()
        };
        let all = || self.jobs.iter().chain(&self.client_stats);
        let began = all().filter_map(|job| job.job_start).min();
        let elapsed_s = all().filter_map(|job| job.elapsed).max();
        let reported_ms = self.timestamp_ms.or_else(|| self.timestamp?.checked_mul(1000));
        let time = |ms: i64| Timestamp::from_millisecond(ms).ok();
        // A total next to its parts would count everything twice.
        let mut clients: Vec<RawJob> =
            self.client_stats.into_iter().filter(|job| job.jobname != ALL_CLIENTS).collect();
        name_servers(&mut clients);
        let (clients, earlier) = last_of_each(jobs(clients)?);
        let report = Report {
            version: Some(self.version),
            first_disk: self
                .disk_util
                .iter()
                .map(|disk| disk.name.clone())
                .find(|name| !name.is_empty()),
            disks: self.disk_util.iter().filter_map(Disk::counters).collect(),
            reported: reported_ms.and_then(time),
            elapsed_s,
            began: began.and_then(time),
            jobs: [jobs(self.jobs)?, clients].concat(),
        };
        Ok((report, earlier))
    }
}

/// Adds the port to the names of machines on which several servers ran.
fn name_servers(jobs: &mut [RawJob]) {
    let servers: BTreeSet<(Option<String>, Option<u16>)> =
        jobs.iter().map(|job| (job.hostname.clone(), job.port)).collect();
    for job in jobs {
        let of_host = servers.iter().filter(|(host, _)| *host == job.hostname).count();
        if let (2.., Some(host), Some(port)) = (of_host, &mut job.hostname, job.port) {
            *host = format!("{host}:{port}");
        }
    }
}

/// fio's client collects the reports of `--status-interval` in one list. The final reports of a job
/// are as many as the processes that fio reports separately.
fn last_of_each(jobs: Vec<Job>) -> (Vec<Job>, usize) {
    let all = jobs.len();
    let mut last: Vec<Job> = Vec::with_capacity(all);
    for job in jobs.into_iter().rev() {
        let reported = if job.options.are_grouped() { 1 } else { job.options.processes() as usize };
        let same = |other: &&Job| {
            (&other.name, &other.host, other.group, &other.options)
                == (&job.name, &job.host, job.group, &job.options)
        };
        if last.iter().filter(same).count() < reported {
            last.push(job);
        }
    }
    last.reverse();
    let earlier = all - last.len();
    (last, earlier)
}

impl RawJob {
    /// The depth that was observed if it was always 1, or else the one that was requested.
    fn depth_seen(&self) -> Option<u32> {
        let used: Vec<&str> = self
            .iodepth_level
            .iter()
            .filter(|(_, percent)| **percent > 0.0)
            .map(|(level, _)| level.as_str())
            .collect();
        match used.as_slice() {
            ["1"] => Some(1),
            _ => Some(self.latency_depth).filter(|&depth| depth > 0),
        }
    }

    fn read(self, global: &Options, counts_all_syncs: bool) -> Result<Job, ImportError> {
        let depth_seen = self.depth_seen();
        let name = &self.jobname;
        let mut own = options(&self.options);
        own.set_missing(global);
        if !own.is_empty() {
            own.set_defaults();
        }
        let counters = Counters {
            syncs: self.sync.total_ios,
            short_reads: self.read.short_ios,
            short_writes: self.write.short_ios,
            all_together: counts_all_syncs,
        };
        if self.commit.total_ios > self.write.ios() {
            let what = format!(
                "job {name} has more commits ({}) than writes ({})",
                self.commit.total_ios,
                self.write.ios()
            );
            return Err(ImportError::Damaged(Origin::FioJson, what));
        }
        let runtime_ms = self.read.runtime.max(self.write.runtime);
        let busy_s = self.job_runtime.unwrap_or(runtime_ms) as f64 / 1e3;
        Ok(Job {
            read: self.read.read(name)?,
            write: self.write.read(name)?,
            trims: self.trim.ios(),
            unified: self.mixed.ios(),
            commits: self.commit.total_ios,
            commit: self.commit.lat_ns.read(1.0, self.commit.total_ios, name)?,
            syncs: self.sync.total_ios,
            sync: self.sync.lat_ns.read(1.0, counters.syncs().0, name)?,
            sync_call: counters.syncs().1,
            depth_seen,
            user_s: self.usr_cpu / 100.0 * busy_s,
            system_s: self.sys_cpu / 100.0 * busy_s,
            host: self.hostname.filter(|host| !host.is_empty()),
            group: self.groupid,
            error: self.error,
            options: own,
            failed_ios: self.total_err,
            processes: None,
            merged: false,
            notes: Vec::new(),
            name: self.jobname,
        })
    }
}

/// Returns whether a version counts every kind of sync together: fio 3.42 and later.
fn counts_all_syncs(version: &str) -> bool {
    let numbers = version.split_once('-').map_or(version, |(_, numbers)| numbers);
    let mut numbers = numbers.split(['.', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (3, 42)
}

impl RawDirection {
    /// fio before 2.2 reports only the rate of I/Os, not their number.
    fn ios(&self) -> u64 {
        self.total_ios.unwrap_or_else(|| (self.iops * self.runtime as f64 / 1e3).round() as u64)
    }

    fn read(self, job: &str) -> Result<Direction, ImportError> {
        let ios = self.ios();
        // Before `io_kbytes` existed, this key was in kilobytes (fio 2.x, stat.c).
        let bytes = if self.io_kbytes.is_some() {
            self.io_bytes
        } else {
            self.io_bytes.saturating_mul(1024)
        };
        // No version writes both units.
        let either = |ns: RawLatency, us: RawLatency| {
            if us.max > 0.0 { us.read(1e3, ios, job) } else { ns.read(1.0, ios, job) }
        };
        let submission = either(self.slat_ns, self.slat)?;
        Ok(Direction {
            ios,
            bytes,
            runtime_ms: self.runtime,
            submission_mean_ns: submission.mean_ns,
            completion: either(self.clat_ns, self.clat)?,
            total: either(self.lat_ns, self.lat)?,
        })
    }
}

impl RawLatency {
    /// `unit_ns` is the length of the unit; `operations` is the number of latencies if not
    /// reported.
    fn read(self, unit_ns: f64, operations: u64, job: &str) -> Result<Timed, ImportError> {
        let damaged =
            |what: &str| ImportError::Damaged(Origin::FioJson, format!("job {job} has {what}"));
        let mut percentiles = Vec::new();
        for (percent, latency) in &self.percentile {
            let percent: f64 = percent
                .parse()
                .map_err(|_| damaged(&format!("an invalid percentile `{percent}`")))?;
            percentiles.push((percent, latency * unit_ns));
        }
        let mut bins = Vec::new();
        // JSON+ of fio 2 uses bin numbers as keys, next to a key with the number of bits per bin.
        let by_latency = !self.bins.keys().any(|key| key.starts_with("FIO_"));
        for (latency, count) in self.bins.iter().filter(|_| by_latency) {
            let latency: u64 =
                latency.parse().map_err(|_| damaged(&format!("an invalid bin `{latency}`")))?;
            bins.push((latency, *count));
        }
        bins.sort_unstable();
        // If nothing was timed, fio writes a list of zeros.
        let count =
            if self.max > 0.0 { self.count.unwrap_or(operations) } else { self.count.unwrap_or(0) };
        Ok(Timed {
            min_ns: self.min * unit_ns,
            max_ns: self.max * unit_ns,
            mean_ns: self.mean * unit_ns,
            count,
            percentiles,
            bins,
        })
    }
}

/// Options as fio writes them: an object of strings; fio-plot and others write a list with one
/// object.
fn options(value: &Value) -> Options {
    let mut options = Options::default();
    let object = match value {
        Value::Array(list) => list.first(),
        other => Some(other),
    };
    for (name, value) in object.and_then(Value::as_object).into_iter().flatten() {
        match value {
            Value::String(text) => options.set(name, text),
            Value::Null => options.set(name, "1"),
            other => options.set(name, &other.to_string()),
        }
    }
    options
}
