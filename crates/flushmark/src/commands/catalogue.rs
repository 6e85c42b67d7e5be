//! `flushmark catalogue`: what others measured.

use super::{look, print};
use crate::args::{CatalogueArgs, Format};
use crate::exit::{Verdict, WrongUse};

/// Lists the drives, or prints the rows of one.
///
/// # Errors
/// When there is no drive of that name.
pub fn run(args: &CatalogueArgs) -> anyhow::Result<Verdict> {
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
    Ok(Verdict::Done)
}
