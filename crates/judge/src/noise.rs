//! Signs of disturbance in the numbers themselves, which limit how far they can be trusted.

use measurement::{Confidence, Evidence, Finding, Histogram, TestResult};
use workload::number::latency;

use crate::case::{Case, summary};
use crate::wording::{operation_name, rounded};

/// A tail this many times above the median is caused by the machine: another program's burst, a
/// busy host, throttling. In published fio runs of undisturbed drives, p99.9 is within 3 times the
/// median (Kioxia CD6: 18 and 50 µs; Samsung 980: 1.7 and 4.0 ms).
const TAIL_RATIO_MAX: f64 = 50.0;
/// With fewer operations, p99.9 is a single outlier.
const TAIL_COUNT_MIN: u64 = 2_000;
/// Latencies fall into two groups if each contains at least this share of them...
const MODE_SHARE_MIN: f64 = 0.10;
/// ...their peaks differ by at least this factor...
const MODE_DISTANCE_MIN: f64 = 2.0;
/// ...and the valley between them is at most this share of the lower peak.
const VALLEY_MAX: f64 = 0.2;
/// With fewer latencies, peaks appear by chance.
const MODE_COUNT_MIN: u64 = 500;
/// Bins per doubling of the latency in the search for peaks.
const BINS_PER_DOUBLING: f64 = 4.0;

/// A sign that a test's numbers are noisy.
pub(crate) struct Symptom {
    /// A clause such as `4 KiB write + fsync did not settle`.
    pub(crate) what: String,
    pub(crate) evidence: Evidence,
}

/// The symptoms of the small commits, on which the judgement is based. Unsynced writes are left
/// out: their speed varies by nature while a drive moves its cache to flash or to the platter.
pub(crate) fn symptoms(case: &Case<'_>) -> Vec<Symptom> {
    case.small_commits().flat_map(symptoms_of).collect()
}

fn symptoms_of(result: &TestResult) -> Vec<Symptom> {
    let mut symptoms = Vec::new();
    let name = operation_name(result);
    if let Some(steady) = result.steady_state.filter(|steady| !steady.reached) {
        let range_percent =
            steady.commit.map_or(0.0, |commit| commit.range_percent).max(steady.iops.range_percent);
        symptoms.push(Symptom {
            what: format!("`{name}` did not settle"),
            evidence: Evidence::number(
                format!("{name}: range over the last rounds"),
                rounded(range_percent),
                "% of the mean",
            ),
        });
    }
    if let Some(modes) = modes(result) {
        symptoms.push(Symptom {
            what: format!("`{name}` has two speeds: {}", modes.describe()),
            evidence: Evidence::number(
                format!("{name}: share in the slower group"),
                rounded(modes.slow_share * 100.0),
                "%",
            ),
        });
    }
    if let Some(summary) = summary(result)
        && summary.count >= TAIL_COUNT_MIN
        && summary.p99_9 > TAIL_RATIO_MAX * summary.p50
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

/// Lowers the confidence of a finding based on timing by one step, and adds the reason to its
/// doubt.
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

/// The two speeds of a test, if what its application waits for falls into two groups.
pub(crate) fn modes(result: &TestResult) -> Option<Modes> {
    let histograms = &result.histograms;
    let distribution =
        histograms.commit.as_ref().or(histograms.write.as_ref()).or(histograms.read.as_ref());
    distribution.and_then(two_modes)
}

/// The two groups of a bimodal distribution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Modes {
    fast_us: f64,
    slow_us: f64,
    slow_share: f64,
}

impl Modes {
    /// `66 % at about 90 µs, 34 % at about 4 ms`.
    pub(crate) fn describe(&self) -> String {
        // A group is wider than a third digit.
        let about = |us: f64| {
            let digit = 10f64.powf(us.log10().floor() - 1.0);
            latency((us / digit).round() * digit)
        };
        let slow_percent = (self.slow_share * 100.0).round();
        format!(
            "{} % at about {}, {slow_percent} % at about {}",
            100.0 - slow_percent,
            about(self.fast_us),
            about(self.slow_us)
        )
    }
}

