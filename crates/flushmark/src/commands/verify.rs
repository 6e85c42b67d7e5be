//! `flushmark verify`: tests whether acknowledged writes survive a power loss.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use drive::SystemRoot;
use emulate::Lie;
use indicatif::{ProgressBar, ProgressStyle};
use simdrive::SimTarget;
use verify::demo::{Cycles, DemoError};
use verify::message::Proposal;
use verify::target::{self, WriteTarget};
use verify::{
    Check, Circumstances, Cut, CycleResult, Live, Recorder, RecorderOptions, RunHeader, Source,
    SyncMethod, UserStatement, Witness, Writing, journal_location,
};

use super::{look, print};
use crate::args::Format;
use crate::args::verify::{CheckArgs, DemoArgs, RecordArgs, VerifyAction, VerifyArgs, WriteArgs};
use crate::exit::{ExitStatus, WrongUse, complain};
use crate::modelled;
use crate::signals::{self, STOP};

pub fn run(args: &VerifyArgs) -> anyhow::Result<ExitStatus> {
    signals::listen().context("cannot handle signals")?;
    match &args.action {
        VerifyAction::Write(args) => write(args),
        VerifyAction::Record(args) => record(args),
        VerifyAction::Check(args) => check(args),
        VerifyAction::Demo(args) => demo(args),
    }
}

fn write(args: &WriteArgs) -> anyhow::Result<ExitStatus> {
    let root = SystemRoot::default();
    let target =
        WriteTarget::open(&root, &args.target, args.destroy_data, args.size.map(|size| size.0))?;
    if let Some(journal) = &args.journal {
        journal_location::expect_other_drive(&root, &target, journal)?;
    }
    let run = run_header(args, &target, &root)?;
    // Connect before minutes of filling, so that a missing recorder is noticed at once.
    let (mut witness, recorded_by) = match (&args.recorder, &args.journal) {
        (Some(address), _) => {
            let proposal = Proposal {
                drive: target.facts.label.clone(),
                boot_id: target::boot_id(&root),
                disks: target.facts.disks.clone(),
                abandon: args.abandon_unjudged,
            };
            (Witness::recorder(address, proposal)?, format!("the recorder at {address}"))
        }
        (None, Some(path)) => {
            let witness = Witness::journal(path, &target.facts.label, args.abandon_unjudged)?;
            (witness, format!("the journal {}", path.display()))
        }
        (None, None) => {
            (Witness::Nobody, "nothing, so only the drive's content is evidence".to_owned())
        }
    };
    let meter = Meter::new(args.quiet, "filling");
    let prepared = target.prepare(&run, &STOP, &mut |share| meter.share(share));
    meter.finish();
    if let (Err(_), Some(signal)) = (&prepared, signals::received()) {
        complain("interrupted before the run began");
        return Ok(ExitStatus::Interrupted(signal));
    }
    prepared?;
    if let Some(caveat) =
        args.journal.as_deref().and_then(|journal| journal_location::journal_caveat(&root, journal))
    {
        complain(&caveat);
    }
    let spec = target.spec(run.flush_method, run.fua_method, run.fua_path);
    let writing =
        Writing { run: &run, storage: &spec, facts: &target.facts, time: args.time, stop: &STOP };
    let meter = Meter::new(args.quiet, "writing");
    let begun =
        report::verify_begun(&run, &target.path.display().to_string(), &recorded_by, &look());
    // Printed once the witness records and lanes write, because the user may wait for it with a
    // hand on the power switch.
    let mut begun = Some(begun).filter(|_| !args.quiet);
    let written = writing.run(&mut witness, &mut |live| {
        if let Some(begun) = begun.take() {
            print_stderr(&begun);
        }
        meter.live(live);
    });
    meter.finish();
    let written = written?;
    print(&report::verify_written(&run, &written, &check_command(args), &look()))?;
    for failure in &written.failures {
        complain(&failure.to_string());
    }
    Ok(match signals::received() {
        _ if !written.failures.is_empty() => ExitStatus::Failed,
        Some(signal) => ExitStatus::Interrupted(signal),
        None => ExitStatus::Done,
    })
}

/// The lie of each drive in the demonstration. The probabilities are such that a second of writing
/// meets a few faults.
const DEMO_LIES: [&str; 8] = [
    "", "ignore-flush", "ignore-fua", "ack-early=50ms", "shorn=0.003", "flying=0.003",
    "bit-corruption=0.003", "unserializable=0.003",
];

