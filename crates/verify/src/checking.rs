//! A check from beginning to end: whose obligations, what lies there, what that means.

use std::path::{Path, PathBuf};

use drive::SystemRoot;

use crate::bound::loss_per_cut_below;
use crate::disk::Disk as _;
use crate::document::{Example, FindingRecord, HeardBy, Promise, RunRecord, SCHEMA, VerifyDocument, VoidRecord};
use crate::error::VerifyError;
use crate::file_disk::open_to_read;
use crate::geometry::LaneKind;
use crate::journal::{self, CutOff};
use crate::ledger::{Cycle, Ledger, Standing};
use crate::message::{CycleResult, Message, Outcome};
use crate::run_header::RunHeader;
use crate::survey::{Oddity, Survey};
use crate::target::{CheckTarget, boot_id};
use crate::validity::{Circumstance, Void, voids};
use crate::verdict::{Class, Verdict, judge};
use crate::witness::Inquiry;
use crate::words;

/// So many records of a class are shown.
const EXAMPLES: usize = 5;

/// Who is asked what was acknowledged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A recorder, by its address.
    Recorder(String),
    /// A journal.
    Journal(PathBuf),
    /// Nobody.
    Nobody,
}

/// A check that is under way: obligations are known, nothing was read yet.
#[derive(Debug)]
pub struct Check {
    target: CheckTarget,
    run: RunHeader,
    cycle: Option<Cycle>,
    standing: Standing,
    heard_by: HeardBy,
    cut_off: Option<CutOff>,
    inquiry: Option<Inquiry>,
    journal: Option<PathBuf>,
}

impl Check {
    /// Finds target and obligations, and holds them against each other.
    ///
    /// # Errors
    /// When either cannot be had, or they do not belong together.
    pub fn open(root: &SystemRoot, given: &str, source: &Source) -> Result<Check, VerifyError> {
        let target = CheckTarget::open(root, given)?;
        let (heard_by, ledger, cut_off, inquiry) = match source {
            Source::Nobody => (HeardBy::Nobody, Ledger::default(), None, None),
            Source::Journal(path) => {
                let read = journal::read(path)?;
                if read.ledger.cycles.is_empty() {
                    return Err(VerifyError::EmptyJournal { path: path.clone() });
                }
                (HeardBy::Journal, read.ledger, read.cut_off, None)
            }
            Source::Recorder(address) => {
                let (inquiry, ledger) = Inquiry::fetch(address)?;
                (HeardBy::Recorder, ledger, None, Some(inquiry))
            }
        };
        let standing = ledger.standing();
        let cycle = ledger.cycles.into_iter().next_back();
        let run = match (target.run(), &cycle) {
            (Ok(run), Some(cycle)) if run.run_id != cycle.run.run_id => {
                return Err(VerifyError::OtherRun {
                    path: target.path.clone(),
                    found: run.run_id,
                    expected: cycle.run.run_id,
                });
            }
            (Ok(run), _) => run.clone(),
            // The journal knows the layout, too: what lies on the target will tell whether it is its own.
            (Err(VerifyError::SuperblockDamaged { .. } | VerifyError::Unreadable { .. }), Some(cycle)) => {
                cycle.run.clone()
            }
            (Err(error), _) => return Err(error),
        };
        target.expect_drive(&run)?;
        let journal = match source {
            Source::Journal(path) => Some(path.clone()),
            _ => None,
        };
        Ok(Check { target, run, cycle, standing, heard_by, cut_off, inquiry, journal })
    }

    /// The run.
    pub fn run(&self) -> &RunHeader {
        &self.run
    }

    /// The target.
    pub fn target(&self) -> &CheckTarget {
        &self.target
    }

