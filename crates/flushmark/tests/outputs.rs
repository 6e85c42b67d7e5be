//! The outputs of results: stdout, the file of `--output`, readers that go away, and outputs that
//! fail. A measurement is never lost.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::File;
use std::os::unix::fs::{lchown, symlink};
use std::path::Path;
use std::process::Stdio;

use common::{
    LoopDevice, Mount, NOBODY, Run, entries, flushmark, needs_root, plan, run, shared_directory,
    system,
};
use serde_json::Value;

/// A run of milliseconds without a device.
fn on_null(more: &[&str]) -> std::process::Command {
    let mut command = flushmark();
    command.args(["run", "check", "--smoke", "--target", "null:"]).args(more);
    command
}

fn document(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_file_holds_what_stdout_shows() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("result.json");
    let run = Run::of(
        on_null(&["--quiet", "--format", "json", "--output", file.to_str().unwrap()])
            .output()
            .unwrap(),
    );
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), run.stdout);
    // With text on stdout, the file is JSON all the same.
    let text = Run::of(on_null(&["--quiet", "--output", file.to_str().unwrap()]).output().unwrap());
    assert_eq!(text.code, Some(0));
    assert!(
        text.stdout.starts_with("target") && document(&file)["suite"] == "check",
        "{}",
        text.stdout
    );
}

#[test]
fn an_output_that_cannot_be_is_noticed_before_anything_is_measured() {
    for verb in [&["run", "journal", "--target"][..], &["check"]] {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().to_str().unwrap();
        let run = run(&[verb, &[target, "--output", "/no/such/directory/result.json"]].concat());
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""));
        insta::allow_duplicates! {
            insta::assert_snapshot!(run.stderr.trim_end(), @"flushmark: /no/such/directory is not a directory, so --output cannot create a file there");
        }
    }
}

#[test]
fn an_output_that_fails_afterwards_does_not_take_the_result_with_it() {
    let arguments = ["--quiet", "--format", "json", "--output", "/dev/full"];
    let run = Run::of(on_null(&arguments).output().unwrap());
    assert_eq!(run.code, Some(4));
    insta::assert_snapshot!(run.stderr.trim_end(), @"flushmark: cannot write the result to /dev/full: No space left on device (os error 28)");
    assert!(!run.document()["results"].as_array().unwrap().is_empty(), "printed all the same");
}

#[test]
fn a_stdout_that_takes_nothing_does_not_take_the_result_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("result.json");
    for format in ["text", "json"] {
        let mut command =
            on_null(&["--quiet", "--format", format, "--output", file.to_str().unwrap()]);
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
        let run = Run::of(command.output().unwrap());
        assert_eq!(run.code, Some(4), "{format}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(run.stderr.trim_end(), @"flushmark: cannot write to stdout: No space left on device (os error 28)");
        }
    }
    assert_eq!(document(&file)["suite"], "check");
}

#[test]
fn a_reader_of_the_result_that_goes_away_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("result.json");
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = on_null(&["--quiet", "--format", "json", "--output", file.to_str().unwrap()]);
    let child = command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    drop((reader, command));
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(document(&file)["suite"], "check");
}

#[test]
fn a_reader_of_the_progress_that_goes_away_is_no_error() {
    let directory = tempfile::tempdir().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = flushmark();
    command
        .args(["run", "journal", "--smoke", "--format", "json", "--target"])
        .arg(directory.path());
    let child = command.stdout(Stdio::piped()).stderr(writer).spawn().unwrap();
    drop((reader, command));
    let run = Run::of(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(0));
    assert_eq!(run.document()["results"].as_array().unwrap().len(), 3);
    assert!(entries(directory.path()).is_empty());
    // Error messages do not need a reader either.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = flushmark()
        .args(["run", "journal", "--target", "/no/such/path"])
        .stderr(writer)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let coloured = |name: &str, value: &str| {
        let mut command = on_null(&[]);
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env(name, value);
        let run = Run::of(command.output().unwrap());
        (run.stdout.contains('\x1b'), run.stderr.contains('\x1b'))
    };
    assert_eq!(coloured("LC_ALL", "C.UTF-8"), (false, false));
    assert_eq!(coloured("NO_COLOR", "1"), (false, false));
    assert!(coloured("CLICOLOR_FORCE", "1").0);
}

