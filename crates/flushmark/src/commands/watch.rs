//! `flushmark watch`: what drives do second by second, and who commits.

mod devices;
mod metrics;
mod processes;

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use drive::SystemRoot;
use jiff::{Timestamp, Zoned};
use measurement::started_at;
use measurement::watch::{Interval, Reading};
use report::{Look, WatchLines};

use self::devices::Devices;
use self::metrics::Publisher;
use self::processes::Processes;
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
    let mut processes = if is_here { Processes::begin() } else { None };
    let mut printer = Printer::new(args.format, &devices, processes.is_some());

    let (mut earlier, _) = read(&mut devices, &mut processes);
    let began = Instant::now();
    let end = args.time.map(|time| began + time);
    if let Some(words) = uncounted(&earlier) {
        complain(&words);
    }
    let (mut last, mut next) = (began, began + args.interval);
    loop {
        let is_last = end.is_some_and(|end| end <= next);
        wait(end.map_or(next, |end| end.min(next)), &mut processes);
        if STOP.is_requested() {
            break;
        }
        let (reading, syncs_incomplete) = read(&mut devices, &mut processes);
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

/// Waits until then, or until a signal asks to stop.
fn wait(until: Instant, processes: &mut Option<Processes>) {
    while !STOP.is_requested() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(STOP_POLL));
        with_processes(processes, Processes::relieve);
    }
}

/// The kernel's counts, and whether it missed syncs.
fn read(devices: &mut Devices, processes: &mut Option<Processes>) -> (Reading, bool) {
    let counted = with_processes(processes, Processes::read);
    let (processes, incomplete) = counted.unzip();
    (Reading { devices: devices.read(), processes }, incomplete.unwrap_or(false))
}

/// Asks the tracer, and goes on without it if it fails.
fn with_processes<T>(
    processes: &mut Option<Processes>,
    ask: impl FnOnce(&mut Processes) -> Result<T, trace::TraceError>,
) -> Option<T> {
    match ask(processes.as_mut()?) {
        Ok(answer) => Some(answer),
        Err(error) => {
            complain(&processes::not_shown(&error));
            *processes = None;
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
    fn new(format: Format, devices: &Devices, processes: bool) -> Printer {
        Printer {
            format,
            lines: WatchLines::new(devices.names(), processes),
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
