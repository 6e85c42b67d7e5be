//! `O_SYNC` on a filesystem has two speeds, depending on how long a write takes.
//!
//! A write sets the file's modification time, which advances with the kernel's timer tick. Writes
//! that fit several into a tick change nothing after the first, so `O_SYNC` has only data to make
//! durable. Once a write takes longer than a tick, each one gets a new time, which a journal
//! transaction has to record; with that transaction, the next write takes longer than a tick, too.
//! Either speed therefore lasts until something disturbs it.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::SyncMethod;
use workload::number::number;

use crate::case::Case;
use crate::wording::{operation_name, rounded};

/// The shortest tick: 1000 Hz. At 100 Hz it takes 10 ms.
const TICK_US_MIN: f64 = 1_000.0;
/// Seen on ext4: 8,800 and 266 commits/s. A drive's own variation stays far below this factor.
const REGIMES_RATIO: f64 = 5.0;
/// A single second may be a disturbance.
const SECONDS_MIN: usize = 2;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let mount = case.place?.mount.as_ref()?;
    let tests: Vec<&TestResult> = case.small_writes(SyncMethod::OSync).collect();
    let mut seconds: Vec<f64> =
        tests.iter().flat_map(|test| &test.series.commit_p50_us).copied().flatten().collect();
    seconds.sort_by(f64::total_cmp);
    let slow_from = seconds.partition_point(|&us| us < TICK_US_MIN);
    let (fast, slow) = seconds.split_at(slow_from);
    if fast.len() < SECONDS_MIN || slow.len() < SECONDS_MIN {
        return None;
    }
    let (fast_us, slow_us) = (fast[fast.len() / 2], slow[slow.len() / 2]);
    if slow_us < REGIMES_RATIO * fast_us {
        return None;
    }
    let per_second = |us: f64| number(1e6 / us);
    let share = |part: &[f64]| rounded(part.len() as f64 / seconds.len() as f64 * 100.0);
    let mut evidence = vec![
        Evidence::number("seconds in which a write took less than a tick", share(fast), "%"),
        Evidence::number("p50 in those", rounded(fast_us), "us"),
        Evidence::number("p50 in the others", rounded(slow_us), "us"),
    ];
    evidence.extend(tests.iter().map(|test| {
        let rate = test.commits_per_s.unwrap_or(0.0);
        Evidence::number(format!("{} rate", operation_name(test)), rounded(rate), "commits/s")
    }));
    Some(Finding {
        id: "o-sync-regimes".to_owned(),
        title: format!(
            "O_SYNC has two speeds on {}, {} and {} commits/s: a write that takes longer than the \
             kernel's tick gets a new timestamp, and pays for a journal transaction.",
            mount.fs_type,
            per_second(fast_us),
            per_second(slow_us)
        ),
        evidence,
        confidence: Confidence::Medium,
        doubt: Some("Another program's writes in some of the seconds look the same.".to_owned()),
        advice: "Use O_DSYNC or fdatasync, which leave the timestamp to a later journal commit; \
                 repeat tests of O_SYNC before you compare them."
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use workload::SyncMethod::{ODsync, OSync};

    use super::*;
    use samples::machine::{Run, on, raw, write};
    use samples::place::drive;

    fn nvme() -> drive::BlockDevice {
        drive("nvme0n1", drive::Transport::Nvme)
    }

    fn title(runs: impl IntoIterator<Item = Run>) -> Option<String> {
        let machine = on("ext4", "rw", nvme()).measure(runs);
        let case = Case::new(&machine.results, machine.place.as_ref(), &machine.host);
        judge(&case).map(|finding| finding.title)
    }

    #[test]
    fn writes_above_and_below_a_tick_are_two_regimes() {
        let runs = [write(OSync, 114.0, 0.0), write(OSync, 3_760.0, 0.0).sequential()];
        insta::assert_snapshot!(title(runs).unwrap(), @"O_SYNC has two speeds on ext4, 8,772 and 266 commits/s: a write that takes longer than the kernel's tick gets a new timestamp, and pays for a journal transaction.");
    }

    #[test]
    fn one_speed_and_other_methods_are_not() {
        assert_eq!(title([write(OSync, 114.0, 0.0), write(OSync, 150.0, 0.0).sequential()]), None);
        assert_eq!(title([write(OSync, 3_760.0, 0.0)]), None);
        // Both above the tick, or too close to each other.
        assert_eq!(title([write(OSync, 1_100.0, 0.0), write(OSync, 9_000.0, 0.0)]), None);
        assert_eq!(title([write(OSync, 900.0, 0.0), write(OSync, 1_400.0, 0.0)]), None);
        let without_journal = [write(ODsync, 114.0, 0.0), write(ODsync, 3_760.0, 0.0)];
        assert_eq!(title(without_journal), None);
    }

    #[test]
    fn a_raw_device_has_no_journal() {
        let runs = [write(OSync, 114.0, 0.0), write(OSync, 3_760.0, 0.0)];
        let machine = raw(nvme()).measure(runs);
        let case = Case::new(&machine.results, machine.place.as_ref(), &machine.host);
        assert_eq!(judge(&case), None);
    }
}
