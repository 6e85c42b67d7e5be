//! Types for the host's settings that affect the latency or the safety of a commit.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Transport;

/// Settings of the processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CpuFacts {
    /// Frequency policies; processors with equal settings share one.
    pub frequency: Vec<FrequencyPolicy>,
    /// Idle states of the first processor that reports them.
    pub idle: Option<IdleFacts>,
    /// True if two threads currently share a core.
    pub smt_active: Option<bool>,
    /// True if frequencies above the nominal one are allowed.
    pub turbo: Option<bool>,
    /// Processor vulnerabilities, mitigated or open, from
    /// `/sys/devices/system/cpu/vulnerabilities`; those that do not affect this processor are left
    /// out.
    pub mitigations: Vec<Mitigation>,
}

/// Processors with the same frequency policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrequencyPolicy {
    /// A list such as `0-15,32`.
    pub cpus: String,
    /// `intel_pstate`, `amd-pstate-epp`, `acpi-cpufreq`...
    pub driver: Option<String>,
    /// `performance`, `powersave`, `schedutil`...
    pub governor: Option<String>,
    /// The hardware's energy preference, where it has one: `performance`, `balance_power`...
    pub preference: Option<String>,
    /// Highest frequency of these CPUs, turbo included, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_mhz: Option<u64>,
}

/// Idle states of a processor, and what selects them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleFacts {
    /// `intel_idle`, `acpi_idle`, `haltpoll`...
    pub driver: Option<String>,
    /// `menu`, `teo`, `haltpoll`...
    pub governor: Option<String>,
    /// From the lightest to the deepest.
    pub states: Vec<IdleState>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// `POLL`, `C1`, `C6`...
    pub name: String,
    /// Time to wake up from it.
    pub exit_latency_us: Option<u64>,
    pub disabled: bool,
}

/// One processor vulnerability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mitigation {
    /// The kernel's name: `spectre_v2`.
    pub name: String,
    /// The kernel's words: `Mitigation: Retpolines; ...`, `Vulnerable`.
    pub state: String,
}

/// Writeback settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct MemoryFacts {
    /// `vm.dirty_ratio`, in percent; 0 where a size in bytes is set instead.
    pub dirty_percent: Option<u64>,
    /// `vm.dirty_background_ratio`, in percent.
    pub dirty_background_percent: Option<u64>,
    /// `vm.dirty_bytes`; 0 where a percentage is set instead.
    pub dirty_bytes: Option<u64>,
    /// `vm.dirty_background_bytes`.
    pub dirty_background_bytes: Option<u64>,
    /// `vm.dirty_expire_centisecs`, in milliseconds.
    pub dirty_expire_ms: Option<u64>,
    /// `vm.dirty_writeback_centisecs`, in milliseconds; 0 means never.
    pub dirty_writeback_ms: Option<u64>,
    /// `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// `vm.laptop_mode`; above 0, writes wait until the disk is awake anyway.
    pub laptop_mode: Option<u64>,
}

/// Power-saving settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PowerFacts {
    /// True if the machine runs on battery; `None` where it has none or does not say.
    pub on_battery: Option<bool>,
    /// PCI Express link power: `default`, `performance`, `powersave`, `powersupersave`.
    pub pcie_aspm_policy: Option<String>,
    /// The longest wake-up latency of the NVMe power states that drives may enter autonomously; 0
    /// forbids all.
    pub nvme_ps_max_latency_us: Option<u64>,
    /// SATA link power policy of each host.
    pub sata_links: Vec<SataLink>,
}

/// The power policy of one SATA port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SataLink {
    /// The SCSI host: `host0`.
    pub host: String,
    /// `max_performance`, `med_power_with_dipm`, `min_power`...
    pub policy: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NumaNode {
    pub node: u32,
    /// Its processors, a list such as `0-15`; empty for a node that has only memory.
    pub cpus: String,
}

/// A storage controller on PCI.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Controller {
    /// `0000:03:00.0`.
    pub address: String,
    /// Class, subclass and interface: `0x010400` is a RAID controller.
    pub class: u32,
    /// PCI vendor ID.
    pub vendor_id: u16,
    /// PCI device ID.
    pub device_id: u16,
    pub driver: Option<String>,
    pub numa_node: Option<u32>,
    /// Kernel names of the attached disks.
    pub disks: Vec<String>,
}

impl Controller {
    /// PCI class and subclass of a RAID controller (PCI Code and ID Assignment Specification, 01h
    /// 04h).
    const RAID: u32 = 0x0104;

    /// Returns whether it hides the drives attached to it. Intel's VMD, and SATA ports in their
    /// firmware's RAID mode, have the class of a RAID controller but pass drives through: the
    /// drivers vmd and ahci serve them.
    pub fn is_raid(&self) -> bool {
        self.class >> 8 == Self::RAID && !matches!(self.driver.as_deref(), Some("vmd" | "ahci"))
    }
}

/// A software RAID array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Array {
    /// `md0`.
    pub name: String,
    /// `raid1`, `raid5`...
    pub level: Option<String>,
    /// Kernel names of its members.
    pub members: Vec<String>,
    /// Number of missing members.
    pub degraded: Option<u32>,
    /// `none`, `bitmap`, `journal`, `ppl` or `resync`: what keeps stripes consistent after a power
    /// cut.
    pub consistency_policy: Option<String>,
    /// Location of the write-intent bitmap: `none`, `file`, or an offset.
    pub bitmap: Option<String>,
    /// `idle`, `resync`, `recover`...
    pub sync_action: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiskSettings {
    /// Kernel name.
    pub name: String,
    /// The bus or driver of the disk.
    pub transport: Transport,
    /// As reported: virtual disks often claim to rotate.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
    /// NUMA node of its controller.
    pub numa_node: Option<u32>,
    pub interrupts: Vec<Interrupt>,
    /// The kind of virtual disk, if a hypervisor provides it.
    pub virtual_disk: Option<VirtualDisk>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interrupt {
    pub number: u32,
    /// Its name in `/proc/interrupts`: `nvme0q1`.
    pub name: String,
    /// The processors that it is actually routed to, as a list.
    pub cpus: Option<String>,
}

/// The kinds of disk that a hypervisor can provide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum VirtualDisk {
    VirtioBlk,
    VirtioScsi,
    /// An emulated IDE or AHCI controller.
    EmulatedAta,
    /// An emulated LSI or BusLogic controller.
    EmulatedScsi,
    /// An emulated or passed-through NVMe controller.
    Nvme,
    /// VMware's paravirtual SCSI.
    PvScsi,
    /// Hyper-V's storvsc.
    HyperV,
    /// Xen's blkfront.
    Xen,
}

impl VirtualDisk {
    /// Returns whether the hypervisor imitates a controller that exists as hardware.
    pub const fn is_emulated(self) -> bool {
        matches!(self, VirtualDisk::EmulatedAta | VirtualDisk::EmulatedScsi)
    }
}

/// A mounted filesystem on a block device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilesystemFacts {
    #[serde(with = "crate::lossy_path")]
    #[schemars(with = "String")]
    pub mount_point: PathBuf,
    /// `ext4`, `xfs`...
    pub fs_type: String,
    /// Kernel name of its device.
    pub device: Option<String>,
    /// The mount option that suppresses flushes, if there is one.
    pub flushes_disabled_by: Option<String>,
    /// True if freed blocks are discarded at once (mount option `discard`).
    pub discard: bool,
    /// Size and free space; `None` on another machine's captured tree.
    pub space: Option<crate::Space>,
}
