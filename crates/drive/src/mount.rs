//! Finds the mount that contains a path.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{DeviceNumber, DriveError, SystemRoot};

/// One line of `/proc/self/mountinfo`: a filesystem, or a part of one, mounted in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mount {
    /// The kernel's ID of this mount, unique as long as it exists.
    pub id: u64,
    /// The mount that this one is mounted on.
    pub parent_id: u64,
    /// The device of the filesystem; anonymous (major 0) if the filesystem does not have exactly
    /// one block device.
    pub device: DeviceNumber,
    /// The directory of the filesystem that appears at the mount point: `/`, or another for a bind
    /// mount or subvolume.
    #[serde(with = "crate::lossy_path")]
    #[schemars(with = "String")]
    pub root: PathBuf,
    #[serde(with = "crate::lossy_path")]
    #[schemars(with = "String")]
    pub mount_point: PathBuf,
    /// `ext4`, `xfs`, `overlay`, `fuse.sshfs`...
    pub fs_type: String,
    /// The mounted source: `/dev/sda2`, `server:/export`, or an arbitrary word.
    #[serde(with = "crate::lossy_path")]
    #[schemars(with = "String")]
    pub source: PathBuf,
    /// Options of this mount only: `rw`, `noatime`...
    pub options: Vec<String>,
    /// Options of the filesystem that differ from its defaults: `discard`, `data=writeback`...
    pub super_options: Vec<String>,
    /// All options in force, including defaults, where the filesystem reports them (ext4, in
    /// `/proc/fs/ext4/DEVICE/options`). Only this shows an option that is the *superblock's*
    /// default: after `tune2fs -o nobarrier` the mount table looks like that of a sound filesystem.
    pub effective_options: Option<Vec<String>>,
}

/// The server of a filesystem's files, if it is not this machine's kernel. A call on such a
/// filesystem may wait forever for the server's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileServer {
    /// NFS, SMB, CephFS...
    AnotherMachine,
    /// FUSE, or the hypervisor.
    AnotherProgram,
}

impl Mount {
    /// `None` if the kernel itself serves the files.
    pub(crate) fn file_server(&self) -> Option<FileServer> {
        match self.fs_type.as_str() {
            "nfs" | "nfs4" | "cifs" | "smb3" | "ceph" | "afs" | "glusterfs" | "lustre" | "gpfs"
            | "beegfs" | "fuse.sshfs" | "fuse.glusterfs" | "fuse.ceph" => {
                Some(FileServer::AnotherMachine)
            }
            "9p" | "virtiofs" | "vboxsf" | "prl_fs" => Some(FileServer::AnotherProgram),
            fs_type if fs_type.starts_with("fuse") => Some(FileServer::AnotherProgram),
            _ => None,
        }
    }
}

/// All mounts that this process sees, in the kernel's order: a later one hides an earlier one at
/// the same mount point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountTable {
    mounts: Vec<Mount>,
}

impl MountTable {
    /// Reads `proc/self/mountinfo` below `root`.
    ///
    /// # Errors
    ///
    /// [`DriveError::Table`] when it cannot be read, [`DriveError::MalformedMount`] when a line
    /// cannot be parsed: a partially known table must not be used to declare a device free.
    pub fn read(root: &SystemRoot) -> Result<Self, DriveError> {
        let path = root.path("proc/self/mountinfo");
        let bytes = fs::read(&path).map_err(|source| DriveError::Table { path, source })?;
        Self::parse(&bytes)
    }

