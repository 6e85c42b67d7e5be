//! An NBD client's socket: what has come, what has to go, and what is under way between.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use simdrive::slab::Slab;
use simdrive::time::Ns;

use crate::drive::{Command, Drive, Refused};
use crate::nbd::session::{Export, Kind, Request, Session, Step};
use crate::nbd::wire::Error;
use crate::serve::floor;
use crate::serve::pace::Pace;
use crate::serve::socket::Socket;

/// What is read at once, except for a write that is larger.
const INPUT_BYTES: usize = 64 << 10;
/// What is sent at once, if there is so much.
const OUTPUT_BYTES: usize = 128 << 10;
/// Memory for answers that is kept for the next ones.
const OUTPUT_BYTES_KEPT: usize = 4 << 20;
/// How long the other side is waited for in the middle of something large.
const PATIENCE_MOST: Duration = Duration::from_micros(50);
/// With so many bytes of answers owed, no more requests are taken: a client that asks and does not listen keeps its requests.
const OWED_BYTES_MOST: u64 = 64 << 20;
/// With so many requests under way, no more are taken.
const UNDER_WAY_MOST: usize = 4096;

/// Waiting for the other side in the middle of something large, which is at it at this moment: falling asleep and being woken up for each part that fits into a socket's buffer takes longer.
#[derive(Debug, Default)]
struct Patience {
    since: Option<Instant>,
}

impl Patience {
    fn is_over(&mut self) -> bool {
        std::thread::yield_now();
        self.since.get_or_insert_with(Instant::now).elapsed() > PATIENCE_MOST
    }
}

/// Whether a connection goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// It does.
    Open,
    /// The client is gone, or said nonsense; nothing can be answered any more.
    Closed,
}

/// One client.
#[derive(Debug)]
pub struct Connection {
    /// The socket.
    pub socket: Socket,
    /// How late its answers are.
    pub pace: Pace,
    session: Session,
    input: Vec<u8>,
    /// What of the input has come and was not used: from here to there.
    begin: usize,
    end: usize,
    /// Bytes that the next step takes.
    needs: usize,
    output: Vec<u8>,
    sent: usize,
    /// What is done and stands not in the output yet.
    ready: VecDeque<(u32, Option<io::ErrorKind>)>,
    asked: Slab<Request>,
    owed_bytes: u64,
    /// It has said that it is done.
    leaving: bool,
}

