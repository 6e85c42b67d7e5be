//! `flushmark drives`: what the drives are.

use crate::args::DrivesArgs;
use crate::exit::Verdict;

/// Reads and prints.
pub fn run(args: &DrivesArgs) -> anyhow::Result<Verdict> {
    let _ = args;
    todo!()
}
