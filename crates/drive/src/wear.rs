//! The bytes that a drive has written to its medium, by its own counters.
//!
//! | drive | host writes | medium writes |
//! | --- | --- | --- |
//! | NVMe with the OCP's log page | SMART log, data units written | log page C0h, physical media units written |
//! | NVMe of Intel and Solidigm | SMART log, data units written | log page CAh, item F4h |
//! | SATA of Intel and Solidigm | attribute 241, else 225 | attribute 243, else 249 |
//! | SATA of Micron and Crucial | attribute 246 | the ratio of attributes 247 and 248 |
//! | SATA of Kingston's DC450R, DC500 and DC600M | attribute 241 | attribute 233 |
//!
//! Others count nothing that is documented. `commands::ata::written` and `commands::nvme` name the
//! sources.

/// A drive's counters of what it has written since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wear {
    /// Bytes that the host sent; `None` if the drive does not count them.
    pub host: Option<WrittenBytes>,
    pub medium: MediumWrites,
}

/// A counter of bytes that advances in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenBytes {
    pub bytes: u64,
    /// The counter's step.
    pub granule_bytes: u64,
}

/// A drive's count of its writes to flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediumWrites {
    Bytes(WrittenBytes),
    /// Flash pages, whose size is not known.
    Pages {
        /// Programmed with data of the host.
        host: u64,
        /// Programmed with data that the drive moved, or with its own.
        moved: u64,
    },
}

/// A difference of fewer steps than this says little about the writes between two readings.
const GRANULES_MIN: u64 = 10;

impl Wear {
    /// The sum over several drives, such as those of a RAID. `None` if one counts bytes and another
    /// pages.
    pub fn plus(&self, other: &Wear) -> Option<Wear> {
        let host = self.host.zip(other.host).map(|(one, other)| one.plus(other));
        let medium = match (self.medium, other.medium) {
            (MediumWrites::Bytes(one), MediumWrites::Bytes(other)) => {
                MediumWrites::Bytes(one.plus(other))
            }
            (
                MediumWrites::Pages { host, moved },
                MediumWrites::Pages { host: other_host, moved: other_moved },
            ) => MediumWrites::Pages {
                host: host.saturating_add(other_host),
                moved: moved.saturating_add(other_moved),
            },
            _ => return None,
        };
        Some(Wear { host, medium })
    }

    /// The difference between `earlier` and this reading of the same drives. `None` if a counter
    /// went backwards.
    pub fn since(&self, earlier: &Wear) -> Option<Wear> {
        let host = match self.host.zip(earlier.host) {
            Some((now, then)) => Some(now.since(then)?),
            None => None,
        };
        let medium = match (self.medium, earlier.medium) {
            (MediumWrites::Bytes(now), MediumWrites::Bytes(then)) => {
                MediumWrites::Bytes(now.since(then)?)
            }
            (
                MediumWrites::Pages { host, moved },
                MediumWrites::Pages { host: host_then, moved: moved_then },
            ) => MediumWrites::Pages {
                host: host.checked_sub(host_then)?,
                moved: moved.checked_sub(moved_then)?,
            },
            _ => return None,
        };
        Some(Wear { host, medium })
    }

    /// The bytes written to the medium, given the bytes that the kernel sent in the same time.
    ///
    /// `None` if the counters are too coarse for so little, or if the drive's count of the host's
    /// writes differs from the kernel's: then its counters lag behind, or another host, another
    /// namespace or a program with its own driver wrote as well.
    pub fn medium_bytes(&self, sent_bytes: u64) -> Option<u64> {
        if self.host.is_some_and(|host| !host.matches(sent_bytes)) {
            return None;
        }
        match self.medium {
            MediumWrites::Bytes(written) => {
                let least = written.granule_bytes.saturating_mul(GRANULES_MIN);
                (written.bytes >= least).then_some(written.bytes)
            }
            MediumWrites::Pages { host, moved } if host >= GRANULES_MIN => {
                let pages = host.checked_add(moved)?;
                let bytes = u128::from(sent_bytes) * u128::from(pages) / u128::from(host);
                u64::try_from(bytes).ok()
            }
            MediumWrites::Pages { .. } => None,
        }
    }
}

