//! The times that media need. A commit that is faster than its medium was not written to that medium.

/// Half a turn of the fastest disk ever sold (15 000 rpm: 4.0 ms a turn). A durable write at a random place waits for half a
/// turn on average, even if the head never has to move, so that no rotating disk has a median below this; at 7200 rpm half a turn is
/// 4.17 ms.
pub(crate) const ROTATING_LEAST_US: f64 = 2_000.0;

/// One turn at 7200 rpm: 60 s / 7200.
pub(crate) const TURN_7200_RPM_US: f64 = 8_333.0;

/// The slowest commit that still speaks for a cache that needs no writing out.
///
/// Published commits of protected drives at 4 KiB: Kioxia CD6 27 µs, Micron 5100 40 µs, Seagate Nytro 1351 55 µs, Intel 710
/// (SATA, 2010) 158 µs. Programming one NAND page takes 185 µs at the very fastest (MLC of the Samsung 970 PRO, as modelled by
/// NVMeVirt), 560 to 820 µs for TLC (WD ZN540; FEMU's tables), and a flush without protection writes at least one data page and mostly
/// a page of the mapping table.
pub(crate) const PROTECTED_COMMIT_MOST_US: f64 = 200.0;

/// The fastest commit that speaks against a protected cache: below the fastest published unprotected flush (Crucial T500: 447 µs;
/// Samsung 980: 1.7 ms; Samsung 990 PRO: 2.8 ms), above every protected one. Between the two marks timing says nothing.
pub(crate) const UNPROTECTED_COMMIT_LEAST_US: f64 = 350.0;
