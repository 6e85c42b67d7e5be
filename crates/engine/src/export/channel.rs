//! A connection with many requests in flight.
//!
//! Prepared requests leave in one system call, headers and data gathered from where they are.
//! Replies arrive in any order; one call receives as many as there are. The data of small reads
//! passes through the input buffer, which costs a copy and saves a call for each reply; that of
//! large ones is received into its block.
//!
//! Sending never blocks: a server that waits for its replies to be read does not read requests.

use std::collections::VecDeque;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::time::{Duration, Instant};

use nbd::wire::{Error, REQUEST_BYTES, RequestHeader, SIMPLE_REPLY_BYTES, SimpleReply, command};
use nbd::{Connection, NbdError, Violation};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::queue::Completion;

/// Longest wait for a server that sends nothing, twice as long as the kernel waits for a drive
/// (`SD_TIMEOUT`).
const SILENCE_MAX: Duration = Duration::from_mins(1);
/// Blocks up to this size pass through the input buffer.
const COPIED_BYTES_MAX: u32 = 32 << 10;
/// The input buffer for them: room for 32 replies with 4 KiB, and small enough for the second-level
/// cache.
const INPUT_BYTES: usize = 192 << 10;
/// The input buffer for larger blocks: many replies without data, and little to copy of one with
/// data.
const SMALL_INPUT_BYTES: usize = 4 << 10;
/// Most parts of one message (`UIO_MAXIOV`).
const PARTS_MAX: usize = 1024;

/// A request of a slot.
#[derive(Debug, Clone, Copy, Default)]
struct Slot {
    cookie: u64,
    /// The request is in flight.
    is_busy: bool,
    /// The reply is followed by data.
    reads: bool,
    bytes: u32,
    /// The address of the block.
    address: u64,
    /// Bytes sent on this connection up to the end of this request.
    sent_at: u64,
}

/// The state of one job's connection.
#[derive(Debug)]
pub struct Channel {
    connection: Connection,
    /// The last one belongs to [`Channel::perform`].
    slots: Vec<Slot>,
    /// A ring of headers; at most one per slot is waiting to be sent.
    headers: Box<[[u8; REQUEST_BYTES]]>,
    next_header: usize,
    cookies: u32,
    /// The parts of the requests to send, from `first_part` on.
    parts: Vec<libc::iovec>,
    first_part: usize,
    pushed_bytes: u64,
    sent_bytes: u64,
    input: Box<[u8]>,
    begin: usize,
    end: usize,
    /// The slot whose data is arriving, and how much of it has arrived.
    arriving: Option<(u32, u32)>,
    completed: VecDeque<Completion>,
    /// The result of the request of [`Channel::perform`].
    performed: Option<Result<usize, Errno>>,
    problem: Option<NbdError>,
    silence_max: Duration,
}

/// A request for a slot.
#[derive(Debug, Clone, Copy)]
pub struct SlotRequest {
    /// One of [`command`].
    pub command: u16,
    /// A set of [`nbd::wire::command_flag`].
    pub flags: u16,
    pub offset: u64,
    pub bytes: u32,
    /// The address of the block that is written or read.
    pub address: u64,
}

