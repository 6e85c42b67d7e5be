//! Targets that existed before the run: devices and files with data on them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use common::{LoopDevice, Mount, Run, flushmark, kill, needs_root, plan, run, system};

const READS: &str =
    "[[test]]\npattern = \"randread\"\nsize = \"1MiB\"\ncount = 10\nwarm_up = \"0s\"\n";
const WRITES: &str =
    "[[test]]\npattern = \"randwrite\"\nsize = \"1MiB\"\ncount = 10\nwarm_up = \"0s\"\n";

fn run_plan(text: &str, target: &str, more: &[&str]) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan(directory.path(), text);
    run(&[&["run", &plan, "--quiet", "--format", "json", "--target", target], more].concat())
}

#[test]
fn a_file_is_overwritten_only_when_that_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("database");
    let content = vec![7u8; (2 << 20) + 100];
    fs::write(&file, &content).unwrap();
    let target = file.to_str().unwrap();
    let refused = run_plan(WRITES, target, &[]);
    assert_eq!(refused.code, Some(3));
    insta::assert_snapshot!(refused.said(target, "FILE"), @"flushmark: FILE would be overwritten; to allow this, add --destroy-data, or use a directory, where flushmark creates temporary files");
    // A check writes, too.
    assert_eq!(run(&["check", target]).code, Some(3));
    assert_eq!(
        run_plan(READS, target, &[]).code,
        Some(0),
        "reading needs no permission to destroy"
    );
    assert!(fs::read(&file).unwrap() == content, "untouched");
    assert_eq!(run_plan(WRITES, target, &["--destroy-data"]).code, Some(0));
    let after = fs::read(&file).unwrap();
    assert!(
        after.len() == content.len() && after != content,
        "overwritten in place, neither grown nor cut nor removed"
    );
}

#[test]
fn what_is_no_target_is_wrong_use() {
    for (target, sentence) in [
        (
            "/dev/null",
            "/dev/null is a character device: name a directory, a regular file or a block device",
        ),
        ("emu:samsung-980-1tb", "unknown kind of target `emu:`"),
    ] {
        let run = run_plan(WRITES, target, &["--destroy-data"]);
        assert_eq!(run.code, Some(2), "{target}: {}", run.stderr);
        assert!(run.stderr.contains(sentence), "{}", run.stderr);
    }
}

#[test]
fn nothing_is_created_among_the_devices() {
    let missing = Path::new("/dev/flushmark-missing-device");
    let name = missing.file_name().unwrap().to_str().unwrap();
    let path = missing.to_str().unwrap();
    let emulate = ["emulate", "consumer-nvme,capacity=2GiB", "--nbd", "/no/socket", "--image"];
    for (arguments, target) in [
        (&["run", "--destroy-data", "--", "fio", "-name=x", "-rw=write", "-size=1m"][..], "fio"),
        (&emulate, "image"),
    ] {
        for place in [path, name] {
            let filename = format!("-filename={place}");
            let last = if target == "fio" { &filename } else { place };
            let mut command = flushmark();
            command.args(arguments).arg(last).current_dir("/dev");
            let refused = Run::of(command.output().unwrap());
            assert_eq!(refused.code, Some(2), "{last}: {}", refused.stderr);
            let sentence = format!("flushmark: {place} does not exist");
            assert!(refused.stderr.starts_with(&sentence), "{}", refused.stderr);
            assert!(!missing.exists());
        }
    }
}

#[test]
fn a_read_only_device() {
    const TEST: &str = "a_read_only_device";
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 16 << 20, &["--read-only"]) else { return };
    let refused = run_plan(WRITES, &device.path, &["--destroy-data"]);
    assert_eq!(refused.code, Some(4));
    insta::assert_snapshot!(refused.said(&device.path, "DEV"), @"flushmark: DEV is a read-only device; only read-only plans can run on it");
    assert_eq!(run_plan(READS, &device.path, &[]).code, Some(0));
}

#[test]
fn a_device_smaller_than_a_block_of_the_plan() {
    const TEST: &str = "a_device_smaller_than_a_block_of_the_plan";
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 512 << 10, &[]) else { return };
    let text = "[[test]]\nname = \"fits\"\npattern = \"write\"\nsize = \"1GiB\"\ncount = \
                10\nwarm_up = \"0s\"\n[[test]]\nname = \"does not\"\npattern = \"write\"\nblock \
                = \"1MiB\"\n";
    let run = run_plan(text, &device.path, &["--destroy-data"]);
    assert_eq!(run.code, Some(4));
    insta::assert_snapshot!(run.said(&device.path, "DEV"), @"flushmark: DEV has a size of 512.0 KiB, but this test needs at least 1 MiB");
    let document = run.document();
    assert_eq!(document["results"][0]["test"], "fits", "what was measured before is kept");
    assert!(document["results"][0]["notes"][0].as_str().unwrap().contains("the target is smaller"));
}

