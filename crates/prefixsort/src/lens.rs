//! What a window shows: eight bytes of each key, or the bits that differ within up to 32 bytes.
//!
//! The published sort caches the next few *bytes* beyond the prefix that a partition shares. Of most keys' bytes the
//! greater part is still the same in all of them: the upper half of each digit, `/` and `.`, the upper bytes of a
//! counter, all but two bits of each letter of a genome. A lens is common-prefix skipping taken to the bit: it shows
//! only the bits in which the keys of a partition differ, so that one window of 64 bits reaches over up to 32 bytes of
//! the key, and a key is fetched from memory two to four times less often. Order is kept, because what is left out is
//! the same in every key.
//!
//! Which bits differ is guessed from a sample of the partition. A key that differs in another bit is noticed while the
//! windows are made (its bit is *missed*), and then they are made again with that bit shown: a wrong guess costs a
//! second pass over keys that the first has brought into the cache, never a wrong order.

use crate::bits::Gather;
use crate::entry::GOES_ON;
use crate::keys::word;

/// Words of eight key bytes that a window can reach over. Two cache lines' worth would be eight; past four, measured,
/// the bits that differ no longer fit 64 for any of the data sets but genomes.
pub(crate) const WORDS: usize = 4;

/// Bits of which a window has enough: reaching further would cost each key another word and gain little, since a
/// million keys differ within 20 bits if those are well spread, and within 40 if they are twice as many as needed.
const ENOUGH_BITS: u32 = 48;

/// In which bits keys differ beyond a depth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Differences {
    first: [u64; WORDS],
    differ: [u64; WORDS],
}

impl Differences {
    /// None yet: one key that the others are held against.
    pub(crate) fn from(key: &[u8], at: usize) -> Self {
        Self { first: std::array::from_fn(|index| word(key, at + 8 * index)), differ: [0; WORDS] }
    }

    /// Another key's differences as well.
    pub(crate) fn add(&mut self, key: &[u8], at: usize) {
        for index in 0..WORDS {
            self.differ[index] |= word(key, at + 8 * index) ^ self.first[index];
        }
    }
}

/// How windows are made of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lens {
    /// The bits of each word that are shown.
    shown: [u64; WORDS],
    /// How many those are.
    bits: [u32; WORDS],
    /// The bits of each word, within the span, that are not shown because all keys of the sample have them alike.
    alike: [u64; WORDS],
    /// What all have there.
    first: [u64; WORDS],
    /// How many words are read.
    words: usize,
    /// How many bytes of the key the window stands for.
    span: u32,
    gather: Option<Gather>,
}

impl Lens {
    /// Eight bytes, all of their bits.
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

    /// The bits that differ, over as many bytes as 64 of them reach.
    pub(crate) fn over(differences: &Differences, gather: Option<Gather>) -> Self {
        let Some(gather) = gather else { return Self::plain() };
        let mut lens = Self { words: 0, span: 0, first: differences.first, gather: Some(gather), ..Self::plain() };
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

    /// How many bytes of the key the window stands for.
    pub(crate) fn span(&self) -> usize {
        self.span as usize
    }

    /// How many words of the key are read.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// The window on a key at `at`; adds to `missed` the bits that differ though the lens does not show them. `N` must
    /// be [`Lens::words`].
    #[inline(always)]
    pub(crate) fn window<const N: usize>(&self, key: &[u8], at: usize, missed: &mut [u64; N]) -> (u64, u32) {
        let left = key.len().saturating_sub(at);
        let held = if left > self.span as usize { GOES_ON } else { left as u32 };
        let Some(gather) = self.gather.filter(|_| N > 1) else { return (word(key, at), held) };
        let mut window = 0;
        for (index, missed) in missed.iter_mut().enumerate() {
            let word = word(key, at + 8 * index);
            *missed |= (word ^ self.first[index]) & self.alike[index];
            // A shift by 64 cannot be: it takes two words to come here, so none of them has all 64 bits.
            window = (window << (self.bits[index] & 63)) | gather.gather(word, self.shown[index]);
        }
        (window, held)
    }

    /// A lens that also shows what this one missed; `None` if it missed nothing.
    pub(crate) fn with<const N: usize>(&self, missed: &[u64; N]) -> Option<Self> {
        if missed.iter().all(|&bits| bits == 0) {
            return None;
        }
        let mut differences = Differences { first: self.first, differ: [0; WORDS] };
        for (index, missed) in missed.iter().enumerate() {
            differences.differ[index] = missed | self.shown[index];
        }
        // Beyond what this lens has read nothing is known: there every bit may differ.
        for index in N..WORDS {
            differences.differ[index] = u64::MAX;
        }
        let beyond = !(self.shown[N - 1] | self.alike[N - 1]);
        differences.differ[N - 1] |= beyond;
        Some(Self::over(&differences, self.gather))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn windows<const N: usize>(lens: &Lens, keys: &[Vec<u8>]) -> (Vec<(u64, u32)>, [u64; N]) {
        let mut missed = [0; N];
        (keys.iter().map(|key| lens.window::<N>(key, 0, &mut missed)).collect(), missed)
    }

    fn windows_of(lens: &Lens, keys: &[Vec<u8>]) -> (Vec<(u64, u32)>, Option<Lens>) {
        match lens.words() {
            1 => {
                let (windows, missed) = windows::<1>(lens, keys);
                (windows, lens.with(&missed))
            }
            2 => {
                let (windows, missed) = windows::<2>(lens, keys);
                (windows, lens.with(&missed))
            }
            3 => {
                let (windows, missed) = windows::<3>(lens, keys);
                (windows, lens.with(&missed))
            }
            _ => {
                let (windows, missed) = windows::<4>(lens, keys);
                (windows, lens.with(&missed))
            }
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
            let windows = loop {
                let (windows, again) = windows_of(&lens, &keys);
                let Some(better) = again else { break windows };
                lens = better;
                fills += 1;
            };
            prop_assert!(fills <= 2, "{fills}");
            let span = lens.span();
            let shown = |key: &Vec<u8>| (key[..key.len().min(span)].to_vec(), key.len() > span);
            for a in 0..keys.len() {
                for b in 0..keys.len() {
                    prop_assert_eq!(windows[a].cmp(&windows[b]), shown(&keys[a]).cmp(&shown(&keys[b])));
                }
            }
        }
    }

    #[test]
    fn digits_show_four_bits_each() {
        let Some(gather) = Gather::here() else { return };
        let keys: Vec<String> = (0..100_u64).map(|n| format!("{:016}", n * 98_765_432_123_457)).collect();
        let mut differences = Differences::from(keys[0].as_bytes(), 0);
        keys.iter().for_each(|key| differences.add(key.as_bytes(), 0));
        let lens = Lens::over(&differences, Some(gather));
        assert_eq!((lens.words(), lens.span()), (2, 16));
        assert!(lens.bits[..2].iter().all(|&bits| bits <= 32), "{lens:?}");
    }
}
