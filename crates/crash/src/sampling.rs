//! Selects the states to check: every flush boundary, and between two flushes first the states that
//! find the most bugs, then random ones.
//!
//! Most crash bugs need few writes to be missing, or few to be present (Mohan et al., Finding
//! Crash-Consistency Bugs with Bounded Black-Box Crash Testing, OSDI '18). So each write is omitted
//! once, and kept alone once, before subsets are drawn.

use std::collections::BTreeSet;

use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use simdrive::SECTOR_BYTES;

use crate::epochs::Epoch;
use crate::state::State;

/// The states to check in one epoch: the flush boundary before it, then at most `most` between that
/// and the next flush. `tears` lists for each write the sector counts after which it may be torn.
/// No state is listed twice.
pub(crate) fn of_epoch(
    number: usize,
    epoch: &Epoch,
    tears: &[Vec<u64>],
    most: usize,
    seed: u64,
) -> Vec<State> {
    let count = epoch.writes.len();
    let boundary = State::boundary(number, count);
    if count == 0 {
        return vec![boundary];
    }
    let all: BTreeSet<usize> = (0..count).collect();
    let without =
        |kept: &dyn Fn(usize) -> bool| all.iter().copied().filter(|&write| !kept(write)).collect();
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(
        seed ^ (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
    );
    let mut candidates = vec![State::whole(number)];
    // Each write missing alone, each write present alone, each prefix; shuffled, to spread a small
    // sample over all three.
    let mut few: Vec<State> = Vec::new();
    for (write, tears) in tears.iter().enumerate().take(count) {
        few.push(State { epoch: number, lost: BTreeSet::from([write]), torn: None });
        few.push(State { epoch: number, lost: without(&|other| other == write), torn: None });
        few.push(State { epoch: number, lost: without(&|other| other <= write), torn: None });
        if let Some(&kept) = tears.get((chance.next_u64() % tears.len().max(1) as u64) as usize) {
            few.push(State { epoch: number, lost: BTreeSet::new(), torn: Some((write, kept)) });
        }
    }
    shuffle(&mut few, &mut chance);
    candidates.append(&mut few);
    let mut known = BTreeSet::from([boundary.clone()]);
    let mut states = vec![boundary];
    let mut take = |state: State| {
        let new = known.insert(state.clone());
        if new && states.len() <= most {
            states.push(state);
        }
        states.len() > most
    };
    for candidate in candidates {
        if take(candidate) {
            return states;
        }
    }
    // A few writes have few subsets; drawing them all at random would take forever.
    for _ in 0..most.saturating_mul(4) {
        let lost: BTreeSet<usize> =
            all.iter().copied().filter(|_| chance.next_u64() & 1 == 1).collect();
        if take(State { epoch: number, lost, torn: None }) {
            break;
        }
    }
    states
}

fn shuffle(states: &mut [State], chance: &mut Xoshiro256PlusPlus) {
    for last in (1..states.len()).rev() {
        states.swap(last, (chance.next_u64() % (last as u64 + 1)) as usize);
    }
}

/// The sector counts after which a write may be torn: a drive writes aligned units of
/// `atomic_bytes` completely or not at all.
pub(crate) fn tears(offset: u64, bytes: u64, atomic_bytes: u64) -> Vec<u64> {
    let first = offset / atomic_bytes + 1;
    let last = (offset + bytes).div_ceil(atomic_bytes);
    (first..last).map(|unit| (unit * atomic_bytes - offset) / SECTOR_BYTES).collect()
}

/// The binary logarithm of the number of possible states. `tears` has for each write of each epoch
/// the number of positions where it may be torn. Independently of the others, a write is present,
/// lost, or torn at one of these; an epoch with all of its writes is the beginning of the next one.
pub(crate) fn possible_log2(tears: &[Vec<usize>]) -> f64 {
    let of_epochs: Vec<f64> = tears
        .iter()
        .map(|epoch| epoch.iter().map(|&tears| (tears as f64 + 2.0).log2()).sum())
        .collect();
    let largest = of_epochs.iter().copied().fold(0.0, f64::max);
    // Relative to the largest term, which may exceed any number type.
    let one = (-largest).exp2();
    let sum: f64 = of_epochs.iter().map(|epoch| (epoch - largest).exp2() - one).sum();
    largest + (sum + one).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(writes: usize) -> Epoch {
        Epoch { writes: (0..writes).collect(), end: writes }
    }

    #[test]
    fn few_writes_are_tried_in_all_combinations() {
        for writes in 0..6 {
            let states = of_epoch(3, &epoch(writes), &vec![vec![]; writes], 1000, 0);
            assert_eq!(states.len(), 1 << writes);
            assert_eq!(states[0], State::boundary(3, writes));
        }
    }

    #[test]
    fn many_are_sampled_and_none_twice() {
        let tears = vec![vec![8, 16]; 100];
        let states = of_epoch(0, &epoch(100), &tears, 50, 1);
        assert_eq!(states.len(), 51);
        assert_eq!(states.iter().collect::<BTreeSet<_>>().len(), 51);
        assert!(states.contains(&State::whole(0)));
        assert!(states.iter().any(|state| state.torn.is_some()));
        assert_ne!(states, of_epoch(0, &epoch(100), &tears, 50, 2));
        assert_eq!(states, of_epoch(0, &epoch(100), &tears, 50, 1));
        assert_ne!(
            of_epoch(5, &epoch(100), &tears, 50, 0),
            of_epoch(5, &epoch(100), &tears, 50, 1)
        );
        // Only the boundaries.
        assert_eq!(of_epoch(0, &epoch(100), &tears, 0, 1).len(), 1);
    }

    #[test]
    fn each_write_is_lost_alone_kept_alone_torn_and_the_last_one_before_the_cut() {
        let states: BTreeSet<State> =
            of_epoch(2, &epoch(100), &vec![vec![8, 16]; 100], 1000, 1).into_iter().collect();
        let lost = |lost: &dyn Fn(usize) -> bool| State {
            epoch: 2,
            lost: (0..100).filter(|&write| lost(write)).collect(),
            torn: None,
        };
        for write in 0..100 {
            let torn = [8, 16].map(|kept| State { torn: Some((write, kept)), ..State::whole(2) });
            assert!(torn.iter().any(|state| states.contains(state)), "{write}");
            for state in [
                lost(&|other| other == write),
                lost(&|other| other != write),
                lost(&|other| other > write),
            ] {
                assert!(states.contains(&state), "{state}");
            }
        }
        // A few of these are spread over all writes and kinds.
        let few = of_epoch(2, &epoch(100), &vec![vec![8]; 100], 40, 1);
        for half in [0..50, 50..100] {
            let torn = |state: &State| state.torn.is_some_and(|(write, _)| half.contains(&write));
            let lost =
                |state: &State| state.lost.len() == 1 && half.contains(state.lost.first().unwrap());
            assert!(few.iter().any(torn) && few.iter().any(lost));
        }
    }

    #[test]
    fn writes_are_torn_where_a_drive_tears_them() {
        assert_eq!(tears(1024, 1024, 4096), [0; 0]);
        assert_eq!(tears(1024, 1024, 512), [1]);
        assert_eq!(tears(4096, 4096, 4096), [0; 0]);
        assert_eq!(tears(2048, 8192, 4096), [4, 12]);
    }

    #[test]
    fn how_many_there_could_be() {
        let possible = |tears: &[Vec<usize>]| possible_log2(tears).exp2();
        // Eight, of which seven are new.
        assert!((possible(&[vec![0; 3], vec![0; 3]]) - 15.0).abs() < 1e-9);
        // Each of two writes is present, lost, or torn in one of two positions; nothing follows.
        assert!((possible(&[vec![2; 2], vec![]]) - 16.0).abs() < 1e-9);
        assert!((possible(&[]) - 1.0).abs() < 1e-9);
        assert!((possible_log2(&[vec![0; 2000], vec![]]) - 2000.0).abs() < 1e-9);
        assert!((possible_log2(&[vec![6; 2000], vec![0; 10]]) - 6000.0).abs() < 1e-9);
    }
}
