//! Atomic replacement of files: whenever a file is read, and however the program that writes it
//! ends, the file has either its old content or the new.
//!
//! ```
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("result.json");
//! // In one call
//! wholefile::replace(&path, b"{}", None)?;
//!
//! // Piece by piece; the old content stays if this fails before the end
//! use std::io::Write as _;
//! let mut new = wholefile::Replacement::begin(&path, None)?;
//! writeln!(new, "{{}}")?;
//! new.finish()?;
//! # assert_eq!(std::fs::read_to_string(&path)?, "{}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A finished file is durable, except after [`replace_unsynced`]. A file that is in use as a drive
//! (mounted, swapped on, or attached to a loop device) is refused: [`ReplaceError::InUse`]. So is a
//! block device: [`ReplaceError::BlockDevice`].
//!
//! | module | content |
//! | --- | --- |
//! | `replacement` | [`Replacement`]: which way the new content takes the place of the old |
//! | `beside` | a new file that takes the name of the old one |
//! | `unnamed` | new files without a name |
//! | `entry` | a name in a directory |
//! | `error` | [`ReplaceError`] |
//! | `writing_out` | [`WritingOut`]: long output that the drive begins to write early |

mod beside;
mod entry;
mod error;
mod replacement;
mod unnamed;
mod writing_out;

pub use error::ReplaceError;
pub use replacement::{Replacement, expect_replaceable, replace, replace_unsynced};
pub use writing_out::WritingOut;
