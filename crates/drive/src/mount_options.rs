//! The mount options that decide what a sync guarantees and what it costs.
//!
//! Spelled as the filesystems print them: Documentation/admin-guide/ext4.rst, xfs.rst,
//! filesystems/f2fs.rst, filesystems/overlayfs.rst of the kernel, and btrfs(5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Mount;

/// The part of a write that goes through the journal of ext3 or ext4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JournalMode {
    /// `data=journal`: data and metadata; each byte is written twice.
    Journal,
    /// `data=ordered`, the default: metadata, after the data that it refers to.
    Ordered,
    /// `data=writeback`: metadata only, in any order with the data.
    Writeback,
    /// The filesystem was created without a journal: a sync has no journal commit, and a crash
    /// needs a full `fsck`.
    NoJournal,
}

/// Options that affect the cost or the guarantee of a sync.
const DURABILITY_OPTIONS: &[&str] = &[
    "ro", "sync", "dirsync", "nobarrier", "barrier", "volatile", "fsync_mode", "data",
    "journal_async_commit", "journal_checksum", "commit", "flushoncommit", "noload", "norecovery",
    "logdev", "rtdev", "logbufs", "logbsize", "wsync", "nodelalloc", "discard", "noatime",
    "relatime", "strictatime", "lazytime", "dax", "compress", "compress-force", "nodatacow",
    "nodatasum", "notreelog",
];

impl Mount {
    /// The option, as the filesystem spells it, that keeps a sync from flushing the drive's cache,
    /// if there is one. A sync then returns fast, but an acknowledged write may be lost in a power
    /// cut.
    ///
    /// `nobarrier` (ext3, ext4, Btrfs, f2fs, XFS before 4.19), `barrier=0` (ext3, ext4),
    /// `barrier=none` (reiserfs), `fsync_mode=nobarrier` (f2fs), `volatile` (overlay, where a sync
    /// does nothing at all).
    pub fn flushes_disabled_by(&self) -> Option<&str> {
        self.all_options().find(|option| match *option {
            "nobarrier" | "barrier=0" | "barrier=none" | "barrier=off" | "fsync_mode=nobarrier" => {
                true
            }
            "volatile" => self.fs_type == "overlay",
            _ => false,
        })
    }

    /// Returns whether syncs do not flush the drive's cache; see
    /// [`flushes_disabled_by`](Mount::flushes_disabled_by).
    pub fn barriers_off(&self) -> bool {
        self.flushes_disabled_by().is_some()
    }

    /// Returns whether writes are impossible, because of the mount or of the filesystem below it.
    pub fn read_only(&self) -> bool {
        self.has("ro")
    }

    /// Returns whether every write is synchronous (`sync`), which makes a baseline "without sync"
    /// meaningless.
    pub fn synchronous(&self) -> bool {
        self.has("sync")
    }

    /// Returns whether freed blocks are trimmed at once, inside the journal commit that a sync
    /// waits for. Btrfs's `discard=async`, its default on flash since Linux 6.2, is done by a
    /// background worker.
    pub fn discards_online(&self) -> bool {
        self.all_options().any(|option| option == "discard" || option == "discard=sync")
            && !self.has("nodiscard")
    }

    /// The data that go through the journal, for ext3 and ext4; `None` if unknown. The mount table
    /// omits defaults, so only [`effective_options`](Mount::effective_options) can show
    /// `data=ordered` or the lack of a journal.
    pub fn journal_mode(&self) -> Option<JournalMode> {
        if !matches!(self.fs_type.as_str(), "ext3" | "ext4") {
            return None;
        }
        match self.value("data") {
            Some("journal") => Some(JournalMode::Journal),
            Some("ordered") => Some(JournalMode::Ordered),
            Some("writeback") => Some(JournalMode::Writeback),
            // `_ext4_show_options` prints `data=` for each filesystem that has a journal.
            _ => self.effective_options.is_some().then_some(JournalMode::NoJournal),
        }
    }

    /// Returns whether the journal's commit block is sent together with the blocks that it covers
    /// (`journal_async_commit`): one flush less per commit, at the price of trusting a checksum.
    pub fn journal_async_commit(&self) -> bool {
        self.has("journal_async_commit")
    }

    /// Returns whether reading a file never dirties its inode (`noatime`).
    pub fn no_access_times(&self) -> bool {
        self.has("noatime")
    }

    /// Returns whether timestamp updates stay in memory for up to a day (`lazytime`), so
    /// overwriting causes no journal commit for the modification time.
    pub fn lazy_times(&self) -> bool {
        self.has("lazytime")
    }

