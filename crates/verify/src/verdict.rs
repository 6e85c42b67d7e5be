//! The outcome of every obligation: a pure function of what was recorded, what surviving records
//! prove, and what was found.
//!
//! A sector must hold at least the version that was durable when its acknowledgement was recorded,
//! or when a surviving record was built. A later version is also correct: an overwrite in progress
//! may have replaced it, whole sectors at a time. Obligations come from two independent sources:
//!
//! - what the recorder *received* ([`Obligations`]): a message that was lost on the way creates
//!   none;
//! - what surviving records know ([`crate::survey::Trace`]): a record that states "when I was
//!   built, my lane's sync 40 had returned" proves that everything before that sync had been
//!   promised. If any of that is missing while this record exists, no order of writes and flushes
//!   explains it: it is *unserializable*.

mod rollback;

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::rollback::rollback;
use crate::geometry::{Geometry, LaneKind};
use crate::obligations::Obligations;
use crate::outcome::AgeCount;
use crate::run_header::RunHeader;
use crate::schedule::Schedule;
use crate::survey::{Oddity, Survey, Witness};

/// Ways in which a record can be wrong.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It was acknowledged, but an older version is there.
    Lost,
    /// Only part of it is there (a torn write).
    Shorn,
    /// It is in the place of another record, or missing because it was written elsewhere (a
    /// misdirected write).
    Flying,
    /// Its bytes are damaged.
    Corrupt,
    /// It is missing, although a record survives that was written after it had been promised to be
    /// durable.
    Unserializable,
    /// It is missing with everything that came after it: the drive has reverted to one earlier
    /// moment.
    RolledBack,
    /// It cannot be read.
    Unreadable,
    /// Nothing can be read.
    Dead,
}

impl Class {
    pub const ALL: [Class; 8] = [
        Class::Lost,
        Class::Shorn,
        Class::Flying,
        Class::Corrupt,
        Class::Unserializable,
        Class::RolledBack,
        Class::Unreadable,
        Class::Dead,
    ];

    /// The name in text output: the common one, with that of the FAST '13 paper in parentheses.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Lost => "lost",
            Class::Shorn => "torn (shorn)",
            Class::Flying => "misdirected (flying)",
            Class::Corrupt => "corrupt",
            Class::Unserializable => "unserializable",
            Class::RolledBack => "rolled back",
            Class::Unreadable => "unreadable",
            Class::Dead => "dead",
        }
    }
}

/// A record that is not as it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub class: Class,
    pub lane: u16,
    /// The way in which that lane makes writes durable.
    pub kind: LaneKind,
    pub address_bytes: u64,
    /// Affected sectors, by their number among all slots' sectors.
    pub sectors: Vec<u64>,
    /// The lowest version that had to be there; 0 is the one from before the run.
    pub required: u32,
    /// The version that is there, if any.
    pub found: Option<u32>,
    /// The surviving record that proves the obligation, if any.
    pub witness: Option<Witness>,
    /// Age of its acknowledgement at the end, in microseconds; `None` if it was not recorded.
    pub age_us: Option<u64>,
    pub evidence: Evidence,
}

/// The exact observation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    Older,
    /// A record of this older run.
    OtherRun(u64),
    /// Some sectors have this version and others are older.
    PartOfRecord,
    /// A single sector is odd by itself.
    Sector(Oddity),
    /// The record is at this address instead.
    FoundAt(u64),
    /// No sector of the target can be read.
    Nothing,
}

/// Upper limits of age classes in milliseconds; the same steps as the recorder's delays.
pub(crate) const AGES_MS: [u32; 8] = [1, 3, 10, 30, 100, 300, 1000, 10_000];

/// Counts of records for one kind of lanes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tally {
    /// Writes that were acknowledged as durable in the whole run.
    pub acknowledged_writes: u64,
    /// Records that had to be there: the latest acknowledged one of each slot.
    pub obligations: u64,
    /// Number of these that are there.
    pub kept: u64,
}

/// Effects that are unusual but allowed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Legal {
    /// Records in flight that are there in part, in whole sectors.
    pub torn: u64,
    /// Slots whose latest write is missing, although a later write of the same lane is there;
    /// neither was acknowledged.
    pub reordered: u64,
    /// Slots of control lanes whose latest completed write is missing, which shows that the cut
    /// reached the cache.
    pub control_lost: u64,
    /// Writes that control lanes are known to have completed.
    pub control_completed: u64,
}

