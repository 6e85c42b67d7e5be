//! Drives, directories and devices on them, and exports.

use std::path::{Path, PathBuf};

use drive::{
    Backing, BlockDevice, DeviceNumber, HostFacts, MountTable, NoBlockDevice, Partition, Place,
    PlaceKind, Queue, RbdImage, Transport, WriteCache,
};
use measurement::ExportRecord;

/// An NBD export of 64 GiB whose server offers everything that flushmark uses.
pub fn export() -> ExportRecord {
    ExportRecord {
        uri: "nbd://storage.example/disk".to_owned(),
        size_bytes: 64 << 30,
        read_only: false,
        flush: true,
        fua: true,
        trim: true,
        rotational: false,
        several_connections: true,
        request_bytes_min: 512,
        request_bytes_preferred: 4096,
        request_bytes_max: 32 << 20,
    }
}

/// A bare-metal host.
pub fn host() -> HostFacts {
    HostFacts {
        kernel_release: Some("6.12.9-amd64".to_owned()),
        cpu_model: Some("AMD Ryzen 7 PRO 7840U".to_owned()),
        logical_cpus: Some(16),
        memory_bytes: Some(32 << 30),
        clocksource: Some("tsc".to_owned()),
        ..HostFacts::default()
    }
}

/// A drive of which only name and bus are known.
pub fn drive(name: &str, transport: Transport) -> BlockDevice {
    BlockDevice {
        device: DeviceNumber { major: 8, minor: 0 },
        name: name.to_owned(),
        path: PathBuf::from(format!("/dev/{name}")),
        partition: None,
        transport,
        layer: None,
        model: None,
        vendor: None,
        serial: None,
        firmware: None,
        size_bytes: Some(1_000_204_886_016),
        read_only: Some(false),
        queue: Queue {
            logical_block_bytes: Some(512),
            rotational: Some(false),
            scheduler: Some("none".to_owned()),
            write_cache: Some(WriteCache::WriteBack),
            fua: Some(false),
            ..Queue::default()
        },
        cache_type: None,
        link: None,
        backing_file: None,
        backing_device: None,
        rbd_image: None,
        layers: Vec::new(),
        holders: Vec::new(),
    }
}

/// A directory on a filesystem mounted at `mount_point`; `options` are those of the superblock.
pub fn directory(
    path: &str,
    mount_point: &str,
    fs_type: &str,
    options: &str,
    backing: Backing,
) -> Place {
    let source = match &backing {
        Backing::BlockDevice(device) => device.path.as_path(),
        Backing::NoBlockDevice(_) => Path::new(fs_type),
    };
    let line = format!(
        "40 1 8:1 / {mount_point} rw,relatime - {fs_type} {} {options}\n",
        source.display()
    );
    let table = MountTable::parse(line.as_bytes()).unwrap();
    Place {
        path: PathBuf::from(path),
        kind: PlaceKind::Directory,
        device: DeviceNumber { major: 8, minor: 1 },
        mount: table.mounts().first().cloned(),
        backing,
        space: None,
        direct_io: None,
        size_bytes: None,
    }
}

pub fn device(device: BlockDevice) -> Place {
    Place {
        path: device.path.clone(),
        kind: PlaceKind::BlockDevice,
        device: device.device,
        mount: None,
        backing: Backing::BlockDevice(Box::new(device)),
        space: None,
        direct_io: None,
        size_bytes: None,
    }
}

/// An image of a Ceph cluster that the kernel has mapped.
pub fn mapped_image() -> BlockDevice {
    let mut disk = drive("rbd0", Transport::Rbd);
    disk.queue.write_cache = Some(WriteCache::WriteThrough);
    disk.rbd_image = Some(RbdImage {
        pool: "vms".to_owned(),
        namespace: None,
        name: "db".to_owned(),
        image_id: None,
        snapshot: None,
        cluster: None,
    });
    disk
}

/// A laptop: ext4 on the second partition of an NVMe drive.
pub fn laptop() -> Place {
    let mut partition = drive("nvme0n1p2", Transport::Nvme);
    partition.queue.fua = Some(true);
    partition.model = Some("Samsung SSD 980 1TB".to_owned());
    partition.partition = Some(Partition {
        number: Some(2),
        start_bytes: Some(1 << 29),
        disk: "nvme0n1".to_owned(),
        disk_device: Some(DeviceNumber { major: 259, minor: 0 }),
    });
    directory(
        "/home/me/db",
        "/",
        "ext4",
        "rw,errors=remount-ro",
        Backing::BlockDevice(Box::new(partition)),
    )
}

/// A server: ext4 without barriers on a logical volume over two SATA drives.
pub fn raid() -> Place {
    let mut volume = drive("dm-0", Transport::DeviceMapper);
    volume.queue.fua = Some(true);
    volume.layer = Some("lvm".to_owned());
    for (minor, name) in [(0, "sda"), (16, "sdb")] {
        let mut layer = drive(name, Transport::Sata);
        layer.device = DeviceNumber { major: 8, minor };
        layer.model = Some("INTEL SSDSC2BB480G4".to_owned());
        layer.queue.fua = Some(true);
        layer.queue.write_cache = Some(WriteCache::WriteThrough);
        volume.layers.push(layer);
    }
    directory("/srv", "/", "ext4", "rw,nobarrier", Backing::BlockDevice(Box::new(volume)))
}

/// A raw device of which sysfs reports next to nothing.
pub fn bare_device() -> Place {
    let bare = BlockDevice {
        queue: Queue::default(),
        size_bytes: None,
        read_only: None,
        ..drive("sdx", Transport::Unknown)
    };
    device(bare)
}

pub fn memory() -> Place {
    let backing = Backing::NoBlockDevice(NoBlockDevice::Memory { fs_type: "tmpfs".to_owned() });
    directory("/dev/shm", "/", "tmpfs", "rw", backing)
}
