//! Magic numbers whose position depends on the device's size, or whose kind depends on more than
//! the number. Their sources are documented at the variants of [`SignatureKind`].

use super::edges::DeviceEdges;
use super::kind::Signature;
use super::kind::SignatureKind::{self, Fat, Gpt, GptBackup, Lvm2, Mbr};

const KIB: u64 = 1024;

/// Logical block sizes of drives.
const BLOCK_BYTES: [u64; 2] = [512, 4096];

pub(super) fn find(edges: &DeviceEdges) -> Vec<Signature> {
    let finders = [
        partition_tables, boot_sector_filesystem, ext, nilfs2, luks, lvm2, md_at_end, zfs, drbd,
        firmware_raid,
    ];
    finders.iter().flat_map(|finder| finder(edges)).collect()
}

fn at(kind: SignatureKind, offset_bytes: u64) -> Signature {
    Signature { kind, offset_bytes }
}

fn partition_tables(edges: &DeviceEdges) -> Vec<Signature> {
    const MARK: &[u8] = b"EFI PART";
    let primary = BLOCK_BYTES.into_iter().find(|&offset| edges.has(offset, MARK));
    let last_blocks =
        BLOCK_BYTES.into_iter().filter_map(|block| edges.len_bytes().checked_sub(block));
    let backup = last_blocks.into_iter().find(|&offset| edges.has(offset, MARK));

    let mut found: Vec<Signature> = primary.map(|offset| at(Gpt, offset)).into_iter().collect();
    // On a tiny device, the primary header itself may be in the last block.
    found.extend(backup.filter(|_| backup != primary).map(|offset| at(GptBackup, offset)));
    if let Some(types) = mbr_partition_types(edges) {
        // GPT writes an MBR that covers the disk with one entry of type EE, to keep older software
        // away.
        const PROTECTIVE: u8 = 0xEE;
        if found.is_empty() || types.iter().any(|&kind| kind != PROTECTIVE) {
            found.push(at(Mbr, 0));
        }
    }
    found
}

/// The types of the entries in use, if sector 0 is a partition table: each entry's first byte must
/// be 00 or 80, and at least one entry must have a type and a length. A boot sector of FAT or NTFS
/// also ends in `55 AA`, but has code there.
fn mbr_partition_types(edges: &DeviceEdges) -> Option<Vec<u8>> {
    let sector = edges.at(0, 512)?;
    if !sector.ends_with(&[0x55, 0xAA])
        || !boot_sector_filesystem(edges).is_empty()
        || is_microsoft_volume(edges)
    {
        return None;
    }
    let (entries, _) = sector[446..510].as_chunks::<16>();
    if entries.iter().any(|entry| entry[0] & 0x7F != 0) {
        return None;
    }
    let used = entries.iter().filter(|entry| entry[4] != 0 && entry[12..16] != [0; 4]);
    let types: Vec<u8> = used.map(|entry| entry[4]).collect();
    (!types.is_empty()).then_some(types)
}

fn is_microsoft_volume(edges: &DeviceEdges) -> bool {
    [b"NTFS    ", b"EXFAT   ", b"-FVE-FS-"].iter().any(|mark| edges.has(3, *mark))
}

fn boot_sector_filesystem(edges: &DeviceEdges) -> Vec<Signature> {
    let named = edges.has(82, b"FAT32   ")
        || [b"FAT12   ", b"FAT16   ", b"FAT     "].iter().any(|mark| edges.has(54, *mark));
    if named && edges.has(510, &[0x55, 0xAA]) { vec![at(Fat, 0)] } else { Vec::new() }
}

fn ext(edges: &DeviceEdges) -> Vec<Signature> {
    const SUPERBLOCK: u64 = KIB;
    // Feature bits: Documentation/filesystems/ext4/super.rst.
    const HAS_JOURNAL: u32 = 0x4;
    const JOURNAL_DEV: u32 = 0x8;
    const INCOMPAT_OF_EXT3: u32 = 0x2 | 0x4 | 0x10; // filetype, recover, meta_bg
    const RO_COMPAT_OF_EXT3: u32 = 0x1 | 0x2 | 0x4; // sparse_super, large_file, btree_dir

    if edges.le16(SUPERBLOCK + 0x38) != Some(0xEF53) {
        return Vec::new();
    }
    let feature = |offset| edges.le32(SUPERBLOCK + offset).unwrap_or(0);
    let (compat, incompat, ro_compat) = (feature(0x5C), feature(0x60), feature(0x64));
    let kind = if incompat & JOURNAL_DEV != 0 {
        SignatureKind::ExtJournal
    } else if incompat & !INCOMPAT_OF_EXT3 != 0 || ro_compat & !RO_COMPAT_OF_EXT3 != 0 {
        SignatureKind::Ext4
    } else if compat & HAS_JOURNAL != 0 {
        SignatureKind::Ext3
    } else {
        SignatureKind::Ext2
    };
    vec![at(kind, SUPERBLOCK)]
}

