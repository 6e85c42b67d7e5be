//! Writes a merge as a run to one of the spaces, and reads it back. Sorted inputs are runs, too.

use std::fmt::{self, Debug};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::error::SpillError;
use super::figures::{Meter, Metered};
use super::input::{InputError, InputReader, SortedInput};
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

/// Sorted records outside of memory.
#[derive(Debug)]
pub(super) struct Run {
    stored: Stored,
    /// Length of the run in bytes.
    pub(super) bytes: u64,
    /// Number of merges that its records have been through.
    pub(super) level: u32,
}

#[derive(Debug)]
enum Stored {
    Space { file: Metered, space: Space, longest: Longest },
    Input { number: usize, input: SortedInput, meter: Arc<Meter> },
}

impl Run {
    /// The input with this number, not yet opened.
    pub(super) fn of_input(number: usize, input: SortedInput, meter: Arc<Meter>) -> Self {
        let bytes = input.bytes;
        Self { stored: Stored::Input { number, input, meter }, bytes, level: 0 }
    }

    /// A reader at the beginning of the run. `number` identifies it in the merge.
    pub(super) fn source(self, number: usize, descending: bool) -> Result<Source, SpillError> {
        match self.stored {
            Stored::Space { mut file, space, longest } => {
                file.rewind().map_err(|source| SpillError::Read {
                    directory: space.path().to_owned(),
                    source,
                })?;
                Ok(Source::Run { number, reader: RunReader::new(file, longest) })
            }
            Stored::Input { number, input, meter } => {
                let reader = InputReader::open(input, descending, meter)
                    .map_err(|source| SpillError::Input { number, source })?;
                Ok(Source::Input { number, reader: Box::new(reader) })
            }
        }
    }

    /// Memory of a reader, in bytes.
    pub(super) fn memory(&self) -> usize {
        match &self.stored {
            Stored::Space { longest, .. } => longest.memory(),
            Stored::Input { input, .. } => input.memory,
        }
    }

    /// The space of the run; `None` for an input.
    pub(super) fn space(&self) -> Option<&Space> {
        match &self.stored {
            Stored::Space { space, .. } => Some(space),
            Stored::Input { .. } => None,
        }
    }
}

/// Adds the run's space to the error of its reader.
pub(super) fn unreadable(of: &[Option<Space>], error: Unreadable) -> SpillError {
    let directory =
        |run: usize| of[run].as_ref().map_or_else(PathBuf::new, |space| space.path().to_owned());
    match error {
        Unreadable::Run(run, RunError::Io(source)) => {
            SpillError::Read { directory: directory(run), source }
        }
        Unreadable::Run(run, damaged) => {
            SpillError::Damaged { directory: directory(run), what: damaged.to_string() }
        }
        Unreadable::Input(number, InputError::Io(source)) => SpillError::Input { number, source },
        Unreadable::Input(number, InputError::Disorder(record)) => {
            SpillError::Disorder { number, record }
        }
        Unreadable::Input(_, InputError::TooLong(bytes)) => SpillError::TooLong(bytes),
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
        of: &[Option<Space>],
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

    fn write_to(
        &self,
        space: Space,
        merge: &mut Merge,
        of: &[Option<Space>],
    ) -> Result<Run, SpillError> {
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
        let bytes = self.meter.written() - before;
        Ok(Run { stored: Stored::Space { file, space, longest }, bytes, level: 0 })
    }
}
