//! The published drives whose numbers are nearest to the measured ones.
//!
//! Distance is the mean of the ratios' logarithms, so that twice as fast and twice as slow are
//! equally far. Commits weigh most because they differ between drives by a factor of a thousand,
//! everything else by ten.

use catalogue::{Drive, PublishedSync, Row, WriteCache};
use measurement::TestResult;
use serde::Serialize;
use workload::{Pattern, Submission, SyncMethod, format_bytes};

use crate::case::{Case, summary};
use crate::flush_path::FlushPath;
use crate::wording::{operation_name, sync_name};

/// Weight of a commit relative to any other row.
const COMMIT_WEIGHT: f64 = 4.0;
/// Rows up to this size substitute for one another if the same size was not published: transferring
/// the bytes is still cheap compared with the commit.
const STAND_IN_BYTES_MAX: u64 = 64 << 10;
/// Penalty on a stand-in of another size or sync method, for each doubling or change. It decides
/// between two drives that would otherwise be equally near.
const STAND_IN_FACTOR: f64 = 1.1;
/// From this factor on, "nearest" means only that every other drive is even further away.
const FAR_FACTOR: f64 = 3.0;

/// A published drive that resembles the measured storage.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Nearest {
    /// The catalogue's entry.
    pub drive: &'static Drive,
    /// Setting of its volatile cache in the compared rows; `default` if the source has only one.
    pub write_cache: WriteCache,
    /// Mean ratio of the compared figures: 1 is equal, 2 is twice or half.
    pub factor: f64,
    /// The compared tests, commits first.
    pub compared: Vec<Compared>,
    /// Limits of the comparison, as sentences; `None` if there are none.
    pub note: Option<String>,
}

/// A test that was both measured and published.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// For example `4 KiB write + fsync`.
    pub what: String,
    /// The measured figure, in `unit`.
    pub ours: f64,
    /// The published figure; the geometric mean of several runs of one test.
    pub published: f64,
    /// Unit of both: `us` (mean of a commit), `iops` or `MiB/s`.
    pub unit: &'static str,
    /// True if the test measures commits one at a time.
    pub is_commit: bool,
}

impl Compared {
    /// The absolute logarithm of the ratio of the two figures.
    fn distance(&self) -> f64 {
        (self.ours / self.published).ln().abs()
    }
}

