//! `flushmark drives`: shows the machine's drives and their write caches.

use std::path::{Path, PathBuf};

use drive::{BlockDevice, DriveRecord, Inventory, SystemRoot, cache_switch};
use measurement::{DrivesDocument, drives_document};

use super::{look, print};
use crate::args::{DrivesArgs, Format};
use crate::exit::{self, ExitStatus, WrongUse};
use crate::write_cache::state_dir;

/// Reads and prints.
pub fn run(args: &DrivesArgs) -> anyhow::Result<ExitStatus> {
    let root = SystemRoot::new(&args.facts.system_root);
    let document = document(&root, &args.devices)?;
    deliver(&document, args.facts.format, || {
        report::drives_page(&document, !args.devices.is_empty(), &look())
    })
}

/// The same facts, for `cache status`.
pub fn cache_status(devices: &[PathBuf], format: Format) -> anyhow::Result<ExitStatus> {
    let document = document(&SystemRoot::default(), devices)?;
    deliver(&document, format, || report::cache_status_page(&document, &look()))
}

fn deliver(
    document: &DrivesDocument,
    format: Format,
    page: impl FnOnce() -> String,
) -> anyhow::Result<ExitStatus> {
    match format {
        Format::Text => print(&page())?,
        Format::Json => print(&(serde_json::to_string_pretty(document)? + "\n"))?,
    }
    Ok(ExitStatus::Done)
}

fn document(root: &SystemRoot, devices: &[PathBuf]) -> anyhow::Result<DrivesDocument> {
    let inventory = if devices.is_empty() {
        Inventory::read(root)
    } else {
        let drives = devices.iter().map(|path| named(root, path)).collect::<Result<Vec<_>, _>>()?;
        Inventory { drives, vanished: Vec::new() }
    };
    let switched = if *root == SystemRoot::default() { unlocked_records() } else { Vec::new() };
    Ok(DrivesDocument {
        schema: drives_document::SCHEMA.to_owned(),
        flushmark: env!("CARGO_PKG_VERSION").to_owned(),
        findings: judge::drives(&inventory.drives),
        drives: inventory.drives,
        vanished: inventory.vanished,
        switched,
    })
}

/// Saved cache states that no process has locked. Errors in the records are printed on stderr.
fn unlocked_records() -> Vec<cache_switch::Record> {
    let state = state_dir();
    let kept = state.records().unwrap_or_else(|error| {
        exit::complain(&error.to_string());
        Vec::new()
    });
    let mut records = Vec::new();
    for kept in kept.into_iter().filter(|kept| !kept.is_locked) {
        match kept.record {
            Ok(record) => records.push(record),
            Err(what) => exit::complain(&format!(
                "the record {} is damaged ({what}), so the drive whose write cache was switched is \
                 unknown; `flushmark cache restore` moves the record aside",
                kept.path.display()
            )),
        }
    }
    records
}

/// The drive given by its path, a link to it, its kernel name, or one of its partitions.
fn named(root: &SystemRoot, path: &Path) -> Result<DriveRecord, WrongUse> {
    let wrong = || {
        WrongUse(format!(
            "{} is not a block device; `flushmark drives` lists the available ones",
            path.display()
        ))
    };
    let number = root.device_at(path).ok_or_else(wrong)?;
    let device = BlockDevice::read(root, number).map_err(|error| WrongUse(error.to_string()))?;
    if let Some(partition) = &device.partition {
        exit::complain(&format!(
            "{} is a partition; showing its drive, /dev/{}",
            path.display(),
            partition.disk
        ));
    }
    let record = DriveRecord::read(root, number).map_err(|error| WrongUse(error.to_string()))?;
    Ok(record.with_claim(root))
}
