//! The way to a running server, for those who started it: what it is told, and what it tells.

use std::os::fd::OwnedFd;
use std::sync::mpsc::{Sender, channel};

use rustix::thread::CpuSet;

use super::control::Order;
use super::floor::Floors;
use super::socket::Socket;
use crate::drive::Cut;

/// What a server is told by those who started it.
#[derive(Debug)]
pub(super) enum Note {
    /// Talk to this client.
    Admit(Socket),
    /// Talk to this client, which leads to the probe.
    Measure(Socket),
    /// From now on NBD costs so much.
    NbdFloor(Floors),
    /// From now on FUSE costs so much.
    DirectoryFloor(Floors),
    /// Run on these processors.
    RunOn(CpuSet, Sender<()>),
    /// Whatever stands above the drive is there, or could not be put there, as it was switched on after so many cuts.
    Ready { cuts: u64, stands: Result<(), String> },
    /// Carry this out.
    Order(Order, Sender<serde_json::Value>),
    /// End.
    Stop,
}

/// What a server tells those who started it.
#[derive(Debug)]
pub enum Event {
    /// The plug was pulled.
    Cut(Cut),
    /// It was put in again.
    PoweredOn {
        /// After so many cuts in all.
        cuts: u64,
    },
    /// The image failed at a cut: what the drive holds is undefined, and it is dead.
    Broken(String),
    /// Somebody has unmounted the directory.
    Unmounted,
}

/// The way to a running server.
#[derive(Debug)]
pub struct Handle {
    pub(super) notes: Sender<Note>,
    pub(super) wake: OwnedFd,
}

impl Handle {
    fn tell(&self, note: Note) {
        // A server that has ended hears nothing more.
        let _ = self.notes.send(note);
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    /// Lets a client talk to the drive, as if it had connected by itself. Without power, it is turned away.
    pub fn admit(&self, socket: Socket) {
        self.tell(Note::Admit(socket));
    }

    /// Lets a client talk to a drive that takes [`super::probe::PROBE_NS`] for everything.
    pub fn measure(&self, socket: Socket) {
        self.tell(Note::Measure(socket));
    }

    /// Lets the server run on these processors only, from when this returns.
    pub fn run_on(&self, cpus: CpuSet) {
        let (done, is_done) = channel();
        self.tell(Note::RunOn(cpus, done));
        let _ = is_done.recv();
    }

    /// What NBD costs is taken off the model's time from now on.
    pub fn nbd_floor(&self, floors: Floors) {
        self.tell(Note::NbdFloor(floors));
    }

    /// What FUSE costs is taken off the model's time from now on.
    pub fn directory_floor(&self, floors: Floors) {
        self.tell(Note::DirectoryFloor(floors));
    }

    /// Whatever stands above the drive is there, as it was switched on after so many cuts, 0 at the start; or it is not, for this reason. From then on the plug may be pulled by itself.
    pub fn ready(&self, cuts: u64, stands: Result<(), String>) {
        self.tell(Note::Ready { cuts, stands });
    }

    /// Gives an order; `None` when the server has ended.
    pub fn order(&self, order: Order) -> Option<serde_json::Value> {
        let (answer, answered) = channel();
        self.tell(Note::Order(order, answer));
        answered.recv().ok()
    }

    /// Ends the server.
    pub fn stop(&self) {
        self.tell(Note::Stop);
    }
}
