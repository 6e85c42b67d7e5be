//! The source that this program was built from, as `build.rs` found it.

/// The day of the commit, YYYY-MM-DD; empty if it was not recorded.
pub const DATE: &str = env!("FLUSHMARK_BUILD_DATE");

/// For `--version`; `-V` prints the first line.
pub const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\ncommit: ",
    env!("FLUSHMARK_BUILD_COMMIT"),
    "\ntarget: ",
    env!("FLUSHMARK_BUILD_TARGET"),
    "\ncompiler: ",
    env!("FLUSHMARK_BUILD_COMPILER"),
);
