//! Sorts from the literature that no published crate provides: the baseline for any new sort, and
//! the value of each idea on its own.

mod caching_multikey_quicksort;
mod published;
mod sketch;

pub use self::caching_multikey_quicksort::caching_multikey_quicksort;
pub use self::published::published;
pub use self::sketch::sketch;

/// Up to eight bytes of a key from `depth` on, as a number that sorts like them. A key that ends
/// earlier is padded with zeros, so equal windows do not order keys that end in them.
fn window(key: &[u8], depth: usize) -> u64 {
    let rest = key.get(depth..).unwrap_or_default();
    if let Some(word) = rest.first_chunk() {
        return u64::from_be_bytes(*word);
    }
    let mut word = [0; WINDOW];
    word[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(word)
}

/// Number of key bytes in a window.
const WINDOW: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::window;

    proptest! {
        #[test]
        fn windows_sort_as_the_bytes_that_they_hold(left: Vec<u8>, right: Vec<u8>, depth in 0usize..6) {
            let eight = |key: &[u8]| {
                let mut bytes: Vec<u8> = key.iter().skip(depth).take(8).copied().collect();
                bytes.resize(8, 0);
                bytes
            };
            prop_assert_eq!(window(&left, depth).cmp(&window(&right, depth)), eight(&left).cmp(&eight(&right)));
        }
    }
}