/// Extent to which the drive reverted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rollback {
    /// Writes that were acknowledged after the moment to which it reverted.
    pub writes: u64,
    /// Time from that moment to the end, in microseconds.
    pub by_us: u64,
}

/// Everything that is known about the records of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Violations, in the order of addresses.
    pub findings: Vec<Finding>,
    /// Counts for flush, FUA and control lanes, in this order.
    pub tallies: [Tally; 3],
    /// Recorded obligations by age of their acknowledgement, from 1 ms to 10 s, and older ones.
    pub ages: Vec<AgeCount>,
    pub legal: Legal,
    /// Extent to which the drive reverted, if that explains the losses.
    pub rollback: Option<Rollback>,
    /// Records that the run cannot have written, which is a bug in flushmark: their number, and the
    /// address of the first.
    pub never_issued: Option<(u64, u64)>,
}

impl Verdict {
    /// Returns whether nothing that had to be there is missing or damaged.
    pub fn is_kept(&self) -> bool {
        self.findings.is_empty()
    }

    /// Corrects the findings if nothing of the run survives, not even its superblock. Then nothing
    /// proves an order, and records of older runs are due to losses, or, if all of the previous run
    /// is back, to a drive that reverted as a whole.
    pub fn lose_witnesses(&mut self, reverted: bool) {
        let class = if reverted { Class::RolledBack } else { Class::Lost };
        let of_older_runs = self
            .findings
            .iter_mut()
            .filter(|finding| matches!(finding.evidence, Evidence::OtherRun(_)));
        of_older_runs
            .filter(|finding| finding.class == Class::Unserializable)
            .for_each(|finding| finding.class = class);
    }

    /// Number of writes that were acknowledged as durable, in all lanes.
    pub fn acknowledged_writes(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.acknowledged_writes).sum()
    }

    /// Number of records with this class and kind of lane.
    pub fn count(&self, class: Class, kind: LaneKind) -> u64 {
        self.findings
            .iter()
            .filter(|finding| (finding.class, finding.kind) == (class, kind))
            .count() as u64
    }
}

#[derive(Debug, Clone, Copy)]
struct LaneDuty {
    schedule: Schedule,
    kind: LaneKind,
    /// Recorded as durable.
    heard: u64,
    /// Proven to be durable by surviving records.
    proven: u64,
    /// The last operation that may exist.
    lease: Option<u64>,
    witness: Option<Witness>,
    newest: u64,
}

/// Judges a run. Without recorded obligations, only surviving records count.
///
/// # Panics
/// If the survey does not cover every sector of the run.
pub fn judge(run: &RunHeader, obligations: Option<&Obligations>, survey: &Survey) -> Verdict {
    let geometry = &run.geometry;
    assert_eq!(
        survey.versions.len() as u64,
        geometry.sectors(),
        "a verdict accounts for every sector"
    );
    let duties: Vec<LaneDuty> =
        (0..geometry.lanes()).map(|lane| duty(run, obligations, survey, lane)).collect();
    let mut judging = Judging {
        geometry,
        duties: &duties,
        obligations,
        survey,
        flown: flown(geometry, survey),
        verdict: Verdict {
            findings: Vec::new(),
            tallies: [Tally::default(); 3],
            ages: no_ages(),
            legal: Legal::default(),
            rollback: None,
            never_issued: None,
        },
    };
    for (lane, duty) in duties.iter().enumerate() {
        // No record can have seen more of a lane than it was allowed to do.
        if duty
            .lease
            .is_some_and(|lease| survey.traces.get(lane).is_some_and(|trace| trace.proven > lease))
        {
            let at = duty.witness.map_or(0, |witness| witness.address_bytes);
            let (count, first) = judging.verdict.never_issued.unwrap_or((0, at));
            judging.verdict.never_issued = Some((count + 1, first));
        }
        if duty.kind == LaneKind::Control {
            let completed = control_completed(obligations, survey, lane);
            judging.verdict.legal.control_completed += duty.schedule.writes_up_to(completed);
        } else {
            let tally = &mut judging.verdict.tallies[duty.kind as usize];
            tally.acknowledged_writes += duty.schedule.writes_up_to(duty.heard.max(duty.proven));
        }
    }
    if is_dead(survey) {
        judging.dead();
    } else {
        for slot in 0..geometry.slots() {
            judging.record(slot);
        }
    }
    let mut verdict = judging.verdict;
    assert!(
        verdict.tallies.iter().all(|tally| tally.kept <= tally.obligations),
        "{:?}",
        verdict.tallies
    );
    let missing_only = |finding: &Finding| matches!(finding.class, Class::Lost);
    let contradicted =
        verdict.findings.iter().any(|finding| finding.class == Class::Unserializable);
    if !contradicted
        && verdict.findings.iter().any(missing_only)
        && let Some(obligations) = obligations
        && let Some(rollback) = rollback(geometry, &duties, obligations, survey, &verdict)
    {
        verdict.rollback = Some(rollback);
        for finding in verdict.findings.iter_mut().filter(|finding| finding.class == Class::Lost) {
            finding.class = Class::RolledBack;
        }
    }
    verdict
}

