//! The RAID write hole, played through: a stripe of RAID 5 on three modelled disks, a power cut in the middle of its update, the loss of a disk, and what is read then of a
//! block that nobody wrote. Every moment of the update is tried, without a journal and with one.

use catalogue::model::{Array as ArrayParameters, Level, Model, Parameters};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng as _;

use crate::array::Array;
use crate::array::layout::Layout;
use crate::assembly::{Assembly, Impossible, assemble};
use crate::device::{Device, Op, Request, Stamp};
use crate::time::Ns;

/// Disks of the array.
pub const DISKS: usize = 3;
const CHUNK_BYTES: u64 = 64 << 10;
const BLOCK_BYTES: u64 = 4096;
/// Of each disk: the first stripes are enough.
const DISK_BYTES: u64 = 8 << 30;
/// What the blocks hold, as four bits, so that a person can add them up: the block that is written, its neighbour, and what is written.
const WRITTEN: Stamp = 0b0011;
const NEIGHBOUR: Stamp = 0b0101;
const NEW: Stamp = 0b1001;

/// The two blocks of a stripe and their parity, as they lie on the disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripe {
    /// The block that is written.
    pub written: Stamp,
    /// The block beside it, which nobody writes.
    pub neighbour: Stamp,
    /// Their sum.
    pub parity: Stamp,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteHole {
    /// The stripe before.
    pub before: Stripe,
    /// What is written over the first block.
    pub new: Stamp,
    /// From when on, after the write began, the data survives a cut.
    pub data_safe_at: Ns,
    /// From when on the parity does.
    pub parity_safe_at: Ns,
    /// How long the write took without a journal and with one.
    pub write_ns: (Ns, Ns),
    /// Moments of the update at which the power was cut, each in a run of its own.
    pub moments: usize,
    /// Of these, how many ruined the neighbour, without a journal and with one.
    pub ruined: (usize, usize),
    /// A cut that ruined it, in the middle of those that did; none where chance spared it at each moment.
    pub cut: Option<Cut>,
}

/// A power cut, the loss of the neighbour's disk, and what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// When, after the write began.
    pub at: Ns,
    /// The stripe as the disks held it at the next start.
    pub after: Stripe,
    /// What the array makes of the neighbour when its disk is lost.
    pub neighbour: Stamp,
}

/// Plays it through on an array of three drives of this model.
///
/// # Errors
/// When the model is impossible.
pub fn play(model: &Model) -> Result<WriteHole, Impossible> {
    let plain = Stage { model, journal: false };
    let journalled = Stage { model, journal: true };
    let write_ns = (plain.write_ns()?, journalled.write_ns()?);
    let cuts = plain.cuts(write_ns.0)?;
    let with_journal = journalled.cuts(write_ns.1)?;
    let before = plain.prepared()?.stripe();
    let first = |changed: &dyn Fn(&Cut) -> bool| cuts.iter().find(|cut| changed(cut)).map_or(write_ns.0, |cut| cut.at);
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

/// Moments of the update that are tried.
const MOMENTS: usize = 200;

/// Where it is played: the disks, and whether they have a journal.
struct Stage<'a> {
    model: &'a Model,
    journal: bool,
}

impl Stage<'_> {
    /// An array whose stripe holds both blocks and their parity, safely.
    fn prepared(&self) -> Result<Scene, Impossible> {
        let layout = Layout { level: Level::Raid5, members: DISKS, chunk: CHUNK_BYTES };
        let assembly = Assembly { capacity_bytes: Some(DISK_BYTES), track_contents: true, number: 0 };
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

    /// How long the write takes.
    fn write_ns(&self) -> Result<Ns, Impossible> {
        let mut scene = self.prepared()?;
        let begun = scene.now;
        scene.carry_out(Op::Write, 0, NEW);
        Ok(scene.now - begun)
    }

    /// The power cut at moment after moment of a write that takes so long.
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

/// An array at a moment.
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

    /// The stripe as it lies on the disks.
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

    /// What the array reads of the neighbour when its disk is gone.
    fn neighbour_without_its_disk(&mut self) -> Stamp {
        self.array.lose(self.layout.data(CHUNK_BYTES, BLOCK_BYTES)[0].member);
        self.array.contents(CHUNK_BYTES, BLOCK_BYTES).first().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hole_is_there_and_a_journal_closes_it() {
        for name in ["disk-7200rpm-cache-off", "disk-7200rpm-cache-on", "enterprise-sata", "consumer-nvme", "usb-stick"]
        {
            let hole = play(catalogue::find_model(name).unwrap()).unwrap();
            assert_eq!(hole.before, Stripe { written: WRITTEN, neighbour: NEIGHBOUR, parity: WRITTEN ^ NEIGHBOUR });
            assert_eq!(hole.ruined.1, 0, "{name}: {hole:?}");
        }
        let hole = play(catalogue::find_model("disk-7200rpm-cache-off").unwrap()).unwrap();
        let cut = hole.cut.unwrap();
        assert_eq!(cut.after.neighbour, NEIGHBOUR, "nobody wrote it");
        assert_ne!(cut.neighbour, NEIGHBOUR, "it is ruined all the same");
        assert_eq!(cut.neighbour, cut.after.written ^ cut.after.parity);
        assert!((1..hole.moments).contains(&hole.ruined.0), "{hole:?}");
        assert!(hole.write_ns.1 > hole.write_ns.0, "a journal costs time");
        let between = hole.data_safe_at.min(hole.parity_safe_at)..hole.data_safe_at.max(hole.parity_safe_at);
        assert!(between.contains(&cut.at), "{hole:?}");
    }
}
