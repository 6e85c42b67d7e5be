//! What a sort did, and the meter on the files of its runs.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::space::RunFile;

/// What a sort did, and how long each part took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Records taken.
    pub records: u64,
    /// Bytes of their keys and payloads.
    pub bytes: u64,
    /// Runs written, those that were merged from others included.
    pub runs: u64,
    /// Time that threads spent on sorting in memory, added up.
    pub sorting: Duration,
    /// Bytes written to runs.
    pub written: u64,
    /// Time within writes, added up.
    pub writing: Duration,
    /// Bytes read from runs.
    pub read: u64,
    /// Time within reads, added up.
    pub reading: Duration,
}

/// What runs cost, added up over threads.
#[derive(Debug, Default)]
pub(super) struct Meter {
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

    /// The figures with what this has counted so far.
    pub(super) fn add_to(&self, figures: Figures) -> Figures {
        let time = |of: &AtomicU64| Duration::from_nanos(of.load(Ordering::Relaxed));
        Figures {
            runs: self.runs.load(Ordering::Relaxed),
            written: self.written(),
            writing: time(&self.writing),
            read: self.read.load(Ordering::Relaxed),
            reading: time(&self.reading),
            ..figures
        }
    }
}

/// A run's file, whose reads and writes are counted and timed.
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
