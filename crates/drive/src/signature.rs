//! What lies on a device that nobody uses: filesystems, partition tables, RAID and volume members, named by the marks
//! they leave at fixed places near both ends.
//!
//! [`signatures`] is pure and works on a device's [`DeviceEdges`]; [`read_signatures`] does the reading. It errs towards
//! naming: checksums are not verified, because a damaged filesystem is somebody's data too.

mod layout;
mod magic;

use std::fmt;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DriveError;

/// How much of each end is looked at: the furthest marks are a ZFS label's, which reach 512 KiB into the device and
/// 768 KiB back from its end (two labels of 256 KiB at each end, the last aligned down).
const EDGE_BYTES: u64 = 1 << 20;

/// The bytes near both ends of a device; all of it, if it is small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceEdges {
    len_bytes: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

impl DeviceEdges {
    /// The edges of a device whose whole content is `bytes`.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let edge = bytes.len().min(EDGE_BYTES as usize);
        DeviceEdges {
            len_bytes: bytes.len() as u64,
            head: bytes[..edge].to_vec(),
            tail: bytes[bytes.len() - edge..].to_vec(),
        }
    }

    /// Reads the edges of a device or file.
    ///
    /// # Errors
    ///
    /// Whatever reading gives.
    pub fn read(mut file: &File) -> io::Result<Self> {
        // `metadata().len()` is 0 for a block device; its end is where it can be sought to.
        let len_bytes = file.seek(SeekFrom::End(0))?;
        let edge = len_bytes.min(EDGE_BYTES) as usize;
        let (mut head, mut tail) = (vec![0; edge], vec![0; edge]);
        file.read_exact_at(&mut head, 0)?;
        file.read_exact_at(&mut tail, len_bytes - edge as u64)?;
        Ok(DeviceEdges { len_bytes, head, tail })
    }

    /// The device's size.
    pub fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    /// Whether both ends hold nothing but zeros: a new or wiped device. Without a signature and not blank, there may be
    /// data that has no mark, such as a database on the raw device.
    pub fn is_blank(&self) -> bool {
        self.head.iter().chain(&self.tail).all(|&byte| byte == 0)
    }

    /// The `len` bytes from `offset`, if they lie wholly within one edge.
    fn at(&self, offset: u64, len: usize) -> Option<&[u8]> {
        fn within(edge: &[u8], start: u64, len: usize) -> Option<&[u8]> {
            let start = usize::try_from(start).ok()?;
            edge.get(start..start.checked_add(len)?)
        }
        within(&self.head, offset, len).or_else(|| {
            let tail_start = self.len_bytes - self.tail.len() as u64;
            within(&self.tail, offset.checked_sub(tail_start)?, len)
        })
    }

    fn has(&self, offset: u64, mark: &[u8]) -> bool {
        self.at(offset, mark.len()) == Some(mark)
    }

    fn le16(&self, offset: u64) -> Option<u16> {
        Some(u16::from_le_bytes(self.at(offset, 2)?.try_into().ok()?))
    }

    fn le32(&self, offset: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.at(offset, 4)?.try_into().ok()?))
    }

    fn be16(&self, offset: u64) -> Option<u16> {
        Some(u16::from_be_bytes(self.at(offset, 2)?.try_into().ok()?))
    }
}

/// A mark and where it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Signature {
    /// Of what.
    pub kind: SignatureKind,
    /// Where the mark (or the structure that holds it) starts, in bytes from the device's start.
    pub offset_bytes: u64,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.offset_bytes)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident => $words:literal,)+) => {
        /// What a mark says is on the device.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum SignatureKind {
            $($(#[$doc])* $kind,)+
        }

        impl fmt::Display for SignatureKind {
            /// With its article, to stand in a sentence: "holds an ext4 filesystem".
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(SignatureKind::$kind => $words,)+
                })
            }
        }
    };
}

