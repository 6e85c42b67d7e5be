//! Processors for Ceph's OSDs: the Ceph performance wiki, section on processors.

use drive::HostFacts;
use measurement::AuditLine;

use super::line::{advised, costs, good};

/// An OSD with fewer cores than this waits for them under load.
const CORES_PER_OSD_MIN: f64 = 4.0;

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    let (Some(osds), Some(cpus)) = (host.ceph_osds, host.logical_cpus) else { return Vec::new() };
    let cores = if host.cpu.smt_active == Some(true) { cpus / 2 } else { cpus };
    let each = f64::from(cores) / f64::from(osds);
    let found = format!("{osds} OSDs on {cores} cores: {each:.1} cores per OSD");
    vec![if each < CORES_PER_OSD_MIN {
        advised(
            costs(
                "ceph-cores",
                "Ceph OSDs",
                found,
                "An OSD uses up to 6 cores under load. With fewer than 4, its commits wait for a \
                 processor.",
            ),
            "Run fewer OSDs on this host. When you choose processors, frequency comes before the \
             number of cores: a single thread serialises the commits of an OSD.",
        )
    } else {
        good("ceph-cores", "Ceph OSDs", found, "An OSD uses up to 6 cores under load.")
    }]
}
