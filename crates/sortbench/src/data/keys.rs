//! The arena of keys.

use super::random::Random;

/// Keys in an arena, and the order in which a sort receives them.
#[derive(Debug, PartialEq, Eq)]
pub struct Keys {
    arena: Vec<u8>,
    spans: Vec<Span>,
}

/// The position of a key in the arena.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: usize,
    length: usize,
}

impl Keys {
    /// The keys, in the order in which a sort receives them.
    pub fn slices(&self) -> Vec<&[u8]> {
        self.spans.iter().map(|&span| self.key(span)).collect()
    }

    pub fn bytes(&self) -> usize {
        self.arena.len()
    }

    /// The addresses of the keys in memory, for tools that trace reads.
    pub fn addresses(&self) -> std::ops::Range<usize> {
        let range = self.arena.as_ptr_range();
        range.start.addr()..range.end.addr()
    }

    fn key(&self, span: Span) -> &[u8] {
        &self.arena[span.start..span.start + span.length]
    }

    pub(super) fn shuffle(&mut self, random: &mut Random) {
        random.shuffle(&mut self.spans);
    }

    pub(super) fn sort(&mut self) {
        let mut spans = std::mem::take(&mut self.spans);
        spans.sort_by(|&left, &right| self.key(left).cmp(self.key(right)));
        self.spans = spans;
    }

    pub(super) fn sort_reversed(&mut self) {
        self.sort();
        self.spans.reverse();
    }

    pub(super) fn swap_some(&mut self, pairs: usize, random: &mut Random) {
        for _ in 0..pairs {
            let (left, right) = (random.below(self.spans.len()), random.below(self.spans.len()));
            self.spans.swap(left, right);
        }
    }
}

/// Builds the keys of a data set.
#[derive(Debug)]
pub struct Pen {
    keys: Keys,
    count: usize,
    random: Random,
}

impl Pen {
    pub(super) fn new(count: usize, bytes: usize, random: Random) -> Self {
        Self {
            keys: Keys { arena: Vec::with_capacity(bytes), spans: Vec::with_capacity(count) },
            count,
            random,
        }
    }

    /// The number of keys to generate.
    pub fn count(&self) -> usize {
        self.count
    }

    /// For values that are drawn once for all keys.
    pub fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Generates every key: `write` appends one to the arena.
    pub fn each(&mut self, mut write: impl FnMut(&mut Random, &mut Vec<u8>)) {
        for _ in 0..self.count {
            let start = self.keys.arena.len();
            write(&mut self.random, &mut self.keys.arena);
            self.keys.spans.push(Span { start, length: self.keys.arena.len() - start });
        }
    }

    pub(super) fn finish(self) -> (Keys, Random) {
        (self.keys, self.random)
    }
}
