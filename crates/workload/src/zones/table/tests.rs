use proptest::prelude::*;

use super::*;
use crate::blocks::{BlockBytes, Limit, Workload};
use crate::parts::JobPart;
use crate::pattern::Pattern;
use crate::random::{below, generator};
use crate::zones::{ZoneCollection, Zoning};

const KIB: u64 = 1024;
const BLOCK: u64 = 4 * KIB;

fn workload(pattern: Pattern) -> Workload {
    let mut workload = Workload::new(pattern, BlockBytes::new(BLOCK).unwrap());
    workload.zoning = Some(Zoning::default());
    workload
}

/// A job on the first `zones` zones.
fn job(workload: &Workload, zones: u64, table: &mut ZoneTable) -> ZoneJob {
    let part = JobPart::within_one_file(0, zones * table.zone_bytes());
    ZoneJob::new(workload, &workload.zoning.unwrap(), part, table)
}

fn granted(claim: Claim) -> Grant {
    match claim {
        Claim::Granted(grant) => grant,
        other => panic!("{other:?}"),
    }
}

/// Performs one operation to its end; returns its offset and bytes.
fn perform(
    table: &mut ZoneTable,
    job: &mut ZoneJob,
    action: ZoneAction,
    offset: u64,
) -> (u64, u64) {
    let grant = loop {
        match table.claim(job, action, offset, BLOCK) {
            Claim::Granted(grant) => break grant,
            Claim::ResetFirst { zone, bytes } => break table.after_reset(job, zone, bytes),
            Claim::FinishFirst { zone } => table.after_finish(zone),
            other => panic!("{other:?}"),
        }
    };
    table.complete(job, grant);
    (grant.offset, grant.bytes)
}

#[test]
fn sequential_writes_fill_zone_after_zone_and_start_over_with_a_reset() {
    let mut table = ZoneTable::imagined(4 * BLOCK, 8 * BLOCK, None);
    let mut job = job(&workload(Pattern::Write), 2, &mut table);
    let mut write = || perform(&mut table, &mut job, ZoneAction::Write, 0).0 / BLOCK;
    let offsets: Vec<u64> = (0..10).map(|_| write()).collect();
    assert_eq!(offsets, [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]);
}

#[test]
fn random_writes_go_to_the_write_pointer_of_the_drawn_zone() {
    let mut table = ZoneTable::imagined(4 * BLOCK, 16 * BLOCK, None);
    let mut job = job(&workload(Pattern::RandWrite), 4, &mut table);
    let mut write =
        |block: u64| perform(&mut table, &mut job, ZoneAction::Write, block * BLOCK).0 / BLOCK;
    assert_eq!([7, 7, 2, 5, 4].map(&mut write), [4, 5, 0, 6, 7]);
    // The zone is full and starts over.
    assert_eq!([6, 6].map(write), [4, 5]);
}

#[test]
fn a_limit_on_open_zones_directs_writes_to_those_that_are_open() {
    let mut table = ZoneTable::imagined(4 * BLOCK, 32 * BLOCK, Some(2));
    let mut job = job(&workload(Pattern::RandWrite), 8, &mut table);
    let mut write =
        |block: u64| perform(&mut table, &mut job, ZoneAction::Write, block * BLOCK).0 / BLOCK;
    // Zones 1 and 6 are opened; the lower half of the draws then goes to the one, the upper half
    // to the other.
    assert_eq!([4, 24, 0, 31, 8].map(&mut write), [4, 24, 5, 25, 6]);
    // A full zone makes room for another one.
    assert_eq!([4, 12, 16].map(&mut write), [7, 12, 13]);
    assert_eq!(table.open_zones(), 2);
}

#[test]
fn a_job_opens_no_more_zones_than_it_may() {
    let mut table = ZoneTable::imagined(4 * BLOCK, 32 * BLOCK, Some(6));
    let mut workload = workload(Pattern::RandWrite);
    workload.zoning = Some(Zoning { job_max_open: Some(1), ..Zoning::default() });
    let mut one = job(&workload, 8, &mut table);
    let mut other = job(&workload, 8, &mut table);
    perform(&mut table, &mut one, ZoneAction::Write, 0);
    perform(&mut table, &mut one, ZoneAction::Write, 8 * BLOCK);
    assert_eq!(table.open_zones(), 1);
    perform(&mut table, &mut other, ZoneAction::Write, 16 * BLOCK);
    assert_eq!(table.open_zones(), 2);
}

