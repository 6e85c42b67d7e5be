//! Decides when to sort and to spill; the threads.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::buffer::{Buffer, Cursor, PER_RECORD};
use super::error::SpillError;
use super::figures::{Figures, Meter};
use super::input::SortedInput;
use super::merge::{Merge, Record, Source};
use super::run::{BLOCK, RECORD_MAX};
use super::space::{Space, SpillSpace};
use super::spill::{Spaces, Watch, unreadable};
use super::tiers::Tiers;
use crate::sort::Scratch;

/// Minimum memory: a few buffers of a few blocks. A smaller limit is raised to this.
const MEMORY_MIN: usize = 4 << 20;

/// Maximum size of a buffer: 64 MiB of URLs are sorted within the caches of a large processor, and
/// the workers are never idle for long at the end.
const BUFFER_MAX: usize = 64 << 20;

/// Options of an external sort.
#[derive(Clone, Debug)]
pub struct ExternalOptions {
    /// Memory limit in bytes, for records and for sorting and merging them; at least 4 MiB are
    /// used.
    pub memory: usize,
    /// Directories for runs, used in turn. If there is none, more records than fit into memory are
    /// an error.
    pub directories: Vec<PathBuf>,
    /// Number of threads that sort, besides the caller's and the one that writes a run; with 0, the
    /// caller's thread does everything.
    pub threads: usize,
    /// Sort in descending order. Records with equal keys keep the order of their input in any case.
    pub descending: bool,
    /// Total number of bytes of keys and payloads to expect, if known. If they do not fit into
    /// memory, spilling starts before the limit is reached.
    pub expected: Option<u64>,
}

impl Default for ExternalOptions {
    /// 256 MiB, the system's directory for temporary files, one thread per processor.
    fn default() -> Self {
        Self {
            memory: 256 << 20,
            directories: vec![std::env::temp_dir()],
            threads: thread::available_parallelism().map_or(1, usize::from),
            descending: false,
            expected: None,
        }
    }
}

/// Sorts records by their keys, also if only a part of them fits into memory. Records with equal
/// keys keep the order of their input.
///
/// ```
/// use prefixsort::{ExternalOptions, ExternalSorter};
///
/// let mut sorter = ExternalSorter::new(ExternalOptions::default())?;
/// for (city, country) in [("Turin", "it"), ("Bergen", "no"), ("Porto", "pt")] {
///     sorter.push(city.as_bytes(), country.as_bytes())?;
/// }
/// let mut sorted = sorter.finish()?;
/// let mut countries = String::new();
/// while let Some(record) = sorted.next()? {
///     countries += str::from_utf8(record.payload).unwrap();
/// }
/// assert_eq!(countries, "noptit");
/// # Ok::<(), prefixsort::SpillError>(())
/// ```
#[derive(Debug)]
pub struct ExternalSorter {
    memory: usize,
    buffer_size: usize,
    descending: bool,
    /// Whether to spill as soon as half of the memory is full, so the other half can be filled in
    /// the meantime.
    more_than_memory: bool,
    filling: Buffer,
    workers: Workers,
    runs: Runs,
    meter: Arc<Meter>,
    watch: Arc<Watch>,
    /// Length of the longest record in bytes.
    longest: usize,
    figures: Figures,
}

/// The runs. They are taken out to be used and put back on success. After an error there are none,
/// so a result with missing records is impossible.
#[derive(Debug)]
enum Runs {
    Here(Tiers),
    /// A thread is adding a run.
    Growing(Spilling),
    Failed,
}

/// The runs including the added one, and the buffers that are free again.
type Grown = Result<(Tiers, Vec<Buffer>), SpillError>;

/// A thread that writes a run, and how much memory it will free.
#[derive(Debug)]
struct Spilling {
    thread: Option<JoinHandle<Grown>>,
    size: usize,
    watch: Arc<Watch>,
}

