//! Hosts that meet in a PostgreSQL database.
//!
//! Each host joins a group, and announces each test that it is ready for. The first host
//! to see that nobody is missing, or that the time is up, records the moment of the start, by the
//! server's clock; all others read it there. A host shows that it lives by a lock of its connection, which
//! ends with it.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use postgres::Client;
use uuid::Uuid;

use crate::clock::Clock;
use crate::error::{GroupError, Problem};
use crate::position::Position;

/// From the decision to the start, so that all hosts hear of it in time.
const LEAD: Duration = Duration::from_millis(250);
/// Without a notification, the database is queried again after this time.
const LOOK: Duration = Duration::from_millis(100);
/// The time to wait for the starts of live hosts, after the last test.
const LATE_REPORTS: Duration = Duration::from_secs(5);
/// Records of groups are removed after this time.
const KEPT_DAYS: u32 = 30;
/// Key of the lock under which hosts join; `FLTG`.
const JOIN_KEY: i64 = 0x464C_5447;
/// First half of the keys of members' locks; the second half is the member's number.
const MEMBER_KEY: i32 = 0x464C_5447;

/// Asks the server to notice within ten seconds that a host lost its power or its network: neither
/// closes the connection, and by default the host would be waited for in each test. Servers before
/// PostgreSQL 12 have no `tcp_user_timeout`, and notice only while nothing is on its way to the host.
const LOSS: &str = "
SELECT set_config(parameter, value, false)
FROM (VALUES
    ('tcp_keepalives_idle', '5'),
    ('tcp_keepalives_interval', '1'),
    ('tcp_keepalives_count', '5'),
    ('tcp_user_timeout', '10000')
) wanted (parameter, value)
WHERE parameter IN (SELECT name FROM pg_catalog.pg_settings)
";

const TABLES: &str = "
CREATE SCHEMA IF NOT EXISTS flushmark;
CREATE TABLE IF NOT EXISTS flushmark.run_groups (
    id        text PRIMARY KEY,
    name      text NOT NULL,
    plan      text NOT NULL,
    hosts     bigint NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX IF NOT EXISTS run_groups_by_name ON flushmark.run_groups (name, opened_at);
CREATE TABLE IF NOT EXISTS flushmark.run_group_members (
    number    integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_group text NOT NULL REFERENCES flushmark.run_groups (id) ON DELETE CASCADE,
    name      text NOT NULL,
    -- Twice the test that it is before, and one more if it is ready for it.
    position  bigint NOT NULL DEFAULT 0,
    UNIQUE (run_group, name)
);
CREATE TABLE IF NOT EXISTS flushmark.run_group_starts (
    run_group text NOT NULL REFERENCES flushmark.run_groups (id) ON DELETE CASCADE,
    test      bigint NOT NULL,
    at_us     bigint NOT NULL,
    present   bigint NOT NULL,
    PRIMARY KEY (run_group, test)
);
CREATE TABLE IF NOT EXISTS flushmark.run_group_begun (
    member integer NOT NULL REFERENCES flushmark.run_group_members (number) ON DELETE CASCADE,
    test   bigint NOT NULL,
    at_us  bigint NOT NULL,
    PRIMARY KEY (member, test)
);
";

/// The server's clock, in microseconds since 1970.
const NOW_US: &str = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

/// A group to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    /// Hosts that belong to it.
    pub hosts: u32,
    /// This host's name in it.
    pub member: String,
    /// A text that is the same on all hosts that run the same tests.
    pub plan: String,
    /// The time to wait for hosts that are missing, or not ready for a test.
    pub patience: Duration,
}

/// A host's membership in a group; it ends when this is dropped.
pub struct Hosts {
    client: Client,
    group: Group,
    id: String,
    number: i32,
    /// The server's.
    clock: Clock,
}

/// A start, as all hosts reported it.
pub(crate) struct Reported {
    /// This host's start, by the server's clock.
    pub at: Timestamp,
    /// After the agreed moment, in microseconds.
    pub late_us: f64,
    pub present: u32,
    pub skew_us: Option<f64>,
    pub absent: Vec<String>,
}

