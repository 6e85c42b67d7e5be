//! The content of a journal as a sequence of cycles, each with what was recorded of it. Built
//! message by message: from a file, from a connection, or by the recorder as it receives them.

use crate::frontier::Frontier;
use crate::message::Message;
use crate::obligations::{Inconsistent, Obligations};
use crate::outcome::{CycleResult, Outcome, Standing};
use crate::run_header::RunHeader;

/// One run, from its beginning to its verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cycle {
    pub run: RunHeader,
    /// The record of the run's acknowledgements.
    pub obligations: Obligations,
    /// The last known counts of syncs that returned and flushes that reached the driver, taken
    /// together.
    pub syncs_and_flushes: Option<(u64, u64)>,
    /// Lanes that stopped at an error, and why.
    pub stopped: Vec<(u16, String)>,
    /// Why the writer ended by itself, if it did.
    pub ended: Option<String>,
    /// The delay of the recorder's cut in milliseconds, if it made one.
    pub cut_delay_ms: Option<u32>,
    /// True if the cut command succeeded.
    pub cut_done: bool,
    /// The verdict, if there is one.
    pub outcome: Option<Outcome>,
}

impl Cycle {
    /// Returns whether the recorder's cut command succeeded, and the writer fell silent or lost the
    /// drive under every lane.
    pub fn was_cut(&self) -> bool {
        self.cut_done && self.was_interrupted()
    }

    /// Returns whether the drive may have lost power during a flush.
    pub fn flush_under_way(&self) -> bool {
        self.was_interrupted() && self.obligations.flush_under_way(&self.run)
    }

    /// Returns whether the writer fell silent or lost the drive under every lane.
    fn was_interrupted(&self) -> bool {
        self.ended.is_none() || self.stopped.len() >= self.obligations.lanes.len()
    }

    /// Returns whether something was acknowledged but never checked.
    pub fn is_unjudged(&self) -> bool {
        self.outcome.is_none()
            && self.obligations.lanes.iter().any(|heard| heard.frontier.durable > 0)
    }

    /// Messages from which the same cycle can be rebuilt, as a recorder sends them to the checker.
    pub fn to_messages(&self) -> Vec<(u64, Message)> {
        let mut messages = vec![(0, Message::Begin(Box::new(self.run.clone())))];
        let lanes = || (0u16..).zip(&self.obligations.lanes);
        messages
            .push((0, Message::Lease(lanes().map(|(lane, heard)| (lane, heard.lease)).collect())));
        let mut moments: Vec<(u64, u16, u64)> = lanes()
            .flat_map(|(lane, heard)| {
                heard.moments.iter().map(move |&(us, durable)| (us, lane, durable))
            })
            .collect();
        moments.sort_unstable();
        for (us, lane, durable) in moments {
            messages.push((
                us,
                Message::Acknowledge(vec![(lane, Frontier { completed: durable, durable })]),
            ));
        }
        let end_us = self.obligations.end_us;
        if let Some((syncs, flushes)) = self.syncs_and_flushes {
            messages.push((end_us, Message::Beat { syncs, flushes: Some(flushes) }));
        }
        if let Some(delay_ms) = self.cut_delay_ms {
            messages.push((end_us, Message::Cut { delay_ms }));
        }
        if self.cut_done {
            messages.push((end_us, Message::CutDone { run_id: self.run.run_id }));
        }
        let last = lanes().map(|(lane, heard)| (lane, heard.frontier)).collect();
        messages.push((end_us, Message::Acknowledge(last)));
        for (lane, why) in &self.stopped {
            messages.push((end_us, Message::Stopped { lane: *lane, why: why.clone() }));
        }
        messages.extend(self.ended.clone().map(|why| (end_us, Message::End(why))));
        messages
    }
}

/// All cycles of a journal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Oldest first. Only the last one has all of its moments.
    pub cycles: Vec<Cycle>,
}

