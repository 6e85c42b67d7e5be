//! The tools whose output is read.

use std::fmt;

/// Who wrote a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// flushmark itself: a result document.
    Flushmark,
    /// fio, JSON or JSON+.
    FioJson,
    /// fio, for people.
    FioText,
    /// FreeBSD's `diskinfo -S`.
    Diskinfo,
    /// PostgreSQL's `pg_test_fsync`.
    PgTestFsync,
}

impl Origin {
    /// The tool with its format, as it is said to a person.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Flushmark => "flushmark",
            Origin::FioJson => "fio (JSON)",
            Origin::FioText => "fio (text)",
            Origin::Diskinfo => "diskinfo -S",
            Origin::PgTestFsync => "pg_test_fsync",
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
