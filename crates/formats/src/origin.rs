//! The supported tools.

use std::fmt;

/// The tool and format of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// flushmark itself: a result document.
    Flushmark,
    FioJson,
    /// fio's normal text output.
    FioText,
    /// FreeBSD's `diskinfo -S`.
    Diskinfo,
    /// PostgreSQL's `pg_test_fsync`.
    PgTestFsync,
    /// `fsyncperf` of github.com/lni.
    Fsyncperf,
    /// `sysbench fileio`.
    Sysbench,
}

impl Origin {
    /// The tool with its format, for messages.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Flushmark => "flushmark",
            Origin::FioJson => "fio (JSON)",
            Origin::FioText => "fio (text)",
            Origin::Diskinfo => "diskinfo -S",
            Origin::PgTestFsync => "pg_test_fsync",
            Origin::Fsyncperf => "fsyncperf",
            Origin::Sysbench => "sysbench fileio",
        }
    }

    pub(crate) const fn is_json(self) -> bool {
        matches!(self, Origin::Flushmark | Origin::FioJson)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
