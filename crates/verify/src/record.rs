//! The format of a record: a sequence of logical sectors, each of which identifies itself.
//!
//! ```text
//! byte   0 magic "FmVr" | 4 format | 5 kind | 6 lane (2)
//!        8 sector index (2) | 10 sectors of the record (2) | 12 CRC32C of the header
//!       16 run (8)
//!       24 target (4) | 28 version (4)
//!       32 address of this sector, in bytes from the start of the target (8)
//!       40 sequence number in the lane (6) | 46 evidence: what the lane knew to be durable (6)
//!       52 another lane (2) | 54 what this lane had seen of it (6) | 60 CRC32C of the body
//!       64 payload, to the end of the sector
//! ```
//!
//! All numbers are little-endian. The header's checksum covers the header without the checksum
//! itself. [`Payload`] defines the payload.

use crate::payload::{CHUNK_BYTES, Payload};

/// The first four bytes of every sector.
pub const MAGIC: [u8; 4] = *b"FmVr";
pub const FORMAT: u8 = 1;
/// A header is one chunk.
pub const HEADER_BYTES: usize = CHUNK_BYTES;
/// Sequence numbers have 48 bits: nine years at a million operations per second.
pub const SEQ_MAX: u64 = (1 << 48) - 1;

/// The way in which a record is made durable, which depends on its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Version 0, written and synced before the run.
    Fill = 0,
    /// A plain write, followed by a sync of its lane.
    Flush = 1,
    /// A write that is durable when it returns.
    Fua = 2,
    /// A plain write that its lane never syncs.
    Control = 3,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        [Kind::Fill, Kind::Flush, Kind::Fua, Kind::Control]
            .into_iter()
            .find(|&kind| kind as u8 == byte)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The way in which the record is made durable.
    pub kind: Kind,
    /// The lane that owns the slot.
    pub lane: u16,
    /// Index of the sector within its record.
    pub sector: u16,
    pub sectors: u16,
    pub run_id: u64,
    pub target_id: u32,
    /// Number of writes to the slot in this run; 0 before the run.
    pub version: u32,
    /// Address of the sector, in bytes from the start of the target.
    pub address_bytes: u64,
    /// Number of the operation in its lane, from 1, counting syncs; 0 before the run.
    pub seq: u64,
    /// The last operation of the lane that made everything before it durable and had *returned*
    /// before this record was built; 0 if there is none.
    pub evidence: u64,
    pub other_lane: u16,
    /// The last sequence number that that lane had made durable (control lane: completed) before
    /// this record was built.
    pub other_seq: u64,
    /// CRC32C of the sector after the header.
    pub body_crc: u32,
}

/// Why 64 bytes are not a valid header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderFault {
    /// They do not begin like one.
    Magic,
    Checksum,
    /// An unknown format version or kind.
    Unknown,
}

impl Header {
    /// Reads a sector's header. Does not check the body.
    pub fn parse(bytes: &[u8]) -> Result<Header, HeaderFault> {
        let bytes: &[u8; HEADER_BYTES] = bytes
            .get(..HEADER_BYTES)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or(HeaderFault::Magic)?;
        if bytes[..4] != MAGIC {
            return Err(HeaderFault::Magic);
        }
        if number(&bytes[12..16]) as u32 != checksum(bytes) {
            return Err(HeaderFault::Checksum);
        }
        let kind =
            Kind::from_byte(bytes[5]).filter(|_| bytes[4] == FORMAT).ok_or(HeaderFault::Unknown)?;
        Ok(Header {
            kind,
            lane: number(&bytes[6..8]) as u16,
            sector: number(&bytes[8..10]) as u16,
            sectors: number(&bytes[10..12]) as u16,
            run_id: number(&bytes[16..24]),
            target_id: number(&bytes[24..28]) as u32,
            version: number(&bytes[28..32]) as u32,
            address_bytes: number(&bytes[32..40]),
            seq: number(&bytes[40..46]),
            evidence: number(&bytes[46..52]),
            other_lane: number(&bytes[52..54]) as u16,
            other_seq: number(&bytes[54..60]),
            body_crc: number(&bytes[60..64]) as u32,
        })
    }

