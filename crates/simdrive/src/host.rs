//! The host: the cost of a system call between an application and the drive.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`block_layer`] | requests, tags, and who waits for which flush |
//! | `flush_queue` | the flush machinery of one hardware queue |
//! | [`journal`] | the filesystem's journal: the additional cost of `fsync` |
//! | [`mod@file`] | page cache and metadata of one file |
//! | this module | system calls, step by step, in virtual time |
//!
//! CPU time is a constant per call; every job has its own processor.

pub mod block_layer;
pub mod file;
mod flush_queue;
pub mod journal;

use catalogue::model::{self, Filesystem};
use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::chance::exponential;
use crate::device::{Op, Stamp};
use crate::events::Agenda;
use crate::slab::Slab;
use crate::time::{Ns, Speed, from_us};
use block_layer::{Bio, BlockLayer};
use file::File;
use journal::{BLOCK_BYTES, Changes, Journal, Tid, Wanted, ticked};

/// Size of ext4's journal on a filesystem of typical size.
pub const JOURNAL_BYTES: u64 = 1 << 30;
/// Copy speed into the page cache, in MB/s.
const COPY_MB_PER_S: f64 = 8000.0;
/// With this many dirty bytes in the page cache, a writer must write back itself
/// (`balance_dirty_pages`; the kernel's limit is a fraction of memory).
const DIRTY_BYTES_MAX: u64 = 1 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    pub file: usize,
    pub offset: u64,
    pub bytes: u64,
    /// The durability guarantee on return.
    pub durable: Durable,
    pub stamp: Stamp,
}

/// A system call of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    Read {
        file: usize,
        offset: u64,
        bytes: u64,
    },
    /// Writes to a file.
    Write(Write),
    /// Makes the completed writes to a file durable.
    Sync {
        file: usize,
        /// `fdatasync` instead of `fsync`.
        data_only: bool,
    },
    SyncDirectory,
    /// Sets a file's length.
    Truncate {
        file: usize,
        /// The new length in bytes.
        length: u64,
    },
    /// Creates, removes or renames a file.
    Name {
        file: usize,
    },
    /// A call that only takes CPU time.
    Nothing,
}

/// The durability guarantee of a single write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    No,
    /// `O_DSYNC`, `RWF_DSYNC`.
    Data {
        /// Through an asynchronous interface.
        queued: bool,
    },
    /// `O_SYNC`.
    All {
        /// Through an asynchronous interface.
        queued: bool,
    },
}

/// A completed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Returned {
    /// The caller's tag.
    pub tag: u32,
    /// Time of completion.
    pub at: Ns,
}

/// A call in progress.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    tag: u32,
    processor: u32,
    call: Call,
    bios: u32,
    next: Next,
}

/// The next step of a call once its bios are done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Return,
    /// The page cache has been written; metadata follows.
    Metadata {
        file: usize,
        data_only: bool,
    },
    /// The page cache has been written, and nothing follows.
    WrittenBack {
        file: usize,
    },
    /// The write is done; a sync follows.
    Sync {
        file: usize,
        data_only: bool,
    },
}

/// Mean time from the end of one journal commit to the start of the next: the journal's thread has
/// to come round. It is exponentially distributed, so a caller that was woken at the end sometimes
/// gets its next change into the transaction that is about to be committed, and then keeps in step
/// with its other callers.
const COMMIT_PAUSE_US: f64 = 0.7;

/// The owner of bios of the journal, and the entry for its next commit.
const JOURNAL: u32 = u32::MAX;

pub struct Host {
    block: BlockLayer,
    filesystem: Filesystem,
    journal: Journal,
    journal_base: u64,
    directory_tid: Tid,
    files: Vec<File>,
    calls: Slab<UnderWay>,
    entering: Agenda<u32>,
    call_ns: Ns,
    sync_ns: Ns,
    wake_ns: Ns,
    tick_ns: Ns,
    copy: Speed,
    finished: Vec<u32>,
    spare: Vec<u32>,
    draws: Xoshiro256PlusPlus,
    now: Ns,
}

