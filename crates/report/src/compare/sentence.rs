//! What a comparison comes to.

use compare::{Against, Direction, Metric, MetricComparison, TestComparison, Verdict};

/// Tests by what became of the figure that stands for each.
#[derive(Default)]
struct Count {
    faster: Vec<f64>,
    slower: Vec<f64>,
    noise: usize,
    open: usize,
}

/// `B commits 2.1 times as fast as A in 7 of 9 tests; 2 are within noise.`
pub(super) fn sentence(against: &Against, names: [&str; 2]) -> String {
    let [baseline, candidate] = names;
    let leading: Vec<&MetricComparison> = against.tests.iter().filter_map(TestComparison::leading).collect();
    if leading.is_empty() {
        return format!("{candidate} and {baseline} have no test in common, so nothing can be said.");
    }
    let mut count = Count::default();
    for figure in &leading {
        match (figure.verdict, figure.ratio) {
            (Verdict::Different { direction: Direction::Better }, Some(ratio)) => count.faster.push(ratio),
            (Verdict::Different { direction: Direction::Worse }, Some(ratio)) => count.slower.push(ratio),
            (Verdict::Open { because }, _) if because.is_noise() => count.noise += 1,
            _ => count.open += 1,
        }
    }
    let tests = leading.len();
    let mut different = leading.iter().filter(|figure| matches!(figure.verdict, Verdict::Different { .. }));
    let does = if different.all(|figure| figure.metric == Metric::CommitsPerS) { "commits" } else { "goes" };
    let mut parts = Vec::new();
    for ratios in [&count.faster, &count.slower] {
        if !ratios.is_empty() {
            let subject = if parts.is_empty() { format!("{candidate} {does} ") } else { String::new() };
            let which = of_tests(ratios.len(), tests, parts.is_empty());
            parts.push(format!("{subject}{} times as fast as {baseline} {which}", span(ratios)));
        }
    }
    if parts.is_empty() {
        return nothing_certain(&count, tests, names, &leading);
    }
    if count.noise > 0 {
        parts.push(format!("{} within noise", are(count.noise)));
    }
    if count.open > 0 {
        parts.push(format!("of {} nothing is sure", count.open));
    }
    parts.join("; ") + "."
}

/// No test shows a difference: because there is none to be seen, or because nothing could tell.
fn nothing_certain(count: &Count, tests: usize, names: [&str; 2], leading: &[&MetricComparison]) -> String {
    let [baseline, candidate] = names;
    if count.open == 0 {
        let which = match tests {
            1 => "the one test".to_owned(),
            _ => format!("all {tests} tests"),
        };
        return format!("No difference between {candidate} and {baseline} that is more than noise, in {which}.");
    }
    let ratios: Vec<f64> = leading.iter().filter_map(|figure| figure.ratio).filter(|ratio| *ratio > 0.0).collect();
    let seen = if ratios.is_empty() {
        String::new()
    } else {
        format!(" {candidate} was seen {} times as fast as {baseline}.", span(&ratios))
    };
    let which = match (count.open, tests) {
        (1, 1) => "in the one test".to_owned(),
        (open, tests) if open == tests => format!("in any of {tests} tests"),
        (open, tests) => format!(
            "in {open} of {tests} tests; the rest {} within noise",
            if tests - open == 1 { "is" } else { "are" }
        ),
    };
    format!(
        "Nothing is sure {which}: too little tells how much they vary.{seen} Longer tests, or several runs a side joined by commas, would tell."
    )
}

fn of_tests(count: usize, tests: usize, first: bool) -> String {
    match (count, tests, first) {
        (1, 1, _) => "in the one test".to_owned(),
        (count, tests, true) if count == tests => format!("in all {tests} tests"),
        (count, tests, true) => format!("in {count} of {tests} tests"),
        (count, ..) => format!("in {count}"),
    }
}

fn are(count: usize) -> String {
    if count == 1 { "1 is".to_owned() } else { format!("{count} are") }
}

/// One ratio, or the range of several: `2.1`, `1.3 to 2.4`.
fn span(ratios: &[f64]) -> String {
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let [least, most] = [least, most].map(super::ratio);
    if least == most { least } else { format!("{least} to {most}") }
}
