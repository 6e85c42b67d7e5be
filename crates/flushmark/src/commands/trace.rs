//! `flushmark trace`: where commits spend their time.

mod command;
mod read;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use drive::{BlockDevice, Place, SystemRoot};
use measurement::{TraceDocument, TraceRecord};
use trace::{Header, READ_INTERVAL};

pub use self::read::document_of_file;

use self::command::Traced;
use super::measure::expect_files;
use super::{look, print};
use crate::args::Format;
use crate::args::trace::{TraceAction, TraceArgs};
use crate::exit::{self, ExitStatus, WrongUse};
use crate::signals::{self, STOP};
use crate::tracing::{Recording, scope, threads};

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

fn record(args: &TraceArgs) -> anyhow::Result<TraceDocument> {
    signals::listen().context("cannot listen for signals")?;
    let header = header(args)?;
    let mut recording = Recording::start(&header, args.keep.as_deref())?;
    let mut subject = Subject::begin(args, &mut recording)?;
    let traced = observe(&mut recording, &mut subject, args.time);
    // The command ends however the trace ended.
    let record = traced.and_then(|()| recording.finish());
    let ended = subject.end();
    let record = record?;
    ended?;
    Ok(document(&header, record))
}

/// Reads what the kernel records until the time is over, or what is traced ends.
fn observe(
    recording: &mut Recording<'_>,
    subject: &mut Subject,
    time: Option<Duration>,
) -> anyhow::Result<()> {
    let time = time.or((!matches!(subject, Subject::Command(_))).then_some(DEFAULT_TIME));
    let mut looked = Instant::now();
    while !STOP.is_requested() && time.is_none_or(|time| recording.elapsed() < time) {
        std::thread::sleep(READ_INTERVAL);
        recording.read()?;
        if subject.is_over() {
            break;
        }
        if let Subject::Users { place, followed } = subject
            && looked.elapsed() >= LOOK_AGAIN
        {
            looked = Instant::now();
            recording.follow(&threads::new_users(place, followed))?;
        }
    }
    Ok(())
}

/// The devices of a path or a device; all of them for a command or a process.
fn header(args: &TraceArgs) -> anyhow::Result<Header> {
    let root = SystemRoot::default();
    if let Some(path) = &args.path {
        return scope::of_place(&root, &path.display().to_string(), &Place::of(&root, path)?);
    }
    if let Some(path) = &args.device {
        return scope::of_device(&root, path);
    }
    let words = args.command.iter().map(|word| word.to_string_lossy());
    let words = words.map(|word| judge::shell_word(&word)).collect::<Vec<_>>().join(" ");
    scope::of_all(&root, args.pid.map_or(words, |pid| format!("process {pid}")))
}

fn document(header: &Header, trace: TraceRecord) -> TraceDocument {
    let devices: Vec<&BlockDevice> = header.devices.iter().collect();
    TraceDocument {
        schema: measurement::trace_document::SCHEMA.to_owned(),
        flushmark: env!("CARGO_PKG_VERSION").to_owned(),
        subject: header.subject.clone(),
        kernel: header.kernel.clone(),
        findings: judge::trace(&trace.anatomies.iter().collect::<Vec<_>>(), &devices),
        trace,
    }
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
    fn begin(args: &TraceArgs, recording: &mut Recording<'_>) -> anyhow::Result<Subject> {
        if let Some((program, arguments)) = args.command.split_first() {
            return Ok(Subject::Command(Traced::spawn(program, arguments, recording)?));
        }
        if let Some(process) = args.pid {
            let threads = threads::of_process(process);
            if threads.is_empty() {
                return Err(WrongUse(format!("no process {process} is running")).into());
            }
            recording.follow(&threads)?;
            return Ok(Subject::Process(process));
        }
        let place = match (&args.path, &args.device) {
            (Some(path), _) => threads::Opened::Below(std::fs::canonicalize(path)?),
            (None, Some(device)) => threads::Opened::on_device(device)?,
            (None, None) => return Err(WrongUse("nothing to trace".to_owned()).into()),
        };
        let mut followed = HashSet::new();
        recording.follow(&threads::new_users(&place, &mut followed))?;
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
