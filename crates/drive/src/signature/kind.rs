//! The kinds of signature, with the source of each magic number.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Signature {
    pub kind: SignatureKind,
    /// Start of the magic number (or of the structure that contains it), in bytes from the device's
    /// start.
    pub offset_bytes: u64,
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.offset_bytes)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident => $words:literal,)+) => {
        /// The kind of content that a signature indicates.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum SignatureKind {
            $($(#[$doc])* $kind,)+
        }

        impl fmt::Display for SignatureKind {
            /// With its article, for use in a sentence: "contains an ext4 filesystem".
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(SignatureKind::$kind => $words,)+
                })
            }
        }
    };
}

kinds! {
    /// A DOS partition table with at least one entry. Sector 0: four entries of 16 bytes from byte
    /// 446, then `55 AA` (UEFI specification, "Legacy Master Boot Record").
    Mbr => "an MBR partition table",
    /// `EFI PART` in block 1 (UEFI specification, "GPT Header").
    Gpt => "a GPT partition table",
    /// `EFI PART` in the last block.
    GptBackup => "a backup GPT partition table",
    /// Like [`Ext4`](SignatureKind::Ext4), without a journal or any feature that ext2 lacks.
    Ext2 => "an ext2 filesystem",
    /// Like [`Ext4`](SignatureKind::Ext4), with a journal but no feature that ext3 lacks.
    Ext3 => "an ext3 filesystem",
    /// 0xEF53 at byte 0x38 of the superblock at 1024 (Documentation/filesystems/ext4/super.rst).
    Ext4 => "an ext4 filesystem",
    /// Like [`Ext4`](SignatureKind::Ext4), with the incompatible feature `journal_dev`.
    ExtJournal => "an external journal of ext3 or ext4",
    /// `XFSB` at 0 (fs/xfs/libxfs/xfs_format.h).
    Xfs => "an XFS filesystem",
    /// `_BHRfS_M` at byte 0x40 of the superblock at 64 KiB (include/uapi/linux/btrfs_tree.h).
    Btrfs => "a Btrfs filesystem",
    /// 0xF2F52010 at 1024, and in the copy one block of 4 KiB later (include/linux/f2fs_fs.h).
    F2fs => "an F2FS filesystem",
    /// `FAT32   ` at 82 or `FAT12   `, `FAT16   `, `FAT     ` at 54, with `55 AA` at 510 (Microsoft
    /// FAT specification 1.03).
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
    /// `SWAPSPACE2` (or the older `SWAP-SPACE`) in the last 10 bytes of the first page, whatever
    /// the page's size (include/linux/swap.h, mkswap(8)).
    Swap => "swap space",
    /// `S1SUSPEND`, `S2SUSPEND` or `LINHIB0001` at the position of the swap signature: a hibernated
    /// system (kernel/power/swap.c).
    Hibernation => "a hibernated system in swap space",
    /// `LUKS` `BA BE` at 0, version 1 at byte 6 (LUKS1 on-disk format, 2.1).
    Luks1 => "a LUKS1 encrypted volume",
    /// The same as LUKS1 with version 2; or the second header, `SKUL` `BA BE`, at a power of two
    /// from 16 KiB to 4 MiB (LUKS2 on-disk format, 2.2).
    Luks2 => "a LUKS2 encrypted volume",
    /// `LABELONE` at the start of one of the first four sectors, `LVM2 001` at its byte 24
    /// (lib/label/label.h of LVM2).
    Lvm2 => "an LVM physical volume",
    /// 0xA92B4EFC, version 0.90, 64 KiB before the end, aligned down to 64 KiB
    /// (include/uapi/linux/raid/md_p.h).
    Md090 => "a member of a Linux RAID (md 0.90)",
    /// The same magic number with version 1, 8 KiB to 12 KiB before the end.
    Md10 => "a member of a Linux RAID (md 1.0)",
    /// The same magic number at 0.
    Md11 => "a member of a Linux RAID (md 1.1)",
    /// The same magic number at 4096.
    Md12 => "a member of a Linux RAID (md 1.2)",
    /// In any of four labels of 256 KiB, two at each end: uberblocks 0x00BAB10C in the second half,
    /// or a packed list with the pool's GUID at 16 KiB ("ZFS On-Disk Specification", 1.2 and 1.3).
    Zfs => "a member of a ZFS pool",
    /// bcache's UUID at byte 24 of the superblock at 4096 (drivers/md/bcache/bcache_ondisk.h).
    Bcache => "a bcache device",
    /// Another UUID at the same position (fs/bcachefs/bcachefs_format.h).
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
    /// 0x3434 at byte 6 of the superblock at 1024, revision 2 at its byte 0
    /// (include/uapi/linux/nilfs2_ondisk.h).
    Nilfs2 => "a NILFS2 filesystem",
    /// 0x8374026B to 0x8374026D at byte 60 of the last 4 KiB block: internal metadata of DRBD 8 and
    /// 9.
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
