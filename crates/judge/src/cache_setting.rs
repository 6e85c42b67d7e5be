//! Whether a drive is faster with its volatile write cache off or on, from the same tests under
//! both settings.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::number;
use workload::{SyncMethod, WriteCache};

use crate::wording::{operation_name, switch_cache};

/// Below this factor, in either direction, the difference may be run-to-run variation.
const DIFFERENCE_MIN: f64 = 1.25;
/// From this factor on, only the setting can explain the difference.
const DIFFERENCE_CERTAIN: f64 = 3.0;
/// Unsynced writes that fall below this share of their speed deserve a warning.
const UNSYNCED_LOSS: f64 = 0.7;

/// With the cache off, the kernel no longer sends flushes.
const CACHE_OFF_DOUBT: &str = "With the cache off, only the drive itself vouches that a completed \
                               write is safe; `flushmark verify` can prove it.";

/// One test under both settings.
struct Pair<'a> {
    off: &'a TestResult,
    on: &'a TestResult,
}

impl Pair<'_> {
    /// How many times as fast the test is with the cache off.
    fn gain(&self) -> f64 {
        self.off.iops / self.on.iops
    }
}

/// Compares the results under both settings for the drives at `disks`; `None` unless the same small
/// commit was measured under both.
pub(crate) fn cache_setting(
    results: &[TestResult],
    label: &str,
    disks: &[String],
) -> Option<Finding> {
    let by_flush =
        pair(results, SyncMethod::Fsync).or_else(|| pair(results, SyncMethod::Fdatasync));
    let by_flag = pair(results, SyncMethod::OSync).or_else(|| pair(results, SyncMethod::ODsync));
    let commit = by_flush.as_ref().or(by_flag.as_ref())?;
    let unsynced = pair(results, SyncMethod::None);
    let gain = commit.gain();
    let rates = format!(
        "{} commits/s off, {} on ({})",
        number(commit.off.iops),
        number(commit.on.iops),
        operation_name(commit.on)
    );
    let lost = unsynced.as_ref().filter(|pair| pair.gain() < UNSYNCED_LOSS);
    let (id, title, advice) = if gain >= DIFFERENCE_MIN {
        (
            "write-cache-better-off",
            format!(
                "Commits on {label} are {} times as fast with the write cache off: {rates}.",
                number(gain)
            ),
            advice_off(lost, disks),
        )
    } else if gain <= 1.0 / DIFFERENCE_MIN {
        (
            "write-cache-better-on",
            format!(
                "Commits on {label} are {} times as fast with the write cache on: {rates}.",
                number(1.0 / gain)
            ),
            "Leave it on (check with `flushmark cache status`): the kernel flushes it whenever \
             software requests durability."
                .to_owned(),
        )
    } else {
        (
            "write-cache-makes-no-difference",
            format!("The write cache of {label} makes no difference to commits: {rates}."),
            advice_either(lost),
        )
    };
    let evidence = [by_flush.as_ref(), by_flag.as_ref(), unsynced.as_ref()]
        .into_iter()
        .flatten()
        .flat_map(sides)
        .collect();
    let certain = gain.max(1.0 / gain) >= DIFFERENCE_CERTAIN;
    Some(Finding {
        id: id.to_owned(),
        title,
        evidence,
        confidence: if certain { Confidence::High } else { Confidence::Medium },
        doubt: (gain >= DIFFERENCE_MIN).then(|| CACHE_OFF_DOUBT.to_owned()),
        advice,
    })
}

/// The advice if commits are faster with the cache off; `lost` are the unsynced writes if they are
/// much slower then.
fn advice_off(lost: Option<&Pair<'_>>, disks: &[String]) -> String {
    let commands: Vec<String> = disks.iter().map(|disk| switch_cache("off", disk)).collect();
    let price = lost.map_or(String::new(), |pair| {
        format!(
            " Unsynced writes fall from {} to {} per second; if those matter more, leave it on.",
            number(pair.on.iops),
            number(pair.off.iops)
        )
    });
    format!("Switch it off: {}.{price}", commands.join(", "))
}

/// The advice if the setting makes no difference to commits.
fn advice_either(lost: Option<&Pair<'_>>) -> String {
    match lost {
        Some(pair) => format!(
            "Leave it on: switching it off only slows unsynced writes, from {} to {} per second.",
            number(pair.on.iops),
            number(pair.off.iops)
        ),
        None => "Leave the setting as it is.".to_owned(),
    }
}

fn sides(pair: &Pair<'_>) -> [Evidence; 2] {
    [(pair.off, "off"), (pair.on, "on")].map(|(result, setting)| {
        Evidence::number(
            format!("{}, cache {setting}", operation_name(result)),
            result.iops.round(),
            "IOPS",
        )
    })
}

/// The small write at depth 1 with this sync method under both settings, preferably random.
fn pair(results: &[TestResult], sync: SyncMethod) -> Option<Pair<'_>> {
    let of = |setting| {
        let small = results.iter().filter(move |result| {
            let work = &result.workload;
            work.write_cache == setting
                && work.sync == Some(sync)
                && work.pattern.is_some_and(|pattern| pattern.writes() && pattern.transfers())
                && (work.depth, work.jobs, work.sync_every) == (1, 1, 1)
                && work.block_bytes <= 16 << 10
                && result.iops > 0.0
        });
        small
            .min_by_key(|result| !result.workload.pattern.is_some_and(workload::Pattern::is_random))
    };
    let (off, on) = (of(WriteCache::Off)?, of(WriteCache::On)?);
    let same = (off.workload.pattern, off.workload.block_bytes)
        == (on.workload.pattern, on.workload.block_bytes);
    same.then_some(Pair { off, on })
}

