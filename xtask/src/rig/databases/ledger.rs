//! The acknowledged transactions, and which of them survived.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;

/// The transactions of one database, kept in the rig's memory, which no power cut reaches.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The highest number sent so far.
    sent: u64,
    acknowledged: BTreeSet<u64>,
    lost: BTreeSet<u64>,
}

impl Ledger {
    /// The number of the next transaction. Numbers are never reused: a transaction in flight at a
    /// cut may or may not survive.
    pub const fn next(&self) -> u64 {
        self.sent + 1
    }

    /// Adds what a client did up to a cut.
    pub fn enter(&mut self, sent: u64, acknowledged: impl IntoIterator<Item = u64>) {
        self.sent = self.sent.max(sent);
        self.acknowledged.extend(acknowledged);
    }

    /// Number of transactions acknowledged so far.
    pub fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    /// Number of those that were missing after any cut.
    pub fn lost(&self) -> usize {
        self.lost.len()
    }

    /// Looks up every transaction in the rows of a database. A row that was never sent, or with
    /// other content, is an error.
    pub fn compare(&mut self, rows: &BTreeMap<u64, String>) -> anyhow::Result<()> {
        for (&number, content) in rows {
            ensure!((1..=self.sent).contains(&number), "row {number} was never sent");
            ensure!(*content == payload(number), "row {number} holds `{content}`");
        }
        self.lost.extend(self.acknowledged.iter().filter(|number| !rows.contains_key(number)));
        Ok(())
    }
}

/// The content of the transaction with this number: long enough that a page holds only a few, and
/// different for each.
pub fn payload(number: u64) -> String {
    // Multiplied by the golden ratio, so neighbours differ in every digit.
    format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).repeat(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(numbers: &[u64]) -> BTreeMap<u64, String> {
        numbers.iter().map(|&number| (number, payload(number))).collect()
    }

    #[test]
    fn what_was_acknowledged_has_to_be_there() {
        let mut ledger = Ledger::default();
        ledger.enter(4, 1..=3);
        // The transaction in flight may or may not survive.
        ledger.compare(&rows(&[1, 2, 3, 4])).unwrap();
        ledger.compare(&rows(&[1, 2, 3])).unwrap();
        assert_eq!((ledger.acknowledged(), ledger.lost(), ledger.next()), (3, 0, 5));
        ledger.compare(&rows(&[1, 3])).unwrap();
        ledger.enter(7, 5..=7);
        ledger.compare(&rows(&[1, 3, 4, 5])).unwrap();
        // Each loss counts once.
        assert_eq!((ledger.acknowledged(), ledger.lost()), (6, 3));
    }

    #[test]
    fn rows_that_were_never_sent_are_reported() {
        let mut ledger = Ledger::default();
        ledger.enter(2, 1..=2);
        assert_eq!(
            ledger.compare(&rows(&[1, 2, 3])).unwrap_err().to_string(),
            "row 3 was never sent"
        );
        let wrong = BTreeMap::from([(1, payload(1)), (2, "x".to_owned())]);
        assert_eq!(ledger.compare(&wrong).unwrap_err().to_string(), "row 2 holds `x`");
    }
}
