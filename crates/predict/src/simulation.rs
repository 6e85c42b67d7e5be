//! A closed loop of clients that commit in groups, in virtual time.
//!
//! Each client sends a statement, the server executes it and writes its log record, and the client
//! waits until that is durable. A sync covers the records that were there when it began; a client
//! that finds none under way begins the next one. Clients and server share processors, first come,
//! first served.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand_core::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::sync_times::{Draws, SyncTimes};

/// Nanoseconds.
type Ns = u64;

/// The times of one commit except that of its sync, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// The server's processor time from the statement's arrival to its log record.
    pub execute: f64,
    /// Processor time to begin a sync, of the client that begins it.
    pub begin_sync: f64,
    /// The server's processor time from durability to its answer.
    pub answer: f64,
    /// The client's processor time between an answer and its next statement.
    pub client: f64,
    /// From a wake-up to running on an idle processor, and the network.
    pub wake: f64,
}

impl Work {
    pub fn stretched(self, factor: f64) -> Work {
        Work {
            execute: self.execute * factor,
            begin_sync: self.begin_sync * factor,
            answer: self.answer * factor,
            client: self.client * factor,
            wake: self.wake * factor,
        }
    }
}

pub struct Loop<'a> {
    pub clients: u32,
    /// Processors that clients and server share; more than clients if they need not wait.
    pub processors: u32,
    pub work: Work,
    /// Syncs that a commit waits for, one after the other; none if it is not durable.
    pub serial_syncs: u32,
    /// The times of syncs, without the processor time to begin them.
    pub sync: &'a SyncTimes,
    /// The part of a sync that writes. The client that leads it then needs a processor again, to
    /// send the flush; 1 if the drive gets none.
    pub write_part: f64,
    /// Syncs of other files on the same drive, which no commit waits for.
    pub others: Option<OtherSyncs<'a>>,
}

/// Syncs of tables and their copies.
pub struct OtherSyncs<'a> {
    pub per_commit: f64,
    pub times: &'a SyncTimes,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    pub commits_per_s: f64,
    pub syncs_per_commit: f64,
    /// Share of the time in which a sync was under way.
    pub in_sync: f64,
    /// Share of the processors' time that was used.
    pub processors_used: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Client,
    Execute,
    /// Leads a sync of a station: before it.
    BeginSync,
    /// Leads a sync whose data is written, and sends the flush.
    SendFlush,
    /// Led a sync that is complete.
    EndSync,
    /// Woken after a sync.
    Awake,
    Answer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A client's burst of processor time is over.
    Ran(u32, Phase),
    /// The data of the sync that this client leads is written.
    Written(u32),
    /// The sync that this client leads is complete, or one of other files.
    Synced(Option<u32>),
}

/// One of the syncs that a commit waits for.
#[derive(Debug, Default)]
struct Station {
    is_busy: bool,
    /// Records that arrived.
    arrived: u64,
    /// Records that are durable.
    durable: u64,
    /// Records that the sync under way covers.
    covered: u64,
    waiting: Vec<u32>,
}

struct State<'a> {
    of: &'a Loop<'a>,
    draws: Draws,
    chance: Xoshiro256PlusPlus,
    now: Ns,
    /// Events in the order of their time, then of their insertion.
    agenda: BinaryHeap<Reverse<(Ns, u64, Event)>>,
    inserted: u64,
    free: u32,
    ready: VecDeque<(u32, Phase)>,
    stations: Vec<Station>,
    /// Syncs that wait for another one: that of a leader, or of other files.
    queue: VecDeque<Option<u32>>,
    other_draws: Option<Draws>,
    /// Other syncs that are due, as a part of one.
    others_due: f64,
    /// The station at which each client waits, and its record there.
    at: Vec<(usize, u64)>,
    /// The time that the flush of the sync that each client leads will take.
    flush_ns: Vec<f64>,
    used: Ns,
    commits: u64,
    syncs: u64,
    is_syncing: bool,
    in_sync: Ns,
}

