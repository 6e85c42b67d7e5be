//! Drives that `flushmark emulate` serves as a file: what their mount says about them.
//!
//! The source of the mount names the model. A file beside the drive's would say more, but only if
//! the process that serves it answers; the kernel prints the mount table at once, to every user.

use crate::Mount;

/// The filesystem type of a directory that an emulated drive serves.
pub const FILESYSTEM: &str = "fuse.flushmark";

/// The source of a mount that is not a drive of one model.
pub const SOURCE: &str = "flushmark";

/// The source of the mount of a drive of this model.
///
/// Characters that separate mount options, and those that no name of a model has, become `-`.
pub fn source(model: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let model: String =
        model.chars().map(|letter| if plain(letter) { letter } else { '-' }).collect();
    format!("{SOURCE}:{model}")
}

/// The model of the drive that is served in this mount. It is marked as emulated: such a drive is
/// as fast as its model, and must not be taken for a real one.
pub(crate) fn model(mount: &Mount) -> Option<String> {
    if mount.fs_type != FILESYSTEM {
        return None;
    }
    let (_, model) = mount.source.to_str()?.split_once(':')?;
    (!model.is_empty()).then(|| format!("{model} (emulated)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MountTable;

    fn model_of(fs_type: &str, source: &str) -> Option<String> {
        let line = format!("40 30 0:50 / /m rw - {fs_type} {source} rw\n");
        model(&MountTable::parse(line.as_bytes()).unwrap().mounts()[0])
    }

    #[test]
    fn a_mount_names_the_model_that_it_was_made_for() {
        let named = |model: &str| model_of(FILESYSTEM, &source(model));
        assert_eq!(named("enterprise-sata").unwrap(), "enterprise-sata (emulated)");
        assert_eq!(named("my drive,allow_other").unwrap(), "my-drive-allow_other (emulated)");
        assert_eq!(named(""), None);
        assert_eq!(model_of(FILESYSTEM, SOURCE), None, "several drives");
        assert_eq!(model_of("fuse.sshfs", "flushmark:x"), None);
    }
}
