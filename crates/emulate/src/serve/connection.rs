//! An NBD client's socket: input, output, and requests in progress.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use nbd::wire::Error;
use simdrive::{Ns, Slab};

use crate::drive::{Command, Drive, Refused};
use crate::nbd::session::{Export, Kind, Request, Session, Step};
use crate::serve::pace::Pace;
use crate::serve::socket::Socket;
use crate::serve::transport_cost;

/// Bytes to read at once, except for a larger write.
const INPUT_BYTES: usize = 64 << 10;
/// Bytes to send at once.
const OUTPUT_BYTES: usize = 128 << 10;
/// Reply memory to keep for reuse.
const OUTPUT_BYTES_KEPT: usize = 4 << 20;
/// Longest wait for the client in the middle of a large transfer.
const SPIN_MAX: Duration = Duration::from_micros(50);
/// With more reply bytes pending, no requests are read: a client that does not read its replies
/// must wait.
const OWED_BYTES_MAX: u64 = 64 << 20;
/// With more requests in progress, no more are read.
const UNDER_WAY_MAX: usize = 4096;

/// Waits for the client in the middle of a large transfer, while it is working on it: sleeping and
/// waking up for each part that fits into a socket's buffer would take longer.
#[derive(Debug, Default)]
struct SpinWait {
    since: Option<Instant>,
}

impl SpinWait {
    fn is_over(&mut self) -> bool {
        std::thread::yield_now();
        self.since.get_or_insert_with(Instant::now).elapsed() > SPIN_MAX
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    Open,
    /// The client is gone or sent garbage; no more replies are possible.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub socket: Socket,
    /// Lateness of its replies.
    pub pace: Pace,
    session: Session,
    input: Vec<u8>,
    /// The unused part of the input, from `begin` on.
    begin: usize,
    end: usize,
    /// Number of bytes that the next step needs.
    needs: usize,
    output: Vec<u8>,
    sent: usize,
    /// Finished requests whose reply is not in the output yet.
    ready: VecDeque<(u32, Option<io::ErrorKind>)>,
    asked: Slab<Request>,
    owed_bytes: u64,
    /// True if the client has disconnected.
    leaving: bool,
}

impl Connection {
    /// Greets a new client.
    pub(crate) fn new(socket: Socket, export: Export) -> Connection {
        let mut output = Vec::new();
        let session = Session::greet(export, &mut output);
        Connection {
            socket,
            pace: Pace::default(),
            session,
            input: vec![0; INPUT_BYTES],
            begin: 0,
            end: 0,
            needs: 1,
            output,
            sent: 0,
            ready: VecDeque::new(),
            asked: Slab::new(),
            owed_bytes: 0,
            leaving: false,
        }
    }

    /// Returns whether more requests may be read.
    pub(crate) fn has_room(&self, drive: &Drive) -> bool {
        !self.leaving
            && self.owed_bytes < OWED_BYTES_MAX
            && self.asked.count() < UNDER_WAY_MAX
            && !drive.is_crowded()
    }

    /// Returns whether output is waiting to be sent.
    pub(crate) fn has_output(&self) -> bool {
        self.sent < self.output.len() || !self.ready.is_empty()
    }

