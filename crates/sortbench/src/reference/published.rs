//! The common-prefix-skipping adaptive quicksort as published (US patent 7,680,791 B2, expired),
//! with nothing added.
//!
//! Details that the text leaves open are chosen as in other implementations: a cache of two bytes,
//! the median of five as the pivot, an insertion sort for small inputs. Its three techniques:
//!
//! - while quicksort partitions, it finds how many bytes all keys of a side share with the pivot,
//!   and never compares them again;
//! - each item caches the two bytes after the shared ones;
//! - when the shared prefix has grown, the side is distributed over 513 buckets by its next byte
//!   (key ended; byte b and ended; byte b and more), and buckets with several items go back to
//!   quicksort.
//!
//! A side keeps only the *shortest* shared prefix seen, so one key that differs early makes all
//! others compare their prefix again.

use std::cmp::Ordering;

/// Bytes in an item's cache.
const CACHE: usize = 2;
/// Below this size a histogram of 513 buckets costs more than it saves.
const SMALL: usize = 32;
/// Key ended; for each byte: ended after it, continued after it.
const BUCKETS: usize = 1 + 2 * 256;

#[derive(Debug, Clone, Copy)]
struct Item<'k> {
    /// The bytes after the partition's prefix, zeros where the key has ended.
    cache: u16,
    /// The bucket in the current radix pass, found in one access to the key together with the new
    /// cache.
    bucket: u16,
    key: &'k [u8],
}

/// The remaining work, leftmost last.
enum Step {
    Quick {
        start: usize,
        end: usize,
        prefix: usize,
    },
    /// By the byte at `index`; caches still hold what follows `prefix`.
    Radix {
        start: usize,
        end: usize,
        prefix: usize,
        index: usize,
    },
}

/// Not stable; needs an item with two cached bytes per key.
pub fn published(keys: &mut [&[u8]]) {
    let mut items: Vec<Item<'_>> =
        keys.iter().map(|key| Item { cache: cached(key, 0), bucket: 0, key }).collect();
    let mut spread = items.clone();
    let mut steps = vec![Step::Quick { start: 0, end: items.len(), prefix: 0 }];
    while let Some(step) = steps.pop() {
        match step {
            Step::Quick { start, end, prefix } if end - start < SMALL => {
                insertion_sort(&mut items[start..end], prefix);
            }
            Step::Quick { start, end, prefix } => {
                let split = quick(&mut items[start..end], prefix);
                let right = (start + split.equal_end, end, split.greater_prefix);
                let left = (start, start + split.equal_start, split.less_prefix);
                for (start, end, index) in [right, left] {
                    steps.push(if index > prefix {
                        Step::Radix { start, end, prefix, index }
                    } else {
                        Step::Quick { start, end, prefix }
                    });
                }
            }
            Step::Radix { start, end, prefix, .. } if end - start < SMALL => {
                insertion_sort(&mut items[start..end], prefix);
            }
            Step::Radix { start, end, prefix, index } => {
                let ends = radix(&mut items[start..end], &mut spread[start..end], prefix, index);
                // Buckets of keys that have ended hold equal keys: they are done.
                for bucket in (2..BUCKETS).step_by(2).rev() {
                    let (start, end) = (start + ends[bucket - 1], start + ends[bucket]);
                    if end - start > 1 {
                        steps.push(Step::Quick { start, end, prefix: index + 1 });
                    }
                }
            }
        }
    }
    keys.iter_mut().zip(&items).for_each(|(key, item)| *key = item.key);
}

fn cached(key: &[u8], prefix: usize) -> u16 {
    let byte = |at: usize| key.get(at).copied().unwrap_or(0);
    u16::from_be_bytes([byte(prefix), byte(prefix + 1)])
}

/// The order of two keys, and the first position at which they differ; the end of the shorter one
/// counts as a difference.
fn compare(left: &Item<'_>, right: &Item<'_>, prefix: usize) -> (Ordering, usize) {
    let shorter = left.key.len().min(right.key.len());
    if left.cache != right.cache {
        let differ = prefix + usize::from((left.cache ^ right.cache) < 0x100);
        // After the end of a key its cache holds zeros that are not part of it.
        return (left.cache.cmp(&right.cache), differ.min(shorter));
    }
    let from = (prefix + CACHE).min(shorter);
    let (left, right) = (&left.key[from..], &right.key[from..]);
    let same = left.iter().zip(right).take_while(|(left, right)| left == right).count();
    (left[same..].first().cmp(&right[same..].first()), from + same)
}

struct Split {
    equal_start: usize,
    equal_end: usize,
    less_prefix: usize,
    greater_prefix: usize,
}

fn quick(part: &mut [Item<'_>], prefix: usize) -> Split {
    let pivot = median_of_five(part, prefix);
    let mut split = Split {
        equal_start: 0,
        equal_end: part.len(),
        less_prefix: usize::MAX,
        greater_prefix: usize::MAX,
    };
    let mut at = 0;
    while at < split.equal_end {
        let (order, differ) = compare(&part[at], &pivot, prefix);
        match order {
            Ordering::Less => {
                split.less_prefix = split.less_prefix.min(differ);
                part.swap(split.equal_start, at);
                split.equal_start += 1;
                at += 1;
            }
            Ordering::Equal => at += 1,
            Ordering::Greater => {
                split.greater_prefix = split.greater_prefix.min(differ);
                split.equal_end -= 1;
                part.swap(at, split.equal_end);
            }
        }
    }
    split
}

fn median_of_five<'k>(part: &[Item<'k>], prefix: usize) -> Item<'k> {
    let mut sample = [1, 3, 5, 7, 9].map(|tenth| part[part.len() * tenth / 10]);
    insertion_sort(&mut sample, prefix);
    sample[2]
}

/// A counting sort by the byte at `index`, which the cache still has if the prefix grew by one;
/// returns the end of each bucket. Afterwards caches hold what follows.
fn radix<'k>(
    part: &mut [Item<'k>],
    spread: &mut [Item<'k>],
    prefix: usize,
    index: usize,
) -> [usize; BUCKETS] {
    for item in part.iter_mut() {
        let length = item.key.len();
        item.bucket = if length == index {
            0
        } else {
            let byte = if index - prefix < CACHE {
                item.cache.to_be_bytes()[index - prefix]
            } else {
                item.key[index]
            };
            1 + 2 * u16::from(byte) + u16::from(length > index + 1)
        };
        item.cache = cached(item.key, index + 1);
    }
    let mut ends = [0; BUCKETS];
    part.iter().for_each(|item| ends[usize::from(item.bucket)] += 1);
    let mut sum = 0;
    for end in &mut ends {
        // At first the start of each bucket; placing its items moves it to the end.
        sum += std::mem::replace(end, sum);
    }
    for item in part.iter() {
        let place = &mut ends[usize::from(item.bucket)];
        spread[*place] = *item;
        *place += 1;
    }
    part.copy_from_slice(spread);
    ends
}

fn insertion_sort(part: &mut [Item<'_>], prefix: usize) {
    for next in 1..part.len() {
        let item = part[next];
        let mut at = next;
        while at > 0 && compare(&part[at - 1], &item, prefix).0.is_gt() {
            part[at] = part[at - 1];
            at -= 1;
        }
        part[at] = item;
    }
}
