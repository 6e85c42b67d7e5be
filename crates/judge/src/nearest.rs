//! The published drives whose numbers are nearest to the measured ones.
//!
//! Distance is the mean of the ratios' logarithms, so that twice as fast and twice as slow are
//! equally far. Commits weigh most because they differ between drives by a factor of a thousand,
//! everything else by ten.

use catalogue::{Drive, PublishedFilesystem, PublishedSync, Row, Table, WriteCache};
use measurement::TestResult;
use serde::Serialize;
use workload::{Pattern, SyncMethod, format_bytes};

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
/// Differences between two sync methods of one family, such as fsync and fdatasync, which other
/// rules do not distinguish.
const OTHER_METHOD: u32 = 2;
/// Strides of penalty on a drive whose only comparable figures are doubtful.
const DOUBT_STRIDES: f64 = 4.0;
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
    /// The reliability of the comparison.
    pub basis: Basis,
    /// Limits of the comparison, as sentences; `None` if there are none.
    pub note: Option<String>,
}

/// How well two drives' figures can be compared. A drive compared on a weaker basis comes after
/// others that are a little further away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The same tests were published.
    SameTests,
    /// A commit of another size or sync method was published.
    SimilarTest,
    /// The published figures are doubtful.
    DoubtfulFigures,
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

/// The way in which a commit is made durable. Two families cost so differently that one says little
/// about the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// A call after the write, or a flush.
    Call,
    /// A flag of the write.
    Flag,
}

impl Family {
    const fn of(sync: SyncMethod) -> Option<Family> {
        match sync.is_durable() {
            false => None,
            true if sync.is_per_write() => Some(Family::Flag),
            true => Some(Family::Call),
        }
    }

    const fn of_published(sync: PublishedSync) -> Option<Family> {
        match sync {
            PublishedSync::Flush => Some(Family::Call),
            PublishedSync::Method(method) => Family::of(method),
        }
    }

    /// The family whose commits must be compared: that of the calls, if any were measured.
    fn wanted(case: &Case<'_>) -> Option<Family> {
        let small = case.results.iter().filter(|result| is_stand_in_size(result));
        let families =
            small.filter(|result| commit_us(result).is_some()).filter_map(Family::of_result);
        families.reduce(|one, other| if one == Family::Call { one } else { other })
    }

    fn of_result(result: &TestResult) -> Option<Family> {
        Family::of(result.workload.sync?)
    }
}

/// A published test with its table.
type Published<'a> = (&'a Table, &'a Row);

