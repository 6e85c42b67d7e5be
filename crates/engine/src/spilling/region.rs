//! Storage of runs: extents of one file or device, read and written in whole, timed blocks.
//!
//! Runs are not separate files. They share one file, or one part of a device, and allocate extents
//! of it as they grow; a run that has been merged releases its extents. A raw device therefore
//! works as well as a directory, and the file grows no larger than what is stored at the same time.
//! Direct I/O requires whole blocks that are aligned in memory and on the target, so the last block
//! of a run is padded.

use std::fmt::{self, Debug, Formatter};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prefixsort::{RunFile, SpillSpace};
use rustix::io::Errno;
use workload::random::generator;
use workload::{Content, SyncCall};

use super::span::Span;
use crate::buffers::Buffers;
use crate::clock::{Clock, thread_cpu_ns};
use crate::disk::Disk;
use crate::job::{Failure, Stop, Tally};

/// The layout of a region.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The path for messages.
    pub path: PathBuf,
    /// First byte on the disk.
    pub start: u64,
    /// End on the disk, exclusive.
    pub end: u64,
    /// Bytes per read or write.
    pub block_bytes: u64,
    /// Bytes per extent, a multiple of the block size.
    pub extent_bytes: u64,
    /// The call that makes a run durable once it is written.
    pub sync: Option<SyncCall>,
    /// There is a drive to wait for. In memory, a thread that is off the processor during a call is
    /// waiting for a processor.
    pub drive: bool,
}

/// Operations on the region so far.
#[derive(Debug, Clone, Default)]
pub struct Done {
    pub runs: u64,
    pub reads: u64,
    pub writes: u64,
    /// Runs made durable.
    pub syncs: u64,
    /// Time spent in reads.
    pub reading: Span,
    /// Time spent in writes and syncs.
    pub writing: Span,
    pub failure: Option<Failure>,
}

impl Done {
    /// Time spent in reads, writes and syncs.
    pub fn calls(&self) -> Span {
        self.reading + self.writing
    }
}

/// The part of the target in which one sort keeps its runs.
#[derive(Clone)]
pub struct Region(Arc<Shared>);

struct Shared {
    shape: Shape,
    clock: Clock,
    tally: Arc<Tally>,
    stop: Arc<Stop>,
    /// Accessed by one thread at a time, as a sort is single-threaded.
    state: Mutex<State>,
}

struct State {
    disk: Box<dyn Disk + Send>,
    /// Extents that were released.
    free: Vec<u64>,
    /// End of the highest extent ever allocated.
    next: u64,
    done: Done,
}

impl Debug for Region {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Region").field(&self.0.shape).finish()
    }
}

impl State {
    /// Records the first failure, which explains more than the resulting error of the sort.
    fn fail(&mut self, failure: Failure) -> io::Error {
        // Not the error number itself: the caller would retry after some of them.
        let error = io::Error::other(failure.to_string());
        self.done.failure.get_or_insert(failure);
        error
    }
}

impl Region {
    pub fn new(
        shape: Shape,
        disk: Box<dyn Disk + Send>,
        clock: Clock,
        tally: Arc<Tally>,
        stop: Arc<Stop>,
    ) -> Region {
        let state = State { disk, free: Vec::new(), next: shape.start, done: Done::default() };
        Region(Arc::new(Shared { shape, clock, tally, stop, state: Mutex::new(state) }))
    }

    pub fn done(&self) -> Done {
        self.state().done.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Times a call; returns its latency and the span charged to the drive. Fails if a stop has
    /// been requested.
    fn timed<T>(
        &self,
        call: impl FnOnce(&mut State) -> T,
    ) -> io::Result<(T, u64, Span, MutexGuard<'_, State>)> {
        let Shared { shape, clock, stop, .. } = &*self.0;
        if stop.is_requested() {
            return Err(io::Error::other("the measurement was stopped"));
        }
        let mut state = self.state();
        let cpu = thread_cpu_ns();
        let begin = clock.ticks();
        let answer = call(&mut state);
        let ns = clock.ns(clock.ticks().saturating_sub(begin));
        // Read outside of the latency measurement, and so slightly more than the call alone.
        let cpu_ns = thread_cpu_ns().saturating_sub(cpu).min(ns);
        let span = Span { wall_ns: if shape.drive { ns } else { cpu_ns }, cpu_ns };
        Ok((answer, ns, span, state))
    }

    fn write(&self, block: &[u8], offset: u64) -> io::Result<()> {
        let (moved, ns, span, mut state) = self.timed(|state| state.disk.write(block, offset))?;
        state.done.writing += span;
        Failure::check("write", offset, block.len(), moved)
            .map_err(|failure| state.fail(failure))?;
        state.done.writes += 1;
        self.0.tally.write.record(ns);
        Ok(())
    }

    fn read(&self, block: &mut [u8], offset: u64) -> io::Result<()> {
        let asked = block.len();
        let (moved, ns, span, mut state) = self.timed(|state| state.disk.read(block, offset))?;
        state.done.reading += span;
        Failure::check("read", offset, asked, moved).map_err(|failure| state.fail(failure))?;
        state.done.reads += 1;
        self.0.tally.read.record(ns);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let Some(call) = self.0.shape.sync else { return Ok(()) };
        let (synced, ns, span, mut state) = self.timed(|state| state.disk.sync(call, 0))?;
        state.done.writing += span;
        let failed = |errno| Failure::Errno { operation: call.name(), offset: None, errno };
        synced.map_err(|errno| state.fail(failed(errno)))?;
        state.done.syncs += 1;
        self.0.tally.sync.record(ns);
        Ok(())
    }

    fn take_extent(&self) -> io::Result<u64> {
        let mut state = self.state();
        if let Some(extent) = state.free.pop() {
            return Ok(extent);
        }
        let extent = state.next;
        if extent + self.0.shape.extent_bytes > self.0.shape.end {
            let failure =
                Failure::Errno { operation: "write", offset: Some(extent), errno: Errno::NOSPC };
            return Err(state.fail(failure));
        }
        state.next += self.0.shape.extent_bytes;
        Ok(extent)
    }
}

impl SpillSpace for Region {
    fn path(&self) -> &Path {
        &self.0.shape.path
    }

