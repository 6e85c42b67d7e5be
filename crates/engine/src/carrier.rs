//! Which system interface carries a workload.
//!
//! The one that adds the least: at depth 1 a plain system call on the submitting thread; above, io_uring. A device without NOWAIT support makes
//! io_uring hand each request to a worker thread, which was seen to cost 45 µs more than `pwrite` does, so that depth 1 never goes through it
//! unless asked for by name.

use rustix::io::Errno;
use workload::{EngineChoice, Submission, Workload};

/// A system interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// `pwritev2`, `pread`, `fsync` on the submitting thread.
    Psync,
    /// io_uring.
    IoUring,
    /// `io_submit`.
    Libaio,
    /// Nothing: `null:`.
    Null,
}

impl Carrier {
    /// How it hands operations to the kernel; `None` where there is no kernel in between.
    pub const fn submission(self) -> Option<Submission> {
        match self {
            Carrier::Psync => Some(Submission::Blocking),
            Carrier::IoUring | Carrier::Libaio => Some(Submission::Asynchronous),
            Carrier::Null => None,
        }
    }

    /// The name in the result document.
    pub const fn name(self) -> &'static str {
        match self {
            Carrier::Psync => "psync",
            Carrier::IoUring => "io_uring",
            Carrier::Libaio => "libaio",
            Carrier::Null => "null",
        }
    }
}

/// Why a workload cannot be carried as asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// This test cannot run; the sentence says why.
    Skip(String),
    /// An interface that was asked for by name is not there.
    Missing {
        /// Which.
        engine: &'static str,
        /// The kernel's answer.
        errno: Errno,
    },
}

/// Chooses by the rule above. `asked` is the choice on the command line, which goes before the workload's own; `probe` tells whether io_uring is
/// there. The note, if any, says how the choice differs from the rule.
///
/// # Errors
/// When an interface asked for by name cannot carry this workload.
pub fn choose(
    workload: &Workload,
    asked: Option<EngineChoice>,
    probe: impl FnOnce() -> Result<(), Errno>,
) -> Result<(Carrier, Option<String>), Refusal> {
    let depth = workload.depth_effective();
    let linked = workload.sync.linked_call().is_some();
    match asked.unwrap_or(workload.engine) {
        EngineChoice::Psync if depth > 1 => {
            Err(Refusal::Skip(format!("psync does one operation at a time, and this test asks for depth {depth}")))
        }
        EngineChoice::Psync | EngineChoice::Libaio if linked => Err(Refusal::Skip(format!(
            "only io_uring can link a sync to a write, which {} asks for",
            workload.sync.name()
        ))),
        EngineChoice::Psync => Ok((Carrier::Psync, None)),
        EngineChoice::Libaio => Ok((Carrier::Libaio, None)),
        EngineChoice::IoUring => match probe() {
            Ok(()) => Ok((Carrier::IoUring, None)),
            Err(errno) => Err(Refusal::Missing { engine: "io_uring", errno }),
        },
        EngineChoice::Auto if depth == 1 && !linked => Ok((Carrier::Psync, None)),
        EngineChoice::Auto => match probe() {
            Ok(()) => Ok((Carrier::IoUring, None)),
            Err(errno) if linked => Err(Refusal::Skip(format!(
                "{} needs io_uring, which is not available here: {}",
                workload.sync.name(),
                why_absent(errno)
            ))),
            Err(errno) => Ok((
                Carrier::Libaio,
                Some(format!(
                    "io_uring is not available here ({}); libaio carried this test instead",
                    why_absent(errno)
                )),
            )),
        },
    }
}

/// What the kernel's refusal of io_uring means.
fn why_absent(errno: Errno) -> &'static str {
    match errno {
        Errno::NOSYS => "the kernel has none, or a container's filter hides it",
        Errno::PERM | Errno::ACCESS => "switched off by kernel.io_uring_disabled or a container's filter",
        Errno::NOMEM => "the limit of locked memory, ulimit -l, is too low",
        Errno::MFILE | Errno::NFILE => "the limit of open files is reached",
        _ => "the kernel refused to set it up",
    }
}

#[cfg(test)]
mod tests {
    use workload::{BlockBytes, Depth, Pattern, SyncMethod};

    use super::*;

    fn at_depth(depth: u64, sync: SyncMethod) -> Workload {
        let mut workload = Workload::new(Pattern::RandWrite, BlockBytes::new(4096).unwrap());
        workload.depth = Depth::new(depth).unwrap();
        workload.sync = sync;
        workload
    }

    #[test]
    fn depth_1_takes_plain_calls_and_depth_takes_io_uring() {
        let chosen = |depth, sync| choose(&at_depth(depth, sync), None, || Ok(())).unwrap().0;
        assert_eq!(chosen(1, SyncMethod::Fsync), Carrier::Psync);
        assert_eq!(chosen(32, SyncMethod::None), Carrier::IoUring);
        assert_eq!(chosen(32, SyncMethod::RwfDsync), Carrier::IoUring);
        // A job drains before each sync: depth 32 with fsync=1 is depth 1.
        assert_eq!(chosen(32, SyncMethod::Fsync), Carrier::Psync);
        assert_eq!(chosen(1, SyncMethod::LinkedFsync), Carrier::IoUring);
    }

    #[test]
    fn without_io_uring_depth_falls_back_and_says_so() {
        let (carrier, note) = choose(&at_depth(32, SyncMethod::None), None, || Err(Errno::PERM)).unwrap();
        assert_eq!(carrier, Carrier::Libaio);
        insta::assert_snapshot!(note.unwrap(), @"io_uring is not available here (switched off by kernel.io_uring_disabled or a container's filter); libaio carried this test instead");
        let refusal = choose(&at_depth(1, SyncMethod::LinkedFsync), None, || Err(Errno::NOSYS)).unwrap_err();
        assert_eq!(
            refusal,
            Refusal::Skip("linked_fsync needs io_uring, which is not available here: the kernel has none, or a container's filter hides it".to_owned())
        );
    }

    #[test]
    fn what_is_asked_for_by_name_is_not_replaced() {
        let asked = |engine| choose(&at_depth(32, SyncMethod::None), Some(engine), || Err(Errno::NOSYS));
        assert!(matches!(asked(EngineChoice::IoUring), Err(Refusal::Missing { .. })));
        assert!(matches!(asked(EngineChoice::Psync), Err(Refusal::Skip(_))));
        assert_eq!(asked(EngineChoice::Libaio).unwrap().0, Carrier::Libaio);
    }
}
