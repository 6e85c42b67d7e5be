//! The closing sentence of a comparison.

use compare::{Against, Metric, MetricComparison, TestComparison, Undecided, Verdict};

use super::fold;

/// Numbers of tests by the verdict on their leading figure.
#[derive(Default)]
struct Count {
    /// Ratios of tests that differ by more than noise, faster and slower ones separately.
    faster: Vec<f64>,
    slower: Vec<f64>,
    noise: usize,
    broken_off: usize,
    /// Inconclusive tests: their variation is unknown.
    open: usize,
}

impl Count {
    fn of(leading: &[&MetricComparison]) -> Count {
        let mut count = Count::default();
        for figure in leading {
            match (figure.verdict, figure.ratio) {
                (Verdict::Different { .. }, Some(ratio)) if ratio < 1.0 => count.slower.push(ratio),
                (Verdict::Different { .. }, Some(ratio)) => count.faster.push(ratio),
                (Verdict::Open { because }, _) if because.is_noise() => count.noise += 1,
                (Verdict::Open { because: Undecided::BrokenOff { .. } }, _) => {
                    count.broken_off += 1;
                }
                _ => count.open += 1,
            }
        }
        count
    }
}

/// `B commits 2.1 times as fast as A in 7 of 9 tests; 2 are within noise.`
pub(super) fn sentence(against: &Against, names: [&str; 2]) -> String {
    let [baseline, candidate] = names;
    let leading: Vec<&MetricComparison> =
        against.tests.iter().filter_map(TestComparison::leading).collect();
    if leading.is_empty() {
        return format!("{candidate} and {baseline} have no test in common.");
    }
    let said = judged(&leading, names) + &outliers(against).unwrap_or_default();
    match against.unpaired.len() {
        0 => said,
        1 => format!("{said} 1 test has no counterpart and is not compared."),
        several => format!("{said} {several} tests have no counterpart and are not compared."),
    }
}

/// A test that differs by at least this factor stands out, if few do.
const OUTLIER_MIN: f64 = 1.5;
/// Most tests that stand out.
const OUTLIERS_MAX: usize = 3;

/// Names the few tests that differ much more than the others, such as those of one OSD among many.
fn outliers(against: &Against) -> Option<String> {
    let far = |test: &TestComparison| {
        let ratio = test.leading()?.ratio.filter(|ratio| *ratio > 0.0 && !test.broken_off)?;
        (ratio.ln().abs() >= OUTLIER_MIN.ln()).then(|| (test.test.clone(), ratio))
    };
    let mut outliers: Vec<(String, f64)> = against.tests.iter().filter_map(far).collect();
    let few = outliers.len() <= OUTLIERS_MAX && outliers.len() * 2 < against.tests.len();
    if outliers.is_empty() || !few {
        return None;
    }
    outliers.sort_by(|a, b| b.1.ln().abs().total_cmp(&a.1.ln().abs()));
    let named = outliers.into_iter().map(|(test, ratio)| {
        format!("{test} ({} times as {})", fold(ratio), if ratio < 1.0 { "slow" } else { "fast" })
    });
    Some(format!(" Most different: {}.", named.collect::<Vec<_>>().join(", ")))
}

/// The verdict on the tests that both sides have; their leading figures are rates.
fn judged(leading: &[&MetricComparison], names: [&str; 2]) -> String {
    let [baseline, candidate] = names;
    let count = Count::of(leading);
    let tests = leading.len();
    let mut different =
        leading.iter().filter(|figure| matches!(figure.verdict, Verdict::Different { .. }));
    let does = if different.all(|figure| figure.metric == Metric::CommitsPerS) {
        "commits"
    } else {
        "goes"
    };
    let mut parts = Vec::new();
    for (ratios, how) in [(&count.faster, "fast"), (&count.slower, "slow")] {
        if !ratios.is_empty() {
            let which = of_tests(ratios.len(), tests, parts.is_empty());
            let subject =
                if parts.is_empty() { format!("{candidate} {does} ") } else { String::new() };
            parts.push(format!("{subject}{} times as {how} as {baseline} {which}", span(ratios)));
        }
    }
    if parts.is_empty() {
        return nothing_certain(&count, tests, names, leading);
    }
    if count.noise > 0 {
        parts.push(format!("{} within noise", are(count.noise)));
    }
    if count.broken_off > 0 {
        parts.push(format!("{} ended early", count.broken_off));
    }
    if count.open > 0 {
        parts.push(format!("{} inconclusive", are(count.open)));
    }
    parts.join("; ") + "."
}

