//! The open files of one job.

use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fd::BorrowedFd;
use workload::JobPart;

/// A job's files, and the translation of its offsets to them. Usually a single file.
#[derive(Debug)]
pub struct OpenFiles {
    part: JobPart,
    first: OwnedFd,
    others: Vec<OwnedFd>,
}

impl OpenFiles {
    /// `others` are the files after the first one of the job's part.
    pub const fn new(part: JobPart, first: OwnedFd, others: Vec<OwnedFd>) -> OpenFiles {
        OpenFiles { part, first, others }
    }

    pub const fn single(file: OwnedFd) -> OpenFiles {
        OpenFiles::new(JobPart::within_one_file(0, u64::MAX), file, Vec::new())
    }

    /// The range in each file.
    pub const fn part(&self) -> JobPart {
        self.part
    }

    /// The file of an offset, and the offset within it.
    #[inline]
    pub fn at(&self, offset: u64) -> (BorrowedFd<'_>, u64) {
        let (index, within) = self.part.locate(offset);
        let file = if index == 0 { &self.first } else { &self.others[index as usize - 1] };
        (file.as_fd(), within)
    }

    /// All files, in order.
    pub fn iter(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(&self.first).chain(&self.others).map(|file| file.as_fd())
    }
}
