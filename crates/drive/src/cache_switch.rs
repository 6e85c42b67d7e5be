//! Switches a drive's volatile write cache so that it can always be put back.
//!
//! | module | its job |
//! | --- | --- |
//! | `state` | the state file: what a cache was before, written durably before it is changed, and who holds the lock |
//! | `disk` | a real disk: switched through the kernel where it has a switch, else by the drive's own command |
//! | `identity` | which drive a record is about |
//! | `in_use` | refuses a drive that somebody uses, unless a person allows it |
//! | `restore` | puts back what a killed run or an earlier command left |
//! | `udev` | the rule that makes a setting survive a power cycle |
//!
//! Order of a switch: lock, ask the drive, write down, switch, ask the drive again. A drive that says it did and did not is an
//! error, and nothing is claimed. The kernel's own belief is never switched without the drive's: the kernel's switch (`scsi_disk/*/cache_type`, virtio's
//! `cache_type`) changes the drive and lets the kernel follow; and a cache is not left on where the kernel would send it no
//! flushes.

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
pub use state::{By, Change, Kept, LockedRecord, Record, SYSTEM_STATE_DIR, StateDir, StateError};

use std::path::{Path, PathBuf};

use crate::{BlockDevice, CacheReading, CommandError, SystemRoot, WriteCache};

/// One drive's cache, read and switched. Apart from [`CacheSwitch`], so that drives that vanish, refuse or lie can be tested.
pub trait CacheControl {
    /// Asks the drive.
    ///
    /// # Errors
    /// When it does not answer, or this user may not ask.
    fn reading(&mut self) -> Result<CacheReading, CommandError>;

    /// Tells the drive, and lets the kernel follow. What came of it, only a reading tells.
    ///
    /// # Errors
    /// When the kernel or the drive refuses.
    fn switch(&mut self, on: bool) -> Result<(), CommandError>;

    /// Whether the kernel sends flushes to it: `None` where it does not say.
    fn kernel_believes(&self) -> Option<WriteCache>;
}

/// A drive whose cache may be switched: locked against every other flushmark.
#[derive(Debug)]
pub struct CacheSwitch<C> {
    control: C,
    device: PathBuf,
    record: LockedRecord,
}

/// What came of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switched {
    /// It stood so already; nothing was changed or written down.
    Already(CacheReading),
    /// It was switched, and the drive confirms it.
    Done(CacheReading),
}

impl Switched {
    /// What the drive says now.
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
    /// When the device is no disk, another flushmark holds it, the state file cannot be kept or is damaged, or the
    /// drive cannot be opened.
    pub fn open(root: &SystemRoot, state: &StateDir, disk: &BlockDevice) -> Result<Self, SwitchError> {
        if disk.partition.is_some() || !disk.layers.is_empty() {
            return Err(SwitchError::NoDrive { device: disk.path.clone() });
        }
        // Opened before the lock is taken: who may not send commands learns that, and not that /var may not be written.
        let control = DiskCache::open(root, disk)?;
        let record = state.lock(&Identity::of(root, disk)).map_err(|error| match error {
            // Where the node does not tell who may switch (virtio-blk), the state directory does.
            StateError::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                SwitchError::Command(CommandError::NeedsRoot { device: disk.path.clone() })
            }
            error => SwitchError::State(error),
        })?;
        Ok(CacheSwitch::new(control, &disk.path, record))
    }
}

impl<C: CacheControl> CacheSwitch<C> {
    /// From its parts.
    pub fn new(control: C, device: &Path, record: LockedRecord) -> Self {
        CacheSwitch { control, device: device.to_owned(), record }
    }

    /// The drive's path.
    pub fn device(&self) -> &Path {
        &self.device
    }

    /// Asks the drive.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn reading(&mut self) -> Result<CacheReading, SwitchError> {
        Ok(self.control.reading()?)
    }

    /// What the kernel believes at this moment.
    pub fn kernel_believes(&self) -> Option<WriteCache> {
        self.control.kernel_believes()
    }

    /// Switches the cache, the old state written down before.
    ///
    /// # Errors
    /// When the drive has no cache or none that can be switched, when the state file cannot be written (nothing is changed then),
    /// when the drive refuses or says it did and did not, or when the kernel would send no flushes to a cache that is on.
    pub fn set(&mut self, on: bool, by: By) -> Result<Switched, SwitchError> {
        if by == By::Command {
            // What a killed run left is put back first, so that its change is not taken for the person's own.
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
        // Who switches back undoes their own earlier change; nothing is left to be put back then.
        let undoes = self.record.last().is_some_and(|last| last.by == by && last.was_on == on);
        let was_unflushed = before.enabled && self.control.kernel_believes() == Some(WriteCache::WriteThrough);
        if !undoes {
            self.record.push(Change::now(before.enabled, was_unflushed, by))?;
        }
        // Who undoes a change may come back to what that had found.
        let unflushed = undoes && self.record.last().is_some_and(|last| last.was_unflushed);
        let after = match self.switch_and_ask(on, unflushed) {
            Ok(after) => after,
            Err(error) => return Err(self.taken_back(before.enabled, undoes, error)),
        };
        if undoes {
            self.record.pop()?;
        }
        Ok(Switched::Done(after))
    }

    /// Puts back what the latest change replaced, and strikes it from the record. `None` when nothing is on record.
    ///
    /// # Errors
    /// When the drive does not come back to that state; the record is kept then.
    pub fn undo(&mut self) -> Result<Option<CacheReading>, SwitchError> {
        let Some(last) = self.record.last().cloned() else { return Ok(None) };
        let now = self.reading()?;
        let reading =
            if now.enabled == last.was_on { now } else { self.switch_and_ask(last.was_on, last.was_unflushed)? };
        self.record.pop()?;
        Ok(Some(reading))
    }

    /// Puts back everything that runs have changed, this one or one that was killed, down to what a person last set. Whether there was anything.
    ///
    /// # Errors
    /// When the drive does not come back to that state; the record is kept then.
    pub fn finish_runs(&mut self) -> Result<bool, SwitchError> {
        let mut any = false;
        while self.record.last().is_some_and(|last| last.by == By::Run) {
            self.undo()?;
            any = true;
        }
        Ok(any)
    }

    /// Whether the cache was on before any run changed it.
    ///
    /// # Errors
    /// When nothing was changed and the drive does not answer.
    pub fn found_on(&mut self) -> Result<bool, SwitchError> {
        match self.record.first_by_run() {
            Some(change) => Ok(change.was_on),
            None => Ok(self.reading()?.enabled),
        }
    }

    /// After a switch that failed: back to what was there before, as far as the drive confirms it. Only then is the change struck from the record.
    fn taken_back(&mut self, was_on: bool, keep_record: bool, error: SwitchError) -> SwitchError {
        let is_back = |switch: &mut Self| switch.control.reading().is_ok_and(|now| now.enabled == was_on);
        if !is_back(self) {
            // What comes of it, the next reading tells.
            let _ = self.control.switch(was_on);
        }
        if !is_back(self) {
            return SwitchError::LeftUncertain { device: self.device.clone(), cause: Box::new(error) };
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
            // Volatile data without flushes would be worse than anything that was there before.
            self.control.switch(false)?;
            return Err(SwitchError::KernelWouldNotFlush { device: self.device.clone() });
        }
        Ok(after)
    }
}

#[cfg(test)]
mod tests;
