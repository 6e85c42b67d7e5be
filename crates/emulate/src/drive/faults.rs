//! Faults at a power cut beyond the model's physics and the drive's lies: selected per write,
//! injected at the cut.
//!
//! A write is selected when it is made, because the previous content has to be known. It is damaged
//! only if its data is still there: writes that were overwritten since, lost anyway, or made long
//! ago are left alone. So everything in [`InjectedFault`] is visible to a reader of the drive.

use std::collections::{BTreeMap, VecDeque};
use std::io;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use simdrive::SECTOR_BYTES;

use crate::honesty::{Fault, Honesty};
use crate::image::Image;

/// The range that one page of a mapping table may cover.
const RANGE_BYTES: u64 = 1 << 20;
/// A tear within a sector falls on a multiple of this.
const SHARD_BYTES: usize = 64;
/// Data of selected writes that is kept at most: a power cut damages recent writes.
const CHOSEN_BYTES_MAX: usize = 256 << 20;
/// Positions of recent writes, where a misdirected write may land.
const PLACES: usize = 1024;

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct InjectedFault {
    pub fault: Fault,
    /// Intended offset of the damaged write, in bytes; 0 for the whole drive.
    pub offset: u64,
    /// Length of the damage, in bytes; 0 for the whole drive.
    pub bytes: u64,
    /// The offset where a misdirected ("flying") write landed, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub landed_at: Option<u64>,
}

/// A write selected to be damaged.
#[derive(Debug)]
struct Chosen {
    fault: Fault,
    offset: u64,
    before: Vec<u8>,
    data: Vec<u8>,
}

/// A range whose mapping will revert to its state at selection.
#[derive(Debug, Default)]
struct Doomed {
    before: BTreeMap<u64, Box<[u8]>>,
}

#[derive(Debug)]
pub(super) struct Faults {
    chances: Vec<(Fault, f64)>,
    chance: Xoshiro256PlusPlus,
    chosen: VecDeque<Chosen>,
    chosen_bytes: usize,
    doomed: BTreeMap<u64, Doomed>,
    places: Vec<u64>,
    writes: u64,
}

impl Faults {
    pub(super) fn new(honesty: &Honesty, seed: u64) -> Faults {
        Faults {
            chances: honesty.faults.clone(),
            chance: Xoshiro256PlusPlus::seed_from_u64(seed),
            chosen: VecDeque::new(),
            chosen_bytes: 0,
            doomed: BTreeMap::new(),
            places: Vec::new(),
            writes: 0,
        }
    }

    fn happens(&mut self, chance: f64) -> bool {
        // 53 bits, the precision of a double.
        (self.chance.next_u64() >> 11) as f64 / (1u64 << 53) as f64 <= chance && chance > 0.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.chance.next_u64() % bound.max(1)
    }

    /// Records a write, while `image` still has the previous content. A drive without faults passes
    /// on what it gets.
    #[inline]
    pub(super) fn write(&mut self, image: &Image, offset: u64, data: &[u8]) -> io::Result<()> {
        if self.chances.is_empty() { Ok(()) } else { self.choose(image, offset, data) }
    }

    /// Records a write of zeros; see [`Faults::write`].
    pub(super) fn zero(&mut self, image: &Image, offset: u64, bytes: u64) -> io::Result<()> {
        if self.chances.is_empty() {
            Ok(())
        } else {
            self.choose(image, offset, &vec![0; bytes as usize])
        }
    }

