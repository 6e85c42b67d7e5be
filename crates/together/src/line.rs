//! The start line of this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use drive::WallClock;
use engine::{StartLine, Stop};
use measurement::{Agreement, GroupRecord, GroupStart};

use crate::clock::Clock;
use crate::hosts::Hosts;
use crate::position::Position;
use crate::schedule::Schedule;

/// From the last arrival to the start, so that all threads wake in time.
const LEAD: Duration = Duration::from_millis(5);
/// A request to stop is checked at this interval.
const LOOK: Duration = Duration::from_millis(100);

/// The state of the agreement on the moment of a start.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// A runner is asking the other hosts.
    Asked,
    At(Instant),
    /// It was asked to stop.
    Never,
}

/// A start of this process.
#[derive(Debug, Clone)]
struct Begun {
    runner: usize,
    test: usize,
    name: String,
    at: Instant,
}

/// The others that begin at the same moment.
enum Beyond {
    Nobody,
    Hosts(Box<Hosts>),
    Time(Schedule),
}

struct State {
    positions: Vec<Position>,
    moments: BTreeMap<usize, Moment>,
    begun: Vec<Begun>,
    notes: Vec<String>,
}

/// The facts about the group that all runs of the process share.
#[derive(Debug, Clone)]
struct Common {
    name: Option<String>,
    /// This host's name in the group, if there are others.
    host: Option<String>,
    agreement: Agreement,
    expected: Option<u32>,
}

/// The start line of all runs of this process.
pub struct Line {
    members: Vec<String>,
    id: String,
    common: Common,
    state: Mutex<State>,
    changed: Condvar,
    beyond: Mutex<Beyond>,
}

/// A run's place on the line; given up when it is dropped.
pub struct Runner {
    line: Arc<Line>,
    number: usize,
}

impl Line {
    /// For several targets of this host.
    pub fn of_targets(targets: &[String]) -> Vec<Runner> {
        let expected = Some(targets.len() as u32);
        let common = Common { name: None, host: None, agreement: Agreement::Process, expected };
        Line::runners(targets, uuid::Uuid::now_v7().to_string(), common, Beyond::Nobody)
    }

    /// For runs that begin with those of other hosts.
    pub fn of_hosts(targets: &[String], hosts: Hosts) -> Vec<Runner> {
        let group = hosts.group();
        let common = Common {
            name: Some(group.name.clone()),
            host: Some(group.member.clone()),
            agreement: Agreement::Store,
            expected: Some(group.hosts),
        };
        let id = hosts.id().to_owned();
        Line::runners(targets, id, common, Beyond::Hosts(Box::new(hosts)))
    }

    /// For runs that begin at times of the day.
    pub fn at(targets: &[String], schedule: Schedule) -> Vec<Runner> {
        let common = Common { name: None, host: None, agreement: Agreement::Clock, expected: None };
        let id = schedule.start().to_string();
        Line::runners(targets, id, common, Beyond::Time(schedule))
    }

    fn runners(targets: &[String], id: String, common: Common, beyond: Beyond) -> Vec<Runner> {
        let state = State {
            positions: vec![Position::before(0); targets.len()],
            moments: BTreeMap::new(),
            begun: Vec::new(),
            notes: Vec::new(),
        };
        let line = Arc::new(Line {
            members: targets.to_vec(),
            id,
            common,
            state: Mutex::new(state),
            changed: Condvar::new(),
            beyond: Mutex::new(beyond),
        });
        (0..targets.len()).map(|number| Runner { line: Arc::clone(&line), number }).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beyond(&self) -> MutexGuard<'_, Beyond> {
        self.beyond.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, runner: usize, position: Position) {
        self.state().positions[runner] = position;
        self.changed.notify_all();
    }

    /// Reports to the other hosts the tests that no run of this host will begin any more.
    fn announce(&self) {
        let last = self.state().positions.iter().min().copied();
        let (Some(last), Beyond::Hosts(hosts)) = (last, &mut *self.beyond()) else { return };
        // If the store is lost, the next arrival finds that out.
        let _ = hosts.announce(last);
    }

    /// Notes a start, and reports it to the other hosts.
    fn began(&self, begun: Begun) {
        if let Beyond::Hosts(hosts) = &mut *self.beyond() {
            let _ = hosts.began(begun.test, begun.at);
        }
        self.state().begun.push(begun);
    }

