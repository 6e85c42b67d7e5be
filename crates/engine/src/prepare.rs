//! Prepares a target for one test: sizes the jobs' parts and puts them into their initial state.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use measurement::TargetKind;
use rustix::fs::{Advice, FallocateFlags, OFlags, fadvise, fallocate, fdatasync, fsync, ftruncate};
use rustix::io::{Errno, ReadWriteFlags, pwrite};
use workload::{Content, JobPart, Layout, Room, SyncCall};

use crate::buffers::Buffers;
use crate::ceph::{CephDisk, CephTarget, Storage};
use crate::disk::{Disk, FileDisk, Renewal};
use crate::error::EngineError;
use crate::export::{ExportDisk, ExportTarget, WriteRequest};
use crate::job::Stop;
use crate::open_files::OpenFiles;
use crate::part::{Part, PartSpec};
use crate::scratch::Scratch;
use crate::target::{Opened, Target};
use workload::random::generator;

/// Test files are written in chunks of this size, which is large enough for the drive's full
/// throughput.
const PIECE_BYTES: usize = 1 << 20;
/// Granularity of the size of test files: the largest alignment that common filesystems require.
const PAGE_BYTES: u64 = 4096;
/// The smallest total size in a directory: below it there is nothing to measure.
const TOTAL_BYTES_MIN: u64 = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub struct Preparation<'a> {
    /// Time limit for writing test files. After it, parts are as large as what has been written.
    pub time_max: Option<Duration>,
    pub seed: u64,
    /// Checked after each chunk.
    pub stop: &'a Stop,
}

#[derive(Debug)]
pub struct Prepared {
    /// In the order of the specifications.
    pub parts: Vec<Part>,
    /// Deviations from what was requested, one sentence each.
    pub notes: Vec<String>,
}

/// Prepares every part.
///
/// # Errors
/// Fails without space or permission, or if writing fails.
pub fn prepare(
    target: &Target,
    specs: &[PartSpec],
    preparation: Preparation<'_>,
) -> Result<Prepared, EngineError> {
    let mut notes = Vec::new();
    let sizes = sizes(target, specs, &mut notes)?;
    let begun = Instant::now();
    let mut parts = Vec::new();
    let mut start = 0u64;
    for (spec, size_bytes) in specs.iter().zip(sizes) {
        let mut part = Part {
            name: spec.name.clone(),
            start: 0,
            size_bytes,
            direct: false,
            alignment_bytes: 1,
        };
        match target.opened() {
            Opened::Null => {}
            Opened::Existing(_) => {
                part.start = start.next_multiple_of(spec.unit_bytes);
                start += size_bytes;
                let filler = Filler { preparation, content: spec.content, time_left: None };
                prepare_existing(target, spec, &filler, &mut part)?;
            }
            Opened::Export(export) => {
                part.direct = true;
                part.alignment_bytes = export.export().sizes.min_bytes.into();
                part.start = start.next_multiple_of(spec.unit_bytes);
                start += size_bytes;
                if let Some(from) = spec.precondition {
                    let filler = Filler { preparation, content: spec.content, time_left: None };
                    let (start, bytes) = (part.start + from, size_bytes.saturating_sub(from));
                    overwrite_export(export, &filler, start, bytes)?;
                }
            }
            Opened::Ceph(ceph) => {
                part.direct = true;
                part.start = start.next_multiple_of(spec.unit_bytes);
                start += size_bytes;
                let filler = Filler { preparation, content: spec.content, time_left: None };
                prepare_ceph(target, ceph, spec, &filler, &part)?;
            }
            Opened::Directory { scratch, .. } => {
                let left = preparation.time_max.map(|most| most.saturating_sub(begun.elapsed()));
                let filler = Filler { preparation, content: spec.content, time_left: left };
                prepare_file(target, scratch, spec, &filler, &mut part)?;
            }
        }
        if preparation.stop.is_requested() {
            return Err(EngineError::Interrupted);
        }
        if part.size_bytes < spec.unit_bytes {
            return Err(EngineError::TooSmall {
                path: target.path().to_owned(),
                size_bytes: part.size_bytes,
                needed_bytes: spec.unit_bytes,
            });
        }
        notes.extend(deviations(target, spec, &part, size_bytes));
        parts.push(part);
    }
    notes.dedup();
    Ok(Prepared { parts, notes })
}

