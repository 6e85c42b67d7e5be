//! The counters of PostgreSQL.
//!
//! Each process adds its own to the shared ones once a second at most, so the figures of a single
//! second can lag. Transaction IDs do not.

use std::time::Instant;

use measurement::{
    CounterUnit, FileActivity, ServerActivity, ServerCount, ServerFile, ServerSyncs, ServerWrites,
};

use super::counters::{Counter, Interval, Snapshot};
use crate::error::Problem;
use crate::facts::Facts;
use crate::session::Session;

const TRANSACTION_IDS: &str = "transaction IDs";
const BLOCK: &str = "pg_catalog.current_setting('block_size')::bigint";

#[derive(Debug)]
pub(super) struct Meter {
    /// The value of `server_version_num`.
    version: u32,
    statement: String,
    counters: Vec<Counter>,
    /// `fsync` is off: nothing is synced.
    is_unsynced: bool,
    /// The value of `wal_sync_method` if each write of the log is durable by itself.
    durable_writes: Option<String>,
    /// Commits are acknowledged when they are durable.
    are_durable: bool,
    sees_all_clients: bool,
}

impl Meter {
    pub(super) fn new(facts: &Facts, session: &mut Session) -> Result<Meter, Problem> {
        let version = cell(session, "SHOW server_version_num")?;
        let version = version.parse().map_err(|_| Problem::Incomplete("its version"))?;
        let sees_all = "SELECT pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE')::text";
        let sees_all_clients = cell(session, sees_all)? == "true";
        Ok(Meter::of(version, facts, sees_all_clients))
    }

    fn of(version: u32, facts: &Facts, sees_all_clients: bool) -> Meter {
        let setting = |name| facts.record.setting(name);
        let is_unsynced = setting("fsync") == Some("off");
        let method = setting("wal_sync_method").filter(|method| method.starts_with("open_"));
        let columns = columns(version);
        let list: String =
            columns.iter().map(|column| format!(", ({})::text", column.sql)).collect();
        let clients = "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = \
                       'client backend' AND state <> 'idle' AND pid <> pg_catalog.pg_backend_pid()";
        let statement = format!(
            "SELECT extract(epoch FROM pg_catalog.clock_timestamp() - \
             pg_catalog.pg_postmaster_start_time())::text, {}, ({clients})::text{} FROM {}",
            resets(version),
            list,
            sources(version)
        );
        Meter {
            version,
            statement,
            counters: columns.iter().map(|column| column.counter).collect(),
            is_unsynced,
            durable_writes: method.filter(|_| !is_unsynced).map(str::to_owned),
            are_durable: !is_unsynced && setting("synchronous_commit") != Some("off"),
            sees_all_clients,
        }
    }

    pub(super) fn read(&self, session: &mut Session) -> Result<Snapshot, Problem> {
        let row = session.try_rows(&self.statement)?.into_iter().next();
        let mut cells = row.ok_or(Problem::Incomplete("its statistics"))?.into_iter();
        let at = Instant::now();
        let mut next = || cells.next().flatten();
        let uptime_s = number(next()).ok_or(Problem::Incomplete("its uptime"))?;
        let resets = next().unwrap_or_default();
        let active_clients = number(next()).filter(|_| self.sees_all_clients);
        let values = self.counters.iter().filter_map(|&counter| Some((counter, number(next())?)));
        let values = values.collect();
        Ok(Snapshot { at, uptime_s, resets, active_clients, values })
    }

    /// Returns whether no other client of this program is connected. Before PostgreSQL 15, a
    /// separate process gathers the counters and shows them half a second later.
    pub(super) fn clients_are_gone(&self, session: &mut Session) -> Result<bool, Problem> {
        let left = "SELECT count(*)::text FROM pg_catalog.pg_stat_activity WHERE usename = \
                    current_user AND application_name = \
                    pg_catalog.current_setting('application_name') AND pid <> \
                    pg_catalog.pg_backend_pid()";
        let are_gone = cell(session, left)? == "0";
        if are_gone && self.version < 150_000 {
            std::thread::sleep(std::time::Duration::from_millis(1200));
        }
        Ok(are_gone)
    }

