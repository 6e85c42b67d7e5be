//! The recorder: hears on another machine what was acknowledged, keeps it, has the power cut, and counts how the cycles went.
//!
//! One thread for each connection, one for the cut of each cycle, one that makes the journal durable. What comes in on a connection is parsed by [`crate::message`] and held against the
//! schedule by [`crate::ledger`]; whatever does not fit ends the connection, never the recorder.

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

use crate::apart::expect_on_none_of;
use crate::error::{VerifyError, drive_words, unjudged};
use crate::frontier::Frontier;
use crate::journal::{CutOff, Journal};
use crate::lease;
use crate::ledger::Ledger;
use crate::message::{GREETING, Message, Proposal, frame};
use crate::outcome::{Outcome, Standing};
use crate::run_header::{RunHeader, run_name};
use crate::target::boot_id;
use crate::witness::Ear;

/// A writer that says nothing for so long has lost its power: it beats five times a second.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// A check that takes longer than this is no longer waited for: drives of many terabytes take hours to be read.
const CHECK_MAX: Duration = Duration::from_hours(24);
/// A caller whose machine is gone is noticed after twice this, while nothing is said: the power of whoever checks may go, too.
const PROBE_EVERY: Duration = Duration::from_secs(20);
/// The recorder's own sign of life.
const BEAT_EVERY: Duration = Duration::from_secs(1);
/// What is appended is made durable so often.
const SYNC_EVERY: Duration = Duration::from_millis(50);
/// A stop is noticed after this time.
const LOOK_UP: Duration = Duration::from_millis(50);
/// A recorder serves one drive; more than a few connections are an accident or an attack.
const CONNECTIONS_MAX: usize = 8;
/// After a sync was heard the cut comes so many milliseconds later, one after the other from cycle to cycle. Losses are said to reach 700 ms back (Ahmadian et al., DATE 2018).
pub const CUT_DELAYS_MS: [u32; 8] = [0, 1, 3, 10, 30, 100, 300, 1000];

/// What a recorder is asked to do.
#[derive(Debug, Clone)]
pub struct RecorderOptions {
    /// Where to listen.
    pub listen: String,
    /// Where to keep what was heard.
    pub journal: PathBuf,
    /// What cuts the power.
    pub cut: Option<Cut>,
    /// Ends after so many verdicts.
    pub cycles: Option<u32>,
}

/// How the power is cut.
#[derive(Debug, Clone)]
pub struct Cut {
    /// For `sh -c`.
    pub command: String,
    /// The drive is under load for this long before.
    pub after: Duration,
}

/// What happened, for whoever watches.
#[derive(Debug)]
pub enum Event {
    /// A run begins; the number of its cycle.
    Began(usize, Box<RunHeader>),
    /// The cut command was started, so many milliseconds after a sync was heard.
    CutStarted(u32),
    /// It did not do its part.
    CutFailed(String),
    /// The writer fell silent or went away; commits that were heard of it.
    Silent(u64),
    /// The writer ended by itself.
    Ended(String),
    /// A verdict.
    Judged(Outcome, Standing),
    /// Somebody said what is no message of this language, or contradicts what came before, or there are too many.
    TurnedAway(SocketAddr, String),
    /// The journal cannot be written any more.
    JournalFailed(io::Error),
}

/// A recorder that listens.
#[derive(Debug)]
pub struct Recorder {
    listener: TcpListener,
    shared: Arc<Shared>,
    events: Receiver<Event>,
    options: RecorderOptions,
    /// Where the journal was cut off before.
    pub cut_off: Option<CutOff>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Told whenever something became durable.
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
    /// How often something became durable.
    commits_heard: u64,
    /// Cycles that had a verdict when the recorder began.
    judged_before: usize,
}

impl Recorder {
    /// Opens the journal and listens.
    ///
    /// # Errors
    /// When either cannot be.
    pub fn open(options: RecorderOptions) -> Result<Recorder, VerifyError> {
        let (journal, before) = Journal::open(&options.journal)?;
        let listen = |cause| VerifyError::Listen { address: options.listen.clone(), cause };
        let addresses: Vec<SocketAddr> = options.listen.to_socket_addrs().map_err(listen)?.collect();
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
        Ok(Recorder { listener, shared: Arc::new(shared), events, options, cut_off: before.cut_off })
    }

