//! `cargo xtask bench import`: the time to read and keep a directory of fio's output. A figure, not
//! a test.

use std::time::Instant;

use anyhow::{Context as _, ensure};
use clap::Args;

use crate::build;
use crate::command::root;

#[derive(Debug, Args)]
pub struct Options {
    /// Number of fio JSON+ files
    #[arg(long, default_value_t = 1000)]
    files: u32,
}

/// Makes files that differ in their time, like those of real runs, imports them with the release
/// build, and prints the time taken.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let fixture = root().join("crates/formats/tests/fixtures/fio/3.33-mix-plus.json");
    let text = std::fs::read_to_string(&fixture)
        .with_context(|| format!("cannot read {}", fixture.display()))?;
    let mut document: serde_json::Value = serde_json::from_str(&text)?;
    let (directory, store) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let mut bytes = 0;
    for number in 0..options.files {
        document["timestamp_ms"] =
            serde_json::json!(1_700_000_000_000_u64 + u64::from(number) * 60_000);
        let text = serde_json::to_string_pretty(&document)?;
        bytes += text.len();
        std::fs::write(directory.path().join(format!("{number:05}.json")), text)?;
    }
    let mut import = std::process::Command::new(build::flushmark()?);
    let begun = Instant::now();
    let output = import
        .args(["results", "import"])
        .arg("--store")
        .arg(store.path().join("results.db"))
        .arg(directory.path())
        .output()
        .context("cannot start flushmark")?;
    let elapsed_s = begun.elapsed().as_secs_f64();
    ensure!(
        output.status.success(),
        "flushmark ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{}", said.lines().last().unwrap_or_default());
    println!("{:.1} MiB in {elapsed_s:.2} s", bytes as f64 / f64::from(1 << 20));
    Ok(())
}
