//! The FUSE side of a server: the kernel's requests, and what is under way of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice, Read as _, Write as _};

use rustix::io::Errno;
use simdrive::device::SECTOR_BYTES;
use simdrive::time::Ns;

use crate::drive::{Command, Drive, Refused};
use crate::fuse::wire::{
    self, Attributes, Error, FALLOCATE_KEEP_SIZE, FALLOCATE_PUNCH_HOLE, FALLOCATE_ZERO_RANGE, Op, REQUEST_BYTES_MOST,
    ROOT, Request,
};
use crate::serve::connection::Stands;
use crate::serve::floor::{Cost, Kind};
use crate::serve::pace::Pace;

/// The file that is the drive.
pub const DRIVE: &str = "drive";
/// The file by which the transport's own cost is measured.
pub const PROBE: &str = ".probe";

/// Nodes after the directory.
const FIRST_NODE: u64 = 2;
/// Requests that are fetched before others are looked at.
const REQUESTS_AT_ONCE: usize = 64;

/// A request under way.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    unique: u64,
    answer: Answer,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    /// What was read from `offset` on, from a wider range of whole sectors.
    Data {
        offset: u64,
        bytes: u32,
    },
    Written {
        bytes: u32,
    },
    Nothing,
}

/// The mounted directory.
#[derive(Debug)]
pub struct Directory {
    /// The kernel's file.
    pub kernel: File,
    /// How late its answers are.
    pub pace: Pace,
    input: Vec<u8>,
    data: Vec<u8>,
    under_way: BTreeMap<u32, UnderWay>,
    next_number: u32,
    owner: (u32, u32),
}

impl Directory {
    /// Of the file that mounting gave.
    ///
    /// # Errors
    /// When it cannot be made not to block.
    pub fn new(kernel: File) -> io::Result<Directory> {
        let flags = rustix::fs::fcntl_getfl(&kernel)?;
        rustix::fs::fcntl_setfl(&kernel, flags | rustix::fs::OFlags::NONBLOCK)?;
        let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Ok(Directory {
            kernel,
            pace: Pace::default(),
            input: vec![0; REQUEST_BYTES_MOST],
            data: Vec::new(),
            under_way: BTreeMap::new(),
            next_number: 0,
            owner,
        })
    }

