//! A sync after a large write takes much longer than one after a small write.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::SyncMethod;
use workload::number::{latency, number};

use crate::case::Case;
use crate::wording::{operation_name, rounded, sync_name};

/// From this ratio on, the sync does something for each byte.
const DEARER_RATIO: f64 = 2.0;
/// A smaller difference is the time of system calls (Samsung PM9A3, fdatasync: 0.7 and 2.2 µs).
const DIFFERENCE_US_MIN: f64 = 25.0;
/// More bytes per second than any drive takes: what is that fast waits for something else.
const RATE_MAX: f64 = 16e9;
/// A sync of the same write by `fdatasync` that is this much cheaper shows that the rest is the
/// filesystem's.
const JOURNAL_RATIO: f64 = 2.0;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let methods = [SyncMethod::Fdatasync, SyncMethod::Fsync];
    let (sync, small, large) = methods.into_iter().find_map(|sync| {
        let (small, large) = (case.small_synced_write(sync)?, case.large_synced_write(sync)?);
        let (small_us, large_us) = (sync_us(small)?, sync_us(large)?);
        let dearer =
            large_us >= DEARER_RATIO * small_us && large_us - small_us >= DIFFERENCE_US_MIN;
        dearer.then_some((sync, small, large))
    })?;
    let (small_us, large_us) = (sync_us(small)?, sync_us(large)?);
    let call = sync_name(sync);
    let mut evidence = [small, large].map(sync_alone).to_vec();
    let by_fdatasync = case.large_synced_write(SyncMethod::Fdatasync).filter(|other| {
        sync == SyncMethod::Fsync && other.workload.block_bytes == large.workload.block_bytes
    });
    let cheaper = by_fdatasync.filter(|other| {
        sync_us(other).is_some_and(|other_us| JOURNAL_RATIO * other_us <= large_us)
    });
    evidence.extend(by_fdatasync.map(sync_alone));
    let bytes_per_s = large.workload.block_bytes as f64 * 1e6 / (large_us - small_us);
    let (why, confidence) = if let Some(other) = cheaper {
        let us = sync_us(other)?;
        let why = format!(
            "that is the filesystem's journal and not the drive, because fdatasync takes {}",
            latency(us)
        );
        (why, Confidence::High)
    } else if bytes_per_s <= RATE_MAX {
        let why = format!(
            "the write returned before its bytes were safe, and the sync moves them at {} MiB/s",
            number(bytes_per_s / f64::from(1 << 20))
        );
        (why, Confidence::Medium)
    } else {
        let why = "each of the requests that a large write is split into adds to it".to_owned();
        (why, Confidence::Low)
    };
    let [small_block, large_block] = [small, large].map(|result| result.workload.block_title());
    Some(Finding {
        id: "large-sync-dearer".to_owned(),
        title: format!(
            "{call} takes {} after {large_block} and {} after {small_block}: {why}.",
            latency(large_us),
            latency(small_us)
        ),
        evidence,
        confidence,
        doubt: None,
        advice: if cheaper.is_some() {
            "Let software that writes in place use fdatasync: it leaves the timestamp to the next \
             journal commit."
                .to_owned()
        } else {
            "Expect the first sync after a large write (a checkpoint, a doublewrite batch) to take \
             that long, and keep small commits on another file or drive if they must not wait for \
             it."
            .to_owned()
        },
    })
}

fn sync_us(result: &TestResult) -> Option<f64> {
    result.sync_us.map(|sync| sync.p50)
}

fn sync_alone(result: &TestResult) -> Evidence {
    let what = format!("{}: sync alone p50", operation_name(result));
    Evidence::number(what, rounded(sync_us(result).unwrap_or(0.0)), "us")
}

#[cfg(test)]
mod tests {
    use workload::SyncMethod::{Fdatasync, Fsync};

    use super::*;
    use samples::machine::{Machine, on, write};

    /// Microseconds of fsync and fdatasync after 16 KiB and after 2 MiB, from the sources' table.
    fn title(fsync_us: [f64; 2], fdatasync_us: [f64; 2]) -> Option<String> {
        let drive = samples::place::drive("nvme0n1", drive::Transport::Nvme);
        let of = |sync, [small_us, large_us]: [f64; 2]| {
            [
                write(sync, 20.0, small_us).block(16 << 10),
                write(sync, 400.0, large_us).block(2 << 20),
            ]
        };
        let Machine { results, place, host } = on("ext4", "rw", drive)
            .measure(of(Fsync, fsync_us))
            .measure(of(Fdatasync, fdatasync_us));
        judge(&Case::new(&results, place.as_ref(), &host)).map(|finding| finding.title)
    }

    #[test]
    fn a_local_drive_of_a_cloud_moves_the_bytes_in_the_sync() {
        insta::assert_snapshot!(title([56.2, 1020.4], [28.1, 832.4]).unwrap(), @"fdatasync takes 833 µs after 2 MiB and 28.1 µs after 16 KiB: the write returned before its bytes were safe, and the sync moves them at 2,486 MiB/s.");
    }

    #[test]
    fn a_protected_drive_whose_journal_takes_the_time() {
        insta::assert_snapshot!(title([1.6, 139.1], [0.7, 2.2]).unwrap(), @"fsync takes 139 µs after 2 MiB and 1.6 µs after 16 KiB: that is the filesystem's journal and not the drive, because fdatasync takes 2.2 µs.");
    }

    #[test]
    fn a_sync_that_costs_the_same_after_any_write() {
        // Crucial T500, and Samsung 990 PRO.
        assert_eq!(title([891.1, 980.1], [447.4, 449.7]), None);
        assert_eq!(title([2974.2, 5396.8], [2783.2, 3508.2]), None);
    }
}
