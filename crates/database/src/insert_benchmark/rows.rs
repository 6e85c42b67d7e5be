//! The contents of rows.

use rand_xoshiro::Xoshiro256PlusPlus;
use workload::random::below;

/// Distinct values of the columns.
pub(super) const CASH_REGISTERS: u64 = 1_000;
pub(super) const CUSTOMERS: u64 = 100_000;
pub(super) const PRODUCTS: u64 = 10_000;
pub(super) const PRICES: u64 = 500;
/// Length of the text.
const TEXT_MIN: u64 = 10;
const TEXT_MAX: u64 = 20;
/// The characters of random text, each with 6 bits of chance.
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes of data in a row of mean length: a key, a time, four integers and a text.
pub(super) const ROW_BYTES: u64 = 8 + 8 + 4 * 4 + u64::midpoint(TEXT_MIN, TEXT_MAX);

/// A purchase; key and time are the server's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Row {
    pub cash_register: i32,
    pub customer: i32,
    pub product: i32,
    pub price: i32,
    pub data: String,
}

impl Row {
    pub(super) fn drawn(generator: &mut Xoshiro256PlusPlus) -> Row {
        let mut number = |bound| below(generator, bound) as i32;
        let (cash_register, product) = (number(CASH_REGISTERS), number(PRODUCTS));
        let (customer, price) = (number(CUSTOMERS), number(PRICES));
        Row { cash_register, customer, product, price, data: text(generator) }
    }
}

/// Three eighths of the characters are random, the rest compresses well.
fn text(generator: &mut Xoshiro256PlusPlus) -> String {
    let length = TEXT_MIN + below(generator, TEXT_MAX - TEXT_MIN + 1);
    let random = length * 3 / 8;
    let mut text = "a".repeat((length - random) as usize);
    for _ in 0..random {
        text.push(char::from(ALPHABET[below(generator, ALPHABET.len() as u64) as usize]));
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workload::random::generator;

    use super::*;

    proptest! {
        #[test]
        fn rows_keep_the_bounds_and_repeat_with_their_seed(seed: u64, stream in 0u32..9) {
            let drawn = || {
                let mut generator = generator(seed, stream);
                (0..100).map(|_| Row::drawn(&mut generator)).collect::<Vec<Row>>()
            };
            let rows = drawn();
            prop_assert_eq!(&rows, &drawn());
            for row in rows {
                let within = |value: i32, bound: u64| (0..bound as i32).contains(&value);
                prop_assert!(within(row.cash_register, CASH_REGISTERS));
                prop_assert!(within(row.customer, CUSTOMERS) && within(row.product, PRODUCTS));
                prop_assert!(within(row.price, PRICES));
                prop_assert!((10..=20).contains(&row.data.len()), "{}", row.data);
                // Nothing in it needs quoting.
                prop_assert!(row.data.bytes().all(|byte| ALPHABET.contains(&byte)));
            }
        }

        #[test]
        fn clients_do_not_repeat_each_other(seed: u64) {
            let (mut one, mut other) = (generator(seed, 0), generator(seed, 1));
            prop_assert_ne!(Row::drawn(&mut one), Row::drawn(&mut other));
        }
    }
}
