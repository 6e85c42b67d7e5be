//! The state of all zones of a target, shared by the jobs that use it.

use std::ops::Range;

use super::ZoneJob;

/// The places at which a zone can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneKind {
    /// Anywhere, like an ordinary drive.
    Conventional,
    /// At its write pointer.
    Sequential,
    /// Not at all, but it can be read.
    ReadOnly,
    /// It can be neither read nor written.
    Offline,
}

/// A zone as its drive reports it, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneState {
    pub start: u64,
    /// The end of what can be written, at most the start of the next zone.
    pub end: u64,
    /// The next write goes here; `end` if the zone is full or has no write pointer.
    pub write_pointer: u64,
    pub kind: ZoneKind,
    /// It takes up one of the drive's limited resources for zones that are being written.
    pub open: bool,
}

impl ZoneState {
    /// A sequential zone without data.
    pub const fn empty(start: u64, bytes: u64) -> ZoneState {
        ZoneState {
            start,
            end: start + bytes,
            write_pointer: start,
            kind: ZoneKind::Sequential,
            open: false,
        }
    }

    const fn remainder(&self) -> u64 {
        self.end - self.write_pointer
    }
}

/// The kind of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneAction {
    Read,
    Write,
    /// Empties a zone: a trim.
    Reset,
}

/// An operation that may be performed now. [`ZoneTable::complete`] ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    pub action: ZoneAction,
    pub offset: u64,
    pub bytes: u64,
}

/// The answer to a job that wants to perform an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    Granted(Grant),
    /// The job first resets the zone of these bytes, then calls [`ZoneTable::after_reset`].
    ResetFirst {
        zone: u64,
        bytes: u64,
    },
    /// The job first finishes the zone that starts here, because what is left of it is smaller than
    /// a block, then calls [`ZoneTable::after_finish`] and asks again.
    FinishFirst {
        zone: u64,
    },
    /// An operation in flight occupies the zone.
    Busy,
    /// No zone is suitable.
    Nothing(Lack),
}

/// Why no zone is suitable for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// None holds data to read.
    Data,
    /// None can be written without a reset that would destroy data to check.
    Space,
    /// None can be opened.
    OpenZones,
    /// None holds data that a reset would discard.
    Used,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Writer {
    None,
    /// One write at a time, so writes do not overtake each other.
    Writes,
    Resets,
}

#[derive(Debug)]
struct Zone {
    state: ZoneState,
    writer: Writer,
    readers: u32,
    /// The job that opened it.
    opener: Option<u32>,
}

/// The data within a range in which zones are collected.
#[derive(Debug)]
struct Collected {
    range: Range<u64>,
    frequency: f64,
    written_bytes: u64,
    /// Number of writes before the next reset.
    countdown: u64,
}

/// All zones of a target.
#[derive(Debug)]
pub struct ZoneTable {
    zone_bytes: u64,
    zones: Vec<Zone>,
    limit: Option<u32>,
    /// The zones that are being written, if their number is limited.
    open: Vec<usize>,
    /// Number of open zones of each job.
    opened: Vec<u32>,
    collected: Vec<Collected>,
    /// Number of times that a zone has become free.
    changes: u64,
}

impl ZoneTable {
    /// `zones` are adjacent, each of `zone_bytes` except the last, and the first starts at 0.
    /// At most `limit` zones are written at a time, including those that are open already.
    pub fn new(zone_bytes: u64, zones: Vec<ZoneState>, limit: Option<u32>) -> ZoneTable {
        let tracked = |state| Zone { state, writer: Writer::None, readers: 0, opener: None };
        let mut table = ZoneTable {
            zone_bytes,
            zones: zones.into_iter().map(tracked).collect(),
            limit,
            open: Vec::new(),
            opened: Vec::new(),
            collected: Vec::new(),
            changes: 0,
        };
        let counts = |zone: &Zone| zone.state.open && limit.is_some();
        table.open = (0..table.zones.len()).filter(|&index| counts(&table.zones[index])).collect();
        table
    }

    /// Zones without data on a target of `total_bytes` that is not zoned itself.
    pub fn imagined(zone_bytes: u64, total_bytes: u64, limit: Option<u32>) -> ZoneTable {
        let zone = |index| ZoneState::empty(index * zone_bytes, zone_bytes);
        ZoneTable::new(zone_bytes, (0..total_bytes / zone_bytes).map(zone).collect(), limit)
    }

    pub const fn zone_bytes(&self) -> u64 {
        self.zone_bytes
    }

