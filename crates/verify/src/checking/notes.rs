//! The notes of a verdict: circumstances that limit what it shows.

use drive::SystemRoot;

use super::Check;
use crate::document::HeardBy;
use crate::run_header::run_name;
use crate::target::boot_id;
use crate::validity::Sign;

impl Check {
    pub(super) fn notes(
        &self,
        root: &SystemRoot,
        superblocks_lost: usize,
        direct: bool,
        signs: &[Sign],
    ) -> Vec<String> {
        let mut notes = self.target_notes(superblocks_lost);
        notes.extend(self.record_notes());
        notes.extend(self.boot_notes(root, signs));
        notes.extend(self.cycle_notes());
        notes.extend(self.run.fua_caveat().map(str::to_owned));
        notes.extend(self.blind_spots(direct));
        notes
    }

    /// Notes on the identity of the target.
    fn target_notes(&self, superblocks_lost: usize) -> Vec<String> {
        let mut notes = Vec::new();
        notes.extend(match superblocks_lost {
            0 => None,
            1 => Some("one of the two superblocks, which were synced before the run began, is \
                       missing, damaged or older than the run".to_owned()),
            _ => Some(
                "both superblocks, which were synced before the run began, are missing, damaged or \
                 older than the run; the layout is taken from the journal"
                    .to_owned(),
            ),
        });
        if let Some(before) = self.went_back_to {
            notes.push(format!(
                "the target has reverted to run {}, which this run had replaced",
                run_name(before)
            ));
        }
        if self.target.is_missing() {
            notes.push(format!(
                "{} does not exist; you state that the drive is dead (--same-drive)",
                self.target.given
            ));
        } else if self.statement.same_drive {
            notes.push(
                "you state that this is the drive that was written (--same-drive)".to_owned(),
            );
        }
        notes
    }

    /// Notes on the record of acknowledgements, or its absence.
    fn record_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(cut_off) = self.cut_off {
            let what =
                if cut_off.is_damage { "is damaged" } else { "ends in the middle of an entry" };
            notes.push(format!(
                "the journal {what}: {} bytes after byte {} are ignored, and no obligation is \
                 derived from them",
                cut_off.lost_bytes, cut_off.at_bytes
            ));
        }
        let witness = &self.run.circumstances.witness;
        if self.heard_by == HeardBy::Nobody && !witness.is_empty() {
            notes.push(format!(
                "this run was recorded; repeat the check with {witness} to judge all of it"
            ));
        }
        if self.heard_by == HeardBy::Nobody {
            notes.push(
                "acknowledgements were not recorded outside the drive, so only obligations \
                 that surviving records prove are checked: losses at the very end, and a \
                 drive that reverted as a whole, go unnoticed; use --journal or \
                 --recorder"
                    .to_owned(),
            );
        }
        notes
    }

    fn boot_notes(&self, root: &SystemRoot, signs: &[Sign]) -> Vec<String> {
        let mut notes = Vec::new();
        let boot = &self.run.circumstances.boot_id;
        if !boot.is_empty() && *boot != boot_id(root) && signs.is_empty() {
            notes.push(
                "this host has rebooted since the run; that does not show a power cut, \
                 because a reset does not interrupt the drive's power"
                    .to_owned(),
            );
        }
        if !boot.is_empty() && *boot == boot_id(root) {
            notes.push(
                "this host has not rebooted since the run: if you meant to cut its power \
                 and not only the drive's, that did not happen"
                    .to_owned(),
            );
        }
        notes
    }

    /// Notes on the end of the writer, if it bears on the verdict.
    fn cycle_notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(cycle) = &self.cycle {
            let lanes = usize::from(self.run.geometry.lanes());
            // The drive lost power while the host kept running.
            let all_stopped = cycle.stopped.len() >= lanes;
            if let Some((_, why)) = cycle.stopped.first().filter(|_| all_stopped) {
                notes.push(format!(
                    "all {lanes} lanes stopped at errors, as they do when only the \
                     drive loses power; the first error: {why}"
                ));
            } else {
                notes.extend(cycle.stopped.iter().map(|(_, why)| why.clone()));
            }
            if let Some(why) =
                cycle.ended.as_ref().filter(|_| !all_stopped && cycle.cut_delay_ms.is_none())
            {
                notes.push(format!(
                    "the writer ended by itself ({why}) before any power cut, so the drive was \
                     idle when it lost power"
                ));
            }
        }
        notes
    }

    /// Signs and losses that this check cannot see.
    fn blind_spots(&self, direct: bool) -> Vec<String> {
        let mut notes = Vec::new();
        let about = &self.run.circumstances;
        if about.unsafe_shutdowns.is_none() || self.target.facts.unsafe_shutdowns.is_none() {
            notes.push(
                "the drive's count of unsafe shutdowns is unknown (reading it needs root and a \
                 drive that counts)"
                    .to_owned(),
            );
        }
        if let Some(why) = self.control_caveat().filter(|_| self.run.geometry.control_lanes > 0) {
            notes.push(format!(
                "writes missing from control lanes do not show a power cut here: {why}"
            ));
        }
        if !direct || !about.direct {
            notes.push(
                "the filesystem does not support O_DIRECT, so data may have been read from the \
                 page cache instead of the drive"
                    .to_owned(),
            );
        }
        notes
    }
}
