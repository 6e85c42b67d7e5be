//! Constructors of audit lines by grade, with or without advice.

use measurement::{AuditLine, HostGrade};

pub(super) fn line(
    id: &str,
    subject: impl Into<String>,
    grade: HostGrade,
    found: impl Into<String>,
    why: &str,
) -> AuditLine {
    AuditLine {
        id: id.to_owned(),
        subject: subject.into(),
        found: found.into(),
        grade,
        why: why.to_owned(),
        advice: String::new(),
        command: None,
    }
}

pub(super) fn good(
    id: &str,
    subject: impl Into<String>,
    found: impl Into<String>,
    why: &str,
) -> AuditLine {
    line(id, subject, HostGrade::Good, found, why)
}

pub(super) fn costs(
    id: &str,
    subject: impl Into<String>,
    found: impl Into<String>,
    why: &str,
) -> AuditLine {
    line(id, subject, HostGrade::CostsLatency, found, why)
}

pub(super) fn dangerous(
    id: &str,
    subject: impl Into<String>,
    found: impl Into<String>,
    why: &str,
) -> AuditLine {
    line(id, subject, HostGrade::Dangerous, found, why)
}

pub(super) fn advised(line: AuditLine, advice: impl Into<String>) -> AuditLine {
    AuditLine { advice: advice.into(), ..line }
}

pub(super) fn with_command(
    line: AuditLine,
    advice: impl Into<String>,
    command: impl Into<String>,
) -> AuditLine {
    AuditLine { advice: advice.into(), command: Some(command.into()), ..line }
}