/// Splits at the lowest valley that leaves a peak and a sufficient share on both sides, if there is
/// one.
fn two_modes(histogram: &Histogram) -> Option<Modes> {
    let total = histogram.count();
    if total < MODE_COUNT_MIN {
        return None;
    }
    let bin = |ns: u64| ((ns.max(1) as f64).log2() * BINS_PER_DOUBLING) as usize;
    let (mut counts, mut sums_ns) = (Vec::new(), Vec::new());
    for (ns, count) in histogram.buckets() {
        let bin = bin(ns);
        if counts.len() <= bin {
            counts.resize(bin + 1, 0u64);
            sums_ns.resize(bin + 1, 0.0);
        }
        counts[bin] += count;
        sums_ns[bin] += ns.max(1) as f64 * count as f64;
    }
    // The mean around the peak, which may lie on the border of two bins.
    let peak_us = |bin: usize| {
        let around = bin.saturating_sub(1)..(bin + 2).min(counts.len());
        let count: u64 = counts[around.clone()].iter().sum();
        sums_ns[around].iter().sum::<f64>() / count as f64 / 1e3
    };
    let highest = |range: std::ops::Range<usize>| range.max_by_key(|&bin| counts[bin]);

    let mut best: Option<(u64, Modes)> = None;
    for valley in 1..counts.len().saturating_sub(1) {
        let slow_share = counts[valley + 1..].iter().sum::<u64>() as f64 / total as f64;
        let fast_share = counts[..valley].iter().sum::<u64>() as f64 / total as f64;
        let (Some(fast), Some(slow)) = (highest(0..valley), highest(valley + 1..counts.len()))
        else {
            continue;
        };
        let lower_peak = counts[fast].min(counts[slow]) as f64;
        let modes = Modes { fast_us: peak_us(fast), slow_us: peak_us(slow), slow_share };
        let apart = modes.slow_us >= MODE_DISTANCE_MIN * modes.fast_us;
        let shared = slow_share >= MODE_SHARE_MIN && fast_share >= MODE_SHARE_MIN;
        let deep = counts[valley] as f64 <= VALLEY_MAX * lower_peak;
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
    fn two_groups_are_recognised() {
        let modes = two_modes(&histogram(&[(50_000, 700), (1_600_000, 300)])).unwrap();
        assert!(
            (40.0..60.0).contains(&modes.fast_us) && (1_400.0..1_900.0).contains(&modes.slow_us),
            "{modes:?}"
        );
        assert!((modes.slow_share - 0.3).abs() < 0.01);
    }

    #[test]
    fn one_group_a_thin_tail_or_few_samples_are_not_bimodal() {
        assert_eq!(two_modes(&histogram(&[(50_000, 1000)])), None);
        assert_eq!(two_modes(&histogram(&[(50_000, 1000), (1_600_000, 50)])), None);
        assert_eq!(two_modes(&histogram(&[(50_000, 70), (1_600_000, 30)])), None);
        assert_eq!(two_modes(&Histogram::new()), None);
        // A rotating disk: anything between half a millisecond and two rotations.
        let mut broad = Histogram::new();
        for index in 0..2_000u64 {
            broad.record(500_000 + index * 8_000);
        }
        assert_eq!(two_modes(&broad), None);
    }

    /// A distribution given as pairs of quarter-octave bin and count.
    fn binned(counts: &[(u32, u64)]) -> Histogram {
        let mut histogram = Histogram::new();
        for &(bin, count) in counts {
            // Inside the bin, away from its edges.
            histogram
                .record_n((2f64.powf((f64::from(bin) + 0.5) / BINS_PER_DOUBLING)) as u64, count);
        }
        histogram
    }

    #[test]
    fn two_groups_must_be_large_far_apart_and_separated_by_a_deep_valley() {
        let is_two = |counts: &[(u32, u64)]| two_modes(&binned(counts)).is_some();
        // A tenth of all latencies suffices, and 500 latencies suffice.
        assert!(is_two(&[(64, 900), (70, 100)]) && !is_two(&[(64, 901), (70, 99)]));
        assert!(is_two(&[(64, 100), (70, 900)]) && !is_two(&[(64, 99), (70, 901)]));
        assert!(is_two(&[(64, 250), (70, 250)]) && !is_two(&[(64, 250), (70, 249)]));
        // Three quarters of an octave are less than a factor of two, five are more.
        assert!(!is_two(&[(64, 500), (67, 500)]) && is_two(&[(64, 500), (69, 500)]));
        // The valley is at most a fifth of the lower peak.
        let valley =
            |depth: u64| [(64, 600), (65, depth), (66, depth), (67, depth), (68, depth), (69, 400)];
        assert!(is_two(&valley(80)) && !is_two(&valley(81)));
    }

    #[test]
    fn the_deepest_valley_separates_the_groups() {
        let counts =
            [(64, 400), (65, 20), (66, 20), (67, 20), (68, 20), (69, 20), (70, 400), (76, 200)];
        let modes = two_modes(&binned(&counts)).unwrap();
        assert!((modes.slow_share - 200.0 / 1100.0).abs() < 1e-9, "{modes:?}");
        let us = |bin: f64| 2f64.powf((bin + 0.5) / 4.0) / 1e3;
        assert!((modes.slow_us / us(76.0) - 1.0).abs() < 0.01, "{modes:?}");
    }

    #[test]
    fn a_tail_above_fifty_medians_is_a_symptom_given_enough_operations() {
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
    fn noise_lowers_confidence_by_a_step_and_adds_to_the_doubt() {
        let symptom = Symptom {
            what: "it hums".to_owned(),
            evidence: Evidence::fact("what was heard", "a hum"),
        };
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
