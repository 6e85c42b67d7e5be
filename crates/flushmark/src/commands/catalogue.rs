//! `flushmark catalogue`: published measurements.

use catalogue::Drive;

use super::{look, print};
use crate::args::{CatalogueArgs, Format};
use crate::exit::{ExitStatus, WrongUse};

/// Lists drives, or prints the rows of one.
pub fn run(args: &CatalogueArgs) -> anyhow::Result<ExitStatus> {
    let drives = chosen(args).map_err(WrongUse)?;
    let text = match (args.drive.as_ref(), drives.as_slice(), args.format) {
        (Some(_), [drive], Format::Text) => report::drive(drive, &look()),
        (Some(_), [drive], Format::Json) => serde_json::to_string_pretty(drive)? + "\n",
        (_, drives, Format::Text) => report::catalogue(drives, &look()),
        (_, drives, Format::Json) => serde_json::to_string_pretty(drives)? + "\n",
    };
    print(&text)?;
    Ok(ExitStatus::Done)
}

/// The drives that meet all conditions: at least one.
fn chosen(args: &CatalogueArgs) -> Result<Vec<&'static Drive>, String> {
    let mut drives: Vec<&'static Drive> = match &args.drive {
        Some(name) => catalogue::search(name).map_err(|error| error.to_string())?,
        None => catalogue::drives().iter().collect(),
    };
    drives.retain(|drive| {
        args.class.is_none_or(|class| class == drive.class)
            && args.protected.is_none_or(|wanted| wanted.is(&drive.power_loss_protection))
    });
    if drives.is_empty() {
        return Err("no drive of the catalogue meets all of these conditions; \
                    remove the name, --class or --protected"
            .to_owned());
    }
    Ok(drives)
}
