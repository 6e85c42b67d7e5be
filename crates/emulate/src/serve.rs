//! Serves a drive in real time: one thread, one loop, one clock.
//!
//! | module | content |
//! | --- | --- |
//! | `clock` | waking up at the right moment |
//! | `socket` | sockets and listeners of NBD clients |
//! | `connection` | requests and replies of an NBD client |
//! | `directory` | the FUSE side |
//! | `control` | the user's orders: status, cut, power-on |
//! | `transport_cost` | the cost of the transport |
//! | `probe` | measures that cost |
//! | `pace` | compensates for that cost, per client |
//! | `handle` | controls a running server |
//! | this one | the loop |
//!
//! There is one thread for two reasons: a request at depth 1 is never passed from one thread to
//! another, which would cost more than a fast drive's latency; and a drive is one thing with one
//! order of events.
//!
//! Each request carries its time of arrival, minus the cost of the way here and back
//! (`TransportCost`); a reply is sent when its time in the model has come. So a
//! client sees the model's latency, as long as that is above the floor. If a single command is
//! below the floor, the rest is taken off the client's next command (`Pace`): the write of
//! a commit may be slower than the model's, but the commit is not.

pub(crate) mod clock;
pub(crate) mod connection;
pub(crate) mod control;
pub(crate) mod directory;
pub(crate) mod handle;
pub(crate) mod pace;
pub(crate) mod probe;
pub(crate) mod socket;
pub(crate) mod transport_cost;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use simdrive::Ns;

use crate::cut_trigger::CutTrigger;
use crate::drive::{Done, Drive, Power, Refused};
use crate::fixed::Fixed;
use crate::nbd::session::Export;
use clock::Clock;
use connection::{Connection, ConnectionState};
use control::Order;
use directory::Directory;
use handle::{Event, Inbox, Message};
use socket::{Listener, Socket};
use transport_cost::TransportCosts;

/// Maximum number of clients; more are turned away.
const CLIENTS_MAX: usize = 512;
/// Maximum length of an order.
const ORDER_BYTES_MAX: usize = 256;
/// Interval for checking a drive whose log is too long.
const CROWDED_WAIT_NS: Ns = 200_000;
/// A client that sends one request at a time comes back within this time. Going to sleep and waking
/// up on another processor takes longer than such a request.
const LINGER: Duration = Duration::from_micros(40);

/// Tokens of event sources; those of clients are higher.
const WAKE: u64 = 0;
const NBD: u64 = 1;
const CONTROL: u64 = 2;
const DIRECTORY: u64 = 3;
const FIRST_CLIENT: u64 = 16;

/// The drive that a client talks to.
const SERVED: usize = 0;
const PROBE: usize = 1;

#[derive(Debug)]
enum Client {
    Nbd { connection: Box<Connection>, drive: usize, watched: epoll::EventFlags },
    Control { stream: UnixStream, line: Vec<u8> },
}

/// State of the loop device or filesystem on top of the drive.
#[derive(Debug)]
enum StackState {
    /// Being set up, at the start or after a cut.
    SettingUp,
    Ready,
    /// Setting up failed.
    Failed(String),
}

/// A drive that is being served.
pub struct Server {
    epoll: OwnedFd,
    wake: OwnedFd,
    messages: Receiver<Message>,
    events: Sender<Event>,
    clock: Clock,
    drives: [Drive; 2],
    export: Export,
    nbd: Option<Listener>,
    nbd_floor: TransportCosts,
    control: Option<UnixListener>,
    directory: Option<Directory>,
    directory_floor: TransportCosts,
    clients: BTreeMap<u64, Client>,
    next_client: u64,
    /// Clients with replies that were not sent yet.
    talking: BTreeSet<u64>,
    /// Clients with input that was not read for lack of room.
    full: BTreeSet<u64>,
    /// True if the directory is watched: not while the drive's log is too long.
    directory_watched: bool,
    cut_trigger: CutTrigger,
    stack: StackState,
    done: Vec<Done>,
}

/// Endpoints through which a drive is served.
#[derive(Debug, Default)]
pub struct Endpoints {
    pub nbd: Option<Listener>,
    /// A mounted FUSE directory.
    pub(crate) directory: Option<Directory>,
    pub control: Option<UnixListener>,
}

