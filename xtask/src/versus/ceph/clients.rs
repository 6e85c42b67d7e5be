//! The programs that write to the cluster.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::command::{output, peak_output, watched_output};
use crate::rig::ceph::place::{IMAGE_SIZE, Place};

/// A program.
#[derive(Debug, Clone, Copy)]
pub enum Client<'a> {
    Flushmark(&'a Path),
    /// `per_osd.c`
    PerOsd(&'a Path),
    Fio(&'a str),
}

/// A measurement of one client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    pub iops: f64,
    pub mean_us: f64,
    /// Processor time of the client's process for a write, with the threads of Ceph's libraries.
    pub cpu_us: f64,
}

impl Client<'_> {
    /// Overwrites objects on each of these OSDs at the same time.
    pub fn on_osds(&self, place: &Place<'_>, osds: &[u32], seconds: u32) -> anyhow::Result<Sample> {
        let args = self.osds_args(place, osds, seconds)?;
        self.sample(&output("env", &words(&args))?)
    }

    /// The same; returns the client's largest size in bytes.
    pub fn peak_bytes(&self, place: &Place<'_>, osds: &[u32], seconds: u32) -> anyhow::Result<u64> {
        let args = self.osds_args(place, osds, seconds)?;
        let (text, bytes) = peak_output("env", &words(&args))?;
        ensure!(self.sample(&text)?.iops > 0.0, "a client wrote nothing");
        Ok(bytes)
    }

    fn osds_args(
        &self,
        place: &Place<'_>,
        osds: &[u32],
        seconds: u32,
    ) -> anyhow::Result<Vec<String>> {
        let numbers = osds.iter().map(u32::to_string);
        let mut args = vec![place.environment()];
        match self {
            Client::Flushmark(program) => {
                let (program, time) = (program.to_string_lossy(), format!("{seconds}s"));
                let numbers = numbers.collect::<Vec<_>>().join(",");
                args.extend([&*program, "ceph", "osds", "--osd", &numbers].map(str::to_owned));
                let rest = ["--pool", place.pool, "--time", &time, "--parallel", "--quiet"];
                args.extend(rest.map(str::to_owned));
                args.extend(["--format", "json"].map(str::to_owned));
            }
            Client::PerOsd(program) => {
                args.push(program.to_string_lossy().into_owned());
                args.extend([place.pool.to_owned(), seconds.to_string()]);
                args.extend(numbers);
            }
            Client::Fio(_) => bail!("fio has no engine for the objects of an OSD"),
        }
        Ok(args)
    }

    fn sample(&self, text: &str) -> anyhow::Result<Sample> {
        let sample = match self {
            Client::Flushmark(_) => of_document(text),
            Client::PerOsd(_) | Client::Fio(_) => of_lines(text),
        };
        sample.with_context(|| format!("unexpected output of a client: {text}"))
    }

    /// Overwrites an image.
    pub fn on_image(&self, place: &Place<'_>, image: &str, seconds: u32) -> anyhow::Result<Sample> {
        let measured = Duration::from_secs(seconds.into());
        let steady = measured / 2..measured * 19 / 20;
        let environment = place.environment();
        let ((text, processors), pointers) = match self {
            Client::Flushmark(program) => {
                let directory = tempfile::tempdir()?;
                let plan = directory.path().join("plan.toml");
                let test = format!("[[test]]\npattern = \"randwrite\"\ntime = \"{seconds}s\"\n");
                std::fs::write(&plan, test + &format!("size = \"{IMAGE_SIZE}iB\"\n"))?;
                let (plan, program) = (plan.to_string_lossy(), program.to_string_lossy());
                let target = format!("rbd:{}/{image}", place.pool);
                let run = [&environment, &*program, "run", &plan, "--target", &target];
                let rest = ["--destroy-data", "--quiet", "--format", "json"];
                let output = watched_output("env", &[&run[..], &rest].concat(), steady)?;
                (output, ["/results/0/iops", "/results/0/write_us/mean"])
            }
            Client::Fio(program) => {
                let (pool, name) = (format!("--pool={}", place.pool), format!("--rbdname={image}"));
                let runtime = format!("--runtime={seconds}");
                let run = [&*environment, program, "--name=x", "--ioengine=rbd", &pool, &name];
                let rest = [
                    "--clientname=admin", &runtime, "--time_based", "--rw=randwrite", "--bs=4k",
                    "--iodepth=1", "--norandommap=1", "--output-format=json",
                ];
                let output = watched_output("env", &[&run[..], &rest].concat(), steady)?;
                (output, ["/jobs/0/write/iops", "/jobs/0/write/lat_ns/mean"])
            }
            Client::PerOsd(_) => bail!("per_osd.c writes to no image"),
        };
        let start = text.find('{').context("a client printed no JSON")?;
        let document: Value = serde_json::from_str(&text[start..])?;
        let figure = |pointer| document.pointer(pointer).and_then(Value::as_f64);
        let [iops, mean] = pointers.map(figure);
        let iops = iops.filter(|&iops| iops > 0.0).context("a client reported no rate")?;
        let mean = mean.context("a client reported no latency")?;
        let mean_us = if matches!(self, Client::Fio(_)) { mean / 1000.0 } else { mean };
        Ok(Sample { iops, mean_us, cpu_us: processors / iops * 1e6 })
    }
}

