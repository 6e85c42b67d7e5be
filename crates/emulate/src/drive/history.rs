//! An undo log: the image's content before each write that a power cut could still undo.
//!
//! The image always contains what a read returns now. After a cut, a model names for each sector
//! the write whose data is left ([`simdrive::Stamp`]); the log has the image's content at
//! that time and the later writes. Writes older than everything at risk are forgotten, so the log
//! never exceeds the drive's cache.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use simdrive::{SECTOR_BYTES, Stamp};

/// One write, with the content that it replaced.
#[derive(Debug)]
struct Change {
    stamp: Stamp,
    offset: u64,
    before: Before,
}

/// The content that a write replaced. Most of a drive was never written.
#[derive(Debug)]
pub(super) enum Before {
    Zeros(u64),
    Bytes(Box<[u8]>),
}

const ZEROS: [u8; SECTOR_BYTES as usize] = [0; SECTOR_BYTES as usize];

impl Before {
    /// Compresses what was read: zeros are stored as a length.
    pub(super) fn of(read: Vec<u8>) -> Before {
        if read.iter().all(|&byte| byte == 0) {
            Before::Zeros(read.len() as u64)
        } else {
            Before::Bytes(read.into_boxed_slice())
        }
    }

    fn len(&self) -> u64 {
        match self {
            Before::Zeros(bytes) => *bytes,
            Before::Bytes(bytes) => bytes.len() as u64,
        }
    }

    fn sector(&self, index: u64) -> &[u8] {
        match self {
            Before::Zeros(_) => &ZEROS,
            Before::Bytes(bytes) => {
                &bytes[(index * SECTOR_BYTES) as usize..][..SECTOR_BYTES as usize]
            }
        }
    }
}

/// The writes that could be undone, in order.
#[derive(Debug, Default)]
pub(super) struct History {
    changes: VecDeque<Change>,
    bytes: u64,
}

/// A run of sectors whose content a cut has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Restored {
    pub(super) offset: u64,
    /// The content after the cut.
    pub(super) data: Vec<u8>,
}

impl History {
    /// Records a write, whose stamp is above all earlier ones; `before` is the previous content of
    /// its whole range.
    pub(super) fn record(&mut self, stamp: Stamp, offset: u64, before: Before) {
        self.bytes += before.len();
        self.changes.push_back(Change { stamp, offset, before });
    }

    /// Stamp of the oldest write that could be undone.
    pub(super) fn oldest(&self) -> Option<Stamp> {
        self.changes.front().map(|change| change.stamp)
    }

    /// Undoes the latest write if its stamp is at least `from`, and returns the previous content.
    pub(super) fn take_back_newest(&mut self, from: Stamp) -> Option<Restored> {
        self.changes.back().filter(|change| change.stamp >= from)?;
        let change = self.changes.pop_back()?;
        self.bytes -= change.before.len();
        let data = match change.before {
            Before::Zeros(bytes) => vec![0; bytes as usize],
            Before::Bytes(bytes) => bytes.into_vec(),
        };
        Some(Restored { offset: change.offset, data })
    }

    /// Size of the writes in the log.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Forgets the oldest writes as long as they are safe.
    pub(super) fn forget_while(&mut self, is_safe: impl Fn(Stamp) -> bool) {
        while self.changes.front().is_some_and(|change| is_safe(change.stamp)) {
            if let Some(change) = self.changes.pop_front() {
                self.bytes -= change.before.len();
            }
        }
    }

    /// For each written sector, its newest write.
    pub(super) fn newest(&self) -> BTreeMap<u64, Stamp> {
        self.newest_of(|_| true)
    }

    /// The same, considering only the selected writes.
    pub(super) fn newest_of(&self, these: impl Fn(Stamp) -> bool) -> BTreeMap<u64, Stamp> {
        let chosen = self.changes.iter().filter(|change| these(change.stamp));
        chosen.flat_map(|change| change.sectors().map(|sector| (sector, change.stamp))).collect()
    }

    /// Undoes everything that did not survive, and clears the log. `left` names for each written
    /// sector the write whose data it contains; a stamp that is not in the log means something
    /// older.
    pub(super) fn take_back(&mut self, left: &BTreeMap<u64, Stamp>) -> Vec<Restored> {
        let changes = std::mem::take(&mut self.changes);
        self.bytes = 0;
        // From the newest write to the oldest: the content of each unresolved sector before the
        // lost writes.
        let mut restored: BTreeMap<u64, &[u8]> = BTreeMap::new();
        let mut resolved: BTreeSet<u64> = BTreeSet::new();
        for change in changes.iter().rev() {
            for (sector, index) in change.sectors().zip(0..) {
                if resolved.contains(&sector) {
                    continue;
                }
                if left.get(&sector) == Some(&change.stamp) {
                    resolved.insert(sector);
                } else {
                    restored.insert(sector, change.before.sector(index));
                }
            }
        }
        let mut runs: Vec<Restored> = Vec::new();
        for (sector, data) in restored {
            let offset = sector * SECTOR_BYTES;
            match runs.last_mut() {
                Some(run) if run.offset + run.data.len() as u64 == offset => {
                    run.data.extend_from_slice(data);
                }
                _ => runs.push(Restored { offset, data: data.to_vec() }),
            }
        }
        runs
    }
}

impl Change {
    fn sectors(&self) -> std::ops::Range<u64> {
        let first = self.offset / SECTOR_BYTES;
        first..first + self.before.len() / SECTOR_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sectors(values: &[u8]) -> Vec<u8> {
        values.iter().flat_map(|&value| [value; SECTOR_BYTES as usize]).collect()
    }

    /// Sector 0 held 10 and sector 1 held 20; write 1 made both 11 and 21, write 2 made sector 0
    /// 12.
    fn history() -> History {
        let mut history = History::default();
        history.record(1, 0, Before::of(sectors(&[10, 20])));
        history.record(2, 0, Before::of(sectors(&[11])));
        history
    }

    #[test]
    fn each_sector_goes_back_to_what_its_stamp_says() {
        // For each of the two sectors, the write whose data it has, and what is restored: sector
        // and value.
        for (first, second, expected) in [
            (2, 1, vec![]),
            (1, 1, vec![(0, 11)]),
            (0, 0, vec![(0, 10), (1, 20)]),
            (2, 0, vec![(1, 20)]),
            (0, 1, vec![(0, 10)]),
        ] {
            let restored = history().take_back(&BTreeMap::from([(0, first), (1, second)]));
            let flat: Vec<(u64, u8)> = restored
                .iter()
                .flat_map(|run| {
                    let first = run.offset / SECTOR_BYTES;
                    run.data
                        .chunks(SECTOR_BYTES as usize)
                        .zip(first..)
                        .map(|(data, sector)| (sector, data[0]))
                })
                .collect();
            assert_eq!(flat, expected, "{first} {second}");
        }
    }

    #[test]
    fn what_is_forgotten_stays() {
        let mut history = history();
        history.forget_while(|stamp| stamp < 2);
        assert_eq!(history.bytes(), SECTOR_BYTES);
        // Sector 1 was written by the forgotten write and is not touched; sector 0 reverts to the
        // forgotten write's data.
        let restored = history.take_back(&BTreeMap::from([(0, 1)]));
        assert_eq!(restored, [Restored { offset: 0, data: sectors(&[11]) }]);
        assert_eq!(history.bytes(), 0);
    }

    #[test]
    fn the_newest_write_of_each_sector() {
        assert_eq!(history().newest(), BTreeMap::from([(0, 2), (1, 1)]));
    }
}
