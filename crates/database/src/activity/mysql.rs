//! The counters of MariaDB and MySQL.
//!
//! InnoDB counts all of its syncs together (`Innodb_data_fsyncs`). They are divided by the log's
//! own counter where there is one, by performance_schema where it is on, and otherwise by what InnoDB
//! does: with `innodb_flush_log_at_trx_commit = 1` each write of the log is followed by a sync
//! (`log_write_up_to`), and each batch of the doublewrite buffer too, unless the flush method is
//! `O_DIRECT_NO_FSYNC`.

use std::collections::BTreeMap;
use std::time::Instant;

use measurement::{
    CounterUnit, DatabaseRecord, FileActivity, ServerActivity, ServerCount, ServerFile,
    ServerSyncs, ServerWrites,
};

use super::counters::{Counter, Interval, Snapshot};
use crate::error::Problem;
use crate::facts::Facts;
use crate::session::Session;

const STATUS: &str = "SHOW GLOBAL STATUS";
const FILES: &str = "performance_schema.file_summary_by_event_name";

const fn events(name: &'static str) -> Counter {
    Counter { name, source: STATUS, unit: CounterUnit::Events }
}

const fn bytes(name: &'static str) -> Counter {
    Counter { name, source: STATUS, unit: CounterUnit::Bytes }
}

/// Some exist in one of the products, or in some releases, only.
const COUNTERS: [Counter; 20] = [
    events("Binlog_commits"),
    events("Binlog_group_commits"),
    bytes("Binlog_bytes_written"),
    events("Binlog_cache_use"),
    events("Binlog_stmt_cache_use"),
    events("Com_commit"),
    events("Handler_commit"),
    events("Handler_prepare"),
    events("Innodb_max_trx_id"),
    events("Innodb_data_fsyncs"),
    events("Innodb_data_writes"),
    bytes("Innodb_data_written"),
    events("Innodb_dblwr_writes"),
    events("Innodb_dblwr_pages_written"),
    events("Innodb_log_waits"),
    events("Innodb_log_write_requests"),
    events("Innodb_log_writes"),
    events("Innodb_os_log_fsyncs"),
    bytes("Innodb_os_log_written"),
    events("Innodb_pages_written"),
];

/// A file's counters in performance_schema. Its "miscellaneous" operations are syncs, and the rare
/// opening and closing of a file.
struct FileEvents {
    event: &'static str,
    syncs: Counter,
    sync_time: Counter,
    writes: Counter,
    written: Counter,
}

macro_rules! file_events {
    ($event:literal, $short:literal) => {
        FileEvents {
            event: $event,
            syncs: Counter {
                name: concat!("COUNT_MISC of ", $short),
                source: FILES,
                unit: CounterUnit::Events,
            },
            sync_time: Counter {
                name: concat!("SUM_TIMER_MISC of ", $short),
                source: FILES,
                unit: CounterUnit::Ms,
            },
            writes: Counter {
                name: concat!("COUNT_WRITE of ", $short),
                source: FILES,
                unit: CounterUnit::Events,
            },
            written: Counter {
                name: concat!("SUM_NUMBER_OF_BYTES_WRITE of ", $short),
                source: FILES,
                unit: CounterUnit::Bytes,
            },
        }
    };
}

const DATA: FileEvents = file_events!("wait/io/file/innodb/innodb_data_file", "innodb_data_file");
const REDO: FileEvents = file_events!("wait/io/file/innodb/innodb_log_file", "innodb_log_file");
const DOUBLEWRITE: FileEvents =
    file_events!("wait/io/file/innodb/innodb_dblwr_file", "innodb_dblwr_file");
const BINLOG: FileEvents = file_events!("wait/io/file/sql/binlog", "binlog");
const FILE_EVENTS: [FileEvents; 4] = [DATA, REDO, DOUBLEWRITE, BINLOG];

/// Picoseconds, the unit of performance_schema, in a millisecond.
const PS_PER_MS: f64 = 1e9;

#[derive(Debug)]
pub(super) struct Meter {
    record: DatabaseRecord,
    status: String,
    /// The statement that reads performance_schema, or why it is not read.
    files: Result<String, String>,
    page_bytes: f64,
}