/// Time limit of the demonstration, if cycles of the requested length allow it: half a minute, less
/// the time that the slowest machine takes to start and end.
const DEMO_TIME: Duration = Duration::from_secs(24);

fn demo(args: &DemoArgs) -> anyhow::Result<ExitStatus> {
    let begun = Instant::now();
    let machine = modelled::machine(&args.model, &SimTarget::new(&args.model))?;
    verify::demo::expect_volatile_cache(&machine).map_err(|error| WrongUse(error.to_string()))?;
    let place = tempfile::tempdir().context("cannot create a directory for the journal")?;
    print(&report::demo_intro(&machine.model.label, &look()))?;
    for (number, lie) in (0u64..).zip(DEMO_LIES) {
        let lies: Vec<Lie> = match lie {
            "" => Vec::new(),
            lie => vec![
                lie.parse().map_err(|error: emulate::InvalidLie| WrongUse(error.to_string()))?,
            ],
        };
        // Every remaining drive keeps the time of one cycle, including filling and reading back;
        // the rest is for drives that need more than one.
        let kept = args.time * 3 / 2 * (DEMO_LIES.len() as u32 - 1 - number as u32);
        let until = begun + DEMO_TIME.saturating_sub(kept);
        let seed = args.seed.wrapping_add(number);
        let place = place.path();
        let cycles =
            Cycles { machine: &machine, lies: &lies, time: args.time, seed, place, stop: &STOP };
        match cycles.conclusive(until) {
            Err(DemoError::Interrupted) => break,
            cycle => {
                let (cycle, cuts) = cycle?;
                print(&report::demo_cycle(lie, &cycle, cuts, &look()))?;
            }
        }
    }
    if let Some(signal) = signals::received() {
        return Ok(ExitStatus::Interrupted(signal));
    }
    print(&report::demo_outro(&look()))?;
    Ok(ExitStatus::Done)
}

/// The command to run after the power cut.
fn check_command(args: &WriteArgs) -> String {
    format!("flushmark verify check {} {}", args.target, witness_option(args)).trim_end().to_owned()
}

/// The option for the recorder or journal.
fn witness_option(args: &WriteArgs) -> String {
    match (&args.recorder, &args.journal) {
        (Some(address), _) => format!("--recorder {address}"),
        (None, Some(path)) => format!("--journal {}", path.display()),
        (None, None) => String::new(),
    }
}

fn run_header(
    args: &WriteArgs,
    target: &WriteTarget,
    root: &SystemRoot,
) -> anyhow::Result<RunHeader> {
    let all_fua = args.sync.is_fua();
    let lanes = if all_fua {
        [0, args.lanes.saturating_add(args.fua_lanes.unwrap_or(0)), args.control_lanes]
    } else {
        [args.lanes, args.fua_lanes.unwrap_or(1), args.control_lanes]
    };
    let geometry = target::geometry(target, args.record.0, lanes, args.writes_per_sync)?;
    let run_id = target::new_run_id().context("cannot create a random identity for the run")?;
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(RunHeader {
        run_id,
        target_id: target.target_id(run_id),
        geometry,
        flush_method: if all_fua { SyncMethod::Fsync } else { args.sync },
        fua_method: if all_fua { args.sync } else { SyncMethod::RwfDsync },
        fua_path: target.fua_path(),
        circumstances: Circumstances {
            started_unix_s: started.as_secs(),
            target: args.target.clone(),
            drive: target.facts.label.clone(),
            unsafe_shutdowns: target.facts.unsafe_shutdowns,
            volatile_cache: target.facts.volatile_cache,
            fua: target.facts.fua,
            protected: args.protected,
            boot_id: target::boot_id(root),
            witness: witness_option(args),
            direct: target.direct,
            raw_device: target.place.kind == drive::PlaceKind::BlockDevice,
            replaces: target.replaces,
        },
    })
}

fn record(args: &RecordArgs) -> anyhow::Result<ExitStatus> {
    let options = RecorderOptions {
        listen: args.listen.clone(),
        journal: args.journal.clone(),
        cut: args.cut_command.clone().map(|command| Cut { command, after: args.cut_after }),
        cycles: args.cycles,
    };
    let recorder = Recorder::open(options)?;
    if let Some(cut_off) = recorder.cut_off {
        complain(&format!(
            "the journal ended in the middle of an entry; removed {} bytes after byte {}",
            cut_off.lost_bytes, cut_off.at_bytes
        ));
    }
    let address = recorder.address().context("cannot get the recorder's address")?;
    print(&format!("listening on {address}, journal {}\n", args.journal.display()))?;
    // Keep recording even if nobody reads stdout.
    let standing = recorder.serve(&STOP, &mut |event| {
        if let Some(words) = report::verify_event(event) {
            let _ = print(&format!("{words}\n"));
        }
    })?;
    print(&report::verify_standing(&standing, &look()))?;
    Ok(match signals::received() {
        Some(signal) => ExitStatus::Interrupted(signal),
        None if standing.is_clean() => ExitStatus::Done,
        None => ExitStatus::Unfit,
    })
}

