//! Whether a drive's volatile write cache is better off or on, from the same tests under both settings.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::number;
use workload::{SyncMethod, WriteCache};

use crate::wording::{did, switch_cache};

/// Below this factor either way the setting makes no difference that two runs of one test could not make.
const DIFFERENCE_LEAST: f64 = 1.25;
/// From this factor on, nothing but the setting explains the difference.
const DIFFERENCE_CERTAIN: f64 = 3.0;
/// An unsynced write that falls below this share of its speed is worth a warning.
const UNSYNCED_LOSS: f64 = 0.7;

/// With the cache off the kernel sends no flushes any more.
const BY_THE_DRIVES_WORD: &str =
    "With the cache off, that a completed write is safe rests on the drive's word alone; `flushmark verify` proves it.";

/// One test under both settings.
struct Pair<'a> {
    off: &'a TestResult,
    on: &'a TestResult,
}

impl Pair<'_> {
    /// How many times as fast it is with the cache off.
    fn gain(&self) -> f64 {
        self.off.iops / self.on.iops
    }
}

/// What the results under both settings say of the drives at `disks`; `None` unless one small commit was measured under both.
pub(crate) fn cache_setting(results: &[TestResult], label: &str, disks: &[String]) -> Option<Finding> {
    let by_flush = pair(results, SyncMethod::Fsync).or_else(|| pair(results, SyncMethod::Fdatasync));
    let by_flag = pair(results, SyncMethod::OSync).or_else(|| pair(results, SyncMethod::ODsync));
    let commit = by_flush.as_ref().or(by_flag.as_ref())?;
    let unsynced = pair(results, SyncMethod::None);
    let gain = commit.gain();
    let rates =
        format!("{} commits/s off, {} on ({})", number(commit.off.iops), number(commit.on.iops), did(commit.on));
    let lost = unsynced.as_ref().filter(|pair| pair.gain() < UNSYNCED_LOSS);
    let command = |word: &str| disks.iter().map(|disk| switch_cache(word, disk)).collect::<Vec<_>>().join(", ");
    let (id, title, advice) = if gain >= DIFFERENCE_LEAST {
        let price = lost.map_or(String::new(), |pair| {
            format!(
                " Writes that nobody waits for fall from {} to {} a second; where those matter more, leave it on.",
                number(pair.on.iops),
                number(pair.off.iops)
            )
        });
        (
            "write-cache-better-off",
            format!("Durable writes on {label} are {} times as fast with the write cache off: {rates}.", number(gain)),
            format!("Switch it off: {}.{price}", command("off")),
        )
    } else if gain <= 1.0 / DIFFERENCE_LEAST {
        (
            "write-cache-better-on",
            format!("Durable writes on {label} are {} times as fast with the write cache on: {rates}.", number(1.0 / gain)),
            "Leave it on (`flushmark cache status` shows how it stands): the kernel flushes it whenever software asks for durability.".to_owned(),
        )
    } else {
        let advice = match lost {
            Some(pair) => format!(
                "Leave it on: off, it only slows writes that nobody waits for, from {} to {} a second.",
                number(pair.on.iops),
                number(pair.off.iops)
            ),
            None => "Leave it as it is.".to_owned(),
        };
        (
            "write-cache-makes-no-difference",
            format!("The write cache of {label} does nothing for durable writes: {rates}."),
            advice,
        )
    };
    let sides = |pair: &Pair<'_>| {
        [(pair.off, "off"), (pair.on, "on")].map(|(result, setting)| {
            Evidence::number(format!("{}, cache {setting}", did(result)), result.iops.round(), "IOPS")
        })
    };
    let evidence =
        [by_flush.as_ref(), by_flag.as_ref(), unsynced.as_ref()].into_iter().flatten().flat_map(sides).collect();
    let certain = gain.max(1.0 / gain) >= DIFFERENCE_CERTAIN;
    Some(Finding {
        id: id.to_owned(),
        title,
        evidence,
        confidence: if certain { Confidence::High } else { Confidence::Medium },
        doubt: (gain >= DIFFERENCE_LEAST).then(|| BY_THE_DRIVES_WORD.to_owned()),
        advice,
    })
}

