//! Commits of the drives under OSDs, from kept results of the same drives.

use std::collections::BTreeMap;

use ceph::OsdFacts;
use measurement::{DriveCommit, DriveCommitOrigin, RunDocument};
use store::{Filter, Store, StoreError};

use crate::args::store::KeepArgs;
use crate::keeping;

/// The commits of the OSDs' drives, by the id of the OSD.
pub type Commits = BTreeMap<u32, DriveCommit>;

/// Looks for the newest result of each drive with a serial number. If the store cannot
/// be read, the measurement continues without them.
pub fn of(osds: &[&OsdFacts], keep: &KeepArgs) -> Commits {
    let Some(mut store) = keeping::existing_store(keep) else { return Commits::new() };
    let of_osd = |osd: &&OsdFacts| {
        let [drive] = osd.log_device().drives.as_slice() else { return None };
        let found = newest(&mut store, drive.serial.as_deref()?).ok()?;
        Some((osd.id, found?))
    };
    osds.iter().filter_map(of_osd).collect()
}

fn newest(store: &mut Store, serial: &str) -> Result<Option<DriveCommit>, StoreError> {
    let filter = Filter { drive: Some(serial.to_owned()), ..Filter::default() };
    for run in store.ids(&filter)? {
        if let Some(commit) = commit(&store.get(run)?.document) {
            return Ok(Some(commit));
        }
    }
    Ok(None)
}

/// The mean of the first test with small commits, one after the other.
fn commit(document: &RunDocument) -> Option<DriveCommit> {
    let alone = document.results.iter().find(|result| {
        let workload = &result.workload;
        let small = workload.block_bytes <= 16 << 10 && workload.rate.is_none();
        small && workload.depth == 1 && workload.jobs == 1 && result.commit_us.is_some()
    })?;
    Some(DriveCommit {
        us: alone.commit_us?.mean,
        from: DriveCommitOrigin::Kept(document.started_at.clone()),
    })
}
