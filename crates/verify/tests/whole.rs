//! A run from beginning to end in a file: a target is prepared and written, a witness records it,
//! and it is checked against the record.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::time::Duration;

use drive::SystemRoot;
use engine::Stop;
use verify::document::VerifyDocument;
use verify::journal_location::{expect_other_drive, journal_caveat};
use verify::message::Proposal;
use verify::target::{self, FILE_NAME, WriteTarget};
use verify::{
    Check, Circumstances, Class, Cut, CycleResult, Event, LaneKind, Recorder, RecorderOptions,
    RunHeader, SUPERBLOCKS_AT, Sign, Source, SyncMethod, UserStatement, VerifyError, Void, Witness,
    Writing, Written,
};

/// A directory with a target and a journal.
struct Place {
    directory: tempfile::TempDir,
}

const CUT: UserStatement = UserStatement { power_was_cut: true, same_drive: false };

impl Place {
    fn new() -> Place {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        fs::create_dir(place.directory.path().join("target")).unwrap();
        place
    }

    fn given(&self) -> String {
        self.directory.path().join("target").to_str().unwrap().to_owned()
    }

    fn file(&self) -> PathBuf {
        Path::new(&self.given()).join(FILE_NAME)
    }

    fn journal(&self) -> PathBuf {
        self.directory.path().join("journal")
    }

    fn open(&self) -> Result<WriteTarget, VerifyError> {
        WriteTarget::open(&SystemRoot::default(), &self.given(), false, Some(2 << 20))
    }

    /// Prepares a run with these lanes, and writes for a while.
    fn write(
        &self,
        run_id: u64,
        lanes: [u16; 3],
        time: Duration,
        mut witness: Witness,
    ) -> (RunHeader, Written) {
        let target = self.open().unwrap();
        let circumstances = Circumstances {
            target: self.given(),
            drive: target.facts.label.clone(),
            direct: target.direct,
            replaces: target.replaces,
            ..Circumstances::default()
        };
        let run = RunHeader {
            run_id,
            target_id: target.target_id(run_id),
            geometry: target::geometry(&target, 4096, lanes, 2).unwrap(),
            flush_method: SyncMethod::Fsync,
            fua_method: SyncMethod::RwfDsync,
            fua_path: target.fua_path(),
            circumstances,
        };
        let stop = Stop::new();
        target.prepare(&run, &stop, &mut |_| ()).unwrap();
        let spec = target.spec(run.flush_method, run.fua_method, run.fua_path);
        let writing = Writing {
            run: &run,
            storage: &spec,
            facts: &target.facts,
            time: Some(time),
            stop: &stop,
        };
        let written = writing.run(&mut witness, &mut |_| ()).unwrap();
        (run, written)
    }

    /// A run of which the journal knows that every slot of every lane was written.
    fn write_with_journal(&self, run_id: u64, lanes: [u16; 3]) -> RunHeader {
        let mut time = Duration::from_millis(100);
        let before = [self.file(), self.journal()].map(|path| (fs::read(&path).ok(), path));
        loop {
            let label = self.open().unwrap().facts.label.clone();
            let witness = Witness::journal(&self.journal(), &label, false).unwrap();
            let (run, written) = self.write(run_id, lanes, time, witness);
            let rounds = |lanes: u16| u64::from(lanes) * u64::from(run.geometry.slots_per_lane);
            if lanes.iter().zip(written.by_kind).all(|(lanes, done)| done >= rounds(*lanes)) {
                return run;
            }
            // On a busy machine a lane may hardly have started.
            for (content, path) in &before {
                match content {
                    Some(content) => fs::write(path, content).unwrap(),
                    None => fs::remove_file(path).unwrap(),
                }
            }
            time *= 2;
        }
    }

    fn check(
        &self,
        source: &Source,
        statement: UserStatement,
    ) -> Result<VerifyDocument, VerifyError> {
        let root = SystemRoot::default();
        Check::open(&root, &self.given(), source, statement)?
            .carry_out(&root, "0.0.0", &mut |_| true)
    }

