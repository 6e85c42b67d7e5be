//! `flushmark db watch`: what a running server does second by second, and the summary.

mod readings;
mod record;

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use database::{DatabaseError, Facts, ServerUrl};
use drive::{HostFacts, SystemRoot};
use jiff::{Timestamp, Zoned};
use measurement::{Ended, RunDocument, TargetKind, TargetRecord, TestResult};
use report::{Look, ServerLines, ServerSecond};

use self::readings::{Readings, Step, Watched};
use self::record::Record;
use super::super::{look, print};
use super::connect::connect;
use super::log_device::LogDevice;
use crate::args::db::WatchArgs;
use crate::args::export::PrintFormat;
use crate::commands::measure::{deliver, expect_output};
use crate::exit::{ExitStatus, WrongUse, complain};
use crate::keeping::Keeping;
use crate::progress::Progress;
use crate::session::{Completed, judge, new_document};
use crate::signals::{self, STOP};

/// The name of its results.
const SUITE: &str = "db-watch";
const INTERVAL: Duration = Duration::from_secs(1);
/// The interval at which a request to stop is noticed.
const STOP_POLL: Duration = Duration::from_millis(100);
/// Lines of a terminal between two headers.
const HEADER_EVERY: usize = 24;

pub fn run(args: &WatchArgs) -> anyhow::Result<ExitStatus> {
    expect_output(&args.delivery)?;
    let url: ServerUrl = args.url.parse().map_err(|error| WrongUse(format!("{error}")))?;
    signals::listen().context("cannot handle signals")?;
    let (server, mut session) = connect(url, args.timeout)?;
    let facts = Facts::read(&mut session)?;
    let device = LogDevice::of(&facts);
    let mut keeping = Keeping::open(&args.keep, &server.url.to_string())?;
    let look = look();
    let progress = Progress::new(args.delivery.quiet, &look);
    let target = TargetRecord::new(server.url.to_string(), TargetKind::Database)
        .with_database(facts.record.clone());
    let mut document = RunDocument {
        label: args.keep.label.clone(),
        host: HostFacts::read(&SystemRoot::default()),
        drive: device.as_ref().ok().map(|device| device.place.clone()),
        ..new_document(SUITE, target, Some(Timestamp::now()))
    };
    let is_text = args.delivery.format == PrintFormat::Text;
    if is_text {
        print(&report::target_header(&document, None, &look))?;
    }
    keeping.begin(&document)?;

    let printer = (is_text && !args.delivery.quiet).then(|| Printer::new(look));
    let mut readings = Readings::begin(&server, session, &facts, device)?;
    let before = engine::cpu_use();
    let (record, failure) = watch(args, &mut readings, printer)?;
    let cpu = engine::cpu_use_since(before);
    // A signal is the normal end, unless the watch was to last for some time.
    let interrupted = signals::received().filter(|_| args.time.is_some());
    let (verdict, ended) = match (&failure, interrupted) {
        (Some(error), _) => (ExitStatus::Failed, Ended::Failed { error: error.to_string() }),
        (None, Some(signal)) => (ExitStatus::Interrupted(signal), Ended::Interrupted),
        (None, None) => (ExitStatus::Done, Ended::Limit),
    };
    if let Some((activity, device)) = record.finish(|total| readings.activity(total)) {
        let engine = facts.record.product.engine();
        let notes = readings.notes;
        let result = TestResult::watched(engine, activity, device.as_ref(), cpu, ended, notes);
        keeping.append(&result);
        document.results.push(result);
    }
    judge(&mut document, None);
    let error = failure.filter(|_| document.results.is_empty()).map(Into::into);
    let completed = Completed { document, verdict, error };
    let kept = keeping.finish(&completed);
    let document = &completed.document;
    let delivered = deliver(std::slice::from_ref(document), &args.delivery, || {
        report::database_watch_page(document, &look)
    });
    kept.report(&progress);
    let ended = completed.end()?;
    delivered.map(|()| ended.1)
}

/// Watches until a signal, until the time is over, or until the server stays away, which is the
/// error returned.
fn watch(
    args: &WatchArgs,
    readings: &mut Readings<'_>,
    mut printer: Option<Printer>,
) -> anyhow::Result<(Record, Option<DatabaseError>)> {
    let mut record = Record::new(INTERVAL);
    let began = Instant::now();
    let end = args.time.map(|time| began + time);
    let mut next = began + INTERVAL;
    loop {
        wait_until(end.map_or(next, |end| end.min(next)));
        // A part of an interval counts for the sums only.
        let is_whole = Instant::now() >= next;
        let is_last = STOP.is_requested() || end.is_some_and(|end| end <= next);
        let watched = match readings.next() {
            Ok(Step::Watched(watched)) => Some(watched),
            Ok(Step::Broken(why)) => {
                complain(&format!("{why}; the time since the last line is left out"));
                None
            }
            // A server that is away is not waited for once the watch is over.
            Err(_) if STOP.is_requested() => return Ok((record, None)),
            Err(error) => return Ok((record, Some(error))),
        };
        if let Some(watched) = &watched {
            record.add(watched);
        }
        if is_whole {
            let number = (began.elapsed().as_secs_f64() / INTERVAL.as_secs_f64()).round();
            record.add_rates(number as usize, watched.as_deref());
            if let (Some(printer), Some(watched)) = (&mut printer, &watched) {
                printer.print(watched)?;
            }
        }
        if is_last || end.is_some_and(|end| end <= Instant::now()) {
            return Ok((record, None));
        }
        // Lines that were missed are not made up for.
        while next <= Instant::now() {
            next += INTERVAL;
        }
    }
}

fn wait_until(until: Instant) {
    while !STOP.is_requested() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(STOP_POLL));
    }
}

/// Prints the lines, and the header where they need one.
struct Printer {
    look: Look,
    /// The columns, once the first second shows which figures there are.
    lines: Option<ServerLines>,
    is_terminal: bool,
    since_header: usize,
}

impl Printer {
    fn new(look: Look) -> Printer {
        Printer { look, lines: None, is_terminal: std::io::stdout().is_terminal(), since_header: 0 }
    }

    fn print(&mut self, watched: &Watched) -> anyhow::Result<()> {
        let time = Zoned::now().strftime("%H:%M:%S").to_string();
        let second = ServerSecond {
            time: &time,
            activity: &watched.activity,
            device_flushes_per_s: watched.device_flushes_per_s(),
        };
        let needs_header =
            self.lines.is_none() || (self.is_terminal && self.since_header >= HEADER_EVERY);
        let lines = self.lines.get_or_insert_with(|| ServerLines::new(&second));
        let mut text = String::new();
        if self.since_header == 0 && needs_header {
            text.push('\n');
        }
        if needs_header {
            text += &lines.header(&self.look);
            self.since_header = 0;
        }
        text += &lines.second(&second, &self.look);
        self.since_header += 1;
        print(&text)
    }
}
