//! The witness outside the drive's power domain that records acknowledgements: a recorder, a
//! journal on another drive, or none.
//!
//! A separate thread watches the lanes' frontiers and reports what is new, so a commit costs its
//! lane neither a system call nor a round trip.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::VerifyError;
use crate::frontier::{Frontier, Frontiers};
use crate::journal::Journal;
use crate::lease;
use crate::ledger::Ledger;
use crate::message::{Framed, GREETING, Message, Proposal, frame, unframe};
use crate::outcome::Standing;
use crate::record::SEQ_MAX;
use crate::run_header::RunHeader;

/// A recorder that is silent for this long is gone. It sends a message every second.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Time for a recorder to answer a call.
const ANSWER_MAX: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub enum Witness {
    /// No witness: only obligations that surviving records prove count.
    Nobody,
    /// A journal on another drive of this machine.
    Journal {
        journal: Journal,
        /// Start of the journal's clock.
        begun: Instant,
        /// The present lease of each lane.
        leases: Vec<u64>,
    },
    /// A recorder that has agreed to the run, and will be called when it begins.
    Reachable(String),
    /// A recorder that receives acknowledgements.
    Recorder(Connection),
}

/// A connection to a recorder, after the greeting.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    address: String,
    begun: Instant,
    gone: Arc<AtomicBool>,
}

impl Witness {
    /// Opens a journal, which may contain earlier runs on the same drive.
    ///
    /// # Errors
    /// If it cannot be written, is about another drive, or contains an unjudged run that must not
    /// be abandoned.
    pub fn journal(path: &Path, drive: &str, abandon: bool) -> Result<Witness, VerifyError> {
        let (journal, before) = Journal::open(path)?;
        let then = before.ledger.cycles.last().map(|cycle| cycle.run.circumstances.drive.clone());
        if let Some(then) = then.filter(|then| then != drive) {
            return Err(VerifyError::JournalOfOtherDrive {
                path: path.to_owned(),
                then,
                now: drive.to_owned(),
            });
        }
        if let Some(run_id) = before.ledger.unjudged().filter(|_| !abandon) {
            return Err(VerifyError::Unjudged { run_id });
        }
        Ok(Witness::Journal { journal, begun: Instant::now(), leases: Vec::new() })
    }

    /// Asks a recorder whether a run may begin. Done before the target is filled, because that
    /// takes minutes and destroys the evidence of the previous run. The connection is closed
    /// meanwhile.
    pub fn recorder(address: &str, proposal: Proposal) -> Result<Witness, VerifyError> {
        let mut inquiry = Inquiry::call(address)?;
        inquiry.send(&Message::MayWrite(proposal))?;
        while inquiry.receive()? != Message::Complete {}
        Ok(Witness::Reachable(address.to_owned()))
    }

    /// Announces a run that begins, and gives every lane its first lease. From then on, a
    /// recorder's leases reach `frontiers` directly.
    pub fn begin(
        &mut self,
        run: &RunHeader,
        frontiers: &Arc<Frontiers>,
    ) -> Result<(), VerifyError> {
        let lanes = run.geometry.lanes();
        if let Witness::Reachable(address) = self {
            let (stream, address) = (call(address)?, std::mem::take(address));
            let gone = Arc::new(AtomicBool::new(false));
            *self = Witness::Recorder(Connection { stream, address, begun: Instant::now(), gone });
        }
        match self {
            Witness::Nobody | Witness::Reachable(_) => {
                (0..lanes).for_each(|lane| frontiers.extend(lane, SEQ_MAX));
            }
            Witness::Journal { journal, begun, leases } => {
                let first = lease::first(lanes);
                *leases = vec![lease::AHEAD; usize::from(lanes)];
                let at_us = micros(*begun);
                journal
                    .add(at_us, &Message::Begin(Box::new(run.clone())))
                    .and_then(|()| journal.add(at_us, &Message::Lease(first.clone())))
                    .and_then(|()| journal.sync())
                    .map_err(VerifyError::call("write the journal", journal.path()))?;
                first.iter().for_each(|&(lane, seq)| frontiers.extend(lane, seq));
            }
            Witness::Recorder(connection) => connection.begin(run, frontiers)?,
        }
        Ok(())
    }

