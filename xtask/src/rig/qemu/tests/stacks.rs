//! Arrays, volumes and encryption: facts are followed down to the drives, and up to the
//! filesystems.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::cache::name;
use super::facts::record;
use crate::rig::qemu::guest::Guest;

/// Names of the devices directly underneath, and so on down.
fn drives_below(device: &Value, found: &mut Vec<String>) {
    let layers = device["layers"].as_array().map(Vec::as_slice).unwrap_or_default();
    if layers.is_empty() {
        found.extend(device["name"].as_str().map(str::to_owned));
    }
    layers.iter().for_each(|layer| drives_below(layer, found));
}

fn below(record: &Value) -> Vec<String> {
    let mut found = Vec::new();
    drives_below(&record["device"], &mut found);
    found.sort();
    found
}

pub fn raid_lvm_crypt(guest: &mut Guest) -> anyhow::Result<()> {
    let spares = [guest.device("SPARE1")?, guest.device("SPARE2")?];
    let mut names: Vec<String> = spares.iter().map(|device| name(device).to_owned()).collect();
    names.sort();
    let build = format!(
        "mdadm --create /dev/md0 --run --level=1 --raid-devices=2 --assume-clean --bitmap=none \
         --metadata=1.2 {} {} 2>&1 && \
         lvm pvcreate -qq /dev/md0 && lvm vgcreate -qq vg /dev/md0 && lvm lvcreate -qq -Zn -Wn -L \
         100M -n db vg && dmsetup mknodes && \
         echo secret > /tmp/key && cryptsetup luksFormat -q --type luks2 --pbkdf pbkdf2 \
         --pbkdf-force-iterations 1000 --key-file /tmp/key /dev/mapper/vg-db && \
         cryptsetup open --key-file /tmp/key /dev/mapper/vg-db safe && dmsetup mknodes && \
         mkfs.ext4 -q /dev/mapper/safe && mkdir -p /mnt/safe && \
         mount /dev/mapper/safe /mnt/safe",
        spares[0], spares[1]
    );
    let tear_down =
        "umount /mnt/safe; cryptsetup close safe; lvm vgremove -qqf vg; mdadm --stop /dev/md0 2>&1";
    let checked = (|| {
        guest.must(&build)?;
        let safe = record(guest, "/dev/mapper/safe")?;
        ensure!(safe["device"]["layer"] == "crypt", "{}", safe["device"]["layer"]);
        ensure!(below(&safe) == names, "{:?} instead of {names:?}", below(&safe));
        ensure!(record(guest, "/dev/md0")?["device"]["layer"] == "raid1", "md0 is not a raid1");
        // From the bottom up: the drive shows the filesystem three layers above.
        let bottom = record(guest, &spares[0])?;
        let filesystem = &bottom["cache"]["filesystems"][0];
        ensure!(
            filesystem["mount_point"] == "/mnt/safe" && filesystem["fs_type"] == "ext4",
            "{}",
            bottom["cache"]
        );
        let page = guest.must(&format!("flushmark drives {}", spares[0]))?;
        for word in ["md0 (raid1)", "vg-db (lvm)", "safe (crypt)", "/mnt/safe"] {
            ensure!(page.contains(word), "no {word} in:\n{page}");
        }
        for device in [&spares[0], &"/dev/md0".to_owned()] {
            let code = if device == "/dev/md0" { 2 } else { 3 };
            guest.refused(&format!("flushmark cache off {device}"), code)?;
        }
        Ok(())
    })();
    guest.must(tear_down)?;
    guest.must(&format!("wipefs -qa {} {}", spares[0], spares[1]))?;
    checked
}

/// The audit's line about the array.
fn write_hole(guest: &mut Guest) -> anyhow::Result<Value> {
    let document = guest.json("flushmark host --format json")?;
    let lines = document["audit"].as_array().context("no audit")?;
    let line = lines
        .iter()
        .find(|line| line["subject"].as_str().is_some_and(|subject| subject.contains("md5")));
    Ok(line.context("the audit does not mention the array")?.clone())
}

pub fn raid5(guest: &mut Guest) -> anyhow::Result<()> {
    let spares = [guest.device("SPARE1")?, guest.device("SPARE2")?, guest.device("SPARE3")?];
    for (policy, grade) in [("resync", "dangerous"), ("ppl", "good")] {
        guest.must(&format!(
            "mdadm --create /dev/md5 --run --level=5 --raid-devices=3 --assume-clean \
             --metadata=1.2 --consistency-policy={policy} {} 2>&1",
            spares.join(" ")
        ))?;
        let line = write_hole(guest);
        guest.must(&format!("mdadm --stop /dev/md5; wipefs -qa {}", spares.join(" ")))?;
        let line = line?;
        ensure!(line["grade"] == grade, "{policy}: {line}");
        if grade == "dangerous" {
            for spare in &spares {
                ensure!(line.to_string().contains(name(spare)), "{spare} is not named: {line}");
            }
        }
    }
    Ok(())
}

pub fn host(guest: &mut Guest) -> anyhow::Result<()> {
    let document = guest.json("flushmark host --format json")?;
    let facts = &document["facts"];
    ensure!(
        facts["numa_nodes"].as_array().is_some_and(|nodes| nodes.len() == 2),
        "{}",
        facts["numa_nodes"]
    );
    let controllers = facts["controllers"].as_array().context("no controllers")?;
    let raid = controllers
        .iter()
        .find(|controller| controller["class"].as_u64().is_some_and(|class| class >> 8 == 0x0104));
    let disk = guest.device("MEGARAID")?;
    let disks = raid.context("the RAID controller is not found")?["disks"].to_string();
    ensure!(disks.contains(name(&disk)), "{disks} without {disk}");
    let audit = document["audit"].to_string();
    ensure!(audit.contains("RAID controller"), "{audit}");
    for (serial, kind) in
        [("VBLKON", "virtio-blk"), ("VSCSION", "virtio-scsi"), ("SATAON", "emulated-ata")]
    {
        let device = guest.device(serial)?;
        let settings = facts["disks"]
            .as_array()
            .and_then(|disks| disks.iter().find(|disk| disk["name"] == name(&device)));
        let found = settings.map(|settings| settings["virtual_disk"].clone());
        ensure!(found == Some(Value::from(kind)), "{serial}: {found:?}");
    }
    let measured = guest.run("timeout 50 flushmark host --measure /var/lib/flushmark")?;
    ensure!(measured.code == 0, "{} {}", measured.code, measured.stderr);
    Ok(())
}