#[test]
fn reads_stay_below_the_write_pointer_and_find_the_nearest_zone_with_data() {
    let mut table = ZoneTable::imagined(8 * BLOCK, 64 * BLOCK, None);
    let mut writer = job(&workload(Pattern::RandWrite), 8, &mut table);
    let mut random = job(&workload(Pattern::RandRead), 8, &mut table);
    assert_eq!(table.claim(&mut random, ZoneAction::Read, 0, BLOCK), Claim::Nothing(Lack::Data));
    for _ in 0..3 {
        perform(&mut table, &mut writer, ZoneAction::Write, 40 * BLOCK);
    }
    for block in 0..64 {
        let read = perform(&mut table, &mut random, ZoneAction::Read, block * BLOCK).0 / BLOCK;
        assert!((40..43).contains(&read), "{read}");
    }
    perform(&mut table, &mut writer, ZoneAction::Write, 56 * BLOCK);
    let mut sequential = workload(Pattern::Read);
    sequential.limit = Limit::Count(1000);
    let mut sequential = job(&sequential, 8, &mut table);
    let mut read = || perform(&mut table, &mut sequential, ZoneAction::Read, 0).0 / BLOCK;
    assert_eq!((0..6).map(|_| read()).collect::<Vec<_>>(), [40, 41, 42, 56, 40, 41]);
    let mut anywhere = workload(Pattern::RandRead);
    anywhere.zoning = Some(Zoning { read_beyond_write_pointer: true, ..Zoning::default() });
    let mut anywhere = job(&anywhere, 8, &mut table);
    assert_eq!(perform(&mut table, &mut anywhere, ZoneAction::Read, 9 * BLOCK).0, 9 * BLOCK);
}

#[test]
fn a_pass_of_reads_ends_where_the_data_ends() {
    let mut table = ZoneTable::imagined(4 * BLOCK, 16 * BLOCK, None);
    let mut writer = job(&workload(Pattern::Write), 4, &mut table);
    for _ in 0..6 {
        perform(&mut table, &mut writer, ZoneAction::Write, 0);
    }
    let mut once = workload(Pattern::Read);
    once.limit = Limit::Count(16);
    let mut reader = job(&once, 4, &mut table);
    for _ in 0..6 {
        perform(&mut table, &mut reader, ZoneAction::Read, 0);
    }
    let end = table.claim(&mut reader, ZoneAction::Read, 0, BLOCK);
    assert_eq!(end, Claim::Nothing(Lack::Data));
    // A job that continues until a time starts over.
    let mut reader = job(&workload(Pattern::Read), 4, &mut table);
    assert!(reader.is_timed());
    let last = (0..7).map(|_| perform(&mut table, &mut reader, ZoneAction::Read, 0).0).last();
    assert_eq!(last, Some(0));
}

#[test]
fn one_write_at_a_time_is_in_flight_in_a_zone_and_a_reset_waits_for_reads() {
    let mut table = ZoneTable::imagined(2 * BLOCK, 4 * BLOCK, None);
    let mut writer = job(&workload(Pattern::RandWrite), 2, &mut table);
    let mut reader = job(&workload(Pattern::RandRead), 2, &mut table);
    let mut write = |table: &mut ZoneTable| table.claim(&mut writer, ZoneAction::Write, 0, BLOCK);
    let first = granted(write(&mut table));
    assert_eq!(write(&mut table), Claim::Busy);
    // Data in flight cannot be read yet.
    let nothing = table.claim(&mut reader, ZoneAction::Read, 0, BLOCK);
    assert_eq!(nothing, Claim::Nothing(Lack::Data));
    table.complete(&reader, first);
    let second = granted(write(&mut table));
    let read = granted(table.claim(&mut reader, ZoneAction::Read, 0, BLOCK));
    assert_eq!((first.offset, second.offset, read.offset), (0, BLOCK, 0));
    table.complete(&reader, second);
    assert_eq!(write(&mut table), Claim::Busy);
    table.complete(&reader, read);
    assert_eq!(write(&mut table), Claim::ResetFirst { zone: 0, bytes: BLOCK });
    // Neither reads nor writes while it is being reset.
    assert_eq!(table.claim(&mut reader, ZoneAction::Read, 0, BLOCK), Claim::Busy);
}

#[test]
fn what_is_left_of_a_zone_below_a_block_is_finished() {
    let zone = |index: u64| ZoneState {
        end: index * 16 * KIB + 10 * KIB,
        ..ZoneState::empty(index * 16 * KIB, 16 * KIB)
    };
    let mut table = ZoneTable::new(16 * KIB, (0..3).map(zone).collect(), Some(1));
    let mut job = job(&workload(Pattern::RandWrite), 3, &mut table);
    let mut claim =
        |table: &mut ZoneTable| table.claim(&mut job, ZoneAction::Write, 16 * KIB, BLOCK);
    for offset in [16 * KIB, 20 * KIB] {
        let grant = granted(claim(&mut table));
        assert_eq!(grant.offset, offset);
        table.zones[1].writer = Writer::None;
        table.set_write_pointer(1, offset + BLOCK);
    }
    assert_eq!(claim(&mut table), Claim::FinishFirst { zone: 16 * KIB });
    table.after_finish(16 * KIB);
    assert_eq!(table.open_zones(), 0);
    assert_eq!(claim(&mut table), Claim::ResetFirst { zone: 16 * KIB, bytes: BLOCK });
}

