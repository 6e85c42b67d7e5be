//! The contents of a medium, sector by sector, to determine the effect of a power cut. A drive that
//! is only measured tracks nothing.

use std::collections::HashMap;

use crate::device::{SECTOR_BYTES, Stamp};

/// A medium that is overwritten in place.
#[derive(Debug, Clone)]
pub struct Medium {
    sectors: Option<HashMap<u64, Stamp>>,
}

impl Medium {
    /// An empty medium. Unless `tracked`, it stays empty.
    pub fn new(tracked: bool) -> Medium {
        Medium { sectors: tracked.then(HashMap::new) }
    }

    /// Returns `true` if contents are tracked.
    pub const fn is_tracked(&self) -> bool {
        self.sectors.is_some()
    }

    /// Writes the same stamp to all sectors of a range.
    pub fn write(&mut self, offset: u64, bytes: u64, stamp: Stamp) {
        if let Some(sectors) = &mut self.sectors {
            sectors.extend(range(offset, bytes).map(|sector| (sector, stamp)));
        }
    }

    /// Writes one sector, and returns its previous contents.
    pub fn replace(&mut self, sector: u64, stamp: Stamp) -> Stamp {
        self.sectors.as_mut().and_then(|sectors| sectors.insert(sector, stamp)).unwrap_or(0)
    }

    pub fn at(&self, sector: u64) -> Stamp {
        self.sectors.as_ref().and_then(|sectors| sectors.get(&sector)).copied().unwrap_or(0)
    }

    /// The contents of a range of sectors.
    pub fn read(&self, offset: u64, bytes: u64) -> Vec<Stamp> {
        range(offset, bytes).map(|sector| self.at(sector)).collect()
    }
}

/// The sectors of a range of bytes.
pub const fn range(offset: u64, bytes: u64) -> std::ops::Range<u64> {
    offset / SECTOR_BYTES..(offset + bytes) / SECTOR_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracked_medium_holds_what_was_written_last_and_another_nothing() {
        let mut medium = Medium::new(true);
        medium.write(512, 1024, 7);
        medium.write(1024, 512, 8);
        assert_eq!((medium.replace(2, 9), medium.replace(5, 9)), (8, 0));
        assert_eq!((medium.read(0, 2048), medium.at(5)), (vec![0, 7, 9, 0], 9));
        let mut untracked = Medium::new(false);
        untracked.write(0, 512, 7);
        assert_eq!((untracked.replace(0, 8), untracked.at(0)), (0, 0));
        assert!(medium.is_tracked() && !untracked.is_tracked());
    }
}