#[test]
fn pages_are_ascii_where_the_locale_is() {
    let in_c =
        |args: &[&str]| Run::of(flushmark().args(args).env("LC_ALL", "C").output().unwrap()).stdout;
    for args in [
        &["suites"][..],
        &["catalogue"],
        &["run", "check", "--smoke", "--quiet", "--target", "null:"],
    ] {
        let page = in_c(args);
        assert!(page.is_ascii() && !page.is_empty(), "{page}");
    }
}

#[test]
fn every_suite_s_own_text_is_the_suite() {
    for suite in workload::suites::all() {
        let shown = run(&["suites", &suite.name]);
        assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
        let copy = workload::Plan::from_toml("copy.toml", &shown.stdout).unwrap();
        assert_eq!(copy, suite);
    }
}

#[test]
fn a_fio_job_file_and_a_plan_with_its_own_target_run() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("target");
    std::fs::create_dir(&target).unwrap();
    let job = directory.path().join("journal.fio");
    std::fs::write(
        &job,
        "[journal]\nrw=randwrite\nbs=4k\nfsync=1\ndirect=1\nsize=4m\nruntime=1\ntime_based\n",
    )
    .unwrap();
    let from_fio = run(&[
        "run",
        job.to_str().unwrap(),
        "--time",
        "100ms",
        "--quiet",
        "--format",
        "json",
        "--target",
        target.to_str().unwrap(),
    ]);
    assert_eq!(from_fio.code, Some(0), "{}", from_fio.stderr);
    let result = &from_fio.document()["results"][0];
    assert_eq!(
        (&result["test"], &result["workload"]["sync"]),
        (&"journal".into(), &"fsync".into())
    );
    assert!(result["elapsed_s"].as_f64().unwrap() < 0.5, "{}", result["elapsed_s"]);

    let text = format!(
        "target = {target:?}\n[[test]]\npattern = \"write\"\nsize = \"1MiB\"\ncount = 7\nwarm_up \
         = \"0s\"\n"
    );
    let own = run(&["run", &plan(directory.path(), &text), "--quiet", "--format", "json"]);
    assert_eq!(own.code, Some(0), "{}", own.stderr);
    assert_eq!(own.document()["results"][0]["proof"]["writes"], 7);
    assert!(entries(&target).is_empty());
}

#[test]
fn a_link_of_another_user_in_a_shared_directory_is_not_followed() {
    let Some(shared) =
        shared_directory("a_link_of_another_user_in_a_shared_directory_is_not_followed")
    else {
        return;
    };
    let own = tempfile::tempdir().unwrap();
    let precious = own.path().join("precious");
    std::fs::write(&precious, "precious").unwrap();
    let link = shared.path().join("out");
    symlink(&precious, &link).unwrap();
    lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
    let path = link.to_str().unwrap();
    let measured =
        Run::of(on_null(&["--quiet", "--output", path, "--metrics-file", path]).output().unwrap());
    assert_eq!(measured.code, Some(4));
    assert_eq!(
        measured.said(path, "OUT"),
        "flushmark: cannot write the result to OUT: Permission denied (os error 13)"
    );
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    assert_eq!(
        (entries(shared.path()).len(), entries(own.path()).len()),
        (1, 1),
        "nothing is left behind"
    );
}