    /// Takes what has come, and gives the drives what is asked: the first is [`DRIVE`], the second [`PROBE`]. It is `now`; `floor` says what the
    /// transport costs each kind of request, and `tag` makes a tag of a number.
    ///
    /// # Errors
    /// Those of the kernel's file that do not mean that it was unmounted.
    #[inline]
    pub fn receive(
        &mut self,
        drives: &mut [Drive],
        now: Ns,
        floor: impl Fn(Kind) -> Cost,
        tag: impl Fn(u32) -> u64,
    ) -> io::Result<Stands> {
        for _ in 0..REQUESTS_AT_ONCE {
            if drives[0].is_crowded() {
                return Ok(Stands::Open);
            }
            let bytes = match self.kernel.read(&mut self.input) {
                Ok(bytes) => bytes,
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN) => return Ok(Stands::Open),
                    // A request that was taken back before it was read.
                    Some(Errno::INTR | Errno::NOENT) => continue,
                    // Unmounted.
                    Some(Errno::NODEV) => return Ok(Stands::Closed),
                    _ => return Err(error),
                },
            };
            let input = std::mem::take(&mut self.input);
            if let Some(request) = wire::parse(&input[..bytes]) {
                self.carry_out(&request, drives, now, &floor, &tag);
            }
            self.input = input;
        }
        Ok(Stands::Open)
    }

    fn carry_out(
        &mut self,
        request: &Request<'_>,
        drives: &mut [Drive],
        now: Ns,
        floor: &impl Fn(Kind) -> Cost,
        tag: &impl Fn(u32) -> u64,
    ) {
        let unique = request.unique;
        let answer = match request.op {
            Op::Silence => return,
            Op::Init { flags, .. } => wire::init(unique, flags),
            Op::Nod => wire::answer(unique, |_| ()),
            Op::OpenDirectory => wire::opened_directory(unique),
            Op::StatFs => wire::stat_fs(unique, drives[0].identity().capacity_bytes),
            Op::Lookup(name) => {
                let names = [DRIVE, PROBE];
                let index = names.iter().position(|known| known.as_bytes() == name);
                match index.and_then(|index| self.attributes(FIRST_NODE + index as u64, drives)) {
                    Some(attributes) => wire::entry(unique, &attributes),
                    None => wire::refusal(unique, Error::NoEntry),
                }
            }
            Op::ReadDirectory { offset, bytes } => {
                wire::directory(unique, &[(ROOT, "."), (ROOT, ".."), (FIRST_NODE, DRIVE)], offset, bytes)
            }
            // A drive does not change its size.
            Op::SetAttributes { size: true } => wire::refusal(unique, Error::Permission),
            Op::GetAttributes | Op::SetAttributes { .. } => match self.attributes(request.node, drives) {
                Some(attributes) => wire::attributes(unique, &attributes),
                None => wire::refusal(unique, Error::NoEntry),
            },
            Op::Open => match drive_of(request.node, drives) {
                Some(drive) => wire::opened(unique, drive.cuts()),
                None => wire::refusal(unique, Error::NoEntry),
            },
            Op::Unknown => wire::refusal(unique, Error::NotImplemented),
            Op::Read { .. } | Op::Write { .. } | Op::Fsync | Op::Fallocate { .. } => {
                let drive = request.node.checked_sub(FIRST_NODE).and_then(|index| drives.get_mut(index as usize));
                match drive {
                    // Opened before a power cut, by a kernel whose memory would be gone with it. Loop devices and filesystems that stood on the drive then still hold what they had not
                    // written, and would write it now, into what a new mount believes to be its own.
                    Some(drive) if request.handle != drive.cuts() => wire::refusal(unique, Error::Io),
                    Some(drive) => match self.ask(request, drive, now, floor, tag) {
                        Ok(()) => return,
                        Err(error) => wire::refusal(unique, error),
                    },
                    None => wire::refusal(unique, Error::NoEntry),
                }
            }
        };
        self.tell(&answer);
    }

    fn ask(
        &mut self,
        request: &Request<'_>,
        drive: &mut Drive,
        now: Ns,
        floor: &impl Fn(Kind) -> Cost,
        tag: &impl Fn(u32) -> u64,
    ) -> Result<(), Error> {
        let wider;
        let (kind, command, answer) = match request.op {
            Op::Read { offset, bytes } => {
                let bytes = u64::from(bytes).min(drive.identity().capacity_bytes.saturating_sub(offset));
                let first = offset / SECTOR_BYTES * SECTOR_BYTES;
                let end = (offset + bytes).next_multiple_of(SECTOR_BYTES);
                if bytes == 0 {
                    self.tell(&wire::answer(request.unique, |_| ()));
                    return Ok(());
                }
                let answer = Answer::Data { offset, bytes: bytes as u32 };
                (Kind::Read, Command::Read { offset: first, bytes: end - first }, answer)
            }
            Op::Write { offset, data } => {
                let answer = Answer::Written { bytes: data.len() as u32 };
                let end = offset.saturating_add(data.len() as u64);
                // The kernel cuts a large write by the pages of the writer's memory, wherever those begin.
                let data = if (offset | end).is_multiple_of(SECTOR_BYTES) {
                    data
                } else {
                    wider = widened(offset, data, drive)?;
                    &wider
                };
                let offset = offset / SECTOR_BYTES * SECTOR_BYTES;
                (Kind::Write, Command::Write { offset, data, fua: false }, answer)
            }
            // The kernel then knows that there is nothing to flush, and does not ask again: as with a real drive that has no volatile cache.
            Op::Fsync if !drive.wants_flushes() => return Err(Error::NotImplemented),
            Op::Fsync => (Kind::Flush, Command::Flush, Answer::Nothing),
            Op::Fallocate { offset, bytes, mode } if mode & FALLOCATE_KEEP_SIZE != 0 => {
                if mode & FALLOCATE_PUNCH_HOLE != 0 {
                    (Kind::Write, Command::Trim { offset, bytes, fua: false }, Answer::Nothing)
                } else if mode & FALLOCATE_ZERO_RANGE != 0 {
                    (Kind::Write, Command::Zero { offset, bytes, fua: false, keeps_space: true }, Answer::Nothing)
                } else {
                    return Err(Error::Unsupported);
                }
            }
            _ => return Err(Error::Unsupported),
        };
        let number = self.next_number;
        let sent_at = self.pace.sent_at(now, floor(kind), self.under_way.is_empty());
        drive.submit(sent_at, tag(number), command).map_err(|refused| error_of(&refused))?;
        self.next_number = number.wrapping_add(1);
        self.under_way.insert(number, UnderWay { unique: request.unique, answer });
        Ok(())
    }

    /// A request is done, or has failed.
    #[inline]
    pub fn answer(&mut self, number: u32, drive: &Drive, failed: Option<io::ErrorKind>) {
        let Some(UnderWay { unique, answer }) = self.under_way.remove(&number) else { return };
        if let Some(kind) = failed {
            return self.tell(&wire::refusal(unique, error_of(&Refused::Image(kind.into()))));
        }
        match answer {
            Answer::Nothing => self.tell(&wire::answer(unique, |_| ())),
            Answer::Written { bytes } => self.tell(&wire::written(unique, bytes)),
            Answer::Data { offset, bytes } => {
                let first = offset / SECTOR_BYTES * SECTOR_BYTES;
                let skipped = (offset - first) as usize;
                let length = (offset + u64::from(bytes)).next_multiple_of(SECTOR_BYTES) - first;
                self.data.clear();
                match drive.fetch(first, length as usize, &mut self.data) {
                    Ok(()) => {
                        let data = &self.data[skipped..skipped + bytes as usize];
                        let mut header = wire::answer(unique, |_| ());
                        header[..4].copy_from_slice(&(16 + bytes).to_ne_bytes());
                        let _ = (&self.kernel).write_vectored(&[IoSlice::new(&header), IoSlice::new(data)]);
                    }
                    Err(refused) => self.tell(&wire::refusal(unique, error_of(&refused))),
                }
            }
        }
    }

    /// The power went: whatever was under way fails.
    pub fn fail_all(&mut self) {
        for UnderWay { unique, .. } in std::mem::take(&mut self.under_way).into_values() {
            self.tell(&wire::refusal(unique, Error::Io));
        }
    }

    fn attributes(&self, node: u64, drives: &[Drive]) -> Option<Attributes> {
        let owner = self.owner;
        if node == ROOT {
            return Some(Attributes { node, bytes: 4096, mode: 0o040_700, owner });
        }
        let drive = drive_of(node, drives)?;
        Some(Attributes { node, bytes: drive.identity().capacity_bytes, mode: 0o100_600, owner })
    }

    /// An answer that the kernel does not want any more (ENOENT: whoever asked was killed) is no error.
    fn tell(&self, answer: &[u8]) {
        let _ = (&self.kernel).write(answer);
    }
}