impl Meter {
    pub(super) fn new(facts: &Facts, session: &mut Session) -> Result<Meter, Problem> {
        let page_bytes = "SELECT @@GLOBAL.innodb_page_size";
        let page_bytes = first(session, page_bytes)?.and_then(|text| text.parse().ok());
        let meter = Meter {
            record: facts.record.clone(),
            status: status_statement(),
            files: Err(String::new()),
            page_bytes: page_bytes.ok_or(Problem::Incomplete("innodb_page_size"))?,
        };
        Ok(Meter { files: readable_files(session)?, ..meter })
    }

    pub(super) fn read(&self, session: &mut Session) -> Result<Snapshot, Problem> {
        let status: BTreeMap<String, f64> = session
            .try_rows(&self.status)?
            .into_iter()
            .filter_map(|row| {
                let [name, value] = <[_; 2]>::try_from(row).ok()?;
                Some((name?, value?.parse().ok()?))
            })
            .collect();
        let at = Instant::now();
        let uptime_s = *status.get("Uptime").ok_or(Problem::Incomplete("Uptime"))?;
        // This session is one of them.
        let active_clients = status.get("Threads_running").map(|running| (running - 1.0).max(0.0));
        let mut values: Vec<(Counter, f64)> = COUNTERS
            .into_iter()
            .filter_map(|counter| Some((counter, *status.get(counter.name)?)))
            .collect();
        if let Ok(statement) = &self.files {
            values.extend(file_values(session.try_rows(statement)?));
        }
        Ok(Snapshot { at, uptime_s, resets: String::new(), active_clients, values })
    }

    pub(super) fn activity(&self, interval: &Interval) -> ServerActivity {
        let mut unknown = Vec::new();
        if let Err(why) = &self.files {
            unknown.push(format!("times of syncs: {why}"));
        }
        let syncs = self.innodb_syncs(interval, &mut unknown);
        let log = FileActivity {
            file: ServerFile::Log,
            syncs: syncs.log,
            writes: interval.get("Innodb_log_writes").map(|count| ServerWrites {
                number: ServerCount::counted(count, "Innodb_log_writes"),
                bytes: interval.get("Innodb_os_log_written"),
            }),
        };
        let pages = |count: &str, pages: &str| {
            Some(ServerWrites {
                number: ServerCount::counted(interval.get(count)?, count),
                bytes: interval.get(pages).map(|pages| pages * self.page_bytes),
            })
        };
        let data = FileActivity {
            file: ServerFile::Data,
            syncs: syncs.data,
            writes: pages("Innodb_pages_written", "Innodb_pages_written"),
        };
        let mut files = vec![log, data];
        if self.has_doublewrite() {
            files.push(FileActivity {
                file: ServerFile::Doublewrite,
                syncs: syncs.doublewrite,
                writes: pages("Innodb_dblwr_writes", "Innodb_dblwr_pages_written"),
            });
        }
        if self.record.has_binary_log() {
            files.push(self.binary_log(interval, &mut unknown));
        }
        let groups = self.groups(interval, &files);
        ServerActivity {
            commits: self.commits(interval),
            groups,
            files,
            unknown,
            ..ServerActivity::default()
        }
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.record.setting(name).is_some_and(|set| set.eq_ignore_ascii_case(value))
    }

    fn has_doublewrite(&self) -> bool {
        self.record.setting("innodb_doublewrite").is_some_and(|set| {
            !["OFF", "0", "DETECT_ONLY"].iter().any(|off| set.eq_ignore_ascii_case(off))
        })
    }

    fn commits(&self, interval: &Interval) -> Option<ServerCount> {
        let counted = |name: &str| Some(ServerCount::counted(interval.get(name)?, name));
        if self.record.has_binary_log() {
            if let Some(commits) = counted("Binlog_commits") {
                return Some(commits);
            }
            let uses = [interval.get("Binlog_cache_use"), interval.get("Binlog_stmt_cache_use")];
            if let [Some(cache), Some(statements)] = uses {
                let from = "Binlog_cache_use + Binlog_stmt_cache_use";
                return Some(ServerCount::counted(cache + statements, from));
            }
        }
        // InnoDB numbers a transaction when it first writes, and again when it commits.
        if let Some(ids) = interval.get("Innodb_max_trx_id") {
            let from = "Innodb_max_trx_id / 2: a writer gets a number when it begins and when it \
                        commits";
            return Some(ServerCount::inferred(ids / 2.0, from));
        }
        let from = "Handler_commit, which also counts reads, and each statement of a transaction";
        Some(ServerCount::inferred(interval.get("Handler_commit")?, from))
    }