fn words(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// The writes that `flushmark ceph osds --format json` measured.
fn of_document(text: &str) -> Option<Sample> {
    let document: Value = serde_json::from_str(text).ok()?;
    let results = document["results"].as_array()?;
    let writes: Vec<&Value> = results
        .iter()
        .filter(|result| result["test"].as_str().is_some_and(|test| test.ends_with(": write")))
        .collect();
    let sum = |figure: fn(&Value) -> Option<f64>| -> Option<f64> {
        writes.iter().map(|result| figure(result)).sum()
    };
    let iops = sum(|result| result["iops"].as_f64())?;
    let mean_us = sum(|result| result["write_us"]["mean"].as_f64())? / writes.len() as f64;
    // Each counts the whole process, which writes to all OSDs meanwhile.
    let processors = sum(|result| {
        let cpu = &result["cpu"];
        let used_s = cpu["user_s"].as_f64()? + cpu["system_s"].as_f64()?;
        Some(used_s / result["elapsed_s"].as_f64()?)
    })? / writes.len() as f64;
    (iops > 0.0).then(|| Sample { iops, mean_us, cpu_us: processors / iops * 1e6 })
}

/// The figures that `per_osd.c` prints.
fn of_lines(text: &str) -> Option<Sample> {
    let (mut iops, mut means, mut cpu_us) = (0.0, Vec::new(), None);
    for line in text.lines() {
        match *line.split(' ').collect::<Vec<_>>() {
            ["cpu", us] => cpu_us = Some(us.parse().ok()?),
            [_osd, rate, mean] => {
                iops += rate.parse::<f64>().ok()?;
                means.push(mean.parse::<f64>().ok()?);
            }
            _ => return None,
        }
    }
    let mean_us = means.iter().sum::<f64>() / means.len() as f64;
    Some(Sample { iops, mean_us, cpu_us: cpu_us.filter(|_| iops > 0.0)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_two_osds() {
        let sample = of_lines("0 1000.0 990.0\n1 500.0 2010.0\ncpu 80.0\n");
        assert_eq!(sample, Some(Sample { iops: 1500.0, mean_us: 1500.0, cpu_us: 80.0 }));
        assert_eq!(of_lines("0 1000.0 990.0\n"), None);
        assert_eq!(of_lines("cpu 80.0\n"), None);
    }

    #[test]
    fn a_document_counts_its_writes_and_the_process_once() {
        let result = |test: &str, iops: f64, mean: f64| {
            serde_json::json!({
                "test": test, "iops": iops, "elapsed_s": 2.0, "write_us": {"mean": mean},
                "cpu": {"user_s": 0.15, "system_s": 0.15},
            })
        };
        let results = [
            result("osd.0: write", 1000.0, 990.0),
            result("osd.0: read", 5000.0, 1.0),
            result("osd.1: write", 500.0, 2010.0),
        ];
        let document = serde_json::json!({ "results": results }).to_string();
        let sample = of_document(&document).unwrap();
        assert_eq!((sample.iops, sample.mean_us, sample.cpu_us.round()), (1500.0, 1500.0, 100.0));
    }
}
