//! Where runs are kept: unnamed files in directories, or spaces that the caller provides.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Somewhere to keep runs: a directory, or a space of the caller's own, such as a raw device. What a run needs besides,
/// its format and its checksums, is the same everywhere.
///
/// ```
/// use std::fs::OpenOptions;
/// use std::io;
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use prefixsort::{ExternalOptions, ExternalSorter, RunFile, SpillSpace};
///
/// /// Runs in files with names, for those who want to see them.
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
    /// What messages call it.
    fn path(&self) -> &Path;

    /// Room for one run.
    ///
    /// # Errors
    ///
    /// As the system reports them; the next space is tried then.
    fn create(&self) -> io::Result<Box<dyn RunFile>>;
}

/// One run in its space: it is written from its beginning to its end and flushed, then read the same way, perhaps more than
/// once. Dropping it gives its room back.
pub trait RunFile: Read + Write + Debug + Send {
    /// Back to the beginning, to be read.
    ///
    /// # Errors
    ///
    /// As the system reports them.
    fn rewind(&mut self) -> io::Result<()>;
}

impl RunFile for File {
    fn rewind(&mut self) -> io::Result<()> {
        Seek::rewind(self)
    }
}

/// Files without a name from the beginning, or from right after it: whatever ends this process, nothing stays.
impl SpillSpace for PathBuf {
    fn path(&self) -> &Path {
        self
    }

    fn create(&self) -> io::Result<Box<dyn RunFile>> {
        Ok(Box::new(tempfile::tempfile_in(self)?))
    }
}

/// Shared because a run remembers where it is kept.
pub(super) type Space = Arc<dyn SpillSpace>;
