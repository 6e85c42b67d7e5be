//! Power cuts of drives with data, in virtual time: honest drives keep their promises to the byte;
//! liars are caught.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use emulate::{Command, Cut, Done, Drive, Honesty, Image, Lie, Power, Refused};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use simdrive::{Machine, SECTOR_BYTES};

const CAPACITY: u64 = 2 << 30;
/// The part that is written to.
const PLAYGROUND: u64 = 4 << 20;

/// One write of one sector.
#[derive(Debug, Clone, Copy)]
struct Written {
    tag: u64,
    value: u64,
    acknowledged: bool,
    safe: bool,
}

/// A host that remembers everything.
struct Witness {
    drive: Drive,
    now: u64,
    chance: Xoshiro256PlusPlus,
    next_tag: u64,
    sectors: BTreeMap<u64, Vec<Written>>,
    /// Writes in progress: first sector, sectors, FUA.
    writes: BTreeMap<u64, (u64, u64, bool)>,
    /// Flushes in progress: the writes of sectors that had been acknowledged.
    flushes: BTreeMap<u64, Vec<(u64, u64)>>,
}

impl Witness {
    fn new(model: &str, lies: &[Lie], in_file: bool, seed: u64) -> Witness {
        let mut machine = Machine::new(catalogue::find_model(model).unwrap().clone());
        machine.capacity_bytes = Some(CAPACITY);
        let device = machine.drive(true).unwrap();
        let capacity = device.identity().capacity_bytes;
        let image = if in_file {
            let file = tempfile::tempfile().unwrap();
            file.set_len(capacity).unwrap();
            Image::in_file(file, capacity)
        } else {
            Image::in_memory(capacity)
        };
        let drive =
            Drive::new(device, image, Honesty::of(lies), machine.model.host.request_most.0, seed);
        let (sectors, writes, flushes) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        Witness { drive, now: 1000, chance, next_tag: 1, sectors, writes, flushes }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.chance.next_u64() % bound
    }

    fn tag(&mut self) -> u64 {
        self.next_tag += 1;
        self.next_tag
    }

    fn step(&mut self) {
        match self.below(9) {
            0..=3 => self.write(),
            4 => self.flush(),
            5 => self.read(),
            // Pause: the next command arrives after everything that the drive did meanwhile.
            6 => self.now += self.below(2_000_000),
            _ => self.go_on(),
        }
    }

    fn write(&mut self) {
        let count = [1, 2, 8, 8, 8, 32, 2048][self.below(7) as usize];
        let first = self.below(PLAYGROUND / SECTOR_BYTES / count) * count;
        let overlaps = |&(other, others, _): &(u64, u64, bool)| {
            first < other + others && other < first + count
        };
        // Hosts do not write to the same place twice at once.
        if self.writes.values().any(overlaps) || self.drive.under_way() > 20 {
            return;
        }
        let tag = self.tag();
        let fua = self.drive.takes_fua() && self.below(5) == 0;
        let (offset, bytes) = (first * SECTOR_BYTES, count * SECTOR_BYTES);
        let value = if self.below(10) == 0 { 0 } else { tag };
        if value == 0 {
            self.drive
                .submit(
                    self.now,
                    tag,
                    Command::Zero { offset, bytes, fua, keeps_space: tag.is_multiple_of(2) },
                )
                .unwrap();
        } else {
            let data = value.to_le_bytes().repeat(bytes as usize / 8);
            self.drive.submit(self.now, tag, Command::Write { offset, data: &data, fua }).unwrap();
        }
        for sector in first..first + count {
            self.sectors.entry(sector).or_default().push(Written {
                tag,
                value,
                acknowledged: false,
                safe: false,
            });
        }
        self.writes.insert(tag, (first, count, fua));
    }

    fn flush(&mut self) {
        if !self.drive.wants_flushes() {
            return;
        }
        let tag = self.tag();
        self.drive.submit(self.now, tag, Command::Flush).unwrap();
        let covered = self.sectors.iter().flat_map(|(&sector, history)| {
            let acknowledged =
                history.iter().filter(|written| written.acknowledged && !written.safe);
            acknowledged.map(move |written| (sector, written.tag))
        });
        let covered = covered.collect();
        self.flushes.insert(tag, covered);
    }

    fn read(&mut self) {
        let sector = self.below(PLAYGROUND / SECTOR_BYTES);
        let tag = self.tag();
        self.drive
            .submit(
                self.now,
                tag,
                Command::Read { offset: sector * SECTOR_BYTES, bytes: SECTOR_BYTES },
            )
            .unwrap();
    }

