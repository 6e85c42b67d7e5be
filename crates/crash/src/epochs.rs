//! The log cut at its flushes. Whatever stands between two flushes may be lost in any combination; whatever stands before the first of them is there.

use crate::log::Entry;

/// What was written between two flushes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Epoch {
    /// The writes, as places in the log.
    pub writes: Vec<usize>,
    /// The first entry that a cut in this epoch knows nothing of: the next flush, or the log's end.
    pub end: usize,
}

/// Cuts a log. The last epoch ends with the log and no flush; flushes with nothing between them make no epoch of their own.
pub fn epochs(entries: &[Entry]) -> Vec<Epoch> {
    let mut epochs = Vec::new();
    let mut current = Epoch::default();
    for (index, entry) in entries.iter().enumerate() {
        match entry {
            Entry::Write { .. } | Entry::Zeros { .. } => current.writes.push(index),
            Entry::Flush if !current.writes.is_empty() => {
                current.end = index;
                epochs.push(std::mem::take(&mut current));
            }
            Entry::Flush | Entry::Printed(_) => {}
        }
    }
    current.end = entries.len();
    epochs.push(current);
    epochs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_cut_at_its_flushes() {
        let write = || Entry::Zeros { offset: 0, bytes: 512 };
        let log = [write(), write(), Entry::Flush, Entry::Flush, Entry::Printed(vec![]), write(), Entry::Flush];
        let epoch = |writes: &[usize], end| Epoch { writes: writes.to_vec(), end };
        assert_eq!(epochs(&log), [epoch(&[0, 1], 2), epoch(&[5], 6), epoch(&[], 7)]);
    }
}
