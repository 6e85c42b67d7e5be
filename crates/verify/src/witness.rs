//! Who outside the drive's power hears what was acknowledged: a recorder, a journal on another drive, or nobody.
//!
//! A thread of its own looks at the lanes' frontiers and passes on what is new, so that a commit costs its lane no system call and no round trip.

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

/// A recorder that says nothing for so long is gone. It beats every second.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// What a recorder is given to answer when it is called.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Somebody who hears.
#[derive(Debug)]
pub enum Witness {
    /// Nobody: the media have to speak for themselves.
    Nobody,
    /// A journal on another drive of this machine.
    Journal {
        /// The file.
        journal: Journal,
        /// Moments are counted from here.
        begun: Instant,
        /// What each lane has.
        leases: Vec<u64>,
    },
    /// A recorder that answers, and will be called when the run begins.
    Reachable(String),
    /// A recorder that hears.
    Recorder(Connection),
}

/// A connection to a recorder, beyond its beginning.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    address: String,
    begun: Instant,
    gone: Arc<AtomicBool>,
}

impl Witness {
    /// A journal, which may hold earlier runs on the same drive.
    ///
    /// # Errors
    /// When it cannot be written, is about another drive, or holds a run that nobody judged, unless that may be abandoned.
    pub fn journal(path: &Path, drive: &str, abandon: bool) -> Result<Witness, VerifyError> {
        let (journal, before) = Journal::open(path)?;
        let then = before.ledger.cycles.last().map(|cycle| cycle.run.circumstances.drive.clone());
        if let Some(then) = then.filter(|then| then != drive) {
            return Err(VerifyError::JournalOfOtherDrive { path: path.to_owned(), then, now: drive.to_owned() });
        }
        if let Some(run_id) = before.ledger.unjudged().filter(|_| !abandon) {
            return Err(VerifyError::Unjudged { run_id });
        }
        Ok(Witness::Journal { journal, begun: Instant::now(), leases: Vec::new() })
    }

    /// Asks a recorder whether a run may begin, before a target is filled: that takes minutes, and the evidence of the run before. It is not kept on the line meanwhile.
    ///
    /// # Errors
    /// When it does not answer, or does not want it.
    pub fn recorder(address: &str, proposal: Proposal) -> Result<Witness, VerifyError> {
        let mut inquiry = Inquiry::call(address)?;
        inquiry.say(&Message::MayWrite(proposal))?;
        while inquiry.hear()? != Message::Complete {}
        Ok(Witness::Reachable(address.to_owned()))
    }

    /// Tells of a run that begins, and gives every lane its first lease. From now on, leases of a recorder reach `frontiers` by themselves.
    ///
    /// # Errors
    /// When it was not heard, or is not wanted.
    pub fn begin(&mut self, run: &RunHeader, frontiers: &Arc<Frontiers>) -> Result<(), VerifyError> {
        let lanes = run.geometry.lanes();
        if let Witness::Reachable(address) = self {
            let (stream, address) = (call(address)?, std::mem::take(address));
            let gone = Arc::new(AtomicBool::new(false));
            *self = Witness::Recorder(Connection { stream, address, begun: Instant::now(), gone });
        }
        match self {
            Witness::Nobody | Witness::Reachable(_) => (0..lanes).for_each(|lane| frontiers.extend(lane, SEQ_MAX)),
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

    /// Passes on how far lanes are.
    ///
    /// # Errors
    /// When it was not heard; nothing may be claimed from now on.
    pub fn acknowledge(&mut self, news: &[(u16, Frontier)], frontiers: &Frontiers) -> Result<(), VerifyError> {
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
                // Only now that the journal will remember it.
                for (lane, seq) in due {
                    leases[usize::from(lane)] = seq;
                    frontiers.extend(lane, seq);
                }
                Ok(())
            }
            Witness::Recorder(connection) => connection.say(&Message::Acknowledge(news.to_vec())),
        }
    }

