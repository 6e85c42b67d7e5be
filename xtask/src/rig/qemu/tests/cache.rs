//! `flushmark cache`, compared with the tools that are commonly used for it.

use anyhow::{Context as _, ensure};

use crate::rig::qemu::guest::Guest;

/// The drives whose caches are switched, and the reference tool for each.
const SWITCHED: [(&str, Tool); 9] = [
    ("NVMEON", Tool::Nvme),
    ("SATAON", Tool::Hdparm),
    ("SASON", Tool::Sdparm),
    ("MEGARAID", Tool::Sdparm),
    ("USB", Tool::Sdparm),
    ("VSCSION", Tool::Sdparm),
    ("VBLKON", Tool::Sysfs),
    ("VBLKNONE", Tool::Sysfs),
    ("VSCSIUNSAFE", Tool::Sdparm),
];

#[derive(Debug, Clone, Copy)]
pub enum Tool {
    /// `hdparm -W`: ATA.
    Hdparm,
    /// `sdparm --get WCE`: SCSI.
    Sdparm,
    /// `nvme get-feature -f 6`.
    Nvme,
    /// virtio-blk has no tool; its driver shows what was negotiated with the host.
    Sysfs,
}

/// True if the drive's cache is on according to the tool.
pub fn is_on(guest: &mut Guest, tool: Tool, device: &str) -> anyhow::Result<bool> {
    let (script, on, off) = match tool {
        Tool::Hdparm => (format!("hdparm -W {device}"), "=  1 (on)", "=  0 (off)"),
        Tool::Sdparm => (
            format!("sdparm --get WCE {device} | awk '/^WCE/ {{print \"WCE\", $2}}'"),
            "WCE 1",
            "WCE 0",
        ),
        Tool::Nvme => {
            (format!("nvme get-feature {device} -f 6"), "value:0x00000001", "value:00000000")
        }
        Tool::Sysfs => {
            (format!("cat /sys/block/{}/cache_type", name(device)), "write back", "write through")
        }
    };
    let text = guest.must(&script)?;
    match (text.contains(on), text.contains(off)) {
        (true, false) => Ok(true),
        (false, true) => Ok(false),
        _ => anyhow::bail!("`{script}` printed neither `{on}` nor `{off}`: {text}"),
    }
}

/// Switches the cache with the tool.
fn switch(guest: &mut Guest, tool: Tool, device: &str, on: bool) -> anyhow::Result<()> {
    let script = match tool {
        Tool::Hdparm => format!("hdparm -W{} {device}", u8::from(on)),
        Tool::Sdparm => format!("sdparm --{} WCE {device}", if on { "set" } else { "clear" }),
        Tool::Nvme => format!("nvme set-feature {} -f 6 -v {}", controller(device), u8::from(on)),
        Tool::Sysfs => {
            let word = if on { "write back" } else { "write through" };
            format!("echo {word} > /sys/block/{}/cache_type", name(device))
        }
    };
    guest.must(&script).map(drop)
}

/// `sda` for `/dev/sda`.
pub fn name(device: &str) -> &str {
    device.trim_start_matches("/dev/")
}

/// `/dev/nvme0` for `/dev/nvme0n1`: the feature belongs to the controller.
fn controller(device: &str) -> &str {
    device.rsplit_once('n').map_or(device, |(controller, _)| controller)
}

/// The kernel's view of the cache.
pub fn kernel_believes(guest: &mut Guest, device: &str) -> anyhow::Result<String> {
    guest.must(&format!("cat /sys/block/{}/queue/write_cache", name(device)))
}