    fn check_journal(&self, statement: UserStatement) -> Result<VerifyDocument, VerifyError> {
        self.check(&Source::Journal(self.journal()), statement)
    }

    fn overwrite(&self, at: u64, bytes: &[u8]) {
        File::options().write(true).open(self.file()).unwrap().write_all_at(bytes, at).unwrap();
    }
}

fn voids(document: &VerifyDocument) -> Vec<Void> {
    document.void.iter().map(|void| void.why).collect()
}

fn has_note(document: &VerifyDocument, text: &str) -> bool {
    document.notes.iter().any(|note| note.contains(text))
}

#[test]
fn a_run_that_is_all_there_is_kept_if_somebody_says_that_the_power_was_cut() {
    let place = Place::new();
    let run = place.write_with_journal(7, [2, 1, 0]);
    let void = place.check_journal(UserStatement::default()).unwrap();
    assert_eq!((void.result, voids(&void)), (CycleResult::Void, vec![Void::NoSignOfACut]));
    let kept = place.check_journal(CUT).unwrap();
    assert_eq!((kept.result, voids(&kept)), (CycleResult::Kept, vec![]));
    assert_eq!(kept.cut.iter().map(|cut| cut.sign).collect::<Vec<_>>(), [Sign::Word]);
    assert!(kept.findings.is_empty() && kept.rollback.is_none());
    let kinds: Vec<LaneKind> = kept.promises.iter().map(|promise| promise.kind).collect();
    assert_eq!(kinds, [LaneKind::Flush, LaneKind::Fua]);
    for tally in kept.promises.iter().map(|promise| promise.tally) {
        assert!(tally.obligations > 0 && tally.kept == tally.obligations);
        assert!(tally.acknowledged_writes >= tally.obligations);
    }
    // A run that is judged twice is one cycle with the later verdict. The bound is 95 %: a loss
    // with that probability would have shown.
    assert_eq!((kept.standing.clean, kept.standing.on_word, kept.standing.void), (1, 1, 0));
    assert!((kept.loss_per_cut_below.unwrap() - 0.95).abs() < 1e-9);
    assert_eq!(
        (kept.run.lanes, kept.run.record_bytes, &kept.target),
        ([2, 1, 0], 4096, &place.given())
    );
    assert!(kept.run.size_bytes == run.geometry.size_bytes() && kept.run.size_bytes <= 2 << 20);
    assert!(has_note(&kept, "the writer ended by itself (its time was over)"), "{:?}", kept.notes);
}

#[test]
fn a_control_lane_that_lost_nothing_speaks_against_a_cut() {
    let place = Place::new();
    place.write_with_journal(7, [1, 0, 1]);
    let document = place.check_journal(CUT).unwrap();
    let spoke = matches!(voids(&document)[..], [Void::ControlLostNothing { completed } | Void::ControlFlushed { completed }] if completed > 0);
    // If the filesystem is not on a drive, or there is no O_DIRECT, the control lane proves
    // nothing.
    assert!(spoke || has_note(&document, "no sign of a cut here"), "{document:?}");
    assert_eq!(document.promises.len(), 1);
}

#[test]
fn what_is_damaged_is_counted_and_shown_by_its_first_examples() {
    let place = Place::new();
    let run = place.write_with_journal(7, [1, 1, 0]);
    let sectors = u64::from(run.geometry.record_sectors);
    for index in 0..7 {
        place.overwrite(run.geometry.address_bytes(0, index), &[0xa5; 4096]);
    }
    let fails = place.check_journal(UserStatement::default()).unwrap();
    assert_eq!(fails.result, CycleResult::Fails, "{:?}", fails.void);
    let [finding] = &fails.findings[..] else { panic!("{:?}", fails.findings) };
    assert_eq!(
        (finding.class, finding.kind, finding.records),
        (Class::Corrupt, LaneKind::Flush, 7)
    );
    assert_eq!((finding.sectors, finding.examples.len()), (7 * sectors, 5));
    let tally = fails.promises[0].tally;
    assert_eq!(tally.obligations - tally.kept, 7);
    assert_eq!((fails.standing.failed, fails.loss_per_cut_below), (1, None));
}

