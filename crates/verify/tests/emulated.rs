//! `verify` on emulated drives, in virtual time: every fault that the drive injects and that hits an acknowledged record is found and named in its class, alone and in pairs, down to one record in 100 000;
//! and nothing is found on honest drives in a million acknowledged records.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::io;

use emulate::drive::{Command, Cut, Done, Drive};
use emulate::faults::Injected;
use emulate::honesty::{Fault, Honesty, Lie};
use emulate::image::Image;
use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use simdrive::run::Machine;
use verify::disk::Disk;
use verify::filling::fill;
use verify::frontier::Frontiers;
use verify::geometry::Geometry;
use verify::lane::{Lane, Stepped};
use verify::obligations::Obligations;
use verify::run_header::RunHeader;
use verify::schedule::Schedule;
use verify::survey::Survey;
use verify::verdict::{Class, Finding, Verdict, judge};

/// An emulated drive whose time passes when somebody waits for it.
struct Virtual {
    drive: Drive,
    now_ns: u64,
    done: Vec<Done>,
}

impl Virtual {
    fn new(model: &str, lies: &[Lie], seed: u64) -> Virtual {
        let mut machine = Machine::new(catalogue::find_model(model).unwrap().clone());
        machine.capacity_bytes = Some(2 << 30);
        let device = machine.drive(true).unwrap();
        let image = Image::in_memory(device.identity().capacity_bytes);
        let drive = Drive::new(device, image, Honesty::of(lies), machine.model.host.request_most.0, seed);
        Virtual { drive, now_ns: 0, done: Vec::new() }
    }

    fn wait_for(&mut self, command: Command<'_>) -> io::Result<()> {
        self.drive.submit(self.now_ns, 0, command).map_err(io::Error::other)?;
        self.done.clear();
        while self.done.is_empty() {
            self.now_ns = self.now_ns.max(self.drive.next_event().unwrap());
            self.drive.advance(self.now_ns, &mut self.done);
        }
        Ok(())
    }
}

impl Disk for Virtual {
    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.wait_for(Command::Write { offset, data, fua: false })
    }

    fn write_durably(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let fua = self.drive.takes_fua();
        self.wait_for(Command::Write { offset, data, fua })?;
        if fua { Ok(()) } else { self.sync() }
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.drive.wants_flushes() { self.wait_for(Command::Flush) } else { Ok(()) }
    }

    fn read(&mut self, offset: u64, block: &mut [u8]) -> io::Result<()> {
        let mut data = Vec::new();
        self.drive.fetch(offset, block.len(), &mut data).map_err(io::Error::other)?;
        block.copy_from_slice(&data);
        Ok(())
    }

    fn size_bytes(&self) -> u64 {
        self.drive.identity().capacity_bytes
    }
}

/// One cycle, and what is known of it from both sides.
struct Cycle {
    run: RunHeader,
    cut: Cut,
    verdict: Verdict,
    /// Of each lane what had been acknowledged as durable, and what it had completed.
    frontiers: Vec<(u64, u64)>,
    acknowledged: u64,
}

