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
    /// Sequential `fallocate` of each block, which extends the file if necessary; wraps around.
    Allocate,
    /// `fallocate` of random blocks.
    RandAllocate,
    /// As `Allocate`, but never changes the length of the file (`FALLOC_FL_KEEP_SIZE`).
    Reserve,
    /// As `RandAllocate`, but never changes the length of the file.
    RandReserve,
    /// `ftruncate` to the start of each block in turn, which makes the file grow; wraps around.
    Truncate,
    /// `ftruncate` to the start of random blocks.
    RandTruncate,
    /// Creates empty files.
    Create,
    /// `stat` of files.
    Stat,
    /// Removes files.
    Remove,
    /// Creates directories.
    MkDir,
    /// `stat` of directories.
    StatDir,
    /// Removes empty directories.
    RmDir,
    /// Exchanges each block in turn with that of another file, as defragmentation does; wraps around.
    Defragment,
    /// Exchanges random blocks with those of another file.
    RandDefragment,
    /// Computes instead of using the target.
    Compute,
}

/// The object of each operation of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// The data of a block.
    Transfer,
    /// The space of a file or device.
    Space(SpaceCall),
    /// A file or directory of a job, each of which has its turn.
    Entry(EntryCall, EntryKind),
    /// None: a computation.
    Compute,
}

/// A call that changes the space of a file without transferring data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpaceCall {
    /// Releases a block: `BLKDISCARD` on a device, a hole in a file.
    Discard,
    /// Reserves the space of a block; the file grows if it ends before.
    Allocate,
    /// Reserves the space of a block, even beyond the end of the file.
    Reserve,
    /// Sets the length of the file to the offset of a block.
    Truncate,
    /// Exchanges the space of a block with that of another file (`EXT4_IOC_MOVE_EXT`); the data
    /// stays.
    Exchange,
}

/// A call on an entry of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryCall {
    /// `open` with `O_CREAT` and `close`, or `mkdir`.
    Create,
    /// `stat`.
    Stat,
    /// `unlink` or `rmdir`.
    Remove,
}

/// The kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// An empty directory.
    Directory,
}

impl Pattern {
    /// Every pattern, in the order in which help lists them.
    pub const ALL: [Pattern; 23] = [
        Pattern::Read,
        Pattern::Write,
        Pattern::RandRead,
        Pattern::RandWrite,
        Pattern::Rw,
        Pattern::RandRw,
        Pattern::Trim,
        Pattern::RandTrim,
        Pattern::Allocate,
        Pattern::RandAllocate,
        Pattern::Reserve,
        Pattern::RandReserve,
        Pattern::Truncate,
        Pattern::RandTruncate,
        Pattern::Create,
        Pattern::Stat,
        Pattern::Remove,
        Pattern::MkDir,
        Pattern::StatDir,
        Pattern::RmDir,
        Pattern::Defragment,
        Pattern::RandDefragment,
        Pattern::Compute,
    ];

