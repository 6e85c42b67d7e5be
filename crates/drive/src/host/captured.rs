//! Facts read from captures of machines that differ from the one that runs the tests.

use serde_json::Value;

use super::HostFacts;
use crate::SystemRoot;

/// One line per fact, and per member of a list.
fn facts(machine: &str) -> String {
    let capture = captures::lay_out(machine);
    lines(&HostFacts::read(&SystemRoot::new(capture.path())))
}

fn lines(facts: &HostFacts) -> String {
    let mut lines = Vec::new();
    let Value::Object(fields) = serde_json::to_value(facts).unwrap() else {
        unreachable!("a struct is an object")
    };
    let groups = ["cpu", "memory", "power"];
    for (field, value) in fields {
        match value {
            Value::Object(inner) if groups.contains(&field.as_str()) => {
                for (name, value) in inner {
                    push(&mut lines, &format!("{field}.{name}"), &value);
                }
            }
            value => push(&mut lines, &field, &value),
        }
    }
    lines.join("\n")
}

fn push(lines: &mut Vec<String>, name: &str, value: &Value) {
    match value {
        Value::Array(members) => {
            lines.extend(members.iter().map(|member| format!("{name}: {member}")));
        }
        Value::Null => {}
        value => lines.push(format!("{name}: {value}")),
    }
}

