//! Host settings that cost this target latency or endanger it: the audit in one sentence.

use drive::Transport;
use measurement::{AuditLine, Confidence, Evidence, Finding, HostGrade};

use crate::audit::virtual_disks;
use crate::case::Case;

/// The settings that cost this target latency.
pub(super) fn costly(case: &Case<'_>) -> Option<Finding> {
    let lines = concerning(case, HostGrade::CostsLatency);
    let subjects: Vec<&str> = lines.iter().map(|line| line.subject.as_str()).collect();
    let title = match subjects.as_slice() {
        [] => return None,
        [one] => format!("One setting of this host costs latency: {one}."),
        several => {
            format!("{} settings of this host cost latency: {}.", several.len(), several.join("; "))
        }
    };
    Some(Finding {
        id: "host-costs-latency".to_owned(),
        title,
        evidence: lines
            .iter()
            .map(|line| Evidence::fact(line.subject.clone(), line.found.clone()))
            .collect(),
        confidence: Confidence::Medium,
        doubt: None,
        advice: "Run `flushmark host` to see why each matters and how to change it.".to_owned(),
    })
}

/// The write hole of an array under the target, which no measurement shows.
pub(super) fn write_hole(case: &Case<'_>) -> Option<Finding> {
    let line =
        concerning(case, HostGrade::Dangerous).into_iter().find(|line| line.id == "write-hole")?;
    Some(Finding {
        id: "write-hole".to_owned(),
        title: format!(
            "A power cut followed by a drive failure may corrupt data on this array: {}.",
            line.found
        ),
        evidence: vec![Evidence::fact(line.subject.clone(), line.found.clone())],
        confidence: Confidence::High,
        doubt: None,
        advice: match &line.command {
            Some(command) => {
                format!("{} `{command}`. `flushmark host` explains it for this array.", line.advice)
            }
            None => line.advice,
        },
    })
}

/// The audit lines of that grade about the whole host, the target's drives and layers, or its
/// filesystem.
fn concerning(case: &Case<'_>, grade: HostGrade) -> Vec<AuditLine> {
    // Without a drive there are no commits that a setting could slow down.
    if case.drives().is_empty() {
        return Vec::new();
    }
    let names = case.device_names();
    let mount = case
        .place
        .and_then(|place| place.mount.as_ref())
        .map(|mount| mount.mount_point.display().to_string());
    let concerns = |line: &AuditLine| {
        // `sda: I/O scheduler`, `/srv: discard`, `Host adapter in front of sda, sdb`; everything
        // else concerns the whole host.
        let about = line.subject.split_once(": ").map(|(about, _)| about);
        let about =
            about.or_else(|| line.subject.split_once(" in front of ").map(|(_, disks)| disks));
        about.is_none_or(|about| {
            about
                .split(", ")
                .any(|one| names.iter().any(|name| name == one) || mount.as_deref() == Some(one))
        })
    };
    let mut lines = crate::audit(case.host);
    let has = |transport| case.drives().iter().any(|drive| drive.transport == transport);
    let on_its_bus = |line: &AuditLine| match line.id.as_str() {
        "sata-link-power" => has(Transport::Sata),
        "nvme-power-states" => has(Transport::Nvme),
        // `emulated_disk` reports it.
        virtual_disks::LINE => false,
        _ => true,
    };
    lines.retain(|line| line.grade == grade && concerns(line) && on_its_bus(line));
    lines
}
