//! The audit of a host: settings that slow commits down or endanger them. Pure, from the host's
//! facts.
//!
//! One file per subject. Every line states what was found, why it matters for a commit, what to do
//! about it, and the exact command if running it is safe.

mod arrays;
mod ceph;
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
pub(crate) mod virtual_disks;

use drive::HostFacts;
use measurement::AuditLine;

/// All audit lines, by grade: dangerous, costs latency, good, unknown.
///
/// ```
/// assert!(judge::audit(&drive::HostFacts::default()).is_empty());
/// ```
pub fn audit(host: &HostFacts) -> Vec<AuditLine> {
    let subjects: [fn(&HostFacts) -> Vec<AuditLine>; 12] = [
        filesystems::lines,
        arrays::lines,
        controllers::lines,
        power::lines,
        idle::lines,
        cpu::lines,
        schedulers::lines,
        placement::lines,
        ceph::lines,
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
