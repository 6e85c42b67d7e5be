//! Findings about traced commits, one file each.

mod barriers;
mod company;
mod discards;
mod flushed_twice;
mod fua;
mod journal_of_others;
mod scheduler;
mod slow_flush;
#[cfg(test)]
mod tests;
mod writes_of_others;

use drive::BlockDevice;
use measurement::{Anatomy, Finding};

/// The drives below the commits of an anatomy, and their kind.
pub(crate) struct Traced<'a> {
    anatomy: &'a Anatomy,
    drives: Vec<&'a BlockDevice>,
}

const RULES: &[fn(&Traced<'_>) -> Option<Finding>] = &[
    barriers::no_flush,
    fua::emulated,
    flushed_twice::judge,
    slow_flush::judge,
    barriers::needless,
    journal_of_others::judge,
    writes_of_others::judge,
    company::judge,
    scheduler::judge,
    discards::judge,
];

/// Events with a lower count per commit are not worth a finding.
const NOTABLE: f64 = 0.05;

/// A kind of commits with too few of them shows nothing.
const FEWEST: u64 = 10;

/// The findings about traced commits, for each kind of them, most serious first. `devices` are the
/// drives that were traced, with what the kernel believes about them.
///
/// ```
/// assert!(judge::trace(&[], &[]).is_empty());
/// ```
pub fn trace(anatomies: &[&Anatomy], devices: &[&BlockDevice]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for rule in RULES {
        for &anatomy in anatomies.iter().filter(|anatomy| anatomy.commits.count() >= FEWEST) {
            let is_below = |device: &&BlockDevice| {
                anatomy.devices.iter().any(|name| name == device.disk_name())
            };
            let drives = devices.iter().copied().filter(is_below).collect();
            let found = rule(&Traced { anatomy, drives });
            // The same conclusion about another call would say nothing new.
            findings.extend(found.filter(|new| findings.iter().all(|old| old.id != new.id)));
        }
    }
    findings
}

impl Traced<'_> {
    fn count(&self) -> f64 {
        self.anatomy.commits.count() as f64
    }

    /// Per commit.
    fn each(&self, times: u64) -> f64 {
        times as f64 / self.count()
    }

    /// The call with its filesystem: `fsync on ext4`.
    fn words(&self) -> String {
        match &self.anatomy.filesystem {
            Some(filesystem) => format!("{} on {filesystem}", self.anatomy.call),
            None => self.anatomy.call.clone(),
        }
    }

    fn devices(&self) -> String {
        self.anatomy.devices.join(" and ")
    }
}