    /// Reads input at time `now`, and submits the requests to the drive. `floor` is the transport's
    /// cost of each kind of request, and `tag` turns a number into a tag.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        drive: &mut Drive,
        now: Ns,
        floor: impl Fn(transport_cost::Kind) -> transport_cost::CostRange,
        tag: impl Fn(u32) -> u64,
    ) -> ConnectionState {
        if !self.has_room(drive) {
            return ConnectionState::Open;
        }
        let mut patience = SpinWait::default();
        loop {
            let had = self.end - self.begin;
            if had >= self.needs {
                if self.use_up(drive, now, &floor, &tag) == ConnectionState::Closed {
                    return ConnectionState::Closed;
                }
                if !self.has_room(drive) {
                    return ConnectionState::Open;
                }
                continue;
            }
            self.make_room();
            // Read only the rest of a large write, so nothing after it has to be moved.
            let until =
                if self.needs > INPUT_BYTES { self.begin + self.needs } else { self.input.len() };
            match self.socket.read(&mut self.input[self.end..until]) {
                Ok(0) => return ConnectionState::Closed,
                Ok(bytes) => {
                    self.end += bytes;
                    patience = SpinWait::default();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let within_large_write = self.needs > INPUT_BYTES && self.end > self.begin;
                    if !within_large_write || patience.is_over() {
                        return ConnectionState::Open;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return ConnectionState::Closed,
            }
            // Execute requests before reading more: one system call less per request at depth 1.
            if self.end - self.begin >= self.needs {
                let state = self.use_up(drive, now, &floor, &tag);
                if state == ConnectionState::Closed
                    || self.begin == self.end
                    || !self.has_room(drive)
                {
                    return state;
                }
            }
        }
    }

    fn make_room(&mut self) {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
            // The memory of a large write is released when the next one does not need it.
            if self.needs <= INPUT_BYTES && self.input.len() > 16 * INPUT_BYTES {
                self.input.truncate(INPUT_BYTES);
                self.input.shrink_to_fit();
            }
        }
        if self.begin + self.needs > self.input.len() {
            self.input.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
            if self.needs > self.input.len() {
                self.input.resize(self.needs, 0);
            }
        }
    }

    fn use_up(
        &mut self,
        drive: &mut Drive,
        now: Ns,
        floor: &impl Fn(transport_cost::Kind) -> transport_cost::CostRange,
        tag: &impl Fn(u32) -> u64,
    ) -> ConnectionState {
        while self.has_room(drive) {
            let (used, step) =
                self.session.step(&self.input[self.begin..self.end], &mut self.output);
            self.begin += used;
            match step {
                Step::Needs(bytes) => {
                    self.needs = bytes;
                    return ConnectionState::Open;
                }
                Step::Went => {}
                Step::Over => {
                    self.leaving = true;
                    // Options and requests may still need a reply.
                    return if self.asked.count() > 0 || self.has_output() {
                        ConnectionState::Open
                    } else {
                        ConnectionState::Closed
                    };
                }
                Step::Asked(request, data) => {
                    let (offset, bytes, fua) =
                        (request.offset, u64::from(request.bytes), request.fua);
                    let command = match request.kind {
                        Kind::Read => Command::Read { offset, bytes },
                        Kind::Write => Command::Write { offset, data, fua },
                        Kind::WriteZeroes => {
                            Command::Zero { offset, bytes, fua, keeps_space: request.no_hole }
                        }
                        Kind::Trim => Command::Trim { offset, bytes, fua },
                        Kind::Flush => Command::Flush,
                    };
                    let sent_at = self.pace.sent_at(
                        now,
                        floor(way_of(request.kind)),
                        self.asked.count() == 0,
                    );
                    let number = self.asked.insert(request);
                    match drive.submit(sent_at, tag(number), command) {
                        Ok(()) => self.owed_bytes += owed(&request),
                        Err(refused) => {
                            self.asked.remove(number);
                            let error = error_of(&refused, request.kind);
                            self.session.fail(
                                request.cookie,
                                Some(request.kind),
                                error,
                                &mut self.output,
                            );
                        }
                    }
                }
            }
        }
        // Remaining input may be used as soon as there is room again.
        self.needs = 1;
        ConnectionState::Open
    }

    /// Records that a request has finished or failed.
    #[inline]
    pub(crate) fn done(&mut self, number: u32, failed: Option<io::ErrorKind>) {
        self.ready.push_back((number, failed));
    }

    /// Sends pending output, as far as the socket accepts it.
    #[inline]
    pub(crate) fn send(&mut self, drive: &Drive) -> ConnectionState {
        let mut patience = SpinWait::default();
        while self.has_output() {
            self.write_answers(drive);
            match self.socket.write(&self.output[self.sent..]) {
                Ok(0) => return ConnectionState::Closed,
                Ok(bytes) => {
                    self.sent += bytes;
                    patience = SpinWait::default();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let within_large_answer = self.output.len() - self.sent > INPUT_BYTES;
                    if !within_large_answer || patience.is_over() {
                        return ConnectionState::Open;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return ConnectionState::Closed,
            }
            if self.sent == self.output.len() {
                self.output.clear();
                self.sent = 0;
                self.output.shrink_to(OUTPUT_BYTES_KEPT);
            }
        }
        if self.leaving && self.asked.count() == 0 {
            ConnectionState::Closed
        } else {
            ConnectionState::Open
        }
    }

    /// Fills the output until there is enough to send at once. Not all of it, because a dozen large
    /// reads would no longer be in the processor's cache when they are sent.
    #[inline]
    fn write_answers(&mut self, drive: &Drive) {
        while self.output.len() < OUTPUT_BYTES
            && let Some((number, failed)) = self.ready.pop_front()
        {
            let request = self.asked.remove(number);
            self.owed_bytes -= owed(&request);
            if let Some(kind) = failed {
                let error = error_of(&Refused::Image(kind.into()), request.kind);
                self.session.fail(request.cookie, Some(request.kind), error, &mut self.output);
                continue;
            }
            let data = |out: &mut Vec<u8>| {
                drive
                    .fetch(request.offset, request.bytes as usize, out)
                    .map_err(|error| error_of(&error, request.kind))
            };
            self.session.done(&request, &mut self.output, data);
        }
    }
}

fn owed(request: &Request) -> u64 {
    if request.kind == Kind::Read { u64::from(request.bytes) } else { 0 }
}

const fn way_of(kind: Kind) -> transport_cost::Kind {
    match kind {
        Kind::Read => transport_cost::Kind::Read,
        Kind::Write | Kind::WriteZeroes | Kind::Trim => transport_cost::Kind::Write,
        Kind::Flush => transport_cost::Kind::Flush,
    }
}

fn error_of(refused: &Refused, kind: Kind) -> Error {
    match refused {
        Refused::ReadOnly => Error::Permission,
        Refused::BeyondEnd { .. } if matches!(kind, Kind::Write | Kind::WriteZeroes) => {
            Error::NoSpace
        }
        Refused::BeyondEnd { .. } | Refused::Alignment | Refused::DoesNotWear => Error::Invalid,
        Refused::Image(error) if error.kind() == io::ErrorKind::StorageFull => Error::NoSpace,
        Refused::NoPower | Refused::Image(_) => Error::Io,
    }
}