    /// Changes whenever a zone becomes free, so a job that found its zone busy knows whether to ask
    /// again.
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// The zones that contain bytes of the range.
    pub fn within(&self, range: Range<u64>) -> impl Iterator<Item = &ZoneState> {
        let indices = self.indices(&range);
        self.zones[indices].iter().map(|zone| &zone.state)
    }

    /// Number of zones that are being written, if it is limited.
    pub fn open_zones(&self) -> usize {
        self.open.len()
    }

    fn indices(&self, range: &Range<u64>) -> Range<usize> {
        let last = range.end.div_ceil(self.zone_bytes).min(self.zones.len() as u64) as usize;
        ((range.start / self.zone_bytes) as usize).min(last)..last
    }

    fn index(&self, offset: u64) -> usize {
        ((offset / self.zone_bytes) as usize).min(self.zones.len().saturating_sub(1))
    }

    /// Enters a job; returns its number.
    pub(super) fn enter(&mut self, job: &ZoneJob) -> u32 {
        if let Some(collection) = job.collection
            && !self.collected.iter().any(|known| known.range == job.range)
        {
            let written = |zone: &ZoneState| match zone.kind {
                ZoneKind::Sequential => zone.write_pointer - zone.start,
                _ => 0,
            };
            self.collected.push(Collected {
                range: job.range.clone(),
                frequency: collection.frequency,
                written_bytes: self.within(job.range.clone()).map(written).sum(),
                countdown: countdown(collection.frequency),
            });
        }
        self.opened.push(0);
        self.opened.len() as u32 - 1
    }

    /// Asks for an operation of a job: near `offset` for a random pattern, at its position for a
    /// sequential one.
    pub fn claim(
        &mut self,
        job: &mut ZoneJob,
        action: ZoneAction,
        offset: u64,
        bytes: u64,
    ) -> Claim {
        match action {
            ZoneAction::Read => match self.claim_read(job, offset, bytes) {
                // A mix writes first where there is nothing to read.
                Claim::Nothing(_) if job.pattern.is_mixed() => self.claim_write(job, offset, bytes),
                claim => claim,
            },
            ZoneAction::Write => self.claim_write(job, offset, bytes),
            ZoneAction::Reset => self.claim_reset(job, offset),
        }
    }

    /// The bytes of a zone that a job may read.
    fn readable(&self, job: &ZoneJob, index: usize) -> Range<u64> {
        let zone = &self.zones[index].state;
        let end = match zone.kind {
            ZoneKind::Offline => zone.start,
            _ => zone.write_pointer,
        };
        let start = zone.start.max(job.range.start);
        start..end.min(job.range.end).max(start)
    }

    fn claim_read(&mut self, job: &mut ZoneJob, offset: u64, bytes: u64) -> Claim {
        if job.reads_beyond {
            let mut offset = if job.pattern.is_random() { offset } else { job.positions[0] };
            if offset + bytes > job.range.end {
                offset = job.range.start;
            }
            job.positions[0] = offset + bytes;
            return Claim::Granted(Grant { action: ZoneAction::Read, offset, bytes });
        }
        let found = if job.pattern.is_random() {
            self.nearest(job, offset, |table, index| {
                let readable = table.readable(job, index);
                readable.end - readable.start >= job.block_bytes
            })
            .map(|index| (index, None))
        } else {
            self.next_readable(job)
        };
        let Some((index, position)) = found else { return Claim::Nothing(Lack::Data) };
        let readable = self.readable(job, index);
        let blocks = |bytes: u64| bytes / job.block_bytes * job.block_bytes;
        let (offset, bytes) = if let Some(position) = position {
            (position, blocks(bytes.min(readable.end - position)))
        } else {
            let length = readable.end - readable.start;
            let bytes = blocks(bytes.min(length));
            let places = (length - bytes) / job.block_bytes + 1;
            let place = offset % self.zone_bytes / job.block_bytes % places;
            (readable.start + place * job.block_bytes, bytes)
        };
        let zone = &mut self.zones[index];
        if zone.state.kind == ZoneKind::Sequential {
            if zone.writer == Writer::Resets {
                return Claim::Busy;
            }
            zone.readers += 1;
        }
        job.positions[0] = offset + bytes;
        Claim::Granted(Grant { action: ZoneAction::Read, offset, bytes })
    }

