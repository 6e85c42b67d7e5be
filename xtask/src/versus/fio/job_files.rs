//! The same job files run by fio and by flushmark, to compare how they interpret a job.
//!
//! They run on an ext4 on an emulated drive on which every command takes a fixed time. There, the
//! rate shows which commands a program sends, and how many at once. In memory it would show how
//! much processor time a program takes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::Options;
use crate::build;
use crate::command::command;
use crate::served::{Access, Served};
use crate::versus::{Compared, Wanted, and_build, in_turns, print};

/// Allowed deviation of our rate from fio's.
const NEAR: f64 = 0.1;

/// Times of the drive that jobs run on. They are far above what the way to an emulated drive takes,
/// and above what both programs need of the processor, at any depth.
const COMMAND_US: f64 = 200.0;
const FLUSH_US: f64 = 800.0;
const IOPS_MAX: f64 = 4000.0;

/// A job file: its name in the table, and its text. The environment contains `SECONDS`.
const JOBS: [(&str, &str); 11] = [
    ("psync, fsync=1", include_str!("jobs/psync-fsync.fio")),
    ("psync, fsync=1, overwrite=1", include_str!("jobs/psync-fsync-overwrite.fio")),
    ("libaio, depth 1, fsync=1", include_str!("jobs/libaio-depth-1-fsync.fio")),
    ("io_uring, depth 1, fsync=1", include_str!("jobs/io_uring-depth-1-fsync.fio")),
    ("libaio, depth 16, fsync=4", include_str!("jobs/libaio-depth-16-fsync.fio")),
    ("io_uring, depth 32, fsync=1", include_str!("jobs/io_uring-depth-32-fsync.fio")),
    ("4 jobs, one file, fdatasync=1", include_str!("jobs/shared-fdatasync.fio")),
    ("randrw, fsync=4", include_str!("jobs/mixed-fsync.fio")),
    ("write, sync=dsync", include_str!("jobs/sequential-dsync.fio")),
    ("randwrite, libaio, depth 16", include_str!("jobs/libaio-depth-16.fio")),
    ("randread, io_uring, depth 32", include_str!("jobs/io_uring-depth-32-randread.fio")),
];

/// Runs every job file with both programs in alternation, and prints the medians.
pub fn compare(options: &Options) -> anyhow::Result<()> {
    let place = Filesystem::make().context("cannot set up a filesystem for the measurements")?;
    let jobs = tempfile::tempdir()?;
    let mut table = Vec::new();
    let mut contestants = vec![Program::Flushmark(build::flushmark()?), Program::Fio(&options.fio)];
    contestants.extend(options.shared.builds.iter().map(|build| Program::Flushmark(build)));
    for (name, text) in JOBS.into_iter().filter(|(name, _)| options.shared.wants(name)) {
        eprintln!("{name}");
        let file = jobs.path().join("job.fio");
        fs::write(&file, text)?;
        let iops: fn(&f64) -> f64 = |iops| *iops;
        let samples = in_turns(options.shared.rounds, &contestants, iops, |program| {
            place.measure(*program, &file, options)
        })?;
        for (program, theirs) in contestants.iter().zip(&samples).skip(1) {
            let (what, wanted) = match program {
                Program::Fio(_) => ("IOPS".to_owned(), Wanted::Within(NEAR)),
                Program::Flushmark(build) => (and_build("IOPS", build), Wanted::BUILD_RATE),
            };
            table.push(Compared::medians(name, what, [&samples[0], theirs], iops, wanted));
        }
    }
    print(&table);
    Ok(())
}

#[derive(Debug, Clone, Copy)]
enum Program<'a> {
    Flushmark(&'a Path),
    Fio(&'a str),
}

/// An ext4 on an emulated drive; unmounted when dropped.
struct Filesystem {
    mounted: PathBuf,
    _drive: Served,
    _directory: tempfile::TempDir,
}

impl Filesystem {
    fn make() -> anyhow::Result<Filesystem> {
        let directory = tempfile::tempdir()?;
        let model = directory.path().join("steady.toml");
        fs::write(&model, steady_model())?;
        let drive =
            Served::start(build::flushmark()?, &model.to_string_lossy(), Access::Mounted, "0")?;
        let mounted = drive.facts()["mounted"].as_str().context("the drive is not mounted")?;
        Ok(Filesystem { mounted: mounted.into(), _drive: drive, _directory: directory })
    }

    /// Reads and writes per second of one run, on an empty filesystem.
    fn measure(&self, program: Program<'_>, job: &Path, options: &Options) -> anyhow::Result<f64> {
        for entry in fs::read_dir(&self.mounted)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
            }
        }
        let (cpu, job) = (options.cpu.to_string(), job.to_string_lossy());
        let pinned = ["-c", &cpu];
        let json = ["--target", ".", "--store", "none", "--quiet", "--format", "json"];
        let mut command = match program {
            Program::Flushmark(binary) => {
                let binary = binary.to_string_lossy().into_owned();
                command("taskset", &[&pinned[..], &[&binary, "run", &job], &json].concat())
            }
            Program::Fio(fio) => {
                command("taskset", &[&pinned[..], &[fio, "--output-format=json", &job]].concat())
            }
        };
        command
            .current_dir(&self.mounted)
            .env("SECONDS", options.shared.seconds.to_string())
            .stderr(Stdio::inherit());
        let run = command.output().context("cannot start taskset")?;
        if !run.status.success() {
            bail!("{program:?} ended with {}", run.status);
        }
        let document: Value =
            serde_json::from_slice(&run.stdout).with_context(|| format!("{program:?}: no JSON"))?;
        let number = |value: &Value| value.as_f64().unwrap_or(0.0);
        Ok(match program {
            Program::Flushmark(_) => number(&document["results"][0]["iops"]),
            Program::Fio(_) => {
                let job = &document["jobs"][0];
                number(&job["read"]["iops"]) + number(&job["write"]["iops"])
            }
        })
    }
}

/// A volume on which a read and a write take [`COMMAND_US`], and a flush [`FLUSH_US`].
fn steady_model() -> String {
    format!(
        "model = \"steady\"\nlabel = \"Fixed times for every command\"\nclass = \
         \"cloud-volume\"\nbasis = \"invented, to compare job files\"\n\n[drive]\nkind = \
         \"volume\"\ncapacity_gb = 2.2\nqueue_depth = 128\nfua = false\nwrite_us = \
         {COMMAND_US:?}\nread_us = {COMMAND_US:?}\nflush_us = {FLUSH_US:?}\nunit = \"1 \
         MiB\"\nunit_mb_per_s = 1e9\nlink_mb_per_s = 1e9\nsustained_mb_per_s = 1e9\nburst = \
         \"1 GiB\"\niops_most = {IOPS_MAX:?}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_read_every_job_file() {
        for (name, text) in JOBS {
            let environment = |variable: &str| (variable == "SECONDS").then(|| "1".to_owned());
            let plan = workload::Plan::from_fio(name, text, &environment).unwrap();
            // Only one figure is read per run, so the jobs of a section are reported together.
            assert!(plan.tests.len() == 1 && text.contains("group_reporting"), "{name}");
        }
    }
}
