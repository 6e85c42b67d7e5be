//! The data sets, each out of a seed.
//!
//! All keys of a set lie in one arena, one behind the other as they were made, and the slices into it come in another order: in a database's sort the next row's
//! key is nowhere near this row's. Keys that lie in memory in the order in which they are sorted flatter every sort that follows pointers.

mod dice;
mod identifiers;
mod keys;
mod text;
mod uniform;

pub(crate) use self::dice::Dice;
pub use self::keys::Keys;
use self::keys::Pen;

/// The seed of every figure that is quoted.
pub const SEED: u64 = 0x6f72_6173_6f72_7431;

/// One kind of keys.
#[derive(Debug)]
pub struct DataSet {
    /// Its name on the command line and in tables.
    pub name: &'static str,
    /// What its keys look like.
    pub what: &'static str,
    /// Bytes of an average key, roughly: enough to tell whether a set fits into memory.
    pub key_bytes: usize,
    order: Order,
    write: fn(&mut Pen),
}

/// How the slices stand when a sort begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Shuffled,
    Sorted,
    Reversed,
    /// Sorted, then one key in a hundred swapped with any other.
    Noisy,
}

const fn shuffled(name: &'static str, what: &'static str, key_bytes: usize, write: fn(&mut Pen)) -> DataSet {
    DataSet { name, what, key_bytes, order: Order::Shuffled, write }
}

/// All of them.
pub const DATA_SETS: [DataSet; 21] = [
    shuffled("uniform-8", "8 random bytes", 8, uniform::eight),
    shuffled("uniform-16", "16 random bytes", 16, uniform::sixteen),
    shuffled("ascii", "10 to 40 printable characters", 25, uniform::ascii),
    shuffled("urls", "few hosts, deep paths", 80, text::urls),
    shuffled("composite-text", "tenant/table/zero-padded integer/timestamp as text", 52, identifiers::composite_text),
    shuffled("composite-binary", "the same four, big-endian, 22 bytes", 22, identifiers::composite_binary),
    shuffled("words", "words, the n-th most frequent with a share of 1/n", 7, text::words),
    shuffled("equal", "one key of 32 bytes over and over", 32, uniform::equal),
    DataSet { order: Order::Sorted, ..shuffled("sorted", "ascii, already sorted", 25, uniform::ascii) },
    DataSet { order: Order::Reversed, ..shuffled("reversed", "ascii, sorted the other way", 25, uniform::ascii) },
    DataSet { order: Order::Noisy, ..shuffled("sorted-noise", "ascii, sorted but for 1 %", 25, uniform::ascii) },
    shuffled("genome", "reads of 100 letters out of four", 100, text::genome),
    shuffled("prefix-48", "48 bytes that all share, then 16 random ones", 64, uniform::prefix),
    shuffled("prefix-48-strays", "the same, but 1 % differ in the first byte", 64, uniform::prefix_with_strays),
    shuffled("uuid-4", "random UUIDs as text", 36, identifiers::uuid_4),
    shuffled("uuid-7", "UUIDs that begin with a time, as text", 36, identifiers::uuid_7),
    shuffled("paths", "file paths", 60, text::paths),
    shuffled("a-runs", "0 to 1000 times the letter a", 500, uniform::runs_of_a),
    shuffled("trailing-zeros", "one key with 0 to 100 zero bytes behind it", 58, uniform::trailing_zeros),
    shuffled("uniform-0-3", "0 to 3 random bytes: empty keys, prefixes of one another", 2, uniform::short),
    shuffled("clusters", "1000 prefixes of 40 random bytes, then 8 of the key's own", 48, uniform::clusters),
];

impl DataSet {
    /// The data set of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        DATA_SETS.iter().find(|set| set.name == name)
    }

    /// So many keys; the same seed gives the same keys in the same order at the same places.
    pub fn keys(&self, count: usize, seed: u64) -> Keys {
        let mut pen = Pen::new(count, count * self.key_bytes, Dice::new(seed, self.name));
        (self.write)(&mut pen);
        let (mut keys, mut dice) = pen.finish();
        match self.order {
            Order::Shuffled => keys.shuffle(&mut dice),
            Order::Sorted => keys.sort(),
            Order::Reversed => keys.sort_reversed(),
            Order::Noisy => {
                keys.sort();
                keys.swap_some(count / 200, &mut dice);
            }
        }
        keys
    }
}

#[cfg(test)]
mod tests;