/// Syncs before anything is counted, or as many commits of each client if none syncs.
const WARM_UP: u64 = 32;

/// Simulates as many syncs as the mean of their times needs, `rounds` times. The same loop has the
/// same outcome.
pub fn simulate(of: &Loop<'_>, rounds: u64) -> Outcome {
    let stations = (0..of.serial_syncs).map(|_| Station::default()).collect();
    let mut state = State {
        of,
        draws: of.sync.draws(),
        chance: Xoshiro256PlusPlus::seed_from_u64(u64::from(of.clients)),
        now: 0,
        agenda: BinaryHeap::new(),
        inserted: 0,
        free: of.processors,
        ready: VecDeque::new(),
        stations,
        queue: VecDeque::new(),
        other_draws: of.others.as_ref().map(|others| others.times.draws()),
        others_due: 0.0,
        at: vec![(0, 0); of.clients as usize],
        flush_ns: vec![0.0; of.clients as usize],
        used: 0,
        commits: 0,
        syncs: 0,
        is_syncing: false,
        in_sync: 0,
    };
    for client in 0..of.clients {
        state.get_ready(client, Phase::Client);
    }
    let rounds = SyncTimes::SLICES as u64 * rounds;
    state.until(WARM_UP);
    let (from, commits, syncs) = (state.now, state.commits, state.syncs);
    let (used, in_sync) = (state.used, state.in_sync);
    state.until(WARM_UP + rounds);
    let elapsed = (state.now - from).max(1) as f64;
    let commits = (state.commits - commits).max(1) as f64;
    Outcome {
        commits_per_s: commits * 1e9 / elapsed,
        syncs_per_commit: (state.syncs - syncs) as f64 / commits,
        in_sync: (state.in_sync - in_sync) as f64 / elapsed,
        processors_used: (state.used - used) as f64 / elapsed / f64::from(of.processors),
    }
}

