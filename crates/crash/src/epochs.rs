//! Splits the log at its flushes. Writes between two flushes may be lost in any combination; writes
//! before the first of the two are safe.

use crate::log::Entry;

/// The writes between two flushes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Epoch {
    /// The writes, as indices into the log.
    pub writes: Vec<usize>,
    /// The index of the first entry after the epoch: the next flush, or the end of the log.
    pub end: usize,
}

/// Splits a log. The last epoch ends with the log, without a flush; flushes with nothing between
/// them do not make an epoch.
pub(crate) fn epochs(entries: &[Entry]) -> Vec<Epoch> {
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
    debug_assert!(
        epochs.is_sorted_by(|one, next| one.end < next.end || next.writes.is_empty()),
        "epochs are in the order of the log"
    );
    epochs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_cut_at_its_flushes() {
        let write = || Entry::Zeros { offset: 0, bytes: 512 };
        let log = [
            write(),
            write(),
            Entry::Flush,
            Entry::Flush,
            Entry::Printed(vec![]),
            write(),
            Entry::Flush,
        ];
        let epoch = |writes: &[usize], end| Epoch { writes: writes.to_vec(), end };
        assert_eq!(epochs(&log), [epoch(&[0, 1], 2), epoch(&[5], 6), epoch(&[], 7)]);
    }
}