    /// The zone and the offset of the next sequential read.
    fn next_readable(&self, job: &mut ZoneJob) -> Option<(usize, Option<u64>)> {
        loop {
            let position = job.positions[0];
            for index in self.indices(&(position..job.range.end)) {
                let readable = self.readable(job, index);
                let start = readable.start.max(position);
                if start + job.block_bytes <= readable.end {
                    return Some((index, Some(start)));
                }
            }
            if position == job.range.start || !job.begin_pass(0) {
                return None;
            }
        }
    }

    /// The zone nearest to an offset, within the job's range, that is suitable.
    fn nearest(
        &self,
        job: &ZoneJob,
        offset: u64,
        suits: impl Fn(&ZoneTable, usize) -> bool,
    ) -> Option<usize> {
        let within = self.indices(&job.range);
        let first = self.index(offset);
        let distances = 0..within.len();
        let around = distances.flat_map(|far| [first.checked_add(far), first.checked_sub(far)]);
        around.flatten().find(|index| within.contains(index) && suits(self, *index))
    }

    fn claim_write(&mut self, job: &mut ZoneJob, offset: u64, bytes: u64) -> Claim {
        let mut offset = offset;
        if !job.pattern.is_random() {
            offset = job.positions[1];
            if self.zones.get(self.index(offset)).is_some_and(|zone| offset >= zone.state.end) {
                // The rest of a zone that is smaller than its distance from the next one.
                offset = (offset / self.zone_bytes + 1) * self.zone_bytes;
            }
            if offset + job.block_bytes > job.range.end {
                offset = job.range.start;
            }
        }
        let drawn = self.index(offset);
        let Some(zone) = self.zones.get(drawn) else { return Claim::Nothing(Lack::OpenZones) };
        if zone.state.kind == ZoneKind::Conventional {
            let next = self.zones.get(drawn + 1);
            let crosses = next.is_none_or(|next| next.state.kind != ZoneKind::Conventional);
            let end = if crosses { zone.state.end } else { u64::MAX };
            let bytes = bytes.min(end - zone.state.start);
            let offset = offset.min(end - bytes);
            job.positions[1] = offset + bytes;
            return Claim::Granted(Grant { action: ZoneAction::Write, offset, bytes });
        }
        match self.choose(job, offset, drawn) {
            Choice::Zone(index) => self.write_to(job, index, bytes),
            Choice::Finish(index) => {
                let zone = &mut self.zones[index];
                if zone.writer != Writer::None {
                    return Claim::Busy;
                }
                zone.writer = Writer::Writes;
                Claim::FinishFirst { zone: zone.state.start }
            }
            Choice::Busy => Claim::Busy,
            Choice::None(lack) => Claim::Nothing(lack),
        }
    }

    /// Chooses the zone of a write: the drawn one if it may be opened, otherwise one that is open,
    /// otherwise any other.
    fn choose(&self, job: &ZoneJob, offset: u64, drawn: usize) -> Choice {
        let remainder = |index: usize| self.zones[index].state.remainder();
        let fits = |index: usize| remainder(index) >= job.block_bytes;
        let is_leftover = |index: usize| {
            self.zones[index].state.kind == ZoneKind::Sequential
                && (1..job.block_bytes).contains(&remainder(index))
        };
        let within = self.indices(&job.range);
        if !job.keeps_data && is_leftover(drawn) {
            return Choice::Finish(drawn);
        }
        if self.may_open(job, drawn) {
            return Choice::Zone(drawn);
        }
        let open: Vec<usize> =
            self.open.iter().copied().filter(|index| within.contains(index)).collect();
        let length = job.range.end - job.range.start;
        let turn = u128::from(offset - job.range.start) * open.len() as u128 / u128::from(length);
        let mut turns = open.iter().cycle().skip(turn as usize).take(open.len());
        if let Some(&index) = turns.next().filter(|index| fits(**index)) {
            return Choice::Zone(index);
        }
        let others = (drawn + 1..within.end).chain(within.start..drawn);
        let opens = |index: &usize| !self.is_open(*index) && self.may_open(job, *index);
        if let Some(index) = others.into_iter().find(opens) {
            return Choice::Zone(index);
        }
        if let Some(&index) = open.iter().find(|index| fits(**index)) {
            return Choice::Zone(index);
        }
        if let Some(&index) = open.iter().find(|index| is_leftover(**index)) {
            return Choice::Finish(index);
        }
        if self.zones.iter().any(|zone| zone.writer != Writer::None) {
            return Choice::Busy;
        }
        Choice::None(if job.keeps_data { Lack::Space } else { Lack::OpenZones })
    }

