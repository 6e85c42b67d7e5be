//! `flushmark cache`: the write cache of drives.

use crate::args::CacheArgs;
use crate::exit::Verdict;

/// Reads and prints.
pub fn run(args: &CacheArgs) -> anyhow::Result<Verdict> {
    let _ = args;
    todo!()
}
