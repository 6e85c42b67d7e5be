//! What a commit and a read cost on a Ceph cluster, against what Ceph itself costs.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::{latency, number};

use crate::case::Case;
use crate::wording::rounded;

/// What the wiki on Ceph's performance expects of depth 1: reads below 0.5 ms and writes below 1 ms
/// are hard to reach with any drives and network.
pub(crate) const GOOD_COMMIT_US: f64 = 1000.0;
/// The best tuned clusters.
const BEST_COMMIT_US: f64 = 700.0;
/// Drives without power-loss protection, or disks, add milliseconds to each commit.
const SLOW_COMMIT_US: f64 = 3000.0;

pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    let ceph = case.in_ceph()?;
    let small = |result: &&TestResult| {
        let workload = &result.workload;
        workload.depth == 1 && workload.jobs == 1 && workload.block_bytes <= 16 << 10
    };
    let commit = case.results.iter().filter(small).find_map(|result| {
        Some((result, result.commit_us?.p50)).filter(|_| result.workload.rate.is_none())
    });
    let read = case.results.iter().filter(small).find_map(|result| Some(result.read_us?.p50));
    let (result, commit_us) = commit?;
    Some(finding(&ceph.label, ceph.replicas, result, commit_us, read))
}

/// Compares a commit at depth 1 with what Ceph itself costs.
pub(crate) fn finding(
    place: &str,
    replicas: Option<u32>,
    result: &TestResult,
    commit_us: f64,
    read_us: Option<f64>,
) -> Finding {
    let (judged, advice) = if commit_us < BEST_COMMIT_US {
        ("as fast as the best tuned clusters, 0.7 ms", "Nothing to do.")
    } else if commit_us <= GOOD_COMMIT_US {
        ("what Ceph itself costs, 0.7 to 1 ms", "Nothing to do: drives are not what it waits for.")
    } else if commit_us <= SLOW_COMMIT_US {
        (
            "more than Ceph itself costs, 0.7 to 1 ms",
            "Test each drive before Ceph uses it (`flushmark run ceph-disk`), switch C-states off, \
             and measure the network's round trip: 100 µs and more cost 10 %.",
        )
    } else {
        (
            "several times what Ceph itself costs, 0.7 to 1 ms: the OSDs wait for their drives, or \
             for the network",
            "Test the drives under the OSDs (`flushmark run ceph-disk`): disks, and SSDs without \
             power-loss protection, cost milliseconds for each flush.",
        )
    };
    let replication = match replicas {
        Some(1) => "without replication".to_owned(),
        Some(replicas) => format!("size={replicas}, so replication is included"),
        None => "replication included".to_owned(),
    };
    let mut evidence = vec![
        Evidence::number("commit at depth 1, p50", rounded(commit_us), "us"),
        Evidence::number("commits/s", rounded(result.commits_per_s.unwrap_or(result.iops)), ""),
    ];
    evidence.extend(read_us.map(|us| Evidence::number("read at depth 1, p50", rounded(us), "us")));
    Finding {
        id: "ceph-latency".to_owned(),
        title: format!(
            "A commit on {place} takes {} ({replication}): {judged}.",
            latency(commit_us)
        ),
        evidence,
        confidence: Confidence::Medium,
        doubt: None,
        advice: format!(
            "{advice} One client at depth 1 makes {} commits/s however many OSDs there are: more \
             come only from depth or from more clients.",
            number(result.commits_per_s.unwrap_or(result.iops))
        ),
    }
}

#[cfg(test)]
mod tests {
    use measurement::CephRecord;
    use samples::machine::{read, write};
    use workload::SyncMethod;

    use super::*;

    fn found(commit_us: f64, replicas: Option<u32>) -> Finding {
        let ceph = CephRecord {
            cluster: "c".to_owned(),
            pool: "rbd".to_owned(),
            image: None,
            size_bytes: 1 << 30,
            object_bytes: 4 << 20,
            replicas,
            cached: false,
        };
        let results = [write(SyncMethod::ODsync, commit_us, 0.0).result(), read(300.0).result()];
        let host = drive::HostFacts::default();
        let case = Case::new(&results, None, &host).with_ceph(Some(&ceph));
        judge(&case).unwrap()
    }

