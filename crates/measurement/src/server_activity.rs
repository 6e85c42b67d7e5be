//! The activity of a database server in an interval, by its own counters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Commits, syncs and writes of a server, and the counters that they come from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerActivity {
    /// Seconds that the counters cover. Intervals in which they were reset are left out.
    pub elapsed_s: f64,
    /// Commits of transactions that wrote; `null` if the server does not count them.
    pub commits: Option<ServerCount>,
    /// Groups of commits that were made durable together; `null` if the server does not count
    /// them, or acknowledges commits before they are durable.
    pub groups: Option<ServerCount>,
    /// Clients that executed a statement, the mean of all readings; `null` if unknown.
    pub active_clients: Option<f64>,
    /// Processor time of the server; absent if it runs on another host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<ServerCpu>,
    /// Syncs and writes by what was synced and written.
    pub files: Vec<FileActivity>,
    /// The increase of each counter, as the server names it.
    pub counters: Vec<ServerCounter>,
    /// Figures that are missing, and why; one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The same second by second; absent unless the server was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<ServerSeries>,
}

/// Processor time of a server's processes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCpu {
    /// Seconds, of all processors together.
    pub seconds: f64,
    /// Processors that the server may use.
    pub processors: u32,
}

/// A number of events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCount {
    pub count: f64,
    /// The counters it comes from.
    pub from: String,
    /// True if it follows from counters of something else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inferred: bool,
}

/// A kind of file of a server.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ServerFile {
    /// The write-ahead log of PostgreSQL, the redo log of InnoDB.
    Log,
    /// Tables and indexes.
    Data,
    /// InnoDB's copies of pages that are about to be overwritten.
    Doublewrite,
    /// The binary log of MariaDB and MySQL.
    BinaryLog,
}

impl ServerFile {
    pub const ALL: [ServerFile; 4] =
        [ServerFile::Log, ServerFile::Data, ServerFile::Doublewrite, ServerFile::BinaryLog];

    /// The name in reports for people.
    pub const fn label(self) -> &'static str {
        match self {
            ServerFile::Log => "log",
            ServerFile::Data => "data files",
            ServerFile::Doublewrite => "doublewrite",
            ServerFile::BinaryLog => "binary log",
        }
    }
}

/// Syncs and writes of one kind of file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FileActivity {
    pub file: ServerFile,
    /// `null` if unknown.
    pub syncs: Option<ServerSyncs>,
    /// `null` if unknown.
    pub writes: Option<ServerWrites>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSyncs {
    #[serde(flatten)]
    pub number: ServerCount,
    /// True if they are writes, each of which is durable by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_writes: bool,
    /// The sum of their times in milliseconds; `null` if the server does not measure them.
    pub total_ms: Option<f64>,
    /// The highest mean time of the syncs of one second, in microseconds. Servers keep no
    /// distribution of these times, so percentiles are unknown. Absent unless the server was
    /// watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest_mean_us: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerWrites {
    #[serde(flatten)]
    pub number: ServerCount,
    /// `null` if unknown.
    pub bytes: Option<f64>,
}

/// The increase of a counter of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerCounter {
    pub name: String,
    /// The view or statement that shows it, such as `pg_stat_wal` or `SHOW GLOBAL STATUS`.
    pub source: String,
    pub unit: CounterUnit,
    pub increase: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CounterUnit {
    /// A number of events.
    Events,
    Bytes,
    /// Milliseconds.
    Ms,
}

/// Rates of a watched server, one value for each interval; `null` where the counters were reset or
/// the server was away.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerSeries {
    /// Length of an interval, in seconds.
    pub interval_s: f64,
    pub commits_per_s: Vec<Option<f64>>,
    /// Syncs of all kinds of files that are counted.
    pub syncs_per_s: Vec<Option<f64>>,
    /// Mean time of the syncs of the log, in microseconds.
    pub log_sync_mean_us: Vec<Option<f64>>,
    /// Flushes counted by the device under the log.
    pub device_flushes_per_s: Vec<Option<f64>>,
}

impl ServerCount {
    pub fn counted(count: f64, from: impl Into<String>) -> ServerCount {
        ServerCount { count, from: from.into(), inferred: false }
    }

    pub fn inferred(count: f64, from: impl Into<String>) -> ServerCount {
        ServerCount { count, from: from.into(), inferred: true }
    }
}

impl ServerSyncs {
    /// Syncs with their times, as the server counts both. Where it does not measure times, its sum
    /// stays as it is.
    pub fn timed(number: ServerCount, total_ms: Option<f64>) -> ServerSyncs {
        let total_ms = total_ms.filter(|ms| *ms > 0.0 || number.count <= 0.0);
        ServerSyncs { number, by_writes: false, total_ms, highest_mean_us: None }
    }