    fn go_on(&mut self) {
        let Some(at) = self.drive.next_event() else { return };
        self.now = self.now.max(at) + self.below(3) * 1000;
        let mut done = Vec::new();
        self.drive.advance(self.now, &mut done);
        for Done { tag, at, failed } in done {
            assert!(at <= self.now && failed.is_none());
            if let Some((first, count, fua)) = self.writes.remove(&tag) {
                let safe = fua || !self.drive.wants_flushes();
                for sector in first..first + count {
                    self.mark(sector, tag, safe);
                }
            }
            for (sector, tag) in self.flushes.remove(&tag).unwrap_or_default() {
                self.mark(sector, tag, true);
            }
        }
    }

    fn mark(&mut self, sector: u64, tag: u64, safe: bool) {
        let history = self.sectors.get_mut(&sector).unwrap();
        for written in history.iter_mut().filter(|written| written.tag == tag) {
            written.acknowledged = true;
            written.safe |= safe;
        }
    }

    fn held(&self, sector: u64) -> Vec<u8> {
        let mut held = Vec::new();
        self.drive.fetch(sector * SECTOR_BYTES, SECTOR_BYTES as usize, &mut held).unwrap();
        held
    }

    /// Reads return the latest write.
    fn check(&self) {
        for (&sector, history) in &self.sectors {
            assert_eq!(self.held(sector), value(history.last().unwrap().value), "sector {sector}");
        }
    }

    /// Cuts the power and restores it. Returns the drive's report, and the sectors with broken
    /// promises.
    fn cut(&mut self) -> (Cut, Vec<u64>) {
        let cut = self.drive.cut(self.now).unwrap();
        assert!(matches!(self.drive.fetch(0, 512, &mut Vec::new()), Err(Refused::NoPower)));
        assert!(matches!(self.drive.submit(self.now, 0, Command::Flush), Err(Refused::NoPower)));
        self.writes.clear();
        self.flushes.clear();
        let mut broken = Vec::new();
        if self.drive.power_on().is_err() {
            return (cut, broken);
        }
        let sectors: Vec<u64> = self.sectors.keys().copied().collect();
        for sector in sectors {
            let held = self.held(sector);
            let history = self.sectors.get_mut(&sector).unwrap();
            let safe = history.iter().rposition(|written| written.safe);
            let allowed = &history[safe.unwrap_or(0)..];
            // Before the first write there were zeros.
            let is_allowed = allowed.iter().any(|written| value(written.value) == held)
                || (safe.is_none() && held.iter().all(|&byte| byte == 0));
            if !is_allowed {
                broken.push(sector);
            }
            let found = u64::from_le_bytes(*held.first_chunk().unwrap());
            // From here on, the actual content counts.
            *history = vec![Written { tag: 0, value: found, acknowledged: true, safe: true }];
        }
        (cut, broken)
    }
}

fn value(value: u64) -> Vec<u8> {
    value.to_le_bytes().repeat(SECTOR_BYTES as usize / 8)
}

const HONEST: [&str; 9] = [
    "consumer-nvme",
    "consumer-sata",
    "samsung-980-1tb",
    "enterprise-nvme",
    "enterprise-sata",
    "disk-7200rpm-cache-on",
    "disk-7200rpm-cache-off",
    "cloud-volume",
    "gcp-local-nvme-x2-raid0-ext4",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn honest_drives_keep_their_promises(
        model in prop::sample::select(&HONEST[..]),
        in_file: bool,
        seed: u64,
        steps in 20usize..400,
    ) {
        let mut witness = Witness::new(model, &[], in_file, seed);
        for _ in 0..4 {
            for _ in 0..steps {
                witness.step();
            }
            let (cut, broken) = witness.cut();
            prop_assert!(broken.is_empty(), "{broken:?} {cut:?}");
            prop_assert_eq!((cut.lost_promised, cut.injected.len()), (0, 0));
            witness.check();
        }
    }
}

/// The number of `cuts` that broke promises, on a drive with these lies, and the number that the
/// drive itself admits.
fn found_out(model: &str, lies: &[&str], cuts: u64) -> (usize, usize) {
    let lies: Vec<Lie> = lies.iter().map(|lie| lie.parse().unwrap()).collect();
    let mut counts = (0, 0);
    for seed in 0..cuts {
        let mut witness = Witness::new(model, &lies, false, seed);
        for _ in 0..300 {
            witness.step();
        }
        let (cut, broken) = witness.cut();
        counts.0 += usize::from(!broken.is_empty());
        counts.1 += usize::from(cut.lost_promised > 0 || !cut.injected.is_empty());
    }
    counts
}

#[test]
fn lies_about_flushes_are_found_out() {
    for (model, lie) in [
        ("consumer-nvme", "ignore-flush"),
        ("disk-7200rpm-cache-on", "ignore-flush"),
        ("consumer-nvme", "ignore-fua"),
        ("consumer-nvme", "ack-early=20ms"),
        ("enterprise-nvme", "ack-early=20ms"),
    ] {
        let (broken, owned) = found_out(model, &[lie], 30);
        assert!(broken > 5, "{model} {lie}: {broken}");
        assert!(owned >= broken, "{model} {lie}: {owned} of {broken}");
    }
    // Nothing is volatile, so there is nothing to lie about.
    assert_eq!(found_out("enterprise-nvme", &["ignore-flush"], 30), (0, 0));
}