kinds! {
    /// A DOS partition table with at least one entry. Sector 0: four entries of 16 bytes from byte 446, then `55 AA` (UEFI
    /// specification, "Legacy Master Boot Record").
    Mbr => "an MBR partition table",
    /// `EFI PART` in block 1 (UEFI specification, "GPT Header").
    Gpt => "a GPT partition table",
    /// The same in the last block.
    GptBackup => "a backup GPT partition table",
    /// As [`Ext4`](SignatureKind::Ext4), without a journal and without any feature that ext2 lacks.
    Ext2 => "an ext2 filesystem",
    /// As [`Ext4`](SignatureKind::Ext4), with a journal and without any feature that ext3 lacks.
    Ext3 => "an ext3 filesystem",
    /// 0xEF53 at byte 0x38 of the superblock at 1024 (Documentation/filesystems/ext4/super.rst).
    Ext4 => "an ext4 filesystem",
    /// The same with the incompatible feature `journal_dev`.
    ExtJournal => "an external journal of ext3 or ext4",
    /// `XFSB` at 0 (fs/xfs/libxfs/xfs_format.h).
    Xfs => "an XFS filesystem",
    /// `_BHRfS_M` at byte 0x40 of the superblock at 64 KiB (include/uapi/linux/btrfs_tree.h).
    Btrfs => "a Btrfs filesystem",
    /// 0xF2F52010 at 1024, and in the copy one block of 4 KiB later (include/linux/f2fs_fs.h).
    F2fs => "an F2FS filesystem",
    /// `FAT32   ` at 82 or `FAT12   `, `FAT16   `, `FAT     ` at 54, with `55 AA` at 510 (Microsoft FAT specification 1.03).
    Fat => "a FAT filesystem",
    /// `EXFAT   ` at 3 (Microsoft exFAT specification, 3.1.2).
    ExFat => "an exFAT filesystem",
    /// `NTFS    ` at 3 (fs/ntfs3/ntfs.h).
    Ntfs => "an NTFS filesystem",
    /// `-FVE-FS-` at 3 (libbde's format notes).
    BitLocker => "a BitLocker volume",
    /// `CD001` at 32769, the first volume descriptor's identifier (ECMA-119, 8.1.2).
    Iso9660 => "an ISO 9660 filesystem",
    /// `BEA01` at 32769 (ECMA-167, 2/9.2).
    Udf => "a UDF filesystem",
    /// `SWAPSPACE2` (or the older `SWAP-SPACE`) in the last 10 bytes of the first page, whatever the page's size
    /// (include/linux/swap.h, mkswap(8)).
    Swap => "swap space",
    /// The same place says `S1SUSPEND`, `S2SUSPEND` or `LINHIB0001`: a hibernated system (kernel/power/swap.c).
    Hibernation => "a hibernated system in swap space",
    /// `LUKS` `BA BE` at 0, version 1 at byte 6 (LUKS1 on-disk format, 2.1).
    Luks1 => "a LUKS1 encrypted volume",
    /// The same with version 2; or the second header, `SKUL` `BA BE`, at a power of two from 16 KiB to 4 MiB (LUKS2 on-disk
    /// format, 2.2).
    Luks2 => "a LUKS2 encrypted volume",
    /// `LABELONE` at the start of one of the first four sectors, `LVM2 001` at its byte 24 (lib/label/label.h of LVM2).
    Lvm2 => "an LVM physical volume",
    /// 0xA92B4EFC, version 0.90, 64 KiB before the end, that aligned down to 64 KiB (include/uapi/linux/raid/md_p.h).
    Md090 => "a member of a Linux RAID (md 0.90)",
    /// The same mark with version 1, 8 KiB to 12 KiB before the end.
    Md10 => "a member of a Linux RAID (md 1.0)",
    /// At 0.
    Md11 => "a member of a Linux RAID (md 1.1)",
    /// At 4096.
    Md12 => "a member of a Linux RAID (md 1.2)",
    /// In any of four labels of 256 KiB, two at each end: uberblocks 0x00BAB10C in the second half, or a packed list with
    /// the pool's GUID at 16 KiB ("ZFS On-Disk Specification", 1.2 and 1.3).
    Zfs => "a member of a ZFS pool",
    /// A UUID of its own at byte 24 of the superblock at 4096 (drivers/md/bcache/bcache_ondisk.h).
    Bcache => "a bcache device",
    /// The same place, another UUID (fs/bcachefs/bcachefs_format.h).
    Bcachefs => "a bcachefs filesystem",
    /// `bluestore block device` and a newline at 0 (src/os/bluestore/bluestore_types.h of Ceph).
    BlueStore => "a Ceph BlueStore device",
    /// `hsqs` at 0 (fs/squashfs/squashfs_fs.h).
    Squashfs => "a squashfs filesystem",
    /// 0xE0F5E1E2 at 1024 (fs/erofs/erofs_fs.h).
    Erofs => "an EROFS filesystem",
    /// `ReIsErFs`, `ReIsEr2Fs` or `ReIsEr3Fs` at byte 52 of the superblock at 64 KiB or 8 KiB.
    ReiserFs => "a ReiserFS filesystem",
    /// `JFS1` at 32768 (fs/jfs/jfs_superblock.h).
    Jfs => "a JFS filesystem",
    /// 0x3434 at byte 6 of the superblock at 1024, revision 2 at its byte 0 (include/uapi/linux/nilfs2_ondisk.h).
    Nilfs2 => "a NILFS2 filesystem",
    /// 0x8374026B to 0x8374026D at byte 60 of the last 4 KiB block: internal metadata of DRBD 8 and 9.
    Drbd => "a DRBD device",
    /// `Intel Raid ISM Cfg Sig. ` in the last sector but one (super-intel.c of mdadm).
    IntelRaid => "a member of an Intel RAID",
    /// 0xDE11DE11 in the last sector (SNIA Common RAID Disk Data Format 2.0, 4.1).
    DdfRaid => "a member of a DDF RAID",
    /// `ORCLDISK` at 32 (Oracle ASMLib's disk label).
    OracleAsm => "an Oracle ASM disk",
    /// `dmvdo001` at 0 (drivers/md/dm-vdo).
    Vdo => "a VDO volume",
}

