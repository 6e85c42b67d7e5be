//! `cargo xtask bench report`: a report of a real `fsync-study`, from the result to the first
//! charts on the screen.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use measurement::RunDocument;

use crate::build;
use crate::command::output;

/// Tests in the report, for which the limits below apply.
const TESTS: usize = 72;
const MAKING_MAX: Duration = Duration::from_secs(1);
/// Limit on opening it, until the charts in view are drawn.
const OPENING_MAX: Duration = Duration::from_secs(1);
const SIZE_MAX_BYTES: u64 = 3 << 20;
/// True once the charts in the first view are drawn and the page has loaded.
const DRAWN: &str = "document.readyState === 'complete' && [...document.querySelectorAll('[data-figure]')]
    .filter((place) => place.getBoundingClientRect().top < innerHeight).every((place) => place.querySelector('svg'))";

#[derive(Debug, Args)]
pub struct Options {
    /// A result of `fsync-study` (default: measure one in the current directory, a second per test)
    #[arg(long, value_name = "RESULT.json")]
    result: Option<PathBuf>,

    /// The flushmark program to use (default: build a release)
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,

    /// Number of rounds, of which medians are printed
    #[arg(long, default_value_t = 5)]
    rounds: u32,
}

/// Measures, and prints each figure with its limit. Fails if something cannot be measured, not if a
/// limit is exceeded.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let program = match &options.program {
        Some(program) => program,
        None => build::flushmark()?,
    };
    let program = program.to_string_lossy();
    let place = tempfile::tempdir().context("cannot make a directory for the report")?;
    let whole = match &options.result {
        Some(result) => result.clone(),
        None => measure(&program, place.path())?,
    };
    let result = first_tests(&whole, place.path())?;
    let page = place.path().join("report.html");
    let args = ["report", &*result.to_string_lossy(), "--output", &*page.to_string_lossy()]
        .map(str::to_owned);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let browser = chromium::Browser::start()?;
    let mut shown = browser.page()?;
    shown.resize(1280, 900)?;
    let (mut making, mut opening) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds.max(1) {
        let begun = Instant::now();
        output(&program, &args)?;
        making.push(begun.elapsed());
        let begun = Instant::now();
        shown.open(&format!("file://{}", page.display()))?;
        shown.wait_for(DRAWN)?;
        opening.push(begun.elapsed());
    }
    let bytes = std::fs::metadata(&page)?.len();
    println!("a report of {TESTS} tests, medians of {} rounds", making.len());
    println!("  made in         {:>9.0?}   at most {MAKING_MAX:?}", median(&mut making));
    println!("  opened in       {:>9.0?}   at most {OPENING_MAX:?}", median(&mut opening));
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!("  size            {:>5.2} MiB   at most {:.0} MiB", mib(bytes), mib(SIZE_MAX_BYTES));
    Ok(())
}

fn measure(program: &str, place: &Path) -> anyhow::Result<PathBuf> {
    let result = place.join("study.json");
    let result_text = result.to_string_lossy();
    output(
        program,
        &[
            "run", "fsync-study", "--target", ".", "--time", "1s", "--quiet", "--output",
            &result_text,
        ],
    )?;
    Ok(result)
}

/// The document, cut to the number of tests that the limits apply to.
fn first_tests(whole: &Path, place: &Path) -> anyhow::Result<PathBuf> {
    let text = std::fs::read_to_string(whole)
        .with_context(|| format!("cannot read {}", whole.display()))?;
    let mut document = RunDocument::from_json(&text)?;
    anyhow::ensure!(
        document.results.len() >= TESTS,
        "{} has fewer than {TESTS} tests",
        whole.display()
    );
    document.results.truncate(TESTS);
    let result = place.join("tests.json");
    std::fs::write(&result, serde_json::to_string(&document)?)?;
    Ok(result)
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
