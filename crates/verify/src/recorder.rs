//! The recorder: on another machine, receives and stores what was acknowledged, has the power cut,
//! and counts the outcomes of cycles.
//!
//! One thread per connection, one per cut, and one that syncs the journal. Input is parsed by
//! [`crate::message`] and checked against the schedule by [`crate::ledger`]. Invalid input ends the
//! connection, never the recorder.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drive::SystemRoot;
use engine::Stop;
use rustix::net::sockopt;

use crate::error::{VerifyError, drive_words, unjudged};
use crate::frontier::Frontier;
use crate::journal::{CutOff, Journal};
use crate::journal_location::expect_on_none_of;
use crate::lease;
use crate::ledger::Ledger;
use crate::message::{GREETING, Message, Proposal, frame};
use crate::outcome::{Outcome, Standing};
use crate::run_header::{RunHeader, run_name};
use crate::target::boot_id;
use crate::witness::MessageReader;

/// A writer that is silent for this long has lost power: it sends a message five times a second.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Time limit of a check: reading drives of many terabytes takes hours.
const CHECK_MAX: Duration = Duration::from_hours(24);
/// A vanished peer is noticed after twice this time on an idle connection; the checker's machine
/// may lose power too.
const PROBE_EVERY: Duration = Duration::from_secs(20);
/// Interval between the recorder's own signs of life.
const BEAT_EVERY: Duration = Duration::from_secs(1);
/// Interval between syncs of the journal.
const SYNC_EVERY: Duration = Duration::from_millis(50);
/// Maximum delay until a stop is noticed.
const LOOK_UP: Duration = Duration::from_millis(50);
/// A recorder serves one drive; more than a few connections are an accident or an attack.
const CONNECTIONS_MAX: usize = 8;
/// Delays of the cut after a sync was received, in milliseconds, in turn from cycle to cycle.
/// Losses are reported to reach 700 ms back (Ahmadian et al., DATE 2018).
pub(crate) const CUT_DELAYS_MS: [u32; 8] = [0, 1, 3, 10, 30, 100, 300, 1000];

#[derive(Debug, Clone)]
pub struct RecorderOptions {
    pub listen: String,
    /// The file to record in.
    pub journal: PathBuf,
    /// The power cut, if the recorder makes one.
    pub cut: Option<Cut>,
    /// Stop after this many verdicts.
    pub cycles: Option<u32>,
}

/// A power cut made by the recorder.
#[derive(Debug, Clone)]
pub struct Cut {
    /// A command for `sh -c`.
    pub command: String,
    /// Time under load before the cut.
    pub after: Duration,
}

/// Something to report to the user.
#[derive(Debug)]
pub enum Event {
    /// A run begins, with the number of its cycle.
    Began(usize, Box<RunHeader>),
    /// The cut command was started, this many milliseconds after a sync was received.
    CutStarted(u32),
    CutFailed(String),
    /// The writer fell silent or disconnected; the number of its recorded commits.
    Silent(u64),
    /// The writer ended by itself.
    Ended(String),
    /// A verdict, and the updated counts.
    Judged(Outcome, Standing),
    /// A peer sent something invalid or contradictory, or there are too many connections.
    TurnedAway(SocketAddr, String),
    /// The journal can no longer be written.
    JournalFailed(io::Error),
}

#[derive(Debug)]
pub struct Recorder {
    listener: TcpListener,
    shared: Arc<Shared>,
    events: Receiver<Event>,
    options: RecorderOptions,
    /// The torn end of the journal that was cut off, if any.
    pub cut_off: Option<CutOff>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Notified whenever something became durable.
    heard: Condvar,
    begun: Instant,
    cut: Option<Cut>,
    connections: AtomicUsize,
    events: Mutex<Sender<Event>>,
}

#[derive(Debug)]
struct State {
    journal: Journal,
    dirty: bool,
    ledger: Ledger,
    leases: Vec<u64>,
    /// The run that is being written now.
    writing: Option<u64>,
    /// Number of messages with which something became durable.
    commits_heard: u64,
    /// Number of judged cycles when the recorder began.
    judged_before: usize,
}

