//! An image in use is recognised under all of its names. Needs root and `losetup`; without them,
//! the tests print a note and pass.

#![allow(clippy::unwrap_used)] // Helpers of tests, which clippy.toml exempts only inside `#[test]`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use drive::{Occupied, Place, SystemRoot, file_occupancy, occupancy};
use testbed::system;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// An image in a directory, attached to a loop device.
struct Attached {
    image: PathBuf,
    loop_device: PathBuf,
    mounts: Vec<PathBuf>,
    _directory: tempfile::TempDir,
}

impl Attached {
    fn new(test: &str) -> Option<Attached> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: {test}: needs root");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let image = fs::canonicalize(directory.path()).unwrap().join("im.img");
        File::create(&image).unwrap().set_len(16 << 20).unwrap();
        match attach(&image, &[]) {
            Ok(loop_device) => {
                Some(Attached { image, loop_device, mounts: Vec::new(), _directory: directory })
            }
            Err(reason) => {
                eprintln!("skipped: {test}: {reason}");
                None
            }
        }
    }

    /// Attaches the image a second time.
    fn attach_again(&mut self, args: &[&str]) -> Result<(), String> {
        detach(&self.loop_device);
        self.loop_device = attach(&self.image, args)?;
        Ok(())
    }

    /// Mounts something on `at` until the test ends.
    fn mount(&mut self, args: &[&str], at: &Path) -> Result<(), String> {
        system("mount", &[args, &[text(at)]].concat())?;
        self.mounts.push(at.to_owned());
        Ok(())
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.image.with_file_name(name)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        for mount in self.mounts.iter().rev() {
            let _ = system("umount", &[text(mount)]);
        }
        detach(&self.loop_device);
    }
}

fn attach(image: &Path, args: &[&str]) -> Result<PathBuf, String> {
    system("losetup", &[&["--find", "--show"], args, &[text(image)]].concat()).map(PathBuf::from)
}

