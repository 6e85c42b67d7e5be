//! Keeps the journal off the drive under test: a journal there would be lost together with the data
//! that it vouches for.

use std::path::Path;

use drive::{NoBlockDevice, Place, PlaceKind, SystemRoot};

use crate::drive_facts::DriveFacts;
use crate::error::VerifyError;
use crate::target::WriteTarget;

/// A warning about the journal's location that does not forbid it.
pub fn journal_caveat(root: &SystemRoot, path: &Path) -> Option<String> {
    let place = Place::of(root, path).ok()?;
    let path = path.display();
    match place.no_block_device()? {
        NoBlockDevice::Memory { .. } => Some(format!(
            "the journal {path} is in memory: it survives a power cut of the drive, but not of \
             this machine"
        )),
        NoBlockDevice::Network { .. } => None,
        unknown => Some(format!(
            "cannot find out which drive holds the journal {path} ({unknown}); make sure that it \
             is not the drive under test"
        )),
    }
}

/// Refuses a journal on a drive under test.
pub fn expect_other_drive(
    root: &SystemRoot,
    target: &WriteTarget,
    journal: &Path,
) -> Result<(), VerifyError> {
    let place = place_of(root, journal)?;
    let no_disks = expect_on_other_disks(root, &place, journal, &target.facts.disks)?;
    // Without block devices (a network, memory), one filesystem counts as one drive.
    if no_disks
        && target.place.kind != PlaceKind::BlockDevice
        && place.device == target.place.device
    {
        let device = "the same filesystem".to_owned();
        return Err(VerifyError::JournalOnTarget { path: journal.to_owned(), device });
    }
    Ok(())
}

/// The same for a recorder, which only knows the names of the target's disks and that they are on
/// its own machine.
pub fn expect_on_none_of(
    root: &SystemRoot,
    journal: &Path,
    disks: &[String],
) -> Result<(), VerifyError> {
    expect_on_other_disks(root, &place_of(root, journal)?, journal, disks).map(drop)
}

fn place_of(root: &SystemRoot, journal: &Path) -> Result<Place, VerifyError> {
    let parent =
        journal.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(Place::of(root, if journal.exists() { journal } else { parent })?)
}

/// Refuses a journal on one of these disks. Returns whether it is on no disk at all.
fn expect_on_other_disks(
    root: &SystemRoot,
    place: &Place,
    journal: &Path,
    disks: &[String],
) -> Result<bool, VerifyError> {
    let own = DriveFacts::of(root, place).disks;
    match own.iter().find(|disk| disks.contains(disk)) {
        Some(disk) => Err(VerifyError::JournalOnTarget {
            path: journal.to_owned(),
            device: format!("/dev/{disk}"),
        }),
        None => Ok(own.is_empty()),
    }
}