impl Recorder {
    /// Opens the journal and listens.
    pub fn open(options: RecorderOptions) -> Result<Recorder, VerifyError> {
        let (journal, before) = Journal::open(&options.journal)?;
        let listen = |cause| VerifyError::Listen { address: options.listen.clone(), cause };
        let addresses: Vec<SocketAddr> =
            options.listen.to_socket_addrs().map_err(listen)?.collect();
        let listener = TcpListener::bind(&addresses[..]).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let judged_before = before.ledger.judged();
        let (sender, events) = channel();
        let state = State {
            journal,
            dirty: false,
            ledger: before.ledger,
            leases: Vec::new(),
            writing: None,
            commits_heard: 0,
            judged_before,
        };
        let shared = Shared {
            state: Mutex::new(state),
            heard: Condvar::new(),
            begun: Instant::now(),
            cut: options.cut.clone(),
            connections: AtomicUsize::new(0),
            events: Mutex::new(sender),
        };
        Ok(Recorder {
            listener,
            shared: Arc::new(shared),
            events,
            options,
            cut_off: before.cut_off,
        })
    }

    /// The address it listens on, which the system chooses if the port is 0.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until asked to stop, or after the requested number of verdicts. Reports events to
    /// `watch`.
    ///
    /// # Errors
    /// If the journal can no longer be written: a recorder that cannot store must not continue.
    pub fn serve(
        &self,
        stop: &Stop,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<Standing, VerifyError> {
        let journal_failed = VerifyError::call("write the journal", &self.options.journal);
        let handle = self.shared.lock().journal.handle().map_err(&journal_failed)?;
        let mut synced = Instant::now();
        let mut turned_away = VecDeque::new();
        loop {
            turned_away.drain(..turned_away.len().saturating_sub(CONNECTIONS_MAX));
            match self.listener.accept() {
                Ok((stream, peer)) => turned_away.extend(self.admit(stream, peer)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    std::thread::sleep(LOOK_UP.min(SYNC_EVERY));
                }
                // The caller disconnected, or file descriptors ran out for a moment.
                Err(_) => std::thread::sleep(LOOK_UP),
            }
            let unsynced =
                if synced.elapsed() >= SYNC_EVERY { self.shared.lock().unsynced() } else { None };
            if let Some(to_bytes) = unsynced {
                // Without the lock, to keep receiving messages.
                handle.sync_data().map_err(&journal_failed)?;
                self.shared.lock().journal.synced(to_bytes).map_err(&journal_failed)?;
                synced = Instant::now();
            }
            while let Ok(event) = self.events.try_recv() {
                watch(&event);
                if let Event::JournalFailed(source) = event {
                    return Err(journal_failed(source));
                }
            }
            let full = self
                .options
                .cycles
                .is_some_and(|cycles| self.shared.lock().judged() >= cycles as usize);
            if full || stop.is_requested() {
                break;
            }
        }
        let mut state = self.shared.lock();
        state.journal.sync().map_err(&journal_failed)?;
        Ok(state.ledger.standing())
    }

    /// Serves a connection. Returns one beyond the limit, to be closed later: if it were closed
    /// before its data is read, the peer would not receive the reason.
    fn admit(&self, stream: TcpStream, peer: SocketAddr) -> Option<TcpStream> {
        if self.shared.connections.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
            self.shared.connections.fetch_sub(1, Ordering::AcqRel);
            let sentence =
                format!("{CONNECTIONS_MAX} others are connected; wait until one of them has ended");
            let refusal = frame(self.shared.now_us(), &Message::Refused(sentence.clone()));
            // Best effort: a peer that does not accept so few bytes at once does not get the
            // reason.
            let _ = stream.set_nonblocking(true).and_then(|()| (&stream).write_all(&refusal));
            self.shared.report(Event::TurnedAway(peer, sentence));
            return Some(stream);
        }
        let shared = Arc::clone(&self.shared);
        let serve = move || {
            if let Err(error) = Call::serve(&shared, stream) {
                let nonsense = error.kind() == io::ErrorKind::InvalidData;
                if nonsense {
                    shared.report(Event::TurnedAway(peer, error.to_string()));
                }
            }
            shared.connections.fetch_sub(1, Ordering::AcqRel);
        };
        if std::thread::Builder::new().name("connection".to_owned()).spawn(serve).is_err() {
            self.shared.connections.fetch_sub(1, Ordering::AcqRel);
        }
        None
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked with the lock left no partial message: each is applied at once.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, event: Event) {
        let sender = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        // The receiver is gone when the recorder ends.
        let _ = sender.send(event);
    }