/// Whole sectors whose version contradicts what is known of their lanes: older than what was
/// promised or completed, or newer than anything that a lane was allowed to write. In order,
/// without sectors that are odd by themselves.
pub(crate) fn doubted(
    run: &RunHeader,
    obligations: Option<&Obligations>,
    survey: &Survey,
) -> Vec<u64> {
    let geometry = &run.geometry;
    let duties: Vec<(LaneDuty, u64)> = (0..geometry.lanes())
        .map(|lane| {
            let duty = duty(run, obligations, survey, lane);
            let least = match duty.kind {
                LaneKind::Control => control_completed(obligations, survey, usize::from(lane)),
                LaneKind::Flush | LaneKind::Fua => duty.heard.max(duty.proven),
            };
            (duty, least)
        })
        .collect();
    (0..geometry.sectors())
        .filter(|&number| {
            let version = survey.versions[number as usize];
            let place = geometry.location(number);
            let (duty, least) = &duties[usize::from(place.lane)];
            version != Survey::ODD
                && (version < duty.schedule.version_at(place.index, *least)
                    || duty.lease.is_some_and(|lease| {
                        version > duty.schedule.version_at(place.index, lease)
                    }))
        })
        .collect()
}

fn duty(
    run: &RunHeader,
    obligations: Option<&Obligations>,
    survey: &Survey,
    lane: u16,
) -> LaneDuty {
    let kind = run.geometry.kind(lane);
    let heard = obligations.and_then(|obligations| obligations.lanes.get(usize::from(lane)));
    let trace = survey.traces.get(usize::from(lane)).copied().unwrap_or_default();
    let binds = kind != LaneKind::Control;
    LaneDuty {
        schedule: Schedule::new(run.run_id, &run.geometry, lane),
        kind,
        heard: heard.map_or(0, |heard| heard.frontier.durable).min(if binds {
            u64::MAX
        } else {
            0
        }),
        proven: if binds { trace.proven } else { 0 },
        lease: heard.map(|heard| heard.lease),
        witness: trace.witness,
        newest: trace.newest,
    }
}

fn control_completed(obligations: Option<&Obligations>, survey: &Survey, lane: usize) -> u64 {
    let heard = obligations.and_then(|obligations| obligations.lanes.get(lane));
    let proven = survey.traces.get(lane).map_or(0, |trace| trace.proven);
    heard.map_or(0, |heard| heard.frontier.completed).max(proven)
}

/// Sectors whose content was found elsewhere: by number, the latest version found, and its address.
fn flown(geometry: &Geometry, survey: &Survey) -> HashMap<u64, (u32, u64)> {
    let mut flown = HashMap::new();
    for (&number, oddity) in &survey.oddities {
        if let Oddity::Flying { home_bytes, version, .. } = oddity
            && let Some(home) = geometry.sector_number(*home_bytes)
        {
            let here = (*version, geometry.sector_address_bytes(number));
            let entry = flown.entry(home).or_insert(here);
            *entry = (*entry).max(here);
        }
    }
    flown
}

fn is_dead(survey: &Survey) -> bool {
    survey.oddities.len() == survey.versions.len()
        && survey.oddities.values().all(|oddity| matches!(oddity, Oddity::Unreadable(_)))
}

