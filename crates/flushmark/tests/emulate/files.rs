//! FUSE, loop devices and filesystems on emulated drives, and what is left of them.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::common::served::Served;
use crate::common::{
    Run, flushmark, kill, needs_fuse, needs_fusermount, needs_mkfs, needs_mounts, needs_rigs,
    needs_root, nobody, run, system,
};

fn mounts() -> String {
    fs::read_to_string("/proc/self/mounts").unwrap()
}

#[test]
fn the_file_is_the_drive() {
    const TEST: &str = "the_file_is_the_drive";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let served = Served::start(
        "consumer-nvme,capacity=2GiB",
        &["--fuse", directory.path().to_str().unwrap()],
    );
    let names: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["drive"]);
    let cuts = || fs::read_to_string(directory.path().join(".unsafe-shutdowns"));
    assert_eq!(cuts().unwrap(), "00000000000000000000\n");
    let path = directory.path().join("drive");
    assert_eq!(fs::metadata(&path).unwrap().len(), 2 << 30);
    let file = fs::File::options().read(true).write(true).open(&path).unwrap();
    let data: Vec<u8> = (0..3 << 20).map(|at| (at / 512 % 251) as u8).collect();
    file.write_all_at(&data, 512).unwrap();
    file.sync_all().unwrap();
    let mut back = vec![0; data.len()];
    file.read_exact_at(&mut back, 512).unwrap();
    assert_eq!(back, data);
    // Unaligned reads and writes work too.
    let mut odd = [0; 100];
    file.read_exact_at(&mut odd, 1000).unwrap();
    assert_eq!(odd[..], data[488..588]);
    file.write_all_at(&[1; 100], 1000).unwrap();
    file.read_exact_at(&mut odd, 950).unwrap();
    assert_eq!(odd[..50], data[438..488]);
    assert_eq!(odd[50..], [1; 50]);
    file.write_all_at(&data[488..588], 1000).unwrap();
    assert!(file.set_len(5).is_err());
    assert!(file.write_all_at(&[1; 512], 2 << 30).is_err());
    assert_eq!(file.read_at(&mut odd, 2 << 30).unwrap(), 0);
    served.ctl(&["cut"]);
    assert!(file.read_exact_at(&mut odd, 0).is_err() && file.write_all_at(&[1; 512], 0).is_err());
    assert!(cuts().is_err(), "without power it tells nothing");
    served.ctl(&["power-on"]);
    assert_eq!(cuts().unwrap(), "00000000000000000001\n");
    assert!(fs::write(directory.path().join(".unsafe-shutdowns"), "0").is_err());
    // Files opened before the cut belong to a machine that has lost power.
    assert!(file.read_exact_at(&mut odd, 0).is_err() && file.write_all_at(&[1; 512], 0).is_err());
    assert!(file.sync_all().is_err());
    let file = fs::File::open(&path).unwrap();
    file.read_exact_at(&mut back, 512).unwrap();
    assert_eq!(back, data);
    drop(file);
    assert_eq!(served.stop().code, Some(0));
    assert!(!mounts().contains(directory.path().to_str().unwrap()));
}

