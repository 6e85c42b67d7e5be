//! PostgreSQL's `pg_test_fsync`: operations per second of each sync method.
//!
//! flushmark's suite `wal` measures the same; imported tests use its names and workloads so that
//! the two are comparable.

use measurement::{RunDocument, Skipped, Source, TestResult, WorkloadRecord};
use workload::{Test, suites};

use crate::error::ImportError;
use crate::foreign::{ForeignRun, ForeignTest, unknown_target};
use crate::origin::Origin;
use crate::pasted::{Line, lines};

/// The start of the first section's heading.
pub const HEADING: &str = "Compare file sync methods";
/// The methods, which are the same in every language.
pub const METHODS: [&str; 5] =
    ["open_datasync", "fsync_writethrough", "fdatasync", "open_sync", "fsync"];
/// Duration of each test if not printed (pg_test_fsync(1), `-s`).
const DEFAULT_S: f64 = 5.0;
/// The corresponding suite of flushmark.
const SUITE: &str = "wal";

/// Reads one output or several in sequence.
pub fn read(text: &str) -> Result<Vec<RunDocument>, ImportError> {
    let suite = suites::named(SUITE).map(|plan| plan.tests).unwrap_or_default();
    let mut outputs = vec![Output::default()];
    let mut kib = None;
    for line in lines(text) {
        let rows = line.text.matches(" ops/sec").count();
        if rows > 1 || rows == 1 && Section::of(line.text).is_some() {
            return Err(ImportError::Flattened(Origin::PgTestFsync, line.number));
        }
        let section = Section::of(line.text);
        let row = row(line.text);
        let within = outputs.last().is_some_and(|output| !output.sections.is_empty());
        let seconds =
            seconds(line.text).or_else(|| translated_seconds(line.text).filter(|_| !within));
        // Without an English heading, the rows show what they belong to.
        let implied = row.filter(|_| section.is_none()).and_then(|(name, _)| {
            outputs.last().and_then(|output| output.implied_section(name, kib.unwrap_or(8)))
        });
        let section = section.or(implied);
        let begins = seconds.is_some()
            || operations(line.text).is_some()
            || matches!(section, Some(Section::Methods { several: false, .. }));
        if begins && within {
            outputs.push(Output::default());
        }
        let Some(output) = outputs.last_mut() else { continue };
        output.elapsed_s = seconds.or(output.elapsed_s);
        output.operations = operations(line.text).or(output.operations);
        if let Some(section) = section {
            output.sections.push((section, 0));
        }
        match row {
            Some((name, figures)) => output.read_row(name, figures, line, &suite)?,
            None => kib = kilobytes(line.text).or(kib),
        }
    }
    let documents =
        outputs.into_iter().filter(|output| !output.sections.is_empty()).map(Output::document);
    documents.collect()
}

/// `5 seconds per test`
fn seconds(line: &str) -> Option<f64> {
    let (seconds, _) =
        line.split_once(" seconds per test").or_else(|| line.split_once(" second per test"))?;
    seconds.trim().parse().ok().filter(|seconds| (0.0..1e6).contains(seconds))
}

/// `5 Sekunden pro Test`, `5 secondes par test`: a number and a few words; `テスト１件あたり 5秒`.
fn translated_seconds(line: &str) -> Option<f64> {
    if let Some((before, _)) = line.split_once('秒') {
        let digits = before.trim_end().rsplit(|c: char| !c.is_ascii_digit()).next()?;
        return digits.parse().ok().filter(|seconds| (1.0..1e4).contains(seconds));
    }
    let (seconds, words) = line.split_once(' ')?;
    let is_sentence =
        words.split(' ').count() <= 4 && !words.contains(|c: char| c.is_ascii_digit());
    seconds.parse().ok().filter(|seconds| is_sentence && (1.0..1e4).contains(seconds))
}

/// `2000 operations per test`, before PostgreSQL 9.2.
fn operations(line: &str) -> Option<f64> {
    let (count, _) = line.split_once(" operations per test")?;
    count.trim().parse().ok().filter(|count| (1.0..1e9).contains(count))
}

