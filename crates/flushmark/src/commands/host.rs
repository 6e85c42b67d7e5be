//! `flushmark host`: what of the host slows commits.

use crate::args::HostArgs;
use crate::exit::Verdict;

/// Reads and prints.
pub fn run(args: &HostArgs) -> anyhow::Result<Verdict> {
    let _ = args;
    todo!()
}