    /// Passes on anything else.
    ///
    /// # Errors
    /// When it was not heard.
    pub fn say(&mut self, message: &Message) -> Result<(), VerifyError> {
        match self {
            Witness::Nobody | Witness::Reachable(_) => Ok(()),
            Witness::Journal { journal, begun, .. } => {
                let at_us = micros(*begun);
                journal.add(at_us, message).map_err(VerifyError::call("write the journal", journal.path()))
            }
            Witness::Recorder(connection) => connection.say(message),
        }
    }

    /// Makes sure that all of it was heard, and lets the witness go.
    ///
    /// # Errors
    /// When it was not.
    pub fn end(&mut self) -> Result<(), VerifyError> {
        match self {
            Witness::Nobody | Witness::Reachable(_) => Ok(()),
            Witness::Journal { journal, .. } => {
                journal.sync().map_err(VerifyError::call("sync the journal", journal.path()))
            }
            Witness::Recorder(connection) => {
                // The recorder closes when it has heard the end.
                let _ = connection.stream.shutdown(Shutdown::Write);
                Ok(())
            }
        }
    }

    /// Whether it went away by itself.
    pub fn is_gone(&self) -> bool {
        matches!(self, Witness::Recorder(connection) if connection.gone.load(Ordering::Acquire))
    }

    /// What to say when it went away.
    pub fn gone(&self) -> Option<VerifyError> {
        match self {
            Witness::Recorder(connection) if self.is_gone() => Some(VerifyError::RecorderGone {
                address: connection.address.clone(),
                cause: io::Error::new(io::ErrorKind::ConnectionAborted, "it closed the connection, or fell silent"),
            }),
            _ => None,
        }
    }
}

fn micros(begun: Instant) -> u64 {
    begun.elapsed().as_micros() as u64
}

/// Opens a connection to a recorder and greets it.
fn call(address: &str) -> Result<TcpStream, VerifyError> {
    let unreachable = |cause| VerifyError::Unreachable { address: address.to_owned(), cause: closed(cause) };
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
        self.say(&Message::Begin(Box::new(run.clone())))?;
        let mut ear = Ear::new(self.stream.try_clone().map_err(|source| self.lost(source))?);
        loop {
            match ear.hear().map_err(|source| self.lost(source))? {
                Message::Lease(lanes) => {
                    lanes.iter().for_each(|&(lane, seq)| extend(frontiers, lane, seq, run));
                    break;
                }
                Message::Refused(sentence) => {
                    return Err(VerifyError::RecorderRefuses { address: self.address.clone(), sentence });
                }
                _ => {}
            }
        }
        let _ = self.stream.set_read_timeout(Some(SILENCE_MAX));
        let (gone, frontiers, run) = (Arc::clone(&self.gone), Arc::clone(frontiers), run.clone());
        let listen = move || {
            while let Ok(message) = ear.hear() {
                if let Message::Lease(lanes) = message {
                    lanes.iter().for_each(|&(lane, seq)| extend(&frontiers, lane, seq, &run));
                }
            }
            gone.store(true, Ordering::Release);
        };
        let started = std::thread::Builder::new().name("leases".to_owned()).spawn(listen);
        started.map(drop).map_err(|source| self.lost(source))
    }

    fn say(&mut self, message: &Message) -> Result<(), VerifyError> {
        let bytes = frame(micros(self.begun), message);
        self.stream.write_all(&bytes).map_err(|source| self.lost(source))
    }

    fn lost(&self, source: io::Error) -> VerifyError {
        VerifyError::RecorderGone { address: self.address.clone(), cause: closed(source) }
    }
}

/// A connection that broke. A broken pipe is said in other words: elsewhere it means that a reader of stdout has seen enough, which is a success.
fn closed(source: io::Error) -> io::Error {
    match source.kind() {
        io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof => {
            io::Error::new(io::ErrorKind::ConnectionAborted, "it closed the connection")
        }
        _ => source,
    }
}

