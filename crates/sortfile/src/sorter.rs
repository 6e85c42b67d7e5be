//! From readers to a writer.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;

use prefixsort::{ExternalOptions, ExternalSorter, Figures, SpillError};
use thiserror::Error;

use crate::order::{Bytes, Order, Ties, Unit};
use crate::records::{Ended, for_each};

/// Why nothing, or not all, was sorted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SortError {
    /// An input could not be read.
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
    /// The output could not be written.
    #[error("the output cannot be written: {0}")]
    Write(#[source] io::Error),
    /// Records could not be kept outside of memory.
    #[error(transparent)]
    Spill(#[from] SpillError),
    /// An input ends within a record.
    #[error("ends after {left} of the {size} bytes of a record; is {size} the right size?")]
    Rest {
        /// How many bytes follow the last whole record.
        left: usize,
        /// How many a record has.
        size: usize,
    },
}

impl From<Ended<SortError>> for SortError {
    fn from(ended: Ended<SortError>) -> Self {
        match ended {
            Ended::Io(error) => Self::Read(error),
            Ended::Rest { left, size } => Self::Rest { left, size },
            Ended::By(error) => error,
        }
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Records written: fewer than were taken if equal ones were left out.
    pub written: u64,
    /// What it took.
    pub figures: Figures,
}

/// Sorts what readers give.
#[derive(Debug)]
pub struct Sorter {
    bytes: Bytes,
    unit: Unit,
    ties: Ties,
    external: ExternalSorter,
    room: Vec<u8>,
}

/// Output bytes that are written at a time.
const BLOCK: usize = 1 << 20;

impl Sorter {
    /// Ready to take records. Of `options`, the direction is the order's.
    ///
    /// # Errors
    ///
    /// [`SortError::Spill`] if the system gives no threads.
    pub fn new(order: &Order, options: ExternalOptions) -> Result<Self, SortError> {
        let bytes = Bytes::of(order);
        let external = ExternalSorter::new(ExternalOptions { descending: bytes.descending, ..options })?;
        Ok(Self { bytes, unit: order.unit, ties: order.ties, external, room: Vec::new() })
    }

    /// Tells `spilled`, while runs are written and merged, how many bytes of them were written so far.
    #[must_use]
    pub fn watched(self, spilled: impl Fn(u64) + Send + 'static) -> Self {
        let go_on = move |bytes| {
            spilled(bytes);
            true
        };
        Self { external: self.external.with_progress(go_on), ..self }
    }

    /// Takes all records of a reader. `progress` is told the number of bytes of each block that was read.
    ///
    /// # Errors
    ///
    /// [`SortError`] if it cannot be read, ends within a record, or what it holds cannot be kept.
    pub fn take(&mut self, from: impl Read, progress: impl FnMut(u64)) -> Result<(), SortError> {
        let Self { bytes, unit, external, room, .. } = self;
        let each = |record: &[u8]| match bytes.with(record, room, |key, payload| external.push(key, payload)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(SortError::Spill(error)),
        };
        Ok(for_each(from, *unit, progress, each)?)
    }

    /// Writes all records in order. `progress` is told the number of bytes of each block that was written.
    ///
    /// # Errors
    ///
    /// [`SortError`] if they cannot be had back or written.
    pub fn finish(self, mut to: impl Write, mut progress: impl FnMut(u64)) -> Result<Done, SortError> {
        let mut sorted = self.external.finish()?;
        let mut out = Vec::with_capacity(2 * BLOCK);
        let mut written = 0;
        let first_only = self.ties == Ties::FirstOnly;
        let mut last_key = None;
        while let Some(record) = sorted.next()? {
            let length = record.key.len();
            if first_only && last_key == Some(length) && record.shared == length {
                continue;
            }
            last_key = Some(length);
            out.extend_from_slice(self.bytes.record(record.key, record.payload));
            if let Unit::Lines { end } = self.unit {
                out.push(end);
            }
            written += 1;
            if out.len() >= BLOCK {
                to.write_all(&out).map_err(SortError::Write)?;
                progress(out.len() as u64);
                out.clear();
            }
        }
        to.write_all(&out).and_then(|()| to.flush()).map_err(SortError::Write)?;
        progress(out.len() as u64);
        Ok(Done { written, figures: sorted.figures() })
    }
}