impl State<'_> {
    fn until(&mut self, rounds: u64) {
        let clients = u64::from(self.of.clients);
        while if self.stations.is_empty() {
            self.commits < rounds * clients
        } else {
            self.syncs < rounds
        } {
            let Some(Reverse((at, _, event))) = self.agenda.pop() else { return };
            self.now = at;
            match event {
                Event::Ran(client, phase) => self.ran(client, phase),
                Event::Written(leader) => self.get_ready(leader, Phase::SendFlush),
                Event::Synced(leader) => self.synced(leader),
            }
        }
    }

    fn put(&mut self, delay: f64, event: Event) {
        self.inserted += 1;
        self.agenda.push(Reverse((self.now + delay as Ns, self.inserted, event)));
    }

    const fn burst(&self, phase: Phase) -> f64 {
        let work = &self.of.work;
        match phase {
            Phase::Client => work.client,
            Phase::Execute => work.execute,
            Phase::BeginSync => work.begin_sync,
            Phase::SendFlush | Phase::EndSync | Phase::Awake => 0.0,
            Phase::Answer => work.answer,
        }
    }

    /// The client's next burst, as soon as a processor is free.
    fn get_ready(&mut self, client: u32, phase: Phase) {
        if self.free > 0 {
            self.free -= 1;
            let burst = self.burst(phase);
            self.used += burst as Ns;
            self.put(self.of.work.wake + burst, Event::Ran(client, phase));
        } else {
            self.ready.push_back((client, phase));
        }
    }

    /// Another burst on the processor that the client has.
    fn go_on(&mut self, client: u32, phase: Phase) {
        let burst = self.burst(phase);
        self.used += burst as Ns;
        self.put(burst, Event::Ran(client, phase));
    }

    fn leave_processor(&mut self) {
        match self.ready.pop_front() {
            Some((client, phase)) => self.go_on(client, phase),
            None => self.free += 1,
        }
    }

    fn ran(&mut self, client: u32, phase: Phase) {
        match phase {
            Phase::Client => {
                self.get_ready(client, Phase::Execute);
                self.leave_processor();
            }
            Phase::Execute if self.stations.is_empty() => self.go_on(client, Phase::Answer),
            Phase::Execute => self.arrive(client, 0),
            Phase::BeginSync => {
                self.queue.push_back(Some(client));
                self.sync_next();
                self.leave_processor();
            }
            Phase::SendFlush => {
                self.put(self.flush_ns[client as usize], Event::Synced(Some(client)));
                self.leave_processor();
            }
            Phase::EndSync => self.release(client),
            Phase::Awake => self.look(client),
            Phase::Answer => {
                self.commits += 1;
                self.others_due += self.of.others.as_ref().map_or(0.0, |others| others.per_commit);
                while self.others_due >= 1.0 {
                    self.others_due -= 1.0;
                    self.queue.push_back(None);
                    self.sync_next();
                }
                self.get_ready(client, Phase::Client);
                self.leave_processor();
            }
        }
    }

    /// The drive makes one sync after the other.
    fn sync_next(&mut self) {
        if !self.is_syncing
            && let Some(leader) = self.queue.pop_front()
        {
            self.is_syncing = true;
            let draws = match &mut self.other_draws {
                Some(others) if leader.is_none() => others,
                _ => &mut self.draws,
            };
            let time = draws.next_ns(&mut self.chance);
            self.in_sync += time;
            match leader {
                Some(leader) if self.of.write_part < 1.0 => {
                    self.flush_ns[leader as usize] = time as f64 * (1.0 - self.of.write_part);
                    self.put(time as f64 * self.of.write_part, Event::Written(leader));
                }
                leader => self.put(time as f64, Event::Synced(leader)),
            }
        }
    }

    /// A record of the client is written at this station, while it has a processor.
    fn arrive(&mut self, client: u32, station: usize) {
        let at = &mut self.stations[station];
        at.arrived += 1;
        self.at[client as usize] = (station, at.arrived);
        self.look(client);
    }

    /// The client, on its processor, looks whether its record is durable.
    fn look(&mut self, client: u32) {
        let (number, record) = self.at[client as usize];
        let station = &mut self.stations[number];
        if record <= station.durable {
            if number + 1 < self.stations.len() {
                self.arrive(client, number + 1);
            } else {
                self.go_on(client, Phase::Answer);
            }
        } else if station.is_busy {
            station.waiting.push(client);
            self.leave_processor();
        } else {
            station.is_busy = true;
            station.covered = station.arrived;
            self.go_on(client, Phase::BeginSync);
        }
    }

    /// The drive is done; the leader notices when it gets a processor.
    fn synced(&mut self, leader: Option<u32>) {
        self.is_syncing = false;
        self.sync_next();
        if let Some(leader) = leader {
            self.syncs += 1;
            self.get_ready(leader, Phase::EndSync);
        }
    }

    /// The leader, on its processor, wakes those who wait.
    fn release(&mut self, leader: u32) {
        let station = &mut self.stations[self.at[leader as usize].0];
        station.durable = station.covered;
        station.is_busy = false;
        for client in std::mem::take(&mut station.waiting) {
            self.get_ready(client, Phase::Awake);
        }
        self.look(leader);
    }
}

#[cfg(test)]
mod tests {
    use measurement::Histogram;
    use proptest::prelude::*;

    use super::*;

    fn sync(us: u64) -> SyncTimes {
        let mut histogram = Histogram::new();
        histogram.record(us * 1000);
        SyncTimes::of(&histogram).unwrap()
    }

    fn work(cpu_us: f64) -> Work {
        let each = cpu_us * 1e3 / 4.0;
        Work { execute: each, begin_sync: each, answer: each, client: each, wake: 0.0 }
    }

    fn outcome(clients: u32, processors: u32, work: Work, syncs: u32, sync: &SyncTimes) -> Outcome {
        let others = None;
        let write_part = 1.0;
        simulate(
            &Loop { clients, processors, work, serial_syncs: syncs, sync, write_part, others },
            2,
        )
    }

    fn close(value: f64, wanted: f64, error: f64) {
        assert!((value / wanted - 1.0).abs() < error, "{value} instead of {wanted}");
    }

