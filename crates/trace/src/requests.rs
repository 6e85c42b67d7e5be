//! The way of each bio through the block layer: from its submission to its completion, with the
//! flushes before and after it.
//!
//! A bio waits, possibly merged with others, until a request with its sectors is sent to the
//! driver, and is complete with that request. One that asks for a flush first waits for a flush to
//! be sent and to end. One that asks for FUA is sent with FUA where the queue supports it;
//! elsewhere a flush follows it. A flush serves every bio that waits for one when it is sent.

use std::collections::VecDeque;
use std::ops::Range;

use drive::DeviceNumber;
use foldhash::HashMap;

use crate::event::{Command, Event, Extent, Flags, Operation, What};

/// One bio and its way through the block layer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Request {
    pub extent: Extent,
    /// The flags that were asked for.
    pub flags: Flags,
    /// The thread that submitted it.
    pub thread: u32,
    pub command: Command,
    pub queued: u64,
    /// Its phases, without gaps from `queued` until it was complete.
    pub spans: Vec<Span>,
    /// The moment at which the I/O scheduler received the request with it.
    pub inserted: Option<u64>,
    pub merged: bool,
    pub split: bool,
    /// True if the request was sent with FUA.
    pub fua_sent: bool,
    /// True if one of its flushes served other bios too.
    pub flush_shared: bool,
    pub failed: bool,
    pub done: Option<u64>,
}

/// A part of a request's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub phase: Phase,
    pub from: u64,
    pub to: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// In the block layer, before it is sent.
    Waits,
    /// At the driver and the drive.
    Device,
    /// Before a flush is sent that serves it.
    WaitsForFlush(Which),
    /// While the drive flushes.
    Flush(Which),
}

/// A flush before the data of a request, or after it in place of FUA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Which {
    Before,
    After,
}

impl Request {
    /// The end of its way so far.
    fn since(&self) -> u64 {
        self.spans.last().map_or(self.queued, |span| span.to)
    }

    /// True if it asks the drive to make something durable.
    pub fn makes_durable(&self) -> bool {
        self.flags.fua() || self.flags.preflush() || self.is_bare_flush()
    }

    /// True if it is a flush without data.
    pub fn is_bare_flush(&self) -> bool {
        self.extent.sectors == 0
            && (self.flags.preflush() || self.flags.operation == Operation::Flush)
    }

    /// True if a flush was sent in place of FUA.
    pub fn fua_emulated(&self) -> bool {
        self.spans.iter().any(|span| span.phase == Phase::Flush(Which::After))
    }

    /// The time that it spent in phases that this accepts.
    pub fn time_in(&self, accepts: impl Fn(Phase) -> bool) -> u64 {
        let spans = self.spans.iter().filter(|span| accepts(span.phase));
        spans.map(|span| span.to - span.from).sum()
    }
}

/// More requests than any queue holds: older ones were lost, with the events of their completion.
const MOST_KEPT: usize = 1 << 17;

/// Follows requests from their events, which must come in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// In the order of their submission. The number of the first one is `first`.
    kept: VecDeque<Tracked>,
    first: u64,
    devices: HashMap<DeviceNumber, Queue>,
    /// The disk of each partition: bios name the partition, requests the disk.
    disks: HashMap<DeviceNumber, DeviceNumber>,
}

#[derive(Debug)]
struct Tracked {
    request: Request,
    phase: Phase,
    /// Sectors of it that are not complete.
    left: u32,
}

#[derive(Debug, Default)]
struct Queue {
    /// The requests that are not complete: their numbers, with their sectors, which are looked
    /// through for most events.
    open: Vec<(u64, Range<u64>)>,
    /// The requests that each flush serves which is at the drive, oldest first.
    flushing: VecDeque<Vec<u64>>,
}

impl Tracked {
    fn enter(&mut self, phase: Phase, at: u64) {
        let from = self.request.since();
        self.request.spans.push(Span { phase: self.phase, from, to: at.max(from) });
        self.phase = phase;
    }

    fn finish(&mut self, at: u64) {
        self.enter(self.phase, at);
        self.request.done = Some(self.request.since());
    }
}

fn overlap(sectors: &Range<u64>, extent: &Extent) -> bool {
    sectors.start < extent.end() && extent.sector < sectors.end
}

impl Requests {
    /// Follows requests of drives with these partitions (partition, disk).
    pub fn new(disks: impl IntoIterator<Item = (DeviceNumber, DeviceNumber)>) -> Requests {
        Requests { disks: disks.into_iter().collect(), ..Requests::default() }
    }

    pub fn disk(&self, device: DeviceNumber) -> DeviceNumber {
        self.disks.get(&device).copied().unwrap_or(device)
    }

    fn on_disk(&self, extent: Extent) -> Extent {
        Extent { device: self.disk(extent.device), ..extent }
    }

