//! The write-cache matrix of the Ceph performance wiki, under the present setting.

use measurement::TestResult;
use workload::SyncMethod;

use super::size;
use crate::columns::{Cell, Column, Columns};
use crate::look::Look;
use crate::number::{rate, throughput};

/// From this block size on people read throughput, not operations.
const LARGE_BYTES: u64 = 1 << 20;

/// Rows by pattern, size and depth; a column for each sync method.
pub(super) fn table(results: &[TestResult], look: &Look) -> String {
    let key = |result: &TestResult| (result.workload.pattern, result.workload.block_bytes, result.workload.depth);
    let mut keys = Vec::new();
    for result in results {
        if !keys.contains(&key(result)) {
            keys.push(key(result));
        }
    }
    let methods = [SyncMethod::None, SyncMethod::Fsync, SyncMethod::OSync];
    let mut columns = vec![Column::left("test"), Column::left("unit")];
    columns.extend(methods.map(|method| Column::right(method.name())));
    let mut table = Columns::new(columns);
    for wanted in keys {
        let of_row: Vec<&TestResult> = results.iter().filter(|result| key(result) == wanted).collect();
        let Some(first) = of_row.first() else { continue };
        let large = first.workload.block_bytes >= LARGE_BYTES;
        let pattern = first.workload.pattern.map_or("steps", workload::Pattern::name);
        let mut cells = vec![
            Cell::from(format!("{pattern} {}, depth {}", size(first), first.workload.depth)),
            Cell::from(if large { "MiB/s" } else { "IOPS" }),
        ];
        for method in methods {
            let result = of_row.iter().find(|result| result.workload.sync == Some(method));
            cells.push(Cell::maybe(
                result,
                |result| if large { throughput(result.mib_per_s) } else { rate(result.iops) },
            ));
        }
        table.row(cells);
    }
    table.render(look)
}

#[cfg(test)]
mod golden {
    use super::*;
    use crate::samples;

    #[test]
    fn the_matrix() {
        insta::assert_snapshot!(table(&samples::suite("write-cache", 15.0, 1700.0), &Look::plain()), @"
        test                        unit        none  fsync  o_sync
        write 4 KiB, depth 1        IOPS      66,667    487     449
        write 4 KiB, depth 128      IOPS   3,233,529    487  21,799
        randwrite 4 KiB, depth 1    IOPS      66,667    487     449
        randwrite 4 KiB, depth 128  IOPS   3,233,529    487  21,799
        write 4 MiB, depth 32       MiB/s      8,325    411   6,466
        ");
    }
}