#[cfg(test)]
mod tests {
    use workload::SyncMethod::{Fsync, None as NoSync, OSync};

    use super::*;
    use samples::machine::write;

    fn under(setting: WriteCache, results: Vec<TestResult>) -> Vec<TestResult> {
        results
            .into_iter()
            .map(|mut result| {
                result.workload.write_cache = setting;
                result
            })
            .collect()
    }

    /// Arguments: commits per second by fsync and by O_SYNC, and unsynced writes per second.
    fn describe(off: [f64; 3], on: [f64; 3]) -> String {
        let tests = |[fsync, o_sync, unsynced]: [f64; 3]| {
            let us = |per_second: f64| 1e6 / per_second;
            vec![
                write(NoSync, us(unsynced), 0.0).result(),
                write(Fsync, 0.0, us(fsync)).result(),
                write(OSync, us(o_sync), 0.0).result(),
            ]
        };
        let results =
            [under(WriteCache::Off, tests(off)), under(WriteCache::On, tests(on))].concat();
        let finding = cache_setting(&results, "the drive", &["/dev/sda".to_owned()]).unwrap();
        let evidence: Vec<String> = finding
            .evidence
            .iter()
            .map(|item| format!("{} {} {}", item.what, item.value, item.unit))
            .collect();
        format!(
            "{} ({:?})\n{}\n- {}\n? {}\n> {}",
            finding.id,
            finding.confidence,
            finding.title,
            evidence.join("\n- "),
            finding.doubt.unwrap_or_default(),
            finding.advice
        )
    }

    #[test]
    fn a_protected_drive_that_flushes_its_cache_anyway() {
        // Micron 5100 ECO, figures from the Ceph performance wiki.
        insta::assert_snapshot!(describe([25_100.0, 24_900.0, 25_300.0], [671.0, 612.0, 34_000.0]), @"
        write-cache-better-off (High)
        Commits on the drive are 37.4 times as fast with the write cache off: 25,100 commits/s off, 671 on (4 KiB write + fsync).
        - 4 KiB write + fsync, cache off 25100.0 IOPS
        - 4 KiB write + fsync, cache on 671.0 IOPS
        - 4 KiB write + O_SYNC, cache off 24900.0 IOPS
        - 4 KiB write + O_SYNC, cache on 612.0 IOPS
        - 4 KiB write, cache off 25300.0 IOPS
        - 4 KiB write, cache on 34000.0 IOPS
        ? With the cache off, only the drive itself vouches that a completed write is safe; `flushmark verify` can prove it.
        > Switch it off: `flushmark cache off /dev/sda`.
        ");
    }

    #[test]
    fn a_drive_that_needs_its_cache() {
        insta::assert_snapshot!(describe([90.0, 90.0, 95.0], [560.0, 550.0, 60_000.0]), @"
        write-cache-better-on (High)
        Commits on the drive are 6.22 times as fast with the write cache on: 90 commits/s off, 560 on (4 KiB write + fsync).
        - 4 KiB write + fsync, cache off 90.0 IOPS
        - 4 KiB write + fsync, cache on 560.0 IOPS
        - 4 KiB write + O_SYNC, cache off 90.0 IOPS
        - 4 KiB write + O_SYNC, cache on 550.0 IOPS
        - 4 KiB write, cache off 95.0 IOPS
        - 4 KiB write, cache on 60000.0 IOPS
        ? 
        > Leave it on (check with `flushmark cache status`): the kernel flushes it whenever software requests durability.
        ");
    }

    #[test]
    fn no_difference_for_commits() {
        insta::assert_snapshot!(describe([1_000.0, 1_000.0, 1_010.0], [950.0, 960.0, 20_000.0]), @"
        write-cache-makes-no-difference (Medium)
        The write cache of the drive makes no difference to commits: 1,000 commits/s off, 950 on (4 KiB write + fsync).
        - 4 KiB write + fsync, cache off 1000.0 IOPS
        - 4 KiB write + fsync, cache on 950.0 IOPS
        - 4 KiB write + O_SYNC, cache off 1000.0 IOPS
        - 4 KiB write + O_SYNC, cache on 960.0 IOPS
        - 4 KiB write, cache off 1010.0 IOPS
        - 4 KiB write, cache on 20000.0 IOPS
        ? 
        > Leave it on: switching it off only slows unsynced writes, from 20,000 to 1,010 per second.
        ");
        insta::assert_snapshot!(describe([1_000.0, 1_000.0, 1_010.0], [950.0, 960.0, 1_000.0]), @"
        write-cache-makes-no-difference (Medium)
        The write cache of the drive makes no difference to commits: 1,000 commits/s off, 950 on (4 KiB write + fsync).
        - 4 KiB write + fsync, cache off 1000.0 IOPS
        - 4 KiB write + fsync, cache on 950.0 IOPS
        - 4 KiB write + O_SYNC, cache off 1000.0 IOPS
        - 4 KiB write + O_SYNC, cache on 960.0 IOPS
        - 4 KiB write, cache off 1010.0 IOPS
        - 4 KiB write, cache on 1000.0 IOPS
        ? 
        > Leave the setting as it is.
        ");
    }

    #[test]
    fn one_setting_alone_yields_no_finding() {
        let results = under(WriteCache::Off, vec![write(Fsync, 10.0, 1000.0).result()]);
        assert_eq!(cache_setting(&results, "x", &[]), None);
        assert_eq!(cache_setting(&[], "x", &[]), None);
    }
}