    /// Takes note of an event of the block layer; ignores others.
    pub fn event(&mut self, event: &Event) {
        let at = event.at;
        match event.what {
            What::Bio { extent, flags, command } => {
                let extent = self.on_disk(extent);
                self.submit(Request {
                    extent,
                    flags,
                    thread: event.thread,
                    command,
                    queued: at,
                    spans: Vec::new(),
                    inserted: None,
                    merged: false,
                    split: false,
                    fua_sent: false,
                    flush_shared: false,
                    failed: false,
                    done: None,
                });
            }
            What::Merge { extent } => {
                self.touched(extent, |tracked| tracked.request.merged = true);
            }
            What::Split { extent, .. } => {
                self.touched(extent, |tracked| tracked.request.split = true);
            }
            What::Insert { extent, .. } => self.touched(extent, |tracked| {
                tracked.request.inserted.get_or_insert(at);
            }),
            What::Issue { extent, flags } if flags.operation == Operation::Flush => {
                self.flush_sent(extent.device, at);
            }
            What::Issue { extent, flags } => self.touched(extent, |tracked| {
                if tracked.phase != Phase::Device {
                    tracked.enter(Phase::Device, at);
                }
                tracked.request.fua_sent |= flags.fua();
            }),
            What::Complete { extent, flags, failed } if flags.operation == Operation::Flush => {
                self.flushed(extent.device, at, failed);
            }
            What::Complete { extent, failed, .. } => {
                let extent = self.on_disk(extent);
                self.completed(extent, at, failed);
            }
            What::BioComplete { extent, .. } => {
                let extent = self.on_disk(extent);
                self.bio_completed(extent, at);
            }
            _ => {}
        }
    }

    fn submit(&mut self, request: Request) {
        if self.kept.len() == MOST_KEPT {
            self.kept.pop_front();
            self.first += 1;
        }
        let number = self.first + self.kept.len() as u64;
        let sectors = request.extent.sector..request.extent.end();
        self.devices.entry(request.extent.device).or_default().open.push((number, sectors));
        let flushes_first = request.flags.preflush() || request.is_bare_flush();
        let phase = if flushes_first { Phase::WaitsForFlush(Which::Before) } else { Phase::Waits };
        let left = request.extent.sectors;
        self.kept.push_back(Tracked { request, phase, left });
    }

    fn tracked(kept: &mut VecDeque<Tracked>, first: u64, number: u64) -> Option<&mut Tracked> {
        kept.get_mut(usize::try_from(number.checked_sub(first)?).ok()?)
    }

    /// Changes all incomplete requests with sectors of an extent.
    fn touched(&mut self, extent: Extent, mut change: impl FnMut(&mut Tracked)) {
        let extent = self.on_disk(extent);
        let Some(queue) = self.devices.get(&extent.device) else { return };
        for (number, sectors) in &queue.open {
            if overlap(sectors, &extent)
                && let Some(tracked) = Self::tracked(&mut self.kept, self.first, *number)
            {
                change(tracked);
            }
        }
    }

    /// Changes all incomplete requests of a device that `concerns` selects by their sectors, and
    /// drops those that `change` completes.
    fn sweep(
        &mut self,
        device: DeviceNumber,
        concerns: impl Fn(&Range<u64>) -> bool,
        mut change: impl FnMut(u64, &mut Tracked),
    ) {
        let Some(queue) = self.devices.get_mut(&device) else { return };
        queue.open.retain(|&(number, ref sectors)| {
            if !concerns(sectors) {
                return number >= self.first;
            }
            Self::tracked(&mut self.kept, self.first, number).is_some_and(|tracked| {
                change(number, tracked);
                tracked.request.done.is_none()
            })
        });
    }

    fn flush_sent(&mut self, device: DeviceNumber, at: u64) {
        let device = self.disk(device);
        let mut served = Vec::new();
        self.sweep(
            device,
            |_| true,
            |number, tracked| {
                if let Phase::WaitsForFlush(which) = tracked.phase {
                    tracked.enter(Phase::Flush(which), at);
                    served.push(number);
                }
            },
        );
        if served.len() > 1 {
            for &number in &served {
                if let Some(tracked) = Self::tracked(&mut self.kept, self.first, number) {
                    tracked.request.flush_shared = true;
                }
            }
        }
        self.devices.entry(device).or_default().flushing.push_back(served);
    }

    fn flushed(&mut self, device: DeviceNumber, at: u64, failed: bool) {
        let device = self.disk(device);
        let queue = self.devices.entry(device).or_default();
        let Some(served) = queue.flushing.pop_front() else { return };
        self.sweep(
            device,
            |_| true,
            |number, tracked| {
                if !served.contains(&number) {
                    return;
                }
                tracked.request.failed |= failed;
                let data_follows = tracked.phase == Phase::Flush(Which::Before)
                    && tracked.request.extent.sectors > 0;
                if data_follows {
                    tracked.enter(Phase::Waits, at);
                } else {
                    tracked.finish(at);
                }
            },
        );
    }