fn check(args: &CheckArgs) -> anyhow::Result<ExitStatus> {
    let root = SystemRoot::default();
    let source = match (&args.recorder, &args.journal) {
        (Some(address), _) => Source::Recorder(address.clone()),
        (None, Some(path)) => Source::Journal(path.clone()),
        (None, None) => Source::Nobody,
    };
    let statement =
        UserStatement { power_was_cut: args.power_was_cut, same_drive: args.same_drive };
    let check = Check::open(&root, &args.target, &source, statement)?;
    let target = check.target().clone();
    let meter = Meter::new(args.quiet, "reading");
    let carried_out = check.carry_out(&root, env!("CARGO_PKG_VERSION"), &mut |share| {
        meter.share(share);
        !STOP.is_requested()
    });
    meter.finish();
    if let (Err(_), Some(signal)) = (&carried_out, signals::received()) {
        complain("interrupted before everything was read");
        return Ok(ExitStatus::Interrupted(signal));
    }
    let document = carried_out?;
    match args.format {
        Format::Text => print(&report::verify_page(&document, &look()))?,
        Format::Json => print(&(serde_json::to_string_pretty(&document)? + "\n"))?,
    }
    if args.remove && document.result == CycleResult::Fails {
        complain(&format!("{} was kept because it is the evidence", target.path.display()));
    } else if args.remove && !target.remove()? {
        complain(&format!(
            "{} was kept because flushmark did not create it",
            target.path.display()
        ));
    }
    let is_kept = document.result == CycleResult::Kept && document.standing.unjudged == 0;
    Ok(if is_kept { ExitStatus::Done } else { ExitStatus::Unfit })
}

/// Prints on stderr and ignores write errors.
fn print_stderr(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Work that takes longer than this shows its progress.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval between progress lines if stderr is not a terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress on stderr: a bar on a terminal, otherwise a line now and then.
struct Meter {
    what: &'static str,
    begun: Instant,
    bar: Option<ProgressBar>,
    lines: bool,
    last_line: std::cell::Cell<Duration>,
}

impl Meter {
    fn new(quiet: bool, what: &'static str) -> Meter {
        let terminal = std::io::stderr().is_terminal();
        let bar = (!quiet && terminal).then(|| {
            let bar = ProgressBar::new(1000);
            if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24} {msg}") {
                bar.set_style(style);
            }
            bar.set_prefix(what);
            bar
        });
        Meter {
            what,
            begun: Instant::now(),
            bar,
            lines: !quiet && !terminal,
            last_line: std::cell::Cell::new(Duration::ZERO),
        }
    }

    fn share(&self, share: f64) {
        let elapsed = self.begun.elapsed();
        if elapsed < PATIENCE {
            return;
        }
        let left =
            Duration::try_from_secs_f64(elapsed.as_secs_f64() * (1.0 - share) / share.max(1e-6))
                .unwrap_or_default();
        let left = workload::number::span(left);
        if let Some(bar) = &self.bar {
            bar.set_position((share * 1000.0) as u64);
            bar.set_message(format!("{left} left"));
        } else {
            self.line(elapsed, || format!("{} {:.0} %, {left} left", self.what, share * 100.0));
        }
    }

    fn live(&self, live: Live) {
        let per_second = live.commits as f64 / live.elapsed.as_secs_f64().max(1e-3);
        let words = || {
            format!(
                "{} commits, {}/s, {}",
                workload::number::number(live.commits as f64),
                workload::number::number(per_second),
                workload::number::span(live.elapsed)
            )
        };
        if let Some(bar) = &self.bar {
            bar.set_style(
                ProgressStyle::with_template("{prefix} {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar.set_message(words());
        } else {
            self.line(live.elapsed, || format!("{} {}", self.what, words()));
        }
    }

    fn line(&self, elapsed: Duration, words: impl FnOnce() -> String) {
        if self.lines && elapsed >= self.last_line.get() + LINE_EVERY {
            self.last_line.set(elapsed);
            print_stderr(&format!("{}\n", words()));
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
