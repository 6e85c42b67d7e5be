//! When to sort, to spill and to merge; the threads.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::buffer::{Buffer, Cursor};
use super::merge::{Merge, Record, Source};
use super::run::BLOCK;
use super::spill::{Run, Space, Spaces, SpillError, SpillSpace, unreadable};
use crate::sort::Scratch;

/// Less memory than this is taken for as much: a few buffers of a few blocks.
const LEAST_MEMORY: usize = 4 << 20;

/// A buffer is no larger: 64 MiB of URLs are sorted within a large processor's caches, and the workers are never idle for
/// long at the end.
const LARGEST_BUFFER: usize = 64 << 20;

/// How to sort more than memory holds.
#[derive(Clone, Debug)]
pub struct ExternalOptions {
    /// Bytes for records and for what sorting them takes; at least 4 MiB are used. What merging runs takes comes out of
    /// the same.
    pub memory: usize,
    /// Where runs go, in turn. Without any, more than the memory holds is an error.
    pub directories: Vec<PathBuf>,
    /// Threads that sort, besides the one that reads and the one that writes a run; with 0, all is done by the caller's.
    pub threads: usize,
    /// The last first. Records with equal keys come in the order of their input in any case.
    pub descending: bool,
    /// How many bytes of keys and payloads are to come, if that is known: then memory is not filled to the limit first
    /// when it cannot hold all of them anyway.
    pub expected: Option<u64>,
}

impl Default for ExternalOptions {
    /// 256 MiB, the system's directory for temporary files, a thread for each processor.
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

/// Sorts records of which memory holds only a part.
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
    /// Spill as soon as half of the memory is full, so that the other half can be filled meanwhile.
    more_than_memory: bool,
    filling: Buffer,
    workers: Workers,
    spaces: Spaces,
    runs: Vec<Run>,
    spilling: Option<Spilling>,
    figures: Figures,
}

/// A run that is being written, and how much memory it will free.
#[derive(Debug)]
struct Spilling {
    thread: JoinHandle<Result<Spilled, SpillError>>,
    size: usize,
}

/// A run that has been written, and what it was written from.
#[derive(Debug)]
struct Spilled {
    spaces: Spaces,
    run: Run,
    sources: Vec<Source>,
}

impl ExternalSorter {
    /// Ready to take records; runs go to files in the directories of the options.
    ///
    /// # Errors
    ///
    /// [`SpillError::Thread`] if the system gives no threads.
    pub fn new(mut options: ExternalOptions) -> Result<Self, SpillError> {
        let directories = std::mem::take(&mut options.directories);
        let space = |directory: PathBuf| Arc::new(directory) as Space;
        Self::spilling_to(&options, directories.into_iter().map(space).collect())
    }

    /// The same with runs in these spaces, in turn, instead of in directories.
    ///
    /// # Errors
    ///
    /// [`SpillError::Thread`] if the system gives no threads.
    pub fn spilling_to(options: &ExternalOptions, spaces: Vec<Arc<dyn SpillSpace>>) -> Result<Self, SpillError> {
        let memory = options.memory.max(LEAST_MEMORY);
        // Each half of the memory holds a buffer for each worker, one being filled, and one to spare.
        let buffer_size = (memory / (2 * (options.threads + 2))).min(LARGEST_BUFFER);
        Ok(Self {
            memory,
            buffer_size,
            descending: options.descending,
            more_than_memory: options.expected.is_some_and(|bytes| bytes > memory as u64),
            filling: Buffer::default(),
            workers: Workers::start(options.threads, options.descending)?,
            spaces: Spaces::new(spaces),
            runs: Vec::new(),
            spilling: None,
            figures: Figures::default(),
        })
    }

