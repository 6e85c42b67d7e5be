//! The data sets, generated from a seed.
//!
//! All keys of a set are in one arena, in the order in which they were generated, and the slices
//! into it come in another order: in a database's sort the next row's key is nowhere near this
//! row's. Keys that are in memory in sorted order flatter every sort that follows pointers.

mod identifiers;
mod keys;
mod random;
mod text;
mod uniform;

pub use self::keys::Keys;
use self::keys::Pen;
pub(crate) use self::random::Random;

/// The seed of all published figures.
pub const SEED: u64 = 0x6f72_6173_6f72_7431;

/// A kind of keys.
#[derive(Debug)]
pub struct DataSet {
    /// Its name on the command line and in tables.
    pub name: &'static str,
    /// A description of the keys.
    pub what: &'static str,
    /// Approximate mean size of a key in bytes, to estimate whether a set fits into memory.
    pub key_bytes: usize,
    order: Order,
    write: fn(&mut Pen),
}

/// The initial order of the slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Shuffled,
    Sorted,
    Reversed,
    /// Sorted, then one key in a hundred swapped with a random one.
    Noisy,
}

const fn shuffled(
    name: &'static str,
    what: &'static str,
    key_bytes: usize,
    write: fn(&mut Pen),
) -> DataSet {
    DataSet { name, what, key_bytes, order: Order::Shuffled, write }
}

pub const DATA_SETS: [DataSet; 21] = [
    shuffled("uniform-8", "8 random bytes", 8, uniform::eight),
    shuffled("uniform-16", "16 random bytes", 16, uniform::sixteen),
    shuffled("ascii", "10 to 40 printable characters", 25, uniform::ascii),
    shuffled("urls", "few hosts, deep paths", 80, text::urls),
    shuffled(
        "composite-text",
        "tenant/table/zero-padded integer/timestamp as text",
        52,
        identifiers::composite_text,
    ),
    shuffled(
        "composite-binary",
        "the same four, big-endian, 22 bytes",
        22,
        identifiers::composite_binary,
    ),
    shuffled("words", "words, the n-th most frequent with a share of 1/n", 7, text::words),
    shuffled("equal", "one key of 32 bytes, repeated", 32, uniform::equal),
    DataSet {
        order: Order::Sorted,
        ..shuffled("sorted", "ascii, already sorted", 25, uniform::ascii)
    },
    DataSet {
        order: Order::Reversed,
        ..shuffled("reversed", "ascii, in descending order", 25, uniform::ascii)
    },
    DataSet {
        order: Order::Noisy,
        ..shuffled("sorted-noise", "ascii, sorted but for 1 %", 25, uniform::ascii)
    },
    shuffled("genome", "reads of 100 letters from an alphabet of four", 100, text::genome),
    shuffled("prefix-48", "a common prefix of 48 bytes, then 16 random ones", 64, uniform::prefix),
    shuffled(
        "prefix-48-strays",
        "the same, but 1 % differ in the first byte",
        64,
        uniform::prefix_with_strays,
    ),
    shuffled("uuid-4", "random UUIDs as text", 36, identifiers::uuid_4),
    shuffled("uuid-7", "UUIDs that start with a timestamp, as text", 36, identifiers::uuid_7),
    shuffled("paths", "file paths", 60, text::paths),
    shuffled("a-runs", "the letter a, 0 to 1000 times", 500, uniform::runs_of_a),
    shuffled(
        "trailing-zeros",
        "one key followed by 0 to 100 zero bytes",
        58,
        uniform::trailing_zeros,
    ),
    shuffled(
        "uniform-0-3",
        "0 to 3 random bytes: empty keys, prefixes of one another",
        2,
        uniform::short,
    ),
    shuffled(
        "clusters",
        "1000 prefixes of 40 random bytes, then 8 bytes specific to the key",
        48,
        uniform::clusters,
    ),
];

impl DataSet {
    pub fn named(name: &str) -> Option<&'static Self> {
        DATA_SETS.iter().find(|set| set.name == name)
    }

    /// Generates `count` keys; the same seed gives the same keys in the same order and memory
    /// layout.
    pub fn keys(&self, count: usize, seed: u64) -> Keys {
        let mut pen = Pen::new(count, count * self.key_bytes, Random::new(seed, self.name));
        (self.write)(&mut pen);
        let (mut keys, mut random) = pen.finish();
        match self.order {
            Order::Shuffled => keys.shuffle(&mut random),
            Order::Sorted => keys.sort(),
            Order::Reversed => keys.sort_reversed(),
            Order::Noisy => {
                keys.sort();
                keys.swap_some(count / 200, &mut random);
            }
        }
        keys
    }
}

#[cfg(test)]
mod tests;