#[test]
fn targets_and_stores_are_reached_only_through_links_that_the_kernel_follows() {
    const TEST: &str = "targets_and_stores_are_reached_only_through_links_that_the_kernel_follows";
    let Some(shared) = shared_directory(TEST) else { return };
    let own = tempfile::tempdir().unwrap();
    let file = own.path().join("precious");
    std::fs::write(&file, "precious".repeat(1 << 16)).unwrap();
    let empty = own.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    let refuses = |name: &str, leads_to: &Path, owner: u32, arguments: &[&str]| {
        let link = shared.path().join(name);
        symlink(leads_to, &link).unwrap();
        lchown(&link, Some(owner), Some(owner)).unwrap();
        let path = link.to_str().unwrap();
        let run = run(&[arguments, &[path]].concat());
        (run.code, run.said(path, "LINK"))
    };
    let missing = own.path().join("missing");
    let short = ["--smoke", "--quiet", "--destroy-data"];
    let target = [&["run", "wal"], &short[..], &["--target"]].concat();
    let store = ["run", "check", "--time", "1ms", "--quiet", "--target", "null:", "--store"];
    for (name, leads_to, arguments) in [
        ("file", file.as_path(), &target[..]),
        ("directory", own.path(), &target),
        ("verify", own.path(), &["verify", "write"]),
        ("dangling", &missing, &store),
        ("empty", &empty, &store),
    ] {
        let (found, said) = refuses(name, leads_to, NOBODY, arguments);
        assert!(found == Some(4) && said.contains("ermission"), "{name}: {found:?} {said}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), "precious".repeat(1 << 16).into_bytes());
    assert_eq!((entries(own.path()).len(), empty.metadata().unwrap().len()), (2, 0));
    // The user's links are followed.
    let (code, said) = refuses("own", own.path(), 0, &target);
    assert_eq!((code, said.as_str()), (Some(0), ""));
}

#[test]
fn what_is_in_use_as_a_drive_is_no_output() {
    const TEST: &str = "what_is_in_use_as_a_drive_is_no_output";
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 1 << 20, &[]) else { return };
    let image =
        system("losetup", &["--noheadings", "--output", "BACK-FILE", &device.path]).unwrap();
    let refused = Run::of(on_null(&["--quiet", "--output", &image]).output().unwrap());
    assert_eq!(refused.code, Some(3));
    let said = refused.said(&image, "IMAGE").replace(&device.path, "DEV");
    insta::assert_snapshot!(said, @"flushmark: cannot write the result to IMAGE: IMAGE is in use and will not be overwritten: IMAGE is attached to DEV; choose another file");
}

#[test]
fn what_cannot_be_an_output_file_is_refused_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let circle = directory.path().join("circle");
    symlink("circle", &circle).unwrap();
    let place = directory.path().to_str().unwrap();
    let cases = [
        (place, 4, "Is a directory (os error 21)"),
        (circle.to_str().unwrap(), 4, "Too many levels of symbolic links (os error 40)"),
        (
            "/dev/flushmark-missing",
            2,
            "/dev/flushmark-missing does not exist, and no file is created among the devices; \
             choose another file",
        ),
    ];
    for (path, code, sentence) in cases {
        for (option, what) in [("--output", "result"), ("--metrics-file", "metrics")] {
            for verb in [&["run", "journal", "--target", place][..], &["check", place]] {
                let refused = run(&[verb, &["--format", "json", option, path]].concat());
                assert_eq!((refused.code, refused.stdout.as_str()), (Some(code), ""));
                let said = format!("flushmark: cannot write the {what} to {path}: {sentence}");
                assert_eq!(refused.stderr.trim_end(), said);
                assert!(!Path::new("/dev/flushmark-missing").exists());
            }
        }
    }
    assert_eq!(entries(directory.path()), ["circle"]);
}

#[test]
fn a_block_device_is_no_output() {
    const TEST: &str = "a_block_device_is_no_output";
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 1 << 20, &[]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("result.json");
    let measured = Run::of(on_null(&["--output", file.to_str().unwrap()]).output().unwrap());
    assert_eq!(measured.code, Some(0));
    let file = file.to_str().unwrap();
    let place = directory.path().to_str().unwrap();
    for arguments in [
        &["run", "journal", "--target", place, "--output", &device.path][..],
        &["run", "journal", "--target", place, "--metrics-file", &device.path],
        &["check", place, "--output", &device.path],
        &["report", file, "--force", "--output", &device.path],
        &["results", "export", file, "--format", "csv", "--output", &device.path],
    ] {
        let refused = run(arguments);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(3), ""), "{arguments:?}");
        let said = refused.said(&device.path, "DEV");
        let sentence = "DEV is a block device and will not be overwritten; choose a file";
        assert!(said.ends_with(sentence), "{said}");
    }
    assert!(std::fs::read(&device.path).unwrap().iter().all(|&byte| byte == 0));
}