#[test]
fn faults_break_promises() {
    for lie in
        ["bit-corruption=0.05", "shorn=0.05", "flying=0.05", "unserializable=0.05", "metadata=0.05"]
    {
        let (broken, owned) = found_out("enterprise-nvme", &[lie], 20);
        assert!(broken > 5 && owned >= broken, "{lie}: {broken} of {owned}");
    }
}

#[test]
fn dead_and_read_only_drives() {
    let mut witness = Witness::new("consumer-nvme", &["dead=1".parse().unwrap()], false, 1);
    witness.write();
    witness.cut();
    assert_eq!(witness.drive.power(), Power::Dead);
    assert!(matches!(witness.drive.power_on(), Err(Refused::NoPower)));

    let mut witness = Witness::new("consumer-nvme", &["read-only=1".parse().unwrap()], false, 1);
    witness.write();
    witness.cut();
    assert_eq!(witness.drive.power(), Power::On);
    let data = [0; 512];
    let write = Command::Write { offset: 0, data: &data, fua: false };
    assert!(matches!(witness.drive.submit(witness.now, 1, write), Err(Refused::ReadOnly)));
    assert!(witness.drive.submit(witness.now, 1, Command::Read { offset: 0, bytes: 512 }).is_ok());
}

#[test]
fn what_lies_beyond_the_end_or_between_sectors_is_refused() {
    let mut witness = Witness::new("consumer-nvme", &[], false, 1);
    let capacity = witness.drive.identity().capacity_bytes;
    let mut refused = |offset, bytes| {
        witness.drive.submit(0, 1, Command::Read { offset, bytes }).unwrap_err().to_string()
    };
    assert_eq!(refused(capacity, 512), format!("the drive ends at {capacity} bytes"));
    assert_eq!(refused(u64::MAX - 511, 512), format!("the drive ends at {capacity} bytes"));
    assert_eq!(refused(0, 100), "the drive has sectors of 512 bytes");
    assert_eq!(refused(10, 512), "the drive has sectors of 512 bytes");
    assert_eq!(refused(0, 0), "the drive has sectors of 512 bytes");
}

/// Data that a drive forgets by filling and wearing is safe, and stays unchanged.
#[test]
fn wear_and_fill_lose_nothing() {
    let mut witness = Witness::new("consumer-nvme", &[], false, 5);
    for _ in 0..200 {
        witness.step();
    }
    while !witness.writes.is_empty() {
        witness.go_on();
    }
    witness.drive.fill(50.0).unwrap();
    witness.drive.wear(witness.now, 1.5).unwrap();
    witness.check();
    witness.drive.cut(witness.now).unwrap();
    witness.drive.power_on().unwrap();
    witness.check();
    assert!(witness.drive.status(witness.now).write_amplification > 1.0);
    for _ in 0..200 {
        witness.step();
    }
    let (_, broken) = witness.cut();
    assert!(broken.is_empty());

    let mut disk = Witness::new("disk-7200rpm-cache-on", &[], false, 5);
    assert!(matches!(disk.drive.wear(0, 1.0), Err(Refused::DoesNotWear)));
}

#[test]
fn drives_that_were_filled_and_worn_keep_working() {
    for (seed, model) in
        ["consumer-nvme", "enterprise-sata", "samsung-980-1tb", "gcp-local-nvme-x2-raid0-ext4"]
            .into_iter()
            .enumerate()
    {
        for (fill, wear) in [(80.0, 0.0), (0.0, 1.3), (80.0, 1.3), (100.0, 0.01)] {
            let mut witness = Witness::new(model, &[], false, seed as u64);
            for _ in 0..3 {
                for _ in 0..150 {
                    witness.step();
                }
                witness.drive.fill(fill).unwrap();
                // An array has no flash.
                if wear > 0.0 && !model.contains("raid0") {
                    witness.drive.wear(witness.now, wear).unwrap();
                }
            }
            for _ in 0..1000 {
                witness.step();
            }
            while !witness.writes.is_empty() {
                witness.go_on();
            }
            witness.check();
            let (_, broken) = witness.cut();
            assert!(broken.is_empty(), "{model} {fill} {wear}");
        }
    }
}