/// The drive whose file a node is.
fn drive_of(node: u64, drives: &[Drive]) -> Option<&Drive> {
    drives.get(node.checked_sub(FIRST_NODE)? as usize)
}

/// A write with what stands before and behind it in its first and last sector.
fn widened(offset: u64, data: &[u8], drive: &Drive) -> Result<Vec<u8>, Error> {
    let first = offset / SECTOR_BYTES * SECTOR_BYTES;
    let end = offset.checked_add(data.len() as u64).and_then(|end| end.checked_next_multiple_of(SECTOR_BYTES));
    let end = end.filter(|end| *end <= drive.identity().capacity_bytes).ok_or(Error::NoSpace)?;
    let within = (offset - first) as usize;
    let mut wider = Vec::new();
    drive.fetch(first, (end - first) as usize, &mut wider).map_err(|refused| error_of(&refused))?;
    wider[within..within + data.len()].copy_from_slice(data);
    Ok(wider)
}

fn error_of(refused: &Refused) -> Error {
    match refused {
        Refused::ReadOnly => Error::ReadOnly,
        Refused::BeyondEnd { .. } => Error::NoSpace,
        Refused::Alignment | Refused::DoesNotWear => Error::Invalid,
        Refused::Image(error) if error.kind() == io::ErrorKind::StorageFull => Error::NoSpace,
        Refused::NoPower | Refused::Image(_) => Error::Io,
    }
}