/// As many operations as there are records, so that most of them are there once and nothing hides a fault.
fn cycle(model: &str, lies: &[Lie], slots_per_lane: u32, seed: u64) -> Cycle {
    let geometry = Geometry {
        sector_bytes: 512,
        record_sectors: 2,
        slots_per_lane,
        flush_lanes: 4,
        fua_lanes: 1,
        control_lanes: 1,
        writes_per_sync: 4,
    };
    let run = RunHeader::plain(0x77 + seed, geometry);
    let mut disk = Virtual::new(model, lies, seed);
    fill(&mut disk, &run, &engine::Stop::new(), &mut |_| ()).unwrap();
    let frontiers = Frontiers::new(&geometry);
    let mut obligations = Obligations::new(&geometry);
    let lanes = geometry.lanes();
    for lane in 0..lanes {
        frontiers.extend(lane, u64::MAX);
        obligations.lease(lane, u64::MAX).unwrap();
    }
    let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
    {
        let mut writers: Vec<Lane<'_>> = (0..lanes).map(|lane| Lane::new(&run, lane, &frontiers)).collect();
        for _ in 0..u64::from(slots_per_lane) * u64::from(lanes) {
            let lane = (draws.next_u64() % u64::from(lanes)) as u16;
            assert_ne!(writers[usize::from(lane)].step(&mut disk).unwrap(), Stepped::Waits);
            obligations.acknowledge(disk.now_ns / 1000, lane, frontiers.of(lane)).unwrap();
        }
    }
    let cut = disk.drive.cut(disk.now_ns).unwrap();
    disk.drive.power_on().unwrap();
    let survey = Survey::take(&mut disk, &run, &mut |_| true).unwrap();
    let verdict = judge(&run, Some(&obligations), &survey);
    let acknowledged = verdict.tallies.iter().map(|tally| tally.acknowledged_writes).sum();
    let frontiers = (0..lanes).map(|lane| (frontiers.of(lane).durable, frontiers.of(lane).completed)).collect();
    Cycle { run, cut, verdict, frontiers, acknowledged }
}

/// The classes that a fault may be named: what is gone has several names, by what else survives.
fn names(fault: Fault) -> BTreeSet<Class> {
    const GONE: [Class; 3] = [Class::Lost, Class::Unserializable, Class::RolledBack];
    match fault {
        Fault::BitCorruption => BTreeSet::from([Class::Corrupt]),
        Fault::Shorn => BTreeSet::from([Class::Shorn]),
        Fault::Flying => BTreeSet::from([Class::Flying]),
        Fault::Unserializable | Fault::Metadata => BTreeSet::from(GONE),
        Fault::Dead | Fault::ReadOnly => BTreeSet::new(),
    }
}

impl Cycle {
    /// Whether the record at an address is, in its newest version, what had been acknowledged.
    fn is_acknowledged(&self, address_bytes: u64) -> bool {
        let Some(number) = self.run.geometry.sector_number(address_bytes) else { return false };
        let place = self.run.geometry.location(number);
        let schedule = Schedule::new(self.run.run_id, &self.run.geometry, place.lane);
        let (durable, completed) = self.frontiers[usize::from(place.lane)];
        schedule.version_at(place.index, durable) == schedule.version_at(place.index, completed)
    }

    fn finding_at(&self, from: u64, bytes: u64) -> Vec<&Finding> {
        let sectors = |finding: &&Finding| {
            finding.sectors.iter().any(|&number| {
                let at = self.run.geometry.sector_address_bytes(number);
                (from..from + bytes).contains(&at)
            })
        };
        self.verdict.findings.iter().filter(sectors).collect()
    }

    /// Every injected fault that hit an acknowledged record is found and named; everything that is found was injected. How many were found.
    fn hold_against_injected(&self, what: &str) -> usize {
        let record_bytes = self.run.geometry.record_bytes();
        let mut found = 0;
        for injected in &self.cut.injected {
            let Injected { fault, offset, landed_at, .. } = *injected;
            if fault == Fault::Metadata {
                // A range of a mebibyte: it is enough that something of it is missed.
                let any = self.finding_at(offset, 1 << 20);
                found += usize::from(any.iter().any(|finding| names(fault).contains(&finding.class)));
                continue;
            }
            if !self.is_acknowledged(offset) {
                continue;
            }
            let here = self.finding_at(offset, record_bytes);
            let also: BTreeSet<Class> = self
                .cut
                .injected
                .iter()
                .filter(|other| {
                    other.landed_at == Some(offset)
                        || (other.fault == Fault::Metadata && offset / (1 << 20) * (1 << 20) == other.offset)
                })
                .flat_map(|other| names(other.fault))
                .collect();
            let named =
                here.iter().any(|finding| names(fault).contains(&finding.class) || also.contains(&finding.class));
            assert!(named, "{what}: {injected:?} is not found: {here:#?}");
            if let Some(landed_at) = landed_at {
                let there = self.finding_at(landed_at, record_bytes);
                assert!(
                    !there.is_empty() || !self.is_acknowledged(landed_at),
                    "{what}: {injected:?} ruined a record unseen"
                );
            }
            found += 1;
        }
        for finding in &self.verdict.findings {
            let explained = self.cut.injected.iter().any(|injected| {
                let range = if injected.fault == Fault::Metadata { 1 << 20 } else { record_bytes };
                let at = finding.address_bytes;
                let hits = |from: u64| at + record_bytes > from && at < from + range;
                hits(injected.offset) || injected.landed_at.is_some_and(hits)
            });
            assert!(explained, "{what}: nobody injected {finding:#?}");
        }
        found
    }
}

