//! `flushmark trace`: where commits spend their time.

mod analysis;
mod command;
mod keeping;
mod read;
mod scope;
mod threads;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use drive::{HostFacts, SystemRoot};
use measurement::TraceDocument;
use trace::{Event, Header, Live, READ_INTERVAL, Trailer};

use self::analysis::Analysis;
use self::command::Traced;
use self::keeping::Keeping;
use self::threads::{Files, Names};
use super::measure::expect_files;
use super::{look, print};
use crate::args::Format;
use crate::args::trace::{TraceAction, TraceArgs};
use crate::exit::{self, ExitStatus, WrongUse};
use crate::signals::{self, STOP};

/// Long enough for some hundred commits of a hard disk.
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// The interval at which new users of the directory or the device are looked up.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Traces or reads a trace, and prints.
pub fn run(args: &TraceArgs) -> anyhow::Result<ExitStatus> {
    let (format, output) = match &args.action {
        Some(TraceAction::Read(read)) => (read.format, &read.output),
        None => (args.format, &args.output),
    };
    expect_files(&[("--output", output, "result"), ("--keep", &args.keep, "trace")])?;
    let document = match &args.action {
        Some(TraceAction::Read(read)) => read::document(&read.file)?,
        None => record(args)?,
    };
    if let Some(path) = output {
        wholefile::replace(path, json(&document)?.as_bytes(), None)
            .with_context(|| format!("cannot write the result to {}", path.display()))?;
    }
    match format {
        Format::Text => print(&report::trace_page(&document, &look()))?,
        Format::Json => print(&json(&document)?)?,
    }
    Ok(signals::received().map_or(ExitStatus::Done, ExitStatus::Interrupted))
}

/// Traces until the time is over, or what is traced ends.
fn record(args: &TraceArgs) -> anyhow::Result<TraceDocument> {
    signals::listen().context("cannot listen for signals")?;
    let root = SystemRoot::default();
    let scope = scope::of(&root, args)?;
    let header = Header {
        subject: scope.subject,
        kernel: HostFacts::read(&root).kernel_release.unwrap_or_default(),
        scope: scope.traced,
        devices: scope.devices,
    };
    let mut live = Live::start(&header.scope)?;
    let mut keeping = args.keep.as_deref().map(|path| Keeping::begin(path, &header)).transpose()?;
    let began = Instant::now();
    let mut subject = Subject::begin(args, &mut live)?;
    let mut files = Files::default();
    let mut analysis = Analysis::new(&header, |commit| files.sync_flag(commit.thread, commit.file));
    let mut names = Names::default();
    let mut handing_over: HashSet<u32> = HashSet::new();
    let mut see = |event: Event, handing_over: &mut HashSet<u32>| -> anyhow::Result<()> {
        if let Some(keeping) = &mut keeping {
            keeping.event(&event)?;
        }
        handing_over.extend(event.hands_over());
        if let Some(thread) = analysis.event(&event) {
            names.see(thread);
        }
        Ok(())
    };
    let time = args.time.or((!matches!(subject, Subject::Command(_))).then_some(DEFAULT_TIME));
    let mut looked = began;
    let mut with_workers: HashSet<u32> = HashSet::new();
    while !STOP.is_requested() && time.is_none_or(|time| began.elapsed() < time) {
        std::thread::sleep(READ_INTERVAL);
        live.read()?.try_for_each(|event| see(event, &mut handing_over))?;
        // The kernel creates their workers without telling the tracer.
        for thread in handing_over.drain().collect::<Vec<_>>() {
            let created = threads::of_process(thread).into_iter();
            let new = created.filter(|thread| with_workers.insert(*thread));
            live.follow(&new.collect::<Vec<_>>())?;
        }
        if subject.is_over() {
            break;
        }
        if let Subject::Users { place, followed } = &mut subject
            && looked.elapsed() >= LOOK_AGAIN
        {
            looked = Instant::now();
            live.follow(&threads::new_users(place, followed))?;
        }
    }
    let (left, counted) = live.finish()?;
    left.into_iter().try_for_each(|event| see(event, &mut handing_over))?;
    let trailer = Trailer { seconds: began.elapsed().as_secs_f64(), counted, names: names.0 };
    subject.end()?;
    let document = analysis.document(&header, &trailer);
    if let Some(keeping) = keeping {
        keeping.finish(&trailer)?;
    }
    Ok(document)
}

fn json(document: &TraceDocument) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}

/// The processes whose commits are traced.
enum Subject {
    Command(Traced),
    Process(u32),
    /// All processes with open files there.
    Users {
        place: threads::Opened,
        followed: HashSet<u32>,
    },
}

impl Subject {
    fn begin(args: &TraceArgs, live: &mut Live) -> anyhow::Result<Subject> {
        if let Some((program, arguments)) = args.command.split_first() {
            return Ok(Subject::Command(Traced::spawn(program, arguments, live)?));
        }
        if let Some(process) = args.pid {
            let threads = threads::of_process(process);
            if threads.is_empty() {
                return Err(WrongUse(format!("no process {process} is running")).into());
            }
            live.follow(&threads)?;
            return Ok(Subject::Process(process));
        }
        let place = match (&args.path, &args.device) {
            (Some(path), _) => threads::Opened::Below(std::fs::canonicalize(path)?),
            (None, Some(device)) => threads::Opened::on_device(device)?,
            (None, None) => return Err(WrongUse("nothing to trace".to_owned()).into()),
        };
        let mut followed = HashSet::new();
        live.follow(&threads::new_users(&place, &mut followed))?;
        Ok(Subject::Users { place, followed })
    }

    fn is_over(&mut self) -> bool {
        match self {
            Subject::Command(traced) => traced.has_ended(),
            Subject::Process(process) => threads::of_process(*process).is_empty(),
            Subject::Users { .. } => false,
        }
    }

    /// Ends a command that still runs, and says so if it failed.
    fn end(self) -> anyhow::Result<()> {
        if let Subject::Command(traced) = self
            && let Some(words) = traced.end()?
        {
            exit::complain(&words);
        }
        Ok(())
    }
}
