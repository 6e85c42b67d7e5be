//! A running trace: sets the kernel's tracer up, reads it, and passes on events in the order of
//! time.
//!
//! Two instances of the tracer share the work, because they filter in different ways. One records
//! what certain threads do: their system calls, and when they leave a CPU. The other records what
//! certain devices and journals do, for whatever thread.

use std::collections::HashMap;
use std::time::Duration;

use drive::DeviceNumber;
use serde::{Deserialize, Serialize};

use crate::decode::{Decoders, Tracepoint, kernel_number};
use crate::event::{Event, Syscall, What};
use crate::page::{Lost, Page};
use crate::tracefs::{Instance, TraceError, Tracefs};

/// The devices to trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Scope {
    /// Disks, and all partitions of them: (partition, disk).
    pub disks: Vec<DeviceNumber>,
    pub partitions: HashMap<DeviceNumber, DeviceNumber>,
    /// Devices that filesystems are on, with the disks that hold their data and their log.
    pub filesystems: HashMap<DeviceNumber, Vec<DeviceNumber>>,
}

/// The number of events that a trace read and lost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    pub events: u64,
    /// Events that the kernel dropped because they were not read in time.
    pub lost: u64,
    /// True if it dropped more without saying how many.
    pub lost_uncounted: bool,
    /// Tracepoints that this kernel lacks.
    pub missing: Vec<String>,
}

/// The interval at which the buffers should be read; they hold several times as much.
pub const READ_INTERVAL: Duration = Duration::from_millis(50);

/// A second of half a million events on one CPU, divided by four.
const KIB_PER_CPU: u32 = 8 * 1024;
/// A CPU's record may become visible this long after it was stamped, at most.
const SETTLED_NS: u64 = 2_000_000;

/// A trace that runs. Dropping it leaves nothing behind.
#[derive(Debug)]
pub struct Live {
    calls: Instance,
    devices: Instance,
    is_following: bool,
    /// Events that are too young to know that none before them is missing.
    pending: Vec<Event>,
    /// All events before this time were passed on.
    settled: u64,
    counted: Counted,
    // Dropped last: the instances are in it.
    _tracefs: Tracefs,
}

impl Live {
    /// Sets the tracer up and starts it.
    pub fn start(scope: &Scope) -> Result<Live, TraceError> {
        let tracefs = Tracefs::open()?;
        tracefs.remove_abandoned();
        let mut calls = tracefs.instance("calls", KIB_PER_CPU)?;
        let mut devices = tracefs.instance("devices", KIB_PER_CPU)?;
        let mut counted = Counted::default();
        let partitions = scope.partitions.keys().copied();
        let blocks = any_of(scope.disks.iter().copied().chain(partitions));
        let filesystems = any_of(scope.filesystems.keys().copied());
        for tracepoint in Tracepoint::all() {
            let present = match observer(tracepoint) {
                Observer::Threads => calls.enable(tracepoint, "")?,
                Observer::Blocks => devices.enable(tracepoint, &blocks)?,
                Observer::Filesystems if scope.filesystems.is_empty() => true,
                Observer::Filesystems => devices.enable(tracepoint, &filesystems)?,
            };
            if !present && !is_optional(tracepoint) {
                counted.missing.push(tracepoint.path());
            }
        }
        devices.start()?;
        Ok(Live {
            calls,
            devices,
            is_following: false,
            pending: Vec::new(),
            settled: now_ns(),
            counted,
            _tracefs: tracefs,
        })
    }

    /// Follows these threads too, and all that they will create.
    pub fn follow(&mut self, threads: &[u32]) -> Result<(), TraceError> {
        if threads.is_empty() {
            return Ok(());
        }
        self.calls.follow(threads)?;
        // Without a thread to follow, the kernel would record all of them.
        if !self.is_following {
            self.calls.start()?;
            self.is_following = true;
        }
        Ok(())
    }

    /// Reads what the kernel has, and passes on the events that none can precede any more. To be
    /// called every [`READ_INTERVAL`].
    pub fn read(&mut self) -> Result<impl Iterator<Item = Event>, TraceError> {
        let settled = now_ns().saturating_sub(SETTLED_NS);
        self.collect()?;
        Ok(self.pass_on(settled))
    }

