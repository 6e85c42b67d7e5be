//! Invariants of every modelled drive under any load: nothing completes before it was issued or
//! twice, time never runs backwards, reads return what was written last, also after garbage
//! collection, and after a power cut nothing is missing that the drive's rules guarantee.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;

use catalogue::model::{
    Array, Bytes, Cache, Flash, Flush, Fua, Journalled, Level, Link, Parameters, Slc, SolidState,
    Stick, Throttle, WaitsFor,
};
use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;
use simdrive::array::Array as ArrayOfDrives;
use simdrive::array::layout::Layout;
use simdrive::{Assembly, Completion, Device, Op, Request, SECTOR_BYTES, Stamp, assemble};
use workload::random::below;

/// The guarantee of a drive for an acknowledged write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Promise {
    /// It survives a power cut.
    Safe,
    /// It survives if it had forced unit access or was followed by a flush.
    Flushed,
    /// None: the previous contents may reappear.
    Nothing,
}

#[derive(Debug, Clone)]
struct Drive {
    parameters: Parameters,
    cache_on: bool,
    promise: Promise,
    trusts_fua: bool,
    capacity_bytes: u64,
}

fn solid_state(
    protected: bool,
    waits_for: WaitsFor,
    fua: Fua,
    slc: bool,
    drains_queue: bool,
) -> SolidState {
    SolidState {
        capacity_gb: 1.0,
        link: Link {
            queue_depth: 32,
            mb_per_s: 1000.0,
            full_duplex: true,
            command_us: 2.0,
            write_us: 10.0,
            read_us: 10.0,
        },
        throttle: drains_queue.then_some(Throttle {
            mb_per_s: 100.0,
            tick_us: 500.0,
            chunk: Bytes(16 << 10),
        }),
        cache: Cache { size: Bytes(256 << 10), protected, told_volatile: true },
        flush: Flush {
            command_us: 20.0,
            waits_for,
            journal_us: 300.0,
            map_page_us: 5.0,
            drains_queue,
            journals_clean: drains_queue,
            trusts_stripes: drains_queue,
        },
        fua,
        flash: Flash {
            dies: 2,
            channels: 2,
            channel_mb_per_s: 200.0,
            program: Bytes(48 << 10),
            program_us: 800.0,
            read_us: 60.0,
            read_spread: if drains_queue { 0.5 } else { 0.0 },
            erase_us: 2000.0,
            programs_per_block: 8,
            spare_percent: 20.0,
            slc: slc.then_some(Slc {
                size: Bytes(2 << 20),
                free: Bytes(1 << 20),
                program: Bytes(16 << 10),
                program_us: 150.0,
                request_most: drains_queue.then_some(Bytes(8 << 10)),
            }),
        },
    }
}

fn member(drive: &str) -> Parameters {
    catalogue::find_model(drive).unwrap().drive.clone()
}

fn array(level: Level, members: u32, journal: bool, member: Parameters) -> Parameters {
    Parameters::Array(Array {
        level,
        members,
        chunk: Bytes(16 << 10),
        journal,
        member: Box::new(member),
    })
}

