//! One writer: builds a record, writes it, makes it durable and reports that, one operation at a
//! time.
//!
//! An operation begins when the one before it has returned. So a lane has nothing in flight when it
//! syncs, and its sync covers exactly what it wrote before (a flush covers *completed* writes
//! only); other lanes keep the drive busy meanwhile. A lane stops at its first error: a failed sync
//! covers nothing, and a later successful one does not change that.

use std::io;

use crate::aligned::AlignedBlock;
use crate::disk::Disk;
use crate::frontier::Frontiers;
use crate::geometry::LaneKind;
use crate::record::{Header, SEQ_MAX};
use crate::run_header::RunHeader;
use crate::schedule::{Operation, Schedule};

#[derive(Debug)]
pub struct Lane<'a> {
    header: Header,
    kind: LaneKind,
    sector_bytes: usize,
    run: &'a RunHeader,
    schedule: Schedule,
    frontiers: &'a Frontiers,
    block: AlignedBlock,
    /// The next operation.
    seq: u64,
    evidence: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stepped {
    /// A record was written that is not synced yet, or never will be.
    Wrote,
    /// Everything that the lane wrote is durable: a commit.
    Committed,
    /// Nothing was done: the lease is used up.
    Waits,
}

/// Why a lane stopped.
#[derive(Debug, thiserror::Error)]
#[error("lane {lane} ({kind}) stopped at operation {seq}: {operation} failed: {source}")]
pub struct LaneFailure {
    pub lane: u16,
    pub kind: LaneKind,
    pub seq: u64,
    /// Such as `write at byte 4096` or `sync`.
    pub operation: String,
    pub source: io::Error,
}

impl<'a> Lane<'a> {
    /// A lane before its first operation.
    pub fn new(run: &'a RunHeader, lane: u16, frontiers: &'a Frontiers) -> Lane<'a> {
        let geometry = &run.geometry;
        let kind = geometry.kind(lane);
        let header = Header {
            kind: kind.record_kind(),
            lane,
            sector: 0,
            sectors: geometry.record_sectors,
            run_id: run.run_id,
            target_id: run.target_id,
            version: 0,
            address_bytes: 0,
            seq: 0,
            evidence: 0,
            other_lane: lane,
            other_seq: 0,
            body_crc: 0,
        };
        Lane {
            header,
            kind,
            sector_bytes: geometry.sector_bytes as usize,
            run,
            schedule: Schedule::new(run.run_id, geometry, lane),
            frontiers,
            block: AlignedBlock::new(geometry.record_bytes() as usize),
            seq: 1,
            evidence: 0,
        }
    }

    /// Executes the next operation.
    ///
    /// # Errors
    /// If it fails. The lane must not be used again.
    #[inline]
    pub fn step(&mut self, disk: &mut impl Disk) -> Result<Stepped, LaneFailure> {
        let seq = self.seq;
        if seq > self.frontiers.lease(self.header.lane).min(SEQ_MAX) {
            return Ok(Stepped::Waits);
        }
        let durable = match self.schedule.operation(seq) {
            Operation::Sync => {
                disk.sync().map_err(|source| self.failure("sync".to_owned(), source))?;
                true
            }
            Operation::Write { index, version } => {
                self.build(index, version);
                let (offset, block) = (self.header.address_bytes, self.block.bytes());
                let fua = self.kind == LaneKind::Fua;
                let written =
                    if fua { disk.write_durably(offset, block) } else { disk.write(offset, block) };
                written
                    .map_err(|source| self.failure(format!("write at byte {offset}"), source))?;
                fua
            }
        };
        if durable {
            self.evidence = seq;
        }
        self.frontiers.complete(self.header.lane, seq, durable);
        self.seq = seq + 1;
        Ok(if durable { Stepped::Committed } else { Stepped::Wrote })
    }

    fn build(&mut self, index: u32, version: u32) {
        let geometry = &self.run.geometry;
        let header = &mut self.header;
        header.version = version;
        header.address_bytes = geometry.address_bytes(header.lane, index);
        header.seq = self.seq;
        header.evidence = self.evidence;
        // Cycles through the other lanes, so that every lane's records soon vouch for every other
        // lane.
        let others = geometry.lanes() - 1;
        if others > 0 {
            header.other_lane =
                (header.lane + 1 + (self.seq % u64::from(others)) as u16) % geometry.lanes();
            header.other_seq =
                self.frontiers.seen(header.other_lane, geometry.kind(header.other_lane));
        }
        header.fill_record(self.block.bytes_mut(), self.sector_bytes);
    }

    #[cold]
    fn failure(&self, operation: String, source: io::Error) -> LaneFailure {
        LaneFailure { lane: self.header.lane, kind: self.kind, seq: self.seq, operation, source }
    }
}