    /// Reads the target, judges, and tells recorder or journal. `progress` is told the share that is done, from 0 to 1, and says whether to go on.
    ///
    /// # Errors
    /// When the target cannot be opened or is too small, when `progress` did not want to go on, or when recorder or journal cannot be told.
    pub fn carry_out(
        mut self,
        root: &SystemRoot,
        version: &str,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<VerifyDocument, VerifyError> {
        let path = self.target.path.clone();
        let geometry = self.run.geometry;
        let (mut disk, direct) =
            open_to_read(&path, geometry.sector_bytes).map_err(VerifyError::call("open", &path))?;
        if disk.size_bytes() < geometry.size_bytes() {
            let (size_bytes, needed_bytes) = (disk.size_bytes(), geometry.size_bytes());
            return Err(VerifyError::Shrunken { path, size_bytes, needed_bytes });
        }
        let survey = Survey::take(&mut disk, &self.run, progress).map_err(|_| VerifyError::Interrupted)?;
        let superblocks_damaged = self.target.superblocks.iter().filter(|superblock| superblock.is_err()).count();
        // Without superblock the records have to tell whether this is the journal's target: all of it readable, and none of them on it, means that it is not.
        let nothing_of_it = survey.versions.iter().all(|&version| version == Survey::ODD)
            && survey.oddities.values().all(|oddity| !matches!(oddity, Oddity::Unreadable(_) | Oddity::Flying { .. }));
        if superblocks_damaged == 2 && nothing_of_it {
            return Err(VerifyError::NoRun { path });
        }
        let verdict = judge(&self.run, self.cycle.as_ref().map(|cycle| &cycle.obligations), &survey);
        let voids = voids(&self.circumstance(&verdict));
        let fails = !verdict.is_kept() || superblocks_damaged > 0;
        let result = match (fails, &voids[..]) {
            (true, voids) if !voids.iter().any(Void::voids_a_failure) => CycleResult::Fails,
            (false, []) => CycleResult::Kept,
            _ => CycleResult::Void,
        };
        let mut notes = self.notes(root, superblocks_damaged, direct);
        // What took minutes to read is not lost because somebody else could not be told.
        let mut standing = self.tell(&verdict, result).unwrap_or_else(|error| {
            notes.push(format!("the verdict could not be passed on, so this cycle is not counted there: {error}"));
            self.standing.clone()
        });
        if self.heard_by == HeardBy::Nobody {
            count(&mut standing, result);
        }
        Ok(VerifyDocument {
            schema: SCHEMA.to_owned(),
            flushmark: version.to_owned(),
            target: self.target.given.clone(),
            run: run_record(&self.run),
            heard_by: self.heard_by,
            result,
            void: voids.into_iter().map(|why| VoidRecord { why, sentence: why.sentence() }).collect(),
            promises: self.promises(&verdict),
            findings: findings(&verdict, &self.run),
            rollback: verdict.rollback,
            legal: verdict.legal,
            notes,
            loss_per_cut_below: (standing.failed == 0 && standing.clean > 0)
                .then(|| loss_per_cut_below(standing.clean)),
            ages: verdict.ages,
            standing,
        })
    }

    fn circumstance(&self, verdict: &Verdict) -> Circumstance {
        let about = &self.run.circumstances;
        let acknowledged: u64 = verdict.tallies.iter().map(|tally| tally.acknowledged_writes).sum();
        Circumstance {
            unsafe_shutdowns_before: about.unsafe_shutdowns,
            unsafe_shutdowns_now: self.target.facts.unsafe_shutdowns,
            has_control: self.run.geometry.control_lanes > 0,
            legal: verdict.legal,
            protected: about.protected || about.volatile_cache == Some(false),
            volatile_cache: about.volatile_cache,
            syncs_and_flushes: self.cycle.as_ref().and_then(|cycle| cycle.syncs_and_flushes),
            never_issued: verdict.never_issued,
            acknowledged: acknowledged > 0,
        }
    }

    fn promises(&self, verdict: &Verdict) -> Vec<Promise> {
        let geometry = &self.run.geometry;
        [(LaneKind::Flush, geometry.flush_lanes), (LaneKind::Fua, geometry.fua_lanes)]
            .into_iter()
            .filter(|(_, lanes)| *lanes > 0)
            .map(|(kind, _)| Promise { kind, tally: verdict.tallies[kind as usize] })
            .collect()
    }

    /// Passes the verdict on to whoever keeps count; answers with the count.
    fn tell(&mut self, verdict: &Verdict, result: CycleResult) -> Result<Standing, VerifyError> {
        let outcome = Outcome {
            run_id: self.run.run_id,
            result,
            obligations: verdict.tallies.iter().map(|tally| tally.obligations).sum(),
            broken: verdict.tallies.iter().map(|tally| tally.obligations - tally.kept).sum(),
            ages: verdict.ages.clone(),
        };
        let outcome = Message::Outcome(outcome);
        if let Some(inquiry) = &mut self.inquiry {
            let [clean, failed, void] = inquiry.judge(&outcome)?;
            return Ok(Standing { clean, failed, void, ages: Vec::new() });
        }
        if let Some(path) = &self.journal {
            return keep(path, &outcome);
        }
        Ok(self.standing.clone())
    }

    fn notes(&self, root: &SystemRoot, superblocks_damaged: usize, direct: bool) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(match superblocks_damaged {
            0 => None,
            1 => Some("one of the two superblocks, which were synced before the run began, is damaged or cannot be read".to_owned()),
            _ => Some(
                "both superblocks, which were synced before the run began, are damaged or cannot be read; the layout is the journal's"
                    .to_owned(),
            ),
        });
        if let Some(cut_off) = self.cut_off {
            notes.push(format!(
                "the journal ends in the middle of an entry: {} bytes behind byte {} do not count, and nothing is claimed of what they said",
                cut_off.lost_bytes, cut_off.at_bytes
            ));
        }
        let witness = &self.run.circumstances.witness;
        if self.heard_by == HeardBy::Nobody && !witness.is_empty() {
            notes.push(format!("this run was heard: give the check {witness} to have all of it judged"));
        }
        if self.heard_by == HeardBy::Nobody {
            notes.push("nobody outside heard what was acknowledged, so only what surviving records prove counts: losses at the very end, and a drive that went back as a whole, do not show; use --journal or --recorder".to_owned());
        }
        let boot = &self.run.circumstances.boot_id;
        if !boot.is_empty() && *boot == boot_id(root) {
            notes.push("this host has not been started anew since the run: if its power, and not the drive's alone, was to be cut, that did not happen".to_owned());
        }
        if let Some(cycle) = &self.cycle {
            let lanes = usize::from(self.run.geometry.lanes());
            // A drive that loses its power under a host that does not.
            let all_stopped = cycle.stopped.len() >= lanes;
            if let Some((_, why)) = cycle.stopped.first().filter(|_| all_stopped) {
                notes.push(format!("all {lanes} lanes stopped at errors, as they do when the drive's power goes and the host's does not; the first of them: {why}"));
            } else {
                notes.extend(cycle.stopped.iter().map(|(_, why)| why.clone()));
            }
            if let Some(why) = cycle.ended.as_ref().filter(|_| !all_stopped && cycle.cut_delay_ms.is_none()) {
                notes.push(format!(
                    "the writer ended by itself ({why}) before any cut: the drive was idle when its power went"
                ));
            }
        }
        notes.extend(self.run.fua_caveat().map(str::to_owned));
        let about = &self.run.circumstances;
        if about.unsafe_shutdowns.is_none() || self.target.facts.unsafe_shutdowns.is_none() {
            notes.push("the drive's count of unsafe shutdowns is not known (it takes root, and a drive that counts), so that only control lanes can show that the power was cut".to_owned());
        }
        if !direct || !about.direct {
            notes.push(
                "the filesystem has no O_DIRECT, so what was read may come from the page cache instead of the drive"
                    .to_owned(),
            );
        }
        notes
    }
}