    fn groups(&self, interval: &Interval, files: &[FileActivity]) -> Option<ServerCount> {
        if !self.record.syncs_redo_log() {
            return None;
        }
        if let Some(groups) =
            interval.get("Binlog_group_commits").filter(|_| self.record.has_binary_log())
        {
            return Some(ServerCount::counted(groups, "Binlog_group_commits"));
        }
        let log = files.iter().find(|activity| activity.file == ServerFile::Log)?;
        Some(ServerCount { inferred: true, ..log.syncs.as_ref()?.number.clone() })
    }

    fn innodb_syncs(&self, interval: &Interval, unknown: &mut Vec<String>) -> InnodbSyncs {
        let in_files = |events: &FileEvents| {
            let (count, ms) =
                (interval.get(events.syncs.name)?, interval.get(events.sync_time.name)?);
            Some((count, ms))
        };
        let Some(all) = interval.get("Innodb_data_fsyncs") else { return InnodbSyncs::default() };
        let log_is_durable = self.is("innodb_flush_method", "O_DSYNC")
            || self.is("innodb_log_file_write_through", "ON");
        let log_time = in_files(&REDO).map(|(_, ms)| ms);
        let log_writes = interval.get("Innodb_log_writes");
        let log = if let Some(writes) = log_writes.filter(|_| log_is_durable) {
            let from = "Innodb_log_writes: each is durable by itself";
            Some(ServerCount::inferred(writes, from))
        } else if let Some(count) = interval.get("Innodb_os_log_fsyncs") {
            Some(ServerCount::counted(count, "Innodb_os_log_fsyncs"))
        } else if let Some((data, _)) = in_files(&DATA) {
            let from = "Innodb_data_fsyncs - COUNT_MISC of innodb_data_file";
            Some(ServerCount::inferred((all - data).max(0.0), from))
        } else {
            let from = "Innodb_log_writes: each is followed by a sync";
            let writes = log_writes.filter(|_| self.record.syncs_redo_log());
            writes.map(|writes| ServerCount::inferred(writes.min(all), from))
        };
        let Some(log) = log else {
            unknown.push(
                "syncs of the log and of data files apart: the server counts them together in \
                 Innodb_data_fsyncs, and performance_schema is not read"
                    .to_owned(),
            );
            let from = "Innodb_data_fsyncs, with those of log and doublewrite";
            let data = ServerSyncs::timed(ServerCount::counted(all, from), None);
            return InnodbSyncs { data: Some(data), ..InnodbSyncs::default() };
        };
        let rest = if log_is_durable { all } else { (all - log.count).max(0.0) };
        let doublewrite = match in_files(&DOUBLEWRITE) {
            Some((count, ms)) => {
                let number = ServerCount::counted(count, DOUBLEWRITE.syncs.name);
                Some(ServerSyncs::timed(number, Some(ms)))
            }
            None if self.is("innodb_flush_method", "O_DIRECT_NO_FSYNC") => {
                let from = "none: innodb_flush_method is O_DIRECT_NO_FSYNC";
                Some(ServerSyncs::timed(ServerCount::inferred(0.0, from), Some(0.0)))
            }
            None => interval.get("Innodb_dblwr_writes").map(|batches| {
                let from = "Innodb_dblwr_writes: each is followed by a sync";
                ServerSyncs::timed(ServerCount::inferred(batches.min(rest), from), None)
            }),
        };
        let doublewrite = doublewrite.filter(|_| self.has_doublewrite());
        let apart = doublewrite.as_ref().map_or(0.0, |syncs| syncs.number.count);
        let data = ServerCount::inferred(
            (rest - apart).max(0.0),
            "Innodb_data_fsyncs - those of log and doublewrite",
        );
        // If the doublewrite buffer is in a data file, the server times the syncs of both together.
        let together = in_files(&DATA);
        let share_ms = |count: f64| {
            let (all, ms) = together?;
            Some(if all > 0.0 { ms * count / all } else { 0.0 })
        };
        let data_ms = share_ms(data.count);
        let doublewrite = doublewrite.map(|syncs| {
            if syncs.total_ms.is_some() {
                return syncs;
            }
            let ms = share_ms(syncs.number.count);
            ServerSyncs::timed(syncs.number, ms)
        });
        if self.files.is_ok() && log_time.is_none() {
            unknown.push(
                "times of syncs of the log: this server has no instrument for its log; see the \
                 device's"
                    .to_owned(),
            );
        }
        InnodbSyncs {
            log: Some(ServerSyncs {
                by_writes: log_is_durable && log_writes.is_some(),
                ..ServerSyncs::timed(log, log_time)
            }),
            data: Some(ServerSyncs::timed(data, data_ms)),
            doublewrite,
        }
    }

