//! What lies on a target: every sector of every slot, read back and asked what it is.
//!
//! The survey takes no side: it knows what was possible, not what was promised. What it finds beside whole records of this run is an [`Oddity`].

use std::collections::BTreeMap;
use std::io;

use crate::aligned::AlignedBlock;
use crate::disk::Disk;
use crate::payload::{CHUNK_BYTES, Payload, WORD_BYTES};
use crate::provenance::{Attribution, Origin, Suspects, attribute, is_header_seam, one_bit_off};
use crate::record::{HEADER_BYTES, Header, Kind};
use crate::run_header::RunHeader;
use crate::schedule::Schedule;

/// Reads go in pieces of this size: large enough to go at the drive's speed.
const PIECE_BYTES: u64 = 1 << 20;
/// So many odd sectors are examined piece by piece; of more, only the headers. A drive that lost that much needs no microscope.
const EXAMINED_MAX: usize = 1 << 16;
/// Comparing a sector with one version costs a few nanoseconds for each chunk, so that this many candidates take milliseconds.
const VERSIONS_MAX: u32 = 1 << 12;
/// Comparisons, of a few nanoseconds each, that the search for strangers' homes may take in all: seconds.
const COMPARISONS_MAX: u64 = 1 << 30;
/// Versions of a stranger's home that are tried: the next, the present, and such as it held when the stranger was written.
const STRANGER_VERSIONS: u64 = 8;
/// So many versions are tried as the beginning of a torn header: those that may have been under way.
const SEAMS_MAX: usize = 16;
/// Records that each lane wrote last, which are the likeliest to have been under way to a wrong place.
const RECENT_WRITES: u64 = 32;

/// What a sector is that is not simply a version of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oddity {
    /// Pieces of several versions of this sector, and nothing else.
    Torn(Attribution),
    /// A record of this run that belongs elsewhere, or pieces of one.
    Flying {
        /// Where it belongs: the sector's own address.
        home_bytes: u64,
        /// Its version.
        version: u32,
        /// The sector, piece by piece.
        attribution: Option<Attribution>,
    },
    /// A whole record of another run of flushmark, which was overwritten before this one began.
    OtherRun {
        /// That run.
        run_id: u64,
    },
    /// Damage.
    Corrupt(Damage),
    /// It cannot be read.
    Unreadable(String),
    /// A whole record that this run's schedule does not have: an error of flushmark, not of the drive.
    NeverIssued {
        /// What its header says.
        version: u32,
    },
}

/// Kinds of damage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// Nothing but zeros: what a drive returns for blocks that it does not have.
    Zeros,
    /// Nothing but ones: erased flash.
    Ones,
    /// Some bits are wrong.
    Bits {
        /// How many.
        wrong_bits: u32,
        /// Of which version.
        version: u32,
    },
    /// The header alone.
    Header,
    /// Pieces, or all, are nothing known.
    Garbage(Option<Attribution>),
    /// Two readings in a row differ.
    Unstable,
}

/// What a lane's surviving records prove.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trace {
    /// Its latest operation of which a record survives.
    pub newest: u64,
    /// What some surviving record knew of it: of control lanes what had completed, of others what was durable; 0 when none knows anything.
    pub proven: u64,
    /// That record.
    pub witness: Option<Witness>,
}

/// A record that survives and proves something by that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witness {
    /// Its lane.
    pub lane: u16,
    /// Its operation.
    pub seq: u64,
    /// Where it lies.
    pub address_bytes: u64,
}

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The version of each sector, by number; [`Survey::ODD`] where [`Survey::oddities`] says more.
    pub versions: Vec<u32>,
    /// By sector number.
    pub oddities: BTreeMap<u64, Oddity>,
    /// Of each lane.
    pub traces: Vec<Trace>,
}

/// Why there is no survey.
#[derive(Debug, PartialEq, Eq)]
pub struct Stopped;

impl Survey {
    /// Not a version.
    pub const ODD: u32 = u32::MAX;