    /// Reports how far lanes are.
    ///
    /// # Errors
    /// If that fails; nothing more may be acknowledged then.
    pub fn acknowledge(
        &mut self,
        news: &[(u16, Frontier)],
        frontiers: &Frontiers,
    ) -> Result<(), VerifyError> {
        match self {
            Witness::Nobody | Witness::Reachable(_) => Ok(()),
            Witness::Journal { journal, begun, leases } => {
                let at_us = micros(*begun);
                let due = lease::due(news, leases);
                let mut add = || {
                    journal.add(at_us, &Message::Acknowledge(news.to_vec()))?;
                    if !due.is_empty() {
                        journal.add(at_us, &Message::Lease(due.clone()))?;
                    }
                    journal.sync()
                };
                add().map_err(VerifyError::call("write the journal", journal.path()))?;
                // Only now, because the journal has it.
                for (lane, seq) in due {
                    leases[usize::from(lane)] = seq;
                    frontiers.extend(lane, seq);
                }
                Ok(())
            }
            Witness::Recorder(connection) => connection.send(&Message::Acknowledge(news.to_vec())),
        }
    }

    /// Reports anything else.
    pub fn send(&mut self, message: &Message) -> Result<(), VerifyError> {
        match self {
            Witness::Nobody | Witness::Reachable(_) => Ok(()),
            Witness::Journal { journal, begun, .. } => {
                let at_us = micros(*begun);
                journal
                    .add(at_us, message)
                    .map_err(VerifyError::call("write the journal", journal.path()))
            }
            Witness::Recorder(connection) => connection.send(message),
        }
    }

    /// Makes sure that everything was received, and releases the witness.
    pub fn end(&mut self) -> Result<(), VerifyError> {
        match self {
            Witness::Nobody | Witness::Reachable(_) => Ok(()),
            Witness::Journal { journal, .. } => {
                journal.sync().map_err(VerifyError::call("sync the journal", journal.path()))
            }
            Witness::Recorder(connection) => {
                // The recorder closes the connection when it has received everything.
                let _ = connection.stream.shutdown(Shutdown::Write);
                Ok(())
            }
        }
    }

    /// Returns whether the recorder disconnected.
    pub fn is_gone(&self) -> bool {
        matches!(self, Witness::Recorder(connection) if connection.gone.load(Ordering::Acquire))
    }

    /// The error to report if the recorder disconnected.
    pub fn gone(&self) -> Option<VerifyError> {
        match self {
            Witness::Recorder(connection) if self.is_gone() => Some(VerifyError::RecorderGone {
                address: connection.address.clone(),
                cause: io::Error::new(
                    io::ErrorKind::ConnectionAborted,
                    "it closed the connection or fell silent",
                ),
            }),
            _ => None,
        }
    }
}

fn micros(begun: Instant) -> u64 {
    begun.elapsed().as_micros() as u64
}

/// Opens a connection to a recorder and sends the greeting.
fn call(address: &str) -> Result<TcpStream, VerifyError> {
    let unreachable =
        |cause| VerifyError::Unreachable { address: address.to_owned(), cause: closed(cause) };
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for candidate in address.to_socket_addrs().map_err(unreachable)? {
        match TcpStream::connect_timeout(&candidate, ANSWER_MAX) {
            Ok(mut stream) => {
                let greet = || {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(ANSWER_MAX))?;
                    stream.set_write_timeout(Some(SILENCE_MAX))?;
                    stream.write_all(&GREETING)
                };
                return { greet }().map(|()| stream).map_err(unreachable);
            }
            Err(error) => last = error,
        }
    }
    Err(unreachable(last))
}

impl Connection {
    fn begin(&mut self, run: &RunHeader, frontiers: &Arc<Frontiers>) -> Result<(), VerifyError> {
        self.send(&Message::Begin(Box::new(run.clone())))?;
        let mut reader =
            MessageReader::new(self.stream.try_clone().map_err(|source| self.lost(source))?);
        loop {
            match reader.read().map_err(|source| self.lost(source))? {
                Message::Lease(lanes) => {
                    lanes.iter().for_each(|&(lane, seq)| extend(frontiers, lane, seq, run));
                    break;
                }
                Message::Refused(sentence) => {
                    return Err(VerifyError::RecorderRefuses {
                        address: self.address.clone(),
                        sentence,
                    });
                }
                _ => {}
            }
        }
        let _ = self.stream.set_read_timeout(Some(SILENCE_MAX));
        let (gone, frontiers, run) = (Arc::clone(&self.gone), Arc::clone(frontiers), run.clone());
        let listen = move || {
            while let Ok(message) = reader.read() {
                if let Message::Lease(lanes) = message {
                    lanes.iter().for_each(|&(lane, seq)| extend(&frontiers, lane, seq, &run));
                }
            }
            gone.store(true, Ordering::Release);
        };
        let started = std::thread::Builder::new().name("leases".to_owned()).spawn(listen);
        started.map(drop).map_err(|source| self.lost(source))
    }

