//! Whether a drive is better off with its volatile write cache off or on, from the same tests under
//! both settings.
//!
//! The verdict reads every test that was measured twice. Small single commits come first, because
//! most software waits for those; where the setting leaves them alone, as on a disk, the synced
//! writes at depth and of other sizes decide.

use measurement::{Confidence, Evidence, Finding, TestResult};
use workload::number::number;
use workload::{Pattern, Submission, SyncMethod, WriteCache};

use crate::case::Case;
use crate::physics::PROTECTED_COMMIT_US_MAX;
use crate::wording::{operation_name, rounded, switch_cache};

/// Below this factor, in either direction, the difference may be run-to-run variation.
const DIFFERENCE_MIN: f64 = 1.25;
/// From this factor on, only the setting can explain the difference.
const DIFFERENCE_CERTAIN: f64 = 3.0;
/// Unsynced writes that fall below this share of their speed deserve a warning.
const UNSYNCED_LOSS: f64 = 0.7;
/// Larger blocks are dominated by their transfer.
const SMALL_BYTES_MAX: u64 = 16 << 10;

/// With the cache off, the kernel no longer sends flushes.
const CACHE_OFF_DOUBT: &str = "With the cache off, only the drive itself vouches that a completed \
                               write is safe; `flushmark verify` can prove it.";

/// One test under both settings.
#[derive(Clone, Copy)]
struct Pair<'a> {
    off: &'a TestResult,
    on: &'a TestResult,
}

impl Pair<'_> {
    /// The ratio of the test's rate with the cache off to that with the cache on.
    fn gain(&self) -> f64 {
        self.off.iops / self.on.iops
    }

    fn is_synced(&self) -> bool {
        self.on.workload.sync.is_some_and(SyncMethod::is_durable)
    }

    /// A small write at depth 1 by one job, synced each time if at all.
    fn is_single(&self) -> bool {
        let work = &self.on.workload;
        (work.depth, work.jobs, work.sync_every) == (1, 1, 1) && work.block_bytes <= SMALL_BYTES_MAX
    }

    fn name(&self) -> String {
        test_name(self.on)
    }
}

fn is_random(result: &TestResult) -> bool {
    result.workload.pattern.is_some_and(Pattern::is_random)
}

/// `4 KiB write + fsync, sequential, depth 128`.
fn test_name(result: &TestResult) -> String {
    let mut name = operation_name(result);
    if !is_random(result) {
        name += ", sequential";
    }
    if result.workload.depth > 1 {
        name += &format!(", depth {}", result.workload.depth);
    }
    name
}

/// A test's name in evidence about the setting of the write cache: `4 KiB write + fsync, depth 128,
/// cache on`. `None` if the setting was left as it was found.
pub fn name_under_setting(result: &TestResult) -> Option<String> {
    let setting = result.workload.write_cache;
    (setting != WriteCache::Unchanged)
        .then(|| format!("{}, cache {}", test_name(result), setting.name()))
}

/// The direction of the verdict.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    Off,
    On,
    /// Some synced writes are faster with the cache off, others with it on.
    Mixed,
    Same,
}

/// Compares the results under both settings; `None` unless the same small commit was measured under
/// both.
pub(crate) fn cache_setting(case: &Case<'_>) -> Option<Finding> {
    let pairs = pairs(case.results);
    let single = |methods: &[SyncMethod]| {
        methods.iter().find_map(|method| {
            let of_method =
                |pair: &&Pair<'_>| pair.is_single() && pair.on.workload.sync == Some(*method);
            pairs.iter().filter(of_method).min_by_key(|pair| !is_random(pair.on))
        })
    };
    let by_flush = single(&[SyncMethod::Fsync, SyncMethod::Fdatasync]);
    let by_flag = single(&[SyncMethod::OSync, SyncMethod::ODsync]);
    let unsynced = single(&[SyncMethod::None]);
    let commit = by_flush.or(by_flag)?;
    let gains = |pair: &&Pair<'_>| pair.is_synced();
    let best = pairs.iter().filter(gains).max_by(|a, b| a.gain().total_cmp(&b.gain()))?;
    let worst = pairs.iter().filter(gains).min_by(|a, b| a.gain().total_cmp(&b.gain()))?;
    let verdict = Verdict { case, commit, best, worst, unsynced };

    let mut evidence: Vec<Evidence> =
        [by_flush, by_flag, unsynced].into_iter().flatten().flat_map(sides).collect();
    let differs = |pair: &&Pair<'_>| pair.gain().max(1.0 / pair.gain()) >= DIFFERENCE_MIN;
    for pair in [best, worst].into_iter().filter(differs) {
        let [off, on] = sides(pair);
        if !evidence.contains(&off) {
            evidence.extend([off, on]);
        }
    }
    evidence.extend(unsynced.into_iter().flat_map(amplification));
    let better = verdict.better();
    let decisive = if better == Better::Same { 1.0 } else { verdict.decisive_gain() };
    let certain = decisive.max(1.0 / decisive) >= DIFFERENCE_CERTAIN;
    Some(Finding {
        id: verdict.id().to_owned(),
        title: verdict.title(),
        evidence,
        confidence: if certain { Confidence::High } else { Confidence::Medium },
        doubt: (better == Better::Off).then(|| verdict.doubt_off(&pairs)),
        advice: verdict.advice(),
    })
}

