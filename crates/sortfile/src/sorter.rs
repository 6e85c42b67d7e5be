//! From readers to a writer.

use std::io::{self, Read, Write};
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;

use prefixsort::{ExternalOptions, ExternalSorter, Figures, SpillError};
use thiserror::Error;

use crate::order::{Bytes, Order, Ties};
use crate::records::{Ended, Unit, for_each};

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
    /// One thread does everything.
    alone: bool,
}

/// Output bytes that are written at a time.
const BLOCK: usize = 1 << 20;

/// Blocks that are being written, or wait for it, while the next one is put together.
const BLOCKS: usize = 2;

impl Sorter {
    /// Ready to take records. Of `options`, the direction is the order's.
    ///
    /// # Errors
    ///
    /// [`SortError::Spill`] if the system gives no threads.
    pub fn new(order: &Order, options: ExternalOptions) -> Result<Self, SortError> {
        let bytes = Bytes::of(order);
        let alone = options.threads == 0;
        let external = ExternalSorter::new(ExternalOptions { descending: bytes.descending, ..options })?;
        Ok(Self { bytes, unit: order.unit, ties: order.ties, external, room: Vec::new(), alone })
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

    /// Writes all records in order. `progress` is told the number of bytes of each block that was written, or, with threads, handed to the one that writes.
    ///
    /// # Errors
    ///
    /// [`SortError`] if they cannot be had back or written.
    pub fn finish(self, mut to: impl Write + Send, mut progress: impl FnMut(u64)) -> Result<Done, SortError> {
        if self.alone {
            let done = self.blocks(|block| {
                to.write_all(&block).map_err(SortError::Write)?;
                progress(block.len() as u64);
                Ok(emptied(block))
            })?;
            return to.flush().map(|()| done).map_err(SortError::Write);
        }
        thread::scope(|scope| {
            let (full, to_write) = mpsc::sync_channel::<Vec<u8>>(BLOCKS);
            let (written, empty) = mpsc::channel();
            for _ in 0..BLOCKS {
                let _ = written.send(Vec::with_capacity(2 * BLOCK));
            }
            let write = move || {
                for block in to_write {
                    to.write_all(&block)?;
                    // After the last block nobody asks for another.
                    let _ = written.send(emptied(block));
                }
                to.flush()
            };
            let writer = thread::Builder::new().name("output".into()).spawn_scoped(scope, write);
            let writer = writer.map_err(SpillError::Thread)?;
            let done = self.blocks(|block| {
                progress(block.len() as u64);
                // Where either fails, the writer has ended, and says why below.
                let ended = || SortError::Write(io::ErrorKind::BrokenPipe.into());
                full.send(block).map_err(|_| ended())?;
                empty.recv().map_err(|_| ended())
            });
            drop(full);
            match writer.join() {
                Ok(Ok(())) => done,
                Ok(Err(error)) => Err(SortError::Write(error)),
                Err(panic) => resume_unwind(panic),
            }
        })
    }

    /// Gives all records in order to `full`, in blocks, each in exchange for an empty one.
    fn blocks(self, mut full: impl FnMut(Vec<u8>) -> Result<Vec<u8>, SortError>) -> Result<Done, SortError> {
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
                out = full(out)?;
            }
        }
        full(out)?;
        Ok(Done { written, figures: sorted.figures() })
    }
}

/// Ready for the next records; the memory of a long one is given back.
fn emptied(mut block: Vec<u8>) -> Vec<u8> {
    block.clear();
    block.shrink_to(2 * BLOCK);
    block
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Full after so many bytes.
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Broken;

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            resume_unwind(Box::new("broken"))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn sorted(threads: usize, to: impl Write + Send) -> Result<Done, SortError> {
        let order = Order {
            unit: Unit::Lines { end: b'\n' },
            keys: Vec::new(),
            separator: None,
            skip_blanks: false,
            reverse: false,
            ties: Ties::WholeRecord,
        };
        let mut sorter = Sorter::new(&order, ExternalOptions { threads, ..ExternalOptions::default() })?;
        sorter.take(&b"a line\n".repeat(8 * BLOCK / 7)[..], |_| {})?;
        sorter.finish(to, |_| {})
    }

    #[test]
    fn what_is_wrong_with_the_output_is_said_whoever_writes_it() {
        for threads in [0, 2] {
            assert_eq!(sorted(threads, io::sink()).unwrap().written, (8 * BLOCK / 7) as u64);
            // At once, in the middle, and with the last block.
            for room in [0, 4 * BLOCK, 8 * BLOCK - BLOCK / 2] {
                let error = sorted(threads, Full(room)).unwrap_err();
                assert_eq!(error.to_string(), "the output cannot be written: no storage space", "{threads} {room}");
            }
            let panic = catch_unwind(AssertUnwindSafe(|| sorted(threads, Broken))).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"broken"), "{threads}");
        }
    }
}
