//! Facts about drives, compared with established tools.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::cache::name;
use crate::rig::qemu::guest::Guest;

/// Every drive that the machine starts with, by serial number.
const SERIALS: [&str; 14] = [
    "NVMEON", "NVMEOFF", "SATAON", "SATAOFF", "SASON", "SASOFF", "MEGARAID", "USB", "VBLKON",
    "VBLKOFF", "VSCSION", "VSCSIOFF", "VBLKNONE", "VSCSIUNSAFE",
];

/// The record that flushmark prints about one drive.
pub fn record(guest: &mut Guest, device: &str) -> anyhow::Result<Value> {
    let document = guest.json(&format!("flushmark drives {device} --format json"))?;
    Ok(document["drives"][0].clone())
}

/// The findings about one drive.
pub fn findings(guest: &mut Guest, device: &str) -> anyhow::Result<Vec<String>> {
    let document = guest.json(&format!("flushmark drives {device} --format json"))?;
    let all = document["findings"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(all.iter().filter_map(|finding| finding["id"].as_str().map(str::to_owned)).collect())
}

fn same(what: &str, ours: &Value, theirs: &Value) -> anyhow::Result<()> {
    let text = |value: &Value| match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    ensure!(text(ours) == text(theirs), "{what}: flushmark says {ours}, the other tool {theirs}");
    Ok(())
}

pub fn lsblk(guest: &mut Guest) -> anyhow::Result<()> {
    // busybox's lsblk prints no JSON; util-linux's is /bin/lsblk.
    let theirs = guest.json("/bin/lsblk --json --bytes --output-all --nodeps")?;
    let list = theirs["blockdevices"].as_array().context("lsblk lists nothing")?;
    for serial in SERIALS {
        let device = guest.device(serial)?;
        let ours = record(guest, &device)?;
        let theirs = list
            .iter()
            .find(|disk| disk["name"] == name(&device))
            .context("lsblk does not list it")?;
        let queue = &ours["device"]["queue"];
        for (what, ours, theirs) in [
            ("size", &ours["device"]["size_bytes"], &theirs["size"]),
            ("logical block", &queue["logical_block_bytes"], &theirs["log-sec"]),
            ("physical block", &queue["physical_block_bytes"], &theirs["phy-sec"]),
            ("minimum I/O", &queue["minimum_io_bytes"], &theirs["min-io"]),
            ("rotational", &queue["rotational"], &theirs["rota"]),
            ("scheduler", &queue["scheduler"], &theirs["sched"]),
            ("requests", &queue["nr_requests"], &theirs["rq-size"]),
            ("read-only", &ours["device"]["read_only"], &theirs["ro"]),
            ("numbers", &ours["device"]["device"], &theirs["maj:min"]),
        ] {
            same(&format!("{serial}: {what}"), ours, theirs)?;
        }
        // 0 means none here.
        let discard = queue["discard_max_bytes"].as_u64().unwrap_or(0);
        ensure!(
            Some(discard) == theirs["disc-max"].as_u64(),
            "{serial}: discard {discard}, {}",
            theirs["disc-max"]
        );
        let transport = theirs["tran"].as_str().unwrap_or_default();
        if !transport.is_empty() {
            same(&format!("{serial}: transport"), &ours["device"]["transport"], &theirs["tran"])?;
        }
    }
    Ok(())
}

pub fn identities(guest: &mut Guest) -> anyhow::Result<()> {
    for serial in SERIALS {
        let device = guest.device(serial)?;
        let ours = record(guest, &device)?;
        same(&format!("{serial}: serial number"), &ours["device"]["serial"], &Value::from(serial))?;
    }
    let nvme = guest.device("NVMEON")?;
    let theirs = guest.json(&format!("nvme id-ctrl {nvme} --output-format=json"))?;
    let ours = record(guest, &nvme)?;
    same("NVMEON: model", &ours["device"]["model"], &theirs["mn"])?;
    same("NVMEON: firmware", &ours["device"]["firmware"], &theirs["fr"])?;
    let present = theirs["vwc"].as_u64().unwrap_or(0) & 1 == 1;
    ensure!(
        ours.pointer("/cache/drive/told/present") == Some(&Value::from(present)),
        "NVMEON: {}",
        ours["cache"]
    );

    for serial in ["SATAON", "SATAOFF"] {
        let device = guest.device(serial)?;
        let identity = guest.must(&format!("hdparm -I {device}"))?;
        let line = |label: &str| {
            let line = identity.lines().find(|line| line.trim_start().starts_with(label));
            line.and_then(|line| line.split_once(':'))
                .map(|(_, value)| value.trim().to_owned())
                .unwrap_or_default()
        };
        let ours = record(guest, &device)?;
        same(
            &format!("{serial}: model"),
            &ours["device"]["model"],
            &Value::from(line("Model Number")),
        )?;
        same(
            &format!("{serial}: firmware"),
            &ours["device"]["firmware"],
            &Value::from(line("Firmware Revision")),
        )?;
        // hdparm marks enabled features with a star.
        let starred = identity
            .lines()
            .any(|line| line.contains("Write cache") && line.trim_start().starts_with('*'));
        let told = ours.pointer("/cache/drive/told/enabled").and_then(Value::as_bool);
        ensure!(told == Some(starred), "{serial}: hdparm -I says {starred}, flushmark {told:?}");
    }
    Ok(())
}

pub fn health(guest: &mut Guest) -> anyhow::Result<()> {
    for (serial, fields) in [
        (
            "NVMEON",
            &[
                ("used_percent", "/nvme_smart_health_information_log/percentage_used"),
                ("spare_percent", "/nvme_smart_health_information_log/available_spare"),
                ("unsafe_shutdowns", "/nvme_smart_health_information_log/unsafe_shutdowns"),
                ("power_cycles", "/nvme_smart_health_information_log/power_cycles"),
                ("power_on_hours", "/nvme_smart_health_information_log/power_on_hours"),
                ("media_errors", "/nvme_smart_health_information_log/media_errors"),
                ("temperature_celsius", "/temperature/current"),
            ][..],
        ),
        (
            "SATAON",
            &[
                ("power_on_hours", "/power_on_time/hours"),
                ("power_cycles", "/power_cycle_count"),
                ("temperature_celsius", "/temperature/current"),
            ][..],
        ),
    ] {
        let device = guest.device(serial)?;
        // smartctl's exit code is a set of bits, some of which are not failures.
        let theirs = guest.run(&format!("smartctl --json --all {device}"))?.stdout;
        let theirs: Value =
            serde_json::from_str(&theirs).with_context(|| format!("smartctl printed {theirs}"))?;
        let ours = record(guest, &device)?;
        let ours = &ours["health"]["told"];
        for (field, pointer) in fields {
            let theirs =
                theirs.pointer(pointer).with_context(|| format!("smartctl has no {pointer}"))?;
            same(&format!("{serial}: {field}"), &ours[*field], theirs)?;
        }
        if let Some(units) = theirs.pointer("/nvme_smart_health_information_log/data_units_written")
        {
            let bytes = units.as_u64().filter(|units| *units > 0).map(|units| units * 512_000);
            same(&format!("{serial}: written"), &ours["host_bytes_written"], &Value::from(bytes))?;
        }
        let passed = theirs.pointer("/smart_status/passed").and_then(Value::as_bool);
        ensure!(
            ours["failing"].as_bool() == passed.map(|passed| !passed),
            "{serial}: {ours}, passed {passed:?}"
        );
    }
    Ok(())
}

pub fn ordinary_user(guest: &mut Guest) -> anyhow::Result<()> {
    let document =
        guest.json("/bin/setpriv --reuid 65534 --clear-groups flushmark drives --format json")?;
    let drives = document["drives"].as_array().map(Vec::as_slice).unwrap_or_default();
    let answer = |device: &str| {
        let drive = drives.iter().find(|drive| drive["device"]["path"] == device);
        drive.map(|drive| {
            (drive["cache"]["drive"]["answer"].clone(), drive["device"]["size_bytes"].as_u64())
        })
    };
    for serial in ["NVMEON", "SATAON", "SASON", "MEGARAID"] {
        let device = guest.device(serial)?;
        ensure!(
            answer(&device) == Some((Value::from("needs-root"), Some(256 << 20))),
            "{serial}: {:?}",
            answer(&device)
        );
    }
    let page = guest.must("/bin/setpriv --reuid 65534 --clear-groups flushmark drives")?;
    ensure!(page.contains("needs root") && page.contains("Run as root to see more"), "{page}");
    Ok(())
}

pub fn contradictions(guest: &mut Guest) -> anyhow::Result<()> {
    let sata = guest.device("SATAON")?;
    ensure!(findings(guest, &sata)?.is_empty(), "{:?}", findings(guest, &sata)?);
    let sysfs = format!("/sys/block/{}", name(&sata));
    // Only the kernel's view is changed.
    guest.must(&format!("echo write through > {sysfs}/queue/write_cache"))?;
    ensure!(
        findings(guest, &sata)? == ["kernel-sends-no-flushes"],
        "{:?}",
        findings(guest, &sata)?
    );
    // An ordinary user sees the driver's view.
    let seen = guest.must(&format!(
        "/bin/setpriv --reuid 65534 --clear-groups flushmark drives {sata} --format json"
    ))?;
    ensure!(seen.contains("cache-belief-overridden"), "{seen}");
    // `run` must not call that durable.
    let document = guest.json(&format!(
        "printf '[[test]]\\npattern = \"randwrite\"\\nsync = \"fsync\"\\nsize = \"1MiB\"\\ncount = \
         50\\n' > /tmp/plan.toml; \
         flushmark run /tmp/plan.toml --quiet --format json --destroy-data --target {sata}"
    ))?;
    let ids = document["findings"].to_string();
    ensure!(ids.contains("cache-belief-overridden"), "{ids}");
    guest.must(&format!("echo write back > {sysfs}/queue/write_cache"))?;

    // sd's "temporary" setting changes only the kernel's view, too.
    guest.must(&format!(
        "for file in {sysfs}/device/scsi_disk/*/cache_type; do echo temporary write through > \
         $file; done"
    ))?;
    ensure!(
        findings(guest, &sata)? == ["kernel-sends-no-flushes"],
        "{:?}",
        findings(guest, &sata)?
    );
    guest.must(&format!(
        "for file in {sysfs}/device/scsi_disk/*/cache_type; do echo write back > $file; done"
    ))?;
    ensure!(findings(guest, &sata)?.is_empty(), "{:?}", findings(guest, &sata)?);

    // A filesystem without barriers on a drive with a volatile cache.
    guest.must(&format!(
        "mkfs.ext4 -q {sata} && mkdir -p /mnt/nobarrier && mount -o nobarrier {sata} /mnt/nobarrier"
    ))?;
    let found = findings(guest, &sata)?;
    guest.must(&format!("umount /mnt/nobarrier && wipefs -qa {sata}"))?;
    ensure!(found == ["flushes-switched-off"], "{found:?}");

    let nvme = guest.device("NVMEOFF")?;
    ensure!(findings(guest, &nvme)? == ["flushes-in-vain"], "{:?}", findings(guest, &nvme)?);
    Ok(())
}

pub fn vanishing(guest: &mut Guest) -> anyhow::Result<()> {
    // Listed and read while it comes and goes, many times.
    let script = "load scsi_debug dev_size_mb=16 delay=0 2>/dev/null; sleep 1; \
         disk=$(for d in /sys/block/sd*; do grep -l scsi_debug $d/device/model 2>/dev/null; done | \
                  cut -d/ -f4); [ -n \"$disk\" ] || exit 3; \
         (for n in 1 2 3 4 5 6; do rmmod scsi_debug 2>/dev/null; sleep 0.2; load scsi_debug \
                  dev_size_mb=16 delay=0 2>/dev/null; sleep 0.2; done) & \
         for n in 1 2 3 4 5 6 7 8; do flushmark drives > /tmp/page 2> /tmp/errors || \
                  { cat /tmp/page /tmp/errors; exit 1; }; done; wait; cat /tmp/errors";
    let said = guest.must(script)?;
    ensure!(!said.contains("panicked"), "{said}");
    let came = guest.must("dmesg | grep -c 'scsi_debug: Trace\\|scsi_debug.*version'")?;
    ensure!(
        came.parse::<u32>().is_ok_and(|times| times >= 3),
        "the drive came and went only {came} times"
    );
    let usb = guest.device("USB")?;
    guest.must(&format!("echo 1 > /sys/block/{}/device/delete; sleep 0.5", name(&usb)))?;
    let gone = guest.refused(&format!("flushmark cache off {usb}"), 2)?;
    ensure!(gone.contains(&usb), "{gone}");
    guest.must("flushmark drives").map(drop)
}

pub fn scsi_debug(guest: &mut Guest) -> anyhow::Result<()> {
    guest.must(
        "rmmod scsi_debug 2>/dev/null; load scsi_debug dev_size_mb=16 delay=0 2>/dev/null; sleep 1",
    )?;
    let disk = guest.must(
        "for d in /sys/block/sd*; do grep -l scsi_debug $d/device/model; done \
                    2>/dev/null | cut -d/ -f4",
    )?;
    let device = format!("/dev/{disk}");
    let before = record(guest, &device)?;
    ensure!(
        before.pointer("/cache/drive/told/told_by") == Some(&Value::from("scsi-caching-page")),
        "{}",
        before["cache"]
    );
    let was_on = before
        .pointer("/cache/drive/told/enabled")
        .and_then(Value::as_bool)
        .context("no reading")?;
    let word = if was_on { "off" } else { "on" };
    guest.must(&format!("flushmark cache {word} {device}"))?;
    let sdparm = guest.must(&format!("sdparm --get WCE {device} | awk '/^WCE/ {{print $2}}'"))?;
    ensure!(sdparm == if was_on { "0" } else { "1" }, "sdparm says {sdparm} after cache {word}");
    guest.must(&format!("flushmark cache restore {device}"))?;
    let after = record(guest, &device)?;
    ensure!(
        after.pointer("/cache/drive/told/enabled") == Some(&Value::from(was_on)),
        "{}",
        after["cache"]
    );
    guest.must("rmmod scsi_debug; load null_blk")?;
    let null = record(guest, "/dev/nullb0")?;
    guest.must("rmmod null_blk")?;
    ensure!(null["device"]["transport"] == "null-blk", "{}", null["device"]["transport"]);
    Ok(())
}

pub fn in_results(guest: &mut Guest) -> anyhow::Result<()> {
    let nvme = guest.device("NVMEON")?;
    guest.must(&format!(
        "mkfs.ext4 -q {nvme} && mkdir -p /mnt/results && mount {nvme} /mnt/results"
    ))?;
    let document = guest.json(
        "printf '[[test]]\\npattern = \"randwrite\"\\nsync = \"fsync\"\\nsize = \"1MiB\"\\ncount = \
         50\\n' > /tmp/plan.toml; \
         flushmark run /tmp/plan.toml --quiet --format json --target /mnt/results",
    );
    guest.must(&format!("umount /mnt/results && wipefs -qa {nvme}"))?;
    let drive = &document?["drives"][0];
    ensure!(drive["device"]["serial"] == "NVMEON", "{drive}");
    ensure!(
        drive.pointer("/cache/drive/told/enabled") == Some(&Value::from(true)),
        "{}",
        drive["cache"]
    );
    Ok(())
}
