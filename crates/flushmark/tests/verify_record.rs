//! `flushmark verify record`, and journals: what they record, keep and refuse.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod verification;

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::{Run, run};
use verification::*;

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
        // The recorder takes a moment to notice that the writer is gone.
        wait_until("the check", || {
            let run = check(&path, &["--recorder", &recorder.address, "--format", "json"]);
            let done = run.code == Some(0);
            checked = Some(run);
            done
        });
        let document = checked.unwrap().document();
        assert_eq!(
            (&document["heard_by"], &document["result"]),
            (&"recorder".into(), &"kept".into())
        );
    }
    // Its journal has the same content.
    let alone = check(&path, &["--journal", recorder.journal(), "--format", "json"]);
    assert_eq!(alone.code, Some(0), "{}", alone.stderr);
    assert!(
        alone.stdout.contains("could not be recorded"),
        "the recorder holds its journal: {}",
        alone.stdout
    );
    let said = recorder.end();
    assert_eq!(said.code, Some(130));
    assert!(
        said.stdout.contains("2 cycles judged: 2 kept (2 with only the user's statement"),
        "{}",
        said.stdout
    );
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
        let mut checked = None;
        // Its own command is the sign of the cut; no statement is needed.
        wait_until("the check", || {
            let run = run(&["verify", "check", &path, "--quiet", "--recorder", &recorder.address]);
            let done = run.code == Some(0);
            checked = Some(run);
            done
        });
        let page = checked.unwrap().stdout;
        assert!(page.contains("power cut    the recorder's cut command succeeded"), "{page}");
    }
    let mut recorder = recorder;
    let said = std::mem::replace(&mut recorder.child, Command::new("true").spawn().unwrap());
    let said = Run::of(said.wait_with_output().unwrap());
    assert_eq!(said.code, Some(0), "{}{}", said.stdout, said.stderr);
    for delay in ["0 ms", "1 ms", "3 ms"] {
        assert!(
            said.stdout.contains(&format!("cutting the power, {delay} after")),
            "{}",
            said.stdout
        );
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
        ended.stderr.contains("writing stopped, and what it did not receive creates no obligation"),
        "{}",
        ended.stderr
    );
    let (empty, other) = directory();
    let unreachable = write(&other, "100ms", &["--recorder", &recorder.address]);
    assert_eq!(unreachable.code, Some(4));
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0, "nothing is left behind");
    assert!(unreachable.stderr.contains("cannot reach the recorder at"), "{}", unreachable.stderr);
    assert_eq!(
        unreachable.stderr.matches("Connection refused").count(),
        1,
        "{}",
        unreachable.stderr
    );
    assert!(
        unreachable.stderr.ends_with("start one there with `flushmark verify record`\n"),
        "{}",
        unreachable.stderr
    );
    // Earlier recordings still count.
    let checked = check(&path, &["--journal", recorder.journal(), "--format", "json"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stdout);
    assert!(checked.document()["promises"][0]["acknowledged_writes"].as_u64().unwrap() > 0);
}

#[test]
fn nonsense_does_not_impress_the_recorder() {
    let recorder = Recorder::new(&[]);
    for nonsense in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"FmVerif1\xff\xff\xff\xff\xff\xff\xff\xff",
        b"FmVerif1",
        b"",
    ] {
        let mut stream = TcpStream::connect(&recorder.address).unwrap();
        stream.write_all(nonsense).unwrap();
        drop(stream);
    }
    let (_directory, path) = directory();
    assert_eq!(
        check(&path, &["--recorder", &recorder.address]).code,
        Some(3),
        "nothing was written there"
    );
    let written = write(&path, "200ms", &["--recorder", &recorder.address]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert_eq!(check(&path, &["--recorder", &recorder.address]).code, Some(0));
    let said = recorder.end();
    assert!(said.stdout.contains("was rejected: the greeting is not"), "{}", said.stdout);
}