impl Spilling {
    fn wait(mut self) -> Grown {
        let ended = self.thread.take().map(JoinHandle::join);
        ended.map_or(Err(SpillError::Failed), |done| {
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

impl Drop for Spilling {
    /// Cancels the run: no thread and no file outlives its sorter.
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.watch.stop();
            let _ = thread.join();
        }
    }
}

impl ExternalSorter {
    /// Creates a sorter that writes runs to files in the directories of the options.
    ///
    /// # Errors
    ///
    /// [`SpillError::Thread`] if the system cannot start the threads.
    pub fn new(mut options: ExternalOptions) -> Result<Self, SpillError> {
        let directories = std::mem::take(&mut options.directories);
        let space = |directory: PathBuf| Arc::new(directory) as Space;
        Self::spilling_to(&options, directories.into_iter().map(space).collect())
    }

    /// Like [`new`](Self::new), with runs in these spaces, in turn, instead of in directories.
    ///
    /// ```
    /// use std::path::PathBuf;
    /// use std::sync::Arc;
    ///
    /// use prefixsort::{ExternalOptions, ExternalSorter, SpillSpace};
    ///
    /// let space: Arc<dyn SpillSpace> = Arc::new(PathBuf::from("/tmp"));
    /// let mut sorter = ExternalSorter::spilling_to(&ExternalOptions::default(), vec![space])?;
    /// sorter.push(b"key", b"payload")?;
    /// assert_eq!(sorter.finish()?.next()?.unwrap().key, b"key");
    /// # Ok::<(), prefixsort::SpillError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpillError::Thread`] if the system cannot start the threads.
    pub fn spilling_to(
        options: &ExternalOptions,
        spaces: Vec<Arc<dyn SpillSpace>>,
    ) -> Result<Self, SpillError> {
        let memory = options.memory.max(MEMORY_MIN);
        // Each half of the memory contains a buffer for each worker, one being filled, and a spare
        // one.
        let buffer_size = (memory / (2 * (options.threads + 2))).min(BUFFER_MAX);
        let (meter, watch) = (Arc::new(Meter::default()), Arc::new(Watch::default()));
        let spaces = Spaces::new(spaces, meter.clone(), watch.clone());
        Ok(Self {
            memory,
            buffer_size,
            descending: options.descending,
            more_than_memory: options.expected.is_some_and(|bytes| bytes > memory as u64),
            filling: Buffer::default(),
            workers: Workers::start(options.threads, options.descending)?,
            // The other half takes records in the meantime.
            runs: Runs::Here(Tiers::new(spaces, memory / 2, options.descending)),
            meter,
            watch,
            longest: 0,
            figures: Figures::default(),
        })
    }

    /// A sorter that merges inputs, each of which is already sorted in the order of the options.
    /// Only as many as memory and processor caches allow are open at a time; more are first merged
    /// into runs. Of equal keys, those of earlier inputs come first, and pushed ones last.
    ///
    /// ```
    /// use prefixsort::{ExternalOptions, ExternalSorter, NextRecord, SortedInput};
    ///
    /// let input = |words: &'static [&'static str]| SortedInput {
    ///     open: Box::new(move || {
    ///         let mut left = words.iter();
    ///         let next: NextRecord = Box::new(move |key, _| {
    ///             let word = left.next();
    ///             key.extend(word.iter().flat_map(|word| word.bytes()));
    ///             Ok(word.is_some())
    ///         });
    ///         Ok(next)
    ///     }),
    ///     memory: 1 << 10,
    ///     bytes: 0,
    /// };
    /// let inputs = vec![input(&["ant", "cat"]), input(&["bee", "cow"])];
    /// let mut merged = ExternalSorter::merging(ExternalOptions::default(), inputs)?.finish()?;
    /// assert_eq!(merged.next()?.unwrap().key, b"ant");
    /// assert_eq!(merged.next()?.unwrap().key, b"bee");
    /// # Ok::<(), prefixsort::SpillError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpillError::Thread`] if the system cannot start the threads. Inputs are opened and read
    /// later: [`finish`](Self::finish) and [`Sorted::next`] report [`SpillError::Input`] for one
    /// that fails, and [`SpillError::Disorder`] for one that is not sorted.
    pub fn merging(options: ExternalOptions, inputs: Vec<SortedInput>) -> Result<Self, SpillError> {
        let mut sorter = Self::new(options)?;
        let mut runs = sorter.take_runs()?;
        for input in inputs {
            runs.add_input(input, sorter.meter.clone());
        }
        sorter.runs = Runs::Here(runs);
        Ok(sorter)
    }

    /// Calls `progress` while runs are written, after every block of about 256 KiB, with the number
    /// of bytes written to runs so far. If it returns `false`, [`push`](Self::push) or
    /// [`finish`](Self::finish), which may take long to write a run or to wait for one, returns
    /// [`SpillError::Cancelled`]. The function is called by the thread that writes.
    ///
    /// ```
    /// use prefixsort::{ExternalOptions, ExternalSorter, SpillError};
    ///
    /// let options = ExternalOptions { memory: 4 << 20, ..ExternalOptions::default() };
    /// let mut sorter = ExternalSorter::new(options)?.with_progress(|written| written < 1 << 20);
    /// let pushed = (0..1_000_000_u32).try_for_each(|number| sorter.push(&number.to_be_bytes(), b"a payload"));
    /// assert!(matches!(pushed, Err(SpillError::Cancelled)));
    /// # Ok::<(), SpillError>(())
    /// ```
    #[must_use]
    pub fn with_progress(self, progress: impl Fn(u64) -> bool + Send + 'static) -> Self {
        self.watch.ask(Box::new(progress));
        self
    }

    /// Adds a record.
    ///
    /// # Errors
    ///
    /// [`SpillError::TooLong`] if key and payload have more than 4,095 MiB together; the record is
    /// left out, and others can be added. Any other [`SpillError`] if memory is full and a run
    /// cannot be written; records are then missing, and all further calls fail.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<(), SpillError> {
        if matches!(self.runs, Runs::Failed) {
            return Err(SpillError::Failed);
        }
        let bytes = key.len().saturating_add(payload.len());
        if bytes > RECORD_MAX {
            return Err(SpillError::TooLong(bytes));
        }
        if self.filling.size() + bytes > self.buffer_size && !self.filling.is_empty() {
            self.next_buffer(bytes + PER_RECORD)?;
        }
        self.filling.push(key, payload);
        self.longest = self.longest.max(bytes);
        self.figures.records += 1;
        self.figures.bytes += bytes as u64;
        Ok(())
    }

    /// Passes the filled buffer, which must not be empty, to the workers, and finds memory for
    /// another one with a record of `record` bytes.
    fn next_buffer(&mut self, record: usize) -> Result<(), SpillError> {
        let room = self.filling.room(self.buffer_size);
        self.workers.sort(std::mem::take(&mut self.filling));
        let next = self.buffer_size.max(record);
        // The block that is being written also needs memory.
        let memory = self.memory - (BLOCK + self.longest).min(self.memory / 2);
        // With threads, each half is spilled when it is full, while the other is filled.
        let share = if self.workers.threads.is_empty() { memory } else { memory / 2 };
        let full = self.more_than_memory && self.workers.size + next > share;
        if full || self.workers.size + self.spilling() + next > memory {
            self.more_than_memory = true;
            self.spill()?;
            if self.spilling() + next > memory {
                self.runs = Runs::Here(self.take_runs()?);
            }
        }
        let left = memory.saturating_sub(self.workers.size + self.spilling());
        self.filling =
            self.workers.free_buffer(next, left).unwrap_or_else(|| Buffer::with_room(room));
        Ok(())
    }

    /// Memory that becomes free when the current run has been written.
    fn spilling(&self) -> usize {
        if let Runs::Growing(spilling) = &self.runs { spilling.size } else { 0 }
    }

    /// Starts to write a run of all sorted buffers; without threads, writes it.
    fn spill(&mut self) -> Result<(), SpillError> {
        let mut runs = self.take_runs()?;
        if !runs.has_spaces() {
            return Err(SpillError::NoDirectory { limit: self.memory });
        }
        let size = std::mem::take(&mut self.workers.size);
        let sources = self.workers.take_sorted();
        if self.workers.threads.is_empty() {
            let buffers = runs.spill(sources)?;
            self.reuse(buffers);
            self.runs = Runs::Here(runs);
            return Ok(());
        }
        let write = move || runs.spill(sources).map(|buffers| (runs, buffers));
        let thread =
            thread::Builder::new().name("spill".into()).spawn(write).map_err(SpillError::Thread)?;
        self.runs =
            Runs::Growing(Spilling { thread: Some(thread), size, watch: self.watch.clone() });
        Ok(())
    }

    /// Waits for the last run and takes the runs. The caller puts them back.
    fn take_runs(&mut self) -> Result<Tiers, SpillError> {
        match std::mem::replace(&mut self.runs, Runs::Failed) {
            Runs::Here(runs) => Ok(runs),
            Runs::Growing(spilling) => {
                let (runs, buffers) = spilling.wait()?;
                self.reuse(buffers);
                Ok(runs)
            }
            Runs::Failed => Err(SpillError::Failed),
        }
    }

    fn reuse(&mut self, mut buffers: Vec<Buffer>) {
        buffers.iter_mut().for_each(|buffer| buffer.clear(self.buffer_size));
        self.workers.free.append(&mut buffers);
    }

    /// Counts and times so far.
    pub fn figures(&self) -> Figures {
        let figures = Figures { sorting: self.workers.sorting, ..self.figures };
        self.meter.add_to(figures)
    }

    /// Ends the input and returns the records in order.
    ///
    /// # Errors
    ///
    /// [`SpillError`] if runs cannot be written or read, or if the sorter has failed before.
    pub fn finish(mut self) -> Result<Sorted, SpillError> {
        if !self.filling.is_empty() {
            self.workers.sort(std::mem::take(&mut self.filling));
        }
        let mut runs = self.take_runs()?;
        self.workers.free.clear();
        let mut memory = self.workers.take_sorted();
        self.figures.sorting = self.workers.sorting;
        // Half of the memory is for reading the runs.
        let too_much = !runs.is_empty() && self.workers.size > self.memory / 2;
        if !runs.has_spaces() && (too_much || !runs.all_fit()) {
            return Err(SpillError::NoDirectory { limit: self.memory });
        }
        if too_much {
            runs.spill(std::mem::take(&mut memory))?;
        }
        let (mut sources, of) = runs.into_sources()?;
        sources.extend(memory);
        let merge = Merge::new(sources, self.descending).map_err(|error| unreadable(&of, error))?;
        Ok(Sorted { merge, of, figures: self.figures, meter: self.meter })
    }
}

/// The sorted records. The runs are merged as the records are taken.
#[derive(Debug)]
pub struct Sorted {
    merge: Merge,
    /// The space of each run; inputs have none.
    of: Vec<Option<Space>>,
    figures: Figures,
    meter: Arc<Meter>,
}

impl Sorted {
    /// Returns the next record, or `None` after the last.
    ///
    /// # Errors
    ///
    /// [`SpillError`] if a run cannot be read back or is damaged, or an input cannot be read or is
    /// not sorted.
    #[allow(
        clippy::should_implement_trait,
        reason = "an iterator cannot return references to its own buffers"
    )]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, SpillError> {
        self.merge.next().map_err(|error| unreadable(&self.of, error))
    }

    /// Counts and times so far.
    pub fn figures(&self) -> Figures {
        self.meter.add_to(self.figures)
    }
}

