//! Small machines, built device by device.

use crate::Machine;

/// A laptop: one NVMe drive, ext4 on its second partition, swap on its third.
pub fn laptop() -> Machine {
    const DISK: &str = "pci0000:00/0000:00:06.0/0000:02:00.0/nvme/nvme0/nvme0n1";
    let machine = Machine::new();
    machine
        .disk(
            DISK,
            "259:0",
            &[
                ("size", "2000409264"),
                ("ro", "0"),
                ("stat", "1000 0 64000 500 3000 10 128000 900 0 1200 1400 5 0 4096 3 700 210"),
                ("device/model", "Samsung SSD 980 PRO 1TB                 "),
                ("device/serial", "S5GXNX0R000000      "),
                ("device/firmware_rev", "5B2QGXA7"),
                ("device/transport", "pcie"),
                ("queue/logical_block_size", "512"),
                ("queue/physical_block_size", "512"),
                ("queue/minimum_io_size", "512"),
                ("queue/optimal_io_size", "0"),
                ("queue/max_sectors_kb", "128"),
                ("queue/rotational", "0"),
                ("queue/scheduler", "[none] mq-deadline"),
                ("queue/nr_requests", "1023"),
                ("queue/write_cache", "write back"),
                ("queue/fua", "1"),
                ("queue/zoned", "none"),
            ],
        )
        .disk(
            &format!("{DISK}/nvme0n1p1"),
            "259:1",
            &[("partition", "1"), ("start", "2048"), ("size", "1048576"), ("ro", "0")],
        )
        .disk(
            &format!("{DISK}/nvme0n1p2"),
            "259:2",
            &[("partition", "2"), ("start", "1050624"), ("size", "1952473088"), ("ro", "0")],
        )
        .disk(
            &format!("{DISK}/nvme0n1p3"),
            "259:3",
            &[("partition", "3"), ("start", "1953523712"), ("size", "46883840"), ("ro", "0")],
        )
        .mounts(
            "\
22 28 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw
28 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro
35 28 259:1 / /boot/efi rw,relatime shared:30 - vfat /dev/nvme0n1p1 rw,fmask=0077
40 28 0:35 / /tmp rw,nosuid shared:40 - tmpfs tmpfs rw,size=8g
",
        )
        .swaps("/dev/nvme0n1p3                          partition\t23441916\t0\t-2\n")
        .file("proc/fs/ext4/nvme0n1p2/options", "rw\nbarrier\ndelalloc\ndata=ordered\ncommit=5\n")
        .file(
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: 12th Gen Intel(R) Core(TM) \
                               i7-1260P\nflags\t\t: fpu vme tsc\n\nprocessor\t: 1\nmodel name\t: \
                               12th Gen Intel(R) Core(TM) i7-1260P\nflags\t\t: fpu vme tsc\n",
        )
        .file("proc/meminfo", "MemTotal:       16155648 kB\nMemFree:          500000 kB\n")
        .file("proc/sys/kernel/osrelease", "6.8.0-45-generic\n")
        .file("sys/devices/system/cpu/online", "0-1\n")
        .file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n")
        .file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
        .file("sys/class/dmi/id/sys_vendor", "LENOVO\n")
        .file("sys/class/dmi/id/product_name", "21CBCTO1WW\n");
    machine
}

/// A server: two SATA SSDs, RAID1 over their second partitions, dm-crypt on that, LVM on that, xfs
/// in a volume. The first partition of each drive is unused.
pub fn raid_server() -> Machine {
    let machine = Machine::new();
    for (index, name, serial) in [(0, "sda", "PHYF0001"), (1, "sdb", "PHYF0002")] {
        let disk = format!(
            "pci0000:00/0000:00:17.0/ata{ata}/host{index}/target{index}:0:0/{index}:0:0:0/block/{name}",
            ata = index + 1
        );
        let cache_type = format!("device/scsi_disk/{index}:0:0:0/cache_type");
        machine
            .disk(
                &disk,
                &format!("8:{}", 16 * index),
                &[
                    ("size", "937703088"),
                    ("stat", "100 0 800 10 200 0 1600 20 0 30 30 0 0 0 0 50 400"),
                    ("device/model", "INTEL SSDSC2KB48"),
                    ("device/vendor", "ATA     "),
                    ("device/rev", "0132"),
                    (&cache_type, "write back"),
                    ("queue/logical_block_size", "512"),
                    ("queue/physical_block_size", "4096"),
                    ("queue/rotational", "0"),
                    ("queue/scheduler", "[mq-deadline] none"),
                    ("queue/write_cache", "write back"),
                    ("queue/fua", "0"),
                ],
            )
            .disk(
                &format!("{disk}/{name}1"),
                &format!("8:{}", 16 * index + 1),
                &[("partition", "1"), ("start", "2048"), ("size", "2097152")],
            )
            .disk(
                &format!("{disk}/{name}2"),
                &format!("8:{}", 16 * index + 2),
                &[("partition", "2"), ("start", "2099200"), ("size", "935603855")],
            );
        let mut page = vec![0, 0x80, 0, serial.len() as u8];
        page.extend(serial.bytes());
        machine.attribute(&disk, "device/vpd_pg80", &page);
        if index == 0 {
            machine.disk(
                "virtual/block/md0",
                "9:0",
                &[("size", "935471104"), ("md/level", "raid1")],
            );
        }
        machine.stack("virtual/block/md0", &format!("{disk}/{name}2"));
    }
    machine
        .disk("virtual/block/dm-0", "253:0", &[("dm/name", "secret"), ("dm/uuid", "CRYPT-LUKS2-0f0f-secret")])
        .disk(
            "virtual/block/dm-1",
            "253:1",
            &[
                ("size", "209715200"),
                ("stat", "10 0 80 1 20 0 160 2 0 3 3 0 0 0 0 0 0"),
                ("dm/name", "vg0-data"),
                ("dm/uuid", "LVM-abcdef"),
                ("queue/rotational", "0"),
                ("queue/write_cache", "write back"),
                ("queue/fua", "0"),
            ],
        )
        .stack("virtual/block/dm-0", "virtual/block/md0")
        .stack("virtual/block/dm-1", "virtual/block/dm-0")
        .mounts(
            "\
1 1 0:2 / / rw - rootfs rootfs rw
50 1 253:1 / /srv/data rw,noatime - xfs /dev/mapper/vg0-data rw,attr2,inode64,logbufs=8,logbsize=32k,noquota
",
        )
        .swaps("");
    machine
}

