//! What the facts about drives say: where drive, kernel and filesystems contradict each other, and how a drive fares.

use drive::{Disagreement, DriveRecord};
use measurement::{Confidence, Evidence, Finding};

use crate::wording::{flushes_again, shell_word};

/// From this share of its rated endurance on, a drive is worn out by its maker's word.
const WORN_OUT_PERCENT: u16 = 100;
/// From here on its replacement should be planned.
const WEARING_PERCENT: u16 = 80;

/// What of the facts matters beside measurements: all but what is harmless.
pub(crate) fn grave(records: &[DriveRecord]) -> Vec<Finding> {
    let findings = once_each(records).into_iter();
    findings.filter(|(rank, _)| *rank != Rank::Harmless).map(|(_, finding)| finding).collect()
}

/// Everything that the facts say, drive by drive, the gravest first.
pub fn drives(records: &[DriveRecord]) -> Vec<Finding> {
    let mut findings = once_each(records);
    findings.sort_by_key(|(rank, _)| *rank);
    findings.into_iter().map(|(_, finding)| finding).collect()
}

/// The findings of all drives. What is wrong with a filesystem is said once, however many drives and layers lie beneath it.
fn once_each(records: &[DriveRecord]) -> Vec<(Rank, Finding)> {
    let mut mounts: Vec<(&'static str, String)> = Vec::new();
    let mut findings = Vec::new();
    for record in records {
        for one in record.cache.disagreements() {
            let about = match &one {
                Disagreement::FilesystemSendsNoFlushes { mount_point, .. } => Some(("filesystem", mount_point.clone())),
                Disagreement::LayerStopsFlushes { mount_point, .. } => Some(("layer", mount_point.clone())),
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

/// The finding about a cache whose views contradict each other.
fn disagreement(record: &DriveRecord, kind: Disagreement) -> (Rank, Finding) {
    // As sysfs writes a slash (`cciss!c0d0`).
    let disk = record.device.name.replace('/', "!");
    let path = record.device.path.display();
    let views = views(record);
    let finding = |id: &str, title: String, advice: String| Finding {
        id: id.to_owned(),
        title,
        evidence: views.clone(),
        confidence: Confidence::High,
        doubt: None,
        advice,
    };
    let plp_doubt =
        Some("A drive with power-loss protection loses nothing by that; only its datasheet tells.".to_owned());
    match kind {
        Disagreement::KernelSendsNoFlushes => (
            Rank::LosesData,
            Finding {
                doubt: plp_doubt,
                ..finding(
                    "kernel-sends-no-flushes",
                    format!(
                        "{path} caches writes in volatile memory, and the kernel sends it no flushes: every fsync is a lie."
                    ),
                    if record.cache.kernel.cache_type.as_deref().is_none_or(|told| told.starts_with("write back")) {
                        format!(
                            "`echo 'write back' > /sys/block/{disk}/queue/write_cache` sends flushes again; or switch the cache itself off: `flushmark cache off {path}`."
                        )
                    } else {
                        // The driver itself believes in no cache: the queue's setting cannot be raised above that.
                        format!(
                            "`echo 1 > /sys/block/{disk}/device/rescan` has the driver ask the drive again; where that changes nothing, switch the cache off: `flushmark cache off {path}`."
                        )
                    },
                )
            },
        ),
        Disagreement::BeliefOverridden => (
            Rank::LosesData,
            Finding {
                doubt: plp_doubt,
                ..finding(
                    "cache-belief-overridden",
                    format!(
                        "The kernel has been told to send no flushes to {path}, which told its driver that it has a volatile cache."
                    ),
                    format!(
                        "`echo 'write back' > /sys/block/{disk}/queue/write_cache` sends flushes again; or switch the cache itself off: `flushmark cache off {path}`."
                    ),
                )
            },
        ),
        Disagreement::FilesystemSendsNoFlushes { mount_point, option } => (
            Rank::LosesData,
            finding(
                "flushes-switched-off",
                format!("{mount_point} is mounted with `{option}`: no sync there flushes the write cache of {path}."),
                remedy(&mount_point, &option),
            ),
        ),
        Disagreement::LayerStopsFlushes { mount_point, layer } => (
            Rank::LosesData,
            finding(
                "layer-stops-flushes",
                format!(
                    "Between {mount_point} and {path} lies {layer}, which lets no flushes through to a drive that caches writes."
                ),
                format!(
                    "`echo 'write back' > /sys/block/{layer}/queue/write_cache`, and find out who told it otherwise."
                ),
            ),
        ),
        Disagreement::FlushesInVain => (
            Rank::Harmless,
            finding(
                "flushes-in-vain",
                format!(
                    "The write cache of {path} is off, and the kernel goes on sending it flushes: harmless, each costs a command."
                ),
                "Nothing need be done: as soon as the cache is on again, the flushes are needed.".to_owned(),
            ),
        ),
    }
}

/// How flushes are switched on again, filesystem by filesystem.
fn remedy(mount_point: &str, option: &str) -> String {
    let Some(remount) = flushes_again(option) else {
        return format!("Remove `{option}` from /etc/fstab and mount {mount_point} anew.");
    };
    let word = shell_word(mount_point);
    format!("`mount -o remount,{remount} {word}`, and remove `{option}` from /etc/fstab.")
}

/// What each view says, as evidence.
fn views(record: &DriveRecord) -> Vec<Evidence> {
    let cache = &record.cache;
    let mut evidence = Vec::new();
    if let Some(reading) = cache.drive.told() {
        let state = match (reading.present, reading.enabled) {
            (false, _) => "no volatile cache",
            (true, true) => "on",
            (true, false) => "off",
        };
        evidence.push(Evidence::fact("the drive says", state));
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
            evidence
                .push(Evidence::fact(format!("{} on {}", view.fs_type, view.mount_point.display()), option.clone()));
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
            format!(
                "{path} warns that the power-loss protection of its cache has failed: what it acknowledges may be lost in a power cut."
            ),
            Evidence::fact("NVMe critical warning", "volatile memory backup device has failed"),
            "Replace the drive, or switch its write cache off until then.",
        );
    }
    if health.failing == Some(true) {
        add(
            Rank::Failing,
            "drive-failing",
            format!("{path} warns that it is failing."),
            Evidence::fact("the drive's own health status", "failing"),
            "Copy what is on it now, and replace it. `smartctl -x` shows what it counts.",
        );
    }
    if let Some(used) = health.used_percent.filter(|used| *used >= WEARING_PERCENT) {
        let worn = used >= WORN_OUT_PERCENT;
        let words = if worn { "is worn out by its maker's word" } else { "nears the end of its rated endurance" };
        add(
            if worn { Rank::Failing } else { Rank::Wearing },
            "endurance-used",
            format!("{path} {words}: {used} % of it is used."),
            Evidence::number("endurance used", f64::from(used), "%"),
            "Plan its replacement: behind 100 % the maker promises neither data nor speed.",
        );
    }
    if let Some(errors) = health.media_errors.filter(|errors| *errors > 0) {
        add(
            Rank::Failing,
            "media-errors",
            format!("{path} could not give back what was written to it {errors} times."),
            Evidence::number("media errors", errors as f64, ""),
            "See what it counts with `smartctl -x`, compare in a week, and have a copy of what is on it.",
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use drive::{
        AfterPowerCycle, Answer, BlockDevice, CacheReading, CacheViews, FilesystemView, Health, KernelView, ToldBy,
        Transport, WriteCache,
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
                kernel: KernelView { write_cache: Some(belief), fua: Some(false), cache_type: None },
                filesystems: vec![filesystem],
            },
            health: Answer::Told { told: Health::default() },
            usage: None,
            poll_queues: None,
            claimed: None,
        }
    }

    fn told(record: &DriveRecord) -> String {
        let findings = drives(std::slice::from_ref(record)).into_iter().map(|finding| {
            let evidence: Vec<String> =
                finding.evidence.iter().map(|item| format!("{}: {} {}", item.what, item.value, item.unit)).collect();
            format!("{}\n  {}\n  - {}\n  > {}\n", finding.id, finding.title, evidence.join("; "), finding.advice)
        });
        findings.collect()
    }

    #[test]
    fn agreement_says_nothing() {
        assert_eq!(told(&record(true, WriteCache::WriteBack)), "");
        assert_eq!(told(&record(false, WriteCache::WriteThrough)), "");
    }

    #[test]
    fn contradictions_say_what_they_cost_and_what_to_type() {
        let mut layer = record(true, WriteCache::WriteBack);
        layer.cache.filesystems[0].stopped_by = Some("dm-0".to_owned());
        let mut barriers = record(true, WriteCache::WriteBack);
        barriers.cache.filesystems[0].flushes_disabled_by = Some("nobarrier".to_owned());
        let mut overridden = record(true, WriteCache::WriteThrough);
        overridden.cache.drive = Answer::NeedsRoot;
        overridden.cache.kernel.cache_type = Some("write back".to_owned());
        let all =
            [record(true, WriteCache::WriteThrough), record(false, WriteCache::WriteBack), overridden, barriers, layer];
        insta::assert_snapshot!(all.iter().map(told).collect::<String>(), @r#"
        kernel-sends-no-flushes
          /dev/sda caches writes in volatile memory, and the kernel sends it no flushes: every fsync is a lie.
          - the drive says: "on" ; queue/write_cache: "write through" 
          > `echo 'write back' > /sys/block/sda/queue/write_cache` sends flushes again; or switch the cache itself off: `flushmark cache off /dev/sda`.
        flushes-in-vain
          The write cache of /dev/sda is off, and the kernel goes on sending it flushes: harmless, each costs a command.
          - the drive says: "off" ; queue/write_cache: "write back" 
          > Nothing need be done: as soon as the cache is on again, the flushes are needed.
        cache-belief-overridden
          The kernel has been told to send no flushes to /dev/sda, which told its driver that it has a volatile cache.
          - cache_type: "write back" ; queue/write_cache: "write through" 
          > `echo 'write back' > /sys/block/sda/queue/write_cache` sends flushes again; or switch the cache itself off: `flushmark cache off /dev/sda`.
        flushes-switched-off
          /srv is mounted with `nobarrier`: no sync there flushes the write cache of /dev/sda.
          - the drive says: "on" ; queue/write_cache: "write back" ; ext4 on /srv: "nobarrier" 
          > `mount -o remount,barrier /srv`, and remove `nobarrier` from /etc/fstab.
        layer-stops-flushes
          Between /srv and /dev/sda lies dm-0, which lets no flushes through to a drive that caches writes.
          - the drive says: "on" ; queue/write_cache: "write back" 
          > `echo 'write back' > /sys/block/dm-0/queue/write_cache`, and find out who told it otherwise.
        "#);
    }

    #[test]
    fn what_protection_would_make_harmless_is_doubted() {
        let mut overridden = record(true, WriteCache::WriteThrough);
        overridden.cache.drive = Answer::NeedsRoot;
        overridden.cache.kernel.cache_type = Some("write back".to_owned());
        for one in [record(true, WriteCache::WriteThrough), overridden] {
            let doubt = drives(&[one]).remove(0).doubt.unwrap();
            assert!(doubt.starts_with("A drive with power-loss protection loses nothing"), "{doubt}");
        }
        assert_eq!(drives(&[record(false, WriteCache::WriteBack)]).remove(0).doubt, None);
    }

    #[test]
    fn health_is_told_from_where_it_matters_on() {
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
        worn.health =
            Answer::Told { told: Health { used_percent: Some(80), media_errors: Some(0), ..Health::default() } };
        insta::assert_snapshot!(told(&sick) + &told(&worn), @r#"
        power-loss-protection-failed
          /dev/sda warns that the power-loss protection of its cache has failed: what it acknowledges may be lost in a power cut.
          - NVMe critical warning: "volatile memory backup device has failed" 
          > Replace the drive, or switch its write cache off until then.
        drive-failing
          /dev/sda warns that it is failing.
          - the drive's own health status: "failing" 
          > Copy what is on it now, and replace it. `smartctl -x` shows what it counts.
        endurance-used
          /dev/sda is worn out by its maker's word: 112 % of it is used.
          - endurance used: 112.0 %
          > Plan its replacement: behind 100 % the maker promises neither data nor speed.
        media-errors
          /dev/sda could not give back what was written to it 3 times.
          - media errors: 3.0 
          > See what it counts with `smartctl -x`, compare in a week, and have a copy of what is on it.
        endurance-used
          /dev/sda nears the end of its rated endurance: 80 % of it is used.
          - endurance used: 80.0 %
          > Plan its replacement: behind 100 % the maker promises neither data nor speed.
        "#);
        worn.health = Answer::Told { told: Health { used_percent: Some(79), ..Health::default() } };
        assert_eq!(told(&worn), "");
    }

    #[test]
    fn what_is_wrong_with_a_filesystem_is_said_once() {
        let mut first = record(true, WriteCache::WriteBack);
        first.cache.filesystems[0].flushes_disabled_by = Some("fsync_mode=nobarrier".to_owned());
        let mut second = first.clone();
        second.device.name = "sdb".to_owned();
        let findings = drives(&[first, second]);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].advice.contains("remount,fsync_mode=posix"), "{}", findings[0].advice);
    }

    #[test]
    fn the_gravest_comes_first_and_a_run_is_spared_what_is_harmless() {
        let records = [record(false, WriteCache::WriteBack), record(true, WriteCache::WriteThrough)];
        let ids: Vec<String> = drives(&records).into_iter().map(|finding| finding.id).collect();
        assert_eq!(ids, ["kernel-sends-no-flushes", "flushes-in-vain"]);
        assert_eq!(grave(&records).len(), 1);
    }
}
