//! Selects the system interface for a workload.
//!
//! The interface with the least overhead: at depth 1, plain system calls on the submitting thread;
//! above, io_uring. For a device without NOWAIT support, io_uring passes each request to a worker
//! thread, which was measured to cost 45 µs more than `pwrite`. At depth 1, io_uring is therefore
//! only used if selected by name.

use rustix::io::Errno;
use workload::{EngineChoice, Submission, Workload};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// `pwritev2`, `pread`, `fsync` on the submitting thread.
    Psync,
    IoUring,
    /// `io_submit`.
    Libaio,
    /// Requests over the connection to an NBD server.
    Nbd,
    /// Calls of Ceph's client library for images.
    Librbd,
    /// Calls of Ceph's client library for objects.
    Librados,
    /// No I/O: `null:`.
    Null,
    /// No I/O: computations.
    Processor,
}

impl Carrier {
    /// The way operations reach the kernel; `None` if no kernel is involved.
    pub const fn submission(self) -> Option<Submission> {
        match self {
            Carrier::Psync => Some(Submission::Blocking),
            Carrier::IoUring | Carrier::Libaio => Some(Submission::Asynchronous),
            // With NBD and Ceph, the kernel sees bytes on a socket.
            Carrier::Nbd
            | Carrier::Librbd
            | Carrier::Librados
            | Carrier::Null
            | Carrier::Processor => None,
        }
    }

    /// The name in result documents.
    pub const fn name(self) -> &'static str {
        match self {
            Carrier::Psync => "psync",
            Carrier::IoUring => "io_uring",
            Carrier::Libaio => "libaio",
            Carrier::Nbd => "nbd",
            Carrier::Librbd => "librbd",
            Carrier::Librados => "librados",
            Carrier::Null => "null",
            Carrier::Processor => "cpu",
        }
    }
}

/// The reason why a workload cannot run on the requested interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// This test must be skipped; the sentence gives the reason.
    Skip(String),
    /// An interface that was requested by name is not available.
    Missing { engine: &'static str, errno: Errno },
}

/// Selects an interface by the rule above. `asked` is the choice on the command line, which
/// overrides the workload's; `probe` checks whether io_uring is available. The note, if any,
/// reports a deviation from the rule.
///
/// # Errors
/// Fails if an interface that was requested by name cannot run this workload.
pub fn choose(
    workload: &Workload,
    asked: Option<EngineChoice>,
    probe: impl FnOnce() -> Result<(), Errno>,
) -> Result<(Carrier, Option<String>), Refusal> {
    let depth = workload.depth_effective();
    let linked = workload.sync.linked_call().is_some();
    match asked.unwrap_or(workload.engine) {
        EngineChoice::Psync if depth > 1 => Err(Refusal::Skip(format!(
            "psync performs one operation at a time, but this test has depth {depth}"
        ))),
        EngineChoice::Psync | EngineChoice::Libaio if linked => Err(Refusal::Skip(format!(
            "only io_uring can link a sync to a write, as required by {}",
            workload.sync.name()
        ))),
        EngineChoice::Psync if workload.priorities.vary() => Err(Refusal::Skip(
            "only io_uring and libaio can give single I/Os a priority".to_owned(),
        )),
        EngineChoice::IoUring | EngineChoice::Libaio if workload.think.is_some() => {
            Err(Refusal::Skip(
                "a job that pauses between operations (think_time) requires psync".to_owned(),
            ))
        }
        EngineChoice::Psync => Ok((Carrier::Psync, None)),
        EngineChoice::Libaio => Ok((Carrier::Libaio, None)),
        EngineChoice::IoUring => match probe() {
            Ok(()) => Ok((Carrier::IoUring, None)),
            Err(errno) => Err(Refusal::Missing { engine: "io_uring", errno }),
        },
        EngineChoice::Auto if depth == 1 && !linked && !workload.priorities.vary() => {
            Ok((Carrier::Psync, None))
        }
        EngineChoice::Auto => match probe() {
            Ok(()) => Ok((Carrier::IoUring, None)),
            Err(errno) if linked => Err(Refusal::Skip(format!(
                "{} requires io_uring, which is not available: {}",
                workload.sync.name(),
                absence_reason(errno)
            ))),
            Err(errno) => Ok((
                Carrier::Libaio,
                Some(format!(
                    "io_uring is not available ({}); used libaio instead",
                    absence_reason(errno)
                )),
            )),
        },
    }
}

/// Explains why the kernel refused io_uring.
fn absence_reason(errno: Errno) -> &'static str {
    match errno {
        Errno::NOSYS => "not supported by the kernel, or blocked by a container's seccomp filter",
        Errno::PERM | Errno::ACCESS => {
            "disabled by kernel.io_uring_disabled or a container's seccomp filter"
        }
        Errno::NOMEM => "the limit on locked memory (ulimit -l) is too low",
        Errno::MFILE | Errno::NFILE => "the limit on open files is reached",
        _ => "the kernel refused the setup",
    }
}

#[cfg(test)]
mod tests {
    use workload::{
        BlockBytes, Depth, IoPriority, Pattern, PriorityClass, PriorityShare, SyncMethod,
    };

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
        // A job drains its writes before each sync: depth 32 with fsync=1 is depth 1.
        assert_eq!(chosen(32, SyncMethod::Fsync), Carrier::Psync);
        assert_eq!(chosen(1, SyncMethod::LinkedFsync), Carrier::IoUring);
        let mut prioritised = at_depth(1, SyncMethod::None);
        let priority = IoPriority { class: PriorityClass::Idle, level: 0, hint: 0 };
        prioritised.priorities.reads = vec![PriorityShare { bytes: None, percent: 1, priority }];
        assert_eq!(choose(&prioritised, None, || Ok(())).unwrap().0, Carrier::IoUring);
        let refused = choose(&prioritised, Some(EngineChoice::Psync), || Ok(())).unwrap_err();
        let because = "only io_uring and libaio can give single I/Os a priority".to_owned();
        assert_eq!(refused, Refusal::Skip(because));
    }

    #[test]
    fn without_io_uring_depth_falls_back_and_says_so() {
        let (carrier, note) =
            choose(&at_depth(32, SyncMethod::None), None, || Err(Errno::PERM)).unwrap();
        assert_eq!(carrier, Carrier::Libaio);
        insta::assert_snapshot!(note.unwrap(), @"io_uring is not available (disabled by kernel.io_uring_disabled or a container's seccomp filter); used libaio instead");
        let refusal =
            choose(&at_depth(1, SyncMethod::LinkedFsync), None, || Err(Errno::NOSYS)).unwrap_err();
        assert_eq!(
            refusal,
            Refusal::Skip(
                "linked_fsync requires io_uring, which is not available: not supported \
                           by the kernel, or blocked by a container's seccomp filter"
                    .to_owned()
            )
        );
    }

    #[test]
    fn what_is_asked_for_by_name_is_not_replaced() {
        let asked =
            |engine| choose(&at_depth(32, SyncMethod::None), Some(engine), || Err(Errno::NOSYS));
        assert!(matches!(asked(EngineChoice::IoUring), Err(Refusal::Missing { .. })));
        assert!(matches!(asked(EngineChoice::Psync), Err(Refusal::Skip(_))));
        assert_eq!(asked(EngineChoice::Libaio).unwrap().0, Carrier::Libaio);
    }
}
