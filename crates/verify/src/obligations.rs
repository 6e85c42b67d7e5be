//! What somebody outside the drive's power heard: how far each lane was acknowledged, and when. Only that creates obligations.

use crate::frontier::Frontier;
use crate::geometry::{Geometry, LaneKind};
use crate::record::SEQ_MAX;
use crate::run_header::RunHeader;
use crate::schedule::{Operation, Schedule};

/// So much of the past is kept of each lane, to tell how old an acknowledgement was when the power went.
const MOMENTS_MAX: usize = 1 << 16;

/// What was heard of one lane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// The last that was heard of it.
    pub frontier: Frontier,
    /// The last operation that it was allowed to begin.
    pub lease: u64,
    /// When which operation was heard to be durable, oldest first: microseconds, sequence number.
    pub moments: Vec<(u64, u64)>,
}

/// What was heard of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Obligations {
    /// Of each lane.
    pub lanes: Vec<Heard>,
    /// When the power went, as far as it can be told: the cut command's moment, else the last word of the writer. Microseconds on the clock of the moments.
    pub end_us: u64,
}

/// What was heard cannot be: the harness is at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Inconsistent(pub String);

impl Obligations {
    /// Of a run of which nothing was heard yet.
    pub fn new(geometry: &Geometry) -> Obligations {
        Obligations { lanes: vec![Heard::default(); usize::from(geometry.lanes())], end_us: 0 }
    }

    /// A lane may go on to operation `seq`.
    ///
    /// # Errors
    /// When there is no such lane.
    pub fn lease(&mut self, lane: u16, seq: u64) -> Result<(), Inconsistent> {
        let heard = self.heard(lane)?;
        heard.lease = heard.lease.max(seq);
        Ok(())
    }

    /// A lane was heard to be this far.
    ///
    /// # Errors
    /// When there is no such lane, when it is ahead of its lease, or when it goes back.
    pub fn acknowledge(&mut self, at_us: u64, lane: u16, frontier: Frontier) -> Result<(), Inconsistent> {
        let heard = self.heard(lane)?;
        let Frontier { completed, durable } = frontier;
        if completed > heard.lease || durable > completed {
            return Err(Inconsistent(format!(
                "lane {lane} says that operation {completed} is complete and {durable} durable, and it was allowed {}",
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

    /// Nobody knows how far lanes were allowed to go, as when the journal that said so is damaged: nothing that is found goes beyond it.
    pub fn forget_leases(&mut self) {
        self.lanes.iter_mut().for_each(|heard| heard.lease = SEQ_MAX);
    }

    /// Whether a flush may have been under way when the run broke off: some lane was last heard of
    /// just before one. It takes every completed write with it, also those of lanes that never sync.
    pub fn flush_under_way(&self, run: &RunHeader) -> bool {
        let geometry = &run.geometry;
        (0u16..).zip(&self.lanes).any(|(lane, heard)| match geometry.kind(lane) {
            LaneKind::Flush => {
                let next = heard.frontier.completed.saturating_add(1);
                Schedule::new(run.run_id, geometry, lane).operation(next) == Operation::Sync
            }
            // Where the kernel sends the drive no FUA writes, a flush follows each of them.
            LaneKind::Fua => run.fua_caveat().is_some(),
            LaneKind::Control => false,
        })
    }

    fn heard(&mut self, lane: u16) -> Result<&mut Heard, Inconsistent> {
        self.lanes.get_mut(usize::from(lane)).ok_or_else(|| Inconsistent(format!("there is no lane {lane}")))
    }
}

impl Heard {
    /// When operation `seq` was first heard to be durable, in microseconds; of what is long past, a moment that is later than that; `None` when it was not heard.
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
    fn moments_tell_when_an_operation_was_first_heard_to_be_durable() {
        let mut obligations = Obligations::new(&small());
        obligations.lease(0, 100).unwrap();
        obligations.acknowledge(10, 0, frontier(3, 2)).unwrap();
        obligations.acknowledge(20, 0, frontier(5, 2)).unwrap();
        obligations.acknowledge(30, 0, frontier(8, 8)).unwrap();
        let heard = &obligations.lanes[0];
        assert_eq!([1, 2, 3, 8, 9].map(|seq| heard.heard_us(seq)), [Some(10), Some(10), Some(30), Some(30), None]);
        assert_eq!(obligations.end_us, 30);
    }

    #[test]
    fn a_flush_is_under_way_where_it_is_a_lanes_next_operation() {
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
    fn what_cannot_be_is_the_harness_at_fault() {
        let mut obligations = Obligations::new(&small());
        obligations.lease(1, 10).unwrap();
        let said = [
            obligations.acknowledge(0, 9, frontier(1, 1)),
            obligations.acknowledge(0, 1, frontier(11, 2)),
            obligations.acknowledge(0, 1, frontier(2, 4)),
            obligations.acknowledge(0, 1, frontier(8, 8)).and_then(|()| obligations.acknowledge(1, 1, frontier(7, 7))),
        ]
        .map(|outcome| outcome.unwrap_err().0);
        insta::assert_snapshot!(said.join("\n"), @"
        there is no lane 9
        lane 1 says that operation 11 is complete and 2 durable, and it was allowed 10
        lane 1 says that operation 2 is complete and 4 durable, and it was allowed 10
        lane 1 went back from operation 8 to 7
        ");
    }
}
