//! A loser tree that compares two keys only beyond what they share with the previous output key.
//!
//! The next key of each source is no earlier than the last output key, *L*. Of two such keys, the
//! one that shares more bytes with *L* comes first, whatever the bytes are: it still equals *L*
//! where the other is already greater. Only keys that share the same number of bytes are compared,
//! from that position on, and the result is what the loser shares with the winner, the new *L*. So
//! no byte of a key is compared twice on its way up (the published sort's prefix skipping in a
//! merge; Knuth's tree of losers, TAOCP 3, 5.4.1). The eight bytes from that position on are stored
//! next to each key's source, so most comparisons do not touch a key. How much a key shares with
//! the previous one in its run is stored in the run.

use std::cmp::Ordering;

use super::buffer::{Buffer, Cursor};
use super::figures::Metered;
use super::input::{InputError, InputReader};
use super::run::{RunError, RunReader};
use crate::keys::{beyond, shared, word};

/// A record of the sorted result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The key that it is sorted by.
    pub key: &'a [u8],
    /// The payload as it was pushed.
    pub payload: &'a [u8],
    /// Number of leading bytes that the key shares with the previous record's key; 0 for the first
    /// record.
    pub shared: usize,
}

/// Sorted records: in memory, in a run or from an input.
#[derive(Debug)]
pub(super) enum Source {
    Memory(Cursor),
    Run { number: usize, reader: RunReader<Metered> },
    Input { number: usize, reader: Box<InputReader> },
}

/// The run or the input that could not be read, and the reason.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The run's number in its merge.
    Run(usize, RunError),
    /// The input's number in the sort.
    Input(usize, InputError),
}

impl Source {
    /// The buffer of a source in memory.
    pub(super) fn into_buffer(self) -> Option<Buffer> {
        match self {
            Self::Memory(cursor) => Some(cursor.into_buffer()),
            Self::Run { .. } | Self::Input { .. } => None,
        }
    }

    /// Moves back to the first record.
    pub(super) fn rewind(&mut self) -> Result<(), Unreadable> {
        match self {
            Self::Memory(cursor) => cursor.rewind(),
            Self::Run { number, reader } => {
                reader.rewind().map_err(|error| Unreadable::Run(*number, error))?;
            }
            Self::Input { number, reader } => {
                reader.rewind().map_err(|error| Unreadable::Input(*number, error))?;
            }
        }
        Ok(())
    }

    fn key(&self) -> &[u8] {
        match self {
            Self::Memory(cursor) => cursor.key(),
            Self::Run { reader, .. } => reader.key(),
            Self::Input { reader, .. } => reader.key(),
        }
    }

    fn payload(&self) -> &[u8] {
        match self {
            Self::Memory(cursor) => cursor.payload(),
            Self::Run { reader, .. } => reader.payload(),
            Self::Input { reader, .. } => reader.payload(),
        }
    }

    fn advance(&mut self) -> Result<Option<usize>, Unreadable> {
        match self {
            Self::Memory(cursor) => Ok(cursor.advance()),
            Self::Run { number, reader } => {
                reader.advance().map_err(|error| Unreadable::Run(*number, error))
            }
            Self::Input { number, reader } => {
                reader.advance().map_err(|error| Unreadable::Input(*number, error))
            }
        }
    }
}

/// The next key of a source, relative to the last output key.
#[derive(Clone, Copy, Debug)]
struct Head {
    source: u32,
    /// Number of bytes shared with the last output key.
    shared: u32,
    /// The source has no more records.
    over: bool,
    /// The eight bytes that follow the shared ones.
    window: u64,
}

/// The tree: the winner at 0, the losers at the other places.
#[derive(Debug)]
pub(super) struct Merge {
    sources: Vec<Source>,
    tree: Vec<Head>,
    descending: bool,
    started: bool,
}

impl Merge {
    /// The sources, at their current positions.
    pub(super) fn into_sources(self) -> Vec<Source> {
        self.sources
    }

