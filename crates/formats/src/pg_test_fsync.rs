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
/// Duration of each test if not printed (pg_test_fsync(1), `-s`).
const DEFAULT_S: f64 = 5.0;
/// The corresponding suite of flushmark.
const SUITE: &str = "wal";

/// Reads one output or several in sequence.
pub fn read(text: &str) -> Result<Vec<RunDocument>, ImportError> {
    let suite = suites::named(SUITE).map(|plan| plan.tests).unwrap_or_default();
    let mut outputs = vec![Output::default()];
    for line in lines(text) {
        let seconds = seconds(line.text);
        let section = Section::of(line.text);
        let begins =
            seconds.is_some() || matches!(section, Some(Section::Methods { several: false, .. }));
        if begins && outputs.last().is_some_and(|output| !output.sections.is_empty()) {
            outputs.push(Output::default());
        }
        let Some(output) = outputs.last_mut() else { continue };
        output.elapsed_s = seconds.or(output.elapsed_s);
        if let Some(section) = section {
            output.sections.push((section, 0));
        } else if let Some((name, figures)) = row(line.text) {
            output.read_row(name, figures, line, &suite)?;
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

/// The output of one run of the program.
#[derive(Debug, Default)]
struct Output {
    elapsed_s: Option<f64>,
    /// The sections, with the number of rows read.
    sections: Vec<(Section, usize)>,
    results: Vec<TestResult>,
    skipped: Vec<Skipped>,
}

impl Output {
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
                    self.results.push(result(known, per_second, self.elapsed_s));
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
            source: Source { tool: "pg_test_fsync".to_owned(), version: None, drive: None },
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
                let (count, kib) = (numbers.next().unwrap_or("?"), numbers.next().unwrap_or("?"));
                format!("open_sync, 16 KiB: {count} x {kib} KiB")
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
    let (before, _) = line.split_once(" ops/sec")?;
    let (name, figure) = before.trim().rsplit_once([' ', '\t'])?;
    Some((name.trim(), Figures::PerSecond(figure)))
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