impl WrittenBytes {
    /// The value of a counter with this step; `None` if it is not credible.
    pub(crate) fn counted(count: u64, granule_bytes: u64) -> Option<WrittenBytes> {
        Some(WrittenBytes { bytes: count.checked_mul(granule_bytes)?, granule_bytes })
    }

    fn plus(self, other: WrittenBytes) -> WrittenBytes {
        WrittenBytes {
            bytes: self.bytes.saturating_add(other.bytes),
            granule_bytes: self.granule_bytes.saturating_add(other.granule_bytes),
        }
    }

    fn since(self, earlier: WrittenBytes) -> Option<WrittenBytes> {
        Some(WrittenBytes { bytes: self.bytes.checked_sub(earlier.bytes)?, ..self })
    }

    /// Returns whether this is `sent_bytes`, within a tenth and a step at each end.
    fn matches(self, sent_bytes: u64) -> bool {
        let tolerance = (sent_bytes / 10).saturating_add(self.granule_bytes.saturating_mul(2));
        self.bytes.abs_diff(sent_bytes) <= tolerance
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn bytes(host: u64, medium: u64, granule: u64) -> Wear {
        let counted = |count| WrittenBytes::counted(count, granule).unwrap();
        Wear { host: Some(counted(host)), medium: MediumWrites::Bytes(counted(medium)) }
    }

    fn pages(host: u64, moved: u64) -> Wear {
        Wear { host: None, medium: MediumWrites::Pages { host, moved } }
    }

    #[test]
    fn the_difference_of_two_readings() {
        let (before, after) = (bytes(1000, 3000, MIB), bytes(1100, 3250, MIB));
        assert_eq!(after.since(&before).unwrap().medium_bytes(100 * MIB), Some(250 * MIB));
        // A counter that was reset, or wrapped.
        assert_eq!(before.since(&after), None);
        assert_eq!(after.since(&pages(1, 1)), None);
    }

    #[test]
    fn a_test_that_wrote_less_than_ten_steps_has_no_figure() {
        let of = |medium| bytes(10, medium, 32 * MIB).medium_bytes(320 * MIB);
        assert_eq!((of(9), of(10)), (None, Some(320 * MIB)));
        assert_eq!(pages(9, 100).medium_bytes(MIB), None);
    }

    #[test]
    fn pages_give_the_ratio_only() {
        assert_eq!(pages(1000, 500).medium_bytes(4000), Some(6000));
        assert_eq!(pages(1000, 0).medium_bytes(4000), Some(4000));
    }

    #[test]
    fn writes_that_the_kernel_did_not_send_void_the_figure() {
        let of = |sent_mib| bytes(1000, 2000, MIB).medium_bytes(sent_mib * MIB);
        // Another host sent half of them.
        assert_eq!(of(500), None);
        // The drive has not counted them all yet.
        assert_eq!(of(2000), None);
        // A journal was written between the two readings.
        assert_eq!(of(995), Some(2000 * MIB));
    }

    #[test]
    fn drives_of_a_raid_add_up() {
        let sum = bytes(6, 6, MIB).plus(&bytes(6, 18, MIB)).unwrap();
        assert_eq!(sum, bytes(6, 12, 2 * MIB));
        assert_eq!(pages(1, 2).plus(&pages(10, 20)), Some(pages(11, 22)));
        assert_eq!(bytes(1, 1, MIB).plus(&pages(1, 1)), None);
    }

    proptest! {
        #[test]
        fn no_counters_overflow(host: u64, medium: u64, granule: u64, other: u64, sent: u64) {
            let counter = |bytes| WrittenBytes { bytes, granule_bytes: granule };
            let counted = |host, medium| Wear { host, medium: MediumWrites::Bytes(counter(medium)) };
            let (one, another) = (counted(Some(counter(host)), medium), counted(None, other));
            let paged = pages(host, medium);
            let sums = [one.plus(&one), one.plus(&another), paged.plus(&paged)];
            for wear in sums.into_iter().chain([Some(one), one.since(&another), Some(paged)]) {
                let _ = wear.and_then(|wear| wear.medium_bytes(sent));
            }
        }
    }
}
