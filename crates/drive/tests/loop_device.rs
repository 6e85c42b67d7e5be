//! Tests facts on a real block device: a loop device over a temporary image. Needs root and
//! `losetup`; without them, the tests print a note and pass.

#![allow(clippy::unwrap_used)] // Helpers of tests, which clippy.toml exempts only inside `#[test]`.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use drive::{
    BlockDevice, Counters, DirectIo, Occupied, Place, PlaceKind, SignatureKind, SystemRoot,
    Transport, WriteCache, file_occupancy, occupancy, read_signatures,
};

struct LoopDevice {
    path: PathBuf,
    image: PathBuf,
    directory: tempfile::TempDir,
}

impl LoopDevice {
    fn attach(test: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: {test}: attaching a loop device needs root");
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let image = fs::canonicalize(directory.path()).unwrap().join("image");
        File::create(&image).unwrap().set_len(16 << 20).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
        match output {
            Ok(output) if output.status.success() => {
                let path = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
                Some(LoopDevice { path, image, directory })
            }
            other => {
                eprintln!("skipped: {test}: no loop device to be had: {other:?}");
                None
            }
        }
    }

    fn place(&self) -> Place {
        Place::of(&SystemRoot::default(), &self.path).unwrap()
    }

    fn reasons(&self) -> Vec<String> {
        let found = occupancy(&SystemRoot::default(), self.place().device).unwrap();
        found.iter().map(ToString::to_string).collect()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}

#[test]
fn a_loop_device_is_described() {
    let Some(device) = LoopDevice::attach("a_loop_device_is_described") else { return };
    let place = device.place();
    assert_eq!((place.kind, place.mount.as_ref()), (PlaceKind::BlockDevice, None));
    assert_eq!(place.size_bytes, Some(16 << 20));
    assert!(matches!(place.direct_io, None | Some(DirectIo::Aligned { .. })));
    let block: &BlockDevice = place.block_device().unwrap();
    assert_eq!((block.transport, block.path.as_path()), (Transport::Loop, device.path.as_path()));
    assert_eq!(block.backing_file.as_deref(), Some(device.image.as_path()));
    // The loop driver turns a flush into an fsync of its file.
    assert_eq!(block.queue.write_cache, Some(WriteCache::WriteBack));
}

#[test]
fn flushes_are_counted() {
    const SYNCS: u64 = 20;
    let Some(device) = LoopDevice::attach("flushes_are_counted") else { return };
    let read = || Counters::read(&SystemRoot::default(), device.place().device).unwrap();
    let file = OpenOptions::new().write(true).open(&device.path).unwrap();
    let before = read();
    for turn in 0..SYNCS {
        file.write_all_at(&[1; 4096], turn * 4096).unwrap();
        file.sync_data().unwrap();
    }
    let run = read().since(&before);
    if run.flushes.is_none() {
        eprintln!("skipped: flushes_are_counted: this kernel counts no flushes (older than 5.5)");
        return;
    }
    assert!(run.flushes >= Some(SYNCS), "{run:?}");
    assert!(run.writes >= SYNCS && run.written_bytes >= SYNCS * 4096, "{run:?}");
}

#[test]
fn whoever_uses_it_is_named() {
    let Some(device) = LoopDevice::attach("whoever_uses_it_is_named") else { return };
    assert_eq!(device.reasons(), Vec::<String>::new());
    let image = file_occupancy(&SystemRoot::default(), &device.image).unwrap();
    assert!(
        matches!(&image[..], [Occupied::Loop { loop_device, .. }] if *loop_device == device.path),
        "{image:?}"
    );

    let exclusive = i32::try_from(rustix::fs::OFlags::EXCL.bits()).unwrap();
    let claim = OpenOptions::new().read(true).custom_flags(exclusive).open(&device.path).unwrap();
    let expected = format!(
        "{} is claimed for exclusive use by another program or filesystem",
        device.path.display()
    );
    assert_eq!(device.reasons(), [expected]);
    drop(claim);

    let Ok(made) = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&device.path).status() else {
        eprintln!("skipped: whoever_uses_it_is_named (mounted): mkfs.ext4 is not installed");
        return;
    };
    assert!(made.success());
    assert_eq!(read_signatures(&device.path).unwrap()[0].kind, SignatureKind::Ext4);
    let mount_point = device.directory.path().join("mounted");
    fs::create_dir(&mount_point).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "ext4", "-o", "nobarrier"])
        .arg(&device.path)
        .arg(&mount_point)
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: whoever_uses_it_is_named (mounted): this user may not mount");
        return;
    }
    let reasons = device.reasons();
    let inside = Place::of(&SystemRoot::default(), &mount_point);
    let unmounted = Command::new("umount").arg(&mount_point).status().unwrap();
    assert!(unmounted.success());

    let mount_point = fs::canonicalize(&mount_point).unwrap();
    assert_eq!(
        reasons,
        [format!("{} is mounted on {}", device.path.display(), mount_point.display())]
    );
    let inside = inside.unwrap();
    let mount = inside.mount.as_ref().unwrap();
    assert_eq!(
        (mount.mount_point.as_path(), mount.flushes_disabled_by()),
        (mount_point.as_path(), Some("nobarrier"))
    );
    assert_eq!(
        inside.block_device().map(|block| block.path.as_path()),
        Some(device.path.as_path())
    );
    assert_eq!(mount.source, Path::new(&device.path));
}