    pub(super) fn activity(&self, interval: &Interval) -> ServerActivity {
        let mut unknown = Vec::new();
        if !self.sees_all_clients {
            unknown.push(
                "active clients: this user may not see others' sessions; GRANT pg_monitor TO it"
                    .to_owned(),
            );
        }
        let commits = interval.get(TRANSACTION_IDS);
        let log = self.log(interval, &mut unknown);
        let data = self.data(interval, &mut unknown);
        let groups = log.syncs.as_ref().filter(|_| self.are_durable);
        let groups = groups.map(|syncs| ServerCount { inferred: true, ..syncs.number.clone() });
        ServerActivity {
            commits: commits.map(|commits| {
                ServerCount::counted(commits, "transaction IDs, which only writers get")
            }),
            groups,
            files: vec![log, data],
            unknown,
            ..ServerActivity::default()
        }
    }

    fn log(&self, interval: &Interval, unknown: &mut Vec<String>) -> FileActivity {
        let names = LogCounters::of(self.version);
        let writes = interval.get(names.writes).map(|count| ServerWrites {
            number: ServerCount::counted(count, names.writes),
            bytes: interval.get(names.bytes),
        });
        let (number, time) = if let Some(method) = &self.durable_writes {
            let from = format!("{}: each is durable by itself ({method})", names.writes);
            let count = interval.get(names.writes);
            (count.map(|count| ServerCount::inferred(count, from)), names.write_time)
        } else {
            let count = interval.get(names.syncs);
            (count.map(|count| ServerCount::counted(count, names.syncs)), names.sync_time)
        };
        let syncs = number.map(|number| ServerSyncs {
            by_writes: self.durable_writes.is_some(),
            ..ServerSyncs::timed(number, interval.get(time))
        });
        match &syncs {
            None => unknown.push(
                "syncs and writes of the log: the server counts them since PostgreSQL 14"
                    .to_owned(),
            ),
            Some(syncs) if syncs.total_ms.is_none() && !self.is_unsynced => unknown.push(
                "times of syncs of the log: track_wal_io_timing is off; a superuser can set it on \
                 and reload"
                    .to_owned(),
            ),
            Some(_) => {}
        }
        FileActivity { file: ServerFile::Log, syncs, writes }
    }

    fn data(&self, interval: &Interval, unknown: &mut Vec<String>) -> FileActivity {
        let syncs = interval.get("fsyncs").map(|count| {
            ServerSyncs::timed(ServerCount::counted(count, "fsyncs"), interval.get("fsync_time"))
        });
        match &syncs {
            None => unknown
                .push("syncs of data files: the server counts them since PostgreSQL 16".to_owned()),
            Some(syncs) if syncs.total_ms.is_none() && !self.is_unsynced => unknown.push(
                "times of syncs of data files: track_io_timing is off; a superuser can set it on \
                 and reload"
                    .to_owned(),
            ),
            Some(_) => {}
        }
        let writes = if self.version >= 160_000 {
            interval.get("writes").map(|count| ServerWrites {
                number: ServerCount::counted(count, "writes, extends"),
                bytes: interval.get("write_bytes"),
            })
        } else {
            let parts = ["buffers_checkpoint", "buffers_clean", "buffers_backend"];
            let count = parts.iter().map(|name| interval.get(name)).sum::<Option<f64>>();
            count.map(|count| ServerWrites {
                number: ServerCount::counted(count, parts.join(" + ")),
                bytes: interval.get("written buffers in bytes"),
            })
        };
        FileActivity { file: ServerFile::Data, syncs, writes }
    }
}

/// A release's names for its counters of the log.
struct LogCounters {
    writes: &'static str,
    bytes: &'static str,
    syncs: &'static str,
    write_time: &'static str,
    sync_time: &'static str,
}

