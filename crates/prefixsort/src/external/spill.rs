//! Where runs are kept: unnamed files in the caller's directories.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::merge::{Merge, Source, Unreadable};
use super::run::{RunError, RunReader, RunWriter};

/// Why records could not be kept outside of memory, or not be had back. The input is untouched in any case; no file is
/// left behind.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SpillError {
    /// No file could be made in any of the directories.
    #[error("no temporary file can be made in {}: {source}", directory.display())]
    Create {
        /// The directory that was tried last.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No directory took a run as a whole.
    #[error("a run of {} could not be written to {}: {source}{}", bytes(*spilled), directory.display(), advice(source))]
    Write {
        /// The directory that was tried last.
        directory: PathBuf,
        /// How many bytes of the run had been written.
        spilled: u64,
        /// What the system said.
        source: io::Error,
    },
    /// A run could not be read back.
    #[error("a run in {} could not be read back: {source}", directory.display())]
    Read {
        /// Where the run is.
        directory: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A run is not what was written.
    #[error(
        "a run in {} came back damaged: {what}. Nothing more of it is used; check the drive and its cabling, or name \
         another directory", directory.display()
    )]
    Damaged {
        /// Where the run is.
        directory: PathBuf,
        /// What was noticed.
        what: String,
    },
    /// There is nowhere to spill to.
    #[error("{limit} bytes of memory are used up, and no directory for temporary files was named")]
    NoDirectory {
        /// The memory limit.
        limit: usize,
    },
    /// A record that cannot be numbered.
    #[error("a record of {0} bytes is longer than the 4 GiB that one may have")]
    TooLong(usize),
    /// The system gave no thread.
    #[error("no thread could be started to sort with: {0}")]
    Thread(io::Error),
}

fn bytes(count: u64) -> String {
    if count < 1 << 20 { format!("{} KiB", count >> 10) } else { format!("{} MiB", count >> 20) }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ". Name a directory with more room, or allow more memory",
        _ => "",
    }
}

/// What runs cost, added up over threads.
#[derive(Debug, Default)]
pub(super) struct Meter {
    written: AtomicU64,
    writing: AtomicU64,
    read: AtomicU64,
    reading: AtomicU64,
}

impl Meter {
    pub(super) fn written(&self) -> (u64, Duration) {
        (self.written.load(Ordering::Relaxed), Duration::from_nanos(self.writing.load(Ordering::Relaxed)))
    }

    pub(super) fn read(&self) -> (u64, Duration) {
        (self.read.load(Ordering::Relaxed), Duration::from_nanos(self.reading.load(Ordering::Relaxed)))
    }
}

/// A file whose reads and writes are counted and timed.
#[derive(Debug)]
pub(super) struct Metered {
    file: File,
    meter: Arc<Meter>,
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
        self.file.flush()
    }
}

impl Seek for Metered {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
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

/// The caller's directories, used in turn.
#[derive(Clone, Debug)]
pub(super) struct Directories {
    all: Vec<PathBuf>,
    next: usize,
    pub(super) meter: Arc<Meter>,
}

/// A run on disk.
#[derive(Debug)]
pub(super) struct Run {
    file: Metered,
    directory: PathBuf,
}

impl Run {
    /// To be read from its beginning.
    pub(super) fn reader(mut self) -> Result<RunReader<Metered>, SpillError> {
        self.file
            .file
            .seek(SeekFrom::Start(0))
            .map_err(|source| SpillError::Read { directory: self.directory, source })?;
        Ok(RunReader::new(self.file))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }
}

/// The error that a run's directory makes of what its reader says.
pub(super) fn unreadable(directories: &[PathBuf], Unreadable { run, error }: Unreadable) -> SpillError {
    let directory = directories[run].clone();
    match error {
        RunError::Io(source) => SpillError::Read { directory, source },
        damaged => SpillError::Damaged { directory, what: damaged.to_string() },
    }
}

impl Directories {
    pub(super) fn new(directories: Vec<PathBuf>) -> Self {
        Self { all: directories, next: 0, meter: Arc::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Writes what the sources merge to as one run, and gives them back. A directory that is full or gone is left for the
    /// next one, and the merge is begun anew.
    pub(super) fn write(
        &mut self,
        mut sources: Vec<Source>,
        of: &[PathBuf],
        descending: bool,
    ) -> Result<(Run, Vec<Source>), SpillError> {
        let mut tries = self.all.len();
        loop {
            let directory = self.all[self.next % self.all.len()].clone();
            self.next += 1;
            tries -= 1;
            let mut merge = Merge::new(sources, descending).map_err(|error| unreadable(of, error))?;
            match self.write_to(directory, &mut merge, of) {
                Ok(run) => return Ok((run, merge.into_sources())),
                Err(SpillError::Create { .. } | SpillError::Write { .. }) if tries > 0 => {
                    sources = merge.into_sources();
                    sources.iter_mut().try_for_each(Source::rewind).map_err(|error| unreadable(of, error))?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn write_to(&self, directory: PathBuf, merge: &mut Merge, of: &[PathBuf]) -> Result<Run, SpillError> {
        // Without a name from the beginning, or from right after it: whatever ends this process, nothing stays.
        let file = match tempfile::tempfile_in(&directory) {
            Ok(file) => file,
            Err(source) => return Err(SpillError::Create { directory, source }),
        };
        let before = self.meter.written().0;
        let failed = |source| SpillError::Write {
            directory: directory.clone(),
            spilled: self.meter.written().0 - before,
            source,
        };
        let mut writer = RunWriter::new(Metered { file, meter: self.meter.clone() });
        while let Some(record) = merge.next().map_err(|error| unreadable(of, error))? {
            writer.push(record.key, record.payload, record.shared).map_err(failed)?;
        }
        let file = writer.finish().map_err(failed)?;
        Ok(Run { file, directory })
    }
}
