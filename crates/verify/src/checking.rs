//! A check from beginning to end: whose obligations, what lies there, what that means.

use std::path::{Path, PathBuf};

use drive::SystemRoot;

use crate::check_target::{CheckTarget, Readable};
use crate::disk::Disk as _;
use crate::document::{
    Example, FindingRecord, HeardBy, Promise, RunRecord, SCHEMA, SignRecord, VerifyDocument, VoidRecord,
};
use crate::error::VerifyError;
use crate::geometry::LaneKind;
use crate::journal::{self, CutOff};
use crate::ledger::{Cycle, Ledger};
use crate::message::Message;
use crate::outcome::{CycleResult, Outcome, Standing};
use crate::reading::read_and_judge;
use crate::run_header::{RunHeader, run_name};
use crate::survey::{Oddity, Survey};
use crate::target::boot_id;
use crate::validity::{AtCut, Circumstance, Sign, Void, signs, voids};
use crate::verdict::{Class, Verdict};
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

/// What a person vouches for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Word {
    /// The power was cut.
    pub power_was_cut: bool,
    /// The target is the drive that was written, although nothing on it says so, or it is not there at all.
    pub same_drive: bool,
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
    word: Word,
    /// The run before this one, where the target carries that again.
    went_back_to: Option<u64>,
}

