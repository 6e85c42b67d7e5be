//! The live state of a run: a small file in memory, written once a second, that `flushmark web`
//! reads.
//!
//! Never on a drive, because a measurement must not write to the drive that it measures. If the
//! user has no directory in memory, no state is published.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use measurement::{Progress, RunDocument};
use serde::{Deserialize, Serialize};
use store::{Location, RunId, process};
use web::running::{History, Phase, Running};
use workload::Plan;

use crate::progress;

/// Interval between updates. Each costs the observing thread about ten microseconds.
const EVERY: Duration = Duration::from_secs(1);
/// Larger than any file that we write.
const BYTES_MAX: u64 = 1 << 20;
/// A new file exists beside the one it replaces for a moment only; an older one was left by a
/// killed process.
const UNFINISHED_AGE_MAX: Duration = Duration::from_mins(1);

const PREFIX: &str = "flushmark-live-";
const ENDING: &str = ".json";
const UNFINISHED: &str = ".new";

#[derive(Debug, Serialize, Deserialize)]
struct Content {
    /// The process, as [`process::lives`] identifies it.
    writer: String,
    #[serde(flatten)]
    running: Running,
}

/// A run's file. Removed on drop.
pub struct Live {
    file: Option<PathBuf>,
    content: Content,
    written: Option<Instant>,
}

impl Live {
    /// Publishes a run that begins, the one with this `number` of the process, and where it is kept.
    pub fn of(document: &RunDocument, number: usize, kept: Option<(RunId, &Location)>) -> Live {
        let directories = emulate::runtime::in_memory();
        let mut live = Live::within(directories.first().map(PathBuf::as_path), number, document);
        live.content.running.run = kept.map(|(run, _)| run.number());
        live.content.running.store = kept.map(|(_, location)| location.to_string());
        live
    }

    fn within(directory: Option<&Path>, number: usize, document: &RunDocument) -> Live {
        let pid = std::process::id();
        let running = Running {
            process: pid,
            started_at: document.started_at.clone(),
            suite: document.suite.clone(),
            target: document.target.given.clone(),
            run: None,
            store: None,
            test: String::new(),
            position: 0,
            tests: 0,
            phase: Phase::Preparing,
            expected_s: None,
            iops: None,
            commit_p99_us: None,
            history: History::default(),
        };
        let file =
            directory.map(|directory| directory.join(format!("{PREFIX}{pid}-{number}{ENDING}")));
        Live { file, content: Content { writer: process::this(), running }, written: None }
    }

    /// The next group of tests begins, usually a single test.
    pub fn begin(&mut self, plan: &Plan, group: Range<usize>) {
        let tests = &plan.tests[group.clone()];
        let running = &mut self.content.running;
        running.test = progress::names(tests);
        running.position = group.end;
        running.tests = plan.tests.len();
        running.phase = Phase::Preparing;
        let times = tests.iter().filter_map(|test| test.work.limit().time());
        running.expected_s = times.max().map(|time| time.as_secs_f64());
        running.iops = None;
        running.commit_p99_us = None;
        running.history = History::default();
        self.write();
    }

    /// Updates the progress of the running test.
    pub fn see(&mut self, seen: &Progress) {
        let running = &mut self.content.running;
        running.phase = if seen.elapsed_s < 0.0 {
            Phase::WarmingUp
        } else {
            Phase::Measuring { elapsed_s: seen.elapsed_s }
        };
        running.iops = seen.iops;
        running.commit_p99_us = seen.commit_p99_us;
        if let Some(iops) = seen.iops {
            running.history.see(seen.elapsed_s, iops, seen.commit_p99_us);
        }
        if self.written.is_none_or(|written| written.elapsed() >= EVERY) {
            self.write();
        }
    }

    /// Replaces the file. If it cannot be written, stops publishing; the measurement does not need
    /// it.
    fn write(&mut self) {
        self.written = Some(Instant::now());
        if let Some(file) = &self.file
            && replace(file, &self.content).is_err()
        {
            self.remove();
        }
    }

    fn remove(&mut self) {
        if let Some(file) = self.file.take() {
            let _ = fs::remove_file(file.with_extension(&UNFINISHED[1..]));
            let _ = fs::remove_file(file);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.remove();
    }
}

fn replace(file: &Path, content: &Content) -> std::io::Result<()> {
    let unfinished = file.with_extension(&UNFINISHED[1..]);
    // Remove what a killed process with the same number left; create the file anew with our mode.
    let _ = fs::remove_file(&unfinished);
    let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    new.write_all(&serde_json::to_vec(content)?)?;
    fs::rename(unfinished, file)
}

/// The runs of this user that are being measured now, oldest first.
pub fn running() -> Vec<Running> {
    let directories = emulate::runtime::in_memory();
    let mut running: Vec<Running> =
        directories.iter().flat_map(|directory| running_in(directory)).collect();
    running.sort_by(|one, other| {
        (&one.started_at, one.process).cmp(&(&other.started_at, other.process))
    });
    running
}

/// The runs published in a directory. Removes files of processes that have ended.
fn running_in(directory: &Path) -> Vec<Running> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| read(&entry.path())).collect()
}

