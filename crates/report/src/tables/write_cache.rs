//! The write-cache matrix of the Ceph performance wiki: each test with the drive's cache off and
//! on, side by side, in four groups.

use measurement::TestResult;
use workload::number::{number, throughput};
use workload::{Pattern, Submission, SyncMethod, WriteCache};

use super::size;
use crate::columns::{Column, Columns};
use crate::look::Look;

/// From this block size on, throughput is shown instead of operations.
const LARGE_BYTES: u64 = 1 << 20;

/// The groups of the matrix, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Baseline,
    Journal,
    WorstCase,
    Other,
}

impl Group {
    fn of(result: &TestResult) -> Group {
        let workload = &result.workload;
        let is_durable = workload.sync.is_none_or(SyncMethod::is_durable);
        let is_random = workload.pattern.is_some_and(Pattern::is_random);
        match (is_durable, workload.depth) {
            _ if workload.block_bytes >= LARGE_BYTES => Group::Other,
            (false, _) => Group::Baseline,
            (true, 1) if is_random => Group::WorstCase,
            (true, 1) => Group::Journal,
            (true, _) => Group::Other,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Group::Baseline => "baseline: without syncs",
            Group::Journal => "journal: sequential commits",
            Group::WorstCase => "worst case: random commits",
            Group::Other => "other: commits at depth, large blocks",
        }
    }
}

/// One row per test, one column per measured setting, and what the device counted.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    let key = |result: &TestResult| {
        let workload = &result.workload;
        // The engine decides what a write with a flag sends.
        let submission = result.comparable_workload().submission.filter(|_| workload.depth == 1);
        let sync = (workload.sync, workload.sync_every);
        (workload.pattern, workload.block_bytes, workload.depth, sync, submission)
    };
    let mut keys = Vec::new();
    for result in results {
        if !keys.contains(&key(result)) {
            keys.push(key(result));
        }
    }
    // The order of the source, independent of the order of execution.
    keys.sort_by_key(|&(pattern, block_bytes, depth, sync, submission)| {
        let pattern = Pattern::ALL.iter().position(|&known| Some(known) == pattern);
        let (method, every) = sync;
        let method = SyncMethod::ALL.iter().position(|&known| Some(known) == method);
        let sync = (method, every);
        (block_bytes, pattern, depth, sync, submission == Some(Submission::Blocking))
    });
    // The first test of each key stands for its row.
    let mut firsts: Vec<&TestResult> =
        keys.iter().filter_map(|of| results.iter().find(|result| key(result) == *of)).collect();
    firsts.sort_by_key(|first| Group::of(first));
    let under = |first: &TestResult, setting| {
        let is_of_row = |result: &&TestResult| {
            key(result) == key(first) && result.workload.write_cache == setting
        };
        results.iter().find(is_of_row)
    };
    let is_large = |result: &TestResult| result.workload.block_bytes >= LARGE_BYTES;
    let figure = |first: &TestResult, setting| {
        under(first, setting).map(|result| {
            if is_large(result) {
                format!("{} MiB/s", throughput(result.mib_per_s))
            } else {
                number(result.iops)
            }
        })
    };
    let gain = |first: &TestResult| {
        let (off, on) = (under(first, WriteCache::Off)?, under(first, WriteCache::On)?);
        (on.iops > 0.0).then(|| format!("{} x", number(off.iops / on.iops)))
    };
    let counted = |first: &TestResult, figure: fn(&TestResult) -> Option<String>| {
        let settings = [WriteCache::Unchanged, WriteCache::Off, WriteCache::On];
        let [found, off, on] = settings.map(|setting| under(first, setting).and_then(figure));
        match (off, on) {
            (Some(off), Some(on)) => Some(format!("{off} : {on}")),
            (off, on) => found.or(off).or(on),
        }
    };
    let merged = |first: &TestResult| {
        counted(first, |result| {
            result.proof.merged_share().map(|share| format!("{:.0} %", 100.0 * share))
        })
    };
    let request = |first: &TestResult| {
        counted(first, |result| {
            result.proof.mean_request_bytes().map(|bytes| number(bytes / 1024.0))
        })
    };
    let amplification = |first: &TestResult| {
        counted(first, |result| result.proof.device?.write_amplification().map(number))
    };
    let mut table = Columns::<TestResult>::new()
        .with(Column::left("test"), |first| {
            let pattern = first.workload.pattern.map_or("steps", Pattern::name);
            format!("{pattern} {}", size(first))
        })
        .with(Column::right("depth"), |first| first.workload.depth.to_string())
        .with(Column::prose("sync"), |first| sync_column(key(first).3, key(first).4))
        .with(Column::right("as found").optional(), |first| figure(first, WriteCache::Unchanged))
        .with(Column::right("cache off").optional(), |first| figure(first, WriteCache::Off))
        .with(Column::right("cache on").optional(), |first| figure(first, WriteCache::On))
        .with(Column::right("off : on").optional().may_drop(1), gain)
        .with(Column::right("merged").optional().may_drop(3), merged)
        .with(Column::right("KiB/request").optional().may_drop(4), request)
        .with(Column::right("WA").optional().may_drop(2), amplification);
    for group in firsts.chunk_by(|a, b| Group::of(a) == Group::of(b)) {
        table.group(Group::of(group[0]).title());
        group.iter().for_each(|first| table.row(first));
    }
    let table = table.render(look);
    // The column is left out on a narrow page, and where the drive counts nothing.
    let mut note = String::from("IOPS where no unit is given");
    if table.lines().next().is_some_and(|head| head.contains(" WA")) {
        note += "; WA: write amplification, bytes written to the medium per byte sent to the drive";
    }
    format!("{table}\n{}", look.hanging("  ", &note))
}

