//! `flushmark verify check` on targets that were tampered with.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod verification;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use common::{LoopDevice, Run, needs_root, run};
use verification::*;
use verify::record::{Header, Kind};
use verify::{LaneKind, RunHeader, SUPERBLOCKS_AT};

#[test]
fn damaged_superblocks() {
    let (directory, path) = directory();
    let recorder = recorded(&path, &[]);
    let file = fs::OpenOptions::new().write(true).open(file_in(directory.path())).unwrap();
    file.write_all_at(&[1], 100).unwrap();
    let one = check(&path, &[]);
    assert_eq!(one.code, Some(1), "it was synced before the run");
    assert!(
        one.stdout
            .contains("FAILS: a superblock that was synced before the run is damaged or gone."),
        "{}",
        one.stdout
    );
    file.write_all_at(&[1], (512 << 10) + 100).unwrap();
    let both = check(&path, &[]);
    assert_eq!(both.code, Some(3));
    insta::assert_snapshot!(both.said(&path, "DIR"), @"flushmark: both superblocks of DIR/flushmark-verify.dat are damaged, so the layout is unknown; use the run's journal (--journal FILE or --recorder HOST:PORT) to check it all the same");
    let told = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(told.code, Some(1));
    assert!(told.stdout.contains("Both superblocks"), "{}", told.stdout);
}

fn overwrite(file: &Path, at: u64, bytes: &[u8]) {
    fs::OpenOptions::new().write(true).open(file).unwrap().write_all_at(bytes, at).unwrap();
}

#[test]
fn a_drive_that_lost_its_superblocks_fails() {
    let (directory, path) = directory();
    let recorder = recorded(&path, &[]);
    let file = file_in(directory.path());
    SUPERBLOCKS_AT.iter().for_each(|&at| overwrite(&file, at, &[0; 4096]));
    assert_eq!(check(&path, &[]).code, Some(3), "nobody knows of a run");
    let told = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(told.code, Some(1), "{}", told.stderr);
    assert!(told.stdout.contains("FAILS: a superblock"), "{}", told.stdout);
    // All zeros could be any file.
    overwrite(&file, 0, &vec![0; fs::metadata(&file).unwrap().len() as usize]);
    let refused = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.contains("has nothing of run"), "{}", refused.stderr);
    assert!(refused.stderr.contains("use --same-drive if this is it"), "{}", refused.stderr);
    let vouched =
        check(&path, &["--journal", recorder.journal(), "--same-drive", "--format", "json"]);
    assert_eq!(vouched.code, Some(1), "{}", vouched.stderr);
    assert_eq!(vouched.document()["result"], "fails");
    assert_eq!(vouched.document()["standing"]["failed"], 1);
    // An emptied file does not accuse the drive.
    fs::write(&file, "").unwrap();
    assert_eq!(check(&path, &["--journal", recorder.journal()]).code, Some(4));
}

#[test]
fn a_drive_that_went_back_to_the_run_before_fails() {
    let (directory, path) = directory();
    assert_eq!(write(&path, "200ms", &[]).code, Some(0));
    let file = file_in(directory.path());
    let (before, run_before) = (fs::read(&file).unwrap(), run_on(&file).name());
    let recorder = recorded(&path, &[]);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &before).unwrap();
    let back = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(back.code, Some(1), "{}", back.stderr);
    let said = back.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains(&format!("The target has reverted to run {run_before}, which")),
        "{said}"
    );
    assert!(said.contains("FAILS: acknowledged data is missing or damaged"), "{said}");
    assert!(
        said.contains("rolled back, in flush lanes:") && !said.contains("unserializable"),
        "{said}"
    );
    // Either of the two superblocks has reverted.
    for at in SUPERBLOCKS_AT {
        fs::write(&file, &whole).unwrap();
        overwrite(&file, at, &before[at as usize..at as usize + 4096]);
        let half = check(&path, &["--format", "json"]);
        assert_eq!(
            (half.code, half.document()["run"]["id"].as_str()),
            (Some(1), Some(run_on_whole(&whole).as_str()))
        );
    }
}