/// The `count` published drives nearest to the case, nearest first, each drive once. Empty only if
/// nothing comparable has been published: a commit of up to 64 KiB always has neighbours.
pub fn nearest(case: &Case<'_>, count: usize) -> Vec<Nearest> {
    let has_commits = case
        .results
        .iter()
        .any(|result| commit_us(result).is_some_and(|_| is_stand_in_size(result)));
    let mut all: Vec<(f64, Nearest)> = catalogue::drives()
        .iter()
        .filter_map(|drive| {
            let settings = settings(drive);
            let near = settings
                .into_iter()
                .filter_map(|setting| compare(case, drive, setting, has_commits));
            near.min_by(|a, b| a.0.total_cmp(&b.0))
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    all.into_iter().take(count).map(|(_, nearest)| nearest).collect()
}

/// The cache settings under which a drive was measured; each counts as a separate drive.
fn settings(drive: &Drive) -> Vec<WriteCache> {
    let has = |setting: &WriteCache| drive.rows.iter().any(|row| row.write_cache == *setting);
    let named: Vec<_> = [WriteCache::On, WriteCache::Off].into_iter().filter(has).collect();
    if named.is_empty() { vec![WriteCache::Default] } else { named }
}

/// The comparison with one drive, with the distance to sort by.
fn compare(
    case: &Case<'_>,
    drive: &'static Drive,
    setting: WriteCache,
    needs_commit: bool,
) -> Option<(f64, Nearest)> {
    // Rows that do not mention the cache (reads) hold for every setting.
    let rows: Vec<&Row> = drive
        .rows
        .iter()
        .filter(|row| row.write_cache == setting || row.write_cache == WriteCache::Default)
        .collect();
    let mut compared = same_tests(case, &rows);
    let (mut note, mut penalty) = (None, 0.0);
    if needs_commit && !compared.iter().any(|test| test.is_commit) {
        let stand_in = stand_in(case, &rows)?;
        compared.push(stand_in.compared);
        note = Some(stand_in.note);
        penalty = stand_in.strides * STAND_IN_FACTOR.ln();
    }
    compared.sort_by_key(|test| !test.is_commit);
    let weight = |test: &Compared| if test.is_commit { COMMIT_WEIGHT } else { 1.0 };
    let weights: f64 = compared.iter().map(weight).sum();
    if weights == 0.0 {
        return None;
    }
    let distance =
        compared.iter().map(|test| weight(test) * test.distance()).sum::<f64>() / weights;
    let factor = distance.exp();
    let limits = [
        note,
        (factor >= FAR_FACTOR).then(|| "No published drive is close.".to_owned()),
        FlushPath::of(case)
            .not_durable_because()
            .map(|_| "These commits are not durable: only the speed is similar.".to_owned()),
    ];
    let note = limits.into_iter().flatten().reduce(|all, next| format!("{all} {next}"));
    Some((distance + penalty, Nearest { drive, write_cache: setting, factor, compared, note }))
}

/// The tests that were both measured and published, each once.
fn same_tests(case: &Case<'_>, rows: &[&Row]) -> Vec<Compared> {
    let mut tests: Vec<Compared> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let is_same = |other: &&Row| test_of(other) == test_of(row);
        if rows[..index].iter().any(is_same) {
            continue;
        }
        let candidates = case.results.iter().filter_map(|result| {
            Some((workload_difference(result, row, case.is_raw_device())?, result))
        });
        let Some((_, ours)) = candidates.min_by_key(|(difference, _)| *difference) else {
            continue;
        };
        let runs: Vec<(f64, f64, &'static str, bool)> =
            rows.iter().copied().filter(is_same).filter_map(|run| figures(ours, run)).collect();
        let Some(&(our_figure, _, unit, is_commit)) = runs.first() else { continue };
        let published = (runs.iter().map(|(_, published, ..)| published.ln()).sum::<f64>()
            / runs.len() as f64)
            .exp();
        let what = operation_name(ours);
        // Published sequential and random writes may match the same result of ours, which must
        // count once.
        if !tests
            .iter()
            .any(|test| test.what == what && test.unit == unit && same(test.ours, our_figure))
        {
            tests.push(Compared { what, ours: our_figure, published, unit, is_commit });
        }
    }
    tests
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() <= f64::EPSILON * one.abs()
}

fn test_of(row: &Row) -> (Pattern, u64, u32, u32, PublishedSync, Option<u32>) {
    (row.pattern, row.block_bytes, row.depth, row.jobs, row.sync, row.sync_every)
}

/// How much one of our tests differs from a published one: 0 if the workloads are equal, `None` if
/// they are not comparable.
fn workload_difference(result: &TestResult, row: &Row, raw_device: bool) -> Option<u32> {
    let work = &result.workload;
    let (pattern, sync) = (work.pattern?, work.sync?);
    let writes = row.pattern.writes();
    let same_size =
        work.block_bytes == row.block_bytes && work.depth == row.depth && work.jobs == row.jobs;
    let same_direction = pattern.writes() == writes && pattern.reads() == row.pattern.reads();
    // Without O_DIRECT an unsynced operation measures memory.
    let comparable = work.rate.is_none()
        && work.priorities.is_default()
        && work.order.is_plain()
        && !pattern.computes()
        && (work.direct || (writes && sync.is_durable()));
    if !(same_size && same_direction && comparable) {
        return None;
    }
    let by_sync = if writes { sync_difference(sync, work.sync_every, row)? } else { 0 };
    // The sources wrote through libaio. On a raw device, `pwrite` with a flag also flushes.
    let blocking = result.comparable_workload().submission == Some(Submission::Blocking);
    if blocking && work.depth == 1 && raw_device {
        return None;
    }
    let by_sync = by_sync + u32::from(blocking);
    let one_at_a_time = work.depth == 1 && work.jobs == 1;
    // The location of a write does not matter to a flush, but it does to a queue of reads or
    // writes.
    let by_pattern = match pattern == row.pattern {
        true => 0,
        false if one_at_a_time && writes && sync.is_durable() => 4,
        false => return None,
    };
    Some(by_sync + by_pattern)
}

fn sync_difference(sync: SyncMethod, sync_every: u32, row: &Row) -> Option<u32> {
    use SyncMethod::{Fdatasync, Fsync, LinkedFdatasync, LinkedFsync, ODsync, OSync, RwfDsync};
    if sync.is_durable() && !sync.is_per_write() && Some(sync_every) != row.sync_every {
        return None;
    }
    match (row.sync, sync) {
        (PublishedSync::Method(published), ours) if published == ours => Some(0),
        // Only a write and a flush: fdatasync of an overwritten file, or fsync of a raw device.
        (PublishedSync::Flush, Fdatasync) => Some(0),
        (PublishedSync::Flush, Fsync)
        | (PublishedSync::Method(Fsync), LinkedFsync)
        | (PublishedSync::Method(Fdatasync), LinkedFdatasync)
        | (PublishedSync::Method(OSync | ODsync | RwfDsync), OSync | ODsync | RwfDsync) => Some(1),
        (PublishedSync::Flush, LinkedFdatasync | LinkedFsync) => Some(2),
        _ => None,
    }
}

/// The measured figure, the published one, their unit, and whether they are commits.
fn figures(result: &TestResult, row: &Row) -> Option<(f64, f64, &'static str, bool)> {
    let positive = |value: f64| (value > 0.0 && value.is_finite()).then_some(value);
    if let (Some(ours), Some(published)) = (commit_us(result), row.commit_us()) {
        return Some((ours, published, "us", true));
    }
    if let (Some(ours), Some(published)) = (positive(result.iops), row.iops) {
        return Some((ours, published, "iops", false));
    }
    Some((positive(result.mib_per_s)?, row.mib_per_s?, "MiB/s", false))
}

/// Mean time of commits made one at a time.
fn commit_us(result: &TestResult) -> Option<f64> {
    let work = &result.workload;
    let each = work.sync?.is_per_write() || work.sync_every == 1;
    let pure_writes = matches!(work.pattern, Some(Pattern::Write | Pattern::RandWrite));
    let alone = work.depth == 1 && work.jobs == 1 && work.rate.is_none();
    if !(each && pure_writes && alone && work.sync?.is_durable()) {
        return None;
    }
    result
        .commit_us
        .and_then(|_| summary(result))
        .map(|commits| commits.mean)
        .filter(|mean| mean.is_finite() && *mean > 0.0)
}

fn is_stand_in_size(result: &TestResult) -> bool {
    (1..=STAND_IN_BYTES_MAX).contains(&result.workload.block_bytes)
}

struct StandIn {
    compared: Compared,
    note: String,
    /// Doublings of the block size plus changes of the method between the two.
    strides: f64,
}

/// The measured and the published commit that differ least in block size and sync method.
fn stand_in(case: &Case<'_>, rows: &[&Row]) -> Option<StandIn> {
    let ours = case.results.iter().filter(|result| is_stand_in_size(result));
    let ours = ours.filter_map(|result| Some((result, commit_us(result)?)));
    let pairs = ours.flat_map(|(result, ours_us)| {
        let published = rows.iter().filter(|row| row.block_bytes <= STAND_IN_BYTES_MAX);
        published.filter_map(move |row| Some((result, ours_us, *row, row.commit_us()?)))
    });
    let strides = |result: &TestResult, row: &Row| {
        let doublings =
            result.workload.block_bytes.ilog2().abs_diff(row.block_bytes.max(1).ilog2());
        let method = result
            .workload
            .sync
            .and_then(|sync| sync_difference(sync, result.workload.sync_every, row));
        doublings + method.unwrap_or(3)
    };
    let (result, ours_us, row, published_us) =
        pairs.min_by_key(|(result, _, row, _)| strides(result, row))?;
    let published_sync = match row.sync {
        PublishedSync::Flush => "flush",
        PublishedSync::Method(sync) => sync_name(sync),
    };
    let theirs = format!("{} write + {published_sync}", format_bytes(row.block_bytes));
    Some(StandIn {
        compared: Compared {
            what: operation_name(result),
            ours: ours_us,
            published: published_us,
            unit: "us",
            is_commit: true,
        },
        note: format!("Compared with its {theirs}, the most similar published test."),
        strides: f64::from(strides(result, row)),
    })
}

#[cfg(test)]
mod tests {
    use drive::HostFacts;
    use workload::SyncMethod::{
        Fdatasync, Fsync, LinkedFdatasync, LinkedFsync, None as NoSync, ODsync, OSync,
    };

    use super::*;
    use samples::machine::{read, write};

    type Change = fn(&mut TestResult);

    /// A published test of random 4 KiB writes, one at a time.
    fn row(sync: PublishedSync) -> Row {
        let sync_every = sync.is_durable().then_some(1);
        Row {
            workload: "table".to_owned(),
            pattern: Pattern::RandWrite,
            block_bytes: 4096,
            depth: 1,
            jobs: 1,
            sync,
            sync_every,
            write_cache: WriteCache::Default,
            iops: Some(1000.0),
            mib_per_s: None,
            write_us: None,
            sync_us: None,
        }
    }

    fn by(sync: SyncMethod) -> Row {
        row(PublishedSync::Method(sync))
    }

    fn changed(result: &TestResult, change: impl FnOnce(&mut TestResult)) -> TestResult {
        let mut result = result.clone();
        change(&mut result);
        result
    }

    #[test]
    fn only_equal_workloads_are_compared() {
        let far = |result: &TestResult, row: &Row| workload_difference(result, row, false);
        let fsync = write(Fsync, 10.0, 20.0).result();
        assert_eq!(far(&fsync, &by(Fsync)), Some(0));
        assert_eq!(far(&fsync, &by(NoSync)), None);
        let others: [Change; 7] = [
            |result| result.workload.block_bytes = 8192,
            |result| result.workload.depth = 2,
            |result| result.workload.jobs = 2,
            |result| result.workload.pattern = Some(Pattern::RandRead),
            |result| result.workload.order = workload::BlockOrder::SkipBytes(4096),
            |result| {
                let class = workload::PriorityClass::Idle;
                let idle = workload::IoPriority { class, level: 0, hint: 0 };
                result.workload.priorities.thread = Some(idle);
            },
            |result| {
                let arrivals = workload::Arrivals::Constant;
                result.workload.rate = Some(measurement::RateRecord {
                    per_second: 1.0,
                    reads_per_second: None,
                    arrivals,
                });
            },
        ];
        for change in others {
            let other = changed(&fsync, change);
            assert_eq!(far(&other, &by(Fsync)), None, "{:?}", other.workload);
        }
        // The location of a synced write hardly matters at depth 1, and rules out a comparison
        // elsewhere.
        let in_a_row = changed(&fsync, |result| result.workload.pattern = Some(Pattern::Write));
        assert_eq!(far(&in_a_row, &by(Fsync)), Some(4));
        for (depth, jobs) in [(2, 1), (1, 2)] {
            let deep = changed(&in_a_row, |result| {
                (result.workload.depth, result.workload.jobs) = (depth, jobs);
            });
            assert_eq!(far(&deep, &Row { depth, jobs, ..by(Fsync) }), None);
        }
        let unsynced = write(NoSync, 10.0, 0.0).result();
        assert_eq!(far(&unsynced, &by(NoSync)), Some(0));
        let in_a_row = changed(&unsynced, |result| result.workload.pattern = Some(Pattern::Write));
        assert_eq!(far(&in_a_row, &by(NoSync)), None);
        let reading = Row { pattern: Pattern::RandRead, ..by(NoSync) };
        assert_eq!(far(&read(80.0).result(), &reading), Some(0));
        assert_eq!(
            far(&read(80.0).result(), &Row { pattern: Pattern::Read, ..reading.clone() }),
            None
        );
        // A mixed test reads and writes.
        assert_eq!(far(&read(80.0).result(), &Row { pattern: Pattern::RandRw, ..reading }), None);
        // Through the page cache, only synced writes measure the storage.
        let cached = |result: &TestResult| changed(result, |result| result.workload.direct = false);
        assert_eq!(far(&cached(&fsync), &by(Fsync)), Some(0));
        assert_eq!(far(&cached(&unsynced), &by(NoSync)), None);
    }

    #[test]
    fn a_blocking_write_with_a_flag_is_not_comparable_on_a_raw_device() {
        let blocking = write(ODsync, 30.0, 0.0).result();
        assert_eq!(workload_difference(&blocking, &by(ODsync), false), Some(1));
        assert_eq!(workload_difference(&blocking, &by(ODsync), true), None);
        assert_eq!(
            workload_difference(&blocking, &by(OSync), false),
            Some(2),
            "by another flag, and blocking"
        );
        let asynchronous = changed(&blocking, |result| {
            result.workload.submission = Some(Submission::Asynchronous);
        });
        assert_eq!(workload_difference(&asynchronous, &by(ODsync), true), Some(0));
        let deep = changed(&blocking, |result| result.workload.depth = 2);
        assert_eq!(workload_difference(&deep, &Row { depth: 2, ..by(ODsync) }, true), Some(1));
        let in_a_row = changed(&blocking, |result| result.workload.pattern = Some(Pattern::Write));
        assert_eq!(workload_difference(&in_a_row, &by(ODsync), false), Some(5));
    }

    #[test]
    fn methods_stand_in_for_one_another_by_what_they_send() {
        for (published, ours, far) in [
            (by(Fsync), Fsync, Some(0)),
            (by(Fsync), LinkedFsync, Some(1)),
            (by(Fsync), Fdatasync, None),
            (by(Fdatasync), LinkedFdatasync, Some(1)),
            (by(Fdatasync), LinkedFsync, None),
            (by(OSync), ODsync, Some(1)),
            (by(ODsync), Fsync, None),
            (row(PublishedSync::Flush), Fdatasync, Some(0)),
            (row(PublishedSync::Flush), Fsync, Some(1)),
            (row(PublishedSync::Flush), LinkedFdatasync, Some(2)),
            (row(PublishedSync::Flush), LinkedFsync, Some(2)),
            (row(PublishedSync::Flush), ODsync, None),
            (by(NoSync), NoSync, Some(0)),
        ] {
            assert_eq!(
                sync_difference(ours, 1, &published),
                far,
                "{ours:?} for {:?}",
                published.sync
            );
        }
        // A sync after every second write is not one after every write, unless each write syncs
        // itself or none does.
        assert_eq!(sync_difference(Fsync, 2, &by(Fsync)), None);
        assert_eq!(sync_difference(ODsync, 2, &by(ODsync)), Some(0));
        assert_eq!(sync_difference(NoSync, 2, &by(NoSync)), Some(0));
    }

    #[test]
    fn commits_are_compared_by_time_and_everything_else_by_rate() {
        let fsync = write(Fsync, 10.0, 20.0).result();
        let (ours, published, unit, is_commit) = figures(&fsync, &by(Fsync)).unwrap();
        assert!(
            (ours / 30.0 - 1.0).abs() < 0.01 && (published - 1000.0).abs() < 1e-9,
            "{ours} {published}"
        );
        assert_eq!((unit, is_commit), ("us", true));
        let mut unsynced = write(NoSync, 10.0, 0.0).result();
        (unsynced.iops, unsynced.mib_per_s) = (500.0, 2.0);
        assert_eq!(figures(&unsynced, &by(NoSync)), Some((500.0, 1000.0, "iops", false)));
        let by_bytes = Row { iops: None, mib_per_s: Some(4.0), ..by(NoSync) };
        assert_eq!(figures(&unsynced, &by_bytes), Some((2.0, 4.0, "MiB/s", false)));
        // Only values above 0 are compared.
        for nothing in [0.0, f64::INFINITY] {
            (unsynced.iops, unsynced.mib_per_s) = (nothing, 2.0);
            assert_eq!(
                figures(&unsynced, &Row { mib_per_s: Some(4.0), ..by(NoSync) }),
                figures(&unsynced, &by_bytes)
            );
            unsynced.mib_per_s = nothing;
            assert_eq!(figures(&unsynced, &by_bytes), None);
        }
    }

    #[test]
    fn commit_times_are_those_of_one_commit_at_a_time() {
        let fsync = write(Fsync, 10.0, 20.0).result();
        assert!(commit_us(&fsync).is_some());
        let others: [Change; 7] = [
            |result| result.workload.depth = 2,
            |result| result.workload.jobs = 2,
            |result| result.workload.sync_every = 2,
            |result| result.workload.sync = Some(NoSync),
            |result| result.workload.pattern = Some(Pattern::RandRw),
            |result| result.commit_us = None,
            |result| result.commit_us.as_mut().unwrap().mean = 0.0,
        ];
        for change in others {
            let other = changed(&fsync, change);
            assert_eq!(commit_us(&other), None, "{:?}", other.workload);
        }
        assert_eq!(
            commit_us(&changed(&fsync, |result| result.commit_us.as_mut().unwrap().mean = f64::NAN)),
            None
        );
        let flagged =
            changed(&write(ODsync, 10.0, 0.0).result(), |result| result.workload.sync_every = 2);
        assert!(commit_us(&flagged).is_some());
    }

    fn drive(rows: Vec<Row>) -> &'static Drive {
        let template = catalogue::drives().first().unwrap().clone();
        Box::leak(Box::new(Drive { rows, ..template }))
    }

    fn compared(
        results: &[TestResult],
        drive: &'static Drive,
        setting: WriteCache,
    ) -> Option<(f64, Nearest)> {
        compare(&Case::new(results, None, &HostFacts::default()), drive, setting, true)
    }

    /// A test whose operations all take `us` microseconds.
    fn exactly(mut result: TestResult, us: f64) -> TestResult {
        result.iops = 1e6 / us;
        if let Some(commits) = &mut result.commit_us {
            commits.mean = us;
        }
        result
    }

    #[test]
    fn a_commit_weighs_four_times_as_much_as_a_read() {
        let results = [
            exactly(write(Fsync, 10.0, 20.0).result(), 2000.0),
            exactly(read(80.0).result(), 100.0),
        ];
        let reads = Row { pattern: Pattern::RandRead, iops: Some(10_000.0), ..by(NoSync) };
        // A commit twice as long and a read equally long: ln 2 · 4/5.
        let (distance, near) =
            compared(&results, drive(vec![reads.clone(), by(Fsync)]), WriteCache::Default).unwrap();
        assert!(
            (distance - 0.8 * 2.0_f64.ln()).abs() < 1e-9
                && (near.factor - 2.0_f64.powf(0.8)).abs() < 1e-9
        );
        assert_eq!(
            near.compared.iter().map(|test| test.is_commit).collect::<Vec<_>>(),
            [true, false]
        );
        assert_eq!(near.note, None);
        // Half as long is equally far.
        let results = [
            exactly(write(Fsync, 10.0, 20.0).result(), 500.0),
            exactly(read(80.0).result(), 100.0),
        ];
        let (halved, _) =
            compared(&results, drive(vec![reads, by(Fsync)]), WriteCache::Default).unwrap();
        assert!((halved - distance).abs() < 1e-9);
    }

    #[test]
    fn runs_of_one_test_count_once_by_their_geometric_mean_and_settings_apart() {
        let results = [exactly(write(Fsync, 10.0, 20.0).result(), 200.0)];
        let of =
            |iops: f64, write_cache: WriteCache| Row { iops: Some(iops), write_cache, ..by(Fsync) };
        // 100 and 400 us: a geometric mean of 200.
        let runs = drive(vec![
            of(10_000.0, WriteCache::On),
            of(2500.0, WriteCache::On),
            of(1.0, WriteCache::Off),
        ]);
        let (distance, near) = compared(&results, runs, WriteCache::On).unwrap();
        assert!(distance.abs() < 1e-9 && near.compared.len() == 1, "{near:?}");
        assert_eq!(settings(runs), [WriteCache::On, WriteCache::Off]);
        let (_, off) = compared(&results, runs, WriteCache::Off).unwrap();
        assert!(
            (off.factor - 5000.0).abs() < 1e-6 && off.note.unwrap().contains("No published drive")
        );
        assert_eq!(settings(drive(vec![by(Fsync)])), [WriteCache::Default]);
    }

    #[test]
    fn one_of_our_tests_that_meets_two_published_ones_counts_once() {
        let results = [exactly(write(Fsync, 10.0, 20.0).result(), 200.0)];
        let in_a_row = Row { pattern: Pattern::Write, ..by(Fsync) };
        let (_, near) =
            compared(&results, drive(vec![by(Fsync), in_a_row]), WriteCache::Default).unwrap();
        assert_eq!(near.compared.len(), 1);
        let (_, near) = compared(
            &results,
            drive(vec![by(Fsync), Row { jobs: 8, ..by(Fsync) }]),
            WriteCache::Default,
        )
        .unwrap();
        assert_eq!(near.compared.len(), 1, "eight jobs were not measured");
        let eight = exactly(write(Fsync, 10.0, 20.0).jobs(8).result(), 20.0);
        let both = [results[0].clone(), eight];
        let rows = vec![by(Fsync), Row { jobs: 8, ..by(Fsync) }];
        assert_eq!(compared(&both, drive(rows), WriteCache::Default).unwrap().1.compared.len(), 2);
    }

    #[test]
    fn a_stand_in_is_penalised_by_how_much_it_differs() {
        let results = [exactly(write(Fsync, 10.0, 20.0).result(), 1000.0)];
        let far = |row: Row| {
            compared(&results, drive(vec![row]), WriteCache::Default).map(|(distance, _)| distance)
        };
        let strides = |row: Row| (far(row).unwrap() / STAND_IN_FACTOR.ln()).round();
        // Two doublings, plus one for a flush that is not fsync's; three for unrelated methods.
        let of = |row: Row, block_bytes: u64| Row { block_bytes, ..row };
        assert!((strides(of(by(Fsync), 16384)) - 2.0).abs() < 1e-9);
        assert!((strides(of(row(PublishedSync::Flush), 16384)) - 3.0).abs() < 1e-9);
        assert!((strides(of(by(ODsync), 2048)) - 4.0).abs() < 1e-9);
        assert!(far(of(by(Fsync), 64 << 10)).is_some() && far(of(by(Fsync), 128 << 10)).is_none());
        let (_, near) =
            compared(&results, drive(vec![of(by(Fsync), 16384)]), WriteCache::Default).unwrap();
        assert_eq!(
            near.note.unwrap(),
            "Compared with its 16 KiB write + fsync, the most similar published test."
        );
        // The nearer of two.
        let rows = vec![of(by(Fsync), 65536), of(by(Fsync), 8192)];
        let (distance, _) = compared(&results, drive(rows), WriteCache::Default).unwrap();
        assert!((distance - STAND_IN_FACTOR.ln()).abs() < 1e-9);
        let large = changed(&results[0], |result| result.workload.block_bytes = 128 << 10);
        assert!(!is_stand_in_size(&large) && is_stand_in_size(&results[0]));
    }
}
