//! One state that a power cut could leave, and its name.
//!
//! `17` is the moment before the flush that ends epoch 17, with all of its writes. `17-3,5` is the
//! same without its writes 3 and 5. `17-0..8` is without the first nine; if there are no more, that
//! is the moment after the previous flush. `17~4.2` has its write 4 torn after two sectors;
//! `17-3~4.2` combines both. Epochs and writes count from 0.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// A state after a power cut.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct State {
    /// The epoch in which the power was cut: all earlier ones are complete.
    pub epoch: usize,
    /// The lost writes of that epoch, by index.
    pub lost: BTreeSet<usize>,
    /// A write of which only the first sectors survived: its index and their number.
    pub torn: Option<(usize, u64)>,
}

impl State {
    pub const fn whole(epoch: usize) -> State {
        State { epoch, lost: BTreeSet::new(), torn: None }
    }

    /// The state with none of the epoch's `writes`: the moment after the previous flush.
    pub fn boundary(epoch: usize, writes: usize) -> State {
        State { epoch, lost: (0..writes).collect(), torn: None }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.epoch)?;
        let mut first = true;
        let mut lost = self.lost.iter().copied().peekable();
        // Runs are written as ranges: a boundary has hundreds of lost writes.
        while let Some(from) = lost.next() {
            let mut to = from;
            while let Some(next) = lost.next_if_eq(&(to + 1)) {
                to = next;
            }
            f.write_str(if first { "-" } else { "," })?;
            first = false;
            match to - from {
                0 => write!(f, "{from}")?,
                _ => write!(f, "{from}..{to}")?,
            }
        }
        match self.torn {
            Some((write, sectors)) => write!(f, "~{write}.{sectors}"),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid state `{0}`; expected EPOCH, EPOCH-LOST,LOST..LOST or EPOCH~TORN.SECTORS, as in the \
     report"
)]
pub struct InvalidState(String);

impl FromStr for State {
    type Err = InvalidState;

    fn from_str(text: &str) -> Result<State, InvalidState> {
        let read = || -> Option<State> {
            let (rest, torn) = match text.split_once('~') {
                Some((rest, torn)) => {
                    let (write, sectors) = torn.split_once('.')?;
                    (rest, Some((write.parse().ok()?, sectors.parse().ok()?)))
                }
                None => (text, None),
            };
            let (epoch, lost) =
                rest.split_once('-').map_or((rest, None), |(epoch, lost)| (epoch, Some(lost)));
            let mut state = State { epoch: epoch.parse().ok()?, lost: BTreeSet::new(), torn };
            for part in lost.into_iter().flat_map(|lost| lost.split(',')) {
                let (from, to) = part.split_once("..").unwrap_or((part, part));
                let (from, to): (usize, usize) = (from.parse().ok()?, to.parse().ok()?);
                // A million writes between two flushes are out of reach.
                if from > to || to - from > 1_000_000 {
                    return None;
                }
                state.lost.extend(from..=to);
            }
            Some(state)
        };
        read().ok_or_else(|| InvalidState(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names() {
        let state = State { epoch: 17, lost: BTreeSet::from([3, 5, 6, 7]), torn: Some((4, 2)) };
        assert_eq!(state.to_string(), "17-3,5..7~4.2");
        assert_eq!(State::whole(4).to_string(), "4");
        assert_eq!(State::boundary(2, 3).to_string(), "2-0..2");
        for wrong in ["", "x", "3-", "3-2..1", "3~4", "3~4.x", "3-0..9999999999"] {
            assert!(wrong.parse::<State>().is_err(), "{wrong}");
        }
        assert_eq!("3-0..1000000".parse::<State>().unwrap().lost.len(), 1_000_001);
        assert_eq!("3-1000000..1000001".parse::<State>().unwrap().lost.len(), 2);
        assert!("3-0..1000001".parse::<State>().is_err());
    }

    proptest! {
        #[test]
        fn a_name_means_its_state(
            epoch in 0usize..1000,
            lost in prop::collection::btree_set(0usize..200, 0..20),
            torn in prop::option::of((0usize..200, 1u64..64)),
        ) {
            let state = State { epoch, lost, torn };
            prop_assert_eq!(state.to_string().parse(), Ok(state));
        }
    }
}
