//! Results of the OSDs of a Ceph cluster.

use ceph::latency::{Cause, Decomposition, Part};
use measurement::{DriveCommit, DriveCommitOrigin, OsdRecord, Pass, TestResult};
use workload::SyncMethod;

use crate::machine::{read, write};

/// Passes over all OSDs.
const PASSES: u32 = 5;

/// Writes and reads of each OSD of a cluster with this many hosts. All OSDs are about equally fast
/// except osd.2, whose drive flushes slowly.
pub fn osds(hosts: u32, osds_per_host: u32) -> Vec<TestResult> {
    (0..hosts * osds_per_host).flat_map(|id| osd(id, id / osds_per_host + 1)).collect()
}

fn osd(id: u32, host: u32) -> [TestResult; 2] {
    let flush_us = if id == 2 { 2600.0 } else { 300.0 + f64::from(id * 37 % 11) * 10.0 };
    let parts = parts(flush_us);
    let latency_us: f64 = parts.iter().map(|part| part.us).sum();
    let osd = OsdRecord::new(id, Some(format!("node{host}")), Some("ssd".to_owned()));
    let written = OsdRecord {
        write_time: Some(Decomposition {
            latency_us,
            parts,
            foreign_transactions: None,
            missing: Vec::new(),
        }),
        drive: Some(DriveCommit {
            us: flush_us * 0.8,
            from: DriveCommitOrigin::Counters("nvme0n1".to_owned()),
        }),
        ..osd.clone()
    };
    let pass = |result: &TestResult, pass: u32| {
        let usual_us = result.commit_us.or(result.read_us).map_or(0.0, |us| us.p50);
        let us = usual_us * (0.96 + 0.02 * f64::from((pass + id) % 5));
        Pass { iops: 1e6 / us, p50_us: Some(us), p99_us: Some(1.5 * us) }
    };
    let named = |name: &str, osd: OsdRecord, result: TestResult| TestResult {
        test: format!("osd.{id}: {name}"),
        osd: Some(osd),
        passes: (0..PASSES).map(|number| pass(&result, number)).collect(),
        ..result
    };
    [
        named("write", written, write(SyncMethod::ODsync, latency_us, 0.0).result()),
        named("read", osd, read(250.0 + f64::from(id * 13 % 7)).result()),
    ]
}

fn parts(flush_us: f64) -> Vec<Part> {
    let part = |cause, what: &str, us, from: &str| Part {
        cause,
        what: what.to_owned(),
        us,
        from: from.to_owned(),
    };
    vec![
        part(Cause::Network, "round trip without a device", 90.0, "measured by the client"),
        part(Cause::Queue, "operation queue", 40.0, "op_w_latency - op_w_process_latency"),
        part(Cause::Flush, "data written", flush_us * 0.25, "state_aio_wait_lat"),
        part(
            Cause::Flush,
            "log written and flushed",
            flush_us * 0.75,
            "rocksdb submit_sync_latency",
        ),
        part(Cause::Cpu, "BlueStore: prepare", 60.0, "state_prepare_lat - throttle_lat"),
        part(Cause::Cpu, "completion and reply", 210.0, "op_w_process_latency - all of the above"),
    ]
}
