//! `flushmark catalogue`: published measurements, and the user's own entries.

mod add;
mod own;

use catalogue::{Listed, OwnDrives};

use super::{look, print};
use crate::args::Format;
use crate::args::catalogue::{CatalogueAction, CatalogueArgs, Protected};
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
    let drives = meeting(args, args.protected, &own).map_err(WrongUse)?;
    if drives.is_empty() {
        return Err(WrongUse(
            "no drive of the catalogue meets all of these conditions; remove the name, --class or \
             --protected"
                .to_owned(),
        )
        .into());
    }
    let text = match (args.drive.as_ref(), drives.as_slice(), args.format) {
        (Some(_), [drive], Format::Text) => report::drive(*drive, &look()),
        (Some(_), [drive], Format::Json) => serde_json::to_string_pretty(drive)? + "\n",
        (_, drives, Format::Text) => {
            report::catalogue(drives, left_out_as_unknown(args, &own, drives), &look())
        }
        (_, drives, Format::Json) => serde_json::to_string_pretty(drives)? + "\n",
    };
    print(&text)?;
    Ok(if invalid.is_empty() { ExitStatus::Done } else { ExitStatus::Failed })
}

/// The number of drives of the chosen classes that `--protected` left out because nothing is known.
fn left_out_as_unknown(args: &CatalogueArgs, own: &OwnDrives, chosen: &[Listed<'_>]) -> usize {
    if !matches!(args.protected, Some(Protected::Yes | Protected::No)) {
        return 0;
    }
    let unknown = meeting(args, Some(Protected::Unknown), own).unwrap_or_default();
    let is_listed = |class| chosen.iter().any(|listed| listed.drive.class == class);
    unknown.iter().filter(|listed| is_listed(listed.drive.class)).count()
}

/// The drives that meet all conditions, with this protection.
fn meeting<'a>(
    args: &CatalogueArgs,
    protected: Option<Protected>,
    own: &'a OwnDrives,
) -> Result<Vec<Listed<'a>>, String> {
    let mut drives = own.with_published();
    if let Some(name) = &args.drive {
        drives = catalogue::search(&drives, name).map_err(|error| error.to_string())?;
    }
    drives.retain(|listed| {
        args.class.is_none_or(|class| class == listed.drive.class)
            && protected.is_none_or(|wanted| wanted.is(&listed.drive.power_loss_protection))
    });
    Ok(drives)
}
