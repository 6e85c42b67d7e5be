//! The content of a target: reads back every sector of every slot and identifies it.
//!
//! The survey knows what was possible, not what was promised. Everything other than a whole sector
//! of this run is an [`Oddity`].

mod second_look;

use std::collections::BTreeMap;
use std::io;

use crate::aligned::AlignedBlock;
use crate::disk::Disk;
use crate::provenance::Attribution;
use crate::record::{HEADER_BYTES, Header, Kind};
use crate::run_header::RunHeader;
use crate::schedule::Schedule;

/// Size of the reads: large enough to reach the drive's speed.
const PIECE_BYTES: u64 = 1 << 20;
/// Number of odd sectors to examine piece by piece; for more, only the headers are read. A drive
/// that lost so much does not need the details.
const EXAMINED_MAX: usize = 1 << 16;

/// The content of a sector that is not simply one of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oddity {
    /// Pieces of several versions of this sector, and nothing else.
    Torn(Attribution),
    /// A record of this run that belongs elsewhere, or pieces of one (a misdirected write).
    Flying {
        /// The address that the sector belongs to.
        home_bytes: u64,
        version: u32,
        /// The origins of its pieces, if examined.
        attribution: Option<Attribution>,
    },
    /// A whole record of an earlier run of flushmark, which this run had overwritten.
    OtherRun {
        /// The earlier run.
        run_id: u64,
    },
    Corrupt(Damage),
    /// It cannot be read.
    Unreadable(String),
    /// A whole record that the run's schedule does not contain: a bug in flushmark, not an error of
    /// the drive.
    NeverIssued {
        /// The version in its header.
        version: u32,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// All zeros, as drives return for unmapped blocks.
    Zeros,
    /// All ones, as in erased flash.
    Ones,
    /// Some bits are wrong.
    Bits {
        wrong_bits: u32,
        /// The version without these errors.
        version: u32,
    },
    /// Only the header is damaged.
    Header,
    /// Some or all pieces are unknown.
    Garbage(Option<Attribution>),
    /// Two consecutive readings differ.
    Unstable,
}

/// The evidence of surviving records about a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Trace {
    /// The latest operation of the lane of which a record survives.
    pub newest: u64,
    /// The latest operation that a surviving record proves: for a control lane completed, for
    /// others durable; 0 if there is none.
    pub proven: u64,
    /// The record that proves it.
    pub witness: Option<Witness>,
}

/// A surviving record that proves something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witness {
    pub lane: u16,
    /// The operation that wrote it.
    pub seq: u64,
    pub address_bytes: u64,
}

/// The result of reading a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The version of each sector, by number; [`Survey::ODD`] for those in [`Survey::oddities`].
    pub versions: Vec<u32>,
    /// Odd sectors, by number.
    pub oddities: BTreeMap<u64, Oddity>,
    /// One entry per lane.
    pub traces: Vec<Trace>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Stopped;

impl Survey {
    /// Stands for a sector without a version.
    pub const ODD: u32 = u32::MAX;