impl Host {
    pub fn new(host: &model::Host, block: BlockLayer, files: Vec<File>, journal_base: u64) -> Host {
        Host {
            block,
            filesystem: host.filesystem,
            journal: Journal::new(JOURNAL_BYTES),
            journal_base,
            directory_tid: 0,
            files,
            calls: Slab::new(),
            entering: Agenda::new(),
            call_ns: from_us(host.call_us),
            sync_ns: from_us(host.sync_us),
            wake_ns: from_us(host.wake_us),
            tick_ns: from_us(host.tick_us).max(1),
            copy: Speed::from_mb_per_s(COPY_MB_PER_S),
            finished: Vec::new(),
            spare: Vec::new(),
            draws: Xoshiro256PlusPlus::seed_from_u64(0),
            now: 0,
        }
    }

    pub const fn block_layer(&self) -> &BlockLayer {
        &self.block
    }

    /// Replaces a file between two turns, at no cost.
    pub fn replace_file(&mut self, file: usize, with: File) {
        self.files[file] = with;
    }

    /// The current state of a file.
    pub fn file(&self, file: usize) -> &File {
        &self.files[file]
    }

    /// Creates a file that was unlinked or renamed. The next open creates it; its directory entry
    /// is a change like any other.
    pub fn make_again(&mut self, file: usize) {
        let tid = self.journal.change(Changes::NAME);
        self.directory_tid = tid;
        self.files[file].sync_tid = tid;
        self.files[file].datasync_tid = tid;
    }

    /// Swaps two files after one was renamed over the other.
    pub fn swap_files(&mut self, one: usize, other: usize) {
        self.files.swap(one, other);
    }