#[test]
fn a_database_server_with_two_sockets() {
    insta::assert_snapshot!(facts("nvme-server"), @r#"
    clocksource: "tsc"
    controllers: {"address":"0000:31:00.0","class":67586,"device_id":43018,"disks":["nvme0n1"],"driver":"nvme","numa_node":0,"vendor_id":5197}
    controllers: {"address":"0000:32:00.0","class":67586,"device_id":43018,"disks":["nvme1n1"],"driver":"nvme","numa_node":0,"vendor_id":5197}
    controllers: {"address":"0000:b1:00.0","class":67586,"device_id":43018,"disks":["nvme2n1"],"driver":"nvme","numa_node":1,"vendor_id":5197}
    controllers: {"address":"0000:b2:00.0","class":67586,"device_id":7,"disks":["nvme3n1"],"driver":"nvme","numa_node":1,"vendor_id":7695}
    cpu.frequency: {"cpus":"0-27","driver":"intel_pstate","governor":"powersave","preference":"balance_performance"}
    cpu.frequency: {"cpus":"28-31","driver":"intel_pstate","governor":"powersave","preference":"performance"}
    cpu.idle: {"driver":"intel_idle","governor":"menu","states":[{"disabled":false,"exit_latency_us":0,"name":"POLL"},{"disabled":false,"exit_latency_us":1,"name":"C1"},{"disabled":false,"exit_latency_us":4,"name":"C1E"},{"disabled":false,"exit_latency_us":133,"name":"C6"}]}
    cpu.mitigations: {"name":"gather_data_sampling","state":"Mitigation: Microcode"}
    cpu.mitigations: {"name":"mmio_stale_data","state":"Mitigation: Clear CPU buffers; SMT vulnerable"}
    cpu.mitigations: {"name":"spectre_v1","state":"Mitigation: usercopy/swapgs barriers and __user pointer sanitization"}
    cpu.mitigations: {"name":"spectre_v2","state":"Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; PBRSB-eIBRS: SW sequence; BHI: SW loop, KVM: SW loop"}
    cpu.smt_active: true
    cpu.turbo: false
    cpu_governor: "powersave"
    cpu_model: "Intel(R) Xeon(R) Gold 6334 CPU @ 3.60GHz"
    disks: {"interrupts":[{"cpus":"0","name":"nvme0q0","number":120},{"cpus":"0","name":"nvme0q1","number":121},{"cpus":"4","name":"nvme0q2","number":122}],"name":"nvme0n1","numa_node":0,"rotational":false,"scheduler":"none","transport":"nvme","virtual_disk":null}
    disks: {"interrupts":[{"cpus":"0","name":"nvme1q0","number":130},{"cpus":"0","name":"nvme1q1","number":131},{"cpus":"4","name":"nvme1q2","number":132}],"name":"nvme1n1","numa_node":0,"rotational":false,"scheduler":"none","transport":"nvme","virtual_disk":null}
    disks: {"interrupts":[{"cpus":"0","name":"nvme2q0","number":140},{"cpus":"0","name":"nvme2q1","number":141},{"cpus":"1","name":"nvme2q2","number":142}],"name":"nvme2n1","numa_node":1,"rotational":false,"scheduler":"none","transport":"nvme","virtual_disk":null}
    disks: {"interrupts":[{"cpus":"8","name":"nvme3q0","number":150},{"cpus":"8","name":"nvme3q1","number":151},{"cpus":"12","name":"nvme3q2","number":152}],"name":"nvme3n1","numa_node":1,"rotational":false,"scheduler":"none","transport":"nvme","virtual_disk":null}
    filesystems: {"device":"nvme0n1p2","discard":false,"flushes_disabled_by":null,"fs_type":"ext4","mount_point":"/","space":null}
    filesystems: {"device":"nvme0n1p1","discard":false,"flushes_disabled_by":null,"fs_type":"vfat","mount_point":"/boot/efi","space":null}
    filesystems: {"device":"nvme1n1","discard":false,"flushes_disabled_by":null,"fs_type":"xfs","mount_point":"/var/lib/postgresql","space":null}
    kernel_release: "6.12.48+deb13-amd64"
    logical_cpus: 32
    memory.dirty_background_bytes: 0
    memory.dirty_background_percent: 10
    memory.dirty_bytes: 0
    memory.dirty_expire_ms: 30000
    memory.dirty_percent: 20
    memory.dirty_writeback_ms: 5000
    memory.laptop_mode: 0
    memory.transparent_huge_pages: "madvise"
    memory_bytes: 540617949184
    numa_nodes: {"cpus":"0-7,16-23","node":0}
    numa_nodes: {"cpus":"8-15,24-31","node":1}
    power.nvme_ps_max_latency_us: 100000
    power.pcie_aspm_policy: "default"
    product_name: "PowerEdge R650"
    system_vendor: "Dell Inc."
    "#);
}

#[test]
fn a_home_server_with_a_raid_card() {
    insta::assert_snapshot!(facts("raid-card-homelab"), @r#"
    clocksource: "tsc"
    controllers: {"address":"0000:00:1f.2","class":67073,"device_id":35842,"disks":[],"driver":"ahci","numa_node":null,"vendor_id":32902}
    controllers: {"address":"0000:01:00.0","class":66560,"device_id":93,"disks":["sda"],"driver":"megaraid_sas","numa_node":null,"vendor_id":4096}
    controllers: {"address":"0000:02:00.0","class":67328,"device_id":114,"disks":["sdb","sdc"],"driver":"mpt3sas","numa_node":null,"vendor_id":4096}
    cpu.frequency: {"cpus":"0-3","driver":"acpi-cpufreq","governor":"ondemand","preference":null}
    cpu.idle: {"driver":"acpi_idle","governor":"menu","states":[{"disabled":false,"exit_latency_us":0,"name":"POLL"},{"disabled":false,"exit_latency_us":1,"name":"C1"},{"disabled":false,"exit_latency_us":148,"name":"C2"},{"disabled":true,"exit_latency_us":1034,"name":"C3"}]}
    cpu.mitigations: {"name":"l1tf","state":"Mitigation: PTE Inversion; VMX: conditional cache flushes, SMT disabled"}
    cpu.mitigations: {"name":"mds","state":"Mitigation: Clear CPU buffers; SMT disabled"}
    cpu.mitigations: {"name":"meltdown","state":"Mitigation: PTI"}
    cpu.mitigations: {"name":"spectre_v2","state":"Mitigation: Retpolines; IBPB: conditional; IBRS_FW; RSB filling; PBRSB-eIBRS: Not affected; BHI: Not affected"}
    cpu.mitigations: {"name":"srbds","state":"Vulnerable: No microcode"}
    cpu.smt_active: false
    cpu.turbo: true
    cpu_governor: "ondemand"
    cpu_model: "Intel(R) Xeon(R) CPU E3-1230 v3 @ 3.30GHz"
    disks: {"interrupts":[{"cpus":"0","name":"megasas0-msix0","number":31},{"cpus":"1","name":"megasas0-msix1","number":32}],"name":"sda","numa_node":null,"rotational":true,"scheduler":"mq-deadline","transport":"scsi","virtual_disk":null}
    disks: {"interrupts":[{"cpus":"0","name":"mpt2sas0-msix0","number":33}],"name":"sdb","numa_node":null,"rotational":true,"scheduler":"mq-deadline","transport":"sas","virtual_disk":null}
    disks: {"interrupts":[{"cpus":"0","name":"mpt2sas0-msix0","number":33}],"name":"sdc","numa_node":null,"rotational":false,"scheduler":"mq-deadline","transport":"sas","virtual_disk":null}
    disks: {"interrupts":[],"name":"sdd","numa_node":null,"rotational":true,"scheduler":"mq-deadline","transport":"usb","virtual_disk":null}
    filesystems: {"device":"sda1","discard":false,"flushes_disabled_by":"nobarrier","fs_type":"ext4","mount_point":"/","space":null}
    filesystems: {"device":"sdb","discard":false,"flushes_disabled_by":null,"fs_type":"ext4","mount_point":"/mnt/backup","space":null}
    filesystems: {"device":"sdc","discard":false,"flushes_disabled_by":null,"fs_type":"ext4","mount_point":"/tank","space":null}
    kernel_release: "6.8.12-9-pve"
    logical_cpus: 4
    memory.dirty_background_bytes: 0
    memory.dirty_background_percent: 20
    memory.dirty_bytes: 0
    memory.dirty_expire_ms: 600000
    memory.dirty_percent: 60
    memory.dirty_writeback_ms: 600000
    memory.laptop_mode: 5
    memory.transparent_huge_pages: "always"
    memory_bytes: 33554432000
    numa_nodes: {"cpus":"0-3","node":0}
    power.pcie_aspm_policy: "powersave"
    power.sata_links: {"host":"host2","policy":"min_power"}
    power.sata_links: {"host":"host3","policy":"min_power"}
    product_name: "X10SLM-F"
    system_vendor: "Supermicro"
    "#);
}

#[test]
fn an_office_server_with_raid5() {
    insta::assert_snapshot!(facts("md-raid5"), @r#"
    arrays: {"bitmap":"none","consistency_policy":"resync","degraded":0,"level":"raid5","members":["sda1","sdb1","sdc1"],"name":"md0","sync_action":"idle"}
    clocksource: "tsc"
    controllers: {"address":"0000:02:00.1","class":67073,"device_id":17387,"disks":["sda","sdb","sdc","sdd"],"driver":"ahci","numa_node":null,"vendor_id":4130}
    cpu.frequency: {"cpus":"0-7","driver":"amd-pstate-epp","governor":"powersave","preference":"power"}
    cpu.idle: {"driver":"acpi_idle","governor":"menu","states":[{"disabled":false,"exit_latency_us":0,"name":"POLL"},{"disabled":false,"exit_latency_us":1,"name":"C1"},{"disabled":false,"exit_latency_us":18,"name":"C2"},{"disabled":false,"exit_latency_us":350,"name":"C3"}]}
    cpu.mitigations: {"name":"spec_rstack_overflow","state":"Mitigation: Safe RET"}
    cpu.mitigations: {"name":"spectre_v2","state":"Mitigation: Retpolines; IBPB: conditional; IBRS_FW; STIBP: disabled; RSB filling"}
    cpu.smt_active: false
    cpu.turbo: false
    cpu_model: "AMD Ryzen 7 PRO 5850U with Radeon Graphics"
    disks: {"interrupts":[{"cpus":"3","name":"ahci[0000:02:00.1]","number":27}],"name":"sda","numa_node":null,"rotational":false,"scheduler":"bfq","transport":"sata","virtual_disk":null}
    disks: {"interrupts":[{"cpus":"3","name":"ahci[0000:02:00.1]","number":27}],"name":"sdb","numa_node":null,"rotational":false,"scheduler":"bfq","transport":"sata","virtual_disk":null}
    disks: {"interrupts":[{"cpus":"3","name":"ahci[0000:02:00.1]","number":27}],"name":"sdc","numa_node":null,"rotational":false,"scheduler":"bfq","transport":"sata","virtual_disk":null}
    disks: {"interrupts":[{"cpus":"3","name":"ahci[0000:02:00.1]","number":27}],"name":"sdd","numa_node":null,"rotational":false,"scheduler":"mq-deadline","transport":"sata","virtual_disk":null}
    filesystems: {"device":"sdd1","discard":false,"flushes_disabled_by":null,"fs_type":"ext4","mount_point":"/","space":null}
    filesystems: {"device":"dm-0","discard":true,"flushes_disabled_by":null,"fs_type":"ext4","mount_point":"/srv/office","space":null}
    kernel_release: "5.15.0-119-generic"
    logical_cpus: 8
    memory.dirty_background_bytes: 0
    memory.dirty_background_percent: 10
    memory.dirty_bytes: 0
    memory.dirty_expire_ms: 30000
    memory.dirty_percent: 20
    memory.dirty_writeback_ms: 5000
    memory.laptop_mode: 0
    memory.transparent_huge_pages: "always"
    memory_bytes: 33103544320
    power.on_battery: true
    power.sata_links: {"host":"host0","policy":"med_power_with_dipm"}
    power.sata_links: {"host":"host1","policy":"med_power_with_dipm"}
    power.sata_links: {"host":"host2","policy":"med_power_with_dipm"}
    power.sata_links: {"host":"host3","policy":"med_power_with_dipm"}
    product_name: "21A0CTO1WW"
    system_vendor: "LENOVO"
    "#);
}

#[test]
fn a_virtual_machine_with_every_kind_of_disk() {
    insta::assert_snapshot!(facts("cloud-vm"), @r#"
    clocksource: "kvm-clock"
    controllers: {"address":"0000:00:01.1","class":65920,"device_id":28688,"disks":["sdb"],"driver":"ata_piix","numa_node":null,"vendor_id":32902}
    controllers: {"address":"0000:00:04.0","class":65536,"device_id":4097,"disks":["vda"],"driver":"virtio-pci","numa_node":null,"vendor_id":6900}
    controllers: {"address":"0000:00:05.0","class":65536,"device_id":4100,"disks":["sda"],"driver":"virtio-pci","numa_node":null,"vendor_id":6900}
    cpu.idle: {"driver":"haltpoll","governor":"haltpoll","states":[{"disabled":false,"exit_latency_us":0,"name":"POLL"},{"disabled":false,"exit_latency_us":1,"name":"haltpoll"}]}
    cpu.mitigations: {"name":"mds","state":"Vulnerable: Clear CPU buffers attempted, no microcode; SMT Host state unknown"}
    cpu.mitigations: {"name":"meltdown","state":"Mitigation: PTI"}
    cpu.mitigations: {"name":"spectre_v2","state":"Mitigation: Retpolines; STIBP: disabled; RSB filling"}
    cpu.smt_active: false
    cpu_model: "QEMU Virtual CPU version 2.5+"
    disks: {"interrupts":[{"cpus":"0","name":"virtio1-config","number":27},{"cpus":"0","name":"virtio1-control","number":28},{"cpus":"0","name":"virtio1-event","number":29},{"cpus":"0","name":"virtio1-request","number":30}],"name":"sda","numa_node":null,"rotational":false,"scheduler":"mq-deadline","transport":"virtio","virtual_disk":"virtio-scsi"}
    disks: {"interrupts":[{"cpus":"0","name":"ata_piix","number":14},{"cpus":"0","name":"ata_piix","number":15}],"name":"sdb","numa_node":null,"rotational":true,"scheduler":"mq-deadline","transport":"sata","virtual_disk":"emulated-ata"}
    disks: {"interrupts":[{"cpus":"0","name":"virtio0-config","number":24},{"cpus":"0","name":"virtio0-req.0","number":25},{"cpus":"1","name":"virtio0-req.1","number":26}],"name":"vda","numa_node":null,"rotational":true,"scheduler":"none","transport":"virtio","virtual_disk":"virtio-blk"}
    filesystems: {"device":"vda1","discard":true,"flushes_disabled_by":null,"fs_type":"ext4","mount_point":"/","space":null}
    filesystems: {"device":"sda","discard":false,"flushes_disabled_by":null,"fs_type":"btrfs","mount_point":"/data","space":null}
    kernel_release: "6.1.0-25-cloud-amd64"
    logical_cpus: 2
    memory.dirty_background_bytes: 0
    memory.dirty_background_percent: 10
    memory.dirty_bytes: 0
    memory.dirty_expire_ms: 30000
    memory.dirty_percent: 20
    memory.dirty_writeback_ms: 5000
    memory.laptop_mode: 0
    memory.transparent_huge_pages: "madvise"
    memory_bytes: 4101120000
    numa_nodes: {"cpus":"0-1","node":0}
    product_name: "Standard PC (i440FX + PIIX, 1996)"
    system_vendor: "QEMU"
    virtualisation: "kvm"
    "#);
}

#[test]
fn absurd_files_give_no_facts() {
    let capture = captures::lay_out("nvme-server");
    for (path, nonsense) in [
        ("/sys/devices/system/cpu/cpufreq/policy0/affected_cpus", "4294967295-0"),
        ("/sys/devices/system/cpu/cpu0/cpuidle/state3/latency", "-1"),
        ("/sys/devices/system/cpu/intel_pstate/no_turbo", "perhaps"),
        ("/proc/sys/vm/dirty_ratio", "101"),
        ("/proc/sys/vm/dirty_expire_centisecs", "18446744073709551615"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise never"),
        ("/sys/devices/pci0000:30/0000:30:02.0/0000:31:00.0/class", "0x1000000000802"),
        ("/proc/interrupts", "no header\n120: 1 2 3"),
        ("/proc/self/mountinfo", "what?"),
    ] {
        capture.set(path, nonsense);
    }
    let facts = HostFacts::read(&SystemRoot::new(capture.path()));
    assert_eq!(facts.cpu.frequency[0].cpus, "1-27");
    assert_eq!(facts.cpu.idle.unwrap().states[3].exit_latency_us, None);
    assert_eq!(facts.cpu.turbo, None);
    assert_eq!((facts.memory.dirty_percent, facts.memory.dirty_expire_ms), (None, None));
    assert_eq!(facts.memory.transparent_huge_pages, None);
    assert_eq!(facts.controllers.len(), 3);
    assert!(facts.disks.iter().all(|disk| disk.interrupts.is_empty()));
    assert!(facts.filesystems.is_empty());
}

#[test]
fn this_machine_is_read() {
    let facts = HostFacts::read(&SystemRoot::default());
    assert!(facts.memory.dirty_bytes.is_some() && facts.kernel_release.is_some());
    let json = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<HostFacts>(&json).unwrap(), facts);
}
