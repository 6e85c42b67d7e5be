//! `fsync` costs more than `fdatasync`: it makes all metadata durable, whereas `fdatasync` omits
//! what is not needed to read the data back. An overwrite changes only the modification time.
//! (`lazytime` does not help: fsync is one of the occasions on which it writes the time.)

use measurement::{Confidence, Evidence, Finding};
use workload::SyncMethod;
use workload::number::latency;

use crate::case::Case;
use crate::wording::{flushes, median, rounded};

/// From this ratio on the difference is significant: published repeated runs of one test lie within
/// 3 % of each other.
const DEARER_RATIO: f64 = 1.25;

/// From this ratio on, the difference is more than a second write and flush: fdatasync is nearly
/// free, and each block of the journal waits for the storage (a volume in a cloud: 15 times).
const FAR_DEARER_RATIO: f64 = 5.0;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let mount = case.place?.mount.as_ref()?;
    let (fsync, fdatasync) = case.small_write_pair(SyncMethod::Fsync, SyncMethod::Fdatasync)?;
    if fsync.p50_us() < DEARER_RATIO * fdatasync.p50_us() {
        return None;
    }
    let mut evidence = vec![median(fsync), median(fdatasync)];
    // The sync alone shows the ratio without the write that both have in common.
    let [fsync_us, fdatasync_us] =
        [fsync, fdatasync].map(|result| result.sync_us.map_or(result.p50_us(), |sync| sync.p50));
    let ratio = fsync_us / fdatasync_us;
    evidence.push(Evidence::number(
        "fsync over fdatasync, without the write",
        rounded(ratio),
        "times",
    ));
    evidence.extend([fsync, fdatasync].into_iter().filter_map(flushes));
    let filesystem = match mount.fs_type.as_str() {
        own @ ("ext3" | "ext4" | "xfs" | "btrfs" | "f2fs" | "jfs") => own,
        _ => "the filesystem",
    };
    let journal = if ratio >= FAR_DEARER_RATIO {
        "and waits for each of the journal's blocks to reach the storage, whose flush is almost \
         free"
    } else {
        "which is another write and another flush"
    };
    Some(Finding {
        id: "fsync-dearer-than-fdatasync".to_owned(),
        title: format!(
            "fsync takes {}, fdatasync {}: {filesystem} also commits its journal because of a \
             timestamp, {journal}.",
            latency(fsync.p50_us()),
            latency(fdatasync.p50_us())
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: "Let software use fdatasync: `wal_sync_method=fdatasync` in PostgreSQL, \
                 `innodb_use_fdatasync=ON` in MySQL."
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use workload::SyncMethod::{Fdatasync, Fsync};

    use super::*;
    use samples::machine::{on, write};

    #[test]
    fn the_ratio_decides_the_explanation() {
        let title = |fsync_us: f64, fdatasync_us: f64| {
            let drive = samples::place::drive("nvme0n1", drive::Transport::Nvme);
            let machine = on("ext4", "rw", drive)
                .measure([write(Fsync, 20.0, fsync_us), write(Fdatasync, 20.0, fdatasync_us)]);
            let case = Case::new(&machine.results, machine.place.as_ref(), &machine.host);
            judge(&case).unwrap().title
        };
        // Crucial T500 and a Hyperdisk, as published.
        insta::assert_snapshot!(title(891.1, 447.4), @"fsync takes 911 µs, fdatasync 467 µs: ext4 also commits its journal because of a timestamp, which is another write and another flush.");
        insta::assert_snapshot!(title(738.1, 46.8), @"fsync takes 758 µs, fdatasync 66.8 µs: ext4 also commits its journal because of a timestamp, and waits for each of the journal's blocks to reach the storage, whose flush is almost free.");
    }
}