/// Threads that sort buffers.
#[derive(Debug)]
struct Workers {
    jobs: Option<Sender<(usize, Buffer)>>,
    done: Receiver<thread::Result<(usize, Buffer, Duration)>>,
    threads: Vec<JoinHandle<()>>,
    descending: bool,
    /// Used if there are no threads.
    scratch: Scratch,
    /// Buffers handed out since the last were collected.
    given: usize,
    sorted: Vec<(usize, Buffer)>,
    free: Vec<Buffer>,
    /// Memory of all buffers that are sorted or being sorted.
    size: usize,
    sorting: Duration,
}

impl Workers {
    fn start(threads: usize, descending: bool) -> Result<Self, SpillError> {
        let (jobs, todo) = mpsc::channel::<(usize, Buffer)>();
        let (results, done) = mpsc::channel();
        let todo = Arc::new(Mutex::new(todo));
        let worker = |_| {
            let (todo, results) = (todo.clone(), results.clone());
            let work = move || {
                let mut scratch = Scratch::default();
                loop {
                    let job = todo.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok((number, mut buffer)) = job else { return };
                    let start = Instant::now();
                    // A panic is propagated to the thread that waits for the buffer. Otherwise
                    // other threads would keep the channel open, and the wait would never end.
                    let sorted = catch_unwind(AssertUnwindSafe(|| {
                        buffer.sort(descending, &mut scratch);
                        (number, buffer, start.elapsed())
                    }));
                    if results.send(sorted).is_err() {
                        return;
                    }
                }
            };
            thread::Builder::new().name("sort".into()).spawn(work).map_err(SpillError::Thread)
        };
        Ok(Self {
            threads: (0..threads).map(worker).collect::<Result<_, _>>()?,
            jobs: Some(jobs),
            done,
            descending,
            scratch: Scratch::default(),
            given: 0,
            sorted: Vec::new(),
            free: Vec::new(),
            size: 0,
            sorting: Duration::ZERO,
        })
    }

