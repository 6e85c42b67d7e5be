//! Finds out where the bytes of an unexpected sector come from, in pieces of 64 bytes.

use std::ops::Range;

use crate::payload::{CHUNK_BYTES, Payload, WORD_BYTES};
use crate::record::{Header, HeaderFault};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A valid header; [`Attribution::header`] has its content.
    Header,
    Version(u32),
    /// One version up to a seam within the chunk, another after it.
    Seam {
        /// The version up to the seam.
        before: u32,
        /// The version after the seam.
        behind: u32,
    },
    /// A version of another sector.
    Foreign {
        address_bytes: u64,
        version: u32,
    },
    Zeros,
    /// All bits one, as in erased flash.
    Ones,
    /// None of these.
    Unknown {
        /// Number of bits that differ from the nearest candidate, if there is one close enough.
        wrong_bits: Option<u32>,
    },
}

/// Consecutive chunks with the same origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stretch {
    /// Range of bytes within the sector.
    pub bytes: Range<usize>,
    /// The origin; for unknown chunks, `wrong_bits` is the sum.
    pub origin: Origin,
}

/// The origins of all parts of a sector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    pub header: Result<Header, HeaderFault>,
    /// The parts, in order.
    pub stretches: Vec<Stretch>,
}

/// The candidates for the origin of a sector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suspects<'a> {
    pub run_id: u64,
    pub address_bytes: u64,
    /// Versions of this sector that may exist, the most likely first.
    pub versions: &'a [u32],
    /// Addresses and versions of other sectors that may have been written here.
    pub elsewhere: &'a [(u64, u32)],
}

/// A difference of up to this many bits is damage to that candidate and not chance: unrelated
/// chunks differ in half of their bits, 256 of 512, with a standard deviation of 11.
const DAMAGED_BITS_MAX: u32 = 128;

/// Finds the origins of a sector's parts.
pub(crate) fn attribute(sector: &[u8], suspects: Suspects<'_>) -> Attribution {
    let header = Header::parse(sector);
    let home = |version| Payload::new(suspects.run_id, suspects.address_bytes, version);
    let chunks: Vec<&[u8]> = sector.chunks_exact(CHUNK_BYTES).collect();
    let mut origins: Vec<Option<Origin>> = chunks.iter().map(|chunk| uniform(chunk)).collect();
    if header.is_ok() {
        origins[0] = Some(Origin::Header);
    }
    // The body that the header describes first, because it usually explains all or nearly all.
    if let Ok(header) = &header {
        let own =
            (header.run_id, header.address_bytes) == (suspects.run_id, suspects.address_bytes);
        let origin = if own {
            Origin::Version(header.version)
        } else {
            Origin::Foreign { address_bytes: header.address_bytes, version: header.version }
        };
        claim(&chunks, &mut origins, header.payload(), origin);
    }
    for &version in suspects.versions {
        claim(&chunks, &mut origins, home(version), Origin::Version(version));
    }
    for &(address_bytes, version) in suspects.elsewhere {
        let payload = Payload::new(suspects.run_id, address_bytes, version);
        claim(&chunks, &mut origins, payload, Origin::Foreign { address_bytes, version });
    }
    let mut present: Vec<u32> = origins
        .iter()
        .filter_map(|origin| match origin {
            Some(Origin::Version(version)) => Some(*version),
            _ => None,
        })
        .collect();
    present.extend(suspects.versions.iter().take(4));
    present.dedup();
    for index in 1..chunks.len() {
        if origins[index].is_none() {
            origins[index] = Some(
                seam(chunks[index], index, &present, home)
                    .unwrap_or_else(|| unknown(chunks[index], index, &present, home)),
            );
        }
    }
    let unread = Origin::Unknown { wrong_bits: None };
    let origins: Vec<Origin> = origins.into_iter().map(|origin| origin.unwrap_or(unread)).collect();
    Attribution { header, stretches: stretches(&origins) }
}

fn uniform(chunk: &[u8]) -> Option<Origin> {
    match chunk[0] {
        0x00 if chunk.iter().all(|&byte| byte == 0x00) => Some(Origin::Zeros),
        0xff if chunk.iter().all(|&byte| byte == 0xff) => Some(Origin::Ones),
        _ => None,
    }
}

/// Assigns the origin to every chunk of this payload.
fn claim(chunks: &[&[u8]], origins: &mut [Option<Origin>], payload: Payload, origin: Origin) {
    for (index, chunk) in chunks.iter().enumerate().skip(1) {
        // The first word suffices to rule out nearly all others.
        if origins[index].is_none()
            && chunk[..WORD_BYTES] == payload.word(index, 0).to_le_bytes()
            && **chunk == payload.chunk(index)
        {
            origins[index] = Some(origin);
        }
    }
}

/// The seam in a chunk that begins as one version and ends as another, with at most one mixed word
/// between them.
fn seam(
    chunk: &[u8],
    index: usize,
    versions: &[u32],
    home: impl Fn(u32) -> Payload,
) -> Option<Origin> {
    let agreeing = |version: u32| -> Vec<bool> {
        let expected = home(version).chunk(index);
        chunk
            .chunks(WORD_BYTES)
            .zip(expected.chunks(WORD_BYTES))
            .map(|(here, there)| here == there)
            .collect()
    };
    for &before in versions {
        let head = agreeing(before).iter().take_while(|&&agrees| agrees).count();
        if head == 0 {
            continue;
        }
        for &behind in versions {
            let tail = agreeing(behind).iter().rev().take_while(|&&agrees| agrees).count();
            if before != behind && tail > 0 && head + tail >= CHUNK_BYTES / WORD_BYTES - 1 {
                return Some(Origin::Seam { before, behind });
            }
        }
    }
    None
}

