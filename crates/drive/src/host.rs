//! Facts about the host that affect latency.

mod controllers;
mod cpu;
mod cpu_list;
mod disks;
mod facts;
mod filesystems;
mod interrupts;
mod memory;
mod power;
mod processors;

#[cfg(test)]
mod captured;

pub use facts::{
    Array, Controller, CpuFacts, DiskSettings, FilesystemFacts, FrequencyPolicy, IdleFacts,
    IdleState, Interrupt, MemoryFacts, Mitigation, NumaNode, PowerFacts, SataLink, VirtualDisk,
};
pub use processors::HostProcessors;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SystemRoot;

/// Facts about the machine. Nothing that identifies its owner: no host name, no addresses, no
/// serial numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostFacts {
    /// As printed by `uname -r`.
    pub kernel_release: Option<String>,
    /// Model of the first CPU, from `/proc/cpuinfo`; ARM does not provide it.
    pub cpu_model: Option<String>,
    /// Number of online CPUs.
    pub logical_cpus: Option<u32>,
    /// Memory managed by the kernel, in bytes.
    pub memory_bytes: Option<u64>,
    /// The kind of virtual machine; `None` on bare metal, as far as one can tell.
    pub virtualisation: Option<Virtualisation>,
    /// Manufacturer of the real or virtual machine (DMI `sys_vendor`).
    pub system_vendor: Option<String>,
    /// Model of the real or virtual machine (DMI `product_name`).
    pub product_name: Option<String>,
    /// The clock that times latencies: `tsc`, `kvm-clock`, `hpet`... Reading any but `tsc` and
    /// `arch_sys_counter` may cost a system call.
    pub clocksource: Option<String>,
    /// Frequency governor of the first CPU that has one: `performance`, `powersave`, `schedutil`...
    pub cpu_governor: Option<String>,
    /// Settings of the processors.
    #[serde(default)]
    pub cpu: CpuFacts,
    /// Writeback settings.
    #[serde(default)]
    pub memory: MemoryFacts,
    /// Power-saving settings.
    #[serde(default)]
    pub power: PowerFacts,
    #[serde(default)]
    pub numa_nodes: Vec<NumaNode>,
    /// Storage controllers on PCI.
    #[serde(default)]
    pub controllers: Vec<Controller>,
    /// Software RAID arrays.
    #[serde(default)]
    pub arrays: Vec<Array>,
    #[serde(default)]
    pub disks: Vec<DiskSettings>,
    /// Mounted filesystems on block devices.
    #[serde(default)]
    pub filesystems: Vec<FilesystemFacts>,
    /// Number of Ceph OSDs that this host has; `None` without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceph_osds: Option<u32>,
}

/// The kind of virtual machine, as far as it can be recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Virtualisation {
    /// Amazon's Nitro or Xen instances.
    AmazonEc2,
    GoogleCompute,
    /// Microsoft Hyper-V, including Azure.
    HyperV,
    VmWare,
    VirtualBox,
    Xen,
    /// QEMU or KVM, and the clouds built on them.
    Kvm,
    /// Apple's or Parallels' hypervisors.
    Parallels,
    /// An unknown hypervisor: only the CPU reports it (x86 `hypervisor` flag).
    Unnamed,
}

/// Counts the directories of OSDs: `osd/ceph-N` of packages, `FSID/osd.N` of cephadm.
fn ceph_osds(root: &SystemRoot) -> Option<u32> {
    let ceph = root.attributes("var/lib/ceph");
    let count = |below: &str, prefix: &str| {
        ceph.entries(below)
            .iter()
            .filter(|name| {
                name.strip_prefix(prefix).is_some_and(|number| number.parse::<u32>().is_ok())
            })
            .count()
    };
    let clusters = ceph.entries("").into_iter().map(|cluster| count(&cluster, "osd."));
    let osds = count("osd", "ceph-") + clusters.sum::<usize>();
    u32::try_from(osds).ok().filter(|&osds| osds > 0)
}