impl Ledger {
    /// Applies the next message of a journal. Ignores messages that do not belong in a journal.
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
            let judged =
                self.cycles.iter_mut().rev().find(|cycle| cycle.run.run_id == outcome.run_id);
            judged
                .ok_or_else(|| {
                    Inconsistent("there is a verdict on a run that never began".to_owned())
                })?
                .outcome = Some(outcome.clone());
            return Ok(());
        }
        if let Message::CutDone { run_id } = message {
            let cut = self.cycles.iter_mut().rev().find(|cycle| cycle.run.run_id == *run_id);
            cut.ok_or_else(|| {
                Inconsistent("there is a cut of a run that never began".to_owned())
            })?
            .cut_done = true;
            return Ok(());
        }
        if let Message::Synced { .. } = message {
            return Ok(());
        }
        let Some(cycle) = self.cycles.last_mut() else {
            return Err(Inconsistent("there is a message before any run began".to_owned()));
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
                // A missing drive counts nothing; its earlier counts remain valid.
                cycle.syncs_and_flushes =
                    flushes.map(|flushes| (*syncs, flushes)).or(cycle.syncs_and_flushes);
                // The writer was alive then, so the cut came later.
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

    /// The latest run, if some of it was acknowledged and it was never judged.
    pub fn unjudged(&self) -> Option<u64> {
        self.cycles.last().filter(|cycle| cycle.is_unjudged()).map(|cycle| cycle.run.run_id)
    }

    /// Number of cycles with a verdict.
    pub fn judged(&self) -> usize {
        self.cycles.iter().filter(|cycle| cycle.outcome.is_some()).count()
    }

    /// Summary of all cycles.
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
        Message::Outcome(Outcome {
            run_id,
            result,
            on_word: run_id == 1,
            obligations: 10,
            broken: 1,
            ages,
        })
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
        assert_eq!(
            (ledger.cycles[0].cut_delay_ms, ledger.cycles[0].obligations.end_us),
            (Some(3), 300)
        );
        let standing = ledger.standing();
        assert_eq!(
            (standing.clean, standing.on_word, standing.failed, standing.void),
            (1, 1, 1, 1)
        );
        assert_eq!(standing.unjudged, 1, "nothing was acknowledged in the fourth");
        assert_eq!(standing.ages, [AgeCount { up_to_ms: Some(1), obligations: 20, broken: 2 }]);
    }

    #[test]
    fn a_cycle_rebuilt_from_its_messages_is_the_same() {
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
        for (at_us, message) in ledger.cycles[0].to_messages() {
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
    fn flush_counts_stay_known_when_the_drive_is_gone() {
        let mut ledger = Ledger::default();
        ledger.apply(0, &begin(1)).unwrap();
        for flushes in [Some(40), None] {
            ledger.apply(0, &Message::Beat { syncs: 50, flushes }).unwrap();
        }
        assert_eq!(ledger.cycles[0].syncs_and_flushes, Some((50, 40)));
    }

    #[test]
    fn a_cut_counts_if_its_command_succeeded_and_the_writer_was_interrupted() {
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
        assert!(
            !cut(&[Message::Cut { delay_ms: 3 }]),
            "the command failed, or its result is unknown"
        );
        assert!(cut(&[Message::Cut { delay_ms: 3 }, done.clone()]));
        assert!(
            !cut(&[Message::Cut { delay_ms: 3 }, done.clone(), ended.clone()]),
            "the writer continued"
        );
        let all: Vec<Message> = (0..lanes).map(stopped).chain([done, ended]).collect();
        assert!(cut(&all), "only the drive is gone, not the writer's machine");
    }

    #[test]
    fn contradictory_messages_are_refused() {
        let mut ledger = Ledger::default();
        assert!(ledger.apply(0, &Message::Cut { delay_ms: 0 }).is_err());
        ledger.apply(0, &begin(1)).unwrap();
        assert!(ledger.apply(0, &outcome(9, CycleResult::Kept)).is_err());
        let ahead = Message::Acknowledge(vec![(0, Frontier { completed: 1, durable: 0 })]);
        assert!(ledger.apply(0, &ahead).is_err(), "there is no lease");
    }
}