fn run_on_whole(content: &[u8]) -> String {
    verify::superblock::parse(&content[..4096]).unwrap().name()
}

#[test]
fn a_drive_that_does_not_come_back_is_dead() {
    // A place under /dev where files can be created.
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = directory.path().join("target");
    fs::create_dir(&path).unwrap();
    let gone = path.to_str().unwrap();
    let recorder = recorded(gone, &[]);
    let journal = recorder.journal();
    fs::remove_dir_all(&path).unwrap();
    let missing = check(gone, &["--journal", journal]);
    assert_eq!(missing.code, Some(2));
    insta::assert_snapshot!(missing.said(&path, "GONE"), @"flushmark: GONE does not exist; if it is the drive that was written, has power and does not come back, it is dead: use --same-drive to state that, together with its journal or recorder");
    assert_eq!(
        check(gone, &["--same-drive"]).code,
        Some(2),
        "without a witness nothing is known of it"
    );
    // A typing error accuses no drive and is not recorded in the journal.
    let before = fs::read(journal).unwrap();
    let mistyped = check("/dev/shm/flushmark-mistyped", &["--journal", journal, "--same-drive"]);
    assert_eq!(mistyped.code, Some(2));
    insta::assert_snapshot!(mistyped.said(&path, "GONE"), @"flushmark: /dev/shm/flushmark-mistyped does not exist, but the run was written to GONE; give a drive that does not come back by its name at that time");
    let elsewhere = check("/flushmark-mistyped", &["--journal", journal, "--same-drive"]);
    assert_eq!(elsewhere.code, Some(2));
    insta::assert_snapshot!(elsewhere.said(&path, "GONE"), @"flushmark: /flushmark-mistyped does not exist; name the target of `verify write`, and mount its filesystem first if it is a file or directory");
    assert_eq!(fs::read(journal).unwrap(), before);
    let dead = check(gone, &["--journal", journal, "--same-drive"]);
    assert_eq!(dead.code, Some(1), "{}", dead.stderr);
    assert!(
        dead.stdout.contains(" 1. dead: no sector of the target can be read"),
        "{}",
        dead.stdout
    );
    assert!(
        dead.stdout.contains("does not exist; you state that the drive is dead"),
        "{}",
        dead.stdout
    );
}

#[test]
fn a_device_that_lost_its_size_is_dead() {
    let test = "a_device_that_lost_its_size_is_dead";
    if !needs_root(test) {
        return;
    }
    let Some(device) = LoopDevice::new(test, 16 << 20, &["--direct-io=on"]) else { return };
    let recorder = recorded(&device.path, &["--destroy-data"]);
    device.lose_size();
    assert_eq!(check(&device.path, &[]).code, Some(4), "nobody knows of a run");
    let unknown = check(&device.path, &["--journal", recorder.journal()]);
    assert_eq!(
        unknown.code,
        Some(3),
        "an empty slot of a card reader looks like that: {}",
        unknown.stdout
    );
    let dead = check(&device.path, &["--journal", recorder.journal(), "--same-drive"]);
    assert_eq!(dead.code, Some(1), "{}", dead.stderr);
    assert!(
        dead.stdout.contains(" 1. dead: no sector of the target can be read"),
        "{}",
        dead.stdout
    );
}

/// Applies a change to the first sector of a flush lane's slot that was written more than once.
/// Returns its address.
fn tamper_with_first(path: &Path, change: impl FnOnce(&RunHeader, &mut [u8])) -> u64 {
    let run = run_on(path);
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut sector = vec![0; run.geometry.sector_bytes as usize];
    for index in 0..run.geometry.slots_per_lane {
        let at = run.geometry.address_bytes(0, index);
        file.read_exact_at(&mut sector, at).unwrap();
        if Header::parse(&sector).unwrap().version >= 2 {
            change(&run, &mut sector);
            file.write_all_at(&sector, at).unwrap();
            return at;
        }
    }
    panic!("no slot was written twice: the run was too short");
}

