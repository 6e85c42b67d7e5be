//! What a journal amounts to: its cycles, one after the other, each with what was heard of it. Built message by message, from a file, from a connection, or by the recorder as it listens.

use crate::frontier::Frontier;
use crate::message::Message;
use crate::obligations::{Inconsistent, Obligations};
use crate::outcome::{CycleResult, Outcome, Standing};
use crate::run_header::RunHeader;

/// One run, from its beginning to the verdict on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    /// The run.
    pub run: RunHeader,
    /// What was heard of it.
    pub obligations: Obligations,
    /// The last count of syncs that returned and flushes that reached the driver: of both together.
    pub syncs_and_flushes: Option<(u64, u64)>,
    /// Lanes that stopped at an error, and why.
    pub stopped: Vec<(u16, String)>,
    /// Why the writer ended by itself, if it did.
    pub ended: Option<String>,
    /// The delay of the recorder's cut, in milliseconds, if it made one.
    pub cut_delay_ms: Option<u32>,
    /// Whether the command for that did its part.
    pub cut_done: bool,
    /// The verdict, once there is one.
    pub outcome: Option<Outcome>,
}

impl Cycle {
    /// Whether the recorder's cut command did its part, and the writer fell silent, or lost the drive under every lane.
    pub fn was_cut(&self) -> bool {
        self.cut_done && self.broke_off()
    }

    /// Whether the power may have gone while the drive carried out a flush.
    pub fn flush_under_way(&self) -> bool {
        self.broke_off() && self.obligations.flush_under_way(&self.run)
    }

    /// Whether the writer fell silent, or lost the drive under every lane.
    fn broke_off(&self) -> bool {
        self.ended.is_none() || self.stopped.len() >= self.obligations.lanes.len()
    }

    /// Whether something was acknowledged and nobody has looked what became of it.
    pub fn is_unjudged(&self) -> bool {
        self.outcome.is_none() && self.obligations.lanes.iter().any(|heard| heard.frontier.durable > 0)
    }

    /// The messages from which the same cycle can be built again: what a recorder tells whoever checks.
    pub fn retold(&self) -> Vec<(u64, Message)> {
        let mut told = vec![(0, Message::Begin(Box::new(self.run.clone())))];
        let lanes = || (0u16..).zip(&self.obligations.lanes);
        told.push((0, Message::Lease(lanes().map(|(lane, heard)| (lane, heard.lease)).collect())));
        let mut moments: Vec<(u64, u16, u64)> = lanes()
            .flat_map(|(lane, heard)| heard.moments.iter().map(move |&(us, durable)| (us, lane, durable)))
            .collect();
        moments.sort_unstable();
        for (us, lane, durable) in moments {
            told.push((us, Message::Acknowledge(vec![(lane, Frontier { completed: durable, durable })])));
        }
        let end_us = self.obligations.end_us;
        if let Some((syncs, flushes)) = self.syncs_and_flushes {
            told.push((end_us, Message::Beat { syncs, flushes: Some(flushes) }));
        }
        if let Some(delay_ms) = self.cut_delay_ms {
            told.push((end_us, Message::Cut { delay_ms }));
        }
        if self.cut_done {
            told.push((end_us, Message::CutDone { run_id: self.run.run_id }));
        }
        let last = lanes().map(|(lane, heard)| (lane, heard.frontier)).collect();
        told.push((end_us, Message::Acknowledge(last)));
        for (lane, why) in &self.stopped {
            told.push((end_us, Message::Stopped { lane: *lane, why: why.clone() }));
        }
        told.extend(self.ended.clone().map(|why| (end_us, Message::End(why))));
        told
    }
}

/// All cycles of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The oldest first. Only of the last one all moments are kept.
    pub cycles: Vec<Cycle>,
}