    /// An error of the journal ends the recorder, not only the connection: a recorder that cannot
    /// store must not continue.
    fn expect_kept<T>(&self, kept: io::Result<T>) -> io::Result<T> {
        kept.inspect_err(|error| {
            if error.kind() != io::ErrorKind::InvalidData {
                self.report(Event::JournalFailed(io::Error::new(error.kind(), error.to_string())));
            }
        })
    }

    fn now_us(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }
}

impl State {
    /// Cycles judged since the recorder began. A cycle that is checked twice counts once.
    fn judged(&self) -> usize {
        self.ledger.judged().saturating_sub(self.judged_before)
    }

    /// The size of the journal, if something was appended since the last call.
    fn unsynced(&mut self) -> Option<u64> {
        std::mem::take(&mut self.dirty).then(|| self.journal.size_bytes())
    }

    /// Stores a message, if it is consistent with the earlier ones.
    fn keep(&mut self, at_us: u64, message: &Message) -> io::Result<()> {
        self.ledger
            .apply(at_us, message)
            .map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))?;
        self.journal.add(at_us, message)?;
        self.dirty = true;
        Ok(())
    }
}

/// Marks that a run is being written until dropped, however the connection ends.
struct WritingRun<'a>(&'a Shared);

impl Drop for WritingRun<'_> {
    fn drop(&mut self) {
        self.0.lock().writing = None;
        self.0.heard.notify_all();
    }
}

struct Call<'a> {
    shared: &'a Arc<Shared>,
    stream: TcpStream,
    reader: MessageReader,
}