    fn binary_log(&self, interval: &Interval, unknown: &mut Vec<String>) -> FileActivity {
        let syncs_each = self.is("sync_binlog", "1");
        let syncs = match interval.get(BINLOG.syncs.name) {
            Some(count) => {
                let number = ServerCount::counted(count, BINLOG.syncs.name);
                Some(ServerSyncs::timed(number, interval.get(BINLOG.sync_time.name)))
            }
            None if self.is("sync_binlog", "0") => {
                let number = ServerCount::inferred(0.0, "none: sync_binlog is 0");
                Some(ServerSyncs::timed(number, None))
            }
            None => interval.get("Binlog_group_commits").filter(|_| syncs_each).map(|groups| {
                let from = "Binlog_group_commits: each is synced (sync_binlog = 1)";
                ServerSyncs::timed(ServerCount::inferred(groups, from), None)
            }),
        };
        if syncs.is_none() {
            unknown.push(
                "syncs of the binary log: they are counted in performance_schema only".to_owned(),
            );
        }
        let writes = interval.get(BINLOG.writes.name).map(|count| ServerWrites {
            number: ServerCount::counted(count, BINLOG.writes.name),
            bytes: interval.get(BINLOG.written.name),
        });
        FileActivity { file: ServerFile::BinaryLog, syncs, writes }
    }
}

#[derive(Debug, Default)]
struct InnodbSyncs {
    log: Option<ServerSyncs>,
    data: Option<ServerSyncs>,
    doublewrite: Option<ServerSyncs>,
}

fn status_statement() -> String {
    let names = COUNTERS.iter().map(|counter| counter.name).chain(["Threads_running", "Uptime"]);
    let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    format!("{STATUS} WHERE Variable_name IN ({})", names.join(", "))
}

fn files_statement() -> String {
    let events: Vec<String> =
        FILE_EVENTS.iter().map(|events| format!("'{}'", events.event)).collect();
    format!(
        "SELECT EVENT_NAME, COUNT_MISC, SUM_TIMER_MISC, COUNT_WRITE, SUM_NUMBER_OF_BYTES_WRITE FROM \
         {FILES} WHERE EVENT_NAME IN ({})",
        events.join(", ")
    )
}

/// The statement that reads the counters of files, or why it would show nothing.
fn readable_files(session: &mut Session) -> Result<Result<String, String>, Problem> {
    let is_on = first(session, "SELECT @@GLOBAL.performance_schema")?;
    if !is_on.is_some_and(|on| on == "1" || on == "ON") {
        let why = "performance_schema is off; set performance_schema = ON and restart the server";
        return Ok(Err(why.to_owned()));
    }
    let statement = files_statement();
    let rows = match session.try_rows(&statement) {
        Ok(rows) => rows,
        Err(Problem::LacksPrivilege(_)) => {
            let why = "this user may not read performance_schema; GRANT SELECT ON \
                       performance_schema.* TO it";
            return Ok(Err(why.to_owned()));
        }
        Err(problem) => return Err(problem),
    };
    // InnoDB opens its files at the start, which counts unless it is not instrumented.
    let counts_data =
        file_values(rows).any(|(counter, value)| counter == DATA.syncs && value > 0.0);
    if counts_data {
        return Ok(Ok(statement));
    }
    let why = "the instruments wait/io/file/% of performance_schema are off; enable them in \
               setup_instruments";
    Ok(Err(why.to_owned()))
}

fn file_values(rows: Vec<Vec<Option<String>>>) -> impl Iterator<Item = (Counter, f64)> {
    rows.into_iter().flat_map(|row| values_of_file(row).into_iter().flatten())
}