    /// The name used by plans, and by fio for the patterns that read, write or discard.
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
            Pattern::Allocate => "allocate",
            Pattern::RandAllocate => "randallocate",
            Pattern::Reserve => "reserve",
            Pattern::RandReserve => "randreserve",
            Pattern::Truncate => "truncate",
            Pattern::RandTruncate => "randtruncate",
            Pattern::Create => "create",
            Pattern::Stat => "stat",
            Pattern::Remove => "remove",
            Pattern::MkDir => "mkdir",
            Pattern::StatDir => "statdir",
            Pattern::RmDir => "rmdir",
            Pattern::Defragment => "defragment",
            Pattern::RandDefragment => "randdefragment",
            Pattern::Compute => "compute",
        }
    }

    /// Looks up a pattern by name. `readwrite` is fio's alias for `rw`.
    pub fn from_name(name: &str) -> Option<Pattern> {
        let name = if name == "readwrite" { "rw" } else { name };
        Pattern::ALL.into_iter().find(|pattern| pattern.name() == name)
    }

    /// The object of its operations.
    pub const fn operation(self) -> Operation {
        use EntryCall::{Create, Remove, Stat};
        use EntryKind::{Directory, File};
        match self {
            Pattern::Read
            | Pattern::Write
            | Pattern::RandRead
            | Pattern::RandWrite
            | Pattern::Rw
            | Pattern::RandRw => Operation::Transfer,
            Pattern::Trim | Pattern::RandTrim => Operation::Space(SpaceCall::Discard),
            Pattern::Allocate | Pattern::RandAllocate => Operation::Space(SpaceCall::Allocate),
            Pattern::Reserve | Pattern::RandReserve => Operation::Space(SpaceCall::Reserve),
            Pattern::Truncate | Pattern::RandTruncate => Operation::Space(SpaceCall::Truncate),
            Pattern::Create => Operation::Entry(Create, File),
            Pattern::Stat => Operation::Entry(Stat, File),
            Pattern::Remove => Operation::Entry(Remove, File),
            Pattern::MkDir => Operation::Entry(Create, Directory),
            Pattern::StatDir => Operation::Entry(Stat, Directory),
            Pattern::RmDir => Operation::Entry(Remove, Directory),
            Pattern::Defragment | Pattern::RandDefragment => Operation::Space(SpaceCall::Exchange),
            Pattern::Compute => Operation::Compute,
        }
    }

    /// Returns `true` if any of its operations is a write. Whatever changes the target counts as
    /// one.
    pub const fn writes(self) -> bool {
        match self.operation() {
            Operation::Transfer => !matches!(self, Pattern::Read | Pattern::RandRead),
            Operation::Space(_) => true,
            Operation::Entry(call, _) => !matches!(call, EntryCall::Stat),
            Operation::Compute => false,
        }
    }

    /// Returns `true` if any of its operations is a read, or `stat`. A computation, which changes
    /// nothing either, counts as a read.
    pub const fn reads(self) -> bool {
        match self.operation() {
            Operation::Transfer => !matches!(self, Pattern::Write | Pattern::RandWrite),
            Operation::Space(_) => false,
            Operation::Entry(call, _) => matches!(call, EntryCall::Stat),
            Operation::Compute => true,
        }
    }

    /// Returns `true` if its operations read or write data.
    pub const fn transfers(self) -> bool {
        matches!(self.operation(), Operation::Transfer)
    }

    /// Returns `true` if its operations discard blocks instead of writing to them.
    pub const fn trims(self) -> bool {
        matches!(self.operation(), Operation::Space(SpaceCall::Discard))
    }

    /// Returns `true` if each of its operations covers the bytes of a block.
    pub const fn covers_bytes(self) -> bool {
        !matches!(
            self.operation(),
            Operation::Space(SpaceCall::Truncate) | Operation::Entry(..) | Operation::Compute
        )
    }

    /// Returns `true` if its operations create, stat or remove files or directories.
    pub const fn visits_entries(self) -> bool {
        matches!(self.operation(), Operation::Entry(..))
    }

    /// Returns `true` if its operations compute instead of using the target.
    pub const fn computes(self) -> bool {
        matches!(self.operation(), Operation::Compute)
    }

    /// The patterns of plan files. The others are only found in fio's job files.
    pub fn planned() -> impl Iterator<Item = Pattern> {
        let fio_only = |pattern: &Pattern| {
            matches!(
                pattern.operation(),
                Operation::Compute | Operation::Space(SpaceCall::Exchange)
            )
        };
        Pattern::ALL.into_iter().filter(move |pattern| !fio_only(pattern))
    }

    /// Returns `true` if reads and writes are mixed by a ratio.
    pub const fn is_mixed(self) -> bool {
        matches!(self, Pattern::Rw | Pattern::RandRw)
    }

    /// Returns `true` if the next block is drawn at random.
    pub const fn is_random(self) -> bool {
        matches!(
            self,
            Pattern::RandRead
                | Pattern::RandWrite
                | Pattern::RandRw
                | Pattern::RandTrim
                | Pattern::RandAllocate
                | Pattern::RandReserve
                | Pattern::RandTruncate
                | Pattern::RandDefragment
        )
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
    fn only_what_moves_or_covers_a_block_has_bytes() {
        for pattern in Pattern::ALL {
            let name = pattern.name();
            let space = ["trim", "allocate", "reserve", "truncate", "defragment"];
            let on_space = space.iter().any(|operation| name.ends_with(operation));
            let on_entries = pattern.visits_entries();
            let counts = [pattern.transfers(), on_space, on_entries, pattern.computes()];
            assert_eq!(counts.iter().filter(|is| **is).count(), 1, "{name}");
            let bytes = pattern.transfers() || on_space && !name.ends_with("truncate");
            assert_eq!(pattern.covers_bytes(), bytes, "{name}");
        }
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
            let (reads, stats) = (name.ends_with("read"), name.starts_with("stat"));
            let harmless = stats || pattern.computes();
            assert_eq!(pattern.reads(), reads || harmless || name.ends_with("rw"), "{name}");
            // A discard counts as a write, and so does whatever else changes the target.
            assert_eq!(pattern.writes(), !reads && !harmless, "{name}");
            assert_eq!(serde_json::to_value(pattern).unwrap(), name);
        }
    }
}
