//! The records to sort: keys and payloads generated from a seed.
//!
//! They are generated in batches. Two clock readings per batch suffice to separate this time from
//! that of the sort.

use std::io::Write as _;

use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::SortKeys;
use workload::random::{below, generator};

/// Records per batch: a few hundred KiB, generated in a fraction of a millisecond.
const BATCH: usize = 4096;
/// Bytes of a payload: the row number, and incompressible columns.
const PAYLOAD: usize = 40;
/// Few hosts, as in the log of a web server or a crawler.
const HOSTS: u64 = 64;
/// Vocabulary of paths.
const WORDS: u64 = 512;

#[derive(Debug)]
pub struct Records {
    keys: SortKeys,
    draws: Xoshiro256PlusPlus,
    words: Vec<String>,
    number: u64,
}

/// A batch of records in contiguous memory.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// End of each record's key and of its payload.
    ends: Vec<(usize, usize)>,
}

impl Batch {
    /// Key and payload of each record.
    pub fn records(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let begins = std::iter::once(0).chain(self.ends.iter().map(|&(_, end)| end));
        begins
            .zip(&self.ends)
            .map(|(begin, &(key, end))| (&self.bytes[begin..key], &self.bytes[key..end]))
    }
}

/// The row number in a payload; 0 if the payload is not one of this generator.
pub fn number(payload: &[u8]) -> u64 {
    payload.first_chunk().map_or(0, |number| u64::from_le_bytes(*number))
}

impl Records {
    pub fn new(keys: SortKeys, seed: u64, job: u32) -> Records {
        let mut draws = generator(seed, job);
        let words = (0..WORDS).map(|_| word(&mut draws)).collect();
        Records { keys, draws, words, number: 0 }
    }

    /// Replaces the batch's records with the next ones.
    pub fn fill(&mut self, batch: &mut Batch) {
        batch.bytes.clear();
        batch.ends.clear();
        for _ in 0..BATCH {
            match self.keys {
                SortKeys::Urls => self.url(&mut batch.bytes),
                SortKeys::Composite => self.composite(&mut batch.bytes),
            }
            let key = batch.bytes.len();
            batch.bytes.extend_from_slice(&self.number.to_le_bytes());
            for _ in 1..PAYLOAD / 8 {
                batch.bytes.extend_from_slice(&self.draws.next_u64().to_le_bytes());
            }
            self.number += 1;
            batch.ends.push((key, batch.bytes.len()));
        }
    }

    /// A draw that favours small numbers: some hosts and tenants have far more than their share.
    fn skewed(&mut self, below_this: u64) -> u64 {
        let draws = &mut self.draws;
        below(draws, below_this).min(below(draws, below_this)).min(below(draws, below_this))
    }

    fn url(&mut self, key: &mut Vec<u8>) {
        let host = self.skewed(HOSTS) as usize;
        let (first, second) = (self.words[host].as_str(), self.words[host + 1].as_str());
        for part in ["https://www.", first, "-", second, ".example"] {
            key.extend_from_slice(part.as_bytes());
        }
        for _ in 0..2 + below(&mut self.draws, 3) {
            let word = self.skewed(WORDS) as usize;
            key.push(b'/');
            key.extend_from_slice(self.words[word].as_bytes());
        }
        // Writing to memory cannot fail.
        let _ = write!(key, "/{:08}", below(&mut self.draws, 100_000_000));
    }

    fn composite(&mut self, key: &mut Vec<u8>) {
        let tenant = self.skewed(1000) as u32;
        let table = self.skewed(40) as u16;
        let number = below(&mut self.draws, 1 << 24);
        // Microseconds within the year 2026.
        let time = 1_767_225_600_000_000 + below(&mut self.draws, 31_536_000_000_000);
        key.extend_from_slice(&tenant.to_be_bytes());
        key.extend_from_slice(&table.to_be_bytes());
        key.extend_from_slice(&number.to_be_bytes());
        key.extend_from_slice(&time.to_be_bytes());
    }
}

/// A word of three or four syllables.
fn word(draws: &mut Xoshiro256PlusPlus) -> String {
    const CONSONANTS: [&str; 16] =
        ["b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr"];
    const VOWELS: [&str; 6] = ["a", "e", "i", "o", "u", "ea"];
    let mut word = String::new();
    for _ in 0..3 + below(draws, 2) {
        word += CONSONANTS[below(draws, 16) as usize];
        word += VOWELS[below(draws, 6) as usize];
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(keys: SortKeys, seed: u64, job: u32) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut batch = Batch::default();
        Records::new(keys, seed, job).fill(&mut batch);
        batch.records().map(|(key, payload)| (key.to_vec(), payload.to_vec())).collect()
    }

    #[test]
    fn a_seed_stands_for_its_records_and_each_job_has_its_own() {
        for keys in SortKeys::ALL {
            assert_eq!(first(keys, 7, 0), first(keys, 7, 0));
            assert_ne!(first(keys, 7, 0), first(keys, 8, 0));
            assert_ne!(first(keys, 7, 0), first(keys, 7, 1));
        }
    }

    #[test]
    fn records_are_numbered_and_as_long_as_the_room_for_runs_is_reckoned_with() {
        for keys in SortKeys::ALL {
            let records = first(keys, 1, 0);
            assert_eq!(records.len(), BATCH);
            for (index, (key, payload)) in records.iter().enumerate() {
                assert_eq!(number(payload), index as u64);
                assert!(
                    (62..=170).contains(&(key.len() + payload.len())),
                    "{}",
                    String::from_utf8_lossy(key)
                );
            }
        }
        let (url, _) = &first(SortKeys::Urls, 1, 0)[0];
        assert!(url.starts_with(b"https://www."), "{}", String::from_utf8_lossy(url));
        assert!(first(SortKeys::Composite, 1, 0).iter().all(|(key, _)| key.len() == 22));
    }
}