fn nilfs2(edges: &DeviceEdges) -> Vec<Signature> {
    let found = edges.le16(KIB + 6) == Some(0x3434) && edges.le32(KIB) == Some(2);
    found.then(|| at(SignatureKind::Nilfs2, KIB)).into_iter().collect()
}

fn luks(edges: &DeviceEdges) -> Vec<Signature> {
    if !edges.has(0, b"LUKS\xba\xbe") {
        return Vec::new();
    }
    let kind = if edges.be16(6) == Some(1) { SignatureKind::Luks1 } else { SignatureKind::Luks2 };
    vec![at(kind, 0)]
}

fn lvm2(edges: &DeviceEdges) -> Vec<Signature> {
    let labels = (0..4).map(|sector| sector * 512);
    let found = labels
        .filter(|&offset| edges.has(offset, b"LABELONE") && edges.has(offset + 24, b"LVM2 001"));
    found.map(|offset| at(Lvm2, offset)).collect()
}

/// The two md superblock versions at the end; the others are in the table of fixed magic numbers.
fn md_at_end(edges: &DeviceEdges) -> Vec<Signature> {
    const MAGIC: u32 = 0xA92B_4EFC;
    let mut found = Vec::new();

    // drivers/md/md.c, super_1_load: the size in sectors minus 16, aligned down to 8 sectors.
    if let Some(sector) = (edges.len_bytes() / 512).checked_sub(16) {
        let offset = (sector & !7) * 512;
        if edges.le32(offset) == Some(MAGIC) && edges.le32(offset + 4) == Some(1) {
            found.push(at(SignatureKind::Md10, offset));
        }
    }
    // MD_NEW_SIZE_SECTORS in md_p.h. Written in the byte order of the machine that created it.
    if let Some(offset) = (edges.len_bytes() & !(64 * KIB - 1)).checked_sub(64 * KIB) {
        let words = |order: fn(u32) -> [u8; 4]| [order(MAGIC), order(0), order(90)].concat();
        if edges.has(offset, &words(u32::to_le_bytes))
            || edges.has(offset, &words(u32::to_be_bytes))
        {
            found.push(at(SignatureKind::Md090, offset));
        }
    }
    found
}

