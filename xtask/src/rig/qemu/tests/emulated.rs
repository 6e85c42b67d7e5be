//! Drives of `flushmark emulate`, used by a real kernel: QEMU speaks NBD to them.

use anyhow::{Context as _, ensure};

use super::cache::name;
use crate::rig::qemu::guest::Guest;

/// Creates, fills, unmounts, mounts again and checks both filesystems, and checks the kernel's view
/// of each drive.
pub fn filesystems(guest: &mut Guest) -> anyhow::Result<()> {
    for (serial, filesystem, options, fua, check) in [
        ("EMUBLK", "ext4", "-q", "0", "blkid -p -o value -s TYPE"),
        ("EMUSCSI", "xfs", "-q", "1", "xfs_repair -n"),
        ("EMUBLK", "xfs", "-q -f", "0", "xfs_repair -n"),
    ] {
        let device = guest.device(serial)?;
        let queue = |what: &str| format!("cat /sys/block/{}/queue/{what}", name(&device));
        let cache = guest.must(&queue("write_cache"))?;
        ensure!(cache == "write back", "{serial}: {cache}");
        // virtio disks have no FUA, so the kernel flushes after the write.
        let told = guest.must(&queue("fua"))?;
        ensure!(told == fua, "{serial}: FUA {told}");
        let written = guest.must(&format!(
            "mkfs.{filesystem} {options} {device} >/dev/null 2>&1 && mkdir -p /mnt/emulated && \
             mount -t {filesystem} {device} /mnt/emulated && \
             dd if=/dev/urandom of=/mnt/emulated/data bs=64k count=200 conv=fsync 2>/dev/null && \
             sha256sum < /mnt/emulated/data && umount /mnt/emulated"
        ))?;
        let read = guest.must(&format!(
            "echo 3 > /proc/sys/vm/drop_caches; mount -t {filesystem} {device} /mnt/emulated && \
             sha256sum < /mnt/emulated/data; umount /mnt/emulated"
        ))?;
        ensure!(
            written == read && written.len() > 60,
            "{serial}: {written} was written, {read} came back"
        );
        guest.must(&format!("{check} {device} >/dev/null 2>&1"))?;
        let flushes =
            guest.must(&format!("awk '{{print $16}}' /sys/block/{}/stat", name(&device)))?;
        let flushes: u64 =
            flushes.parse().with_context(|| format!("{serial}: `{flushes}` flushes"))?;
        ensure!(flushes > 0, "{serial}: the kernel sent no flush");
        guest.must(&format!("wipefs -qa {device}"))?;
    }
    Ok(())
}