#[test]
fn a_superblock_that_is_gone_fails_the_run_and_one_is_enough_to_know_it() {
    for (lost, note) in [(1, "one of the two superblocks"), (2, "both superblocks")] {
        let place = Place::new();
        place.write_with_journal(7, [1, 1, 0]);
        for at in &SUPERBLOCKS_AT[..lost] {
            place.overwrite(*at, &[0; 4096]);
        }
        let fails = place.check_journal(CUT).unwrap();
        assert_eq!((fails.result, fails.findings.len()), (CycleResult::Fails, 0));
        assert!(has_note(&fails, note), "{:?}", fails.notes);
        // Without superblocks and without a journal, there is nothing to check.
        let alone = place.check(&Source::Nobody, CUT);
        assert_eq!(matches!(alone, Err(VerifyError::NoRun { .. })), lost == 2, "{alone:?}");
    }
}

#[test]
fn without_a_witness_the_media_speak_alone() {
    let place = Place::new();
    place.write_with_journal(7, [1, 1, 0]);
    let kept = place.check(&Source::Nobody, CUT).unwrap();
    assert_eq!(
        (kept.result, kept.standing.clean, kept.standing.on_word),
        (CycleResult::Kept, 1, 1)
    );
    assert!(
        has_note(&kept, "acknowledgements were not recorded outside the drive"),
        "{:?}",
        kept.notes
    );
    // The journal does not know about that.
    assert_eq!(place.check_journal(UserStatement::default()).unwrap().standing.clean, 0);
}

#[test]
fn a_target_and_a_journal_that_do_not_belong_together_are_refused() {
    let (place, other) = (Place::new(), Place::new());
    place.write_with_journal(7, [1, 0, 0]);
    other.write_with_journal(8, [1, 0, 0]);
    let crossed = place.check(&Source::Journal(other.journal()), CUT);
    assert!(
        matches!(crossed, Err(VerifyError::OtherRun { found: 7, expected: 8, .. })),
        "{crossed:?}"
    );
    let empty = place.directory.path().join("empty");
    drop(verify::Journal::open(&empty).unwrap());
    let unheard = place.check(&Source::Journal(empty), CUT);
    assert!(matches!(unheard, Err(VerifyError::EmptyJournal { .. })), "{unheard:?}");
    let root = SystemRoot::default();
    let open = |given: &str| Check::open(&root, given, &Source::Nobody, CUT).unwrap_err();
    let gone = place.directory.path().join("gone");
    assert!(matches!(open(gone.to_str().unwrap()), VerifyError::NoTarget { .. }));
    assert!(matches!(open("/dev/flushmark-has-no-such-drive"), VerifyError::Missing { .. }));
    assert!(matches!(open("null:"), VerifyError::NotStorage { .. }));
    assert!(matches!(open(place.directory.path().to_str().unwrap()), VerifyError::NoRun { .. }));
    let interrupted = Check::open(&root, &place.given(), &Source::Nobody, CUT).unwrap();
    let interrupted = interrupted.carry_out(&root, "0.0.0", &mut |_| false);
    assert!(matches!(interrupted, Err(VerifyError::Interrupted)));
    // A target that is being written cannot be checked.
    let writer = place.open().unwrap();
    assert!(matches!(open(&place.given()), VerifyError::Busy { .. }));
    drop(writer);
    let length = fs::metadata(place.file()).unwrap().len();
    File::options().write(true).open(place.file()).unwrap().set_len(length - 512).unwrap();
    let shrunken = place.check_journal(CUT);
    assert!(matches!(shrunken, Err(VerifyError::Shrunken { .. })), "{shrunken:?}");
}

