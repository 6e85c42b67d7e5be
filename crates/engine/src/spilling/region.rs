//! Where runs go: pieces of one file or device, read and written in whole blocks that are timed.
//!
//! Runs have no files of their own. They share one, or one part of a device, and take pieces of it as they grow; a run that has
//! been merged gives its pieces back. So a raw device serves as well as a directory, and the file grows no longer than what is
//! kept at once. Whole blocks, aligned in memory and on the target, are what direct I/O wants; the end of a run's last block
//! is padding.

use std::fmt::{self, Debug, Formatter};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prefixsort::{RunFile, SpillSpace};
use rustix::io::Errno;
use workload::access::generator;
use workload::{Content, SyncCall};

use super::span::Span;
use crate::buffers::Buffers;
use crate::clock::{Clock, thread_cpu_ns};
use crate::disk::Disk;
use crate::job::{Failure, Stop, Tally};

/// What a region is cut into.
#[derive(Debug, Clone)]
pub struct Shape {
    /// What messages call it.
    pub path: PathBuf,
    /// Where it begins on the disk.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
    /// Bytes of a read or a write.
    pub block_bytes: u64,
    /// Bytes of the pieces that runs take, a multiple of the former.
    pub extent_bytes: u64,
    /// What makes a run durable when it is written.
    pub sync: Option<SyncCall>,
    /// Whether there is a drive to wait for. In memory, a call in which the thread is on no processor waits for one.
    pub drive: bool,
}

/// What was done on it so far.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// Runs begun.
    pub runs: u64,
    /// Blocks read.
    pub reads: u64,
    /// Blocks written.
    pub writes: u64,
    /// Runs made durable.
    pub syncs: u64,
    /// Time within reads.
    pub reading: Span,
    /// Time within writes and syncs.
    pub writing: Span,
    /// What went wrong first.
    pub failure: Option<Failure>,
}

impl Done {
    /// Time within any of them.
    pub fn calls(&self) -> Span {
        self.reading + self.writing
    }
}

/// The part of the target on which one sort keeps its runs.
#[derive(Clone)]
pub struct Region(Arc<Shared>);

struct Shared {
    shape: Shape,
    clock: Clock,
    tally: Arc<Tally>,
    stop: Arc<Stop>,
    /// Of one thread at a time: a sort has one.
    state: Mutex<State>,
}

struct State {
    disk: Box<dyn Disk + Send>,
    /// Extents that were given back.
    free: Vec<u64>,
    /// Behind the last extent that was ever taken.
    next: u64,
    done: Done,
}

impl Debug for Region {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Region").field(&self.0.shape).finish()
    }
}

impl State {
    /// Keeps what went wrong, which says more than the sort will make of it.
    fn fail(&mut self, failure: Failure) -> io::Error {
        // Not the system's own number: a caller would take some of them for an invitation to try again.
        let error = io::Error::other(failure.to_string());
        self.done.failure.get_or_insert(failure);
        error
    }
}

impl Region {
    /// Empty.
    pub fn new(shape: Shape, disk: Box<dyn Disk + Send>, clock: Clock, tally: Arc<Tally>, stop: Arc<Stop>) -> Region {
        let state = State { disk, free: Vec::new(), next: shape.start, done: Done::default() };
        Region(Arc::new(Shared { shape, clock, tally, stop, state: Mutex::new(state) }))
    }

    /// What was done so far.
    pub fn done(&self) -> Done {
        self.state().done.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call, its latency, and what of it counts as time of the drive's. None is begun after a stop.
    fn timed<T>(&self, call: impl FnOnce(&mut State) -> T) -> io::Result<(T, u64, Span, MutexGuard<'_, State>)> {
        let Shared { shape, clock, stop, .. } = &*self.0;
        if stop.is_requested() {
            return Err(io::Error::other("the measurement was stopped"));
        }
        let mut state = self.state();
        let cpu = thread_cpu_ns();
        let begin = clock.ticks();
        let answer = call(&mut state);
        let ns = clock.ns(clock.ticks().saturating_sub(begin));
        // Read around the latency and not within it, and so a little more than of the call alone.
        let cpu_ns = thread_cpu_ns().saturating_sub(cpu).min(ns);
        let span = Span { wall_ns: if shape.drive { ns } else { cpu_ns }, cpu_ns };
        Ok((answer, ns, span, state))
    }

    fn write(&self, block: &[u8], offset: u64) -> io::Result<()> {
        let (moved, ns, span, mut state) = self.timed(|state| state.disk.write(block, offset))?;
        state.done.writing += span;
        Failure::check("write", offset, block.len(), moved).map_err(|failure| state.fail(failure))?;
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
        let (synced, ns, span, mut state) = self.timed(|state| state.disk.sync(call))?;
        state.done.writing += span;
        let failed = |errno| Failure::Errno { operation: call.name(), offset: None, errno };
        synced.map_err(|errno| state.fail(failed(errno)))?;
        state.done.syncs += 1;
        self.0.tally.sync.record(ns);
        Ok(())
    }

    /// Room for more of a run.
    fn take_extent(&self) -> io::Result<u64> {
        let mut state = self.state();
        if let Some(extent) = state.free.pop() {
            return Ok(extent);
        }
        let extent = state.next;
        if extent + self.0.shape.extent_bytes > self.0.shape.end {
            let failure = Failure::Errno { operation: "write", offset: Some(extent), errno: Errno::NOSPC };
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
        let run =
            Run { region: self.clone(), extents: Vec::new(), bytes: 0, blocks: 0, at: 0, buffer: None, holds: None };
        Ok(Box::new(run))
    }
}

/// One run.
#[derive(Debug)]
struct Run {
    region: Region,
    extents: Vec<u64>,
    /// Bytes given to it so far.
    bytes: u64,
    /// Blocks of them that are on the disk.
    blocks: u64,
    /// Where it is read next.
    at: u64,
    /// One block; none while the run waits to be merged.
    buffer: Option<Buffers>,
    /// Which block has been read into it.
    holds: Option<u64>,
}

impl Run {
    fn block_bytes(&self) -> u64 {
        self.region.0.shape.block_bytes
    }

    /// Where a block is on the disk.
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

    /// Writes the block that has been filled.
    fn write_block(&mut self) -> io::Result<()> {
        if self.blocks * self.block_bytes() == self.extents.len() as u64 * self.region.0.shape.extent_bytes {
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