    fn choose(&mut self, image: &Image, offset: u64, data: &[u8]) -> io::Result<()> {
        self.writes += 1;
        let bytes = data.len() as u64;
        for range in offset / RANGE_BYTES..=(offset + bytes - 1) / RANGE_BYTES {
            let Some(doomed) = self.doomed.get_mut(&range) else { continue };
            let (from, to) =
                (offset.max(range * RANGE_BYTES), (offset + bytes).min((range + 1) * RANGE_BYTES));
            for sector in from / SECTOR_BYTES..to / SECTOR_BYTES {
                if let std::collections::btree_map::Entry::Vacant(entry) =
                    doomed.before.entry(sector)
                {
                    let mut before = vec![0; SECTOR_BYTES as usize].into_boxed_slice();
                    image.read(sector * SECTOR_BYTES, &mut before)?;
                    entry.insert(before);
                }
            }
        }
        for index in 0..self.chances.len() {
            let (fault, chance) = self.chances[index];
            if fault.is_of_the_whole_drive() || !self.happens(chance) {
                continue;
            }
            if fault == Fault::Metadata {
                self.doomed.entry(offset / RANGE_BYTES).or_default();
            } else {
                let mut before = vec![0; data.len()];
                image.read(offset, &mut before)?;
                self.chosen_bytes += data.len();
                self.chosen.push_back(Chosen { fault, offset, before, data: data.to_vec() });
                while self.chosen_bytes > CHOSEN_BYTES_MAX
                    && let Some(oldest) = self.chosen.pop_front()
                {
                    self.chosen_bytes -= oldest.data.len();
                }
            }
        }
        let place = (self.writes % PLACES as u64) as usize;
        if place < self.places.len() {
            self.places[place] = offset;
        } else {
            self.places.push(offset);
        }
        Ok(())
    }

    /// Injects the selected faults after a power cut, and forgets them. `image` contains what the
    /// cut left.
    pub(super) fn strike(&mut self, image: &mut Image) -> io::Result<Vec<InjectedFault>> {
        let mut injected = Vec::new();
        for (range, doomed) in std::mem::take(&mut self.doomed) {
            let mut wrong_bytes = 0;
            for (sector, before) in doomed.before {
                let mut now = vec![0; before.len()];
                image.read(sector * SECTOR_BYTES, &mut now)?;
                if *now != *before {
                    image.write(sector * SECTOR_BYTES, &before)?;
                    wrong_bytes += SECTOR_BYTES;
                }
            }
            if wrong_bytes > 0 {
                let offset = range * RANGE_BYTES;
                injected.push(InjectedFault {
                    fault: Fault::Metadata,
                    offset,
                    bytes: wrong_bytes,
                    landed_at: None,
                });
            }
        }
        self.chosen_bytes = 0;
        for chosen in std::mem::take(&mut self.chosen) {
            let mut now = vec![0; chosen.data.len()];
            image.read(chosen.offset, &mut now)?;
            if now == chosen.data && chosen.before != chosen.data {
                injected.extend(self.strike_one(image, &chosen)?);
            }
        }
        for (fault, chance) in self.chances.clone() {
            if fault.is_of_the_whole_drive() && self.happens(chance) {
                injected.push(InjectedFault { fault, offset: 0, bytes: 0, landed_at: None });
            }
        }
        Ok(injected)
    }

