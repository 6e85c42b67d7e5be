//! Access patterns: which block comes next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The order in which blocks are accessed, and the operation. The names are fio's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Sequential reads from the start; wraps around at the end.
    Read,
    /// Sequential writes from the start; wraps around at the end.
    Write,
    /// Uniformly random reads aligned to the block size, with repetition.
    RandRead,
    /// Uniformly random writes aligned to the block size, with repetition.
    RandWrite,
    /// Sequential reads and writes mixed by a ratio; both share one position.
    Rw,
    /// Random reads and writes mixed by a ratio.
    RandRw,
    /// Sequential discards; wraps around at the end.
    Trim,
    /// Discards of random blocks.
    RandTrim,
}

impl Pattern {
    /// Every pattern, in the order in which help lists them.
    pub const ALL: [Pattern; 8] = [
        Pattern::Read,
        Pattern::Write,
        Pattern::RandRead,
        Pattern::RandWrite,
        Pattern::Rw,
        Pattern::RandRw,
        Pattern::Trim,
        Pattern::RandTrim,
    ];

    /// The name used by plans and fio.
    ///
    /// ```
    /// assert_eq!(workload::Pattern::RandWrite.name(), "randwrite");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Pattern::Read => "read",
            Pattern::Write => "write",
            Pattern::RandRead => "randread",
            Pattern::RandWrite => "randwrite",
            Pattern::Rw => "rw",
            Pattern::RandRw => "randrw",
            Pattern::Trim => "trim",
            Pattern::RandTrim => "randtrim",
        }
    }

    /// Looks up a pattern by name. `readwrite` is fio's alias for `rw`.
    pub fn from_name(name: &str) -> Option<Pattern> {
        let name = if name == "readwrite" { "rw" } else { name };
        Pattern::ALL.into_iter().find(|pattern| pattern.name() == name)
    }

    /// Returns `true` if any of its operations is a write. Discards count as writes.
    pub const fn writes(self) -> bool {
        !matches!(self, Pattern::Read | Pattern::RandRead)
    }

    /// Returns `true` if any of its operations is a read.
    pub const fn reads(self) -> bool {
        !matches!(self, Pattern::Write | Pattern::RandWrite | Pattern::Trim | Pattern::RandTrim)
    }

    /// Returns `true` if its operations discard blocks instead of writing to them.
    pub const fn trims(self) -> bool {
        matches!(self, Pattern::Trim | Pattern::RandTrim)
    }

    /// Returns `true` if reads and writes are mixed by a ratio.
    pub const fn is_mixed(self) -> bool {
        matches!(self, Pattern::Rw | Pattern::RandRw)
    }

    /// Returns `true` if the next block is drawn at random.
    pub const fn is_random(self) -> bool {
        matches!(self, Pattern::RandRead | Pattern::RandWrite | Pattern::RandRw | Pattern::RandTrim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_pattern() {
        for pattern in Pattern::ALL {
            assert_eq!(Pattern::from_name(pattern.name()), Some(pattern));
        }
        assert_eq!(Pattern::from_name("readwrite"), Some(Pattern::Rw));
        assert_eq!(Pattern::from_name("trimwrite"), None);
    }

    #[test]
    fn a_mixed_pattern_both_reads_and_writes() {
        for pattern in Pattern::ALL {
            assert_eq!(pattern.is_mixed(), pattern.reads() && pattern.writes());
        }
    }

    #[test]
    fn a_name_says_what_its_pattern_does() {
        for pattern in Pattern::ALL {
            let name = pattern.name();
            assert_eq!(pattern.is_random(), name.starts_with("rand"), "{name}");
            assert_eq!(pattern.trims(), name.ends_with("trim"), "{name}");
            assert_eq!(pattern.reads(), name.ends_with("read") || name.ends_with("rw"), "{name}");
            // A discard counts as a write.
            assert_eq!(pattern.writes(), !name.ends_with("read"), "{name}");
        }
    }
}