/// Drives of every kind, small enough to be overwritten many times.
fn drives() -> impl Strategy<Value = Drive> {
    let fua = prop::sample::select(vec![
        Fua::Absent,
        Fua::Ignored,
        Fua::Cached { extra_us: 1.0 },
        Fua::Programmed { extra_us: 5.0, journal: Journalled::Always },
        Fua::Programmed { extra_us: 0.0, journal: Journalled::Never },
    ]);
    let waits_for = prop::sample::select(vec![WaitsFor::Data, WaitsFor::Map]);
    let flash = (any::<bool>(), waits_for, fua, any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(protected, waits_for, fua, slc, drains_queue, cache_on)| {
            // With a protected cache a flush need not wait; FUA into a volatile cache would not be
            // FUA.
            let waits_for = if protected && drains_queue { WaitsFor::Nothing } else { waits_for };
            let fua = match fua {
                Fua::Cached { .. } if !protected => Fua::Ignored,
                other => other,
            };
            Drive {
                parameters: Parameters::SolidState(solid_state(
                    protected, waits_for, fua, slc, drains_queue,
                )),
                cache_on,
                promise: if protected || !cache_on { Promise::Safe } else { Promise::Flushed },
                trusts_fua: fua != Fua::Ignored,
                capacity_bytes: 12 << 20,
            }
        });
    let disk = any::<bool>().prop_map(|cache_on| Drive {
        parameters: member("disk-7200rpm-cache-on"),
        cache_on,
        promise: if cache_on { Promise::Flushed } else { Promise::Safe },
        trusts_fua: true,
        capacity_bytes: 64 << 20,
    });
    let stick = (1u32..6).prop_map(|open_blocks| Drive {
        parameters: Parameters::Stick(Stick {
            capacity_gb: 1.0,
            block: Bytes(256 << 10),
            open_blocks,
            command_us: 100.0,
            write_mb_per_s: 20.0,
            read_mb_per_s: 50.0,
            copy_mb_per_s: 30.0,
            erase_us: 1000.0,
        }),
        cache_on: true,
        promise: Promise::Nothing,
        trusts_fua: false,
        capacity_bytes: 8 << 20,
    });
    let volume = Just(Drive {
        parameters: member("cloud-volume"),
        cache_on: true,
        promise: Promise::Safe,
        trusts_fua: true,
        capacity_bytes: 8 << 20,
    });
    let levels = vec![(Level::Raid0, 2), (Level::Raid1, 2), (Level::Raid5, 3), (Level::Raid6, 4)];
    let arrays = (prop::sample::select(levels), any::<bool>(), any::<bool>()).prop_map(
        |((level, members), journal, protected)| {
            let journal = journal && matches!(level, Level::Raid5 | Level::Raid6);
            let fua = Fua::Programmed { extra_us: 0.0, journal: Journalled::Always };
            let drive =
                Parameters::SolidState(solid_state(protected, WaitsFor::Map, fua, false, true));
            Drive {
                parameters: array(level, members, journal, drive),
                cache_on: true,
                promise: if protected { Promise::Safe } else { Promise::Flushed },
                trusts_fua: true,
                capacity_bytes: 16 << 20,
            }
        },
    );
    prop_oneof![4 => flash, 2 => disk, 1 => stick, 1 => volume, 3 => arrays]
}

/// A write in the history of one sector.
#[derive(Debug, Clone, Copy)]
struct Written {
    stamp: Stamp,
    acknowledged: bool,
    safe: bool,
}

/// The history of a drive, and the contents that it permits.
struct Oracle {
    drive: Drive,
    device: Box<dyn Device>,
    has_fua: bool,
    now: u64,
    next_id: u32,
    open: HashMap<u32, (Request, u64)>,
    /// Writes that had been acknowledged when a flush was sent.
    covered: HashMap<u32, Vec<(u64, Stamp)>>,
    sectors: HashMap<u64, Vec<Written>>,
    draws: Xoshiro256PlusPlus,
}

impl Oracle {
    fn new(drive: Drive, seed: u64) -> Oracle {
        let assembly = Assembly {
            capacity_bytes: Some(drive.capacity_bytes),
            track_contents: true,
            number: 0,
        };
        let mut device = assemble("a test's drive", &drive.parameters, assembly).unwrap();
        device.set_write_cache(0, drive.cache_on);
        let has_fua = device.identity().fua && drive.trusts_fua;
        let draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (open, covered, sectors) = (HashMap::new(), HashMap::new(), HashMap::new());
        Oracle { drive, device, has_fua, now: 0, next_id: 0, open, covered, sectors, draws }
    }

    fn range(request: &Request) -> std::ops::Range<u64> {
        request.offset / SECTOR_BYTES..(request.offset + request.bytes) / SECTOR_BYTES
    }

