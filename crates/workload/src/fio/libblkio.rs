//! The options of `ioengine=libblkio`, a library of drivers for block devices.

use super::section::Section;
use crate::plan::PlanError;

/// The name of the engine.
pub(super) const LIBBLKIO: &str = "libblkio";
const OPTIONS: [&str; 2] = ["libblkio_driver", "libblkio_path"];

impl Section {
    /// Checks the driver: flushmark has one of them, which does the same as `ioengine=io_uring` on
    /// the file or device at `libblkio_path`.
    ///
    /// # Errors
    /// Fails if the engine has another driver or none, or if another engine has these options.
    pub(super) fn check_libblkio(&self) -> Result<(), PlanError> {
        let takes = "io_uring, the only driver that flushmark supports";
        let driver =
            self.read("libblkio_driver", takes, |driver| (driver == "io_uring").then_some(()))?;
        if self.has_engine(LIBBLKIO) {
            let missing = "libblkio_driver: missing; set libblkio_driver=io_uring";
            return driver.ok_or_else(|| self.wrong("ioengine", missing));
        }
        match OPTIONS.into_iter().find(|key| self.has(key)) {
            Some(key) => Err(self.wrong(key, &format!("{key}: requires ioengine={LIBBLKIO}"))),
            None => Ok(()),
        }
    }

    /// The target of the engine, with its line.
    pub(super) fn libblkio_target(&self) -> Result<Option<(usize, String)>, PlanError> {
        // fio's engine takes its path from this option alone.
        if let Some(key) = ["filename", "directory"].into_iter().find(|key| self.has(key)) {
            let message = format!("{key}: with ioengine={LIBBLKIO}, use libblkio_path");
            return Err(self.wrong(key, &message));
        }
        let path = self.text("libblkio_path", "the path of a file or device")?;
        Ok(path.map(|path| (self.line_of("libblkio_path"), path)))
    }
}