pub fn seen_by_others(guest: &mut Guest) -> anyhow::Result<()> {
    for (serial, tool) in SWITCHED {
        let device = guest.device(serial)?;
        ensure!(is_on(guest, tool, &device)?, "{serial} should start with its cache on");
        let said = guest.must(&format!("flushmark cache off {device}"))?;
        ensure!(said.contains("the drive confirms"), "{serial}: {said}");
        ensure!(!is_on(guest, tool, &device)?, "{serial}: {tool:?} sees it on after `cache off`");
        // The kernel follows where it has the switch. NVMe's driver uses what the controller
        // supports, not what is set.
        let expected = if matches!(tool, Tool::Nvme) { "write back" } else { "write through" };
        let believed = kernel_believes(guest, &device)?;
        ensure!(believed == expected, "{serial}: the kernel believes {believed} after `cache off`");
        let again = guest.must(&format!("flushmark cache off {device}"))?;
        ensure!(again.contains("already off"), "{serial}: {again}");
        guest.must(&format!("flushmark cache restore {device}"))?;
        ensure!(
            is_on(guest, tool, &device)?,
            "{serial}: {tool:?} sees it off after `cache restore`"
        );
        ensure!(
            kernel_believes(guest, &device)? == "write back",
            "{serial}: the kernel did not follow back"
        );
        let nothing = guest.must("flushmark cache restore")?;
        ensure!(nothing.contains("Nothing to restore"), "{serial}: {nothing}");
    }
    // The other direction: off by default, switched on and restored.
    for (serial, tool) in
        [("SATAOFF", Tool::Hdparm), ("SASOFF", Tool::Sdparm), ("NVMEOFF", Tool::Nvme)]
    {
        let device = guest.device(serial)?;
        ensure!(!is_on(guest, tool, &device)?, "{serial} should start with its cache off");
        guest.must(&format!("flushmark cache on {device}"))?;
        ensure!(is_on(guest, tool, &device)?, "{serial}: {tool:?} sees it off after `cache on`");
        ensure!(
            kernel_believes(guest, &device)? == "write back",
            "{serial}: the kernel would send no flushes"
        );
        guest.must(&format!("flushmark cache off {device}"))?;
        ensure!(!is_on(guest, tool, &device)?, "{serial}: {tool:?} sees it on after `cache off`");
        let nothing = guest.must("flushmark cache restore")?;
        ensure!(
            nothing.contains("Nothing to restore"),
            "switched back by hand, and still on record: {nothing}"
        );
    }
    Ok(())
}

pub fn sees_others(guest: &mut Guest) -> anyhow::Result<()> {
    for (serial, tool) in SWITCHED {
        let device = guest.device(serial)?;
        for on in [false, true] {
            switch(guest, tool, &device, on)?;
            let document = guest.json(&format!("flushmark cache status {device} --format json"))?;
            let seen = &document["drives"][0]["cache"]["drive"];
            ensure!(
                seen.pointer("/told/enabled").and_then(serde_json::Value::as_bool) == Some(on),
                "{serial}: {tool:?} made it {on}, and flushmark sees {seen}"
            );
        }
    }
    Ok(())
}

pub fn in_use(guest: &mut Guest) -> anyhow::Result<()> {
    let sata = guest.device("SATAON")?;
    guest.must(&format!("mkfs.ext4 -q {sata}"))?;
    let signed = guest.refused(&format!("flushmark cache off {sata}"), 3)?;
    ensure!(signed.contains("ext4") && signed.contains("--in-use"), "{signed}");
    guest.must(&format!("mkdir -p /mnt/in-use && mount {sata} /mnt/in-use"))?;
    let mounted = guest.refused(&format!("flushmark cache off {sata}"), 3)?;
    ensure!(mounted.contains("is mounted on /mnt/in-use"), "{mounted}");
    ensure!(is_on(guest, Tool::Hdparm, &sata)?, "a refused switch switched");
    guest
        .must(&format!("flushmark cache off --in-use {sata} && flushmark cache restore {sata}"))?;
    ensure!(is_on(guest, Tool::Hdparm, &sata)?, "not restored");
    guest.must(&format!("umount /mnt/in-use && wipefs -qa {sata}"))?;

    let sas = guest.device("SASON")?;
    guest.must(&format!("echo 0 200000 linear {sas} 0 | dmsetup create holder"))?;
    let held = guest.refused(&format!("flushmark cache off {sas}"), 3)?;
    guest.must("dmsetup remove holder")?;
    ensure!(held.contains("is held by"), "{held}");

    let usb = guest.device("USB")?;
    guest.must(&format!("mkswap {usb} && swapon {usb}"))?;
    let swapped = guest.refused(&format!("flushmark cache off {usb}"), 3)?;
    guest.must(&format!("swapoff {usb} && wipefs -qa {usb}"))?;
    ensure!(swapped.contains("is in use as swap"), "{swapped}");
    Ok(())
}

