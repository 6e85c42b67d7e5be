//! A loser tree that compares two keys only beyond what they share with the last one given.
//!
//! Each source's next key is no earlier than the last key given, *L*. Of two such keys the one that shares more bytes
//! with *L* comes first, whatever the bytes are: it is still like *L* where the other has already gone beyond. Only keys
//! that share equally many are compared, from there on; and the loser then shares with the winner, the new *L*, what
//! the comparison found. So no byte of a key is compared twice on its way up (the published sort's prefix skipping in a
//! merge; Knuth's tree of losers, TAOCP 3, 5.4.1). Eight bytes from there on stand beside each key's source, so that most
//! comparisons touch no key. How much a key shares with the one before it in its run is written in the run.

use std::cmp::Ordering;

use super::buffer::{Buffer, Cursor};
use super::figures::Metered;
use super::run::{RunError, RunReader};
use crate::keys::{beyond, shared, word};

/// A record of the sorted result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// What it is sorted by.
    pub key: &'a [u8],
    /// What goes with it.
    pub payload: &'a [u8],
    /// How many bytes from its beginning the key has in common with the key before it.
    pub shared: usize,
}

/// Records in order, from memory or from a run.
#[derive(Debug)]
pub(super) enum Source {
    Memory(Cursor),
    Run { number: usize, reader: RunReader<Metered> },
}

/// Which run could not be read, and why.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) run: usize,
    pub(super) error: RunError,
}

impl Source {
    /// What it is read from, if that is memory.
    pub(super) fn into_buffer(self) -> Option<Buffer> {
        match self {
            Self::Memory(cursor) => Some(cursor.into_buffer()),
            Self::Run { .. } => None,
        }
    }

    /// Back to where it began.
    pub(super) fn rewind(&mut self) -> Result<(), Unreadable> {
        match self {
            Self::Memory(cursor) => cursor.rewind(),
            Self::Run { number, reader } => {
                reader.rewind().map_err(|error| Unreadable { run: *number, error })?;
            }
        }
        Ok(())
    }

    fn key(&self) -> &[u8] {
        match self {
            Self::Memory(cursor) => cursor.key(),
            Self::Run { reader, .. } => reader.key(),
        }
    }

    fn payload(&self) -> &[u8] {
        match self {
            Self::Memory(cursor) => cursor.payload(),
            Self::Run { reader, .. } => reader.payload(),
        }
    }

    fn advance(&mut self) -> Result<Option<usize>, Unreadable> {
        match self {
            Self::Memory(cursor) => Ok(cursor.advance()),
            Self::Run { number, reader } => reader.advance().map_err(|error| Unreadable { run: *number, error }),
        }
    }
}

/// A source's next key, as it stands against the last key given.
#[derive(Clone, Copy, Debug)]
struct Head {
    source: u32,
    /// Bytes in common with the last key given.
    shared: u32,
    /// The source has no more records.
    over: bool,
    /// Eight bytes from there on.
    window: u64,
}

/// The merge: at 0 the winner, at the other places the losers.
#[derive(Debug)]
pub(super) struct Merge {
    sources: Vec<Source>,
    tree: Vec<Head>,
    descending: bool,
    started: bool,
}

impl Merge {
    /// The sources, wherever they stand.
    pub(super) fn into_sources(self) -> Vec<Source> {
        self.sources
    }

    /// Of sources that stand before their first records (runs) or on them (memory). Of equal keys those of earlier
    /// sources come first.
    pub(super) fn new(mut sources: Vec<Source>, descending: bool) -> Result<Self, Unreadable> {
        let mut heads = Vec::with_capacity(sources.len());
        for (index, source) in sources.iter_mut().enumerate() {
            let over = match source {
                Source::Memory(_) => false,
                Source::Run { .. } => source.advance()?.is_none(),
            };
            let window = if over { 0 } else { word(source.key(), 0) };
            heads.push(Head { source: index as u32, shared: 0, over, window });
        }
        let mut merge = Self { sources, tree: heads.clone(), descending, started: false };
        if !heads.is_empty() {
            // Places 1.. are inner nodes whose children are 2p and 2p + 1; source s is the leaf s + n.
            merge.tree[0] = merge.play(1, &heads);
        }
        Ok(merge)
    }

    /// The winner of a part of the tree; leaves its losers behind.
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

    /// Who comes first; and the other, as it stands against the first.
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
        let (key, other) = (self.sources[a.source as usize].key(), self.sources[b.source as usize].key());
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
        Ok(Some(Record { key: source.key(), payload: source.payload(), shared: winner.shared as usize }))
    }

    /// The last winner's successor plays its way up from its leaf.
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
