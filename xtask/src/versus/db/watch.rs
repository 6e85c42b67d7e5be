//! Commits of a server that is watched, and of the same server alone.

use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use measurement::RunDocument;

use super::super::{Compared, Wanted, in_turns};
use super::Bench;
use crate::command::output;

pub const ROW: &str = "watch at 1 Hz";
/// As many as keep two processors busy.
const CLIENTS: u32 = 4;
/// A watch may cost 1 % of the commits.
const SHARE_MIN: f64 = 0.99;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contestant {
    Watched,
    Alone,
}

pub fn compare(bench: &Bench<'_>) -> anyhow::Result<Vec<Compared>> {
    let contestants = [Contestant::Watched, Contestant::Alone];
    let rate: fn(&f64) -> f64 = |rate| *rate;
    let samples = in_turns(bench.rounds, &contestants, rate, |&contestant| {
        let _watch =
            (contestant == Contestant::Watched).then(|| Watch::start(bench)).transpose()?;
        commits_per_second(bench)
    })?;
    let row = format!("{ROW}, {}", bench.product);
    let both = [&samples[0][..], &samples[1]];
    Ok(vec![Compared::medians(&row, "commits/s", both, rate, Wanted::AtLeast(SHARE_MIN))])
}

fn commits_per_second(bench: &Bench<'_>) -> anyhow::Result<f64> {
    let (clients, time) = (CLIENTS.to_string(), format!("{}s", bench.seconds));
    let text = output(
        &bench.flushmark.to_string_lossy(),
        &[
            "db", "commits", bench.url, "--busy", "--no-store", "--quiet", "--format", "json",
            "--clients", &clients, "--time", &time,
        ],
    )?;
    let document = RunDocument::from_json(&text)?;
    let result = document.results.iter().find(|result| result.workload.pattern.is_none());
    result.and_then(|result| result.commits_per_s).context("no commits were measured")
}

/// A running watch, ended when dropped.
struct Watch(Child);

impl Watch {
    fn start(bench: &Bench<'_>) -> anyhow::Result<Watch> {
        let mut command = Command::new(bench.flushmark);
        command.args(["db", "watch", bench.url, "--no-store"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Watch(command.spawn().context("cannot start flushmark")?))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
