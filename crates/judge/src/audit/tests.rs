//! The four captured machines, and single settings.

use drive::host::{
    Array, Controller, DiskSettings, IdleFacts, IdleState, Interrupt, NumaNode, VirtualDisk,
};
use drive::{SystemRoot, Transport};
use measurement::HostGrade;

use super::*;

fn describe(host: &HostFacts) -> String {
    let lines = audit(host).into_iter().map(|line| {
        let command = line.command.map_or(String::new(), |command| format!("\n    $ {command}"));
        let advice =
            if line.advice.is_empty() { String::new() } else { format!("\n    > {}", line.advice) };
        format!(
            "{:?} {}: {}: {}\n    {}{advice}{command}\n",
            line.grade, line.id, line.subject, line.found, line.why
        )
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
            let found =
                lines.iter().filter(|line| line.grade == wanted).map(|line| line.id.as_str());
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
fn the_write_hole_is_explained_with_the_arrays_own_members() {
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
    insta::assert_snapshot!(describe(&array("raid5", "resync")), @"
    Dangerous write-hole: md5: consistency after a power cut: raid5 of sda1, sdb1, sdc1, policy resync
        A write to sda1 also changes the parity of its stripe on sdc1, and the two cannot be written atomically. If power fails between them and sdb1 is lost before the array is resynchronised, the blocks of sdb1 in that stripe are reconstructed from parity that does not match the data: a block that was not being written is silently wrong, even one committed years ago. This is the write hole.
        > A partial parity log closes it at a cost of up to 40 % of the write speed; so does a journal on a drive with power-loss protection.
        $ mdadm --grow --consistency-policy=ppl /dev/md5
    ");
    assert_eq!(grade(&array("raid6", "bitmap"), "write-hole"), Some(HostGrade::Dangerous));
    assert_eq!(grade(&array("raid5", "unknown"), "write-hole"), Some(HostGrade::Unknown));
    let bitmap = audit(&array("raid5", "bitmap"));
    assert!(
        bitmap.iter().all(|line| line.id != "write-hole" || line.command.is_none()),
        "a partial command is worse than none"
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
fn idle_states_are_graded_by_exit_latency_unless_disabled() {
    let host = |disabled| {
        let state = |name: &str, us, disabled| IdleState {
            name: name.to_owned(),
            exit_latency_us: Some(us),
            disabled,
        };
        let states =
            vec![state("POLL", 0, false), state("C1", 2, false), state("C6", 133, disabled)];
        let mut host = HostFacts::default();
        host.cpu.idle =
            Some(IdleFacts { driver: Some("intel_idle".to_owned()), governor: None, states });
        host
    };
    insta::assert_snapshot!(describe(&host(false)), @"
    CostsLatency c-states: C-states: allowed by intel_idle: POLL 0 µs, C1 2 µs, C6 133 µs
        The CPU sleeps during each commit while the drive works. Waking from C6 takes 133 µs; a whole commit on protected flash takes 20 to 100 µs.
        > Measure the effect with `flushmark host --measure`, then disable the deep states while the database runs.
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
fn schedulers_are_graded_by_medium() {
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
    let interrupt = |number, name: &str, cpus: &str| Interrupt {
        number,
        name: name.to_owned(),
        cpus: Some(cpus.to_owned()),
    };
    let host = |interrupts| HostFacts {
        logical_cpus: Some(8),
        numa_nodes: vec![
            NumaNode { node: 0, cpus: "0-3".to_owned() },
            NumaNode { node: 1, cpus: "4-7".to_owned() },
        ],
        disks: vec![DiskSettings { interrupts, ..disk("nvme0n1") }],
        ..HostFacts::default()
    };
    let grade_of = |interrupts| grade(&host(interrupts), "interrupts");
    assert_eq!(
        grade_of(vec![interrupt(40, "nvme0q1", "4-5"), interrupt(41, "nvme0q2", "6-7")]),
        Some(HostGrade::Good)
    );
    assert_eq!(
        grade_of(vec![interrupt(40, "nvme0q1", "0"), interrupt(41, "nvme0q2", "1")]),
        Some(HostGrade::CostsLatency)
    );
    assert_eq!(
        grade_of(vec![interrupt(40, "nvme0q1", "5"), interrupt(41, "nvme0q2", "5")]),
        Some(HostGrade::CostsLatency)
    );
    // The admin queue alone is not relevant for commits.
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
    assert_eq!(
        grade(&controller(0x01_0700, "mpt3sas", 0x1000, 0x0072), "hba-ceiling"),
        Some(HostGrade::CostsLatency)
    );
    assert_eq!(
        grade(&controller(0x01_0601, "ahci", 0x8086, 0xa352), "controller"),
        Some(HostGrade::Good)
    );
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
            let self_explaining =
                ["power-supply", "array-busy", "dirty-memory"].contains(&line.id.as_str());
            assert!(
                line.grade == HostGrade::Good || !line.advice.is_empty() || self_explaining,
                "{line:?}"
            );
        }
    }
}

#[test]
fn a_spare_is_not_part_of_the_write_hole() {
    let capture = captures::lay_out("md-raid5");
    for (device, slot) in [("sda1", "0"), ("sdb1", "1"), ("sdc1", "2"), ("sdd1", "none")] {
        capture.set(&format!("/sys/block/md0/md/dev-{device}/slot"), slot);
    }
    let host = HostFacts::read(&SystemRoot::new(capture.path()));
    let hole = audit(&host).into_iter().find(|line| line.id == "write-hole").unwrap();
    assert!(hole.found.contains("sda1, sdb1, sdc1") && !hole.why.contains("sdd1"), "{hole:?}");
}

#[test]
fn commands_quote_mount_points() {
    let mut host = captured("raid-card-homelab");
    for filesystem in &mut host.filesystems {
        filesystem.mount_point = "/media/My Disk;reboot".into();
    }
    let barriers = audit(&host)
        .into_iter()
        .find(|line| line.command.is_some() && line.id == "barriers")
        .unwrap();
    assert_eq!(barriers.command.unwrap(), "mount -o remount,barrier '/media/My Disk;reboot'");
}

#[test]
fn arrays_that_resynchronise_want_a_bitmap() {
    let wants = |level: &str, policy: &str, bitmap: &str| {
        let array = Array {
            name: "md5".to_owned(),
            level: Some(level.to_owned()),
            members: vec!["sda1".to_owned(), "sdb1".to_owned()],
            degraded: None,
            consistency_policy: Some(policy.to_owned()),
            bitmap: Some(bitmap.to_owned()),
            sync_action: Some("frozen".to_owned()),
        };
        let host = HostFacts { arrays: vec![array], ..HostFacts::default() };
        assert_eq!(grade(&host, "array-busy"), None);
        grade(&host, "array-bitmap").is_some()
    };
    for level in ["raid1", "raid10", "raid6"] {
        assert!(wants(level, "resync", "none") && !wants(level, "bitmap", "internal"), "{level}");
        assert!(!wants(level, "journal", "none"), "{level}");
    }
    assert!(!wants("raid5", "resync", "none") && !wants("raid0", "resync", "none"));
}

#[test]
fn the_remedy_for_the_write_hole_depends_on_the_level() {
    let hole = |level: &str, policy: &str, members: &[&str]| {
        let array = Array {
            name: "md5".to_owned(),
            level: Some(level.to_owned()),
            members: members.iter().map(|&member| member.to_owned()).collect(),
            degraded: Some(0),
            consistency_policy: Some(policy.to_owned()),
            bitmap: None,
            sync_action: None,
        };
        let lines = audit(&HostFacts { arrays: vec![array], ..HostFacts::default() });
        lines.into_iter().find(|line| line.id == "write-hole").unwrap()
    };
    let three = ["sda1", "sdb1", "sdc1"];
    assert!(hole("raid5", "bitmap", &three).advice.contains("replaces the bitmap"));
    assert!(hole("raid5", "resync", &three).command.is_some());
    for policy in ["bitmap", "resync"] {
        let six = hole("raid6", policy, &three);
        assert!(
            six.advice.contains("raid6 does not support a partial parity log")
                && six.command.is_none(),
            "{six:?}"
        );
    }
    assert!(
        hole("raid5", "resync", &[])
            .why
            .contains("A write to one disk also changes the parity of its stripe on another")
    );
}

#[test]
fn a_controller_is_listed_for_its_disks_or_for_hiding_them() {
    let lines = |class: u32, disks: &[&str]| {
        let controller = Controller {
            address: "0000:03:00.0".to_owned(),
            class,
            vendor_id: 0x1000,
            device_id: 0x0073,
            driver: None,
            numa_node: None,
            disks: disks.iter().map(|&disk| disk.to_owned()).collect(),
        };
        audit(&HostFacts { controllers: vec![controller], ..HostFacts::default() })
    };
    assert_eq!(lines(0x01_0700, &[]), []);
    assert_eq!(lines(0x01_0400, &[])[0].subject, "RAID controller in front of no disk");
    let adapter = &lines(0x01_0700, &["sda", "sdb"])[0];
    assert_eq!(
        (adapter.id.as_str(), adapter.subject.as_str()),
        ("controller", "Controller of sda, sdb")
    );
    assert_eq!(adapter.found, "1000:0073 at 0000:03:00.0, driver no driver");
}

#[test]
fn a_governor_is_judged_with_its_driver_and_preference() {
    let line = |governor: &str, driver: &str, preference: Option<&str>| {
        let [driver, governor] = [driver, governor].map(|text| Some(text.to_owned()));
        let preference = preference.map(str::to_owned);
        let policy = drive::host::FrequencyPolicy {
            cpus: "0-7".to_owned(),
            driver,
            governor,
            preference,
            max_mhz: None,
        };
        let mut host = HostFacts::default();
        host.cpu.frequency = vec![policy];
        audit(&host).remove(0)
    };
    let grade = |governor, driver, preference| line(governor, driver, preference).grade;
    assert_eq!(grade("performance", "acpi-cpufreq", None), HostGrade::Good);
    assert_eq!(grade("powersave", "intel_pstate", Some("balance_performance")), HostGrade::Good);
    assert_eq!(grade("powersave", "another", Some("performance")), HostGrade::Good);
    assert_eq!(grade("powersave", "intel_pstate", Some("power")), HostGrade::CostsLatency);
    assert_eq!(grade("schedutil", "acpi-cpufreq", None), HostGrade::CostsLatency);
    let lowest = |governor, driver, preference| {
        line(governor, driver, preference).why.contains("lowest frequency")
    };
    assert!(lowest("powersave", "acpi-cpufreq", None));
    assert!(
        !lowest("powersave", "amd-pstate-epp", None)
            && !lowest("powersave", "another", Some("power"))
    );
    assert!(!lowest("ondemand", "acpi-cpufreq", None));
}

#[test]
fn an_osd_needs_four_cores() {
    let line = |osds, cpus, smt| {
        let mut host =
            HostFacts { ceph_osds: osds, logical_cpus: Some(cpus), ..HostFacts::default() };
        host.cpu.smt_active = Some(smt);
        let lines = audit(&host);
        let line = lines.iter().find(|line| line.id == "ceph-cores");
        line.map(|line| (line.grade, line.found.clone(), line.advice.is_empty()))
    };
    let (grade, found, without_advice) = line(Some(12), 64, true).unwrap();
    assert_eq!((grade, without_advice), (HostGrade::CostsLatency, false));
    assert_eq!(found, "12 OSDs on 32 cores: 2.7 cores per OSD");
    assert_eq!(line(Some(8), 32, false).map(|line| line.0), Some(HostGrade::Good));
    assert_eq!(line(None, 4, false), None);
}

#[test]
fn mitigations_are_counted_and_the_costly_ones_named() {
    let found = |all: &[(&str, &str)]| {
        let mut host = HostFacts::default();
        let of = |&(name, state): &(&str, &str)| drive::host::Mitigation {
            name: name.to_owned(),
            state: state.to_owned(),
        };
        host.cpu.mitigations = all.iter().map(of).collect();
        audit(&host).first().map(|line| line.found.clone())
    };
    let all = [
        ("meltdown", "Mitigation: PTI"),
        ("mds", "Not affected"),
        ("srbds", "Mitigation: Microcode"),
    ];
    let with_costly =
        "3 CPU vulnerabilities listed, 2 of them mitigated; meltdown slows system calls down";
    assert_eq!(found(&all).as_deref(), Some(with_costly));
    let cheap = "2 CPU vulnerabilities listed, 1 of them mitigated";
    assert_eq!(found(&all[1..]).as_deref(), Some(cheap));
    assert_eq!(found(&[]), None);
}

#[test]
fn a_filesystem_is_full_above_90_percent() {
    let line = |total_bytes: u64, free_bytes: u64| {
        let filesystem = drive::host::FilesystemFacts {
            mount_point: "/srv".into(),
            fs_type: "ext4".to_owned(),
            device: None,
            flushes_disabled_by: None,
            discard: false,
            space: Some(drive::Space { total_bytes, free_bytes, available_bytes: free_bytes }),
        };
        let host = HostFacts { filesystems: vec![filesystem], ..HostFacts::default() };
        audit(&host).into_iter().find(|line| line.id == "fill")
    };
    let fair = line(1000, 100).unwrap();
    assert_eq!(
        (fair.grade, fair.found.as_str(), fair.command),
        (HostGrade::Good, "90 % full", None)
    );
    let full = line(1000, 89).unwrap();
    assert_eq!((full.grade, full.found.as_str()), (HostGrade::CostsLatency, "91 % full"));
    assert_eq!(full.command.as_deref(), Some("fstrim /srv"));
    assert!(full.advice.starts_with("Free some space"));
    assert_eq!(line(0, 0), None);
}

#[test]
fn kernels_change_at_5_0_and_5_15() {
    let why = |release: &str| {
        let kernel = HostFacts { kernel_release: Some(release.to_owned()), ..HostFacts::default() };
        audit(&kernel).remove(0).why
    };
    assert!(why("4.20.17").starts_with("Before 5.0"));
    assert!(
        why("5.0.0-1").contains("kernels from 5.15 on")
            && why("5.14").contains("kernels from 5.15 on")
    );
    assert!(why("5.15.0").starts_with("The multi-queue block layer (blk-mq)"));
}

#[test]
fn every_kind_of_machine_and_disk_has_a_distinct_name() {
    use drive::Virtualisation::{
        AmazonEc2, GoogleCompute, HyperV, Kvm, Parallels, Unnamed, VirtualBox, VmWare, Xen,
    };
    let machines =
        [AmazonEc2, GoogleCompute, HyperV, Kvm, Parallels, Unnamed, VirtualBox, VmWare, Xen];
    let machine = |kind| {
        audit(&HostFacts { virtualisation: Some(kind), ..HostFacts::default() }).remove(0).found
    };
    let names: std::collections::BTreeSet<String> = machines.map(machine).into_iter().collect();
    assert_eq!(names.len(), machines.len(), "{names:?}");
    let kinds = [
        VirtualDisk::VirtioBlk,
        VirtualDisk::VirtioScsi,
        VirtualDisk::EmulatedAta,
        VirtualDisk::EmulatedScsi,
        VirtualDisk::Nvme,
        VirtualDisk::PvScsi,
        VirtualDisk::HyperV,
        VirtualDisk::Xen,
    ];
    let kind = |kind| {
        let disk = DiskSettings { virtual_disk: Some(kind), scheduler: None, ..disk("vda") };
        let lines = audit(&HostFacts { disks: vec![disk], ..HostFacts::default() });
        lines.into_iter().find(|line| line.id == "virtual-disk").unwrap().found
    };
    let names: std::collections::BTreeSet<String> = kinds.map(kind).into_iter().collect();
    assert!(names.len() == kinds.len() && !names.contains("a virtual disk"), "{names:?}");
}

#[test]
fn dirty_memory_above_a_gibibyte_costs_latency_if_there_is_a_drive() {
    const GIB: u64 = 1 << 30;
    let host = |dirty_bytes: u64, disks: &[&str]| {
        let mut host = HostFacts { memory_bytes: Some(100 * GIB), ..HostFacts::default() };
        (host.memory.dirty_bytes, host.memory.dirty_percent) = (Some(dirty_bytes), Some(20));
        host.disks =
            disks.iter().map(|name| DiskSettings { scheduler: None, ..disk(name) }).collect();
        host
    };
    assert_eq!(grade(&host(GIB, &["sda"]), "dirty-memory"), Some(HostGrade::Good));
    assert_eq!(grade(&host(GIB + 1, &["sda"]), "dirty-memory"), Some(HostGrade::CostsLatency));
    assert_eq!(grade(&host(GIB + 1, &[]), "dirty-memory"), Some(HostGrade::Unknown));
    let mut mounted = captured("raid-card-homelab");
    mounted.disks.clear();
    (mounted.memory_bytes, mounted.memory.dirty_bytes) = (None, Some(2 * GIB));
    assert_eq!(grade(&mounted, "dirty-memory"), Some(HostGrade::CostsLatency));
    // `vm.dirty_bytes` is 0 while `vm.dirty_ratio` is set.
    let line =
        audit(&host(0, &["sda"])).into_iter().find(|line| line.id == "dirty-memory").unwrap();
    assert_eq!(line.found, "up to 20 GiB of dirty memory (vm.dirty_ratio is 20 %)");
    let line = audit(&host(3 * GIB / 2, &["sda"]))
        .into_iter()
        .find(|line| line.id == "dirty-memory")
        .unwrap();
    assert_eq!(line.found, "up to 1.5 GiB of dirty memory (vm.dirty_bytes)");
}

#[test]
fn write_back_laptop_mode_and_huge_pages() {
    let host = |writeback_ms: u64, laptop_mode: u64, pages: &str| {
        let mut host = HostFacts::default();
        (host.memory.dirty_writeback_ms, host.memory.laptop_mode) =
            (Some(writeback_ms), Some(laptop_mode));
        host.memory.transparent_huge_pages = Some(pages.to_owned());
        ["dirty-writeback", "laptop-mode", "huge-pages"].map(|id| grade(&host, id))
    };
    assert_eq!(host(5000, 0, "madvise"), [None, Some(HostGrade::Good), Some(HostGrade::Good)]);
    let bad = [HostGrade::Dangerous, HostGrade::CostsLatency, HostGrade::CostsLatency].map(Some);
    assert_eq!(host(0, 5, "always"), bad);
}

#[test]
fn power_saving_is_graded_by_wake_up_time() {
    let nvme = |longest_us: u64| {
        let mut host = HostFacts { disks: vec![disk("nvme12n1")], ..HostFacts::default() };
        host.power.nvme_ps_max_latency_us = Some(longest_us);
        host
    };
    assert_eq!(grade(&nvme(100), "nvme-power-states"), Some(HostGrade::Good));
    let sleepy = audit(&nvme(101)).into_iter().find(|line| line.id == "nvme-power-states").unwrap();
    let command = "echo 0 > /sys/class/nvme/nvme12/power/pm_qos_latency_tolerance_us";
    assert_eq!((sleepy.grade, sleepy.command.as_deref()), (HostGrade::CostsLatency, Some(command)));
    let mut sata = nvme(101);
    sata.disks[0].transport = Transport::Sata;
    assert_eq!(grade(&sata, "nvme-power-states"), None);
    for (policy, expected) in [
        ("default", HostGrade::Good),
        ("powersave", HostGrade::CostsLatency),
        ("powersupersave", HostGrade::CostsLatency),
    ] {
        sata.power.pcie_aspm_policy = Some(policy.to_owned());
        assert_eq!(grade(&sata, "pcie-aspm"), Some(expected), "{policy}");
    }
    assert_eq!(grade(&sata, "sata-link-power"), None);
    let mut links = |policies: &[&str]| {
        let link = |policy: &&str| drive::host::SataLink {
            host: "host0".to_owned(),
            policy: (*policy).to_owned(),
        };
        sata.power.sata_links = policies.iter().map(link).collect();
        grade(&sata, "sata-link-power")
    };
    assert_eq!(links(&["max_performance", "keep_firmware_settings"]), Some(HostGrade::Good));
    assert_eq!(links(&["max_performance", "min_power"]), Some(HostGrade::CostsLatency));
}

#[test]
fn a_scheduler_of_low_cost_says_so() {
    let why = |scheduler: &str| {
        let disk = DiskSettings { scheduler: Some(scheduler.to_owned()), ..disk("sda") };
        let lines = audit(&HostFacts { disks: vec![disk], ..HostFacts::default() });
        lines.into_iter().find(|line| line.id == "scheduler").unwrap().why
    };
    assert!(
        why("kyber").contains("a microsecond or two")
            && why("mq-deadline").contains("a microsecond or two")
    );
    assert_eq!(why("none"), "It suits the medium.");
}

#[test]
fn interrupts_are_listed_by_queue_and_cpu() {
    let line = |nodes: &[&str], interrupts: &[(&str, &str)], logical_cpus: u32| {
        let interrupt = |(number, (name, cpus)): (usize, &(&str, &str))| Interrupt {
            number: 40 + number as u32,
            name: (*name).to_owned(),
            cpus: Some((*cpus).to_owned()),
        };
        let host = HostFacts {
            logical_cpus: Some(logical_cpus),
            numa_nodes: (0..)
                .zip(nodes)
                .map(|(node, cpus)| NumaNode { node, cpus: (*cpus).to_owned() })
                .collect(),
            disks: vec![DiskSettings {
                interrupts: interrupts.iter().enumerate().map(interrupt).collect(),
                ..disk("nvme0n1")
            }],
            ..HostFacts::default()
        };
        audit(&host).into_iter().find(|line| line.id == "interrupts").unwrap()
    };
    let two = ["0-3", "4-7"];
    let good = line(&two, &[("nvme0q0", "0"), ("nvme0q1", "4"), ("nvme0q2", "6")], 8);
    assert_eq!(
        (good.grade, good.found.as_str()),
        (HostGrade::Good, "2 queue interrupts, on CPUs 4, 6")
    );
    let remote = line(&two, &[("nvme0q1", "0"), ("nvme0q2", "1")], 8);
    assert_eq!(remote.command.as_deref(), Some("echo 4-7 > /proc/irq/40/smp_affinity_list"));
    // With one node nothing is remote; a node that handles some of the interrupts is not remote
    // either.
    assert_eq!(line(&["0-7"], &[("nvme0q1", "0"), ("nvme0q2", "1")], 8).grade, HostGrade::Good);
    assert_eq!(line(&two, &[("nvme0q1", "0"), ("nvme0q2", "5")], 8).grade, HostGrade::Good);
    // A node without CPUs has only memory and does not count.
    assert_eq!(line(&["0-7", ""], &[("nvme0q1", "0"), ("nvme0q2", "1")], 8).grade, HostGrade::Good);
    let crowded = line(&["0-7"], &[("nvme0q1", "5"), ("nvme0q2", "5")], 8);
    assert_eq!(
        (crowded.grade, crowded.found.as_str()),
        (HostGrade::CostsLatency, "2 queue interrupts, on CPU 5")
    );
    for (interrupts, cpus) in [
        (&[("nvme0q1", "5"), ("nvme0q2", "5")][..], 1),
        (&[("ahci", "5"), ("ahci", "5")], 8),
        (&[("nvme0q1", "5")], 8),
        (&[("nvme0q1", "5-6"), ("nvme0q2", "5")], 8),
    ] {
        assert_eq!(line(&["0-7"], interrupts, cpus).grade, HostGrade::Good, "{interrupts:?}");
    }
    assert_eq!(
        line(&["0-63"], &[("nvme0q1", "0-12")], 64).found,
        "1 queue interrupt, on CPUs 0 to 12"
    );
    assert!(line(&["0-63"], &[("nvme0q1", "0-11")], 64).found.ends_with("10, 11"));
    // Similar names of other interrupts: a virtio disk's configuration, and `q0` of a device that
    // is not NVMe.
    assert_eq!(
        line(&["0-7"], &[("virtio0-config", "1"), ("virtio0-req.0", "2")], 8).found,
        "1 queue interrupt, on CPU 2"
    );
    assert_eq!(line(&["0-7"], &[("blkq0", "3")], 8).found, "1 queue interrupt, on CPU 3");
}

#[test]
fn a_drives_node_is_listed_on_machines_with_several() {
    let line = |nodes: u32| {
        let node = |node: u32| NumaNode { node, cpus: format!("{}-{}", 4 * node, 4 * node + 3) };
        let host = HostFacts {
            numa_nodes: (0..nodes).map(node).collect(),
            disks: vec![disk("nvme0n1")],
            ..HostFacts::default()
        };
        audit(&host).into_iter().find(|line| line.id == "numa")
    };
    let two = line(2).unwrap();
    assert_eq!(two.found, "node 1 of 2, with CPUs 4-7");
    assert_eq!(two.command.as_deref(), Some("numactl --cpunodebind=1 --membind=1 COMMAND"));
    assert_eq!(line(1), None);
}