#[test]
fn a_file_is_written_again_only_if_it_is_a_run_s() {
    let place = Place::new();
    // A run that was never prepared leaves nothing behind.
    drop(place.open().unwrap());
    assert!(!place.file().exists());
    place.write_with_journal(7, [1, 0, 0]);
    let again = place.open().unwrap();
    assert_eq!((again.replaces, again.room_bytes), (Some(7), 2 << 20));
    assert!(matches!(place.open(), Err(VerifyError::Busy { .. })));
    drop(again);
    assert!(place.file().exists());
    // The run in the journal was never judged.
    let journal =
        |abandon| Witness::journal(&place.journal(), &place.open().unwrap().facts.label, abandon);
    assert!(matches!(journal(false), Err(VerifyError::Unjudged { run_id: 7 })));
    assert!(journal(true).is_ok());
    let other_drive = Witness::journal(&place.journal(), "another drive", true);
    assert!(matches!(other_drive, Err(VerifyError::JournalOfOtherDrive { .. })));
    let check = Check::open(&SystemRoot::default(), &place.given(), &Source::Nobody, CUT).unwrap();
    assert!(check.target().remove().unwrap() && !place.file().exists());
    fs::write(place.file(), "precious").unwrap();
    assert!(matches!(place.open(), Err(VerifyError::ForeignFile { .. })));
    assert_eq!(fs::read(place.file()).unwrap(), b"precious");
}

#[test]
fn a_drive_that_carries_the_run_before_again_went_back() {
    let place = Place::new();
    place.write_with_journal(7, [1, 0, 0]);
    place.check_journal(CUT).unwrap();
    let before = fs::read(place.file()).unwrap();
    place.write_with_journal(8, [1, 0, 0]);
    place.overwrite(0, &before);
    let back = place.check_journal(CUT).unwrap();
    assert_eq!(back.result, CycleResult::Fails);
    assert!(
        back.findings.iter().all(|finding| finding.class == Class::RolledBack),
        "{:?}",
        back.findings
    );
    assert!(has_note(&back, ", which this run had replaced"), "{:?}", back.notes);
}

#[test]
fn a_journal_does_not_lie_on_the_drive_that_it_is_about() {
    let place = Place::new();
    let (root, target) = (SystemRoot::default(), place.open().unwrap());
    let beside = expect_other_drive(&root, &target, &place.journal());
    assert!(matches!(beside, Err(VerifyError::JournalOnTarget { .. })), "{beside:?}");
    let memory = Path::new("/dev/shm/flushmark-journal");
    let place_of = |path: &Path| drive::Place::of(&root, path).ok().map(|place| place.device);
    if place_of(Path::new("/dev/shm"))
        .is_none_or(|device| Some(device) == place_of(place.directory.path()))
    {
        return eprintln!(
            "skipped: a_journal_does_not_lie_on_the_drive_that_it_is_about: no memory beside it"
        );
    }
    expect_other_drive(&root, &target, memory).unwrap();
    let caveat = journal_caveat(&root, Path::new("/dev/shm")).unwrap();
    assert!(caveat.starts_with("the journal /dev/shm is in memory"), "{caveat}");
}