impl Channel {
    /// `slots` requests of at most `block_bytes` can be in flight.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn new(connection: Connection, slots: u32, block_bytes: u32) -> Result<Channel, Errno> {
        Channel::with_silence(connection, slots, block_bytes, SILENCE_MAX)
    }

    fn with_silence(
        connection: Connection,
        slots: u32,
        block_bytes: u32,
        silence_max: Duration,
    ) -> Result<Channel, Errno> {
        let failed = |error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        connection.limit_silence(silence_max).map_err(failed)?;
        let all = slots as usize + 1;
        let small = block_bytes <= COPIED_BYTES_MAX;
        let input_bytes = if small { INPUT_BYTES } else { SMALL_INPUT_BYTES };
        Ok(Channel {
            connection,
            slots: vec![Slot::default(); all],
            headers: vec![[0; REQUEST_BYTES]; all].into_boxed_slice(),
            next_header: 0,
            cookies: 0,
            parts: Vec::with_capacity(2 * all),
            first_part: 0,
            pushed_bytes: 0,
            sent_bytes: 0,
            input: vec![0; input_bytes].into_boxed_slice(),
            begin: 0,
            end: 0,
            arriving: None,
            completed: VecDeque::with_capacity(all),
            performed: None,
            problem: None,
            silence_max,
        })
    }

    /// Why the connection cannot be used any more. The channel must not be used afterwards.
    pub fn take_problem(&mut self) -> Option<NbdError> {
        let problem = self.problem.take();
        if problem.is_some() {
            self.connection.abandon();
        }
        problem
    }

    /// The connection, if nothing is in flight.
    pub fn into_idle(mut self) -> Option<Connection> {
        let is_idle = !self.has_output()
            && self.begin == self.end
            && self.slots.iter().all(|slot| !slot.is_busy);
        if !is_idle {
            self.connection.abandon();
        }
        is_idle.then_some(self.connection)
    }

    const fn has_output(&self) -> bool {
        self.first_part < self.parts.len()
    }

    /// Prepares a request of a slot without one in flight. Sent by the next wait.
    ///
    /// # Safety
    /// Until the slot's completion or the first error, the block at the request's address is valid
    /// for reads and writes of its size, and not accessed otherwise.
    #[inline]
    #[expect(unsafe_code, reason = "the block is accessed later, by its address")]
    pub unsafe fn push(&mut self, slot: u32, request: SlotRequest) {
        let SlotRequest { command, flags, offset, bytes, address } = request;
        self.cookies = self.cookies.wrapping_add(1);
        let cookie = u64::from(self.cookies) << 32 | u64::from(slot);
        let header = &mut self.headers[self.next_header];
        *header = RequestHeader { flags, command, cookie, offset, bytes }.to_bytes();
        let header = header.as_mut_ptr();
        self.next_header = (self.next_header + 1) % self.headers.len();
        match self.parts.last_mut() {
            // Headers without data in between are adjacent.
            Some(last) if last.iov_base as usize + last.iov_len == header as usize => {
                last.iov_len += REQUEST_BYTES;
            }
            _ => self.parts.push(libc::iovec { iov_base: header.cast(), iov_len: REQUEST_BYTES }),
        }
        self.pushed_bytes += REQUEST_BYTES as u64;
        if command == command::WRITE {
            let iov_base = address as *mut libc::c_void;
            self.parts.push(libc::iovec { iov_base, iov_len: bytes as usize });
            self.pushed_bytes += u64::from(bytes);
        }
        let (reads, sent_at) = (command == command::READ, self.pushed_bytes);
        self.slots[slot as usize] = Slot { cookie, is_busy: true, reads, bytes, address, sent_at };
    }

    /// Sends a request and waits for its reply; others may complete meanwhile. Returns the bytes
    /// transferred.
    ///
    /// # Errors
    /// The server's, or that the connection is broken ([`Channel::take_problem`]).
    ///
    /// # Safety
    /// The block at the request's address is valid for reads and writes of its size.
    #[expect(unsafe_code, reason = "passes the address on")]
    pub unsafe fn perform(&mut self, request: SlotRequest) -> Result<usize, Errno> {
        self.expect_usable()?;
        let own = self.slots.len() as u32 - 1;
        self.performed = None;
        // SAFETY: valid until this call returns, which is after its completion or an error.
        unsafe { self.push(own, request) };
        loop {
            self.exchange(None)?;
            if let Some(performed) = self.performed.take() {
                return performed;
            }
        }
    }

    /// Sends prepared requests, and waits for `least` completions or the timeout.
    ///
    /// # Errors
    /// `EPROTO` if the connection is broken ([`Channel::take_problem`]).
    pub fn submit_and_wait(&mut self, least: u32, timeout: Option<Duration>) -> Result<(), Errno> {
        self.expect_usable()?;
        let until = timeout.map(|timeout| Instant::now() + timeout);
        loop {
            if self.has_output() {
                self.send()?;
            }
            let is_sent = !self.has_output();
            if is_sent && self.completed.len() >= least as usize {
                return Ok(());
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(());
            }
            if self.wait_and_receive(left)? == Woken::Signal {
                return Ok(());
            }
        }
    }

    pub fn next_completion(&mut self) -> Option<Completion> {
        self.completed.pop_front()
    }

    const fn expect_usable(&self) -> Result<(), Errno> {
        if self.problem.is_some() { Err(Errno::PROTO) } else { Ok(()) }
    }

    /// Sends and receives once.
    fn exchange(&mut self, timeout: Option<Duration>) -> Result<(), Errno> {
        if self.has_output() {
            self.send()?;
        }
        self.wait_and_receive(timeout).map(drop)
    }

    /// Ends the use of the connection.
    #[cold]
    fn fail(&mut self, problem: NbdError) -> Errno {
        self.problem.get_or_insert(problem);
        Errno::PROTO
    }

    #[cold]
    fn fail_by(&mut self, errno: Errno) -> Errno {
        match errno {
            Errno::PIPE | Errno::CONNRESET => self.fail(Violation::Closed.into()),
            errno => self.fail(NbdError::Io(errno.into())),
        }
    }

    #[cold]
    fn silent(&mut self) -> Errno {
        self.fail(Violation::Silent(self.silence_max.as_secs()).into())
    }

    /// Waits until something can be received, and receives and processes it. While requests are
    /// waiting to be sent, it also returns when there is room for them.
    #[inline]
    fn wait_and_receive(&mut self, timeout: Option<Duration>) -> Result<Woken, Errno> {
        if self.has_output() || timeout.is_some() {
            let wanted = if self.has_output() { PollFlags::OUT } else { PollFlags::empty() };
            let time = timeout.unwrap_or(self.silence_max).min(self.silence_max);
            let time =
                Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
            let mut sockets =
                [PollFd::from_borrowed_fd(self.connection.as_fd(), PollFlags::IN | wanted)];
            match poll(&mut sockets, Some(&time)) {
                Ok(0) if timeout.is_some_and(|timeout| timeout < self.silence_max) => {
                    return Ok(Woken::Timeout);
                }
                Ok(0) => return Err(self.silent()),
                Ok(_) => {
                    let can_receive = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
                    if !sockets[0].revents().intersects(can_receive) {
                        return Ok(Woken::Data);
                    }
                }
                Err(Errno::INTR) => return Ok(Woken::Signal),
                Err(errno) => return Err(self.fail_by(errno)),
            }
        }
        match self.receive() {
            Ok(0) => return Err(self.fail(Violation::Closed.into())),
            Ok(bytes) => self.take(bytes)?,
            Err(Errno::INTR) => return Ok(Woken::Signal),
            Err(Errno::AGAIN) => return Err(self.silent()),
            Err(errno) => return Err(self.fail_by(errno)),
        }
        Ok(Woken::Data)
    }

    /// Sends as much as the socket accepts.
    #[expect(unsafe_code, reason = "gathers headers and blocks by their addresses")]
    fn send(&mut self) -> Result<(), Errno> {
        while self.has_output() {
            let parts = &mut self.parts[self.first_part..];
            // SAFETY: all zeros is a valid message without a name and control data.
            let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
            message.msg_iov = parts.as_mut_ptr();
            message.msg_iovlen = parts.len().min(PARTS_MAX);
            let socket = self.connection.as_fd().as_raw_fd();
            // SAFETY: the parts are headers, which are not reused before they are sent because
            // there is one for each slot, and blocks, which are valid by the contract of `push`.
            let sent = unsafe {
                libc::sendmsg(socket, &raw const message, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
            };
            match checked(sent) {
                Ok(sent) => self.note_sent(sent),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(errno) => return Err(self.fail_by(errno)),
            }
        }
        Ok(())
    }

    #[expect(unsafe_code, reason = "moves the start of a part")]
    fn note_sent(&mut self, sent: usize) {
        self.sent_bytes += sent as u64;
        let mut left = sent;
        while let Some(part) = self.parts.get_mut(self.first_part) {
            if left < part.iov_len {
                // SAFETY: within the part.
                part.iov_base = unsafe { part.iov_base.byte_add(left) };
                part.iov_len -= left;
                return;
            }
            left -= part.iov_len;
            self.first_part += 1;
        }
        self.parts.clear();
        self.first_part = 0;
    }

    /// Receives into the rest of a large block and the input buffer.
    #[expect(unsafe_code, reason = "receives into a block by its address")]
    fn receive(&mut self) -> Result<usize, Errno> {
        let socket = self.connection.as_fd().as_raw_fd();
        let input = &mut self.input[self.end..];
        let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 2];
        let mut count = 0;
        if let Some((slot, arrived)) = self.arriving {
            let slot = &self.slots[slot as usize];
            let iov_base = (slot.address + u64::from(arrived)) as *mut libc::c_void;
            parts[0] = libc::iovec { iov_base, iov_len: (slot.bytes - arrived) as usize };
            count = 1;
        }
        parts[count] = libc::iovec { iov_base: input.as_mut_ptr().cast(), iov_len: input.len() };
        // SAFETY: the input buffer is borrowed; the block is valid by the contract of `push`, and
        // the rest of it is as long as the part.
        checked(unsafe { libc::readv(socket, parts.as_ptr(), count as i32 + 1) })
    }

    /// Processes received bytes.
    #[inline]
    fn take(&mut self, bytes: usize) -> Result<(), Errno> {
        let mut bytes = bytes;
        if let Some((slot, arrived)) = self.arriving {
            let rest = self.slots[slot as usize].bytes - arrived;
            let direct = bytes.min(rest as usize);
            bytes -= direct;
            if direct < rest as usize {
                self.arriving = Some((slot, arrived + direct as u32));
                return Ok(());
            }
            self.arriving = None;
            self.complete(slot, Ok(self.slots[slot as usize].bytes as usize));
        }
        self.end += bytes;
        while let Some(header) =
            self.input[self.begin..self.end].first_chunk::<SIMPLE_REPLY_BYTES>()
        {
            let Some(reply) = SimpleReply::from_bytes(header) else {
                return Err(self.fail(Violation::ReplyMagic.into()));
            };
            self.begin += SIMPLE_REPLY_BYTES;
            let number = reply.cookie as u32;
            let slot = self.slots.get(number as usize).copied().filter(|slot| {
                slot.is_busy && slot.cookie == reply.cookie && slot.sent_at <= self.sent_bytes
            });
            let Some(slot) = slot else {
                return Err(self.fail(Violation::ReplyCookie.into()));
            };
            if reply.error != 0 {
                self.complete(number, Err(errno_of(Error::of(reply.error))));
            } else if slot.reads {
                self.take_data(number, slot);
            } else {
                self.complete(number, Ok(slot.bytes as usize));
            }
        }
        // The rest is the beginning of a header.
        self.input.copy_within(self.begin..self.end, 0);
        self.end -= self.begin;
        self.begin = 0;
        Ok(())
    }

    /// Copies what has arrived of a read's data.
    #[inline]
    #[expect(unsafe_code, reason = "copies into a block by its address")]
    fn take_data(&mut self, number: u32, slot: Slot) {
        let there = &self.input[self.begin..self.end];
        let there = &there[..there.len().min(slot.bytes as usize)];
        // SAFETY: the block is valid by the contract of `push`, at least as long, and no part of
        // the input buffer.
        unsafe {
            std::ptr::copy_nonoverlapping(there.as_ptr(), slot.address as *mut u8, there.len());
        }
        self.begin += there.len();
        if there.len() == slot.bytes as usize {
            self.complete(number, Ok(there.len()));
        } else {
            self.arriving = Some((number, there.len() as u32));
        }
    }

    #[inline]
    fn complete(&mut self, number: u32, moved: Result<usize, Errno>) {
        self.slots[number as usize].is_busy = false;
        if number as usize == self.slots.len() - 1 {
            self.performed = Some(moved);
        } else {
            self.completed.push_back(Completion { slot: number, linked_sync: false, moved });
        }
    }
}

/// The end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Woken {
    Data,
    Signal,
    Timeout,
}

/// Converts a system call's return value.
fn checked(answer: isize) -> Result<usize, Errno> {
    usize::try_from(answer)
        .map_err(|_| Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

/// The system's number of a server's error.
const fn errno_of(error: Error) -> Errno {
    match error {
        Error::Permission => Errno::PERM,
        Error::Io => Errno::IO,
        Error::NoMemory => Errno::NOMEM,
        Error::Invalid => Errno::INVAL,
        Error::NoSpace => Errno::NOSPC,
        Error::Overflow => Errno::OVERFLOW,
        Error::Unsupported => Errno::OPNOTSUPP,
        Error::Shutdown => Errno::SHUTDOWN,
    }
}

#[cfg(test)]
mod tests;