/// All marks found, each kind once, where it was first seen. Never fails and never panics, whatever the bytes.
///
/// ```
/// use drive::{DeviceEdges, SignatureKind, signatures};
///
/// let mut image = vec![0; 1 << 20];
/// image[..4].copy_from_slice(b"XFSB");
/// let found = signatures(&DeviceEdges::of_bytes(&image));
/// assert_eq!(found[0].kind, SignatureKind::Xfs);
/// ```
pub fn signatures(edges: &DeviceEdges) -> Vec<Signature> {
    let mut found: Vec<Signature> = Vec::new();
    for signature in magic::find(edges).into_iter().chain(layout::find(edges)) {
        if !found.iter().any(|earlier| earlier.kind == signature.kind) {
            found.push(signature);
        }
    }
    found
}

/// Reads the edges of a device or image, and names what is there.
///
/// # Errors
///
/// [`DriveError::Unreadable`] when it cannot be opened or read.
pub fn read_signatures(path: &Path) -> Result<Vec<Signature>, DriveError> {
    let edges = File::open(path).and_then(|file| DeviceEdges::read(&file));
    let edges = edges.map_err(|source| DriveError::Unreadable { path: path.to_owned(), source })?;
    Ok(signatures(&edges))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_device_has_no_signature() {
        for len in [0, 1, 511, 512, 4096, 3 << 20] {
            let edges = DeviceEdges::of_bytes(&vec![0; len]);
            assert_eq!(signatures(&edges), []);
            assert!(edges.is_blank());
            assert_eq!(edges.len_bytes(), len as u64);
        }
        assert!(!DeviceEdges::of_bytes(b"a database without a mark").is_blank());
    }

    #[test]
    fn each_kind_is_named_once_at_its_first_place() {
        let mut image = vec![0; 2 << 20];
        for offset in [1024, 5 * 1024] {
            image[offset..][..4].copy_from_slice(&0xF2F5_2010_u32.to_le_bytes());
        }
        let found = signatures(&DeviceEdges::of_bytes(&image));
        let text = found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        insta::assert_snapshot!(text, @"an F2FS filesystem at byte 1024");
    }

    #[test]
    fn a_file_reads_as_its_bytes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut image = vec![7; (3 << 20) + 511];
        image[..4].copy_from_slice(b"XFSB");
        std::fs::write(file.path(), &image).unwrap();
        assert_eq!(DeviceEdges::read(file.as_file()).unwrap(), DeviceEdges::of_bytes(&image));
        assert_eq!(read_signatures(file.path()).unwrap()[0].kind, SignatureKind::Xfs);
    }

    #[test]
    fn a_device_that_cannot_be_read_is_an_error() {
        let error = read_signatures(Path::new("/no/such/device")).unwrap_err();
        insta::assert_snapshot!(error, @"cannot read /no/such/device to see whether it holds data: No such file or directory (os error 2)");
    }
}
