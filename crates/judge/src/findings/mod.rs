//! The findings, one file each, in the order in which they should be read: first whatever makes all
//! other numbers worthless, then what the storage is, then what the numbers consist of.

use measurement::Finding;

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::noise;

mod barriers_off;
mod buffered;
mod cache_belief_overridden;
pub(crate) mod ceph_latency;
mod commits_do_not_scale;
mod concurrent_flushes_merge;
mod emulated_disk;
mod flush_too_fast;
mod flush_vanished;
mod fsync_dearer;
mod host_settings;
mod in_memory;
mod large_sync_dearer;
mod latencies_do_not_add_up;
mod loop_device;
mod no_block_device;
mod no_flush_sent;
mod noisy;
mod o_dsync_cheaper;
mod o_dsync_flushes_too;
mod o_dsync_ignored;
mod o_sync_regimes;
mod power_loss_protection;
mod raid_controller;
mod repeats_differ;
mod rotating_disk;
mod several_flushes;
mod small_test_area;
mod synchronous_mount;
pub(crate) mod virtual_flush;

/// The basis of a finding. Noisy numbers weaken only findings based on timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RestsOn {
    /// The kernel's view, the device's counters, or a difference in time that noise cannot explain.
    Facts,
    Timing,
}

struct Rule {
    judge: fn(&Case<'_>) -> Option<Finding>,
    rests_on: RestsOn,
    /// The rule says nothing where commits are certainly not durable.
    needs_durable: bool,
    subject: Subject,
}

/// The subject of a rule, from what holds for every target to what holds for a drive alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    /// The measurement itself, or what all storage has.
    Measurement,
    /// This machine's kernel and filesystem.
    Host,
    /// A drive. The figures of a Ceph cluster do not show its drives.
    Drive,
}

impl Subject {
    /// The last of them that a rule may be about.
    fn last(case: &Case<'_>) -> Subject {
        match (case.ceph, case.is_mapped_image()) {
            (Some(_), _) => Subject::Measurement,
            (None, true) => Subject::Host,
            (None, false) => Subject::Drive,
        }
    }
}

impl Rule {
    const fn of_durable_commits(self) -> Rule {
        Rule { needs_durable: true, ..self }
    }

    const fn about(self, subject: Subject) -> Rule {
        Rule { subject, ..self }
    }
}

const fn facts(judge: fn(&Case<'_>) -> Option<Finding>) -> Rule {
    Rule { judge, rests_on: RestsOn::Facts, needs_durable: false, subject: Subject::Drive }
}

const fn timing(judge: fn(&Case<'_>) -> Option<Finding>) -> Rule {
    Rule { judge, rests_on: RestsOn::Timing, needs_durable: false, subject: Subject::Drive }
}

const RULES: &[Rule] = &[
    facts(latencies_do_not_add_up::judge).about(Subject::Measurement),
    timing(ceph_latency::judge).about(Subject::Measurement),
    facts(in_memory::judge),
    facts(barriers_off::judge).about(Subject::Host),
    facts(cache_belief_overridden::judge),
    facts(flush_vanished::judge),
    timing(flush_too_fast::judge).of_durable_commits(),
    facts(raid_controller::judge),
    facts(host_settings::write_hole),
    facts(emulated_disk::judge),
    timing(virtual_flush::judge),
    timing(power_loss_protection::judge).of_durable_commits(),
    // Noise makes nothing faster, and flash and platter differ by a factor of twenty.
    facts(rotating_disk::judge),
    facts(no_flush_sent::judge).about(Subject::Host),
    facts(no_block_device::judge),
    facts(loop_device::judge),
    facts(synchronous_mount::judge).about(Subject::Host),
    timing(fsync_dearer::judge).of_durable_commits().about(Subject::Host),
    timing(large_sync_dearer::judge).of_durable_commits(),
    facts(several_flushes::judge),
    timing(o_dsync_ignored::judge).of_durable_commits(),
    timing(o_dsync_cheaper::judge).of_durable_commits(),
    timing(o_dsync_flushes_too::judge).of_durable_commits(),
    // The two speeds are noise to the other rules.
    facts(o_sync_regimes::judge).of_durable_commits(),
    timing(commits_do_not_scale::judge).of_durable_commits(),
    facts(concurrent_flushes_merge::judge).of_durable_commits(),
    facts(buffered::judge).about(Subject::Host),
    facts(host_settings::costly).about(Subject::Measurement),
    facts(small_test_area::judge).about(Subject::Host),
    facts(repeats_differ::judge).of_durable_commits().about(Subject::Measurement),
    facts(noisy::judge).of_durable_commits().about(Subject::Measurement),
];

/// All findings, most serious first.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let symptoms = noise::symptoms(case);
    let durable = FlushPath::of(case).not_durable_because().is_none();
    let last = Subject::last(case);
    let applicable =
        RULES.iter().filter(|rule| (durable || !rule.needs_durable) && rule.subject <= last);
    let judged = applicable.filter_map(|rule| {
        let mut finding = (rule.judge)(case)?;
        if let (RestsOn::Timing, Some(symptom)) = (rule.rests_on, symptoms.first()) {
            noise::lower(&mut finding, symptom);
        }
        Some(finding)
    });
    let mut found: Vec<Finding> = judged.collect();
    // Findings from the numbers and the mount table have already been reported, in more detail.
    let of_drives = crate::drives::serious(case.records).into_iter();
    let known: Vec<String> = found.iter().map(|finding| finding.id.clone()).collect();
    found.extend(
        of_drives
            .filter(|finding| !known.contains(&finding.id) && !is_duplicate(&known, &finding.id)),
    );
    found
}

/// The findings about flushes between a database server on this host and its drive.
pub(crate) fn on_the_way_to_the_drive(case: &Case<'_>) -> Vec<Finding> {
    let rules = [barriers_off::judge, cache_belief_overridden::judge, flush_vanished::judge];
    rules.iter().filter_map(|judge| judge(case)).collect()
}

/// Returns whether a finding about a drive repeats what a rule reported under another id.
fn is_duplicate(known: &[String], id: &str) -> bool {
    id == "kernel-sends-no-flushes" && known.iter().any(|known| known == "cache-belief-overridden")
}