/// A sector in an earlier version.
fn one_version_before(sector: &[u8]) -> Vec<u8> {
    let mut header = Header::parse(sector).unwrap();
    header.version -= 1;
    let mut older = vec![0; sector.len()];
    header.fill_record(&mut older, sector.len());
    older
}

/// The record of a slot in an earlier version, as after a lost write.
fn older_record(run: &RunHeader, path: &Path, at: u64) {
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut record = vec![0; run.geometry.record_bytes() as usize];
    file.read_exact_at(&mut record, at).unwrap();
    let header = Header::parse(&record).unwrap();
    if header.version == 0 {
        return;
    }
    let place = run.geometry.location(run.geometry.sector_number(at).unwrap());
    let schedule = verify::Schedule::new(run.run_id, &run.geometry, place.lane);
    let seq = schedule.seq_of(place.index, header.version - 1);
    let kind = if header.version == 1 { Kind::Fill } else { header.kind };
    let evidence = if header.kind == Kind::Control { 0 } else { seq.saturating_sub(1) };
    let older = Header { version: header.version - 1, seq, evidence, kind, ..header };
    older.fill_record(&mut record, run.geometry.sector_bytes as usize);
    file.write_all_at(&record, at).unwrap();
}

fn classes(run: &Run) -> Vec<String> {
    let findings = run.document()["findings"].as_array().unwrap().clone();
    findings.iter().map(|finding| finding["class"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tampering_is_called_by_its_name() {
    let (directory, path) = directory();
    let recorder = recorded(&path, &["--lanes", "2"]);
    let file = file_in(directory.path());
    let pristine = fs::read(&file).unwrap();
    let named = |what: &str| {
        let checked = check(&path, &["--journal", recorder.journal(), "--format", "json"]);
        assert_eq!(checked.code, Some(1), "{what}: {}{}", checked.stdout, checked.stderr);
        fs::write(&file, &pristine).unwrap();
        classes(&checked)
    };
    let silent = check(&path, &[]);
    assert!(
        silent.stdout.contains(&format!("repeat the check with --recorder {}", recorder.address)),
        "{}",
        silent.stdout
    );
    tamper_with_first(&file, |_, sector| sector[200] ^= 0x10);
    let kept = check(&path, &["--journal", recorder.journal(), "--remove"]);
    assert!(
        kept.stderr.contains("was kept because it is the evidence") && file.exists(),
        "{}",
        kept.stderr
    );
    assert_eq!(named("a bit"), ["corrupt"]);
    tamper_with_first(&file, |_, sector| sector.fill(0));
    assert_eq!(named("zeros"), ["corrupt"]);
    tamper_with_first(&file, |_, sector| {
        let older = one_version_before(sector);
        let half = sector.len() / 2;
        sector[half..].copy_from_slice(&older[half..]);
    });
    assert_eq!(named("half of a sector"), ["shorn"]);
    let at = tamper_with_first(&file, |_, _| ());
    older_record(&run_on(&file), &file, at);
    assert_eq!(
        named("the version before"),
        ["unserializable"],
        "later records survive that rely on it"
    );
    let run = run_on(&file);
    let record = run.geometry.record_bytes() as usize;
    let from = run.geometry.address_bytes(0, 0) as usize;
    let to = run.geometry.address_bytes(1, 3) as usize;
    let mut flown = pristine.clone();
    flown.copy_within(from..from + record, to);
    fs::write(&file, flown).unwrap();
    assert_eq!(named("a record in a wrong place"), ["flying"]);
    let mut short = fs::OpenOptions::new().write(true).open(&file).unwrap();
    short.set_len(2 << 20).unwrap();
    short.flush().unwrap();
    let shrunken = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(shrunken.code, Some(4));
    assert!(shrunken.stderr.contains("part of the target is missing"), "{}", shrunken.stderr);
    fs::write(&file, &pristine).unwrap();
    assert_eq!(
        check(&path, &["--journal", recorder.journal()]).code,
        Some(0),
        "nothing else was wrong with it"
    );
}

#[test]
fn a_drive_that_goes_back_in_time_is_called_so() {
    let (directory, path) = directory();
    let recorder = Recorder::new(&[]);
    let mut running = endless(&path, &["--recorder", &recorder.address]);
    until_it_writes(&mut running);
    // Nothing writes while the past is kept.
    signal(&running, "-STOP");
    let past = fs::read(file_in(directory.path())).unwrap();
    signal(&running, "-CONT");
    std::thread::sleep(Duration::from_millis(300));
    running.kill().unwrap();
    running.wait().unwrap();
    fs::write(file_in(directory.path()), past).unwrap();
    let mut checked = None;
    wait_until("the check", || {
        let run = check(&path, &["--recorder", &recorder.address]);
        let done = run.code == Some(1);
        checked = Some(run);
        done
    });
    let page = checked.unwrap().stdout;
    assert!(
        page.contains("rolled back, in flush lanes:")
            && page.contains("rolled back, in FUA lanes:"),
        "{page}"
    );
    assert!(!page.contains("unserializable") && !page.contains("lost, in"), "{page}");
    let back =
        page.lines().find(|line| line.starts_with("The whole target was rolled back by ")).unwrap();
    let ms: u64 = back.split(' ').nth(7).unwrap().parse().unwrap();
    assert!((200..2000).contains(&ms), "{back}");
    // Surviving records do not show this, because the order is intact.
    let alone = check(&path, &[]);
    assert_eq!(alone.code, Some(0), "{}", alone.stdout);
    assert!(alone.stdout.contains("a drive that reverted as a"), "{}", alone.stdout);
}

#[test]
fn a_verdict_reads_well() {
    let (directory, path) = directory();
    let recorder = recorded(&path, &["--lanes", "2", "--control-lanes", "0"]);
    let file = file_in(directory.path());
    let at = tamper_with_first(&file, |_, sector| sector[200] ^= 0x10);
    let checked = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(checked.code, Some(1));
    let findings: String =
        checked.stdout.split("Findings\n").nth(1).unwrap().split("\n\n").next().unwrap().into();
    assert!(findings.starts_with(" 1. corrupt, in flush lanes: 1 record damaged\n"), "{findings}");
    assert!(findings.contains(&format!("at byte {at}: version ")), "{findings}");
    assert!(findings.contains("with one wrong bit; expected version"), "{findings}");
    assert!(
        checked.stdout.contains("\nFAILS: acknowledged data is missing or damaged"),
        "{}",
        checked.stdout
    );
    assert!(
        checked
            .stdout
            .trim_end()
            .ends_with("A drive that failed once is not cleared by cycles that it passed.")
    );
}

#[test]
fn without_a_cut_nothing_is_proven() {
    let (_directory, path) = directory();
    let written = run(&["verify", "write", &path, "--size", "4MiB", "--quiet", "--time", "300ms"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let void = |target: &str, more: &[&str]| {
        let checked =
            run(&[&["verify", "check", target, "--quiet", "--format", "json"], more].concat());
        assert_eq!(checked.code, Some(1), "{}", checked.stdout);
        let document = checked.document();
        assert_eq!(document["result"], "void");
        assert_eq!(document["loss_per_cut_below"], serde_json::Value::Null);
        document["void"][0]["because"].as_str().unwrap().to_owned()
    };
    let because = void(&path, &[]);
    // If the kernel assumes no cache, the drive counts as protected.
    assert!(["control-lost-nothing", "no-sign-of-a-cut"].contains(&because.as_str()), "{because}");
    // A protected drive loses nothing; without another sign, it is unknown whether there was a cut.
    let (_directory, path) = directory();
    write(&path, "300ms", &[]);
    assert_eq!(void(&path, &[]), "no-sign-of-a-cut");
    let by_word = check(&path, &[]);
    assert_eq!(by_word.code, Some(0), "{}", by_word.stdout);
    assert!(
        by_word.stdout.contains("power cut    you state it (--power-was-cut)\n"),
        "{}",
        by_word.stdout
    );
    let without_control = ["--control-lanes", "0"];
    write(&path, "300ms", &without_control);
    assert_eq!(void(&path, &[]), "no-sign-of-a-cut");
}

/// Makes the latest write of a control lane's slot missing, as after a cut that reaches a cache, or
/// anything else that empties the page cache.
fn lose_a_control_write(file: &Path) {
    let run = run_on(file);
    let lane = run.geometry.lanes() - 1;
    assert_eq!(run.geometry.kind(lane), LaneKind::Control);
    for index in 0..run.geometry.slots_per_lane {
        older_record(&run, file, run.geometry.address_bytes(lane, index));
    }
}

#[test]
fn a_missing_control_write_is_a_sign_only_where_the_drive_alone_can_have_lost_it() {
    let judged = |path: &str| {
        let written =
            run(&["verify", "write", path, "--size", "4MiB", "--quiet", "--time", "300ms"]);
        assert_eq!(written.code, Some(0), "{}", written.stderr);
        lose_a_control_write(&file_in(Path::new(path)));
        let document = run(&["verify", "check", path, "--quiet", "--format", "json"]).document();
        assert!(document["legal"]["control_lost"].as_u64().unwrap() > 0, "{document}");
        document
    };
    let (directory, path) = directory();
    let place = drive::Place::of(&drive::SystemRoot::default(), directory.path()).unwrap();
    let on_a_drive = judged(&path);
    if place.fs_type() == Some("ext4") && on_a_drive["run"]["direct"] == true {
        assert_eq!(
            (&on_a_drive["result"], &on_a_drive["cut"][0]["by"]),
            (&"kept".into(), &"control-lost".into())
        );
    }
    let memory = tempfile::tempdir_in("/dev/shm").unwrap();
    let in_memory = judged(memory.path().to_str().unwrap());
    assert_eq!((&in_memory["result"], &in_memory["cut"]), (&"void".into(), &serde_json::json!([])));
    assert_eq!(in_memory["void"][0]["because"], "no-sign-of-a-cut");
    let notes = in_memory["notes"].to_string();
    assert!(
        notes.contains("writes missing from control lanes do not show a power cut here"),
        "{notes}"
    );
}

#[test]
fn a_copy_on_another_drive_is_refused() {
    let (directory, path) = directory();
    assert_eq!(write(&path, "200ms", &[]).code, Some(0));
    let file = file_in(directory.path());
    let mut run = run_on(&file);
    if run.circumstances.drive.is_empty() {
        return eprintln!(
            "skipped: a_copy_on_another_drive_is_refused: the drive beneath {path} has no name"
        );
    }
    run.circumstances.drive = "Micron 5100 (S1)".to_owned();
    SUPERBLOCKS_AT.iter().for_each(|&at| overwrite(&file, at, &verify::superblock::block(&run)));
    let refused = check(&path, &[]);
    assert_eq!(refused.code, Some(3), "{}", refused.stdout);
    assert!(refused.stderr.contains("a copy proves nothing about the drive"), "{}", refused.stderr);
}

#[test]
fn the_document_is_as_its_schema_says() {
    let (_directory, path) = directory();
    write(
        &path,
        "1500ms",
        &["--lanes", "2", "--fua-lanes", "2", "--writes-per-sync", "3", "--sync", "fdatasync"],
    );
    tamper_with_first(&file_in(Path::new(&path)), |_, sector| sector[100] ^= 1);
    let document = check(&path, &["--format", "json"]).document();
    let schema = include_str!("../../../schemas/verify-1.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    assert_eq!(
        schema,
        serde_json::to_value(verify::document::json_schema()).unwrap(),
        "run `cargo xtask docs`"
    );
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(document["findings"][0]["class"], "corrupt");
}
