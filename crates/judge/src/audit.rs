//! What of a host slows a commit or endangers it: pure, from the host's facts.
//!
//! One file a subject. Every line says what was found, why it matters for a commit, what to do, and the exact command, where one does no harm.

mod arrays;
mod controllers;
mod cpu;
mod filesystems;
mod idle;
mod kernel;
mod line;
mod memory;
mod placement;
mod power;
mod schedulers;
mod virtual_disks;

use drive::HostFacts;
use measurement::AuditLine;

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

#[cfg(test)]
mod tests;
