//! The sorter, from readers to a writer.

use std::fmt::{self, Debug};
use std::io::{self, Read, Write};
use std::panic::resume_unwind;
use std::sync::mpsc;
use std::thread;

use prefixsort::{ExternalOptions, ExternalSorter, Figures, NextRecord, SortedInput, SpillError};
use thiserror::Error;

use crate::order::{KeyEncoder, Order, Ties};
use crate::records::{BLOCK, RecordError, Records, Unit, Watched};

/// Why sorting failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SortError {
    /// An input could not be read.
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
    /// The output could not be written.
    #[error("the output cannot be written: {0}")]
    Write(#[source] io::Error),
    /// Records could not be spilled.
    #[error(transparent)]
    Spill(SpillError),
    /// The size of an input is not a multiple of the record size.
    #[error("ends after {left} of the {size} bytes of a record; check the record size {size}")]
    Rest {
        /// Bytes after the last whole record.
        left: usize,
        /// Size of a record in bytes.
        size: usize,
    },
    /// A sorted input of [`Sorter::merging`] could not be read.
    #[error("input {}: {error}", number + 1)]
    Input {
        /// Its position in the inputs, from 0.
        number: usize,
        /// The reason.
        #[source]
        error: Box<SortError>,
    },
    /// An input of [`Sorter::merging`] is not sorted.
    #[error("record {record} of input {} is out of order", number + 1)]
    Disorder {
        /// Its position in the inputs, from 0.
        number: usize,
        /// Number of the record, from 1, that comes before the previous one.
        record: u64,
    },
}

impl From<RecordError> for SortError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Io(error) => Self::Read(error),
            RecordError::Rest { left, size } => Self::Rest { left, size },
        }
    }
}

impl From<SpillError> for SortError {
    fn from(error: SpillError) -> Self {
        match error {
            SpillError::Input { number, source } => {
                // Errors of `Input::sorted` passed through the sorter.
                let error = source.downcast().unwrap_or_else(Self::Read);
                Self::Input { number, error: Box::new(error) }
            }
            SpillError::Disorder { number, record } => Self::Disorder { number, record },
            other => Self::Spill(other),
        }
    }
}

/// An input that is already sorted, for [`Sorter::merging`].
pub struct Input {
    /// Opens the input at its beginning. Called when its turn comes to be merged; again only if a
    /// directory for temporary files is full and the merge is restarted in another.
    pub open: Box<dyn FnMut() -> io::Result<Box<dyn Read + Send>> + Send>,
    /// Size in bytes, 0 if unknown.
    pub size: u64,
}

impl Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("size", &self.size).finish_non_exhaustive()
    }
}

impl Input {
    /// The input's records as the sorter sees them.
    fn sorted(mut self, encoder: KeyEncoder, unit: Unit) -> SortedInput {
        let open = move || {
            let mut records = Records::new((self.open)()?, unit, MERGE_BLOCK);
            let (encoder, mut buffer) = (encoder.clone(), Vec::new());
            let next: NextRecord = Box::new(move |to_key, to_payload| {
                let record =
                    records.next().map_err(|error| io::Error::other(SortError::from(error)))?;
                let Some(record) = record else { return Ok(false) };
                encoder.with(record, &mut buffer, |key, payload| {
                    to_key.extend_from_slice(key);
                    to_payload.extend_from_slice(payload);
                });
                Ok(true)
            });
            Ok(next)
        };
        SortedInput { open: Box::new(open), memory: MERGE_BLOCK, bytes: self.size }
    }
}

/// The result of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Number of records written, without those left out as equal.
    pub written: u64,
    /// Bytes spilled, and times of the phases.
    pub figures: Figures,
}

/// Sorts the records of all readers passed to [`Sorter::take`].
#[derive(Debug)]
pub struct Sorter {
    encoder: KeyEncoder,
    unit: Unit,
    ties: Ties,
    external: ExternalSorter,
    buffer: Vec<u8>,
    /// All work is done in the caller's thread.
    single_threaded: bool,
}

/// Bytes per read of an input that is merged with others: as large as the blocks of the runs that
/// it may have to be merged with.
const MERGE_BLOCK: usize = 256 << 10;

/// Number of blocks being written or queued while the next one is filled.
const BLOCKS: usize = 2;

impl Sorter {
    /// A sorter without records. `order` overrides the direction in `options`.
    ///
    /// # Errors
    ///
    /// [`SortError::Spill`] if a thread cannot be started.
    pub fn new(order: &Order, options: ExternalOptions) -> Result<Self, SortError> {
        Self::merging(order, options, Vec::new())
    }