struct Judging<'a> {
    geometry: &'a Geometry,
    duties: &'a [LaneDuty],
    obligations: Option<&'a Obligations>,
    survey: &'a Survey,
    flown: HashMap<u64, (u32, u64)>,
    verdict: Verdict,
}

/// The sectors of one record, classified.
#[derive(Debug, Default)]
struct Sorted {
    /// Number of sectors with exactly the version that had to be there.
    exact: u64,
    lowest: Option<u32>,
    highest: Option<u32>,
    older: Vec<u64>,
    proven_gone: bool,
    other_run: Option<u64>,
    odd: Vec<(Class, u64)>,
}

impl Judging<'_> {
    fn dead(&mut self) {
        let finding = Finding {
            class: Class::Dead,
            lane: 0,
            kind: self.geometry.kind(0),
            address_bytes: self.geometry.sector_address_bytes(0),
            sectors: Vec::new(),
            required: 0,
            found: None,
            witness: None,
            age_us: None,
            evidence: Evidence::Nothing,
        };
        self.verdict.findings.push(finding);
        for duty in self.duties.iter().filter(|duty| duty.kind != LaneKind::Control) {
            let bound = duty.heard.max(duty.proven);
            let obligations = (0..self.geometry.slots_per_lane)
                .filter(|&index| duty.schedule.version_at(index, bound) > 0)
                .count();
            self.verdict.tallies[duty.kind as usize].obligations += obligations as u64;
        }
    }

    fn record(&mut self, slot: u64) {
        let sectors = u64::from(self.geometry.record_sectors);
        let first = slot * sectors;
        let place = self.geometry.location(first);
        let duty = &self.duties[usize::from(place.lane)];
        let heard = duty.schedule.version_at(place.index, duty.heard);
        let proven = duty.schedule.version_at(place.index, duty.proven);
        let required = heard.max(proven);
        let sorted = self.sort(first..first + sectors, required, proven);
        let before = self.verdict.findings.len();
        let finding = |class, sectors: Vec<u64>, evidence| Finding {
            class,
            lane: place.lane,
            kind: duty.kind,
            address_bytes: self.geometry.sector_address_bytes(first),
            sectors,
            required,
            found: sorted.lowest,
            witness: None,
            age_us: self.age_us(place.lane, duty.schedule.seq_of(place.index, heard)),
            evidence,
        };
        let mut found: Vec<Finding> = Vec::new();
        let torn = sorted.odd.iter().any(|(class, _)| *class == Class::Shorn);
        if !sorted.older.is_empty() {
            let twin = self.twin(&sorted.older);
            found.push(match twin {
                Some(at) => finding(Class::Flying, sorted.older.clone(), Evidence::FoundAt(at)),
                None if sorted.exact > 0 || torn => {
                    finding(Class::Shorn, sorted.older.clone(), Evidence::PartOfRecord)
                }
                None => {
                    let class =
                        if sorted.proven_gone { Class::Unserializable } else { Class::Lost };
                    let evidence = sorted.other_run.map_or(Evidence::Older, Evidence::OtherRun);
                    let witness = duty.witness.filter(|_| class == Class::Unserializable);
                    Finding { witness, ..finding(class, sorted.older.clone(), evidence) }
                }
            });
        }
        for class in Class::ALL {
            let numbers: Vec<u64> = sorted
                .odd
                .iter()
                .filter(|(odd, _)| *odd == class)
                .map(|&(_, number)| number)
                .collect();
            if let Some(oddity) =
                numbers.first().and_then(|number| self.survey.oddities.get(number))
            {
                let evidence = Evidence::Sector(oddity.clone());
                match found.iter_mut().find(|found| found.class == class) {
                    // A record counts once per class; the odd sector is the most specific evidence.
                    Some(found) => {
                        found.sectors.extend(numbers);
                        found.evidence = evidence;
                    }
                    None => found.push(finding(class, numbers, evidence)),
                }
            }
        }
        self.verdict.findings.extend(found);
        let clean = self.verdict.findings.len() == before;
        self.count(place, required, &sorted, clean);
        if let Some(age_us) = self.age_us(place.lane, duty.schedule.seq_of(place.index, heard)) {
            let step = AGES_MS.partition_point(|&up_to_ms| age_us > u64::from(up_to_ms) * 1000);
            if let Some(count) = self.verdict.ages.get_mut(step) {
                count.obligations += 1;
                count.broken += u64::from(!clean);
            }
        }
    }

    fn sort(&mut self, numbers: std::ops::Range<u64>, required: u32, proven: u32) -> Sorted {
        let mut sorted = Sorted::default();
        for number in numbers {
            let place = self.geometry.location(number);
            let duty = &self.duties[usize::from(place.lane)];
            let version = self.survey.versions[number as usize];
            match self.survey.oddities.get(&number) {
                None => {
                    let lease = duty
                        .lease
                        .map_or(u32::MAX, |lease| duty.schedule.version_at(place.index, lease));
                    if version > lease {
                        self.never_issued(number);
                    } else if version < required {
                        sorted.older.push(number);
                        sorted.proven_gone |= version < proven;
                    } else {
                        // Sectors of a later version in flight say nothing about the one that had
                        // to be there.
                        sorted.exact += u64::from(version == required);
                    }
                    sorted.lowest =
                        Some(sorted.lowest.map_or(version, |lowest| lowest.min(version)));
                    sorted.highest =
                        Some(sorted.highest.map_or(version, |highest| highest.max(version)));
                }
                Some(Oddity::OtherRun { run_id }) => {
                    // The superblock was written after every slot had been synced, so it is the
                    // surviving witness.
                    sorted.older.push(number);
                    sorted.proven_gone = true;
                    sorted.other_run = Some(*run_id);
                }
                Some(Oddity::NeverIssued { .. }) => self.never_issued(number),
                Some(Oddity::Torn(_)) => sorted.odd.push((Class::Shorn, number)),
                Some(Oddity::Flying { .. }) => sorted.odd.push((Class::Flying, number)),
                Some(Oddity::Corrupt(_)) => sorted.odd.push((Class::Corrupt, number)),
                Some(Oddity::Unreadable(_)) => sorted.odd.push((Class::Unreadable, number)),
            }
        }
        sorted
    }

    fn never_issued(&mut self, number: u64) {
        let address = self.geometry.sector_address_bytes(number);
        let (count, first) = self.verdict.never_issued.unwrap_or((0, address));
        self.verdict.never_issued = Some((count + 1, first));
    }

    /// The address of these sectors' content, if all of it was found elsewhere in a later version
    /// than here.
    fn twin(&self, numbers: &[u64]) -> Option<u64> {
        let mut at = None;
        for number in numbers {
            let &(version, address) = self.flown.get(number)?;
            let here = self.survey.versions[*number as usize];
            if here != Survey::ODD && version <= here {
                return None;
            }
            at = at.or(Some(address));
        }
        at
    }

    fn age_us(&self, lane: u16, seq: u64) -> Option<u64> {
        let obligations = self.obligations.filter(|_| seq > 0)?;
        let covered = self.duties[usize::from(lane)].schedule.covered_by(seq);
        let heard_us = obligations.lanes.get(usize::from(lane))?.heard_us(covered)?;
        Some(obligations.end_us.saturating_sub(heard_us))
    }

    fn count(
        &mut self,
        place: crate::geometry::Location,
        required: u32,
        sorted: &Sorted,
        clean: bool,
    ) {
        let duty = &self.duties[usize::from(place.lane)];
        let legal = &mut self.verdict.legal;
        if clean && sorted.lowest != sorted.highest {
            legal.torn += 1;
        }
        if clean
            && duty.kind != LaneKind::Control
            && sorted
                .highest
                .is_some_and(|version| version < duty.schedule.version_at(place.index, duty.newest))
        {
            legal.reordered += 1;
        }
        if duty.kind == LaneKind::Control {
            let completed =
                control_completed(self.obligations, self.survey, usize::from(place.lane));
            let last = duty.schedule.version_at(place.index, completed);
            legal.control_lost += u64::from(sorted.lowest.is_some_and(|version| version < last));
        } else if required > 0 {
            let tally = &mut self.verdict.tallies[duty.kind as usize];
            tally.obligations += 1;
            tally.kept += u64::from(clean);
        }
    }
}

fn no_ages() -> Vec<AgeCount> {
    let steps = AGES_MS.into_iter().map(Some).chain([None]);
    steps.map(|up_to_ms| AgeCount { up_to_ms, ..AgeCount::default() }).collect()
}