#[test]
fn data_that_is_checked_later_is_never_reset() {
    let mut table = ZoneTable::imagined(4 * BLOCK, 16 * BLOCK, None);
    let mut checked = workload(Pattern::RandWrite);
    let seal = crate::Seal::Checksum { fill: None };
    let time = crate::CheckTime::Afterwards;
    checked.verify =
        Some(crate::Verification { seal, piece_bytes: 4096, time, latest: true, shared: false });
    let mut job = job(&checked, 4, &mut table);
    let mut written: Vec<u64> =
        (0..16).map(|_| perform(&mut table, &mut job, ZoneAction::Write, 0).0 / BLOCK).collect();
    written.sort_unstable();
    assert_eq!(written, (0..16).collect::<Vec<_>>());
    let full = table.claim(&mut job, ZoneAction::Write, 0, BLOCK);
    assert_eq!(full, Claim::Nothing(Lack::Space));
}

#[test]
fn resets_visit_zones_with_data() {
    let mut table = ZoneTable::imagined(4 * BLOCK, 16 * BLOCK, Some(3));
    let mut writer = job(&workload(Pattern::RandWrite), 4, &mut table);
    for block in [4, 12] {
        perform(&mut table, &mut writer, ZoneAction::Write, block * BLOCK);
    }
    assert_eq!(table.open_zones(), 2);
    let mut random = job(&workload(Pattern::RandTrim), 4, &mut table);
    let mut reset = |block: u64| perform(&mut table, &mut random, ZoneAction::Reset, block * BLOCK);
    assert_eq!([0, 0].map(&mut reset), [(4 * BLOCK, 4 * BLOCK), (12 * BLOCK, 4 * BLOCK)]);
    let nothing = table.claim(&mut random, ZoneAction::Reset, 0, BLOCK);
    assert_eq!((nothing, table.open_zones()), (Claim::Nothing(Lack::Used), 0));
    let mut pass = workload(Pattern::Trim);
    pass.limit = Limit::Count(4);
    let mut pass = job(&pass, 4, &mut table);
    let mut next = || perform(&mut table, &mut pass, ZoneAction::Reset, 0).0 / BLOCK;
    assert_eq!([next(), next(), next(), next()], [0, 4, 8, 12]);
}

#[test]
fn zones_are_collected_once_enough_has_been_written() {
    let mut table = ZoneTable::imagined(8 * BLOCK, 32 * BLOCK, None);
    let mut workload = workload(Pattern::Write);
    let collection = ZoneCollection { threshold: 0.5, frequency: 0.25 };
    workload.zoning = Some(Zoning { collection: Some(collection), ..Zoning::default() });
    let mut job = job(&workload, 4, &mut table);
    let mut resets = Vec::new();
    for number in 0..24 {
        let grant = match table.claim(&mut job, ZoneAction::Write, 0, BLOCK) {
            Claim::ResetFirst { zone, bytes } => {
                resets.push(number);
                table.after_reset(&mut job, zone, bytes)
            }
            claim => granted(claim),
        };
        table.complete(&job, grant);
    }
    // Half of the 32 blocks are written after 16 writes; every fourth write from then on resets
    // the zone that it goes to, which takes the data below half again.
    assert_eq!(resets, [19, 23]);
}

#[test]
fn conventional_zones_are_written_anywhere_but_not_across_their_end() {
    let conventional = ZoneState {
        kind: ZoneKind::Conventional,
        write_pointer: 4 * BLOCK,
        ..ZoneState::empty(0, 4 * BLOCK)
    };
    let zones = vec![conventional, ZoneState::empty(4 * BLOCK, 4 * BLOCK)];
    let mut table = ZoneTable::new(4 * BLOCK, zones, Some(1));
    let mut job = job(&workload(Pattern::RandWrite), 2, &mut table);
    let mut write = |offset: u64, bytes: u64| {
        let grant = granted(table.claim(&mut job, ZoneAction::Write, offset, bytes));
        table.complete(&job, grant);
        (grant.offset / BLOCK, grant.bytes / BLOCK)
    };
    assert_eq!(write(2 * BLOCK, BLOCK), (2, 1));
    assert_eq!(write(3 * BLOCK, 2 * BLOCK), (2, 2));
    assert_eq!(write(6 * BLOCK, 2 * BLOCK), (4, 2));
}

