//! `flushmark catalogue`: published measurements.

use super::{look, print};
use crate::args::{CatalogueArgs, Format};
use crate::exit::{ExitStatus, WrongUse};

/// Lists the drives, or prints the rows of one.
pub fn run(args: &CatalogueArgs) -> anyhow::Result<ExitStatus> {
    let drives = catalogue::drives();
    let text = match (&args.drive, args.format) {
        (None, Format::Text) => report::catalogue(drives, &look()),
        (None, Format::Json) => serde_json::to_string_pretty(drives)? + "\n",
        (Some(name), format) => {
            let drive = catalogue::find(name).map_err(|error| WrongUse(error.to_string()))?;
            match format {
                Format::Text => report::drive(drive, &look()),
                Format::Json => serde_json::to_string_pretty(drive)? + "\n",
            }
        }
    };
    print(&text)?;
    Ok(ExitStatus::Done)
}