impl LogCounters {
    const fn of(version: u32) -> LogCounters {
        if version >= 180_000 {
            LogCounters {
                writes: "writes of wal",
                bytes: "write_bytes of wal",
                syncs: "fsyncs of wal",
                write_time: "write_time of wal",
                sync_time: "fsync_time of wal",
            }
        } else {
            LogCounters {
                writes: "wal_write",
                bytes: "wal_bytes",
                syncs: "wal_sync",
                write_time: "wal_write_time",
                sync_time: "wal_sync_time",
            }
        }
    }
}

struct Column {
    counter: Counter,
    sql: String,
}

/// The counters of a release. pg_stat_wal came with 14, pg_stat_io with 16, pg_stat_checkpointer
/// with 17; 18 moved the log's writes and syncs to pg_stat_io, and counts bytes there.
fn columns(version: u32) -> Vec<Column> {
    use CounterUnit::{Bytes, Events, Ms};
    let mut columns = Vec::new();
    let mut add = |name, source, unit, sql: &str| {
        columns.push(Column { counter: Counter { name, source, unit }, sql: sql.to_owned() });
    };
    if version >= 130_000 {
        let ids = "pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())";
        add(TRANSACTION_IDS, "pg_current_snapshot()", Events, ids);
    } else {
        let ids = "pg_catalog.txid_snapshot_xmax(pg_catalog.txid_current_snapshot())";
        add(TRANSACTION_IDS, "txid_current_snapshot()", Events, ids);
    }
    for name in ["xact_commit", "xact_rollback"] {
        add(name, "pg_stat_database", Events, &format!("databases.{name}"));
    }
    if version >= 140_000 {
        add("wal_records", "pg_stat_wal", Events, "wal.wal_records");
        add("wal_fpi", "pg_stat_wal", Events, "wal.wal_fpi");
        add("wal_bytes", "pg_stat_wal", Bytes, "wal.wal_bytes");
        add("wal_buffers_full", "pg_stat_wal", Events, "wal.wal_buffers_full");
    }
    let log = LogCounters::of(version);
    if (140_000..180_000).contains(&version) {
        add(log.writes, "pg_stat_wal", Events, "wal.wal_write");
        add(log.syncs, "pg_stat_wal", Events, "wal.wal_sync");
        add(log.write_time, "pg_stat_wal", Ms, "wal.wal_write_time");
        add(log.sync_time, "pg_stat_wal", Ms, "wal.wal_sync_time");
    }
    if version >= 180_000 {
        add(log.writes, "pg_stat_io, object wal", Events, "io.wal_writes");
        add(log.syncs, "pg_stat_io, object wal", Events, "io.wal_fsyncs");
        add(log.write_time, "pg_stat_io, object wal", Ms, "io.wal_write_time");
        add(log.sync_time, "pg_stat_io, object wal", Ms, "io.wal_fsync_time");
        add(log.bytes, "pg_stat_io, object wal", Bytes, "io.wal_write_bytes");
    }
    if version >= 160_000 {
        add("writes", "pg_stat_io", Events, "io.writes");
        add("write_bytes", "pg_stat_io", Bytes, "io.write_bytes");
        add("fsyncs", "pg_stat_io", Events, "io.fsyncs");
        add("fsync_time", "pg_stat_io", Ms, "io.fsync_time");
    }
    if version >= 170_000 {
        add("sync_time", "pg_stat_checkpointer", Ms, "checkpoints.sync_time");
        add("num_timed", "pg_stat_checkpointer", Events, "checkpoints.num_timed");
        add("num_requested", "pg_stat_checkpointer", Events, "checkpoints.num_requested");
    } else {
        add("checkpoint_sync_time", "pg_stat_bgwriter", Ms, "writer.checkpoint_sync_time");
        add("checkpoints_timed", "pg_stat_bgwriter", Events, "writer.checkpoints_timed");
        add("checkpoints_req", "pg_stat_bgwriter", Events, "writer.checkpoints_req");
    }
    if version < 160_000 {
        for name in ["buffers_checkpoint", "buffers_clean", "buffers_backend"] {
            add(name, "pg_stat_bgwriter", Events, &format!("writer.{name}"));
        }
        let pages = "writer.buffers_checkpoint + writer.buffers_clean + writer.buffers_backend";
        let bytes = format!("({pages}) * {BLOCK}");
        add("written buffers in bytes", "pg_stat_bgwriter", Bytes, &bytes);
    }
    columns
}