    /// Parses the table. Format: proc_pid_mountinfo(5).
    ///
    /// # Errors
    ///
    /// [`DriveError::MalformedMount`] for the first line that does not follow the format.
    pub fn parse(bytes: &[u8]) -> Result<Self, DriveError> {
        let lines =
            bytes.split(|&byte| byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        let mounts = lines.map(|(index, line)| {
            parse_line(line).ok_or_else(|| DriveError::MalformedMount {
                line: index + 1,
                text: String::from_utf8_lossy(line).into_owned(),
            })
        });
        Ok(MountTable { mounts: mounts.collect::<Result<_, _>>()? })
    }

    /// All mounts, in the kernel's order.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// The mount that contains `path`, which must be canonical (absolute, without links). `device`
    /// is `st_dev` of the path, if known: it settles cases that the table leaves open.
    ///
    /// Btrfs gives each subvolume a device number that is in no table. So a `device` that matches
    /// no candidate does not contradict the mount that the tree leads to.
    pub fn holding(&self, path: &Path, device: Option<DeviceNumber>) -> Option<&Mount> {
        let walked = self.walk(path);
        let Some(device) = device else { return walked };
        if walked.is_some_and(|mount| mount.device == device) {
            return walked;
        }
        self.mounts
            .iter()
            .filter(|mount| mount.device == device && path.starts_with(&mount.mount_point))
            .max_by_key(|mount| mount.mount_point.components().count()) // the last on a tie
            .or(walked)
    }

    /// Follows the tree of mounts as the kernel's path lookup does: from a mount to the child that
    /// comes first on the way to `path`. A mount covered by a later one nearer the root is never
    /// reached, although its mount point is the longer prefix.
    fn walk(&self, path: &Path) -> Option<&Mount> {
        let child_of = |parent: Option<&Mount>| {
            self.mounts
                .iter()
                .filter(|mount| path.starts_with(&mount.mount_point))
                .filter(|mount| match parent {
                    Some(parent) => mount.parent_id == parent.id && mount.id != parent.id,
                    // The parent of the topmost mount is outside this process's view, or is the
                    // mount itself.
                    None => self
                        .mounts
                        .iter()
                        .all(|other| other.id != mount.parent_id || other.id == mount.id),
                })
                .rev()
                .min_by_key(|mount| mount.mount_point.components().count()) // the last in the table on a tie
        };
        let mut current = child_of(None)?;
        // A valid table is a tree, with at most as many steps as mounts; a cyclic table must
        // terminate, too.
        for _ in 0..self.mounts.len() {
            match child_of(Some(current)) {
                Some(next) => current = next,
                None => break,
            }
        }
        Some(current)
    }
}

/// Fields: id, parent, major:minor, root, mount point, options, any number of optional fields, `-`,
/// type, source, super options. They are separated by exactly one space, because a source may be
/// empty.
fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|&byte| byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let id = text()?.parse().ok()?;
    let parent_id = text()?.parse().ok()?;
    let device = text()?.parse().ok()?;
    let root = path(fields.next()?);
    let mount_point = path(fields.next()?);
    let options = list(fields.next()?);
    fields.find(|field| *field == b"-")?;
    let fs_type = String::from_utf8_lossy(&unescape(fields.next()?)).into_owned();
    let source = path(fields.next()?);
    // Some filesystems print unescaped spaces in their options.
    let super_options = list(&fields.collect::<Vec<_>>().join(&b' '));
    Some(Mount {
        id,
        parent_id,
        device,
        root,
        mount_point,
        fs_type,
        source,
        options,
        super_options,
        effective_options: None,
    })
}

fn path(field: &[u8]) -> PathBuf {
    OsString::from_vec(unescape(field)).into()
}

fn list(field: &[u8]) -> Vec<String> {
    let words = field.split(|&byte| byte == b',').filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(&unescape(word)).into_owned()).collect()
}