    fn completed(&mut self, extent: Extent, at: u64, failed: bool) {
        let concerns = |sectors: &Range<u64>| overlap(sectors, &extent);
        self.sweep(extent.device, concerns, |_, tracked| {
            let own = tracked.request.extent;
            if tracked.phase != Phase::Device {
                return;
            }
            tracked.request.failed |= failed;
            let complete = extent.end().min(own.end()) - extent.sector.max(own.sector);
            tracked.left = tracked.left.saturating_sub(complete as u32);
            if tracked.left > 0 {
                return;
            }
            if tracked.request.flags.fua() && !tracked.request.fua_sent && !failed {
                tracked.enter(Phase::WaitsForFlush(Which::After), at);
            } else {
                tracked.finish(at);
            }
        });
    }

    /// A driver that takes bios, not requests, worked on it from its submission on.
    fn bio_completed(&mut self, extent: Extent, at: u64) {
        let mut found = false;
        // Drivers that work through a bio leave its end as its beginning.
        let concerns = |sectors: &Range<u64>| [sectors.start, sectors.end].contains(&extent.sector);
        self.sweep(extent.device, concerns, |_, tracked| {
            let is_untouched = tracked.request.spans.is_empty();
            if !found && is_untouched {
                found = true;
                tracked.phase = match tracked.request.extent.sectors {
                    0 => Phase::Flush(Which::Before),
                    _ => Phase::Device,
                };
                tracked.finish(at);
            }
        });
    }

    /// The number of requests that are kept.
    pub fn count(&self) -> usize {
        self.kept.len()
    }

    /// The requests that were submitted at `from` or later, in this order.
    pub fn submitted_since(&self, from: u64) -> impl Iterator<Item = &Request> {
        let first = self.kept.partition_point(|tracked| tracked.request.queued < from);
        self.kept.range(first..).map(|tracked| &tracked.request)
    }

    /// The requests that were not complete at `from` or were submitted since.
    pub fn since(&self, from: u64) -> impl Iterator<Item = &Request> {
        let requests = self.kept.iter().map(|tracked| &tracked.request);
        requests.filter(move |request| request.done.is_none_or(|done| done > from))
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.first += self.kept.len() as u64;
        self.kept.clear();
        self.devices.clear();
    }