/// The sync method, and for a flag at depth 1 also how the write was submitted.
fn sync_column((sync, every): (Option<SyncMethod>, u32), submission: Option<Submission>) -> String {
    let name = sync.map_or("steps", SyncMethod::name);
    match submission {
        None if every > 1 => format!("{name}={every}"),
        None => name.to_owned(),
        Some(Submission::Asynchronous) => format!("{name}, asynchronous"),
        Some(Submission::Blocking) => format!("{name}, pwrite"),
    }
}

#[cfg(test)]
mod golden {
    use super::*;

    /// The suite on a drive whose commits are much faster with the cache off.
    fn both() -> Vec<TestResult> {
        let under = |setting, sync_us| {
            let results = samples::suite("write-cache", 15.0, sync_us);
            results
                .into_iter()
                .filter(move |result| result.workload.write_cache == setting)
                .collect::<Vec<_>>()
        };
        [under(WriteCache::Off, 25.0), under(WriteCache::On, 1700.0)].concat()
    }

    #[test]
    fn the_matrix() {
        insta::assert_snapshot!(table(&both(), &Look::plain()), @"
        test             depth  sync                    cache off     cache on  off : on  KiB/request
        baseline: without syncs
        write 4 KiB          1  none                       66,667       66,667       1 x        2 : 2
        write 4 KiB          4  none                      202,096      202,096       1 x        2 : 2
        write 4 KiB         32  none                    1,066,667    1,066,667       1 x        2 : 2
        write 4 KiB        128  none                    3,233,529    3,233,529       1 x        2 : 2
        randwrite 4 KiB      1  none                       66,667       66,667       1 x        2 : 2
        randwrite 4 KiB      4  none                      202,096      202,096       1 x        2 : 2
        randwrite 4 KiB     32  none                    1,066,667    1,066,667       1 x        2 : 2
        randwrite 4 KiB    128  none                    3,233,529    3,233,529       1 x        2 : 2
        journal: sequential commits
        write 4 KiB          1  fsync                      22,222          487    45.7 x        2 : 2
        write 4 KiB          1  fdatasync                  25,000          583    42.9 x        2 : 2
        write 4 KiB          1  o_sync, asynchronous       21,053          449    46.8 x        2 : 2
        write 4 KiB          1  o_sync, pwrite             21,053          449    46.8 x        2 : 2
        worst case: random commits
        randwrite 4 KiB      1  fsync                      22,222          487    45.7 x        2 : 2
        randwrite 4 KiB      1  fdatasync                  25,000          583    42.9 x        2 : 2
        randwrite 4 KiB      1  o_sync, asynchronous       21,053          449    46.8 x        2 : 2
        randwrite 4 KiB      1  o_sync, pwrite             21,053          449    46.8 x        2 : 2
        other: commits at depth, large blocks
        write 4 KiB          4  fsync                      22,222          487    45.7 x        2 : 2
        write 4 KiB          4  fsync=4                    22,222          487    45.7 x        2 : 2
        write 4 KiB          4  o_sync                     63,820        1,362    46.8 x        2 : 2
        write 4 KiB         32  fsync                      22,222          487    45.7 x        2 : 2
        write 4 KiB         32  fsync=32                   22,222          487    45.7 x        2 : 2
        write 4 KiB         32  o_sync                    336,842        7,191    46.8 x        2 : 2
        write 4 KiB        128  fsync                      22,222          487    45.7 x        2 : 2
        write 4 KiB        128  o_sync                  1,021,114       21,799    46.8 x        2 : 2
        randwrite 4 KiB      4  fsync                      22,222          487    45.7 x        2 : 2
        randwrite 4 KiB      4  fsync=4                    22,222          487    45.7 x        2 : 2
        randwrite 4 KiB      4  o_sync                     63,820        1,362    46.8 x        2 : 2
        randwrite 4 KiB     32  fsync                      22,222          487    45.7 x        2 : 2
        randwrite 4 KiB     32  fsync=32                   22,222          487    45.7 x        2 : 2
        randwrite 4 KiB     32  o_sync                    336,842        7,191    46.8 x        2 : 2
        randwrite 4 KiB    128  fsync                      22,222          487    45.7 x        2 : 2
        randwrite 4 KiB    128  o_sync                  1,021,114       21,799    46.8 x        2 : 2
        write 4 MiB         32  none                  8,325 MiB/s  8,325 MiB/s       1 x        2 : 2
        write 4 MiB         32  fsync                   518 MiB/s    411 MiB/s    1.26 x        2 : 2
        write 4 MiB         32  o_sync                8,290 MiB/s  6,466 MiB/s    1.28 x        2 : 2

        IOPS where no unit is given
        ");
    }

    #[test]
    fn a_single_setting() {
        let mut alone = both();
        alone.retain(|result| {
            result.workload.depth == 1 && result.workload.pattern == Some(Pattern::Write)
        });
        alone.truncate(4);
        for result in &mut alone {
            result.workload.write_cache = WriteCache::Unchanged;
        }
        insta::assert_snapshot!(table(&alone, &Look::plain()), @"
        test         depth  sync                  as found  KiB/request
        baseline: without syncs
        write 4 KiB      1  none                    66,667            2
        journal: sequential commits
        write 4 KiB      1  fsync                   22,222            2
        write 4 KiB      1  o_sync, asynchronous    21,053            2
        write 4 KiB      1  o_sync, pwrite          21,053            2

        IOPS where no unit is given
        ");
    }
}