fn unknown(chunk: &[u8], index: usize, versions: &[u32], home: impl Fn(u32) -> Payload) -> Origin {
    let distance = |&version: &u32| -> u32 {
        home(version)
            .chunk(index)
            .iter()
            .zip(chunk)
            .map(|(there, here)| (there ^ here).count_ones())
            .sum()
    };
    let wrong_bits = versions.iter().map(distance).min().filter(|&bits| bits <= DAMAGED_BITS_MAX);
    Origin::Unknown { wrong_bits }
}

/// The header before a single bit was flipped, if that explains these 64 bytes. At this length, the
/// checksum detects all errors of up to five bits.
pub(crate) fn one_bit_off(sector: &[u8]) -> Option<Header> {
    let mut bytes: [u8; CHUNK_BYTES] = sector.get(..CHUNK_BYTES)?.try_into().ok()?;
    for bit in 0..CHUNK_BYTES * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(header) = Header::parse(&bytes) {
            return Some(header);
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    None
}

/// Returns whether 64 bytes begin as one header and end as another, with the seam at a word. Only
/// what the schedule determines is compared, not what the lane had seen of others, nor the
/// checksum.
pub(crate) fn is_header_seam(sector: &[u8], before: &Header, behind: &Header) -> bool {
    let known = |index: usize| !(12..16).contains(&index) && !(46..60).contains(&index);
    let (before, behind) = (before.bytes(), behind.bytes());
    let Some(head) = sector.get(..CHUNK_BYTES) else { return false };
    (WORD_BYTES..CHUNK_BYTES).step_by(WORD_BYTES).any(|seam| {
        head.iter().enumerate().all(|(index, &byte)| {
            let expected = if index < seam { before[index] } else { behind[index] };
            !known(index) || byte == expected
        })
    })
}

fn stretches(origins: &[Origin]) -> Vec<Stretch> {
    let mut stretches: Vec<Stretch> = Vec::new();
    for (index, &origin) in origins.iter().enumerate() {
        let bytes = index * CHUNK_BYTES..(index + 1) * CHUNK_BYTES;
        match stretches.last_mut() {
            Some(Stretch { bytes: last, origin: Origin::Unknown { wrong_bits: sum } })
                if matches!(origin, Origin::Unknown { .. }) && last.start > 0 =>
            {
                let Origin::Unknown { wrong_bits } = origin else { continue };
                *sum = sum.zip(wrong_bits).map(|(sum, bits)| sum + bits);
                last.end = bytes.end;
            }
            Some(last) if last.origin == origin => last.bytes.end = bytes.end,
            _ => stretches.push(Stretch { bytes, origin }),
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::tests::small;
    use crate::lane::fill_record;
    use crate::record::HEADER_BYTES;
    use crate::run_header::RunHeader;

    const AT: u64 = 1 << 20;

    fn sector(version: u32) -> Vec<u8> {
        let mut block = vec![0; 2048];
        fill_record(&RunHeader::plain(9, small()), 0, 0, &mut block);
        let mut header = Header::parse(&block).unwrap();
        header.version = version;
        header.fill_record(&mut block, 512);
        block.truncate(512);
        block
    }

    fn origins(sector: &[u8]) -> Vec<(usize, Origin)> {
        let suspects = Suspects {
            run_id: 9,
            address_bytes: AT,
            versions: &[7, 6, 5],
            elsewhere: &[(AT + 512, 3)],
        };
        attribute(sector, suspects)
            .stretches
            .into_iter()
            .map(|stretch| (stretch.bytes.start, stretch.origin))
            .collect()
    }

    #[test]
    fn a_torn_sector_has_both_versions_and_a_seam() {
        let (new, old) = (sector(7), sector(6));
        let torn = [&new[..192], &old[192..]].concat();
        assert_eq!(
            origins(&torn),
            [(0, Origin::Header), (64, Origin::Version(7)), (192, Origin::Version(6))]
        );
        let within = [&new[..216], &old[216..]].concat();
        assert_eq!(
            origins(&within),
            [
                (0, Origin::Header),
                (64, Origin::Version(7)),
                (192, Origin::Seam { before: 7, behind: 6 }),
                (256, Origin::Version(6))
            ]
        );
        // At an odd byte, the word at the seam belongs to neither.
        let odd = [&new[..219], &old[219..]].concat();
        assert_eq!(origins(&odd)[2].1, Origin::Seam { before: 7, behind: 6 });
    }

    #[test]
    fn bits_zeros_ones_and_strangers() {
        let mut bytes = sector(7);
        bytes[100] ^= 0b101;
        bytes[128..192].fill(0);
        bytes[192..256].fill(0xff);
        bytes[256..320].copy_from_slice(&Payload::new(9, AT + 512, 3).chunk(4));
        bytes[320..384].fill(0x5a);
        assert_eq!(
            origins(&bytes),
            [
                (0, Origin::Header),
                (64, Origin::Unknown { wrong_bits: Some(2) }),
                (128, Origin::Zeros),
                (192, Origin::Ones),
                (256, Origin::Foreign { address_bytes: AT + 512, version: 3 }),
                (320, Origin::Unknown { wrong_bits: None }),
                (384, Origin::Version(7))
            ]
        );
    }

    #[test]
    fn a_damaged_header_does_not_hide_the_body() {
        let mut bytes = sector(6);
        bytes[40] ^= 1;
        assert_eq!(
            origins(&bytes),
            [(0, Origin::Unknown { wrong_bits: None }), (64, Origin::Version(6))]
        );
        assert_eq!(HEADER_BYTES, 64);
    }
}