impl HostFacts {
    /// Reads what `root` contains; missing facts are `None`.
    pub fn read(root: &SystemRoot) -> Self {
        let all = root.attributes("");
        let cpuinfo = all.text("proc/cpuinfo").unwrap_or_default();
        let system_vendor = all.text("sys/class/dmi/id/sys_vendor");
        let product_name = all.text("sys/class/dmi/id/product_name");
        let virtualisation = virtualisation(
            all.text("sys/hypervisor/type").as_deref(),
            &format!(
                "{} {}",
                system_vendor.as_deref().unwrap_or_default(),
                product_name.as_deref().unwrap_or_default()
            ),
            field(&cpuinfo, "flags")
                .is_some_and(|flags| flags.split(' ').any(|flag| flag == "hypervisor")),
        );
        let disks = disks::attached(root);
        HostFacts {
            kernel_release: all.text("proc/sys/kernel/osrelease"),
            cpu_model: field(&cpuinfo, "model name").map(str::to_owned),
            logical_cpus: online_cpus(
                &all.text("sys/devices/system/cpu/online").unwrap_or_default(),
            )
            .or_else(|| {
                u32::try_from(cpuinfo.lines().filter(|line| line.starts_with("processor")).count())
                    .ok()
            })
            .filter(|&count| count > 0),
            memory_bytes: all.text("proc/meminfo").as_deref().and_then(total_memory_bytes),
            virtualisation,
            system_vendor,
            product_name,
            clocksource: all
                .text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
            cpu_governor: all.entries("sys/devices/system/cpu").into_iter().find_map(|cpu| {
                all.text(format!("sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor"))
            }),
            cpu: CpuFacts::read(root),
            memory: MemoryFacts::read(root),
            power: PowerFacts::read(root),
            numa_nodes: cpu::numa_nodes(root),
            controllers: controllers::controllers(root, &disks),
            arrays: disks::arrays(root),
            disks: disks::settings(root, &disks, virtualisation.is_some()),
            ceph_osds: ceph_osds(root),
            filesystems: filesystems::filesystems(root),
        }
    }
}

/// The value of the first `name : value` line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        (found.trim() == name && !value.trim().is_empty()).then(|| value.trim())
    })
}

fn total_memory_bytes(meminfo: &str) -> Option<u64> {
    field(meminfo, "MemTotal")?.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Counts a CPU list such as `0-3,8-11`; `None` if it is malformed.
fn online_cpus(list: &str) -> Option<u32> {
    list.split(',').try_fold(0u32, |total, range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
        total.checked_add(to.checked_sub(from)?.checked_add(1)?)
    })
}