impl Call<'_> {
    fn serve(shared: &Arc<Shared>, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        stream.set_write_timeout(Some(SILENCE_MAX))?;
        sockopt::set_socket_keepalive(&stream, true)?;
        sockopt::set_tcp_keepidle(&stream, PROBE_EVERY)?;
        sockopt::set_tcp_keepintvl(&stream, PROBE_EVERY / 4)?;
        sockopt::set_tcp_keepcnt(&stream, 4)?;
        let mut greeting = [0; GREETING.len()];
        stream.read_exact(&mut greeting)?;
        if greeting != GREETING {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the greeting is not that of this version of flushmark verify",
            ));
        }
        let reader = MessageReader::new(stream.try_clone()?);
        let mut call = Call { shared, stream, reader };
        match call.reader.read()? {
            Message::Begin(run) => call.record(&run),
            Message::MayWrite(proposal) => call.consider(&proposal),
            Message::Fetch => call.answer(),
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the first message neither begins a run nor asks for one",
            )),
        }
    }

    fn say(&mut self, message: &Message) -> io::Result<()> {
        self.stream.write_all(&frame(self.shared.now_us(), message))
    }

    fn refuse(&mut self, sentence: String) -> io::Result<()> {
        self.say(&Message::Refused(sentence))
    }

    /// Why no run may begin on this drive; `None` if it may.
    fn objection(state: &State, drive: &str) -> Option<String> {
        if let Some(other) = state.writing {
            return Some(format!(
                "run {} is being written; wait until it has ended",
                run_name(other)
            ));
        }
        let other = &state.ledger.cycles.last()?.run.circumstances.drive;
        (other != drive).then(|| {
            format!(
                "its journal is about {}, but this is {}; start a recorder with a separate journal \
                 for each drive",
                drive_words(other),
                drive_words(drive)
            )
        })
    }

    /// Answers a request to fill a target.
    fn consider(&mut self, proposal: &Proposal) -> io::Result<()> {
        let root = SystemRoot::default();
        let (objection, unjudged_run, journal) = {
            let state = self.shared.lock();
            let unjudged_run = state.ledger.unjudged().filter(|_| !proposal.abandon);
            (
                Call::objection(&state, &proposal.drive),
                unjudged_run,
                state.journal.path().to_owned(),
            )
        };
        // Disk names are comparable on the same machine and boot only.
        let is_here = !proposal.boot_id.is_empty() && proposal.boot_id == boot_id(&root);
        let beside =
            is_here.then(|| expect_on_none_of(&root, &journal, &proposal.disks).err()).flatten();
        let objection = objection.or_else(|| beside.map(|error| error.to_string())).or_else(|| {
            let sentence = "check it first, or give it up with --abandon-unjudged";
            unjudged_run.map(|run_id| format!("{}; {sentence}", unjudged(run_id)))
        });
        match objection {
            Some(sentence) => self.refuse(sentence),
            None => self.say(&Message::Complete),
        }
    }

    /// Records a run, from its beginning until the writer falls silent.
    fn record(&mut self, run: &RunHeader) -> io::Result<()> {
        let first = lease::first(run.geometry.lanes());
        let cycle = {
            let mut state = self.shared.lock();
            if let Some(sentence) = Call::objection(&state, &run.circumstances.drive) {
                drop(state);
                return self.refuse(sentence);
            }
            let at_us = self.shared.now_us();
            let kept = state
                .keep(at_us, &Message::Begin(Box::new(run.clone())))
                .and_then(|()| state.keep(at_us, &Message::Lease(first.clone())))
                .and_then(|()| state.journal.sync());
            if let Err(error) = kept {
                self.shared.report(Event::JournalFailed(error));
                return Ok(());
            }
            state.writing = Some(run.run_id);
            state.leases = vec![lease::AHEAD; first.len()];
            state.ledger.cycles.len()
        };
        let at_work = WritingRun(self.shared);
        self.shared.report(Event::Began(cycle, Box::new(run.clone())));
        let heard =
            self.say(&Message::Lease(first)).and_then(|()| self.prepare_cut(run.run_id, cycle));
        let heard = heard.and_then(|()| self.listen());
        let state = self.shared.lock();
        let cycle = state.ledger.cycles.last();
        let ended = cycle.and_then(|cycle| cycle.ended.clone());
        let commits = cycle.map_or(0, commits);
        drop(state);
        drop(at_work);
        self.shared.report(ended.map_or(Event::Silent(commits), Event::Ended));
        heard
    }

    fn prepare_cut(&self, run_id: u64, cycle: usize) -> io::Result<()> {
        let Some(cut) = self.shared.cut.clone() else { return Ok(()) };
        let shared = Arc::clone(self.shared);
        let work = move || cut_power(&shared, &cut, run_id, cycle);
        std::thread::Builder::new().name("cut".to_owned()).spawn(work).map(drop)
    }

    /// Receives messages until the connection ends.
    fn listen(&mut self) -> io::Result<()> {
        let mut beaten = Instant::now();
        loop {
            let message = match self.reader.read() {
                Ok(message) => message,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(error),
                // Power or writer is gone, which is not an error of the connection.
                Err(_) => return Ok(()),
            };
            let at_us = self.shared.now_us();
            let due = match &message {
                Message::Acknowledge(lanes) => self.hear(at_us, &message, lanes)?,
                Message::Beat { .. } | Message::Stopped { .. } | Message::End(_) => {
                    let kept = self.shared.lock().keep(at_us, &message);
                    self.shared.expect_kept(kept)?;
                    Vec::new()
                }
                _ => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "unexpected message from a writer",
                    ));
                }
            };
            if !due.is_empty() {
                self.say(&Message::Lease(due))?;
            }
            if beaten.elapsed() >= BEAT_EVERY {
                beaten = Instant::now();
                self.say(&Message::Beat { syncs: 0, flushes: None })?;
            }
            if matches!(message, Message::End(_)) {
                return Ok(());
            }
        }
    }

    /// Records how far lanes are, and returns the leases that are due, which are durable in the
    /// journal by then.
    fn hear(
        &mut self,
        at_us: u64,
        message: &Message,
        lanes: &[(u16, Frontier)],
    ) -> io::Result<Vec<(u16, u64)>> {
        let mut state = self.shared.lock();
        let durable = |state: &State| -> u64 {
            let cycle = state.ledger.cycles.last();
            cycle.map_or(0, |cycle| {
                cycle.obligations.lanes.iter().map(|heard| heard.frontier.durable).sum()
            })
        };
        let before = durable(&state);
        self.shared.expect_kept(state.keep(at_us, message))?;
        if durable(&state) > before {
            state.commits_heard += 1;
            self.shared.heard.notify_all();
        }
        let due = lease::due(lanes, &state.leases);
        if !due.is_empty() {
            for &(lane, seq) in &due {
                state.leases[usize::from(lane)] = seq;
            }
            self.shared.expect_kept(state.keep(at_us, &Message::Lease(due.clone())))?;
            let handle = self.shared.expect_kept(state.journal.handle())?;
            let to_bytes = state.journal.size_bytes();
            drop(state);
            // A lease must not be granted before the journal has it.
            self.shared.expect_kept(handle.sync_data())?;
            self.shared.expect_kept(self.shared.lock().journal.synced(to_bytes))?;
        }
        Ok(due)
    }

    /// Serves a check: sends what was recorded of the latest run, and receives the verdict.
    fn answer(&mut self) -> io::Result<()> {
        let messages = {
            let mut state = self.shared.lock();
            self.shared.expect_kept(state.journal.sync())?;
            state.dirty = false;
            if state.writing.is_some() {
                drop(state);
                return self.refuse(
                    "the run is still being written; cut the power first, or stop it".to_owned(),
                );
            }
            state.ledger.cycles.last().map(crate::ledger::Cycle::to_messages)
        };
        let Some(messages) = messages else {
            return self.refuse(
                "no run was recorded yet; write one with `flushmark verify write`".to_owned(),
            );
        };
        let mut out = io::BufWriter::new(self.stream.try_clone()?);
        for (at_us, message) in messages {
            out.write_all(&frame(at_us, &Message::Entry { at_us, message: Box::new(message) }))?;
        }
        out.write_all(&frame(self.shared.now_us(), &Message::Complete))?;
        out.flush()?;
        drop(out);
        // Reading a large target takes long.
        self.stream.set_read_timeout(Some(CHECK_MAX))?;
        let Message::Outcome(outcome) = self.reader.read()? else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "expected a verdict from the checker",
            ));
        };
        let standing = {
            let mut state = self.shared.lock();
            let kept = state.keep(self.shared.now_us(), &Message::Outcome(outcome.clone()));
            self.shared.expect_kept(kept.and_then(|()| state.journal.sync()))?;
            state.ledger.standing()
        };
        let said = self.say(&Message::Standing(standing.clone()));
        self.shared.report(Event::Judged(outcome, standing));
        said
    }
}

