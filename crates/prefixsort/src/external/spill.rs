//! Writes a merge as a run to one of the spaces, and reads it back.

use std::fmt::{self, Debug};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::SpillError;
use super::figures::{Meter, Metered};
use super::merge::{Merge, Source, Unreadable};
use super::run::{Longest, RunError, RunReader, RunWriter};
use super::space::{RunFile as _, Space};

/// Called with the number of bytes written to runs so far; returns whether to continue.
pub(super) type Progress = Box<dyn Fn(u64) -> bool + Send>;

/// The progress of a sort, and a request to stop, checked after each block.
#[derive(Default)]
pub(super) struct Watch {
    stopped: AtomicBool,
    progress: Mutex<Option<Progress>>,
}

impl Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("stopped", &self.stopped).finish_non_exhaustive()
    }
}

impl Watch {
    /// Sets the function to call from now on.
    pub(super) fn ask(&self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }

    /// Cancels the run that is being written.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    fn go_on(&self, written: u64) -> bool {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        !self.stopped.load(Ordering::Relaxed)
            && progress.as_ref().is_none_or(|progress| progress(written))
    }
}

/// The caller's spaces, used in turn.
#[derive(Debug)]
pub(super) struct Spaces {
    all: Vec<Space>,
    next: usize,
    meter: Arc<Meter>,
    watch: Arc<Watch>,
}

#[derive(Debug)]
pub(super) struct Run {
    file: Metered,
    space: Space,
    longest: Longest,
    /// Length of the run in bytes.
    pub(super) bytes: u64,
    /// Number of merges that its records have been through.
    pub(super) level: u32,
}

impl Run {
    /// A reader at the beginning of the run.
    pub(super) fn reader(mut self) -> Result<RunReader<Metered>, SpillError> {
        self.file.rewind().map_err(|source| SpillError::Read {
            directory: self.space.path().to_owned(),
            source,
        })?;
        Ok(RunReader::new(self.file, self.longest))
    }

    /// Memory of a reader, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.longest.memory()
    }

    pub(super) fn space(&self) -> &Space {
        &self.space
    }
}

/// Adds the run's space to the error of its reader.
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

    /// Writes the merged sources as one run, and returns the sources. If a space is full or fails,
    /// the merge is restarted in the next one.
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
            let mut merge =
                Merge::new(sources, descending).map_err(|error| unreadable(of, error))?;
            match self.write_to(space, &mut merge, of) {
                Ok(run) => return Ok((run, merge.into_sources())),
                Err(SpillError::Create { .. } | SpillError::Write { .. }) if tries > 0 => {
                    sources = merge.into_sources();
                    sources
                        .iter_mut()
                        .try_for_each(Source::rewind)
                        .map_err(|error| unreadable(of, error))?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn write_to(&self, space: Space, merge: &mut Merge, of: &[Space]) -> Result<Run, SpillError> {
        let file = match space.create() {
            Ok(file) => file,
            Err(source) => {
                return Err(SpillError::Create { directory: space.path().to_owned(), source });
            }
        };
        let before = self.meter.written();
        let failed = |source| SpillError::Write {
            directory: space.path().to_owned(),
            spilled: self.meter.written() - before,
            source,
        };
        let mut writer = RunWriter::new(Metered::new(file, self.meter.clone()));
        while let Some(record) = merge.next().map_err(|error| unreadable(of, error))? {
            let block_written =
                writer.push(record.key, record.payload, record.shared).map_err(failed)?;
            if block_written && !self.watch.go_on(self.meter.written()) {
                return Err(SpillError::Cancelled);
            }
        }
        let (file, longest) = writer.finish().map_err(failed)?;
        self.meter.run_written();
        Ok(Run { file, space, longest, bytes: self.meter.written() - before, level: 0 })
    }
}