/// The firmware's strings come first, because a cloud's name is more specific than its
/// hypervisor's; the bare flag comes last.
fn virtualisation(
    hypervisor_type: Option<&str>,
    dmi: &str,
    hypervisor_flag: bool,
) -> Option<Virtualisation> {
    const WORDS: &[(&str, Virtualisation)] = &[
        ("Google Compute Engine", Virtualisation::GoogleCompute),
        ("VMware", Virtualisation::VmWare),
        ("VirtualBox", Virtualisation::VirtualBox),
        ("innotek", Virtualisation::VirtualBox),
        ("Parallels", Virtualisation::Parallels),
        ("Apple Virtualization", Virtualisation::Parallels),
        ("Xen", Virtualisation::Xen),
        ("QEMU", Virtualisation::Kvm),
        ("KVM", Virtualisation::Kvm),
        ("OpenStack", Virtualisation::Kvm),
        ("DigitalOcean", Virtualisation::Kvm),
        ("Hetzner", Virtualisation::Kvm),
        ("Alibaba Cloud", Virtualisation::Kvm),
    ];
    // Amazon's and Microsoft's names also appear on bare metal (`m5.metal`, Surface): these need
    // the CPU flag as well. Graviton has no such flag, but the name of its bare-metal instances is
    // distinct.
    let amazon = dmi.contains("Amazon EC2") && !dmi.contains(".metal");
    let microsoft = dmi.contains("Microsoft Corporation") && dmi.contains("Virtual Machine");
    let named = || WORDS.iter().find(|(word, _)| dmi.contains(word)).map(|(_, kind)| *kind);
    if amazon {
        Some(Virtualisation::AmazonEc2)
    } else if microsoft {
        Some(Virtualisation::HyperV)
    } else if let Some(kind) = named() {
        Some(kind)
    } else if hypervisor_type == Some("xen") {
        Some(Virtualisation::Xen)
    } else {
        hypervisor_flag.then_some(Virtualisation::Unnamed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use captures::{Machine, built};

    use super::*;

    #[test]
    fn a_laptop_is_bare_metal() {
        let host = HostFacts::read(&SystemRoot::new(built::laptop().path()));
        insta::assert_snapshot!(serde_json::to_string_pretty(&host).unwrap(), @r#"
        {
          "kernel_release": "6.8.0-45-generic",
          "cpu_model": "12th Gen Intel(R) Core(TM) i7-1260P",
          "logical_cpus": 2,
          "memory_bytes": 16543383552,
          "virtualisation": null,
          "system_vendor": "LENOVO",
          "product_name": "21CBCTO1WW",
          "clocksource": "tsc",
          "cpu_governor": "powersave",
          "cpu": {
            "frequency": [],
            "idle": null,
            "smt_active": null,
            "turbo": null,
            "mitigations": []
          },
          "memory": {
            "dirty_percent": null,
            "dirty_background_percent": null,
            "dirty_bytes": null,
            "dirty_background_bytes": null,
            "dirty_expire_ms": null,
            "dirty_writeback_ms": null,
            "transparent_huge_pages": null,
            "laptop_mode": null
          },
          "power": {
            "on_battery": null,
            "pcie_aspm_policy": null,
            "nvme_ps_max_latency_us": null,
            "sata_links": []
          },
          "numa_nodes": [],
          "controllers": [],
          "arrays": [],
          "disks": [
            {
              "name": "nvme0n1",
              "transport": "nvme",
              "rotational": false,
              "scheduler": "none",
              "numa_node": null,
              "interrupts": [],
              "virtual_disk": null
            }
          ],
          "filesystems": [
            {
              "mount_point": "/",
              "fs_type": "ext4",
              "device": "nvme0n1p2",
              "flushes_disabled_by": null,
              "discard": false,
              "space": null
            },
            {
              "mount_point": "/boot/efi",
              "fs_type": "vfat",
              "device": "nvme0n1p1",
              "flushes_disabled_by": null,
              "discard": false,
              "space": null
            }
          ]
        }
        "#);
    }

    #[test]
    fn a_cloud_instance_is_named_after_its_cloud() {
        let host = HostFacts::read(&SystemRoot::new(built::cloud_vm().path()));
        assert_eq!(host.virtualisation, Some(Virtualisation::AmazonEc2));
        assert_eq!(host.product_name.as_deref(), Some("m7a.large"));
        assert_eq!(host.logical_cpus, Some(1));
    }

    #[test]
    fn an_empty_tree_gives_no_facts() {
        assert_eq!(HostFacts::read(&SystemRoot::new(Machine::new().path())), HostFacts::default());
    }

    #[test]
    fn hypervisors_differ_from_bare_metal() {
        for (kind, dmi, flag, expected) in [
            (None, "QEMU Standard PC (Q35 + ICH9, 2009)", true, Some(Virtualisation::Kvm)),
            (None, "Google Google Compute Engine", true, Some(Virtualisation::GoogleCompute)),
            (None, "Microsoft Corporation Virtual Machine", true, Some(Virtualisation::HyperV)),
            (None, "Microsoft Corporation Surface Laptop 5", false, None),
            (None, "VMware, Inc. VMware Virtual Platform", true, Some(Virtualisation::VmWare)),
            (None, "innotek GmbH VirtualBox", true, Some(Virtualisation::VirtualBox)),
            (Some("xen"), " ", false, Some(Virtualisation::Xen)),
            (None, "Amazon EC2 m7g.large", false, Some(Virtualisation::AmazonEc2)),
            (None, "Amazon EC2 m5.metal", false, None),
            (None, " ", true, Some(Virtualisation::Unnamed)),
            (None, "Dell Inc. PowerEdge R740", false, None),
        ] {
            assert_eq!(virtualisation(kind, dmi, flag), expected, "{dmi}");
        }
    }

    #[test]
    fn cpu_lists_are_counted() {
        assert_eq!(online_cpus("0-3,8-11"), Some(8));
        assert_eq!(online_cpus("0"), Some(1));
        for malformed in ["", "3-1", "a-b", "0-4294967295,0"] {
            assert_eq!(online_cpus(malformed), None, "{malformed}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}") {
            let _ = (online_cpus(&text), total_memory_bytes(&text), field(&text, "flags"));
        }
    }
}
