//! Settings of the host that cost this target latency, or endanger it: the audit in one sentence.

use drive::Transport;
use measurement::{AuditLine, Confidence, Evidence, Finding, HostGrade};

use crate::case::Case;

/// What costs latency here.
pub(super) fn costly(case: &Case<'_>) -> Option<Finding> {
    let lines = concerning(case, HostGrade::CostsLatency);
    let subjects: Vec<&str> = lines.iter().map(|line| line.subject.as_str()).collect();
    let title = match subjects.as_slice() {
        [] => return None,
        [one] => format!("A setting of this host costs latency: {one}."),
        several => format!("{} settings of this host cost latency: {}.", several.len(), several.join("; ")),
    };
    Some(Finding {
        id: "host-costs-latency".to_owned(),
        title,
        evidence: lines.iter().map(|line| Evidence::fact(line.subject.clone(), line.found.clone())).collect(),
        confidence: Confidence::Medium,
        doubt: None,
        advice: "`flushmark host` says why each matters and what to type.".to_owned(),
    })
}

/// The write hole of an array beneath: what no number shows.
pub(super) fn write_hole(case: &Case<'_>) -> Option<Finding> {
    let line = concerning(case, HostGrade::Dangerous).into_iter().find(|line| line.id == "write-hole")?;
    Some(Finding {
        id: "write-hole".to_owned(),
        title: format!(
            "After a power cut and a lost disk, this array may give back what nobody wrote: {}.",
            line.found
        ),
        evidence: vec![Evidence::fact(line.subject.clone(), line.found.clone())],
        confidence: Confidence::High,
        doubt: None,
        advice: match &line.command {
            Some(command) => format!("{} `{command}`. `flushmark host` explains it on this array.", line.advice),
            None => line.advice,
        },
    })
}

/// Lines of that grade about the whole host, the drives beneath, the layers between, or the filesystem.
fn concerning(case: &Case<'_>, grade: HostGrade) -> Vec<AuditLine> {
    // Without a drive beneath there is nothing whose commits a setting could slow.
    if case.drives().is_empty() {
        return Vec::new();
    }
    let names = case.device_names();
    let mount = case.place.and_then(|place| place.mount.as_ref()).map(|mount| mount.mount_point.display().to_string());
    let concerns = |line: &AuditLine| {
        // `sda: I/O scheduler`, `/srv: discard`, `Host adapter before sda, sdb`; all else is the whole host's.
        let about = line.subject.split_once(": ").map(|(about, _)| about);
        let about = about.or_else(|| line.subject.split_once(" before ").map(|(_, disks)| disks));
        about.is_none_or(|about| {
            about.split(", ").any(|one| names.iter().any(|name| name == one) || mount.as_deref() == Some(one))
        })
    };
    let mut lines = crate::audit(case.host);
    let has = |transport| case.drives().iter().any(|drive| drive.transport == transport);
    let on_its_bus = |line: &AuditLine| match line.id.as_str() {
        "sata-link-power" => has(Transport::Sata),
        "nvme-power-states" => has(Transport::Nvme),
        _ => true,
    };
    lines.retain(|line| line.grade == grade && concerns(line) && on_its_bus(line));
    lines
}