/// The size in a heading: `8kB`.
fn kilobytes(line: &str) -> Option<u32> {
    let (before, _) = line.split_once("kB")?;
    before.rsplit(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The output of one run of the program.
#[derive(Debug, Default)]
struct Output {
    elapsed_s: Option<f64>,
    /// Number of operations of each test, in versions that do not run for a time.
    operations: Option<f64>,
    /// The sections, with the number of rows read.
    sections: Vec<(Section, usize)>,
    results: Vec<TestResult>,
    skipped: Vec<Skipped>,
}

impl Output {
    /// The section that a row begins if it does not belong to the one before it.
    fn implied_section(&self, row: &str, kib: u32) -> Option<Section> {
        let current = self.sections.last().map(|(section, _)| *section);
        let methods = |section: Section| matches!(section, Section::Methods { .. });
        if row == METHODS[0] {
            // Every section of methods begins with this one.
            let rows = self.sections.last().map_or(0, |(_, rows)| *rows);
            let known = self.sections.iter().filter(|(section, _)| methods(*section)).count();
            let begins = !current.is_some_and(methods) || rows > 0;
            return begins.then_some(Section::Methods { several: known == 1, kib });
        }
        let section = if row.contains("kB open_sync") {
            Section::OpenSync
        } else if row.contains("close") {
            Section::AnotherHandle
        } else if row == "write" {
            Section::NotSynced
        } else {
            return None;
        };
        (current != Some(section) && current.is_some()).then_some(section)
    }

    fn read_row(
        &mut self,
        name: &str,
        figures: Figures<'_>,
        line: Line<'_>,
        suite: &[Test],
    ) -> Result<(), ImportError> {
        let Some((section, rows)) = self.sections.last_mut() else { return Ok(()) };
        *rows += 1;
        let test = section.test(name);
        let because = match figures {
            Figures::NotAvailable => {
                "pg_test_fsync reports n/a: the system or the filesystem does not support this \
                 method"
                    .to_owned()
            }
            Figures::PerSecond(figure) => {
                let per_second = per_second(figure).ok_or_else(|| damaged(line))?;
                if let Some(known) = suite.iter().find(|known| known.name == test) {
                    let elapsed_s =
                        self.operations.map(|count| count / per_second).or(self.elapsed_s);
                    self.results.push(result(known, per_second, elapsed_s));
                    return Ok(());
                }
                format!("{per_second:.3} ops/sec of a method or size that flushmark does not test")
            }
        };
        self.skipped.push(Skipped { test, because });
        Ok(())
    }

    fn document(mut self) -> Result<RunDocument, ImportError> {
        if let Some((section, rows)) =
            self.sections.iter().find(|(section, rows)| *rows < section.rows())
        {
            let missing =
                format!("`{}` has {rows} rows instead of {}", section.heading(), section.rows());
            return Err(ImportError::CutShort(Origin::PgTestFsync, missing));
        }
        if self.results.is_empty() {
            return Err(ImportError::Nothing(Origin::PgTestFsync, String::new()));
        }
        let known: Vec<&str> = self.sections.iter().map(|(section, _)| section.heading()).collect();
        let missing = Section::ALL
            .into_iter()
            .map(Section::heading)
            .filter(|heading| !known.contains(heading));
        self.skipped.extend(missing.map(|heading| Skipped {
            test: heading.to_owned(),
            because: "the text does not contain this section of pg_test_fsync's output".to_owned(),
        }));
        let run = ForeignRun {
            source: Source { tool: "pg_test_fsync".to_owned(), ..Source::default() },
            suite: SUITE.to_owned(),
            began: None,
            target: unknown_target(),
            results: self.results,
            skipped: self.skipped,
        };
        Ok(run.document())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    /// One or two writes, then a sync.
    Methods {
        several: bool,
        kib: u32,
    },
    /// The same amount in smaller and smaller writes.
    OpenSync,
    /// A sync through another file descriptor.
    AnotherHandle,
    NotSynced,
}

impl Section {
    /// The sections in the order of the output.
    const ALL: [Section; 5] = [
        Section::Methods { several: false, kib: 8 },
        Section::Methods { several: true, kib: 8 },
        Section::OpenSync,
        Section::AnotherHandle,
        Section::NotSynced,
    ];

    fn of(line: &str) -> Option<Section> {
        if let Some(rest) = line.strip_prefix(HEADING) {
            let kib = rest
                .split(' ')
                .find_map(|word| word.strip_suffix("kB"))
                .and_then(|kib| kib.parse().ok());
            return Some(Section::Methods {
                several: rest.contains("two "),
                kib: kib.unwrap_or(8),
            });
        }
        let sections = [
            ("Compare open_sync", Section::OpenSync),
            ("Test if fsync on non-write", Section::AnotherHandle),
            ("Non-sync", Section::NotSynced),
            // Spelling before version 9.3.
            ("Non-Sync", Section::NotSynced),
        ];
        sections.into_iter().find(|(words, _)| line.starts_with(words)).map(|(_, section)| section)
    }

    /// The name of the corresponding test of flushmark's suite.
    fn test(self, row: &str) -> String {
        match self {
            Section::Methods { several: false, kib } => format!("one {kib} KiB write: {row}"),
            Section::Methods { several: true, kib } => format!("two {kib} KiB writes: {row}"),
            Section::OpenSync => {
                // ` 2 *  8kB open_sync writes`
                let mut numbers =
                    row.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
                let (first, second) = (numbers.next().unwrap_or("?"), numbers.next());
                // PostgreSQL 9.1 prints only the size.
                let whole = || first.parse().ok().filter(|&kib: &u32| kib > 0).map(|kib| 16 / kib);
                match (second, whole()) {
                    (Some(kib), _) => format!("open_sync, 16 KiB: {first} x {kib} KiB"),
                    (None, Some(count)) => format!("open_sync, 16 KiB: {count} x {first} KiB"),
                    (None, None) => format!("open_sync, 16 KiB: {row}"),
                }
            }
            Section::AnotherHandle => format!("another handle: {row}"),
            Section::NotSynced => format!("not synced: {row}"),
        }
    }

    /// Rows that every version prints, including those of unsupported methods.
    const fn rows(self) -> usize {
        match self {
            Section::Methods { .. } | Section::OpenSync => 5,
            Section::AnotherHandle => 2,
            Section::NotSynced => 1,
        }
    }

    const fn heading(self) -> &'static str {
        match self {
            Section::Methods { several: false, .. } => "Compare file sync methods using one write",
            Section::Methods { several: true, .. } => "Compare file sync methods using two writes",
            Section::OpenSync => "Compare open_sync with different write sizes",
            Section::AnotherHandle => "Test if fsync on non-write file descriptor is honored",
            Section::NotSynced => "Non-sync'ed writes",
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Figures<'a> {
    PerSecond(&'a str),
    NotAvailable,
}

/// `open_datasync     3282.685 ops/sec     305 usecs/op`: name and figures. An asterisk after `n/a`
/// means that direct I/O is unsupported.
fn row(line: &str) -> Option<(&str, Figures<'_>)> {
    if let Some(name) = line.trim_end_matches('*').strip_suffix("n/a") {
        return Some((name.trim(), Figures::NotAvailable));
    }
    match line.split_once(" ops/sec") {
        Some((before, _)) => {
            let (name, figure) = before.trim().rsplit_once([' ', '\t'])?;
            Some((name.trim(), Figures::PerSecond(figure)))
        }
        None => translated_row(line),
    }
}

/// `fdatasync    42,349 Op./s    23613 µs/Op.`, `open_sync    entf.`: the units and the words for
/// what is not available are translated, the names of the methods are not.
fn translated_row(line: &str) -> Option<(&str, Figures<'_>)> {
    let others = ["write, fsync, close", "write, close, fsync", "write"];
    let named = METHODS.iter().chain(&others).find_map(|name| {
        let rest = line.strip_prefix(name)?;
        rest.starts_with(char::is_whitespace).then_some(rest)
    });
    // ` 1 * 16kB open_sync schreiben    81,1 Op./s`
    let sized = || {
        let (_, rest) = line.split_once("kB open_sync")?;
        line.starts_with(|c: char| c.is_ascii_digit()).then_some(rest)
    };
    let rest = named.or_else(sized)?;
    let name = line[..line.len() - rest.len()].trim();
    let words: Vec<&str> = rest.split_whitespace().collect();
    let is_number = |word: &&&str| word.contains(['.', ',']) && per_second(word).is_some();
    match words.iter().find(is_number) {
        Some(figure) if words.len() >= 3 => Some((name, Figures::PerSecond(figure))),
        // In columns, unlike a word of a sentence.
        None if words.len() == 1
            && rest.starts_with("  ")
            && !rest.contains(|c: char| c.is_ascii_digit()) =>
        {
            Some((name, Figures::NotAvailable))
        }
        _ => None,
    }
}

/// Operations per second; some locales use a decimal comma.
fn per_second(text: &str) -> Option<f64> {
    text.replace(',', ".").parse().ok().filter(|rate| (1e-6..1e9).contains(rate))
}

fn damaged(line: Line<'_>) -> ImportError {
    ImportError::Damaged(
        Origin::PgTestFsync,
        format!("line {} has invalid operations per second: `{}`", line.number, line.text),
    )
}

fn result(test: &Test, per_second: f64, elapsed_s: Option<f64>) -> TestResult {
    let workload = WorkloadRecord::of(test);
    let synced = workload.steps.iter().any(|step| step.starts_with("sync "))
        || workload.files.iter().any(|file| file.open_flag.is_some());
    let writes = workload.block_bytes;
    let mut foreign = ForeignTest::of(&test.name, workload, "pg_test_fsync");
    foreign.elapsed_s = elapsed_s.unwrap_or(DEFAULT_S);
    foreign.iops = Some(per_second);
    foreign.ops = (per_second * foreign.elapsed_s).round() as u64;
    foreign.bytes = per_second * foreign.elapsed_s * writes as f64;
    foreign.commits_per_s = synced.then_some(per_second);
    let writes_each = workload_writes(&foreign.workload);
    foreign.proof.writes = foreign.ops.saturating_mul(writes_each);
    foreign.proof.commits = if synced { foreign.ops } else { 0 };
    if elapsed_s.is_none() {
        foreign.notes.push(
            "The text does not contain the duration of each test; pg_test_fsync's default of 5 s \
             is assumed."
                .to_owned(),
        );
    }
    foreign.notes.push("pg_test_fsync prints only a mean.".to_owned());
    foreign.result()
}

/// Writes of one operation: `write log seq 8KiB x2` are two.
fn workload_writes(workload: &WorkloadRecord) -> u64 {
    let writes = workload.steps.iter().filter(|step| step.starts_with("write "));
    let repeated = |step: &String| {
        let count = step.rsplit(' ').next().and_then(|word| word.strip_prefix('x'));
        count.and_then(|count| count.parse().ok()).unwrap_or(1)
    };
    writes.map(repeated).sum::<u64>()
}