    /// Sends a command, unless it overlaps an outstanding one, which hosts avoid.
    fn submit(&mut self) {
        if self.open.len() as u32 >= self.device.identity().queue_depth.min(8) {
            return;
        }
        let kind = below(&mut self.draws, 20);
        let op = if kind == 0 {
            Op::Flush
        } else if kind < 5 {
            Op::Read
        } else {
            Op::Write
        };
        let capacity = self.device.identity().capacity_bytes.min(self.drive.capacity_bytes);
        // Sectors, pages, and more than a stripe; mostly in a small area, so blocks are
        // overwritten.
        let bytes = [512, 1024, 4096, 4096, 16384, 65536][below(&mut self.draws, 6) as usize];
        let part = if self.draws.next_u64() & 1 == 0 { capacity } else { capacity / 8 };
        let offset = below(&mut self.draws, part / bytes) * bytes;
        self.next_id += 1;
        let (offset, bytes) = if op == Op::Flush { (0, 0) } else { (offset, bytes) };
        let fua = op == Op::Write && self.has_fua && below(&mut self.draws, 6) == 0;
        let request =
            Request { id: self.next_id, op, offset, bytes, fua, stamp: u64::from(self.next_id) };
        let overlaps = |(other, _): &(Request, u64)| {
            other.op != Op::Flush
                && request.offset < other.offset + other.bytes
                && other.offset < request.offset + request.bytes
        };
        if op != Op::Flush && self.open.values().any(overlaps) {
            return;
        }
        match op {
            Op::Write => {
                for sector in Oracle::range(&request) {
                    let written =
                        Written { stamp: request.stamp, acknowledged: false, safe: false };
                    self.sectors.entry(sector).or_default().push(written);
                }
            }
            Op::Flush => {
                let acknowledged = self.sectors.iter().flat_map(|(&sector, history)| {
                    history
                        .iter()
                        .filter(|written| written.acknowledged && !written.safe)
                        .map(move |written| (sector, written.stamp))
                });
                let covered = acknowledged.collect();
                self.covered.insert(request.id, covered);
            }
            Op::Read => {}
        }
        self.open.insert(request.id, (request, self.now));
        self.device.submit(self.now, request);
    }

    /// Advances to the next event, and up to `most` beyond it.
    fn advance(&mut self) {
        let Some(next) = self.device.next_event() else { return };
        assert!(
            next >= self.now,
            "time runs backwards: an event at {next}, and it is {}",
            self.now
        );
        self.now = next;
        let mut done = Vec::new();
        self.device.advance(self.now, &mut done);
        for completion in done {
            self.complete(completion);
        }
    }

    fn complete(&mut self, Completion { id, at }: Completion) {
        let (request, since) =
            self.open.remove(&id).expect("a completion of a command that was open");
        assert!(at > since, "{request:?} was sent at {since} and done at {at}");
        assert!(at <= self.now, "{request:?} is done at {at}, and it is only {}", self.now);
        match request.op {
            Op::Write => {
                let safe = self.drive.promise == Promise::Safe || request.fua;
                for sector in Oracle::range(&request) {
                    let written = self.sectors.get_mut(&sector).unwrap().last_mut().unwrap();
                    assert_eq!(written.stamp, request.stamp);
                    (written.acknowledged, written.safe) = (true, safe);
                }
            }
            Op::Flush => {
                for (sector, stamp) in self.covered.remove(&id).unwrap() {
                    let history = self.sectors.get_mut(&sector).unwrap();
                    history
                        .iter_mut()
                        .filter(|written| written.stamp == stamp)
                        .for_each(|written| written.safe = true);
                }
            }
            Op::Read => {}
        }
    }

    fn settle(&mut self) {
        while !self.open.is_empty() {
            assert!(
                self.device.next_event().is_some(),
                "commands are open, and nothing will ever happen: {:?}",
                self.open
            );
            self.advance();
        }
    }

    /// Reads return what was written last.
    fn check_contents(&self) {
        for (sector, history) in &self.sectors {
            let held = self.device.contents(sector * SECTOR_BYTES, SECTOR_BYTES)[0];
            assert_eq!(
                held,
                history.last().unwrap().stamp,
                "sector {sector}: {history:?} on {:?}",
                self.drive
            );
        }
    }

