//! The FUSE side of a server: the kernel's requests and their state.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IoSlice, Read as _, Write as _};

use rustix::io::Errno;
use simdrive::Ns;

use crate::drive::{Command, Drive, Power, Refused};
use crate::fuse::files::{
    FIRST_FILE, FileFacts, Files, Next, Wanted, dispatch, sectors_of, whole_sectors,
};
use crate::fuse::wire::{self, Error, REQUEST_BYTES_MAX, Request};
use crate::serve::connection::ConnectionState;
use crate::serve::pace::Pace;
use crate::serve::transport_cost::{CostRange, Kind};

/// The file that is the drive.
pub(crate) const DRIVE: &str = "drive";
/// The file used to measure the cost of the transport.
pub(crate) const PROBE: &str = ".probe";
/// The file with the drive's number of power cuts, in decimal digits: the equivalent of a real
/// drive's SMART counter.
pub(crate) const UNSAFE_SHUTDOWNS: &str = ".unsafe-shutdowns";
/// Its length: digits with leading zeros, and a line feed.
const COUNT_BYTES: usize = 21;
/// Its node, after those of the drives.
const COUNT_NODE: u64 = FIRST_FILE + 2;

/// Requests to read before other sources are served.
const REQUESTS_AT_ONCE: usize = 64;

/// A request in progress.
#[derive(Debug, Clone, Copy)]
struct UnderWay {
    unique: u64,
    answer: Answer,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    /// Data that was read as whole sectors, of which the part from `offset` on was requested.
    Data {
        offset: u64,
        bytes: u32,
    },
    Written {
        bytes: u32,
    },
    Nothing,
}

#[derive(Debug)]
pub(crate) struct Directory {
    /// The kernel's FUSE file.
    pub kernel: File,
    /// Lateness of its replies.
    pub(crate) pace: Pace,
    /// True if the drive reports its number of power cuts. One that continues with the image of an
    /// earlier process does not know it.
    counts_cuts: bool,
    input: Vec<u8>,
    data: Vec<u8>,
    under_way: BTreeMap<u32, UnderWay>,
    next_number: u32,
}

impl Directory {
    /// Serves the file returned by mounting, with [`UNSAFE_SHUTDOWNS`] in the directory if the
    /// drive `counts_cuts`.
    pub(crate) fn new(kernel: File, counts_cuts: bool) -> io::Result<Directory> {
        let flags = rustix::fs::fcntl_getfl(&kernel)?;
        rustix::fs::fcntl_setfl(&kernel, flags | rustix::fs::OFlags::NONBLOCK)?;
        Ok(Directory {
            kernel,
            pace: Pace::default(),
            counts_cuts,
            input: vec![0; REQUEST_BYTES_MAX],
            data: Vec::new(),
            under_way: BTreeMap::new(),
            next_number: 0,
        })
    }