#[test]
fn an_ordinary_user_has_a_drive_too() {
    const TEST: &str = "an_ordinary_user_has_a_drive_too";
    if !needs_rigs(TEST) || !needs_fusermount(TEST) {
        return;
    }
    let Some(nobody) = nobody(TEST) else { return };
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    system("chown", &["65534", place]).unwrap();
    let script = format!(
        "mkdir {place}/mnt; \"$0\" emulate consumer-nvme,capacity=2GiB --fuse {place}/mnt \
         --control {place}/ctl --quiet > {place}/out 2>&1 & \
         for i in $(seq 100); do grep -q orders {place}/out && break; sleep 0.1; done; \
         printf durable | dd of={place}/mnt/drive bs=512 conv=sync,notrunc,fsync 2>{place}/dd && \
         head -c 7 {place}/mnt/drive; \
         \"$0\" emulate ctl {place}/ctl cut; kill %1; wait %1; mount | grep -c {place}/mnt"
    );
    let said = nobody.shell_with_fuse("666", &script);
    assert_eq!(said.stdout, "durablepower cut; no write was lost\n0\n", "{}", said.stderr);
    let refused =
        nobody.shell_with_fuse("600", &format!("\"$0\" emulate consumer-nvme --fuse {place}/mnt"));
    assert_eq!(
        (refused.code, refused.said(place, "PLACE").as_str()),
        (
            Some(4),
            "flushmark: cannot mount `PLACE/mnt`: this user may not open /dev/fuse, whose mode is \
             600; run `chmod 666 /dev/fuse` as root (the mode that udev gives it), or run \
             flushmark as root"
        )
    );
    let refused = nobody.run(&["emulate", "consumer-nvme", "--mount", place]);
    assert_eq!(
        (refused.code, refused.stderr.trim_end()),
        (Some(2), "flushmark: mounting a filesystem needs root; without root, use --nbd or --fuse")
    );
}