    /// A sorter that merges inputs, each of which is already sorted in this order. Records that
    /// compare equal keep the order of the inputs.
    ///
    /// # Errors
    ///
    /// [`SortError::Spill`] if a thread cannot be started. Inputs are read by
    /// [`finish`](Self::finish), which reports [`SortError::Input`] or [`SortError::Disorder`].
    ///
    /// ```
    /// use sortfile::{Input, Order, Sorter};
    ///
    /// let input = |text: &'static str| Input {
    ///     open: Box::new(move || Ok(Box::new(text.as_bytes()))),
    ///     size: text.len() as u64,
    /// };
    /// let inputs = vec![input("a\nc\n"), input("b\n")];
    /// let mut out = Vec::new();
    /// Sorter::merging(&Order::default(), prefixsort::ExternalOptions::default(), inputs)?
    ///     .finish(&mut out, |_| {})?;
    /// assert_eq!(out, b"a\nb\nc\n");
    /// # Ok::<(), sortfile::SortError>(())
    /// ```
    pub fn merging(
        order: &Order,
        options: ExternalOptions,
        inputs: Vec<Input>,
    ) -> Result<Self, SortError> {
        let encoder = KeyEncoder::of(order);
        let single_threaded = options.threads == 0;
        let sorted = |input: Input| input.sorted(encoder.clone(), order.unit);
        let external = ExternalSorter::merging(
            ExternalOptions { descending: encoder.descending, ..options },
            inputs.into_iter().map(sorted).collect(),
        )?;
        Ok(Self {
            encoder,
            unit: order.unit,
            ties: order.ties,
            external,
            buffer: Vec::new(),
            single_threaded,
        })
    }

    /// Calls `spilled` with the number of bytes written so far, while runs are written and merged.
    #[must_use]
    pub fn watched(self, spilled: impl Fn(u64) + Send + 'static) -> Self {
        let go_on = move |bytes| {
            spilled(bytes);
            true
        };
        Self { external: self.external.with_progress(go_on), ..self }
    }

    /// Adds all records of a reader. `progress` is called with the size of each block read.
    ///
    /// # Errors
    ///
    /// [`SortError`] if the reader fails or ends within a record, or if spilling fails.
    pub fn take(&mut self, from: impl Read, progress: impl FnMut(u64)) -> Result<(), SortError> {
        let Self { encoder, unit, external, buffer, .. } = self;
        let mut records = Records::new(Watched { from, progress }, *unit, BLOCK);
        while let Some(record) = records.next()? {
            encoder.with(record, buffer, |key, payload| external.push(key, payload))?;
        }
        Ok(())
    }

    /// Writes all records in order. `progress` is called with the size of each block that was
    /// written or, with threads, queued for writing.
    ///
    /// # Errors
    ///
    /// [`SortError`] if spilled records cannot be read back, an input cannot be merged, or the
    /// output cannot be written.
    pub fn finish(
        self,
        mut to: impl Write + Send,
        mut progress: impl FnMut(u64),
    ) -> Result<Done, SortError> {
        if self.single_threaded {
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
                    // After the last block, the receiver is gone.
                    let _ = written.send(emptied(block));
                }
                to.flush()
            };
            let writer = thread::Builder::new().name("output".into()).spawn_scoped(scope, write);
            let writer = writer.map_err(SpillError::Thread)?;
            let done = self.blocks(|block| {
                progress(block.len() as u64);
                // If either fails, the writer has ended with an error, which is returned below.
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

    /// Passes all records in order to `full`, in blocks; `full` returns an empty block for each.
    fn blocks(
        self,
        mut full: impl FnMut(Vec<u8>) -> Result<Vec<u8>, SortError>,
    ) -> Result<Done, SortError> {
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
            out.extend_from_slice(self.encoder.record(record.key, record.payload));
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

/// Empties a block, and frees the extra memory of a long record.
fn emptied(mut block: Vec<u8>) -> Vec<u8> {
    block.clear();
    block.shrink_to(2 * BLOCK);
    block
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Full after this many bytes.
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
        let mut sorter =
            Sorter::new(&order, ExternalOptions { threads, ..ExternalOptions::default() })?;
        sorter.take(&b"a line\n".repeat(8 * BLOCK / 7)[..], |_| {})?;
        sorter.finish(to, |_| {})
    }

    #[test]
    fn output_errors_are_reported_with_and_without_threads() {
        for threads in [0, 2] {
            assert_eq!(sorted(threads, io::sink()).unwrap().written, (8 * BLOCK / 7) as u64);
            // At once, in the middle, and in the last block.
            for buffer in [0, 4 * BLOCK, 8 * BLOCK - BLOCK / 2] {
                let error = sorted(threads, Full(buffer)).unwrap_err();
                assert_eq!(
                    error.to_string(),
                    "the output cannot be written: no storage space",
                    "{threads} {buffer}"
                );
            }
            let panic = catch_unwind(AssertUnwindSafe(|| sorted(threads, Broken))).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"broken"), "{threads}");
        }
    }
}
