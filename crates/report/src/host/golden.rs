//! The pages of `flushmark host`, whole.

use drive::{HostFacts, SystemRoot};
use measurement::host_document::{Effect, SCHEMA};

use super::*;

fn document(name: &str) -> HostDocument {
    let capture = captures::lay_out(name);
    let facts = HostFacts::read(&SystemRoot::new(capture.path()));
    let audit = judge::audit(&facts);
    HostDocument { schema: SCHEMA.to_owned(), flushmark: "0.1.0".to_owned(), facts, audit, measured: None }
}

fn page(name: &str) -> String {
    host_page(&document(name), &Look::plain())
}

#[test]
fn a_server_with_two_sockets() {
    insta::assert_snapshot!(page("nvme-server"), @"
    host         Linux 6.12.48+deb13-amd64, 32 × Intel(R) Xeon(R) Gold 6334 CPU @ 3.60GHz, 503 GiB memory, governor powersave

    Costs latency
      NVMe power states (APST): states that take up to 100000 µs to enter and leave are allowed
        why: A drive that has been idle for some time sleeps; the first commit after a pause waits for
             it to wake, up to that long.
        to do: Forbid deep states with the kernel parameter nvme_core.default_ps_max_latency_us=0, or
               for one drive at once.
          $ echo 0 > /sys/class/nvme/nvme0/power/pm_qos_latency_tolerance_us
      C-states: allowed by intel_idle: POLL 0 µs, C1 1 µs, C1E 4 µs, C6 133 µs
        why: Each commit puts its CPU to sleep while the drive works; waking from C6 takes 133 µs, and a
             commit on protected flash only 20 to 100 µs.
        to do: See what it is worth here: `flushmark host --measure`. Then forbid the deep ones while
               the database runs.
          $ cpupower idle-set --disable-by-latency 21
      Turbo: off
        why: The path of a commit through the kernel is one core's work, and that core may not run above
             its nominal frequency.
        to do: Allow it in the firmware, or with `echo 0 >
               /sys/devices/system/cpu/intel_pstate/no_turbo` or `echo 1 >
               /sys/devices/system/cpu/cpufreq/boost`, whichever is there.
      nvme2n1: interrupts: 2 of its queues, on CPUs 0, 1
        why: Every completion is handled on the other socket, and the data crosses the link between the
             sockets before the commit can go on.
        to do: Move them to the drive's own node, by irqbalance or by hand for each of its interrupts.
          $ echo 8-15,24-31 > /proc/irq/141/smp_affinity_list
      Dirty memory: up to 100.7 GiB of dirty memory (vm.dirty_ratio is 20 %)
        why: A program that writes much without syncing may pile up 101 GiB; a drive that writes 500
             MB/s works on that for 216 s, and an fsync of the same filesystem waits behind it.
        to do: Begin to write back early, and let little pile up.
          $ sysctl vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456

    Good
      /: barriers                    ext4 sends flushes
      /boot/efi: barriers            vfat sends flushes
      /var/lib/postgresql: barriers  xfs sends flushes
      Controller before nvme0n1      144d:a80a at 0000:31:00.0, driver nvme
      Controller before nvme1n1      144d:a80a at 0000:32:00.0, driver nvme
      Controller before nvme2n1      144d:a80a at 0000:b1:00.0, driver nvme
      Controller before nvme3n1      1e0f:0007 at 0000:b2:00.0, driver nvme
      PCIe link power (ASPM)         policy default
      CPU frequency                  governor powersave of intel_pstate, preference balance_performance
                                     on CPUs 0-27
      CPU frequency                  governor powersave of intel_pstate, preference performance on CPUs
                                     28-31
      SMT                            two threads share a core
      Mitigations                    4 of this processor's weaknesses, 4 of them mitigated; spectre_v2
                                     cost time in system calls
      nvme0n1: I/O scheduler         none on flash
      nvme1n1: I/O scheduler         none on flash
      nvme2n1: I/O scheduler         none on flash
      nvme3n1: I/O scheduler         none on flash
      nvme0n1: NUMA node             node 0 of 2, which has CPUs 0-7,16-23 (`numactl --cpunodebind=0
                                     --membind=0 COMMAND`)
      nvme1n1: NUMA node             node 0 of 2, which has CPUs 0-7,16-23 (`numactl --cpunodebind=0
                                     --membind=0 COMMAND`)
      nvme2n1: NUMA node             node 1 of 2, which has CPUs 8-15,24-31 (`numactl --cpunodebind=1
                                     --membind=1 COMMAND`)
      nvme3n1: NUMA node             node 1 of 2, which has CPUs 8-15,24-31 (`numactl --cpunodebind=1
                                     --membind=1 COMMAND`)
      nvme0n1: interrupts            2 of its queues, on CPUs 0, 4
      nvme1n1: interrupts            2 of its queues, on CPUs 0, 4
      nvme3n1: interrupts            2 of its queues, on CPUs 8, 12
      Laptop mode                    off
      Huge pages                     transparent huge pages: madvise
      Kernel                         Linux 6.12.48+deb13-amd64
      Clock                          tsc
    ");
}

#[test]
fn a_box_behind_a_raid_card() {
    insta::assert_snapshot!(page("raid-card-homelab"), @"
    host         Linux 6.8.12-9-pve, 4 × Intel(R) Xeon(R) CPU E3-1230 v3 @ 3.30GHz, 31.2 GiB memory, governor ondemand

    Dangerous: data may be lost
      /: barriers: ext4 is mounted with `nobarrier`
        why: No sync there flushes the drive's cache: what was acknowledged is lost in a power cut, and
             the filesystem itself may be damaged.
        to do: Remove `nobarrier` from /etc/fstab; a drive with power-loss protection needs no such
               option to be fast.
          $ mount -o remount,barrier /
      RAID controller before sda: 1000:005d at 0000:01:00.0, driver megaraid_sas
        why: A RAID controller hides the drives: it answers flushes from its own memory, which is safe
             only while its battery or capacitor is, and often leaves the drives' own caches on unseen.
             What is measured is the controller's word.
        to do: See with the maker's tool (storcli, perccli, ssacli, arcconf) that the cache is protected
               by a healthy battery, that it falls back to write-through without one, and that the
               drives' own caches are off; or use the drives in HBA mode.

    Costs latency
      Host adapter before sdb, sdc: 1000:0072 at 0000:02:00.0, driver mpt3sas
        why: LSI SAS2008 (9211-8i and its kin) ends at about 280,000 IOPS over all drives behind it:
             several flash drives together are slower than each alone.
        to do: Spread flash drives over several adapters, or attach them to the mainboard.
      PCIe link power (ASPM): policy powersave
        why: An idle link sleeps and takes 2 to 100 µs to wake, before a write and again before its
             flush.
        to do: Keep links awake where commits matter.
          $ echo performance > /sys/module/pcie_aspm/parameters/policy
      SATA link power: min_power on host2, host3
        why: An idle SATA link sleeps; waking it takes up to 10 µs from partial sleep, and 10 ms from
             slumber (Serial ATA specification).
        to do: Keep the links of drives that commit awake.
          $ echo max_performance > /sys/class/scsi_host/host2/link_power_management_policy
      C-states: allowed by acpi_idle: POLL 0 µs, C1 1 µs, C2 148 µs
        why: Each commit puts its CPU to sleep while the drive works; waking from C2 takes 148 µs, and a
             commit on protected flash only 20 to 100 µs.
        to do: See what it is worth here: `flushmark host --measure`. Then forbid the deep ones while
               the database runs.
          $ cpupower idle-set --disable-by-latency 21
      CPU frequency: governor ondemand of acpi-cpufreq on CPUs 0-3
        why: A commit sleeps while the drive works, so that the CPU is slow when it wakes: each commit
             begins before the frequency has risen.
        to do: Where commits are on the critical path, keep the frequency up.
          $ cpupower frequency-set --governor performance
      Dirty memory: up to 18.8 GiB of dirty memory (vm.dirty_ratio is 60 %)
        why: A program that writes much without syncing may pile up 19 GiB; a drive that writes 500 MB/s
             works on that for 40 s, and an fsync of the same filesystem waits behind it.
        to do: Begin to write back early, and let little pile up.
          $ sysctl vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456
      Laptop mode: on (vm.laptop_mode is 5)
        why: The kernel gathers writes until a disk is awake anyway: they come in bursts that a commit
             then waits behind, and more is lost in a power cut.
        to do: Switch it off on a machine that commits.
          $ sysctl vm.laptop_mode=0
      Huge pages: transparent huge pages: always
        why: The kernel may stop a process for milliseconds while it gathers a huge page; databases see
             that as a late commit. Most of them ask for madvise or never.
        to do: Leave it to programs that ask for it.
          $ echo madvise > /sys/kernel/mm/transparent_hugepage/enabled

    Good
      /mnt/backup: barriers  ext4 sends flushes
      /tank: barriers        ext4 sends flushes
      Turbo                  allowed
      SMT                    one thread a core
      Mitigations            5 of this processor's weaknesses, 4 of them mitigated; meltdown, mds,
                             spectre_v2 cost time in system calls
      sda: I/O scheduler     mq-deadline on a rotating disk
      sdb: I/O scheduler     mq-deadline on a rotating disk
      sdc: I/O scheduler     mq-deadline on flash
      sdd: I/O scheduler     mq-deadline on a rotating disk
      sda: interrupts        2 of its queues, on CPUs 0, 1
      sdb: interrupts        1 of its queues, on CPU 0
      sdc: interrupts        1 of its queues, on CPU 0
      Kernel                 Linux 6.8.12-9-pve
      Clock                  tsc
    ");
}

#[test]
fn a_raid5() {
    insta::assert_snapshot!(page("md-raid5"), @"
    host         Linux 5.15.0-119-generic, 8 × AMD Ryzen 7 PRO 5850U with Radeon Graphics, 30.8 GiB memory

    Dangerous: data may be lost
      md0: consistency after a power cut: raid5 of sda1, sdb1, sdc1, policy resync
        why: A write to sda1 changes the parity of its stripe on sdc1 as well, and the two cannot be
             written at one moment. If power goes between them and sdb1 is lost before the array is made
             whole, what sdb1 held in that stripe is computed from a parity that fits no data: a block
             that nobody wrote is silently wrong, also one that was committed years ago. This is the
             write hole.
        to do: A partial parity log closes it, for up to 40 % of the write speed; so does a journal on a
               drive with power-loss protection.
          $ mdadm --grow --consistency-policy=ppl /dev/md0

    Costs latency
      /srv/office: discard: mounted with `discard`
        why: Freed blocks are discarded inside the journal's commit, which a sync waits for; some drives
             take milliseconds for that.
        to do: Mount without it and trim once a week.
          $ systemctl enable --now fstrim.timer
      Power supply: battery
        why: On battery, firmware and kernel lower frequencies and put links to sleep: what is measured
             now is not what the machine can do.
        to do: Plug it in before measuring.
      SATA link power: med_power_with_dipm on host0, host1, host2, host3
        why: An idle SATA link sleeps; waking it takes up to 10 µs from partial sleep, and 10 ms from
             slumber (Serial ATA specification).
        to do: Keep the links of drives that commit awake.
          $ echo max_performance > /sys/class/scsi_host/host0/link_power_management_policy
      C-states: allowed by acpi_idle: POLL 0 µs, C1 1 µs, C2 18 µs, C3 350 µs
        why: Each commit puts its CPU to sleep while the drive works; waking from C3 takes 350 µs, and a
             commit on protected flash only 20 to 100 µs.
        to do: See what it is worth here: `flushmark host --measure`. Then forbid the deep ones while
               the database runs.
          $ cpupower idle-set --disable-by-latency 21
      CPU frequency: governor powersave of amd-pstate-epp, preference power on CPUs 0-7
        why: A commit sleeps while the drive works, so that the CPU is slow when it wakes: each commit
             begins before the frequency has risen.
        to do: Where commits are on the critical path, keep the frequency up.
          $ cpupower frequency-set --governor performance
      Turbo: off
        why: The path of a commit through the kernel is one core's work, and that core may not run above
             its nominal frequency.
        to do: Allow it in the firmware, or with `echo 0 >
               /sys/devices/system/cpu/intel_pstate/no_turbo` or `echo 1 >
               /sys/devices/system/cpu/cpufreq/boost`, whichever is there.
      sda: I/O scheduler: bfq on flash
        why: bfq holds requests back to share a slow disk fairly; on flash that bookkeeping costs
             several microseconds a request, and a commit may wait for another's turn.
        to do: Let the drive order its own requests.
          $ echo none > /sys/block/sda/queue/scheduler
      sdb: I/O scheduler: bfq on flash
        why: bfq holds requests back to share a slow disk fairly; on flash that bookkeeping costs
             several microseconds a request, and a commit may wait for another's turn.
        to do: Let the drive order its own requests.
          $ echo none > /sys/block/sdb/queue/scheduler
      sdc: I/O scheduler: bfq on flash
        why: bfq holds requests back to share a slow disk fairly; on flash that bookkeeping costs
             several microseconds a request, and a commit may wait for another's turn.
        to do: Let the drive order its own requests.
          $ echo none > /sys/block/sdc/queue/scheduler
      Dirty memory: up to 6.2 GiB of dirty memory (vm.dirty_ratio is 20 %)
        why: A program that writes much without syncing may pile up 6 GiB; a drive that writes 500 MB/s
             works on that for 13 s, and an fsync of the same filesystem waits behind it.
        to do: Begin to write back early, and let little pile up.
          $ sysctl vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456
      Huge pages: transparent huge pages: always
        why: The kernel may stop a process for milliseconds while it gathers a huge page; databases see
             that as a late commit. Most of them ask for madvise or never.
        to do: Leave it to programs that ask for it.
          $ echo madvise > /sys/kernel/mm/transparent_hugepage/enabled

    Good
      /: barriers                           ext4 sends flushes
      /srv/office: barriers                 ext4 sends flushes
      Controller before sda, sdb, sdc, sdd  1022:43eb at 0000:02:00.1, driver ahci
      SMT                                   one thread a core
      Mitigations                           2 of this processor's weaknesses, 2 of them mitigated;
                                            spectre_v2 cost time in system calls
      sdd: I/O scheduler                    mq-deadline on flash
      sda: interrupts                       1 of its queues, on CPU 3
      sdb: interrupts                       1 of its queues, on CPU 3
      sdc: interrupts                       1 of its queues, on CPU 3
      sdd: interrupts                       1 of its queues, on CPU 3
      Laptop mode                           off
      Kernel                                Linux 5.15.0-119-generic
      Clock                                 tsc
    ");
}

#[test]
fn a_cloud_machine() {
    insta::assert_snapshot!(page("cloud-vm"), @"
    host         Linux 6.1.0-25-cloud-amd64, 2 × QEMU Virtual CPU version 2.5+, 3.82 GiB memory, KVM, clock kvm-clock

    Costs latency
      /: discard: mounted with `discard`
        why: Freed blocks are discarded inside the journal's commit, which a sync waits for; some drives
             take milliseconds for that.
        to do: Mount without it and trim once a week.
          $ systemctl enable --now fstrim.timer
      sdb: kind of virtual disk: an imitated IDE or SATA controller
        why: Each register of an imitated controller that the driver touches is an exit to the
             hypervisor, several for each request and each flush: 20 to 100 µs a commit.
        to do: Have the disk attached by virtio-blk or virtio-scsi (VMware: PVSCSI or NVMe).

    Cannot be seen from here
      sdb, vda, sda: the hypervisor's cache mode  cannot be seen from inside. A flush that leaves this
                                                  machine is honoured by the hypervisor's cache modes
                                                  none, directsync, writethrough and writeback, and
                                                  thrown away by unsafe; from inside nothing tells them
                                                  apart but a power cut of the host. Ask whoever runs
                                                  the host for the disk's cache mode (QEMU: `cache=`; it
                                                  must not be unsafe), and compare `flushmark check` on
                                                  the host.

    Good
      /: barriers                ext4 sends flushes
      /data: barriers            btrfs sends flushes
      Controller before sdb      8086:7010 at 0000:00:01.1, driver ata_piix
      Controller before vda      1af4:1001 at 0000:00:04.0, driver virtio-pci
      Controller before sda      1af4:1004 at 0000:00:05.0, driver virtio-pci
      C-states                   allowed by haltpoll: POLL 0 µs, haltpoll 1 µs
      SMT                        one thread a core
      Mitigations                3 of this processor's weaknesses, 2 of them mitigated; meltdown,
                                 spectre_v2 cost time in system calls
      sda: I/O scheduler         mq-deadline on a virtual disk
      sdb: I/O scheduler         mq-deadline on a virtual disk
      vda: I/O scheduler         none on a virtual disk
      sda: interrupts            1 of its queues, on CPU 0
      sdb: interrupts            2 of its queues, on CPU 0
      vda: interrupts            2 of its queues, on CPUs 0, 1
      Dirty memory               up to 0.8 GiB of dirty memory (vm.dirty_ratio is 20 %)
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
fn what_c_states_cost() {
    let effect = |before_us| {
        let test = Effect { test: "4 KiB write + fsync".to_owned(), before_us, after_us: 60.0 };
        let effect = CStateEffect { path: "/srv".to_owned(), rounds: 5, tests: vec![test] };
        measured(&effect, &Look::plain())
    };
    insta::assert_snapshot!(effect(131.0) + &effect(61.0), @"
    With C-states held off, measured in /srv
      median latency       as the host is set  held off   ratio
      4 KiB write + fsync              131 µs     60 µs  2.18 x
    Deep C-states cost up to 2.18 times the latency here. They were held off only while the tests ran (5
    turns each).
    With C-states held off, measured in /srv
      median latency       as the host is set  held off   ratio
      4 KiB write + fsync               61 µs     60 µs  1.02 x
    C-states make no noticeable difference here (5 turns each).
    ");
}

#[test]
fn nothing_known() {
    let mut nothing = document("cloud-vm");
    nothing.facts = HostFacts::default();
    nothing.audit.clear();
    insta::assert_snapshot!(host_page(&nothing, &Look::plain()), @"
    host         kernel unknown

    Nothing can be told of this machine: are /proc and /sys mounted?
    ");
}