impl Ledger {
    /// Takes in the next message of a journal. Such as are no matter for a journal change nothing.
    ///
    /// # Errors
    /// When it contradicts what came before.
    pub fn apply(&mut self, at_us: u64, message: &Message) -> Result<(), Inconsistent> {
        if let Message::Begin(run) = message {
            if let Some(before) = self.cycles.last_mut() {
                before.obligations.lanes.iter_mut().for_each(|heard| heard.moments = Vec::new());
            }
            let obligations = Obligations { end_us: at_us, ..Obligations::new(&run.geometry) };
            self.cycles.push(Cycle {
                run: (**run).clone(),
                obligations,
                syncs_and_flushes: None,
                stopped: Vec::new(),
                ended: None,
                cut_delay_ms: None,
                cut_done: false,
                outcome: None,
            });
            return Ok(());
        }
        if let Message::Outcome(outcome) = message {
            let judged = self.cycles.iter_mut().rev().find(|cycle| cycle.run.run_id == outcome.run_id);
            judged.ok_or_else(|| Inconsistent("a verdict on a run that never began".to_owned()))?.outcome =
                Some(outcome.clone());
            return Ok(());
        }
        if let Message::CutDone { run_id } = message {
            let cut = self.cycles.iter_mut().rev().find(|cycle| cycle.run.run_id == *run_id);
            cut.ok_or_else(|| Inconsistent("a cut of a run that never began".to_owned()))?.cut_done = true;
            return Ok(());
        }
        if let Message::Synced { .. } = message {
            return Ok(());
        }
        let Some(cycle) = self.cycles.last_mut() else {
            return Err(Inconsistent("something was said before any run began".to_owned()));
        };
        match message {
            Message::Acknowledge(lanes) => {
                for &(lane, frontier) in lanes {
                    cycle.obligations.acknowledge(at_us, lane, frontier)?;
                }
            }
            Message::Lease(lanes) => {
                for &(lane, seq) in lanes {
                    cycle.obligations.lease(lane, seq)?;
                }
            }
            Message::Beat { syncs, flushes } => {
                // A drive that is gone counts nothing; what it had counted before still holds.
                cycle.syncs_and_flushes = flushes.map(|flushes| (*syncs, flushes)).or(cycle.syncs_and_flushes);
                // The writer lived then: the power was not cut before.
                if cycle.cut_delay_ms.is_none() {
                    cycle.obligations.end_us = cycle.obligations.end_us.max(at_us);
                }
            }
            Message::Stopped { lane, why } => cycle.stopped.push((*lane, why.clone())),
            Message::End(why) => cycle.ended = Some(why.clone()),
            Message::Cut { delay_ms } => {
                cycle.cut_delay_ms = Some(*delay_ms);
                cycle.obligations.end_us = at_us;
            }
            _ => {}
        }
        Ok(())
    }

    /// The latest run, if something of it was acknowledged and nobody judged it.
    pub fn unjudged(&self) -> Option<u64> {
        self.cycles.last().filter(|cycle| cycle.is_unjudged()).map(|cycle| cycle.run.run_id)
    }

    /// How many cycles have a verdict.
    pub fn judged(&self) -> usize {
        self.cycles.iter().filter(|cycle| cycle.outcome.is_some()).count()
    }

