//! Whether the numbers themselves are to be trusted: what they say about the machine on which they were made.

use measurement::{Confidence, Evidence, Finding, Histogram, TestResult};
use workload::number::latency;

use crate::case::{Case, summary};
use crate::wording::{did, rounded};

/// A tail this many times above the median is the machine's doing: another program's burst, a host that was busy, throttling.
/// Published fio runs of drives left alone have p99.9 within 3 times the median (Kioxia CD6: 18 and 50 µs; Samsung 980: 1.7 and 4.0 ms).
const TAIL_RATIO_MOST: f64 = 50.0;
/// Below this many operations p99.9 is one single outlier.
const TAIL_COUNT_LEAST: u64 = 2_000;
/// Latencies fall into two groups when each holds at least this share of them...
const MODE_SHARE_LEAST: f64 = 0.10;
/// ...their peaks lie this far apart...
const MODE_DISTANCE_LEAST: f64 = 2.0;
/// ...and between them there is a valley this deep, measured against the lower peak.
const VALLEY_MOST: f64 = 0.2;
/// Fewer latencies show peaks by chance.
const MODE_COUNT_LEAST: u64 = 500;
/// Bins for each doubling of the latency when looking for peaks: as fine as a person's eye on a logarithmic scale.
const BINS_PER_DOUBLING: f64 = 4.0;

/// What is wrong with a test's numbers: half a sentence, and its evidence.
pub(crate) struct Symptom {
    /// Such as `4 KiB write + fsync did not settle`.
    pub(crate) what: String,
    pub(crate) evidence: Evidence,
}

/// The symptoms of the small commits, on which judgement rests. Writes that nobody waits for are left out: a drive that moves its cache
/// to flash, or a disk that moves it to the platter, is fast and slow by nature.
pub(crate) fn symptoms(case: &Case<'_>) -> Vec<Symptom> {
    case.small_commits().flat_map(symptoms_of).collect()
}

fn symptoms_of(result: &TestResult) -> Vec<Symptom> {
    let mut symptoms = Vec::new();
    let name = did(result);
    if let Some(steady) = result.steady_state.filter(|steady| !steady.reached) {
        let range_percent = steady.commit.map_or(0.0, |commit| commit.range_percent).max(steady.iops.range_percent);
        symptoms.push(Symptom {
            what: format!("`{name}` did not settle"),
            evidence: Evidence::number(
                format!("{name}: range over the last rounds"),
                rounded(range_percent),
                "% of the mean",
            ),
        });
    }
    let histograms = &result.histograms;
    let distribution = histograms.commit.as_ref().or(histograms.write.as_ref()).or(histograms.read.as_ref());
    if let Some(modes) = distribution.and_then(two_modes) {
        symptoms.push(Symptom {
            what: format!("`{name}` has two speeds, {} and {}", latency(modes.fast_us), latency(modes.slow_us)),
            evidence: Evidence::number(
                format!("{name}: share in the slower group"),
                rounded(modes.slow_share * 100.0),
                "%",
            ),
        });
    }
    if let Some(summary) = summary(result)
        && summary.count >= TAIL_COUNT_LEAST
        && summary.p99_9 > TAIL_RATIO_MOST * summary.p50
    {
        symptoms.push(Symptom {
            what: format!("one in a thousand of `{name}` takes {} or more", latency(summary.p99_9)),
            evidence: Evidence::number(
                format!("{name}: p99.9 over p50"),
                rounded(summary.p99_9 / summary.p50),
                "times",
            ),
        });
    }
    symptoms
}

/// Takes a finding that rests on timing one step down, and says why.
pub(crate) fn lower(finding: &mut Finding, symptom: &Symptom) {
    finding.confidence = match finding.confidence {
        Confidence::High => Confidence::Medium,
        Confidence::Medium | Confidence::Low => Confidence::Low,
    };
    let noise = format!("The numbers are noisy: {}.", symptom.what);
    finding.doubt = Some(match finding.doubt.take() {
        Some(doubt) => format!("{doubt} {noise}"),
        None => noise,
    });
}

/// A distribution that falls into two groups.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Modes {
    fast_us: f64,
    slow_us: f64,
    slow_share: f64,
}