/// Appends a verdict to a journal.
fn keep(path: &Path, outcome: &Message) -> Result<Standing, VerifyError> {
    let (mut journal, read) = journal::Journal::open(path)?;
    let at_us = read.ledger.cycles.last().map_or(0, |cycle| cycle.obligations.end_us);
    journal
        .add(at_us, outcome)
        .and_then(|()| journal.sync())
        .map_err(VerifyError::call("write the verdict into the journal", path))?;
    let mut ledger = read.ledger;
    ledger
        .apply(at_us, outcome)
        .map_err(|what| VerifyError::JournalContradicts { path: path.to_owned(), what: what.0 })?;
    Ok(ledger.standing())
}

fn count(standing: &mut Standing, result: CycleResult) {
    match result {
        CycleResult::Kept => standing.clean += 1,
        CycleResult::Fails => standing.failed += 1,
        CycleResult::Void => standing.void += 1,
    }
}

fn run_record(run: &RunHeader) -> RunRecord {
    let geometry = &run.geometry;
    RunRecord {
        id: run.name(),
        started_unix_s: run.circumstances.started_unix_s,
        drive: run.circumstances.drive.clone(),
        lanes: [geometry.flush_lanes, geometry.fua_lanes, geometry.control_lanes],
        flush_method: run.flush_method,
        fua_method: run.fua_method,
        fua_path: run.fua_path,
        record_bytes: geometry.record_bytes(),
        sector_bytes: geometry.sector_bytes,
        size_bytes: geometry.size_bytes(),
        direct: run.circumstances.direct,
    }
}

/// Findings by class and kind of lane, each with its first examples.
fn findings(verdict: &Verdict, run: &RunHeader) -> Vec<FindingRecord> {
    let mut records = Vec::new();
    for class in Class::ALL {
        for kind in LaneKind::ALL {
            let of_both =
                || verdict.findings.iter().filter(move |finding| (finding.class, finding.kind) == (class, kind));
            let count = of_both().count() as u64;
            if count == 0 {
                continue;
            }
            let example = |finding: &crate::verdict::Finding| Example {
                address_bytes: finding.address_bytes,
                required_version: finding.required,
                found_version: finding.found,
                age_us: finding.age_us,
                sentence: words::sentence(finding, run),
            };
            records.push(FindingRecord {
                class,
                kind,
                records: count,
                sectors: of_both().map(|finding| finding.sectors.len() as u64).sum(),
                examples: of_both().take(EXAMPLES).map(example).collect(),
            });
        }
    }
    records
}
