//! The sorts of byte strings that are compared, with a common signature.
//!
//! The peers are std's two sorts, the published crates that sort byte strings by more than
//! comparisons, and Arrow's two ways. Considered and left out:
//!
//! - `rdst`, `voracious_radix_sort`, `radsort`, `rdxsort`: they sort numbers and arrays of a fixed
//!   length, which they move as a whole; none accepts references to keys of any length.
//! - `glidesort`: a comparison sort for any type. What it does for byte strings, std's newer sorts
//!   do as well.
//! - `algorithms_fourth`: exercises from a textbook, only for `&str`.
//! - `stringsort`: sorts the characters within one string.
//! - `lazysort`: an iterator that sorts lazily by comparisons, without any treatment specific to
//!   byte strings.

use std::sync::Arc;
use std::time::Duration;

use afsort::AFSortable as _;
use arrow_array::{Array as _, ArrayRef, LargeBinaryArray};
use arrow_row::{RowConverter, SortField};
use prefixsort::{Options, Scratch};
use serde::{Deserialize, Serialize};

use crate::reference;
use crate::stopwatch::Stopwatch;

/// A sort in the comparison.
#[derive(Debug)]
pub struct Contestant {
    /// Its name in tables.
    pub name: &'static str,
    /// A description for users.
    pub what: &'static str,
    pub input: Input,
    pub(crate) run: Run,
}

/// The form of the input. A sort is compared with ours on the same form: a column is read
/// sequentially and only its order is returned, while slices point anywhere and are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Slices of keys, in an order unrelated to memory; the slices themselves are sorted.
    Slices,
    /// An Arrow column: keys are in the order of their rows, and the result is the sorted row
    /// numbers.
    Column,
}

/// Copies the keys outside the timed part and returns them sorted.
pub(crate) type Run = for<'k> fn(&[&'k [u8]], &mut Stopwatch) -> Vec<&'k [u8]>;

/// afsort recurses one level for each byte that keys share.
const STACK_BYTES: usize = 256 << 20;

impl Contestant {
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().chain([&IDLE]).find(|contestant| contestant.name == name)
    }

    /// Our sort, then its peers.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        [&OURS, &OURS_ON_A_COLUMN].into_iter().chain(&PEERS)
    }

    /// The sorted keys, and the time that the sort took. It runs on a copy, in a thread with enough
    /// stack for the deepest recursion.
    ///
    /// # Panics
    ///
    /// If the contestant panics, or its thread cannot be started.
    pub fn sort<'k>(&self, keys: &[&'k [u8]]) -> (Vec<&'k [u8]>, Duration) {
        std::thread::scope(|scope| {
            let sort = || {
                let mut watch = Stopwatch::default();
                let sorted = (self.run)(keys, &mut watch);
                (sorted, watch.elapsed())
            };
            let thread =
                std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, sort);
            let thread = thread.expect("failed to start a contestant's thread");
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Copies without sorting: the part of a process that is not the sort, for tools that count over a
/// whole process.
pub const IDLE: Contestant = Contestant {
    name: "none",
    what: "only the copy",
    input: Input::Slices,
    run: |keys, watch| in_place(keys, watch, |_| ()),
};

pub const OURS: Contestant = Contestant {
    name: "prefixsort",
    what: "ours",
    input: Input::Slices,
    run: |keys, watch| in_place(keys, watch, prefixsort::sort),
};

/// Our sort on Arrow's form of input.
pub const OURS_ON_A_COLUMN: Contestant = Contestant {
    name: "ours-on-column",
    what: "ours, on Arrow's column",
    input: Input::Column,
    run: |keys, watch| {
        let column = column(keys);
        let order = watch.time(|| order_of(&column));
        order.into_iter().map(|row| keys[row as usize]).collect()
    },
};

fn order_of(column: &LargeBinaryArray) -> Vec<u32> {
    let rows = u32::try_from(column.len()).expect("row numbers exceed 32 bits");
    let mut order: Vec<u32> = (0..rows).collect();
    let key = |&row: &u32| column.value(row as usize);
    // It cannot be cancelled, so it always completes.
    let _ = prefixsort::sort_in_arena(&mut order, key, Options::default(), &mut Scratch::default());
    order
}

/// The peers. std's `sort_unstable` comes first: every data set has a target for it.
pub const PEERS: [Contestant; 10] = [
    Contestant {
        name: STD_UNSTABLE,
        what: "std's slice::sort_unstable (ipnsort)",
        input: Input::Slices,
        run: |keys, watch| in_place(keys, watch, <[_]>::sort_unstable),
    },
    Contestant {
        name: "std",
        what: "std's slice::sort (driftsort)",
        input: Input::Slices,
        run: |keys, watch| in_place(keys, watch, <[_]>::sort),
    },
    Contestant {
        name: "orasort",
        what: "crate orasort: common-prefix-skipping adaptive sort, first published",
        input: Input::Slices,
        run: |keys, watch| in_place(keys, watch, orasort::orasort_mut),
    },
    Contestant {
        name: "afsort",
        what: "crate afsort: American flag sort",
        input: Input::Slices,
        run: |keys, watch| in_place(keys, watch, <[_]>::af_sort_unstable),
    },
    Contestant {
        name: "brainsort",
        what: "crate brainsort: radix sort on eight cached bytes, stable",
        input: Input::Slices,
        run: |keys, watch| in_place(keys, watch, brainsort::sort),
    },
    Contestant {
        name: "arrow-row",
        what: "Arrow's row format: encoding, then sort_unstable of rows",
        input: Input::Column,
        run: arrow_row,
    },
    Contestant {
        name: "arrow-ord",
        what: "Arrow's sort_to_indices on the column itself",
        input: Input::Column,
        run: arrow_ord,
    },
    Contestant {
        name: "mkqs-8",
        what: "reference: caching multikey quicksort, eight bytes",
        input: Input::Slices,
        run: |keys, watch| in_place(keys, watch, reference::caching_multikey_quicksort),
    },
    Contestant {
        name: "sketch",
        what: "reference: sort_unstable on (eight bytes, row), then on the next eight",
        input: Input::Slices,
        run: |keys, watch| in_place(keys, watch, reference::sketch),
    },
    Contestant {
        name: "published",
        what: "reference: the algorithm as it was published, with nothing added",
        input: Input::Slices,
        run: |keys, watch| in_place(keys, watch, reference::published),
    },
];

/// The peer with a separate target.
pub const STD_UNSTABLE: &str = "std-unstable";

fn in_place<'k>(
    keys: &[&'k [u8]],
    watch: &mut Stopwatch,
    sort: impl FnOnce(&mut [&'k [u8]]),
) -> Vec<&'k [u8]> {
    let mut keys = keys.to_vec();
    watch.time(|| sort(&mut keys));
    keys
}

/// The column is built outside the timed part, as a program that uses Arrow has it anyway; the rows
/// are built within it.
fn arrow_row<'k>(keys: &[&'k [u8]], watch: &mut Stopwatch) -> Vec<&'k [u8]> {
    let column: ArrayRef = Arc::new(column(keys));
    let order = watch.time(|| {
        let field = SortField::new(column.data_type().clone());
        let converter = RowConverter::new(vec![field]).expect("binary columns have a row format");
        let rows = converter.convert_columns(&[column]).expect("a binary column converts to rows");
        let mut rows: Vec<_> = rows.iter().enumerate().collect();
        rows.sort_unstable_by_key(|&(_, row)| row);
        rows.into_iter().map(|(row, _)| row).collect::<Vec<_>>()
    });
    order.into_iter().map(|row| keys[row]).collect()
}

