//! A job of a step program: the system calls that some software makes per commit, in the same
//! order.

use rand_xoshiro::Xoshiro256PlusPlus;
use workload::random::generator;
use workload::{
    Bounds, FileCursor, FileSpec, Layout, OpenFlag, Placement, Step as ProgramStep, StepProgram,
    SyncCall,
};

use super::{ALONE, Job, JobIndex, SLOT_BITS, Step, World, idle};
use crate::host::file::File;
use crate::host::{Call, Durable, Write};
use crate::time::Ns;

/// The files of one job, the first at `base`.
pub fn files(program: &StepProgram, base: u64) -> Vec<File> {
    let slot = slot_bytes(program);
    program.files.iter().zip(0..).map(|(file, index)| laid_out(file, base + index * slot)).collect()
}

/// Space for the files of one job: each can be renamed to any other, and can exceed its size by the
/// appends of one turn.
pub fn room_bytes(program: &StepProgram) -> u64 {
    slot_bytes(program) * program.files.len() as u64
}

fn slot_bytes(program: &StepProgram) -> u64 {
    let largest = program.files.iter().map(|file| file.size_bytes).max().unwrap_or_default();
    (largest + program.turn_bytes()).next_multiple_of(1 << 20)
}

fn laid_out(file: &FileSpec, base: u64) -> File {
    match file.layout {
        Layout::Overwrite => File::settled(base, file.size_bytes, file.direct),
        Layout::Append | Layout::Empty => File::empty(base, file.direct),
        Layout::Preallocated | Layout::PreallocatedOnce => {
            File::reserved(base, file.size_bytes, file.direct)
        }
    }
}

/// A job that runs the steps in a loop.
pub struct StepJob {
    program: StepProgram,
    seed: u64,
    job: u32,
    draws: Xoshiro256PlusPlus,
    bounds: Bounds,
    cursors: Vec<Cursor>,
    /// The next step, and its next repetition.
    step: usize,
    repetition: u32,
    turn_begun: Ns,
    call_begun: Ns,
    /// Bytes of the current call, if it is a write.
    call_bytes: u64,
    turns: u64,
    running: bool,
    stopped: bool,
    stamp: u64,
}

/// The position of the next write to a file.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    place: FileCursor,
    /// The file does not exist; the next write creates it.
    missing: bool,
}

impl StepJob {
    pub fn new(program: &StepProgram, seed: u64, job: u32) -> StepJob {
        let seed = program.seed.wrapping_add(seed);
        StepJob {
            seed,
            job,
            draws: generator(seed, job),
            bounds: idle(),
            cursors: vec![Cursor::default(); program.files.len()],
            step: 0,
            repetition: 0,
            turn_begun: 0,
            call_begun: 0,
            call_bytes: 0,
            turns: 0,
            running: false,
            stopped: false,
            stamp: 0,
            program: program.clone(),
        }
    }

    /// The host's index of one of the program's files.
    fn file(&self, index: usize) -> usize {
        self.job as usize * self.program.files.len() + index
    }

    /// Makes the call of the current step.
    fn call(&mut self, now: Ns, world: &mut World) {
        self.call_begun = now;
        let call = match self.program.steps[self.step] {
            ProgramStep::Write { file, placement, bytes, .. } => {
                self.write(file, placement, bytes, world)
            }
            ProgramStep::Sync { file, call } => {
                Call::Sync { file: self.file(file), data_only: call == SyncCall::Fdatasync }
            }
            ProgramStep::Truncate { file, bytes } => {
                self.cursors[file].place.truncate(bytes);
                Call::Truncate { file: self.file(file), length: bytes }
            }
            ProgramStep::Rename { from, to } => {
                world.host.swap_files(self.file(from), self.file(to));
                let place = std::mem::take(&mut self.cursors[from].place);
                self.cursors[to] = Cursor { place, missing: false };
                self.cursors[from].missing = true;
                let base = world.host.file(self.file(from)).base;
                world.host.replace_file(
                    self.file(from),
                    File::empty(base, self.program.files[from].direct),
                );
                Call::Name { file: self.file(to) }
            }
            ProgramStep::Unlink { file } => {
                self.cursors[file] = Cursor { missing: true, ..Cursor::default() };
                let base = world.host.file(self.file(file)).base;
                world.host.replace_file(
                    self.file(file),
                    File::empty(base, self.program.files[file].direct),
                );
                Call::Name { file: self.file(file) }
            }
            ProgramStep::Reopen { .. } => Call::Nothing,
            ProgramStep::SyncDir => Call::SyncDirectory,
        };
        world.host.call(now, self.job, self.job << SLOT_BITS, call);
    }