/// Fills a block with version 0, the record in a slot before the run.
pub fn fill_record(run: &RunHeader, lane: u16, index: u32, block: &mut [u8]) {
    let header = Header {
        kind: crate::record::Kind::Fill,
        lane,
        sector: 0,
        sectors: run.geometry.record_sectors,
        run_id: run.run_id,
        target_id: run.target_id,
        version: 0,
        address_bytes: run.geometry.address_bytes(lane, index),
        seq: 0,
        evidence: 0,
        other_lane: lane,
        other_seq: 0,
        body_crc: 0,
    };
    header.fill_record(block, run.geometry.sector_bytes as usize);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Geometry, tests::small};

    /// Records the calls, and fails after `good` of them.
    #[derive(Default)]
    struct RecordingDisk {
        calls: Vec<&'static str>,
        last: Vec<u8>,
        good: usize,
    }

    impl RecordingDisk {
        fn call(&mut self, name: &'static str) -> io::Result<()> {
            self.calls.push(name);
            if self.calls.len() > self.good { Err(io::Error::other("no more")) } else { Ok(()) }
        }
    }

    impl Disk for RecordingDisk {
        fn write(&mut self, _: u64, block: &[u8]) -> io::Result<()> {
            self.last = block.to_vec();
            self.call("write")
        }
        fn write_durably(&mut self, _: u64, block: &[u8]) -> io::Result<()> {
            self.last = block.to_vec();
            self.call("fua")
        }
        fn sync(&mut self) -> io::Result<()> {
            self.call("sync")
        }
        fn read(&mut self, _: u64, _: &mut [u8]) -> io::Result<()> {
            self.call("read")
        }
        fn size_bytes(&self) -> u64 {
            0
        }
    }

    fn run() -> RunHeader {
        RunHeader::plain(3, Geometry { writes_per_sync: 2, ..small() })
    }

    fn leased(run: &RunHeader, seq: u64) -> Frontiers {
        let frontiers = Frontiers::new(&run.geometry);
        (0..run.geometry.lanes()).for_each(|lane| frontiers.extend(lane, seq));
        frontiers
    }

    #[test]
    fn each_kind_of_lane_makes_writes_durable_its_way() {
        let run = run();
        let frontiers = leased(&run, 6);
        let calls = |lane| {
            let mut disk = RecordingDisk { good: 100, ..RecordingDisk::default() };
            let mut writer = Lane::new(&run, lane, &frontiers);
            while writer.step(&mut disk).unwrap() != Stepped::Waits {}
            (disk.calls.join(" "), frontiers.of(lane).completed, frontiers.of(lane).durable)
        };
        assert_eq!(calls(0), ("write write sync write write sync".to_owned(), 6, 6));
        assert_eq!(calls(2), ("fua fua fua fua fua fua".to_owned(), 6, 6));
        assert_eq!(calls(3), ("write write write write write write".to_owned(), 6, 0));
    }

    #[test]
    fn a_record_states_what_had_returned_before_it_was_built() {
        let run = run();
        let frontiers = leased(&run, 100);
        let mut disk = RecordingDisk { good: 100, ..RecordingDisk::default() };
        let mut lane = Lane::new(&run, 0, &frontiers);
        let mut step = |disk: &mut RecordingDisk| {
            lane.step(disk).unwrap();
            Header::parse(&disk.last).unwrap()
        };
        assert_eq!(
            (step(&mut disk).seq, step(&mut disk).evidence),
            (1, 0),
            "nothing had been synced"
        );
        step(&mut disk);
        // Operation 3 is the sync. Operations 4 and 5 follow it, and each looks at another lane.
        frontiers.complete(1, 9, true);
        frontiers.complete(2, 7, true);
        frontiers.complete(3, 5, false);
        let seen: Vec<(u64, u64, u16, u64)> = (0..2)
            .map(|_| step(&mut disk))
            .map(|header| (header.seq, header.evidence, header.other_lane, header.other_seq))
            .collect();
        assert_eq!(seen, [(4, 3, 2, 7), (5, 3, 3, 5)]);
    }

    #[test]
    fn an_error_acknowledges_nothing() {
        let run = run();
        let frontiers = leased(&run, 100);
        // The sync after two writes fails.
        let mut disk = RecordingDisk { good: 2, ..RecordingDisk::default() };
        let mut lane = Lane::new(&run, 0, &frontiers);
        lane.step(&mut disk).unwrap();
        lane.step(&mut disk).unwrap();
        let failure = lane.step(&mut disk).unwrap_err();
        insta::assert_snapshot!(failure, @"lane 0 (flush) stopped at operation 3: sync failed: no more");
        let frontier = frontiers.of(0);
        assert_eq!((frontier.completed, frontier.durable), (2, 0));
    }
}
