//! `flushmark explain`: what goes wrong in storage, played through on models.

use super::{look, print};
use crate::args::{ExplainArgs, Subject};
use crate::exit::Verdict;

/// Disks that write where their heads are, one after the other, and keep nothing back: the plainest case.
const DISK: &str = "disk-7200rpm-cache-off";

/// Plays and prints.
///
/// # Errors
/// When the model is not there, which a test rules out.
pub fn run(args: &ExplainArgs) -> anyhow::Result<Verdict> {
    match args.subject {
        Subject::RaidWriteHole => {
            let model = catalogue::find_model(DISK)?;
            let hole = simdrive::write_hole::play(model)?;
            print(&report::write_hole_page(&hole, &model.label, &look()))?;
        }
    }
    Ok(Verdict::Done)
}
