//! Controls a running server: messages to it, and events from it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{EventfdFlags, eventfd};
use rustix::thread::CpuSet;

use super::control::Order;
use super::socket::{ProbeAddress, Socket};
use super::transport_cost::TransportCosts;
use crate::drive::Cut;

#[derive(Debug)]
pub(super) enum Message {
    Admit(Socket),
    /// Connect to this address, and serve the client there with the probe drive.
    Measure(ProbeAddress, Sender<io::Result<()>>),
    NbdFloor(TransportCosts),
    /// Set the cost of FUSE.
    DirectoryFloor(TransportCosts),
    /// Run on these processors.
    RunOn(CpuSet, Sender<()>),
    /// The layers on top of the drive are ready, or failed, for the drive as switched on after
    /// this many cuts.
    Ready {
        cuts: u64,
        outcome: Result<(), String>,
    },
    Order(Order, Sender<serde_json::Value>),
    Stop,
}

#[derive(Debug)]
pub enum Event {
    Cut(Cut),
    PoweredOn {
        /// Total number of cuts before.
        cuts: u64,
    },
    /// The image failed at a cut: the drive's content is undefined, and it is dead.
    Broken(String),
    /// The directory was unmounted from outside.
    Unmounted,
}

#[derive(Debug)]
pub struct Handle {
    pub(super) messages: Sender<Message>,
    pub(super) wake: OwnedFd,
}

/// The server's end of a [`Handle`].
#[derive(Debug)]
pub struct Inbox {
    pub(super) messages: Receiver<Message>,
    pub(super) wake: OwnedFd,
}

impl Handle {
    /// A handle for a server that does not exist yet: the server's thread may have a separate
    /// descriptor table, and both need the descriptor that wakes it.
    ///
    /// # Errors
    /// When no file descriptors are available.
    pub fn new() -> io::Result<(Handle, Inbox)> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (messages_in, messages) = channel();
        let inbox = Inbox { messages, wake: wake.try_clone()? };
        Ok((Handle { messages: messages_in, wake }, inbox))
    }

    fn tell(&self, message: Message) {
        // A server that has ended receives nothing more.
        let _ = self.messages.send(message);
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Serves a client as if it had connected by itself. Without power, it is turned away.
    pub fn admit(&self, socket: Socket) {
        self.tell(Message::Admit(socket));
    }

    /// Connects the probe, a drive that takes a known time for every command, to a listening
    /// client.
    ///
    /// # Errors
    /// When the server cannot connect, or has ended.
    pub fn measure(&self, address: ProbeAddress) -> io::Result<()> {
        let (done, is_done) = channel();
        self.tell(Message::Measure(address, done));
        is_done.recv().map_err(|_| io::ErrorKind::BrokenPipe)?
    }

    /// Restricts the server to these processors; returns when that is done.
    pub fn run_on(&self, cpus: CpuSet) {
        let (done, is_done) = channel();
        self.tell(Message::RunOn(cpus, done));
        let _ = is_done.recv();
    }

    /// Subtracts this cost of NBD from the model's time from now on.
    pub fn nbd_floor(&self, floors: TransportCosts) {
        self.tell(Message::NbdFloor(floors));
    }

    /// Subtracts this cost of FUSE from the model's time from now on.
    pub fn directory_floor(&self, floors: TransportCosts) {
        self.tell(Message::DirectoryFloor(floors));
    }

    /// Reports that everything on top of the drive is ready, as it was switched on after this many
    /// cuts (0 at the start), or why that failed. From then on, automatic power cuts may happen.
    pub fn ready(&self, cuts: u64, outcome: Result<(), String>) {
        self.tell(Message::Ready { cuts, outcome });
    }

    /// Executes an order; `None` when the server has ended.
    pub fn order(&self, order: Order) -> Option<serde_json::Value> {
        let (answer, answered) = channel();
        self.tell(Message::Order(order, answer));
        answered.recv().ok()
    }

    pub fn stop(&self) {
        self.tell(Message::Stop);
    }
}
