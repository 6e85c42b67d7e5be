//! The nearest published drives.

use drive::Transport;
use workload::SyncMethod::Fsync;

use super::AsCase as _;
use crate::nearest::nearest;
use samples::machine::{on, write};
use samples::place::drive;

#[test]
fn any_small_commit_has_neighbours() {
    for sync in workload::SyncMethod::ALL.into_iter().filter(|sync| sync.is_durable()) {
        for block_bytes in [512, 4096, 16384] {
            let machine = on("ext4", "rw", drive("sda", Transport::Sata))
                .measure([write(sync, 100.0, 900.0).block(block_bytes)]);
            let near = nearest(&machine.case(), 3);
            assert_eq!(near.len(), 3, "{sync:?} {block_bytes}");
            assert!(near.iter().all(|near| near.factor >= 1.0 && !near.compared.is_empty()));
        }
    }
}

#[test]
fn a_published_drive_is_nearest_to_itself() {
    // Micron's two settings count as two drives: 671 and 25,100 commits/s.
    for (commit_us, setting) in
        [(1e6 / 671.0, catalogue::WriteCache::On), (1e6 / 25_100.0, catalogue::WriteCache::Off)]
    {
        let machine = on("xfs", "rw", drive("sda", Transport::Sata)).measure([write(
            Fsync,
            1.0,
            commit_us - 1.0,
        )]);
        let near = nearest(&machine.case(), 20);
        let micron = near.iter().find(|near| near.drive.name == "micron-5100-eco-960gb").unwrap();
        assert_eq!(micron.write_cache, setting);
        assert!(micron.factor < 1.02, "{}", micron.factor);
        let names: std::collections::BTreeSet<_> =
            near.iter().map(|near| &near.drive.name).collect();
        assert_eq!(names.len(), near.len());
    }
}