    /// Stops, and passes on what is left.
    pub fn finish(mut self) -> Result<(Vec<Event>, Counted), TraceError> {
        self.calls.stop()?;
        self.devices.stop()?;
        self.collect()?;
        let left = self.pass_on(u64::MAX).collect();
        Ok((left, self.counted))
    }

    fn collect(&mut self) -> Result<(), TraceError> {
        let Live { calls, devices, pending, settled, counted, .. } = self;
        let mut decode = |decoders: &Decoders, bytes: &[u8]| {
            let page = Page::new(bytes)?;
            let (lost, begins) = (page.lost, page.begins());
            let first = pending.len();
            for record in page {
                let (at, record) = record?;
                pending.extend(decoders.decode(at, record));
            }
            counted.events += (pending.len() - first) as u64;
            match lost {
                Lost::None => return Ok(()),
                Lost::Counted(lost) => counted.lost += lost.get(),
                Lost::Uncounted => counted.lost_uncounted = true,
            }
            pending.push(Event { at: *settled, thread: 0, what: What::Lost { until: begins } });
            Ok(())
        };
        calls.read(&mut decode)?;
        devices.read(&mut decode)
    }

    fn pass_on(&mut self, settled: u64) -> impl Iterator<Item = Event> {
        // Stable: events of one CPU at the same nanosecond keep their order.
        self.pending.sort_by_key(|event| event.at);
        let ready = self.pending.partition_point(|event| event.at < settled);
        self.settled = settled;
        self.pending.drain(..ready)
    }
}

/// The instance that records a tracepoint.
enum Observer {
    Threads,
    Blocks,
    Filesystems,
}

fn observer(tracepoint: Tracepoint) -> Observer {
    match tracepoint {
        Tracepoint::Enter(_)
        | Tracepoint::Return(_)
        | Tracepoint::UringSubmit
        | Tracepoint::UringQueue
        | Tracepoint::UringComplete
        | Tracepoint::Open
        | Tracepoint::Opened
        | Tracepoint::Openat
        | Tracepoint::OpenedAt
        | Tracepoint::Dup2
        | Tracepoint::Dup3
        | Tracepoint::BtrfsSync
        | Tracepoint::Switch
        | Tracepoint::Waking => Observer::Threads,
        // Workers sync on behalf of a thread, too.
        Tracepoint::Ext4Sync
        | Tracepoint::XfsSync
        | Tracepoint::XfsForceLog
        | Tracepoint::JournalStart
        | Tracepoint::JournalEnd => Observer::Filesystems,
        Tracepoint::BioQueue
        | Tracepoint::BackMerge
        | Tracepoint::FrontMerge
        | Tracepoint::Split
        | Tracepoint::Insert
        | Tracepoint::Issue
        | Tracepoint::Complete
        | Tracepoint::BioComplete => Observer::Blocks,
    }
}

/// Filesystems are modules, which are absent where none of their filesystems is mounted. Newer
/// architectures lack the older of two system calls.
fn is_optional(tracepoint: Tracepoint) -> bool {
    matches!(
        tracepoint,
        Tracepoint::Ext4Sync
            | Tracepoint::XfsSync
            | Tracepoint::BtrfsSync
            | Tracepoint::XfsForceLog
            | Tracepoint::JournalStart
            | Tracepoint::JournalEnd
            | Tracepoint::UringSubmit
            | Tracepoint::UringQueue
            | Tracepoint::UringComplete
            | Tracepoint::Open
            | Tracepoint::Opened
            | Tracepoint::Dup2
            | Tracepoint::Enter(Syscall::IoUringEnter)
            | Tracepoint::Return(Syscall::IoUringEnter)
    )
}

/// The kernel's filter for any of these devices.
fn any_of(devices: impl Iterator<Item = DeviceNumber>) -> String {
    let each = devices.map(|device| format!("dev == {}", kernel_number(device)));
    each.collect::<Vec<_>>().join(" || ")
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