    fn sort(&mut self, mut buffer: Buffer) {
        self.size += buffer.memory();
        let number = self.given;
        self.given += 1;
        if self.threads.is_empty() {
            let start = Instant::now();
            buffer.sort(self.descending, &mut self.scratch);
            self.sorting += start.elapsed();
            self.sorted.push((number, buffer));
        } else if let Some(jobs) = &self.jobs {
            // The workers end when the channel is closed, which happens when `self` is dropped.
            let _ = jobs.send((number, buffer));
        }
    }

    /// A free buffer, if it may grow to `needed` bytes; as many of the others as `left` allows are
    /// kept.
    fn free_buffer(&mut self, needed: usize, left: usize) -> Option<Buffer> {
        let buffer = self.free.pop()?;
        let mut free: usize = self.free.iter().map(Buffer::memory).sum();
        while free + needed.max(buffer.memory()) > left {
            free -= self.free.pop()?.memory();
        }
        Some(buffer)
    }

    /// Waits for all buffers that were handed out; returns them in the order in which they were
    /// filled.
    fn take_sorted(&mut self) -> Vec<Source> {
        while self.sorted.len() < self.given {
            let sorted = self.done.recv().expect("sorting threads live as long as the sorter");
            let (number, buffer, took) = sorted.unwrap_or_else(|panic| resume_unwind(panic));
            self.sorting += took;
            self.sorted.push((number, buffer));
        }
        self.given = 0;
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.sort_unstable_by_key(|(number, _)| *number);
        sorted.into_iter().map(|(_, buffer)| Source::Memory(Cursor::new(buffer))).collect()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A panic has already been reported.
            let _ = thread.join();
        }
    }
}
