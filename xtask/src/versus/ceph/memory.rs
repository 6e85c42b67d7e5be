//! The memory that a client needs for many OSDs.
//!
//! For each OSD there are a connection of librados, a thread, handles, names, and results. So the
//! OSDs are real ones, which keep objects in memory instead of BlueStore: that is not the client's
//! concern, and dozens of them fit on one machine.

use super::clients::Client;
use super::{Compared, Wanted};
use crate::rig::ceph::cluster::{Cluster, Storage};
use crate::rig::ceph::place::Place;

pub const ROW: &str = "memory, 100 OSDs";
const WANTED_OSDS: f64 = 100.0;
const LIMIT_MIB: f64 = 100.0;
const SECONDS: u32 = 2;

/// Measures both clients with half of the OSDs and with all of them.
pub fn compare(clients: [Client<'_>; 2], osds: u32) -> anyhow::Result<Compared> {
    eprintln!("{ROW}");
    let cluster = Cluster::start(Storage::Objects { osds: osds as usize })?;
    let place = Place::new(&cluster, "memory", 1)?;
    let all: Vec<u32> = (0..osds).collect();
    let mut figures = [0.0; 2];
    for (client, figure) in clients.iter().zip(&mut figures) {
        let mib = |osds: &[u32]| -> anyhow::Result<f64> {
            Ok(client.peak_bytes(&place, osds, SECONDS)? as f64 / f64::from(1 << 20))
        };
        let half = &all[..all.len() / 2];
        let (some, more) = ((half.len() as f64, mib(half)?), (all.len() as f64, mib(&all)?));
        *figure = extrapolated(some, more, WANTED_OSDS);
        eprintln!("  {:.1} MiB with {} OSDs, {:.1} with {}", some.1, some.0, more.1, more.0);
    }
    Ok(Compared {
        row: ROW.to_owned(),
        what: "MiB".to_owned(),
        ours: figures[0],
        theirs: figures[1],
        wanted: Wanted::Below(LIMIT_MIB),
    })
}

/// The value at `at` of the line through two points.
fn extrapolated(one: (f64, f64), other: (f64, f64), at: f64) -> f64 {
    other.1 + (other.1 - one.1) / (other.0 - one.0) * (at - other.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_through_two_points() {
        assert!((extrapolated((6.0, 20.0), (12.0, 26.0), 100.0) - 114.0).abs() < 1e-9);
        assert!((extrapolated((50.0, 20.0), (100.0, 26.0), 100.0) - 26.0).abs() < 1e-9);
    }
}
