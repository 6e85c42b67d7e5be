//! The caller's keys, and the few ways in which they are read.

use std::cmp::Ordering;
use std::marker::PhantomData;

use crate::bits::prefetch;

/// Bytes to sort by, row by row.
pub(crate) trait Keys {
    /// The key of a row.
    fn key(&self, row: u32) -> &[u8];

    /// Asks for the memory of the row itself, which the key is found by.
    fn expect_row(&self, row: u32);

    /// Asks for the memory of the row's key at `depth`. Better a little after [`Keys::expect_row`].
    fn expect_key(&self, row: u32, depth: usize);
}

/// How a row's key is found.
pub(crate) trait KeyOf<T> {
    fn of<'a>(&'a self, row: &'a T) -> &'a [u8];
}

/// The key is part of the row, or what the row refers to.
pub(crate) struct Within<F>(pub(crate) F);

impl<T, F: Fn(&T) -> &[u8]> KeyOf<T> for Within<F> {
    #[inline(always)]
    fn of<'a>(&'a self, row: &'a T) -> &'a [u8] {
        (self.0)(row)
    }
}

/// The row says where in other memory its key is.
pub(crate) struct Elsewhere<'k, F> {
    key: F,
    memory: PhantomData<&'k [u8]>,
}

impl<'k, F> Elsewhere<'k, F> {
    pub(crate) fn new<T>(key: F) -> Self
    where
        F: Fn(&T) -> &'k [u8],
    {
        Self { key, memory: PhantomData }
    }
}

impl<'k, T, F: Fn(&T) -> &'k [u8]> KeyOf<T> for Elsewhere<'k, F> {
    #[inline(always)]
    fn of<'a>(&'a self, row: &'a T) -> &'a [u8] {
        (self.key)(row)
    }
}

/// Rows with a way to find each one's key.
pub(crate) struct Rows<'a, T, K> {
    pub(crate) rows: &'a [T],
    pub(crate) key: K,
}

impl<T, K: KeyOf<T>> Keys for Rows<'_, T, K> {
    #[inline(always)]
    fn key(&self, row: u32) -> &[u8] {
        self.key.of(&self.rows[row as usize])
    }

    #[inline(always)]
    fn expect_row(&self, row: u32) {
        prefetch(self.rows.as_ptr().wrapping_add(row as usize));
    }

    #[inline(always)]
    fn expect_key(&self, row: u32, depth: usize) {
        prefetch(self.key(row).as_ptr().wrapping_add(depth));
    }
}

/// The key beyond `depth`; empty if it ends before.
///
/// A key function that answers shorter the second time is a mistake of the caller's, and must not become a panic of
/// ours in the middle of their sort.
#[inline(always)]
pub(crate) fn beyond(key: &[u8], depth: usize) -> &[u8] {
    key.get(depth..).unwrap_or_default()
}

/// Eight bytes of the key from `at`, big-endian, padded with zeros beyond its end.
#[inline(always)]
pub(crate) fn word(key: &[u8], at: usize) -> u64 {
    if let Some(eight) = key.get(at..).and_then(|rest| rest.first_chunk()) {
        return u64::from_be_bytes(*eight);
    }
    let Some(left @ 1..) = key.len().checked_sub(at) else { return 0 };
    if let Some(last) = key.last_chunk() {
        // The last eight bytes of the key, of which the first have been seen: cheaper than byte after byte.
        return u64::from_be_bytes(*last) << (64 - 8 * left);
    }
    let mut word = 0;
    for &byte in &key[at..] {
        word = word << 8 | u64::from(byte);
    }
    word << (64 - 8 * left)
}

/// How many bytes `a` and `b` have in common from their beginnings.
pub(crate) fn shared(a: &[u8], b: &[u8]) -> usize {
    let length = a.len().min(b.len());
    let mut at = 0;
    while at < length {
        let differ = word(a, at) ^ word(b, at);
        if differ != 0 {
            return (at + differ.leading_zeros() as usize / 8).min(length);
        }
        at += 8;
    }
    length
}

/// Whether what a key has beyond `depth` sorts before everything that begins with `prefix`, begins with it, or sorts
/// after.
#[inline(always)]
pub(crate) fn against_prefix(key: &[u8], depth: usize, prefix: &[u8]) -> Ordering {
    let rest = beyond(key, depth);
    // Word by word, because a call of `memcmp` for every key costs more than most prefixes are long.
    let mut at = 0;
    while at < prefix.len() {
        let (have, want) = (word(rest, at), word(prefix, at));
        let left = prefix.len() - at;
        let seen = if left < 8 { have >> (64 - 8 * left) << (64 - 8 * left) } else { have };
        if seen != want {
            return seen.cmp(&want);
        }
        at += 8;
    }
    // The padding of a key that ends within the prefix is equal where the prefix has zero bytes.
    if rest.len() < prefix.len() { Ordering::Less } else { Ordering::Equal }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        vec(prop_oneof![Just(0), Just(1), Just(255), any::<u8>()], 0..30)
    }

    proptest! {
        #[test]
        fn a_word_is_eight_bytes_padded(key in bytes(), at in 0usize..40) {
            let mut padded = [0; 8];
            let rest = beyond(&key, at);
            let length = rest.len().min(8);
            padded[..length].copy_from_slice(&rest[..length]);
            prop_assert_eq!(word(&key, at), u64::from_be_bytes(padded));
        }

        #[test]
        fn shared_bytes_are_counted(a in bytes(), b in bytes(), common in bytes()) {
            let (a, b) = ([common.clone(), a].concat(), [common, b].concat());
            let counted = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            prop_assert_eq!(shared(&a, &b), counted);
        }

        #[test]
        fn a_key_lies_before_within_or_after_a_prefix(key in bytes(), prefix in bytes(), depth in 0usize..4, cut in 0usize..20) {
            let mut key = key;
            if cut % 2 == 0 {
                // Random bytes seldom begin alike.
                key.truncate(depth);
                key.extend_from_slice(&prefix[..cut.min(prefix.len())]);
            }
            let rest = beyond(&key, depth);
            let expected = if rest.starts_with(&prefix) { Ordering::Equal } else { rest.cmp(&prefix[..]) };
            prop_assert_eq!(against_prefix(&key, depth, &prefix), expected);
        }
    }
}