    /// Reads a target. `progress` receives the share that is done, from 0 to 1, and returns whether
    /// to continue.
    ///
    /// # Errors
    /// [`Stopped`] if `progress` returned false. Unreadable sectors are recorded and are not an
    /// error.
    pub fn take(
        disk: &mut impl Disk,
        run: &RunHeader,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<Survey, Stopped> {
        let geometry = &run.geometry;
        let sectors = geometry.sectors();
        let mut surveyor = Surveyor {
            run,
            schedules: (0..geometry.lanes())
                .map(|lane| Schedule::new(run.run_id, geometry, lane))
                .collect(),
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
                    surveyor.glance(number + index as u64, sector);
                }
            } else {
                for index in 0..count {
                    let sector = &mut bytes[..sector_bytes as usize];
                    match read_whole(disk, geometry.sector_address_bytes(number + index), sector) {
                        Ok(()) => surveyor.glance(number + index, sector),
                        Err(error) => {
                            let oddity = Oddity::Unreadable(error.to_string());
                            surveyor.survey.oddities.insert(number + index, oddity);
                            // Each error may have taken the drive half a minute of retries.
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
        surveyor.examine(disk);
        Ok(surveyor.survey)
    }
}

impl Survey {
    /// Reads these sectors again, in order. A sector whose content has changed is damaged.
    ///
    /// # Errors
    /// [`Stopped`] if `go_on` returned false.
    pub fn read_again(
        &mut self,
        disk: &mut impl Disk,
        run: &RunHeader,
        numbers: &[u64],
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), Stopped> {
        let geometry = &run.geometry;
        let sector_bytes = u64::from(geometry.sector_bytes);
        let per_piece = PIECE_BYTES / sector_bytes;
        let mut piece = AlignedBlock::new(PIECE_BYTES as usize);
        // In large pieces as before: sector by sector would take too long on a drive that lost
        // much.
        for together in numbers.chunk_by(|one, next| one / per_piece == next / per_piece) {
            let first = together.first().copied().unwrap_or_default();
            let count = together.last().copied().unwrap_or_default() - first + 1;
            let bytes = &mut piece.bytes_mut()[..(count * sector_bytes) as usize];
            let at_once = read_whole(disk, geometry.sector_address_bytes(first), bytes).is_ok();
            for &number in together {
                let at = ((number - first) * sector_bytes) as usize;
                let sector = &mut bytes[at..at + sector_bytes as usize];
                let read = if at_once {
                    Ok(())
                } else {
                    read_whole(disk, geometry.sector_address_bytes(number), sector)
                };
                let changed = match read {
                    Ok(()) => !self.holds(run, number, sector),
                    Err(error) => {
                        self.versions[number as usize] = Survey::ODD;
                        self.oddities.insert(number, Oddity::Unreadable(error.to_string()));
                        continue;
                    }
                };
                if changed {
                    self.versions[number as usize] = Survey::ODD;
                    self.oddities.insert(number, Oddity::Corrupt(Damage::Unstable));
                }
            }
            if !go_on() {
                return Err(Stopped);
            }
        }
        Ok(())
    }

    /// Returns whether a sector still holds the whole version that was read first.
    fn holds(&self, run: &RunHeader, number: u64, sector: &[u8]) -> bool {
        Header::parse(sector).is_ok_and(|header| {
            (header.run_id, header.target_id) == (run.run_id, run.target_id)
                && header.address_bytes == run.geometry.sector_address_bytes(number)
                && header.version == self.versions[number as usize]
                && header.payload().is(&sector[HEADER_BYTES..])
        })
    }
}

/// Reads again if a signal interrupts.
fn read_whole(disk: &mut impl Disk, offset_bytes: u64, block: &mut [u8]) -> io::Result<()> {
    loop {
        match disk.read(offset_bytes, block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            outcome => return outcome,
        }
    }
}

struct Surveyor<'a> {
    run: &'a RunHeader,
    schedules: Vec<Schedule>,
    survey: Survey,
    /// Sectors to examine, with their content from the first reading.
    doubtful: Vec<(u64, Vec<u8>)>,
}

impl Surveyor<'_> {
    /// The fast path: most sectors are whole.
    fn glance(&mut self, number: u64, sector: &[u8]) {
        let geometry = &self.run.geometry;
        let address_bytes = geometry.sector_address_bytes(number);
        if let Ok(header) = Header::parse(sector) {
            let own = header.run_id == self.run.run_id && header.target_id == self.run.target_id;
            if own {
                self.learn(&header);
            }
            if own
                && header.address_bytes == address_bytes
                && header.payload().is(&sector[HEADER_BYTES..])
            {
                if self.is_issued(number, &header) {
                    self.survey.versions[number as usize] = header.version;
                    if header.version > 0 {
                        let trace = &mut self.survey.traces[usize::from(header.lane)];
                        trace.newest = trace.newest.max(header.seq);
                    }
                } else {
                    self.survey
                        .oddities
                        .insert(number, Oddity::NeverIssued { version: header.version });
                }
                return;
            }
        }
        if self.doubtful.len() < EXAMINED_MAX {
            self.doubtful.push((number, sector.to_vec()));
        } else {
            let oddity = second_look::coarse(sector, self.run, address_bytes);
            self.survey.oddities.insert(number, oddity);
        }
    }

    /// Learns what the writer of a genuine record knew, wherever the record is.
    fn learn(&mut self, header: &Header) {
        let witness =
            Witness { lane: header.lane, seq: header.seq, address_bytes: header.address_bytes };
        for (lane, proven) in
            [(header.lane, header.evidence), (header.other_lane, header.other_seq)]
        {
            if let Some(trace) = self.survey.traces.get_mut(usize::from(lane))
                && proven > trace.proven
            {
                (trace.proven, trace.witness) = (proven, Some(witness));
            }
        }
    }

    /// Returns whether the schedule has this record at this place.
    fn is_issued(&self, number: u64, header: &Header) -> bool {
        let place = self.run.geometry.location(number);
        let kind = if header.version == 0 {
            Kind::Fill
        } else {
            self.run.geometry.kind(place.lane).record_kind()
        };
        (header.lane, header.sector, header.kind) == (place.lane, place.sector, kind)
            && header.seq
                == self.schedules[usize::from(place.lane)].seq_of(place.index, header.version)
            && header.evidence <= header.seq
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::tests::small;
    use crate::lane::fill_record;

    /// Memory with optional faults.
    struct Memory {
        bytes: Vec<u8>,
        unstable: Option<u64>,
        unreadable: Option<u64>,
        dying: Option<u64>,
        /// Reads that a signal interrupts before one succeeds.
        interrupted: u8,
        reads: u8,
    }

    impl Memory {
        fn of(run: &RunHeader) -> Memory {
            let mut bytes = vec![0; run.geometry.size_bytes() as usize];
            for lane in 0..run.geometry.lanes() {
                for index in 0..run.geometry.slots_per_lane {
                    let at = run.geometry.address_bytes(lane, index) as usize;
                    fill_record(
                        run,
                        lane,
                        index,
                        &mut bytes[at..at + run.geometry.record_bytes() as usize],
                    );
                }
            }
            Memory {
                bytes,
                unstable: None,
                unreadable: None,
                dying: None,
                interrupted: 0,
                reads: 0,
            }
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
            if self.interrupted > 0 {
                self.interrupted -= 1;
                return Err(io::ErrorKind::Interrupted.into());
            }
            if self.unreadable.is_some_and(|at| range.contains(&at)) {
                return Err(io::Error::other("no such sector"));
            }
            block.copy_from_slice(&self.bytes[offset as usize..range.end as usize]);
            if let Some(at) = self.dying.filter(|at| range.contains(at)) {
                if self.reads > 0 {
                    return Err(io::Error::other("no such sector any more"));
                }
                self.reads += 1;
                block[(at - offset) as usize] ^= 1;
            }
            if let Some(at) = self.unstable.filter(|at| range.contains(at)) {
                self.reads += 1;
                block[(at - offset) as usize] ^= self.reads;
            }
            Ok(())
        }
        fn size_bytes(&self) -> u64 {
            self.bytes.len() as u64
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
    fn an_untouched_target_has_no_oddities() {
        let (run, survey) = survey(|_| ());
        assert!(survey.oddities.is_empty() && survey.versions.iter().all(|&version| version == 0));
        assert_eq!(survey.versions.len() as u64, run.geometry.sectors());
    }

    #[test]
    fn an_interrupted_read_is_repeated() {
        let (_, survey) = survey(|memory| memory.interrupted = 3);
        assert!(survey.oddities.is_empty(), "{:?}", survey.oddities);
    }

    #[test]
    fn content_that_changes_is_unstable() {
        let found = only_oddity(|memory| memory.unstable = Some(FIRST as u64 + 512 * 3 + 100));
        assert_eq!(found, (3, Oddity::Corrupt(Damage::Unstable)));
    }

    #[test]
    fn a_failed_second_reading_is_unreadable_and_not_unstable() {
        let found = only_oddity(|memory| memory.dying = Some(FIRST as u64 + 512 * 3 + 100));
        assert_eq!(found, (3, Oddity::Unreadable("no such sector any more".to_owned())));
    }

    #[test]
    fn an_unreadable_sector_does_not_hide_its_neighbours() {
        let found = only_oddity(|memory| memory.unreadable = Some(FIRST as u64 + 512 * 7));
        assert_eq!(found, (7, Oddity::Unreadable("no such sector".to_owned())));
    }

    #[test]
    fn a_record_of_another_run_is_recognized() {
        let found = only_oddity(|memory| {
            let other = RunHeader::plain(12, small());
            let mut record = vec![0; 2048];
            fill_record(&other, 0, 0, &mut record);
            memory.bytes[FIRST..FIRST + 512].copy_from_slice(&record[..512]);
        });
        assert_eq!(found, (0, Oddity::OtherRun { run_id: 12 }));
    }

    #[test]
    fn a_record_outside_the_schedule_was_never_issued() {
        let found = only_oddity(|memory| {
            let mut header = Header::parse(&memory.bytes[FIRST..]).unwrap();
            (header.version, header.seq) = (1, 99_999);
            let mut record = vec![0; 2048];
            header.fill_record(&mut record, 512);
            memory.bytes[FIRST..FIRST + 512].copy_from_slice(&record[..512]);
        });
        assert_eq!(found, (0, Oddity::NeverIssued { version: 1 }));
    }

    proptest::proptest! {
        /// Any header can be surveyed and judged.
        #[test]
        fn arbitrary_headers_do_not_panic(
            kind in 0usize..4, lane: u16, sector: u16, sectors: u16, own_run: bool, own_address: bool, version: u32, address: u64,
            seq in 0..=crate::record::SEQ_MAX, evidence in 0..=crate::record::SEQ_MAX, other_lane in 0u16..8,
            other_seq in 0..=crate::record::SEQ_MAX, whole_body: bool, torn in 0usize..512,
        ) {
            let (run, survey) = survey(|memory| {
                let old = memory.bytes[FIRST..FIRST + 512].to_vec();
                let header = Header {
                    kind: [Kind::Fill, Kind::Flush, Kind::Fua, Kind::Control][kind],
                    lane,
                    sector,
                    sectors,
                    run_id: if own_run { 11 } else { 12 },
                    target_id: 1,
                    version,
                    address_bytes: if own_address { FIRST as u64 } else { address >> 8 },
                    seq,
                    evidence,
                    other_lane,
                    other_seq,
                    body_crc: 0,
                };
                let mut record = vec![0; 512];
                header.fill_record(&mut record, 512);
                if !whole_body {
                    record[torn..].copy_from_slice(&old[torn..]);
                }
                memory.bytes[FIRST..FIRST + 512].copy_from_slice(&record);
            });
            proptest::prop_assert!(survey.oddities.len() <= 1);
            let verdict = crate::verdict::judge(&run, None, &survey);
            proptest::prop_assert!(verdict.findings.len() <= run.geometry.slots() as usize);
            for finding in &verdict.findings {
                proptest::prop_assert!(!crate::sentences::sentence(finding, &run).is_empty());
            }
        }
    }

    #[test]
    fn the_survey_can_be_stopped() {
        let run = RunHeader::plain(11, small());
        assert_eq!(Survey::take(&mut Memory::of(&run), &run, &mut |_| false), Err(Stopped));
    }
}