fn values_of_file(row: Vec<Option<String>>) -> Option<[(Counter, f64); 4]> {
    let [event, syncs, sync_time, writes, written] = <[_; 5]>::try_from(row).ok()?;
    let event = event?;
    let events = FILE_EVENTS.into_iter().find(|events| events.event == event)?;
    let value = |cell: Option<String>| cell?.parse::<f64>().ok();
    Some([
        (events.syncs, value(syncs)?),
        (events.sync_time, value(sync_time)? / PS_PER_MS),
        (events.writes, value(writes)?),
        (events.written, value(written)?),
    ])
}

fn first(session: &mut Session, sql: &str) -> Result<Option<String>, Problem> {
    let row = session.try_rows(sql)?.into_iter().next();
    Ok(row.and_then(|row| row.into_iter().next()).flatten())
}

#[cfg(test)]
mod tests {
    use measurement::{DatabaseProduct, ServerSetting};

    use super::*;

    fn meter(settings: &[(&str, &str)], files: Result<String, String>) -> Meter {
        let setting = |(name, value): &(&str, &str)| ServerSetting {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
            source: None,
        };
        let record = DatabaseRecord {
            product: DatabaseProduct::Mariadb,
            version: String::new(),
            settings: settings.iter().map(setting).collect(),
        };
        Meter { record, status: String::new(), files, page_bytes: 16384.0 }
    }

    const DURABLE: [(&str, &str); 4] = [
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_doublewrite", "ON"),
        ("log_bin", "ON"),
        ("sync_binlog", "1"),
    ];

    /// The counters of MariaDB 10.11 while 2000 rows were inserted by four clients and pages were
    /// flushed; strace saw 1473 syncs of the log, 97 of data files and 1445 of the binary log.
    const MARIADB: [(&str, f64); 12] = [
        ("Binlog_commits", 2000.0),
        ("Binlog_group_commits", 1445.0),
        ("Handler_commit", 4000.0),
        ("Innodb_max_trx_id", 4004.0),
        ("Innodb_data_fsyncs", 1570.0),
        ("Innodb_data_writes", 1743.0),
        ("Innodb_dblwr_writes", 22.0),
        ("Innodb_dblwr_pages_written", 1515.0),
        ("Innodb_log_writes", 1455.0),
        ("Innodb_os_log_written", 936_635.0),
        ("Innodb_pages_written", 1721.0),
        ("Com_commit", 0.0),
    ];

