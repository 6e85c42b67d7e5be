//! The parts of a target that jobs work on: [`PartSpec`] is what a test requests, [`Part`] what it
//! gets.

use workload::{Content, Layout};

/// A requested part of the target, for one job or one file of a step program.
#[expect(clippy::struct_excessive_bools, reason = "independent of each other")]
#[derive(Debug, Clone)]
pub struct PartSpec {
    /// File name in a directory.
    pub name: String,
    /// Requested bytes, a multiple of `unit_bytes`.
    pub size_bytes: u64,
    /// A smaller part is still a multiple of this.
    pub unit_bytes: u64,
    /// The required initial state.
    pub layout: Layout,
    /// Bypass the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Drop cached pages after preparation.
    pub invalidate: bool,
    /// If set, existing content is overwritten once from this offset on.
    pub precondition: Option<u64>,
    pub content: Content,
    /// The test leaves the file in a state that is of no use to later tests.
    pub single_use: bool,
    /// An empty file is extended to its size, without space, because it is also read.
    pub sparse: bool,
    /// It takes nothing from the space that test files may use: it exists, or may use all space of
    /// the filesystem.
    pub unbudgeted: bool,
}

/// The name of the file with which tests exchange blocks.
pub fn donor_name(number: usize) -> String {
    format!("donor-{number}")
}

#[derive(Debug, Clone)]
pub struct Part {
    /// File name in a directory.
    pub name: String,
    /// Offset within the file or device.
    pub start: u64,
    /// Can be less than requested.
    pub size_bytes: u64,
    /// Direct I/O was requested and works on it.
    pub direct: bool,
    /// Required alignment of direct offsets and lengths.
    pub alignment_bytes: u64,
}
