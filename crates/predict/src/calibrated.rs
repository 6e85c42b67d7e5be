//! A calibration, for tests.

use samples::machine::write;
use workload::SyncMethod;

use crate::calibration::Calibration;
use crate::storage::Storage;

/// Storage whose commits of a page take this long.
pub(crate) fn storage(commit_us: f64) -> Storage {
    let of = |bytes: u64, us: f64| {
        let mut result = write(SyncMethod::Fdatasync, us, 0.0).result();
        result.workload.block_bytes = bytes;
        result
    };
    Storage::of(&[of(8192, commit_us), of(131_072, commit_us + 100.0)])
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A PostgreSQL on a drive with commits of 500 µs, with two processors.
pub(crate) fn calibration() -> Calibration {
    Calibration::of(&samples::server_commits()).unwrap_or_else(|error| panic!("{error}"))
}