    const fn is_tracked(&self) -> bool {
        self.limit.is_some()
    }

    fn is_open(&self, index: usize) -> bool {
        self.is_tracked() && self.zones[index].state.open
    }

    fn may_open(&self, job: &ZoneJob, index: usize) -> bool {
        let zone = &self.zones[index].state;
        if zone.kind != ZoneKind::Sequential || job.keeps_data && zone.remainder() < job.block_bytes
        {
            return false;
        }
        let Some(limit) = self.limit.filter(|_| !zone.open) else { return true };
        let of_job = job.max_open.is_none_or(|most| self.opened[job.number as usize] < most);
        self.open.len() < limit as usize && of_job
    }

    fn write_to(&mut self, job: &mut ZoneJob, index: usize, bytes: u64) -> Claim {
        let zone = &self.zones[index];
        let full = zone.state.remainder() < job.block_bytes;
        let due = job.collection.is_some() && self.collection_is_due(job);
        let resets = full || due && zone.state.write_pointer > zone.state.start;
        if zone.writer != Writer::None || resets && zone.readers > 0 {
            return Claim::Busy;
        }
        if job.collection.is_some() {
            self.count_write(job);
        }
        self.open(job, index);
        if resets {
            self.zones[index].writer = Writer::Resets;
            return Claim::ResetFirst { zone: self.zones[index].state.start, bytes };
        }
        self.zones[index].writer = Writer::Writes;
        Claim::Granted(self.at_write_pointer(job, index, bytes))
    }

    fn at_write_pointer(&self, job: &mut ZoneJob, index: usize, bytes: u64) -> Grant {
        let zone = &self.zones[index].state;
        let bytes = bytes.min(zone.remainder()) / job.block_bytes * job.block_bytes;
        job.positions[1] = zone.write_pointer + bytes;
        Grant { action: ZoneAction::Write, offset: zone.write_pointer, bytes }
    }

    /// Notes that the zone of a [`Claim::ResetFirst`] has been reset, and grants the write.
    pub fn after_reset(&mut self, job: &mut ZoneJob, zone: u64, bytes: u64) -> Grant {
        let index = self.index(zone);
        self.changes += 1;
        self.set_write_pointer(index, self.zones[index].state.start);
        self.zones[index].writer = Writer::Writes;
        self.at_write_pointer(job, index, bytes)
    }

    /// Notes that the zone of a [`Claim::FinishFirst`] is full.
    pub fn after_finish(&mut self, zone: u64) {
        let index = self.index(zone);
        self.zones[index].writer = Writer::None;
        self.changes += 1;
        self.set_write_pointer(index, self.zones[index].state.end);
        self.close(index);
    }

    /// Notes that the drive failed to reset or finish a zone.
    pub fn abandon(&mut self, zone: u64) {
        let index = self.index(zone);
        self.zones[index].writer = Writer::None;
        self.changes += 1;
    }

    /// Notes that a zone has been reset before the jobs started.
    pub fn emptied(&mut self, zone: u64) {
        let index = self.index(zone);
        self.set_write_pointer(index, self.zones[index].state.start);
        self.close(index);
    }

    fn claim_reset(&mut self, job: &mut ZoneJob, offset: u64) -> Claim {
        let index = if job.pattern.is_random() {
            let used = |table: &ZoneTable, index: usize| {
                let zone = &table.zones[index].state;
                match zone.kind {
                    ZoneKind::Sequential => zone.write_pointer > zone.start,
                    ZoneKind::Conventional => true,
                    ZoneKind::ReadOnly | ZoneKind::Offline => false,
                }
            };
            self.nearest(job, offset, used)
        } else {
            if job.positions[1] >= job.range.end && !job.begin_pass(1) {
                return Claim::Nothing(Lack::Used);
            }
            Some(self.index(job.positions[1]))
        };
        let Some(index) = index else { return Claim::Nothing(Lack::Used) };
        let zone_bytes = self.zone_bytes;
        let zone = &mut self.zones[index];
        if zone.state.kind == ZoneKind::Sequential {
            if zone.writer != Writer::None || zone.readers > 0 {
                return Claim::Busy;
            }
            zone.writer = Writer::Resets;
        }
        let offset = zone.state.start;
        job.positions[1] = offset + zone_bytes;
        Claim::Granted(Grant { action: ZoneAction::Reset, offset, bytes: zone_bytes })
    }