    /// Where it listens: with port 0, the system chose one.
    ///
    /// # Errors
    /// As the system reports them.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until it is asked to stop, or the number of cycles is full. `watch` is told what happens.
    ///
    /// # Errors
    /// When the journal cannot be written any more: whoever hears without remembering must not go on.
    pub fn serve(&self, stop: &Stop, watch: &mut dyn FnMut(&Event)) -> Result<Standing, VerifyError> {
        let journal_failed = VerifyError::call("write the journal", &self.options.journal);
        let handle = self.shared.lock().journal.handle().map_err(&journal_failed)?;
        let mut synced = Instant::now();
        let mut turned_away = VecDeque::new();
        loop {
            turned_away.drain(..turned_away.len().saturating_sub(CONNECTIONS_MAX));
            match self.listener.accept() {
                Ok((stream, peer)) => turned_away.extend(self.admit(stream, peer)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(LOOK_UP.min(SYNC_EVERY)),
                // The caller went away, or descriptors ran out for a moment.
                Err(_) => std::thread::sleep(LOOK_UP),
            }
            let unsynced = if synced.elapsed() >= SYNC_EVERY { self.shared.lock().unsynced() } else { None };
            if let Some(to_bytes) = unsynced {
                // Without the lock, so that hearing goes on meanwhile.
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
            let full = self.options.cycles.is_some_and(|cycles| self.shared.lock().judged() >= cycles as usize);
            if full || stop.is_requested() {
                break;
            }
        }
        let mut state = self.shared.lock();
        state.journal.sync().map_err(&journal_failed)?;
        Ok(state.ledger.standing())
    }

    /// Serves a caller, or gives back the one that is too many: closed before its words are read, it would not hear why.
    fn admit(&self, stream: TcpStream, peer: SocketAddr) -> Option<TcpStream> {
        if self.shared.connections.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
            self.shared.connections.fetch_sub(1, Ordering::AcqRel);
            let sentence = format!("{CONNECTIONS_MAX} others are connected; wait until one of them has ended");
            let refusal = frame(self.shared.now_us(), &Message::Refused(sentence.clone()));
            // Whoever does not take so few bytes at once need not hear them.
            let _ = stream.set_nonblocking(true).and_then(|()| (&stream).write_all(&refusal));
            self.shared.tell(Event::TurnedAway(peer, sentence));
            return Some(stream);
        }
        let shared = Arc::clone(&self.shared);
        let serve = move || {
            if let Err(error) = Call::serve(&shared, stream) {
                let nonsense = error.kind() == io::ErrorKind::InvalidData;
                if nonsense {
                    shared.tell(Event::TurnedAway(peer, error.to_string()));
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
        // A thread that panicked while it held the lock left whole messages behind: each is applied in one go.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, event: Event) {
        let sender = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody listens any more when the recorder ends.
        let _ = sender.send(event);
    }

    /// A journal that cannot be written ends the recorder, not only the conversation: whoever hears without remembering must not go on.
    fn expect_kept<T>(&self, kept: io::Result<T>) -> io::Result<T> {
        kept.inspect_err(|error| {
            if error.kind() != io::ErrorKind::InvalidData {
                self.tell(Event::JournalFailed(io::Error::new(error.kind(), error.to_string())));
            }
        })
    }

    fn now_us(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }
}

impl State {
    /// Cycles that got a verdict since the recorder began; one that is checked twice counts once.
    fn judged(&self) -> usize {
        self.ledger.judged().saturating_sub(self.judged_before)
    }

    /// How long the journal is, if something was added to it since this was asked.
    fn unsynced(&mut self) -> Option<u64> {
        std::mem::take(&mut self.dirty).then(|| self.journal.size_bytes())
    }

    /// Keeps a message, if it fits what came before.
    fn keep(&mut self, at_us: u64, message: &Message) -> io::Result<()> {
        self.ledger.apply(at_us, message).map_err(|what| io::Error::new(io::ErrorKind::InvalidData, what))?;
        self.journal.add(at_us, message)?;
        self.dirty = true;
        Ok(())
    }
}

/// Says that a run is being written for as long as it lives, however the conversation ends.
struct AtWork<'a>(&'a Shared);

impl Drop for AtWork<'_> {
    fn drop(&mut self) {
        self.0.lock().writing = None;
        self.0.heard.notify_all();
    }
}

/// One connection.
struct Call<'a> {
    shared: &'a Arc<Shared>,
    stream: TcpStream,
    ear: Ear,
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
                "it does not greet as flushmark verify of this version does",
            ));
        }
        let ear = Ear::new(stream.try_clone()?);
        let mut call = Call { shared, stream, ear };
        match call.ear.hear()? {
            Message::Begin(run) => call.record(&run),
            Message::MayWrite(proposal) => call.consider(&proposal),
            Message::Fetch => call.answer(),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it neither begins a run nor asks for one")),
        }
    }

    fn say(&mut self, message: &Message) -> io::Result<()> {
        self.stream.write_all(&frame(self.shared.now_us(), message))
    }

    fn refuse(&mut self, sentence: String) -> io::Result<()> {
        self.say(&Message::Refused(sentence))
    }

    /// Why no run may begin on this drive; `None` where it may.
    fn objection(state: &State, drive: &str) -> Option<String> {
        if let Some(other) = state.writing {
            return Some(format!("run {} is being written; wait until it has ended", run_name(other)));
        }
        let other = &state.ledger.cycles.last()?.run.circumstances.drive;
        (other != drive).then(|| {
            format!(
                "its journal is about {}, and this is {}; start a recorder with a journal of its own for each drive",
                drive_words(other),
                drive_words(drive)
            )
        })
    }

    /// Somebody wants to fill a target.
    fn consider(&mut self, proposal: &Proposal) -> io::Result<()> {
        let root = SystemRoot::default();
        let (objection, unjudged_run, journal) = {
            let state = self.shared.lock();
            let unjudged_run = state.ledger.unjudged().filter(|_| !proposal.abandon);
            (Call::objection(&state, &proposal.drive), unjudged_run, state.journal.path().to_owned())
        };
        // Names of disks mean something on one machine only, and at one time.
        let is_here = !proposal.boot_id.is_empty() && proposal.boot_id == boot_id(&root);
        let beside = is_here.then(|| expect_on_none_of(&root, &journal, &proposal.disks).err()).flatten();
        let objection = objection.or_else(|| beside.map(|error| error.to_string())).or_else(|| {
            let sentence = "check it first, or give it up with --abandon-unjudged";
            unjudged_run.map(|run_id| format!("{}; {sentence}", unjudged(run_id)))
        });
        match objection {
            Some(sentence) => self.refuse(sentence),
            None => self.say(&Message::Complete),
        }
    }

    /// A run, from its beginning until the writer falls silent.
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
                self.shared.tell(Event::JournalFailed(error));
                return Ok(());
            }
            state.writing = Some(run.run_id);
            state.leases = vec![lease::AHEAD; first.len()];
            state.ledger.cycles.len()
        };
        let at_work = AtWork(self.shared);
        self.shared.tell(Event::Began(cycle, Box::new(run.clone())));
        let heard = self.say(&Message::Lease(first)).and_then(|()| self.prepare_cut(run.run_id, cycle));
        let heard = heard.and_then(|()| self.listen());
        let state = self.shared.lock();
        let cycle = state.ledger.cycles.last();
        let ended = cycle.and_then(|cycle| cycle.ended.clone());
        let commits = cycle.map_or(0, commits);
        drop(state);
        drop(at_work);
        self.shared.tell(ended.map_or(Event::Silent(commits), Event::Ended));
        heard
    }

    fn prepare_cut(&self, run_id: u64, cycle: usize) -> io::Result<()> {
        let Some(cut) = self.shared.cut.clone() else { return Ok(()) };
        let shared = Arc::clone(self.shared);
        let work = move || cut_power(&shared, &cut, run_id, cycle);
        std::thread::Builder::new().name("cut".to_owned()).spawn(work).map(drop)
    }

    /// Hears until the connection ends.
    fn listen(&mut self) -> io::Result<()> {
        let mut beaten = Instant::now();
        loop {
            let message = match self.ear.hear() {
                Ok(message) => message,
                Err(error) if error.kind() == io::ErrorKind::InvalidData => return Err(error),
                // The power is gone, or the writer: no error of the conversation.
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
                _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "a writer does not say such a thing")),
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

    /// Takes in how far lanes are; answers with the leases that are due, which the journal remembers by then.
    fn hear(&mut self, at_us: u64, message: &Message, lanes: &[(u16, Frontier)]) -> io::Result<Vec<(u16, u64)>> {
        let mut state = self.shared.lock();
        let durable = |state: &State| -> u64 {
            let cycle = state.ledger.cycles.last();
            cycle.map_or(0, |cycle| cycle.obligations.lanes.iter().map(|heard| heard.frontier.durable).sum())
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
            // A lease that the journal might forget is not given.
            self.shared.expect_kept(handle.sync_data())?;
            self.shared.expect_kept(self.shared.lock().journal.synced(to_bytes))?;
        }
        Ok(due)
    }

    /// Somebody checks: tells what was heard of the latest run, and takes the verdict.
    fn answer(&mut self) -> io::Result<()> {
        let told = {
            let mut state = self.shared.lock();
            self.shared.expect_kept(state.journal.sync())?;
            state.dirty = false;
            if state.writing.is_some() {
                drop(state);
                return self.refuse("the run is still being written; cut the power first, or stop it".to_owned());
            }
            state.ledger.cycles.last().map(crate::ledger::Cycle::retold)
        };
        let Some(told) = told else {
            return self.refuse("it has heard of no run yet; write one with `flushmark verify write`".to_owned());
        };
        let mut out = io::BufWriter::new(self.stream.try_clone()?);
        for (at_us, message) in told {
            out.write_all(&frame(at_us, &Message::Entry { at_us, message: Box::new(message) }))?;
        }
        out.write_all(&frame(self.shared.now_us(), &Message::Complete))?;
        out.flush()?;
        drop(out);
        // Reading a large target takes its time.
        self.stream.set_read_timeout(Some(CHECK_MAX))?;
        let Message::Outcome(outcome) = self.ear.hear()? else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a checker says nothing but its verdict"));
        };
        let standing = {
            let mut state = self.shared.lock();
            let kept = state.keep(self.shared.now_us(), &Message::Outcome(outcome.clone()));
            self.shared.expect_kept(kept.and_then(|()| state.journal.sync()))?;
            state.ledger.standing()
        };
        let said = self.say(&Message::Standing(standing.clone()));
        self.shared.tell(Event::Judged(outcome, standing));
        said
    }
}

fn commits(cycle: &crate::ledger::Cycle) -> u64 {
    let geometry = &cycle.run.geometry;
    (0u16..)
        .zip(&cycle.obligations.lanes)
        .map(|(lane, heard)| {
            crate::schedule::Schedule::new(cycle.run.run_id, geometry, lane).writes_up_to(heard.frontier.durable)
        })
        .sum()
}

/// Cuts the power under load: a while after the run began, then a chosen delay after the next sync that is heard.
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
        return shared.tell(Event::JournalFailed(error));
    }
    shared.tell(Event::CutStarted(delay_ms));
    match Command::new("sh").args(["-c", &cut.command]).stdin(std::process::Stdio::null()).output() {
        Ok(output) if output.status.success() => {
            let kept = shared.lock().keep(shared.now_us(), &Message::CutDone { run_id });
            if let Err(error) = kept {
                shared.tell(Event::JournalFailed(error));
            }
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().last().unwrap_or("it says nothing").to_owned();
            shared.tell(Event::CutFailed(format!("{}: {said}", output.status)));
        }
        Err(error) => shared.tell(Event::CutFailed(error.to_string())),
    }
}
