//! A running trace: sets the kernel's tracer up, reads it, and passes on events in the order of
//! time.
//!
//! Two instances of the tracer share the work, because they filter in different ways. One records
//! what certain threads do: their system calls, and when they leave a CPU. The other records what
//! certain devices and journals do, for whatever thread.

use std::collections::{BTreeSet, HashMap};
use std::ops::RangeInclusive;
use std::time::Duration;

use drive::{DeviceNumber, DriverAddress};
use serde::{Deserialize, Serialize};

use crate::decode::{Decoders, Tracepoint, kernel_number};
use crate::drivers::{self, Bus, Recorded};
use crate::event::{Event, Syscall, What};
use crate::followed::{self, Followed};
use crate::numbering;
use crate::page::{Lost, Page};
use crate::tracefs::{Instance, TraceError, Tracefs};

/// The devices to trace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Scope {
    /// Disks, and all partitions of them: (partition, disk).
    pub disks: Vec<DeviceNumber>,
    pub partitions: HashMap<DeviceNumber, DeviceNumber>,
    /// Those of the disks whose drivers take bios instead of requests.
    #[serde(default)]
    pub without_requests: Vec<DeviceNumber>,
    /// Devices that filesystems are on, with the disks that hold their data and their log.
    pub filesystems: HashMap<DeviceNumber, Vec<DeviceNumber>>,
    /// The disks by the addresses at which their drivers give them commands.
    #[serde(default)]
    pub addresses: HashMap<DriverAddress, DeviceNumber>,
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

/// The memory of one instance, divided by its CPUs.
const ALL_KIB: u32 = 128 * 1024;
/// An eighth of a second, and a whole one, of half a million events on one CPU.
const COMMITS_KIB: RangeInclusive<u32> = 4 * 1024..=32 * 1024;

/// The events that a trace records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Of threads that are followed, all ways to commit, and when they wait: for some seconds.
    Commits,
    /// Of all threads, only calls that exist to make something durable, without the scheduler, which
    /// would cost other threads time: for [`Live::pause`] and [`Live::resume`] at any time.
    Syncs,
}

impl Detail {
    /// The size of each buffer, of which each of this many CPUs has one in both instances.
    fn kib_per_cpu(self, cpus: u32) -> u32 {
        match self {
            Detail::Commits => {
                (ALL_KIB / cpus.max(1)).clamp(*COMMITS_KIB.start(), *COMMITS_KIB.end())
            }
            Detail::Syncs => 256,
        }
    }

    fn includes(self, tracepoint: Tracepoint) -> bool {
        match (self, tracepoint, observer(tracepoint)) {
            (Detail::Commits, ..) => true,
            (_, Tracepoint::Enter(call) | Tracepoint::Return(call), _) => call.is_sync(),
            (_, _, Observer::Threads | Observer::Drivers(..)) => false,
            _ => true,
        }
    }
}

/// A CPU's record may become visible this long after it was stamped, at most.
const SETTLED_NS: u64 = 2_000_000;