impl Server {
    /// Creates a server for this drive, not running yet, that obeys the handle of `inbox`.
    /// `name` and `description` are reported to NBD clients.
    pub fn new(
        drive: Drive,
        name: &str,
        description: &str,
        endpoints: Endpoints,
        cut_trigger: CutTrigger,
        inbox: Inbox,
    ) -> io::Result<(Server, Receiver<Event>)> {
        let Inbox { messages, wake } = inbox;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let watch = |fd: BorrowedFd<'_>, token| -> io::Result<()> {
            Ok(epoll::add(&epoll, fd, epoll::EventData::new_u64(token), epoll::EventFlags::IN)?)
        };
        watch(wake.as_fd(), WAKE)?;
        if let Some(listener) = &endpoints.nbd {
            listener.prepare()?;
            watch(listener.as_fd(), NBD)?;
        }
        if let Some(listener) = &endpoints.control {
            listener.set_nonblocking(true)?;
            watch(listener.as_fd(), CONTROL)?;
        }
        if let Some(directory) = &endpoints.directory {
            watch(directory.kernel.as_fd(), DIRECTORY)?;
        }
        let identity = *drive.identity();
        let export = Export {
            name: name.to_owned(),
            description: description.to_owned(),
            bytes: identity.capacity_bytes,
            flush: drive.wants_flushes(),
            fua: drive.takes_fua(),
            read_only: false,
            rotational: identity.rotational,
            sector_bytes: simdrive::SECTOR_BYTES as u32,
        };
        let probe = Fixed::new(probe::PROBE_BYTES, probe::PROBE_NS, drive.wants_flushes());
        let image = crate::image::Image::in_memory(probe::PROBE_BYTES);
        let honest = crate::honesty::Honesty::default();
        let probe = Drive::new(Box::new(probe), image, honest, 1 << 20, 0).without_history();
        let (events, events_out) = channel();
        let server = Server {
            epoll,
            wake,
            messages,
            events,
            clock: Clock::start(),
            drives: [drive, probe],
            export,
            nbd: endpoints.nbd,
            nbd_floor: TransportCosts::default(),
            control: endpoints.control,
            directory: endpoints.directory,
            directory_floor: TransportCosts::default(),
            clients: BTreeMap::new(),
            next_client: FIRST_CLIENT,
            talking: BTreeSet::new(),
            full: BTreeSet::new(),
            directory_watched: true,
            cut_trigger,
            stack: StackState::SettingUp,
            done: Vec::new(),
        };
        Ok((server, events_out))
    }

    /// Serves until it is stopped. Returns the drive.
    pub fn run(mut self) -> io::Result<Drive> {
        // A drive does not wait for its host's processors. Only root can request that; other users
        // compete with everything else.
        let _ = rustix::process::setpriority_process(None, -20);
        self.clock = Clock::start();
        let mut events = Vec::with_capacity(64);
        loop {
            self.deliver();
            self.cut_if_due();
            self.send_all();
            // Before the first wait: input that has already arrived causes no event.
            if self.serve_those_with_room() {
                continue;
            }
            self.watch_directory()?;
            self.wait(&mut events)?;
            for event in &events {
                match event.data.u64() {
                    WAKE => {
                        if !self.take_messages() {
                            let [drive, _] = self.drives;
                            return Ok(drive);
                        }
                    }
                    NBD => self.admit(),
                    CONTROL => self.admit_control(),
                    DIRECTORY => {
                        if self.serve_directory()? == ConnectionState::Closed {
                            self.directory = None;
                            let _ = self.events.send(Event::Unmounted);
                        }
                    }
                    token => self.serve_client(token, event.flags),
                }
            }
        }
    }

    /// Continues with clients whose input was not read for lack of room. Returns whether there were
    /// any.
    fn serve_those_with_room(&mut self) -> bool {
        let has_room = |token: &u64| match self.clients.get(token) {
            Some(Client::Nbd { connection, drive, .. }) => {
                connection.has_room(&self.drives[*drive])
            }
            _ => true,
        };
        let with_room: Vec<u64> = self.full.iter().copied().filter(has_room).collect();
        for token in &with_room {
            self.full.remove(token);
            self.serve_client(*token, epoll::EventFlags::empty());
        }
        !with_room.is_empty()
    }

    /// Advances the drives to the current time, and replies to finished requests.
    #[inline]
    fn deliver(&mut self) {
        let now = self.clock.now();
        let mut done = std::mem::take(&mut self.done);
        for which in [SERVED, PROBE] {
            let drive = &mut self.drives[which];
            if drive.next_event().is_none_or(|at| at > now) {
                continue;
            }
            drive.advance(now, &mut done);
            for Done { tag, at, failed } in done.drain(..) {
                let (token, number) = (tag >> 32, tag as u32);
                if token == DIRECTORY {
                    if let Some(directory) = &mut self.directory {
                        directory.answer(number, drive, failed);
                        directory.pace.answered(now, at);
                    }
                } else if let Some(Client::Nbd { connection, .. }) = self.clients.get_mut(&token) {
                    connection.done(number, failed);
                    connection.pace.answered(now, at);
                    self.talking.insert(token);
                }
            }
        }
        self.done = done;
    }

    fn send_all(&mut self) {
        while let Some(token) = self.talking.pop_first() {
            let Some(Client::Nbd { connection, drive, .. }) = self.clients.get_mut(&token) else {
                continue;
            };
            if connection.send(&self.drives[*drive]) == ConnectionState::Closed {
                self.dismiss(token);
            } else {
                self.watch_client(token);
            }
        }
    }

    /// Watches a client's socket only for events that can be handled; any other would be reported
    /// again and again.
    #[inline]
    fn watch_client(&mut self, token: u64) {
        let Some(Client::Nbd { connection, drive, watched }) = self.clients.get_mut(&token) else {
            return;
        };
        let mut wanted = epoll::EventFlags::empty();
        wanted.set(epoll::EventFlags::OUT, connection.has_output());
        wanted.set(epoll::EventFlags::IN, connection.has_room(&self.drives[*drive]));
        if wanted != *watched {
            *watched = wanted;
            let _ = epoll::modify(
                &self.epoll,
                &connection.socket,
                epoll::EventData::new_u64(token),
                wanted,
            );
        }
        if !wanted.contains(epoll::EventFlags::IN) {
            self.full.insert(token);
        }
    }

    fn watch_directory(&mut self) -> io::Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let wanted = !self.drives[SERVED].is_crowded();
        if wanted != self.directory_watched {
            self.directory_watched = wanted;
            let flags = if wanted { epoll::EventFlags::IN } else { epoll::EventFlags::empty() };
            epoll::modify(
                &self.epoll,
                &directory.kernel,
                epoll::EventData::new_u64(DIRECTORY),
                flags,
            )?;
        }
        Ok(())
    }

    fn dismiss(&mut self, token: u64) {
        // The kernel removes the descriptor from its list when it is closed. The client's commands
        // in progress continue in the drive, without a reply.
        self.clients.remove(&token);
        self.talking.remove(&token);
        self.full.remove(&token);
    }

    /// Waits for an event, or for the drives' next one.
    #[inline]
    fn wait(&mut self, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        events.clear();
        let now = self.clock.now();
        let served = &mut self.drives[SERVED];
        if served.is_crowded() {
            served.forget(now);
        }
        let look_again = served.is_crowded().then_some(now + CROWDED_WAIT_NS);
        let next = self
            .drives
            .iter()
            .filter_map(Drive::next_event)
            .chain(self.cut_trigger.at())
            .chain(look_again)
            .min();
        let Some(next) = next else {
            let begun = Instant::now();
            while events.is_empty() && begun.elapsed() < LINGER {
                self.look(events)?;
                // The client may be waiting for this processor.
                std::thread::yield_now();
            }
            // Without a timeout no timer is set, which would make a virtual machine exit to its
            // host.
            return if events.is_empty() {
                ignore_interruption(epoll::wait(&self.epoll, spare_capacity(events), None))
            } else {
                Ok(())
            };
        };
        let sleep = self.clock.sleep_until(next);
        if !sleep.is_zero() {
            // epoll itself counts in milliseconds on kernels before 5.11.
            let timeout = Timespec {
                tv_sec: sleep.as_secs() as i64,
                tv_nsec: i64::from(sleep.subsec_nanos()),
            };
            ignore_interruption(poll(
                &mut [PollFd::new(&self.epoll, PollFlags::IN)],
                Some(&timeout),
            ))?;
        }
        self.look(events)
    }

    #[inline]
    fn look(&self, events: &mut Vec<epoll::Event>) -> io::Result<()> {
        ignore_interruption(epoll::wait(
            &self.epoll,
            spare_capacity(events),
            Some(&Timespec::default()),
        ))
    }

    /// Handles pending messages. Returns whether to continue.
    fn take_messages(&mut self) -> bool {
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.wake, &mut count);
        while let Ok(message) = self.messages.try_recv() {
            match message {
                Message::Admit(socket) => self.admit_one(socket),
                Message::Measure(address, done) => {
                    let connected = address.connect().map(|socket| self.welcome(socket, PROBE));
                    let _ = done.send(connected);
                }
                Message::NbdFloor(floor) => self.nbd_floor = floor,
                Message::DirectoryFloor(floor) => self.directory_floor = floor,
                Message::RunOn(cpus, done) => {
                    // If that is not allowed, it keeps its processors.
                    let _ = rustix::thread::sched_setaffinity(None, &cpus);
                    let _ = done.send(());
                }
                Message::Ready { cuts, outcome } => self.set_stack_state(cuts, outcome),
                Message::Order(order, answer) => drop(answer.send(self.obey(order))),
                Message::Stop => return false,
            }
        }
        true
    }

    fn set_stack_state(&mut self, cuts: u64, outcome: Result<(), String>) {
        // Set up for a drive that has lost its power since: gone.
        if self.drives[SERVED].power() != Power::On || self.drives[SERVED].cuts() != cuts {
            return;
        }
        self.stack = match outcome {
            Ok(()) => {
                // A cut during the setup would not hit any user data.
                let drive = &self.drives[SERVED];
                self.cut_trigger.arm(self.clock.now(), drive.writes(), drive.flushes());
                StackState::Ready
            }
            Err(because) => StackState::Failed(because),
        };
    }

    fn admit(&mut self) {
        while let Some(Ok(socket)) = self.nbd.as_ref().map(Listener::accept) {
            self.admit_one(socket);
        }
    }

    fn admit_one(&mut self, socket: Socket) {
        // A drive without power has no clients.
        if self.drives[SERVED].power() == Power::On && self.clients.len() < CLIENTS_MAX {
            self.welcome(socket, SERVED);
        }
    }

    fn welcome(&mut self, socket: Socket, drive: usize) {
        let token = self.next_client;
        let watched = epoll::EventFlags::IN;
        let is_watched = socket.prepare().is_ok()
            && epoll::add(&self.epoll, &socket, epoll::EventData::new_u64(token), watched).is_ok();
        if !is_watched {
            return;
        }
        self.next_client += 1;
        let served = &self.drives[drive];
        let bytes = served.identity().capacity_bytes;
        let export = Export { bytes, read_only: served.is_read_only(), ..self.export.clone() };
        let connection = Box::new(Connection::new(socket, export));
        self.clients.insert(token, Client::Nbd { connection, drive, watched });
        self.talking.insert(token);
    }

    fn admit_control(&mut self) {
        while let Some(Ok((stream, _))) = self.control.as_ref().map(UnixListener::accept) {
            let token = self.next_client;
            let watched = self.clients.len() < CLIENTS_MAX
                && stream.set_nonblocking(true).is_ok()
                && epoll::add(
                    &self.epoll,
                    &stream,
                    epoll::EventData::new_u64(token),
                    epoll::EventFlags::IN,
                )
                .is_ok();
            if watched {
                self.next_client += 1;
                self.clients.insert(token, Client::Control { stream, line: Vec::new() });
            }
        }
    }

    #[inline]
    fn serve_client(&mut self, token: u64, flags: epoll::EventFlags) {
        let now = self.clock.now();
        match self.clients.get_mut(&token) {
            Some(Client::Nbd { connection, drive, .. }) => {
                if flags.contains(epoll::EventFlags::OUT) {
                    self.talking.insert(token);
                }
                let is_gone = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::ERR);
                if is_gone && !connection.has_room(&self.drives[*drive]) {
                    self.dismiss(token);
                    return;
                }
                // The probe is used to measure the floor.
                let floor =
                    if *drive == PROBE { TransportCosts::default() } else { self.nbd_floor };
                let drive = &mut self.drives[*drive];
                if connection.receive(
                    drive,
                    now,
                    |kind| floor.of(kind),
                    |number| tag(token, number),
                ) == ConnectionState::Closed
                {
                    self.dismiss(token);
                    return;
                }
                if connection.has_output() {
                    self.talking.insert(token);
                } else {
                    self.watch_client(token);
                }
            }
            Some(Client::Control { .. }) => self.serve_control(token),
            None => {}
        }
    }

    fn serve_directory(&mut self) -> io::Result<ConnectionState> {
        let Some(directory) = &mut self.directory else { return Ok(ConnectionState::Closed) };
        let (now, floor) = (self.clock.now(), self.directory_floor);
        directory.receive(
            &mut self.drives,
            now,
            |kind| floor.of(kind),
            |number| tag(DIRECTORY, number),
        )
    }

    fn serve_control(&mut self, token: u64) {
        let Some(Client::Control { stream, line }) = self.clients.get_mut(&token) else { return };
        let mut buffer = [0; ORDER_BYTES_MAX];
        let came = match stream.read(&mut buffer) {
            Ok(bytes) if bytes > 0 => &buffer[..bytes],
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
                ) =>
            {
                return;
            }
            _ => return self.dismiss(token),
        };
        line.extend_from_slice(came);
        if line.len() > ORDER_BYTES_MAX {
            return self.dismiss(token);
        }
        while let Some(Client::Control { line, .. }) = self.clients.get_mut(&token) {
            let Some(end) = line.iter().position(|&byte| byte == b'\n') else { return };
            let order = String::from_utf8_lossy(&line[..end]).parse::<Order>();
            line.drain(..=end);
            let answer = match order {
                Ok(order) => self.obey(order),
                Err(bad) => serde_json::json!({ "error": bad.to_string() }),
            };
            let Some(Client::Control { stream, .. }) = self.clients.get_mut(&token) else { return };
            // A reply is far smaller than a socket's buffer.
            if stream.write_all(format!("{answer}\n").as_bytes()).is_err() {
                return self.dismiss(token);
            }
        }
    }

    fn obey(&mut self, order: Order) -> serde_json::Value {
        let now = self.clock.now();
        let result = match order {
            Order::Status => Ok(()),
            Order::Cut => self.cut(now),
            Order::PowerOn => self.power_on(),
            Order::Fill(percent) => self.drives[SERVED].fill(percent),
            Order::Wear(overwrites) => self.drives[SERVED].wear(now, overwrites),
        };
        match result {
            Ok(()) => {
                let status = self.drives[SERVED].status(self.clock.now());
                let floors = serde_json::json!({ "nbd_floor": self.nbd_floor.max, "fuse_floor": self.directory_floor.max });
                let mut answer = serde_json::to_value(status).unwrap_or_default();
                if let (Some(answer), serde_json::Value::Object(floors)) =
                    (answer.as_object_mut(), floors)
                {
                    answer.extend(floors);
                    answer.insert("clients".to_owned(), self.clients.len().into());
                    answer
                        .insert("ready".to_owned(), matches!(self.stack, StackState::Ready).into());
                    if let StackState::Failed(because) = &self.stack {
                        answer.insert("trouble".to_owned(), because.as_str().into());
                    }
                }
                answer
            }
            Err(refused) => serde_json::json!({ "error": refused.to_string() }),
        }
    }

    #[inline]
    fn cut_if_due(&mut self) {
        let drive = &self.drives[SERVED];
        if self.cut_trigger.is_due(self.clock.now(), drive.writes(), drive.flushes()) {
            // The image's failure has been reported.
            let _ = self.cut(self.clock.now());
        }
    }

    /// The drive vanishes in the middle of its work: clients receive nothing more.
    fn cut(&mut self, now: Ns) -> Result<(), Refused> {
        let cut = self.drives[SERVED].cut(now);
        let gone: Vec<u64> = self
            .clients
            .iter()
            .filter(|(_, client)| matches!(client, Client::Nbd { drive: SERVED, .. }))
            .map(|(token, _)| *token)
            .collect();
        gone.into_iter().for_each(|token| self.dismiss(token));
        if let Some(directory) = &mut self.directory {
            directory.fail_all();
        }
        let drive = &self.drives[SERVED];
        self.cut_trigger.disarm();
        self.stack = StackState::SettingUp;
        match cut {
            Ok(cut) => {
                let _ = self.events.send(Event::Cut(cut));
                Ok(())
            }
            Err(refused @ Refused::NoPower) => Err(refused),
            Err(refused) => {
                debug_assert_eq!(drive.power(), Power::Dead);
                let _ = self.events.send(Event::Broken(refused.to_string()));
                Err(refused)
            }
        }
    }

    fn power_on(&mut self) -> Result<(), Refused> {
        let drive = &mut self.drives[SERVED];
        if drive.power() != Power::On {
            drive.power_on()?;
            let _ = self.events.send(Event::PoweredOn { cuts: drive.cuts() });
        }
        Ok(())
    }
}

fn tag(token: u64, number: u32) -> u64 {
    token << 32 | u64::from(number)
}

fn ignore_interruption<T>(result: rustix::io::Result<T>) -> io::Result<()> {
    match result.err() {
        None | Some(rustix::io::Errno::INTR) => Ok(()),
        Some(error) => Err(error.into()),
    }
}