#[test]
fn a_disk_one_of_whose_partitions_is_mounted() {
    const TEST: &str = "a_disk_one_of_whose_partitions_is_mounted";
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 64 << 20, &["--partscan"]) else { return };
    // An MBR with one Linux partition that starts at the first MiB.
    let mut table = [0u8; 512];
    table[446 + 4] = 0x83;
    table[446 + 8..446 + 12].copy_from_slice(&2048u32.to_le_bytes());
    table[446 + 12..446 + 16].copy_from_slice(&(32u32 << 11).to_le_bytes());
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    let disk = File::options().write(true).open(&device.path).unwrap();
    disk.write_all_at(&table, 0).unwrap();
    disk.sync_all().unwrap();
    drop(disk);
    let partition = format!("{}p1", device.path);
    if let Err(reason) = system("blockdev", &["--rereadpt", &device.path])
        .and_then(|_| system("mkfs.ext4", &["-q", &partition]))
    {
        eprintln!("skipped: {TEST}: {reason}");
        return;
    }
    let unasked = run_plan(WRITES, &device.path, &[]);
    assert_eq!(unasked.code, Some(3));
    assert!(unasked.stderr.contains("would be overwritten and holds"), "{}", unasked.stderr);

    let Some(mount) = Mount::new(TEST, &[&partition]) else { return };
    let refused = run_plan(WRITES, &device.path, &["--destroy-data"]);
    assert_eq!(refused.code, Some(3));
    let said = refused.said(&device.path, "DEV").replace(mount.text(), "DIR");
    insta::assert_snapshot!(said, @"flushmark: DEV is in use and will not be overwritten: DEVp1 is mounted on DIR; use another target");
    // Reading is allowed, even if it is mounted.
    assert_eq!(run_plan(READS, &partition, &[]).code, Some(0));
}

