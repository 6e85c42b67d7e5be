//! Switches a drive's volatile write cache, and guarantees that it can be restored.
//!
//! | module | purpose |
//! | --- | --- |
//! | `state` | the state file: the old state, written durably before a change, and the lock |
//! | `disk` | a real disk: switched through the kernel where possible, else by the drive's own command |
//! | `identity` | the drive that a record is about |
//! | `in_use` | refuses a drive in use, unless the user allows it |
//! | `restore` | restores what a killed run or an earlier command left changed |
//! | `udev` | the rule that makes a setting survive a power cycle |
//!
//! Order of a switch: lock, ask the drive, record, switch, ask the drive again. A drive that
//! accepts the command but does not obey is an error, and nothing is claimed. The kernel's belief
//! is never switched without the drive: the kernel's switch (`scsi_disk/*/cache_type`, virtio's
//! `cache_type`) changes the drive and lets the kernel follow. A cache is never left on if the
//! kernel would send it no flushes.

mod disk;
mod error;
mod identity;
mod in_use;
mod restore;
mod state;
pub mod udev;

pub use disk::DiskCache;
pub use error::SwitchError;
pub use identity::Identity;
pub use in_use::{refuse_in_use, refuse_others_in_use};
pub use restore::{Restored, left_over, restore};
pub(crate) use state::write_durably;
pub use state::{
    By, Change, LockedRecord, Record, SYSTEM_STATE_DIR, StateDir, StateError, StoredRecord,
};

use std::path::{Path, PathBuf};

use crate::{BlockDevice, CacheReading, CommandError, SystemRoot, WriteCache};

/// One drive's cache, read and switched. Separate from [`CacheSwitch`] to test drives that vanish,
/// refuse or lie.
pub trait CacheControl {
    /// Asks the drive.
    fn reading(&mut self) -> Result<CacheReading, CommandError>;

    /// Switches the drive's cache, and lets the kernel follow. Only a subsequent reading shows the
    /// result.
    fn switch(&mut self, on: bool) -> Result<(), CommandError>;

    /// Returns whether the kernel sends flushes; `None` where it does not say.
    fn kernel_believes(&self) -> Option<WriteCache>;
}

/// A drive whose cache may be switched, locked against every other flushmark process.
#[derive(Debug)]
pub struct CacheSwitch<C> {
    control: C,
    device: PathBuf,
    record: LockedRecord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switched {
    /// The cache already was in that state; nothing was changed or recorded.
    Already(CacheReading),
    /// The cache was switched, and the drive confirms it.
    Done(CacheReading),
}

impl Switched {
    /// The drive's state after the switch.
    pub fn reading(self) -> CacheReading {
        match self {
            Switched::Already(reading) | Switched::Done(reading) => reading,
        }
    }
}

impl CacheSwitch<DiskCache> {
    /// Opens and locks a whole disk.
    ///
    /// # Errors
    /// When the device is not a whole disk, another flushmark process holds it, the state file is
    /// damaged or cannot be written, or the drive cannot be opened.
    pub fn open(
        root: &SystemRoot,
        state: &StateDir,
        disk: &BlockDevice,
    ) -> Result<Self, SwitchError> {
        if disk.partition.is_some() || !disk.layers.is_empty() {
            return Err(SwitchError::NoDrive { device: disk.path.clone() });
        }
        // Opened before the lock is taken: a user without permission to send commands gets that
        // error, not one about /var.
        let control = DiskCache::open(root, disk)?;
        let record = state.lock(&Identity::of(root, disk)).map_err(|error| match error {
            // If the node's permissions do not decide who may switch (virtio-blk), the state
            // directory's do.
            StateError::Io { source, .. }
                if source.kind() == std::io::ErrorKind::PermissionDenied =>
            {
                SwitchError::Command(CommandError::NeedsRoot { device: disk.path.clone() })
            }
            error => SwitchError::State(error),
        })?;
        Ok(CacheSwitch::new(control, &disk.path, record))
    }
}

impl<C: CacheControl> CacheSwitch<C> {
    /// Assembles a switch from its parts.
    pub fn new(control: C, device: &Path, record: LockedRecord) -> Self {
        CacheSwitch { control, device: device.to_owned(), record }
    }

    /// The drive's path.
    pub fn device(&self) -> &Path {
        &self.device
    }

    /// Asks the drive.
    pub fn reading(&mut self) -> Result<CacheReading, SwitchError> {
        Ok(self.control.reading()?)
    }

