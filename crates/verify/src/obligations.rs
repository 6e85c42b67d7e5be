//! The records of a witness outside the drive's power domain: how far each lane was acknowledged,
//! and when. Only these create obligations.

use crate::frontier::Frontier;
use crate::geometry::{Geometry, LaneKind};
use crate::record::SEQ_MAX;
use crate::run_header::RunHeader;
use crate::schedule::{Operation, Schedule};

/// Number of past acknowledgements to keep per lane, to know their age at the power cut.
const MOMENTS_MAX: usize = 1 << 16;

/// The record of one lane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// The latest acknowledgement.
    pub frontier: Frontier,
    /// The last operation that the lane was allowed to begin.
    pub lease: u64,
    /// Times in microseconds at which operations were recorded as durable, with sequence numbers,
    /// oldest first.
    pub moments: Vec<(u64, u64)>,
}

/// The record of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Obligations {
    /// One entry per lane.
    pub lanes: Vec<Heard>,
    /// When power was lost, as far as known: the time of the cut command, or else of the writer's
    /// last message. Microseconds on the clock of the moments.
    pub end_us: u64,
}

/// A contradiction in the record, which is an error of the test setup and not of the drive.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Inconsistent(pub String);

impl Obligations {
    /// Obligations of a run before anything is recorded.
    pub fn new(geometry: &Geometry) -> Obligations {
        Obligations { lanes: vec![Heard::default(); usize::from(geometry.lanes())], end_us: 0 }
    }

    /// Allows a lane to continue up to operation `seq`.
    pub fn lease(&mut self, lane: u16, seq: u64) -> Result<(), Inconsistent> {
        let heard = self.heard(lane)?;
        heard.lease = heard.lease.max(seq);
        Ok(())
    }

    /// Records how far a lane is.
    ///
    /// # Errors
    /// If the lane does not exist, is ahead of its lease, or goes back.
    pub fn acknowledge(
        &mut self,
        at_us: u64,
        lane: u16,
        frontier: Frontier,
    ) -> Result<(), Inconsistent> {
        let heard = self.heard(lane)?;
        let Frontier { completed, durable } = frontier;
        if completed > heard.lease || durable > completed {
            return Err(Inconsistent(format!(
                "lane {lane} reports operation {completed} as complete and {durable} as durable, \
                 but its lease ends at {}",
                heard.lease
            )));
        }
        if completed < heard.frontier.completed || durable < heard.frontier.durable {
            return Err(Inconsistent(format!(
                "lane {lane} went back from operation {} to {completed}",
                heard.frontier.completed
            )));
        }
        if durable > heard.frontier.durable {
            if heard.moments.len() >= MOMENTS_MAX {
                heard.moments.drain(..MOMENTS_MAX / 2);
            }
            heard.moments.push((at_us, durable));
        }
        heard.frontier = frontier;
        self.end_us = self.end_us.max(at_us);
        Ok(())
    }

    /// Removes the upper bounds of all lanes, for a journal that is damaged and may have lost
    /// leases.
    pub fn forget_leases(&mut self) {
        self.lanes.iter_mut().for_each(|heard| heard.lease = SEQ_MAX);
    }

    /// Returns whether a flush may have been in progress when the run was interrupted, because the
    /// next operation of some lane was one. A flush writes out every completed write, also those of
    /// lanes that never sync.
    pub fn flush_under_way(&self, run: &RunHeader) -> bool {
        let geometry = &run.geometry;
        (0u16..).zip(&self.lanes).any(|(lane, heard)| match geometry.kind(lane) {
            LaneKind::Flush => {
                let next = heard.frontier.completed.saturating_add(1);
                Schedule::new(run.run_id, geometry, lane).operation(next) == Operation::Sync
            }
            // If the kernel does not send FUA writes to the drive, a flush follows each of them.
            LaneKind::Fua => run.fua_caveat().is_some(),
            LaneKind::Control => false,
        })
    }

    fn heard(&mut self, lane: u16) -> Result<&mut Heard, Inconsistent> {
        self.lanes
            .get_mut(usize::from(lane))
            .ok_or_else(|| Inconsistent(format!("no such lane: {lane}")))
    }
}

impl Heard {
    /// When operation `seq` was first recorded as durable, in microseconds. Too late for operations
    /// long past; `None` if it was not recorded.
    pub fn heard_us(&self, seq: u64) -> Option<u64> {
        let at = self.moments.partition_point(|&(_, durable)| durable < seq);
        self.moments.get(at).map(|&(us, _)| us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::tests::small;

    fn frontier(completed: u64, durable: u64) -> Frontier {
        Frontier { completed, durable }
    }

    #[test]
    fn moments_record_when_an_operation_first_became_durable() {
        let mut obligations = Obligations::new(&small());
        obligations.lease(0, 100).unwrap();
        obligations.acknowledge(10, 0, frontier(3, 2)).unwrap();
        obligations.acknowledge(20, 0, frontier(5, 2)).unwrap();
        obligations.acknowledge(30, 0, frontier(8, 8)).unwrap();
        let heard = &obligations.lanes[0];
        assert_eq!(
            [1, 2, 3, 8, 9].map(|seq| heard.heard_us(seq)),
            [Some(10), Some(10), Some(30), Some(30), None]
        );
        assert_eq!(obligations.end_us, 30);
    }

    #[test]
    fn a_flush_is_in_progress_if_it_is_a_lanes_next_operation() {
        // Two writes, then a sync.
        let run = RunHeader::plain(3, Geometry { writes_per_sync: 2, fua_lanes: 0, ..small() });
        let heard_at = |completed| {
            let mut obligations = Obligations::new(&run.geometry);
            obligations.lease(1, 100).unwrap();
            obligations.acknowledge(0, 1, frontier(completed, 0)).unwrap();
            obligations.flush_under_way(&run)
        };
        assert_eq!([0, 1, 2, 3, 4, 5].map(heard_at), [false, false, true, false, false, true]);
    }

    #[test]
    fn contradictions_are_refused() {
        let mut obligations = Obligations::new(&small());
        obligations.lease(1, 10).unwrap();
        let said = [
            obligations.acknowledge(0, 9, frontier(1, 1)),
            obligations.acknowledge(0, 1, frontier(11, 2)),
            obligations.acknowledge(0, 1, frontier(2, 4)),
            obligations
                .acknowledge(0, 1, frontier(8, 8))
                .and_then(|()| obligations.acknowledge(1, 1, frontier(7, 7))),
        ]
        .map(|outcome| outcome.unwrap_err().0);
        insta::assert_snapshot!(said.join("\n"), @"
        no such lane: 9
        lane 1 reports operation 11 as complete and 2 as durable, but its lease ends at 10
        lane 1 reports operation 2 as complete and 4 as durable, but its lease ends at 10
        lane 1 went back from operation 8 to 7
        ");
    }
}