fn zfs(edges: &DeviceEdges) -> Vec<Signature> {
    const LABEL: u64 = 256 * KIB;
    let end = edges.len_bytes() & !(LABEL - 1);
    let labels = [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
    let found = labels.into_iter().flatten().filter(|&label| is_zfs_label(edges, label));
    found.map(|offset| at(SignatureKind::Zfs, offset)).collect()
}

fn is_zfs_label(edges: &DeviceEdges, label: u64) -> bool {
    const UBERBLOCK: u64 = 0x00BA_B10C;
    // Slots are at least 1 KiB; larger ones (on drives with larger blocks) also start at multiples
    // of 1 KiB.
    let uberblock = (0..128).map(|slot| label + 128 * KIB + slot * KIB).any(|offset| {
        edges.has(offset, &UBERBLOCK.to_le_bytes()) || edges.has(offset, &UBERBLOCK.to_be_bytes())
    });
    // A spare or cache device has no uberblock, but has the list: encoded as XDR (1), with a GUID
    // in it.
    let list = || {
        let list = edges.at(label + 16 * KIB, 112 * KIB as usize)?;
        let header = matches!(list, [1, 0 | 1, 0, 0, ..]);
        Some(header && list.windows(4).any(|word| word == b"guid"))
    };
    uberblock || list() == Some(true)
}

fn drbd(edges: &DeviceEdges) -> Vec<Signature> {
    let Some(offset) = (edges.len_bytes() & !(4 * KIB - 1)).checked_sub(4 * KIB) else {
        return Vec::new();
    };
    let marks = [[0x83, 0x74, 0x02, 0x6B], [0x83, 0x74, 0x02, 0x6C], [0x83, 0x74, 0x02, 0x6D]];
    marks
        .iter()
        .filter(|mark| edges.has(offset + 60, *mark))
        .map(|_| at(SignatureKind::Drbd, offset))
        .collect()
}

/// RAID of the mainboard's firmware, which Linux drives through md. Its metadata is in the last
/// sectors.
fn firmware_raid(edges: &DeviceEdges) -> Vec<Signature> {
    let mut found = Vec::new();
    for block in BLOCK_BYTES {
        let sector = |from_end: u64| edges.len_bytes().checked_sub(from_end * block);
        if let Some(offset) =
            sector(2).filter(|&offset| edges.has(offset, b"Intel Raid ISM Cfg Sig. "))
        {
            found.push(at(SignatureKind::IntelRaid, offset));
        }
        if let Some(offset) =
            sector(1).filter(|&offset| edges.has(offset, &[0xDE, 0x11, 0xDE, 0x11]))
        {
            found.push(at(SignatureKind::DdfRaid, offset));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{DeviceEdges, signatures};
    use super::*;

    /// Size of an empty image: 4 MiB and an odd remainder.
    const LEN: usize = (4 << 20) + 3 * 4096 + 512;

    fn found(marks: &[(usize, &[u8])]) -> Vec<Signature> {
        let mut image = vec![0; LEN];
        for (offset, bytes) in marks {
            image[*offset..][..bytes.len()].copy_from_slice(bytes);
        }
        signatures(&DeviceEdges::of_bytes(&image))
    }

    fn kinds(marks: &[(usize, &[u8])]) -> Vec<SignatureKind> {
        found(marks).iter().map(|signature| signature.kind).collect()
    }

    fn entry(status: u8, kind: u8) -> [u8; 16] {
        [status, 0, 0, 0, kind, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0]
    }

    #[test]
    fn an_mbr_needs_a_plausible_entry() {
        let boot: (usize, &[u8]) = (510, &[0x55, 0xAA]);
        assert_eq!(kinds(&[boot, (446, &entry(0x80, 0x83))]), [Mbr]);
        assert_eq!(kinds(&[boot, (494, &entry(0, 0x83))]), [Mbr]);
        assert_eq!(kinds(&[boot]), []);
        assert_eq!(kinds(&[boot, (446, &entry(0x33, 0x83))]), []);
        assert_eq!(kinds(&[boot, (446, &entry(0, 0))]), []);
        assert_eq!(kinds(&[(446, &entry(0x80, 0x83))]), []);
    }

    #[test]
    fn a_protective_mbr_is_part_of_its_gpt() {
        let protective = [(510, [0x55, 0xAA].as_slice()), (446, &entry(0, 0xEE))];
        let hybrid =
            [(510, [0x55, 0xAA].as_slice()), (446, &entry(0, 0xEE)), (462, &entry(0, 0x0C))];
        let gpt: (usize, &[u8]) = (512, b"EFI PART");
        assert_eq!(kinds(&[protective.as_slice(), &[gpt]].concat()), [Gpt]);
        assert_eq!(kinds(&[hybrid.as_slice(), &[gpt]].concat()), [Gpt, Mbr]);
        assert_eq!(kinds(&protective), [Mbr]);
    }

    #[test]
    fn each_copy_of_a_gpt_is_found_for_both_block_sizes() {
        assert_eq!(found(&[(4096, b"EFI PART")]), [at(Gpt, 4096)]);
        for block in [512, 4096] {
            assert_eq!(found(&[(LEN - block, b"EFI PART")]), [at(GptBackup, (LEN - block) as u64)]);
        }
    }

    #[test]
    fn a_boot_sector_of_a_filesystem_is_not_a_partition_table() {
        let boot: (usize, &[u8]) = (510, &[0x55, 0xAA]);
        for (offset, mark) in [(82, b"FAT32   "), (54, b"FAT16   "), (54, b"FAT12   ")] {
            assert_eq!(kinds(&[boot, (offset, mark), (446, &entry(0, 0x83))]), [Fat]);
            assert_eq!(kinds(&[(offset, mark)]), []);
        }
        assert_eq!(kinds(&[boot, (3, b"NTFS    "), (446, &entry(0, 0x83))]), [SignatureKind::Ntfs]);
    }

    #[test]
    fn ext_versions_differ_by_their_features() {
        let ext = |compat: u8, incompat: [u8; 2], ro_compat: [u8; 2]| {
            kinds(&[
                (1024 + 0x38, &[0x53, 0xEF]),
                (1024 + 0x5C, &[compat]),
                (1024 + 0x60, &incompat),
                (1024 + 0x64, &ro_compat),
            ])
        };
        assert_eq!(ext(0x38, [0x02, 0], [0x03, 0]), [SignatureKind::Ext2]);
        assert_eq!(ext(0x3C, [0x06, 0], [0x07, 0]), [SignatureKind::Ext3]);
        assert_eq!(ext(0x3C, [0xC2, 0x02], [0x7B, 0x04]), [SignatureKind::Ext4]);
        assert_eq!(
            ext(0x38, [0x42, 0], [0x03, 0]),
            [SignatureKind::Ext4],
            "extents without a journal"
        );
        assert_eq!(ext(0, [0x08, 0], [0, 0]), [SignatureKind::ExtJournal]);
    }

    #[test]
    fn luks_versions_are_distinguished() {
        assert_eq!(kinds(&[(0, b"LUKS\xba\xbe\x00\x01")]), [SignatureKind::Luks1]);
        assert_eq!(kinds(&[(0, b"LUKS\xba\xbe\x00\x02")]), [SignatureKind::Luks2]);
    }

    #[test]
    fn an_lvm_label_may_be_in_any_of_four_sectors() {
        for sector in 0..4 {
            let offset = sector * 512;
            assert_eq!(
                found(&[(offset, b"LABELONE"), (offset + 24, b"LVM2 001")]),
                [at(Lvm2, offset as u64)]
            );
        }
        assert_eq!(kinds(&[(512, b"LABELONE")]), []);
        assert_eq!(kinds(&[(2048, b"LABELONE"), (2072, b"LVM2 001")]), []);
    }

    #[test]
    fn md_superblocks_at_the_end_are_found() {
        const MAGIC: [u8; 4] = [0xFC, 0x4E, 0x2B, 0xA9];
        // LEN is 8217 sectors (4 MiB are 8192): minus 16, down to a multiple of 8, is sector 8200.
        let new: &[u8] = &[MAGIC, [1, 0, 0, 0]].concat();
        assert_eq!(found(&[(8200 * 512, new)]), [at(SignatureKind::Md10, 8200 * 512)]);
        let old = [MAGIC, [0; 4], [90, 0, 0, 0]].concat();
        let mut swapped = old.clone();
        swapped.chunks_mut(4).for_each(<[u8]>::reverse);
        let offset = (4 << 20) - (64 << 10);
        for superblock in [&old, &swapped] {
            assert_eq!(found(&[(offset, superblock)]), [at(SignatureKind::Md090, offset as u64)]);
        }
    }

    #[test]
    fn any_zfs_label_will_do() {
        const LABEL: usize = 256 << 10;
        for label in [0, LABEL, (4 << 20) - 2 * LABEL, (4 << 20) - LABEL] {
            for mark in [0x00BA_B10C_u64.to_le_bytes(), 0x00BA_B10C_u64.to_be_bytes()] {
                let uberblock = label + (128 << 10) + 37 * 1024;
                assert_eq!(found(&[(uberblock, &mark)]), [at(SignatureKind::Zfs, label as u64)]);
            }
            let list = label + (16 << 10);
            assert_eq!(
                kinds(&[(list, &[1, 1, 0, 0]), (list + 300, b"pool_guid")]),
                [SignatureKind::Zfs]
            );
            assert_eq!(kinds(&[(list, &[1, 1, 0, 0])]), []);
        }
    }

    #[test]
    fn metadata_of_other_raids_is_found() {
        let last = (LEN & !4095) - 4096;
        assert_eq!(kinds(&[(last + 60, &[0x83, 0x74, 0x02, 0x6D])]), [SignatureKind::Drbd]);
        for block in [512, 4096] {
            assert_eq!(
                kinds(&[(LEN - 2 * block, b"Intel Raid ISM Cfg Sig. ")]),
                [SignatureKind::IntelRaid]
            );
            assert_eq!(
                kinds(&[(LEN - block, &[0xDE, 0x11, 0xDE, 0x11])]),
                [SignatureKind::DdfRaid]
            );
        }
    }

    #[test]
    fn nilfs2_needs_its_revision() {
        assert_eq!(kinds(&[(1024, &[2, 0, 0, 0]), (1030, &[0x34, 0x34])]), [SignatureKind::Nilfs2]);
        assert_eq!(kinds(&[(1030, &[0x34, 0x34])]), []);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..9000)) {
            let _ = signatures(&DeviceEdges::of_bytes(&bytes));
        }

        #[test]
        fn no_size_makes_it_panic(
            len_bytes in any::<u64>(),
            head in prop::collection::vec(any::<u8>(), 0..5000),
            tail in prop::collection::vec(any::<u8>(), 0..5000),
        ) {
            // A device at least as large as what was read from it.
            let len_bytes = len_bytes.max(head.len().max(tail.len()) as u64);
            let _ = signatures(&DeviceEdges { len_bytes, head, tail });
        }
    }
}