/// The sentence if no test shows a difference, either because there is none or because the tests
/// are inconclusive.
fn nothing_certain(
    count: &Count,
    tests: usize,
    names: [&str; 2],
    leading: &[&MetricComparison],
) -> String {
    let [baseline, candidate] = names;
    let unsure = count.open + count.broken_off;
    if unsure == 0 {
        let which = match tests {
            1 => "the only test".to_owned(),
            2 => "both tests".to_owned(),
            _ => format!("all {tests} tests"),
        };
        return format!(
            "No difference between {candidate} and {baseline} that is more than noise, in {which}."
        );
    }
    let which = match (unsure, tests) {
        (1, 1) => "in the only test".to_owned(),
        (unsure, tests) if unsure == tests => format!("in all {tests} tests"),
        (unsure, tests) => format!("in {unsure} of {tests} tests"),
    };
    let rest = match count.noise {
        0 => "",
        1 => " The other one is within noise.",
        _ => " The others are within noise.",
    };
    if count.open == 0 {
        // The figures of a partial run would be mistaken for those of a complete one.
        let broke_off = if count.broken_off == 1 { "its run" } else { "their runs" };
        return format!("Inconclusive {which}: {broke_off} ended early.{rest}");
    }
    // The ratio of a run that ended early would be taken for a result.
    let seen = leading.iter().filter(|figure| {
        !matches!(figure.verdict, Verdict::Open { because: Undecided::BrokenOff { .. } })
    });
    let ratios: Vec<f64> =
        seen.filter_map(|figure| figure.ratio).filter(|ratio| *ratio > 0.0).collect();
    let seen = if ratios.is_empty() {
        String::new()
    } else {
        format!(" {candidate} was measured {} as {baseline}.", range(&ratios))
    };
    format!(
        "Inconclusive {which}: too few values to know how much they vary.{seen} Run longer tests, \
         or pass several runs per side separated by commas.{rest}"
    )
}

fn of_tests(count: usize, tests: usize, first: bool) -> String {
    match (count, tests, first) {
        (1, 1, _) => "in the only test".to_owned(),
        (2, 2, _) => "in both tests".to_owned(),
        (count, tests, true) if count == tests => format!("in all {tests} tests"),
        (count, tests, true) => format!("in {count} of {tests} tests"),
        (count, ..) => format!("in {count}"),
    }
}

fn are(count: usize) -> String {
    if count == 1 { "1 is".to_owned() } else { format!("{count} are") }
}

/// Ratios on one side of 1: `2.1`, `1.3 to 2.4`.
fn span(ratios: &[f64]) -> String {
    // The smallest factor is the ratio nearest to 1, on either side.
    let mut ratios = ratios.to_vec();
    ratios.sort_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()));
    match [ratios.first(), ratios.last()]
        .map(|ratio| ratio.map_or(String::new(), |ratio| fold(*ratio)))
    {
        [least, most] if least == most => least,
        [least, most] => format!("{least} to {most}"),
    }
}

/// Ratios that may be on both sides of 1: `1.2 to 2.1 times as fast`, `between 1.1 times as slow
/// and 1.3 times as fast`.
fn range(ratios: &[f64]) -> String {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    match (fold(least) != "1.00" && least < 1.0, fold(most) != "1.00" && most > 1.0) {
        (true, true) => {
            format!("between {} times as slow and {} times as fast", fold(least), fold(most))
        }
        (true, false) => format!("{} times as slow", span(ratios)),
        (false, _) => format!("{} times as fast", span(ratios)),
    }
}