fn lies(faults: &[(Fault, f64)]) -> Vec<Lie> {
    faults.iter().map(|&(fault, chance)| Lie::Fault(fault, chance)).collect()
}

const OF_WRITES: [Fault; 5] =
    [Fault::BitCorruption, Fault::Shorn, Fault::Flying, Fault::Unserializable, Fault::Metadata];

#[test]
fn each_fault_alone_and_in_pairs() {
    for (index, &first) in OF_WRITES.iter().enumerate() {
        for &second in &OF_WRITES[index..] {
            let mut found = 0;
            for seed in 0..4 {
                let faults = if first == second { vec![(first, 0.002)] } else { vec![(first, 0.002), (second, 0.002)] };
                let cycle = cycle("consumer-nvme", &lies(&faults), 400, seed);
                found += cycle.hold_against_injected(&format!("{first} and {second}, seed {seed}"));
            }
            assert!(found > 3, "{first} and {second}: {found}");
        }
    }
}

#[test]
fn one_record_in_a_hundred_thousand() {
    let faults: Vec<(Fault, f64)> = OF_WRITES.iter().map(|&fault| (fault, 1e-5)).collect();
    let (mut acknowledged, mut found) = (0, 0);
    let mut classes = BTreeSet::new();
    let mut seed = 1000;
    while acknowledged < 500_000 {
        let cycle = cycle("enterprise-nvme", &lies(&faults), 4000, seed);
        found += cycle.hold_against_injected(&format!("seed {seed}"));
        classes.extend(cycle.cut.injected.iter().map(|injected| injected.fault.name()));
        acknowledged += cycle.acknowledged;
        seed += 1;
    }
    // Five in 100 000, less what was overwritten, and metadata that nothing came after.
    assert!(found >= 8 && classes.len() >= 4, "{found} of {acknowledged}: {classes:?}");
}

#[test]
fn nothing_is_found_on_honest_drives_in_a_million_records() {
    let mut acknowledged = 0;
    let models = ["consumer-nvme", "enterprise-nvme", "samsung-980-1tb", "consumer-sata"];
    let mut seed = 0;
    while acknowledged < 1_000_000 {
        let model = models[seed as usize % models.len()];
        let cycle = cycle(model, &[], 4000, seed);
        assert!(cycle.verdict.is_kept(), "{model}, seed {seed}: {:#?}", &cycle.verdict.findings[..1]);
        assert_eq!((cycle.cut.lost_promised, cycle.verdict.never_issued), (0, None), "{model}, seed {seed}");
        acknowledged += cycle.acknowledged;
        seed += 1;
    }
}

#[test]
fn lies_about_flush_and_fua_are_told_apart() {
    let broken = |lie: &str, kind: usize| {
        let lies = [lie.parse().unwrap()];
        (0..12).any(|seed| {
            let cycle = cycle("consumer-nvme", &lies, 100, seed);
            cycle.verdict.findings.iter().any(|finding| finding.kind as usize == kind)
        })
    };
    assert!(broken("ignore-flush", 0), "flushing lanes lose what they were promised");
    assert!(broken("ignore-fua", 1), "FUA lanes do");
    assert!(!broken("ignore-fua", 0), "and the others do not");
    assert!(broken("ack-early=20ms", 0) && broken("ack-early=20ms", 1));
}