fn commits(cycle: &crate::ledger::Cycle) -> u64 {
    let geometry = &cycle.run.geometry;
    (0u16..)
        .zip(&cycle.obligations.lanes)
        .map(|(lane, heard)| {
            crate::schedule::Schedule::new(cycle.run.run_id, geometry, lane)
                .writes_up_to(heard.frontier.durable)
        })
        .sum()
}

/// Cuts the power under load: some time after the run began, at a chosen delay after the next sync
/// that is received.
fn cut_power(shared: &Arc<Shared>, cut: &Cut, run_id: u64, cycle: usize) {
    let delay_ms = CUT_DELAYS_MS[(cycle - 1) % CUT_DELAYS_MS.len()];
    let begun = Instant::now();
    let mut state = shared.lock();
    loop {
        if state.writing != Some(run_id) {
            return;
        }
        let left = cut.after.saturating_sub(begun.elapsed());
        if left.is_zero() {
            break;
        }
        state = shared.heard.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    let before = state.commits_heard;
    while state.commits_heard == before {
        if state.writing != Some(run_id) {
            return;
        }
        state = shared.heard.wait_timeout(state, LOOK_UP).unwrap_or_else(PoisonError::into_inner).0;
    }
    drop(state);
    std::thread::sleep(Duration::from_millis(u64::from(delay_ms)));
    let mut state = shared.lock();
    if state.writing != Some(run_id) {
        return;
    }
    let kept = state.keep(shared.now_us(), &Message::Cut { delay_ms });
    drop(state);
    if let Err(error) = kept {
        return shared.report(Event::JournalFailed(error));
    }
    shared.report(Event::CutStarted(delay_ms));
    match Command::new("sh").args(["-c", &cut.command]).stdin(std::process::Stdio::null()).output()
    {
        Ok(output) if output.status.success() => {
            let kept = shared.lock().keep(shared.now_us(), &Message::CutDone { run_id });
            if let Err(error) = kept {
                shared.report(Event::JournalFailed(error));
            }
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().last().unwrap_or("no message").to_owned();
            shared.report(Event::CutFailed(format!("{}: {said}", output.status)));
        }
        Err(error) => shared.report(Event::CutFailed(error.to_string())),
    }
}