    /// The options that affect durability or its cost, each once, in the order in which the kernel
    /// prints them.
    pub fn options_that_matter(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for option in self.options.iter().chain(&self.super_options).map(String::as_str) {
            let name = option.split('=').next().unwrap_or(option);
            if DURABILITY_OPTIONS.contains(&name) && !found.contains(&option) {
                found.push(option);
            }
        }
        // Of the defaults, only the unusual ones: a superblock's `nobarrier` must be seen.
        if let Some(option) = self.flushes_disabled_by()
            && !found.contains(&option)
        {
            found.push(option);
        }
        found
    }

    fn all_options(&self) -> impl Iterator<Item = &str> {
        let effective = self.effective_options.iter().flatten();
        self.options.iter().chain(&self.super_options).chain(effective).map(String::as_str)
    }

    fn has(&self, wanted: &str) -> bool {
        self.all_options().any(|option| option == wanted)
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.all_options().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }
}

#[cfg(test)]
mod tests {
    use crate::MountTable;

    use super::*;

    fn mount(fs_type: &str, options: &str, super_options: &str) -> Mount {
        let line = format!("27 1 8:1 / / {options} - {fs_type} /dev/sda1 {super_options}\n");
        MountTable::parse(line.as_bytes()).unwrap().mounts()[0].clone()
    }

    #[test]
    fn every_option_that_disables_flushes_is_known() {
        for (fs_type, option) in [
            ("ext4", "nobarrier"),
            ("ext4", "barrier=0"),
            ("ext3", "barrier=0"),
            ("xfs", "nobarrier"),
            ("btrfs", "nobarrier"),
            ("f2fs", "fsync_mode=nobarrier"),
            ("reiserfs", "barrier=none"),
            ("overlay", "volatile"),
        ] {
            let mount = mount(fs_type, "rw,relatime", &format!("rw,{option}"));
            assert_eq!(mount.flushes_disabled_by(), Some(option), "{fs_type}");
            assert!(mount.options_that_matter().contains(&option), "{fs_type}");
        }
        assert!(!mount("ext4", "rw", "rw,barrier=1").barriers_off());
        assert!(!mount("ext4", "rw", "rw,volatile").barriers_off());
    }

    #[test]
    fn a_superblock_default_that_the_mount_table_hides_is_seen() {
        let mut mount = mount("ext4", "rw,relatime", "rw");
        assert!(!mount.barriers_off());
        mount.effective_options =
            Some(["rw", "nobarrier", "data=ordered"].map(String::from).to_vec());
        assert_eq!(mount.flushes_disabled_by(), Some("nobarrier"));
        assert_eq!(mount.options_that_matter(), ["relatime", "nobarrier"]);
    }

    #[test]
    fn the_journal_mode_is_none_where_it_is_unknown() {
        assert_eq!(
            mount("ext4", "rw", "rw,data=journal").journal_mode(),
            Some(JournalMode::Journal)
        );
        assert_eq!(
            mount("ext3", "rw", "rw,data=writeback").journal_mode(),
            Some(JournalMode::Writeback)
        );
        let mut silent = mount("ext4", "rw", "rw");
        assert_eq!(silent.journal_mode(), None);
        silent.effective_options = Some(vec!["barrier".to_owned(), "data=ordered".to_owned()]);
        assert_eq!(silent.journal_mode(), Some(JournalMode::Ordered));
        silent.effective_options = Some(vec!["barrier".to_owned()]);
        assert_eq!(silent.journal_mode(), Some(JournalMode::NoJournal));
        assert_eq!(mount("xfs", "rw", "rw,data=ordered").journal_mode(), None);
    }

    #[test]
    fn single_options_are_distinguished() {
        let busy =
            mount("ext4", "ro,sync,noatime,lazytime", "rw,discard,journal_async_commit,stripe=4");
        assert!(busy.read_only() && busy.synchronous() && busy.discards_online());
        assert!(busy.journal_async_commit() && busy.no_access_times() && busy.lazy_times());
        assert_eq!(
            busy.options_that_matter(),
            ["ro", "sync", "noatime", "lazytime", "discard", "journal_async_commit"]
        );
        let plain = mount("btrfs", "rw,dirsync", "rw,nodiscard");
        assert!(!plain.read_only() && !plain.synchronous() && !plain.discards_online());
        assert!(!plain.journal_async_commit() && !plain.no_access_times() && !plain.lazy_times());
        assert!(!mount("btrfs", "rw", "rw,discard=async").discards_online());
        assert!(mount("btrfs", "rw", "rw,discard=sync").discards_online());
    }
}
