//! Where runs are kept: unnamed files in directories, or whatever else the caller has.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::merge::{Merge, Source, Unreadable};
use super::run::{LONGEST_RECORD, Longest, RunError, RunReader, RunWriter};
use super::sorter::Figures;

/// Somewhere to keep runs: a directory, or a space of the caller's own, such as a raw device. What a run needs besides,
/// its format and its checksums, is the same everywhere.
///
/// ```
/// use std::fs::OpenOptions;
/// use std::io;
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use prefixsort::{ExternalOptions, ExternalSorter, RunFile, SpillSpace};
///
/// /// Runs in files with names, for those who want to see them.
/// #[derive(Debug)]
/// struct Named;
///
/// impl SpillSpace for Named {
///     fn path(&self) -> &Path {
///         Path::new("/var/tmp")
///     }
///
///     fn create(&self) -> io::Result<Box<dyn RunFile>> {
///         let file = OpenOptions::new().read(true).write(true).create_new(true).open("/var/tmp/run")?;
///         Ok(Box::new(file))
///     }
/// }
///
/// let sorter = ExternalSorter::spilling_to(&ExternalOptions::default(), vec![Arc::new(Named)])?;
/// # drop(sorter);
/// # Ok::<(), prefixsort::SpillError>(())
/// ```
pub trait SpillSpace: Debug + Send + Sync {
    /// What messages call it.
    fn path(&self) -> &Path;

    /// Room for one run.
    ///
    /// # Errors
    ///
    /// As the system reports them; the next space is tried then.
    fn create(&self) -> io::Result<Box<dyn RunFile>>;
}

/// One run in its space: it is written from its beginning to its end and flushed, then read the same way, perhaps more than
/// once. Dropping it gives its room back.
pub trait RunFile: Read + Write + Debug + Send {
    /// Back to the beginning, to be read.
    ///
    /// # Errors
    ///
    /// As the system reports them.
    fn rewind(&mut self) -> io::Result<()>;
}

impl RunFile for File {
    fn rewind(&mut self) -> io::Result<()> {
        Seek::rewind(self)
    }
}

/// Files without a name from the beginning, or from right after it: whatever ends this process, nothing stays.
impl SpillSpace for PathBuf {
    fn path(&self) -> &Path {
        self
    }

    fn create(&self) -> io::Result<Box<dyn RunFile>> {
        Ok(Box::new(tempfile::tempfile_in(self)?))
    }
}

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
    /// A record longer than what a run can hold. It was not taken, and the sorter is as it was.
    #[error("a record of {0} bytes is longer than the {LONGEST_RECORD} that one may have in all")]
    TooLong(usize),
    /// [`with_progress`](crate::ExternalSorter::with_progress) said not to go on.
    #[error("the sort was cancelled while a run was being written")]
    Cancelled,
    /// The sorter has failed before: records are missing from it.
    #[error("the sort has failed before, and records are missing from it; begin a new one")]
    Failed,
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
    runs: AtomicU64,
    written: AtomicU64,
    writing: AtomicU64,
    read: AtomicU64,
    reading: AtomicU64,
}

impl Meter {
    fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
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

/// Asked with the number of bytes that were written to runs so far whether to go on.
pub(super) type Progress = Box<dyn Fn(u64) -> bool + Send>;

/// Whether runs are still wanted, asked after each block of them.
#[derive(Default)]
pub(super) struct Watch {
    stopped: AtomicBool,
    progress: Mutex<Option<Progress>>,
}

impl Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("stopped", &self.stopped).finish_non_exhaustive()
    }
}

impl Watch {
    /// What is asked from now on.
    pub(super) fn ask(&self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// The run that is being written is not wanted any more.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn go_on(&self, written: u64) -> bool {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        !self.stopped.load(Ordering::Relaxed) && progress.as_ref().is_none_or(|progress| progress(written))
    }
}

/// Shared, since a run says where it is kept.
pub(super) type Space = Arc<dyn SpillSpace>;

/// The caller's spaces, used in turn.
#[derive(Debug)]
pub(super) struct Spaces {
    all: Vec<Space>,
    next: usize,
    meter: Arc<Meter>,
    watch: Arc<Watch>,
}

/// A run outside of memory.
#[derive(Debug)]
pub(super) struct Run {
    file: Metered,
    space: Space,
    longest: Longest,
    /// Bytes of it.
    pub(super) bytes: u64,
    /// Merges that its records have been through.
    pub(super) level: u32,
}

impl Run {
    /// To be read from its beginning.
    pub(super) fn reader(mut self) -> Result<RunReader<Metered>, SpillError> {
        self.file.rewind().map_err(|source| SpillError::Read { directory: self.space.path().to_owned(), source })?;
        Ok(RunReader::new(self.file, self.longest))
    }

    /// Memory that reading it takes.
    pub(super) fn memory(&self) -> usize {
        self.longest.memory()
    }

    pub(super) fn space(&self) -> &Space {
        &self.space
    }
}

/// The error that a run's space makes of what its reader says.
pub(super) fn unreadable(of: &[Space], Unreadable { run, error }: Unreadable) -> SpillError {
    let directory = of[run].path().to_owned();
    match error {
        RunError::Io(source) => SpillError::Read { directory, source },
        damaged => SpillError::Damaged { directory, what: damaged.to_string() },
    }
}

impl Spaces {
    pub(super) fn new(all: Vec<Space>, meter: Arc<Meter>, watch: Arc<Watch>) -> Self {
        Self { all, next: 0, meter, watch }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Writes what the sources merge to as one run, and gives them back. A space that is full or gone is left for the next
    /// one, and the merge is begun anew.
    pub(super) fn write(
        &mut self,
        mut sources: Vec<Source>,
        of: &[Space],
        descending: bool,
    ) -> Result<(Run, Vec<Source>), SpillError> {
        let mut tries = self.all.len();
        loop {
            let space = self.all[self.next % self.all.len()].clone();
            self.next += 1;
            tries -= 1;
            let mut merge = Merge::new(sources, descending).map_err(|error| unreadable(of, error))?;
            match self.write_to(space, &mut merge, of) {
                Ok(run) => return Ok((run, merge.into_sources())),
                Err(SpillError::Create { .. } | SpillError::Write { .. }) if tries > 0 => {
                    sources = merge.into_sources();
                    sources.iter_mut().try_for_each(Source::rewind).map_err(|error| unreadable(of, error))?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn write_to(&self, space: Space, merge: &mut Merge, of: &[Space]) -> Result<Run, SpillError> {
        let file = match space.create() {
            Ok(file) => file,
            Err(source) => return Err(SpillError::Create { directory: space.path().to_owned(), source }),
        };
        let before = self.meter.written();
        let failed = |source| SpillError::Write {
            directory: space.path().to_owned(),
            spilled: self.meter.written() - before,
            source,
        };
        let mut writer = RunWriter::new(Metered { file, meter: self.meter.clone() });
        while let Some(record) = merge.next().map_err(|error| unreadable(of, error))? {
            let block_written = writer.push(record.key, record.payload, record.shared).map_err(failed)?;
            if block_written && !self.watch.go_on(self.meter.written()) {
                return Err(SpillError::Cancelled);
            }
        }
        let (file, longest) = writer.finish().map_err(failed)?;
        self.meter.runs.fetch_add(1, Ordering::Relaxed);
        Ok(Run { file, space, longest, bytes: self.meter.written() - before, level: 0 })
    }
}