    /// True if their times are known.
    pub const fn is_timed(&self) -> bool {
        self.total_ms.is_some()
    }

    pub fn mean_us(&self) -> Option<f64> {
        let total_us = self.total_ms? * 1e3;
        (self.number.count > 0.0).then(|| total_us / self.number.count)
    }
}

impl ServerActivity {
    pub fn file(&self, file: ServerFile) -> Option<&FileActivity> {
        self.files.iter().find(|activity| activity.file == file)
    }

    pub fn syncs(&self, file: ServerFile) -> Option<&ServerSyncs> {
        self.file(file)?.syncs.as_ref()
    }

    /// Syncs of all kinds of files that are known; `None` if none is.
    pub fn syncs_in_total(&self) -> Option<f64> {
        total(self.files.iter().filter_map(|file| file.syncs.as_ref()).map(|of| of.number.count))
    }

    /// Writes of all kinds of files that are known; `None` if none is.
    pub fn writes_in_total(&self) -> Option<f64> {
        total(self.files.iter().filter_map(|file| file.writes.as_ref()).map(|of| of.number.count))
    }

    /// Syncs of the kinds of files whose writes are counted as well, per write; `None` without such
    /// a kind, or without writes.
    pub fn syncs_per_write(&self) -> Option<f64> {
        let both = self.files.iter().filter_map(|file| {
            Some((file.syncs.as_ref()?.number.count, file.writes.as_ref()?.number.count))
        });
        let (syncs, writes) = both.fold((0.0, 0.0), |sum, file| (sum.0 + file.0, sum.1 + file.1));
        (writes > 0.0).then(|| syncs / writes)
    }

    pub fn commits_per_s(&self) -> Option<f64> {
        self.per_second(self.commits.as_ref()?.count)
    }

    pub fn per_second(&self, count: f64) -> Option<f64> {
        (self.elapsed_s > 0.0).then(|| count / self.elapsed_s)
    }

    /// A count per commit; `None` without commits.
    pub fn per_commit(&self, count: f64) -> Option<f64> {
        let commits = self.commits.as_ref()?.count;
        (commits > 0.0).then(|| count / commits)
    }

    /// Syncs of any file per commit.
    pub fn syncs_per_commit(&self) -> Option<f64> {
        self.per_commit(self.syncs_in_total()?)
    }

    /// Commits that were made durable together, on average.
    pub fn group_size(&self) -> Option<f64> {
        let (commits, groups) = (self.commits.as_ref()?.count, self.groups.as_ref()?.count);
        (groups > 0.0 && commits > 0.0).then(|| commits / groups)
    }

    /// Share of the time that was spent in syncs of a kind of file. It exceeds 1 where several
    /// were under way at the same time.
    pub fn share_in_sync(&self, file: ServerFile) -> Option<f64> {
        let total_ms = self.syncs(file)?.total_ms?;
        (self.elapsed_s > 0.0).then(|| total_ms / 1e3 / self.elapsed_s)
    }

    /// The activity of several intervals together; `None` if it is unknown in one of them. A figure
    /// that one of them lacks is left out, because the sum of some would pass for that of all.
    pub fn sum<'a>(
        parts: impl IntoIterator<Item = Option<&'a ServerActivity>>,
    ) -> Option<ServerActivity> {
        let parts: Vec<&ServerActivity> = parts.into_iter().collect::<Option<_>>()?;
        let (first, others) = parts.split_first()?;
        let sum = others.iter().fold((*first).clone(), |sum, other| sum.with(other));
        // The intervals of different runs do not follow one another.
        Some(ServerActivity { series: None, ..sum })
    }

    fn with(self, other: &ServerActivity) -> ServerActivity {
        let elapsed_s = self.elapsed_s + other.elapsed_s;
        let weighted = self.active_clients.zip(other.active_clients).map(|(ours, theirs)| {
            (ours * self.elapsed_s + theirs * other.elapsed_s) / elapsed_s.max(f64::MIN_POSITIVE)
        });
        let files = self.files.iter().filter_map(|ours| {
            let theirs = other.file(ours.file)?;
            let syncs = ours.syncs.as_ref().zip(theirs.syncs.as_ref());
            let writes = ours.writes.as_ref().zip(theirs.writes.as_ref());
            Some(FileActivity {
                file: ours.file,
                syncs: syncs.map(|(ours, theirs)| ServerSyncs {
                    number: both(&ours.number, &theirs.number),
                    by_writes: ours.by_writes || theirs.by_writes,
                    total_ms: plus(ours.total_ms, theirs.total_ms),
                    highest_mean_us: ours
                        .highest_mean_us
                        .zip(theirs.highest_mean_us)
                        .map(|(ours, theirs)| ours.max(theirs)),
                }),
                writes: writes.map(|(ours, theirs)| ServerWrites {
                    number: both(&ours.number, &theirs.number),
                    bytes: plus(ours.bytes, theirs.bytes),
                }),
            })
        });
        let counters = self.counters.iter().filter_map(|ours| {
            let is_it =
                |theirs: &&ServerCounter| theirs.name == ours.name && theirs.source == ours.source;
            let theirs = other.counters.iter().find(is_it)?;
            Some(ServerCounter { increase: ours.increase + theirs.increase, ..ours.clone() })
        });
        let mut unknown = self.unknown.clone();
        unknown.extend(other.unknown.iter().filter(|why| !self.unknown.contains(why)).cloned());
        ServerActivity {
            elapsed_s,
            commits: pair(self.commits.as_ref(), other.commits.as_ref()),
            groups: pair(self.groups.as_ref(), other.groups.as_ref()),
            active_clients: weighted,
            cpu: self.cpu.zip(other.cpu).map(|(ours, theirs)| ServerCpu {
                seconds: ours.seconds + theirs.seconds,
                processors: ours.processors.max(theirs.processors),
            }),
            files: files.collect(),
            counters: counters.collect(),
            unknown,
            series: None,
        }
    }
}