    fn send(&mut self, message: &Message) -> Result<(), VerifyError> {
        let bytes = frame(micros(self.begun), message);
        self.stream.write_all(&bytes).map_err(|source| self.lost(source))
    }

    fn lost(&self, source: io::Error) -> VerifyError {
        VerifyError::RecorderGone { address: self.address.clone(), cause: closed(source) }
    }
}

/// Rewords errors of a broken connection. Elsewhere, a broken pipe means that the reader of stdout
/// has seen enough, which is a success.
fn closed(source: io::Error) -> io::Error {
    match source.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
            io::Error::new(io::ErrorKind::ConnectionAborted, "it closed the connection")
        }
        _ => source,
    }
}

/// Extends a lease. Data from the network may name lanes that do not exist.
fn extend(frontiers: &Frontiers, lane: u16, seq: u64, run: &RunHeader) {
    if lane < run.geometry.lanes() {
        frontiers.extend(lane, seq);
    }
}

#[derive(Debug)]
pub(crate) struct MessageReader {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl MessageReader {
    /// A reader for a connection after the greeting.
    pub(crate) fn new(stream: TcpStream) -> MessageReader {
        MessageReader { stream, buffer: Vec::new() }
    }

    /// Waits for the next message.
    pub(crate) fn read(&mut self) -> io::Result<Message> {
        let mut piece = [0; 4096];
        loop {
            match unframe(&self.buffer) {
                Framed::Whole(_, message, bytes) => {
                    self.buffer.drain(..bytes);
                    return Ok(message);
                }
                Framed::Nonsense(malformed) => {
                    return Err(io::Error::new(io::ErrorKind::InvalidData, malformed));
                }
                Framed::Partial => match self.stream.read(&mut piece) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(count) => self.buffer.extend_from_slice(&piece[..count]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                },
            }
        }
    }
}

/// A checker's connection to a recorder.
#[derive(Debug)]
pub(crate) struct Inquiry {
    stream: TcpStream,
    reader: MessageReader,
    address: String,
}

impl Inquiry {
    fn call(address: &str) -> Result<Inquiry, VerifyError> {
        let stream = call(address)?;
        let gone =
            |cause| VerifyError::BrokenOff { address: address.to_owned(), cause: closed(cause) };
        let reader = MessageReader::new(stream.try_clone().map_err(gone)?);
        Ok(Inquiry { stream, reader, address: address.to_owned() })
    }

    /// Connects to a recorder and fetches what it recorded of its latest run.
    pub(crate) fn fetch(address: &str) -> Result<(Inquiry, Ledger), VerifyError> {
        let mut inquiry = Inquiry::call(address)?;
        inquiry.send(&Message::Fetch)?;
        let mut ledger = Ledger::default();
        loop {
            match inquiry.receive()? {
                Message::Entry { at_us, message } => {
                    ledger.apply(at_us, &message).map_err(|what| {
                        VerifyError::JournalContradicts {
                            path: Path::new(address).to_owned(),
                            what: what.0,
                        }
                    })?;
                }
                Message::Complete => return Ok((inquiry, ledger)),
                _ => {}
            }
        }
    }

    /// Sends the verdict, and returns the counts of all cycles.
    pub(crate) fn judge(&mut self, outcome: &Message) -> Result<Standing, VerifyError> {
        self.send(outcome)?;
        loop {
            if let Message::Standing(standing) = self.receive()? {
                return Ok(standing);
            }
        }
    }

    fn send(&mut self, message: &Message) -> Result<(), VerifyError> {
        let lost =
            |cause| VerifyError::BrokenOff { address: self.address.clone(), cause: closed(cause) };
        self.stream.write_all(&frame(0, message)).map_err(lost)
    }

    fn receive(&mut self) -> Result<Message, VerifyError> {
        match self.reader.read() {
            Ok(Message::Refused(sentence)) => {
                Err(VerifyError::RecorderRefuses { address: self.address.clone(), sentence })
            }
            Ok(message) => Ok(message),
            Err(source) => {
                Err(VerifyError::BrokenOff { address: self.address.clone(), cause: closed(source) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_pipe_to_a_recorder_is_not_reported_as_one() {
        let source = closed(io::ErrorKind::BrokenPipe.into());
        assert_ne!(source.kind(), io::ErrorKind::BrokenPipe);
        let error = VerifyError::RecorderGone { address: "r:5401".to_owned(), cause: source };
        insta::assert_snapshot!(error, @"lost the recorder at r:5401 (it closed the connection); writing stopped, and what it did not receive creates no obligation");
    }
}
