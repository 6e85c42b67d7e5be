//! `flushmark catalogue add`: makes an entry of a measured result.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;
use catalogue::{NotOwn, OwnDrives};
use judge::EntryDetails;

use super::own;
use crate::args::catalogue::AddArgs;
use crate::commands::print;
use crate::exit::{ExitStatus, WrongUse};
use crate::selection::Results;

pub fn run(args: &AddArgs) -> anyhow::Result<ExitStatus> {
    let mut results = Results::named(std::slice::from_ref(&args.result), &args.store)?;
    let result = results.next().context("no result was selected")??;
    if results.next().is_some() {
        return Err(WrongUse(format!(
            "`{}` selects several results; expected one, since an entry is of one run",
            args.result
        ))
        .into());
    }
    let details = EntryDetails {
        name: args.name.clone(),
        label: args.label.clone(),
        vendor: args.vendor.clone(),
        class: args.class,
        capacity_gb: args.capacity_gb,
        power_loss_protection: args.power_loss_protection(),
        source: args.source.clone(),
        source_url: args.source_url.clone(),
    };
    let drive = judge::catalogue_entry(&result.document, &details)
        .map_err(|error| WrongUse(error.to_string()))?;
    let text = catalogue::to_toml(&drive);
    // It has to pass what is asked of every entry, such as a free name.
    OwnDrives::default().add(&drive.name, &text).map_err(|error| match error {
        NotOwn::Taken(_) => WrongUse(format!("{error} with --name")),
        other => WrongUse(other.to_string()),
    })?;
    let path = args.output.clone().map_or_else(|| in_own_directory(args, &drive.name), Ok)?;
    if path.exists() && !args.replace {
        return Err(WrongUse(format!(
            "{} already exists; add --replace to replace it, or choose another --name",
            path.display()
        ))
        .into());
    }
    wholefile::replace(&path, text.as_bytes(), None)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let rows = drive.rows().count();
    let rows = if rows == 1 { "1 row".to_owned() } else { format!("{rows} rows") };
    print(&format!("{}: {rows}, written to {}.\n", drive.name, path.display()))?;
    Ok(ExitStatus::Done)
}

/// The file of this name in the directory of own entries, which is created.
fn in_own_directory(args: &AddArgs, name: &str) -> anyhow::Result<PathBuf> {
    let directory = own::directory(&args.own).ok_or_else(|| {
        WrongUse(
            "no directory for the entry: neither XDG_DATA_HOME nor HOME is set; name one with \
             --catalogue, or a file with -o"
                .to_owned(),
        )
    })?;
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create the directory {}", directory.display()))?;
    Ok(directory.join(format!("{name}.toml")))
}