    /// Cuts the power. Afterwards each sector has its last durable contents or a later write.
    fn cut(&mut self) {
        // Everything older than the data that the drive reports to be at risk must be there.
        let under_way = self
            .open
            .values()
            .filter(|(request, _)| request.op == Op::Write)
            .map(|(request, _)| request.stamp);
        let at_risk_from =
            under_way.chain(self.device.at_risk_from(self.now)).min().unwrap_or(Stamp::MAX);
        self.device.power_cut(self.now, &mut self.draws);
        self.open.clear();
        self.covered.clear();
        for (sector, history) in &mut self.sectors {
            let held = self.device.contents(sector * SECTOR_BYTES, SECTOR_BYTES)[0];
            let safe = match self.drive.promise {
                Promise::Nothing => None,
                Promise::Safe | Promise::Flushed => {
                    history.iter().rposition(|written| written.safe)
                }
            };
            let allowed = &history[safe.unwrap_or(0)..];
            let was_empty = safe.is_none() && held == 0;
            let drive = &self.drive;
            if let Some(settled) = history.iter().rposition(|written| written.stamp < at_risk_from)
            {
                assert!(
                    history[settled..].iter().any(|written| written.stamp == held),
                    "sector {sector} holds {held}, at risk were {at_risk_from} and later: \
                     {history:?} on {drive:?}"
                );
            }
            assert!(
                was_empty || allowed.iter().any(|written| written.stamp == held),
                "sector {sector} holds {held}: {history:?} on {drive:?}"
            );
            // From here on, the contents are fixed.
            *history = vec![Written {
                stamp: held,
                acknowledged: true,
                safe: drive.promise != Promise::Nothing,
            }];
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn drives_keep_their_promises(drive in drives(), seed: u64, steps in 50usize..1500, cuts in 1usize..4) {
        let mut oracle = Oracle::new(drive, seed);
        for _ in 0..cuts {
            for _ in 0..steps {
                if below(&mut oracle.draws, 3) < 2 { oracle.submit() } else { oracle.advance() }
            }
            if below(&mut oracle.draws, 2) == 0 {
                oracle.settle();
                oracle.check_contents();
            }
            oracle.cut();
        }
        // It still works after its last start.
        for _ in 0..100 {
            oracle.submit();
            oracle.advance();
        }
        oracle.settle();
        oracle.check_contents();
    }
}

/// An array of small drives of one kind, one of which fails.
fn degraded(level: Level, journal: bool, member: &Parameters) -> ArrayOfDrives {
    let members = if level == Level::Raid6 { 4 } else { 3 };
    let layout = Layout { level, members, chunk: 16 << 10 };
    let drive = |number| {
        let assembly = Assembly { capacity_bytes: Some(64 << 20), track_contents: true, number };
        assemble("a test's drive", member, assembly).unwrap()
    };
    let journal = journal.then(|| drive(members as u32));
    ArrayOfDrives::new(layout, (0..members as u32).map(drive).collect(), journal, true)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// Parity is correct between writes and, with a journal, also after a cut during a write,
    /// whichever drive then fails.
    #[test]
    fn a_lost_member_is_worked_out(
        level in prop::sample::select(vec![Level::Raid1, Level::Raid5, Level::Raid6]),
        name in prop::sample::select(vec!["disk-7200rpm-cache-off", "disk-7200rpm-cache-on", "consumer-sata", "enterprise-sata"]),
        cut in any::<bool>(),
        lost in 0usize..3,
        seed: u64,
        writes in 1u32..60,
    ) {
        let journal = cut && level != Level::Raid1;
        let mut member = member(name);
        if let Parameters::SolidState(drive) = &mut member {
            (drive.flash.dies, drive.flash.slc) = (2, None);
        }
        let mut array = degraded(level, journal, &member);
        let mut draws = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut held: HashMap<u64, Stamp> = HashMap::new();
        let mut now = 0;
        let finish = |array: &mut ArrayOfDrives, now: &mut u64| {
            let mut done = Vec::new();
            while let (true, Some(at)) = (done.is_empty(), array.next_event()) {
                *now = at;
                array.advance(at, &mut done);
            }
        };
        let area = 512 << 10;
        for stamp in 1..=writes {
            let bytes = [512, 4096, 16384, 65536][below(&mut draws, 4) as usize];
            let offset = below(&mut draws, area / bytes) * bytes;
            let request = Request { id: 0, op: Op::Write, offset, bytes, fua: false, stamp: stamp.into() };
            held.extend(Oracle::range(&request).map(|sector| (sector, request.stamp)));
            array.submit(now, request);
            finish(&mut array, &mut now);
        }
        array.submit(now, Request { id: 0, op: Op::Flush, offset: 0, bytes: 0, fua: false, stamp: 0 });
        finish(&mut array, &mut now);
        if cut {
            // Another write, which may or may not survive.
            let offset = below(&mut draws, area / 4096) * 4096;
            let request = Request { id: 0, op: Op::Write, offset, bytes: 4096, fua: false, stamp: 1000 };
            held.retain(|sector, _| !Oracle::range(&request).contains(sector));
            array.submit(now, request);
            let at = now + below(&mut draws, 30_000_000);
            array.advance(at, &mut Vec::new());
            array.power_cut(at, &mut draws);
        }
        array.fail_member(lost);
        for (sector, stamp) in held {
            prop_assert_eq!(array.contents(sector * SECTOR_BYTES, SECTOR_BYTES)[0], stamp, "sector {}", sector);
        }
    }
}
