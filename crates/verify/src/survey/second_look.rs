//! The second look at odd sectors: reads them again, and finds the origins of their pieces.

use super::{Damage, Oddity, Survey, Surveyor, read_whole};
use crate::aligned::AlignedBlock;
use crate::disk::Disk;
use crate::payload::{CHUNK_BYTES, Payload, WORD_BYTES};
use crate::provenance::{Attribution, Origin, Suspects, attribute, is_header_seam, one_bit_off};
use crate::record::{HEADER_BYTES, Header, Kind};
use crate::run_header::RunHeader;

/// Versions to compare a sector with. A comparison costs a few nanoseconds per chunk, so this many
/// take milliseconds.
const VERSIONS_MAX: u32 = 1 << 12;
/// Limit of comparisons in the search for foreign sectors, of a few nanoseconds each: seconds in
/// total.
const COMPARISONS_MAX: u64 = 1 << 30;
/// Versions to try of a foreign sector: the next, the present, and those that were current when the
/// piece was written.
const STRANGER_VERSIONS: u64 = 8;
/// Versions to try as the beginning of a torn header: those that may have been in flight.
const SEAMS_MAX: usize = 16;
/// Records that each lane wrote last, which are the most likely to have been misdirected.
const RECENT_WRITES: u64 = 32;