    /// Reads a target. `progress` is told the share that is done, from 0 to 1, and says whether to go on.
    ///
    /// # Errors
    /// [`Stopped`] when `progress` did not want to go on. What cannot be read is found, not an error.
    pub fn take(
        disk: &mut impl Disk,
        run: &RunHeader,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Survey, Stopped> {
        let geometry = &run.geometry;
        let sectors = geometry.sectors();
        let mut reader = Reader {
            run,
            schedules: (0..geometry.lanes()).map(|lane| Schedule::new(run.run_id, geometry, lane)).collect(),
            survey: Survey {
                versions: vec![Survey::ODD; sectors as usize],
                oddities: BTreeMap::new(),
                traces: vec![Trace::default(); usize::from(geometry.lanes())],
            },
            doubtful: Vec::new(),
        };
        let sector_bytes = u64::from(geometry.sector_bytes);
        let per_piece = PIECE_BYTES / sector_bytes;
        let mut piece = AlignedBlock::new(PIECE_BYTES as usize);
        let mut number = 0;
        while number < sectors {
            let count = per_piece.min(sectors - number);
            let bytes = &mut piece.bytes_mut()[..(count * sector_bytes) as usize];
            if read_whole(disk, geometry.sector_address_bytes(number), bytes).is_ok() {
                for (index, sector) in bytes.chunks_exact(sector_bytes as usize).enumerate() {
                    reader.glance(number + index as u64, sector);
                }
            } else {
                for index in 0..count {
                    let sector = &mut bytes[..sector_bytes as usize];
                    match read_whole(disk, geometry.sector_address_bytes(number + index), sector) {
                        Ok(()) => reader.glance(number + index, sector),
                        Err(error) => {
                            let oddity = Oddity::Unreadable(error.to_string());
                            reader.survey.oddities.insert(number + index, oddity);
                            // Each failure may have taken a drive's patience of half a minute.
                            if !progress((number + index) as f64 / sectors as f64) {
                                return Err(Stopped);
                            }
                        }
                    }
                }
            }
            number += count;
            if !progress(number as f64 / sectors as f64) {
                return Err(Stopped);
            }
        }
        reader.examine(disk);
        Ok(reader.survey)
    }
}

/// A read that a signal broke off is made again.
fn read_whole(disk: &mut impl Disk, offset_bytes: u64, block: &mut [u8]) -> io::Result<()> {
    loop {
        match disk.read(offset_bytes, block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

struct Reader<'a> {
    run: &'a RunHeader,
    schedules: Vec<Schedule>,
    survey: Survey,
    /// Sectors that deserve a second look, with what was read the first time.
    doubtful: Vec<(u64, Vec<u8>)>,
}

impl Reader<'_> {
    /// Most sectors are whole, which is told at the speed of memory.
    #[inline]
    fn glance(&mut self, number: u64, sector: &[u8]) {
        let geometry = &self.run.geometry;
        let address_bytes = geometry.sector_address_bytes(number);
        if let Ok(header) = Header::parse(sector) {
            let own = header.run_id == self.run.run_id && header.target_id == self.run.target_id;
            if own {
                self.learn(&header);
            }
            if own && header.address_bytes == address_bytes && header.payload().is(&sector[HEADER_BYTES..]) {
                if self.is_issued(number, &header) {
                    self.survey.versions[number as usize] = header.version;
                    if header.version > 0 {
                        let trace = &mut self.survey.traces[usize::from(header.lane)];
                        trace.newest = trace.newest.max(header.seq);
                    }
                } else {
                    self.survey.oddities.insert(number, Oddity::NeverIssued { version: header.version });
                }
                return;
            }
        }
        if self.doubtful.len() < EXAMINED_MAX {
            self.doubtful.push((number, sector.to_vec()));
        } else {
            let oddity = coarse(sector, self.run, address_bytes);
            self.survey.oddities.insert(number, oddity);
        }
    }

    /// Every genuine record proves what its writer knew, wherever it lies.
    fn learn(&mut self, header: &Header) {
        let witness = Witness { lane: header.lane, seq: header.seq, address_bytes: header.address_bytes };
        for (lane, proven) in [(header.lane, header.evidence), (header.other_lane, header.other_seq)] {
            if let Some(trace) = self.survey.traces.get_mut(usize::from(lane))
                && proven > trace.proven
            {
                (trace.proven, trace.witness) = (proven, Some(witness));
            }
        }
    }

    /// Whether the schedule has this record here.
    fn is_issued(&self, number: u64, header: &Header) -> bool {
        let place = self.run.geometry.location(number);
        let kind = if header.version == 0 { Kind::Fill } else { self.run.geometry.kind(place.lane).record_kind() };
        (header.lane, header.sector, header.kind) == (place.lane, place.sector, kind)
            && header.seq == self.schedules[usize::from(place.lane)].seq_of(place.index, header.version)
            && header.evidence <= header.seq
    }

    /// The second look: is it the same again, and whose are its pieces?
    fn examine(&mut self, disk: &mut impl Disk) {
        let elsewhere = self.recent();
        let mut again = AlignedBlock::new(self.run.geometry.sector_bytes as usize);
        let mut comparisons_left = COMPARISONS_MAX;
        for (number, sector) in std::mem::take(&mut self.doubtful) {
            let address_bytes = self.run.geometry.sector_address_bytes(number);
            let second = read_whole(disk, address_bytes, again.bytes_mut());
            let oddity = if second.is_err() || again.bytes() != sector {
                Oddity::Corrupt(Damage::Unstable)
            } else {
                let place = self.run.geometry.location(number);
                // What may have been written: up to what is known of the lane, and what was under way.
                let latest = self.latest(number).saturating_add(1);
                let versions: Vec<u32> = (latest.saturating_sub(VERSIONS_MAX)..=latest).rev().collect();
                // The same sector of each record: what flies keeps its place within the record more often than not, and a whole sector has its header.
                let here: Vec<(u64, u32)> = elsewhere
                    .iter()
                    .map(|&(start, version)| {
                        (start + u64::from(place.sector) * u64::from(self.run.geometry.sector_bytes), version)
                    })
                    .filter(|&(start, _)| start != address_bytes)
                    .collect();
                let suspects =
                    Suspects { run_id: self.run.run_id, address_bytes, versions: &versions, elsewhere: &here };
                let mut attribution = attribute(&sector, suspects);
                if let Some(stranger) = self.stranger(&sector, &attribution, address_bytes, &mut comparisons_left) {
                    attribution = attribute(&sector, Suspects { elsewhere: &[stranger], ..suspects });
                }
                match closely(attribution.clone(), self.run, address_bytes) {
                    Oddity::Corrupt(Damage::Header) => self.headless(number, &sector, &versions, attribution),
                    oddity => oddity,
                }
            };
            self.survey.oddities.insert(number, oddity);
        }
    }

    /// The sector elsewhere to which the first unknown stretch belongs, looked for among all that lie on the target now, and their last versions.
    fn stranger(
        &self,
        sector: &[u8],
        attribution: &Attribution,
        address_bytes: u64,
        comparisons_left: &mut u64,
    ) -> Option<(u64, u32)> {
        let unknown = attribution.stretches.iter().find(|stretch| {
            stretch.bytes.start > 0 && matches!(stretch.origin, Origin::Unknown { wrong_bits: None })
        })?;
        // Its ends may hold the seam of two; their far words do not.
        let (first, last) = (unknown.bytes.start / CHUNK_BYTES, unknown.bytes.end / CHUNK_BYTES - 1);
        let word = |chunk: usize, word: usize| {
            let at = chunk * CHUNK_BYTES + word * WORD_BYTES;
            sector.get(at..at + WORD_BYTES)
        };
        let words = CHUNK_BYTES / WORD_BYTES;
        let (head, tail) = (word(first, 0)?, word(last, words - 1)?);
        *comparisons_left = comparisons_left.checked_sub(self.survey.versions.len() as u64 * STRANGER_VERSIONS)?;
        for (number, &version) in self.survey.versions.iter().enumerate() {
            let home = self.run.geometry.sector_address_bytes(number as u64);
            let version = if version == Survey::ODD { self.latest(number as u64) } else { version };
            for candidate in version.saturating_sub(STRANGER_VERSIONS as u32 - 2)..=version.saturating_add(1) {
                let payload = Payload::new(self.run.run_id, home, candidate);
                let is_its =
                    head == payload.word(first, 0).to_le_bytes() || tail == payload.word(last, words - 1).to_le_bytes();
                if home != address_bytes && is_its {
                    return Some((home, candidate));
                }
            }
        }
        None
    }

    /// The latest version of a sector that is known to have been written.
    fn latest(&self, number: u64) -> u32 {
        let place = self.run.geometry.location(number);
        let trace = &self.survey.traces[usize::from(place.lane)];
        self.schedules[usize::from(place.lane)].version_at(place.index, trace.newest.max(trace.proven))
    }

    /// A whole body beneath a header that is none: one bit is wrong in it, or it is of two versions itself, or damaged.
    fn headless(&self, number: u64, sector: &[u8], versions: &[u32], attribution: Attribution) -> Oddity {
        if let Some(header) = one_bit_off(sector) {
            return Oddity::Corrupt(Damage::Bits { wrong_bits: 1, version: header.version });
        }
        let body = attribution.stretches.iter().find_map(|stretch| match stretch.origin {
            Origin::Version(version) => Some(version),
            _ => None,
        });
        let Some(behind) = body.map(|version| self.scheduled(number, version)) else {
            return Oddity::Corrupt(Damage::Header);
        };
        let others = versions.iter().take(SEAMS_MAX).filter(|&&version| version != behind.version);
        for &version in others {
            if is_header_seam(sector, &self.scheduled(number, version), &behind) {
                return Oddity::Torn(attribution);
            }
        }
        Oddity::Corrupt(Damage::Header)
    }

    /// What the schedule decides of a sector's header.
    fn scheduled(&self, number: u64, version: u32) -> Header {
        let geometry = &self.run.geometry;
        let place = geometry.location(number);
        let address_bytes = geometry.sector_address_bytes(number);
        let mut body = vec![0; geometry.sector_bytes as usize - HEADER_BYTES];
        Payload::new(self.run.run_id, address_bytes, version).fill(&mut body);
        Header {
            kind: if version == 0 { Kind::Fill } else { geometry.kind(place.lane).record_kind() },
            lane: place.lane,
            sector: place.sector,
            sectors: geometry.record_sectors,
            run_id: self.run.run_id,
            target_id: self.run.target_id,
            version,
            address_bytes,
            seq: self.schedules[usize::from(place.lane)].seq_of(place.index, version),
            evidence: 0,
            other_lane: 0,
            other_seq: 0,
            body_crc: crc32c::crc32c(&body),
        }
    }

    /// What each lane wrote last.
    fn recent(&self) -> Vec<(u64, u32)> {
        let mut recent = Vec::new();
        for (lane, (schedule, trace)) in self.schedules.iter().zip(&self.survey.traces).enumerate() {
            let newest = trace.newest.max(trace.proven) + 2;
            for seq in newest.saturating_sub(RECENT_WRITES).max(1)..=newest {
                if let crate::schedule::Operation::Write { index, version } = schedule.operation(seq) {
                    recent.push((self.run.geometry.address_bytes(lane as u16, index), version));
                }
            }
        }
        recent
    }
}

/// What the header alone says.
fn coarse(sector: &[u8], run: &RunHeader, address_bytes: u64) -> Oddity {
    if sector.iter().all(|&byte| byte == 0) {
        return Oddity::Corrupt(Damage::Zeros);
    }
    if sector.iter().all(|&byte| byte == 0xff) {
        return Oddity::Corrupt(Damage::Ones);
    }
    match Header::parse(sector) {
        Ok(header) if header.run_id != run.run_id && header.payload().is(&sector[HEADER_BYTES..]) => {
            Oddity::OtherRun { run_id: header.run_id }
        }
        Ok(header) if header.run_id == run.run_id && header.address_bytes != address_bytes => {
            Oddity::Flying { home_bytes: header.address_bytes, version: header.version, attribution: None }
        }
        _ => Oddity::Corrupt(Damage::Garbage(None)),
    }
}

/// What the pieces say.
fn closely(attribution: Attribution, run: &RunHeader, address_bytes: u64) -> Oddity {
    let origins: Vec<Origin> = attribution.stretches.iter().map(|stretch| stretch.origin).collect();
    if let [origin] = origins[..] {
        match origin {
            Origin::Zeros => return Oddity::Corrupt(Damage::Zeros),
            Origin::Ones => return Oddity::Corrupt(Damage::Ones),
            _ => {}
        }
    }
    if let Ok(header) = &attribution.header {
        let body_is_its_own = origins[1..]
            .iter()
            .all(|origin| *origin == Origin::Foreign { address_bytes: header.address_bytes, version: header.version });
        if header.run_id != run.run_id && body_is_its_own {
            return Oddity::OtherRun { run_id: header.run_id };
        }
        let of_this_run = header.run_id == run.run_id;
        if of_this_run && (header.address_bytes != address_bytes || header.target_id != run.target_id) {
            return Oddity::Flying {
                home_bytes: header.address_bytes,
                version: header.version,
                attribution: Some(attribution),
            };
        }
    }
    let foreign = origins.iter().find_map(|origin| match origin {
        Origin::Foreign { address_bytes, version } => Some((*address_bytes, *version)),
        _ => None,
    });
    if let Some((home_bytes, version)) = foreign {
        return Oddity::Flying { home_bytes, version, attribution: Some(attribution) };
    }
    let own = |origin: &Origin| matches!(origin, Origin::Header | Origin::Version(_) | Origin::Seam { .. });
    if origins.iter().all(own) {
        return Oddity::Torn(attribution);
    }
    let mut body: Vec<u32> = origins
        .iter()
        .filter_map(|origin| match origin {
            Origin::Version(version) => Some(*version),
            _ => None,
        })
        .collect();
    body.dedup();
    let header_is_whole = attribution.header.is_ok();
    // A header that is torn itself, over a body of several versions.
    if !header_is_whole && body.len() > 1 && origins[1..].iter().all(own) {
        return Oddity::Torn(attribution);
    }
    if !header_is_whole && body.len() == 1 && origins.len() == 2 {
        return Oddity::Corrupt(Damage::Header);
    }
    let wrong_bits: Option<u32> = origins
        .iter()
        .map(|origin| match origin {
            Origin::Unknown { wrong_bits } => *wrong_bits,
            origin => own(origin).then_some(0),
        })
        .sum();
    match (wrong_bits, &body[..]) {
        (Some(wrong_bits), &[version]) if header_is_whole => Oddity::Corrupt(Damage::Bits { wrong_bits, version }),
        _ => Oddity::Corrupt(Damage::Garbage(Some(attribution))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::tests::small;
    use crate::lane::fill_record;

    /// Memory that reads otherwise each time, where somebody says so.
    struct Memory {
        bytes: Vec<u8>,
        unstable: Option<u64>,
        unreadable: Option<u64>,
        reads: u8,
    }

    impl Memory {
        fn of(run: &RunHeader) -> Memory {
            let mut bytes = vec![0; run.geometry.size_bytes() as usize];
            for lane in 0..run.geometry.lanes() {
                for index in 0..run.geometry.slots_per_lane {
                    let at = run.geometry.address_bytes(lane, index) as usize;
                    fill_record(run, lane, index, &mut bytes[at..at + run.geometry.record_bytes() as usize]);
                }
            }
            Memory { bytes, unstable: None, unreadable: None, reads: 0 }
        }
    }

    impl Disk for Memory {
        fn write(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
            Ok(())
        }
        fn write_durably(&mut self, _: u64, _: &[u8]) -> io::Result<()> {
            Ok(())
        }
        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
        fn read(&mut self, offset: u64, block: &mut [u8]) -> io::Result<()> {
            let range = offset..offset + block.len() as u64;
            if self.unreadable.is_some_and(|at| range.contains(&at)) {
                return Err(io::Error::other("no such sector"));
            }
            block.copy_from_slice(&self.bytes[offset as usize..range.end as usize]);
            if let Some(at) = self.unstable.filter(|at| range.contains(at)) {
                self.reads += 1;
                block[(at - offset) as usize] ^= self.reads;
            }
            Ok(())
        }
        fn size_bytes(&self) -> u64 {
            self.bytes.len() as u64
        }
        fn sector_bytes(&self) -> u32 {
            512
        }
    }

    fn survey(change: impl FnOnce(&mut Memory)) -> (RunHeader, Survey) {
        let run = RunHeader::plain(11, small());
        let mut memory = Memory::of(&run);
        change(&mut memory);
        let survey = Survey::take(&mut memory, &run, &mut |_| true).unwrap();
        (run, survey)
    }

    fn only_oddity(change: impl FnOnce(&mut Memory)) -> (u64, Oddity) {
        let (_, survey) = survey(change);
        assert_eq!(survey.oddities.len(), 1, "{:?}", survey.oddities);
        survey.oddities.into_iter().next().unwrap()
    }

    const FIRST: usize = crate::geometry::FIRST_SLOT_BYTES as usize;

    #[test]
    fn an_untouched_target_has_nothing_odd() {
        let (run, survey) = survey(|_| ());
        assert!(survey.oddities.is_empty() && survey.versions.iter().all(|&version| version == 0));
        assert_eq!(survey.versions.len() as u64, run.geometry.sectors());
    }

    #[test]
    fn what_reads_otherwise_the_second_time_is_unstable() {
        let found = only_oddity(|memory| memory.unstable = Some(FIRST as u64 + 512 * 3 + 100));
        assert_eq!(found, (3, Oddity::Corrupt(Damage::Unstable)));
    }

    #[test]
    fn one_sector_that_cannot_be_read_does_not_hide_its_neighbours() {
        let found = only_oddity(|memory| memory.unreadable = Some(FIRST as u64 + 512 * 7));
        assert_eq!(found, (7, Oddity::Unreadable("no such sector".to_owned())));
    }

    #[test]
    fn another_runs_record_is_told_by_its_run() {
        let found = only_oddity(|memory| {
            let other = RunHeader::plain(12, small());
            let mut record = vec![0; 2048];
            fill_record(&other, 0, 0, &mut record);
            memory.bytes[FIRST..FIRST + 512].copy_from_slice(&record[..512]);
        });
        assert_eq!(found, (0, Oddity::OtherRun { run_id: 12 }));
    }

    #[test]
    fn a_record_that_the_schedule_does_not_have_was_never_issued() {
        let found = only_oddity(|memory| {
            let mut header = Header::parse(&memory.bytes[FIRST..]).unwrap();
            (header.version, header.seq) = (1, 99_999);
            let mut record = vec![0; 2048];
            header.fill_record(&mut record, 512);
            memory.bytes[FIRST..FIRST + 512].copy_from_slice(&record[..512]);
        });
        assert_eq!(found, (0, Oddity::NeverIssued { version: 1 }));
    }

    #[test]
    fn whoever_does_not_want_to_go_on_need_not() {
        let run = RunHeader::plain(11, small());
        assert_eq!(Survey::take(&mut Memory::of(&run), &run, &mut |_| false), Err(Stopped));
    }
}