    /// Reads requests at time `now`, and submits them to the drives: the first is [`DRIVE`], the
    /// second [`PROBE`]. `floor` is the transport's cost of each kind of request, and `tag` turns a
    /// number into a tag.
    ///
    /// # Errors
    /// Those of the kernel's file, unless they mean that it was unmounted.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        drives: &mut [Drive],
        now: Ns,
        floor: impl Fn(Kind) -> CostRange,
        tag: impl Fn(u32) -> u64,
    ) -> io::Result<ConnectionState> {
        for _ in 0..REQUESTS_AT_ONCE {
            if drives[0].is_crowded() {
                return Ok(ConnectionState::Open);
            }
            let bytes = match self.kernel.read(&mut self.input) {
                Ok(bytes) => bytes,
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::AGAIN) => return Ok(ConnectionState::Open),
                    // A request that was cancelled before it was read.
                    Some(Errno::INTR | Errno::NOENT) => continue,
                    // Unmounted.
                    Some(Errno::NODEV) => return Ok(ConnectionState::Closed),
                    _ => return Err(error),
                },
            };
            let input = std::mem::take(&mut self.input);
            if let Some(request) = wire::parse(&input[..bytes]) {
                self.carry_out(&request, drives, now, &floor, &tag);
            }
            self.input = input;
        }
        Ok(ConnectionState::Open)
    }

    fn carry_out(
        &mut self,
        request: &Request<'_>,
        drives: &mut [Drive],
        now: Ns,
        floor: &impl Fn(Kind) -> CostRange,
        tag: &impl Fn(u32) -> u64,
    ) {
        let answer = match dispatch(request, &Drives { drives, counts_cuts: self.counts_cuts }) {
            Next::NoReply => return,
            Next::Answer(answer) => answer,
            Next::Do(wanted) if request.node == COUNT_NODE => count_of(&drives[0], wanted)
                .map_or_else(
                    |error| wire::refusal(request.unique, error),
                    |read| wire::answer(request.unique, |out| out.extend(read)),
                ),
            Next::Do(wanted) => {
                let drive = request
                    .node
                    .checked_sub(FIRST_FILE)
                    .and_then(|index| drives.get_mut(index as usize));
                let Some(drive) = drive else { return };
                match self.ask(request.unique, wanted, drive, now, floor, tag) {
                    Ok(()) => return,
                    Err(error) => wire::refusal(request.unique, error),
                }
            }
        };
        self.tell(&answer);
    }

    fn ask(
        &mut self,
        unique: u64,
        wanted: Wanted<'_>,
        drive: &mut Drive,
        now: Ns,
        floor: &impl Fn(Kind) -> CostRange,
        tag: &impl Fn(u32) -> u64,
    ) -> Result<(), Error> {
        let wider;
        let (kind, command, answer) = match wanted {
            Wanted::Read { offset, bytes } => {
                let (first, length) = sectors_of(offset, u64::from(bytes));
                let answer = Answer::Data { offset, bytes };
                (Kind::Read, Command::Read { offset: first, bytes: length }, answer)
            }
            Wanted::Write { offset, data } => {
                let answer = Answer::Written { bytes: data.len() as u32 };
                let (offset, data) = whole_sectors(
                    offset,
                    data,
                    drive.identity().capacity_bytes,
                    |first, length| {
                        let mut data = Vec::new();
                        drive
                            .fetch(first, length as usize, &mut data)
                            .map_err(|refused| error_of(&refused))?;
                        Ok(data)
                    },
                )?;
                wider = data;
                (Kind::Write, Command::Write { offset, data: &wider, fua: false }, answer)
            }
            // The kernel then knows that flushes are not needed and does not send them again, as
            // with a real drive without a volatile cache.
            Wanted::Flush if !drive.wants_flushes() => return Err(Error::NotImplemented),
            Wanted::Flush => (Kind::Flush, Command::Flush, Answer::Nothing),
            Wanted::Trim { offset, bytes } => {
                (Kind::Write, Command::Trim { offset, bytes, fua: false }, Answer::Nothing)
            }
            Wanted::Zero { offset, bytes } => (
                Kind::Write,
                Command::Zero { offset, bytes, fua: false, keeps_space: true },
                Answer::Nothing,
            ),
        };
        let number = self.next_number;
        let sent_at = self.pace.sent_at(now, floor(kind), self.under_way.is_empty());
        drive.submit(sent_at, tag(number), command).map_err(|refused| error_of(&refused))?;
        self.next_number = number.wrapping_add(1);
        self.under_way.insert(number, UnderWay { unique, answer });
        Ok(())
    }

    /// Records that a request has finished or failed, and sends the reply.
    #[inline]
    pub(crate) fn answer(&mut self, number: u32, drive: &Drive, failed: Option<io::ErrorKind>) {
        let Some(UnderWay { unique, answer }) = self.under_way.remove(&number) else { return };
        if let Some(kind) = failed {
            return self.tell(&wire::refusal(unique, error_of(&Refused::Image(kind.into()))));
        }
        match answer {
            Answer::Nothing => self.tell(&wire::answer(unique, |_| ())),
            Answer::Written { bytes } => self.tell(&wire::written(unique, bytes)),
            Answer::Data { offset, bytes } => {
                let (first, length) = sectors_of(offset, u64::from(bytes));
                let skipped = (offset - first) as usize;
                self.data.clear();
                match drive.fetch(first, length as usize, &mut self.data) {
                    Ok(()) => {
                        let data = &self.data[skipped..skipped + bytes as usize];
                        let header = wire::data_header(unique, bytes);
                        let _ = (&self.kernel)
                            .write_vectored(&[IoSlice::new(&header), IoSlice::new(data)]);
                    }
                    Err(refused) => self.tell(&wire::refusal(unique, error_of(&refused))),
                }
            }
        }
    }

    /// Fails all requests in progress, because the power was cut.
    pub(crate) fn fail_all(&mut self) {
        for UnderWay { unique, .. } in std::mem::take(&mut self.under_way).into_values() {
            self.tell(&wire::refusal(unique, Error::Io));
        }
    }

    /// A reply that the kernel no longer wants (ENOENT: the requesting process was killed) is not
    /// an error.
    fn tell(&self, answer: &[u8]) {
        let _ = (&self.kernel).write(answer);
    }
}

/// The requested part of the power cut counter.
fn count_of(drive: &Drive, wanted: Wanted<'_>) -> Result<Vec<u8>, Error> {
    let Wanted::Read { offset, bytes } = wanted else { return Err(Error::Permission) };
    if drive.power() != Power::On {
        return Err(Error::Io);
    }
    let count = format!("{:020}\n", drive.cuts()).into_bytes();
    Ok(count.into_iter().skip(offset as usize).take(bytes as usize).collect())
}

/// The drives as files.
struct Drives<'a> {
    drives: &'a [Drive],
    counts_cuts: bool,
}

impl Files for Drives<'_> {
    fn find(&self, name: &[u8]) -> Option<u64> {
        let index =
            [DRIVE, PROBE, UNSAFE_SHUTDOWNS].iter().position(|known| known.as_bytes() == name)?;
        let node = FIRST_FILE + index as u64;
        (node != COUNT_NODE || self.counts_cuts).then_some(node)
    }

    fn listed(&self) -> Vec<(u64, String)> {
        vec![(FIRST_FILE, DRIVE.to_owned())]
    }

    fn facts(&self, node: u64) -> Option<FileFacts> {
        if node == COUNT_NODE {
            return Some(FileFacts { bytes: COUNT_BYTES as u64, handle: 0 });
        }
        let drive = self.drives.get(node.checked_sub(FIRST_FILE)? as usize)?;
        // A handle from before a power cut belongs to a kernel whose memory would be gone with it.
        // Loop devices and filesystems on top of the drive still have unwritten data from that
        // time, and would write it now, into what a new mount believes to be its own.
        Some(FileFacts { bytes: drive.identity().capacity_bytes, handle: drive.cuts() })
    }
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
