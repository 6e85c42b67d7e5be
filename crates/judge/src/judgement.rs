//! The judgement of a run: all findings and grades, combined in one place.

use std::collections::BTreeMap;

use drive::{BlockDevice, Place};
use measurement::{Anatomy, Finding, Fitness, FitnessUnderEachSetting, TestResult, Use};
use workload::WriteCache;

use crate::cache_setting::cache_setting;
use crate::case::{BothSettings, Case};
use crate::findings::findings;
use crate::fitness::fitness;
use crate::flush_path::FlushPath;
use crate::probes::probes;
use crate::trace::trace;

/// Findings and grades, as stored in the result document.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// Most serious first.
    pub findings: Vec<Finding>,
    pub fitness: BTreeMap<Use, Fitness>,
    /// `None` unless a run measured both settings of the write cache.
    pub under_each_setting: Option<FitnessUnderEachSetting>,
}

/// Judges a case. Findings and grades are based on the results under the write-cache setting that
/// is in effect after the run. The comparison of the two settings and the verdict on the drive's
/// power-loss protection use the results of both.
pub fn judge(case: &Case<'_>) -> Judgement {
    let alone = measured_alone(case);
    let current: Vec<TestResult> = alone
        .iter()
        .filter(|result| {
            let setting = result.workload.write_cache.requires_on();
            setting.is_none_or(|on| Some(on) == case.caches_found_on)
        })
        .cloned()
        .collect();
    let [off, on] = under_each_setting(&alone);
    let both = (!off.is_empty() && !on.is_empty()).then_some(BothSettings { off: &off, on: &on });
    let now = Case { results: &current, both_settings: both, ..*case };
    let mut findings = findings(&now);
    if let Some(setting) = cache_setting(&Case { results: &alone, ..*case }) {
        // The answer that a run under both settings is made for, unless no commit is durable.
        let durable = FlushPath::of(&now).not_durable_because().is_none();
        findings.insert(if durable { 0 } else { findings.len() }, setting);
    }
    findings.extend(probes(&now));
    findings.extend(traced(&now));
    let under_each_setting = fitness_under_each_setting(case, &off, &on);
    Judgement { findings, fitness: fitness(&now), under_each_setting }
}

/// Findings from the traces of the tests.
fn traced(case: &Case<'_>) -> Vec<Finding> {
    let traces = case.results.iter().filter_map(|result| result.trace.as_ref());
    let anatomies: Vec<&Anatomy> = traces.flat_map(|trace| &trace.anatomies).collect();
    let device = case.place.and_then(Place::block_device);
    trace(&anatomies, &device.map(BlockDevice::drives).unwrap_or_default())
}

fn fitness_under_each_setting(
    case: &Case<'_>,
    off: &[TestResult],
    on: &[TestResult],
) -> Option<FitnessUnderEachSetting> {
    let both = BothSettings { off, on };
    let cases = Case { both_settings: Some(both), ..*case }.under_each_setting()?;
    let measured = cases.iter().all(|case| case.small_commits().next().is_some());
    let [off, on] = cases;
    measured.then(|| FitnessUnderEachSetting { off: fitness(&off), on: fitness(&on) })
}

/// Tests that ran concurrently with others are left out: they show the bandwidth that the others
/// left, not what the storage can do.
fn measured_alone(case: &Case<'_>) -> Vec<TestResult> {
    case.results.iter().filter(|result| result.workload.beside.is_empty()).cloned().collect()
}

/// The results with the write cache off, and those with it on.
fn under_each_setting(results: &[TestResult]) -> [Vec<TestResult>; 2] {
    [WriteCache::Off, WriteCache::On].map(|setting| {
        let under = |result: &&TestResult| result.workload.write_cache == setting;
        results.iter().filter(under).cloned().collect()
    })
}

#[cfg(test)]
mod tests {
    use drive::{HostFacts, Transport};
    use measurement::{Grade, TraceRecord};
    use workload::SyncMethod::{Fsync, None as NoSync};

    use super::*;
    use samples::machine::{Run, raw, write};
    use samples::place::drive;