/// The `count` published drives nearest to the case, nearest first, each drive once, and of several
/// sizes or arrays of one model only the nearest. Empty only if nothing comparable has been
/// published: a commit of up to 64 KiB always has neighbours.
pub fn nearest(case: &Case<'_>, count: usize) -> Vec<Nearest> {
    // No drive resembles a cluster.
    if case.in_ceph().is_some() {
        return Vec::new();
    }
    let wanted = Family::wanted(case);
    let mut all: Vec<(f64, Nearest)> = catalogue::drives()
        .iter()
        .filter_map(|drive| {
            let settings = settings(drive);
            let near =
                settings.into_iter().filter_map(|setting| compare(case, drive, setting, wanted));
            near.min_by(|a, b| a.0.total_cmp(&b.0))
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut nearest: Vec<Nearest> = Vec::new();
    for (_, near) in all {
        if nearest.len() < count
            && !nearest.iter().any(|other| is_same_model(other.drive, near.drive))
        {
            nearest.push(near);
        }
    }
    nearest
}

fn is_same_model(one: &Drive, other: &Drive) -> bool {
    one.model.is_some() && one.model == other.model && one.vendor == other.vendor
}

/// The cache settings under which a drive was measured; each counts as a separate drive.
fn settings(drive: &Drive) -> Vec<WriteCache> {
    let has = |setting: &WriteCache| drive.rows().any(|(_, row)| row.write_cache == *setting);
    let named: Vec<_> = [WriteCache::On, WriteCache::Off].into_iter().filter(has).collect();
    match named.as_slice() {
        [] if has(&WriteCache::Default) => vec![WriteCache::Default],
        [] => vec![WriteCache::Unknown],
        _ => named,
    }
}

/// The comparison with one drive, with the distance to sort by.
fn compare(
    case: &Case<'_>,
    drive: &'static Drive,
    setting: WriteCache,
    wanted: Option<Family>,
) -> Option<(f64, Nearest)> {
    // Rows that do not mention the cache (reads) hold for every setting.
    let rows: Vec<Published<'_>> = drive
        .rows()
        .filter(|(_, row)| row.write_cache == setting || !row.write_cache.is_known())
        .collect();
    let (doubtful, sound): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|(table, _)| table.doubt.is_some());
    let comparison = Comparison::new(case, &sound, wanted).or_else(|| {
        let mut comparison = Comparison::new(case, &doubtful, wanted)?;
        let doubt = doubtful.iter().find_map(|(table, _)| table.doubt.as_ref())?;
        comparison.notes.push(format!("Its figures are doubtful: {doubt}."));
        let strides = comparison.strides + DOUBT_STRIDES;
        Some(Comparison { basis: Basis::DoubtfulFigures, strides, ..comparison })
    })?;
    let Comparison { mut compared, basis, mut notes, strides } = comparison;
    compared.sort_by_key(|test| !test.is_commit);
    let weight = |test: &Compared| if test.is_commit { COMMIT_WEIGHT } else { 1.0 };
    let weights: f64 = compared.iter().map(weight).sum();
    let distance =
        compared.iter().map(|test| weight(test) * test.distance()).sum::<f64>() / weights;
    let factor = distance.exp();
    if factor >= FAR_FACTOR {
        notes.push("No published drive is close.".to_owned());
    }
    if FlushPath::of(case).not_durable_because().is_some() {
        notes.push("These commits are not durable: only the speed is similar.".to_owned());
    }
    let note = (!notes.is_empty()).then(|| notes.join(" "));
    let nearest = Nearest { drive, write_cache: setting, factor, compared, basis, note };
    Some((distance + strides * STAND_IN_FACTOR.ln(), nearest))
}

/// The comparable tests of a drive.
struct Comparison {
    /// At least one test.
    compared: Vec<Compared>,
    basis: Basis,
    /// Its limits, as sentences.
    notes: Vec<String>,
    /// Its penalty.
    strides: f64,
}

impl Comparison {
    fn new(case: &Case<'_>, rows: &[Published<'_>], wanted: Option<Family>) -> Option<Comparison> {
        let same = same_tests(case, rows);
        let has_wanted = same.iter().any(|(test, family)| test.is_commit && *family == wanted);
        let compared: Vec<Compared> = same.into_iter().map(|(test, _)| test).collect();
        let mut comparison =
            Comparison { compared, basis: Basis::SameTests, notes: Vec::new(), strides: 0.0 };
        if let Some(wanted) = wanted.filter(|_| !has_wanted) {
            let stand_in = stand_in(case, rows, wanted)?;
            comparison.compared.push(stand_in.compared);
            comparison.notes.push(stand_in.note);
            comparison.strides = stand_in.strides;
            comparison.basis = Basis::SimilarTest;
        }
        (!comparison.compared.is_empty()).then_some(comparison)
    }
}