    /// Runs and inputs must be before their first record, buffers on it. Of equal keys, those of earlier
    /// sources come first.
    pub(super) fn new(mut sources: Vec<Source>, descending: bool) -> Result<Self, Unreadable> {
        let mut heads = Vec::with_capacity(sources.len());
        for (index, source) in sources.iter_mut().enumerate() {
            let over = match source {
                Source::Memory(_) => false,
                Source::Run { .. } | Source::Input { .. } => source.advance()?.is_none(),
            };
            let window = if over { 0 } else { word(source.key(), 0) };
            heads.push(Head { source: index as u32, shared: 0, over, window });
        }
        let mut merge = Self { sources, tree: heads.clone(), descending, started: false };
        if !heads.is_empty() {
            // Places 1.. are inner nodes whose children are 2p and 2p + 1; source s is the leaf s +
            // n.
            merge.tree[0] = merge.play(1, &heads);
        }
        Ok(merge)
    }

    /// The winner of a subtree; stores the losers in it.
    fn play(&mut self, place: usize, heads: &[Head]) -> Head {
        if place >= heads.len() {
            return heads[place - heads.len()];
        }
        let left = self.play(2 * place, heads);
        let right = self.play(2 * place + 1, heads);
        let (winner, loser) = self.compete(left, right);
        self.tree[place] = loser;
        winner
    }

    /// Returns the key that comes first, and the other one relative to it.
    #[inline]
    fn compete(&self, a: Head, b: Head) -> (Head, Head) {
        if a.over != b.over {
            return if a.over { (b, a) } else { (a, b) };
        }
        if a.shared != b.shared {
            return if a.shared > b.shared { (a, b) } else { (b, a) };
        }
        if a.over {
            return (a, b);
        }
        let (key, other) =
            (self.sources[a.source as usize].key(), self.sources[b.source as usize].key());
        let from = a.shared as usize;
        let (order, alike) = if a.window != b.window {
            (a.window.cmp(&b.window), from + (a.window ^ b.window).leading_zeros() as usize / 8)
        } else {
            let alike = from + shared(beyond(key, from), beyond(other, from));
            (beyond(key, alike).first().cmp(&beyond(other, alike).first()), alike)
        };
        // A window is padded where its key ends.
        let alike = alike.min(key.len()).min(other.len());
        let order = if self.descending { order.reverse() } else { order };
        let a_first = match order {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal => a.source < b.source,
        };
        let (winner, mut loser, losing) = if a_first { (a, b, other) } else { (b, a, key) };
        loser.shared = alike as u32;
        loser.window = word(losing, alike);
        (winner, loser)
    }

    /// The next record in order.
    pub(super) fn next(&mut self) -> Result<Option<Record<'_>>, Unreadable> {
        if self.tree.is_empty() {
            return Ok(None);
        }
        if self.started {
            self.replace()?;
        }
        self.started = true;
        let winner = self.tree[0];
        if winner.over {
            return Ok(None);
        }
        let source = &self.sources[winner.source as usize];
        Ok(Some(Record {
            key: source.key(),
            payload: source.payload(),
            shared: winner.shared as usize,
        }))
    }

    /// Moves the last winner's successor up from its leaf.
    fn replace(&mut self) -> Result<(), Unreadable> {
        let mut head = self.tree[0];
        if head.over {
            return Ok(());
        }
        let source = &mut self.sources[head.source as usize];
        match source.advance()? {
            Some(shared) => {
                head.shared = shared as u32;
                head.window = word(source.key(), shared);
            }
            None => head.over = true,
        }
        // The parent of a leaf.
        let leaf = head.source as usize + self.sources.len();
        let mut place = leaf / 2;
        while place > 0 {
            let (winner, loser) = self.compete(head, self.tree[place]);
            self.tree[place] = loser;
            head = winner;
            place /= 2;
        }
        self.tree[0] = head;
        Ok(())
    }
}