pub fn nothing_to_switch(guest: &mut Guest) -> anyhow::Result<()> {
    guest.must("load null_blk && truncate -s 10M /tmp/image && losetup /dev/loop0 /tmp/image")?;
    let devices = ["/dev/nullb0".to_owned(), "/dev/loop0".to_owned(), guest.device("VBLKOFF")?];
    for device in devices {
        for script in
            [format!("flushmark cache off {device}"), format!("flushmark cache on {device}")]
        {
            let refused = guest.refused(&script, 2)?;
            ensure!(refused.contains(&device), "{script}: {refused}");
        }
    }
    guest.must("losetup -d /dev/loop0 && rm /tmp/image && rmmod null_blk")?;
    let nonsense = guest.refused("flushmark cache off /dev/null", 2)?;
    ensure!(nonsense.contains("/dev/null"), "{nonsense}");
    guest.refused("flushmark cache off /dev/nosuch", 2).map(drop)
}

pub fn ordinary_user(guest: &mut Guest) -> anyhow::Result<()> {
    for serial in ["NVMEON", "SATAON", "SASON", "VBLKON"] {
        let device = guest.device(serial)?;
        let said = guest.refused(
            &format!("/bin/setpriv --reuid 65534 --clear-groups flushmark cache off {device}"),
            4,
        )?;
        ensure!(said.contains("root"), "{serial}: {said}");
    }
    Ok(())
}

pub fn udev_rule(guest: &mut Guest) -> anyhow::Result<()> {
    for (serial, command) in
        [("SATAON", "scsi_disk"), ("NVMEON", "nvme set-feature"), ("VBLKON", "cache_type")]
    {
        let device = guest.device(serial)?;
        let rule = guest.must(&format!("flushmark cache off {device} --udev-rule"))?;
        ensure!(
            rule.contains(&format!("==\"{serial}\"")) && rule.contains(command),
            "{serial}: {rule}"
        );
        // The command of the rule works when a shell runs it as udev would.
        let run = rule.split("RUN+=\"").nth(1).context("no RUN in the rule")?.trim_end_matches('"');
        let node = if serial == "NVMEON" { controller(&device) } else { &device };
        let run =
            run.replace("%k", name(node)).replace("$$", "$").replace("/usr/sbin/nvme", "nvme");
        guest.must(&run)?;
        let tool = SWITCHED
            .iter()
            .find(|(known, _)| *known == serial)
            .map(|(_, tool)| *tool)
            .context("no tool")?;
        ensure!(
            !is_on(guest, tool, &device)?,
            "{serial}: the rule's command did not switch it off: {run}"
        );
        switch(guest, tool, &device, true)?;
    }
    Ok(())
}

pub fn kernel_would_not_flush(guest: &mut Guest) -> anyhow::Result<()> {
    let nvme = guest.device("NVMEON")?;
    guest.must(&format!("flushmark cache off {nvme}"))?;
    guest.must(&format!("echo write through > /sys/block/{}/queue/write_cache", name(&nvme)))?;
    let refused = guest.refused(&format!("flushmark cache on {nvme}"), 3)?;
    ensure!(refused.contains("every fsync would be a lie"), "{refused}");
    ensure!(
        !is_on(guest, Tool::Nvme, &nvme)?,
        "the cache was left on although the kernel would not flush it"
    );
    guest.must(&format!("echo write back > /sys/block/{}/queue/write_cache", name(&nvme)))?;
    guest.must(&format!("flushmark cache restore {nvme}"))?;
    ensure!(is_on(guest, Tool::Nvme, &nvme)?, "not restored");
    Ok(())
}