#[test]
fn an_output_on_a_read_only_filesystem() {
    const TEST: &str = "an_output_on_a_read_only_filesystem";
    if !needs_root(TEST) {
        return;
    }
    let Some(mount) = Mount::new(TEST, &["-t", "tmpfs", "-o", "ro", "tmpfs"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let file = mount.path.join("result.json");
    let refused = run(&["run", "journal", "--target", place, "--output", file.to_str().unwrap()]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(4), ""));
    let said = refused.said(mount.text(), "DIR");
    insta::assert_snapshot!(said, @"flushmark: cannot write the result to DIR/result.json: Read-only file system (os error 30)");
}

#[test]
fn a_linked_directory_on_the_way_to_an_output_is_followed_as_the_kernel_does() {
    const TEST: &str = "a_linked_directory_on_the_way_to_an_output_is_followed_as_the_kernel_does";
    let Some(shared) = shared_directory(TEST) else { return };
    let own = tempfile::tempdir().unwrap();
    let link = shared.path().join("dlink");
    symlink(own.path(), &link).unwrap();
    lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
    let path = link.join("result.json");
    let measured =
        Run::of(on_null(&["--quiet", "--output", path.to_str().unwrap()]).output().unwrap());
    assert_eq!(measured.code, Some(0), "{}", measured.stderr);
    assert_eq!(entries(own.path()), ["result.json"]);
}

#[test]
fn nothing_hides_in_a_name() {
    const HIDDEN: &[char] =
        &['\u{202e}', '\u{200b}', '\u{2066}', '\u{feff}', '\u{e0041}', '\u{1b}'];
    let name: String = HIDDEN.iter().flat_map(|&c| ['x', c]).collect();
    let directory = tempfile::tempdir().unwrap();
    let escaped: String = name.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect();
    let text = format!(
        "[[test]]\nname = \"{}\"\npattern = \"write\"\nsize = \"1MiB\"\ncount = 20\nwarm_up \
         = \"0s\"\n",
        escaped.replace("\\U0000001b", "")
    );
    let text = plan(directory.path(), &text);
    let [file, page] = ["result.json", "page.html"]
        .map(|name| directory.path().join(name).to_str().unwrap().to_owned());
    let measured = run(&["run", &text, "--target", "null:", "--output", &file]);
    assert_eq!(measured.code, Some(0), "{}", measured.stderr);
    // A document from elsewhere may contain what a plan refuses.
    let held = std::fs::read_to_string(&file).unwrap().replace("\u{e0041}", "\u{e0041}\\u001b[2J");
    std::fs::write(&file, held).unwrap();
    let reported = run(&["report", &file, "-o", &page]);
    assert_eq!(reported.code, Some(0), "{}", reported.stderr);
    let exported = run(&["results", "export", &file, "--format", "markdown"]);
    assert_eq!(exported.code, Some(0), "{}", exported.stderr);
    let html = std::fs::read_to_string(&page).unwrap();
    let (_, body) = html.split_once("<body>").unwrap();
    let (body, scripts) = body.split_once("</main>").unwrap();
    let (data, _) = scripts.split_once("</script>").unwrap();
    for (what, shown) in [
        ("the page of the run", &*measured.stdout),
        ("the lines of the run", &measured.stderr),
        ("Markdown", &exported.stdout),
        ("the report", body),
        ("the charts", data),
    ] {
        assert!(!shown.contains(HIDDEN), "{what}: {shown}");
    }
    assert!(measured.stdout.contains("x\u{fffd}x\u{fffd}") && body.contains("x\u{fffd}x\u{fffd}"));
    // A message has room to show the characters.
    let refused = run(&["run", "no\u{202e}suite", "--target", "null:"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("no\\u{202e}suite"), "{}", refused.stderr);
}
