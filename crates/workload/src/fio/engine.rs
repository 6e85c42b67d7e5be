//! fio's engines: the interface for reads and writes, or the call that takes their place.

use super::compute::CPUIO;
use super::defragment::E4DEFRAG;
use super::libblkio::LIBBLKIO;
use super::rbd::RBD;
use crate::blocks::EngineChoice;
use crate::pattern::{EntryCall, EntryKind, Operation, Pattern, SpaceCall};

/// An `ioengine`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FioEngine {
    /// Reads, writes and discards.
    Transfer(EngineChoice),
    /// `fallocate` in place of each operation.
    Falloc,
    /// `ftruncate` in place of each write.
    Ftruncate,
    /// `EXT4_IOC_MOVE_EXT` in place of each write.
    E4defrag,
    /// Each operation creates, stats or removes one file or directory.
    Entries(Pattern),
    /// Each operation computes.
    Compute,
}

impl FioEngine {
    /// The names, for errors.
    pub const NAMES: &str = "one of sync, psync, pvsync, pvsync2, vsync, libzbc, io_uring, libaio, \
                             libblkio, nbd, rbd, null, falloc, ftruncate, filecreate, filestat, \
                             filedelete, dircreate, dirstat, dirdelete, e4defrag, cpuio";

    /// Looks up an engine by its name in fio.
    pub fn from_name(name: &str) -> Option<FioEngine> {
        Some(match name {
            // The zones of libzbc are those of the kernel.
            "sync" | "psync" | "pvsync" | "pvsync2" | "vsync" | "libzbc" => {
                FioEngine::Transfer(EngineChoice::Psync)
            }
            "io_uring" | LIBBLKIO => FioEngine::Transfer(EngineChoice::IoUring),
            "libaio" => FioEngine::Transfer(EngineChoice::Libaio),
            // Their target has a single interface.
            "nbd" | RBD | "null" => FioEngine::Transfer(EngineChoice::Auto),
            CPUIO => FioEngine::Compute,
            "falloc" => FioEngine::Falloc,
            "ftruncate" => FioEngine::Ftruncate,
            E4DEFRAG => FioEngine::E4defrag,
            "filecreate" => FioEngine::Entries(Pattern::Create),
            "filestat" => FioEngine::Entries(Pattern::Stat),
            "filedelete" => FioEngine::Entries(Pattern::Remove),
            "dircreate" => FioEngine::Entries(Pattern::MkDir),
            "dirstat" => FioEngine::Entries(Pattern::StatDir),
            "dirdelete" => FioEngine::Entries(Pattern::RmDir),
            _ => return None,
        })
    }

    /// The patterns that have the names of fio's `rw`.
    pub fn patterns() -> impl Iterator<Item = Pattern> {
        let is_fio = |pattern: &Pattern| pattern.transfers() || pattern.trims();
        Pattern::ALL.into_iter().filter(is_fio)
    }

    /// The interface of its operations.
    pub const fn interface(self) -> EngineChoice {
        match self {
            FioEngine::Transfer(interface) => interface,
            FioEngine::Falloc
            | FioEngine::Ftruncate
            | FioEngine::E4defrag
            | FioEngine::Entries(_)
            | FioEngine::Compute => EngineChoice::Psync,
        }
    }

    /// The pattern of the engine for an `rw`; `None` if it does not support it.
    pub fn pattern(self, rw: Pattern) -> Option<Pattern> {
        let call = match (self, rw) {
            (FioEngine::Transfer(_), _) => return Some(rw),
            (FioEngine::Entries(pattern), _) => return Some(pattern),
            (FioEngine::Compute, _) => return Some(Pattern::Compute),
            // fio's engines/falloc.c
            (FioEngine::Falloc, Pattern::Read | Pattern::RandRead) => SpaceCall::Reserve,
            (FioEngine::Falloc, Pattern::Write | Pattern::RandWrite) => SpaceCall::Allocate,
            (FioEngine::Falloc, Pattern::Trim | Pattern::RandTrim) => SpaceCall::Discard,
            (FioEngine::Ftruncate, Pattern::Write | Pattern::RandWrite) => SpaceCall::Truncate,
            (FioEngine::E4defrag, Pattern::Write | Pattern::RandWrite) => SpaceCall::Exchange,
            _ => return None,
        };
        Pattern::ALL.into_iter().find(|pattern| {
            pattern.operation() == Operation::Space(call) && pattern.is_random() == rw.is_random()
        })
    }

    /// The names of the engine and of `rw` for a pattern that is neither a read, a write nor a
    /// discard.
    pub fn names_of(pattern: Pattern) -> Option<(&'static str, &'static str)> {
        let random = |one, other| if pattern.is_random() { one } else { other };
        Some(match pattern.operation() {
            Operation::Transfer | Operation::Space(SpaceCall::Discard) => return None,
            Operation::Space(SpaceCall::Reserve) => ("falloc", random("randread", "read")),
            Operation::Space(SpaceCall::Allocate) => ("falloc", random("randwrite", "write")),
            Operation::Space(SpaceCall::Truncate) => ("ftruncate", random("randwrite", "write")),
            Operation::Space(SpaceCall::Exchange) => (E4DEFRAG, random("randwrite", "write")),
            Operation::Compute => (CPUIO, "read"),
            Operation::Entry(call, EntryKind::File) => match call {
                EntryCall::Create => ("filecreate", "write"),
                EntryCall::Stat => ("filestat", "read"),
                EntryCall::Remove => ("filedelete", "write"),
            },
            Operation::Entry(call, EntryKind::Directory) => match call {
                EntryCall::Create => ("dircreate", "write"),
                EntryCall::Stat => ("dirstat", "read"),
                EntryCall::Remove => ("dirdelete", "write"),
            },
        })
    }

    /// The error for an `rw` that the engine does not support.
    pub fn takes(self, rw: Pattern) -> String {
        let (name, takes) = match self {
            FioEngine::Ftruncate => ("ftruncate", "write or randwrite"),
            FioEngine::E4defrag => (E4DEFRAG, "write or randwrite"),
            _ => ("falloc", "read, randread, write, randwrite, trim or randtrim"),
        };
        format!("ioengine={name} does not support {}; use {takes}", rw.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_without_data_has_an_engine_that_leads_back_to_it() {
        for pattern in Pattern::ALL {
            let Some((engine, rw)) = FioEngine::names_of(pattern) else {
                assert!(FioEngine::patterns().any(|known| known == pattern), "{pattern:?}");
                continue;
            };
            let rw = Pattern::from_name(rw).unwrap();
            assert_eq!(FioEngine::from_name(engine).unwrap().pattern(rw), Some(pattern));
            assert!(FioEngine::NAMES.contains(engine));
        }
        assert_eq!(FioEngine::Falloc.pattern(Pattern::RandTrim), Some(Pattern::RandTrim));
        assert_eq!(FioEngine::Falloc.pattern(Pattern::Rw), None);
        assert_eq!(FioEngine::Ftruncate.pattern(Pattern::Read), None);
        assert_eq!(FioEngine::Ftruncate.pattern(Pattern::Trim), None);
    }
}
