//! The storage that a run may need.

use std::time::Duration;

use super::step::Step;

/// A row with its entries in four indexes. After the creation of the indexes, PostgreSQL 15 has 203
/// bytes and MariaDB 10.11 173. Pages that split in random order are two thirds full, and rows that
/// were deleted but not yet removed take their space too.
const ROW_BYTES: u64 = 400;
/// The log of a row that is inserted and later deleted, with the pages that PostgreSQL logs whole:
/// 2142 bytes for the insert alone, after a checkpoint.
const ROW_LOG_BYTES: u64 = 4000;
/// PostgreSQL recycles its log beyond max_wal_size (1 GiB), and InnoDB writes in a circle.
const LOG_BYTES_MAX: u64 = 2 << 30;
/// Space for new files, temporary files of index creation, and other files of the server.
const BYTES_MIN: u64 = 256 << 20;

/// Bytes that a run may write at most, each client loading this many rows.
pub fn bytes_needed(steps: &[Step], clients: u32, rows_loaded: u64, time: Duration) -> u64 {
    let rows = |step: &Step| match step {
        Step::Queries { rate, .. } => u64::from(rate.get()) * time.as_secs().max(1),
        step => {
            let inserts = step.inserts(rows_loaded).unwrap_or_default();
            inserts * u64::from(step.rows_per_commit())
        }
    };
    let rows = steps.iter().map(rows).fold(0, u64::saturating_add);
    let rows = rows.saturating_mul(u64::from(clients));
    let log = rows.saturating_mul(ROW_LOG_BYTES).min(LOG_BYTES_MAX);
    rows.saturating_mul(ROW_BYTES).saturating_add(log).saturating_add(BYTES_MIN)
}

#[cfg(test)]
mod tests {
    use super::super::step::usual_steps;
    use super::*;

    #[test]
    fn estimates() {
        let steps = usual_steps();
        let gib = |rows, clients, s| {
            bytes_needed(&steps, clients, rows, Duration::from_secs(s)) as f64 / f64::from(1 << 30)
        };
        assert!((0.3..0.6).contains(&gib(10_000, 1, 3)), "{}", gib(10_000, 1, 3));
        assert!((3.0..3.4).contains(&gib(1_000_000, 1, 60)), "{}", gib(1_000_000, 1, 60));
        // Forty times the rows; the log does not grow any more.
        assert!((34.0..36.0).contains(&gib(1_000_000, 40, 60)), "{}", gib(1_000_000, 40, 60));
        assert_eq!(bytes_needed(&steps, 1000, u64::MAX / 8, Duration::ZERO), u64::MAX);
    }
}
