//! Tests facts on a real block device: a loop device over a temporary image. Needs root and
//! `losetup`; without them, the tests print a note and pass.

#![allow(clippy::unwrap_used)] // Helpers of tests, which clippy.toml exempts only inside `#[test]`.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use drive::{
    BlockDevice, Counters, DirectIo, Occupied, Place, PlaceKind, SignatureKind, SystemRoot,
    Transport, WriteCache, file_occupancy, occupancy, read_signatures,
};
use testbed::{LoopDevice, Mount, needs_root, system};

fn attached(test: &str) -> Option<LoopDevice> {
    if needs_root(test) { LoopDevice::new(test, 16 << 20, &[]) } else { None }
}

fn place(device: &LoopDevice) -> Place {
    Place::of(&SystemRoot::default(), device.path.as_ref()).unwrap()
}

fn reasons(device: &LoopDevice) -> Vec<String> {
    let found = occupancy(&SystemRoot::default(), place(device).device).unwrap();
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn a_loop_device_is_described() {
    let Some(device) = attached("a_loop_device_is_described") else { return };
    let place = place(&device);
    assert_eq!((place.kind, place.mount.as_ref()), (PlaceKind::BlockDevice, None));
    assert_eq!(place.size_bytes, Some(16 << 20));
    assert!(matches!(place.direct_io, None | Some(DirectIo::Aligned { .. })));
    let block: &BlockDevice = place.block_device().unwrap();
    assert_eq!((block.transport, block.path.as_path()), (Transport::Loop, device.path.as_ref()));
    assert_eq!(block.backing_file, Some(device.image()));
    // The loop driver turns a flush into an fsync of its file.
    assert_eq!(block.queue.write_cache, Some(WriteCache::WriteBack));
}

#[test]
fn flushes_are_counted() {
    const SYNCS: u64 = 20;
    let Some(device) = attached("flushes_are_counted") else { return };
    let read = || Counters::read(&SystemRoot::default(), place(&device).device).unwrap();
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
    const TEST: &str = "whoever_uses_it_is_named";
    let Some(device) = attached(TEST) else { return };
    assert_eq!(reasons(&device), Vec::<String>::new());
    let image = file_occupancy(&SystemRoot::default(), &device.image()).unwrap();
    assert!(
        matches!(&image[..], [Occupied::Loop { loop_device, .. }] if *loop_device == Path::new(&device.path)),
        "{image:?}"
    );

    let exclusive = i32::try_from(rustix::fs::OFlags::EXCL.bits()).unwrap();
    let claim = OpenOptions::new().read(true).custom_flags(exclusive).open(&device.path).unwrap();
    let expected =
        format!("{} is claimed for exclusive use by another program or filesystem", device.path);
    assert_eq!(reasons(&device), [expected]);
    drop(claim);

    if let Err(reason) = system("mkfs.ext4", &["-q", "-F", &device.path]) {
        eprintln!("skipped: {TEST} (mounted): {reason}");
        return;
    }
    assert_eq!(read_signatures(device.path.as_ref()).unwrap()[0].kind, SignatureKind::Ext4);
    let Some(mount) = Mount::new(TEST, &["-t", "ext4", "-o", "nobarrier", &device.path]) else {
        return;
    };
    let reasons = reasons(&device);
    let mount_point = fs::canonicalize(&mount.path).unwrap();
    let inside = Place::of(&SystemRoot::default(), &mount_point);
    drop(mount);

    assert_eq!(reasons, [format!("{} is mounted on {}", device.path, mount_point.display())]);
    let inside = inside.unwrap();
    let mount = inside.mount.as_ref().unwrap();
    assert_eq!(
        (mount.mount_point.as_path(), mount.flushes_disabled_by()),
        (mount_point.as_path(), Some("nobarrier"))
    );
    assert_eq!(
        inside.block_device().map(|block| block.path.as_path()),
        Some(Path::new(&device.path))
    );
    assert_eq!(mount.source, Path::new(&device.path));
}