    #[test]
    fn one_client_waits_for_every_sync() {
        let one = outcome(1, 2, work(100.0), 1, &sync(400));
        close(one.commits_per_s, 1e6 / 500.0, 0.01);
        close(one.syncs_per_commit, 1.0, 0.01);
        close(one.in_sync, 0.8, 0.01);
        close(outcome(1, 2, work(100.0), 2, &sync(400)).commits_per_s, 1e6 / 925.0, 0.05);
    }

    #[test]
    fn half_of_many_clients_share_a_sync() {
        for clients in [4, 16, 64] {
            let many = outcome(clients, 64, work(10.0), 1, &sync(4000));
            close(many.commits_per_s, f64::from(clients) * 1e6 / 8000.0, 0.02);
            close(many.syncs_per_commit, 2.0 / f64::from(clients), 0.02);
        }
        let two = outcome(2, 2, work(10.0), 1, &sync(4000));
        close(two.commits_per_s, 1e6 / 4000.0, 0.02);
    }

    #[test]
    fn processors_limit_the_rate() {
        let busy = outcome(64, 2, work(200.0), 1, &sync(50));
        assert!(busy.processors_used > 0.95, "{busy:?}");
        // A sync is shared, so its beginning costs a commit less than its quarter.
        assert!((10_000.0..14_000.0).contains(&busy.commits_per_s), "{busy:?}");
    }

    #[test]
    fn commits_that_are_not_durable_do_not_wait() {
        let free = outcome(1, 1, work(100.0), 0, &sync(4000));
        close(free.commits_per_s, 1e6 / 75.0, 0.02);
        assert_eq!((free.syncs_per_commit, free.in_sync), (0.0, 0.0));
    }

    #[test]
    fn other_syncs_occupy_the_drive() {
        let (times, work) = (sync(1000), work(10.0));
        let of = |per_commit| {
            let others = (per_commit > 0.0).then_some(OtherSyncs { per_commit, times: &times });
            let of = Loop {
                clients: 16,
                processors: 16,
                work,
                serial_syncs: 1,
                sync: &times,
                write_part: 1.0,
                others,
            };
            simulate(&of, 4).commits_per_s
        };
        // Eight commits a sync, and another sync with each of them.
        close(of(0.125), of(0.0) / 2.0, 0.05);
    }

    #[test]
    fn a_flush_waits_until_its_leader_has_a_processor_again() {
        let of = |write_part| {
            let sync = sync(1500);
            let (clients, work) = (16, work(240.0));
            let of = Loop {
                clients,
                processors: 1,
                work,
                serial_syncs: 1,
                sync: &sync,
                write_part,
                others: None,
            };
            simulate(&of, 4)
        };
        // Eight clients use the processor for 1.5 ms, which a write of 1.5 ms hides and one of 15 µs
        // does not.
        let (flushed, written) = (of(0.01).commits_per_s, of(1.0).commits_per_s);
        assert!(flushed < written * 0.9, "{flushed} {written}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// No processor and no drive does more than one thing at a time, and nobody is left behind.
        #[test]
        fn nothing_is_used_twice(
            clients in 1..40_u32,
            processors in 1..5_u32,
            cpu_us in 1.0..500.0_f64,
            sync_us in 10..5000_u64,
            syncs in 0..3_u32,
        ) {
            let seen = outcome(clients, processors, work(cpu_us), syncs, &sync(sync_us));
            prop_assert!(seen.processors_used <= 1.01, "{seen:?}");
            prop_assert!(seen.in_sync <= 1.02, "{seen:?}");
            let alone_us = cpu_us * 0.75;
            let most = f64::from(clients) * 1e6 / alone_us;
            prop_assert!(seen.commits_per_s > 0.0 && seen.commits_per_s <= most * 1.02, "{seen:?}");
            prop_assert!(seen.syncs_per_commit <= f64::from(syncs) * 1.05, "{seen:?}");
        }
    }
}
