//! Emergent properties of the flash: write amplification, wear, and low memory use.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use workload::random::below;

use super::*;

const GIB: u64 = 1 << 30;

fn flash(capacity_bytes: u64, spare: f64) -> Flash {
    let program = Program { units: 24, ns: 1_000_000 };
    let shape = Shape {
        units: capacity_bytes / UNIT_BYTES,
        multi: program,
        slc: None,
        dies: 8,
        programs_per_block: 256,
        erase_ns: 3_000_000,
        spare,
    };
    Flash::new(shape, 8, Speed::from_mb_per_s(1000.0), dies::Sense::new(60.0, 0.0), false)
}

/// Overwrites the first `units` at random; returns the write amplification of the last of `rounds`
/// rounds, each as large as that area.
fn overwrite(flash: &mut Flash, units: u32, rounds: u32) -> f64 {
    let mut draws = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut now = 0;
    let mut before = flash.wear();
    for _ in 0..rounds {
        before = flash.wear();
        for _ in 0..units {
            let unit = below(&mut draws, units.into()) as u32;
            now = flash.room_at(now, UNIT_BYTES, 4 << 20);
            flash.write(unit, now, None::<fn(Sectors) -> Sectors>);
        }
    }
    let after = flash.wear();
    let host = (after.host_units - before.host_units) as f64;
    (host + (after.moved_units - before.moved_units) as f64) / host
}

/// Xiang and Kurkoski, "An improved analytical expression for write amplification in NAND flash"
/// (2010): `r / (r + W0(-r e^-r))`, with `r` the ratio of flash to data, for uniform random writes
/// and greedy collection.
fn expected(r: f64) -> f64 {
    // x e^-x = r e^-r has a second root below 1, which is -W0(-r e^-r).
    let (mut low, mut high) = (0.0f64, 1.0f64);
    let goal = r * (-r).exp();
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if middle * (-middle).exp() < goal { low = middle } else { high = middle }
    }
    r / (r - low)
}

#[test]
fn write_amplification_is_what_theory_says() {
    for spare in [0.07, 0.15, 0.28, 0.5] {
        let mut flash = flash(2 * GIB, spare);
        let units = (2 * GIB / UNIT_BYTES) as u32;
        flash.lay_out(units);
        let found = overwrite(&mut flash, units, 4);
        let expected = expected(1.0 + spare);
        assert!(
            (found / expected - 1.0).abs() < 0.07,
            "spare {spare}: {found} instead of {expected}"
        );
    }
}

#[test]
fn what_is_not_written_to_is_spare_flash() {
    let mut found = Vec::new();
    for share in [4, 3, 2] {
        let mut flash = flash(2 * GIB, 0.07);
        let units = (2 * GIB / UNIT_BYTES / 4 * share) as u32;
        flash.lay_out(units);
        let amplification = overwrite(&mut flash, units, 4);
        let expected = expected(1.07 * 4.0 / share as f64);
        assert!(
            (amplification / expected - 1.0).abs() < 0.07,
            "{share}/4 full: {amplification} instead of {expected}"
        );
        found.push(amplification);
    }
    assert!(found.is_sorted_by(|one, other| one > other), "{found:?}");
}

#[test]
fn wear_is_levelled() {
    let mut flash = flash(GIB / 2, 0.2);
    let units = (GIB / 2 / UNIT_BYTES) as u32;
    flash.lay_out(units);
    // Only an eighth is ever written again. Without levelling, the superblocks of the rest would
    // never be erased; now the most worn one is erased 3 times as often as the median, which is
    // 1.6 times the least.
    overwrite(&mut flash, units / 8, 400);
    let (least, most) = flash.blocks.erases_range();
    assert!(least > 0 && most < 6 * least, "{least} to {most} erasures");
}

/// The memory use stated in the crate's documentation.
#[test]
fn four_terabytes_take_less_than_a_gibibyte() {
    let mut flash = flash(4_000_000_000_000 >> 20 << 20, 0.07);
    let units = flash.shape.units as u32;
    flash.lay_out(units);
    let mut draws = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut now = 0;
    for _ in 0..10_000_000 {
        now = flash.room_at(now, UNIT_BYTES, 64 << 20);
        flash.write(below(&mut draws, units.into()) as u32, now, None::<fn(Sectors) -> Sectors>);
    }
    let mib = flash.memory_bytes() >> 20;
    assert!((1..1024).contains(&mib), "{mib} MiB");
    println!("{mib} MiB");
}

/// Checks the map's invariants: each unit is in the slot that was last written for it, and each
/// superblock knows how many of its units are current.
fn expect_consistent(flash: &Flash, units: u32) {
    let mut held = std::collections::BTreeMap::<u32, u32>::new();
    for unit in 0..units {
        let Some(slot) = flash.map.get(unit) else { continue };
        let block = flash.blocks.block_of(slot);
        assert_eq!(flash.blocks.owner(block, slot - flash.blocks.slot(block, 0)), unit);
        *held.entry(block).or_default() += 1;
    }
    for (block, held) in held {
        assert_eq!(flash.blocks.valid(block), held, "superblock {block}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(24))]

    #[test]
    fn the_map_is_consistent_whatever_happens(
        steps in proptest::collection::vec((0u8..5, 0u32..30_000), 1..60), one_bit: bool, seed: u64
    ) {
        let mut flash = flash(GIB / 8, 0.1);
        let slc = SlcShape { program: Program { units: 8, ns: 200_000 }, size_bytes: 8 << 20, free_bytes: 6 << 20, request_bytes_max: u64::MAX };
        flash.shape.slc = one_bit.then_some(slc);
        flash.slc_room = flash.shape.slc.map_or(0, |slc| slc.free_bytes);
        let units = (GIB / 8 / UNIT_BYTES) as u32;
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut now = 0;
        for (step, amount) in steps {
            match step {
                0..=1 => for _ in 0..amount {
                    now = flash.room_at(now, UNIT_BYTES, 4 << 20);
                    flash.write(below(&mut draws, units.into()) as u32, now, None::<fn(Sectors) -> Sectors>);
                },
                2 => now = flash.force(now),
                3 => {
                    now += Ns::from(amount) * 1000;
                    flash.catch_up(now);
                }
                _ => flash.power_cut(now, false, &mut draws),
            }
            expect_consistent(&flash, units);
        }
    }
}