/// The two groups, if there are two: the cut through the lowest valley that leaves a peak and a fair share on both sides.
fn two_modes(histogram: &Histogram) -> Option<Modes> {
    let total = histogram.count();
    if total < MODE_COUNT_LEAST {
        return None;
    }
    let bin = |ns: u64| ((ns.max(1) as f64).log2() * BINS_PER_DOUBLING) as usize;
    let mut counts = Vec::new();
    for (ns, count) in histogram.buckets() {
        let bin = bin(ns);
        if counts.len() <= bin {
            counts.resize(bin + 1, 0u64);
        }
        counts[bin] += count;
    }
    let centre_us = |bin: usize| 2f64.powf((bin as f64 + 0.5) / BINS_PER_DOUBLING) / 1e3;
    let highest = |range: std::ops::Range<usize>| range.max_by_key(|&bin| counts[bin]);

    let mut best: Option<(u64, Modes)> = None;
    for valley in 1..counts.len().saturating_sub(1) {
        let slow_share = counts[valley + 1..].iter().sum::<u64>() as f64 / total as f64;
        let fast_share = counts[..valley].iter().sum::<u64>() as f64 / total as f64;
        let (Some(fast), Some(slow)) = (highest(0..valley), highest(valley + 1..counts.len())) else { continue };
        let lower_peak = counts[fast].min(counts[slow]) as f64;
        let modes = Modes { fast_us: centre_us(fast), slow_us: centre_us(slow), slow_share };
        let apart = modes.slow_us >= MODE_DISTANCE_LEAST * modes.fast_us;
        let shared = slow_share >= MODE_SHARE_LEAST && fast_share >= MODE_SHARE_LEAST;
        let deep = counts[valley] as f64 <= VALLEY_MOST * lower_peak;
        if apart && shared && deep && best.is_none_or(|(depth, _)| counts[valley] < depth) {
            best = Some((counts[valley], modes));
        }
    }
    best.map(|(_, modes)| modes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(groups: &[(u64, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for &(around_ns, count) in groups {
            for index in 0..count {
                histogram.record(around_ns * (950 + index % 100) / 1000);
            }
        }
        histogram
    }

    #[test]
    fn two_groups_are_told_apart() {
        let modes = two_modes(&histogram(&[(50_000, 700), (1_600_000, 300)])).unwrap();
        assert!((40.0..60.0).contains(&modes.fast_us) && (1_400.0..1_900.0).contains(&modes.slow_us), "{modes:?}");
        assert!((modes.slow_share - 0.3).abs() < 0.01);
    }

    #[test]
    fn one_group_a_thin_tail_and_few_samples_are_no_two_groups() {
        assert_eq!(two_modes(&histogram(&[(50_000, 1000)])), None);
        assert_eq!(two_modes(&histogram(&[(50_000, 1000), (1_600_000, 50)])), None);
        assert_eq!(two_modes(&histogram(&[(50_000, 70), (1_600_000, 30)])), None);
        assert_eq!(two_modes(&Histogram::new()), None);
        // A disk: anything between half a millisecond and two turns.
        let mut broad = Histogram::new();
        for index in 0..2_000u64 {
            broad.record(500_000 + index * 8_000);
        }
        assert_eq!(two_modes(&broad), None);
    }

    /// A distribution of so many latencies in each of these quarters of an octave.
    fn binned(counts: &[(u32, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for &(bin, count) in counts {
            // Within the bin, off its edges.
            histogram.record_n((2f64.powf((f64::from(bin) + 0.5) / BINS_PER_DOUBLING)) as u64, count);
        }
        histogram
    }

    #[test]
    fn groups_are_two_where_each_is_large_and_the_valley_deep_and_they_lie_apart() {
        let is_two = |counts: &[(u32, u64)]| two_modes(&binned(counts)).is_some();
        // A tenth of all is enough, and so are 500 of them.
        assert!(is_two(&[(64, 900), (70, 100)]) && !is_two(&[(64, 901), (70, 99)]));
        assert!(is_two(&[(64, 100), (70, 900)]) && !is_two(&[(64, 99), (70, 901)]));
        assert!(is_two(&[(64, 250), (70, 250)]) && !is_two(&[(64, 250), (70, 249)]));
        // Three quarters of an octave are less than twice as slow, five are more.
        assert!(!is_two(&[(64, 500), (67, 500)]) && is_two(&[(64, 500), (69, 500)]));
        // The valley holds at most a fifth of the lower peak.
        let valley = |depth: u64| [(64, 600), (65, depth), (66, depth), (67, depth), (68, depth), (69, 400)];
        assert!(is_two(&valley(80)) && !is_two(&valley(81)));
    }

    #[test]
    fn the_deepest_valley_parts_the_groups() {
        let counts = [(64, 400), (65, 20), (66, 20), (67, 20), (68, 20), (69, 20), (70, 400), (76, 200)];
        let modes = two_modes(&binned(&counts)).unwrap();
        assert!((modes.slow_share - 200.0 / 1100.0).abs() < 1e-9, "{modes:?}");
        let us = |bin: f64| 2f64.powf((bin + 0.5) / 4.0) / 1e3;
        assert!((modes.slow_us - us(76.0)).abs() < 1e-9, "{modes:?}");
    }

    #[test]
    fn a_long_tail_is_beyond_fifty_medians_of_enough_operations() {
        use samples::machine::write;
        let symptoms = |count: u64, p99_9: f64| {
            let mut result = write(workload::SyncMethod::Fsync, 10.0, 20.0).result();
            result.histograms = measurement::Histograms::default();
            result.steady_state = None;
            let commits = result.commit_us.as_mut().unwrap();
            (commits.count, commits.p50, commits.p99_9) = (count, 10.0, p99_9);
            symptoms_of(&result)
        };
        let [symptom] = &symptoms(2000, 510.0)[..] else { panic!("one symptom") };
        assert_eq!(symptom.what, "one in a thousand of `4 KiB write + fsync` takes 510 µs or more");
        assert_eq!(symptom.evidence.value, 51.0);
        assert!(symptoms(2000, 500.0).is_empty() && symptoms(1999, 510.0).is_empty());
    }

    #[test]
    fn noise_takes_confidence_down_a_step_and_adds_to_the_doubt() {
        let symptom = Symptom { what: "it hums".to_owned(), evidence: Evidence::fact("what was heard", "a hum") };
        let lowered = |confidence: Confidence, doubt: Option<&str>| {
            let mut finding = Finding {
                id: String::new(),
                title: String::new(),
                evidence: Vec::new(),
                confidence,
                doubt: doubt.map(str::to_owned),
                advice: String::new(),
            };
            lower(&mut finding, &symptom);
            (finding.confidence, finding.doubt.unwrap())
        };
        let noise = "The numbers are noisy: it hums.".to_owned();
        assert_eq!(lowered(Confidence::High, None), (Confidence::Medium, noise.clone()));
        assert_eq!(lowered(Confidence::Medium, None), (Confidence::Low, noise));
        let both = "It may rain. The numbers are noisy: it hums.".to_owned();
        assert_eq!(lowered(Confidence::Low, Some("It may rain.")), (Confidence::Low, both));
    }
}
