//! `flushmark db watch`: what a server does second by second, and the summary.

use measurement::{
    DeviceProof, FileActivity, RunDocument, ServerActivity, ServerCount, ServerFile, ServerSyncs,
    TestResult,
};
use workload::number::{latency, number};

use crate::columns::{Column, Columns, NONE};
use crate::findings::findings;
use crate::look::{Look, paint};
use crate::notes::notes;

/// Lays out the lines of a watch. The columns are those that the server has figures for.
#[derive(Debug, Clone)]
pub struct ServerLines {
    columns: Vec<LineColumn>,
}

/// A second of a watched server.
#[derive(Debug, Clone, Copy)]
pub struct ServerSecond<'a> {
    /// The time of day at which it ended.
    pub time: &'a str,
    pub activity: &'a ServerActivity,
    /// Flushes per second of the device under the log, if it counts them.
    pub device_flushes_per_s: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
struct LineColumn {
    name: &'static str,
    width: usize,
    cell: fn(&ServerSecond<'_>) -> Option<String>,
}

const TIME: usize = "12:00:00".len();

const COLUMNS: [LineColumn; 10] = [
    column("commits/s", 9, |second| second.activity.commits_per_s().map(number)),
    column("log syncs", 9, |second| syncs_per_s(second, ServerFile::Log)),
    column("data", 6, |second| syncs_per_s(second, ServerFile::Data)),
    column("dblwr", 6, |second| syncs_per_s(second, ServerFile::Doublewrite)),
    column("binlog", 6, |second| syncs_per_s(second, ServerFile::BinaryLog)),
    column("per commit", 10, |second| second.activity.syncs_per_commit().map(number)),
    column("writes/s", 8, |second| {
        let activity = second.activity;
        activity.per_second(activity.writes_in_total()?).map(number)
    }),
    column("mean sync", 9, |second| second.activity.syncs(ServerFile::Log)?.mean_us().map(latency)),
    column("in sync", 7, |second| second.activity.share_in_sync(ServerFile::Log).map(percent)),
    column("flushes/s", 9, |second| second.device_flushes_per_s.map(number)),
];

const fn column(
    name: &'static str,
    width: usize,
    cell: fn(&ServerSecond<'_>) -> Option<String>,
) -> LineColumn {
    LineColumn { name, width, cell }
}

impl ServerLines {
    /// For a server whose first second this is. A column whose cell is empty there, such as a ratio
    /// to no commits, is left out only if the server never has such a figure.
    pub fn new(first: &ServerSecond<'_>) -> ServerLines {
        let known = |file| first.activity.syncs(file).is_some();
        let is_shown = |column: &LineColumn| match column.name {
            "log syncs" => known(ServerFile::Log),
            "data" => known(ServerFile::Data),
            "dblwr" => known(ServerFile::Doublewrite),
            "binlog" => known(ServerFile::BinaryLog),
            "mean sync" | "in sync" => {
                let log = first.activity.syncs(ServerFile::Log);
                log.is_some_and(|syncs| syncs.total_ms.is_some())
            }
            "flushes/s" => first.device_flushes_per_s.is_some(),
            _ => true,
        };
        ServerLines { columns: COLUMNS.into_iter().filter(is_shown).collect() }
    }

    /// The line above them.
    pub fn header(&self, look: &Look) -> String {
        let line = self.line("time", |column| column.name.to_owned());
        look.finish(paint(look.palette.faint, &line) + "\n")
    }

    pub fn second(&self, second: &ServerSecond<'_>, look: &Look) -> String {
        let cell = |column: &LineColumn| (column.cell)(second).unwrap_or_else(|| NONE.to_owned());
        look.finish(self.line(second.time, cell) + "\n")
    }

    fn line(&self, time: &str, cell: impl Fn(&LineColumn) -> String) -> String {
        let cells = self.columns.iter().map(|column| {
            let width = column.width;
            format!("  {:>width$}", cell(column))
        });
        format!("{time:<TIME$}") + &cells.collect::<String>()
    }
}

fn syncs_per_s(second: &ServerSecond<'_>, file: ServerFile) -> Option<String> {
    let syncs = second.activity.syncs(file)?;
    second.activity.per_second(syncs.number.count).map(number)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The summary of a watch.
pub fn database_watch_page(document: &RunDocument, look: &Look) -> String {
    let results = &document.results;
    let mut text = String::new();
    for result in results {
        if let Some(activity) = &result.server {
            text += &summary(result, activity, look);
        }
    }
    let mut page = format!("\n{}", look.finish(text + &notes(results, &document.skipped, look)));
    let found = findings(&document.findings, look);
    if !found.is_empty() {
        page += &format!("\n{found}");
    }
    page
}

fn summary(result: &TestResult, activity: &ServerActivity, look: &Look) -> String {
    let mut text = look.heading(&format!("{} watched", latency(activity.elapsed_s * 1e6)));
    text += &look.hanging("  commits      ", &commit_words(activity));
    if let Some(clients) = activity.active_clients {
        text += &look.hanging("  clients      ", &format!("{} active", number(clients)));
    }
    text += &device_line(result.proof.device.as_ref(), activity, look);
    text.push('\n');
    text += &table(activity, look);
    for line in sources(activity) {
        text += &look.hanging("  ", &line);
    }
    for why in &activity.unknown {
        text += &look.hanging("  unknown: ", why);
    }
    text
}

fn commit_words(activity: &ServerActivity) -> String {
    let Some(commits) = &activity.commits else { return "unknown".to_owned() };
    let rate = activity.commits_per_s().unwrap_or(0.0);
    let mut words = format!("{}/s, {} in total", number(rate), counted(commits));
    if let Some(each) = activity.syncs_per_commit() {
        words += &format!(", {} syncs each", number(each));
    }
    if let Some(size) = activity.group_size() {
        words += &format!(", in groups of {}", number(size));
    }
    words
}

fn device_line(device: Option<&DeviceProof>, activity: &ServerActivity, look: &Look) -> String {
    let Some(device) = device else { return String::new() };
    let rate = |count: u64| activity.per_second(count as f64).map_or(NONE.to_owned(), number);
    let mut words = match device.flushes {
        Some(flushes) => format!("{} flushes/s", rate(flushes)),
        None => "counts no flushes".to_owned(),
    };
    let syncs = activity.syncs_in_total().filter(|syncs| *syncs > 0.0);
    if let Some((flushes, syncs)) = device.flushes.zip(syncs) {
        words += &format!(", {} per sync", number(flushes as f64 / syncs));
    }
    if let Some(mean_us) = device.flush_mean_us {
        words += &format!(", mean {}", latency(mean_us));
    }
    words += &format!("; {} writes/s, {}/s", rate(device.writes), {
        let mib = device.bytes_written as f64 / f64::from(1 << 20) / activity.elapsed_s.max(1e-9);
        format!("{} MiB", number(mib))
    });
    look.hanging("  device       ", &words)
}

/// One row for each kind of file.
fn table(activity: &ServerActivity, look: &Look) -> String {
    let syncs = |file: &FileActivity| file.syncs.clone();
    Columns::<FileActivity>::new()
        .with(Column::left("file"), |file| file.file.label())
        .with(Column::right("syncs/s"), |file| {
            let number = syncs(file)?.number;
            let rate = activity.per_second(number.count)?;
            Some(counted(&ServerCount { count: rate, ..number }))
        })
        .with(Column::right("per commit"), |file| {
            activity.per_commit(syncs(file)?.number.count).map(number)
        })
        .with(Column::right("writes/s"), |file| {
            activity.per_second(file.writes.as_ref()?.number.count).map(number)
        })
        .with(Column::right("MiB/s").may_drop(2), |file| {
            let bytes = file.writes.as_ref()?.bytes?;
            activity.per_second(bytes / f64::from(1 << 20)).map(number)
        })
        .with(Column::right("syncs/write").may_drop(3), |file| {
            let (syncs, writes) = (syncs(file)?.number.count, file.writes.as_ref()?.number.count);
            (writes > 0.0).then(|| number(syncs / writes))
        })
        .with(Column::right("mean sync").optional(), |file| syncs(file)?.mean_us().map(latency))
        .with(Column::right("highest mean").may_drop(1).optional(), |file| {
            syncs(file)?.highest_mean_us.map(latency)
        })
        .with(Column::right("time in sync").optional(), |file| {
            syncs(file).filter(ServerSyncs::is_timed)?;
            activity.share_in_sync(file.file).map(percent)
        })
        .of(&activity.files, look)
}

/// A count, with a mark if it follows from counters of something else.
fn counted(count: &ServerCount) -> String {
    let mark = if count.inferred { "~" } else { "" };
    format!("{mark}{}", number(count.count))
}

/// The counters behind the figures.
fn sources(activity: &ServerActivity) -> Vec<String> {
    let of = |what: String, count: &ServerCount| {
        let inferred = if count.inferred { " (~ inferred)" } else { "" };
        format!("{what}: {}{inferred}", count.from)
    };
    let commits = activity.commits.iter().map(|commits| of("commits".to_owned(), commits));
    let syncs = activity.files.iter().filter_map(|file| {
        Some(of(format!("syncs of {}", file.file.label()), &file.syncs.as_ref()?.number))
    });
    commits.chain(syncs).collect()
}

#[cfg(test)]
mod tests {
    use measurement::{DatabaseProduct, DatabaseRecord, TargetKind, TargetRecord};

    use super::*;

    #[test]
    fn lines() {
        let activity = samples::activity(4000.0, 1000.0, Some(9000.0));
        let look = Look::plain();
        let second = ServerSecond {
            time: "12:00:00",
            activity: &activity,
            device_flushes_per_s: Some(101.0),
        };
        let lines = ServerLines::new(&second);
        let idle = samples::activity(0.0, 0.0, Some(0.0));
        let later = ServerSecond { time: "12:00:01", activity: &idle, device_flushes_per_s: None };
        let text =
            lines.header(&look) + &lines.second(&second, &look) + &lines.second(&later, &look);
        insta::assert_snapshot!(text, @"
        time      commits/s  log syncs  per commit  writes/s  mean sync  in sync  flushes/s
        12:00:00        400        100        0.25       100       9 ms     90 %        101
        12:00:01          0          0           -         0          -      0 %          -
        ");
    }

    #[test]
    fn a_server_that_does_not_time_its_syncs_has_no_columns_for_it() {
        let activity = samples::activity(4000.0, 1000.0, None);
        let second =
            ServerSecond { time: "12:00:00", activity: &activity, device_flushes_per_s: None };
        insta::assert_snapshot!(ServerLines::new(&second).header(&Look::plain()), @"time      commits/s  log syncs  per commit  writes/s");
    }

    #[test]
    fn the_page() {
        let mut activity = samples::activity(4000.0, 1000.0, Some(9000.0));
        activity
            .unknown
            .push("syncs of data files: the server counts them since PostgreSQL 16".to_owned());
        let record = DatabaseRecord {
            product: DatabaseProduct::Postgresql,
            version: "15.18".to_owned(),
            settings: Vec::new(),
        };
        let target = TargetRecord::new("postgres://monitor@db1/shop", TargetKind::Database)
            .with_database(record.clone());
        let document = samples::document(vec![samples::watched(activity, 1010)]);
        let host = drive::HostFacts::default();
        let case = judge::Case::new(&document.results, None, &host);
        let findings = judge::database(&record, &case);
        let document = RunDocument { target, drive: None, findings, ..document };
        insta::assert_snapshot!(database_watch_page(&document, &Look::plain()), @"

        10 s watched
          commits      400/s, 4,000 in total, 0.25 syncs each, in groups of 4
          clients      8 active
          device       101 flushes/s, 1.01 per sync, mean 2 ms; 202 writes/s, 0.79 MiB/s

          file  syncs/s  per commit  writes/s  MiB/s  syncs/write  mean sync  highest mean  time in sync
          log       100        0.25       100   0.78            1       9 ms       12.5 ms          90 %
          commits: transaction IDs
          syncs of log: wal_sync
          unknown: syncs of data files: the server counts them since PostgreSQL 16

        Findings
         1. Syncs limit the commits: 90 % of the time goes to syncs of the log, 9 ms each, at 400 commits/s.
            because: time in syncs of the log (server) 90 %; mean sync (server) 9 ms; commits 400 per
                     second; commits per sync 4
            confidence: high
            to do: Commit more rows per transaction, let more clients commit at the same time, or put the
                   log on a drive with power-loss protection. `flushmark check` in the directory of the log
                   shows what the drive can do.
        ");
    }
}
