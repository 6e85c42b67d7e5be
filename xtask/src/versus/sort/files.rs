//! The command `prefixsort` and GNU `sort` on a file of URLs, with little memory and with no limit.
//!
//! Ours makes its output durable before it ends, and GNU `sort` does not; its time is counted
//! without that. The time of a `sync` of its output is shown separately.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, ensure};

use super::Options;
use super::runner::Runner;
use crate::build;
use crate::command::output;
use crate::versus::median;

const DATA: &str = "urls";
/// Required ratio of GNU `sort`'s time, in its best setting, to ours.
const WANTED: f64 = 2.0;

/// A memory limit for both, and the settings tried for GNU `sort`.
struct Row {
    memory: &'static str,
    limit: &'static [&'static str],
    settings: &'static [&'static [&'static str]],
}

const ROWS: [Row; 2] = [
    Row {
        memory: "256 MiB",
        limit: &["-S", "256M"],
        settings: &[&["--parallel=1"], &["--parallel=2"]],
    },
    Row {
        memory: "no limit",
        limit: &[],
        settings: &[&["--parallel=1"], &[], &["--parallel=2", "-S", "50%"]],
    },
];

pub fn run(runner: &Runner, options: &Options) -> anyhow::Result<()> {
    let ours = build::prefixsort()?.to_string_lossy().into_owned();
    let directory = match &options.directory {
        Some(directory) => tempfile::tempdir_in(directory),
        None => tempfile::tempdir(),
    }?;
    let [input, sorted, theirs] = ["urls", "ours", "gnu"].map(|name| directory.path().join(name));
    let bytes = options.mib << 20;
    let data = options.data.first().map_or(DATA, String::as_str);
    let file = File::create(&input)?;
    let written = Command::new(runner.binary())
        .args(["lines", "--data", data, "--bytes", &bytes.to_string()])
        .stdout(Stdio::from(file))
        .status()?;
    ensure!(written.success(), "sortbench failed to write lines of {data}");
    // Pending writes of others must not slow a measurement down.
    output("sync", &[])?;
    println!("{} MiB of lines of {data}, in seconds, medians of {}", options.mib, options.repeat);
    println!("{:<10} {:<24} {:>8} {:>8} {:>7}", "memory", "", "sorted", "durable", "ratio");
    for Row { memory, limit, settings } in ROWS {
        let ours = [&[ours.as_str()][..], limit].concat();
        let gnu: Vec<Vec<&str>> =
            settings.iter().map(|setting| [&["sort"][..], limit, setting].concat()).collect();
        let mut times = vec![Times::default(); 1 + gnu.len()];
        for repetition in 0..options.repeat {
            for turn in 0..times.len() {
                // The order alternates.
                let which = (turn + repetition) % times.len();
                let (command, out) =
                    if which == 0 { (&ours, &sorted) } else { (&gnu[which - 1], &theirs) };
                let begun = Instant::now();
                sort(command, &input, out, directory.path())?;
                times[which].sorted.push(begun.elapsed().as_secs_f64());
                output("sync", &[&out.to_string_lossy()])?;
                times[which].durable.push(begun.elapsed().as_secs_f64());
            }
            let same = Command::new("cmp").arg(&sorted).arg(&theirs).status()?;
            ensure!(same.success(), "prefixsort and GNU sort printed different output");
        }
        print!("{}", table(memory, &gnu, times));
    }
    Ok(())
}

fn sort(command: &[&str], input: &Path, to: &Path, directory: &Path) -> anyhow::Result<()> {
    let status = Command::new(command[0])
        .args(&command[1..])
        .arg("-T")
        .arg(directory)
        .arg("-o")
        .args([to, input])
        .env("LC_ALL", "C")
        .status()
        .with_context(|| format!("cannot start {}", command[0]))?;
    ensure!(status.success(), "{} ended with {status}", command.join(" "));
    Ok(())
}

/// Seconds until the program ended, and until its output was durable.
#[derive(Debug, Clone, Default)]
struct Times {
    sorted: Vec<f64>,
    durable: Vec<f64>,
}

fn table(memory: &str, gnu: &[Vec<&str>], times: Vec<Times>) -> String {
    let medians: Vec<(f64, f64)> = times
        .into_iter()
        .map(|Times { sorted, durable }| (median(sorted.into_iter()), median(durable.into_iter())))
        .collect();
    let ours = medians[0];
    let best = medians[1..].iter().map(|times| times.0).fold(f64::INFINITY, f64::min);
    let met = if best / ours.0 >= WANTED { "yes" } else { "SHORT" };
    let mut text = format!("{memory:<10} {:<24} {:>8.2} {:>8.2}\n", "prefixsort", ours.0, ours.1);
    for (command, (sorted, durable)) in gnu.iter().zip(&medians[1..]) {
        text += &format!(
            "{:<10} {:<24} {sorted:>8.2} {durable:>8.2} {:>7.2}\n",
            "",
            command.join(" "),
            sorted / ours.0
        );
    }
    text + &format!(
        "{:<10} its best takes {:.2} times as long; wanted >= {WANTED:.2}: {met}\n",
        "",
        best / ours.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_setting_counts() {
        let times = |sorted| Times { sorted: vec![sorted], durable: vec![sorted + 1.0] };
        let gnu = [vec!["sort"], vec!["sort", "--parallel=2"]];
        let text = table("no limit", &gnu, vec![times(2.0), times(9.0), times(5.0)]);
        assert_eq!(
            text,
            "no limit   prefixsort                   2.00     3.00\n\
             \x20          sort                         9.00    10.00    4.50\n\
             \x20          sort --parallel=2            5.00     6.00    2.50\n\
             \x20          its best takes 2.50 times as long; wanted >= 2.00: yes\n"
        );
        assert!(
            table("256 MiB", &gnu, vec![times(3.0), times(9.0), times(5.0)])
                .ends_with("wanted >= 2.00: SHORT\n")
        );
    }
}
