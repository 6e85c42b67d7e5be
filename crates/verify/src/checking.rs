//! A check from beginning to end: finds the obligations, reads the target and judges it.

mod notes;

use std::path::{Path, PathBuf};

use drive::SystemRoot;

use crate::check_target::{CheckTarget, Readable};
use crate::disk::Disk as _;
use crate::document::{
    Example, FindingRecord, HeardBy, Promise, RunRecord, SCHEMA, SignRecord, VerifyDocument,
    VoidRecord,
};
use crate::error::VerifyError;
use crate::geometry::LaneKind;
use crate::journal::{self, CutOff};
use crate::ledger::{Cycle, Ledger};
use crate::message::Message;
use crate::outcome::{CycleResult, Outcome, Standing};
use crate::reading::read_and_judge;
use crate::run_header::RunHeader;
use crate::sentences;
use crate::survey::{Oddity, Survey};
use crate::validity::{AtCut, Circumstance, Sign, Void, signs, voids};
use crate::verdict::{Class, Verdict};
use crate::witness::Inquiry;

/// Number of example records to show per class.
const EXAMPLES: usize = 5;

/// The place where acknowledgements were recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Recorder(String),
    Journal(PathBuf),
    Nobody,
}

/// Statements of the user that count as evidence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UserStatement {
    pub power_was_cut: bool,
    /// The target is the drive that was written, although nothing on it shows that, or it no longer
    /// exists.
    pub same_drive: bool,
}

/// A check whose obligations are known, before anything is read.
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
    statement: UserStatement,
    /// The run before this one, if the target has reverted to it.
    went_back_to: Option<u64>,
}

impl Check {
    /// Finds the target and the obligations, and matches them.
    pub fn open(
        root: &SystemRoot,
        given: &str,
        source: &Source,
        statement: UserStatement,
    ) -> Result<Check, VerifyError> {
        let target = match CheckTarget::open(root, given) {
            Err(VerifyError::Missing { .. })
                if statement.same_drive && *source != Source::Nobody =>
            {
                CheckTarget::missing(given)
            }
            target => target?,
        };
        let Record { heard_by, ledger, cut_off, inquiry, journal } = Record::of(source)?;
        let standing = ledger.standing();
        let (run, went_back_to) =
            run_to_check(&target, ledger.cycles.last(), journal.as_deref(), cut_off)?;
        // A typing error must not be recorded in the journal as a dead drive, whatever the user
        // states.
        if target.is_missing() && given != run.circumstances.target {
            return Err(VerifyError::OtherName {
                path: target.path,
                then: run.circumstances.target,
            });
        }
        // A drive that lost all its data may have lost its name too.
        if !statement.same_drive {
            target.expect_drive(&run)?;
        }
        let mut cycle = ledger.cycles.into_iter().next_back();
        if let Some(cycle) = cycle.as_mut().filter(|_| cut_off.is_some()) {
            // Leases that are missing from the damaged journal may have been granted.
            cycle.obligations.forget_leases();
        }
        Ok(Check {
            target,
            run,
            cycle,
            standing,
            heard_by,
            cut_off,
            inquiry,
            journal,
            statement,
            went_back_to,
        })
    }

    pub fn run(&self) -> &RunHeader {
        &self.run
    }

    pub fn target(&self) -> &CheckTarget {
        &self.target
    }