/// A zoned drive: refuses what a real one would refuse.
#[derive(Debug)]
struct Drive {
    zone_bytes: u64,
    write_pointers: Vec<u64>,
    capacity: u64,
    limit: usize,
}

impl Drive {
    fn perform(&mut self, grant: Grant) {
        let index = (grant.offset / self.zone_bytes) as usize;
        let end = index as u64 * self.zone_bytes + self.capacity;
        match grant.action {
            ZoneAction::Write => {
                assert_eq!(grant.offset, self.write_pointers[index], "not at the write pointer");
                assert!(grant.bytes > 0 && grant.offset + grant.bytes <= end);
                self.write_pointers[index] += grant.bytes;
            }
            ZoneAction::Read => {
                assert!(grant.bytes > 0);
                assert!(grant.offset + grant.bytes <= self.write_pointers[index], "beyond");
            }
            ZoneAction::Reset => self.reset(grant.offset),
        }
        let start = |index: usize| index as u64 * self.zone_bytes;
        let open = (0..self.write_pointers.len()).filter(|&index| {
            let written = self.write_pointers[index] - start(index);
            written > 0 && written < self.capacity
        });
        let open = open.count();
        assert!(open <= self.limit, "{open} open zones");
    }

    fn reset(&mut self, zone: u64) {
        self.write_pointers[(zone / self.zone_bytes) as usize] = zone;
    }

    fn finish(&mut self, zone: u64) {
        self.write_pointers[(zone / self.zone_bytes) as usize] = zone + self.capacity;
    }
}

proptest! {
    #[test]
    fn a_drive_never_has_anything_to_refuse(
        seed in 0u64..1_000_000,
        limit in 1usize..6,
        jobs in 1usize..5,
        depth in 1usize..5,
        zone_blocks in 2u64..9,
        spare_bytes in 0u64..2 * BLOCK,
        patterns in prop::collection::vec(0usize..6, 5),
    ) {
        let zone_bytes = zone_blocks * BLOCK;
        let capacity = (zone_bytes - spare_bytes.min(zone_bytes - BLOCK)) / 512 * 512;
        let zone = |index: u64| ZoneState {
            end: index * zone_bytes + capacity,
            ..ZoneState::empty(index * zone_bytes, zone_bytes)
        };
        let mut table = ZoneTable::new(zone_bytes, (0..8).map(zone).collect(), Some(limit as u32));
        let write_pointers = (0..8).map(|index| index * zone_bytes).collect();
        let mut drive = Drive { zone_bytes, write_pointers, capacity, limit };
        let kinds = [Pattern::Write, Pattern::RandWrite, Pattern::RandRead, Pattern::Read,
            Pattern::RandRw, Pattern::RandTrim];
        let workloads: Vec<Workload> =
            patterns.iter().take(jobs).map(|&kind| workload(kinds[kind])).collect();
        let mut each: Vec<(ZoneJob, Vec<Grant>)> = (workloads.iter())
            .map(|workload| (job(workload, 8, &mut table), Vec::new()))
            .collect();
        let mut draws = generator(seed, 0);
        let mut performed = 0;
        // On average as many turns for a job that writes, however many only trim.
        for _ in 0..600 * jobs {
            let index = below(&mut draws, jobs as u64) as usize;
            let pattern = workloads[index].pattern;
            let (job, in_flight) = &mut each[index];
            if in_flight.len() == depth || below(&mut draws, 2) == 0 && !in_flight.is_empty() {
                let grant = in_flight.swap_remove(below(&mut draws, in_flight.len() as u64) as usize);
                drive.perform(grant);
                table.complete(job, grant);
                performed += 1;
                continue;
            }
            let action = if pattern.trims() {
                ZoneAction::Reset
            } else if pattern.is_mixed() && below(&mut draws, 2) == 0 || !pattern.writes() {
                ZoneAction::Read
            } else {
                ZoneAction::Write
            };
            let offset = below(&mut draws, 8 * zone_blocks) * BLOCK;
            match table.claim(job, action, offset, BLOCK) {
                Claim::Granted(grant) => in_flight.push(grant),
                Claim::ResetFirst { zone, bytes } => {
                    drive.reset(zone);
                    in_flight.push(table.after_reset(job, zone, bytes));
                }
                Claim::FinishFirst { zone } => {
                    drive.finish(zone);
                    table.after_finish(zone);
                }
                Claim::Nothing(lack) => prop_assert!(
                    lack == Lack::Data || lack == Lack::Used,
                    "a writer found {lack:?}"
                ),
                Claim::Busy => {}
            }
            prop_assert!(table.open_zones() <= limit);
        }
        let writes = workloads.iter().any(|workload| {
            workload.pattern.writes() && !workload.pattern.trims()
        });
        prop_assert!(performed > 50 || !writes, "{performed}");
    }
}
