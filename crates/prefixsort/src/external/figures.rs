//! Counts and times of a sort, and the meter on the files of its runs.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::space::RunFile;

/// Counts and times of a sort. Times of several threads are added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Number of records pushed or merged.
    pub records: u64,
    /// Bytes of their keys and payloads.
    pub bytes: u64,
    /// Number of runs written, including those merged from other runs.
    pub runs: u64,
    /// Time of sorting in memory, added up over threads.
    pub sorting: Duration,
    /// Bytes written to runs.
    pub written: u64,
    /// Time in write calls, added up over threads.
    pub writing: Duration,
    /// Bytes read from runs.
    pub read: u64,
    /// Time in read calls, added up over threads.
    pub reading: Duration,
}

/// The cost of runs, added up over threads, and what came from sorted inputs.
#[derive(Debug, Default)]
pub(super) struct Meter {
    records: AtomicU64,
    bytes: AtomicU64,
    runs: AtomicU64,
    written: AtomicU64,
    writing: AtomicU64,
    read: AtomicU64,
    reading: AtomicU64,
}

impl Meter {
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub(super) fn run_written(&self) {
        self.runs.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a sorted input that was read to its end.
    pub(super) fn input_read(&self, records: u64, bytes: u64) {
        self.records.fetch_add(records, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Adds the current counts to `figures`.
    pub(super) fn add_to(&self, figures: Figures) -> Figures {
        let time = |of: &AtomicU64| Duration::from_nanos(of.load(Ordering::Relaxed));
        Figures {
            records: figures.records + self.records.load(Ordering::Relaxed),
            bytes: figures.bytes + self.bytes.load(Ordering::Relaxed),
            runs: self.runs.load(Ordering::Relaxed),
            written: self.written(),
            writing: time(&self.writing),
            read: self.read.load(Ordering::Relaxed),
            reading: time(&self.reading),
            ..figures
        }
    }
}

/// The file of a run, with its reads and writes counted and timed.
#[derive(Debug)]
pub(super) struct Metered {
    file: Box<dyn RunFile>,
    meter: Arc<Meter>,
}

impl Metered {
    pub(super) fn new(file: Box<dyn RunFile>, meter: Arc<Meter>) -> Self {
        Self { file, meter }
    }
}

impl Write for Metered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let start = Instant::now();
        let written = self.file.write(bytes);
        self.meter.writing.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.meter.written.fetch_add(*written.as_ref().unwrap_or(&0) as u64, Ordering::Relaxed);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        let start = Instant::now();
        let flushed = self.file.flush();
        self.meter.writing.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        flushed
    }
}

impl Read for Metered {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let start = Instant::now();
        let read = self.file.read(bytes);
        self.meter.reading.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        self.meter.read.fetch_add(*read.as_ref().unwrap_or(&0) as u64, Ordering::Relaxed);
        read
    }
}

impl RunFile for Metered {
    fn rewind(&mut self) -> io::Result<()> {
        self.file.rewind()
    }
}