impl Surveyor<'_> {
    /// Reads the doubtful sectors again and classifies them.
    pub(super) fn examine(&mut self, disk: &mut impl Disk) {
        let elsewhere = self.recent();
        let mut again = AlignedBlock::new(self.run.geometry.sector_bytes as usize);
        let mut comparisons_left = COMPARISONS_MAX;
        for (number, sector) in std::mem::take(&mut self.doubtful) {
            let address_bytes = self.run.geometry.sector_address_bytes(number);
            let second = read_whole(disk, address_bytes, again.bytes_mut());
            let oddity = if let Err(error) = second {
                Oddity::Unreadable(error.to_string())
            } else if again.bytes() != sector {
                Oddity::Corrupt(Damage::Unstable)
            } else {
                let place = self.run.geometry.location(number);
                // Versions that may have been written: everything known of the lane, and what was
                // in flight.
                let latest = self.latest(number).saturating_add(1);
                let versions: Vec<u32> =
                    (latest.saturating_sub(VERSIONS_MAX)..=latest).rev().collect();
                // The same sector of each record: a misdirected write usually keeps its position
                // within the record, and a whole sector has its header.
                let here: Vec<(u64, u32)> = elsewhere
                    .iter()
                    .map(|&(start, version)| {
                        (
                            start
                                + u64::from(place.sector)
                                    * u64::from(self.run.geometry.sector_bytes),
                            version,
                        )
                    })
                    .filter(|&(start, _)| start != address_bytes)
                    .collect();
                let suspects = Suspects {
                    run_id: self.run.run_id,
                    address_bytes,
                    versions: &versions,
                    elsewhere: &here,
                };
                let mut attribution = attribute(&sector, suspects);
                if let Some(stranger) =
                    self.stranger(&sector, &attribution, address_bytes, &mut comparisons_left)
                {
                    attribution =
                        attribute(&sector, Suspects { elsewhere: &[stranger], ..suspects });
                }
                match closely(attribution.clone(), self.run, address_bytes) {
                    Oddity::Corrupt(Damage::Header) => {
                        self.headless(number, &sector, &versions, attribution)
                    }
                    oddity => oddity,
                }
            };
            self.survey.oddities.insert(number, oddity);
        }
    }

    /// The foreign sector to which the first unknown stretch belongs, searched among the current
    /// and recent versions of all sectors.
    fn stranger(
        &self,
        sector: &[u8],
        attribution: &Attribution,
        address_bytes: u64,
        comparisons_left: &mut u64,
    ) -> Option<(u64, u32)> {
        let unknown = attribution.stretches.iter().find(|stretch| {
            stretch.bytes.start > 0
                && matches!(stretch.origin, Origin::Unknown { wrong_bits: None })
        })?;
        // The ends of the stretch may contain a seam; their outer words do not.
        let (first, last) =
            (unknown.bytes.start / CHUNK_BYTES, unknown.bytes.end / CHUNK_BYTES - 1);
        let word = |chunk: usize, word: usize| {
            let at = chunk * CHUNK_BYTES + word * WORD_BYTES;
            sector.get(at..at + WORD_BYTES)
        };
        let words = CHUNK_BYTES / WORD_BYTES;
        let (head, tail) = (word(first, 0)?, word(last, words - 1)?);
        *comparisons_left =
            comparisons_left.checked_sub(self.survey.versions.len() as u64 * STRANGER_VERSIONS)?;
        for (number, &version) in self.survey.versions.iter().enumerate() {
            let home = self.run.geometry.sector_address_bytes(number as u64);
            let version = if version == Survey::ODD { self.latest(number as u64) } else { version };
            for candidate in
                version.saturating_sub(STRANGER_VERSIONS as u32 - 2)..=version.saturating_add(1)
            {
                let payload = Payload::new(self.run.run_id, home, candidate);
                let is_its = head == payload.word(first, 0).to_le_bytes()
                    || tail == payload.word(last, words - 1).to_le_bytes();
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
        self.schedules[usize::from(place.lane)]
            .version_at(place.index, trace.newest.max(trace.proven))
    }

    /// Classifies a whole body after an invalid header: one bit is wrong, or the header is torn or
    /// damaged.
    fn headless(
        &self,
        number: u64,
        sector: &[u8],
        versions: &[u32],
        attribution: Attribution,
    ) -> Oddity {
        if let Some(header) = one_bit_off(sector) {
            return Oddity::Corrupt(Damage::Bits { wrong_bits: 1, version: header.version });
        }
        let body = attribution.stretches.iter().find_map(|stretch| match stretch.origin {
            Origin::Version(version) => Some(version),
            _ => None,
        });
        let Some(after) = body.map(|version| self.scheduled(number, version)) else {
            return Oddity::Corrupt(Damage::Header);
        };
        let others = versions.iter().take(SEAMS_MAX).filter(|&&version| version != after.version);
        for &version in others {
            if is_header_seam(sector, &self.scheduled(number, version), &after) {
                return Oddity::Torn(attribution);
            }
        }
        Oddity::Corrupt(Damage::Header)
    }

    /// The part of a sector's header that the schedule determines.
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

    /// The last records of each lane.
    fn recent(&self) -> Vec<(u64, u32)> {
        let mut recent = Vec::new();
        for (lane, (schedule, trace)) in self.schedules.iter().zip(&self.survey.traces).enumerate()
        {
            let newest = trace.newest.max(trace.proven) + 2;
            for seq in newest.saturating_sub(RECENT_WRITES).max(1)..=newest {
                if let crate::schedule::Operation::Write { index, version } =
                    schedule.operation(seq)
                {
                    recent.push((self.run.geometry.address_bytes(lane as u16, index), version));
                }
            }
        }
        recent
    }
}

/// Classifies a sector by its header.
pub(super) fn coarse(sector: &[u8], run: &RunHeader, address_bytes: u64) -> Oddity {
    if sector.iter().all(|&byte| byte == 0) {
        return Oddity::Corrupt(Damage::Zeros);
    }
    if sector.iter().all(|&byte| byte == 0xff) {
        return Oddity::Corrupt(Damage::Ones);
    }
    match Header::parse(sector) {
        Ok(header)
            if header.run_id != run.run_id && header.payload().is(&sector[HEADER_BYTES..]) =>
        {
            Oddity::OtherRun { run_id: header.run_id }
        }
        Ok(header) if header.run_id == run.run_id && header.address_bytes != address_bytes => {
            Oddity::Flying {
                home_bytes: header.address_bytes,
                version: header.version,
                attribution: None,
            }
        }
        _ => Oddity::Corrupt(Damage::Garbage(None)),
    }
}

/// Classifies a sector by the origins of its pieces.
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
        let body_is_its_own = origins[1..].iter().all(|origin| {
            *origin
                == Origin::Foreign { address_bytes: header.address_bytes, version: header.version }
        });
        if header.run_id != run.run_id && body_is_its_own {
            return Oddity::OtherRun { run_id: header.run_id };
        }
        let of_this_run = header.run_id == run.run_id;
        if of_this_run
            && (header.address_bytes != address_bytes || header.target_id != run.target_id)
        {
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
    let own = |origin: &Origin| {
        matches!(origin, Origin::Header | Origin::Version(_) | Origin::Seam { .. })
    };
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
    // A torn header before a body of several versions.
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
        (Some(wrong_bits), &[version]) if header_is_whole => {
            Oddity::Corrupt(Damage::Bits { wrong_bits, version })
        }
        _ => Oddity::Corrupt(Damage::Garbage(Some(attribution))),
    }
}
