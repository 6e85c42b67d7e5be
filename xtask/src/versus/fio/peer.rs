//! fio's side of the comparison.

use anyhow::Context as _;
use serde_json::Value;

use super::rows::{Rig, Row};
use super::{Options, Sample, steady_part};
use crate::command::watched_output;

/// Runs fio on the work of a row, with one of its set-ups.
pub fn measure(
    row: &Row,
    setup: &[&str],
    target: &str,
    seconds: u32,
    options: &Options,
) -> anyhow::Result<Sample> {
    let cpu = options.cpu;
    let (size, runtime, allowed, filename) = (
        format!("--size={}g", row.rig.gib()),
        format!("--runtime={seconds}"),
        format!("--cpus_allowed={cpu}"),
        format!("--filename={target}"),
    );
    let mut args =
        vec!["--name=row", "--bs=4k", "--time_based=1", "--norandommap=1", "--output-format=json"];
    args.extend([size.as_str(), runtime.as_str(), allowed.as_str()]);
    if !matches!(row.rig, Rig::Null | Rig::Model) {
        args.extend(["--direct=1", filename.as_str()]);
    }
    args.extend(row.work);
    args.extend(setup);
    let (text, processors) = watched_output(&options.fio, &args, steady_part(seconds))?;
    let document: Value = serde_json::from_str(&text).context("fio printed no JSON")?;
    let job = &document["jobs"][0];
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let (reads, writes) = (&job["read"], &job["write"]);
    // fio reports writes and syncs separately; the closest to a commit's median is the sum of the
    // two medians.
    let p50_us = [&writes["clat_ns"], &job["sync"]["lat_ns"]]
        .map(|ns| number(&ns["percentile"]["50.000000"]) / 1e3);
    let iops = number(&reads["iops"]) + number(&writes["iops"]);
    Ok(Sample {
        iops,
        p50_us: p50_us.iter().sum(),
        cpu_s_per_million: processors / iops * 1e6,
        in_flight: 0.0,
    })
}