    /// Returns `true` if a reset of the zone at this offset would change anything: it has a write
    /// pointer and data.
    pub fn is_used(&self, offset: u64) -> bool {
        let zone = &self.zones[self.index(offset)].state;
        zone.kind == ZoneKind::Sequential && zone.write_pointer > zone.start
    }

    /// Returns `true` if the zone at this offset has a write pointer.
    pub fn is_sequential(&self, offset: u64) -> bool {
        self.zones
            .get(self.index(offset))
            .is_some_and(|zone| zone.state.kind == ZoneKind::Sequential)
    }

    /// Ends a granted operation that the drive has performed.
    pub fn complete(&mut self, job: &ZoneJob, grant: Grant) {
        let index = self.index(grant.offset);
        if !self.release(job, grant) {
            return;
        }
        match grant.action {
            ZoneAction::Read => {}
            ZoneAction::Write => {
                self.set_write_pointer(index, grant.offset + grant.bytes);
                if self.zones[index].state.remainder() == 0 {
                    self.close(index);
                }
            }
            ZoneAction::Reset => {
                self.set_write_pointer(index, self.zones[index].state.start);
                self.close(index);
            }
        }
    }

    /// Ends a granted operation that failed. `write_pointer` is where the drive reports that of the
    /// zone now, if it was asked.
    pub fn fail(&mut self, job: &ZoneJob, grant: Grant, write_pointer: Option<u64>) {
        let index = self.index(grant.offset);
        if self.release(job, grant)
            && let Some(write_pointer) = write_pointer
        {
            let zone = &self.zones[index].state;
            let write_pointer = write_pointer.clamp(zone.start, zone.end);
            self.set_write_pointer(index, write_pointer);
            if self.zones[index].state.remainder() == 0 {
                self.close(index);
            }
        }
    }

    /// Returns `true` if the operation held its zone.
    fn release(&mut self, job: &ZoneJob, grant: Grant) -> bool {
        let index = self.index(grant.offset);
        let zone = &mut self.zones[index];
        if zone.state.kind != ZoneKind::Sequential {
            return false;
        }
        self.changes += 1;
        match grant.action {
            ZoneAction::Read if job.holds_reads() => zone.readers -= 1,
            ZoneAction::Read => return false,
            ZoneAction::Write | ZoneAction::Reset => zone.writer = Writer::None,
        }
        true
    }

    fn set_write_pointer(&mut self, index: usize, to: u64) {
        let zone = &mut self.zones[index].state;
        let before = std::mem::replace(&mut zone.write_pointer, to);
        let start = zone.start;
        for collected in self.collected.iter_mut().filter(|known| known.range.contains(&start)) {
            collected.written_bytes = (collected.written_bytes + to).saturating_sub(before);
        }
    }

    fn open(&mut self, job: &ZoneJob, index: usize) {
        let zone = &mut self.zones[index];
        if self.limit.is_none() || std::mem::replace(&mut zone.state.open, true) {
            return;
        }
        zone.opener = Some(job.number);
        self.opened[job.number as usize] += 1;
        self.open.push(index);
    }

    fn close(&mut self, index: usize) {
        let zone = &mut self.zones[index];
        zone.state.open = false;
        if let Some(opener) = zone.opener.take() {
            self.opened[opener as usize] -= 1;
        }
        self.open.retain(|&open| open != index);
    }

    /// Returns `true` if the job's next write resets its zone although it is not full.
    fn collection_is_due(&self, job: &ZoneJob) -> bool {
        let Some(collection) = job.collection else { return false };
        let share = (job.range.end - job.range.start) as f64 * collection.threshold;
        let of_job = self.collected.iter().find(|known| known.range == job.range);
        of_job.is_some_and(|known| known.written_bytes as f64 >= share && known.countdown <= 1)
    }

    /// Counts a write of a job once its range has reached the threshold.
    fn count_write(&mut self, job: &ZoneJob) {
        let Some(collection) = job.collection else { return };
        let share = (job.range.end - job.range.start) as f64 * collection.threshold;
        if let Some(known) = self.collected.iter_mut().find(|known| known.range == job.range)
            && known.written_bytes as f64 >= share
        {
            known.countdown -= 1;
            if known.countdown == 0 {
                known.countdown = countdown(known.frequency);
            }
        }
    }
}

/// Number of writes from one reset to the next.
fn countdown(frequency: f64) -> u64 {
    ((1.0 / frequency) as u64).max(1)
}

/// The zone of a write.
enum Choice {
    Zone(usize),
    Finish(usize),
    Busy,
    None(Lack),
}

#[cfg(test)]
mod tests;