    /// A commit takes 10 ms with the cache on and 50 µs with it off.
    fn under_both_settings() -> Vec<TestResult> {
        let tests = [(WriteCache::On, 9950.0), (WriteCache::Off, 0.0)].map(|(setting, sync_us)| {
            let runs = [write(NoSync, 50.0, 0.0), write(Fsync, 50.0, sync_us)].map(Run::result);
            runs.map(|mut result| {
                result.workload.write_cache = setting;
                result
            })
        });
        tests.concat()
    }

    #[test]
    fn the_restored_cache_setting_decides_the_grades() {
        let (results, host) = (under_both_settings(), HostFacts::default());
        let graded = |found_on: Option<bool>| {
            let judged = judge(&Case::new(&results, None, &host).with_caches_found(found_on));
            let settings =
                judged.findings.iter().filter(|finding| finding.id == "write-cache-better-off");
            assert_eq!(settings.count(), 1, "both settings are compared, whichever is in effect");
            judged.fitness[&Use::ZfsSlog].grade
        };
        assert!(graded(Some(false)) > graded(Some(true)));
        assert_eq!(graded(None), Grade::Unknown, "the setting in effect is unknown");
    }

    #[test]
    fn traces_of_tests_are_judged_with_the_drive_below_them() {
        let mut result = write(Fsync, 50.0, 8600.0).result();
        let anatomies = vec![samples::fsync_on_ext4(100)];
        result.trace = Some(TraceRecord { anatomies, ..TraceRecord::default() });
        let place = samples::place::device(drive("sda", Transport::Sata));
        let judged = judge(&Case::new(&[result], Some(&place), &HostFacts::default()));
        let traced = judged.findings.iter().find(|finding| finding.id == "fua-emulated").unwrap();
        assert!(traced.advice.contains("libata.fua=1"), "{}", traced.advice);
    }

    #[test]
    fn a_concurrent_test_grades_nothing() {
        let mut results = vec![write(Fsync, 50.0, 1000.0).result()];
        let host = HostFacts::default();
        let grade = |results: &[TestResult]| {
            judge(&Case::new(results, None, &host)).fitness[&Use::DatabaseLog].grade
        };
        assert_ne!(grade(&results), Grade::Unknown);
        results[0].workload.beside = vec!["another".to_owned()];
        assert_eq!(grade(&results), Grade::Unknown);
    }

    /// The judgement of a drive with the cache off and on: microseconds of an unsynced write and of
    /// a sync.
    fn described(name: &str, off_us: [f64; 2], on_us: [f64; 2]) -> String {
        let mut sata = drive("sda", Transport::Sata);
        sata.model = Some(name.to_owned());
        let machine = raw(sata);
        let under = [(WriteCache::Off, off_us), (WriteCache::On, on_us)];
        let results: Vec<TestResult> = under
            .into_iter()
            .flat_map(|(setting, [write_us, sync_us])| {
                let flushes = if setting == WriteCache::Off { 0.0 } else { 1.0 };
                let fsync = write(Fsync, write_us, sync_us).flushes(flushes);
                [write(NoSync, write_us, 0.0).result(), fsync.result()].map(|mut result| {
                    result.workload.write_cache = setting;
                    result
                })
            })
            .collect();
        let case = Case::new(&results, machine.place.as_ref(), &machine.host)
            .with_caches_found(Some(true));
        let judged = judge(&case);
        let listed = judged.findings.into_iter().filter(|one| one.id != "small-test-area");
        let findings = listed.map(|finding| {
            let doubt = finding.doubt.unwrap_or_default();
            let confidence = finding.confidence;
            format!(
                "{} {confidence:?}\n{}\n? {doubt}\n> {}\n",
                finding.id, finding.title, finding.advice
            )
        });
        let fitness = judged.under_each_setting.unwrap();
        let grades = Use::ALL.map(|used| {
            let [off, on] = [&fitness.off, &fitness.on].map(|fitness| fitness[&used].grade.name());
            format!("{}: {off} off, {on} on\n", used.label())
        });
        findings.chain(grades).collect()
    }