/// What comes from a network may name lanes that there are not.
fn extend(frontiers: &Frontiers, lane: u16, seq: u64, run: &RunHeader) {
    if lane < run.geometry.lanes() {
        frontiers.extend(lane, seq);
    }
}

/// Hears messages on a connection.
#[derive(Debug)]
pub struct Ear {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Ear {
    /// Of a connection whose greeting is done.
    pub fn new(stream: TcpStream) -> Ear {
        Ear { stream, heard: Vec::new() }
    }

    /// Waits for the next message.
    ///
    /// # Errors
    /// When the connection ends, falls silent for as long as its timeout, or says what is no message.
    pub fn hear(&mut self) -> io::Result<Message> {
        let mut piece = [0; 4096];
        loop {
            match unframe(&self.heard) {
                Framed::Whole(_, message, bytes) => {
                    self.heard.drain(..bytes);
                    return Ok(message);
                }
                Framed::Nonsense(malformed) => return Err(io::Error::new(io::ErrorKind::InvalidData, malformed)),
                Framed::Partial => match self.stream.read(&mut piece) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(count) => self.heard.extend_from_slice(&piece[..count]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                },
            }
        }
    }
}

/// A conversation of the checking side with a recorder.
#[derive(Debug)]
pub struct Inquiry {
    stream: TcpStream,
    ear: Ear,
    address: String,
}

impl Inquiry {
    fn call(address: &str) -> Result<Inquiry, VerifyError> {
        let stream = call(address)?;
        let gone = |cause| VerifyError::BrokenOff { address: address.to_owned(), cause: closed(cause) };
        let ear = Ear::new(stream.try_clone().map_err(gone)?);
        Ok(Inquiry { stream, ear, address: address.to_owned() })
    }

    /// Calls a recorder and has it tell what it heard of its latest run.
    ///
    /// # Errors
    /// When it does not answer, or has heard of none.
    pub fn fetch(address: &str) -> Result<(Inquiry, Ledger), VerifyError> {
        let mut inquiry = Inquiry::call(address)?;
        inquiry.say(&Message::Fetch)?;
        let mut ledger = Ledger::default();
        loop {
            match inquiry.hear()? {
                Message::Entry { at_us, message } => ledger.apply(at_us, &message).map_err(|what| {
                    VerifyError::JournalContradicts { path: Path::new(address).to_owned(), what: what.0 }
                })?,
                Message::Complete => return Ok((inquiry, ledger)),
                _ => {}
            }
        }
    }

    /// Tells it the verdict; answers with how all cycles went.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn judge(&mut self, outcome: &Message) -> Result<Standing, VerifyError> {
        self.say(outcome)?;
        loop {
            if let Message::Standing(standing) = self.hear()? {
                return Ok(standing);
            }
        }
    }

    fn say(&mut self, message: &Message) -> Result<(), VerifyError> {
        let lost = |cause| VerifyError::BrokenOff { address: self.address.clone(), cause: closed(cause) };
        self.stream.write_all(&frame(0, message)).map_err(lost)
    }

    fn hear(&mut self) -> Result<Message, VerifyError> {
        match self.ear.hear() {
            Ok(Message::Refused(sentence)) => {
                Err(VerifyError::RecorderRefuses { address: self.address.clone(), sentence })
            }
            Ok(message) => Ok(message),
            Err(source) => Err(VerifyError::BrokenOff { address: self.address.clone(), cause: closed(source) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_pipe_to_a_recorder_is_no_reader_that_has_seen_enough() {
        let source = closed(io::ErrorKind::BrokenPipe.into());
        assert_ne!(source.kind(), io::ErrorKind::BrokenPipe);
        let error = VerifyError::RecorderGone { address: "r:5401".to_owned(), cause: source };
        insta::assert_snapshot!(error, @"the recorder at r:5401 went away (it closed the connection): writing stopped, and nothing is claimed of what it did not hear");
    }
}