    fn interval(status: &[(&'static str, f64)], files: &[(FileEvents, f64, f64)]) -> Interval {
        let status = status.iter().map(|&(name, value)| (events(name), value));
        let files = files.iter().flat_map(|(events, count, ms)| {
            [
                (events.syncs, *count),
                (events.sync_time, *ms),
                (events.writes, *count),
                (events.written, 100.0 * count),
            ]
        });
        Interval::of(status.chain(files).collect())
    }

    fn syncs(activity: &ServerActivity) -> Vec<(ServerFile, f64, bool, Option<f64>)> {
        let of = |file: &FileActivity| {
            let syncs = file.syncs.as_ref()?;
            Some((file.file, syncs.number.count, syncs.number.inferred, syncs.total_ms))
        };
        activity.files.iter().filter_map(of).collect()
    }

    #[test]
    fn syncs_divided_by_performance_schema() {
        let seen = interval(&MARIADB, &[(DATA, 97.0, 194.0), (BINLOG, 1445.0, 2890.0)]);
        let activity = meter(&DURABLE, Ok(String::new())).activity(&seen);
        assert_eq!(
            syncs(&activity),
            [
                (ServerFile::Log, 1473.0, true, None),
                (ServerFile::Data, 75.0, true, Some(150.0)),
                (ServerFile::Doublewrite, 22.0, true, Some(44.0)),
                (ServerFile::BinaryLog, 1445.0, false, Some(2890.0)),
            ]
        );
        assert_eq!(activity.commits.as_ref().map(|commits| commits.count), Some(2000.0));
        assert!((activity.group_size().unwrap() - 1.384).abs() < 0.001);
        let doublewrite = activity.file(ServerFile::Doublewrite).unwrap().writes.as_ref().unwrap();
        assert_eq!(doublewrite.bytes, Some(1515.0 * 16384.0));
        insta::assert_snapshot!(activity.unknown.join("\n"), @"times of syncs of the log: this server has no instrument for its log; see the device's");
    }

    #[test]
    fn syncs_divided_without_performance_schema() {
        let off = Err("performance_schema is off".to_owned());
        let activity = meter(&DURABLE, off.clone()).activity(&interval(&MARIADB, &[]));
        assert_eq!(
            syncs(&activity),
            [
                (ServerFile::Log, 1455.0, true, None),
                (ServerFile::Data, 93.0, true, None),
                (ServerFile::Doublewrite, 22.0, true, None),
                (ServerFile::BinaryLog, 1445.0, true, None),
            ]
        );
        // Then a write of the log does not mean a sync.
        let lazy = [("innodb_flush_log_at_trx_commit", "2"), ("log_bin", "OFF")];
        let activity = meter(&lazy, off).activity(&interval(&MARIADB, &[]));
        assert_eq!(syncs(&activity), [(ServerFile::Data, 1570.0, false, None)]);
        assert_eq!(activity.groups, None);
        // Two numbers for each transaction.
        assert_eq!(activity.commits.as_ref().map(|commits| commits.count), Some(2002.0));
        insta::assert_snapshot!(activity.unknown.join("\n"), @"
        times of syncs: performance_schema is off
        syncs of the log and of data files apart: the server counts them together in Innodb_data_fsyncs, and performance_schema is not read
        ");
    }

    #[test]
    fn flush_methods() {
        let of = |method| {
            let settings = [&DURABLE[..], &[("innodb_flush_method", method)]].concat();
            syncs(&meter(&settings, Err(String::new())).activity(&interval(&MARIADB, &[])))
        };
        let no_sync = of("O_DIRECT_NO_FSYNC");
        assert_eq!(no_sync[1], (ServerFile::Data, 115.0, true, None));
        assert_eq!(no_sync[2], (ServerFile::Doublewrite, 0.0, true, Some(0.0)));
        // No sync of the log is among those that InnoDB counts.
        let durable_writes = of("O_DSYNC");
        assert_eq!(durable_writes[0], (ServerFile::Log, 1455.0, true, None));
        assert_eq!(durable_writes[1], (ServerFile::Data, 1548.0, true, None));
    }

    /// By its documentation: the log has its own counter and instrument, and the doublewrite
    /// buffer its own files.
    #[test]
    fn mysql() {
        let status = [
            ("Binlog_cache_use", 900.0),
            ("Binlog_stmt_cache_use", 100.0),
            ("Innodb_data_fsyncs", 700.0),
            ("Innodb_os_log_fsyncs", 500.0),
            ("Innodb_log_writes", 600.0),
        ];
        let files = [(DATA, 150.0, 300.0), (REDO, 500.0, 800.0), (DOUBLEWRITE, 50.0, 90.0)];
        let activity = meter(&DURABLE, Ok(String::new())).activity(&interval(&status, &files));
        assert_eq!(
            syncs(&activity),
            [
                (ServerFile::Log, 500.0, false, Some(800.0)),
                (ServerFile::Data, 150.0, true, Some(300.0)),
                (ServerFile::Doublewrite, 50.0, false, Some(90.0)),
            ]
        );
        assert_eq!(
            (activity.commits.as_ref().unwrap().count, activity.group_size()),
            (1000.0, Some(2.0))
        );
    }

    #[test]
    fn rows_of_performance_schema() {
        let row = |event: &str, count: &str| {
            [event, count, "2000000000", "7", "700"].map(|cell| Some(cell.to_owned())).to_vec()
        };
        let rows = vec![row("wait/io/file/sql/binlog", "3"), row("wait/io/file/sql/FRM", "9")];
        let values: Vec<(&str, f64)> =
            file_values(rows).map(|(counter, value)| (counter.name, value)).collect();
        assert_eq!(
            values,
            [
                ("COUNT_MISC of binlog", 3.0),
                ("SUM_TIMER_MISC of binlog", 2.0),
                ("COUNT_WRITE of binlog", 7.0),
                ("SUM_NUMBER_OF_BYTES_WRITE of binlog", 700.0),
            ]
        );
    }
}
