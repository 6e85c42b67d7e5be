//! A demonstration of the RAID write hole: a stripe of RAID 5 on three modelled disks, a power cut
//! in the middle of its update, the loss of a disk, and then a read of a block that was never
//! written. Every point of the update is tried, with and without a journal.

use catalogue::model::{Array as ArrayParameters, Level, Model, Parameters};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use crate::array::Array;
use crate::array::layout::Layout;
use crate::assembly::{Assembly, Impossible, assemble};
use crate::device::{Device, Op, Request, Stamp};
use crate::time::Ns;

/// Number of disks in the array.
pub const DISKS: usize = 3;
const CHUNK_BYTES: u64 = 64 << 10;
const BLOCK_BYTES: u64 = 4096;
/// Capacity of each disk: the first stripes are enough.
const DISK_BYTES: u64 = 8 << 30;
/// The contents of the blocks, as four bits that are easy to XOR by hand: the block to be
/// overwritten, its neighbour, and the new data.
const WRITTEN: Stamp = 0b0011;
const NEIGHBOUR: Stamp = 0b0101;
const NEW: Stamp = 0b1001;

/// The two blocks of a stripe and their parity on the disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// The block that is overwritten.
    pub written: Stamp,
    /// The neighbouring block, which is not written.
    pub neighbour: Stamp,
    /// The XOR of both.
    pub parity: Stamp,
}

/// The result of the demonstration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteHole {
    pub before: Stripe,
    /// The new data of the first block.
    pub new: Stamp,
    /// Time after the start of the write from which the data survives a cut.
    pub data_safe_at: Ns,
    /// Time after the start of the write from which the parity survives a cut.
    pub parity_safe_at: Ns,
    /// Duration of the write, without and with a journal.
    pub write_ns: (Ns, Ns),
    /// Number of points of the update at which the power was cut, each in a separate run.
    pub moments: usize,
    /// Number of cuts that corrupted the neighbour, without and with a journal.
    pub ruined: (usize, usize),
    /// The middle one of the cuts that corrupted the neighbour; `None` if chance spared it every
    /// time.
    pub cut: Option<Cut>,
}

/// A power cut, the loss of the neighbour's disk, and the data read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Time of the cut after the start of the write.
    pub at: Ns,
    /// The stripe on the disks at the next start.
    pub after: Stripe,
    /// The neighbour as reconstructed after the loss of its disk.
    pub neighbour: Stamp,
}

/// Runs the demonstration on an array of three drives of this model.
pub fn play(model: &Model) -> Result<WriteHole, Impossible> {
    let plain = Stage { model, journal: false };
    let journalled = Stage { model, journal: true };
    let write_ns = (plain.write_ns()?, journalled.write_ns()?);
    let cuts = plain.cuts(write_ns.0)?;
    let with_journal = journalled.cuts(write_ns.1)?;
    let before = plain.prepared()?.stripe();
    let first = |changed: &dyn Fn(&Cut) -> bool| {
        cuts.iter().find(|cut| changed(cut)).map_or(write_ns.0, |cut| cut.at)
    };
    let is_ruined = |cut: &&Cut| cut.neighbour != before.neighbour;
    let ruined: Vec<&Cut> = cuts.iter().filter(is_ruined).collect();
    Ok(WriteHole {
        before,
        new: NEW,
        data_safe_at: first(&|cut| cut.after.written == NEW),
        parity_safe_at: first(&|cut| cut.after.parity != before.parity),
        write_ns,
        moments: MOMENTS,
        ruined: (ruined.len(), with_journal.iter().filter(is_ruined).count()),
        cut: ruined.get(ruined.len() / 2).map(|&&cut| cut),
    })
}

/// Number of points of the update to try.
const MOMENTS: usize = 200;

/// The setup: the disks, with or without a journal.
struct Stage<'a> {
    model: &'a Model,
    journal: bool,
}