    /// Takes a record.
    ///
    /// # Errors
    ///
    /// [`SpillError`] if memory is full and a run cannot be written, or the record is longer than 4 GiB.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<(), SpillError> {
        if self.filling.size() + key.len() + payload.len() > self.buffer_size && !self.filling.is_empty() {
            self.next_buffer()?;
        }
        if !self.filling.push(key, payload) {
            self.next_buffer()?;
            if !self.filling.push(key, payload) {
                return Err(SpillError::TooLong(key.len() + payload.len()));
            }
        }
        self.figures.records += 1;
        self.figures.bytes += (key.len() + payload.len()) as u64;
        Ok(())
    }

    /// Hands the filled buffer to the workers, and finds memory for another.
    fn next_buffer(&mut self) -> Result<(), SpillError> {
        if !self.filling.is_empty() {
            self.workers.sort(std::mem::take(&mut self.filling));
        }
        let next = self.buffer_size;
        let spilling = self.spilling.as_ref().map_or(0, |spilling| spilling.size);
        // With threads, each half is spilled as it is full, and the other is filled meanwhile.
        let share = if self.workers.threads.is_empty() { self.memory } else { self.memory / 2 };
        let full = self.more_than_memory && self.workers.size + next > share;
        if full || self.workers.size + spilling + next > self.memory {
            self.more_than_memory = true;
            self.end_spilling()?;
            self.spill()?;
            if self.spilling.as_ref().is_some_and(|spilling| spilling.size + next > self.memory) {
                self.end_spilling()?;
            }
        }
        self.filling = self.workers.free.pop().unwrap_or_else(|| Buffer::with_room(next));
        Ok(())
    }

    /// Begins to write a run of all sorted buffers; without threads, writes it.
    fn spill(&mut self) -> Result<(), SpillError> {
        if self.spaces.is_empty() {
            return Err(SpillError::NoDirectory { limit: self.memory });
        }
        let size = std::mem::take(&mut self.workers.size);
        let sources = self.workers.take_sorted();
        let mut spaces = self.spaces.clone();
        let descending = self.descending;
        let write = move || {
            let (run, sources) = spaces.write(sources, &[], descending)?;
            Ok(Spilled { spaces, run, sources })
        };
        if self.workers.threads.is_empty() {
            self.keep(write()?);
            return Ok(());
        }
        let thread = thread::Builder::new().name("spill".into()).spawn(write).map_err(SpillError::Thread)?;
        self.spilling = Some(Spilling { thread, size });
        Ok(())
    }

    fn end_spilling(&mut self) -> Result<(), SpillError> {
        let Some(Spilling { thread, .. }) = self.spilling.take() else { return Ok(()) };
        self.keep(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        Ok(())
    }

    /// Takes note of a run, and of the memory that is free again.
    fn keep(&mut self, Spilled { spaces, run, sources }: Spilled) {
        self.spaces = spaces;
        self.figures.runs += 1;
        self.runs.push(run);
        for source in sources {
            if let Source::Memory(cursor) = source {
                let mut buffer = cursor.into_buffer();
                buffer.clear();
                self.workers.free.push(buffer);
            }
        }
    }

    /// What it took so far.
    pub fn figures(&self) -> Figures {
        let figures = Figures { sorting: self.workers.sorting, ..self.figures };
        self.spaces.meter.add_to(figures)
    }

    /// All records have been taken: gives them in order.
    ///
    /// # Errors
    ///
    /// [`SpillError`] if runs cannot be written or read.
    pub fn finish(mut self) -> Result<Sorted, SpillError> {
        if !self.filling.is_empty() {
            self.workers.sort(std::mem::take(&mut self.filling));
        }
        self.end_spilling()?;
        self.workers.free.clear();
        let memory = self.workers.take_sorted();
        self.figures.sorting = self.workers.sorting;
        // Each run that is merged takes a block and its longest key: no more than half of the memory in all.
        let most = (self.memory / 2 / (2 * BLOCK)).clamp(2, 128);
        let mut from = 0;
        while self.runs.len() > most {
            // No more than it takes for the last merge to take all that remain; and none twice while others wait.
            let some = (self.runs.len() - most + 1).min(most);
            if from + some > self.runs.len() {
                from = 0;
            }
            self.merge_some(from..from + some)?;
            from += 1;
        }
        let (mut sources, of) = sources(std::mem::take(&mut self.runs))?;
        sources.extend(memory);
        let merge = Merge::new(sources, self.descending).map_err(|error| unreadable(&of, error))?;
        Ok(Sorted { merge, of, figures: self.figures, meter: self.spaces.meter })
    }

    /// Merges neighbouring runs into one in their place: equal keys stay in the order of their runs.
    fn merge_some(&mut self, which: Range<usize>) -> Result<(), SpillError> {
        let at = which.start;
        let (sources, of) = sources(self.runs.drain(which).collect())?;
        let (run, _) = self.spaces.write(sources, &of, self.descending)?;
        self.figures.runs += 1;
        self.runs.insert(at, run);
        Ok(())
    }
}

/// Readers of runs, and where each of them lies.
fn sources(runs: Vec<Run>) -> Result<(Vec<Source>, Vec<Space>), SpillError> {
    let spaces = runs.iter().map(|run| run.space().clone()).collect();
    let reader = |(number, run): (usize, Run)| Ok(Source::Run { number, reader: run.reader()? });
    Ok((runs.into_iter().enumerate().map(reader).collect::<Result<_, SpillError>>()?, spaces))
}

/// Records in order, as they are taken.
#[derive(Debug)]
pub struct Sorted {
    merge: Merge,
    /// Where each run is.
    of: Vec<Space>,
    figures: Figures,
    meter: Arc<super::spill::Meter>,
}

impl Sorted {
    /// The next record; `None` after the last.
    ///
    /// # Errors
    ///
    /// [`SpillError`] if a run cannot be read back, or is not what was written.
    #[allow(clippy::should_implement_trait, reason = "an iterator cannot lend what it holds")]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, SpillError> {
        self.merge.next().map_err(|error| unreadable(&self.of, error))
    }

    /// What it took so far.
    pub fn figures(&self) -> Figures {
        self.meter.add_to(self.figures)
    }
}

/// Threads that sort buffers.
#[derive(Debug)]
struct Workers {
    jobs: Option<Sender<(usize, Buffer)>>,
    done: Receiver<(usize, Buffer, Duration)>,
    threads: Vec<JoinHandle<()>>,
    descending: bool,
    /// Used without threads.
    scratch: Scratch,
    /// Buffers handed out since the last were taken.
    given: usize,
    sorted: Vec<(usize, Buffer)>,
    free: Vec<Buffer>,
    /// Memory of all that are being sorted, or have been.
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
                    buffer.sort(descending, &mut scratch);
                    if results.send((number, buffer, start.elapsed())).is_err() {
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
        self.size += buffer.size();
        let number = self.given;
        self.given += 1;
        if self.threads.is_empty() {
            let start = Instant::now();
            buffer.sort(self.descending, &mut self.scratch);
            self.sorting += start.elapsed();
            self.sorted.push((number, buffer));
        } else if let Some(jobs) = &self.jobs {
            // Workers end when the channel does; it lives as long as this.
            let _ = jobs.send((number, buffer));
        }
    }

    /// Waits for all that were handed out: sources in the order in which the buffers were filled.
    fn take_sorted(&mut self) -> Vec<Source> {
        while self.sorted.len() < self.given {
            let (number, buffer, took) = self.done.recv().expect("a thread that sorts ends with its sorter");
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
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}