struct Verdict<'a> {
    case: &'a Case<'a>,
    commit: &'a Pair<'a>,
    /// The synced writes that gain most from switching the cache off, and least.
    best: &'a Pair<'a>,
    worst: &'a Pair<'a>,
    unsynced: Option<&'a Pair<'a>>,
}

impl Verdict<'_> {
    fn better(&self) -> Better {
        let gain = self.commit.gain();
        let (gained, lost) =
            (self.best.gain() >= DIFFERENCE_MIN, self.worst.gain() <= 1.0 / DIFFERENCE_MIN);
        if gain >= DIFFERENCE_MIN {
            Better::Off
        } else if gain <= 1.0 / DIFFERENCE_MIN {
            Better::On
        } else {
            match (gained, lost) {
                (true, true) => Better::Mixed,
                (true, false) => Better::Off,
                (false, true) => Better::On,
                (false, false) => Better::Same,
            }
        }
    }

    /// True if the setting makes a difference to single commits.
    fn changes_commits(&self) -> bool {
        let gain = self.commit.gain();
        gain.max(1.0 / gain) >= DIFFERENCE_MIN
    }

    fn decisive_gain(&self) -> f64 {
        match self.better() {
            _ if self.changes_commits() => self.commit.gain(),
            Better::On => self.worst.gain(),
            _ => self.best.gain(),
        }
    }

    fn id(&self) -> &'static str {
        match self.better() {
            Better::Off => "write-cache-better-off",
            Better::On => "write-cache-better-on",
            Better::Mixed => "write-cache-mixed",
            Better::Same => "write-cache-makes-no-difference",
        }
    }

    fn title(&self) -> String {
        let label = self.case.drive_label();
        let Pair { off, on } = self.commit;
        let gain = self.commit.gain();
        let equal = format!(
            "single commits are as fast either way ({} per second off, {} on)",
            number(off.iops),
            number(on.iops)
        );
        match self.better() {
            Better::Off if self.changes_commits() && self.wears() => format!(
                "Switching the write cache of {label} off makes {} times as many commits per \
                 second ({} instead of {}, {}), but wears its flash.",
                number(gain),
                number(off.iops),
                number(on.iops),
                operation_name(on)
            ),
            Better::Off if self.changes_commits() => format!(
                "Switch the write cache of {label} off: {} times as many commits per second ({} \
                 instead of {}, {}).",
                number(gain),
                number(off.iops),
                number(on.iops),
                operation_name(on)
            ),
            Better::Off => format!(
                "Switch the write cache of {label} off: up to {} times as many synced writes per \
                 second ({} instead of {}, {}); {equal}.",
                number(self.best.gain()),
                number(self.best.off.iops),
                number(self.best.on.iops),
                self.best.name()
            ),
            Better::On if self.changes_commits() => format!(
                "Leave the write cache of {label} on: {} times as many commits per second ({} \
                 instead of {}, {}).",
                number(1.0 / gain),
                number(on.iops),
                number(off.iops),
                operation_name(on)
            ),
            Better::On => format!(
                "Leave the write cache of {label} on: up to {} times as many synced writes per \
                 second ({} instead of {}, {}); {equal}.",
                number(1.0 / self.worst.gain()),
                number(self.worst.on.iops),
                number(self.worst.off.iops),
                self.worst.name()
            ),
            Better::Mixed => format!(
                "The write cache of {label} slows some synced writes and helps others: switched \
                 off, {} is {} times as fast, and switched on, {} is {} times as fast; {equal}.",
                self.best.name(),
                number(self.best.gain()),
                self.worst.name(),
                number(1.0 / self.worst.gain()),
            ),
            Better::Same => {
                format!("The write cache of {label} makes no difference to synced writes: {equal}.")
            }
        }
    }

    fn advice(&self) -> String {
        match self.better() {
            Better::Off => self.advice_off(),
            Better::On => "Leave it on (check with `flushmark cache status`): the kernel flushes \
                           it whenever software requests durability."
                .to_owned(),
            Better::Mixed => "Decide by the test that is nearest to your software; if in doubt, \
                              leave it on."
                .to_owned(),
            Better::Same => match self.lost_unsynced() {
                Some(pair) => format!(
                    "Leave it on: switching it off only slows unsynced writes, from {} to {} per \
                     second.",
                    number(pair.on.iops),
                    number(pair.off.iops)
                ),
                None => "Leave the setting as it is.".to_owned(),
            },
        }
    }

    fn advice_off(&self) -> String {
        let disks = self.case.disk_paths();
        let commands: Vec<String> = disks.iter().map(|disk| switch_cache("off", disk)).collect();
        let commands = match commands.as_slice() {
            [] => "`flushmark cache off`".to_owned(),
            commands => commands.join(", "),
        };
        let mut advice = if self.wears() {
            let measured = self.unsynced.map_or(String::new(), |pair| {
                let [off, on] = [pair.off, pair.on].map(write_amplification);
                off.zip(on).map_or(String::new(), |(off, on)| {
                    format!(
                        " Here each unsynced byte became {} bytes on flash with the cache off, {} \
                         with it on.",
                        number(off),
                        number(on)
                    )
                })
            });
            format!(
                "Weigh commits against endurance: without the cache each small write goes to \
                 flash at once instead of being collected first, which is why a study of write \
                 caches in 2021 left those of SSDs on.{measured} If commits matter more, switch \
                 it off: {commands}."
            )
        } else {
            format!("Switch it off: {commands}.")
        };
        if self.worst.gain() <= 1.0 / DIFFERENCE_MIN {
            advice += &format!(
                " Only {} is slower then: {} instead of {} per second.",
                self.worst.name(),
                number(self.worst.off.iops),
                number(self.worst.on.iops)
            );
        }
        if let Some(pair) = self.lost_unsynced() {
            advice += &format!(
                " Unsynced writes fall from {} to {} per second; if those matter more, leave it \
                 on.",
                number(pair.on.iops),
                number(pair.off.iops)
            );
        }
        if self.case.reported_rotational() == Some(true) {
            advice += " A study of write caches in 2021 saw Ceph OSDs on disks gain in every test.";
        }
        advice
    }

    fn doubt_off(&self, pairs: &[Pair<'_>]) -> String {
        let mut doubt = CACHE_OFF_DOUBT.to_owned();
        // The kernel and the drive merge neighbouring writes that wait together.
        if !self.changes_commits() && !is_random(self.best.on) && self.best.on.workload.depth > 1 {
            doubt += " The largest gain counts merged requests, because neighbouring writes that \
                      wait together become one";
            let random = pairs.iter().filter(|pair| pair.is_synced() && is_random(pair.on));
            let gain = random.map(Pair::gain).fold(1.0, f64::max);
            doubt += &format!("; random writes gain up to {} times.", number(gain));
        }
        doubt
    }

    /// Returns whether switching the cache off sends each small write to flash: a drive that then
    /// commits faster than flash is programmed keeps them in protected memory instead.
    fn wears(&self) -> bool {
        self.case.reported_rotational() != Some(true)
            && self.commit.off.p50_us() > PROTECTED_COMMIT_US_MAX
    }

    /// The single unsynced writes, if they are much slower with the cache off.
    fn lost_unsynced(&self) -> Option<&Pair<'_>> {
        self.unsynced.filter(|pair| pair.gain() < UNSYNCED_LOSS)
    }
}

