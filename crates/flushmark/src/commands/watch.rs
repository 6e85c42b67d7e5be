//! `flushmark watch`: what drives do second by second, and who commits.

mod devices;
mod metrics;
mod processes;
mod sampling;

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use drive::SystemRoot;
use jiff::{Timestamp, Zoned};
use measurement::started_at;
use measurement::watch::{Interval, Reading};
use report::{Look, Shown, WatchLines};
use trace::TraceError;

use self::devices::Devices;
use self::metrics::Publisher;
use self::processes::Processes;
use self::sampling::Sampler;
use super::{look, print};
use crate::args::Format;
use crate::args::watch::WatchArgs;
use crate::exit::{ExitStatus, complain};
use crate::signals::{self, STOP};

/// The interval at which a request to stop is noticed.
const STOP_POLL: Duration = Duration::from_millis(200);
/// Lines of a terminal between two headers.
const HEADER_EVERY: usize = 24;

/// Watches until a signal, or until the time is over.
pub fn run(args: &WatchArgs) -> anyhow::Result<ExitStatus> {
    let root = SystemRoot::new(&args.system_root);
    let mut devices = Devices::find(&root, &args.places)?;
    let mut publisher = args.openmetrics.as_ref().map(Publisher::begin).transpose()?;
    signals::listen().context("cannot listen for signals")?;
    // Another machine's processes are not here.
    let is_here = root == SystemRoot::default();
    let mut tracer = if is_here { Tracer::begin(&root) } else { Tracer::default() };
    let mut printer = Printer::new(args.format, &devices, tracer.shown());

    let (mut earlier, _) = tracer.read(&mut devices);
    let began = Instant::now();
    let end = args.time.map(|time| began + time);
    if let Some(words) = uncounted(&earlier) {
        complain(&words);
    }
    let (mut last, mut next) = (began, began + args.interval);
    loop {
        let is_last = end.is_some_and(|end| end <= next);
        tracer.wait(end.map_or(next, |end| end.min(next)));
        if STOP.is_requested() {
            break;
        }
        let (reading, syncs_incomplete) = tracer.read(&mut devices);
        let now = Instant::now();
        let time = started_at::write(Some(Timestamp::now()));
        let interval = reading.since(&earlier, (now - last).as_secs_f64(), time);
        printer.print(&Interval { syncs_incomplete, ..interval })?;
        if let Some(publisher) = &mut publisher {
            publisher.publish(&reading)?;
        }
        if is_last {
            break;
        }
        devices.expect_some()?;
        (earlier, last) = (reading, now);
        // After a suspension, the intervals that were missed are not made up for.
        next = (next + args.interval).max(now);
    }
    // A signal is the normal way to stop.
    Ok(ExitStatus::Done)
}

/// The parts that need the kernel's tracer; `None` where it may not be used.
#[derive(Default)]
struct Tracer {
    processes: Option<Processes>,
    sampler: Option<Sampler>,
}

impl Tracer {
    /// Says what is missing.
    fn begin(root: &SystemRoot) -> Tracer {
        let processes = Processes::begin();
        // The processes that commit are those whose commits are traced.
        let sampler = processes.is_some().then(|| Sampler::begin(root));
        let sampler = sampler.and_then(|sampler| {
            sampler.map_err(|error| complain(&sampling::not_shown(&error))).ok()
        });
        Tracer { processes, sampler }
    }

    fn shown(&self) -> Shown {
        Shown { commits: self.sampler.is_some(), processes: self.processes.is_some() }
    }

    /// Waits until then, or until a signal asks to stop. Traces some commits meanwhile.
    fn wait(&mut self, until: Instant) {
        // If nothing syncs, no commit is among the events that would be recorded.
        if self.processes.as_ref().is_some_and(Processes::sync) {
            self.ask_sampler(Sampler::record);
        }
        while !STOP.is_requested() {
            let look = self.sampler.as_ref().and_then(Sampler::next_look);
            let wake = look.map_or(until, |look| look.min(until));
            let left = wake.saturating_duration_since(Instant::now());
            if left.is_zero() && wake == until {
                return;
            }
            std::thread::sleep(left.min(STOP_POLL));
            self.ask_processes(Processes::relieve);
            self.ask_sampler(Sampler::look);
        }
    }

    /// The kernel's counts, and whether it missed syncs.
    fn read(&mut self, devices: &mut Devices) -> (Reading, bool) {
        let counted = self.ask_processes(Processes::read);
        let commits = self.ask_sampler(Sampler::read);
        let (processes, incomplete) = counted.unzip();
        let devices = devices.read(commits.as_ref());
        (Reading { devices, processes }, incomplete.unwrap_or(false))
    }

    /// Goes on without the processes if the tracer fails.
    fn ask_processes<T>(
        &mut self,
        ask: impl FnOnce(&mut Processes) -> Result<T, TraceError>,
    ) -> Option<T> {
        or_none(&mut self.processes, ask, processes::not_shown)
    }

    /// Goes on without latencies of commits if the tracer fails.
    fn ask_sampler<T>(
        &mut self,
        ask: impl FnOnce(&mut Sampler) -> Result<T, TraceError>,
    ) -> Option<T> {
        or_none(&mut self.sampler, ask, sampling::not_shown)
    }
}

/// Asks one part of the tracer, and drops it if it fails.
fn or_none<P, T>(
    part: &mut Option<P>,
    ask: impl FnOnce(&mut P) -> Result<T, TraceError>,
    not_shown: impl FnOnce(&TraceError) -> String,
) -> Option<T> {
    match ask(part.as_mut()?) {
        Ok(answer) => Some(answer),
        Err(error) => {
            complain(&not_shown(&error));
            *part = None;
            None
        }
    }
}

/// A message about devices that count no flushes.
fn uncounted(reading: &Reading) -> Option<String> {
    let devices = reading.devices.iter().filter(|device| device.counters.flushes.is_none());
    let devices: Vec<String> = devices.map(|device| device.device.clone()).collect();
    (!devices.is_empty()).then(|| report::flushes_not_counted(&devices))
}

struct Printer {
    format: Format,
    lines: WatchLines,
    look: Look,
    is_terminal: bool,
    /// Lines since the header; `None` before the first.
    since_header: Option<usize>,
}

impl Printer {
    fn new(format: Format, devices: &Devices, shown: Shown) -> Printer {
        Printer {
            format,
            lines: WatchLines::new(devices.names(), shown),
            look: look(),
            is_terminal: std::io::stdout().is_terminal(),
            since_header: None,
        }
    }

    fn print(&mut self, interval: &Interval) -> anyhow::Result<()> {
        match self.format {
            Format::Json => print(&(serde_json::to_string(interval)? + "\n")),
            Format::Text => {
                let time = Zoned::now().strftime("%H:%M:%S").to_string();
                let lines = self.lines.interval(interval, &time, &self.look);
                print(&(self.header(interval.devices.len()) + &lines))
            }
        }
    }

    /// The header, where these lines need one.
    fn header(&mut self, lines: usize) -> String {
        let since = self.since_header.map(|since| since + lines);
        if since.is_some_and(|since| !self.is_terminal || since < HEADER_EVERY) {
            self.since_header = since;
            return String::new();
        }
        self.since_header = Some(lines);
        self.lines.header(&self.look)
    }
}
