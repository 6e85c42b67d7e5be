//! Selects what a window shows: eight bytes of each key, or the bits that differ within up to 32
//! bytes.
//!
//! The published sort caches the next few *bytes* beyond the prefix that a partition shares. Most
//! of the bits in these bytes are still the same in all keys: the upper half of each digit, `/` and
//! `.`, the upper bytes of a counter, all but two bits of each letter of a genome. A lens applies
//! common-prefix skipping to bits: it shows only those in which the keys of a partition differ, so
//! one window of 64 bits covers up to 32 bytes of the key, and a key is fetched from memory two to
//! four times less often. The order is preserved because the bits left out are the same in every
//! key.
//!
//! The bits that differ are guessed from a sample of the partition. A key that differs in another
//! bit is detected while the windows are made (the bit is *missed*), and they are then made again
//! with that bit shown. A wrong guess costs a second pass over keys that the first has brought into
//! the cache, but never a wrong order.
//!
//! Measured at a million keys, relative to windows of eight bytes: reads of a genome 0.6; texts
//! about the same, since their letters differ in most bits. A dictionary was tried, in which
//! frequent values of the next eight bytes had numbers and the rest of the window showed what
//! follows each. It saved one pass of four for URLs but cost as much as it saved, so it was
//! removed.

use crate::bits::Gather;
use crate::entry::{Entry, GOES_ON};
use crate::keys::word;

/// Words of eight key bytes that a window can cover. Two cache lines would be eight words;
/// measurements showed that beyond four, the differing bits no longer fit 64 in any of the data
/// sets except genomes.
pub(crate) const WORDS: usize = 4;

/// Bits that are enough for a window. Covering more would cost each key another word and gain
/// little: a million keys differ within 20 bits if those are well distributed, and within 40 if
/// twice as many are needed.
const ENOUGH_BITS: u32 = 48;

/// The bits in which keys differ beyond a depth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Differences {
    first: [u64; WORDS],
    differ: [u64; WORDS],
}

impl Differences {
    /// No differences yet: the key that the others are compared with.
    pub(crate) fn from(key: &[u8], at: usize) -> Self {
        Self { first: std::array::from_fn(|index| word(key, at + 8 * index)), differ: [0; WORDS] }
    }

    /// Adds the differences of another key.
    pub(crate) fn add(&mut self, key: &[u8], at: usize) {
        for index in 0..WORDS {
            self.differ[index] |= word(key, at + 8 * index) ^ self.first[index];
        }
    }
}

/// Makes windows from keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lens {
    /// The bits of each word that are shown.
    shown: [u64; WORDS],
    /// Number of bits shown in each word.
    bits: [u32; WORDS],
    /// The bits of each word within the span that are not shown because all keys of the sample
    /// agree in them.
    alike: [u64; WORDS],
    /// The common value of those bits.
    first: [u64; WORDS],
    /// Number of words to read.
    words: usize,
    /// Number of bytes of the key that the window covers.
    span: u32,
    gather: Option<Gather>,
}

impl Lens {
    /// Eight bytes with all of their bits.
    pub(crate) fn plain() -> Self {
        Self {
            shown: [u64::MAX; WORDS],
            bits: [64; WORDS],
            alike: [0; WORDS],
            first: [0; WORDS],
            words: 1,
            span: 8,
            gather: None,
        }
    }

    /// The bits that differ, over as many bytes as 64 such bits cover.
    pub(crate) fn over(differences: &Differences, gather: Option<Gather>) -> Self {
        let Some(gather) = gather else { return Self::plain() };
        let mut lens = Self {
            words: 0,
            span: 0,
            first: differences.first,
            gather: Some(gather),
            ..Self::plain()
        };
        let mut room = 64;
        for index in 0..WORDS {
            let differ = differences.differ[index];
            // As many whole bytes of this word as there is room for.
            let mut within = u64::MAX;
            while (differ & within).count_ones() > room {
                within <<= 8;
            }
            if within == 0 {
                break;
            }
            lens.shown[index] = differ & within;
            lens.bits[index] = lens.shown[index].count_ones();
            lens.alike[index] = !differ & within;
            lens.words = index + 1;
            lens.span += within.count_ones() / 8;
            room -= lens.bits[index];
            if within != u64::MAX || 64 - room >= ENOUGH_BITS {
                break;
            }
        }
        if lens.words == 1 { Self::plain() } else { lens }
    }

    /// Number of bytes of the key that the window covers.
    pub(crate) fn span(&self) -> usize {
        self.span as usize
    }

    /// Number of words of the key to read.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// The window on the rest of a key, `left` bytes that begin with these words. Adds to `missed`
    /// the bits that differ although the lens does not show them. `N` must be [`Lens::words`].
    #[inline(always)]
    pub(crate) fn window<const N: usize>(
        &self,
        words: [u64; N],
        left: usize,
        missed: &mut [u64; N],
    ) -> (u64, u32) {
        let ends_at = if left > self.span as usize { GOES_ON } else { left as u32 };
        let Some(gather) = self.gather.filter(|_| N > 1) else { return (words[0], ends_at) };
        let mut window = 0;
        for (index, word) in words.into_iter().enumerate() {
            missed[index] |= (word ^ self.first[index]) & self.alike[index];
            // A shift by 64 is not needed: a first word that shows all 64 bits leaves no room for a
            // second, which makes a plain lens; a later word has that much room only if the
            // previous ones show nothing, and then there is nothing to shift.
            window = (window << (self.bits[index] & 63)) | gather.gather(word, self.shown[index]);
        }
        (window, ends_at)
    }

