//! Outputs that are links, and outputs that are in use as drives.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::{lchown, symlink};
use std::path::Path;
use std::process::Command;

use testbed::{LoopDevice, NOBODY, Nobody, Run, entries, needs_root, shared_directory, system};

const PROGRAM: &str = env!("CARGO_BIN_EXE_prefixsort");

fn prefixsort(args: &[&str]) -> Run {
    Run::of(Command::new(PROGRAM).args(args).output().unwrap())
}

#[test]
fn a_link_of_another_user_in_a_shared_directory_is_not_followed() {
    let Some(shared) =
        shared_directory("a_link_of_another_user_in_a_shared_directory_is_not_followed")
    else {
        return;
    };
    let own = tempfile::tempdir().unwrap();
    let [precious, missing, input] =
        ["precious", "missing", "input"].map(|name| own.path().join(name));
    std::fs::write(&precious, "precious").unwrap();
    std::fs::write(&input, "b\na\n").unwrap();
    let input = input.to_str().unwrap();
    for file in [&precious, &missing] {
        let link = shared.path().join("out");
        symlink(file, &link).unwrap();
        lchown(&link, Some(NOBODY), Some(NOBODY)).unwrap();
        let path = link.to_str().unwrap();
        let sorted = prefixsort(&[input, "-o", path]);
        assert_eq!(sorted.code, Some(2));
        assert_eq!(
            sorted.said(path, "OUT"),
            "prefixsort: cannot write OUT: Permission denied (os error 13)"
        );
        assert!(link.is_symlink());
        // A user's own link is followed, and so is one of the directory's owner.
        lchown(&link, Some(0), Some(0)).unwrap();
        assert_eq!(prefixsort(&[input, "-o", path]).code, Some(0));
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(file).unwrap(), "a\nb\n");
        std::fs::remove_file(&link).unwrap();
    }
    assert_eq!(
        (entries(shared.path()).len(), entries(own.path()).len()),
        (0, 3),
        "nothing is left behind"
    );
}

#[test]
fn an_ordinary_users_own_links_are_followed() {
    const TEST: &str = "an_ordinary_users_own_links_are_followed";
    let Some(nobody) = Nobody::new(TEST, Path::new(PROGRAM)) else { return };
    let own = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(own.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let place = own.path().to_str().unwrap();
    let script = format!(
        "cd {place} && printf 'b\\na\\n' > input && echo old > file && ln -s file link && ln -s missing dangling &&
         \"$0\" input -o link && \"$0\" input -o dangling && cat file missing && ls -A"
    );
    let run = nobody.shell(&script);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    assert_eq!(run.stdout, "a\nb\na\nb\ndangling\nfile\ninput\nlink\nmissing\n");
}

#[test]
fn what_is_in_use_as_a_drive_is_no_output() {
    const TEST: &str = "what_is_in_use_as_a_drive_is_no_output";
    if !needs_root(TEST) {
        return;
    }
    let own = tempfile::tempdir().unwrap();
    let input = own.path().join("input");
    std::fs::write(&input, "b\na\n").unwrap();
    let input = input.to_str().unwrap();
    let Some(device) = LoopDevice::new(TEST, 16 << 20, &[]) else { return };
    let image =
        system("losetup", &["--noheadings", "--output", "BACK-FILE", &device.path]).unwrap();
    let second = format!("{image}-2");
    std::fs::hard_link(&image, &second).unwrap();
    for path in [&image, &second] {
        let refused = prefixsort(&[input, "-o", path]);
        assert_eq!(refused.code, Some(2));
        let said = refused.said(path, "IMAGE").replace(&device.path, "DEV");
        assert_eq!(
            said,
            "prefixsort: cannot write IMAGE: IMAGE is in use and will not be overwritten: IMAGE is \
             attached to DEV; \
             choose another file"
        );
    }
    // A drive is not a file either, in use or not.
    let refused = prefixsort(&[input, "-o", &device.path]);
    assert_eq!(refused.code, Some(2));
    insta::assert_snapshot!(refused.said(&device.path, "DEV"), @"prefixsort: cannot write DEV: DEV is a block device and will not be overwritten; choose a file");
    assert!(std::fs::read(&image).unwrap().iter().all(|&byte| byte == 0));
}