/// A cloud provider's virtual machine: a virtio disk that reports itself as rotational, without
/// partitions.
pub fn cloud_vm() -> Machine {
    let machine = Machine::new();
    machine
        .disk(
            "pci0000:00/0000:00:02.0/virtio1/block/vda",
            "254:0",
            &[
                ("size", "536870912"),
                ("cache_type", "write back"),
                (
                    "stat",
                    "29009 13726 3520978 7903 5334 11178 800816 1460 0 4016 9608 4701 14 \
                          221208 222 652 22",
                ),
                ("device/vendor", "0x1af4"),
                ("queue/logical_block_size", "512"),
                ("queue/rotational", "1"),
                ("queue/scheduler", "none [mq-deadline] kyber bfq "),
                ("queue/write_cache", "write back"),
                ("queue/fua", "0"),
            ],
        )
        .mounts("27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n")
        .swaps("")
        .file("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor\n")
        .file("sys/class/dmi/id/sys_vendor", "Amazon EC2\n")
        .file("sys/class/dmi/id/product_name", "m7a.large\n");
    machine
}

/// A client of a Ceph cluster: an image with a partition, and a snapshot in a namespace, mapped by
/// the kernel. xfs is on the partition.
pub fn ceph_client() -> Machine {
    let machine = Machine::new();
    let disk = &[
        ("size", "20971520"),
        ("ro", "0"),
        ("queue/logical_block_size", "512"),
        ("queue/rotational", "0"),
        ("queue/scheduler", "[none] mq-deadline"),
        ("queue/write_cache", "write through"),
        ("queue/fua", "0"),
    ];
    machine.disk("rbd/0/block/rbd0", "252:0", disk);
    machine.disk(
        "rbd/0/block/rbd0/rbd0p1",
        "252:1",
        &[("partition", "1"), ("start", "2048"), ("size", "20969472")],
    );
    machine.disk("rbd/1/block/rbd1", "252:16", disk);
    for (number, file, value) in [
        (0, "pool", "vms"),
        (0, "pool_ns", ""),
        (0, "name", "db"),
        (0, "image_id", "1a2b3c4d5e6f"),
        (0, "current_snap", "-"),
        (0, "cluster_fsid", "9e35ec43-3895-462d-a028-8bb1251ca16e"),
        (1, "pool", "vms"),
        (1, "pool_ns", "tenant"),
        (1, "name", "db"),
        (1, "current_snap", "monday"),
    ] {
        machine.set(&format!("sys/devices/rbd/{number}/{file}"), value);
    }
    for number in 0..2 {
        let device = format!("sys/devices/rbd/{number}");
        machine.link(&format!("sys/bus/rbd/devices/{number}"), &device);
    }
    machine.mounts("27 1 252:1 / /srv rw,relatime - xfs /dev/rbd0p1 rw\n").swaps("");
    machine
}

/// A container: overlay as root, the host's disk bind-mounted at `/data`.
pub fn container() -> Machine {
    let machine = cloud_vm();
    machine.mounts(
        "\
700 600 0:60 / / rw,relatime - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/var/lib/docker/overlay2/c0/diff,workdir=/var/lib/docker/overlay2/c0/work
701 700 0:61 / /proc rw - proc proc rw
702 700 0:62 / /dev rw - tmpfs tmpfs rw,size=65536k
703 702 0:63 / /dev/shm rw - tmpfs shm rw,size=65536k
704 700 254:0 /srv/volumes/pg /data rw,relatime - ext4 /dev/vda rw,discard
",
    );
    machine
}