    #[test]
    fn a_protected_drive_that_is_slow_until_its_cache_is_off() {
        insta::assert_snapshot!(described("Micron 5100", [40.0, 1.0], [41.0, 1450.0]), @"
        write-cache-better-off High
        Switch the write cache of Micron 5100 off: 36.4 times as many commits per second (24,390 instead of 671, 4 KiB write + fsync).
        ? With the cache off, only the drive itself vouches that a completed write is safe; `flushmark verify` can prove it.
        > Switch it off: `flushmark cache off /dev/sda`.
        power-loss-protection-simple Medium
        Micron 5100 most likely has simple power-loss protection (PLP): a commit (4 KiB write + fsync) takes 41 µs with its write cache off, less than programming flash, but 1.49 ms with it on, because each flush writes the cache out.
        ? A drive that goes on caching in unprotected memory after its cache was switched off is as fast; timing alone cannot distinguish the two.
        > Check the drive's datasheet for power-loss protection, or prove it with `flushmark verify` and a power cut while the cache is off.
        Ceph OSD: good off, poor on
        ZFS SLOG: excellent off, poor on
        database log: excellent off, fair on
        general use: excellent off, good on
        ");
    }

    #[test]
    fn an_unprotected_drive_that_flash_slows_under_either_setting() {
        insta::assert_snapshot!(described("Crucial T500", [700.0, 1.0], [21.0, 1200.0]), @"
        write-cache-better-off Medium
        Switching the write cache of Crucial T500 off makes 1.74 times as many commits per second (1,427 instead of 819, 4 KiB write + fsync), but wears its flash.
        ? With the cache off, only the drive itself vouches that a completed write is safe; `flushmark verify` can prove it.
        > Weigh commits against endurance: without the cache each small write goes to flash at once instead of being collected first, which is why a study of write caches in 2021 left those of SSDs on. If commits matter more, switch it off: `flushmark cache off /dev/sda`. Unsynced writes fall from 47,619 to 1,429 per second; if those matter more, leave it on.
        no-power-loss-protection High
        Crucial T500 shows no power-loss protection (PLP): a commit (4 KiB write + fsync) takes 1.22 ms, the same write unsynced 21 µs, and 701 µs with the write cache off.
        ? 
        > Where commits matter (database log, Ceph, SLOG), use a drive whose datasheet promises power-loss protection; `flushmark catalogue --protected yes` lists such drives.
        Ceph OSD: poor off, poor on
        ZFS SLOG: poor off, poor on
        database log: fair off, fair on
        general use: good off, good on
        ");
    }

    #[test]
    fn a_protected_drive_whose_flushes_are_free_under_either_setting() {
        insta::assert_snapshot!(described("Intel S3500", [40.0, 1.0], [40.0, 20.0]), @"
        write-cache-better-off Medium
        Switch the write cache of Intel S3500 off: 1.46 times as many commits per second (24,390 instead of 16,667, 4 KiB write + fsync).
        ? With the cache off, only the drive itself vouches that a completed write is safe; `flushmark verify` can prove it.
        > Switch it off: `flushmark cache off /dev/sda`.
        power-loss-protection-advanced Medium
        Intel S3500 most likely has advanced power-loss protection (PLP), which makes flushes almost free: a commit (4 KiB write + fsync) takes 60 µs, less than programming flash and little more than the same write unsynced (40 µs).
        ? Timing alone cannot distinguish a protected cache from a drive that ignores flushes.
        > Check the drive's datasheet for power-loss protection, or prove it with `flushmark verify` and a power cut.
        Ceph OSD: good off, good on
        ZFS SLOG: excellent off, good on
        database log: excellent off, excellent on
        general use: excellent off, excellent on
        ");
    }

    #[test]
    fn one_setting_has_no_grades_for_two() {
        let results = [write(Fsync, 50.0, 1000.0).result()];
        let host = HostFacts::default();
        assert_eq!(judge(&Case::new(&results, None, &host)).under_each_setting, None);
    }
}
