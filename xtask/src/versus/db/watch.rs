//! Commits of a server that is watched, and of the same server alone.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use measurement::RunDocument;

use super::super::{Compared, Wanted, in_turns};
use super::{Bench, Contestant};
use crate::command::output;

pub const ROW: &str = "watch at 1 Hz";
/// As many as keep two processors busy.
const CLIENTS: u32 = 4;
/// A watch may cost 1 % of the commits.
const SHARE_MIN: f64 = 0.99;

/// The peer is the server alone.
pub fn compare(bench: &mut Bench<'_>) -> anyhow::Result<Vec<Compared>> {
    let rate: fn(&f64) -> f64 = |rate| *rate;
    let samples = in_turns(bench.rounds, &bench.contestants(), rate, |contestant| {
        let _watch = match contestant {
            Contestant::Flushmark(program) => Some(Watch::start(bench, program)?),
            Contestant::Peer => None,
        };
        commits_per_second(bench)
    })?;
    Ok(bench.rows(ROW, &samples, &[("commits/s", rate, Wanted::AtLeast(SHARE_MIN))]))
}

fn commits_per_second(bench: &Bench<'_>) -> anyhow::Result<f64> {
    let (clients, time) = (CLIENTS.to_string(), format!("{}s", bench.seconds));
    let text = output(
        &bench.flushmark.to_string_lossy(),
        &[
            "db", "commits", &bench.server.url, "--busy", "--store", "none", "--quiet", "--format",
            "json", "--clients", &clients, "--time", &time,
        ],
    )?;
    let document = RunDocument::from_json(&text)?;
    let result = document.results.iter().find(|result| result.workload.pattern.is_none());
    result.and_then(|result| result.commits_per_s).context("no commits were measured")
}

/// A running watch, ended when dropped.
struct Watch(Child);

impl Watch {
    fn start(bench: &Bench<'_>, program: &Path) -> anyhow::Result<Watch> {
        let mut command = Command::new(program);
        command.args(["db", "watch", &bench.server.url, "--store", "none"]);
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