    /// Starts a call at `now` on a processor. Its completion has the same tag.
    #[expect(
        clippy::inline_always,
        reason = "building the call on the stack and copying it would cost a tenth of a simulated \
                  write"
    )]
    #[inline(always)]
    pub fn call(&mut self, now: Ns, processor: u32, tag: u32, call: Call) {
        let time = match call {
            Call::Sync { .. } | Call::SyncDirectory => self.sync_ns,
            Call::Write(write) if !self.files[write.file].direct => {
                self.call_ns + self.copy.time(write.bytes)
            }
            _ => self.call_ns,
        };
        let index =
            self.calls.insert(UnderWay { tag, processor, call, bios: 0, next: Next::Return });
        // At least 1 ns: a model in which no step takes time would not terminate.
        self.entering.enter(now + time.max(1), index);
    }

    /// A hint that a write to this offset of a file will follow soon.
    #[inline]
    pub fn anticipate(&self, file: usize, offset: u64) {
        self.block.device().anticipate(self.files[file].base + offset);
    }

    #[inline]
    pub fn next_event(&self) -> Option<Ns> {
        match (self.entering.next_at(), self.block.next_event()) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }

    /// Advances to `now`, which must not be later than the next event. Completed calls are appended
    /// to `returned`.
    #[inline]
    pub fn advance(&mut self, now: Ns, returned: &mut Vec<Returned>) {
        self.now = now;
        self.block.advance(now, &mut self.finished);
        loop {
            while !self.finished.is_empty() {
                // Two lists alternate, because processing one can complete more calls immediately.
                let mut batch =
                    std::mem::replace(&mut self.finished, std::mem::take(&mut self.spare));
                for owner in batch.drain(..) {
                    self.bio_done(owner, returned);
                }
                self.spare = batch;
            }
            match self.entering.take(now) {
                Some((_, JOURNAL)) => {
                    if let Some(wanted) = self.journal.begin() {
                        self.write_journal(wanted);
                    }
                }
                Some((_, index)) => self.enter(index, returned),
                None => break,
            }
        }
    }

    #[inline]
    fn enter(&mut self, index: u32, returned: &mut Vec<Returned>) {
        match self.calls.get(index).call {
            Call::Read { file, offset, bytes } => {
                let file = &mut self.files[file];
                if !file.direct && file.cache_read(offset, bytes) {
                    self.finish(index, returned);
                } else {
                    let base = file.base;
                    self.submit(Bio::of(index, Op::Read, base + offset, bytes));
                }
            }
            Call::Write(write) => self.write(index, write, returned),
            Call::Sync { file, data_only } => self.sync(index, file, data_only),
            Call::SyncDirectory => self.sync_transaction(index, self.directory_tid),
            Call::Truncate { file, length } => {
                let tid = self.journal.change(Changes::SPACE);
                let file = &mut self.files[file];
                file.truncate(length);
                file.sync_tid = tid;
                file.datasync_tid = tid;
                self.finish(index, returned);
            }
            Call::Name { file } => {
                let tid = self.journal.change(Changes::NAME);
                self.directory_tid = tid;
                self.files[file].sync_tid = tid;
                self.finish(index, returned);
            }
            Call::Nothing => self.finish(index, returned),
        }
    }

    #[inline]
    fn write(&mut self, index: u32, write: Write, returned: &mut Vec<Returned>) {
        let Write { file, offset, bytes, durable, stamp } = write;
        let on_filesystem = self.filesystem != Filesystem::None;
        if on_filesystem {
            self.change_metadata(file, offset, bytes);
        }
        let this = &mut self.files[file];
        let number = file;
        let metadata_waits = !self.journal.is_committed(this.datasync_tid);
        let (fua, next) = match durable {
            Durable::No => (false, Next::Return),
            // A raw device: the write goes out with FUA, and a blocking call also flushes
            // (`blkdev_write_iter`).
            Durable::Data { queued } | Durable::All { queued } if !on_filesystem && this.direct => {
                let flush = Next::Sync { file: number, data_only: true };
                (true, if queued { Next::Return } else { flush })
            }
            // A pure overwrite with O_DSYNC needs only FUA if the drive supports it
            // (`iomap_dio_bio_iter`).
            Durable::Data { .. } if this.direct && !metadata_waits && self.block.passes_fua() => {
                (true, Next::Return)
            }
            Durable::Data { .. } => (false, Next::Sync { file: number, data_only: true }),
            Durable::All { .. } => (false, Next::Sync { file: number, data_only: false }),
        };
        if this.direct {
            let base = this.base;
            self.calls.get_mut(index).next = next;
            self.submit(Bio { fua, stamp, ..Bio::of(index, Op::Write, base + offset, bytes) });
            return;
        }
        this.cache_write(offset, bytes);
        let throttled = this.dirty_bytes() >= DIRTY_BYTES_MAX;
        match next {
            Next::Return if !throttled => self.finish(index, returned),
            Next::Return => {
                self.calls.get_mut(index).next = Next::WrittenBack { file: number };
                self.write_back(index, number);
            }
            Next::Sync { file, data_only } | Next::Metadata { file, data_only } => {
                self.sync(index, file, data_only);
            }
            Next::WrittenBack { .. } => {}
        }
    }

    fn change_metadata(&mut self, file: usize, offset: u64, bytes: u64) {
        let now = self.now;
        let this = &mut self.files[file];
        let end = offset + bytes;
        if end > this.allocated || this.convert(offset, bytes) || end > this.length {
            let needs_space = end > this.allocated;
            this.allocated = this.allocated.max(end.next_multiple_of(BLOCK_BYTES));
            this.length = this.length.max(end);
            let tid = self.journal.change(if needs_space { Changes::SPACE } else { Changes::TIME });
            this.sync_tid = tid;
            this.datasync_tid = tid;
            this.time_moved = Some(now);
        } else if ticked(this.time_moved, now, self.tick_ns) {
            this.time_moved = Some(now);
            this.sync_tid = self.journal.change(Changes::TIME);
        }
    }

    fn sync(&mut self, index: u32, file: usize, data_only: bool) {
        if self.files[file].dirty_bytes() > 0 {
            self.calls.get_mut(index).next = Next::Metadata { file, data_only };
            self.write_back(index, file);
        } else if self.files[file].writing_back > 0 {
            // `filemap_fdatawait`.
            self.files[file].waiters.push((index, data_only));
        } else {
            self.sync_metadata(index, file, data_only);
        }
    }

    /// The pages written back by a call are on the drive. Waiting calls continue once all are.
    fn written_back(&mut self, file: usize) {
        let this = &mut self.files[file];
        this.writing_back = this.writing_back.saturating_sub(1);
        if this.writing_back == 0 {
            for (index, data_only) in std::mem::take(&mut this.waiters) {
                self.sync_metadata(index, file, data_only);
            }
        }
    }

    fn write_back(&mut self, index: u32, file: usize) {
        let base = self.files[file].base;
        let ranges = self.files[file].write_back();
        self.files[file].writing_back += 1;
        for (offset, bytes) in ranges {
            self.submit(Bio::of(index, Op::Write, base + offset, bytes));
        }
    }

    fn sync_metadata(&mut self, index: u32, file: usize, data_only: bool) {
        let file = &self.files[file];
        let tid = if data_only { file.datasync_tid } else { file.sync_tid };
        self.sync_transaction(index, tid);
    }

    /// Commits a transaction that is not on disk, whose flush covers the data. Otherwise only a
    /// flush is needed.
    fn sync_transaction(&mut self, index: u32, tid: Tid) {
        self.calls.get_mut(index).next = Next::Return;
        if self.filesystem == Filesystem::None || self.journal.is_committed(tid) {
            self.submit(Bio::of(index, Op::Flush, 0, 0));
        } else if let Some(wanted) = self.journal.wait(tid, index) {
            self.write_journal(wanted);
        }
    }

    fn write_journal(&mut self, wanted: Wanted) {
        let (offset, bytes, seal) = match wanted {
            Wanted::Log { offset, bytes } => (offset, bytes, false),
            Wanted::Seal { offset } => (offset, BLOCK_BYTES, true),
        };
        let offset = self.journal_base + offset;
        let write = Bio::of(JOURNAL, Op::Write, offset, bytes);
        // The journal's thread has a processor to itself if there are enough.
        let bio = Bio { preflush: seal, fua: seal, processor: u32::MAX, ..write };
        self.block.submit(self.now, bio, &mut self.finished);
    }

    #[inline]
    fn submit(&mut self, bio: Bio) {
        let call = self.calls.get_mut(bio.owner);
        call.bios += 1;
        let bio = Bio { processor: call.processor, ..bio };
        self.block.submit(self.now, bio, &mut self.finished);
    }

    #[inline]
    fn bio_done(&mut self, owner: u32, returned: &mut Vec<Returned>) {
        if owner == JOURNAL {
            let mut freed = Vec::new();
            let wanted = self.journal.written(&mut freed);
            self.wake(&freed, returned);
            if let Some(wanted) = wanted {
                self.write_journal(wanted);
            } else {
                let pause = from_us(COMMIT_PAUSE_US * exponential(&mut self.draws));
                self.entering.enter(self.now + pause, JOURNAL);
            }
            return;
        }
        let call = self.calls.get_mut(owner);
        call.bios -= 1;
        if call.bios > 0 {
            return;
        }
        match call.next {
            Next::Return => self.finish(owner, returned),
            Next::Metadata { file, data_only } => {
                self.written_back(file);
                if self.files[file].writing_back > 0 {
                    self.files[file].waiters.push((owner, data_only));
                } else {
                    self.sync_metadata(owner, file, data_only);
                }
            }
            Next::WrittenBack { file } => {
                self.written_back(file);
                self.finish(owner, returned);
            }
            Next::Sync { file, data_only } => self.sync(owner, file, data_only),
        }
    }

    /// Lets calls return that waited for the same event: the first one now, the others one after
    /// the other.
    fn wake(&mut self, waiting: &[u32], returned: &mut Vec<Returned>) {
        for (turn, index) in (0..).zip(waiting.iter().copied()) {
            let delay = turn * self.wake_ns;
            if delay == 0 {
                self.finish(index, returned);
            } else {
                self.calls.get_mut(index).call = Call::Nothing;
                self.entering.enter(self.now + delay, index);
            }
        }
    }

    #[inline]
    fn finish(&mut self, index: u32, returned: &mut Vec<Returned>) {
        let call = self.calls.remove(index);
        returned.push(Returned { tag: call.tag, at: self.now });
    }
}
