//! Magic numbers that are a fixed text at a fixed position. Their sources are documented at the
//! variants of [`SignatureKind`].

use super::edges::DeviceEdges;
use super::kind::Signature;
use super::kind::SignatureKind::{
    self, Bcache, Bcachefs, BitLocker, BlueStore, Btrfs, Erofs, ExFat, F2fs, Hibernation, Iso9660,
    Jfs, Luks2, Md11, Md12, Ntfs, OracleAsm, ReiserFs, Squashfs, Swap, Udf, Vdo, Xfs,
};

const KIB: u64 = 1024;

/// Kind, possible offsets, magic number.
const MARKS: &[(SignatureKind, &[u64], &[u8])] = &[
    (BlueStore, &[0], b"bluestore block device\n"),
    (Xfs, &[0], b"XFSB"),
    (Squashfs, &[0], b"hsqs"),
    (Vdo, &[0], b"dmvdo001"),
    (ExFat, &[3], b"EXFAT   "),
    (Ntfs, &[3], b"NTFS    "),
    (BitLocker, &[3], b"-FVE-FS-"),
    (OracleAsm, &[32], b"ORCLDISK"),
    (F2fs, &[KIB, 5 * KIB], &0xF2F5_2010_u32.to_le_bytes()),
    (Erofs, &[KIB], &0xE0F5_E1E2_u32.to_le_bytes()),
    // With the major version, which distinguishes 1.x from stray bytes.
    (Md11, &[0], &[0xFC, 0x4E, 0x2B, 0xA9, 1, 0, 0, 0]),
    (Md12, &[4 * KIB], &[0xFC, 0x4E, 0x2B, 0xA9, 1, 0, 0, 0]),
    (Bcache, &[4 * KIB + 24], b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    (
        Bcachefs,
        &[4 * KIB + 24],
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    (Jfs, &[32 * KIB], b"JFS1"),
    (Iso9660, &[32 * KIB + 1], b"CD001"),
    (Udf, &[32 * KIB + 1], b"BEA01"),
    (Btrfs, &[64 * KIB + 0x40], b"_BHRfS_M"),
    (ReiserFs, &[64 * KIB + 52, 8 * KIB + 52], b"ReIsErFs"),
    (ReiserFs, &[64 * KIB + 52, 8 * KIB + 52], b"ReIsEr2Fs"),
    (ReiserFs, &[64 * KIB + 52, 8 * KIB + 52], b"ReIsEr3Fs"),
    (Swap, SWAP_MARKS, b"SWAPSPACE2"),
    (Swap, SWAP_MARKS, b"SWAP-SPACE"),
    (Hibernation, SWAP_MARKS, b"S1SUSPEND"),
    (Hibernation, SWAP_MARKS, b"S2SUSPEND"),
    (Hibernation, SWAP_MARKS, b"LINHIB0001"),
    (Luks2, &[16 * KIB, 32 * KIB, 64 * KIB, 128 * KIB, 256 * KIB, 512 * KIB], b"SKUL\xba\xbe"),
];

/// Pages of 4, 8, 16, 32 and 64 KiB; the magic number takes the last 10 bytes.
const SWAP_MARKS: &[u64] =
    &[4 * KIB - 10, 8 * KIB - 10, 16 * KIB - 10, 32 * KIB - 10, 64 * KIB - 10];

pub(super) fn find(edges: &DeviceEdges) -> Vec<Signature> {
    let places = MARKS.iter().flat_map(|(kind, offsets, mark)| {
        offsets.iter().map(move |offset| (*kind, *offset, *mark))
    });
    places
        .filter(|(_, offset, mark)| edges.has(*offset, mark))
        .map(|(kind, offset_bytes, _)| Signature { kind, offset_bytes })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{DeviceEdges, signatures};
    use super::*;

    #[test]
    fn each_mark_is_found_at_each_of_its_places() {
        for (kind, offsets, mark) in MARKS {
            for &offset in *offsets {
                let mut image = vec![0; 2 << 20];
                image[offset as usize..][..mark.len()].copy_from_slice(mark);
                let found = signatures(&DeviceEdges::of_bytes(&image));
                assert_eq!(found, [Signature { kind: *kind, offset_bytes: offset }], "{kind:?}");
                // One byte further on it is unrelated data.
                image.insert(0, 0);
                assert_eq!(signatures(&DeviceEdges::of_bytes(&image)), [], "{kind:?} moved");
            }
        }
    }
}