/// The views of a release, joined to one row.
fn sources(version: u32) -> String {
    let mut sources = vec![
        "(SELECT sum(xact_commit) AS xact_commit, sum(xact_rollback) AS xact_rollback FROM \
         pg_catalog.pg_stat_database) databases"
            .to_owned(),
    ];
    if version >= 140_000 {
        sources.push("pg_catalog.pg_stat_wal wal".to_owned());
    }
    if version >= 160_000 {
        sources.push(format!("({}) io", io(version)));
    }
    sources.push("pg_catalog.pg_stat_bgwriter writer".to_owned());
    if version >= 170_000 {
        sources.push("pg_catalog.pg_stat_checkpointer checkpoints".to_owned());
    }
    sources.join(", ")
}

/// Sums of pg_stat_io. Temporary relations are never synced.
fn io(version: u32) -> String {
    let of = |what: &str, name: &str, object: &str| {
        format!("coalesce(sum({what}) FILTER (WHERE object = '{object}'), 0) AS {name}")
    };
    let written = "coalesce(writes, 0) + coalesce(extends, 0)";
    let bytes = if version >= 180_000 {
        "coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)".to_owned()
    } else {
        format!("({written}) * op_bytes")
    };
    let mut sums = vec![
        of(written, "writes", "relation"),
        of(&bytes, "write_bytes", "relation"),
        of("fsyncs", "fsyncs", "relation"),
        of("fsync_time", "fsync_time", "relation"),
    ];
    if version >= 180_000 {
        sums.push(of("writes", "wal_writes", "wal"));
        sums.push(of("write_bytes", "wal_write_bytes", "wal"));
        sums.push(of("write_time", "wal_write_time", "wal"));
        sums.push(of("fsyncs", "wal_fsyncs", "wal"));
        sums.push(of("fsync_time", "wal_fsync_time", "wal"));
    }
    let reset = "max(stats_reset) AS stats_reset";
    format!("SELECT {}, {reset} FROM pg_catalog.pg_stat_io", sums.join(", "))
}

/// The times at which each view was last reset, as one text.
fn resets(version: u32) -> String {
    let views = [(0, "writer"), (140_000, "wal"), (160_000, "io"), (170_000, "checkpoints")];
    let views = views.into_iter().filter(|(since, _)| version >= *since);
    let views: Vec<String> = views.map(|(_, view)| format!("{view}.stats_reset")).collect();
    format!("concat_ws(' ', {})", views.join(", "))
}

fn number(cell: Option<String>) -> Option<f64> {
    cell?.parse().ok()
}

fn cell(session: &mut Session, sql: &str) -> Result<String, Problem> {
    let first = session.try_rows(sql)?.into_iter().next().and_then(|row| row.into_iter().next());
    first.flatten().ok_or(Problem::Incomplete("its statistics"))
}

#[cfg(test)]
mod tests {
    use measurement::{DatabaseProduct, DatabaseRecord, ServerSetting};

    use super::*;

    fn meter(version: u32, settings: &[(&str, &str)]) -> Meter {
        let setting = |(name, value): &(&str, &str)| ServerSetting {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            source: None,
        };
        let record = DatabaseRecord {
            product: DatabaseProduct::Postgresql,
            version: String::new(),
            settings: settings.iter().map(setting).collect(),
        };
        let facts =
            Facts { record, connections_max: None, read_only: None, log: Err(String::new()) };
        Meter::of(version, &facts, true)
    }