/// The ways in which a part differs from its specification.
fn deviations(
    target: &Target,
    spec: &PartSpec,
    part: &Part,
    size_bytes: u64,
) -> impl Iterator<Item = String> {
    let cached = spec.direct && !part.direct && target.kind() != TargetKind::Null;
    let cached = cached.then(|| {
        "this filesystem does not support O_DIRECT; measured through the page cache instead"
            .to_owned()
    });
    let shorter = (part.size_bytes < size_bytes).then(|| {
        format!(
            "used {} MiB instead of {} MiB, which is what could be written in the time for \
             preparation",
            part.size_bytes >> 20,
            size_bytes >> 20
        )
    });
    cached.into_iter().chain(shorter)
}

/// Opens an existing file or device, and overwrites a part of it.
fn prepare_existing(
    target: &Target,
    spec: &PartSpec,
    filler: &Filler<'_>,
    part: &mut Part,
) -> Result<(), EngineError> {
    let (file, direct) = open_part(target, &spec.name, spec.direct, OFlags::empty())
        .map_err(|errno| EngineError::opening(target.path(), errno))?;
    part.direct = direct;
    part.alignment_bytes = target.alignment_bytes(&file);
    let Some(from) = spec.precondition else { return Ok(()) };
    let (start, bytes) = (part.start + from, part.size_bytes.saturating_sub(from));
    let files = OpenFiles::single(file);
    let mut disk = FileDisk::new(files, ReadWriteFlags::empty(), Renewal::Unneeded);
    filler
        .overwrite(&mut disk, start, bytes, PIECE_BYTES)
        .and_then(|()| disk.sync(SyncCall::Fsync, start))
        .map_err(|errno| EngineError::Call {
            action: "write the test area of",
            path: target.path().to_owned(),
            errno,
        })
}

/// Creates or reuses a part's file in a directory.
fn prepare_file(
    target: &Target,
    scratch: &Scratch,
    spec: &PartSpec,
    filler: &Filler<'_>,
    part: &mut Part,
) -> Result<(), EngineError> {
    let failed =
        |action| move |errno| EngineError::Call { action, path: target.path().to_owned(), errno };
    let size_bytes = part.size_bytes;
    if spec.layout.needs_new_file() {
        scratch.remove(&spec.name);
    }
    let (file, direct) = open_part(target, &spec.name, spec.direct, OFlags::empty())
        .map_err(|errno| EngineError::opening(target.path(), errno))?;
    part.direct = direct;
    part.alignment_bytes = target.alignment_bytes(&file);
    match spec.layout {
        Layout::Empty if spec.sparse => {
            extend(&file, size_bytes).map_err(failed("extend the test file in"))?;
        }
        Layout::Append | Layout::Empty => {}
        Layout::Preallocated | Layout::PreallocatedOnce => {
            reserve(&file, size_bytes).map_err(failed("reserve space (fallocate) in"))?;
        }
        Layout::Overwrite => {
            let written = filler
                .fill(&file, size_bytes, part.alignment_bytes)
                .map_err(failed("write the test file in"))?;
            if written < size_bytes {
                part.size_bytes = written / spec.unit_bytes * spec.unit_bytes;
            }
        }
    }
    // The directory entry must be durable, or the first fsync pays for it.
    fsync(scratch.directory()).map_err(failed("sync"))?;
    if spec.invalidate {
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
    }
    Ok(())
}

/// Overwrites a range of an export.
fn overwrite_export(
    export: &ExportTarget,
    filler: &Filler<'_>,
    start: u64,
    bytes: u64,
) -> Result<(), EngineError> {
    let piece_bytes = PIECE_BYTES.min(export.export().sizes.max_bytes as usize);
    let syncs = export.export().takes_flush();
    export.with_channel(0, piece_bytes as u32, |channel| {
        let whole = JobPart::within_one_file(0, u64::MAX);
        let mut disk = ExportDisk::new(channel, whole, WriteRequest::Write);
        filler.overwrite(&mut disk, start, bytes, piece_bytes)?;
        if syncs { disk.sync(SyncCall::Fsync, start) } else { Ok(()) }
    })
}