#[test]
fn a_mounted_image_under_another_name() {
    const TEST: &str = "a_mounted_image_under_another_name";
    if !needs_root(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let place = directory.path().canonicalize().unwrap();
    let [image, second] =
        ["im.img", "im2.img"].map(|name| place.join(name).to_str().unwrap().to_owned());
    File::create(&image).unwrap().set_len(16 << 20).unwrap();
    if let Err(reason) = system("mkfs.ext4", &["-q", &image]) {
        eprintln!("skipped: {TEST}: {reason}");
        return;
    }
    let Some(mount) = Mount::new(TEST, &["-o", "loop", &image]) else { return };
    fs::hard_link(&image, &second).unwrap();
    let bound = place.join("bound");
    fs::create_dir(&bound).unwrap();
    let Some(_bound) = Mount::at(TEST, &["--bind", place.to_str().unwrap()], &bound) else {
        return;
    };
    let through_bind = bound.join("im2.img").to_str().unwrap().to_owned();
    let device = system("findmnt", &["--noheadings", "--output", "SOURCE", mount.text()]).unwrap();

    for name in [&image, &second, &through_bind] {
        for args in [
            &["run", "journal", "--destroy-data", "--target", name][..],
            &["verify", "write", name, "--destroy-data", "--time", "100ms"],
            &[
                "emulate",
                "consumer-nvme,capacity=2GiB",
                "--nbd",
                "/no/socket",
                "--image",
                name,
                "--destroy-data",
            ],
        ] {
            let refused = run(args);
            assert_eq!(refused.code, Some(3), "{args:?}: {}", refused.stderr);
            let sentence =
                format!("in use and will not be overwritten: {name} is attached to {device}");
            assert!(refused.stderr.contains(&sentence), "{args:?}: {}", refused.stderr);
        }
    }
    // The filesystem was not touched.
    drop(mount);
    system("fsck.ext4", &["-fn", &image]).unwrap();

    // An ordinary user may not query the loop device, and only has the name of its file.
    let Some(nobody) = common::nobody(TEST) else { return };
    fs::set_permissions(&image, fs::Permissions::from_mode(0o666)).unwrap();
    let Some(mount) = Mount::new(TEST, &["-o", "loop", &image]) else { return };
    let device = system("findmnt", &["--noheadings", "--output", "SOURCE", mount.text()]).unwrap();
    let refused = nobody.run(&["run", "journal", "--destroy-data", "--target", &second]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    let said = refused.said(place, "DIR").replace(&device, "DEV");
    insta::assert_snapshot!(said, @"flushmark: DIR/im2.img is in use and will not be overwritten: DEV is attached to DIR/im.img, which leads to this file here; use another target");
}

#[test]
fn a_loop_device_on_a_mounted_device() {
    const TEST: &str = "a_loop_device_on_a_mounted_device";
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 16 << 20, &[]) else { return };
    if let Err(reason) = system("mkfs.ext4", &["-q", &device.path]) {
        eprintln!("skipped: {TEST}: {reason}");
        return;
    }
    let Some(mount) = Mount::new(TEST, &[&device.path]) else { return };
    let above = match system("losetup", &["--find", "--show", &device.path]) {
        Ok(above) => above,
        Err(reason) => {
            eprintln!("skipped: {TEST}: {reason}");
            return;
        }
    };
    let refused = [
        &["run", "journal", "--destroy-data", "--target", &above][..],
        &["verify", "write", &above, "--destroy-data", "--time", "100ms"],
    ]
    .map(run);
    system("losetup", &["--detach", &above]).unwrap();
    for refused in refused {
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
        let said = refused.said(&above, "LOOP").replace(&device.path, "DEV");
        let said = said.replace(mount.text(), "DIR");
        let sentence = "LOOP is in use and will not be overwritten: DEV is mounted on DIR";
        assert!(said.contains(sentence), "{said}");
    }
    drop(mount);
    system("fsck.ext4", &["-fn", &device.path]).unwrap();
}

#[test]
fn an_image_whose_loop_device_an_ordinary_user_cannot_query() {
    const TEST: &str = "an_image_whose_loop_device_an_ordinary_user_cannot_query";
    if !needs_root(TEST) {
        return;
    }
    let Some(nobody) = common::nobody(TEST) else { return };
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let place = directory.path().canonicalize().unwrap();
    let [image, second, third, other] = ["im.img", "im2.img", "im3.img", "other"]
        .map(|name| place.join(name).to_str().unwrap().to_owned());
    // A size that no other test uses.
    File::create(&image).unwrap().set_len((16 << 20) + (4096 * 777)).unwrap();
    fs::write(&other, vec![0; 4096 * 333]).unwrap();
    for file in [&image, &other] {
        fs::set_permissions(file, fs::Permissions::from_mode(0o666)).unwrap();
    }
    let device = match system("losetup", &["--find", "--show", &image]) {
        Ok(device) => device,
        Err(reason) => {
            eprintln!("skipped: {TEST}: {reason}");
            return;
        }
    };
    fs::hard_link(&image, &second).unwrap();
    fs::remove_file(&image).unwrap();
    let write = |target: &str| {
        let args = ["run", "check", "--smoke", "--quiet", "--destroy-data", "--target"];
        nobody.run(&[&args[..], &[target]].concat())
    };
    let by_size = write(&second);
    fs::hard_link(&second, &third).unwrap();
    // Its size does not distinguish it from what is written later.
    File::options().write(true).open(&third).unwrap().set_len(20 << 20).unwrap();
    let by_names = write(&third);
    let unlike = write(&other);
    system("losetup", &["--detach", &device]).unwrap();
    assert_eq!(by_size.code, Some(3), "{}", by_size.stderr);
    for (refused, name) in [(&by_size, "im2.img"), (&by_names, "im3.img")] {
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
        let said = refused.said(&place, "DIR").replace(&device, "DEV");
        let sentence = format!(
            "DIR/{name} may be attached to DEV, which only root can rule out, because DIR/im.img \
             (deleted) does not exist here"
        );
        assert!(said.contains(&sentence), "{said}");
    }
    assert_eq!(unlike.code, Some(0), "{}", unlike.stderr);
}

#[test]
fn a_target_is_free_when_the_run_has_ended() {
    const TEST: &str = "a_target_is_free_when_the_run_has_ended";
    const RUNS: u32 = 50;
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 64 << 20, &[]) else { return };
    if let Err(reason) = system("mkfs.ext4", &["-q", &device.path]) {
        eprintln!("skipped: {TEST}: {reason}");
        return;
    }
    let Some(mount) = Mount::new(TEST, &[&device.path]) else { return };
    let text = "[[test]]\npattern = \"randwrite\"\nsize = \"1MiB\"\ndepth = 8\njobs = 2\nsync \
                = \"fdatasync\"\nsync_every = 8\n\
                count = 20\nwarm_up = \"0s\"\n";
    for run in 0..RUNS {
        let measured = run_plan(text, mount.text(), &[]);
        // At once, as a script would.
        let unmounted = system("umount", &[mount.text()]);
        assert_eq!(measured.code, Some(0), "{}", measured.stderr);
        unmounted.unwrap_or_else(|reason| panic!("run {run}: {reason}"));
        system("mount", &[&device.path, mount.text()]).unwrap();
    }
}

#[test]
fn a_device_belongs_to_one_run_at_a_time() {
    const TEST: &str = "a_device_belongs_to_one_run_at_a_time";
    if !needs_root(TEST) {
        return;
    }
    let Some(device) = LoopDevice::new(TEST, 64 << 20, &[]) else { return };
    let mut first = flushmark()
        .args(["run", "journal", "--quiet", "--destroy-data", "--target", &device.path])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let second = run_plan(WRITES, &device.path, &["--destroy-data"]);
    // Nor can it be mounted meanwhile: mounting claims a device in the same way.
    let claim = File::options().read(true).custom_flags(libc::O_EXCL).open(&device.path);
    kill(&["-INT", &first.id().to_string()]).unwrap();
    assert_eq!(first.wait().unwrap().code(), Some(130));
    assert_eq!(second.code, Some(3));
    assert_eq!(claim.unwrap_err().raw_os_error(), Some(libc::EBUSY));
    insta::assert_snapshot!(second.said(&device.path, "DEV"), @"flushmark: DEV is in use and will not be overwritten: DEV is claimed for exclusive use by another program or filesystem; use another target");
    assert_eq!(run_plan(WRITES, &device.path, &["--destroy-data"]).code, Some(0));
}
