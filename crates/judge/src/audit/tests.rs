//! The four captured machines, and single settings.

use drive::host::{Array, Controller, DiskSettings, IdleFacts, IdleState, Interrupt, NumaNode, VirtualDisk};
use drive::{SystemRoot, Transport};
use measurement::HostGrade;

use super::*;

fn told(host: &HostFacts) -> String {
    let lines = audit(host).into_iter().map(|line| {
        let command = line.command.map_or(String::new(), |command| format!("\n    $ {command}"));
        let advice = if line.advice.is_empty() { String::new() } else { format!("\n    > {}", line.advice) };
        format!("{:?} {}: {}: {}\n    {}{advice}{command}\n", line.grade, line.id, line.subject, line.found, line.why)
    });
    lines.collect()
}

fn grade(host: &HostFacts, id: &str) -> Option<HostGrade> {
    audit(host).into_iter().find(|line| line.id == id).map(|line| line.grade)
}

fn captured(name: &str) -> HostFacts {
    let capture = captures::lay_out(name);
    HostFacts::read(&SystemRoot::new(capture.path()))
}

#[test]
fn every_captured_machine_is_graded() {
    let mut grades = String::new();
    for name in captures::NAMES {
        let lines = audit(&captured(name));
        let ids = |wanted| {
            let found = lines.iter().filter(|line| line.grade == wanted).map(|line| line.id.as_str());
            found.collect::<Vec<_>>().join(" ")
        };
        grades += &format!(
            "{name}\n  dangerous: {}\n  costs: {}\n  unknown: {}\n",
            ids(HostGrade::Dangerous),
            ids(HostGrade::CostsLatency),
            ids(HostGrade::Unknown)
        );
    }
    insta::assert_snapshot!(grades, @"
    nvme-server
      dangerous: 
      costs: nvme-power-states c-states turbo interrupts dirty-memory
      unknown: 
    raid-card-homelab
      dangerous: barriers raid-controller
      costs: hba-ceiling pcie-aspm sata-link-power c-states cpu-frequency dirty-memory laptop-mode huge-pages
      unknown: 
    md-raid5
      dangerous: write-hole
      costs: discard power-supply sata-link-power c-states cpu-frequency turbo scheduler scheduler scheduler dirty-memory huge-pages
      unknown: 
    cloud-vm
      dangerous: 
      costs: discard virtual-disk
      unknown: virtual-cache-mode
    ");
}

#[test]
fn the_write_hole_is_told_with_the_names_of_the_arrays_own_disks() {
    let array = |level: &str, policy: &str| HostFacts {
        arrays: vec![Array {
            name: "md5".to_owned(),
            level: Some(level.to_owned()),
            members: ["sda1", "sdb1", "sdc1"].map(str::to_owned).to_vec(),
            degraded: Some(0),
            consistency_policy: Some(policy.to_owned()),
            bitmap: Some("none".to_owned()),
            sync_action: Some("idle".to_owned()),
        }],
        ..HostFacts::default()
    };
    insta::assert_snapshot!(told(&array("raid5", "resync")), @"
    Dangerous write-hole: md5: consistency after a power cut: raid5 of sda1, sdb1, sdc1, policy resync
        A write to sda1 changes the parity of its stripe on sdc1 as well, and the two cannot be written at one moment. If power goes between them and sdb1 is lost before the array is made whole, what sdb1 held in that stripe is computed from a parity that fits no data: a block that nobody wrote is silently wrong, also one that was committed years ago. This is the write hole.
        > A partial parity log closes it, for up to 40 % of the write speed; so does a journal on a drive with power-loss protection.
        $ mdadm --grow --consistency-policy=ppl /dev/md5
    ");
    assert_eq!(grade(&array("raid6", "bitmap"), "write-hole"), Some(HostGrade::Dangerous));
    assert_eq!(grade(&array("raid5", "unknown"), "write-hole"), Some(HostGrade::Unknown));
    let bitmap = audit(&array("raid5", "bitmap"));
    assert!(
        bitmap.iter().all(|line| line.id != "write-hole" || line.command.is_none()),
        "half a command is worse than none"
    );
    for closed in ["ppl", "journal"] {
        assert_eq!(grade(&array("raid5", closed), "write-hole"), Some(HostGrade::Good));
    }
    assert_eq!(grade(&array("raid1", "resync"), "write-hole"), None);
    let mut degraded = array("raid5", "ppl");
    degraded.arrays[0].degraded = Some(1);
    degraded.arrays[0].sync_action = Some("recover".to_owned());
    assert_eq!(grade(&degraded, "array-degraded"), Some(HostGrade::Dangerous));
    assert_eq!(grade(&degraded, "array-busy"), Some(HostGrade::CostsLatency));
}

#[test]
fn idle_states_count_by_how_long_waking_takes_and_whether_they_are_allowed() {
    let host = |disabled| {
        let state = |name: &str, us, disabled| IdleState { name: name.to_owned(), exit_latency_us: Some(us), disabled };
        let states = vec![state("POLL", 0, false), state("C1", 2, false), state("C6", 133, disabled)];
        let mut host = HostFacts::default();
        host.cpu.idle = Some(IdleFacts { driver: Some("intel_idle".to_owned()), governor: None, states });
        host
    };
    insta::assert_snapshot!(told(&host(false)), @"
    CostsLatency c-states: C-states: allowed by intel_idle: POLL 0 µs, C1 2 µs, C6 133 µs
        Each commit puts its CPU to sleep while the drive works; waking from C6 takes 133 µs, and a commit on protected flash only 20 to 100 µs.
        > See what it is worth here: `flushmark host --measure`. Then forbid the deep ones while the database runs.
        $ cpupower idle-set --disable-by-latency 21
    ");
    assert_eq!(grade(&host(true), "c-states"), Some(HostGrade::Good));
}

fn disk(name: &str) -> DiskSettings {
    DiskSettings {
        name: name.to_owned(),
        transport: Transport::Nvme,
        rotational: Some(false),
        scheduler: Some("none".to_owned()),
        numa_node: Some(1),
        interrupts: Vec::new(),
        virtual_disk: None,
    }
}

#[test]
fn schedulers_are_judged_by_their_medium() {
    let host = |scheduler: &str, rotational, virtual_disk| HostFacts {
        disks: vec![DiskSettings {
            scheduler: Some(scheduler.to_owned()),
            rotational: Some(rotational),
            virtual_disk,
            ..disk("sda")
        }],
        ..HostFacts::default()
    };
    for (scheduler, rotational, virtual_disk, expected) in [
        ("none", false, None, HostGrade::Good),
        ("mq-deadline", false, None, HostGrade::Good),
        ("bfq", false, None, HostGrade::CostsLatency),
        ("none", true, None, HostGrade::CostsLatency),
        ("mq-deadline", true, None, HostGrade::Good),
        ("bfq", true, None, HostGrade::Good),
        // Virtual disks often claim to rotate.
        ("none", true, Some(VirtualDisk::VirtioBlk), HostGrade::Good),
        ("bfq", true, Some(VirtualDisk::VirtioBlk), HostGrade::CostsLatency),
    ] {
        assert_eq!(
            grade(&host(scheduler, rotational, virtual_disk), "scheduler"),
            Some(expected),
            "{scheduler} {rotational}"
        );
    }
}

#[test]
fn interrupts_on_the_other_socket_or_on_one_cpu_cost() {
    let interrupt =
        |number, name: &str, cpus: &str| Interrupt { number, name: name.to_owned(), cpus: Some(cpus.to_owned()) };
    let host = |interrupts| HostFacts {
        logical_cpus: Some(8),
        numa_nodes: vec![NumaNode { node: 0, cpus: "0-3".to_owned() }, NumaNode { node: 1, cpus: "4-7".to_owned() }],
        disks: vec![DiskSettings { interrupts, ..disk("nvme0n1") }],
        ..HostFacts::default()
    };
    let grade_of = |interrupts| grade(&host(interrupts), "interrupts");
    assert_eq!(grade_of(vec![interrupt(40, "nvme0q1", "4-5"), interrupt(41, "nvme0q2", "6-7")]), Some(HostGrade::Good));
    assert_eq!(
        grade_of(vec![interrupt(40, "nvme0q1", "0"), interrupt(41, "nvme0q2", "1")]),
        Some(HostGrade::CostsLatency)
    );
    assert_eq!(
        grade_of(vec![interrupt(40, "nvme0q1", "5"), interrupt(41, "nvme0q2", "5")]),
        Some(HostGrade::CostsLatency)
    );
    // The admin queue alone says nothing about commits.
    assert_eq!(grade_of(vec![interrupt(39, "nvme0q0", "0")]), None);
    assert_eq!(grade_of(vec![interrupt(40, "nvme0q1", "nonsense")]), None);
}

#[test]
fn a_raid_controller_hides_its_drives_and_vmd_does_not() {
    let controller = |class, driver: &str, vendor_id, device_id| HostFacts {
        controllers: vec![Controller {
            address: "0000:03:00.0".to_owned(),
            class,
            vendor_id,
            device_id,
            driver: Some(driver.to_owned()),
            numa_node: None,
            disks: vec!["sda".to_owned()],
        }],
        ..HostFacts::default()
    };
    assert_eq!(
        grade(&controller(0x01_0400, "megaraid_sas", 0x1000, 0x005d), "raid-controller"),
        Some(HostGrade::Dangerous)
    );
    assert_eq!(grade(&controller(0x01_0400, "vmd", 0x8086, 0x9a0b), "raid-controller"), None);
    assert_eq!(grade(&controller(0x01_0400, "ahci", 0x8086, 0xa105), "raid-controller"), None);
    assert_eq!(grade(&controller(0x01_0700, "mpt3sas", 0x1000, 0x0072), "hba-ceiling"), Some(HostGrade::CostsLatency));
    assert_eq!(grade(&controller(0x01_0601, "ahci", 0x8086, 0xa352), "controller"), Some(HostGrade::Good));
}

#[test]
fn kernels_and_clocks() {
    let host = |release: &str, clock: &str| HostFacts {
        kernel_release: Some(release.to_owned()),
        clocksource: Some(clock.to_owned()),
        ..HostFacts::default()
    };
    assert_eq!(grade(&host("4.18.0-553.el8", "tsc"), "kernel"), Some(HostGrade::CostsLatency));
    assert_eq!(grade(&host("6.1.0-56-amd64", "tsc"), "kernel"), Some(HostGrade::Good));
    assert_eq!(grade(&host("nonsense", "hpet"), "kernel"), None);
    assert_eq!(grade(&host("6.1", "hpet"), "clock"), Some(HostGrade::CostsLatency));
    assert_eq!(grade(&host("6.1", "kvm-clock"), "clock"), Some(HostGrade::Good));
}

#[test]
fn every_line_that_is_not_good_says_why_and_most_say_what_to_do() {
    for name in captures::NAMES {
        for line in audit(&captured(name)) {
            assert!(!line.why.is_empty() && !line.found.is_empty(), "{line:?}");
            let self_explaining = ["power-supply", "array-busy", "dirty-memory"].contains(&line.id.as_str());
            assert!(line.grade == HostGrade::Good || !line.advice.is_empty() || self_explaining, "{line:?}");
        }
    }
}

#[test]
fn a_spare_has_no_part_in_the_write_hole() {
    let capture = captures::lay_out("md-raid5");
    for (device, slot) in [("sda1", "0"), ("sdb1", "1"), ("sdc1", "2"), ("sdd1", "none")] {
        capture.set(&format!("/sys/block/md0/md/dev-{device}/slot"), slot);
    }
    let host = HostFacts::read(&SystemRoot::new(capture.path()));
    let hole = audit(&host).into_iter().find(|line| line.id == "write-hole").unwrap();
    assert!(hole.found.contains("sda1, sdb1, sdc1") && !hole.why.contains("sdd1"), "{hole:?}");
}

#[test]
fn a_command_can_be_pasted_whatever_a_mount_point_is_called() {
    let mut host = captured("raid-card-homelab");
    for filesystem in &mut host.filesystems {
        filesystem.mount_point = "/media/My Disk;reboot".into();
    }
    let barriers = audit(&host).into_iter().find(|line| line.command.is_some() && line.id == "barriers").unwrap();
    assert_eq!(barriers.command.unwrap(), "mount -o remount,barrier '/media/My Disk;reboot'");
}