fn in_evidence(result: &TestResult) -> String {
    name_under_setting(result).unwrap_or_else(|| test_name(result))
}

fn sides(pair: &Pair<'_>) -> [Evidence; 2] {
    [pair.off, pair.on].map(|result| Evidence::number(in_evidence(result), rate(result), "IOPS"))
}

/// Whole operations per second from 100 on, two decimals below.
fn rate(result: &TestResult) -> f64 {
    if result.iops < 100.0 { rounded(result.iops) } else { result.iops.round() }
}

/// The write amplification under each setting, if the drive counts what it writes to flash.
fn amplification(pair: &Pair<'_>) -> Vec<Evidence> {
    [pair.off, pair.on]
        .into_iter()
        .filter_map(|result| {
            let what = format!("{}: write amplification", in_evidence(result));
            Some(Evidence::number(what, rounded(write_amplification(result)?), ""))
        })
        .collect()
}

fn write_amplification(result: &TestResult) -> Option<f64> {
    result.proof.device?.write_amplification()
}

/// Each test that writes and was measured under both settings, in the order of the results.
fn pairs(results: &[TestResult]) -> Vec<Pair<'_>> {
    let key = |result: &TestResult| {
        let work = result.comparable_workload();
        // A queue is always asynchronous, and only a write with a flag depends on it.
        let submission: Option<Submission> = work.submission.filter(|_| work.depth == 1);
        let blocks = (work.pattern, work.block_bytes, work.depth, work.jobs);
        (blocks, work.sync, work.sync_every, submission, work.direct, work.size_bytes)
    };
    let writes = |result: &&TestResult| {
        let pattern = result.workload.pattern;
        pattern.is_some_and(|pattern| pattern.writes() && pattern.transfers()) && result.iops > 0.0
    };
    let under = |setting: WriteCache| {
        results.iter().filter(writes).filter(move |result| result.workload.write_cache == setting)
    };
    let pair = |on| {
        let off = under(WriteCache::Off).find(|off| key(off) == key(on))?;
        Some(Pair { off, on })
    };
    under(WriteCache::On).filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use workload::SyncMethod::{Fsync, None as NoSync, OSync};

    use super::*;
    use samples::machine::{raw, write};
    use samples::place::drive;

    fn sata() -> drive::BlockDevice {
        drive("sda", drive::Transport::Sata)
    }

    fn under(setting: WriteCache, results: Vec<TestResult>) -> Vec<TestResult> {
        results
            .into_iter()
            .map(|mut result| {
                result.workload.write_cache = setting;
                result
            })
            .collect()
    }

    /// Arguments: commits per second by fsync and by O_SYNC, and unsynced writes per second.
    fn describe(off: [f64; 3], on: [f64; 3]) -> String {
        let tests = |[fsync, o_sync, unsynced]: [f64; 3]| {
            let us = |per_second: f64| 1e6 / per_second;
            vec![
                write(NoSync, us(unsynced), 0.0).result(),
                write(Fsync, 0.0, us(fsync)).result(),
                write(OSync, us(o_sync), 0.0).result(),
            ]
        };
        let results =
            [under(WriteCache::Off, tests(off)), under(WriteCache::On, tests(on))].concat();
        let machine = raw(sata());
        let case =
            Case { results: &results, ..Case::new(&[], machine.place.as_ref(), &machine.host) };
        let finding = cache_setting(&case).unwrap();
        let evidence: Vec<String> = finding
            .evidence
            .iter()
            .map(|item| format!("{} {} {}", item.what, item.value, item.unit))
            .collect();
        format!(
            "{} ({:?})\n{}\n- {}\n? {}\n> {}",
            finding.id,
            finding.confidence,
            finding.title,
            evidence.join("\n- "),
            finding.doubt.unwrap_or_default(),
            finding.advice
        )
    }

    #[test]
    fn a_protected_drive_that_flushes_its_cache_anyway() {
        // Micron 5100 ECO, figures from the Ceph performance wiki.
        insta::assert_snapshot!(describe([25_100.0, 24_900.0, 25_300.0], [671.0, 612.0, 34_000.0]), @"
        write-cache-better-off (High)
        Switch the write cache of /dev/sda off: 37.4 times as many commits per second (25,100 instead of 671, 4 KiB write + fsync).
        - 4 KiB write + fsync, cache off 25100.0 IOPS
        - 4 KiB write + fsync, cache on 671.0 IOPS
        - 4 KiB write + O_SYNC, cache off 24900.0 IOPS
        - 4 KiB write + O_SYNC, cache on 612.0 IOPS
        - 4 KiB write, cache off 25300.0 IOPS
        - 4 KiB write, cache on 34000.0 IOPS
        ? With the cache off, only the drive itself vouches that a completed write is safe; `flushmark verify` can prove it.
        > Switch it off: `flushmark cache off /dev/sda`.
        ");
    }

    #[test]
    fn a_drive_that_needs_its_cache() {
        insta::assert_snapshot!(describe([90.0, 90.0, 95.0], [560.0, 550.0, 60_000.0]), @"
        write-cache-better-on (High)
        Leave the write cache of /dev/sda on: 6.22 times as many commits per second (560 instead of 90, 4 KiB write + fsync).
        - 4 KiB write + fsync, cache off 90.0 IOPS
        - 4 KiB write + fsync, cache on 560.0 IOPS
        - 4 KiB write + O_SYNC, cache off 90.0 IOPS
        - 4 KiB write + O_SYNC, cache on 550.0 IOPS
        - 4 KiB write, cache off 95.0 IOPS
        - 4 KiB write, cache on 60000.0 IOPS
        ? 
        > Leave it on (check with `flushmark cache status`): the kernel flushes it whenever software requests durability.
        ");
    }

    #[test]
    fn no_difference_for_commits() {
        insta::assert_snapshot!(describe([1_000.0, 1_000.0, 1_010.0], [950.0, 960.0, 20_000.0]), @"
        write-cache-makes-no-difference (Medium)
        The write cache of /dev/sda makes no difference to synced writes: single commits are as fast either way (1,000 per second off, 950 on).
        - 4 KiB write + fsync, cache off 1000.0 IOPS
        - 4 KiB write + fsync, cache on 950.0 IOPS
        - 4 KiB write + O_SYNC, cache off 1000.0 IOPS
        - 4 KiB write + O_SYNC, cache on 960.0 IOPS
        - 4 KiB write, cache off 1010.0 IOPS
        - 4 KiB write, cache on 20000.0 IOPS
        ? 
        > Leave it on: switching it off only slows unsynced writes, from 20,000 to 1,010 per second.
        ");
        insta::assert_snapshot!(describe([1_000.0, 1_000.0, 1_010.0], [950.0, 960.0, 1_000.0]), @"
        write-cache-makes-no-difference (Medium)
        The write cache of /dev/sda makes no difference to synced writes: single commits are as fast either way (1,000 per second off, 950 on).
        - 4 KiB write + fsync, cache off 1000.0 IOPS
        - 4 KiB write + fsync, cache on 950.0 IOPS
        - 4 KiB write + O_SYNC, cache off 1000.0 IOPS
        - 4 KiB write + O_SYNC, cache on 960.0 IOPS
        - 4 KiB write, cache off 1010.0 IOPS
        - 4 KiB write, cache on 1000.0 IOPS
        ? 
        > Leave the setting as it is.
        ");
    }

    #[test]
    fn one_setting_alone_yields_no_finding() {
        let results = under(WriteCache::Off, vec![write(Fsync, 10.0, 1000.0).result()]);
        let host = drive::HostFacts::default();
        assert_eq!(cache_setting(&Case::new(&results, None, &host)), None);
        assert_eq!(cache_setting(&Case::new(&[], None, &host)), None);
    }

    /// Adds two more tests at depth under both settings: random writes with O_SYNC, and sequential
    /// ones with fsync, each with its rate with the cache off and on.
    fn titled(random: [f64; 2], sequential: [f64; 2], rotational: bool) -> String {
        let at_depth = |sync, iops: f64| {
            let mut result = write(sync, 100.0, 0.0).result();
            (result.workload.depth, result.iops) = (128, iops);
            result
        };
        let tests = |setting, random: f64, sequential: f64| {
            let mut in_a_row = at_depth(Fsync, sequential);
            in_a_row.workload.pattern = Some(Pattern::Write);
            let commit = write(Fsync, 20.0, 13_000.0).result();
            under(setting, vec![commit, at_depth(OSync, random), in_a_row])
        };
        let results = [
            tests(WriteCache::Off, random[0], sequential[0]),
            tests(WriteCache::On, random[1], sequential[1]),
        ];
        let mut device = sata();
        device.queue.rotational = Some(rotational);
        let machine = raw(device);
        let results = results.concat();
        let case =
            Case { results: &results, ..Case::new(&[], machine.place.as_ref(), &machine.host) };
        let Finding { id, title, doubt, advice, .. } = cache_setting(&case).unwrap();
        format!("{id}\n{title}\n? {}\n> {advice}", doubt.unwrap_or_default())
    }

    #[test]
    fn writes_at_depth_decide_where_single_commits_are_equal() {
        // A 7200 rpm disk: 2.3 times as many random writes, and 41 times as many sequential ones.
        insta::assert_snapshot!(titled([175.0, 75.7], [4_932.0, 120.0], true), @"
        write-cache-better-off
        Switch the write cache of /dev/sda off: up to 41.1 times as many synced writes per second (4,932 instead of 120, 4 KiB write + fsync, sequential, depth 128); single commits are as fast either way (76.8 per second off, 76.8 on).
        ? With the cache off, only the drive itself vouches that a completed write is safe; `flushmark verify` can prove it. The largest gain counts merged requests, because neighbouring writes that wait together become one; random writes gain up to 2.31 times.
        > Switch it off: `flushmark cache off /dev/sda`. A study of write caches in 2021 saw Ceph OSDs on disks gain in every test.
        ");
        insta::assert_snapshot!(titled([100.0, 300.0], [100.0, 100.0], true), @"
        write-cache-better-on
        Leave the write cache of /dev/sda on: up to 3 times as many synced writes per second (300 instead of 100, 4 KiB write + O_SYNC, depth 128); single commits are as fast either way (76.8 per second off, 76.8 on).
        ? 
        > Leave it on (check with `flushmark cache status`): the kernel flushes it whenever software requests durability.
        ");
        insta::assert_snapshot!(titled([100.0, 300.0], [900.0, 100.0], true), @"
        write-cache-mixed
        The write cache of /dev/sda slows some synced writes and helps others: switched off, 4 KiB write + fsync, sequential, depth 128 is 9 times as fast, and switched on, 4 KiB write + O_SYNC, depth 128 is 3 times as fast; single commits are as fast either way (76.8 per second off, 76.8 on).
        ? 
        > Decide by the test that is nearest to your software; if in doubt, leave it on.
        ");
        insta::assert_snapshot!(titled([100.0, 100.0], [100.0, 100.0], true), @"
        write-cache-makes-no-difference
        The write cache of /dev/sda makes no difference to synced writes: single commits are as fast either way (76.8 per second off, 76.8 on).
        ? 
        > Leave the setting as it is.
        ");
    }

    #[test]
    fn a_drive_that_counts_its_flash_writes_shows_the_wear() {
        let measured = |setting, sync_us: f64, flash_bytes: u64| {
            let tests = [write(NoSync, 250.0, 0.0), write(Fsync, 20.0, sync_us)];
            let results = tests.map(|test| {
                let mut result = test.flushes(0.0).result();
                let device = result.proof.device.as_mut().unwrap();
                device.medium_bytes_written = Some(device.bytes_written * flash_bytes);
                result
            });
            under(setting, results.into())
        };
        let results =
            [measured(WriteCache::Off, 500.0, 17), measured(WriteCache::On, 900.0, 2)].concat();
        let machine = raw(sata());
        let case =
            Case { results: &results, ..Case::new(&[], machine.place.as_ref(), &machine.host) };
        let finding = cache_setting(&case).unwrap();
        insta::assert_snapshot!(format!("{}\n> {}", finding.title, finding.advice), @"
        Switching the write cache of /dev/sda off makes 1.77 times as many commits per second (1,923 instead of 1,087, 4 KiB write + fsync), but wears its flash.
        > Weigh commits against endurance: without the cache each small write goes to flash at once instead of being collected first, which is why a study of write caches in 2021 left those of SSDs on. Here each unsynced byte became 17 bytes on flash with the cache off, 2 with it on. If commits matter more, switch it off: `flushmark cache off /dev/sda`.
        ");
        let counted = finding.evidence.iter().filter(|one| one.what.contains("amplification"));
        assert_eq!(
            counted.map(|one| one.value.as_f64()).collect::<Vec<_>>(),
            [Some(17.0), Some(2.0)]
        );
    }
}