    /// Reads the target, judges it, and reports the verdict to recorder or journal. `progress`
    /// receives the share that is done, from 0 to 1, and returns whether to continue.
    ///
    /// # Errors
    /// If the target cannot be opened, was made smaller, or cannot be identified, or if `progress`
    /// returned false.
    pub fn carry_out(
        mut self,
        root: &SystemRoot,
        version: &str,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<VerifyDocument, VerifyError> {
        let (survey, mut verdict, direct) = self.read(progress)?;
        let superblocks_lost = self.target.superblocks_lost(&self.run);
        self.expect_own(&survey, superblocks_lost)?;
        if superblocks_lost == 2 && survey.traces.iter().all(|trace| trace.newest == 0) {
            verdict.lose_witnesses(self.went_back_to.is_some());
        }
        let circumstance = self.circumstance(&verdict);
        let (signs, voids) = (signs(&circumstance), voids(&circumstance));
        let fails = !verdict.is_kept() || superblocks_lost > 0;
        let result = match (fails, &voids[..]) {
            (true, voids) if !voids.iter().any(Void::voids_a_failure) => CycleResult::Fails,
            (false, []) => CycleResult::Kept,
            _ => CycleResult::Void,
        };
        let mut notes = self.notes(root, superblocks_lost, direct, &signs);
        let on_word = signs == [Sign::Word];
        let (standing, unrecorded) = self.count(&verdict, result, on_word);
        notes.extend(unrecorded);
        Ok(VerifyDocument {
            schema: SCHEMA.to_owned(),
            flushmark: version.to_owned(),
            target: self.target.given.clone(),
            run: run_record(&self.run),
            heard_by: self.heard_by,
            result,
            cut: signs
                .into_iter()
                .map(|sign| SignRecord { sign, sentence: sign.sentence() })
                .collect(),
            void: voids
                .into_iter()
                .map(|why| VoidRecord { why, sentence: why.sentence() })
                .collect(),
            promises: self.promises(&verdict),
            findings: findings(&verdict, &self.run),
            rollback: verdict.rollback,
            legal: verdict.legal,
            notes,
            loss_per_cut_below: standing.bound(),
            ages: verdict.ages,
            standing,
        })
    }

    /// Reads and judges the whole target; also returns whether it could be read directly.
    fn read(
        &self,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<(Survey, Verdict, bool), VerifyError> {
        let obligations = self.cycle.as_ref().map(|cycle| &cycle.obligations);
        let opened = self.target.open_to_read();
        let (judged, direct) = match opened.map_err(VerifyError::call("open", &self.target.path))? {
            Readable::File(mut disk, direct) => {
                self.expect_whole(disk.size_bytes())?;
                (read_and_judge(&mut disk, &self.run, obligations, progress), direct)
            }
            Readable::Dead(mut disk) => {
                (read_and_judge(&mut disk, &self.run, obligations, progress), true)
            }
        };
        let (survey, verdict) = judged.map_err(|_| VerifyError::Interrupted)?;
        Ok((survey, verdict, direct))
    }

    /// Refuses a target that cannot be identified. Without a superblock, the records must show that
    /// it belongs to the journal. If there are none, it is another target, unless its identity
    /// shows otherwise.
    fn expect_own(&self, survey: &Survey, superblocks_lost: usize) -> Result<(), VerifyError> {
        let nothing_of_it = survey.versions.iter().all(|&version| version == Survey::ODD)
            && !survey.oddities.values().any(|oddity| matches!(oddity, Oddity::Flying { .. }));
        let is_known = self.went_back_to.is_some()
            || self.statement.same_drive
            || self.target.is_surely_of(&self.run);
        if superblocks_lost == 2 && nothing_of_it && !is_known {
            let path = self.target.path.clone();
            return Err(VerifyError::Unrecognised { path, run_id: self.run.run_id });
        }
        Ok(())
    }

    /// Reports the verdict where the run is recorded, and returns the counts with it. If that fails,
    /// it is counted here, with a note: what took minutes to read must not be lost.
    fn count(
        &mut self,
        verdict: &Verdict,
        result: CycleResult,
        on_word: bool,
    ) -> (Standing, Option<String>) {
        match self.report(verdict, result, on_word) {
            Ok(mut standing) => {
                if self.heard_by == HeardBy::Nobody {
                    standing.count(result, on_word);
                }
                (standing, None)
            }
            Err(error) => {
                let mut standing = self.standing.clone();
                if self.cycle.as_ref().is_some_and(Cycle::is_unjudged) {
                    standing.unjudged -= 1;
                    standing.count(result, on_word);
                }
                let note = format!(
                    "the verdict could not be recorded, so it is not counted there: {}",
                    chain(&error)
                );
                (standing, Some(note))
            }
        }
    }

    /// Refuses a file or partition that was made smaller. A whole drive that comes back smaller has
    /// lost the data.
    fn expect_whole(&self, size_bytes: u64) -> Result<(), VerifyError> {
        let needed_bytes = self.run.geometry.size_bytes();
        if size_bytes >= needed_bytes || self.target.is_whole_drive() {
            return Ok(());
        }
        Err(VerifyError::Shrunken { path: self.target.path.clone(), size_bytes, needed_bytes })
    }

    /// Why losses of control lanes prove nothing about the drive; `None` if they do.
    fn control_caveat(&self) -> Option<&'static str> {
        if self.run.circumstances.direct {
            self.target.control_caveat()
        } else {
            Some("the writes went through the page cache, which a mere reset also empties")
        }
    }

    fn circumstance(&self, verdict: &Verdict) -> Circumstance {
        let about = &self.run.circumstances;
        let is_conclusive = self.run.geometry.control_lanes > 0 && self.control_caveat().is_none();
        Circumstance {
            unsafe_shutdowns_before: about.unsafe_shutdowns,
            unsafe_shutdowns_now: self.target.facts.unsafe_shutdowns,
            control: is_conclusive.then_some(verdict.legal),
            protected: about.protected || about.volatile_cache == Some(false),
            cut_by_recorder: self.cycle.as_ref().is_some_and(Cycle::was_cut),
            on_word: self.statement.power_was_cut,
            volatile_cache: about.volatile_cache,
            flush_lanes: self.run.geometry.flush_lanes,
            syncs_and_flushes: self.cycle.as_ref().and_then(|cycle| cycle.syncs_and_flushes),
            never_issued: verdict.never_issued,
            acknowledged_writes: verdict.acknowledged_writes(),
            at_cut: AtCut::of(self.cycle.as_ref()),
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

    /// Reports the verdict to the recorder or journal, and returns the updated counts.
    fn report(
        &mut self,
        verdict: &Verdict,
        result: CycleResult,
        on_word: bool,
    ) -> Result<Standing, VerifyError> {
        let outcome = Outcome {
            run_id: self.run.run_id,
            result,
            on_word,
            obligations: verdict.tallies.iter().map(|tally| tally.obligations).sum(),
            broken: verdict.tallies.iter().map(|tally| tally.obligations - tally.kept).sum(),
            ages: verdict.ages.clone(),
        };
        let outcome = Message::Outcome(outcome);
        if let Some(inquiry) = &mut self.inquiry {
            return inquiry.judge(&outcome);
        }
        if let Some(path) = &self.journal {
            return keep(path, &outcome);
        }
        Ok(self.standing.clone())
    }
}

/// Acknowledgements recorded outside the drive, if there are any.
struct Record {
    heard_by: HeardBy,
    ledger: Ledger,
    cut_off: Option<CutOff>,
    inquiry: Option<Inquiry>,
    journal: Option<PathBuf>,
}

impl Record {
    fn of(source: &Source) -> Result<Record, VerifyError> {
        let none = Record {
            heard_by: HeardBy::Nobody,
            ledger: Ledger::default(),
            cut_off: None,
            inquiry: None,
            journal: None,
        };
        Ok(match source {
            Source::Nobody => none,
            Source::Journal(path) => {
                let read = journal::read(path)?;
                if read.ledger.cycles.is_empty() {
                    return Err(VerifyError::EmptyJournal { path: path.clone() });
                }
                Record {
                    heard_by: HeardBy::Journal,
                    ledger: read.ledger,
                    cut_off: read.cut_off,
                    journal: Some(path.clone()),
                    ..none
                }
            }
            Source::Recorder(address) => {
                let (inquiry, ledger) = Inquiry::fetch(address)?;
                Record { heard_by: HeardBy::Recorder, ledger, inquiry: Some(inquiry), ..none }
            }
        })
    }
}

/// The run to check, and the run that the target has reverted to instead, if any.
fn run_to_check(
    target: &CheckTarget,
    recorded: Option<&Cycle>,
    journal: Option<&Path>,
    cut_off: Option<CutOff>,
) -> Result<(RunHeader, Option<u64>), VerifyError> {
    match (target.run(), recorded) {
        (Ok(found), Some(cycle)) if found.run_id != cycle.run.run_id => {
            // It is not enough that the journal knows an older run, which may be on another
            // partition of the same drive.
            if cycle.run.circumstances.replaces != Some(found.run_id) {
                return Err(stranger(&target.path, found, cycle, journal, cut_off));
            }
            Ok((cycle.run.clone(), Some(found.run_id)))
        }
        (Ok(run), _) => Ok((run.clone(), None)),
        // The journal knows the layout too; the records on the target will show whether they
        // belong to it.
        (
            Err(
                VerifyError::NoRun { .. }
                | VerifyError::SuperblockDamaged { .. }
                | VerifyError::Unreadable { .. },
            ),
            Some(cycle),
        ) => Ok((cycle.run.clone(), None)),
        (Err(error), _) => Err(error),
    }
}

/// The error for a target whose run is not the journal's.
fn stranger(
    path: &Path,
    found: &RunHeader,
    cycle: &Cycle,
    journal: Option<&Path>,
    cut_off: Option<CutOff>,
) -> VerifyError {
    if let (Some(journal), Some(cut_off)) = (journal, cut_off.filter(|cut_off| cut_off.is_damage)) {
        return VerifyError::JournalDamaged {
            path: journal.to_owned(),
            at_bytes: cut_off.at_bytes,
        };
    }
    VerifyError::OtherRun { path: path.to_owned(), found: found.run_id, expected: cycle.run.run_id }
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |said, cause| format!("{said}: {cause}"))
}

/// Appends a verdict to a journal, and returns the updated counts.
fn keep(path: &Path, outcome: &Message) -> Result<Standing, VerifyError> {
    let (mut journal, read) = journal::Journal::open(path)?;
    let at_us = read.ledger.cycles.last().map_or(0, |cycle| cycle.obligations.end_us);
    journal
        .add(at_us, outcome)
        .and_then(|()| journal.sync())
        .map_err(VerifyError::call("write the verdict to the journal", path))?;
    let mut ledger = read.ledger;
    ledger
        .apply(at_us, outcome)
        .map_err(|what| VerifyError::JournalContradicts { path: path.to_owned(), what: what.0 })?;
    Ok(ledger.standing())
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

/// Findings grouped by class and kind of lane, each with its first examples.
fn findings(verdict: &Verdict, run: &RunHeader) -> Vec<FindingRecord> {
    let mut records = Vec::new();
    for class in Class::ALL {
        for kind in LaneKind::ALL {
            let of_both = || {
                verdict
                    .findings
                    .iter()
                    .filter(move |finding| (finding.class, finding.kind) == (class, kind))
            };
            let count = of_both().count() as u64;
            if count == 0 {
                continue;
            }
            let example = |finding: &crate::verdict::Finding| Example {
                address_bytes: finding.address_bytes,
                required_version: finding.required,
                found_version: finding.found,
                age_us: finding.age_us,
                sentence: sentences::sentence(finding, run),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_target::tests::drive_in_a_file;
    use crate::frontier::Frontier;
    use crate::geometry::tests::small;
    use crate::target::boot_id;

    const NAME: &str = "Micron 5100 (S1)";

    /// Checks a drive that lost everything after a run had acknowledged writes.
    fn of_zeros(name_now: &str, statement: UserStatement) -> Result<VerifyDocument, VerifyError> {
        check_of_zeros(name_now, statement, |_| ())
    }

    fn check_of_zeros(
        name_now: &str,
        statement: UserStatement,
        change: impl FnOnce(&mut Check),
    ) -> Result<VerifyDocument, VerifyError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drive");
        let mut run = RunHeader::plain(7, small());
        std::fs::write(&path, vec![0; run.geometry.size_bytes() as usize]).unwrap();
        let target = drive_in_a_file(&path, name_now);
        run.circumstances.drive = NAME.to_owned();
        let named = drive_in_a_file(&path, NAME);
        run.target_id =
            crate::target::target_id(named.place.as_ref().unwrap(), &named.facts, run.run_id);
        let mut ledger = Ledger::default();
        for message in [
            Message::Begin(Box::new(run.clone())),
            Message::Lease(vec![(0, 10)]),
            Message::Acknowledge(vec![(0, Frontier { completed: 4, durable: 4 })]),
        ] {
            ledger.apply(0, &message).unwrap();
        }
        let mut check = Check {
            target,
            run,
            standing: ledger.standing(),
            cycle: ledger.cycles.pop(),
            heard_by: HeardBy::Journal,
            cut_off: None,
            inquiry: None,
            journal: None,
            statement,
            went_back_to: None,
        };
        change(&mut check);
        check.carry_out(&SystemRoot::default(), "0.0.0", &mut |_| true)
    }

    /// The first words of the notes that a change adds.
    fn added_notes(statement: UserStatement, change: impl FnOnce(&mut Check)) -> Vec<String> {
        let plain = of_zeros(NAME, statement).unwrap().notes;
        let notes = check_of_zeros(NAME, statement, change).unwrap().notes;
        let added = notes.into_iter().filter(|note| !plain.contains(note));
        added.map(|note| note.split_whitespace().take(8).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn a_reboot_is_no_sign_of_a_cut_and_its_absence_is_noted() {
        let cut = UserStatement { power_was_cut: true, ..UserStatement::default() };
        let boot = |statement, boot: String| {
            added_notes(statement, |check| check.run.circumstances.boot_id = boot)
        };
        let this = boot_id(&SystemRoot::default());
        for statement in [cut, UserStatement::default()] {
            assert_eq!(
                boot(statement, this.clone()),
                ["this host has not rebooted since the run:"]
            );
        }
        assert_eq!(
            boot(UserStatement::default(), "another".to_owned()),
            ["this host has rebooted since the run; that"]
        );
        assert_eq!(boot(cut, "another".to_owned()), [""; 0]);
    }

    #[test]
    fn notes_report_missing_records_and_losses() {
        let heard = |heard_by, witness: &str| {
            added_notes(UserStatement::default(), |check| {
                check.heard_by = heard_by;
                check.run.circumstances.witness = witness.to_owned();
            })
        };
        let nobody = "acknowledgements were not recorded outside the drive, so";
        assert_eq!(heard(HeardBy::Nobody, ""), [nobody]);
        assert_eq!(
            heard(HeardBy::Nobody, "--journal j"),
            ["this run was recorded; repeat the check with", nobody]
        );
        assert_eq!(heard(HeardBy::Journal, "--journal j"), [""; 0]);
        let cut_off = |is_damage| {
            let cut_off = CutOff { at_bytes: 100, lost_bytes: 5, is_damage };
            added_notes(UserStatement::default(), |check| check.cut_off = Some(cut_off))
        };
        assert_eq!(cut_off(true), ["the journal is damaged: 5 bytes after byte"]);
        assert_eq!(cut_off(false), ["the journal ends in the middle of an"]);
        let back = added_notes(UserStatement::default(), |check| check.went_back_to = Some(6));
        assert_eq!(back, ["the target has reverted to run 0000000000000006, which"]);
        let known = added_notes(UserStatement::default(), |check| {
            check.run.circumstances.unsafe_shutdowns = Some(1);
            check.target.facts.unsafe_shutdowns = Some(2);
        });
        assert_eq!(known, [""; 0]);
    }

    #[test]
    fn notes_report_how_the_writer_ended() {
        let stopped = |lanes: u16, ended: Option<&str>, cut_delay_ms: Option<u32>| {
            added_notes(UserStatement::default(), |check| {
                let cycle = check.cycle.as_mut().unwrap();
                cycle.stopped =
                    (0..lanes).map(|lane| (lane, format!("lane {lane} stopped"))).collect();
                (cycle.ended, cycle.cut_delay_ms) = (ended.map(str::to_owned), cut_delay_ms);
            })
        };
        assert_eq!(stopped(1, None, None), ["lane 0 stopped"]);
        assert_eq!(stopped(3, None, None).len(), 3);
        let all = "all 4 lanes stopped at errors, as they";
        assert_eq!(stopped(4, Some("every lane stopped at an error"), None), [all]);
        assert_eq!(
            stopped(0, Some("asked to stop"), None),
            ["the writer ended by itself (asked to stop)"]
        );
        assert_eq!(stopped(0, Some("asked to stop"), Some(3)), [""; 0]);
    }

    #[test]
    fn a_drive_that_lost_everything_fails_if_its_name_or_the_user_identifies_it() {
        let known = of_zeros(NAME, UserStatement::default()).unwrap();
        assert_eq!((known.result, known.findings[0].class), (CycleResult::Fails, Class::Corrupt));
        let unknown = of_zeros("", UserStatement::default());
        assert!(matches!(unknown, Err(VerifyError::Unrecognised { run_id: 7, .. })), "{unknown:?}");
        let vouched =
            of_zeros("", UserStatement { same_drive: true, ..UserStatement::default() }).unwrap();
        assert_eq!(vouched.result, CycleResult::Fails);
        assert!(
            vouched.notes.iter().any(|note| note.contains("--same-drive")),
            "{:?}",
            vouched.notes
        );
    }
}
