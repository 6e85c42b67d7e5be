//! Times that media take. A commit that is faster than its medium was not written to it.

/// Half a rotation of the fastest disk ever sold (15 000 rpm: 4.0 ms per rotation). A durable write
/// at a random location waits half a rotation on average, even if the head never moves, so no
/// rotating disk has a median below this. At 7200 rpm half a rotation takes 4.17 ms.
pub(crate) const ROTATING_US_MIN: f64 = 2_000.0;

/// One rotation at 7200 rpm: 60 s / 7200.
pub(crate) const ROTATION_7200_RPM_US: f64 = 8_333.0;

/// The slowest commit that still indicates a protected cache.
///
/// Published commits of protected drives at 4 KiB: Kioxia CD6 27 µs, Micron 5100 40 µs, Seagate
/// Nytro 1351 55 µs, Intel 710 (SATA, 2010) 158 µs. Programming one NAND page takes at least 185 µs
/// (MLC of the Samsung 970 PRO, as modelled by NVMeVirt), 560 to 820 µs for TLC (WD ZN540; FEMU's
/// tables), and an unprotected flush writes at least one data page and usually a page of the
/// mapping table.
pub(crate) const PROTECTED_COMMIT_US_MAX: f64 = 200.0;

/// The fastest commit that indicates an unprotected cache: below the fastest published unprotected
/// flush (Crucial T500, although sold with protection: 447 µs; Samsung 980: 1.7 ms; Samsung 990 PRO:
/// 2.8 ms), above every protected one. Between the two marks, timing is inconclusive.
pub(crate) const UNPROTECTED_COMMIT_US_MIN: f64 = 350.0;
