//! Errors that do not end a job.

/// The kinds of operations whose errors are distinguished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorKind {
    /// A read failed.
    Read,
    /// A write or a discard failed.
    Write,
    /// A block differs from what was written.
    Mismatch,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [ErrorKind; 3] = [ErrorKind::Read, ErrorKind::Write, ErrorKind::Mismatch];

    /// The errors of this kind, in the plural.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::Read => "read errors",
            ErrorKind::Write => "write errors",
            ErrorKind::Mismatch => "mismatches",
        }
    }
}

/// The errors that a job counts and ignores, as the kernel's numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tolerance {
    /// Errors of reads.
    pub reads: Vec<i32>,
    /// Errors of writes and discards.
    pub writes: Vec<i32>,
    /// Blocks that differ from what was written.
    pub mismatches: bool,
}

impl Tolerance {
    /// Returns `true` if an error is ignored; `number` is the kernel's, and `None` for a mismatch.
    pub fn ignores(&self, kind: ErrorKind, number: Option<i32>) -> bool {
        let listed = |list: &[i32]| number.is_some_and(|number| list.contains(&number));
        match kind {
            ErrorKind::Read => listed(&self.reads),
            ErrorKind::Write => listed(&self.writes),
            ErrorKind::Mismatch => self.mismatches,
        }
    }

    /// Returns `true` if no error is ignored.
    pub fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty() && !self.mismatches
    }
}

/// The kernel's number of an error that a job file names, on x86, ARM and RISC-V
/// (`include/uapi/asm-generic/errno.h`).
pub fn error_number(name: &str) -> Option<i32> {
    const NUMBERS: [(&str, i32); 23] = [
        ("EPERM", 1),
        ("ENOENT", 2),
        ("EINTR", 4),
        ("EIO", 5),
        ("ENXIO", 6),
        ("EBADF", 9),
        ("EAGAIN", 11),
        ("ENOMEM", 12),
        ("EACCES", 13),
        ("EFAULT", 14),
        ("EBUSY", 16),
        ("ENODEV", 19),
        ("EINVAL", 22),
        ("ENFILE", 23),
        ("EMFILE", 24),
        ("EFBIG", 27),
        ("ENOSPC", 28),
        ("EROFS", 30),
        ("EILSEQ", 84),
        ("EOPNOTSUPP", 95),
        ("ETIMEDOUT", 110),
        ("EREMOTEIO", 121),
        ("EDQUOT", 122),
    ];
    let known = NUMBERS.iter().find(|(known, _)| *known == name);
    let number = || name.parse().ok().filter(|number| (1..4096).contains(number));
    known.map(|(_, number)| *number).or_else(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_errors_are_ignored() {
        let tolerance = Tolerance { reads: vec![5], writes: vec![28], mismatches: false };
        assert!(tolerance.ignores(ErrorKind::Read, Some(5)));
        assert!(tolerance.ignores(ErrorKind::Write, Some(28)));
        assert!(!tolerance.ignores(ErrorKind::Read, Some(28)));
        assert!(!tolerance.ignores(ErrorKind::Write, None));
        assert!(!tolerance.ignores(ErrorKind::Mismatch, None));
        assert!(!tolerance.is_empty() && Tolerance::default().is_empty());
    }

    #[test]
    fn errors_have_names_or_numbers() {
        assert_eq!(error_number("ENOSPC"), Some(28));
        assert_eq!(error_number("122"), Some(122));
        for invalid in ["ENOSUCH", "0", "4096", "-5", ""] {
            assert_eq!(error_number(invalid), None, "{invalid}");
        }
    }
}