fn arrow_ord<'k>(keys: &[&'k [u8]], watch: &mut Stopwatch) -> Vec<&'k [u8]> {
    let column = column(keys);
    let order = watch.time(|| {
        arrow_ord::sort::sort_to_indices(&column, None, None).expect("a binary column is sortable")
    });
    order.values().iter().map(|&row| keys[row as usize]).collect()
}

/// With 64-bit offsets: ten million long keys are more than 2 GiB.
fn column(keys: &[&[u8]]) -> LargeBinaryArray {
    LargeBinaryArray::from_iter_values(keys)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::{DATA_SETS, SEED};

    /// Every contestant sorts the same keys, and is compared with std's stable sort.
    fn all_sort(keys: &[&[u8]]) {
        let mut expected = keys.to_vec();
        expected.sort();
        for contestant in Contestant::all() {
            let (sorted, _) = contestant.sort(keys);
            assert!(sorted == expected, "{} does not sort {} keys", contestant.name, keys.len());
        }
    }

    #[test]
    fn every_data_set_is_sorted_by_all() {
        for set in &DATA_SETS {
            eprintln!("{}", set.name);
            // Larger than any contestant's threshold for small inputs.
            for count in [0, 1, 2, 100, 20_000] {
                all_sort(&set.keys(count, SEED).slices());
            }
        }
    }

    #[test]
    fn a_contestant_is_timed() {
        let keys = DATA_SETS[0].keys(10_000, SEED);
        for contestant in Contestant::all() {
            let (_, elapsed) = contestant.sort(&keys.slices());
            assert!(!elapsed.is_zero(), "{}", contestant.name);
        }
    }

    /// Keys from so few byte values that they are prefixes of one another, NULs and 0xFF among
    /// them, after prefixes that span one or two windows.
    fn key() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![Just(0u8), Just(0), Just(1), Just(b'a'), Just(0xff)];
        (
            prop_oneof![Just(0usize), Just(1), Just(7), Just(8), Just(20)],
            prop::collection::vec(byte, 0..20),
        )
            .prop_map(|(prefix, tail)| {
                let mut key = vec![b'p'; prefix];
                key.extend(tail);
                key
            })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn keys_of_any_kind_are_sorted_by_all(
            short in prop::collection::vec(key(), 0..400),
            random in prop::collection::vec(any::<Vec<u8>>(), 0..40),
        ) {
            let keys: Vec<&[u8]> = short.iter().chain(&random).map(Vec::as_slice).collect();
            all_sort(&keys);
        }
    }
}