#[test]
fn a_journal_that_is_cut_off_is_read_up_to_there() {
    let (_directory, path) = directory();
    let recorder = recorded(&path, &[]);
    let whole = fs::read(&recorder.journal).unwrap();
    let cut_off_at = |bytes: usize| {
        fs::write(&recorder.journal, &whole[..bytes]).unwrap();
        let checked = check(&path, &["--journal", recorder.journal()]);
        assert_eq!(checked.code, Some(0), "{}", checked.stdout);
        checked
    };
    // Between two entries or in one.
    cut_off_at(whole.len() * 2 / 3);
    let checked = cut_off_at(whole.len() - 1);
    assert!(
        checked.stdout.contains("The journal ends in the middle of an entry"),
        "{}",
        checked.stdout
    );
    fs::write(&recorder.journal, &whole[..30]).unwrap();
    let empty = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(empty.code, Some(3));
    insta::assert_snapshot!(empty.said(recorder.journal(), "JOURNAL"), @"flushmark: the journal JOURNAL contains no run: power was lost before one began, or it is the wrong journal");
    fs::write(&recorder.journal, "a letter to somebody, longer than a head").unwrap();
    let none = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(none.code, Some(3));
    insta::assert_snapshot!(none.said(recorder.journal(), "JOURNAL"), @"flushmark: JOURNAL is not a journal of flushmark verify; name a file that `verify write --journal` or `verify record --journal` created");
}

#[test]
fn another_runs_journal_is_refused() {
    let (_directory, path) = directory();
    let recorder = recorded(&path, &[]);
    assert_eq!(write(&path, "100ms", &[]).code, Some(0));
    let refused = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.contains("but the journal is about run"), "{}", refused.stderr);
}

#[test]
fn an_older_run_elsewhere_on_the_drive_is_no_drive_that_went_back() {
    let ((_one, first), (_two, second)) = (directory(), directory());
    let recorder = Recorder::new(&[]);
    let heard = ["--recorder", &recorder.address, "--abandon-unjudged"];
    for path in [&first, &second] {
        wait_until("a run", || write(path, "100ms", &heard).code == Some(0));
    }
    wait_until("the refusal", || {
        let refused = check(&first, &["--recorder", &recorder.address]);
        refused.code == Some(3) && refused.stderr.contains("but the journal is about run")
    });
}