/// The tests that were both measured and published, each once, with their families.
fn same_tests(case: &Case<'_>, rows: &[Published<'_>]) -> Vec<(Compared, Option<Family>)> {
    let mut tests: Vec<(Compared, Option<Family>)> = Vec::new();
    let difference = |result, row| workload_difference(result, row, case.is_raw_device());
    for (index, (_, row)) in rows.iter().enumerate() {
        let is_same = |(_, other): &Published<'_>| test_of(other) == test_of(row);
        if rows[..index].iter().any(is_same) {
            continue;
        }
        let runs = || rows.iter().copied().filter(is_same);
        let candidates = case.results.iter().flat_map(|result| {
            runs().filter_map(move |run| Some((difference(result, run)?, result)))
        });
        let Some((least, ours)) = candidates.min_by_key(|(difference, _)| *difference) else {
            continue;
        };
        // Of runs on several filesystems, those most similar to ours.
        let runs: Vec<(f64, f64, &'static str, bool)> = runs()
            .filter(|run| difference(ours, *run) == Some(least))
            .filter_map(|(_, run)| figures(ours, run))
            .collect();
        let Some(&(our_figure, _, unit, is_commit)) = runs.first() else { continue };
        let published = (runs.iter().map(|(_, published, ..)| published.ln()).sum::<f64>()
            / runs.len() as f64)
            .exp();
        let what = operation_name(ours);
        // Published sequential and random writes may match the same measured result, which must
        // count once.
        if !tests
            .iter()
            .any(|(test, _)| test.what == what && test.unit == unit && same(test.ours, our_figure))
        {
            let test = Compared { what, ours: our_figure, published, unit, is_commit };
            tests.push((test, Family::of_result(ours)));
        }
    }
    tests
}

fn same(one: f64, other: f64) -> bool {
    (one - other).abs() <= f64::EPSILON * one.abs()
}

fn test_of(row: &Row) -> (Option<Pattern>, u64, u32, u32, PublishedSync, Option<u32>) {
    (row.pattern, row.block_bytes, row.depth, row.jobs, row.sync, row.sync_every)
}

/// The difference between a measured test and a published one: 0 if the workloads are equal,
/// `None` if they are not comparable.
fn workload_difference(
    result: &TestResult,
    (table, row): Published<'_>,
    raw_device: bool,
) -> Option<u32> {
    let work = &result.workload;
    let (pattern, sync) = (work.pattern?, work.sync?);
    // Only writes are published without their order.
    let published = row.pattern.unwrap_or(Pattern::RandWrite);
    let writes = published.writes();
    let same_size =
        work.block_bytes == row.block_bytes && work.depth == row.depth && work.jobs == row.jobs;
    let same_direction = pattern.writes() == writes && pattern.reads() == published.reads();
    // Without O_DIRECT an unsynced operation measures memory.
    let comparable = work.rate.is_none()
        && work.priorities.is_default()
        && work.order.is_plain()
        && !pattern.computes()
        && (work.direct || (writes && sync.is_durable()));
    if !(same_size && same_direction && comparable) {
        return None;
    }
    let mut difference =
        if writes { sync_difference(sync, work.sync_every, (table, row))? } else { 0 };
    let raw_published = table.filesystem == PublishedFilesystem::None;
    difference += u32::from(raw_device != raw_published);
    // On a raw device, a call with a flag that waits for its write also flushes.
    let calls = result.comparable_workload().submission;
    if calls.is_some() && calls != table.calls {
        if raw_device && raw_published && work.depth == 1 {
            return None;
        }
        difference += 1;
    }
    let one_at_a_time = work.depth == 1 && work.jobs == 1;
    // The location of a write does not matter to a flush, but it does to a queue of reads or
    // writes.
    let by_pattern = match Some(pattern) == row.pattern {
        true => 0,
        false if one_at_a_time && writes && sync.is_durable() => 4,
        false => return None,
    };
    Some(difference + by_pattern)
}

fn sync_difference(sync: SyncMethod, sync_every: u32, (table, row): Published<'_>) -> Option<u32> {
    use SyncMethod::{Fdatasync, Fsync, LinkedFdatasync, LinkedFsync, ODsync, OSync, RwfDsync};
    if sync.is_durable() && !sync.is_per_write() && Some(sync_every) != row.sync_every {
        return None;
    }
    // On a raw device, either call is a flush.
    let published = match row.sync {
        PublishedSync::Method(method) if method == sync => return Some(0),
        PublishedSync::Method(Fsync | Fdatasync)
            if table.filesystem == PublishedFilesystem::None =>
        {
            PublishedSync::Flush
        }
        other => other,
    };
    match (published, sync) {
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

/// The measured and the published commit of a family that differ least in block size and sync
/// method.
fn stand_in(case: &Case<'_>, rows: &[Published<'_>], family: Family) -> Option<StandIn> {
    let ours = case
        .results
        .iter()
        .filter(|result| is_stand_in_size(result) && Family::of_result(result) == Some(family));
    let ours = ours.filter_map(|result| Some((result, commit_us(result)?)));
    let pairs = ours.flat_map(|(result, ours_us)| {
        let published = rows.iter().filter(|(_, row)| row.block_bytes <= STAND_IN_BYTES_MAX);
        published.filter_map(move |row| {
            let strides = strides(result, *row)?;
            Some((strides, result, ours_us, row.1, row.1.commit_us()?))
        })
    });
    let (strides, result, ours_us, row, published_us) =
        pairs.min_by_key(|(strides, ..)| *strides)?;
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
        strides: f64::from(strides),
    })
}

/// Doublings of the block size plus the difference of the methods; `None` if they belong to two
/// families.
fn strides(result: &TestResult, (table, row): Published<'_>) -> Option<u32> {
    let sync = result.workload.sync?;
    if Family::of(sync) != Family::of_published(row.sync) {
        return None;
    }
    let method = sync_difference(sync, result.workload.sync_every, (table, row));
    let doublings = result.workload.block_bytes.ilog2().abs_diff(row.block_bytes.ilog2());
    Some(doublings + method.unwrap_or(OTHER_METHOD))
}

