//! A cloud volume, or a local drive behind a cloud's limits.
//!
//! To the virtual machine, it is a round trip, a share of a network, and a service contract. A
//! command's data is split into units that go to different servers in parallel, so a large command
//! takes little longer than a small one until the link is saturated. The contract is a leaky
//! bucket: writes run ahead of it as far as the burst allows, and a flush waits until the bucket
//! has caught up, because until then data is waiting somewhere on the way. Acknowledged data is
//! safe: it is on several servers, or on the provider's protected power.

use std::collections::VecDeque;

use catalogue::model;
use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Activity, Completion, Device, Identity, Op, Request, Stamp};
use crate::events::Agenda;
use crate::medium::Medium;
use crate::time::{Ns, Speed, from_us};

#[derive(Debug, Clone)]
pub struct Volume {
    capacity_bytes: u64,
    queue_depth: u32,
    fua: bool,
    write: Ns,
    read: Ns,
    flush: Ns,
    unit_bytes: u64,
    unit: Speed,
    link: Speed,
    sustained: Speed,
    burst: Ns,
    command_gap: Ns,
    link_free: Ns,
    back_free: Ns,
    /// The time at which the contract will have caught up with the writes.
    caught_up: Ns,
    /// The time at which the contract permits the next command.
    next_command: Ns,
    agenda: Agenda<Done>,
    activity: Activity,
    medium: Medium,
    /// Writes that have not been acknowledged, with the time of their acknowledgement.
    unacknowledged: VecDeque<(Ns, Request)>,
}

#[derive(Debug, Clone, Copy)]
struct Done {
    request: Request,
    since: Ns,
}

impl Volume {
    /// A new volume. The parameters must be valid.
    pub fn new(parameters: &model::Volume, capacity_bytes: u64, track_contents: bool) -> Volume {
        let sustained = Speed::from_mb_per_s(parameters.sustained_mb_per_s);
        Volume {
            capacity_bytes,
            queue_depth: parameters.queue_depth,
            fua: parameters.fua,
            write: from_us(parameters.write_us),
            read: from_us(parameters.read_us),
            flush: from_us(parameters.flush_us),
            unit_bytes: parameters.unit.0,
            unit: Speed::from_mb_per_s(parameters.unit_mb_per_s),
            link: Speed::from_mb_per_s(parameters.link_mb_per_s),
            sustained,
            burst: sustained.time(parameters.burst.0),
            command_gap: (1e9 / parameters.iops_most) as Ns,
            link_free: 0,
            back_free: 0,
            caught_up: 0,
            next_command: 0,
            agenda: Agenda::new(),
            activity: Activity::default(),
            medium: Medium::new(track_contents),
            unacknowledged: VecDeque::new(),
        }
    }

    /// The time at which a command can start under the contract.
    fn admitted(&mut self, now: Ns) -> Ns {
        let begin = now.max(self.next_command);
        self.next_command = begin + self.command_gap;
        begin
    }

    fn write_ends(&mut self, now: Ns, bytes: u64) -> Ns {
        let admitted = self.admitted(now);
        let begin = admitted.max(self.link_free).max(self.caught_up.saturating_sub(self.burst));
        self.link_free = begin + self.link.time(bytes);
        self.caught_up = self.caught_up.max(begin) + self.sustained.time(bytes);
        let in_bucket = self.caught_up.saturating_sub(self.burst);
        self.link_free.max(in_bucket) + self.write + self.unit.time(bytes.min(self.unit_bytes))
    }

    fn read_ends(&mut self, now: Ns, bytes: u64) -> Ns {
        let ready = self.admitted(now) + self.read + self.unit.time(bytes.min(self.unit_bytes));
        self.back_free = self.back_free.max(ready) + self.link.time(bytes);
        self.back_free
    }

    fn store(&mut self, request: &Request) {
        self.medium.write(request.offset, request.bytes, request.stamp);
    }
}

impl Device for Volume {
    fn identity(&self) -> Identity {
        Identity {
            capacity_bytes: self.capacity_bytes,
            volatile_cache: true,
            fua: self.fua,
            queue_depth: self.queue_depth,
            rotational: false,
            switchable: false,
        }
    }

    fn set_write_cache(&mut self, _now: Ns, _on: bool) {}

    fn precondition(&mut self, _bytes: u64) {}

    fn submit(&mut self, now: Ns, request: Request) {
        let end = match request.op {
            Op::Write => {
                let end = self.write_ends(now, request.bytes);
                if self.medium.is_tracked() {
                    self.unacknowledged.push_back((end, request));
                }
                end
            }
            Op::Read => self.read_ends(now, request.bytes),
            Op::Flush => now.max(self.caught_up) + self.flush,
        };
        self.agenda.enter(end, Done { request, since: now });
    }

    fn next_event(&self) -> Option<Ns> {
        self.agenda.next_at()
    }

    fn advance(&mut self, now: Ns, done: &mut Vec<Completion>) {
        while let Some((at, Done { request, since })) = self.agenda.take(now) {
            match request.op {
                Op::Read => self.activity.reads += 1,
                Op::Write => {
                    self.activity.writes += 1;
                    self.activity.written_bytes += request.bytes;
                    self.store(&request);
                    self.unacknowledged.retain(|(_, waiting)| waiting.id != request.id);
                }
                Op::Flush => {
                    self.activity.flushes += 1;
                    self.activity.flush_ns += at - since;
                }
            }
            done.push(Completion { id: request.id, at });
        }
    }

    /// The virtual machine loses power, not the servers: writes on the way may or may not arrive.
    fn power_cut(&mut self, now: Ns, chance: &mut Xoshiro256PlusPlus) {
        for (_, request) in std::mem::take(&mut self.unacknowledged) {
            if chance.next_u64() & 1 == 1 {
                self.store(&request);
            }
        }
        self.agenda.clear();
        self.link_free = now;
        self.back_free = now;
        self.caught_up = self.caught_up.min(now);
        self.next_command = now;
    }

    fn contents(&self, offset: u64, bytes: u64) -> Vec<Stamp> {
        self.medium.read(offset, bytes)
    }

    fn at_risk_from(&self, _now: Ns) -> Option<Stamp> {
        None
    }

    fn dirty_bytes(&self, _now: Ns) -> u64 {
        0
    }

    fn activity(&self) -> Activity {
        Activity { medium_bytes: self.activity.written_bytes, ..self.activity }
    }
}
