//! `flushmark crash`: checks the states that a power cut could have left.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use crash::{
    Check, CheckVerdict as Judged, CrashError, Entry, Explorer, Plan, Progress, Recording,
    RecordingSetup, Session, SessionError, State, WorkDirectory, possible_log2, record, states,
};
use emulate::Filesystem;
use indicatif::{ProgressBar, ProgressStyle};
use report::{CrashReport, Failure};

use super::{look, print};
use crate::args::Format;
use crate::args::crash::{CrashArgs, CrashFs};
use crate::exit::{ExitStatus, WrongUse, complain};
use crate::signals::{self, STOP};

/// Sizes must be a multiple of this.
const SIZE_GRAIN: u64 = 4096;

/// Records and checks, or resumes an earlier test.
pub fn run(args: &CrashArgs) -> anyhow::Result<ExitStatus> {
    signals::listen()?;
    let place = emulate::runtime::directory();
    let work = WorkDirectory::new(&place)
        .with_context(|| format!("cannot create a mount point in {}", place.display()))?;
    let (session, plan, recording) = match &args.resume {
        Some(directory) => {
            let (session, plan) = Session::open(directory).map_err(wrong_use)?;
            let recording = session.recording(&plan)?;
            (session, plan, recording)
        }
        None => match begin(args, work.path()) {
            Err(error) if matches!(error.downcast_ref(), Some(CrashError::Stopped)) => {
                complain("interrupted before the recording was complete; nothing was kept");
                return Ok(signals::received().map_or(ExitStatus::Failed, ExitStatus::Interrupted));
            }
            begun => begun?,
        },
    };
    let recording = Arc::new(recording);
    if let Some(state) = &args.state {
        return one(args, &session, plan, recording, state, work.path());
    }
    explore(args, &session, plan, &recording, work.path())
}

fn begin(args: &CrashArgs, work: &Path) -> anyhow::Result<(Session, Plan, Recording)> {
    let filesystem = match args.filesystem {
        CrashFs::Ext4 => Some(Filesystem::Ext4),
        CrashFs::Xfs => Some(Filesystem::Xfs),
        CrashFs::None => None,
    };
    let capacity_bytes = args.size.0;
    let least = filesystem.map_or(SIZE_GRAIN, Filesystem::capacity_bytes_min);
    if capacity_bytes < least || !capacity_bytes.is_multiple_of(SIZE_GRAIN) {
        let name =
            filesystem.map_or(String::new(), |filesystem| format!(" for {}", filesystem.name()));
        let least = workload::format_bytes(least);
        let grain = workload::format_bytes(SIZE_GRAIN);
        return Err(WrongUse(format!(
            "--size must be a multiple of {grain} and at least {least}{name}"
        ))
        .into());
    }
    let check = Check {
        command: args.check.clone().unwrap_or_default(),
        expect: args.expect.clone(),
        filesystem: filesystem.filter(|_| !args.check_unmounted),
        timeout_s: args.timeout.as_secs().max(1),
    };
    let atomic_bytes = args.atomic.0;
    if atomic_bytes < 512 || !atomic_bytes.is_power_of_two() {
        return Err(WrongUse("--atomic must be a power of two and at least 512".to_owned()).into());
    }
    let directory = match &args.session {
        Some(directory) => directory.clone(),
        None => own_directory()?,
    };
    let session = Session::create(&directory).map_err(wrong_use)?;
    let scene = RecordingSetup {
        command: args.command.clone(),
        prepare: args.prepare.clone(),
        filesystem,
        capacity_bytes,
        settle: args.settle,
    };
    let stop = || STOP.is_requested();
    let recorded = record(&scene, &session, work, &stop)
        .inspect_err(|_| drop(std::fs::remove_dir_all(&directory)))?;
    let plan = Plan {
        command: args.command.clone(),
        capacity_bytes,
        filesystem,
        log_bytes: recorded.recording.log_bytes(),
        log_entries: recorded.recording.entries().len(),
        check,
        samples: args.samples,
        seed: args.seed,
        atomic_bytes,
    };
    session.keep(&plan)?;
    if !recorded.status.success() {
        complain(&format!(
            "the command ended with {}; checking what it wrote before",
            recorded.status
        ));
    }
    Ok((session, plan, recorded.recording))
}

/// Errors that another directory would avoid are usage errors.
fn wrong_use(error: SessionError) -> anyhow::Error {
    match error {
        SessionError::Exists(_) | SessionError::None { .. } => WrongUse(error.to_string()).into(),
        SessionError::Damaged { .. } | SessionError::System { .. } => error.into(),
    }
}

/// A path for a new session directory in the user's state directory.
fn own_directory() -> anyhow::Result<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    let base = state
        .or_else(home)
        .context("neither HOME nor XDG_STATE_HOME is set; name a directory with --session")?;
    let base = base.join("flushmark/crash");
    let free = (1..10_000).map(|number| base.join(number.to_string())).find(|path| !path.exists());
    free.with_context(|| format!("{} has too many earlier tests; remove some", base.display()))
}

fn jobs(args: &CrashArgs) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    args.jobs.map_or_else(processors, |jobs| jobs as usize)
}

