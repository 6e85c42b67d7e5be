//! A journal must not lie on the drive that is tested: it would lose its memory together with what it remembers.

use std::path::Path;

use drive::{NoBlockDevice, Place, PlaceKind, SystemRoot};

use crate::drive_facts::DriveFacts;
use crate::error::VerifyError;
use crate::target::WriteTarget;

/// What speaks against the place of a journal and does not forbid it, in one sentence.
pub fn journal_caveat(root: &SystemRoot, path: &Path) -> Option<String> {
    let place = Place::of(root, path).ok()?;
    let path = path.display();
    match place.no_block_device()? {
        NoBlockDevice::Memory { .. } => Some(format!(
            "the journal {path} lies in memory: it survives a cut of the drive's power, but not of this machine's"
        )),
        NoBlockDevice::Network { .. } => None,
        unknown => Some(format!(
            "nobody can say on which drive the journal {path} lies ({unknown}): make sure that it is not the one that is tested"
        )),
    }
}

/// Says on which disks a journal lies, so that it is not put on the one that is tested.
///
/// # Errors
/// When it would lie on a disk of the target, or its place cannot be looked at.
pub fn expect_apart(root: &SystemRoot, target: &WriteTarget, journal: &Path) -> Result<(), VerifyError> {
    let place = place_of(root, journal)?;
    let no_disks = expect_on_other_disks(root, &place, journal, &target.facts.disks)?;
    // Without block devices (a network, memory), one filesystem is one drive.
    if no_disks && target.place.kind != PlaceKind::BlockDevice && place.device == target.place.device {
        let device = "the same filesystem".to_owned();
        return Err(VerifyError::JournalOnTarget { path: journal.to_owned(), device });
    }
    Ok(())
}

/// The same for a recorder, which knows the target's disks by their names alone, and that they are of its own machine.
///
/// # Errors
/// As [`expect_apart`].
pub fn expect_on_none_of(root: &SystemRoot, journal: &Path, disks: &[String]) -> Result<(), VerifyError> {
    expect_on_other_disks(root, &place_of(root, journal)?, journal, disks).map(drop)
}

fn place_of(root: &SystemRoot, journal: &Path) -> Result<Place, VerifyError> {
    let parent = journal.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(Place::of(root, if journal.exists() { journal } else { parent })?)
}

/// Says whether the journal lies on no disk at all.
fn expect_on_other_disks(
    root: &SystemRoot,
    place: &Place,
    journal: &Path,
    disks: &[String],
) -> Result<bool, VerifyError> {
    let own = DriveFacts::of(root, place).disks;
    match own.iter().find(|disk| disks.contains(disk)) {
        Some(disk) => Err(VerifyError::JournalOnTarget { path: journal.to_owned(), device: format!("/dev/{disk}") }),
        None => Ok(own.is_empty()),
    }
}
