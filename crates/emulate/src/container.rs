//! Where a drive's data lies: in memory, or in a sparse file with a note beside it that says whose it is.
//!
//! A file that was there before and has no such note is not touched: a slip of the finger in a path must not put a filesystem over somebody's photos.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use drive::{DriveError, Occupied, SystemRoot};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::image::Image;

/// What stands in the note, `FILE.flushmark`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The model.
    pub model: String,
    /// The drive's size.
    pub capacity_bytes: u64,
}

/// Why a file cannot hold a drive.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// It is somebody's.
    #[error("`{}` exists and was not made by an emulated drive; name another file, or add --destroy-data", .0.display())]
    Foreign(PathBuf),
    /// Its drive has another size.
    #[error("`{}` holds a drive of {held_bytes} bytes ({model}), and this one has {wanted_bytes}; name another file, or add `,capacity={held_bytes}` to the model", path.display())]
    OtherSize {
        /// The file.
        path: PathBuf,
        /// Its model.
        model: String,
        /// Its drive's size.
        held_bytes: u64,
        /// The size wanted.
        wanted_bytes: u64,
    },
    /// Another process serves it.
    #[error("`{}` is in use by another emulated drive", .0.display())]
    InUse(PathBuf),
    /// The kernel uses it: a loop device, a mounted filesystem, swap.
    #[error("`{}` is in use and is never overwritten: {}; name another file", path.display(), sentence(occupied))]
    Occupied {
        /// The file.
        path: PathBuf,
        /// By what.
        occupied: Vec<Occupied>,
    },
    /// Who uses it cannot be found out.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// What stands beside it is no note of ours.
    #[error("`{}` is where an emulated drive would keep its note, and holds something else; name another file", .0.display())]
    ForeignNote(PathBuf),
    /// It is a directory, or a device.
    #[error("`{}` is no regular file", .0.display())]
    NoFile(PathBuf),
    /// The system said no.
    #[error("`{}` cannot hold a drive", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl ContainerError {
    /// Whether it was refused for safety.
    pub const fn is_refusal(&self) -> bool {
        matches!(
            self,
            ContainerError::Foreign(_)
                | ContainerError::ForeignNote(_)
                | ContainerError::InUse(_)
                | ContainerError::Occupied { .. }
        )
    }
}

fn sentence(occupied: &[Occupied]) -> String {
    occupied.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Opens or makes the file of a drive. Whether it is blank comes with it: nothing was ever written to it, or what was may be lost.
///
/// # Errors
/// When it is not ours, in use, of another size, or cannot be opened.
pub fn open(path: &Path, note: &Note, destroy_data: bool) -> Result<(Image, bool), ContainerError> {
    let system = |source| ContainerError::System { path: path.to_owned(), source };
    let beside = note_path(path);
    let held: Option<Note> = match std::fs::read(&beside) {
        Ok(bytes) => Some(serde_json::from_slice(&bytes).map_err(|_| ContainerError::ForeignNote(beside.clone()))?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(source) => return Err(ContainerError::System { path: beside, source }),
    };
    let file = match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let metadata = std::fs::metadata(path).map_err(system)?;
            if !metadata.is_file() {
                return Err(ContainerError::NoFile(path.to_owned()));
            }
            if held.is_none() && !destroy_data {
                return Err(ContainerError::Foreign(path.to_owned()));
            }
            let canonical = path.canonicalize().map_err(system)?;
            let occupied = drive::file_occupancy(&SystemRoot::default(), &canonical)?;
            if !occupied.is_empty() {
                return Err(ContainerError::Occupied { path: path.to_owned(), occupied });
            }
            OpenOptions::new().read(true).write(true).open(path).map_err(system)?
        }
        Err(error) => return Err(system(error)),
    };
    lock(&file, path)?;
    let metadata = file.metadata().map_err(system)?;
    let length = metadata.len();
    // A file of holes only, or one that may be overwritten.
    let is_blank = metadata.blocks() == 0 || (held.is_none() && destroy_data);
    match held {
        // A note of a drive that is gone, and somebody's file under its name.
        Some(held) if ![0, held.capacity_bytes].contains(&length) && !destroy_data => {
            return Err(ContainerError::Foreign(path.to_owned()));
        }
        Some(held) if length > 0 && held.capacity_bytes != note.capacity_bytes => {
            return Err(ContainerError::OtherSize {
                path: path.to_owned(),
                model: held.model,
                held_bytes: held.capacity_bytes,
                wanted_bytes: note.capacity_bytes,
            });
        }
        _ => {}
    }
    std::fs::write(&beside, serde_json::to_vec_pretty(note).unwrap_or_default())
        .map_err(|source| ContainerError::System { path: beside, source })?;
    if length != note.capacity_bytes {
        file.set_len(note.capacity_bytes).map_err(system)?;
    }
    Ok((Image::in_file(file, note.capacity_bytes), is_blank))
}

fn lock(file: &File, path: &Path) -> Result<(), ContainerError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(ContainerError::InUse(path.to_owned())),
        // Where there are no locks, nothing guards against a second process.
        _ => Ok(()),
    }
}

fn note_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".flushmark");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(capacity_bytes: u64) -> Note {
        Note { model: "consumer-nvme".to_owned(), capacity_bytes }
    }

    fn refused(result: Result<(Image, bool), ContainerError>, directory: &Path) -> String {
        result.unwrap_err().to_string().replace(directory.to_str().unwrap(), "DIR")
    }

    #[test]
    fn a_drive_goes_on_where_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drive.img");
        let (mut image, is_blank) = open(&path, &note(1 << 20), false).unwrap();
        assert!(is_blank);
        image.write(512, &[7; 512]).unwrap();
        insta::assert_snapshot!(refused(open(&path, &note(1 << 20), false), directory.path()), @"`DIR/drive.img` is in use by another emulated drive");
        drop(image);
        let (image, is_blank) = open(&path, &note(1 << 20), false).unwrap();
        assert!(!is_blank);
        let mut held = [0; 512];
        image.read(512, &mut held).unwrap();
        assert_eq!(held, [7; 512]);
        drop(image);
        insta::assert_snapshot!(refused(open(&path, &note(2 << 20), false), directory.path()), @"`DIR/drive.img` holds a drive of 1048576 bytes (consumer-nvme), and this one has 2097152; name another file, or add `,capacity=1048576` to the model");
    }

    #[test]
    fn what_is_somebodys_is_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("photos.tar");
        std::fs::write(&path, b"photos").unwrap();
        insta::assert_snapshot!(refused(open(&path, &note(1 << 20), false), directory.path()), @"`DIR/photos.tar` exists and was not made by an emulated drive; name another file, or add --destroy-data");
        assert_eq!(std::fs::read(&path).unwrap(), b"photos");
        assert!(open(&path, &note(1 << 20), true).is_ok());
        // A note that outlived its drive.
        std::fs::write(&path, b"other photos").unwrap();
        insta::assert_snapshot!(refused(open(&path, &note(1 << 20), false), directory.path()), @"`DIR/photos.tar` exists and was not made by an emulated drive; name another file, or add --destroy-data");
        assert_eq!(std::fs::read(&path).unwrap(), b"other photos");
        let letter = directory.path().join("letter");
        std::fs::write(note_path(&letter), b"Dear").unwrap();
        insta::assert_snapshot!(refused(open(&letter, &note(1 << 20), true), directory.path()), @"`DIR/letter.flushmark` is where an emulated drive would keep its note, and holds something else; name another file");
        assert!(!letter.exists());
        insta::assert_snapshot!(refused(open(directory.path(), &note(1 << 20), true), directory.path()), @"`DIR` is no regular file");
    }
}