    fn create(&self) -> io::Result<Box<dyn RunFile>> {
        self.state().done.runs += 1;
        let run = Run {
            region: self.clone(),
            extents: Vec::new(),
            bytes: 0,
            blocks: 0,
            at: 0,
            buffer: None,
            holds: None,
        };
        Ok(Box::new(run))
    }
}

#[derive(Debug)]
struct Run {
    region: Region,
    extents: Vec<u64>,
    /// Bytes written to it so far.
    bytes: u64,
    /// Whole blocks of these on the disk.
    blocks: u64,
    /// Position of the next read.
    at: u64,
    /// A buffer of one block; `None` while the run waits to be merged.
    buffer: Option<Buffers>,
    /// The block in the buffer, if it was read.
    holds: Option<u64>,
}

impl Run {
    fn block_bytes(&self) -> u64 {
        self.region.0.shape.block_bytes
    }

    /// Position of a block on the disk.
    fn offset(&self, block: u64) -> u64 {
        let at = block * self.block_bytes();
        let extent_bytes = self.region.0.shape.extent_bytes;
        self.extents[(at / extent_bytes) as usize] + at % extent_bytes
    }

    fn buffer(&mut self) -> io::Result<&mut [u8]> {
        if self.buffer.is_none() {
            let block_bytes = self.block_bytes() as usize;
            self.buffer = Some(Buffers::new(1, block_bytes, Content::Zero, &mut generator(0, 0))?);
        }
        match &mut self.buffer {
            Some(buffer) => Ok(buffer.slot_mut(0)),
            None => Err(io::ErrorKind::OutOfMemory.into()),
        }
    }

    /// Writes the filled block.
    fn write_block(&mut self) -> io::Result<()> {
        if self.blocks * self.block_bytes()
            == self.extents.len() as u64 * self.region.0.shape.extent_bytes
        {
            self.extents.push(self.region.take_extent()?);
        }
        let (region, offset) = (self.region.clone(), self.offset(self.blocks));
        region.write(self.buffer()?, offset)?;
        self.blocks += 1;
        Ok(())
    }
}

impl Write for Run {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let filled = (self.bytes - self.blocks * self.block_bytes()) as usize;
        let room = &mut self.buffer()?[filled..];
        let count = bytes.len().min(room.len());
        room[..count].copy_from_slice(&bytes[..count]);
        let full = count == room.len();
        self.bytes += count as u64;
        if full {
            self.write_block()?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let rest = (self.bytes - self.blocks * self.block_bytes()) as usize;
        if rest > 0 {
            self.buffer()?[rest..].fill(0);
            self.write_block()?;
        }
        self.region.sync()?;
        self.buffer = None;
        Ok(())
    }
}

impl Read for Run {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let (block, skip) = (self.at / self.block_bytes(), (self.at % self.block_bytes()) as usize);
        let left = (self.bytes - self.at).min(self.block_bytes() - skip as u64) as usize;
        let count = bytes.len().min(left);
        if count == 0 {
            return Ok(0);
        }
        if self.holds != Some(block) {
            self.holds = None;
            let (region, offset) = (self.region.clone(), self.offset(block));
            region.read(self.buffer()?, offset)?;
            self.holds = Some(block);
        }
        bytes[..count].copy_from_slice(&self.buffer()?[skip..skip + count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl RunFile for Run {
    fn rewind(&mut self) -> io::Result<()> {
        self.at = 0;
        Ok(())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let extents = std::mem::take(&mut self.extents);
        self.region.state().free.extend(extents);
    }
}