impl Stage<'_> {
    /// An array with a stripe whose blocks and parity are durable.
    fn prepared(&self) -> Result<Scene, Impossible> {
        let layout = Layout { level: Level::Raid5, members: DISKS, chunk: CHUNK_BYTES };
        let assembly =
            Assembly { capacity_bytes: Some(DISK_BYTES), track_contents: true, number: 0 };
        let member = match &self.model.drive {
            Parameters::Array(ArrayParameters { member, .. }) => member,
            drive => drive,
        };
        let disk = |number| assemble(&self.model.model, member, Assembly { number, ..assembly });
        let members = (0..DISKS as u32).map(disk).collect::<Result<_, _>>()?;
        let journal = self.journal.then(|| disk(DISKS as u32)).transpose()?;
        let mut scene = Scene { array: Array::new(layout, members, journal, true), layout, now: 0 };
        scene.carry_out(Op::Write, 0, WRITTEN);
        scene.carry_out(Op::Write, CHUNK_BYTES, NEIGHBOUR);
        scene.carry_out(Op::Flush, 0, 0);
        Ok(scene)
    }

    fn write_ns(&self) -> Result<Ns, Impossible> {
        let mut scene = self.prepared()?;
        let begun = scene.now;
        scene.carry_out(Op::Write, 0, NEW);
        Ok(scene.now - begun)
    }

    /// Cuts the power at successive points of a write of this duration.
    fn cuts(&self, write_ns: Ns) -> Result<Vec<Cut>, Impossible> {
        (0..MOMENTS as u64).map(|moment| self.cut(write_ns * moment / MOMENTS as u64)).collect()
    }

    fn cut(&self, at: Ns) -> Result<Cut, Impossible> {
        let mut scene = self.prepared()?;
        scene.submit(Op::Write, 0, NEW);
        let cut = scene.now + at;
        scene.array.advance(cut, &mut Vec::new());
        scene.array.power_cut(cut, &mut Xoshiro256PlusPlus::seed_from_u64(at));
        Ok(Cut { at, after: scene.stripe(), neighbour: scene.neighbour_without_its_disk() })
    }
}

/// An array at a point in time.
struct Scene {
    array: Array,
    layout: Layout,
    now: Ns,
}

impl Scene {
    fn submit(&mut self, op: Op, offset: u64, stamp: Stamp) {
        let bytes = if op == Op::Flush { 0 } else { BLOCK_BYTES };
        self.array.submit(self.now, Request { id: 0, op, offset, bytes, fua: false, stamp });
    }

    fn carry_out(&mut self, op: Op, offset: u64, stamp: Stamp) {
        self.submit(op, offset, stamp);
        let mut done = Vec::new();
        while let (true, Some(at)) = (done.is_empty(), self.array.next_event()) {
            self.now = at;
            self.array.advance(at, &mut done);
        }
    }

    fn stripe(&self) -> Stripe {
        let on_disk = |member: usize| {
            let stamps = self.array.members()[member].contents(0, BLOCK_BYTES);
            stamps.first().copied().unwrap_or_default()
        };
        let data = |offset| self.layout.data(offset, BLOCK_BYTES)[0].member;
        Stripe {
            written: on_disk(data(0)),
            neighbour: on_disk(data(CHUNK_BYTES)),
            parity: on_disk(self.layout.parity_member(0, 0)),
        }
    }

    /// The neighbour as read by the array after the loss of its disk.
    fn neighbour_without_its_disk(&mut self) -> Stamp {
        self.array.fail_member(self.layout.data(CHUNK_BYTES, BLOCK_BYTES)[0].member);
        self.array.contents(CHUNK_BYTES, BLOCK_BYTES).first().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hole_is_there_and_a_journal_closes_it() {
        for name in [
            "disk-7200rpm-cache-off", "disk-7200rpm-cache-on", "enterprise-sata", "consumer-nvme",
            "usb-stick",
        ] {
            let hole = play(catalogue::find_model(name).unwrap()).unwrap();
            assert_eq!(
                hole.before,
                Stripe { written: WRITTEN, neighbour: NEIGHBOUR, parity: WRITTEN ^ NEIGHBOUR }
            );
            assert_eq!(hole.ruined.1, 0, "{name}: {hole:?}");
        }
        let hole = play(catalogue::find_model("disk-7200rpm-cache-off").unwrap()).unwrap();
        let cut = hole.cut.unwrap();
        assert_eq!(cut.after.neighbour, NEIGHBOUR, "nobody wrote it");
        assert_ne!(cut.neighbour, NEIGHBOUR, "it is ruined all the same");
        assert_eq!(cut.neighbour, cut.after.written ^ cut.after.parity);
        assert!((1..hole.moments).contains(&hole.ruined.0), "{hole:?}");
        assert!(hole.write_ns.1 > hole.write_ns.0, "a journal costs time");
        let between =
            hole.data_safe_at.min(hole.parity_safe_at)..hole.data_safe_at.max(hole.parity_safe_at);
        assert!(between.contains(&cut.at), "{hole:?}");
    }
}
