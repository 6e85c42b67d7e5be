//! The verification of blocks: what they contain, and when they are checked.

/// The verification of a workload's blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verification {
    /// The contents that make damage visible.
    pub seal: Seal,
    /// Bytes of each piece of a block that has its own header, or repeats its pattern.
    pub piece_bytes: u32,
    /// The time of the check.
    pub time: CheckTime,
    /// A block must be the last one that the job wrote at its offset: an older one is a lost write.
    /// Jobs that overwrite each other's blocks cannot know.
    pub latest: bool,
    /// Several jobs write the same blocks at the same time. A block may then consist of pieces of
    /// several writes, and is checked once all of these jobs have ended.
    pub shared: bool,
}

/// The largest piece that a drive or a page cache does not mix from several writes: a sector.
pub const WHOLE_PIECE_BYTES: u32 = 512;

impl Verification {
    /// The verification of a reader, with the pieces that this writer had to choose.
    #[must_use]
    pub const fn read_by(&self, reader: &Verification) -> Verification {
        let piece_bytes = if self.shared { self.piece_bytes } else { reader.piece_bytes };
        Verification { piece_bytes, ..*reader }
    }

    /// Returns `true` if blocks written by `other` can be checked by this verification.
    pub fn understands(&self, other: &Verification) -> bool {
        self.seal == other.seal && self.piece_bytes == other.piece_bytes
    }
}

/// The contents of each piece of a block. A header holds the number of the write, the offset, and a
/// checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seal {
    /// A header whose checksum covers the whole piece.
    Checksum {
        /// The data after the header; `None` for the workload's content.
        fill: Option<FillPattern>,
    },
    /// A header whose checksum covers only itself, and a fill that is compared.
    Header {
        /// The data after the header; `None` for the workload's content, which is not checked.
        fill: Option<FillPattern>,
    },
    /// No header: all of it is the fill.
    Pattern(FillPattern),
}

impl Seal {
    /// The pattern that the data repeats, if any.
    pub const fn fill(&self) -> Option<FillPattern> {
        match self {
            Seal::Checksum { fill } | Seal::Header { fill } => *fill,
            Seal::Pattern(fill) => Some(*fill),
        }
    }

    /// Returns `true` if each piece has a header.
    pub const fn has_header(&self) -> bool {
        !matches!(self, Seal::Pattern(_))
    }
}

/// The time at which blocks are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckTime {
    /// After the measured time.
    Afterwards,
    /// Within the measured time, whenever a job has completed this many writes; the rest
    /// afterwards.
    EveryWrites(u32),
    /// In a later test that reads them, or never.
    InLaterTest,
    /// As they are read: they must contain what an earlier test wrote.
    OnRead,
}

/// Bytes that a block repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FillPattern {
    bytes: [u8; FillPattern::BYTES_MAX],
    length: u8,
}

impl FillPattern {
    /// Length of the longest pattern.
    pub const BYTES_MAX: usize = 64;

    /// `None` for a pattern that is empty or too long.
    pub fn new(pattern: &[u8]) -> Option<FillPattern> {
        let mut bytes = [0; FillPattern::BYTES_MAX];
        bytes.get_mut(..pattern.len())?.copy_from_slice(pattern);
        (!pattern.is_empty()).then_some(FillPattern { bytes, length: pattern.len() as u8 })
    }

    /// The pattern once.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_has_at_least_one_byte_and_fits() {
        assert_eq!(FillPattern::new(&[]), None);
        assert_eq!(FillPattern::new(&[1; FillPattern::BYTES_MAX + 1]), None);
        let longest = FillPattern::new(&[7; FillPattern::BYTES_MAX]).unwrap();
        assert_eq!(longest.bytes(), [7; FillPattern::BYTES_MAX]);
        assert_eq!(FillPattern::new(&[0xaa, 0x55]).unwrap().bytes(), [0xaa, 0x55]);
    }

    #[test]
    fn only_equal_seals_understand_each_other() {
        let fill = FillPattern::new(&[1]);
        let header = Verification {
            seal: Seal::Header { fill },
            piece_bytes: 512,
            time: CheckTime::InLaterTest,
            latest: true,
            shared: false,
        };
        let reader = Verification { time: CheckTime::OnRead, latest: false, ..header };
        assert!(reader.understands(&header));
        assert!(!Verification { piece_bytes: 4096, ..reader }.understands(&header));
        assert!(!Verification { seal: Seal::Checksum { fill }, ..reader }.understands(&header));
    }
}