    /// Every counter of the release increased by 10, those of times by 50.
    fn activity(meter: &Meter) -> ServerActivity {
        let increase =
            |counter: &Counter| if counter.unit == CounterUnit::Ms { 50.0 } else { 10.0 };
        let increases = meter.counters.iter().map(|counter| (*counter, increase(counter)));
        meter.activity(&Interval::of(increases.collect()))
    }

    const DURABLE: [(&str, &str); 3] =
        [("fsync", "on"), ("synchronous_commit", "on"), ("wal_sync_method", "fdatasync")];

    #[test]
    fn each_release_has_what_its_views_have() {
        let seen = |version| {
            let activity = activity(&meter(version, &DURABLE));
            let counts = |file| {
                let of: &FileActivity = activity.file(file).unwrap();
                let syncs = of.syncs.as_ref().map(|syncs| (syncs.number.count, syncs.total_ms));
                (syncs, of.writes.as_ref().map(|writes| (writes.number.count, writes.bytes)))
            };
            (counts(ServerFile::Log), counts(ServerFile::Data), activity.unknown.len())
        };
        let (syncs, writes) = (Some((10.0, Some(50.0))), Some((10.0, Some(10.0))));
        let buffers = Some((30.0, Some(10.0)));
        assert_eq!(seen(130_000), ((None, None), (None, buffers), 2));
        assert_eq!(seen(150_018), ((syncs, writes), (None, buffers), 1));
        assert_eq!(seen(160_000), ((syncs, writes), (syncs, writes), 0));
        assert_eq!(seen(180_000), ((syncs, writes), (syncs, writes), 0));
    }

    #[test]
    fn statements_name_no_view_that_the_release_lacks() {
        let of = |version| meter(version, &DURABLE).statement;
        assert!(!of(120_000).contains("pg_current_snapshot") && !of(130_000).contains("wal."));
        assert!(!of(150_000).contains("pg_stat_io") && of(160_000).contains("op_bytes"));
        assert!(!of(160_000).contains("checkpointer") && !of(170_000).contains("buffers_backend"));
        assert!(!of(180_000).contains("wal.wal_sync") && !of(180_000).contains("op_bytes"));
    }

    #[test]
    fn a_log_whose_writes_are_durable_is_never_synced() {
        let open = [("fsync", "on"), ("wal_sync_method", "open_datasync")];
        let activity = activity(&meter(150_000, &open));
        let syncs = activity.syncs(ServerFile::Log).unwrap();
        assert_eq!(
            (syncs.number.count, syncs.number.inferred, syncs.by_writes),
            (10.0, true, true)
        );
        assert_eq!(syncs.number.from, "wal_write: each is durable by itself (open_datasync)");
    }

    #[test]
    fn commits_that_are_not_durable_have_no_groups() {
        assert_eq!(activity(&meter(150_000, &DURABLE)).group_size(), Some(1.0));
        for setting in [("fsync", "off"), ("synchronous_commit", "off")] {
            assert_eq!(activity(&meter(150_000, &[setting])).groups, None);
        }
    }

    #[test]
    fn times_that_are_not_measured() {
        let meter = meter(150_000, &DURABLE);
        let count = |counter: &Counter| if counter.unit == CounterUnit::Ms { 0.0 } else { 10.0 };
        let counted = meter.counters.iter().map(|counter| (*counter, count(counter))).collect();
        let activity = meter.activity(&Interval::of(counted));
        assert_eq!(activity.syncs(ServerFile::Log).unwrap().total_ms, None);
        insta::assert_snapshot!(activity.unknown.join("\n"), @"
        times of syncs of the log: track_wal_io_timing is off; a superuser can set it on and reload
        syncs of data files: the server counts them since PostgreSQL 16
        ");
    }
}
