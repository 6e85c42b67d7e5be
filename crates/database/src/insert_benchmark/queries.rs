//! The rows that queries read.

use rand_xoshiro::Xoshiro256PlusPlus;
use workload::random::below;

use super::rows::{CASH_REGISTERS, PRICES, PRODUCTS};
use super::statements::{KEYS_PER_QUERY, SecondaryIndex};

/// The first value of a range query in its index.
pub(super) fn range(generator: &mut Xoshiro256PlusPlus) -> (SecondaryIndex, i32) {
    let all = SecondaryIndex::ALL;
    let index = all[below(generator, all.len() as u64) as usize];
    let values = match index {
        SecondaryIndex::Market => PRODUCTS,
        SecondaryIndex::Register => CASH_REGISTERS,
        SecondaryIndex::PriceAndTime => PRICES,
    };
    (index, below(generator, values) as i32)
}

/// The keys that rows of a table have, as far as a client knows. Between them may be gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Keys {
    pub first: i64,
    pub last: i64,
}

/// The keys of a point query.
pub(super) fn points(generator: &mut Xoshiro256PlusPlus, keys: Keys) -> [i64; KEYS_PER_QUERY] {
    let span = keys.last.saturating_sub(keys.first).max(0) as u64 + 1;
    std::array::from_fn(|_| keys.first + below(generator, span) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workload::random::generator;

    use super::*;

    proptest! {
        #[test]
        fn keys_are_those_of_rows(first in 0i64..1 << 40, span in 0i64..1 << 40, seed: u64) {
            let keys = Keys { first, last: first + span };
            for key in points(&mut generator(seed, 0), keys) {
                prop_assert!((keys.first..=keys.last).contains(&key));
            }
        }
    }

    #[test]
    fn an_empty_table_is_queried_at_its_first_key() {
        let keys = Keys { first: 8, last: 3 };
        assert_eq!(points(&mut generator(1, 0), keys), [8; KEYS_PER_QUERY]);
    }

    #[test]
    fn all_indexes_are_queried_alike_and_each_over_all_of_its_values() {
        let mut generator = generator(1, 0);
        let drawn: Vec<_> = (0..30_000).map(|_| range(&mut generator)).collect();
        for index in SecondaryIndex::ALL {
            let values = drawn.iter().filter(|(of, _)| *of == index).map(|(_, value)| *value);
            let values: Vec<i32> = values.collect();
            assert!((9_500..10_500).contains(&values.len()), "{index:?}: {}", values.len());
            let (low, high) = (values.iter().min().unwrap(), values.iter().max().unwrap());
            let all = match index {
                SecondaryIndex::Market => 10_000,
                SecondaryIndex::Register => 1_000,
                SecondaryIndex::PriceAndTime => 500,
            };
            assert!(*low < all / 100 && *high >= all - all / 100, "{index:?}: {low} to {high}");
        }
    }
}