#[test]
fn a_journal_beside_its_target_is_refused() {
    let (directory, path) = directory();
    let journal = directory.path().join("journal");
    let refused = write(&path, "100ms", &["--journal", journal.to_str().unwrap()]);
    assert_eq!((refused.code, journal.exists()), (Some(3), false));
    assert!(
        refused.stderr.contains("put it on another drive, or use --recorder"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_journal_on_another_filesystem_is_kept_and_goes_on() {
    let (_directory, path) = directory();
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        return eprintln!(
            "skipped: a_journal_on_another_filesystem_is_kept_and_goes_on: no /dev/shm"
        );
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
fn a_recorder_serves_one_run_at_a_time() {
    let (_one, first) = directory();
    let (_two, second) = directory();
    let recorder = Recorder::new(&[]);
    let mut running = endless(&first, &["--recorder", &recorder.address]);
    until_it_writes(&mut running);
    let refused = write(&second, "100ms", &["--recorder", &recorder.address]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("is being written; wait until it has ended"),
        "{}",
        refused.stderr
    );
    let early = check(&first, &["--recorder", &recorder.address]);
    assert_eq!(early.code, Some(3));
    assert!(early.stderr.contains("is using"), "{}", early.stderr);
    signal(&running, "-INT");
    assert_eq!(running.wait().unwrap().code(), Some(130));
    wait_until("the check", || check(&first, &["--recorder", &recorder.address]).code == Some(0));
    let other = check(&second, &["--recorder", &recorder.address]);
    assert_eq!(
        other.code,
        Some(3),
        "what was refused left a file without a run that was heard: {}",
        other.stderr
    );
    assert!(recorder.end().stdout.contains("the writer ended on its own (asked to stop)"));
}

#[test]
fn a_cut_that_did_not_happen_is_no_sign_of_one() {
    let (_directory, path) = directory();
    let recorder = Recorder::new(&["--cut-command", "exit 3", "--cut-after", "100ms"]);
    let mut run_without_cut = endless(&path, &["--recorder", &recorder.address]);
    until_it_writes(&mut run_without_cut);
    std::thread::sleep(Duration::from_millis(300));
    run_without_cut.kill().unwrap();
    run_without_cut.wait().unwrap();
    let mut checked = None;
    wait_until("the check", || {
        let run = run(&[
            "verify", "check", &path, "--quiet", "--recorder", &recorder.address, "--format",
            "json",
        ]);
        let done = run.code == Some(1);
        checked = Some(run);
        done
    });
    let document = checked.unwrap().document();
    assert_eq!(
        (&document["result"], &document["void"][0]["because"]),
        (&"void".into(), &"no-sign-of-a-cut".into())
    );
    assert!(recorder.end().stdout.contains("the cut command failed (exit status: 3"));
}

#[test]
fn what_nobody_checked_is_counted_and_not_written_over() {
    let (_directory, path) = directory();
    let recorder = Recorder::new(&[]);
    let heard = ["--recorder", recorder.address.as_str()];
    assert_eq!(write(&path, "300ms", &heard).code, Some(0));
    let evidence = fs::read(file_in(Path::new(&path))).unwrap();
    let mut refused = None;
    // The recorder takes a moment to notice that the writer is gone.
    wait_until("the refusal", || {
        let run = write(&path, "300ms", &heard);
        let done = run.stderr.contains("never judged");
        refused = Some(run);
        done
    });
    let refused = refused.unwrap();
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.contains("give it up with --abandon-unjudged"), "{}", refused.stderr);
    assert!(fs::read(file_in(Path::new(&path))).unwrap() == evidence, "the evidence is as it was");
    assert_eq!(
        write(&path, "300ms", &[&heard[..], &["--abandon-unjudged"]].concat()).code,
        Some(0)
    );
    let mut checked = None;
    wait_until("the check", || {
        let run = check(&path, &[&heard[..], &["--format", "json"]].concat());
        let done = run.code == Some(1);
        checked = Some(run);
        done
    });
    let document = checked.unwrap().document();
    assert_eq!(
        (&document["result"], &document["standing"]["unjudged"]),
        (&"kept".into(), &1.into())
    );
    assert_eq!(document["loss_per_cut_below"], serde_json::Value::Null);
    let said = recorder.end().stdout;
    assert!(
        said.contains(
            "1 cycle judged: 1 kept (1 with only the user's statement that the power was"
        ),
        "{said}"
    );
    assert!(said.contains("1 cycle had acknowledged writes and was never judged"), "{said}");
    assert!(!said.contains("chance of a loss"), "{said}");
}

#[test]
fn a_recorder_on_the_drive_that_is_tested_is_refused() {
    let (directory, path) = directory();
    let place = drive::Place::of(&drive::SystemRoot::default(), directory.path()).unwrap();
    if place.block_device().is_none() {
        return eprintln!(
            "skipped: a_recorder_on_the_drive_that_is_tested_is_refused: no block device beneath \
             {path}"
        );
    }
    let beside = tempfile::tempdir().unwrap();
    let recorder = Recorder::within(beside.path(), &[]);
    let refused = write(&path, "100ms", &["--recorder", &recorder.address]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("would be on the drive under test"), "{}", refused.stderr);
}

#[test]
fn a_damaged_journal_is_left_alone_and_accuses_nobody() {
    let (_directory, path) = directory();
    let recorder = recorded(&path, &[]);
    let mut damaged = fs::read(&recorder.journal).unwrap();
    // After the beginning and the first leases: later leases are lost.
    let at = damaged.len() / 3;
    damaged[at] ^= 0xff;
    fs::write(&recorder.journal, &damaged).unwrap();
    let checked = check(&path, &["--journal", recorder.journal()]);
    assert_eq!(checked.code, Some(0), "{}{}", checked.stdout, checked.stderr);
    assert!(checked.stdout.contains("The journal is damaged"), "{}", checked.stdout);
    assert!(checked.stdout.contains("could not be recorded"), "{}", checked.stdout);
    assert!(!checked.stdout.contains("a bug in flushmark"), "{}", checked.stdout);
    let again =
        run(&["verify", "record", "--listen", "127.0.0.1:0", "--journal", recorder.journal()]);
    assert_eq!(again.code, Some(3));
    assert!(again.stderr.contains("it was left unchanged"), "{}", again.stderr);
    assert_eq!(fs::read(&recorder.journal).unwrap(), damaged);
}

#[test]
fn too_many_callers_are_told_so() {
    let recorder = Recorder::new(&[]);
    let callers: Vec<TcpStream> =
        (0..8).map(|_| TcpStream::connect(&recorder.address).unwrap()).collect();
    let (_directory, path) = directory();
    let mut said = String::new();
    wait_until("the refusal", || {
        said = write(&path, "100ms", &["--recorder", &recorder.address]).stderr;
        said.contains("8 others are connected")
    });
    drop(callers);
}