/// The small write at depth 1 with this sync method, random before sequential, under both settings.
fn pair(results: &[TestResult], sync: SyncMethod) -> Option<Pair<'_>> {
    let of = |setting| {
        let small = results.iter().filter(move |result| {
            let work = &result.workload;
            work.write_cache == setting
                && work.sync == Some(sync)
                && work.pattern.is_some_and(workload::Pattern::writes)
                && (work.depth, work.jobs, work.sync_every) == (1, 1, 1)
                && work.block_bytes <= 16 << 10
                && result.iops > 0.0
        });
        small.min_by_key(|result| !result.workload.pattern.is_some_and(workload::Pattern::is_random))
    };
    let (off, on) = (of(WriteCache::Off)?, of(WriteCache::On)?);
    let same = (off.workload.pattern, off.workload.block_bytes) == (on.workload.pattern, on.workload.block_bytes);
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

    /// Commits a second by fsync, by O_SYNC and unsynced writes a second, with the cache off and on.
    fn told(off: [f64; 3], on: [f64; 3]) -> String {
        let tests = |[fsync, o_sync, unsynced]: [f64; 3]| {
            let us = |per_second: f64| 1e6 / per_second;
            vec![
                write(NoSync, us(unsynced), 0.0).result(),
                write(Fsync, 0.0, us(fsync)).result(),
                write(OSync, us(o_sync), 0.0).result(),
            ]
        };
        let results = [under(WriteCache::Off, tests(off)), under(WriteCache::On, tests(on))].concat();
        let finding = cache_setting(&results, "the drive", &["/dev/sda".to_owned()]).unwrap();
        let evidence: Vec<String> =
            finding.evidence.iter().map(|item| format!("{} {} {}", item.what, item.value, item.unit)).collect();
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
    fn a_protected_drive_that_writes_its_cache_out_on_each_flush() {
        // Micron 5100 ECO as the Ceph performance wiki has it.
        insta::assert_snapshot!(told([25_100.0, 24_900.0, 25_300.0], [671.0, 612.0, 34_000.0]), @"
        write-cache-better-off (High)
        Durable writes on the drive are 37.4 times as fast with the write cache off: 25,100 commits/s off, 671 on (4 KiB write + fsync).
        - 4 KiB write + fsync, cache off 25100.0 IOPS
        - 4 KiB write + fsync, cache on 671.0 IOPS
        - 4 KiB write + O_SYNC, cache off 24900.0 IOPS
        - 4 KiB write + O_SYNC, cache on 612.0 IOPS
        - 4 KiB write, cache off 25300.0 IOPS
        - 4 KiB write, cache on 34000.0 IOPS
        ? With the cache off, that a completed write is safe rests on the drive's word alone; `flushmark verify` proves it.
        > Switch it off: `flushmark cache off /dev/sda`.
        ");
    }

    #[test]
    fn a_drive_that_is_lost_without_its_cache() {
        insta::assert_snapshot!(told([90.0, 90.0, 95.0], [560.0, 550.0, 60_000.0]), @"
        write-cache-better-on (High)
        Durable writes on the drive are 6.22 times as fast with the write cache on: 90 commits/s off, 560 on (4 KiB write + fsync).
        - 4 KiB write + fsync, cache off 90.0 IOPS
        - 4 KiB write + fsync, cache on 560.0 IOPS
        - 4 KiB write + O_SYNC, cache off 90.0 IOPS
        - 4 KiB write + O_SYNC, cache on 550.0 IOPS
        - 4 KiB write, cache off 95.0 IOPS
        - 4 KiB write, cache on 60000.0 IOPS
        ? 
        > Leave it on (`flushmark cache status` shows how it stands): the kernel flushes it whenever software asks for durability.
        ");
    }

    #[test]
    fn no_difference_for_commits() {
        insta::assert_snapshot!(told([1_000.0, 1_000.0, 1_010.0], [950.0, 960.0, 20_000.0]), @"
        write-cache-makes-no-difference (Medium)
        The write cache of the drive does nothing for durable writes: 1,000 commits/s off, 950 on (4 KiB write + fsync).
        - 4 KiB write + fsync, cache off 1000.0 IOPS
        - 4 KiB write + fsync, cache on 950.0 IOPS
        - 4 KiB write + O_SYNC, cache off 1000.0 IOPS
        - 4 KiB write + O_SYNC, cache on 960.0 IOPS
        - 4 KiB write, cache off 1010.0 IOPS
        - 4 KiB write, cache on 20000.0 IOPS
        ? 
        > Leave it on: off, it only slows writes that nobody waits for, from 20,000 to 1,010 a second.
        ");
        insta::assert_snapshot!(told([1_000.0, 1_000.0, 1_010.0], [950.0, 960.0, 1_000.0]), @"
        write-cache-makes-no-difference (Medium)
        The write cache of the drive does nothing for durable writes: 1,000 commits/s off, 950 on (4 KiB write + fsync).
        - 4 KiB write + fsync, cache off 1000.0 IOPS
        - 4 KiB write + fsync, cache on 950.0 IOPS
        - 4 KiB write + O_SYNC, cache off 1000.0 IOPS
        - 4 KiB write + O_SYNC, cache on 960.0 IOPS
        - 4 KiB write, cache off 1010.0 IOPS
        - 4 KiB write, cache on 1000.0 IOPS
        ? 
        > Leave it as it is.
        ");
    }

    #[test]
    fn one_setting_alone_says_nothing() {
        let results = under(WriteCache::Off, vec![write(Fsync, 10.0, 1000.0).result()]);
        assert_eq!(cache_setting(&results, "x", &[]), None);
        assert_eq!(cache_setting(&[], "x", &[]), None);
    }
}