    /// The validity of the windows made by this lens, given the bits that it missed.
    pub(crate) fn seen<const N: usize>(&self, missed: &[u64; N]) -> Seen {
        let Some(word) = missed.iter().position(|&bits| bits != 0) else { return Seen::All };
        // Up to the byte of the first missed bit, all differences are shown.
        let bytes = missed[word].leading_zeros() / 8;
        let before = u64::MAX.checked_shl(64 - 8 * bytes).unwrap_or(0);
        let total: u32 = self.bits[..self.words].iter().sum();
        let kept: u32 =
            self.bits[..word].iter().sum::<u32>() + (self.shown[word] & before).count_ones();
        if kept > 0 && 2 * kept >= total {
            return Seen::UpTo(Cut { bits: total - kept, span: 8 * word as u32 + bytes });
        }
        let mut differences = Differences { first: self.first, differ: [0; WORDS] };
        for (index, missed) in missed.iter().enumerate() {
            differences.differ[index] = missed | self.shown[index];
        }
        // Nothing is known beyond what this lens has read: every bit there may differ.
        differences.differ[N..].fill(u64::MAX);
        differences.differ[N - 1] |= !(self.shown[N - 1] | self.alike[N - 1]);
        Seen::TooLittle(Self::over(&differences, self.gather))
    }
}

/// The validity of the windows of a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Seen {
    /// They show everything that they were meant to.
    All,
    /// They are valid if shortened to the first bit that differs but is not shown.
    UpTo(Cut),
    /// They must be made again, with this lens.
    TooLittle(Lens),
}

/// Shortens windows that cover less than intended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut {
    /// Number of bits that each window loses at its end.
    bits: u32,
    span: u32,
}

impl Cut {
    /// Number of bytes of the key that a shortened window covers.
    pub(crate) fn span(self) -> usize {
        self.span as usize
    }

    pub(crate) fn shorten(self, entry: &mut Entry) {
        // At most half of the bits are removed.
        entry.window >>= self.bits;
        if entry.ends_at > self.span {
            entry.ends_at = GOES_ON;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::words;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn windows<const N: usize>(lens: &Lens, keys: &[Vec<u8>]) -> (Vec<Entry>, Seen) {
        let mut missed = [0; N];
        let mut entry = |key: &Vec<u8>| {
            let (window, ends_at) = lens.window::<N>(words(key, 0), key.len(), &mut missed);
            Entry { window, row: 0, ends_at }
        };
        let entries = keys.iter().map(&mut entry).collect();
        (entries, lens.seen(&missed))
    }

    fn windows_of(lens: &Lens, keys: &[Vec<u8>]) -> (Vec<Entry>, Seen) {
        match lens.words() {
            1 => windows::<1>(lens, keys),
            2 => windows::<2>(lens, keys),
            3 => windows::<3>(lens, keys),
            _ => windows::<4>(lens, keys),
        }
    }

    proptest! {
        #[test]
        fn windows_are_in_the_order_of_the_bytes_that_they_stand_for(
            keys in vec(vec(prop_oneof![4 => Just(b'7'), 3 => Just(b'5'), 2 => Just(0), 1 => any::<u8>()], 0..40), 2..20),
            sampled in 1usize..20,
        ) {
            let mut differences = Differences::from(&keys[0], 0);
            keys.iter().take(sampled).for_each(|key| differences.add(key, 0));
            let mut lens = Lens::over(&differences, Gather::here());
            let mut fills = 1;
            let (windows, span) = loop {
                let (mut windows, seen) = windows_of(&lens, &keys);
                match seen {
                    Seen::All => break (windows, lens.span()),
                    Seen::UpTo(cut) => {
                        windows.iter_mut().for_each(|entry| cut.shorten(entry));
                        break (windows, cut.span());
                    }
                    Seen::TooLittle(better) => lens = better,
                }
                fills += 1;
            };
            prop_assert!(fills <= 2, "{fills}");
            prop_assert!(span > 0);
            let shown = |key: &Vec<u8>| (key[..key.len().min(span)].to_vec(), key.len() > span);
            for (key, window) in keys.iter().zip(&windows) {
                for (other, beside) in keys.iter().zip(&windows) {
                    let order = (window.window, window.ends_at).cmp(&(beside.window, beside.ends_at));
                    prop_assert_eq!(order, shown(key).cmp(&shown(other)));
                }
            }
        }
    }

    #[test]
    fn digits_show_four_bits_each() {
        let Some(gather) = Gather::here() else { return };
        let keys: Vec<String> =
            (0..100_u64).map(|n| format!("{:016}", n * 98_765_432_123_457)).collect();
        let mut differences = Differences::from(keys[0].as_bytes(), 0);
        keys.iter().for_each(|key| differences.add(key.as_bytes(), 0));
        let lens = Lens::over(&differences, Some(gather));
        assert_eq!((lens.words(), lens.span()), (2, 16));
        assert!(lens.bits[..2].iter().all(|&bits| bits <= 32), "{lens:?}");
    }
}
