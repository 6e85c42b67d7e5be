//! An emulated drive's equivalent of SMART.

use std::path::Path;

use crate::serve::directory::{DRIVE, UNSAFE_SHUTDOWNS};

/// `FUSE_SUPER_MAGIC` of `linux/magic.h`.
const FUSE_MAGIC: u64 = 0x6573_5546;

/// Number of power cuts of an emulated drive; `None` if `file` does not belong to an emulated
/// drive, or if the drive does not know because its image is older than its process.
pub fn unsafe_shutdowns(file: &Path) -> Option<u64> {
    if file.file_name()? != DRIVE
        || rustix::fs::statfs(file.parent()?).ok()?.f_type as u64 != FUSE_MAGIC
    {
        return None;
    }
    std::fs::read_to_string(file.with_file_name(UNSAFE_SHUTDOWNS)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_that_name_elsewhere_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(DRIVE);
        std::fs::write(&file, "").unwrap();
        std::fs::write(file.with_file_name(UNSAFE_SHUTDOWNS), "7\n").unwrap();
        assert_eq!(unsafe_shutdowns(&file), None);
        assert_eq!(unsafe_shutdowns(Path::new("/")), None);
    }
}
