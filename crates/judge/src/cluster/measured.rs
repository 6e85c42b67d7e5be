//! What the measured latencies of a cluster's OSDs say about all of them.

use measurement::{
    CephRecord, Confidence, Evidence, Finding, LatencySummary, OsdRecord, TestResult,
};
use workload::number::latency;

use super::slow_osds::{slow_osds, standings, writes};
use super::write_time::write_time;
use crate::findings::ceph_latency;
use crate::wording::rounded;

/// Ceph's wiki: a round trip above this is worth a look, because each write contains one, or two
/// with copies.
const ROUND_TRIP_MAX_US: f64 = 100.0;

/// The OSDs that are slow, what the others take, where their time goes, and the network.
pub fn measured_osds(ceph: &CephRecord, results: &[TestResult]) -> Vec<Finding> {
    let mut found = slow_osds(results);
    if let Some((osd, result)) = usual(results) {
        let read_us = results
            .iter()
            .filter(|one| one.osd.as_ref().is_some_and(|other| other.id == osd.id))
            .find_map(|one| Some(one.read_us?.p50));
        if let Some(commit_us) = result.commit_us {
            let place = format!("{}, the median OSD,", osd.name());
            found
                .push(ceph_latency::finding(&place, ceph.replicas, result, commit_us.p50, read_us));
        }
        // Something is always the largest share of Ceph's own cost.
        let too_slow = result.commit_us.is_some_and(|us| us.p50 > ceph_latency::GOOD_COMMIT_US);
        let time = osd.write_time.as_ref().filter(|_| too_slow);
        found.extend(time.and_then(|time| write_time(&osd.name(), time)));
    }
    found.extend(round_trip(results));
    found
}

/// The median OSD of the class with the most OSDs.
fn usual(results: &[TestResult]) -> Option<(&OsdRecord, &TestResult)> {
    let standings = standings(results);
    let peers = standings.iter().map(|one| one.peers).max()?;
    let middle = standings.iter().find(|one| one.peers == peers && one.is_median())?.osd;
    writes(results).find(|(osd, _)| osd.id == middle)
}

fn round_trip(results: &[TestResult]) -> Option<Finding> {
    let of_osds = || {
        writes(results).filter_map(|(osd, _)| {
            let connect: LatencySummary = osd.connect_us?;
            Some((osd, connect.p50))
        })
    };
    let (worst, worst_us) = of_osds().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let far = of_osds().filter(|(_, us)| *us > ROUND_TRIP_MAX_US);
    let count = far.count();
    (count > 0).then(|| Finding {
        id: "ceph-round-trip".to_owned(),
        title: format!(
            "The network takes {} from here to osd.{} and back, more than {}: {} of {} OSDs are \
             that far.",
            latency(worst_us),
            worst.id,
            latency(ROUND_TRIP_MAX_US),
            count,
            of_osds().count()
        ),
        evidence: of_osds()
            .filter(|(_, us)| *us > ROUND_TRIP_MAX_US)
            .map(|(osd, us)| {
                Evidence::number(format!("a connection to osd.{}, p50", osd.id), rounded(us), "us")
            })
            .collect(),
        confidence: Confidence::Medium,
        doubt: Some("A busy client or OSD answers late as well.".to_owned()),
        advice:
            "Each write waits for one round trip, and for a second one with copies. Two hosts on \
                 one switch need 30 to 50 µs. Look at the path, at the driver's interrupt \
                 moderation (`ethtool -C NAME rx-usecs 0`), and at the C-states of both hosts \
                 (`flushmark host --measure`)."
                .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use measurement::Histogram;
    use samples::machine::{read, write};
    use workload::SyncMethod;

    use super::*;

    fn ceph() -> CephRecord {
        CephRecord {
            cluster: "c".to_owned(),
            pool: "rbd".to_owned(),
            image: None,
            size_bytes: 1 << 30,
            object_bytes: 4 << 20,
            replicas: Some(1),
            cached: false,
        }
    }

    fn osd(id: u32, commit_us: f64, round_trip_us: u64) -> [TestResult; 2] {
        let mut connect = Histogram::new();
        connect.record(round_trip_us * 1000);
        let osd = OsdRecord {
            connect_us: connect.summary(),
            ..OsdRecord::new(id, None, Some("ssd".to_owned()))
        };
        [
            TestResult {
                osd: Some(osd.clone()),
                ..write(SyncMethod::ODsync, commit_us, 0.0).result()
            },
            TestResult { osd: Some(osd), ..read(300.0).result() },
        ]
    }

    fn titles(results: &[[TestResult; 2]]) -> String {
        let found = measured_osds(&ceph(), &results.concat());
        found.iter().map(|finding| format!("{}: {}\n", finding.id, finding.title)).collect()
    }

    #[test]
    fn the_usual_osd_is_compared_with_what_ceph_costs() {
        insta::assert_snapshot!(titles(&[osd(0, 700.0, 40), osd(1, 900.0, 45), osd(2, 1000.0, 40)]), @"ceph-latency: A commit on osd.1, the median OSD, takes 900 µs (without replication): what Ceph itself costs, 0.7 to 1 ms.");
        assert_eq!(titles(&[]), "");
    }

    #[test]
    fn the_usual_osd_is_the_median_of_the_larger_class() {
        let mut results = [osd(0, 700.0, 40), osd(1, 900.0, 45), osd(2, 8000.0, 40)].concat();
        for id in 3..5 {
            let disk = osd(id, 9000.0, 40).map(|result| {
                let osd = result
                    .osd
                    .clone()
                    .map(|osd| OsdRecord { class: Some("hdd".to_owned()), ..osd });
                TestResult { osd, ..result }
            });
            results.extend(disk);
        }
        let found = measured_osds(&ceph(), &results);
        let titles: Vec<&str> = found.iter().map(|finding| finding.title.as_str()).collect();
        assert!(titles.iter().any(|title| title.contains("osd.1, the median OSD,")), "{titles:?}");
    }

    #[test]
    fn a_far_osd_is_found() {
        insta::assert_snapshot!(titles(&[osd(0, 1700.0, 340), osd(1, 1900.0, 45), osd(2, 9000.0, 40)]), @"
        ceph-slow-osd: osd.2 is slow: its writes take 9 ms (p50), 4.74 times the median of the ssd OSDs.
        ceph-latency: A commit on osd.1, the median OSD, takes 1.9 ms (without replication): more than Ceph itself costs, 0.7 to 1 ms.
        ceph-round-trip: The network takes 340 µs from here to osd.0 and back, more than 100 µs: 1 of 3 OSDs are that far.
        ");
    }
}