    fn strike_one(
        &mut self,
        image: &mut Image,
        chosen: &Chosen,
    ) -> io::Result<Option<InjectedFault>> {
        let Chosen { fault, offset, ref before, ref data } = *chosen;
        let bytes = data.len() as u64;
        let told = |bytes| Some(InjectedFault { fault, offset, bytes, landed_at: None });
        match fault {
            Fault::Unserializable => {
                image.write(offset, before)?;
                Ok(told(bytes))
            }
            Fault::BitCorruption => {
                let mut wrong = data.clone();
                let sector = self.below(bytes / SECTOR_BYTES) * SECTOR_BYTES;
                for _ in 0..=self.below(8) {
                    let bit = self.below(SECTOR_BYTES * 8);
                    wrong[(sector + bit / 8) as usize] ^= 1 << (bit % 8);
                }
                // Two flips of the same bit cancel out.
                if wrong == *data {
                    wrong[sector as usize] ^= 1;
                }
                image.write(offset, &wrong)?;
                Ok(told(SECTOR_BYTES))
            }
            Fault::Shorn => {
                let unit = if bytes > SECTOR_BYTES { SECTOR_BYTES as usize } else { SHARD_BYTES };
                let units = data.len() / unit;
                // Choose a tear that is visible: some byte after it differs.
                let last = (0..units).rev().find(|at| {
                    data[at * unit..(at + 1) * unit] != before[at * unit..(at + 1) * unit]
                });
                let Some(last) = last.filter(|last| *last > 0) else { return Ok(None) };
                let kept = (1 + self.below(last as u64) as usize) * unit;
                image.write(offset + kept as u64, &before[kept..])?;
                Ok(told(bytes - kept as u64))
            }
            Fault::Flying => {
                let fits =
                    |place: &u64| place.abs_diff(offset) >= bytes && place + bytes <= image.bytes();
                let places: Vec<u64> = self.places.iter().copied().filter(fits).collect();
                let Some(&place) = places.get(self.below(places.len() as u64) as usize) else {
                    return Ok(None);
                };
                image.write(offset, before)?;
                image.write(place, data)?;
                Ok(Some(InjectedFault { fault, offset, bytes, landed_at: Some(place) }))
            }
            Fault::Metadata | Fault::Dead | Fault::ReadOnly => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::honesty::Lie;

    const RECORD: usize = 4096;

    /// 100 records written twice; each write is damaged with this probability.
    fn struck(fault: Fault, chance: f64, seed: u64) -> (Vec<InjectedFault>, Image) {
        let mut image = Image::in_memory(4 << 20);
        let mut faults = Faults::new(&Honesty::of(&[Lie::Fault(fault, chance)]), seed);
        for version in 1..=2u8 {
            for record in 0..100u64 {
                let data = [version; RECORD];
                let offset = record * RECORD as u64;
                faults.write(&image, offset, &data).unwrap();
                image.write(offset, &data).unwrap();
            }
        }
        let injected = faults.strike(&mut image).unwrap();
        (injected, image)
    }

    fn record(image: &Image, offset: u64) -> Vec<u8> {
        let mut data = vec![0; RECORD];
        image.read(offset, &mut data).unwrap();
        data
    }

    #[test]
    fn each_fault_is_what_it_says_and_where_it_says() {
        for seed in 0..20 {
            let (injected, image) = struck(Fault::Unserializable, 0.1, seed);
            assert!(!injected.is_empty());
            let wrong = |image: &Image| {
                (0..100).filter(|at| record(image, at * 4096) != [2; RECORD]).count()
            };
            assert_eq!(wrong(&image), injected.len());
            assert!(injected.iter().all(|one| record(&image, one.offset) == [1; RECORD]));

            let (injected, image) = struck(Fault::Shorn, 0.1, seed);
            assert_eq!(wrong(&image), injected.len());
            for one in injected {
                let kept = RECORD - one.bytes as usize;
                let data = record(&image, one.offset);
                assert!(
                    data[..kept].iter().all(|&byte| byte == 2)
                        && data[kept..].iter().all(|&byte| byte == 1)
                );
            }

            let (injected, image) = struck(Fault::BitCorruption, 0.1, seed);
            assert_eq!(wrong(&image), injected.len());
            for one in injected {
                let flipped: u32 =
                    record(&image, one.offset).iter().map(|byte| (byte ^ 2).count_ones()).sum();
                assert!((1..=8).contains(&flipped), "{flipped}");
            }

            let (injected, image) = struck(Fault::Flying, 0.02, seed);
            for one in injected {
                assert_ne!(one.landed_at, None);
                // Unless another one landed there.
                assert!([1, 2].contains(&record(&image, one.offset)[0]));
            }

            let (injected, image) = struck(Fault::Metadata, 0.01, seed);
            let wrong_bytes: u64 = injected.iter().map(|one| one.bytes).sum();
            let old = (0..100)
                .map(|at| record(&image, at * 4096))
                .filter(|data| *data != [2; RECORD])
                .count();
            assert_eq!(wrong_bytes, old as u64 * 4096);
        }
    }

    #[test]
    fn the_chance_is_that_of_each_write() {
        let count: usize =
            (0..200).map(|seed| struck(Fault::Unserializable, 0.01, seed).0.len()).sum();
        // 200 runs of 100 records that still exist: 200 expected, with a standard deviation of 14.
        assert!((130..270).contains(&count), "{count}");
        assert_eq!((0..50).map(|seed| struck(Fault::Dead, 1.0, seed).0.len()).sum::<usize>(), 50);
        assert_eq!((0..50).map(|seed| struck(Fault::Dead, 0.0, seed).0.len()).sum::<usize>(), 0);
    }
}