impl Check {
    /// Finds target and obligations, and holds them against each other.
    ///
    /// # Errors
    /// When either cannot be had, or they do not belong together.
    pub fn open(root: &SystemRoot, given: &str, source: &Source, word: Word) -> Result<Check, VerifyError> {
        let target = match CheckTarget::open(root, given) {
            Err(VerifyError::Missing { .. }) if word.same_drive && *source != Source::Nobody => {
                CheckTarget::missing(given)
            }
            target => target?,
        };
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
        let journal = match source {
            Source::Journal(path) => Some(path.clone()),
            _ => None,
        };
        let standing = ledger.standing();
        let mut went_back_to = None;
        let run = match (target.run(), ledger.cycles.last()) {
            (Ok(found), Some(cycle)) if found.run_id != cycle.run.run_id => {
                // That the journal knows an older run is not enough: it may lie on another part of the same drive.
                if cycle.run.circumstances.replaces != Some(found.run_id) {
                    return Err(stranger(&target.path, found, cycle, journal.as_deref(), cut_off));
                }
                went_back_to = Some(found.run_id);
                cycle.run.clone()
            }
            (Ok(run), _) => run.clone(),
            // The journal knows the layout, too: what lies on the target will tell whether it is its own.
            (
                Err(VerifyError::NoRun { .. } | VerifyError::SuperblockDamaged { .. } | VerifyError::Unreadable { .. }),
                Some(cycle),
            ) => cycle.run.clone(),
            (Err(error), _) => return Err(error),
        };
        // A person's word does not make a slip of the pen a dead drive, which its journal would remember for good.
        if target.is_missing() && given != run.circumstances.target {
            return Err(VerifyError::OtherName { path: target.path, then: run.circumstances.target });
        }
        // A drive that lost its mind may have lost its name, too.
        if !word.same_drive {
            target.expect_drive(&run)?;
        }
        let mut cycle = ledger.cycles.into_iter().next_back();
        if let Some(cycle) = cycle.as_mut().filter(|_| cut_off.is_some()) {
            // A lease that is not heard of was given all the same.
            cycle.obligations.forget_leases();
        }
        Ok(Check { target, run, cycle, standing, heard_by, cut_off, inquiry, journal, word, went_back_to })
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
    /// When the target cannot be opened, was made smaller, or cannot be told from another one, or when `progress` did not want to go on.
    pub fn carry_out(
        mut self,
        root: &SystemRoot,
        version: &str,
        progress: &mut dyn FnMut(f64) -> bool,
    ) -> Result<VerifyDocument, VerifyError> {
        let path = self.target.path.clone();
        let obligations = self.cycle.as_ref().map(|cycle| &cycle.obligations);
        let (judged, direct) = match self.target.open_to_read().map_err(VerifyError::call("open", &path))? {
            Readable::File(mut disk, direct) => {
                self.expect_whole(disk.size_bytes())?;
                (read_and_judge(&mut disk, &self.run, obligations, progress), direct)
            }
            Readable::Dead(mut disk) => (read_and_judge(&mut disk, &self.run, obligations, progress), true),
        };
        let (survey, mut verdict) = judged.map_err(|_| VerifyError::Interrupted)?;
        let superblocks_lost = self.target.superblocks_lost(&self.run);
        // Without superblock the records have to tell whether this is the journal's target. None of them on it: that is another one, unless its name says otherwise.
        let nothing_of_it = survey.versions.iter().all(|&version| version == Survey::ODD)
            && !survey.oddities.values().any(|oddity| matches!(oddity, Oddity::Flying { .. }));
        let is_known = self.went_back_to.is_some() || self.word.same_drive || self.target.is_surely_of(&self.run);
        if superblocks_lost == 2 && nothing_of_it && !is_known {
            return Err(VerifyError::Unrecognised { path, run_id: self.run.run_id });
        }
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
        // What took minutes to read is not lost because somebody else could not be told.
        let mut standing = self.tell(&verdict, result, on_word).unwrap_or_else(|error| {
            notes.push(format!("the verdict could not be passed on, so it is not counted there: {}", chain(&error)));
            let mut standing = self.standing.clone();
            if self.cycle.as_ref().is_some_and(Cycle::is_unjudged) {
                standing.unjudged -= 1;
                standing.count(result, on_word);
            }
            standing
        });
        if self.heard_by == HeardBy::Nobody {
            standing.count(result, on_word);
        }
        Ok(VerifyDocument {
            schema: SCHEMA.to_owned(),
            flushmark: version.to_owned(),
            target: self.target.given.clone(),
            run: run_record(&self.run),
            heard_by: self.heard_by,
            result,
            cut: signs.into_iter().map(|sign| SignRecord { sign, sentence: sign.sentence() }).collect(),
            void: voids.into_iter().map(|why| VoidRecord { why, sentence: why.sentence() }).collect(),
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

    /// Refuses a target that may have been cut by a person: a file or a partition. A whole drive that comes back smaller has lost what was there.
    fn expect_whole(&self, size_bytes: u64) -> Result<(), VerifyError> {
        let needed_bytes = self.run.geometry.size_bytes();
        if size_bytes >= needed_bytes || self.target.is_whole_drive() {
            return Ok(());
        }
        Err(VerifyError::Shrunken { path: self.target.path.clone(), size_bytes, needed_bytes })
    }

    /// Why what a control lane lost shows nothing of the drive; `None` where it does.
    fn blurred(&self) -> Option<&'static str> {
        if self.run.circumstances.direct {
            self.target.blurs_control()
        } else {
            Some("it went through the page cache, which a mere reset empties, too")
        }
    }

    fn circumstance(&self, verdict: &Verdict) -> Circumstance {
        let about = &self.run.circumstances;
        let tells = self.run.geometry.control_lanes > 0 && self.blurred().is_none();
        Circumstance {
            unsafe_shutdowns_before: about.unsafe_shutdowns,
            unsafe_shutdowns_now: self.target.facts.unsafe_shutdowns,
            control: tells.then_some(verdict.legal),
            protected: about.protected || about.volatile_cache == Some(false),
            cut_by_recorder: self.cycle.as_ref().is_some_and(Cycle::was_cut),
            on_word: self.word.power_was_cut,
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

    /// Passes the verdict on to whoever keeps count; answers with the count.
    fn tell(&mut self, verdict: &Verdict, result: CycleResult, on_word: bool) -> Result<Standing, VerifyError> {
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

    fn notes(&self, root: &SystemRoot, superblocks_lost: usize, direct: bool, signs: &[Sign]) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(match superblocks_lost {
            0 => None,
            1 => Some("one of the two superblocks, which were synced before the run began, is gone, damaged, or from before the run".to_owned()),
            _ => Some(
                "both superblocks, which were synced before the run began, are gone, damaged, or from before the run; the layout is the journal's"
                    .to_owned(),
            ),
        });
        if let Some(before) = self.went_back_to {
            notes.push(format!("the target carries run {} again, which this run had replaced", run_name(before)));
        }
        if self.target.is_missing() {
            notes.push(format!(
                "{} does not exist: that the drive which was written there is dead is said by whoever checks (--same-drive)",
                self.target.given
            ));
        } else if self.word.same_drive {
            notes.push("that this is the drive that was written is said by whoever checks (--same-drive)".to_owned());
        }
        if let Some(cut_off) = self.cut_off {
            let what = if cut_off.is_damage { "is damaged" } else { "ends in the middle of an entry" };
            notes.push(format!(
                "the journal {what}: {} bytes behind byte {} do not count, and nothing is claimed of what they said",
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
        if !boot.is_empty() && *boot != boot_id(root) && signs.is_empty() {
            notes.push("this host was started anew since the run; a reset does that, too, and leaves the drive its power, so that it is no sign of a cut".to_owned());
        }
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
            notes.push(
                "the drive's count of unsafe shutdowns is not known (it takes root, and a drive that counts)"
                    .to_owned(),
            );
        }
        if let Some(why) = self.blurred().filter(|_| self.run.geometry.control_lanes > 0) {
            notes.push(format!("what is missing of control lanes is no sign of a cut here: {why}"));
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

/// Why the target of another run is not judged by this journal.
fn stranger(
    path: &Path,
    found: &RunHeader,
    cycle: &Cycle,
    journal: Option<&Path>,
    cut_off: Option<CutOff>,
) -> VerifyError {
    if let (Some(journal), Some(cut_off)) = (journal, cut_off.filter(|cut_off| cut_off.is_damage)) {
        return VerifyError::JournalDamaged { path: journal.to_owned(), at_bytes: cut_off.at_bytes };
    }
    VerifyError::OtherRun { path: path.to_owned(), found: found.run_id, expected: cycle.run.run_id }
}

/// An error with its causes, in one sentence.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |said, cause| format!("{said}: {cause}"))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check_target::tests::drive_in_a_file;
    use crate::frontier::Frontier;
    use crate::geometry::tests::small;

    const NAME: &str = "Micron 5100 (S1)";

    /// A check of a drive that lost everything, and on which a run had acknowledged something.
    fn of_zeros(name_now: &str, word: Word) -> Result<VerifyDocument, VerifyError> {
        check_of_zeros(name_now, word, |_| ())
    }

    fn check_of_zeros(
        name_now: &str,
        word: Word,
        change: impl FnOnce(&mut Check),
    ) -> Result<VerifyDocument, VerifyError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drive");
        let mut run = RunHeader::plain(7, small());
        std::fs::write(&path, vec![0; run.geometry.size_bytes() as usize]).unwrap();
        let target = drive_in_a_file(&path, name_now);
        run.circumstances.drive = NAME.to_owned();
        let named = drive_in_a_file(&path, NAME);
        run.target_id = crate::target::target_id(named.place.as_ref().unwrap(), &named.facts, run.run_id);
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
            word,
            went_back_to: None,
        };
        change(&mut check);
        check.carry_out(&SystemRoot::default(), "0.0.0", &mut |_| true)
    }

    /// How the notes begin that a change adds.
    fn added_notes(word: Word, change: impl FnOnce(&mut Check)) -> Vec<String> {
        let plain = of_zeros(NAME, word).unwrap().notes;
        let notes = check_of_zeros(NAME, word, change).unwrap().notes;
        let added = notes.into_iter().filter(|note| !plain.contains(note));
        added.map(|note| note.split_whitespace().take(8).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn a_new_boot_is_no_sign_of_a_cut_and_an_old_one_speaks_against_it() {
        let cut = Word { power_was_cut: true, ..Word::default() };
        let boot = |word, boot: String| added_notes(word, |check| check.run.circumstances.boot_id = boot);
        let this = boot_id(&SystemRoot::default());
        for word in [cut, Word::default()] {
            assert_eq!(boot(word, this.clone()), ["this host has not been started anew since"]);
        }
        assert_eq!(boot(Word::default(), "another".to_owned()), ["this host was started anew since the run;"]);
        assert_eq!(boot(cut, "another".to_owned()), [""; 0]);
    }

    #[test]
    fn notes_say_who_did_not_hear_and_what_was_not_kept() {
        let heard = |heard_by, witness: &str| {
            added_notes(Word::default(), |check| {
                check.heard_by = heard_by;
                check.run.circumstances.witness = witness.to_owned();
            })
        };
        let nobody = "nobody outside heard what was acknowledged, so only";
        assert_eq!(heard(HeardBy::Nobody, ""), [nobody]);
        assert_eq!(heard(HeardBy::Nobody, "--journal j"), ["this run was heard: give the check --journal", nobody]);
        assert_eq!(heard(HeardBy::Journal, "--journal j"), [""; 0]);
        let cut_off = |is_damage| {
            let cut_off = CutOff { at_bytes: 100, lost_bytes: 5, is_damage };
            added_notes(Word::default(), |check| check.cut_off = Some(cut_off))
        };
        assert_eq!(cut_off(true), ["the journal is damaged: 5 bytes behind byte"]);
        assert_eq!(cut_off(false), ["the journal ends in the middle of an"]);
        let back = added_notes(Word::default(), |check| check.went_back_to = Some(6));
        assert_eq!(back, ["the target carries run 0000000000000006 again, which this"]);
        let known = added_notes(Word::default(), |check| {
            check.run.circumstances.unsafe_shutdowns = Some(1);
            check.target.facts.unsafe_shutdowns = Some(2);
        });
        assert_eq!(known, [""; 0]);
    }

    #[test]
    fn notes_say_how_the_writer_ended() {
        let stopped = |lanes: u16, ended: Option<&str>, cut_delay_ms: Option<u32>| {
            added_notes(Word::default(), |check| {
                let cycle = check.cycle.as_mut().unwrap();
                cycle.stopped = (0..lanes).map(|lane| (lane, format!("lane {lane} stopped"))).collect();
                (cycle.ended, cycle.cut_delay_ms) = (ended.map(str::to_owned), cut_delay_ms);
            })
        };
        assert_eq!(stopped(1, None, None), ["lane 0 stopped"]);
        assert_eq!(stopped(3, None, None).len(), 3);
        let all = "all 4 lanes stopped at errors, as they";
        assert_eq!(stopped(4, Some("every lane stopped at an error"), None), [all]);
        assert_eq!(stopped(0, Some("asked to stop"), None), ["the writer ended by itself (asked to stop)"]);
        assert_eq!(stopped(0, Some("asked to stop"), Some(3)), [""; 0]);
    }

    #[test]
    fn a_drive_that_lost_everything_fails_when_its_name_or_a_person_tells_that_it_is_the_one() {
        let known = of_zeros(NAME, Word::default()).unwrap();
        assert_eq!((known.result, known.findings[0].class), (CycleResult::Fails, Class::Corrupt));
        let unknown = of_zeros("", Word::default());
        assert!(matches!(unknown, Err(VerifyError::Unrecognised { run_id: 7, .. })), "{unknown:?}");
        let vouched = of_zeros("", Word { same_drive: true, ..Word::default() }).unwrap();
        assert_eq!(vouched.result, CycleResult::Fails);
        assert!(vouched.notes.iter().any(|note| note.contains("--same-drive")), "{:?}", vouched.notes);
    }
}
