//! What of a host slows a commit or endangers it: pure, from the host's facts.
//!
//! One file a subject. Every line says what was found, why it matters for a commit, what to do, and the exact command, where one does no harm.

mod arrays;
mod controllers;
mod cpu;
mod filesystems;
mod idle;
mod kernel;
mod memory;
mod placement;
mod power;
mod schedulers;
mod virtual_disks;

pub(crate) use controllers::is_raid;

use drive::HostFacts;
use measurement::{AuditLine, HostGrade};

/// Everything that the facts say: what is dangerous first, then what costs latency, what is good, what could not be seen.
///
/// ```
/// assert!(judge::audit(&drive::HostFacts::default()).is_empty());
/// ```
pub fn audit(host: &HostFacts) -> Vec<AuditLine> {
    let subjects: [fn(&HostFacts) -> Vec<AuditLine>; 11] = [
        filesystems::lines,
        arrays::lines,
        controllers::lines,
        power::lines,
        idle::lines,
        cpu::lines,
        schedulers::lines,
        placement::lines,
        memory::lines,
        virtual_disks::lines,
        kernel::lines,
    ];
    let mut lines: Vec<AuditLine> = subjects.iter().flat_map(|subject| subject(host)).collect();
    lines.sort_by_key(|line| line.grade);
    lines
}

fn line(id: &str, subject: impl Into<String>, grade: HostGrade, found: impl Into<String>, why: &str) -> AuditLine {
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

fn good(id: &str, subject: impl Into<String>, found: impl Into<String>, why: &str) -> AuditLine {
    line(id, subject, HostGrade::Good, found, why)
}

fn costs(id: &str, subject: impl Into<String>, found: impl Into<String>, why: &str) -> AuditLine {
    line(id, subject, HostGrade::CostsLatency, found, why)
}

fn dangerous(id: &str, subject: impl Into<String>, found: impl Into<String>, why: &str) -> AuditLine {
    line(id, subject, HostGrade::Dangerous, found, why)
}

/// The line with what to do about it.
fn advised(line: AuditLine, advice: impl Into<String>) -> AuditLine {
    AuditLine { advice: advice.into(), ..line }
}

/// The line with what to do about it and the command that does it.
fn with_command(line: AuditLine, advice: impl Into<String>, command: impl Into<String>) -> AuditLine {
    AuditLine { advice: advice.into(), command: Some(command.into()), ..line }
}

#[cfg(test)]
mod tests;
