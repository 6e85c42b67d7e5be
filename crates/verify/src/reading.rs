//! Reads a target back and judges it, with a second reading of whatever contradicts the run.
//!
//! A drive may return an old version once, from a cache or a mapping that it then corrects. A
//! single reading would report a lost write that the next check could not find. Two readings that
//! differ are a fault in itself, whichever of them is right.

use crate::disk::Disk;
use crate::obligations::Obligations;
use crate::run_header::RunHeader;
use crate::survey::{Stopped, Survey};
use crate::verdict::{Verdict, doubted, judge};

/// Reads a target and judges it. `progress` receives the share that is done, from 0 to 1, and
/// returns whether to continue.
///
/// # Errors
/// [`Stopped`] if `progress` returned false.
pub(crate) fn read_and_judge(
    disk: &mut impl Disk,
    run: &RunHeader,
    obligations: Option<&Obligations>,
    progress: &mut dyn FnMut(f64) -> bool,
) -> Result<(Survey, Verdict), Stopped> {
    let mut survey = Survey::take(disk, run, progress)?;
    let doubted = doubted(run, obligations, &survey);
    if !doubted.is_empty() {
        survey.read_again(disk, run, &doubted, &mut || progress(1.0))?;
    }
    let verdict = judge(run, obligations, &survey);
    Ok((survey, verdict))
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::frontier::Frontier;
    use crate::geometry::Geometry;
    use crate::geometry::tests::small;
    use crate::lane::fill_record;
    use crate::schedule::{Operation, Schedule};
    use crate::survey::{Damage, Oddity};
    use crate::verdict::{Class, Evidence};

    /// Memory that returns older content for the first `times` reads of a range.
    struct Stale {
        bytes: Vec<u8>,
        old: Vec<u8>,
        at: usize,
        times: u32,
    }

    impl Disk for Stale {
        fn write(&mut self, offset: u64, block: &[u8]) -> io::Result<()> {
            self.bytes[offset as usize..][..block.len()].copy_from_slice(block);
            Ok(())
        }
        fn write_durably(&mut self, offset: u64, block: &[u8]) -> io::Result<()> {
            self.write(offset, block)
        }
        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
        fn read(&mut self, offset: u64, block: &mut [u8]) -> io::Result<()> {
            let range = offset as usize..offset as usize + block.len();
            block.copy_from_slice(&self.bytes[range.clone()]);
            if range.contains(&self.at) && self.times > 0 {
                self.times -= 1;
                block[self.at - range.start..][..self.old.len()].copy_from_slice(&self.old);
            }
            Ok(())
        }
        fn size_bytes(&self) -> u64 {
            self.bytes.len() as u64
        }
    }

    /// A lane whose acknowledged first record reads as its filling, the first `times` times.
    fn stale(lane: u16, times: u32) -> (Verdict, Survey) {
        let run = RunHeader::plain(11, Geometry { writes_per_sync: 1, ..small() });
        let geometry = &run.geometry;
        let mut disk =
            Stale { bytes: vec![0; geometry.size_bytes() as usize], old: Vec::new(), at: 0, times };
        let record_bytes = geometry.record_bytes() as usize;
        for lane in 0..geometry.lanes() {
            for index in 0..geometry.slots_per_lane {
                let at = geometry.address_bytes(lane, index) as usize;
                fill_record(&run, lane, index, &mut disk.bytes[at..at + record_bytes]);
            }
        }
        let Operation::Write { index, .. } = Schedule::new(run.run_id, geometry, lane).operation(1)
        else {
            panic!("the first operation of a lane is a write");
        };
        disk.at = geometry.address_bytes(lane, index) as usize;
        disk.old = disk.bytes[disk.at..][..record_bytes].to_vec();
        let frontiers = crate::frontier::Frontiers::new(geometry);
        frontiers.extend(lane, 2);
        let mut writer = crate::lane::Lane::new(&run, lane, &frontiers);
        while writer.step(&mut disk).unwrap() != crate::lane::Stepped::Waits {}
        let mut obligations = Obligations::new(geometry);
        obligations.lease(lane, 2).unwrap();
        let Frontier { completed, durable } = frontiers.of(lane);
        obligations.acknowledge(1, lane, Frontier { completed, durable }).unwrap();
        let (survey, verdict) =
            read_and_judge(&mut disk, &run, Some(&obligations), &mut |_| true).unwrap();
        (verdict, survey)
    }

    #[test]
    fn old_then_new_content_is_unstable_and_not_lost() {
        let (right, _) = stale(0, 0);
        assert!(right.is_kept(), "{right:?}");
        let (once, _) = stale(0, 1);
        let unstable = Evidence::Sector(Oddity::Corrupt(Damage::Unstable));
        assert_eq!(once.findings.len(), 1, "{once:?}");
        assert_eq!(
            (once.findings[0].class, &once.findings[0].evidence),
            (Class::Corrupt, &unstable)
        );
        let (always, _) = stale(0, u32::MAX);
        // A single earlier moment explains it: the drive reverted as a whole.
        assert_eq!(
            (always.findings.len(), always.findings[0].class),
            (1, Class::RolledBack),
            "{always:?}"
        );
    }

    /// A write of a control lane that is there after all does not show a power cut.
    #[test]
    fn apparent_losses_of_control_lanes_are_read_again() {
        let control = small().flush_lanes + small().fua_lanes;
        let (always, _) = stale(control, u32::MAX);
        assert_eq!((always.legal.control_lost, always.findings.len()), (1, 0), "{always:?}");
        let (once, _) = stale(control, 1);
        assert_eq!(once.legal.control_lost, 0, "{once:?}");
        assert_eq!(once.findings[0].class, Class::Corrupt);
    }

    #[test]
    fn the_second_reading_can_be_stopped() {
        let run = RunHeader::plain(11, small());
        let mut disk = Stale {
            bytes: vec![0; run.geometry.size_bytes() as usize],
            old: Vec::new(),
            at: 0,
            times: 0,
        };
        let mut survey = Survey::take(&mut disk, &run, &mut |_| true).unwrap();
        assert_eq!(survey.read_again(&mut disk, &run, &[0], &mut || false), Err(Stopped));
    }
}
