//! `flushmark catalogue`: published measurements, and the user's own entries.

mod add;
mod own;

use catalogue::{Listed, OwnDrives};

use super::{look, print};
use crate::args::Format;
use crate::args::catalogue::{CatalogueAction, CatalogueArgs};
use crate::exit::{self, ExitStatus, WrongUse};

pub fn run(args: &CatalogueArgs) -> anyhow::Result<ExitStatus> {
    match &args.action {
        Some(CatalogueAction::Add(add)) => add::run(add),
        None => list(args),
    }
}

/// Lists drives, or prints the rows of one.
fn list(args: &CatalogueArgs) -> anyhow::Result<ExitStatus> {
    let (own, invalid) = own::read(&args.own)?;
    for file in &invalid {
        exit::complain(file);
    }
    let drives = chosen(args, &own).map_err(WrongUse)?;
    let text = match (args.drive.as_ref(), drives.as_slice(), args.format) {
        (Some(_), [drive], Format::Text) => report::drive(*drive, &look()),
        (Some(_), [drive], Format::Json) => serde_json::to_string_pretty(drive)? + "\n",
        (_, drives, Format::Text) => report::catalogue(drives, &look()),
        (_, drives, Format::Json) => serde_json::to_string_pretty(drives)? + "\n",
    };
    print(&text)?;
    Ok(if invalid.is_empty() { ExitStatus::Done } else { ExitStatus::Failed })
}

/// The drives that meet all conditions: at least one.
fn chosen<'a>(args: &CatalogueArgs, own: &'a OwnDrives) -> Result<Vec<Listed<'a>>, String> {
    let mut drives = own.with_published();
    if let Some(name) = &args.drive {
        drives = catalogue::search(&drives, name).map_err(|error| error.to_string())?;
    }
    drives.retain(|listed| {
        args.class.is_none_or(|class| class == listed.drive.class)
            && args.protected.is_none_or(|wanted| wanted.is(&listed.drive.power_loss_protection))
    });
    if drives.is_empty() {
        return Err("no drive of the catalogue meets all of these conditions; \
                    remove the name, --class or --protected"
            .to_owned());
    }
    Ok(drives)
}