/// The kernel detaches a device only when it is not open, and other tests open it for a moment to
/// query it.
fn detach(loop_device: &Path) {
    let name = loop_device.file_name().unwrap();
    let backing_file = Path::new("/sys/class/block").join(name).join("loop/backing_file");
    let shown = fs::read_to_string(&backing_file).ok();
    let _ = system("losetup", &["--detach", text(loop_device)]);
    let until = Instant::now() + Duration::from_secs(5);
    while shown.is_some()
        && fs::read_to_string(&backing_file).ok() == shown
        && Instant::now() < until
    {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn users(path: &Path) -> Vec<Occupied> {
    file_occupancy(&SystemRoot::default(), path).unwrap()
}

fn is_on_loop(path: &Path, expected: &Path) -> bool {
    let found = users(path);
    let matches = matches!(&found[..], [Occupied::Loop { device, loop_device }] if device == path && loop_device == expected);
    matches || panic!("{}: {found:?}", path.display())
}

#[test]
fn by_its_other_names() {
    const TEST: &str = "by_its_other_names";
    let Some(mut attached) = Attached::new(TEST) else { return };
    assert!(is_on_loop(&attached.image, &attached.loop_device));
    let second = attached.beside("im2.img");
    fs::hard_link(&attached.image, &second).unwrap();
    assert!(is_on_loop(&second, &attached.loop_device));

    let bound = attached.beside("bound");
    fs::create_dir(&bound).unwrap();
    let bound_file = attached.beside("bound.img");
    File::create(&bound_file).unwrap();
    let from = attached.image.parent().unwrap().to_owned();
    if let Err(reason) = attached
        .mount(&["--bind", text(&from)], &bound)
        .and_then(|()| attached.mount(&["--bind", text(&second)], &bound_file))
    {
        eprintln!("skipped: {TEST}: {reason}");
        return;
    }
    assert!(is_on_loop(&bound.join("im.img"), &attached.loop_device));
    assert!(is_on_loop(&bound.join("im2.img"), &attached.loop_device));
    assert!(is_on_loop(&bound_file, &attached.loop_device));
}

#[test]
fn under_a_name_that_the_user_of_the_file_has_lost() {
    let Some(attached) = Attached::new("under_a_name_that_the_user_of_the_file_has_lost") else {
        return;
    };
    let moved = attached.beside("moved.img");
    fs::hard_link(&attached.image, &moved).unwrap();
    fs::remove_file(&attached.image).unwrap();
    assert!(is_on_loop(&moved, &attached.loop_device));
    // A new file under the old name is a different file.
    fs::write(&attached.image, [0; 4096]).unwrap();
    assert_eq!(users(&attached.image), []);
}

#[test]
fn attached_in_another_mount_namespace() {
    const TEST: &str = "attached_in_another_mount_namespace";
    let Some(mut attached) = Attached::new(TEST) else { return };
    detach(&attached.loop_device);
    // There, the image is in a directory that is empty here, and another file has its name here.
    let elsewhere = attached.beside("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let namesake = elsewhere.join("im.img");
    fs::write(&namesake, [0; 4096]).unwrap();
    let script = "mount --bind \"$1\" \"$2\" && losetup --find --show \"$2/im.img\"";
    let [from, to] = [attached.image.parent().unwrap(), &elsewhere].map(text);
    match system("unshare", &["--mount", "sh", "-ec", script, "sh", from, to]) {
        Ok(loop_device) => attached.loop_device = loop_device.into(),
        Err(reason) => {
            eprintln!("skipped: {TEST}: {reason}");
            return;
        }
    }
    assert!(is_on_loop(&attached.image, &attached.loop_device));
    assert_eq!(users(&namesake), []);
}

#[test]
fn as_an_ordinary_user_by_name() {
    const TEST: &str = "as_an_ordinary_user_by_name";
    let Some(attached) = Attached::new(TEST) else { return };
    let second = attached.beside("im2.img");
    fs::hard_link(&attached.image, &second).unwrap();
    let other = attached.beside("other.img");
    fs::write(&other, [0; 4096]).unwrap();
    // The loop device's node is hidden, as in a container.
    let root = SystemRoot::new(attached.beside("root"));
    fs::create_dir_all(root.path("dev")).unwrap();
    for tree in ["proc", "sys", text(attached.image.parent().unwrap().parent().unwrap())] {
        let link = root.path(tree);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(Path::new("/").join(tree), link).unwrap();
    }
    for (path, is_used) in [(&attached.image, true), (&second, true), (&other, false)] {
        let mut found = file_occupancy(&root, path).unwrap();
        // Other tests remove the images of their loop devices, which cannot be queried here either.
        found.retain(|one| !matches!(one, Occupied::LoopUnknown { .. }));
        let by_name = |one: &Occupied| {
            matches!(one, Occupied::LoopByName { file, loop_device, backing_file }
                if file == path && *loop_device == attached.loop_device && *backing_file == attached.image)
        };
        assert_eq!(
            found.iter().filter(|one| by_name(one)).count(),
            usize::from(is_used),
            "{found:?}"
        );
        assert_eq!(found.len(), usize::from(is_used), "{found:?}");
    }
}

#[test]
fn a_partition_of_it_is_mounted() {
    const TEST: &str = "a_partition_of_it_is_mounted";
    let Some(mut attached) = Attached::new(TEST) else { return };
    let second = attached.beside("im2.img");
    fs::hard_link(&attached.image, &second).unwrap();
    attached.attach_again(&["--partscan"]).unwrap();
    let partition = format!("{}p1", attached.loop_device.display());
    let mounted_on = attached.beside("mounted");
    fs::create_dir(&mounted_on).unwrap();
    // Not every kernel reads partition tables.
    if let Err(reason) = system("addpart", &[text(&attached.loop_device), "1", "2048", "16384"])
        .and_then(|_| system("mkfs.ext4", &["-q", &partition]))
        .and_then(|_| attached.mount(&["-t", "ext4", &partition], &mounted_on))
    {
        eprintln!("skipped: {TEST}: {reason}");
        return;
    }
    assert!(is_on_loop(&second, &attached.loop_device));
}

#[test]
fn by_a_second_loop_device() {
    let Some(mut attached) = Attached::new("by_a_second_loop_device") else { return };
    let second = attached.beside("im2.img");
    fs::hard_link(&attached.image, &second).unwrap();
    let other = attach(&second, &[]).unwrap();
    let of = |device: &Path| {
        let root = SystemRoot::default();
        occupancy(&root, Place::of(&root, device).unwrap().device).unwrap()
    };
    let found = of(&other);
    detach(&other);
    let first = attached.loop_device.clone();
    assert_eq!(found, [Occupied::SharedFile { loop_device: other, other: first }]);
    // Two separate parts of a file are two drives.
    attached.attach_again(&["--sizelimit", "1MiB"]).unwrap();
    let other = attach(&second, &["--offset", "1MiB"]).unwrap();
    let found = of(&other);
    detach(&other);
    assert_eq!(found, []);
}

#[test]
fn a_copy_that_shares_its_blocks_is_another_file() {
    const TEST: &str = "a_copy_that_shares_its_blocks_is_another_file";
    let Some(mut place) = Attached::new(TEST) else { return };
    let mounted_on = place.beside("mounted");
    fs::create_dir(&mounted_on).unwrap();
    File::options().write(true).open(&place.image).unwrap().set_len(320 << 20).unwrap();
    place.attach_again(&[]).unwrap();
    let device = text(&place.loop_device).to_owned();
    let made = system("mkfs.xfs", &["-q", &device])
        .or_else(|_| system("mkfs.btrfs", &["-q", &device]))
        .and_then(|_| place.mount(&[&device], &mounted_on));
    if let Err(reason) = made {
        eprintln!("skipped: {TEST}: {reason}");
        return;
    }
    let [image, copy] = ["im.img", "copy.img"].map(|name| mounted_on.join(name));
    fs::write(&image, vec![1; 1 << 20]).unwrap();
    system("cp", &["--reflink=always", text(&image), text(&copy)]).unwrap();
    let loop_device = attach(&image, &[]).unwrap();
    let found = [users(&image), users(&copy)];
    detach(&loop_device);
    assert!(matches!(&found[0][..], [Occupied::Loop { .. }]), "{found:?}");
    assert_eq!(found[1], []);
}

#[test]
fn a_swap_file_by_its_other_names() {
    const TEST: &str = "a_swap_file_by_its_other_names";
    let Some(mut place) = Attached::new(TEST) else { return };
    // Not every filesystem for temporary files supports swap.
    let mounted_on = place.beside("mounted");
    fs::create_dir(&mounted_on).unwrap();
    let [swap, second, other] = ["swap", "second", "other"].map(|name| mounted_on.join(name));
    let device = text(&place.loop_device).to_owned();
    let made =
        system("mkfs.ext4", &["-q", &device]).and_then(|_| place.mount(&[&device], &mounted_on));
    let made = made.and_then(|()| {
        fs::write(&swap, vec![0; 1 << 20]).unwrap();
        fs::write(&other, [0; 4096]).unwrap();
        fs::set_permissions(&swap, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        fs::hard_link(&swap, &second).unwrap();
        system("mkswap", &[text(&swap)])
            .and_then(|_| system("swapon", &["--priority", "0", text(&swap)]))
    });
    if let Err(reason) = made {
        eprintln!("skipped: {TEST}: {reason}");
        return;
    }
    let by_name = users(&second);
    // Without the mount, the path in /proc/swaps leads nowhere.
    let hidden = place.beside("hidden");
    fs::create_dir(&hidden).unwrap();
    let bound = place.mount(&["--bind", text(&mounted_on)], &hidden);
    let unmounted = system("umount", &["--lazy", text(&mounted_on)]);
    let found = [users(&hidden.join("second")), users(&hidden.join("other"))];
    system("swapoff", &[text(&hidden.join("swap"))]).unwrap();
    assert_eq!(by_name, [Occupied::Swap { device: second }]);
    bound.and(unmounted.map(drop)).unwrap();
    assert_eq!(found[0], [Occupied::Swap { device: hidden.join("second") }]);
    assert_eq!(found[1], []);
}

#[test]
fn what_a_loop_device_is_on_is_in_use_with_it() {
    const TEST: &str = "what_a_loop_device_is_on_is_in_use_with_it";
    let Some(mut attached) = Attached::new(TEST) else { return };
    let below = attached.loop_device.clone();
    let mounted_on = attached.beside("mounted");
    fs::create_dir(&mounted_on).unwrap();
    let partition = format!("{}p1", below.display());
    if let Err(reason) = system("addpart", &[text(&below), "1", "2048", "16384"])
        .and_then(|_| system("mkfs.ext4", &["-q", &partition]))
    {
        eprintln!("skipped: {TEST}: {reason}");
        return;
    }
    let of = |device: &Path| {
        let root = SystemRoot::default();
        let found = occupancy(&root, Place::of(&root, device).unwrap().device).unwrap();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let free_above = attach(Path::new(&partition), &[]).unwrap();
    let free = of(&free_above);
    detach(&free_above);
    assert_eq!(free, Vec::<String>::new(), "a loop device on a device that nothing uses is free");

    if let Err(reason) = attached.mount(&["-t", "ext4", &partition], &mounted_on) {
        eprintln!("skipped: {TEST}: {reason}");
        return;
    }
    let is_mounted = format!("{partition} is mounted on {}", mounted_on.display());
    let on_partition = attach(Path::new(&partition), &[]).unwrap();
    let found = of(&on_partition);
    detach(&on_partition);
    assert_eq!(found, [is_mounted.as_str()]);

    let on_disk = attach(&below, &[]).unwrap();
    let found = of(&on_disk);
    detach(&on_disk);
    assert_eq!(found, [is_mounted.as_str()]);

    // The bytes after the partition belong to nobody.
    let after = attach(&below, &["--offset", "9MiB"]).unwrap();
    let found = of(&after);
    detach(&after);
    assert_eq!(found, Vec::<String>::new());

    // Loop devices on a second loop device on the image.
    let second = attach(&attached.image, &[]).unwrap();
    let above = attach(&second, &[]).unwrap();
    let found = of(&above);
    detach(&above);
    detach(&second);
    assert!(found.contains(&is_mounted), "{found:?}");
}