    /// The encoded header with its checksum.
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&MAGIC);
        bytes[4] = FORMAT;
        bytes[5] = self.kind as u8;
        bytes[6..8].copy_from_slice(&self.lane.to_le_bytes());
        bytes[8..10].copy_from_slice(&self.sector.to_le_bytes());
        bytes[10..12].copy_from_slice(&self.sectors.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.run_id.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.target_id.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.version.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.address_bytes.to_le_bytes());
        bytes[40..46].copy_from_slice(&self.seq.to_le_bytes()[..6]);
        bytes[46..52].copy_from_slice(&self.evidence.to_le_bytes()[..6]);
        bytes[52..54].copy_from_slice(&self.other_lane.to_le_bytes());
        bytes[54..60].copy_from_slice(&self.other_seq.to_le_bytes()[..6]);
        bytes[60..64].copy_from_slice(&self.body_crc.to_le_bytes());
        let crc = checksum(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    pub fn payload(&self) -> Payload {
        Payload::new(self.run_id, self.address_bytes, self.version)
    }

    /// Builds the whole record in `block`, sector by sector. `self` describes its first sector;
    /// index, count, address and checksums are filled in.
    pub fn fill_record(&self, block: &mut [u8], sector_bytes: usize) {
        let sectors = (block.len() / sector_bytes) as u16;
        for (index, sector) in block.chunks_exact_mut(sector_bytes).enumerate() {
            let address_bytes = self.address_bytes + (index * sector_bytes) as u64;
            let (head, body) = sector.split_at_mut(HEADER_BYTES);
            Payload::new(self.run_id, address_bytes, self.version).fill(body);
            let body_crc = crc32c::crc32c(body);
            let header = Header { sector: index as u16, sectors, address_bytes, body_crc, ..*self };
            head.copy_from_slice(&header.bytes());
        }
    }
}

#[inline]
fn checksum(header: &[u8; HEADER_BYTES]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&header[..12]), &header[16..])
}

/// A little-endian number of up to eight bytes.
#[inline]
fn number(bytes: &[u8]) -> u64 {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(eight)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header() -> Header {
        Header {
            kind: Kind::Flush,
            lane: 3,
            sector: 0,
            sectors: 0,
            run_id: 0x0123_4567_89ab_cdef,
            target_id: 0xdead_beef,
            version: 17,
            address_bytes: 1 << 20,
            seq: 33,
            evidence: 32,
            other_lane: 1,
            other_seq: 40,
            body_crc: 0,
        }
    }

    /// Later versions must be able to read drives written by this one.
    #[test]
    fn the_layout_is_the_documented_one() {
        let hex: Vec<String> = header()
            .bytes()
            .chunks(16)
            .map(|row| row.iter().map(|byte| format!("{byte:02x}")).collect())
            .collect();
        insta::assert_snapshot!(hex.join("\n"), @"
        466d567201010300000000009ec0cb83
        efcdab8967452301efbeadde11000000
        00001000000000002100000000002000
        00000000010028000000000000000000
        ");
    }

    #[test]
    fn every_sector_of_a_record_has_its_address() {
        let mut block = [0; 4096];
        header().fill_record(&mut block, 512);
        for (index, sector) in block.chunks(512).enumerate() {
            let read = Header::parse(sector).unwrap();
            assert_eq!((usize::from(read.sector), read.sectors), (index, 8));
            assert_eq!(read.address_bytes, (1 << 20) + index as u64 * 512);
            assert_eq!(read.body_crc, crc32c::crc32c(&sector[HEADER_BYTES..]));
            assert!(read.payload().is(&sector[HEADER_BYTES..]));
        }
    }

    #[test]
    fn invalid_headers_are_distinguished() {
        let mut bytes = header().bytes();
        assert_eq!(Header::parse(&[]), Err(HeaderFault::Magic));
        assert_eq!(Header::parse(&[0; 64]), Err(HeaderFault::Magic));
        bytes[20] ^= 1;
        assert_eq!(Header::parse(&bytes), Err(HeaderFault::Checksum));
        let mut later = header().bytes();
        later[4] = FORMAT + 1;
        let crc = checksum(&later);
        later[12..16].copy_from_slice(&crc.to_le_bytes());
        assert_eq!(Header::parse(&later), Err(HeaderFault::Unknown));
    }

    proptest! {
        #[test]
        fn a_header_survives_a_round_trip(
            lane: u16, sector: u16, sectors: u16, run_id: u64, target_id: u32, version: u32, address_bytes: u64,
            seq in 0..=SEQ_MAX, evidence in 0..=SEQ_MAX, other_lane: u16, other_seq in 0..=SEQ_MAX, body_crc: u32, kind in 0u8..4,
        ) {
            let kind = Kind::from_byte(kind).unwrap();
            let header = Header { kind, lane, sector, sectors, run_id, target_id, version, address_bytes, seq, evidence, other_lane, other_seq, body_crc };
            prop_assert_eq!(Header::parse(&header.bytes()), Ok(header));
        }

        #[test]
        fn a_flipped_bit_is_detected(bit in 0usize..512) {
            let mut bytes = header().bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Header::parse(&bytes).is_err());
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Header::parse(&bytes);
        }
    }
}
