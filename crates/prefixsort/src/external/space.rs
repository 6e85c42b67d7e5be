//! Storage for runs: unnamed files in directories, or spaces that the caller provides.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Storage for runs: a directory, or a space that the caller implements, such as a raw device. The
/// format and the checksums of runs are the same everywhere.
///
/// ```
/// use std::fs::OpenOptions;
/// use std::io;
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use prefixsort::{ExternalOptions, ExternalSorter, RunFile, SpillSpace};
///
/// /// Runs in named files, for those who want to look at them.
/// #[derive(Debug)]
/// struct Named;
///
/// impl SpillSpace for Named {
///     fn path(&self) -> &Path {
///         Path::new("/var/tmp")
///     }
///
///     fn create(&self) -> io::Result<Box<dyn RunFile>> {
///         let file = OpenOptions::new().read(true).write(true).create_new(true).open("/var/tmp/run")?;
///         Ok(Box::new(file))
///     }
/// }
///
/// let sorter = ExternalSorter::spilling_to(&ExternalOptions::default(), vec![Arc::new(Named)])?;
/// # drop(sorter);
/// # Ok::<(), prefixsort::SpillError>(())
/// ```
pub trait SpillSpace: Debug + Send + Sync {
    /// The name of the space in error messages.
    fn path(&self) -> &Path;

    /// Creates an empty run.
    ///
    /// # Errors
    ///
    /// Any I/O error; the next space is tried then.
    fn create(&self) -> io::Result<Box<dyn RunFile>>;
}

/// A run in its space. It is written sequentially and flushed, then rewound and read sequentially,
/// possibly more than once. Dropping it frees its space.
pub trait RunFile: Read + Write + Debug + Send {
    /// Moves back to the beginning, for reading.
    ///
    /// # Errors
    ///
    /// Any I/O error.
    fn rewind(&mut self) -> io::Result<()>;
}

impl RunFile for File {
    fn rewind(&mut self) -> io::Result<()> {
        Seek::rewind(self)
    }
}

/// Unnamed files, or files whose names are removed at once: nothing remains however the process
/// ends.
impl SpillSpace for PathBuf {
    fn path(&self) -> &Path {
        self
    }

    fn create(&self) -> io::Result<Box<dyn RunFile>> {
        Ok(Box::new(tempfile::tempfile_in(self)?))
    }
}

/// Shared because a run refers to the space that contains it.
pub(super) type Space = Arc<dyn SpillSpace>;
