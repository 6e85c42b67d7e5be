//! A new file that takes the name of the old one.

use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;

use rustix::fs::{Stat, fstat};
use rustix::io::Errno;
use xattr::FileExt as _;

use crate::entry::Entry;
use crate::replacement::Durable;
use crate::unnamed::{NEW, PRIVATE, TemporaryName, link, nameless};

/// A file in the target's directory that has no name until it is complete, so nothing is left
/// behind however the program ends. On filesystems without such files (NFS), it has a temporary
/// name.
#[derive(Debug)]
pub(crate) struct Beside {
    pub(crate) file: File,
    pub(crate) name: Option<TemporaryName>,
    pub(crate) entry: Entry,
    pub(crate) mode: Option<u32>,
}

impl Beside {
    pub(crate) fn of_new(entry: Entry, mode: Option<u32>) -> Result<Self, Errno> {
        let (file, name) = nameless(&entry.directory, mode.map_or(NEW, |_| PRIVATE))?;
        Ok(Self { file, name, entry, mode })
    }

    /// `None` if the new file cannot get the owner and attributes of the old one.
    pub(crate) fn made_alike(
        entry: &Entry,
        old: &File,
        found: &Stat,
    ) -> Result<Option<(File, Option<TemporaryName>)>, Errno> {
        let (file, name) = nameless(&entry.directory, PRIVATE)?;
        let is_alike = owned_alike(&file, found) && attributed_alike(&file, old);
        Ok(is_alike.then_some((file, name)))
    }

    pub(crate) fn finish(self, durable: Durable) -> io::Result<()> {
        let Self { file, name, entry, mode } = self;
        // Set here and not at creation, where the umask would apply.
        if let Some(mode) = mode {
            file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
        }
        // Sync first: a rename can become durable before the file's content.
        durable.sync(&file)?;
        let name = if let Some(name) = name {
            name
        } else {
            let (name, ()) =
                TemporaryName::make(&entry.directory, |name| link(&file, &entry.directory, name))?;
            // For Btrfs and ZFS, where fsync of a file without a name does not make it durable;
            // other filesystems have nothing left to write.
            durable.sync(&file)?;
            name
        };
        name.rename(&entry.name)?;
        match durable {
            Durable::WhenFinished => entry.sync(),
            Durable::Eventually => Ok(()),
        }
    }
}

/// Gives the new file the owner and group of the old one, so that a user's file stays theirs when
/// root writes it. Returns whether it has them.
fn owned_alike(file: &File, found: &Stat) -> bool {
    let wanted = (found.st_uid, found.st_gid);
    fstat(file).is_ok_and(|own| (own.st_uid, own.st_gid) == wanted)
        || std::os::unix::fs::fchown(file, Some(wanted.0), Some(wanted.1)).is_ok()
}

/// Gives the new file the extended attributes of the old one, which include access control lists.
/// Returns whether it has them.
fn attributed_alike(file: &File, old: &File) -> bool {
    // An error means that the filesystem has no extended attributes.
    let Ok(names) = old.list_xattr() else { return true };
    names.into_iter().all(|name| {
        let Ok(Some(value)) = old.get_xattr(&name) else { return false };
        file.get_xattr(&name).is_ok_and(|own| own.as_ref() == Some(&value))
            || file.set_xattr(&name, &value).is_ok()
    })
}
