//! FreeBSD's `diskinfo -S`: for each size, the mean time of one write with its flush.
//!
//! It repeats rounds of 250 writes until a second has passed (usr.sbin/diskinfo/diskinfo.c,
//! `slogbench`), from which the number of writes follows. flushmark's suite `slog` does the same;
//! imported tests use its names and workloads so that the two are comparable.

use measurement::{RunDocument, Skipped, Source, TestResult, WorkloadRecord};
use workload::{Test, Work, suites};

use crate::error::ImportError;
use crate::foreign::{ForeignRun, ForeignTest, target_of_file, unknown_target};
use crate::origin::Origin;
use crate::pasted::{Line, lines};

/// The heading of the figures.
pub const HEADING: &str = "Synchronous random writes:";
/// Headings of `diskinfo -t`, which reads.
pub const OTHER_HEADINGS: [&str; 2] = ["Seek times:", "Transfer rates:"];
/// Writes of one round.
const ROUND: f64 = 250.0;
/// Rounds are repeated until at least this much time has passed.
const DURATION_S_MIN: f64 = 1.0;
/// The corresponding suite of flushmark.
const SUITE: &str = "slog";

/// Reads each drive's figures.
pub fn read(text: &str) -> Result<Vec<RunDocument>, ImportError> {
    let suite = suites::named(SUITE).map(|plan| plan.tests).unwrap_or_default();
    let mut drives: Vec<Drive> = Vec::new();
    let mut facts = Facts::default();
    let mut inside = false;
    for line in lines(text) {
        if line.text.matches(" kbytes:").count() > 1
            || line.text.starts_with(HEADING) && line.text.contains("usec/IO")
        {
            return Err(ImportError::Flattened(Origin::Diskinfo, line.number));
        }
        if line.text.starts_with(HEADING) {
            inside = true;
            drives.push(Drive { facts: std::mem::take(&mut facts), figures: Vec::new() });
        } else if line.text.contains(" kbytes:") && inside {
            let figures = Figures::read(line)?;
            if let Some(drive) = drives.last_mut() {
                drive.figures.push(figures);
            }
        } else {
            // Anything after the figures belongs to the next drive.
            inside = inside && !line.text.starts_with("/dev/") && !line.text.contains("# ");
            facts.read(line.text);
        }
    }
    if drives.is_empty() && text.contains(OTHER_HEADINGS[0]) {
        let what = ": it has what `diskinfo -t` reads, but not the synchronous writes of `-wS`";
        return Err(ImportError::Nothing(Origin::Diskinfo, what.to_owned()));
    }
    if let Some(empty) = drives.iter().position(|drive| drive.figures.is_empty()) {
        let what = format!("no figures follow heading {}", empty + 1);
        return Err(ImportError::CutShort(Origin::Diskinfo, what));
    }
    Ok(drives.into_iter().map(|drive| drive.document(&suite)).collect())
}

/// Facts about a drive printed before the figures.
#[derive(Debug, Default)]
struct Facts {
    device: Option<String>,
    description: Option<String>,
    size_bytes: u64,
}

impl Facts {
    /// `INTEL SSDSC2BB480G4  # Disk descr.`
    fn read(&mut self, line: &str) {
        match line.split_once('#').map(|(value, what)| (value.trim(), what.trim())) {
            Some((value, "Disk descr.")) if !value.is_empty() => {
                self.description = Some(value.to_owned());
            }
            Some((value, what)) if what.starts_with("mediasize in bytes") => {
                self.size_bytes = value.parse().unwrap_or(0);
            }
            // A prompt may end with `#` as well.
            _ if line.contains("diskinfo ") => {
                let device = line
                    .rsplit(' ')
                    .next()
                    .filter(|word| word.starts_with("/dev/") || is_device_name(word));
                self.device = device.map(str::to_owned).or(self.device.take());
            }
            None if line.starts_with("/dev/") || is_device_name(line) => {
                self.device = Some(line.to_owned());
            }
            Some(_) | None => {}
        }
    }
}

/// A device name such as `da0` or `nvd1p2`: one word with both letters and digits.
fn is_device_name(line: &str) -> bool {
    let has = |wanted: fn(&char) -> bool| line.chars().any(|c| wanted(&c));
    line.len() <= 16
        && line.chars().all(|c| c.is_ascii_alphanumeric())
        && has(char::is_ascii_lowercase)
        && has(char::is_ascii_digit)
}

