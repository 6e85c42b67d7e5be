//! `flushmark explain`: shows on models how storage loses data.

use super::{look, print};
use crate::args::{ExplainArgs, Subject};
use crate::exit::ExitStatus;

/// Writes are never reordered or cached: the simplest case.
const DISK: &str = "disk-7200rpm-cache-off";

/// Runs the scenario and prints it.
pub fn run(args: &ExplainArgs) -> anyhow::Result<ExitStatus> {
    match args.subject {
        Subject::RaidWriteHole => {
            let model = catalogue::find_model(DISK)?;
            let hole = simdrive::write_hole::play(model)?;
            print(&report::write_hole_page(&hole, &model.label, &look()))?;
        }
    }
    Ok(ExitStatus::Done)
}