fn read(path: &Path) -> Option<Running> {
    let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let metadata = fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    if name.ends_with(UNFINISHED) {
        if metadata.modified().ok()?.elapsed().is_ok_and(|age| age > UNFINISHED_AGE_MAX) {
            let _ = fs::remove_file(path);
        }
        return None;
    }
    name.strip_suffix(ENDING)?;
    let mut text = String::new();
    File::open(path).ok()?.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    let content: Content = serde_json::from_str(&text).ok()?;
    if !process::lives(&content.writer) {
        let _ = fs::remove_file(path);
        return None;
    }
    Some(content.running)
}

#[cfg(test)]
mod tests {
    use samples::document::modelled;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn seen(elapsed_s: f64) -> Progress {
        Progress { elapsed_s, iops: Some(1000.0), commit_p99_us: Some(50.0) }
    }

    fn files(directory: &Path) -> Vec<PathBuf> {
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn a_run_is_published_until_its_end() {
        let directory = tempfile::tempdir().unwrap();
        let plan = workload::suites::named("check").unwrap();
        let mut live = Live::within(Some(directory.path()), 0, &modelled());
        assert!(running_in(directory.path()).is_empty());
        live.begin(&plan, 1..2);
        let mode = fs::metadata(&files(directory.path())[0]).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let running = running_in(directory.path());
        assert_eq!((running[0].position, running[0].tests), (2, plan.tests.len()));
        assert_eq!(
            (running[0].test.as_str(), running[0].phase),
            (plan.tests[1].name.as_str(), Phase::Preparing)
        );
        // It is updated a second later, and no sooner.
        live.see(&seen(-0.5));
        assert_eq!(running_in(directory.path())[0].phase, Phase::Preparing);
        live.written = live.written.map(|written| written.checked_sub(EVERY).unwrap());
        live.see(&seen(3.2));
        let running = running_in(directory.path());
        assert_eq!(running[0].phase, Phase::Measuring { elapsed_s: 3.2 });
        assert_eq!(running[0].history.iops, [1000.0; 3]);
        // The next test begins without the last one's history.
        live.begin(&plan, 2..3);
        assert_eq!(running_in(directory.path())[0].history, History::default());
        drop(live);
        assert!(files(directory.path()).is_empty());
    }

    #[test]
    fn only_files_of_ended_processes_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let mut live = Live::within(Some(directory.path()), 0, &modelled());
        live.begin(&workload::suites::named("check").unwrap(), 0..1);
        let content = fs::read_to_string(&files(directory.path())[0]).unwrap();
        let place = |name: &str| directory.path().join(name);
        // The process number was reused: this process lives, but began at another time.
        let (before, began) = live.content.writer.rsplit_once('/').unwrap();
        let reused = content.replace(&live.content.writer, &format!("{before}/{began}1"));
        fs::write(place("flushmark-live-1.json"), reused).unwrap();
        fs::write(place("flushmark-live-2.json"), "not ours").unwrap();
        fs::write(place("flushmark-live-3.new"), "just begun").unwrap();
        fs::write(place("flushmark-live-4.new"), "left").unwrap();
        let old = std::time::SystemTime::now() - 2 * UNFINISHED_AGE_MAX;
        File::options()
            .write(true)
            .open(place("flushmark-live-4.new"))
            .unwrap()
            .set_modified(old)
            .unwrap();
        fs::write(place("notes.json"), &content).unwrap();
        std::os::unix::fs::symlink(place("notes.json"), place("flushmark-live-5.json")).unwrap();
        assert_eq!(running_in(directory.path()).len(), 1);
        let gone = ["flushmark-live-1.json", "flushmark-live-4.new"];
        let left = [
            "flushmark-live-2.json", "flushmark-live-3.new", "flushmark-live-5.json", "notes.json",
        ];
        assert!(gone.iter().all(|name| !place(name).exists()));
        assert!(left.iter().all(|name| place(name).exists()));
    }

    #[test]
    fn without_a_directory_nothing_is_published_and_nothing_fails() {
        let plan = workload::suites::named("check").unwrap();
        let directory = tempfile::tempdir().unwrap();
        for place in [None, Some(directory.path().join("gone"))] {
            let mut live = Live::within(place.as_deref(), 0, &modelled());
            live.begin(&plan, 0..1);
            live.see(&seen(1.0));
        }
        assert!(files(directory.path()).is_empty());
    }
}
