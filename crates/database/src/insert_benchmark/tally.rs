//! Latencies of one kind of statement, second by second.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use measurement::{Histogram, StatementFigures};

use super::run::Message;

/// Latencies are handed over after each interval of this length.
const INTERVAL: Duration = Duration::from_secs(1);

/// The kind of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Insert,
    Delete,
    Query,
}

/// The statements of all clients.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    rows: u64,
    all: Histogram,
    seconds: Vec<Histogram>,
}

impl Tally {
    pub(super) fn add(&mut self, second: usize, latencies: &Histogram, rows: u64) {
        self.rows += rows;
        self.all.merge(latencies);
        if self.seconds.len() <= second {
            self.seconds.resize_with(second + 1, Histogram::new);
        }
        self.seconds[second].merge(latencies);
        // Earlier seconds are complete but for stragglers.
        if let Some(earlier) = second.checked_sub(2) {
            self.seconds[earlier].compact();
        }
    }

    /// Keeps the whole seconds of the time measured.
    pub(super) fn end(&mut self, elapsed: Duration) {
        self.seconds.resize_with(elapsed.as_secs() as usize, Histogram::new);
        self.seconds.iter_mut().for_each(Histogram::compact);
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn count(&self) -> u64 {
        self.all.count()
    }

    pub(super) fn latencies(&self) -> (&Histogram, &[Histogram]) {
        (&self.all, &self.seconds)
    }

    pub(super) fn figures(&self, elapsed_s: f64) -> Option<StatementFigures> {
        StatementFigures::new(self.rows, elapsed_s, self.all.clone(), &self.seconds)
    }
}

/// The statements of one connection until they are handed over.
pub(super) struct Recorder<'a> {
    kind: Kind,
    second: usize,
    next: Instant,
    latencies: Histogram,
    rows: u64,
    sender: &'a Sender<Message>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(kind: Kind, start: Instant, sender: &'a Sender<Message>) -> Recorder<'a> {
        let next = start + INTERVAL;
        Recorder { kind, second: 0, next, latencies: Histogram::new(), rows: 0, sender }
    }

    /// Adds a statement that ended now.
    pub(super) fn record(&mut self, now: Instant, latency: Duration, rows: u64) {
        while now >= self.next {
            self.hand_over();
            self.second += 1;
            self.next += INTERVAL;
        }
        self.latencies.record(latency.as_nanos() as u64);
        self.rows += rows;
    }

    pub(super) fn hand_over(&mut self) {
        let mut latencies = std::mem::take(&mut self.latencies);
        latencies.compact();
        let (kind, second, rows) = (self.kind, self.second, std::mem::take(&mut self.rows));
        let _ = self.sender.send(Message::Interval { kind, second, latencies, rows });
    }
}