/// Early promises cover only flushed data; unflushed data is up to the cache, however old it is.
#[test]
fn what_was_never_flushed_is_not_safe_for_being_old() {
    let lost = |flushed: bool, wait_ns: u64| {
        let mut witness =
            Witness::new("disk-7200rpm-cache-on", &["ack-early=50ms".parse().unwrap()], false, 3);
        let data = [7; 4096];
        for at in 0..200 {
            // Far apart: the disk arm needs milliseconds for each.
            let offset = at * 7919 % 200 * (10 << 20);
            witness
                .drive
                .submit(witness.now, at, Command::Write { offset, data: &data, fua: false })
                .unwrap();
        }
        let mut done = Vec::new();
        while done.len() < 200 {
            witness.now = witness.drive.next_event().unwrap();
            witness.drive.advance(witness.now, &mut done);
        }
        if flushed {
            witness.drive.submit(witness.now, 1000, Command::Flush).unwrap();
        }
        let cut = witness.drive.cut(witness.now + wait_ns).unwrap();
        (cut.lost_unflushed, cut.lost_promised)
    };
    let (unflushed, promised) = lost(false, 60_000_000);
    assert!(unflushed > 100 && promised == 0, "{unflushed} {promised}");
    let (unflushed, promised) = lost(true, 1_000_000);
    assert!(unflushed == 0 && promised > 100, "{unflushed} {promised}");
    assert_eq!(lost(true, 60_000_000), (0, 0));
}

/// Zeros written piece by piece still count as one write.
#[test]
fn a_large_range_of_zeros_is_one_command() {
    let mut witness = Witness::new("consumer-nvme", &[], false, 3);
    let bytes = 100 << 20;
    let zero = Command::Zero { offset: 512, bytes, fua: true, keeps_space: false };
    for (tag, command) in
        [(1, Command::Write { offset: 50 << 20, data: &[9; 4096], fua: true }), (2, zero)]
    {
        witness.drive.submit(witness.now, tag, command).unwrap();
        let mut done = Vec::new();
        while done.is_empty() {
            witness.now = witness.drive.next_event().unwrap();
            witness.drive.advance(witness.now, &mut done);
        }
        assert_eq!((done.len(), done[0].tag, done[0].failed), (1, tag, None));
    }
    assert_eq!(witness.drive.writes(), 2);
    assert_eq!(witness.drive.cut(witness.now).unwrap().lost_promised, 0);
    witness.drive.power_on().unwrap();
    assert_eq!(witness.held((50 << 20) / 512), [0; 512]);
}

/// Writes by others while a large range is zeroed piece by piece do not become safe by that.
#[test]
fn zeros_do_not_make_other_writes_safe() {
    let mut lost_unflushed = 0;
    for seed in 0..10 {
        let mut witness = Witness::new("disk-7200rpm-cache-on", &[], false, seed);
        let zero = Command::Zero { offset: 0, bytes: 40 << 20, fua: false, keeps_space: false };
        witness.drive.submit(witness.now, 1, zero).unwrap();
        let (mut done, mut tag) = (Vec::new(), 2);
        while !done.iter().any(|done: &Done| done.tag == 1) {
            // One write for each event.
            let write = Command::Write {
                offset: (1 << 30) + tag * 7919 % 1000 * 4096,
                data: &[7; 4096],
                fua: false,
            };
            witness.drive.submit(witness.now, tag, write).unwrap();
            tag += 1;
            witness.now = witness.drive.next_event().unwrap();
            witness.drive.advance(witness.now, &mut done);
        }
        let cut = witness.drive.cut(witness.now).unwrap();
        assert_eq!(cut.lost_promised, 0);
        lost_unflushed += cut.lost_unflushed;
    }
    assert!(lost_unflushed > 0);
}

/// A drive with early promises remembers no more than a cache may contain, with or without a
/// volatile cache.
#[test]
fn early_promises_are_forgotten_in_time() {
    for model in ["consumer-nvme", "enterprise-nvme"] {
        let mut witness = Witness::new(model, &["ack-early=1s".parse().unwrap()], false, 1);
        let data = vec![7; 1 << 20];
        for tag in 0..700 {
            let mut done = Vec::new();
            let write = Command::Write { offset: tag % 500 * (1 << 20), data: &data, fua: false };
            witness.drive.submit(witness.now, tag, write).unwrap();
            while done.is_empty() {
                witness.now = witness.drive.next_event().unwrap();
                witness.drive.advance(witness.now, &mut done);
            }
            if tag % 10 == 0 && witness.drive.wants_flushes() {
                witness.drive.submit(witness.now, 10_000 + tag, Command::Flush).unwrap();
                witness.drive.advance(witness.now, &mut done);
            }
        }
        witness.drive.submit(witness.now, 5000, Command::Read { offset: 0, bytes: 4096 }).unwrap();
        assert!(!witness.drive.is_crowded(), "{model}");
        // Long before the cut: all promised data is there.
        witness.drive.advance(witness.now + 2_000_000_000, &mut Vec::new());
        assert_eq!(witness.drive.cut(witness.now + 2_000_000_000).unwrap().lost_promised, 0);
    }
}