/// A trace that runs. Dropping it leaves nothing behind.
#[derive(Debug)]
pub struct Live {
    calls: Instance,
    devices: Instance,
    /// `None`: all threads.
    followed: Option<Followed>,
    /// The tracepoints of threads that the kernel records.
    recorded: Vec<Tracepoint>,
    /// The kernel records threads from this number on; `None` as long as it records none.
    recorded_from: Option<u32>,
    is_paused: bool,
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
    pub fn start(scope: &Scope, detail: Detail) -> Result<Live, TraceError> {
        let tracefs = Tracefs::open()?;
        tracefs.remove_abandoned();
        let kib = detail.kib_per_cpu(tracefs.cpus());
        let mut calls = tracefs.instance("calls", kib)?;
        let mut devices = tracefs.instance("devices", kib)?;
        let (mut counted, mut recorded) = (Counted::default(), Vec::new());
        let blocks = any_of(with_partitions(scope, &scope.disks));
        let without_requests = any_of(with_partitions(scope, &scope.without_requests));
        let filesystems = any_of(scope.filesystems.keys().copied());
        for tracepoint in Tracepoint::all().filter(|one| detail.includes(*one)) {
            let present = match observer(tracepoint) {
                Observer::Threads => {
                    let present = calls.enable(tracepoint, tracepoint.condition())?;
                    recorded.extend(present.then_some(tracepoint));
                    present
                }
                Observer::Blocks => devices.enable(tracepoint, &blocks)?,
                Observer::BlocksWithoutRequests if scope.without_requests.is_empty() => true,
                Observer::BlocksWithoutRequests => devices.enable(tracepoint, &without_requests)?,
                Observer::Filesystems if scope.filesystems.is_empty() => true,
                Observer::Filesystems => devices.enable(tracepoint, &filesystems)?,
                Observer::Drivers(bus, recorded) => {
                    match drivers::filter(bus, recorded, scope.addresses.keys()) {
                        Some(filter) => devices.enable(tracepoint, &filter)?,
                        None => true,
                    }
                }
            };
            if !present && !is_optional(tracepoint) {
                counted.missing.push(tracepoint.path());
            }
        }
        calls.open_readers()?;
        devices.open_readers()?;
        let of_all = detail == Detail::Syncs;
        let mut live = Live {
            calls,
            devices,
            followed: (!of_all).then(Followed::default),
            recorded,
            recorded_from: of_all.then_some(0),
            is_paused: false,
            pending: Vec::new(),
            settled: now_ns(),
            counted,
            _tracefs: tracefs,
        };
        live.resume()?;
        Ok(live)
    }

    /// Follows these threads too, and all that they will create. Without effect where all threads
    /// are recorded.
    pub fn follow(&mut self, threads: &[u32]) -> Result<(), TraceError> {
        if let Some(followed) = &mut self.followed {
            followed.add(threads);
        }
        self.record_followed()
    }

    /// Lets the kernel record all threads that are followed, and those that they may create until
    /// this is called again.
    fn record_followed(&mut self) -> Result<(), TraceError> {
        let Some(lowest) = self.followed.as_ref().and_then(Followed::lowest) else { return Ok(()) };
        let lowest = lowest.min(numbering::lowest_to_come());
        if self.recorded_from.is_some_and(|from| from <= lowest) {
            return Ok(());
        }
        for &tracepoint in &self.recorded {
            let filter = followed::filter(tracepoint, lowest);
            if !filter.is_empty() {
                self.calls.filter(tracepoint, &filter)?;
            }
        }
        let is_first = self.recorded_from.replace(lowest).is_none();
        if is_first && !self.is_paused { self.calls.switch_on() } else { Ok(()) }
    }

    /// Stops, and passes on what is left; what is open at that moment is marked as lost.
    pub fn pause(&mut self) -> Result<Vec<Event>, TraceError> {
        self.is_paused = true;
        let mut left = self.stop()?;
        let at = left.last().map_or(0, |event| event.at);
        left.push(Event { at, thread: 0, what: What::Lost { until: at } });
        Ok(left)
    }

    /// Records again.
    pub fn resume(&mut self) -> Result<(), TraceError> {
        self.is_paused = false;
        self.devices.switch_on()?;
        if self.recorded_from.is_some() { self.calls.switch_on() } else { Ok(()) }
    }

    /// Reads what the kernel has, and passes on the events that none can precede any more. To be
    /// called every [`READ_INTERVAL`].
    pub fn read(&mut self) -> Result<impl Iterator<Item = Event>, TraceError> {
        self.record_followed()?;
        let settled = now_ns().saturating_sub(SETTLED_NS);
        self.collect()?;
        Ok(self.pass_on(settled))
    }

    /// Stops, and passes on what is left.
    pub fn finish(mut self) -> Result<(Vec<Event>, Counted), TraceError> {
        let left = self.stop()?;
        Ok((left, self.counted))
    }

