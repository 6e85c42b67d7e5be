//! Golden tests of the pages of `flushmark host`.

use drive::{HostFacts, SystemRoot};
use measurement::host_document::{Effect, SCHEMA};

use super::*;

fn document(name: &str) -> HostDocument {
    let capture = captures::lay_out(name);
    let facts = HostFacts::read(&SystemRoot::new(capture.path()));
    let audit = judge::audit(&facts);
    HostDocument {
        schema: SCHEMA.to_owned(),
        flushmark: "0.1.0".to_owned(),
        facts,
        audit,
        measured: None,
        measured_governor: None,
        not_measured: Vec::new(),
    }
}

fn page(name: &str) -> String {
    host_page(&document(name), &Look::plain())
}

#[test]
fn a_server_with_two_sockets() {
    insta::assert_snapshot!(page("nvme-server"), @"
    host         Linux 6.12.48+deb13-amd64, 32 × Intel(R) Xeon(R) Gold 6334 CPU @ 3.60GHz, 503 GiB
                 memory, governor powersave

    Costs latency
      NVMe power states (APST): states that take up to 100000 µs to enter and leave are allowed
        why: An idle drive goes to sleep, and the first commit after a pause waits up to that long for
             it to wake.
        to do: Disable deep states with the kernel parameter nvme_core.default_ps_max_latency_us=0, or
               immediately for one drive.
          $ echo 0 > /sys/class/nvme/nvme0/power/pm_qos_latency_tolerance_us
      C-states: allowed by intel_idle: POLL 0 µs, C1 1 µs, C1E 4 µs, C6 133 µs
        why: The CPU sleeps during each commit while the drive works. Waking from C6 takes 133 µs; a
             whole commit on protected flash takes 20 to 100 µs.
        to do: Measure the effect with `flushmark host --measure`, then disable the deep states while
               the database runs.
          $ cpupower idle-set --disable-by-latency 21
      Turbo: off
        why: The kernel's work for a commit runs on one core, and that core may not exceed its nominal
             frequency.
        to do: Enable it in the firmware, or with `echo 0 >
               /sys/devices/system/cpu/intel_pstate/no_turbo` or `echo 1 >
               /sys/devices/system/cpu/cpufreq/boost`, whichever file exists.
      nvme2n1: interrupts: 2 queue interrupts, on CPUs 0, 1
        why: Every completion is handled on the other socket, and the data crosses the link between the
             sockets before the commit can continue.
        to do: Move them to the drive's node, with irqbalance or by hand for each interrupt.
          $ echo 8-15,24-31 > /proc/irq/141/smp_affinity_list
      Dirty memory: up to 101 GiB of dirty memory (vm.dirty_ratio is 20 %)
        why: A program that writes without syncing may accumulate 101 GiB. A drive that writes 500 MB/s
             needs 216 s for that, and an fsync on the same filesystem waits for it.
        to do: Start write-back early and keep little dirty data.
          $ sysctl vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456

    Good
      /: barriers                    ext4 sends flushes
      /boot/efi: barriers            vfat sends flushes
      /var/lib/postgresql: barriers  xfs sends flushes
      Controller of nvme0n1          144d:a80a at 0000:31:00.0, driver nvme
      Controller of nvme1n1          144d:a80a at 0000:32:00.0, driver nvme
      Controller of nvme2n1          144d:a80a at 0000:b1:00.0, driver nvme
      Controller of nvme3n1          1e0f:0007 at 0000:b2:00.0, driver nvme
      PCIe link power (ASPM)         policy default
      CPU frequency                  governor powersave of intel_pstate, preference balance_performance
                                     on CPUs 0-27
      CPU frequency                  governor powersave of intel_pstate, preference performance on CPUs
                                     28-31
      SMT                            two threads per core
      Mitigations                    4 CPU vulnerabilities listed, 4 of them mitigated; spectre_v2 slows
                                     system calls down. Where only trusted code runs, measure with the
                                     kernel parameter mitigations=off; leave them on everywhere else.
      nvme0n1: I/O scheduler         none on flash
      nvme1n1: I/O scheduler         none on flash
      nvme2n1: I/O scheduler         none on flash
      nvme3n1: I/O scheduler         none on flash
      nvme0n1: NUMA node             node 0 of 2, with CPUs 0-7,16-23 (`numactl --cpunodebind=0
                                     --membind=0 COMMAND`)
      nvme1n1: NUMA node             node 0 of 2, with CPUs 0-7,16-23 (`numactl --cpunodebind=0
                                     --membind=0 COMMAND`)
      nvme2n1: NUMA node             node 1 of 2, with CPUs 8-15,24-31 (`numactl --cpunodebind=1
                                     --membind=1 COMMAND`)
      nvme3n1: NUMA node             node 1 of 2, with CPUs 8-15,24-31 (`numactl --cpunodebind=1
                                     --membind=1 COMMAND`)
      nvme0n1: interrupts            2 queue interrupts, on CPUs 0, 4
      nvme1n1: interrupts            2 queue interrupts, on CPUs 0, 4
      nvme3n1: interrupts            2 queue interrupts, on CPUs 8, 12
      Laptop mode                    off
      Huge pages                     transparent huge pages: madvise
      Kernel                         Linux 6.12.48+deb13-amd64
      Clock                          tsc
    ");
}

#[test]
fn a_box_behind_a_raid_card() {
    insta::assert_snapshot!(page("raid-card-homelab"), @"
    host         Linux 6.8.12-9-pve, 4 × Intel(R) Xeon(R) CPU E3-1230 v3 @ 3.30GHz, 31.2 GiB memory,
                 governor ondemand

    Dangerous: data may be lost
      /: barriers: ext4 is mounted with `nobarrier`
        why: No sync flushes the drive's cache: a power cut loses acknowledged commits and may damage
             the filesystem itself.
        to do: Remove `nobarrier` from /etc/fstab; a drive with power-loss protection is fast without
               it.
          $ mount -o remount,barrier /
      RAID controller in front of sda: 1000:005d at 0000:01:00.0, driver megaraid_sas
        why: A RAID controller hides the drives. It acknowledges flushes from its own memory, which is
             safe only as long as its battery or capacitor is healthy, and often leaves the drives'
             caches on. Measurements show the controller's cache.
        to do: Check with the vendor's tool (storcli, perccli, ssacli, arcconf) that the cache has a
               healthy battery, that it falls back to write-through without one, and that the drives'
               caches are off; or use the drives in HBA mode.

    Costs latency
      Host adapter in front of sdb, sdc: 1000:0072 at 0000:02:00.0, driver mpt3sas
        why: LSI SAS2008 (9211-8i and similar) saturates at about 280,000 IOPS over all attached drives:
             several flash drives together are slower than one alone.
        to do: Spread flash drives over several adapters, or attach them directly to the mainboard.
      PCIe link power (ASPM): policy powersave
        why: An idle link sleeps and takes 2 to 100 µs to wake, before a write and again before its
             flush.
        to do: Keep links awake if commits matter.
          $ echo performance > /sys/module/pcie_aspm/parameters/policy
      SATA link power: min_power on host2, host3
        why: An idle SATA link sleeps; it takes up to 10 µs to wake from partial, and 10 ms from slumber
             (Serial ATA specification).
        to do: Keep the links of drives that take commits awake.
          $ echo max_performance > /sys/class/scsi_host/host2/link_power_management_policy
      C-states: allowed by acpi_idle: POLL 0 µs, C1 1 µs, C2 148 µs
        why: The CPU sleeps during each commit while the drive works. Waking from C2 takes 148 µs; a
             whole commit on protected flash takes 20 to 100 µs.
        to do: Measure the effect with `flushmark host --measure`, then disable the deep states while
               the database runs.
          $ cpupower idle-set --disable-by-latency 21
      CPU frequency: governor ondemand of acpi-cpufreq on CPUs 0-3
        why: A commit sleeps while the drive works, and the CPU lowers its frequency meanwhile: each
             commit starts before the frequency has risen.
        to do: If commits are on the critical path, keep the frequency up.
          $ cpupower frequency-set --governor performance
      Dirty memory: up to 18.8 GiB of dirty memory (vm.dirty_ratio is 60 %)
        why: A program that writes without syncing may accumulate 18.8 GiB. A drive that writes 500 MB/s
             needs 40 s for that, and an fsync on the same filesystem waits for it.
        to do: Start write-back early and keep little dirty data.
          $ sysctl vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456
      Laptop mode: on (vm.laptop_mode is 5)
        why: The kernel delays writes until a disk is awake. They then arrive in bursts that commits
             wait behind, and a power cut loses more.
        to do: Switch it off on a machine where commits matter.
          $ sysctl vm.laptop_mode=0
      Huge pages: transparent huge pages: always
        why: The kernel may stall a process for milliseconds while it assembles a huge page; a database
             sees that as a slow commit. Most databases recommend madvise or never.
        to do: Limit them to programs that request them.
          $ echo madvise > /sys/kernel/mm/transparent_hugepage/enabled

    Good
      /mnt/backup: barriers  ext4 sends flushes
      /tank: barriers        ext4 sends flushes
      Turbo                  allowed
      SMT                    one thread per core
      Mitigations            5 CPU vulnerabilities listed, 4 of them mitigated; meltdown, mds,
                             spectre_v2 slow system calls down. Where only trusted code runs, measure
                             with the kernel parameter mitigations=off; leave them on everywhere else.
      sda: I/O scheduler     mq-deadline on a rotating disk
      sdb: I/O scheduler     mq-deadline on a rotating disk
      sdc: I/O scheduler     mq-deadline on flash
      sdd: I/O scheduler     mq-deadline on a rotating disk
      sda: interrupts        2 queue interrupts, on CPUs 0, 1
      sdb: interrupts        1 queue interrupt, on CPU 0
      sdc: interrupts        1 queue interrupt, on CPU 0
      Kernel                 Linux 6.8.12-9-pve
      Clock                  tsc
    ");
}

#[test]
fn a_raid5() {
    insta::assert_snapshot!(page("md-raid5"), @"
    host         Linux 5.15.0-119-generic, 8 × AMD Ryzen 7 PRO 5850U with Radeon Graphics, 30.8 GiB
                 memory

    Dangerous: data may be lost
      md0: consistency after a power cut: raid5 of sda1, sdb1, sdc1, policy resync
        why: A write to sda1 also changes the parity of its stripe on sdc1, and the two cannot be
             written atomically. If power fails between them and sdb1 is lost before the array is
             resynchronised, the blocks of sdb1 in that stripe are reconstructed from parity that does
             not match the data: a block that was not being written is silently wrong, even one
             committed years ago. This is the write hole.
        to do: A partial parity log closes it at a cost of up to 40 % of the write speed; so does a
               journal on a drive with power-loss protection.
          $ mdadm --grow --consistency-policy=ppl /dev/md0

    Costs latency
      /srv/office: discard: mounted with `discard`
        why: Freed blocks are discarded during the journal's commit, and a sync waits for that; on some
             drives it takes milliseconds.
        to do: Mount without `discard` and trim once a week.
          $ systemctl enable --now fstrim.timer
      Power supply: battery
        why: On battery, firmware and kernel lower frequencies and put links to sleep: measurements do
             not show what the machine can do.
        to do: Plug it in before measuring.
      SATA link power: med_power_with_dipm on host0, host1, host2, host3
        why: An idle SATA link sleeps; it takes up to 10 µs to wake from partial, and 10 ms from slumber
             (Serial ATA specification).
        to do: Keep the links of drives that take commits awake.
          $ echo max_performance > /sys/class/scsi_host/host0/link_power_management_policy
      C-states: allowed by acpi_idle: POLL 0 µs, C1 1 µs, C2 18 µs, C3 350 µs
        why: The CPU sleeps during each commit while the drive works. Waking from C3 takes 350 µs; a
             whole commit on protected flash takes 20 to 100 µs.
        to do: Measure the effect with `flushmark host --measure`, then disable the deep states while
               the database runs.
          $ cpupower idle-set --disable-by-latency 21
      CPU frequency: governor powersave of amd-pstate-epp, preference power on CPUs 0-7
        why: A commit sleeps while the drive works, and the CPU lowers its frequency meanwhile: each
             commit starts before the frequency has risen.
        to do: If commits are on the critical path, keep the frequency up.
          $ cpupower frequency-set --governor performance
      Turbo: off
        why: The kernel's work for a commit runs on one core, and that core may not exceed its nominal
             frequency.
        to do: Enable it in the firmware, or with `echo 0 >
               /sys/devices/system/cpu/intel_pstate/no_turbo` or `echo 1 >
               /sys/devices/system/cpu/cpufreq/boost`, whichever file exists.
      sda: I/O scheduler: bfq on flash
        why: bfq holds requests back to share a slow disk fairly; on flash its bookkeeping costs several
             microseconds per request, and a commit may wait for other processes.
        to do: Let the drive order the requests.
          $ echo none > /sys/block/sda/queue/scheduler
      sdb: I/O scheduler: bfq on flash
        why: bfq holds requests back to share a slow disk fairly; on flash its bookkeeping costs several
             microseconds per request, and a commit may wait for other processes.
        to do: Let the drive order the requests.
          $ echo none > /sys/block/sdb/queue/scheduler
      sdc: I/O scheduler: bfq on flash
        why: bfq holds requests back to share a slow disk fairly; on flash its bookkeeping costs several
             microseconds per request, and a commit may wait for other processes.
        to do: Let the drive order the requests.
          $ echo none > /sys/block/sdc/queue/scheduler
      Dirty memory: up to 6.17 GiB of dirty memory (vm.dirty_ratio is 20 %)
        why: A program that writes without syncing may accumulate 6.17 GiB. A drive that writes 500 MB/s
             needs 13 s for that, and an fsync on the same filesystem waits for it.
        to do: Start write-back early and keep little dirty data.
          $ sysctl vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456
      Huge pages: transparent huge pages: always
        why: The kernel may stall a process for milliseconds while it assembles a huge page; a database
             sees that as a slow commit. Most databases recommend madvise or never.
        to do: Limit them to programs that request them.
          $ echo madvise > /sys/kernel/mm/transparent_hugepage/enabled

    Good
      /: barriers                       ext4 sends flushes
      /srv/office: barriers             ext4 sends flushes
      Controller of sda, sdb, sdc, sdd  1022:43eb at 0000:02:00.1, driver ahci
      SMT                               one thread per core
      Mitigations                       2 CPU vulnerabilities listed, 2 of them mitigated; spectre_v2
                                        slows system calls down. Where only trusted code runs, measure
                                        with the kernel parameter mitigations=off; leave them on
                                        everywhere else.
      sdd: I/O scheduler                mq-deadline on flash
      sda: interrupts                   1 queue interrupt, on CPU 3
      sdb: interrupts                   1 queue interrupt, on CPU 3
      sdc: interrupts                   1 queue interrupt, on CPU 3
      sdd: interrupts                   1 queue interrupt, on CPU 3
      Laptop mode                       off
      Kernel                            Linux 5.15.0-119-generic
      Clock                             tsc
    ");
}

#[test]
fn a_cloud_machine() {
    insta::assert_snapshot!(page("cloud-vm"), @"
    host         Linux 6.1.0-25-cloud-amd64, 2 × QEMU Virtual CPU version 2.5+, 3.82 GiB memory, KVM,
                 clock kvm-clock

    Costs latency
      /: discard: mounted with `discard`
        why: Freed blocks are discarded during the journal's commit, and a sync waits for that; on some
             drives it takes milliseconds.
        to do: Mount without `discard` and trim once a week.
          $ systemctl enable --now fstrim.timer
      sdb: kind of virtual disk: an emulated IDE or SATA controller
        why: Every access to a register of an emulated controller is an exit to the hypervisor, several
             for each request and flush: 20 to 100 µs per commit.
        to do: Attach the disk with virtio-blk or virtio-scsi. libvirt: `<target dev='vda'
               bus='virtio'/>`, or `bus='scsi'` with `<controller type='scsi' model='virtio-scsi'/>`.
               QEMU: `-device virtio-blk-pci,drive=ID`, or `-device virtio-scsi-pci -device
               scsi-hd,drive=ID`. VMware: PVSCSI or NVMe. Check first that the guest's initramfs has the
               driver, and that it mounts by UUID: the disk's name changes.

    Unknown from this host
      sdb, vda, sda: the hypervisor's cache mode  not visible in the guest. The hypervisor's cache modes
                                                  none, directsync, writethrough and writeback honour a
                                                  flush; unsafe discards it. Inside the guest, only a
                                                  power cut of the host shows the difference. Ask the
                                                  host's administrator for the disk's cache mode (QEMU:
                                                  `cache=`; it must not be unsafe), and compare with
                                                  `flushmark check` on the host.

    Good
      /: barriers                ext4 sends flushes
      /data: barriers            btrfs sends flushes
      Controller of sdb          8086:7010 at 0000:00:01.1, driver ata_piix
      Controller of vda          1af4:1001 at 0000:00:04.0, driver virtio-pci
      Controller of sda          1af4:1004 at 0000:00:05.0, driver virtio-pci
      C-states                   allowed by haltpoll: POLL 0 µs, haltpoll 1 µs
      SMT                        one thread per core
      Mitigations                3 CPU vulnerabilities listed, 2 of them mitigated; meltdown, spectre_v2
                                 slow system calls down. Where only trusted code runs, measure with the
                                 kernel parameter mitigations=off; leave them on everywhere else.
      sda: I/O scheduler         mq-deadline on a virtual disk
      sdb: I/O scheduler         mq-deadline on a virtual disk
      vda: I/O scheduler         none on a virtual disk
      sda: interrupts            1 queue interrupt, on CPU 0
      sdb: interrupts            2 queue interrupts, on CPU 0
      vda: interrupts            2 queue interrupts, on CPUs 0, 1
      Dirty memory               up to 782 MiB of dirty memory (vm.dirty_ratio is 20 %)
      Laptop mode                off
      Huge pages                 transparent huge pages: madvise
      vda: kind of virtual disk  virtio-blk
      sda: kind of virtual disk  virtio-scsi
      Kernel                     Linux 6.1.0-25-cloud-amd64
      Clock                      kvm-clock
      Machine                    a virtual machine under QEMU or KVM
    ");
}

#[test]
fn what_settings_cost() {
    let mut nothing = document("cloud-vm");
    nothing.audit.clear();
    let effect = |rounds: &[(f64, f64)]| SettingEffect {
        path: "/srv".to_owned(),
        rounds: rounds.len() as u32,
        tests: Effect::of_rounds("4 KiB write + fsync".to_owned(), rounds).into_iter().collect(),
    };
    nothing.measured = Some(effect(&[(131.0, 60.0), (129.0, 61.0), (140.0, 59.0)]));
    nothing.measured_governor = Some(effect(&[(67.0, 60.0), (61.0, 60.0), (59.0, 60.0)]));
    nothing.not_measured.push("every CPU already has the governor performance".to_owned());
    insta::assert_snapshot!(host_page(&nothing, &Look::plain()), @"
    host         Linux 6.1.0-25-cloud-amd64, 2 × QEMU Virtual CPU version 2.5+, 3.82 GiB memory, KVM,
                 clock kvm-clock

    No facts about this machine: are /proc and /sys mounted?

    With C-states held off, measured in /srv
      median latency       as the host is set  changed   ratio  in single rounds
      4 KiB write + fsync              131 µs    60 µs  2.18 x    2.11 to 2.37 x
    Deep C-states increase the latency up to 2.18 times. The setting was changed only during the tests
    (3 rounds each).

    With the governor performance, measured in /srv
      median latency       as the host is set  changed   ratio  in single rounds
      4 KiB write + fsync               61 µs    60 µs  1.02 x    0.98 to 1.12 x
    No effect: the difference is within the noise of 3 rounds each.

    Not measured
      every CPU already has the governor performance
    ");
}

#[test]
fn nothing_known() {
    let mut nothing = document("cloud-vm");
    nothing.facts = HostFacts::default();
    nothing.audit.clear();
    insta::assert_snapshot!(host_page(&nothing, &Look::plain()), @"
    host         kernel unknown

    No facts about this machine: are /proc and /sys mounted?
    ");
}