impl Connection {
    /// A new client, greeted.
    pub fn new(socket: Socket, export: Export) -> Connection {
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

    /// Whether more requests may be taken.
    pub fn has_room(&self, drive: &Drive) -> bool {
        !self.leaving && self.owed_bytes < OWED_BYTES_MOST && self.asked.count() < UNDER_WAY_MOST && !drive.is_crowded()
    }

    /// Whether something waits to be sent.
    pub fn has_output(&self) -> bool {
        self.sent < self.output.len() || !self.ready.is_empty()
    }

    /// Takes what has come, and gives the drive what is asked. It is `now`; `floor` says what the transport costs each kind of
    /// request, and `tag` makes a tag of a number.
    #[inline]
    pub fn receive(
        &mut self,
        drive: &mut Drive,
        now: Ns,
        floor: impl Fn(floor::Kind) -> floor::Cost,
        tag: impl Fn(u32) -> u64,
    ) -> Stands {
        if !self.has_room(drive) {
            return Stands::Open;
        }
        let mut patience = Patience::default();
        loop {
            let had = self.end - self.begin;
            if had >= self.needs {
                if self.use_up(drive, now, &floor, &tag) == Stands::Closed {
                    return Stands::Closed;
                }
                if !self.has_room(drive) {
                    return Stands::Open;
                }
                continue;
            }
            self.make_room();
            // Of a large write just the rest, so that nothing behind it has to be moved.
            let until = if self.needs > INPUT_BYTES { self.begin + self.needs } else { self.input.len() };
            match self.socket.read(&mut self.input[self.end..until]) {
                Ok(0) => return Stands::Closed,
                Ok(bytes) => {
                    self.end += bytes;
                    patience = Patience::default();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let within_large_write = self.needs > INPUT_BYTES && self.end > self.begin;
                    if !within_large_write || patience.is_over() {
                        return Stands::Open;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Stands::Closed,
            }
            // What was asked is carried out before more is fetched: one call less for each request at depth 1.
            if self.end - self.begin >= self.needs {
                let stands = self.use_up(drive, now, &floor, &tag);
                if stands == Stands::Closed || self.begin == self.end || !self.has_room(drive) {
                    return stands;
                }
            }
        }
    }

    fn make_room(&mut self) {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
            // A large write's room is given back when the next one does not need it.
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
        floor: &impl Fn(floor::Kind) -> floor::Cost,
        tag: &impl Fn(u32) -> u64,
    ) -> Stands {
        while self.has_room(drive) {
            let (used, step) = self.session.step(&self.input[self.begin..self.end], &mut self.output);
            self.begin += used;
            match step {
                Step::Needs(bytes) => {
                    self.needs = bytes;
                    return Stands::Open;
                }
                Step::Went => {}
                Step::Over => {
                    self.leaving = true;
                    // Options and requests may still have to be answered.
                    return if self.asked.count() > 0 || self.has_output() { Stands::Open } else { Stands::Closed };
                }
                Step::Asked(request, data) => {
                    let (offset, bytes, fua) = (request.offset, u64::from(request.bytes), request.fua);
                    let command = match request.kind {
                        Kind::Read => Command::Read { offset, bytes },
                        Kind::Write => Command::Write { offset, data, fua },
                        Kind::WriteZeroes => Command::Zero { offset, bytes, fua, keeps_space: request.no_hole },
                        Kind::Trim => Command::Trim { offset, bytes, fua },
                        Kind::Flush => Command::Flush,
                    };
                    let sent_at = self.pace.sent_at(now, floor(way_of(request.kind)), self.asked.count() == 0);
                    let number = self.asked.insert(request);
                    match drive.submit(sent_at, tag(number), command) {
                        Ok(()) => self.owed_bytes += owed(&request),
                        Err(refused) => {
                            self.asked.remove(number);
                            let error = error_of(&refused, request.kind);
                            self.session.fail(request.cookie, Some(request.kind), error, &mut self.output);
                        }
                    }
                }
            }
        }
        // Whatever is at hand may be taken as soon as there is room again.
        self.needs = 1;
        Stands::Open
    }

    /// A request is done, or has failed.
    #[inline]
    pub fn done(&mut self, number: u32, failed: Option<io::ErrorKind>) {
        self.ready.push_back((number, failed));
    }

    /// Sends what there is to send, as far as the socket takes it.
    #[inline]
    pub fn send(&mut self, drive: &Drive) -> Stands {
        let mut patience = Patience::default();
        while self.has_output() {
            self.write_answers(drive);
            match self.socket.write(&self.output[self.sent..]) {
                Ok(0) => return Stands::Closed,
                Ok(bytes) => {
                    self.sent += bytes;
                    patience = Patience::default();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let within_large_answer = self.output.len() - self.sent > INPUT_BYTES;
                    if !within_large_answer || patience.is_over() {
                        return Stands::Open;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Stands::Closed,
            }
            if self.sent == self.output.len() {
                self.output.clear();
                self.sent = 0;
                self.output.shrink_to(OUTPUT_BYTES_KEPT);
            }
        }
        if self.leaving && self.asked.count() == 0 { Stands::Closed } else { Stands::Open }
    }

    /// Puts answers into the output until there is enough to send at once: not all of them, because the memory of a dozen large reads is in no cache any more when it is sent.
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
                drive.fetch(request.offset, request.bytes as usize, out).map_err(|error| error_of(&error, request.kind))
            };
            self.session.done(&request, &mut self.output, data);
        }
    }
}

fn owed(request: &Request) -> u64 {
    if request.kind == Kind::Read { u64::from(request.bytes) } else { 0 }
}

const fn way_of(kind: Kind) -> floor::Kind {
    match kind {
        Kind::Read => floor::Kind::Read,
        Kind::Write | Kind::WriteZeroes | Kind::Trim => floor::Kind::Write,
        Kind::Flush => floor::Kind::Flush,
    }
}

fn error_of(refused: &Refused, kind: Kind) -> Error {
    match refused {
        Refused::ReadOnly => Error::Permission,
        Refused::BeyondEnd { .. } if matches!(kind, Kind::Write | Kind::WriteZeroes) => Error::NoSpace,
        Refused::BeyondEnd { .. } | Refused::Alignment | Refused::DoesNotWear => Error::Invalid,
        Refused::Image(error) if error.kind() == io::ErrorKind::StorageFull => Error::NoSpace,
        Refused::NoPower | Refused::Image(_) => Error::Io,
    }
}
