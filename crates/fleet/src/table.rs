//! The cost of a sync after small and large writes, host by host: the table of "SSDs, power loss
//! protection and fsync latency" (Small Datum, January 2026).

use measurement::{RunDocument, TestResult};
use schemars::JsonSchema;
use serde::Serialize;
use workload::{Pattern, SyncMethod};

/// `InnoDB`'s page size, and the size of its doublewrite buffer.
const BLOCKS: [u64; 2] = [16 << 10, 2 << 20];
const METHODS: [SyncMethod; 2] = [SyncMethod::Fsync, SyncMethod::Fdatasync];

/// A filesystem of a host, or a drive without one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Place {
    pub host: String,
    /// The drive's model, or the target if that is unknown.
    pub drive: String,
    /// `null` for a block device.
    pub filesystem: Option<String>,
}

/// A sync after a write of this size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TableRow {
    pub sync: SyncMethod,
    pub block_bytes: u64,
    /// The mean latency of the sync in each place, in microseconds; `null` where it was not measured.
    pub sync_us: Vec<Option<f64>>,
}

/// Sync latencies of one job, side by side.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// By host, drive and filesystem.
    pub places: Vec<Place>,
    /// Fsync and fdatasync after 16 KiB, then after 2 MiB.
    pub rows: Vec<TableRow>,
}

/// The table of these runs. Of several runs of one place, the first that measured a row counts.
pub fn table<'a>(runs: impl IntoIterator<Item = (Place, &'a RunDocument)>) -> Table {
    let mut runs: Vec<(Place, &RunDocument)> = runs
        .into_iter()
        .filter(|(_, document)| {
            rows().any(|(sync, block)| mean(&document.results, sync, block).is_some())
        })
        .collect();
    // Stable: the runs of a place stay in their order.
    runs.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut places: Vec<Place> = runs.iter().map(|(place, _)| place.clone()).collect();
    places.dedup();
    let rows = rows()
        .map(|(sync, block_bytes)| {
            let measured = |place: &Place| {
                let of_place = runs.iter().filter(|(own, _)| own == place);
                of_place.into_iter().find_map(|(_, run)| mean(&run.results, sync, block_bytes))
            };
            TableRow { sync, block_bytes, sync_us: places.iter().map(measured).collect() }
        })
        .collect();
    Table { places, rows }
}

fn rows() -> impl Iterator<Item = (SyncMethod, u64)> {
    BLOCKS.into_iter().flat_map(|block| METHODS.map(|method| (method, block)))
}

/// The mean over all repetitions.
fn mean(results: &[TestResult], sync: SyncMethod, block_bytes: u64) -> Option<f64> {
    let is_meant = |result: &&TestResult| {
        let workload = &result.workload;
        workload.block_bytes == block_bytes
            && workload.sync == Some(sync)
            && (workload.sync_every, workload.jobs, workload.depth) == (1, 1, 1)
            && matches!(workload.pattern, Some(Pattern::Write | Pattern::RandWrite))
    };
    let means: Vec<f64> = results
        .iter()
        .filter(is_meant)
        .filter_map(|result| result.sync_us.map(|us| us.mean))
        .collect();
    (!means.is_empty()).then(|| means.iter().sum::<f64>() / means.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(host: &str, filesystem: &str) -> Place {
        Place {
            host: host.to_owned(),
            drive: "PM9A3".to_owned(),
            filesystem: Some(filesystem.to_owned()),
        }
    }

    #[test]
    fn filesystems_of_a_host_stand_side_by_side() {
        let study =
            |flush_us: f64| samples::document(samples::suite("fsync-study", 15.0, flush_us));
        let (ext4, xfs, newer) = (study(740.0), study(640.0), study(100.0));
        let nothing = samples::document(Vec::new());
        let table = table([
            (place("b", "xfs"), &xfs),
            (place("b", "ext4"), &ext4),
            (place("a", "ext4"), &newer),
            (place("a", "ext4"), &ext4),
            (place("c", "ext4"), &nothing),
        ]);
        assert_eq!(table.places, [place("a", "ext4"), place("b", "ext4"), place("b", "xfs")]);
        assert_eq!(table.rows.len(), 4);
        let [a, ext4, xfs] = table.rows[0].sync_us[..] else { panic!("{table:?}") };
        assert!(a < xfs && xfs < ext4, "{table:?}");
        assert_eq!(
            (table.rows[3].sync, table.rows[3].block_bytes),
            (SyncMethod::Fdatasync, 2 << 20)
        );
    }
}
