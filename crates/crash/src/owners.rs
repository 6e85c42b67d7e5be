//! Finds the owner of a lost write: a file, or the filesystem itself.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use emulate::Filesystem;

/// Number of files per call of `filefrag`.
const FILES_AT_ONCE: usize = 200;
/// With more files than this, owners are not determined.
const FILES_MAX: usize = 20_000;

/// The owners of ranges of a drive: start and end in bytes, and a name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Owners {
    ranges: BTreeMap<u64, (u64, String)>,
}

impl Owners {
    /// The owners in a mounted filesystem, from `filefrag` (FIEMAP), and of ext4's journal, from
    /// `debugfs`. Other ranges have no owner. `None` without `filefrag`.
    pub(crate) fn of(directory: &Path, device: &Path, filesystem: Filesystem) -> Option<Owners> {
        let mut owners = Owners::default();
        // The PATH of ordinary users lacks these directories.
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        let mut files = Vec::new();
        walk(directory, &mut files);
        for files in files.chunks(FILES_AT_ONCE) {
            // A file that cannot be queried is reported on stderr, and skipped.
            let output = Command::new("filefrag")
                .args(["-b1", "-e", "-v", "--"])
                .args(files)
                .env("PATH", &path)
                .output();
            owners.add_filefrag(&String::from_utf8_lossy(&output.ok()?.stdout), directory);
        }
        if filesystem == Filesystem::Ext4 {
            owners.ranges.entry(0).or_insert_with(|| (2048, "the superblock".to_owned()));
            let output = Command::new("debugfs")
                .args(["-R", "ex <8>"])
                .arg(device)
                .env("PATH", &path)
                .output();
            if let (Ok(output), Ok(block_bytes)) = (output, ext4_block_bytes(device)) {
                owners.add_journal(&String::from_utf8_lossy(&output.stdout), block_bytes);
            }
        }
        Some(owners)
    }

    /// Adds the output of `filefrag -b1 -e -v`.
    fn add_filefrag(&mut self, text: &str, directory: &Path) {
        let mut file = String::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("File size of ") {
                let path = rest.rsplit_once(" is ").map_or(rest, |(path, _)| path);
                let path = Path::new(path);
                file = path.strip_prefix(directory).unwrap_or(path).display().to_string();
                continue;
            }
            // `0:        0..    8191:  140509184.. 140517375:   8192:             last,eof`
            let fields: Vec<&str> = line.split(':').map(str::trim).collect();
            let [number, _, physical, _, ..] = fields[..] else { continue };
            if number.parse::<u32>().is_err() {
                continue;
            }
            let bounds = physical
                .split_once("..")
                .map(|(from, to)| (from.trim().parse(), to.trim().parse::<u64>()));
            if let Some((Ok(from), Ok(to))) = bounds {
                self.ranges.insert(from, (to + 1, file.clone()));
            }
        }
    }

    /// Adds the output of `debugfs -R "ex <8>"`: the journal's inode.
    fn add_journal(&mut self, text: &str, block_bytes: u64) {
        for line in text.lines().skip(1) {
            // ` 0/ 0   1/  1     0 -  1023  34816 - 35839   1024`
            let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "-").collect();
            let Some(last) = words.len().checked_sub(1) else { continue };
            let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
            if let (Some(from), Some(to), Some(_)) =
                (number(last.wrapping_sub(2)), number(last.wrapping_sub(1)), number(last))
            {
                self.ranges
                    .insert(from * block_bytes, ((to + 1) * block_bytes, "the journal".to_owned()));
            }
        }
    }

    /// All owners of any part of a range.
    pub(crate) fn of_range(&self, offset: u64, bytes: u64) -> Vec<&str> {
        let end = offset + bytes;
        let before = self.ranges.range(..offset).next_back();
        let mut names = Vec::new();
        for (_, (to, name)) in before.into_iter().chain(self.ranges.range(offset..end)) {
            if *to > offset && !names.contains(&name.as_str()) {
                names.push(name.as_str());
            }
        }
        names
    }
}

/// ext4's block size: `s_log_block_size` of the superblock, which starts at 1024
/// (`fs/ext4/ext4.h`).
fn ext4_block_bytes(device: &Path) -> io::Result<u64> {
    let mut log = [0; 4];
    File::open(device)?.read_exact_at(&mut log, 1024 + 24)?;
    1024u64.checked_shl(u32::from_le_bytes(log)).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if files.len() >= FILES_MAX {
            return;
        }
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            files.push(entry.path());
            walk(&entry.path(), files);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_tools_print() {
        let mut owners = Owners::default();
        owners.add_filefrag(
            "Filesystem type is: ef53\nFile size of /mnt/x/a b.db is 12288 (12288 blocks of 1 \
             bytes)\n \
             ext:     logical_offset:        physical_offset: length:   expected: flags:\n   \
             0:        0..    8191:  140509184.. 140517375:   8192:            \n   \
             1:     8192..   12287:   20480..   24575:   4096:  140517376: last,eof\n/mnt/x/a \
             b.db: 2 extents found\n",
            Path::new("/mnt/x"),
        );
        owners.add_journal(
            "Level Entries       Logical          Physical Length Flags\n 0/ 0   1/  1     0 -  \
             1023  34816 - 35839   1024 \n",
            4096,
        );
        assert_eq!(owners.of_range(20480, 512), ["a b.db"]);
        assert_eq!(owners.of_range(140_517_000, 100_000), ["a b.db"]);
        assert_eq!(owners.of_range(34816 * 4096 - 4096, 8192), ["a b.db", "the journal"][1..]);
        // The tools report the last byte of an extent, not the one after it.
        assert_eq!(owners.of_range(24575, 1), ["a b.db"]);
        assert_eq!(owners.of_range(24576, 4096), [""; 0]);
        assert_eq!(owners.of_range(35840 * 4096 - 1, 1), ["the journal"]);
        assert_eq!(owners.of_range(35840 * 4096, 1), [""; 0]);
    }

    #[test]
    fn small_filesystems_count_in_small_blocks() {
        let image = tempfile::NamedTempFile::new().unwrap();
        for (log, bytes) in [(0u32, 1024), (2, 4096)] {
            image.as_file().write_all_at(&log.to_le_bytes(), 1048).unwrap();
            assert_eq!(ext4_block_bytes(image.path()).unwrap(), bytes);
        }
        image.as_file().write_all_at(&[0xff; 4], 1048).unwrap();
        assert!(ext4_block_bytes(image.path()).is_err());
    }
}