    /// Forgets what was complete before `from`.
    pub fn forget(&mut self, from: u64) {
        let is_over = |tracked: &Tracked| tracked.request.done.is_some_and(|done| done <= from);
        while self.kept.front().is_some_and(is_over) {
            self.kept.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: DeviceNumber = DeviceNumber { major: 8, minor: 0 };
    const PARTITION: DeviceNumber = DeviceNumber { major: 8, minor: 1 };

    fn extent(sector: u64, sectors: u32) -> Extent {
        Extent { device: DISK, sector, sectors }
    }

    fn bio(at: u64, sector: u64, sectors: u32, flags: &str) -> Event {
        let (flags, command) = (Flags::parse(flags.as_bytes()), Command::new(b"writer"));
        Event { at, thread: 7, what: What::Bio { extent: extent(sector, sectors), flags, command } }
    }

    fn issue(at: u64, sector: u64, sectors: u32, flags: &str) -> Event {
        let flags = Flags::parse(flags.as_bytes());
        Event { at, thread: 7, what: What::Issue { extent: extent(sector, sectors), flags } }
    }

    fn complete(at: u64, sector: u64, sectors: u32, flags: &str) -> Event {
        let flags = Flags::parse(flags.as_bytes());
        let what = What::Complete { extent: extent(sector, sectors), flags, failed: false };
        Event { at, thread: 0, what }
    }

    fn follow(events: &[Event]) -> Vec<Request> {
        let mut requests = Requests::default();
        events.iter().for_each(|event| requests.event(event));
        requests.since(0).cloned().collect()
    }

    fn spans(request: &Request) -> Vec<(Phase, u64, u64)> {
        request.spans.iter().map(|span| (span.phase, span.from, span.to)).collect()
    }

    #[test]
    fn a_write() {
        let seen = follow(&[
            bio(10, 2048, 8, "WS"),
            issue(12, 2048, 8, "WS"),
            complete(30, 2048, 8, "WS"),
        ]);
        assert_eq!(spans(&seen[0]), [(Phase::Waits, 10, 12), (Phase::Device, 12, 30)]);
        assert_eq!(seen[0].done, Some(30));
    }

    #[test]
    fn fua_is_emulated_by_a_flush_before_and_after() {
        let seen = follow(&[
            bio(10, 2048, 8, "FWFSM"),
            issue(11, 0, 0, "FF"),
            complete(20, 0, 0, "FF"),
            issue(21, 2048, 8, "WSM"),
            complete(30, 2048, 8, "WSM"),
            issue(31, 0, 0, "FF"),
            complete(45, 0, 0, "FF"),
            complete(45, 2048, 0, "WSM"),
        ]);
        assert_eq!(
            spans(&seen[0]),
            [
                (Phase::WaitsForFlush(Which::Before), 10, 11),
                (Phase::Flush(Which::Before), 11, 20),
                (Phase::Waits, 20, 21),
                (Phase::Device, 21, 30),
                (Phase::WaitsForFlush(Which::After), 30, 31),
                (Phase::Flush(Which::After), 31, 45),
            ]
        );
        assert!(seen[0].fua_emulated() && !seen[0].fua_sent && seen[0].done == Some(45));
    }

    #[test]
    fn fua_that_the_drive_understands_needs_no_flush() {
        let seen = follow(&[
            bio(10, 2048, 8, "WFS"),
            issue(12, 2048, 8, "WFS"),
            complete(30, 2048, 8, "WFS"),
        ]);
        assert!(seen[0].fua_sent && !seen[0].fua_emulated() && seen[0].done == Some(30));
    }

    #[test]
    fn one_flush_serves_all_that_wait_for_it_and_none_that_come_later() {
        let seen = follow(&[
            bio(10, 0, 0, "FWS"),
            bio(11, 0, 0, "FWS"),
            issue(12, 0, 0, "FF"),
            bio(13, 0, 0, "FWS"),
            complete(20, 0, 0, "FF"),
            issue(20, 0, 0, "FF"),
            complete(29, 0, 0, "FF"),
        ]);
        let ends: Vec<_> =
            seen.iter().map(|request| (request.done, request.flush_shared)).collect();
        assert_eq!(ends, [(Some(20), true), (Some(20), true), (Some(29), false)]);
    }

    #[test]
    fn merged_bios_end_with_their_request_and_a_split_one_with_its_last_part() {
        let merge = Event { at: 11, thread: 7, what: What::Merge { extent: extent(8, 8) } };
        let seen = follow(&[
            bio(10, 0, 8, "W"),
            bio(11, 8, 8, "W"),
            merge,
            issue(12, 0, 16, "W"),
            complete(20, 0, 16, "W"),
        ]);
        assert_eq!(seen.iter().map(|one| one.done).collect::<Vec<_>>(), [Some(20); 2]);
        assert_eq!(seen.iter().map(|one| one.merged).collect::<Vec<_>>(), [false, true]);
        let split = What::Split { extent: extent(0, 8), at_sector: 8 };
        let seen = follow(&[
            bio(10, 0, 16, "W"),
            Event { at: 11, thread: 7, what: split },
            issue(12, 0, 8, "W"),
            issue(13, 8, 8, "W"),
            complete(20, 8, 8, "W"),
            complete(25, 0, 8, "W"),
        ]);
        assert!(seen[0].split && seen[0].done == Some(25));
    }

    #[test]
    fn a_driver_without_requests() {
        let done = What::BioComplete { extent: extent(2056, 0), flags: Flags::parse(b"WS") };
        let seen = follow(&[bio(10, 2048, 8, "WS"), Event { at: 19, thread: 7, what: done }]);
        assert_eq!(spans(&seen[0]), [(Phase::Device, 10, 19)]);
    }

    #[test]
    fn a_bio_of_a_partition_belongs_to_the_request_of_the_disk() {
        let mut requests = Requests::new([(PARTITION, DISK)]);
        let mut submitted = bio(10, 2048, 8, "WS");
        let What::Bio { extent, .. } = &mut submitted.what else { unreachable!() };
        extent.device = PARTITION;
        let events = [submitted, issue(12, 2048, 8, "WS"), complete(30, 2048, 8, "WS")];
        events.iter().for_each(|event| requests.event(event));
        assert_eq!(requests.since(0).next().unwrap().done, Some(30));
        requests.forget(29);
        assert_eq!(requests.since(0).count(), 1);
        requests.forget(30);
        assert_eq!(requests.since(0).count(), 0);
    }

    #[test]
    fn lost_completions_do_not_fill_the_memory() {
        let mut requests = Requests::default();
        for n in 0..MOST_KEPT as u64 + 100 {
            requests.event(&bio(n, n * 8, 8, "W"));
        }
        assert_eq!(requests.kept.len(), MOST_KEPT);
        // The numbers of those that were dropped are dropped with the next completion.
        requests.event(&complete(1 << 40, 0, 8, "W"));
        assert_eq!(requests.devices[&DISK].open.len(), MOST_KEPT);
    }
}