    fn stop(&mut self) -> Result<Vec<Event>, TraceError> {
        self.calls.stop()?;
        self.devices.stop()?;
        self.collect()?;
        Ok(self.pass_on(u64::MAX).collect())
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
        self.settled = settled.min(now_ns());
        let followed = &mut self.followed;
        let is_of_interest =
            move |event: &Event| followed.as_mut().is_none_or(|followed| followed.passes(event));
        self.pending.drain(..ready).filter(is_of_interest)
    }
}

/// The instance that records a tracepoint.
enum Observer {
    Threads,
    Blocks,
    BlocksWithoutRequests,
    Filesystems,
    Drivers(Bus, Recorded),
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
        | Tracepoint::Fork
        | Tracepoint::Exit
        | Tracepoint::Switch => Observer::Threads,
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
        | Tracepoint::Complete => Observer::Blocks,
        Tracepoint::BioComplete => Observer::BlocksWithoutRequests,
        Tracepoint::NvmeSetup => Observer::Drivers(Bus::Nvme, Recorded::Given),
        Tracepoint::NvmeComplete => {
            Observer::Drivers(Bus::Nvme, Recorded::Ended { failure: Some("status") })
        }
        Tracepoint::ScsiStart | Tracepoint::ScsiError => {
            Observer::Drivers(Bus::Scsi, Recorded::Given)
        }
        Tracepoint::ScsiDone => {
            Observer::Drivers(Bus::Scsi, Recorded::Ended { failure: Some("result") })
        }
        Tracepoint::ScsiTimeout => Observer::Drivers(Bus::Scsi, Recorded::Ended { failure: None }),
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

fn with_partitions(scope: &Scope, disks: &[DeviceNumber]) -> impl Iterator<Item = DeviceNumber> {
    let is_on = |(_, disk): &(&DeviceNumber, &DeviceNumber)| disks.contains(disk);
    let partitions = scope.partitions.iter().filter(is_on).map(|(partition, _)| *partition);
    disks.iter().copied().chain(partitions)
}

/// The kernel's filter for any of these devices; for all devices, if it would be too long.
fn any_of(devices: impl Iterator<Item = DeviceNumber>) -> String {
    let numbers: BTreeSet<u32> = devices.map(kernel_number).collect();
    // Partitions have consecutive numbers.
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(number) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let each = ranges.into_iter().map(|(first, last)| match last - first {
        0 => format!("dev == {first}"),
        _ => format!("(dev >= {first} && dev <= {last})"),
    });
    drivers::within(each.collect::<Vec<_>>().join(" || "), String::new())
}

fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_with_many_processors_keep_their_memory() {
        let mib = |cpus: u32| Detail::Commits.kib_per_cpu(cpus) * cpus / 1024;
        assert_eq!([1, 2, 4, 8, 32, 64, 256].map(mib), [32, 64, 128, 128, 128, 256, 1024]);
    }

    #[test]
    fn devices_are_filtered_by_ranges_that_fit_the_kernel() {
        let filter =
            |minors: &[u32]| any_of(minors.iter().map(|&minor| DeviceNumber { major: 8, minor }));
        insta::assert_snapshot!(filter(&[18, 0, 16, 17, 32]), @"dev == 8388608 || (dev >= 8388624 && dev <= 8388626) || dev == 8388640");
        assert_eq!(filter(&(0..5000).collect::<Vec<_>>()), "(dev >= 8388608 && dev <= 8393607)");
        assert_eq!(filter(&(0..5000).map(|minor| minor * 2).collect::<Vec<_>>()), "");
        assert_eq!(filter(&[]), "");
    }

    #[test]
    fn a_sample_has_syncs_without_the_scheduler() {
        let included = |tracepoint| Detail::Syncs.includes(tracepoint);
        assert!(included(Tracepoint::Enter(Syscall::Fsync)) && included(Tracepoint::Issue));
        assert!(included(Tracepoint::JournalEnd) && !included(Tracepoint::Switch));
        assert!(!included(Tracepoint::Return(Syscall::Pwrite)));
        assert!(Tracepoint::all().all(|tracepoint| Detail::Commits.includes(tracepoint)));
    }
}