/// Creates all objects of a target that consists of some, and returns the time that each took, in
/// nanoseconds.
pub fn create_objects(
    target: &Target,
    ceph: &CephTarget,
    stop: &Stop,
) -> Result<Vec<u64>, EngineError> {
    let Storage::Objects(objects) = ceph.storage() else { return Ok(Vec::new()) };
    let preparation = Preparation { time_max: None, seed: 0, stop };
    let filler = Filler { preparation, content: Content::Random, time_left: None };
    let mut disk = CephDisk::new(ceph, JobPart::within_one_file(0, u64::MAX), false);
    let mut times = Vec::new();
    let created = objects.create_missing(0, objects.size_bytes(), |start, bytes| {
        let begun = Instant::now();
        filler.overwrite(&mut disk, start, bytes, objects.object_bytes() as usize)?;
        times.push(begun.elapsed().as_nanos() as u64);
        Ok(())
    });
    created.map(|()| times).map_err(|errno| EngineError::Call {
        action: "create the objects of",
        path: target.path().to_owned(),
        errno,
    })
}

/// Creates the objects of a part, and overwrites it if that is requested.
fn prepare_ceph(
    target: &Target,
    ceph: &CephTarget,
    spec: &PartSpec,
    filler: &Filler<'_>,
    part: &Part,
) -> Result<(), EngineError> {
    let mut disk = CephDisk::new(ceph, JobPart::within_one_file(0, u64::MAX), false);
    let end = part.start + part.size_bytes;
    let prepared = match ceph.storage() {
        Storage::Image(_) => Ok(()),
        Storage::Objects(objects) => objects.create_missing(part.start, end, |start, bytes| {
            filler.overwrite(&mut disk, start, bytes, objects.object_bytes() as usize)
        }),
    };
    let prepared = prepared.and_then(|()| {
        let Some(from) = spec.precondition else { return Ok(()) };
        filler.overwrite(&mut disk, part.start + from, end - part.start - from, PIECE_BYTES)?;
        disk.sync(SyncCall::Fsync, part.start)
    });
    prepared.map_err(|errno| EngineError::Call {
        action: "write the test area of",
        path: target.path().to_owned(),
        errno,
    })
}

/// Extends an empty file without giving it space.
fn extend(file: &OwnedFd, bytes: u64) -> Result<(), Errno> {
    ftruncate(file, bytes)?;
    fsync(file)
}

fn reserve(file: &OwnedFd, bytes: u64) -> Result<(), Errno> {
    fallocate(file, FallocateFlags::empty(), 0, bytes)?;
    fsync(file)
}

/// Opens a part's file, with `O_DIRECT` if it is requested and supported by the filesystem.
///
/// # Errors
/// As the kernel reports them.
pub fn open_part(
    target: &Target,
    name: &str,
    direct: bool,
    flags: OFlags,
) -> Result<(OwnedFd, bool), Errno> {
    let open = |flags: OFlags| match target.opened() {
        Opened::Null | Opened::Export(_) | Opened::Ceph(_) => Err(Errno::NOENT),
        Opened::Directory { scratch, .. } => scratch.open(name, flags | OFlags::RDWR),
        Opened::Existing(existing) => {
            let access = if existing.writable { OFlags::RDWR } else { OFlags::RDONLY };
            rustix::fs::open(
                &existing.path,
                flags | access | OFlags::CLOEXEC,
                rustix::fs::Mode::empty(),
            )
        }
    };
    if direct {
        match open(flags | OFlags::DIRECT) {
            Ok(file) => return Ok((file, true)),
            Err(Errno::INVAL) => {}
            Err(errno) => return Err(errno),
        }
    }
    open(flags).map(|file| (file, false))
}