#[derive(Debug)]
struct Drive {
    facts: Facts,
    figures: Vec<Figures>,
}

impl Drive {
    fn document(self, suite: &[Test]) -> RunDocument {
        let Facts { device, description, size_bytes } = self.facts;
        let path = device.as_deref().map(|device| match device.strip_prefix("/dev/") {
            Some(_) => device.to_owned(),
            None => format!("/dev/{device}"),
        });
        let mut results = Vec::new();
        let mut skipped = Vec::new();
        let smallest = self.figures.iter().map(|figures| figures.block_bytes).min().unwrap_or(0);
        for (test, block_bytes) in suite.iter().filter_map(|test| Some((test, block_bytes(test)?)))
        {
            match self.figures.iter().find(|figures| figures.block_bytes == block_bytes) {
                Some(figures) => results.push(figures.result(test, size_bytes)),
                None if block_bytes > smallest => skipped.push(Skipped {
                    test: test.name.clone(),
                    because: "diskinfo measures this size, but the text does not contain it"
                        .to_owned(),
                }),
                // diskinfo starts at the sector size.
                None => {}
            }
        }
        let run = ForeignRun {
            source: Source {
                tool: "diskinfo".to_owned(),
                drive: description.or(device),
                ..Source::default()
            },
            suite: SUITE.to_owned(),
            began: None,
            target: path.map_or_else(unknown_target, |path| target_of_file(&path)),
            results,
            skipped,
        };
        run.document()
    }
}

fn block_bytes(test: &Test) -> Option<u64> {
    match &test.work {
        Work::Blocks(work) => Some(u64::from(work.block_bytes.get())),
        Work::Steps(_) | Work::Sort(_) => None,
    }
}

/// `4 kbytes:    158.2 usec/IO =     24.7 Mbytes/s`
#[derive(Debug)]
struct Figures {
    block_bytes: u64,
    mean_us: f64,
    mib_per_s: f64,
}

impl Figures {
    fn read(line: Line<'_>) -> Result<Figures, ImportError> {
        let figures = || {
            let (kbytes, rest) = line.text.split_once(" kbytes:")?;
            let (usec, rest) = rest.split_once("usec/IO")?;
            let kbytes: f64 = kbytes.trim().parse().ok()?;
            let mean_us: f64 = usec.trim().parse().ok()?;
            let mib_per_s: f64 =
                rest.trim().strip_prefix('=')?.strip_suffix("Mbytes/s")?.trim().parse().ok()?;
            // 512 B to 8 MiB, and a write takes less than an hour.
            let bytes = (kbytes * 1024.0).round() as u64;
            let plausible = (512..=8 << 20).contains(&bytes)
                && bytes.is_power_of_two()
                && (1e-3..3.6e9).contains(&mean_us)
                && (0.0..1e9).contains(&mib_per_s);
            plausible.then_some(Figures { block_bytes: bytes, mean_us, mib_per_s })
        };
        figures().ok_or_else(|| {
            ImportError::Damaged(
                Origin::Diskinfo,
                format!(
                    "line {} is invalid: expected `N kbytes: N usec/IO = N Mbytes/s`, found `{}`",
                    line.number, line.text
                ),
            )
        })
    }

    fn result(&self, test: &Test, size_bytes: u64) -> TestResult {
        let workload = WorkloadRecord { size_bytes, ..WorkloadRecord::of(test) };
        let mut foreign = ForeignTest::of(&test.name, workload, "diskinfo");
        let rounds = (DURATION_S_MIN * 1e6 / self.mean_us / ROUND).ceil().max(1.0);
        let ops = rounds * ROUND;
        foreign.elapsed_s = ops * self.mean_us / 1e6;
        foreign.ops = ops as u64;
        foreign.iops = Some(1e6 / self.mean_us);
        // As printed: computed from the rounded mean, it would differ in the last digit.
        foreign.bytes = self.mib_per_s * f64::from(1 << 20) * foreign.elapsed_s;
        foreign.commits_per_s = foreign.iops;
        foreign.proof.writes = ops as u64;
        foreign.proof.syncs = ops as u64;
        foreign.proof.commits = ops as u64;
        foreign.notes.push(
            "diskinfo prints only a mean; the number of writes and the time follow from its rounds \
             of 250 writes, repeated until a second has passed."
                .to_owned(),
        );
        foreign.result()
    }
}