    #[test]
    fn a_commit_is_compared_with_what_ceph_costs() {
        insta::assert_snapshot!(found(650.0, Some(1)).title, @"A commit on the pool rbd takes 650 µs (without replication): as fast as the best tuned clusters, 0.7 ms.");
        insta::assert_snapshot!(found(900.0, Some(3)).title, @"A commit on the pool rbd takes 900 µs (size=3, so replication is included): what Ceph itself costs, 0.7 to 1 ms.");
        insta::assert_snapshot!(found(1500.0, None).title, @"A commit on the pool rbd takes 1.5 ms (replication included): more than Ceph itself costs, 0.7 to 1 ms.");
        let slow = found(8000.0, Some(2));
        insta::assert_snapshot!(slow.title, @"A commit on the pool rbd takes 8 ms (size=2, so replication is included): several times what Ceph itself costs, 0.7 to 1 ms: the OSDs wait for their drives, or for the network.");
        insta::assert_snapshot!(slow.advice, @"Test the drives under the OSDs (`flushmark run ceph-disk`): disks, and SSDs without power-loss protection, cost milliseconds for each flush. One client at depth 1 makes 125 commits/s however many OSDs there are: more come only from depth or from more clients.");
    }

    /// In a virtual machine, with commits that look like those of a drive without power-loss
    /// protection.
    #[test]
    fn a_mapped_image_is_a_place_in_a_cluster_and_not_a_drive() {
        let host = drive::HostFacts {
            virtualisation: Some(drive::Virtualisation::Kvm),
            ..drive::HostFacts::default()
        };
        let results =
            [write(SyncMethod::None, 900.0, 0.0), write(SyncMethod::Fdatasync, 900.0, 5000.0)]
                .map(samples::machine::Run::result);
        let titles = |disk: &drive::BlockDevice| {
            let place = samples::place::device(disk.clone());
            let case = Case::new(&results, Some(&place), &host);
            assert!(crate::nearest(&case, 3).is_empty());
            let used: Vec<_> = crate::fitness::fitness(&case).into_keys().collect();
            assert_eq!(used, [measurement::Use::DatabaseLog, measurement::Use::General]);
            let titles = super::super::findings(&case).into_iter().map(|one| one.title);
            titles.collect::<Vec<_>>().join("\n")
        };
        let mut disk = samples::place::mapped_image();
        insta::assert_snapshot!(titles(&disk), @"
        A commit on the image vms/db takes 5.9 ms (replication included): several times what Ceph itself costs, 0.7 to 1 ms: the OSDs wait for their drives, or for the network.
        Each write to the image vms/db is on all replicas when the cluster acknowledges it, so the kernel needs to send no flush: a commit costs only its write, 5.9 ms.
        ");
        // sysfs does not name it.
        disk.rbd_image = None;
        insta::assert_snapshot!(titles(&disk), @"
        A commit on /dev/rbd0 takes 5.9 ms (replication included): several times what Ceph itself costs, 0.7 to 1 ms: the OSDs wait for their drives, or for the network.
        Each write to /dev/rbd0 is on all replicas when the cluster acknowledges it, so the kernel needs to send no flush: a commit costs only its write, 5.9 ms.
        ");
    }

    #[test]
    fn drives_are_not_judged_through_a_cluster() {
        let results = [write(SyncMethod::Fsync, 40.0, 8000.0).result()];
        let (host, ceph) = (drive::HostFacts::default(), {
            let image = Some("disk".to_owned());
            CephRecord {
                cluster: "c".to_owned(),
                pool: "p".to_owned(),
                image,
                size_bytes: 1 << 30,
                object_bytes: 4 << 20,
                replicas: Some(3),
                cached: false,
            }
        });
        let case = Case::new(&results, None, &host).with_ceph(Some(&ceph));
        let ids: Vec<String> =
            super::super::findings(&case).into_iter().map(|one| one.id).collect();
        assert_eq!(ids, ["ceph-latency"]);
        let used: Vec<_> = crate::fitness::fitness(&case).into_keys().collect();
        assert_eq!(used, [measurement::Use::DatabaseLog, measurement::Use::General]);
        assert!(crate::nearest(&case, 3).is_empty());
    }
}