/// The size of each part: as requested, or all reduced by the same factor.
fn sizes(
    target: &Target,
    specs: &[PartSpec],
    notes: &mut Vec<String>,
) -> Result<Vec<u64>, EngineError> {
    // A file that is to run into a full filesystem takes nothing from the others' share.
    let specs_limited = || specs.iter().filter(|spec| !spec.unbudgeted);
    let asked: u64 = specs_limited().map(|spec| spec.size_bytes).sum();
    let least: u64 = specs.iter().map(|spec| spec.unit_bytes).sum();
    let room = match target.opened() {
        Opened::Null => return Ok(specs.iter().map(|spec| spec.size_bytes).collect()),
        Opened::Directory { place, budget_bytes, .. } => {
            let needed_bytes = least.max(TOTAL_BYTES_MIN.min(asked));
            if *budget_bytes < needed_bytes {
                let free_bytes = place.space.map_or(0, |space| space.available_bytes);
                return Err(EngineError::NoSpace {
                    path: target.path().to_owned(),
                    free_bytes,
                    needed_bytes,
                });
            }
            *budget_bytes
        }
        Opened::Existing(_) | Opened::Export(_) | Opened::Ceph(_) => {
            let Room::Whole(all_bytes) = target.room() else { return Ok(Vec::new()) };
            // Parts start on multiples of their unit, which in the worst case costs each of them
            // one unit.
            let room = all_bytes.saturating_sub(if specs.len() > 1 { least } else { 0 });
            if room < least {
                return Err(EngineError::TooSmall {
                    path: target.path().to_owned(),
                    size_bytes: all_bytes,
                    needed_bytes: if specs.len() > 1 { 2 * least } else { least },
                });
            }
            room
        }
    };
    if asked <= room {
        return Ok(specs.iter().map(|spec| spec.size_bytes).collect());
    }
    notes.push(format!(
        "used {} MiB instead of {} MiB: {}",
        room >> 20,
        asked >> 20,
        if target.kind() == TargetKind::Directory {
            "flushmark uses at most half of the free space"
        } else {
            "the target is smaller"
        }
    ));
    let share = |spec: &PartSpec| {
        if spec.unbudgeted {
            return spec.size_bytes;
        }
        let bytes = (u128::from(spec.size_bytes) * u128::from(room) / u128::from(asked)) as u64;
        (bytes / spec.unit_bytes).max(1) * spec.unit_bytes
    };
    Ok(specs.iter().map(share).collect())
}

/// Writes a file once, so no later sync includes allocation or conversion of unwritten extents.
struct Filler<'a> {
    preparation: Preparation<'a>,
    content: Content,
    time_left: Option<Duration>,
}

impl Filler<'_> {
    /// Overwrites a range of an existing target.
    fn overwrite(
        &self,
        disk: &mut impl Disk,
        start: u64,
        bytes: u64,
        piece_bytes: usize,
    ) -> Result<(), Errno> {
        let mut draws = generator(self.preparation.seed, 0);
        let mut buffers =
            Buffers::new(4, piece_bytes, self.content, &mut draws).map_err(|_| Errno::NOMEM)?;
        let (mut offset, end) = (start, start + bytes);
        while offset < end && !self.preparation.stop.is_requested() {
            let piece = piece_bytes.min((end - offset) as usize);
            if disk.write(&buffers.next_stamped(offset)[..piece], offset)? != piece {
                return Err(Errno::NOSPC);
            }
            offset += piece as u64;
        }
        Ok(())
    }

    /// Extends the file to at least `size_bytes` and makes it durable; returns the resulting size.
    fn fill(&self, file: &OwnedFd, size_bytes: u64, alignment_bytes: u64) -> Result<u64, Errno> {
        let there = rustix::fs::fstat(file)?.st_size as u64;
        if there >= size_bytes {
            return Ok(there);
        }
        let begun = Instant::now();
        let mut draws = generator(self.preparation.seed, 0);
        let mut buffers =
            Buffers::new(4, PIECE_BYTES, self.content, &mut draws).map_err(|_| Errno::NOMEM)?;
        let mut written = there / PIECE_BYTES as u64 * PIECE_BYTES as u64;
        while written < size_bytes {
            if self.preparation.stop.is_requested()
                || self.time_left.is_some_and(|left| begun.elapsed() >= left)
            {
                break;
            }
            // The file ends on a whole page, because direct I/O would reject an odd remainder.
            let left = (size_bytes - written).next_multiple_of(alignment_bytes.max(PAGE_BYTES));
            let piece = (PIECE_BYTES as u64).min(left) as usize;
            let moved = pwrite(file.as_fd(), &buffers.next_stamped(written)[..piece], written)?;
            if moved != piece {
                return Err(Errno::NOSPC);
            }
            written += piece as u64;
        }
        ftruncate(file, written)?;
        fdatasync(file)?;
        fsync(file)?;
        Ok(written)
    }
}
