//! Findings about drives: contradictions between drive, kernel and filesystems, and the drive's
//! health.

use drive::{Disagreement, DriveRecord};
use measurement::{Confidence, Evidence, Finding};

use crate::wording::{option_restoring_flushes, shell_word};

/// From this share of its rated endurance on, a drive is worn out according to its vendor.
const WORN_OUT_PERCENT: u16 = 100;
/// From this share on, its replacement should be planned.
const WEARING_PERCENT: u16 = 80;

/// The findings worth showing next to measurements: all that are not harmless.
pub(crate) fn serious(records: &[DriveRecord]) -> Vec<Finding> {
    let findings = once_each(records).into_iter();
    findings.filter(|(rank, _)| *rank != Rank::Harmless).map(|(_, finding)| finding).collect()
}

/// All findings about the drives, most serious first.
pub fn drives(records: &[DriveRecord]) -> Vec<Finding> {
    let mut findings = once_each(records);
    findings.sort_by_key(|(rank, _)| *rank);
    findings.into_iter().map(|(_, finding)| finding).collect()
}

/// The findings of all drives. A problem of a filesystem is reported once, however many drives and
/// layers are under it.
fn once_each(records: &[DriveRecord]) -> Vec<(Rank, Finding)> {
    let mut mounts: Vec<(&'static str, String)> = Vec::new();
    let mut findings = Vec::new();
    for record in records {
        for one in record.cache.disagreements() {
            let about = match &one {
                Disagreement::FilesystemSendsNoFlushes { mount_point, .. } => {
                    Some(("filesystem", mount_point.clone()))
                }
                Disagreement::LayerStopsFlushes { mount_point, .. } => {
                    Some(("layer", mount_point.clone()))
                }
                _ => None,
            };
            let is_new = about.as_ref().is_none_or(|about| !mounts.contains(about));
            mounts.extend(about);
            if is_new {
                findings.push(disagreement(record, one));
            }
        }
        findings.extend(health(record));
    }
    findings
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    LosesData,
    Failing,
    Wearing,
    Harmless,
}

const PLP_DOUBT: &str =
    "A drive with power-loss protection loses nothing because of this; check its datasheet.";

/// The finding for a write cache that drive, kernel and filesystem report differently.
fn disagreement(record: &DriveRecord, kind: Disagreement) -> (Rank, Finding) {
    match kind {
        Disagreement::KernelSendsNoFlushes => (Rank::LosesData, kernel_sends_no_flushes(record)),
        Disagreement::BeliefOverridden => (Rank::LosesData, belief_overridden(record)),
        Disagreement::FilesystemSendsNoFlushes { mount_point, option } => {
            (Rank::LosesData, flushes_switched_off(record, &mount_point, &option))
        }
        Disagreement::LayerStopsFlushes { mount_point, layer } => {
            (Rank::LosesData, layer_stops_flushes(record, &mount_point, &layer))
        }
        Disagreement::FlushesInVain => (Rank::Harmless, flushes_in_vain(record)),
    }
}

/// A finding whose evidence is what drive, kernel and filesystem report.
fn from_views(record: &DriveRecord, id: &str, title: String, advice: String) -> Finding {
    Finding {
        id: id.to_owned(),
        title,
        evidence: views(record),
        confidence: Confidence::High,
        doubt: None,
        advice,
    }
}

/// The disk's directory in `/sys/block`, where `!` replaces a slash (`cciss!c0d0`).
fn sysfs_name(record: &DriveRecord) -> String {
    record.device.name.replace('/', "!")
}

fn switch_to_write_back(record: &DriveRecord) -> String {
    format!(
        "Re-enable flushes with `echo 'write back' > /sys/block/{}/queue/write_cache`, or switch \
         the cache off: `flushmark cache off {}`.",
        sysfs_name(record),
        record.device.path.display()
    )
}

fn kernel_sends_no_flushes(record: &DriveRecord) -> Finding {
    let path = record.device.path.display();
    let reported = record.cache.kernel.cache_type.as_deref();
    let advice = if reported.is_none_or(|reported| reported.starts_with("write back")) {
        switch_to_write_back(record)
    } else {
        // The driver assumes no cache, and the queue's setting cannot exceed that.
        format!(
            "Have the driver query the drive again with `echo 1 > /sys/block/{}/device/rescan`; \
             if that changes nothing, switch the cache off: `flushmark cache off {path}`.",
            sysfs_name(record)
        )
    };
    let title = format!(
        "The kernel sends no flushes to {path}, although its volatile write cache is on: no fsync \
         is durable."
    );
    Finding {
        doubt: Some(PLP_DOUBT.to_owned()),
        ..from_views(record, "kernel-sends-no-flushes", title, advice)
    }
}

fn belief_overridden(record: &DriveRecord) -> Finding {
    let title = format!(
        "The kernel is configured not to flush {}, although the drive reports a volatile cache.",
        record.device.path.display()
    );
    let advice = switch_to_write_back(record);
    Finding {
        doubt: Some(PLP_DOUBT.to_owned()),
        ..from_views(record, "cache-belief-overridden", title, advice)
    }
}

fn flushes_switched_off(record: &DriveRecord, mount_point: &str, option: &str) -> Finding {
    let title = format!(
        "No sync on {mount_point} flushes the write cache of {}: it is mounted with `{option}`.",
        record.device.path.display()
    );
    from_views(record, "flushes-switched-off", title, remedy(mount_point, option))
}

fn layer_stops_flushes(record: &DriveRecord, mount_point: &str, layer: &str) -> Finding {
    let title = format!(
        "{layer} drops the flushes that {mount_point} sends to {}, which caches writes.",
        record.device.path.display()
    );
    let advice = format!(
        "Run `echo 'write back' > /sys/block/{layer}/queue/write_cache`, and find out what set it \
         to write through."
    );
    from_views(record, "layer-stops-flushes", title, advice)
}

fn flushes_in_vain(record: &DriveRecord) -> Finding {
    let title = format!(
        "The kernel still sends flushes to {}, although its write cache is off.",
        record.device.path.display()
    );
    let advice = "Nothing to do: each flush costs one command, and they are needed again once the \
                  cache is on.";
    from_views(record, "flushes-in-vain", title, advice.to_owned())
}

/// The command that re-enables flushes on a filesystem.
fn remedy(mount_point: &str, option: &str) -> String {
    let Some(remount) = option_restoring_flushes(option) else {
        return format!("Remove `{option}` from /etc/fstab and remount {mount_point}.");
    };
    let word = shell_word(mount_point);
    format!("Run `mount -o remount,{remount} {word}`, and remove `{option}` from /etc/fstab.")
}

/// The reports of the drive, the kernel and each filesystem, as evidence.
fn views(record: &DriveRecord) -> Vec<Evidence> {
    let cache = &record.cache;
    let mut evidence = Vec::new();
    if let Some(reading) = cache.drive.told() {
        let state = match (reading.present, reading.enabled) {
            (false, _) => "no volatile cache",
            (true, true) => "on",
            (true, false) => "off",
        };
        evidence.push(Evidence::fact("drive reports", state));
    }
    if let Some(told) = &cache.kernel.cache_type {
        evidence.push(Evidence::fact("cache_type", told.clone()));
    }
    if let Some(belief) = cache.kernel.write_cache {
        let words = match belief {
            drive::WriteCache::WriteBack => "write back",
            drive::WriteCache::WriteThrough => "write through",
        };
        evidence.push(Evidence::fact("queue/write_cache", words));
    }
    for view in &cache.filesystems {
        if let Some(option) = &view.flushes_disabled_by {
            evidence.push(Evidence::fact(
                format!("{} on {}", view.fs_type, view.mount_point.display()),
                option.clone(),
            ));
        }
    }
    evidence
}

fn health(record: &DriveRecord) -> Vec<(Rank, Finding)> {
    let Some(health) = record.health.told() else { return Vec::new() };
    let path = record.device.path.display();
    let mut found = Vec::new();
    let mut add = |rank, id: &str, title: String, evidence: Evidence, advice: &str| {
        let finding = Finding {
            id: id.to_owned(),
            title,
            evidence: vec![evidence],
            confidence: Confidence::High,
            doubt: None,
            advice: advice.to_owned(),
        };
        found.push((rank, finding));
    };
    if health.power_loss_protection_failed {
        add(
            Rank::LosesData,
            "power-loss-protection-failed",
            format!("{path} reports that its power-loss protection has failed."),
            Evidence::fact("NVMe critical warning", "volatile memory backup device has failed"),
            "A power cut may lose acknowledged commits. Replace the drive, or switch its write \
             cache off until then.",
        );
    }
    if health.failing == Some(true) {
        add(
            Rank::Failing,
            "drive-failing",
            format!("{path} reports that it is failing."),
            Evidence::fact("health status", "failing"),
            "Copy its data now and replace it. `smartctl -x` shows the drive's counters.",
        );
    }
    if let Some(used) = health.used_percent.filter(|used| *used >= WEARING_PERCENT) {
        let worn = used >= WORN_OUT_PERCENT;
        let state = if worn {
            "has used up its rated endurance"
        } else {
            "is near the end of its rated endurance"
        };
        add(
            if worn { Rank::Failing } else { Rank::Wearing },
            "endurance-used",
            format!("{path} {state} ({used} %)."),
            Evidence::number("endurance used", f64::from(used), "%"),
            "Plan its replacement: above 100 % the vendor guarantees neither data nor speed.",
        );
    }
    if let Some(errors) = health.media_errors.filter(|errors| *errors > 0) {
        add(
            Rank::Failing,
            "media-errors",
            format!("{path} has reported {errors} media errors."),
            Evidence::number("media errors", errors as f64, ""),
            "Keep a copy of the data. Check the counters with `smartctl -x` and compare them in a \
             week.",
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use drive::{
        AfterPowerCycle, Answer, BlockDevice, CacheReading, CacheViews, FilesystemView, Health,
        KernelView, ToldBy, Transport, WriteCache,
    };

    use super::*;
    use samples::place;

    fn record(enabled: bool, belief: WriteCache) -> DriveRecord {
        let device: BlockDevice = place::drive("sda", Transport::Sata);
        let told = CacheReading {
            present: true,
            enabled,
            switchable: true,
            after_power_cycle: AfterPowerCycle::Reverts,
            told_by: ToldBy::AtaIdentify,
        };
        let filesystem = FilesystemView {
            mount_point: PathBuf::from("/srv"),
            fs_type: "ext4".to_owned(),
            flushes_disabled_by: None,
            stopped_by: None,
        };
        DriveRecord {
            device,
            numa_node: None,
            wwn: None,
            pci_address: None,
            cache: CacheViews {
                drive: Answer::Told { told },
                kernel: KernelView {
                    write_cache: Some(belief),
                    fua: Some(false),
                    cache_type: None,
                },
                filesystems: vec![filesystem],
            },
            health: Answer::Told { told: Health::default() },
            usage: None,
            poll_queues: None,
            claimed: None,
        }
    }

    fn describe(record: &DriveRecord) -> String {
        let findings = drives(std::slice::from_ref(record)).into_iter().map(|finding| {
            let evidence: Vec<String> = finding
                .evidence
                .iter()
                .map(|item| format!("{}: {} {}", item.what, item.value, item.unit))
                .collect();
            format!(
                "{}\n  {}\n  - {}\n  > {}\n",
                finding.id,
                finding.title,
                evidence.join("; "),
                finding.advice
            )
        });
        findings.collect()
    }

    #[test]
    fn agreement_yields_no_finding() {
        assert_eq!(describe(&record(true, WriteCache::WriteBack)), "");
        assert_eq!(describe(&record(false, WriteCache::WriteThrough)), "");
    }

    #[test]
    fn contradictions_come_with_a_command() {
        let mut layer = record(true, WriteCache::WriteBack);
        layer.cache.filesystems[0].stopped_by = Some("dm-0".to_owned());
        let mut barriers = record(true, WriteCache::WriteBack);
        barriers.cache.filesystems[0].flushes_disabled_by = Some("nobarrier".to_owned());
        let mut overridden = record(true, WriteCache::WriteThrough);
        overridden.cache.drive = Answer::NeedsRoot;
        overridden.cache.kernel.cache_type = Some("write back".to_owned());
        let all = [
            record(true, WriteCache::WriteThrough),
            record(false, WriteCache::WriteBack),
            overridden,
            barriers,
            layer,
        ];
        insta::assert_snapshot!(all.iter().map(describe).collect::<String>(), @r#"
        kernel-sends-no-flushes
          The kernel sends no flushes to /dev/sda, although its volatile write cache is on: no fsync is durable.
          - drive reports: "on" ; queue/write_cache: "write through" 
          > Re-enable flushes with `echo 'write back' > /sys/block/sda/queue/write_cache`, or switch the cache off: `flushmark cache off /dev/sda`.
        flushes-in-vain
          The kernel still sends flushes to /dev/sda, although its write cache is off.
          - drive reports: "off" ; queue/write_cache: "write back" 
          > Nothing to do: each flush costs one command, and they are needed again once the cache is on.
        cache-belief-overridden
          The kernel is configured not to flush /dev/sda, although the drive reports a volatile cache.
          - cache_type: "write back" ; queue/write_cache: "write through" 
          > Re-enable flushes with `echo 'write back' > /sys/block/sda/queue/write_cache`, or switch the cache off: `flushmark cache off /dev/sda`.
        flushes-switched-off
          No sync on /srv flushes the write cache of /dev/sda: it is mounted with `nobarrier`.
          - drive reports: "on" ; queue/write_cache: "write back" ; ext4 on /srv: "nobarrier" 
          > Run `mount -o remount,barrier /srv`, and remove `nobarrier` from /etc/fstab.
        layer-stops-flushes
          dm-0 drops the flushes that /srv sends to /dev/sda, which caches writes.
          - drive reports: "on" ; queue/write_cache: "write back" 
          > Run `echo 'write back' > /sys/block/dm-0/queue/write_cache`, and find out what set it to write through.
        "#);
    }

    #[test]
    fn findings_that_protection_makes_harmless_are_doubted() {
        let mut overridden = record(true, WriteCache::WriteThrough);
        overridden.cache.drive = Answer::NeedsRoot;
        overridden.cache.kernel.cache_type = Some("write back".to_owned());
        for one in [record(true, WriteCache::WriteThrough), overridden] {
            let doubt = drives(&[one]).remove(0).doubt.unwrap();
            assert!(
                doubt.starts_with("A drive with power-loss protection loses nothing"),
                "{doubt}"
            );
        }
        assert_eq!(drives(&[record(false, WriteCache::WriteBack)]).remove(0).doubt, None);
    }

    #[test]
    fn health_is_reported_from_the_wearing_mark_on() {
        let mut sick = record(true, WriteCache::WriteBack);
        let health = Health {
            used_percent: Some(112),
            media_errors: Some(3),
            failing: Some(true),
            power_loss_protection_failed: true,
            ..Health::default()
        };
        sick.health = Answer::Told { told: health };
        let mut worn = record(true, WriteCache::WriteBack);
        worn.health = Answer::Told {
            told: Health { used_percent: Some(80), media_errors: Some(0), ..Health::default() },
        };
        insta::assert_snapshot!(describe(&sick) + &describe(&worn), @r#"
        power-loss-protection-failed
          /dev/sda reports that its power-loss protection has failed.
          - NVMe critical warning: "volatile memory backup device has failed" 
          > A power cut may lose acknowledged commits. Replace the drive, or switch its write cache off until then.
        drive-failing
          /dev/sda reports that it is failing.
          - health status: "failing" 
          > Copy its data now and replace it. `smartctl -x` shows the drive's counters.
        endurance-used
          /dev/sda has used up its rated endurance (112 %).
          - endurance used: 112.0 %
          > Plan its replacement: above 100 % the vendor guarantees neither data nor speed.
        media-errors
          /dev/sda has reported 3 media errors.
          - media errors: 3.0 
          > Keep a copy of the data. Check the counters with `smartctl -x` and compare them in a week.
        endurance-used
          /dev/sda is near the end of its rated endurance (80 %).
          - endurance used: 80.0 %
          > Plan its replacement: above 100 % the vendor guarantees neither data nor speed.
        "#);
        worn.health = Answer::Told { told: Health { used_percent: Some(79), ..Health::default() } };
        assert_eq!(describe(&worn), "");
    }

    #[test]
    fn a_problem_of_a_filesystem_is_reported_once() {
        let mut first = record(true, WriteCache::WriteBack);
        first.cache.filesystems[0].flushes_disabled_by = Some("fsync_mode=nobarrier".to_owned());
        let mut second = first.clone();
        second.device.name = "sdb".to_owned();
        let findings = drives(&[first, second]);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].advice.contains("remount,fsync_mode=posix"), "{}", findings[0].advice);
    }

    #[test]
    fn the_most_serious_comes_first_and_runs_omit_the_harmless() {
        let records =
            [record(false, WriteCache::WriteBack), record(true, WriteCache::WriteThrough)];
        let ids: Vec<String> = drives(&records).into_iter().map(|finding| finding.id).collect();
        assert_eq!(ids, ["kernel-sends-no-flushes", "flushes-in-vain"]);
        assert_eq!(serious(&records).len(), 1);
    }
}
