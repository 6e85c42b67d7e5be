//! The loop of a step program: the system calls that some software makes per commit, in the same
//! order.

use std::os::fd::OwnedFd;

use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::fs::{AtFlags, FallocateFlags, fallocate, fsync, ftruncate, renameat, unlinkat};
use rustix::io::{Errno, pwrite};
use workload::{Bounds, FileCursor, FileSpec, Layout, Placement, Step, StepProgram};

use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::disk::sync;
use crate::job::{Failure, JobEnd, Stop, Tally};
use crate::open_flags::open_flags;
use crate::part::Part;
use crate::prepare::open_part;
use crate::target::{Opened, Target};
use workload::random::generator;

pub struct Stepping<'a> {
    target: &'a Target,
    program: &'a StepProgram,
    clock: Clock,
    job: u32,
    files: Vec<OpenFile<'a>>,
    buffers: Buffers,
}

/// The state of a program's file.
struct OpenFile<'a> {
    spec: &'a FileSpec,
    part: &'a Part,
    handle: Option<OwnedFd>,
    /// Relative to the part's start.
    cursor: FileCursor,
}

impl<'a> Stepping<'a> {
    /// Opens a job's files. `parts` are the job's parts, in the order of the program's files.
    ///
    /// # Errors
    /// Fails if a file cannot be opened or memory is exhausted.
    pub fn new(
        target: &'a Target,
        program: &'a StepProgram,
        parts: &'a [Part],
        clock: Clock,
        job: u32,
    ) -> Result<Stepping<'a>, Failure> {
        let bytes = program.write_bytes_max().max(1) as usize;
        let slots = ((1 << 20) / bytes).clamp(2, 64);
        let mut draws = generator(program.seed, job);
        let buffers = Buffers::new(slots, bytes, program.content, &mut draws)
            .map_err(|_| Failure::of("allocating memory", Errno::NOMEM))?;
        let files = program.files.iter().zip(parts);
        let files = files
            .map(|(spec, part)| OpenFile {
                spec,
                part,
                handle: None,
                cursor: FileCursor::default(),
            })
            .collect();
        let mut stepping = Stepping { target, program, clock, job, files, buffers };
        for file in 0..stepping.files.len() {
            stepping.handle(file)?;
        }
        Ok(stepping)
    }

    /// Runs turns until the bounds, a stop, or an error.
    pub fn run(&mut self, bounds: Bounds, tally: &Tally, stop: &Stop) -> JobEnd {
        let mut end = JobEnd::new();
        end.failure = self.repeat(bounds, tally, stop, &mut end).err();
        end
    }

    fn repeat(
        &mut self,
        bounds: Bounds,
        tally: &Tally,
        stop: &Stop,
        end: &mut JobEnd,
    ) -> Result<(), Failure> {
        let mut draws = generator(self.program.seed, self.job);
        loop {
            let begin = self.clock.ticks();
            for index in 0..self.program.steps.len() {
                self.step(self.program.steps[index], &mut draws, tally, end)?;
            }
            let now = self.clock.ticks();
            tally.commit.record(self.clock.ns(now.saturating_sub(begin)));
            end.turns += 1;
            if bounds.reached(now, end.turns) || stop.is_requested() {
                return Ok(());
            }
            self.renew()?;
        }
    }

    fn step(
        &mut self,
        step: Step,
        draws: &mut Xoshiro256PlusPlus,
        tally: &Tally,
        end: &mut JobEnd,
    ) -> Result<(), Failure> {
        match step {
            Step::Write { file, placement, bytes, times } => {
                for _ in 0..times {
                    self.write(file, placement, bytes, draws, tally, end)?;
                }
                Ok(())
            }
            Step::Sync { file, call } => {
                self.handle(file)?;
                let begin = self.clock.ticks();
                let synced = self.with_handle(file, |handle| sync(handle, call));
                let now = self.clock.ticks();
                failed(call.name(), synced)?;
                tally.sync.record(self.clock.ns(now.saturating_sub(begin)));
                end.syncs += 1;
                Ok(())
            }
            Step::Truncate { file, bytes } => {
                self.handle(file)?;
                failed("truncate", self.with_handle(file, |handle| ftruncate(handle, bytes)))?;
                self.files[file].cursor.truncate(bytes);
                Ok(())
            }
            Step::Rename { from, to } => self.rename(from, to),
            Step::Unlink { file } => {
                let directory = self.directory()?;
                failed(
                    "unlink",
                    unlinkat(directory, &self.files[file].part.name, AtFlags::empty()),
                )?;
                self.files[file].handle = None;
                self.files[file].cursor = FileCursor::default();
                Ok(())
            }
            Step::Reopen { file } => {
                self.files[file].handle = None;
                self.handle(file)
            }
            Step::SyncDir => {
                let begin = self.clock.ticks();
                let synced = fsync(self.directory()?);
                let now = self.clock.ticks();
                failed("fsync of the directory", synced)?;
                tally.sync.record(self.clock.ns(now.saturating_sub(begin)));
                end.syncs += 1;
                Ok(())
            }
        }
    }

    fn write(
        &mut self,
        file: usize,
        placement: Placement,
        bytes: u32,
        draws: &mut Xoshiro256PlusPlus,
        tally: &Tally,
        end: &mut JobEnd,
    ) -> Result<(), Failure> {
        self.handle(file)?;
        let open = &mut self.files[file];
        let (place, bytes) = open.cursor.advance(placement, bytes, open.spec, draws);
        let offset = open.part.start + place;
        let block = &self.buffers.next_stamped(offset)[..bytes as usize];
        let Some(handle) = &open.handle else { return Err(Failure::Panic) };
        let begin = self.clock.ticks();
        let moved = pwrite(handle, block, offset);
        let now = self.clock.ticks();
        Failure::check("write", offset, bytes as usize, moved)?;
        tally.write.record(self.clock.ns(now.saturating_sub(begin)));
        end.writes += 1;
        end.written_bytes += u64::from(bytes);
        Ok(())
    }

    fn rename(&mut self, from: usize, to: usize) -> Result<(), Failure> {
        self.handle(from)?;
        let directory = self.directory()?;
        let (old, new) = (&self.files[from].part.name, &self.files[to].part.name);
        failed("rename", renameat(directory, old, directory, new))?;
        self.files[to].handle = self.files[from].handle.take();
        self.files[to].cursor = std::mem::take(&mut self.files[from].cursor);
        Ok(())
    }

    /// Opens a file unless it is open; creates it if it was unlinked or renamed.
    fn handle(&mut self, file: usize) -> Result<(), Failure> {
        let open = &mut self.files[file];
        if open.handle.is_none() {
            let flags = open_flags(open.spec.open_flag);
            let opened = open_part(self.target, &open.part.name, open.part.direct, flags);
            let (handle, _) =
                opened.map_err(|errno| Failure::of("opening a file of the step program", errno))?;
            open.handle = Some(handle);
        }
        Ok(())
    }

    fn with_handle<T>(
        &self,
        file: usize,
        call: impl FnOnce(rustix::fd::BorrowedFd<'_>) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        use std::os::fd::AsFd as _;
        self.files[file].handle.as_ref().map_or(Err(Errno::BADF), |handle| call(handle.as_fd()))
    }

    fn directory(&self) -> Result<rustix::fd::BorrowedFd<'a>, Failure> {
        match self.target.opened() {
            Opened::Directory { scratch, .. } => Ok(scratch.directory()),
            _ => Err(Failure::of("a directory operation", Errno::NOTDIR)),
        }
    }

    /// Durably resets used-up files, between two turns.
    fn renew(&mut self) -> Result<(), Failure> {
        for open in &mut self.files {
            if !open.cursor.take_used_up() {
                continue;
            }
            let Some(handle) = &open.handle else { continue };
            let mut renewed = ftruncate(handle, 0);
            if open.spec.layout == Layout::Preallocated {
                renewed = renewed.and_then(|()| {
                    fallocate(handle, FallocateFlags::empty(), 0, open.part.size_bytes)
                });
            }
            failed("emptying the file", renewed.and_then(|()| fsync(handle)))?;
            open.cursor = FileCursor::default();
        }
        Ok(())
    }
}

fn failed<T>(operation: &'static str, answer: Result<T, Errno>) -> Result<T, Failure> {
    answer.map_err(|errno| Failure::Errno { operation, offset: None, errno })
}
