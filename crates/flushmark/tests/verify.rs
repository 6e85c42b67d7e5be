//! `flushmark verify` from end to end, with the real binary: runs that are killed, witnesses that go away, targets that somebody tampered with.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{LoopDevice, Mount, Run, flushmark, needs_root, run};
use verify::geometry::LaneKind;
use verify::record::Header;
use verify::run_header::RunHeader;
use verify::superblock;

/// Small, quick, and on a drive whose cache nothing is expected of, because no power is cut here.
const QUICK: [&str; 5] = ["--size", "4MiB", "--protected", "--quiet", "--time"];

fn write(target: &str, time: &str, more: &[&str]) -> Run {
    run(&[&["verify", "write", target], &QUICK[..], &[time], more].concat())
}

fn check(target: &str, more: &[&str]) -> Run {
    run(&[&["verify", "check", target, "--quiet"], more].concat())
}

fn directory() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap().to_owned();
    (directory, path)
}

fn file_in(directory: &Path) -> PathBuf {
    directory.join("flushmark-verify.dat")
}

fn run_on(path: &Path) -> RunHeader {
    superblock::parse(&fs::read(path).unwrap()[..4096]).unwrap()
}

/// A run without end.
fn endless(target: &str, more: &[&str]) -> Child {
    let mut command = flushmark();
    command.args(["verify", "write", target, "--size", "4MiB", "--protected"]).args(more);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until a run says that it writes, and lets it.
fn until_it_writes(child: &mut Child) {
    let mut said = String::new();
    let mut stderr = child.stderr.take().unwrap();
    let mut byte = [0];
    while !said.contains("Ctrl-C ends it") && stderr.read(&mut byte).unwrap() == 1 {
        said.push(char::from(byte[0]));
    }
    assert!(said.contains("Every record is in its first version"), "{said}");
    child.stderr = Some(stderr);
    std::thread::sleep(Duration::from_millis(400));
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// A recorder on a free port of this machine.
struct Recorder {
    child: Child,
    address: String,
    journal: PathBuf,
    _directory: tempfile::TempDir,
}

impl Recorder {
    fn new(more: &[&str]) -> Recorder {
        let directory = tempfile::tempdir().unwrap();
        let journal = directory.path().join("journal");
        let mut command = flushmark();
        command.args(["verify", "record", "--listen", "127.0.0.1:0", "--journal"]).arg(&journal).args(more);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening at ").unwrap().split(',').next().unwrap().to_owned();
        child.stdout = Some(stdout.into_inner());
        Recorder { child, address, journal, _directory: directory }
    }

    fn journal(&self) -> &str {
        self.journal.to_str().unwrap()
    }

    /// What it said from its first line on, when it is asked to end.
    fn end(mut self) -> Run {
        signal(&self.child, "-INT");
        let said = std::mem::replace(&mut self.child, Command::new("true").spawn().unwrap());
        Run::of(said.wait_with_output().unwrap())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_directory_gets_a_file_that_stays_until_it_is_removed() {
    let (directory, path) = directory();
    let written = write(&path, "300ms", &[]);
    assert_eq!((written.code, written.stderr.as_str()), (Some(0), ""));
    assert!(written.stdout.contains(" commits in "), "{}", written.stdout);
    assert!(written.stdout.ends_with(&format!("To check: flushmark verify check {path}\n")), "{}", written.stdout);
    let checked = check(&path, &[]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    assert!(checked.stdout.contains("KEPT: everything that was acknowledged is there."), "{}", checked.stdout);
    assert!(checked.stdout.contains("below 95 % at 95 % confidence"), "{}", checked.stdout);
    // A second run goes over the file of the first, and another size is no hindrance.
    let again = run(&["verify", "write", &path, "--size", "6MiB", "--protected", "--quiet", "--time", "100ms"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!(check(&path, &["--remove"]).code, Some(0));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    let gone = check(&path, &[]);
    assert_eq!(gone.code, Some(3));
    insta::assert_snapshot!(gone.said(&path, "DIR"), @"flushmark: DIR carries no run of flushmark verify: write one with `flushmark verify write`, and name the same target here");
}

#[test]
fn without_a_cut_nothing_is_proven() {
    let (_directory, path) = directory();
    let written = run(&["verify", "write", &path, "--size", "4MiB", "--quiet", "--time", "300ms"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let checked = check(&path, &["--format", "json"]);
    assert_eq!(checked.code, Some(1), "{}", checked.stdout);
    let document = checked.document();
    // Where the kernel believes in no cache at all, the drive counts as protected.
    if document["result"] == "void" {
        assert_eq!(document["void"][0]["because"], "control-lost-nothing");
        assert_eq!(document["loss_per_cut_below"], serde_json::Value::Null);
    }
    assert_eq!(document["schema"], "flushmark/verify/1");
}

#[test]
fn the_document_is_as_its_schema_says() {
    let (_directory, path) = directory();
    write(&path, "200ms", &["--lanes", "2", "--fua-lanes", "2", "--writes-per-sync", "3", "--sync", "fdatasync"]);
    tamper_with_first(&file_in(Path::new(&path)), |_, sector| sector[100] ^= 1);
    let document = check(&path, &["--format", "json"]).document();
    let schema = include_str!("../../../schemas/verify-1.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    assert_eq!(schema, serde_json::to_value(verify::document::json_schema()).unwrap(), "run `cargo xtask docs`");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(document["findings"][0]["class"], "corrupt");
}

#[test]
fn a_file_is_overwritten_only_when_that_is_asked_for() {
    let (directory, _) = directory();
    let path = directory.path().join("disk");
    fs::write(&path, vec![7; 4 << 20]).unwrap();
    let given = path.to_str().unwrap();
    let refused = write(given, "100ms", &[]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.contains("to allow that, add --destroy-data"), "{}", refused.stderr);
    assert!(fs::read(&path).unwrap().iter().all(|&byte| byte == 7));
    assert_eq!(write(given, "100ms", &["--destroy-data"]).code, Some(0));
    let checked = check(given, &["--remove"]);
    assert_eq!((checked.code, path.exists()), (Some(0), true));
    assert!(checked.stderr.contains("was not made by flushmark, so it stays"), "{}", checked.stderr);
}

#[test]
fn somebody_elses_file_of_that_name_stays() {
    let (directory, path) = directory();
    fs::write(file_in(directory.path()), "a letter").unwrap();
    let refused = write(&path, "100ms", &[]);
    assert_eq!(refused.code, Some(3));
    insta::assert_snapshot!(refused.said(&path, "DIR"), @"flushmark: DIR/flushmark-verify.dat is there and was not made by flushmark verify; move it away, or name another directory");
    assert_eq!(fs::read_to_string(file_in(directory.path())).unwrap(), "a letter");
    fs::remove_file(file_in(directory.path())).unwrap();
    let elsewhere = directory.path().join("elsewhere");
    fs::write(&elsewhere, "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, file_in(directory.path())).unwrap();
    assert_eq!(write(&path, "100ms", &[]).code, Some(4), "a link is not followed");
    assert_eq!(fs::read_to_string(elsewhere).unwrap(), "");
}

#[test]
fn wrong_use_is_said() {
    for given in ["null:", "sim:consumer-nvme"] {
        let refused = write(given, "100ms", &[]);
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.contains("has no medium that power could be cut from"), "{}", refused.stderr);
    }
    let (_directory, path) = directory();
    let said = |more: &[&str]| {
        let refused = write(&path, "100ms", more);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        // The sector is the machine's own.
        refused.stderr.trim_end().replace("(512 B)", "(SECTOR)").replace("(4 KiB)", "(SECTOR)")
    };
    insta::assert_snapshot!(
        [said(&["--lanes", "0", "--fua-lanes", "0"]), said(&["--record", "12KiB"]), said(&["--record", "2MiB"]), said(&["--lanes", "300"])].join("\n"),
        @"
    flushmark: without a lane that flushes or writes with FUA nothing is acknowledged: ask for at least one
    flushmark: records of 12 KiB are not supported: a power of two from one sector (SECTOR) to 1 MiB is
    flushmark: records of 2 MiB are not supported: a power of two from one sector (SECTOR) to 1 MiB is
    flushmark: 302 lanes are too many: 256 is the most
    "
    );
    assert_eq!(write(&path, "100ms", &["--sync", "sync"]).code, Some(2));
    assert_eq!(write(&path, "100ms", &["--recorder", "a:1", "--journal", "b"]).code, Some(2));
    assert_eq!(write("/no/such/directory", "100ms", &[]).code, Some(2));
    assert_eq!(check("/no/such/directory", &[]).code, Some(2));
}

#[test]
fn two_runs_on_one_target_are_refused() {
    let (_directory, path) = directory();
    let mut first = endless(&path, &[]);
    until_it_writes(&mut first);
    let second = write(&path, "100ms", &[]);
    assert_eq!(second.code, Some(3));
    assert_eq!(check(&path, &[]).code, Some(3), "of a run that is being written nothing can be said");
    insta::assert_snapshot!(second.said(&path, "DIR"), @"flushmark: another flushmark verify is at work on DIR/flushmark-verify.dat; wait until it has ended");
    signal(&first, "-INT");
    let ended = Run::of(first.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130));
    assert!(ended.stdout.contains(" commits in "), "Ctrl-C still tells what was done: {}", ended.stdout);
    assert_eq!(check(&path, &[]).code, Some(0));
}

#[test]
fn a_killed_run_can_be_checked() {
    let (_directory, path) = directory();
    for more in [&["--sync", "fsync"][..], &["--sync", "rwf_dsync"], &["--sync", "o_dsync", "--record", "64KiB"]] {
        let mut run = endless(&path, more);
        until_it_writes(&mut run);
        run.kill().unwrap();
        run.wait().unwrap();
        let checked = check(&path, &["--format", "json"]);
        assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
        let promises = checked.document()["promises"].clone();
        assert!(promises[0]["obligations"].as_u64().unwrap() > 0, "{promises}");
    }
}

#[test]
fn a_recorder_hears_a_run_and_its_verdict() {
    let (_directory, path) = directory();
    let recorder = Recorder::new(&[]);
    assert!(recorder.address.starts_with("127.0.0.1:"));
    for _ in 0..2 {
        let mut run = endless(&path, &["--recorder", &recorder.address]);
        until_it_writes(&mut run);
        run.kill().unwrap();
        run.wait().unwrap();
        let mut checked = None;
        // It takes the recorder a moment to notice that the writer is gone.
        wait_until("the check", || {
            let run = check(&path, &["--recorder", &recorder.address, "--format", "json"]);
            let done = run.code == Some(0);
            checked = Some(run);
            done
        });
        let document = checked.unwrap().document();
        assert_eq!((&document["heard_by"], &document["result"]), (&"recorder".into(), &"kept".into()));
    }
    // Its journal says the same to whoever has it.
    let alone = check(&path, &["--journal", recorder.journal(), "--format", "json"]);
    assert_eq!(alone.code, Some(0), "{}", alone.stderr);
    assert!(alone.stdout.contains("could not be passed on"), "the recorder holds its journal: {}", alone.stdout);
    let said = recorder.end();
    assert_eq!(said.code, Some(130));
    assert!(said.stdout.contains("2 cycles judged: 2 kept, 0 failed, 0 void."), "{}", said.stdout);
    assert!(
        said.stdout.contains("With 2 clean cycles, the chance of a loss in one cut is below 78 %"),
        "{}",
        said.stdout
    );
}

#[test]
fn the_recorder_cuts_and_counts() {
    let (directory, path) = directory();
    let pid = directory.path().join("pid");
    let cut = format!("kill -9 $(cat {})", pid.display());
    let recorder = Recorder::new(&["--cut-command", &cut, "--cut-after", "200ms", "--cycles", "3"]);
    for _ in 0..3 {
        let mut child = endless(&path, &["--recorder", &recorder.address]);
        fs::write(&pid, child.id().to_string()).unwrap();
        assert!(!child.wait().unwrap().success(), "it was killed");
        wait_until("the check", || check(&path, &["--recorder", &recorder.address]).code == Some(0));
    }
    let mut recorder = recorder;
    let said = std::mem::replace(&mut recorder.child, Command::new("true").spawn().unwrap());
    let said = Run::of(said.wait_with_output().unwrap());
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    for delay in ["0 ms", "1 ms", "3 ms"] {
        assert!(said.stdout.contains(&format!("cutting the power, {delay} after")), "{}", said.stdout);
    }
    assert!(said.stdout.contains("3 cycles judged: 3 kept"), "{}", said.stdout);
}

#[test]
fn a_recorder_that_goes_away_ends_the_writing() {
    let (_directory, path) = directory();
    let mut recorder = Recorder::new(&[]);
    let mut run = endless(&path, &["--recorder", &recorder.address]);
    until_it_writes(&mut run);
    recorder.child.kill().unwrap();
    recorder.child.wait().unwrap();
    let ended = Run::of(run.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("writing stopped, and nothing is claimed of what it did not hear"),
        "{}",
        ended.stderr
    );
    let (empty, other) = directory();
    let unreachable = write(&other, "100ms", &["--recorder", &recorder.address]);
    assert_eq!(unreachable.code, Some(4));
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0, "nothing is left behind");
    assert!(unreachable.stderr.contains("cannot reach the recorder at"), "{}", unreachable.stderr);
    // What it had heard until then still counts.
    let checked = check(&path, &["--journal", recorder.journal(), "--format", "json"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    assert!(checked.document()["promises"][0]["acknowledged_writes"].as_u64().unwrap() > 0);
}

#[test]
fn nonsense_does_not_impress_the_recorder() {
    let recorder = Recorder::new(&[]);
    for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"FmVerif1\xff\xff\xff\xff\xff\xff\xff\xff", b"FmVerif1", b""] {
        let mut stream = TcpStream::connect(&recorder.address).unwrap();
        stream.write_all(nonsense).unwrap();
        drop(stream);
    }
    let (_directory, path) = directory();
    assert_eq!(check(&path, &["--recorder", &recorder.address]).code, Some(3), "nothing was written there");
    let written = write(&path, "200ms", &["--recorder", &recorder.address]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert_eq!(check(&path, &["--recorder", &recorder.address]).code, Some(0));
    let said = recorder.end();
    assert!(said.stdout.contains("was turned away: it does not greet"), "{}", said.stdout);
}

/// A run that a recorder heard, with the journal that it left.
fn recorded(path: &str, more: &[&str]) -> Recorder {
    let mut recorder = Recorder::new(&[]);
    let written = write(path, "400ms", &[&["--recorder", &recorder.address], more].concat());
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    wait_until("the end", || {
        let read = verify::journal::read(&recorder.journal).unwrap();
        read.ledger.cycles.last().is_some_and(|cycle| cycle.ended.is_some())
    });
    recorder.child.kill().unwrap();
    recorder.child.wait().unwrap();
    recorder
}

#[test]
fn a_journal_that_is_cut_off_is_read_up_to_there() {
    let (_directory, path) = directory();
    let recorder = recorded(&path, &[]);
    let whole = fs::read(&recorder.journal).unwrap();
    fs::write(&recorder.journal, &whole[..whole.len() * 2 / 3]).unwrap();
    let checked = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    assert!(checked.stdout.contains("The journal ends in the middle of an entry"), "{}", checked.stdout);
    fs::write(&recorder.journal, &whole[..30]).unwrap();
    let empty = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(empty.code, Some(3));
    insta::assert_snapshot!(empty.said(recorder.journal(), "JOURNAL"), @"flushmark: the journal JOURNAL holds no run: the power went before one had begun, or it is another run's");
    fs::write(&recorder.journal, "a letter to somebody, longer than a head").unwrap();
    let none = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(none.code, Some(3));
    insta::assert_snapshot!(none.said(recorder.journal(), "JOURNAL"), @"flushmark: JOURNAL is no journal of flushmark verify; name the file that `verify write --journal` or `verify record --journal` made");
}

#[test]
fn another_runs_journal_is_refused() {
    let (_directory, path) = directory();
    let recorder = recorded(&path, &[]);
    assert_eq!(write(&path, "100ms", &[]).code, Some(0));
    let refused = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.contains("and the journal is about run"), "{}", refused.stderr);
}

#[test]
fn a_journal_beside_its_target_is_refused() {
    let (directory, path) = directory();
    let journal = directory.path().join("journal");
    let refused = write(&path, "100ms", &["--journal", journal.to_str().unwrap()]);
    assert_eq!((refused.code, journal.exists()), (Some(3), false));
    assert!(refused.stderr.contains("put it on another drive, or use --recorder"), "{}", refused.stderr);
}

#[test]
fn a_journal_on_another_filesystem_is_kept_and_goes_on() {
    let (_directory, path) = directory();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        return eprintln!("skipped: a_journal_on_another_filesystem_is_kept_and_goes_on: no /dev/shm");
    };
    let journal = memory.path().join("journal");
    let journal = journal.to_str().unwrap();
    for cycle in 1..=2 {
        let mut run = endless(&path, &["--journal", journal]);
        until_it_writes(&mut run);
        run.kill().unwrap();
        run.wait().unwrap();
        for _ in 0..2 {
            let checked = check(&path, &["--journal", journal, "--format", "json"]);
            assert_eq!(checked.code, Some(0), "{}", checked.stdout);
            assert_eq!(
                checked.document()["standing"]["clean"],
                cycle,
                "a cycle counts once, however often it is checked"
            );
        }
    }
}

#[test]
fn damaged_superblocks() {
    let (directory, path) = directory();
    let recorder = recorded(&path, &[]);
    let file = fs::OpenOptions::new().write(true).open(file_in(directory.path())).unwrap();
    file.write_all_at(&[1], 100).unwrap();
    let one = check(&path, &[]);
    assert_eq!(one.code, Some(1), "it was synced before the run");
    assert!(one.stdout.contains("FAILS: a superblock that was synced before the run is damaged."), "{}", one.stdout);
    file.write_all_at(&[1], (512 << 10) + 100).unwrap();
    let both = check(&path, &[]);
    assert_eq!(both.code, Some(3));
    insta::assert_snapshot!(both.said(&path, "DIR"), @"flushmark: both superblocks of DIR/flushmark-verify.dat are damaged, so nobody can say what lay where; with the run's journal (--journal FILE or --recorder HOST:PORT) it can be checked all the same");
    let told = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(told.code, Some(1));
    assert!(told.stdout.contains("Both superblocks"), "{}", told.stdout);
}

/// Lets somebody change the first sector of a flush lane's slot that was written more than once. Returns its address.
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

/// A sector as it was before.
fn one_version_before(sector: &[u8]) -> Vec<u8> {
    let mut header = Header::parse(sector).unwrap();
    header.version -= 1;
    let mut older = vec![0; sector.len()];
    header.fill_record(&mut older, sector.len());
    older
}

/// The record of a slot as it was before: what a drive that lost the last write gives back.
fn older_record(run: &RunHeader, path: &Path, at: u64) {
    let lane = LaneKind::Flush.record_kind();
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    let mut record = vec![0; run.geometry.record_bytes() as usize];
    file.read_exact_at(&mut record, at).unwrap();
    let header = Header::parse(&record).unwrap();
    assert_eq!(header.kind, lane);
    let place = run.geometry.location(run.geometry.sector_number(at).unwrap());
    let schedule = verify::schedule::Schedule::new(run.run_id, &run.geometry, place.lane);
    let seq = schedule.seq_of(place.index, header.version - 1);
    let older = Header { version: header.version - 1, seq, evidence: seq - 1, ..header };
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
    assert!(silent.stdout.contains(&format!("give the check --recorder {}", recorder.address)), "{}", silent.stdout);
    tamper_with_first(&file, |_, sector| sector[200] ^= 0x10);
    let kept = check(&path, &["--journal", recorder.journal(), "--remove"]);
    assert!(kept.stderr.contains("stays, because it is the evidence") && file.exists(), "{}", kept.stderr);
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
    assert_eq!(named("the version before"), ["unserializable"], "later records survive that rely on it");
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
    assert!(shrunken.stderr.contains("a part of the target is gone"), "{}", shrunken.stderr);
    fs::write(&file, &pristine).unwrap();
    assert_eq!(check(&path, &["--journal", recorder.journal()]).code, Some(0), "nothing else was wrong with it");
}

#[test]
fn a_drive_that_goes_back_in_time_is_called_so() {
    let (directory, path) = directory();
    let recorder = Recorder::new(&[]);
    let mut running = endless(&path, &["--recorder", &recorder.address]);
    until_it_writes(&mut running);
    // Nobody writes while the past is kept.
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
    assert!(page.contains("rolled back, in flush lanes:") && page.contains("rolled back, in FUA lanes:"), "{page}");
    assert!(!page.contains("unserializable") && !page.contains("lost, in"), "{page}");
    let back = page.lines().find(|line| line.starts_with("The whole target went back by ")).unwrap();
    let ms: u64 = back.split(' ').nth(6).unwrap().parse().unwrap();
    assert!((200..2000).contains(&ms), "{back}");
    // The media alone know nothing of that: order was kept.
    let alone = check(&path, &[]);
    assert_eq!(alone.code, Some(0), "{}", alone.stdout);
    assert!(alone.stdout.contains("a drive that went back as a"), "{}", alone.stdout);
}

#[test]
fn a_verdict_reads_well() {
    let (directory, path) = directory();
    let recorder = recorded(&path, &["--lanes", "2", "--control-lanes", "0"]);
    let file = file_in(directory.path());
    let at = tamper_with_first(&file, |_, sector| sector[200] ^= 0x10);
    let checked = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(checked.code, Some(1));
    let findings: String = checked.stdout.split("Findings\n").nth(1).unwrap().split("\n\n").next().unwrap().into();
    assert!(findings.starts_with(" 1. corrupt, in flush lanes: 1 record damaged\n"), "{findings}");
    assert!(findings.contains(&format!("at byte {at}: version ")), "{findings}");
    assert!(findings.contains("with one wrong bit, instead of version"), "{findings}");
    assert!(checked.stdout.contains("\nFAILS: data that had to be there is missing or damaged"), "{}", checked.stdout);
    assert!(checked.stdout.trim_end().ends_with("A drive that failed once is not made good by cycles that it passed."));
}

#[test]
fn a_recorder_serves_one_run_at_a_time() {
    let (_one, first) = directory();
    let (_two, second) = directory();
    let recorder = Recorder::new(&[]);
    let mut running = endless(&first, &["--recorder", &recorder.address]);
    until_it_writes(&mut running);
    let refused = write(&second, "100ms", &["--recorder", &recorder.address]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("is being written; wait until it has ended"), "{}", refused.stderr);
    let early = check(&first, &["--recorder", &recorder.address]);
    assert_eq!(early.code, Some(3));
    assert!(early.stderr.contains("is at work on"), "{}", early.stderr);
    signal(&running, "-INT");
    assert_eq!(running.wait().unwrap().code(), Some(130));
    wait_until("the check", || check(&first, &["--recorder", &recorder.address]).code == Some(0));
    let other = check(&second, &["--recorder", &recorder.address]);
    assert_eq!(other.code, Some(3), "what was refused left a file without a run that was heard: {}", other.stderr);
    assert!(recorder.end().stdout.contains("the writer ended by itself (asked to stop)"));
}

#[test]
fn a_small_disk_is_not_filled() {
    if !needs_root("a_small_disk_is_not_filled") {
        return;
    }
    let Some(mount) = Mount::new("a_small_disk_is_not_filled", &["-t", "tmpfs", "-o", "size=8m", "tmpfs"]) else {
        return;
    };
    let refused = run(&["verify", "write", mount.text(), "--size", "64MiB", "--quiet", "--time", "1s"]);
    assert_eq!(refused.code, Some(4));
    insta::assert_snapshot!(refused.said(&mount.path, "DIR"), @"flushmark: DIR has 8.0 MiB free; flushmark takes at most half of that and this test needs 64 MiB: free some space or ask for a smaller size");
    assert!(!file_in(&mount.path).exists(), "nothing is left behind");
    // Without a wish, half of what is free.
    let written = run(&["verify", "write", mount.text(), "--protected", "--quiet", "--time", "300ms"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert_eq!(fs::metadata(file_in(&mount.path)).unwrap().len() >> 20, 4);
    assert_eq!(check(mount.text(), &[]).code, Some(0));
}

#[test]
fn a_raw_device_is_written_through_io_uring_and_only_when_asked() {
    let test = "a_raw_device_is_written_through_io_uring_and_only_when_asked";
    if !needs_root(test) {
        return;
    }
    let Some(device) = LoopDevice::new(test, 16 << 20, &["--direct-io=on"]) else { return };
    let refused = write(&device.path, "100ms", &[]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let written = write(&device.path, "300ms", &["--destroy-data", "--fua-lanes", "2"]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let document = check(&device.path, &["--format", "json"]).document();
    assert_eq!((&document["result"], &document["run"]["fua_path"]), (&"kept".into(), &"io_uring".into()));
    assert_eq!(document["promises"][1]["kind"], "fua");
    // A flushmark verify that is at work holds it.
    let mut running = endless(&device.path, &["--destroy-data"]);
    until_it_writes(&mut running);
    assert_eq!(write(&device.path, "100ms", &["--destroy-data"]).code, Some(3));
    signal(&running, "-INT");
    assert_eq!(running.wait().unwrap().code(), Some(130));
}

/// The whole cycle, as an ordinary user, on drives that are honest and that lie: each is found out by its class, and the honest one is not accused.
#[test]
fn a_demonstration_for_anybody() {
    const TEST: &str = "a_demonstration_for_anybody";
    let begun = std::time::Instant::now();
    let args = ["verify", "demo", "--time", "500ms"];
    let shown = match common::Nobody::new(TEST) {
        Some(nobody) => nobody.run(&args),
        None => run(&args),
    };
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""), "{}", shown.stdout);
    assert!(begun.elapsed() < Duration::from_secs(30));
    let of = |name: &str| {
        let behind =
            shown.stdout.split(&format!("\n{name} ")).nth(1).unwrap_or_else(|| panic!("{name}: {}", shown.stdout));
        behind.lines().skip(1).take(2).collect::<Vec<_>>().join(" ")
    };
    assert!(of("honest").contains("kept;"), "{}", of("honest"));
    assert!(of("ignore-flush").contains("fails:"), "{}", of("ignore-flush"));
    assert!(of("ignore-fua").contains("fails:"), "{}", of("ignore-fua"));
    assert!(of("ack-early=50ms").contains("rolled back"), "{}", of("ack-early=50ms"));
    for (lie, class) in
        [("shorn", "shorn"), ("flying", "flying"), ("bit-corruption", "corrupt"), ("unserializable", "unserializable")]
    {
        let words = of(&format!("{lie}=0.003"));
        assert!(words.contains(&format!(" {class}")), "{lie}: {words}");
    }
}