    /// How all cycles went.
    pub fn standing(&self) -> Standing {
        let unjudged = self.cycles.iter().filter(|cycle| cycle.is_unjudged()).count();
        let mut standing = Standing { unjudged: unjudged as u32, ..Standing::default() };
        for outcome in self.cycles.iter().filter_map(|cycle| cycle.outcome.as_ref()) {
            standing.count(outcome.result, outcome.on_word);
            let proves_something = outcome.result != CycleResult::Void;
            for age in outcome.ages.iter().filter(|_| proves_something) {
                match standing.ages.iter_mut().find(|sum| sum.up_to_ms == age.up_to_ms) {
                    Some(sum) => {
                        sum.obligations += age.obligations;
                        sum.broken += age.broken;
                    }
                    None => standing.ages.push(*age),
                }
            }
        }
        standing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::AgeCount;
    use crate::run_header::tests::sample;

    fn outcome(run_id: u64, result: CycleResult) -> Message {
        let ages = vec![AgeCount { up_to_ms: Some(1), obligations: 10, broken: 1 }];
        Message::Outcome(Outcome { run_id, result, on_word: run_id == 1, obligations: 10, broken: 1, ages })
    }

    fn begin(run_id: u64) -> Message {
        Message::Begin(Box::new(RunHeader { run_id, ..sample() }))
    }

    #[test]
    fn cycles_follow_each_other_and_are_counted() {
        let mut ledger = Ledger::default();
        let messages = [
            begin(1),
            Message::Lease(vec![(0, 10)]),
            Message::Acknowledge(vec![(0, Frontier { completed: 4, durable: 4 })]),
            Message::Cut { delay_ms: 3 },
            outcome(1, CycleResult::Kept),
            begin(2),
            outcome(2, CycleResult::Fails),
            begin(3),
            outcome(3, CycleResult::Void),
            begin(4),
            begin(5),
            Message::Lease(vec![(0, 10)]),
            Message::Acknowledge(vec![(0, Frontier { completed: 4, durable: 4 })]),
        ];
        for (at_us, message) in messages.iter().enumerate() {
            ledger.apply(at_us as u64 * 100, message).unwrap();
        }
        assert_eq!(ledger.cycles[0].obligations.lanes[0].frontier.durable, 4);
        assert_eq!((ledger.cycles[0].cut_delay_ms, ledger.cycles[0].obligations.end_us), (Some(3), 300));
        let standing = ledger.standing();
        assert_eq!((standing.clean, standing.on_word, standing.failed, standing.void), (1, 1, 1, 1));
        assert_eq!(standing.unjudged, 1, "in the fourth nothing was acknowledged");
        assert_eq!(standing.ages, [AgeCount { up_to_ms: Some(1), obligations: 20, broken: 2 }]);
    }

    #[test]
    fn a_cycle_that_is_retold_is_the_same() {
        let mut ledger = Ledger::default();
        let frontier = |completed, durable| Frontier { completed, durable };
        let messages = [
            begin(1),
            Message::Lease(vec![(0, 10), (1, 20)]),
            Message::Acknowledge(vec![(0, frontier(4, 4)), (1, frontier(3, 2))]),
            Message::Beat { syncs: 5, flushes: Some(4) },
            Message::Acknowledge(vec![(0, frontier(6, 6)), (1, frontier(5, 2))]),
            Message::Stopped { lane: 1, why: "an error".to_owned() },
            Message::Cut { delay_ms: 30 },
            Message::CutDone { run_id: 1 },
            Message::End("done".to_owned()),
        ];
        for (at_us, message) in messages.iter().enumerate() {
            ledger.apply(at_us as u64 * 100, message).unwrap();
        }
        let mut again = Ledger::default();
        for (at_us, message) in ledger.cycles[0].retold() {
            again.apply(at_us, &message).unwrap();
        }
        assert_eq!(again, ledger);
    }

    #[test]
    fn a_cycle_without_a_verdict_leaves_no_bound() {
        let mut ledger = Ledger::default();
        let heard = || Message::Acknowledge(vec![(0, Frontier { completed: 4, durable: 4 })]);
        let messages = [
            begin(1),
            Message::Lease(vec![(0, 10)]),
            heard(),
            outcome(1, CycleResult::Kept),
            begin(2),
            Message::Lease(vec![(0, 10)]),
            heard(),
        ];
        for message in &messages[..4] {
            ledger.apply(0, message).unwrap();
        }
        assert!(ledger.standing().bound().is_some() && ledger.standing().is_clean());
        for message in &messages[4..] {
            ledger.apply(0, message).unwrap();
        }
        assert!(ledger.standing().bound().is_none() && !ledger.standing().is_clean());
    }

    #[test]
    fn a_count_of_flushes_stays_known_when_the_drive_is_gone() {
        let mut ledger = Ledger::default();
        ledger.apply(0, &begin(1)).unwrap();
        for flushes in [Some(40), None] {
            ledger.apply(0, &Message::Beat { syncs: 50, flushes }).unwrap();
        }
        assert_eq!(ledger.cycles[0].syncs_and_flushes, Some((50, 40)));
    }

    #[test]
    fn a_cut_shows_when_its_command_did_its_part_and_the_writer_was_hit() {
        let cut = |more: &[Message]| {
            let mut ledger = Ledger::default();
            ledger.apply(0, &begin(1)).unwrap();
            more.iter().for_each(|message| ledger.apply(1, message).unwrap());
            ledger.cycles[0].was_cut()
        };
        let ended = Message::End("every lane stopped at an error".to_owned());
        let stopped = |lane| Message::Stopped { lane, why: "Input/output error".to_owned() };
        let lanes = sample().geometry.lanes();
        let done = Message::CutDone { run_id: 1 };
        assert!(!cut(&[Message::Cut { delay_ms: 3 }]), "the command failed, or nobody knows");
        assert!(cut(&[Message::Cut { delay_ms: 3 }, done.clone()]));
        assert!(!cut(&[Message::Cut { delay_ms: 3 }, done.clone(), ended.clone()]), "the writer went on");
        let all: Vec<Message> = (0..lanes).map(stopped).chain([done, ended]).collect();
        assert!(cut(&all), "the drive is gone, and the writer's machine is not");
    }

    #[test]
    fn what_does_not_follow_is_said() {
        let mut ledger = Ledger::default();
        assert!(ledger.apply(0, &Message::Cut { delay_ms: 0 }).is_err());
        ledger.apply(0, &begin(1)).unwrap();
        assert!(ledger.apply(0, &outcome(9, CycleResult::Kept)).is_err());
        let ahead = Message::Acknowledge(vec![(0, Frontier { completed: 1, durable: 0 })]);
        assert!(ledger.apply(0, &ahead).is_err(), "no lease was given");
    }
}