/// A recorder with its journal in a directory, while `work` talks to it.
fn recorded<T>(
    cut: Option<Cut>,
    cycles: Option<u32>,
    work: impl FnOnce(&str) -> T,
) -> (T, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    let (listen, journal) = ("127.0.0.1:0".to_owned(), directory.path().join("journal"));
    let recorder = Recorder::open(RecorderOptions { listen, journal, cut, cycles }).unwrap();
    let (address, stop) = (recorder.address().unwrap().to_string(), &Stop::new());
    let mut events = Vec::new();
    let result = std::thread::scope(|scope| {
        let events = &mut events;
        let serving = scope.spawn(move || {
            recorder.serve(stop, &mut |event| {
                events.push(match event {
                    Event::Began(number, run) => format!("cycle {number} of run {}", run.run_id),
                    Event::CutStarted(delay_ms) => format!("cut after {delay_ms} ms"),
                    Event::CutFailed(why) => format!("cut failed: {why}"),
                    Event::Silent(_) => "silent".to_owned(),
                    Event::Ended(why) => why.clone(),
                    Event::Judged(outcome, standing) => {
                        format!("{:?}, {} clean", outcome.result, standing.clean)
                    }
                    Event::TurnedAway(_, why) => format!("turned away: {why}"),
                    Event::JournalFailed(error) => panic!("{error}"),
                });
            })
        });
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| work(&address)));
        // A recorder with a limit of cycles stops by itself, unless the run that it waits for has
        // failed.
        if cycles.is_none() || result.is_err() {
            stop.request();
        }
        let served = serving.join();
        let result = result.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        served.unwrap().unwrap();
        result
    });
    (result, events)
}

/// The writer is on another machine, whose drive has this name.
fn proposal(drive: &str, abandon: bool) -> Proposal {
    Proposal { drive: drive.to_owned(), boot_id: "another".to_owned(), disks: Vec::new(), abandon }
}

#[test]
fn a_recorder_hears_a_run_and_counts_its_verdict() {
    let place = Place::new();
    let drive = place.open().unwrap().facts.label.clone();
    let ((), events) = recorded(None, Some(1), |address| {
        let witness = Witness::recorder(address, proposal(&drive, false)).unwrap();
        let (_, written) = place.write(7, [1, 1, 1], Duration::from_millis(300), witness);
        assert!(
            written.failures.is_empty() && written.by_kind.iter().all(|&count| count > 0),
            "{written:?}"
        );
        assert!(
            written.syncs == written.by_kind[0]
                && written.live.commits == written.by_kind[0] + written.by_kind[1]
        );
        // Before it is judged, no other run may replace it, unless requested.
        assert!(Witness::recorder(address, proposal(&drive, false)).is_err());
        assert!(Witness::recorder(address, proposal(&drive, true)).is_ok());
        assert!(Witness::recorder(address, proposal("another drive", true)).is_err());
        for record in 0..3 {
            place.overwrite((1 << 20) + record * 4096, &[0xa5; 4096]);
        }
        let fails = place.check(&Source::Recorder(address.to_owned()), CUT).unwrap();
        assert_eq!(
            (fails.result, fails.standing.failed, fails.standing.clean),
            (CycleResult::Fails, 1, 0)
        );
    });
    assert_eq!(events, ["cycle 1 of run 7", "its time was over", "Fails, 0 clean"]);
}

#[test]
fn a_recorder_has_the_power_cut_once_the_drive_has_been_under_load() {
    let place = Place::new();
    let drive = place.open().unwrap().facts.label.clone();
    for (command, failed) in [("true", None), ("echo no relay >&2; exit 3", Some("cut failed: "))] {
        let cut = Cut { command: command.to_owned(), after: Duration::from_millis(200) };
        let run_id = 7 + u64::from(failed.is_some());
        let ((), events) = recorded(Some(cut), None, |address| {
            let witness = Witness::recorder(address, proposal(&drive, false)).unwrap();
            // Its power is not really cut, so it stops by itself.
            place.write(run_id, [1, 0, 0], Duration::from_millis(900), witness);
            let document = place
                .check(&Source::Recorder(address.to_owned()), UserStatement::default())
                .unwrap();
            assert_eq!(
                (document.result, voids(&document)),
                (CycleResult::Void, vec![Void::NoSignOfACut])
            );
        });
        assert_eq!(events[..2], [format!("cycle 1 of run {run_id}"), "cut after 0 ms".to_owned()]);
        let said = events.iter().find(|event| event.starts_with("cut failed"));
        assert_eq!(
            said.map(|said| said.starts_with(failed.unwrap_or("?"))),
            failed.map(|_| true),
            "{events:?}"
        );
    }
}