    fn arrive(&self, runner: usize, test: usize, stop: &Stop) -> Option<Instant> {
        self.set(runner, Position::ready_for(test));
        let mut state = self.state();
        loop {
            match state.moments.get(&test) {
                Some(Moment::At(moment)) => return Some(*moment),
                Some(Moment::Never) => return None,
                None if state.positions.iter().all(|position| position.has_come_to(test)) => {
                    state.moments.insert(test, Moment::Asked);
                    drop(state);
                    let moment = self.ask(test, stop);
                    let moment = moment.map_or(Moment::Never, Moment::At);
                    state = self.state();
                    state.moments.insert(test, moment);
                    self.changed.notify_all();
                    continue;
                }
                None if stop.is_requested() => return None,
                Some(Moment::Asked) | None => {}
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The moment at which others begin as well; `None` if it was stopped.
    fn ask(&self, test: usize, stop: &Stop) -> Option<Instant> {
        let soon = || Some(Instant::now() + LEAD);
        let mut beyond = self.beyond();
        match &mut *beyond {
            Beyond::Nobody => soon(),
            Beyond::Time(schedule) => {
                let moment = schedule.moment(test);
                while moment > Instant::now() + LEAD {
                    if stop.is_requested() {
                        return None;
                    }
                    let left = moment.saturating_duration_since(Instant::now() + LEAD);
                    std::thread::sleep(left.min(LOOK));
                }
                Some(moment)
            }
            Beyond::Hosts(hosts) => match hosts.arrive(test, &|| stop.is_requested()) {
                Ok(moment) => moment,
                Err(said) => {
                    *beyond = Beyond::Nobody;
                    drop(beyond);
                    self.alone(&said);
                    soon()
                }
            },
        }
    }

    fn alone(&self, said: &str) {
        self.state().notes.push(format!(
            "The store in which the hosts meet was lost ({said}), and this host went on alone"
        ));
    }
}

impl Runner {
    /// The start line of a test, which is the number `test` of the plan; earlier ones are over, or
    /// were left out.
    pub fn test(&self, test: usize, name: &str) -> StartLine {
        self.line.set(self.number, Position::before(test));
        self.line.announce();
        let (line, runner) = (Arc::clone(&self.line), self.number);
        let (at_start, name) = (Arc::clone(&line), name.to_owned());
        StartLine::new(
            move |stop| line.arrive(runner, test, stop),
            move |at| at_start.began(Begun { runner, test, name: name.clone(), at }),
        )
    }

    /// Leaves the line, and returns what is known of the starts.
    pub fn finish(self) -> GroupRecord {
        let line = &self.line;
        line.set(self.number, Position::DONE);
        line.announce();
        let (begun, mut notes) = {
            let state = line.state();
            (state.begun.clone(), state.notes.clone())
        };
        let own = begun.iter().filter(|begun| begun.runner == self.number);
        let clock = Clock::of_this_host();
        let mut beyond = line.beyond();
        let mut starts = Vec::new();
        for start in own {
            let reported = match &mut *beyond {
                Beyond::Hosts(hosts) => hosts
                    .reported(start.test)
                    .map_err(|said| notes.push(format!("the other hosts' starts: {said}")))
                    .ok(),
                Beyond::Nobody | Beyond::Time(_) => None,
            };
            starts.push(match reported {
                Some(reported) => GroupStart {
                    test: start.name.clone(),
                    at: reported.at.to_string(),
                    late_us: reported.late_us,
                    present: reported.present,
                    skew_us: reported.skew_us,
                    absent: reported.absent,
                },
                None => line.own_start(start, &begun, &clock),
            });
        }
        let target = &line.members[self.number];
        let Common { name, host, agreement, expected } = line.common.clone();
        let member = match host {
            None => target.clone(),
            Some(host) if line.members.len() == 1 => host,
            Some(host) => format!("{host} {target}"),
        };
        let clock_error = match &*beyond {
            Beyond::Hosts(hosts) => Some(hosts.clock_error()),
            Beyond::Nobody => None,
            Beyond::Time(_) => {
                let error = WallClock::read().ok().and_then(|clock| clock.error);
                if error.is_none() {
                    notes.push(UNKEPT_CLOCK.to_owned());
                }
                error
            }
        };
        GroupRecord {
            id: line.id.clone(),
            name,
            member,
            agreement,
            expected,
            clock_error_us: clock_error.map(|error| error.as_secs_f64() * 1e6),
            starts,
            notes,
        }
    }
}

/// The note on a start by the time of day where no time server's client runs.
const UNKEPT_CLOCK: &str = "the kernel says that no time server keeps this host's clock right, so \
                            other hosts may have begun at other times";

impl Line {
    /// A start as this process alone knows it.
    fn own_start(&self, start: &Begun, begun: &[Begun], clock: &Clock) -> GroupStart {
        let together: Vec<&Begun> = begun.iter().filter(|other| other.test == start.test).collect();
        let (first, last) = (
            together.iter().map(|begun| begun.at).min(),
            together.iter().map(|begun| begun.at).max(),
        );
        let skew = first.zip(last).map(|(first, last)| (last - first).as_secs_f64() * 1e6);
        let agreed = match self.state().moments.get(&start.test) {
            Some(Moment::At(moment)) => *moment,
            _ => start.at,
        };
        let has_begun = |runner: &usize| together.iter().any(|begun| begun.runner == *runner);
        let absent = (0..self.members.len()).filter(|runner| !has_begun(runner));
        GroupStart {
            test: start.name.clone(),
            at: clock.at(start.at).to_string(),
            late_us: start.at.saturating_duration_since(agreed).as_secs_f64() * 1e6,
            present: together.len() as u32,
            skew_us: skew.filter(|_| together.len() > 1),
            absent: absent.map(|runner| self.members[runner].clone()).collect(),
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.line.set(self.number, Position::DONE);
        self.line.announce();
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("target {number}")).collect()
    }

    /// Begins these tests, as the engine does.
    fn run(runner: Runner, tests: &[usize]) -> GroupRecord {
        let stop = Stop::new();
        for &test in tests {
            runner.line.set(runner.number, Position::before(test));
            let moment = runner.line.arrive(runner.number, test, &stop).unwrap();
            std::thread::sleep(moment.saturating_duration_since(Instant::now()));
            let name = format!("test {test}");
            runner.line.began(Begun { runner: runner.number, test, name, at: Instant::now() });
        }
        runner.finish()
    }

    #[test]
    fn targets_begin_together_and_those_that_leave_out_a_test_are_not_waited_for() {
        let runners = Line::of_targets(&names(3));
        let tests: [&[usize]; 3] = [&[0, 1, 2], &[0, 2], &[0, 1]];
        let records: Vec<GroupRecord> = std::thread::scope(|scope| {
            let threads: Vec<_> = runners
                .into_iter()
                .zip(tests)
                .map(|(runner, tests)| scope.spawn(move || run(runner, tests)))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let starts = |record: &GroupRecord| -> Vec<String> {
            record.starts.iter().map(|start| start.test.clone()).collect()
        };
        assert_eq!(starts(&records[1]), ["test 0", "test 2"]);
        assert_eq!(records[0].starts[0].present, 3);
        assert!(records[0].starts[0].skew_us.unwrap() < 50_000.0);
        assert_eq!(records[0].starts[1].absent, ["target 1"]);
        assert_eq!((records[0].agreement, records[0].expected), (Agreement::Process, Some(3)));
        assert!(records.iter().all(|record| record.id == records[0].id && record.notes.is_empty()));
    }

    #[test]
    fn a_request_to_stop_ends_the_wait() {
        let [first, _other] = Line::of_targets(&names(2)).try_into().ok().unwrap();
        let stop = Stop::new();
        stop.request();
        assert!(first.line.arrive(0, 0, &stop).is_none());
    }

    #[test]
    fn a_runner_that_is_gone_is_not_waited_for() {
        let [first, other] = Line::of_targets(&names(2)).try_into().ok().unwrap();
        drop(other);
        let record = run(first, &[0]);
        assert_eq!((record.starts[0].present, record.starts[0].skew_us), (1, None));
    }

    #[test]
    fn a_time_that_is_past_is_now_and_later_tests_have_their_own() {
        let soon = Timestamp::now() + jiff::SignedDuration::from_millis(300);
        let [runner] =
            Line::at(&names(1), Schedule::new(soon, &[Duration::ZERO; 1])).try_into().ok().unwrap();
        let record = run(runner, &[0, 1]);
        let at = |number: usize| record.starts[number].at.parse::<Timestamp>().unwrap();
        assert!(at(0) >= soon && record.starts[0].late_us < 50_000.0, "{record:?}");
        assert_eq!((record.agreement, record.expected), (Agreement::Clock, None));
        // Either the clock is synchronised, or a note says that it is not.
        assert_eq!(record.clock_error_us.is_none(), record.notes == [UNKEPT_CLOCK]);
        assert!(at(1) >= at(0));
    }
}