impl Hosts {
    /// Joins the group that has this name and has not begun, or else opens one.
    ///
    /// # Errors
    /// If the server cannot be reached, or the group is not one for this host.
    pub fn join(url: &str, group: Group, wait: Duration) -> Result<Hosts, GroupError> {
        let name = group.name.clone();
        let join = || {
            let mut client =
                database::connect_postgres(url, None, wait).map_err(Problem::Unreachable)?;
            client.batch_execute("SET client_min_messages = warning").map_err(refused)?;
            client.batch_execute(LOSS).map_err(refused)?;
            let (id, number) = membership(&mut client, &group)?;
            client.batch_execute("LISTEN flushmark_group").map_err(refused)?;
            let clock = server_clock(&mut client).map_err(refused)?;
            Ok(Hosts { client, group, id, number, clock })
        };
        join().map_err(|problem| GroupError { group: name, problem })
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    pub(crate) fn clock_error(&self) -> Duration {
        self.clock.error
    }

    /// Reports this host's position to the others.
    pub(crate) fn announce(&mut self, position: Position) -> Result<(), String> {
        self.set(position).map_err(said)
    }

    /// Waits until all hosts are ready for a test; `None` if it was stopped.
    pub(crate) fn arrive(
        &mut self,
        test: usize,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Instant>, String> {
        self.agreed(test, is_stopped).map_err(said)
    }

    /// Reports when this host began a test.
    pub(crate) fn began(&mut self, test: usize, moment: Instant) -> Result<(), String> {
        let at_us = self.clock.at_us(moment);
        let sql = "INSERT INTO flushmark.run_group_begun (member, test, at_us) VALUES ($1, $2, $3) \
                   ON CONFLICT DO NOTHING";
        self.client.execute(sql, &[&self.number, &(test as i64), &at_us]).map(drop).map_err(said)
    }

    /// The starts reported for a test that this host began. Waits briefly for live hosts.
    pub(crate) fn reported(&mut self, test: usize) -> Result<Reported, String> {
        let begun = Instant::now();
        loop {
            let (reported, is_complete) = self.reports(test).map_err(said)?;
            if is_complete || begun.elapsed() > LATE_REPORTS {
                return Ok(reported);
            }
            std::thread::sleep(LOOK);
        }
    }

    fn set(&mut self, position: Position) -> Result<(), postgres::Error> {
        let sql = "UPDATE flushmark.run_group_members SET position = $2 WHERE number = $1";
        self.client.execute(sql, &[&self.number, &position.number()])?;
        self.client.batch_execute("NOTIFY flushmark_group")
    }

    fn agreed(
        &mut self,
        test: usize,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Instant>, postgres::Error> {
        self.set(Position::ready_for(test))?;
        let arrived = Instant::now();
        loop {
            let found = self.client.query_opt(
                "SELECT at_us FROM flushmark.run_group_starts WHERE run_group = $1 AND test = $2",
                &[&self.id, &(test as i64)],
            )?;
            if let Some(row) = found {
                self.clock = server_clock(&mut self.client)?;
                return Ok(Some(self.clock.instant(row.get(0))));
            }
            if is_stopped() {
                return Ok(None);
            }
            if self.nobody_is_missing(test)? || arrived.elapsed() > self.group.patience {
                self.decide(test)?;
                continue;
            }
            wait_for_notification(&mut self.client)?;
        }
    }

    /// All hosts have joined, and each of them is ready, past this test, or gone. Once the group has
    /// begun, hosts that never joined are no longer expected.
    fn nobody_is_missing(&mut self, test: usize) -> Result<bool, postgres::Error> {
        let lives = lives();
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE position < $2 AND {lives}), EXISTS (SELECT 1 \
             FROM flushmark.run_group_starts WHERE run_group = $1) FROM \
             flushmark.run_group_members m WHERE run_group = $1"
        );
        let row = self.client.query_one(&sql, &[&self.id, &Position::ready_for(test).number()])?;
        let (joined, awaited, has_begun): (i64, i64, bool) = (row.get(0), row.get(1), row.get(2));
        Ok(awaited == 0 && (has_begun || joined >= i64::from(self.group.hosts)))
    }

    fn decide(&mut self, test: usize) -> Result<(), postgres::Error> {
        let lead_us = LEAD.as_micros() as i64;
        let sql = format!(
            "INSERT INTO flushmark.run_group_starts (run_group, test, at_us, present) SELECT $1, \
             $2, {NOW_US} + $3, count(*) FROM flushmark.run_group_members WHERE run_group = $1 AND \
             position = $4 ON CONFLICT DO NOTHING"
        );
        let ready = Position::ready_for(test).number();
        self.client.execute(&sql, &[&self.id, &(test as i64), &lead_us, &ready])?;
        self.client.batch_execute("NOTIFY flushmark_group")
    }

    fn reports(&mut self, test: usize) -> Result<(Reported, bool), postgres::Error> {
        let lives = lives();
        let agreed_us: i64 = self
            .client
            .query_one(
                "SELECT at_us FROM flushmark.run_group_starts WHERE run_group = $1 AND test = $2",
                &[&self.id, &(test as i64)],
            )?
            .get(0);
        let sql = format!(
            "SELECT m.number, m.name, b.at_us, m.position >= $3 AND {lives} FROM \
             flushmark.run_group_members m LEFT JOIN flushmark.run_group_begun b ON b.member = \
             m.number AND b.test = $2 WHERE m.run_group = $1 ORDER BY m.name"
        );
        let ready = Position::ready_for(test).number();
        let rows = self.client.query(&sql, &[&self.id, &(test as i64), &ready])?;
        let (mut starts, mut absent, mut own_us, mut is_complete) = (vec![], vec![], None, true);
        for row in &rows {
            let (number, at_us): (i32, Option<i64>) = (row.get(0), row.get(2));
            if let Some(at_us) = at_us {
                starts.push(at_us);
            } else {
                absent.push(row.get(1));
                is_complete &= !row.get::<_, bool>(3);
            }
            if number == self.number {
                own_us = at_us;
            }
        }
        let own_us = own_us.unwrap_or(agreed_us);
        let (first, last) = (starts.iter().min(), starts.iter().max());
        let skew_us = first.zip(last).map(|(first, last)| (last - first) as f64);
        let reported = Reported {
            at: Timestamp::from_microsecond(own_us).unwrap_or(Timestamp::UNIX_EPOCH),
            late_us: (own_us - agreed_us) as f64,
            present: starts.len() as u32,
            skew_us: skew_us.filter(|_| starts.len() > 1),
            absent,
        };
        Ok((reported, is_complete))
    }
}

/// The condition that the connection of a member `m` is open.
fn lives() -> String {
    format!(
        "EXISTS (SELECT 1 FROM pg_catalog.pg_locks l WHERE l.locktype = 'advisory' AND l.granted \
         AND l.objsubid = 2 AND l.classid::bigint = {MEMBER_KEY} AND l.objid::bigint = m.number \
         AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = \
         current_database()))"
    )
}

/// The group's identity and this member's number, with the member's lock held.
fn membership(client: &mut Client, group: &Group) -> Result<(String, i32), Problem> {
    let mut transaction = client.transaction().map_err(refused)?;
    transaction
        .batch_execute(&format!("SELECT pg_advisory_xact_lock({JOIN_KEY}); {TABLES}"))
        .map_err(refused)?;
    let sql = format!(
        "DELETE FROM flushmark.run_groups WHERE opened_at < now() - interval '{KEPT_DAYS} days'"
    );
    transaction.execute(&sql, &[]).map_err(refused)?;
    let id = if let Some(id) = open_group(&mut transaction, group)? {
        id
    } else {
        let id = Uuid::now_v7().to_string();
        let sql =
            "INSERT INTO flushmark.run_groups (id, name, plan, hosts) VALUES ($1, $2, $3, $4)";
        let hosts = i64::from(group.hosts);
        transaction.execute(sql, &[&id, &group.name, &group.plan, &hosts]).map_err(refused)?;
        id
    };
    // A place that its former holder has left is taken over.
    let sql = "INSERT INTO flushmark.run_group_members (run_group, name) VALUES ($1, $2) ON \
               CONFLICT (run_group, name) DO UPDATE SET position = 0 RETURNING number";
    let number: i32 = transaction.query_one(sql, &[&id, &group.member]).map_err(refused)?.get(0);
    transaction
        .batch_execute(&format!("SELECT pg_advisory_lock({MEMBER_KEY}, {number})"))
        .map_err(refused)?;
    transaction.commit().map_err(refused)?;
    Ok((id, number))
}

/// The newest group of this name, if it is one to join.
fn open_group(
    transaction: &mut postgres::Transaction<'_>,
    group: &Group,
) -> Result<Option<String>, Problem> {
    let lives = lives();
    let sql = format!(
        "SELECT id, plan, hosts, (SELECT min(at_us) FROM flushmark.run_group_starts WHERE \
         run_group = g.id), (SELECT min(present) FROM flushmark.run_group_starts WHERE run_group = \
         g.id AND test = 0), EXISTS (SELECT 1 FROM flushmark.run_group_members m WHERE run_group = \
         g.id AND {lives}), (SELECT count(*) FROM flushmark.run_group_members WHERE run_group = \
         g.id AND name <> $2), EXISTS (SELECT 1 FROM flushmark.run_group_members m WHERE run_group \
         = g.id AND name = $2 AND {lives}) FROM flushmark.run_groups g WHERE name = $1 ORDER BY \
         opened_at DESC LIMIT 1"
    );
    let found = transaction.query_opt(&sql, &[&group.name, &group.member]).map_err(refused)?;
    let Some(row) = found else { return Ok(None) };
    let (id, plan, hosts): (String, String, i64) = (row.get(0), row.get(1), row.get(2));
    let (begun_us, present): (Option<i64>, Option<i64>) = (row.get(3), row.get(4));
    let (lives, others, is_taken): (bool, i64, bool) = (row.get(5), row.get(6), row.get(7));
    if !lives {
        return Ok(None);
    }
    let theirs = u32::try_from(hosts).unwrap_or(u32::MAX);
    if is_taken {
        return Err(Problem::NameTaken(group.member.clone()));
    }
    if let Some(begun_us) = begun_us {
        let at = Timestamp::from_microsecond(begun_us / 1_000_000 * 1_000_000);
        return Err(Problem::TooLate {
            present: present.and_then(|present| u32::try_from(present).ok()).unwrap_or(0),
            expected: theirs,
            at: at.unwrap_or(Timestamp::UNIX_EPOCH).to_string(),
        });
    }
    if theirs != group.hosts {
        return Err(Problem::HostsDiffer { ours: group.hosts, theirs });
    }
    if plan != group.plan {
        return Err(Problem::PlansDiffer);
    }
    if others >= hosts {
        return Err(Problem::Full(theirs));
    }
    Ok(Some(id))
}

fn server_clock(client: &mut Client) -> Result<Clock, postgres::Error> {
    let sql = client.prepare(&format!("SELECT {NOW_US}"))?;
    Clock::compare(|| Ok(client.query_one(&sql, &[])?.get(0)))
}

fn wait_for_notification(client: &mut Client) -> Result<(), postgres::Error> {
    use postgres::fallible_iterator::FallibleIterator as _;
    let mut notifications = client.notifications();
    notifications.timeout_iter(LOOK).next()?;
    // The other notifications that came with it mean the same.
    let mut more = notifications.iter();
    while more.next()?.is_some() {}
    Ok(())
}

fn refused(error: postgres::Error) -> Problem {
    Problem::Refused(said(error))
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn said(error: postgres::Error) -> String {
    database::said(&error)
}

#[cfg(test)]
mod tests {
    use postgresql::Server;

    use super::*;

    const WAIT: Duration = Duration::from_secs(5);

    fn group(member: &str, hosts: u32) -> Group {
        Group {
            name: "disks".to_owned(),
            hosts,
            member: member.to_owned(),
            plan: "check".to_owned(),
            patience: Duration::from_secs(20),
        }
    }

    fn refusal(url: &str, group: Group) -> String {
        Hosts::join(url, group, WAIT).err().unwrap().to_string()
    }

    fn started(hosts: &mut Hosts, test: usize) -> Instant {
        let moment = hosts.arrive(test, &|| false).unwrap().unwrap();
        std::thread::sleep(moment.saturating_duration_since(Instant::now()));
        let begun = Instant::now();
        hosts.began(test, begun).unwrap();
        begun
    }

    #[test]
    fn hosts_begin_at_the_same_moment_and_one_that_dies_is_not_waited_for() {
        const TEST: &str = "hosts_begin_at_the_same_moment_and_one_that_dies_is_not_waited_for";
        let Some(server) = Server::start(TEST) else { return };
        let url = server.database("fleet");
        let run = |member: &'static str, tests: usize| {
            let url = url.clone();
            std::thread::spawn(move || {
                let mut hosts = Hosts::join(&url, group(member, 3), WAIT).unwrap();
                let begun: Vec<Instant> =
                    (0..tests).map(|test| started(&mut hosts, test)).collect();
                hosts.announce(Position::before(tests)).unwrap();
                let reported = hosts.reported(tests - 1).unwrap();
                (begun, reported, hosts.id().to_owned())
            })
        };
        let ends: Vec<_> = [run("a", 3), run("b", 3), run("c", 1)]
            .into_iter()
            .map(|host| host.join().unwrap())
            .collect();
        assert!(ends.iter().all(|(_, _, id)| *id == ends[0].2));
        for test in 0..3 {
            let begun: Vec<Instant> =
                ends.iter().filter_map(|(begun, ..)| begun.get(test)).copied().collect();
            let skew = *begun.iter().max().unwrap() - *begun.iter().min().unwrap();
            assert!(skew < Duration::from_millis(50), "{skew:?}");
        }
        let [(_, first, _), _, (_, last, _)] = &ends[..] else { panic!("three hosts") };
        assert_eq!((first.present, &first.absent[..]), (2, &["c".to_owned()][..]));
        assert!(last.present == 3 && last.absent.is_empty() && last.late_us >= 0.0);
        assert!(first.skew_us.unwrap() < 50_000.0);
    }

    #[test]
    fn a_host_that_does_not_come_is_waited_for_and_then_not() {
        const TEST: &str = "a_host_that_does_not_come_is_waited_for_and_then_not";
        let Some(server) = Server::start(TEST) else { return };
        let url = server.database("fleet");
        let patience = Duration::from_millis(700);
        let mut hosts = Hosts::join(&url, Group { patience, ..group("a", 2) }, WAIT).unwrap();
        let begun = Instant::now();
        started(&mut hosts, 0);
        assert!(begun.elapsed() >= patience);
        let begun = Instant::now();
        started(&mut hosts, 1);
        assert!(begun.elapsed() < patience, "the missing host is waited for once");
        assert_eq!(hosts.reported(1).unwrap().present, 1);
        let late = refusal(&url, group("b", 2));
        assert!(
            late.starts_with("the group `disks` began without this host: 1 of 2 hosts began at 2"),
            "{late}"
        );
        // Once everybody has left, the name is free.
        drop(hosts);
        let again = Hosts::join(&url, group("b", 2), WAIT).unwrap();
        // Asked to stop before the other one came.
        let mut again = again;
        assert!(again.arrive(0, &|| true).unwrap().is_none());
    }

    #[test]
    fn hosts_that_do_not_belong_together_are_refused() {
        const TEST: &str = "hosts_that_do_not_belong_together_are_refused";
        let Some(mut server) = Server::start(TEST) else { return };
        let url = server.database("fleet");
        let mut first = Hosts::join(&url, group("a", 2), WAIT).unwrap();
        insta::assert_snapshot!(refusal(&url, group("b", 3)), @"the group `disks` is of 2 hosts, and this one expects 3: give the same --hosts on all of them");
        insta::assert_snapshot!(refusal(&url, Group { plan: "wal".to_owned(), ..group("b", 2) }), @"the group `disks` runs another plan on the other hosts, or their flushmark has another version");
        insta::assert_snapshot!(refusal(&url, group("a", 2)), @"the group `disks` already has a host `a`: give each host its own name, or end the other run");
        let _second = Hosts::join(&url, group("b", 2), WAIT).unwrap();
        insta::assert_snapshot!(refusal(&url, group("c", 2)), @"the group `disks` is complete: 2 hosts have joined it");
        server.down();
        assert!(first.arrive(0, &|| false).is_err());
        let unreachable = refusal(&url, group("a", 2));
        assert!(unreachable.starts_with("the group `disks` cannot meet in the store: "));
    }
}
