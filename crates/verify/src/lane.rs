//! One writer: builds a record, writes it, makes it durable, says so, one operation at a time.
//!
//! Because the next operation begins when the one before has returned, a lane is drained whenever it syncs, and its sync covers exactly what it wrote before (a flush covers *completed*
//! writes only); other lanes keep the drive busy meanwhile. After its first error a lane does nothing more: a failed sync covers nothing, and a later one that succeeds does not mend that.

use std::io;

use crate::aligned::AlignedBlock;
use crate::disk::Disk;
use crate::frontier::Frontiers;
use crate::geometry::LaneKind;
use crate::record::{Header, SEQ_MAX};
use crate::run_header::RunHeader;
use crate::schedule::{Operation, Schedule};

/// A lane at work.
#[derive(Debug)]
pub struct Lane<'a> {
    header: Header,
    kind: LaneKind,
    sector_bytes: usize,
    run: &'a RunHeader,
    schedule: Schedule,
    frontiers: &'a Frontiers,
    block: AlignedBlock,
    /// The operation that comes next.
    seq: u64,
    evidence: u64,
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stepped {
    /// A record was written and waits for its sync, or will never have one.
    Wrote,
    /// Everything that the lane wrote is durable: a commit.
    Committed,
    /// Nothing: the lease is used up.
    Waits,
}

/// Why a lane stopped for good.
#[derive(Debug, thiserror::Error)]
#[error("lane {lane} ({kind}) stopped at its operation {seq}: {operation} failed: {source}")]
pub struct LaneFailure {
    /// Which.
    pub lane: u16,
    /// Its kind.
    pub kind: LaneKind,
    /// The operation.
    pub seq: u64,
    /// `write at byte 4096`, `sync`.
    pub operation: String,
    /// The system's answer.
    pub source: io::Error,
}

impl<'a> Lane<'a> {
    /// A lane that has done nothing yet.
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

    /// Does the next operation.
    ///
    /// # Errors
    /// When it fails; the lane must not be stepped again.
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
                let written = if fua { disk.write_durably(offset, block) } else { disk.write(offset, block) };
                written.map_err(|source| self.failure(format!("write at byte {offset}"), source))?;
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

    #[inline]
    fn build(&mut self, index: u32, version: u32) {
        let geometry = &self.run.geometry;
        let header = &mut self.header;
        header.version = version;
        header.address_bytes = geometry.address_bytes(header.lane, index);
        header.seq = self.seq;
        header.evidence = self.evidence;
        // One other lane after the other, so that soon every lane's records speak for every other lane.
        let others = geometry.lanes() - 1;
        if others > 0 {
            header.other_lane = (header.lane + 1 + (self.seq % u64::from(others)) as u16) % geometry.lanes();
            header.other_seq = self.frontiers.seen(header.other_lane, geometry.kind(header.other_lane));
        }
        header.fill_record(self.block.bytes_mut(), self.sector_bytes);
    }

    #[cold]
    fn failure(&self, operation: String, source: io::Error) -> LaneFailure {
        LaneFailure { lane: self.header.lane, kind: self.kind, seq: self.seq, operation, source }
    }
}

/// The record that lies in a slot before the run: version 0.
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