#[test]
fn a_missing_fusermount_is_named_with_its_package() {
    const TEST: &str = "a_missing_fusermount_is_named_with_its_package";
    if !needs_fuse(TEST) {
        return;
    }
    let Some(nobody) = nobody(TEST) else { return };
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    system("chown", &["65534", place]).unwrap();
    // The error differs if a directory in PATH cannot be searched.
    let locked = tempfile::tempdir().unwrap();
    system("chmod", &["700", locked.path().to_str().unwrap()]).unwrap();
    let said = ["/nonexistent", locked.path().to_str().unwrap()].map(|path| {
        let refused =
            nobody.shell(&format!("PATH={path} \"$0\" emulate consumer-nvme --fuse {place}"));
        format!("{:?} {}", refused.code, refused.said(place, "DIR"))
    });
    insta::assert_snapshot!(said.join("\n"), @"
    Some(4) flushmark: cannot mount `DIR`: without root, mounting needs `fusermount3`, which is not installed (Debian package fuse3)
    Some(4) flushmark: cannot mount `DIR`: without root, mounting needs `fusermount3`, which is not installed (Debian package fuse3), or which this user may not run
    ");
}

#[test]
fn a_filesystem_on_it_comes_back_after_a_cut() {
    const TEST: &str = "a_filesystem_on_it_comes_back_after_a_cut";
    if !needs_mounts(TEST) {
        return;
    }
    for (filesystem, model) in
        [("ext4", "consumer-nvme,capacity=2GiB"), ("xfs", "enterprise-nvme,capacity=2GiB")]
    {
        if !needs_mkfs(TEST, filesystem) {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().to_str().unwrap();
        let served = Served::start(model, &["--mount", place, "--fs", filesystem]);
        let (device, file) = (served.fact("device").to_owned(), served.fact("file").to_owned());
        let queue = |what: &str| {
            fs::read_to_string(format!(
                "/sys/block/{}/queue/{what}",
                device.trim_start_matches("/dev/")
            ))
            .unwrap()
        };
        let wants_flushes = model.starts_with("consumer");
        // Also if the loop device served a drive of the other kind before.
        assert_eq!(
            queue("write_cache").trim(),
            if wants_flushes { "write back" } else { "write through" }
        );
        let dio = fs::read_to_string(format!(
            "/sys/block/{}/loop/dio",
            device.trim_start_matches("/dev/")
        ))
        .unwrap();
        assert_eq!(dio.trim(), "1", "no page cache in between");
        assert!(mounts().contains(&format!("{device} {place} {filesystem} ")));
        let synced = directory.path().join("synced");
        fs::write(&synced, "here").unwrap();
        fs::File::open(&synced).unwrap().sync_all().unwrap();
        fs::File::open(place).unwrap().sync_all().unwrap();
        fs::write(directory.path().join("not-synced"), vec![1; 1 << 20]).unwrap();
        served.ctl(&["cut"]);
        assert!(
            fs::write(directory.path().join("after"), "x")
                .and_then(|()| fs::File::open(place)?.sync_all())
                .is_err()
        );
        let on = served.ctl(&["power-on"]);
        assert_eq!(on.document()["ready"], true, "{}", on.stderr);
        assert_eq!(fs::read_to_string(&synced).unwrap(), "here");
        assert!(!directory.path().join("after").exists());
        let stopped = served.stop();
        assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
        assert!(!mounts().contains(place));
        // Another test's drive may have its number by now.
        let behind = system("losetup", &["--noheadings", "--output", "BACK-FILE", &device])
            .unwrap_or_default();
        assert!(!behind.contains(&file), "{device} is still there");
    }
}

/// A power cut affects the whole machine: otherwise the kernel would continue and write unsynced
/// data to the drive.
#[test]
fn nothing_that_the_kernel_had_in_memory_survives_a_cut() {
    const TEST: &str = "nothing_that_the_kernel_had_in_memory_survives_a_cut";
    if !needs_mounts(TEST) {
        return;
    }
    for filesystem in ["ext4", "xfs"] {
        if !needs_mkfs(TEST, filesystem) {
            continue;
        }
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().to_str().unwrap();
        let served =
            Served::start("consumer-nvme,capacity=2GiB", &["--mount", place, "--fs", filesystem]);
        let path = directory.path().join("overwritten");
        let old = vec![b'A'; 1 << 20];
        fs::write(&path, &old).unwrap();
        fs::File::open(&path).unwrap().sync_all().unwrap();
        fs::File::open(place).unwrap().sync_all().unwrap();
        // First the filesystem is idle when its drive comes back, then it is in use.
        for in_use in [false, true] {
            let file = fs::File::options().write(true).open(&path).unwrap();
            // In place, so no metadata has to be written, and only the power cut keeps the data
            // from the drive.
            file.write_all_at(&vec![b'B'; old.len()], 0).unwrap();
            let held = in_use.then_some(file);
            served.ctl(&["cut"]);
            let on = served.ctl(&["power-on"]);
            assert_eq!(on.document()["ready"], true, "{filesystem}: {}", on.stderr);
            if let Some(held) = held {
                assert!(held.sync_all().is_err());
            }
            assert!(fs::read(&path).unwrap() == old, "{filesystem}, in use: {in_use}");
        }
        let stopped = served.stop();
        assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    }
}

#[test]
fn what_a_killed_process_leaves_is_found_and_taken_away() {
    const TEST: &str = "what_a_killed_process_leaves_is_found_and_taken_away";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let mut served = Served::start("consumer-nvme,capacity=2GiB", &["--mount", place]);
    let private = PathBuf::from(served.fact("file")).parent().unwrap().to_str().unwrap().to_owned();
    let device = served.fact("device").to_owned();
    // Another process has looked, so the kernel has its attributes cached.
    fs::metadata(&private).unwrap();
    served.child.kill().unwrap();
    served.child.wait().unwrap();
    // The next start reports it.
    let next = Served::nbd("ideal,capacity=1MiB", &[]);
    let said = next.stop().stderr;
    assert!(
        said.contains(&format!("{private} was left by an emulated drive whose process was killed")),
        "{said}"
    );
    let cleaned = run(&["emulate", "clean-up", place]);
    assert_eq!(cleaned.code, Some(0), "{}", cleaned.stderr);
    assert_eq!(cleaned.stdout, format!("removed: {private}, with {place}, {device}\n"));
    assert!(!mounts().contains(&private) && !mounts().contains(place));
    assert!(system("losetup", &[&device]).is_err());
    assert!(!Path::new(&private).exists());

    // The directory itself.
    let mut served = Served::start("consumer-nvme,capacity=2GiB", &["--fuse", place]);
    fs::metadata(place).unwrap();
    served.child.kill().unwrap();
    served.child.wait().unwrap();
    let refused = run(&["emulate", "ideal", "--fuse", place, "--nbd", "/nonexistent/x"]);
    let refused_again = run(&["emulate", "ideal", "--fuse", place]);
    assert_ne!(refused.code, Some(0));
    assert_eq!(refused_again.code, Some(3));
    insta::assert_snapshot!(refused_again.words().replace(place, "DIR"), @"flushmark: `DIR` is still mounted by an emulated drive whose process was killed: run `flushmark emulate clean-up DIR` to unmount it");
    assert_eq!(run(&["emulate", "clean-up", place]).code, Some(0));
    assert!(!mounts().contains(place));
}

/// However the directory is named, the filesystem stays as long as a process is in it, and its place
/// is free afterwards.
#[test]
fn a_filesystem_in_use_stays_however_its_directory_is_named() {
    const TEST: &str = "a_filesystem_in_use_stays_however_its_directory_is_named";
    if !needs_mounts(TEST) || !needs_mkfs(TEST, "ext4") {
        return;
    }
    let here = tempfile::tempdir().unwrap();
    let directory = here.path().join("m");
    fs::create_dir(&directory).unwrap();
    std::os::unix::fs::symlink("m", here.path().join("link")).unwrap();
    let absolute_link = here.path().join("link");
    for name in ["m", "./m/../m", "link", absolute_link.to_str().unwrap()] {
        let place = tempfile::tempdir().unwrap();
        let mut served =
            Served::start_from(here.path(), place, "ideal,capacity=256MiB", &["--mount", name])
                .unwrap();
        let held = fs::File::create(directory.join("held")).unwrap();
        // After a cut, the filesystem replaces the one before instead of covering it.
        served.ctl(&["cut"]);
        served.ctl(&["power-on"]);
        drop(held);
        let mine = format!(" {} ", directory.to_str().unwrap());
        assert_eq!(mounts().matches(&mine).count(), 1, "{name}: {}", mounts());
        let held = fs::File::create(directory.join("held")).unwrap();
        kill(&["-TERM", &served.child.id().to_string()]).unwrap();
        std::thread::sleep(Duration::from_millis(500));
        assert!(served.child.try_wait().unwrap().is_none(), "{name}: it did not wait");
        held.sync_all().unwrap();
        drop(held);
        assert_eq!(served.child.wait().unwrap().code(), Some(0), "{name}");
        assert!(!mounts().contains(directory.to_str().unwrap()), "{name}");
    }
}

/// A filesystem that someone else mounts on the same directory is not removed with the drive's.
#[test]
fn another_filesystem_at_the_same_place_is_left_alone() {
    const TEST: &str = "another_filesystem_at_the_same_place_is_left_alone";
    if !needs_mounts(TEST) || !needs_mkfs(TEST, "ext4") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let mut served = Served::start("ideal,capacity=256MiB", &["--mount", place]);
    system("mount", &["-t", "tmpfs", "other", place]).unwrap();
    kill(&["-TERM", &served.child.id().to_string()]).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let waits = served.child.try_wait().unwrap().is_none();
    let is_there = mounts().contains(&format!("other {place} tmpfs"));
    system("umount", &[place]).unwrap();
    assert!(waits && is_there, "{waits} {is_there}");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert!(!mounts().contains(place));
}

/// At no moment does a killed process wait in the kernel for its own replies, and `clean-up`
/// removes the rest.
#[test]
fn a_drive_can_be_killed_at_any_moment() {
    const TEST: &str = "a_drive_can_be_killed_at_any_moment";
    if !needs_mounts(TEST) || !needs_mkfs(TEST, "ext4") {
        return;
    }
    let runtime = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let emulate = |args: &[&str]| {
        let mut command = flushmark();
        command.env("XDG_RUNTIME_DIR", runtime.path()).arg("emulate").args(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    for round in 0..30 {
        let how = if round % 2 == 0 { "--fuse" } else { "--mount" };
        let mut child = emulate(&["ideal,capacity=64MiB", how, place]).spawn().unwrap();
        // Spread over the start (measuring takes a quarter of a second) without a pattern.
        let moment = Duration::from_millis(5 + round * 149 % 396);
        std::thread::sleep(moment);
        child.kill().unwrap();
        let begun = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(10), "{how}, {moment:?}: it hangs");
            std::thread::sleep(Duration::from_millis(2));
        }
        let cleaned = Run::of(emulate(&["clean-up"]).output().unwrap());
        assert_eq!(cleaned.code, Some(0), "{how}, {moment:?}: {}", cleaned.stderr);
        let left: Vec<_> = fs::read_dir(runtime.path()).unwrap().flatten().collect();
        assert!(left.is_empty(), "{how}, {moment:?}: {left:?}");
        for place in [place, runtime.path().to_str().unwrap()] {
            assert!(!mounts().contains(place), "{how}, {moment:?}: {}", mounts());
            let loops = system("losetup", &["--noheadings", "--list", "--output", "BACK-FILE"]);
            assert!(!loops.unwrap_or_default().contains(place), "{how}, {moment:?}");
        }
    }
}

#[test]
fn a_stopped_drive_is_not_cleaned_up() {
    const TEST: &str = "a_stopped_drive_is_not_cleaned_up";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    for (args, above) in [(&["--fuse", place][..], false), (&["--mount", place], true)] {
        let served = Served::start("consumer-nvme,capacity=2GiB", args);
        let process = served.child.id().to_string();
        let fuse = if above {
            PathBuf::from(served.fact("file")).parent().unwrap().to_owned()
        } else {
            place.into()
        };
        let fuse = fuse.to_str().unwrap();
        // The thread that serves has its own descriptors.
        let facts = system("sh", &["-c", &format!("cat /proc/{process}/task/*/fdinfo/*")]).unwrap();
        if !facts.contains("fuse_connection:") {
            eprintln!(
                "skipped: {TEST}: the kernel does not say which process has which connection \
                 (before Linux 6.16)"
            );
            return;
        }
        kill(&["-STOP", &process]).unwrap();
        let commands = [
            &["emulate", "clean-up"][..],
            &["emulate", "clean-up", place],
            &["emulate", "ideal", args[0], place],
        ];
        let ended = commands.map(|command| within(Duration::from_secs(10), command));
        let mounted = mounts();
        kill(&["-CONT", &process]).unwrap();
        let stopped = served.stop();
        let [all, named, another] =
            ended.map(|run| run.expect("it waited for a drive that is stopped"));
        let sentence = format!(
            "flushmark: {fuse} belongs to an emulated drive that is stopped but still exists, so \
             it was left \
             alone; continue it with `kill -CONT {process}`, or end it with `kill -KILL {process}` \
             and clean up again"
        );
        assert_eq!(all.code, Some(0));
        assert!(all.stderr.contains(&sentence), "{}", all.stderr);
        assert_eq!((named.code, named.words()), (Some(3), sentence));
        assert_eq!(another.code, Some(3), "{}", another.stderr);
        if !above {
            assert_eq!(
                another.words().replace(place, "DIR").replace(&process, "N"),
                "flushmark: `DIR` is mounted by an emulated drive that is stopped: choose another \
                 directory, or continue \
                 that drive with `kill -CONT N`"
            );
        }
        assert!(mounted.contains(fuse), "its mount is as it was");
        assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    }
}

/// A run of the program; `None` if it does not end in this time.
#[expect(clippy::zombie_processes, reason = "one that is stuck in the kernel cannot be waited for")]
fn within(most: Duration, args: &[&str]) -> Option<Run> {
    let mut child =
        flushmark().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while begun.elapsed() < most {
        if child.try_wait().unwrap().is_some() {
            return Some(Run::of(child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    None
}

#[test]
fn a_directory_with_something_in_it_is_not_hidden() {
    const TEST: &str = "a_directory_with_something_in_it_is_not_hidden";
    if !needs_root(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("mine"), "x").unwrap();
    let refused = run(&["emulate", "consumer-nvme", "--mount", directory.path().to_str().unwrap()]);
    assert_eq!(refused.code, Some(3));
    insta::assert_snapshot!(refused.words().replace(directory.path().to_str().unwrap(), "DIR"), @"flushmark: `DIR` is not empty, and its files would be hidden: choose an empty directory");
}

/// Every other sector of the served drive, including a filesystem's superblock.
fn scribble(file: &str, bytes: u64) {
    let drive = fs::File::options().write(true).open(file).unwrap();
    for offset in (0..bytes).step_by(1 << 20) {
        drive.write_all_at(&vec![0x5a; 64 << 10], offset).unwrap();
    }
    drive.sync_all().unwrap();
}

#[test]
fn what_cannot_be_mounted_any_more_is_not_written_over() {
    const TEST: &str = "what_cannot_be_mounted_any_more_is_not_written_over";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let image = tempfile::tempdir().unwrap();
    let image = image.path().join("drive.img");
    let args = ["--mount", place, "--image", image.to_str().unwrap()];
    let served = Served::start("enterprise-nvme,capacity=2GiB", &args);
    let file = served.fact("file").to_owned();
    scribble(&file, 64 << 20);
    served.ctl(&["cut"]);
    let on = served.ctl(&["power-on"]);
    assert_eq!(on.code, Some(4));
    insta::assert_snapshot!(on.stderr, @"flushmark: the drive is on, but the layers above it could not be restored: the drive was written to but contains no known filesystem, and is not overwritten: examine it with --fuse DIR --loop, or pass another --image");
    // It is still served in the state after the cut.
    let status = served.ctl(&["status"]).document();
    assert_eq!((&status["power"], &status["ready"]), (&"on".into(), &false.into()));
    let mut held = [0; 512];
    fs::File::open(&file).unwrap().read_exact_at(&mut held, 0).unwrap();
    assert_eq!(held, [0x5a; 512]);
    let stopped = served.stop();
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    assert!(!mounts().contains(place));
    // Nor after a restart.
    let again =
        run(&[&["emulate", "enterprise-nvme,capacity=2GiB", "--quiet"], &args[..]].concat());
    assert_eq!(again.code, Some(3));
    insta::assert_snapshot!(again.words(), @"flushmark: the drive was written to but contains no known filesystem, and is not overwritten: examine it with --fuse DIR --loop, or pass another --image");
    fs::File::open(&image).unwrap().read_exact_at(&mut held, 0).unwrap();
    assert_eq!(held, [0x5a; 512]);
    let small =
        run(&["emulate", "ideal,capacity=200MiB", "--mount", place, "--fs", "xfs", "--quiet"]);
    assert_eq!(small.code, Some(2));
    insta::assert_snapshot!(small.words(), @"flushmark: xfs needs a drive of at least 300 MiB, and this one has 200: choose a larger one, such as `,capacity=1GiB`");
}

#[test]
fn a_partitioned_drive_gets_no_filesystem() {
    const TEST: &str = "a_partitioned_drive_gets_no_filesystem";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (image, mount) = (directory.path().join("drive.img"), directory.path().join("mnt"));
    let (image, mount) = (image.to_str().unwrap(), mount.to_str().unwrap());
    fs::create_dir(mount).unwrap();
    let args = ["--image", image, "--nbd", "DIR/nbd"];
    let served = Served::start("enterprise-nvme,capacity=2GiB", &args);
    // A PC's partition table: one entry, and the signature.
    let mut table = [0; 512];
    table[446..462].copy_from_slice(&[0, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0]);
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    assert_eq!(crate::common::served::write(&mut served.client(), 0, &table), 0);
    drop(served);
    let refused = run(&[
        "emulate",
        "enterprise-nvme,capacity=2GiB",
        "--image",
        image,
        "--mount",
        mount,
        "--quiet",
    ]);
    assert_eq!(refused.code, Some(3));
    insta::assert_snapshot!(refused.words(), @"flushmark: the drive contains an MBR partition table and no filesystem, and is not overwritten: pass another --image, or serve it with --fuse DIR --loop and mount the partition that you want");
    let mut held = [0; 512];
    fs::File::open(image).unwrap().read_exact_at(&mut held, 0).unwrap();
    assert_eq!(held, table);
}

/// Cuts do not count set-up, mkfs and remounting.
#[test]
fn the_plug_stays_in_until_the_filesystem_is_there() {
    const TEST: &str = "the_plug_stays_in_until_the_filesystem_is_there";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    // Fewer writes than mkfs makes.
    let args = ["--mount", place, "--cut-after", "writes=20", "--power-on-after", "10ms"];
    let served = Served::start("enterprise-nvme,capacity=2GiB", &args);
    for round in 1..=3 {
        assert_eq!(served.ctl(&["status"]).document()["cuts"], round - 1);
        for number in 0..40 {
            // Errors begin with the cut.
            let path = directory.path().join(format!("file-{number}"));
            let _ = fs::write(&path, [1; 4096]).and_then(|()| fs::File::open(&path)?.sync_all());
        }
        let begun = std::time::Instant::now();
        loop {
            let status = served.ctl(&["status"]).document();
            assert_eq!(status.get("trouble"), None);
            if status["ready"] == true && status["cuts"] == round {
                break;
            }
            assert!(begun.elapsed().as_secs() < 20, "{status}");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
    assert_eq!(served.stop().code, Some(0));
}

#[test]
fn what_stands_on_the_file_is_waited_for() {
    const TEST: &str = "what_stands_on_the_file_is_waited_for";
    if !needs_mounts(TEST) || !needs_mkfs(TEST, "ext4") {
        return;
    }
    let (directory, mount) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (place, mount) = (directory.path().to_str().unwrap(), mount.path().to_str().unwrap());
    let mut served = Served::start("consumer-sata,capacity=2GiB", &["--fuse", place, "--loop"]);
    let device = served.fact("device").to_owned();
    let depth = format!("/sys/block/{}/queue/nr_requests", device.trim_start_matches("/dev/"));
    assert_eq!(fs::read_to_string(depth).unwrap().trim(), "32", "as many as SATA has tags");
    system("mkfs.ext4", &["-q", "-E", "nodiscard", &device]).unwrap();
    system("mount", &[&device, mount]).unwrap();
    kill(&["-TERM", &served.child.id().to_string()]).unwrap();
    // It says so, and does.
    let mut lines = BufReader::new(served.child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let waits = lines
        .find(|line| line.contains("waiting until"))
        .unwrap()
        .replace(mount, "DIR")
        .replace(&device, "/dev/loopN");
    insta::assert_snapshot!(waits, @"flushmark: /dev/loopN, mounted on DIR is in use; waiting until it is no longer in use. A second Ctrl-C stops at once; `flushmark emulate clean-up` then removes what is left");
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(served.child.try_wait().unwrap().is_none());
    fs::write(Path::new(mount).join("file"), "still there").unwrap();
    system("umount", &[mount]).unwrap();
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_directory_that_somebody_unmounts_is_the_end() {
    const TEST: &str = "a_directory_that_somebody_unmounts_is_the_end";
    if !needs_mounts(TEST) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_str().unwrap();
    let mut served = Served::start("ideal,capacity=1MiB", &["--fuse", place]);
    system("umount", &[place]).unwrap();
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    let mut said = String::new();
    std::io::Read::read_to_string(&mut served.child.stderr.take().unwrap(), &mut said).unwrap();
    insta::assert_snapshot!(said.lines().last().unwrap(), @"flushmark: the directory was unmounted, so the drive is no longer accessible");
}