#[cfg(test)]
mod tests {
    use drive::HostFacts;
    use workload::Submission;
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
            pattern: Some(Pattern::RandWrite),
            block_bytes: 4096,
            depth: 1,
            jobs: 1,
            sync,
            sync_every,
            write_cache: WriteCache::Default,
            iops: Some(1000.0),
            mib_per_s: None,
            write_us: None,
            write_p50_us: None,
            write_p99_us: None,
            sync_us: None,
            sync_p50_us: None,
            sync_p99_us: None,
            io_us: None,
            io_p99_us: None,
        }
    }

    fn by(sync: SyncMethod) -> Row {
        row(PublishedSync::Method(sync))
    }

    /// A table measured with libaio on files, or on a block device.
    fn table(is_raw: bool) -> Table {
        let filesystem = if is_raw { PublishedFilesystem::None } else { PublishedFilesystem::Ext4 };
        let template = &catalogue::find("micron-5100-eco-960gb").unwrap().tables[0];
        Table { filesystem, ..template.clone() }
    }

    fn difference(result: &TestResult, row: &Row, is_raw: bool) -> Option<u32> {
        workload_difference(result, (&table(is_raw), row), is_raw)
    }

    fn changed(result: &TestResult, change: impl FnOnce(&mut TestResult)) -> TestResult {
        let mut result = result.clone();
        change(&mut result);
        result
    }

    #[test]
    fn only_equal_workloads_are_compared() {
        let far = |result: &TestResult, row: &Row| difference(result, row, false);
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
        let reading = Row { pattern: Some(Pattern::RandRead), ..by(NoSync) };
        assert_eq!(far(&read(80.0).result(), &reading), Some(0));
        assert_eq!(
            far(&read(80.0).result(), &Row { pattern: Some(Pattern::Read), ..reading.clone() }),
            None
        );
        // A mixed test reads and writes.
        assert_eq!(
            far(&read(80.0).result(), &Row { pattern: Some(Pattern::RandRw), ..reading }),
            None
        );
        // Through the page cache, only synced writes measure the storage.
        let cached = |result: &TestResult| changed(result, |result| result.workload.direct = false);
        assert_eq!(far(&cached(&fsync), &by(Fsync)), Some(0));
        assert_eq!(far(&cached(&unsynced), &by(NoSync)), None);
    }

    #[test]
    fn a_blocking_write_with_a_flag_is_not_comparable_on_a_raw_device() {
        let blocking = write(ODsync, 30.0, 0.0).result();
        assert_eq!(difference(&blocking, &by(ODsync), false), Some(1));
        assert_eq!(difference(&blocking, &by(ODsync), true), None);
        assert_eq!(
            difference(&blocking, &by(OSync), false),
            Some(2),
            "by another flag, and blocking"
        );
        let asynchronous = changed(&blocking, |result| {
            result.workload.submission = Some(Submission::Asynchronous);
        });
        assert_eq!(difference(&asynchronous, &by(ODsync), true), Some(0));
        let deep = changed(&blocking, |result| result.workload.depth = 2);
        assert_eq!(difference(&deep, &Row { depth: 2, ..by(ODsync) }, true), Some(1));
        let in_a_row = changed(&blocking, |result| result.workload.pattern = Some(Pattern::Write));
        assert_eq!(difference(&in_a_row, &by(ODsync), false), Some(5));
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
                sync_difference(ours, 1, (&table(false), &published)),
                far,
                "{ours:?} for {:?}",
                published.sync
            );
        }
        // On a raw device, fsync and fdatasync send a flush.
        for (published, ours, far) in
            [(Fsync, Fdatasync, 0), (Fdatasync, Fsync, 1), (Fdatasync, LinkedFsync, 2)]
        {
            assert_eq!(sync_difference(ours, 1, (&table(true), &by(published))), Some(far));
        }
        // A sync after every second write is not one after every write, unless each write syncs
        // itself or none does.
        assert_eq!(sync_difference(Fsync, 2, (&table(false), &by(Fsync))), None);
        assert_eq!(sync_difference(ODsync, 2, (&table(false), &by(ODsync))), Some(0));
        assert_eq!(sync_difference(NoSync, 2, (&table(false), &by(NoSync))), Some(0));
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
        let drive = catalogue::drives().first().unwrap().clone();
        Box::leak(Box::new(Drive { tables: vec![Table { rows, ..table(false) }], ..drive }))
    }

    fn compared(
        results: &[TestResult],
        drive: &'static Drive,
        setting: WriteCache,
    ) -> Option<(f64, Nearest)> {
        let host = HostFacts::default();
        let case = Case::new(results, None, &host);
        compare(&case, drive, setting, Family::wanted(&case))
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
        let reads = Row { pattern: Some(Pattern::RandRead), iops: Some(10_000.0), ..by(NoSync) };
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
        let in_a_row = Row { pattern: Some(Pattern::Write), ..by(Fsync) };
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
        // Two doublings, plus one for a flush that is not fsync's; two for another call.
        let of = |row: Row, block_bytes: u64| Row { block_bytes, ..row };
        assert!((strides(of(by(Fsync), 16384)) - 2.0).abs() < 1e-9);
        assert!((strides(of(row(PublishedSync::Flush), 16384)) - 3.0).abs() < 1e-9);
        assert!((strides(of(by(Fdatasync), 2048)) - 3.0).abs() < 1e-9);
        assert!(far(of(by(ODsync), 2048)).is_none(), "a flag is not a call");
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

    fn in_tables(tables: Vec<Table>) -> &'static Drive {
        let drive = catalogue::drives().first().unwrap().clone();
        Box::leak(Box::new(Drive { tables, ..drive }))
    }

    #[test]
    fn doubtful_figures_count_only_where_there_are_no_others_and_are_named() {
        let results = [exactly(write(Fsync, 10.0, 20.0).result(), 1000.0)];
        let of = |iops: f64, doubt: Option<&str>| Table {
            rows: vec![Row { iops: Some(iops), ..by(Fsync) }],
            doubt: doubt.map(str::to_owned),
            ..table(false)
        };
        let compared = |tables| compared(&results, in_tables(tables), WriteCache::Default).unwrap();
        let (distance, near) =
            compared(vec![of(1000.0, Some("cached")), of(500.0, None), of(500.0, None)]);
        assert!((distance - 2.0_f64.ln()).abs() < 1e-9 && near.note.is_none());
        assert_eq!(near.basis, Basis::SameTests);
        let (distance, near) = compared(vec![of(1000.0, Some("cached"))]);
        assert!((distance - DOUBT_STRIDES * STAND_IN_FACTOR.ln()).abs() < 1e-9);
        assert!((near.factor - 1.0).abs() < 1e-9);
        assert_eq!(near.basis, Basis::DoubtfulFigures);
        assert!(near.note.unwrap().ends_with("are doubtful: cached."));
    }

    #[test]
    fn runs_on_a_filesystem_are_compared_with_files_and_runs_on_a_device_with_devices() {
        let results = [exactly(write(Fsync, 10.0, 20.0).result(), 1000.0)];
        let of = |iops: f64, is_raw: bool| Table {
            rows: vec![Row { iops: Some(iops), ..by(Fsync) }],
            ..table(is_raw)
        };
        let drive = in_tables(vec![of(4000.0, true), of(500.0, false)]);
        let (_, near) = compared(&results, drive, WriteCache::Default).unwrap();
        assert!((near.compared[0].published - 2000.0).abs() < 1e-9, "{near:?}");
    }

    #[test]
    fn sizes_and_arrays_of_one_model_count_once() {
        let case = [exactly(write(Fsync, 10.0, 20.0).result(), 2000.0)];
        let host = HostFacts::default();
        let near = nearest(&Case::new(&case, None, &host), 200);
        assert!(near.len() > 60, "{}", near.len());
        for (index, one) in near.iter().enumerate() {
            assert!(!near[..index].iter().any(|other| is_same_model(one.drive, other.drive)));
        }
        let find = |name: &str| catalogue::find(name).unwrap();
        assert!(is_same_model(find("intel-dc-p3700-400gb"), find("intel-dc-p3700-1600gb")));
        assert!(is_same_model(find("samsung-990-pro-2tb"), find("samsung-990-pro-2tb-x2-raid1")));
        assert!(!is_same_model(find("samsung-980-1tb"), find("samsung-990-pro-2tb")));
    }

    #[test]
    fn a_drive_is_compared_by_calls_where_calls_were_measured() {
        let flag = exactly(write(ODsync, 30.0, 0.0).result(), 1000.0);
        let call = exactly(write(Fsync, 10.0, 20.0).result(), 2000.0);
        let flags_only = drive(vec![by(ODsync)]);
        let of = |results: &[TestResult], drive| compared(results, drive, WriteCache::Default);
        assert!(of(std::slice::from_ref(&flag), flags_only).is_some());
        assert!(of(&[flag.clone(), call.clone()], flags_only).is_none());
        // A flag that was published as well counts as another test.
        let (_, near) = of(&[flag, call], drive(vec![by(ODsync), by(Fsync)])).unwrap();
        assert_eq!(near.compared.len(), 2);
    }
}