    fn write(&mut self, index: usize, placement: Placement, bytes: u32, world: &mut World) -> Call {
        let spec = &self.program.files[index];
        let cursor = &mut self.cursors[index];
        if std::mem::take(&mut cursor.missing) {
            world.host.make_again(self.job as usize * self.program.files.len() + index);
        }
        let (offset, bytes) = cursor.place.advance(placement, bytes, spec, &mut self.draws);
        let durable = match spec.open_flag {
            None => Durable::No,
            Some(OpenFlag::ODsync) => Durable::Data { queued: false },
            Some(OpenFlag::OSync) => Durable::All { queued: false },
        };
        self.stamp += 1;
        let bytes = u64::from(bytes);
        self.call_bytes = bytes;
        Call::Write(Write { file: self.file(index), offset, bytes, durable, stamp: self.stamp })
    }

    /// Counts a completed call.
    fn count(&mut self, at: Ns, world: &mut World) {
        let latency = at - self.call_begun;
        match self.program.steps[self.step] {
            ProgramStep::Write { .. } => world.tallies[ALONE].write(latency, self.call_bytes),
            ProgramStep::Sync { .. } | ProgramStep::SyncDir => world.tallies[ALONE].sync(latency),
            _ => {}
        }
    }

    /// Moves on to the next step; returns `true` if the turn is over.
    fn advance(&mut self) -> bool {
        let times = match self.program.steps[self.step] {
            ProgramStep::Write { times, .. } => times,
            _ => 1,
        };
        self.repetition += 1;
        if self.repetition == times {
            self.repetition = 0;
            self.step += 1;
        }
        if self.step == self.program.steps.len() {
            self.step = 0;
            return true;
        }
        false
    }

    /// Resets used-up files between two turns, so no commit pays for it.
    fn renew(&mut self, world: &mut World) {
        for index in 0..self.cursors.len() {
            if self.cursors[index].place.take_used_up() {
                let file = self.file(index);
                let base = world.host.file(file).base;
                let spec = &self.program.files[index];
                let layout =
                    if spec.layout == Layout::Overwrite { Layout::Append } else { spec.layout };
                world.host.replace_file(file, laid_out(&FileSpec { layout, ..spec.clone() }, base));
                self.cursors[index].place = FileCursor::default();
            }
        }
    }
}

impl Job for StepJob {
    fn begin(&mut self, now: Ns, bounds: Bounds, _warm_up: bool, world: &mut World) {
        self.draws = generator(self.seed, self.job);
        self.bounds = bounds;
        self.turns = 0;
        self.turn_begun = now;
        self.running = true;
        self.call(now, world);
    }

    fn resume(&mut self, step: Step, world: &mut World) {
        let (Step::Returned { at, .. } | Step::Due { at }) = step;
        self.count(at, world);
        if self.advance() {
            world.tallies[ALONE].commit(at - self.turn_begun);
            world.tallies[ALONE].counts.turns += 1;
            self.turns += 1;
            if self.stopped || self.bounds.reached(at, self.turns) {
                self.running = false;
                return;
            }
            self.renew(world);
            self.turn_begun = at;
        }
        self.call(at, world);
    }

    fn is_done(&self) -> bool {
        !self.running
    }

    fn index(&self) -> JobIndex {
        JobIndex { number: self.job, team: ALONE, job: self.job }
    }

    fn stop(&mut self) {
        self.stopped = true;
    }
}