fn one(
    args: &CrashArgs,
    session: &Session,
    plan: Plan,
    recording: Arc<Recording>,
    state: &State,
    work: &Path,
) -> anyhow::Result<ExitStatus> {
    if !recording.has(state) {
        return Err(WrongUse(format!(
            "the recording in {} does not have state {state}",
            session.directory().display()
        ))
        .into());
    }
    let filesystem = plan.check.filesystem;
    let explorer = Explorer::new(recording, plan, 1, work)?;
    if args.shell {
        let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
        let status = explorer.with_state(state, filesystem, |drive, directory| {
            let mut command = Command::new(shell);
            command.env("CRASH_DRIVE", drive).env("CRASH_STATE", state.to_string());
            if let Some(directory) = directory {
                command.env("CRASH_DIR", directory).current_dir(directory);
            }
            command.status()
        });
        status?.context("cannot run the shell")?;
        return Ok(ExitStatus::Done);
    }
    let verdict = explorer.check_one(state)?;
    match args.format {
        Format::Text => print(&report::crash_state(state, &verdict, &look()))?,
        Format::Json => print(&(serde_json::to_string_pretty(&verdict)? + "\n"))?,
    }
    Ok(if verdict == Judged::Passed { ExitStatus::Done } else { ExitStatus::Unfit })
}

fn explore(
    args: &CrashArgs,
    session: &Session,
    plan: Plan,
    recording: &Arc<Recording>,
    work: &Path,
) -> anyhow::Result<ExitStatus> {
    let begun = Instant::now();
    let planned = states(recording, &plan);
    let known: BTreeMap<State, Judged> = session.results()?.into_iter().collect();
    let mut log = session.log_results()?;
    let filesystem = plan.filesystem.map(Filesystem::name);
    let possible_log2 = possible_log2(recording, &plan);
    let explorer = Explorer::new(Arc::clone(recording), plan, jobs(args), work)?;
    let bar = Bar::new(args.quiet);
    let results = explorer.run(&planned, &known, &mut log, args.first, &|progress| {
        bar.draw(progress);
        !STOP.is_requested()
    })?;
    bar.finish();
    // In the planned order, so that the first failure does not depend on the number of jobs.
    let failed: Vec<&State> = planned
        .iter()
        .filter(|state| matches!(results.get(state), Some(Judged::Failed(_))))
        .collect();
    let first_failure = match failed.first().map(|state| first(&explorer, recording, state)) {
        // It is reported when the test is resumed.
        None | Some(Err(CrashError::Stopped)) => None,
        Some(failure) => Some(failure?),
    };
    let entries = recording.entries();
    let report = CrashReport {
        session: session.directory().display().to_string(),
        filesystem,
        writes: entries.iter().filter(|entry| entry.range().is_some()).count(),
        flushes: entries.iter().filter(|entry| matches!(entry, Entry::Flush)).count(),
        tried: planned.iter().filter(|state| results.contains_key(state)).count(),
        planned: planned.len(),
        possible_log2,
        failed: failed.iter().map(ToString::to_string).collect(),
        first_failure,
        elapsed_s: begun.elapsed().as_secs_f64(),
    };
    match args.format {
        Format::Text => print(&report::crash_page(&report, &look()))?,
        Format::Json => print(&(serde_json::to_string_pretty(&report)? + "\n"))?,
    }
    if let Some(signal) = signals::received() {
        return Ok(ExitStatus::Interrupted(signal));
    }
    Ok(if report.failed.is_empty() { ExitStatus::Done } else { ExitStatus::Unfit })
}

fn first(explorer: &Explorer, recording: &Recording, found: &State) -> Result<Failure, CrashError> {
    let smallest = explorer.smallest(found, &|| STOP.is_requested())?;
    let said = match explorer.check_one(&smallest)? {
        Judged::Failed(said) => said,
        Judged::Passed => "it passed when checked again: the check is not deterministic".to_owned(),
    };
    Ok(Failure {
        found_in: found.to_string(),
        lost: explorer.lost(&smallest)?,
        writes: recording.epochs()[smallest.epoch].writes.len(),
        state: smallest.to_string(),
        said,
    })
}

/// The progress bar while states are checked.
struct Bar {
    bar: Option<Mutex<(ProgressBar, Instant)>>,
    begun: Instant,
}

impl Bar {
    fn new(quiet: bool) -> Bar {
        use std::io::IsTerminal as _;
        let drawn = !quiet && std::io::stderr().is_terminal();
        let bar = drawn.then(|| {
            let bar = ProgressBar::new(1);
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {msg}") {
                bar.set_style(style);
            }
            Mutex::new((bar, Instant::now()))
        });
        Bar { bar, begun: Instant::now() }
    }

    fn draw(&self, progress: Progress) {
        let Some(Ok(mut bar)) = self.bar.as_ref().map(Mutex::lock) else { return };
        if bar.1.elapsed() < Duration::from_millis(100) {
            return;
        }
        bar.1 = Instant::now();
        bar.0.set_length(progress.of as u64);
        bar.0.set_position(progress.done as u64);
        let per_s = progress.done as f64 / self.begun.elapsed().as_secs_f64();
        bar.0.set_message(report::crash_line(&progress, per_s, &look()));
    }

    fn finish(&self) {
        if let Some(Ok(bar)) = self.bar.as_ref().map(Mutex::lock) {
            bar.0.finish_and_clear();
        }
    }
}
