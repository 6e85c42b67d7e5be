//! Storage for a drive's data: memory, or a sparse file with a metadata file beside it that
//! identifies the drive.
//!
//! An existing file without such a metadata file is never touched: a typo in a path must not
//! overwrite unrelated files with a filesystem.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use blame::Blame;
use drive::{DriveError, Occupied, SystemRoot};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::image::Image;

/// Content of the metadata file, `FILE.flushmark`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ImageMetadata {
    pub model: String,
    /// Size of the drive, in bytes.
    pub capacity_bytes: u64,
}

/// Why a file cannot store a drive.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    #[error("`{}` exists and was not created by an emulated drive: choose another file, or add \
             --destroy-data", .0.display())]
    Foreign(PathBuf),
    #[error("`{}` stores a drive of {stored_bytes} bytes ({model}), but this one has \
             {wanted_bytes}: choose another file, or add `,capacity={stored_bytes}` to the model", path.display())]
    OtherSize {
        path: PathBuf,
        /// Model of the stored drive.
        model: String,
        /// Size of the stored drive, in bytes.
        stored_bytes: u64,
        /// Size of the requested drive, in bytes.
        wanted_bytes: u64,
    },
    #[error("`{}` is in use by another emulated drive", .0.display())]
    InUse(PathBuf),
    #[error("`{}` is in use and will not be overwritten: {}; choose another file", path.display(), sentence(occupied))]
    Occupied { path: PathBuf, occupied: Vec<Occupied> },
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error("`{}` exists and is not the metadata file of an emulated drive: choose another file", .0.display())]
    ForeignMetadata(PathBuf),
    #[error("`{}` is not a regular file", .0.display())]
    NoFile(PathBuf),
    #[error("`{}` cannot store a drive", path.display())]
    System { path: PathBuf, source: io::Error },
}

impl ContainerError {
    pub const fn blame(&self) -> Blame {
        match self {
            ContainerError::Foreign(_)
            | ContainerError::ForeignMetadata(_)
            | ContainerError::InUse(_)
            | ContainerError::Occupied { .. } => Blame::Safety,
            _ => Blame::System,
        }
    }
}

fn sentence(occupied: &[Occupied]) -> String {
    occupied.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Opens or creates the file of a drive. Also returns whether the drive is blank: nothing was ever
/// written to it, or its content may be overwritten.
pub(crate) fn open(
    path: &Path,
    wanted: &ImageMetadata,
    destroy_data: bool,
) -> Result<(Image, bool), ContainerError> {
    let system = |source| ContainerError::System { path: path.to_owned(), source };
    let beside = metadata_path(path);
    let stored: Option<ImageMetadata> = match std::fs::read(&beside) {
        Ok(bytes) => Some(
            serde_json::from_slice(&bytes)
                .map_err(|_| ContainerError::ForeignMetadata(beside.clone()))?,
        ),
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
            if stored.is_none() && !destroy_data {
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
    // A file that has only holes, or may be overwritten.
    let is_blank = metadata.blocks() == 0 || (stored.is_none() && destroy_data);
    match stored {
        // The metadata file of a deleted drive, with an unrelated file under the drive's name.
        Some(stored) if ![0, stored.capacity_bytes].contains(&length) && !destroy_data => {
            return Err(ContainerError::Foreign(path.to_owned()));
        }
        Some(stored) if length > 0 && stored.capacity_bytes != wanted.capacity_bytes => {
            return Err(ContainerError::OtherSize {
                path: path.to_owned(),
                model: stored.model,
                stored_bytes: stored.capacity_bytes,
                wanted_bytes: wanted.capacity_bytes,
            });
        }
        _ => {}
    }
    std::fs::write(&beside, serde_json::to_vec_pretty(wanted).unwrap_or_default())
        .map_err(|source| ContainerError::System { path: beside, source })?;
    if length != wanted.capacity_bytes {
        file.set_len(wanted.capacity_bytes).map_err(system)?;
    }
    Ok((Image::in_file(file, wanted.capacity_bytes), is_blank))
}

fn lock(file: &File, path: &Path) -> Result<(), ContainerError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(rustix::io::Errno::WOULDBLOCK) => Err(ContainerError::InUse(path.to_owned())),
        // On filesystems without locks, nothing prevents a second process.
        _ => Ok(()),
    }
}

fn metadata_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".flushmark");
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(capacity_bytes: u64) -> ImageMetadata {
        ImageMetadata { model: "consumer-nvme".to_owned(), capacity_bytes }
    }

    fn refused(result: Result<(Image, bool), ContainerError>, directory: &Path) -> String {
        result.unwrap_err().to_string().replace(directory.to_str().unwrap(), "DIR")
    }

    #[test]
    fn a_drive_keeps_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drive.img");
        let (mut image, is_blank) = open(&path, &metadata(1 << 20), false).unwrap();
        assert!(is_blank);
        image.write(512, &[7; 512]).unwrap();
        insta::assert_snapshot!(refused(open(&path, &metadata(1 << 20), false), directory.path()), @"`DIR/drive.img` is in use by another emulated drive");
        drop(image);
        let (image, is_blank) = open(&path, &metadata(1 << 20), false).unwrap();
        assert!(!is_blank);
        let mut stored = [0; 512];
        image.read(512, &mut stored).unwrap();
        assert_eq!(stored, [7; 512]);
        drop(image);
        insta::assert_snapshot!(refused(open(&path, &metadata(2 << 20), false), directory.path()), @"`DIR/drive.img` stores a drive of 1048576 bytes (consumer-nvme), but this one has 2097152: choose another file, or add `,capacity=1048576` to the model");
    }

    #[test]
    fn foreign_files_are_not_touched() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("photos.tar");
        std::fs::write(&path, b"photos").unwrap();
        insta::assert_snapshot!(refused(open(&path, &metadata(1 << 20), false), directory.path()), @"`DIR/photos.tar` exists and was not created by an emulated drive: choose another file, or add --destroy-data");
        assert_eq!(std::fs::read(&path).unwrap(), b"photos");
        assert!(open(&path, &metadata(1 << 20), true).is_ok());
        // A metadata file that outlived its drive.
        std::fs::write(&path, b"other photos").unwrap();
        insta::assert_snapshot!(refused(open(&path, &metadata(1 << 20), false), directory.path()), @"`DIR/photos.tar` exists and was not created by an emulated drive: choose another file, or add --destroy-data");
        assert_eq!(std::fs::read(&path).unwrap(), b"other photos");
        let letter = directory.path().join("letter");
        std::fs::write(metadata_path(&letter), b"Dear").unwrap();
        insta::assert_snapshot!(refused(open(&letter, &metadata(1 << 20), true), directory.path()), @"`DIR/letter.flushmark` exists and is not the metadata file of an emulated drive: choose another file");
        assert!(!letter.exists());
        insta::assert_snapshot!(refused(open(directory.path(), &metadata(1 << 20), true), directory.path()), @"`DIR` is not a regular file");
    }
}
