//! `sysbench fileio`, of sysbench 0.4 to 1.1.
//!
//! sysbench times reads, writes and syncs together, and with periodic syncs it syncs all of its
//! files at once. So its latencies belong to no operation, and commits are known only where each
//! write is synced.

use measurement::{RunDocument, Source, TestResult, WorkloadRecord};
use workload::{FileOrder, JobFiles, Pattern, Submission, SyncMethod, SyncedFile};

use crate::error::ImportError;
use crate::foreign::{ForeignRun, ForeignTest, unknown_target};
use crate::origin::Origin;
use crate::pasted::{Line, lines};

/// Words of the figures, each of some versions.
pub const HEADINGS: [&str; 3] = ["fsyncs/s:", "Requests/sec executed", "fsync: IOPS="];

/// Reads one output or several in sequence.
pub fn read(suite: &str, text: &str) -> Result<Vec<RunDocument>, ImportError> {
    let mut runs = vec![Run::default()];
    for line in lines(text) {
        let words = ["writes/s:", "fsyncs/s:", "total time:", "Doing "];
        if words.iter().filter(|word| line.text.contains(**word)).count() > 1 {
            return Err(ImportError::Flattened(Origin::Sysbench, line.number));
        }
        let begins = line.text.starts_with("Number of threads:")
            || ["sysbench 0", "sysbench 1"].iter().any(|word| line.text.starts_with(word))
                && line.text.split(' ').nth(1).is_some_and(|word| word.contains('.'));
        if begins && runs.last().is_some_and(|run| run.elapsed_s.is_some()) {
            runs.push(Run::default());
        }
        if let Some(run) = runs.last_mut() {
            run.read(line)?;
        }
    }
    runs.into_iter().filter(Run::has_figures).map(|run| run.document(suite)).collect()
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Syncs {
    #[default]
    Unknown,
    /// All files after this many requests.
    Each(u32),
    /// The file of each write.
    EachWrite,
    Never,
}

/// The output of one `sysbench fileio run`.
#[derive(Debug, Default)]
struct Run {
    version: Option<String>,
    threads: Option<u32>,
    files: Option<u32>,
    size_bytes: Option<u64>,
    block_bytes: Option<u64>,
    /// Reads per write of a mix.
    ratio: Option<f64>,
    syncs: Syncs,
    sync_flag: Option<SyncMethod>,
    direct: bool,
    end_fsync: bool,
    mode: Option<String>,
    test: Option<String>,
    /// Reads, writes and syncs.
    counts: [Option<f64>; 3],
    rates: [Option<f64>; 3],
    requests_per_s: Option<f64>,
    /// Printed throughput of reads and writes together.
    mib_per_s: f64,
    elapsed_s: Option<f64>,
    /// Latencies of all operations together, as printed.
    latencies: Vec<String>,
}

impl Run {
    fn has_figures(&self) -> bool {
        self.counts[1].is_some() || self.rates[1].is_some()
    }

    fn read(&mut self, line: Line<'_>) -> Result<(), ImportError> {
        let text = line.text;
        let number = |text: &str| -> Result<f64, ImportError> {
            let digits = text.trim().trim_end_matches(['s', 'm']);
            let value: Option<f64> = digits.parse().ok();
            value.filter(|value| (0.0..1e15).contains(value)).ok_or_else(|| damaged(line))
        };
        if let Some(rest) = text.strip_prefix("sysbench ") {
            let version = rest.split([' ', ':']).next().unwrap_or("");
            if version.starts_with(|c: char| c.is_ascii_digit()) {
                self.version = Some(version.to_owned());
            }
        } else if let Some(rest) = text.strip_prefix("Number of threads:") {
            self.threads = Some(number(rest)? as u32);
        } else if let Some(rest) = text.strip_prefix("Extra file open flags:") {
            self.read_flags(rest.trim());
        } else if let Some((files, _)) = text.split_once(" files, ") {
            self.files = files.trim().parse().ok();
        } else if let Some((size, _)) = text.split_once(" total file size") {
            self.size_bytes = size_bytes(size);
        } else if let Some(size) = text.strip_prefix("Block size ") {
            self.block_bytes = Some(size_bytes(size).ok_or_else(|| damaged(line))?);
        } else if let Some(rest) =
            text.strip_prefix("Read/Write ratio for combined random IO test:")
        {
            self.ratio = Some(number(rest)?);
        } else if let Some((_, rest)) = text.split_once("calling fsync() each ") {
            let every = rest.split(' ').next().unwrap_or("");
            self.syncs = Syncs::Each(number(every)? as u32);
        } else if text.starts_with("Calling fsync() after each write operation") {
            self.syncs = Syncs::EachWrite;
        } else if text.starts_with("Calling fsync() at the end of test") {
            self.end_fsync = text.contains("Enabled");
            if self.syncs == Syncs::Unknown {
                self.syncs = Syncs::Never;
            }
        } else if let Some(mode) =
            text.strip_prefix("Using ").and_then(|rest| rest.strip_suffix(" I/O mode"))
        {
            self.mode = Some(mode.to_owned());
        } else if let Some(test) =
            text.strip_prefix("Doing ").and_then(|rest| rest.strip_suffix(" test"))
        {
            self.test = Some(test.to_owned());
        } else {
            self.read_figure(line, number)?;
        }
        Ok(())
    }

    fn read_figure(
        &mut self,
        line: Line<'_>,
        number: impl Fn(&str) -> Result<f64, ImportError>,
    ) -> Result<(), ImportError> {
        let text = line.text;
        let names = [("reads/s:", 0), ("writes/s:", 1), ("fsyncs/s:", 2)];
        let of_1_1 = [("read:", 0), ("write:", 1), ("fsync:", 2)];
        if let Some((name, kind)) = names.into_iter().find(|(name, _)| text.starts_with(name)) {
            self.rates[kind] = Some(number(&text[name.len()..])?);
        } else if let Some((name, kind)) =
            of_1_1.into_iter().find(|(name, _)| text.starts_with(name) && text.contains("IOPS="))
        {
            let rate = text[name.len()..].trim().trim_start_matches("IOPS=");
            self.rates[kind] = Some(number(rate.split(' ').next().unwrap_or(""))?);
        } else if let Some(rest) =
            text.strip_prefix("read, MiB/s:").or_else(|| text.strip_prefix("written, MiB/s:"))
        {
            self.mib_per_s += number(rest)?;
        } else if let Some(rest) = text.strip_prefix("Operations performed:") {
            // `6000 Read, 4000 Write, 12800 Other = 22800 Total`
            for item in rest.split([',', '=']) {
                let Some((count, name)) = item.trim().split_once(' ') else { continue };
                let kind = match name.to_lowercase().as_str() {
                    "read" | "reads" => 0,
                    "write" | "writes" => 1,
                    "other" => 2,
                    _ => continue,
                };
                self.counts[kind] = Some(number(count)?);
            }
        } else if let Some((rate, _)) = text.split_once(" Requests/sec executed") {
            self.requests_per_s = Some(number(rate)?);
        } else if let Some(rest) = text.strip_prefix("total time:") {
            self.elapsed_s = Some(number(rest)?);
        } else if let Some((name, value)) = text.split_once(':') {
            let name = name.trim().trim_start_matches("approx.").trim();
            let is_percentile = name.ends_with("percentile") && !value.contains("disabled");
            if ["min", "avg", "max"].contains(&name) || is_percentile {
                self.latencies.push(format!("{name} {} ms", number(value)?));
            }
        }
        Ok(())
    }

    /// `directio`, `sync`, `dsync`, `(none)`; sysbench 0.4 prints the number of open(2).
    fn read_flags(&mut self, flags: &str) {
        const O_DSYNC: u32 = 0o10_000;
        const O_SYNC: u32 = 0o4_010_000;
        const O_DIRECT: u32 = 0o40_000;
        let number: u32 = flags.parse().unwrap_or(0);
        let has = |name: &str| flags.split([' ', ',']).any(|word| word == name);
        self.direct = has("directio") || has("direct") || number & O_DIRECT != 0;
        self.sync_flag = if has("sync") || number & O_SYNC == O_SYNC {
            Some(SyncMethod::OSync)
        } else if has("dsync") || number & O_DSYNC != 0 {
            Some(SyncMethod::ODsync)
        } else {
            None
        };
    }

    fn document(self, suite: &str) -> Result<RunDocument, ImportError> {
        let Some(elapsed_s) = self.elapsed_s.filter(|&elapsed_s| elapsed_s > 0.0) else {
            let missing = "the line `total time` is missing".to_owned();
            return Err(ImportError::CutShort(Origin::Sysbench, missing));
        };
        let source = Source {
            tool: "sysbench".to_owned(),
            version: self.version.clone(),
            ..Source::default()
        };
        let run = ForeignRun {
            source,
            suite: suite.to_owned(),
            began: None,
            target: unknown_target(),
            results: vec![self.result(elapsed_s)],
            skipped: Vec::new(),
        };
        Ok(run.document())
    }

    fn result(self, elapsed_s: f64) -> TestResult {
        let [reads, writes, syncs] = [0, 1, 2].map(|kind| {
            let counted = self.rates[kind].map(|rate| rate * elapsed_s);
            self.counts[kind].or(counted).unwrap_or(0.0).round() as u64
        });
        let pattern = self.test.as_deref().and_then(|test| match test {
            "sequential write (creation)" | "sequential rewrite" => Some(Pattern::Write),
            "sequential read" => Some(Pattern::Read),
            "random read" => Some(Pattern::RandRead),
            "random write" => Some(Pattern::RandWrite),
            "random r/w" => Some(Pattern::RandRw),
            _ => None,
        });
        let mut notes = Vec::new();
        let (sync, every, commits) = self.sync(writes, syncs, &mut notes);
        let engine = self.mode.as_deref().unwrap_or("unknown");
        let one_at_a_time = matches!(engine, "synchronous" | "slow mmaped" | "fast mmaped");
        let size_bytes = self.size_bytes.unwrap_or(0);
        let files = self.files.filter(|&files| files > 1);
        let workload = WorkloadRecord {
            pattern,
            read_percent: self
                .ratio
                .filter(|_| pattern == Some(Pattern::RandRw))
                .map(|ratio| (100.0 * ratio / (ratio + 1.0)).round() as u8),
            block_bytes: self.block_bytes.unwrap_or(0),
            depth: u32::from(one_at_a_time),
            jobs: self.threads.unwrap_or(1),
            sync: Some(sync),
            sync_every: every,
            drain: true,
            submission: one_at_a_time.then_some(Submission::Blocking),
            direct: self.direct,
            size_bytes,
            job_files: files.map(|per_job| JobFiles {
                per_job,
                order: FileOrder::Random,
                turn: 1,
                synced: SyncedFile::Next,
            }),
            end_fsync: self.end_fsync,
            ..WorkloadRecord::unknown()
        };
        if self.threads.is_none() || pattern.is_none() || self.block_bytes.is_none() {
            notes.push(
                "The text does not contain the whole head of sysbench's output: threads, block \
                 size and kind of test may be unknown."
                    .to_owned(),
            );
        }
        let figures = ["reads", "writes", "fsyncs"].into_iter().enumerate().filter_map(
            |(kind, name)| match (self.rates[kind], self.counts[kind]) {
                (Some(rate), _) => Some(format!("{rate} {name}/s")),
                (None, Some(count)) => Some(format!("{count} {name}")),
                (None, None) => None,
            },
        );
        let figures: Vec<String> = figures.collect();
        notes.push(format!("As printed: {}.", figures.join(", ")));
        if !self.latencies.is_empty() {
            notes.push(format!(
                "sysbench times all operations together, so latencies are not imported: {}.",
                self.latencies.join(", ")
            ));
        }
        let title = self.test.as_deref().unwrap_or("sysbench fileio").to_owned();
        let block_bytes = workload.block_bytes;
        let mut foreign = ForeignTest::of(&title, workload, engine);
        foreign.elapsed_s = elapsed_s;
        foreign.ops = reads.saturating_add(writes);
        let rates = self.rates[0].zip(self.rates[1]).map(|(reads, writes)| reads + writes);
        foreign.iops = rates.or(self.requests_per_s);
        let printed_bytes = self.mib_per_s * f64::from(1 << 20) * elapsed_s;
        let bytes = foreign.ops as f64 * block_bytes as f64;
        foreign.bytes = if block_bytes > 0 { bytes } else { printed_bytes };
        foreign.commits_per_s = commits.map(|commits| commits as f64 / elapsed_s);
        (foreign.proof.reads, foreign.proof.writes) = (reads, writes);
        (foreign.proof.syncs, foreign.proof.commits) = (syncs, commits.unwrap_or(0));
        foreign.notes = notes;
        foreign.result()
    }

    /// The method, the number of writes per sync, and the commits.
    fn sync(
        &self,
        writes: u64,
        syncs: u64,
        notes: &mut Vec<String>,
    ) -> (SyncMethod, u32, Option<u64>) {
        if writes == 0 {
            return (SyncMethod::None, 1, None);
        }
        if let Some(flag) = self.sync_flag {
            return (flag, 1, Some(writes));
        }
        match self.syncs {
            Syncs::EachWrite => (SyncMethod::Fsync, 1, Some(writes)),
            Syncs::Each(every @ 1..) => {
                if self.files == Some(1) {
                    return (SyncMethod::Fsync, every, Some(syncs.min(writes)));
                }
                notes.push(format!(
                    "sysbench synced all of its files after every {every} requests: its syncs \
                     ({syncs}) are not commits of a write."
                ));
                (SyncMethod::Fsync, every, None)
            }
            Syncs::Each(0) | Syncs::Never => (SyncMethod::None, 1, None),
            Syncs::Unknown => {
                if syncs > 0 {
                    notes.push(format!(
                        "The text does not contain when sysbench synced; {syncs} syncs are not \
                         counted as commits."
                    ));
                }
                (SyncMethod::None, 1, None)
            }
        }
    }
}

/// `16KiB`, and in older versions `16Kb`, `2Gb`: all of 1024.
fn size_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let value: f64 = text[..digits].parse().ok()?;
    let power = match text[digits..].chars().next() {
        None | Some('B' | 'b') => 0,
        Some('K' | 'k') => 1,
        Some('M') => 2,
        Some('G') => 3,
        Some('T') => 4,
        Some(_) => return None,
    };
    Some((value * 1024_f64.powi(power)) as u64)
}

fn damaged(line: Line<'_>) -> ImportError {
    ImportError::Damaged(
        Origin::Sysbench,
        format!("line {} has an invalid figure: `{}`", line.number, line.text),
    )
}