fn total(counts: impl Iterator<Item = f64>) -> Option<f64> {
    counts.fold(None, |sum, count| Some(sum.unwrap_or(0.0) + count))
}

fn plus(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    Some(ours? + theirs?)
}

fn pair(ours: Option<&ServerCount>, theirs: Option<&ServerCount>) -> Option<ServerCount> {
    Some(both(ours?, theirs?))
}

fn both(ours: &ServerCount, theirs: &ServerCount) -> ServerCount {
    ServerCount {
        count: ours.count + theirs.count,
        from: ours.from.clone(),
        inferred: ours.inferred || theirs.inferred,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn activity(commits: f64, log_syncs: f64, total_ms: Option<f64>) -> ServerActivity {
        let number = ServerCount::counted(log_syncs, "wal_sync");
        let syncs = ServerSyncs::timed(number, total_ms);
        ServerActivity {
            elapsed_s: 2.0,
            commits: Some(ServerCount::counted(commits, "xids")),
            groups: Some(ServerCount::counted(log_syncs, "wal_sync")),
            active_clients: Some(commits / 100.0),
            files: vec![FileActivity { file: ServerFile::Log, syncs: Some(syncs), writes: None }],
            counters: vec![ServerCounter {
                name: "wal_sync".to_owned(),
                source: "pg_stat_wal".to_owned(),
                unit: CounterUnit::Events,
                increase: log_syncs,
            }],
            ..ServerActivity::default()
        }
    }

    #[test]
    fn ratios() {
        let activity = activity(1000.0, 250.0, Some(1500.0));
        assert_eq!(activity.commits_per_s(), Some(500.0));
        assert_eq!(activity.syncs_per_commit(), Some(0.25));
        assert_eq!(activity.group_size(), Some(4.0));
        assert_eq!(activity.share_in_sync(ServerFile::Log), Some(0.75));
        assert_eq!(activity.syncs(ServerFile::Log).unwrap().mean_us(), Some(6000.0));
        assert_eq!(activity.share_in_sync(ServerFile::Data), None);
        assert_eq!((activity.writes_in_total(), activity.syncs_per_write()), (None, None));
        let mut activity = activity;
        let number = ServerCount::counted(1000.0, "wal_write");
        activity.files[0].writes = Some(ServerWrites { number, bytes: None });
        assert_eq!(activity.syncs_per_write(), Some(0.25));
    }

    #[test]
    fn an_idle_server_has_no_ratios() {
        let idle = activity(0.0, 0.0, Some(0.0));
        assert_eq!((idle.syncs_per_commit(), idle.group_size()), (None, None));
        assert_eq!(idle.syncs(ServerFile::Log).unwrap().mean_us(), None);
        assert_eq!(ServerActivity::default().commits_per_s(), None);
    }

    #[test]
    fn sums_leave_out_what_one_part_lacks() {
        let (one, other) = (activity(1000.0, 250.0, Some(10.0)), activity(500.0, 50.0, None));
        let sum = ServerActivity::sum([Some(&one), Some(&other)]).unwrap();
        assert_eq!((sum.elapsed_s, sum.group_size()), (4.0, Some(5.0)));
        assert_eq!(sum.syncs(ServerFile::Log).unwrap().total_ms, None);
        assert_eq!((sum.active_clients, sum.counters[0].increase), (Some(7.5), 300.0));
        assert_eq!(ServerActivity::sum([Some(&one), None]), None);
        let without = ServerActivity { commits: None, ..other };
        let sum = ServerActivity::sum([Some(&one), Some(&without)]).unwrap();
        assert_eq!((sum.syncs_in_total(), sum.commits), (Some(300.0), None));
    }
}
