//! Sync methods: how writes are made durable.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The method by which a workload makes its writes durable.
///
/// What the kernel does with each differs by target (`block/fops.c`, `fs/iomap/direct-io.c`). On a
/// raw block device, a synchronous direct write with `O_DSYNC` goes out as a FUA write *and then* a
/// FLUSH; the same write through io_uring is a FUA write alone. On a filesystem, a FUA write
/// suffices only for a pure overwrite, and only with `O_DSYNC`, never with `O_SYNC`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SyncMethod {
    /// Writes are not made durable: the control.
    None,
    /// `fsync(2)` after the writes.
    Fsync,
    /// `fdatasync(2)` after the writes: omits metadata that is not needed to read the data back.
    Fdatasync,
    /// The file is opened with `O_SYNC`: each write returns when it is durable, metadata included.
    OSync,
    /// The file is opened with `O_DSYNC`: each write returns when its data is durable.
    ODsync,
    /// Each write carries `RWF_DSYNC`: the guarantee of `O_DSYNC`, requested per write.
    RwfDsync,
    /// A write and an `fsync` submitted together to io_uring as a linked pair: one system call per
    /// commit, but always through a kernel worker thread (`io_uring/sync.c` refuses to run it
    /// inline).
    LinkedFsync,
    /// As `linked_fsync`, with `fdatasync`.
    LinkedFdatasync,
}

/// An open flag that makes each write durable when it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpenFlag {
    OSync,
    /// `O_DSYNC`
    ODsync,
}

/// A separate sync call, as made by a step program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SyncCall {
    Fsync,
    Fdatasync,
}

impl SyncCall {
    /// The system call's name.
    pub const fn name(self) -> &'static str {
        match self {
            SyncCall::Fsync => "fsync",
            SyncCall::Fdatasync => "fdatasync",
        }
    }
}

impl SyncMethod {
    /// Every method, in the order in which help lists them.
    pub const ALL: [SyncMethod; 8] = [
        SyncMethod::None,
        SyncMethod::Fsync,
        SyncMethod::Fdatasync,
        SyncMethod::OSync,
        SyncMethod::ODsync,
        SyncMethod::RwfDsync,
        SyncMethod::LinkedFsync,
        SyncMethod::LinkedFdatasync,
    ];

    /// The name used in plans.
    ///
    /// ```
    /// assert_eq!(workload::SyncMethod::ODsync.name(), "o_dsync");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            SyncMethod::None => "none",
            SyncMethod::Fsync => "fsync",
            SyncMethod::Fdatasync => "fdatasync",
            SyncMethod::OSync => "o_sync",
            SyncMethod::ODsync => "o_dsync",
            SyncMethod::RwfDsync => "rwf_dsync",
            SyncMethod::LinkedFsync => "linked_fsync",
            SyncMethod::LinkedFdatasync => "linked_fdatasync",
        }
    }

    /// Looks up a method by its name in plans.
    pub fn from_name(name: &str) -> Option<SyncMethod> {
        SyncMethod::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The call made after the writes, for the methods that make a separate call.
    pub const fn call(self) -> Option<SyncCall> {
        match self {
            SyncMethod::Fsync => Some(SyncCall::Fsync),
            SyncMethod::Fdatasync => Some(SyncCall::Fdatasync),
            _ => None,
        }
    }

    /// The call linked to each write, for the linked methods.
    pub const fn linked_call(self) -> Option<SyncCall> {
        match self {
            SyncMethod::LinkedFsync => Some(SyncCall::Fsync),
            SyncMethod::LinkedFdatasync => Some(SyncCall::Fdatasync),
            _ => None,
        }
    }

    /// The open flag, for the methods that need one.
    pub const fn open_flag(self) -> Option<OpenFlag> {
        match self {
            SyncMethod::OSync => Some(OpenFlag::OSync),
            SyncMethod::ODsync => Some(OpenFlag::ODsync),
            _ => None,
        }
    }

    /// Returns `true` if a flag makes each write durable, without a separate call.
    pub const fn is_write_flag(self) -> bool {
        matches!(self, SyncMethod::OSync | SyncMethod::ODsync | SyncMethod::RwfDsync)
    }

    /// Returns `true` if every single write is durable when it completes. `sync_every` is then
    /// meaningless.
    pub const fn is_per_write(self) -> bool {
        !matches!(self, SyncMethod::None | SyncMethod::Fsync | SyncMethod::Fdatasync)
    }

    /// Returns `true` if a call other than the write makes it durable.
    pub const fn is_separate(self) -> bool {
        self.call().is_some() || self.linked_call().is_some()
    }

    /// Returns `true` for every method but [`SyncMethod::None`].
    pub const fn is_durable(self) -> bool {
        !matches!(self, SyncMethod::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_method() {
        for method in SyncMethod::ALL {
            assert_eq!(SyncMethod::from_name(method.name()), Some(method));
            assert_eq!(serde_json::to_value(method).unwrap(), method.name());
        }
    }

    #[test]
    fn what_is_durable_is_so_by_one_means() {
        for method in SyncMethod::ALL {
            let per_write = [
                method.linked_call().map(|call| format!("linked_{}", call.name())),
                method
                    .open_flag()
                    .map(|flag| serde_json::to_value(flag).unwrap().as_str().unwrap().to_owned()),
                (method == SyncMethod::RwfDsync).then(|| "rwf_dsync".to_owned()),
            ];
            let after = method.call().map(|call| call.name().to_owned());
            assert_eq!(method.is_per_write(), per_write.iter().any(Option::is_some), "{method:?}");
            let means: Vec<String> = per_write.into_iter().chain([after]).flatten().collect();
            let durable = if method.is_durable() { &[method.name().to_owned()][..] } else { &[] };
            assert_eq!(means, durable);
        }
        assert!(!SyncMethod::None.is_durable());
    }
}