/// Undoes the kernel's escapes: space, tab, newline and backslash are written as `\` and three
/// octal digits (`seq_path` and `mangle` in fs/proc_namespace.c). Anything else after a backslash
/// stays as it is.
pub(crate) fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let (byte, next) = match (first, tail) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', next @ ..]) => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), next)
            }
            _ => (first, tail),
        };
        bytes.push(byte);
        rest = next;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(text: &str) -> MountTable {
        MountTable::parse(text.as_bytes()).unwrap()
    }

    fn mount_id(table: &MountTable, path: &str, device: Option<&str>) -> Option<u64> {
        table
            .holding(path.as_ref(), device.map(|number| number.parse().unwrap()))
            .map(|mount| mount.id)
    }

    #[test]
    fn reads_every_field() {
        let table = table(
            "36 35 98:0 /mnt1 /mnt\\0402/a\\134b rw,noatime master:1 shared:7 - ext3 /dev/root \
             rw,errors=continue,data=journal\n",
        );
        let mount = &table.mounts()[0];
        assert_eq!((mount.id, mount.parent_id), (36, 35));
        assert_eq!(mount.device, DeviceNumber { major: 98, minor: 0 });
        assert_eq!(mount.root, Path::new("/mnt1"));
        assert_eq!(mount.mount_point, Path::new("/mnt 2/a\\b"));
        assert_eq!(mount.options, ["rw", "noatime"]);
        assert_eq!(mount.fs_type, "ext3");
        assert_eq!(mount.source, Path::new("/dev/root"));
        assert_eq!(mount.super_options, ["rw", "errors=continue", "data=journal"]);
    }

    #[test]
    fn an_empty_source_shifts_no_field() {
        let mount = table("30 1 0:25 / /run rw - tmpfs  rw,size=4k\n").mounts.remove(0);
        assert_eq!(mount.source, Path::new(""));
        assert_eq!(mount.super_options, ["rw", "size=4k"]);
    }

    #[test]
    fn a_malformed_line_is_named() {
        let error =
            MountTable::parse(b"27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 0:21 / /proc rw\n")
                .unwrap_err();
        insta::assert_snapshot!(error, @"line 2 of /proc/self/mountinfo is malformed, so flushmark cannot tell what is mounted; please report it: 28 27 0:21 / /proc rw");
    }

    const TREE: &str = "\
27 1 254:0 / / rw - ext4 /dev/vda rw
28 27 254:16 / /srv rw - xfs /dev/vdb rw
29 28 254:32 / /srv/db rw - ext4 /dev/vdc rw
";

    #[test]
    fn the_longest_mount_point_holds_the_path() {
        let table = table(TREE);
        assert_eq!(mount_id(&table, "/srv/db/pg", None), Some(29));
        assert_eq!(mount_id(&table, "/srv/db", None), Some(29));
        assert_eq!(mount_id(&table, "/srv/dbx", None), Some(28));
        assert_eq!(mount_id(&table, "/", None), Some(27));
    }

    #[test]
    fn a_later_mount_hides_an_earlier_one_at_the_same_place() {
        let table = table(&format!("{TREE}30 29 0:40 / /srv/db rw - tmpfs none rw\n"));
        assert_eq!(mount_id(&table, "/srv/db/pg", None), Some(30));
    }

    #[test]
    fn a_mount_nearer_the_root_hides_those_below() {
        let table = table(&format!("{TREE}30 28 0:40 / /srv rw - tmpfs none rw\n"));
        assert_eq!(mount_id(&table, "/srv/db/pg", None), Some(30));
        // The same when both have one parent, as after a mount through a path that was opened
        // before.
        let siblings =
            table.mounts.iter().cloned().map(|mount| Mount { parent_id: 27, ..mount }).collect();
        assert_eq!(mount_id(&MountTable { mounts: siblings }, "/srv/other", None), Some(30));
    }

    #[test]
    fn the_device_number_settles_what_the_tree_gets_wrong() {
        let table = table(TREE);
        assert_eq!(mount_id(&table, "/srv/db/pg", Some("254:16")), Some(28));
        // A Btrfs subvolume has a number that is on no line.
        assert_eq!(mount_id(&table, "/srv/db/pg", Some("0:99")), Some(29));
    }

    #[test]
    fn a_chroot_may_have_no_mount_for_a_path() {
        let table = table("40 28 0:21 / /proc rw - proc proc rw\n");
        assert_eq!(mount_id(&table, "/proc/self", None), Some(40));
        assert_eq!(mount_id(&table, "/home", None), None);
    }

    #[test]
    fn a_table_in_a_circle_ends() {
        let table = table(
            "1 3 8:1 / / rw - ext4 a rw\n2 1 8:2 / / rw - ext4 b rw\n3 2 8:3 / / rw - ext4 c rw\n4 \
             4 8:4 / / rw - ext4 d rw\n",
        );
        assert_eq!(mount_id(&table, "/x", None), Some(4));
    }

    #[test]
    fn this_machine_has_a_root() {
        let table = MountTable::read(&SystemRoot::default()).unwrap();
        assert!(table.holding(Path::new("/"), None).is_some());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = MountTable::parse(&bytes);
        }

        #[test]
        fn nearly_right_lines_do_not_either(line in r"[0-9]{1,3} [0-9]{1,3} [0-9]{1,3}:[0-9]{1,12} [/\\0-9a ]{1,9} [ -~]{0,40}") {
            if let Ok(table) = MountTable::parse(line.as_bytes()) {
                let _ = table.holding(Path::new("/a/b"), None);
            }
        }

        #[test]
        fn escapes_come_back(name in prop::collection::vec(any::<u8>(), 0..40)) {
            let escaped: Vec<u8> = name.iter().flat_map(|&byte| match byte {
                b' ' | b'\t' | b'\n' | b'\\' => format!("\\{byte:03o}").into_bytes(),
                _ => vec![byte],
            }).collect();
            prop_assert_eq!(unescape(&escaped), name);
        }
    }
}
