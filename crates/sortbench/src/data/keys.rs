//! The arena of keys.

use super::dice::Dice;

/// Keys in one arena, and the order in which they are handed to a sort.
#[derive(Debug, PartialEq, Eq)]
pub struct Keys {
    arena: Vec<u8>,
    spans: Vec<Span>,
}

/// Where in the arena a key lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: usize,
    length: usize,
}

impl Keys {
    /// The keys, in the order in which a sort gets them.
    pub fn slices(&self) -> Vec<&[u8]> {
        self.spans.iter().map(|&span| self.key(span)).collect()
    }

    /// Bytes of all keys.
    pub fn bytes(&self) -> usize {
        self.arena.len()
    }

    /// Where in memory the keys lie, for tools that watch what is read.
    pub fn addresses(&self) -> std::ops::Range<usize> {
        let range = self.arena.as_ptr_range();
        range.start.addr()..range.end.addr()
    }

    fn key(&self, span: Span) -> &[u8] {
        &self.arena[span.start..span.start + span.length]
    }

    pub(super) fn shuffle(&mut self, dice: &mut Dice) {
        dice.shuffle(&mut self.spans);
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

    /// Swaps so many pairs.
    pub(super) fn swap_some(&mut self, pairs: usize, dice: &mut Dice) {
        for _ in 0..pairs {
            let (left, right) = (dice.below(self.spans.len()), dice.below(self.spans.len()));
            self.spans.swap(left, right);
        }
    }
}

/// What a data set writes its keys with.
#[derive(Debug)]
pub struct Pen {
    keys: Keys,
    count: usize,
    dice: Dice,
}

impl Pen {
    pub(super) fn new(count: usize, bytes: usize, dice: Dice) -> Self {
        Self { keys: Keys { arena: Vec::with_capacity(bytes), spans: Vec::with_capacity(count) }, count, dice }
    }

    /// How many keys are wanted.
    pub fn count(&self) -> usize {
        self.count
    }

    /// For what is drawn once for all keys.
    pub fn dice(&mut self) -> &mut Dice {
        &mut self.dice
    }

    /// Writes every key: `write` appends one to the arena.
    pub fn each(&mut self, mut write: impl FnMut(&mut Dice, &mut Vec<u8>)) {
        for _ in 0..self.count {
            let start = self.keys.arena.len();
            write(&mut self.dice, &mut self.keys.arena);
            self.keys.spans.push(Span { start, length: self.keys.arena.len() - start });
        }
    }

    pub(super) fn finish(self) -> (Keys, Dice) {
        (self.keys, self.dice)
    }
}