    /// The kernel's current belief.
    pub fn kernel_believes(&self) -> Option<WriteCache> {
        self.control.kernel_believes()
    }

    /// Switches the cache after recording the old state.
    ///
    /// # Errors
    /// When the drive has no cache or none that can be switched, when the state file cannot be
    /// written (nothing is changed then), when the drive refuses or its state did not change, or
    /// when the kernel would send no flushes to a cache that is on.
    pub fn set(&mut self, on: bool, by: By) -> Result<Switched, SwitchError> {
        if by == By::Command {
            // Restore first what a killed run left behind; otherwise its change would be taken for
            // the user's.
            self.finish_runs()?;
        }
        let before = self.reading()?;
        let device = || self.device.clone();
        if !before.present {
            return Err(SwitchError::NoCache { device: device() });
        }
        if before.enabled == on {
            return Ok(Switched::Already(before));
        }
        if !before.switchable {
            return Err(SwitchError::Fixed { device: device(), on: before.enabled });
        }
        // Switching back undoes the user's own earlier change, and leaves nothing to restore.
        let undoes = self.record.last().is_some_and(|last| last.by == by && last.was_on == on);
        let was_unflushed =
            before.enabled && self.control.kernel_believes() == Some(WriteCache::WriteThrough);
        if !undoes {
            self.record.push(Change::now(before.enabled, was_unflushed, by))?;
        }
        // Undoing a change may lead back to the state which that change replaced.
        let unflushed = undoes && self.record.last().is_some_and(|last| last.was_unflushed);
        let after = match self.switch_and_ask(on, unflushed) {
            Ok(after) => after,
            Err(error) => return Err(self.revert(before.enabled, undoes, error)),
        };
        if undoes {
            self.record.pop()?;
        }
        Ok(Switched::Done(after))
    }

    /// Undoes the latest change and removes it from the record. `None` when the record is empty.
    ///
    /// # Errors
    /// When the drive does not return to that state; the record is kept then.
    pub fn undo(&mut self) -> Result<Option<CacheReading>, SwitchError> {
        let Some(last) = self.record.last().cloned() else { return Ok(None) };
        let now = self.reading()?;
        let reading = if now.enabled == last.was_on {
            now
        } else {
            self.switch_and_ask(last.was_on, last.was_unflushed)?
        };
        self.record.pop()?;
        Ok(Some(reading))
    }

    /// Undoes everything that runs have changed (this run or a killed one), back to the user's last
    /// setting. Returns whether there was anything to undo.
    ///
    /// # Errors
    /// When the drive does not return to that state; the record is kept then.
    pub fn finish_runs(&mut self) -> Result<bool, SwitchError> {
        let mut any = false;
        while self.record.last().is_some_and(|last| last.by == By::Run) {
            self.undo()?;
            any = true;
        }
        Ok(any)
    }

    /// Returns whether the cache was on before any run changed it.
    ///
    /// # Errors
    /// When nothing was changed and the drive does not answer.
    pub fn found_on(&mut self) -> Result<bool, SwitchError> {
        match self.record.first_by_run() {
            Some(change) => Ok(change.was_on),
            None => Ok(self.reading()?.enabled),
        }
    }

    /// Returns to the previous state after a failed switch. The change leaves the record only if
    /// the drive confirms that state.
    fn revert(&mut self, was_on: bool, keep_record: bool, error: SwitchError) -> SwitchError {
        let is_back =
            |switch: &mut Self| switch.control.reading().is_ok_and(|now| now.enabled == was_on);
        if !is_back(self) {
            // The next reading shows the result.
            let _ = self.control.switch(was_on);
        }
        if !is_back(self) {
            return SwitchError::LeftUncertain {
                device: self.device.clone(),
                cause: Box::new(error),
            };
        }
        if keep_record {
            return error;
        }
        match self.record.pop() {
            Ok(()) => error,
            Err(state) => state.into(),
        }
    }

    fn switch_and_ask(&mut self, on: bool, unflushed: bool) -> Result<CacheReading, SwitchError> {
        self.control.switch(on)?;
        let after = self.control.reading()?;
        if after.enabled != on {
            return Err(SwitchError::SaidAndDidNot { device: self.device.clone(), on });
        }
        if on && !unflushed && self.control.kernel_believes() == Some(WriteCache::WriteThrough) {
            // Volatile data without flushes would be worse than any previous state.
            self.control.switch(false)?;
            return Err(SwitchError::KernelWouldNotFlush { device: self.device.clone() });
        }
        Ok(after)
    }
}

#[cfg(test)]
mod tests;
