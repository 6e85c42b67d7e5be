//! Drives under OSDs that are published as slow at commits, or as without power-loss protection.

use catalogue::{Class, Drive, PowerLossProtection};
use ceph::{ClusterFacts, OsdFacts};
use measurement::{Confidence, Evidence, Finding};
use workload::number::latency;

use super::words::{osds, verb};

/// No flash with power-loss protection takes as long for a commit.
const PROTECTED_MAX_US: f64 = 500.0;

pub(super) fn judge(facts: &ClusterFacts) -> Option<Finding> {
    let known: Vec<(&OsdFacts, &str, &Drive)> = facts
        .osds
        .iter()
        .filter_map(|osd| {
            let model = osd.log_device().drives.first()?.model.as_deref()?;
            let mut drives = catalogue::reported_as(model);
            drives.retain(|drive| drive.array.is_none() && is_flash(drive.class));
            let unprotected = !drives.is_empty() && drives.iter().all(|one| is_unprotected(one));
            unprotected.then(|| (osd, model, drives[0]))
        })
        .collect();
    let on: Vec<&OsdFacts> = known.iter().map(|(osd, ..)| *osd).collect();
    let described = |drive: &Drive| match (&drive.power_loss_protection, best_commit_us(drive)) {
        (_, Some(us)) => format!("a published commit takes {} at best", latency(us)),
        (protection, None) => format!("power-loss protection: {}", protection.label()),
    };
    (!on.is_empty()).then(|| Finding {
        id: "ceph-unprotected-drives".to_owned(),
        title: format!(
            "{} {} on a drive without power-loss protection, as published measurements have it.",
            osds(&on),
            verb(on.len(), "commits", "commit")
        ),
        evidence: known
            .iter()
            .map(|(osd, model, drive)| {
                Evidence::fact(osd.name(), format!("{model}: {}", described(drive)))
            })
            .collect(),
        confidence: Confidence::Medium,
        doubt: Some(
            "The name decides here, not a measurement, and a maker may sell different drives under \
             one name."
                .to_owned(),
        ),
        advice: "Each write of a client waits for a flush of such a drive, milliseconds instead of \
                 tens of microseconds. Use it for data that is rarely written, or move block.db to a \
                 drive with power-loss protection; `flushmark catalogue --protected yes` lists \
                 measured ones."
            .to_owned(),
    })
}

fn is_unprotected(drive: &Drive) -> bool {
    match drive.power_loss_protection {
        PowerLossProtection::Yes { .. } => false,
        PowerLossProtection::No { .. } | PowerLossProtection::Claimed { .. } => true,
        PowerLossProtection::Unknown => {
            best_commit_us(drive).is_some_and(|us| us > PROTECTED_MAX_US)
        }
    }
}

const fn is_flash(class: Class) -> bool {
    !matches!(class, Class::Disk | Class::UsbStick | Class::CloudLocal | Class::CloudVolume)
}

fn best_commit_us(drive: &Drive) -> Option<f64> {
    drive.rows().filter_map(|(_, row)| row.commit_us()).min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use ceph::Device;

    use super::*;

    fn found(model: &str) -> Option<Finding> {
        let drive =
            ceph::Drive { name: "sda".to_owned(), model: Some(model.to_owned()), serial: None };
        let data = Device { drives: vec![drive], ..Device::default() };
        let osd = OsdFacts { id: 3, data, ..OsdFacts::default() };
        judge(&ClusterFacts { osds: vec![osd], ..ClusterFacts::default() })
    }

    #[test]
    fn known_drives_without_protection_are_named() {
        let finding = found("Samsung SSD 990 PRO 2TB").unwrap();
        insta::assert_snapshot!(finding.title, @"osd.3 commits on a drive without power-loss protection, as published measurements have it.");
        insta::assert_snapshot!(format!("{:?}", finding.evidence[0]), @r#"Evidence { what: "osd.3", value: String("Samsung SSD 990 PRO 2TB: a published commit takes 825 µs at best"), unit: "" }"#);
        for protected_or_unknown in ["SAMSUNG MZ1L2960HCJR-00A07", "Intel DC S3700", "NoName X1"] {
            assert_eq!(found(protected_or_unknown), None, "{protected_or_unknown}");
        }
    }
}
