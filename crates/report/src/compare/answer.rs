//! The answer of a comparison: one sentence that decides, what it leaves out, and what would decide
//! an open question.

use compare::{
    Against, Direction, GroupRecord, Metric, MetricComparison, Operation, Point, SECONDS_MIN,
    Samples, TestComparison, Undecided, Verdict,
};
use workload::number::number;
use workload::suites;

use super::words::{bound, change, either_way, factor_range, fold, percent_up, range};

/// `B commits 13.9× slower than A (95 % interval 12.1 to 15.2×).`
pub(super) fn answer(against: &Against, names: [&str; 2]) -> String {
    let [baseline, candidate] = names;
    if against.tests.is_empty() {
        return format!("{candidate} and {baseline} have no test in common.");
    }
    match against.headline().and_then(|test| Some((test, test.leading()?))) {
        Some((test, figure)) => of_headline(test, figure, names),
        None => of_all(against, names),
    }
}

/// The answer if one test represents all.
fn of_headline(test: &TestComparison, figure: &MetricComparison, names: [&str; 2]) -> String {
    let [baseline, candidate] = names;
    let does = verb(test);
    let metric = figure.metric;
    let seen = figure.ratio.filter(|ratio| *ratio > 0.0).map(|ratio| change(ratio, metric));
    match (figure.verdict, figure.interval, seen) {
        (Verdict::Different { .. }, Some(interval), Some(seen)) => format!(
            "{candidate} {does} {seen} than {baseline} (95 % interval {}).",
            range(interval, metric)
        ),
        (Verdict::Different { .. }, _, seen) => {
            let seen = seen.unwrap_or_default();
            format!("{candidate} {does} {seen} than {baseline} (computed by models, exact).")
        }
        (Verdict::Open { because: Undecided::Identical }, ..) => {
            format!("{candidate} {does} exactly as fast as {baseline} (computed by models).")
        }
        (Verdict::Open { .. }, Some(interval), _) => match bound(figure) {
            Some(bound) => format!(
                "No difference larger than {} between {candidate} and {baseline} (95 % confidence).",
                percent_up(bound)
            ),
            None => format!(
                "Undecided: {candidate} {does} {} than {baseline} (95 % interval).",
                either_way(interval, metric)
            ),
        },
        // The figures of a partial run would be mistaken for those of a complete one.
        (Verdict::Open { because }, None, Some(seen))
            if !matches!(because, Undecided::BrokenOff { .. }) =>
        {
            format!("Undecided: {candidate} was measured {seen} than {baseline}, but {because}.")
        }
        (Verdict::Open { because }, ..) => format!("Undecided: {because}."),
    }
}

/// The verb for the candidate, by the test's leading figure.
fn verb(test: &TestComparison) -> &'static str {
    let has = |operation| test.metric(Metric::Latency(operation, Point::P50)).is_some();
    match test.leading().map(|figure| figure.metric) {
        Some(Metric::CommitsPerS) => "commits",
        _ if test.metric(Metric::SortS).is_some() => "sorts",
        _ if has(Operation::Read) && !has(Operation::Write) => "reads",
        _ if has(Operation::Write) && !has(Operation::Read) => "writes",
        _ => "works",
    }
}

/// Tests by the verdict on their leading figure.
#[derive(Default)]
struct Count {
    slower: Differing,
    faster: Differing,
    same: usize,
    undecided: usize,
    /// The largest difference that the intervals of `same` allow, as a factor.
    bound: f64,
}

/// Tests that differ in one direction.
#[derive(Default)]
struct Differing {
    count: usize,
    /// The least and the greatest factor.
    factors: Option<[f64; 2]>,
}

impl Differing {
    fn add(&mut self, figure: &MetricComparison) {
        self.count += 1;
        if let Some(factor) = figure.ratio.filter(|ratio| *ratio > 0.0).map(fold) {
            let [least, greatest] = self.factors.unwrap_or([factor; 2]);
            self.factors = Some([least.min(factor), greatest.max(factor)]);
        }
    }

    /// `14 faster (2.6 to 131×)`.
    fn said(&self, direction: &str) -> Option<String> {
        let factors = self.factors.map(|factors| format!(" ({})", factor_range(factors)));
        (self.count > 0)
            .then(|| format!("{} {direction}{}", self.count, factors.unwrap_or_default()))
    }
}

impl Count {
    fn of(against: &Against) -> Count {
        let mut count = Count::default();
        for figure in against.tests.iter().filter_map(TestComparison::leading) {
            match (figure.verdict, bound(figure)) {
                (Verdict::Different { direction: Direction::Worse }, _) => count.slower.add(figure),
                (Verdict::Different { direction: Direction::Better }, _) => {
                    count.faster.add(figure);
                }
                (Verdict::Open { because: Undecided::Identical }, _) => count.same += 1,
                (Verdict::Open { .. }, Some(bound)) => {
                    count.same += 1;
                    count.bound = count.bound.max(bound);
                }
                (Verdict::Open { .. }, None) => count.undecided += 1,
            }
        }
        count
    }

    /// `6 slower, 1 the same within 4 %, 1 undecided`.
    fn listed(&self) -> String {
        let same = if self.bound > 0.0 {
            format!("the same within {}", percent_up(self.bound))
        } else {
            "identical".to_owned()
        };
        let others = [(self.same, same.as_str()), (self.undecided, "undecided")]
            .map(|(count, what)| (count > 0).then(|| format!("{count} {what}")));
        let [same, undecided] = others;
        let parts = [self.slower.said("slower"), self.faster.said("faster"), same, undecided];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The answer if no test represents the others, as among those of many OSDs or programs.
fn of_all(against: &Against, names: [&str; 2]) -> String {
    let [baseline, candidate] = names;
    let count = Count::of(against);
    let tests = against.tests.len();
    let in_all = |differing: &Differing, direction: &str| {
        let by = differing.factors.map(|factors| format!(", by {}", factor_range(factors)));
        format!(
            "{candidate} is {direction} than {baseline} in all {tests} tests{}.",
            by.unwrap_or_default()
        )
    };
    match (count.slower.count, count.faster.count, count.undecided) {
        (slower, ..) if slower == tests => in_all(&count.slower, "slower"),
        (_, faster, _) if faster == tests => in_all(&count.faster, "faster"),
        // Models have no intervals that would allow a difference.
        (0, 0, 0) if count.bound <= 0.0 => format!(
            "{candidate} is exactly as fast as {baseline} in all {tests} tests (computed by models)."
        ),
        (0, 0, 0) => format!(
            "No difference larger than {} between {candidate} and {baseline} in {tests} tests (95 % \
             confidence).",
            percent_up(count.bound)
        ),
        (0, 0, _) => {
            format!(
                "Undecided: {candidate} against {baseline}, of {tests} tests {}.",
                count.listed()
            )
        }
        _ => format!("{candidate} against {baseline}, of {tests} tests: {}.", count.listed()),
    }
}

/// Sentences that add to the answer: its test, the other tests, and those that are not compared;
/// empty if there is nothing to add.
pub(super) fn addition(against: &Against) -> String {
    let mut sentences = Vec::new();
    let tests = against.tests.len();
    match against.headline() {
        Some(test) if tests > 1 => {
            sentences.push(format!(
                "Judged by {}. Of {tests} tests: {}.",
                test.test,
                Count::of(against).listed()
            ));
        }
        _ => {}
    }
    sentences.extend(outliers(against));
    match against.unpaired.len() {
        0 => {}
        1 => sentences.push("1 test has no counterpart and is not compared.".to_owned()),
        several => {
            sentences.push(format!("{several} tests have no counterpart and are not compared."));
        }
    }
    sentences.join(" ")
}

/// A difference that small needs no longer runs.
const DETECTED: f64 = 1.05;
/// Longer tests are not advised, but several runs.
const ADVISED_S_MAX: u64 = 3600;
/// Number of passes of a test in one run (`ceph osds`).
const PASSES: u64 = 5;

/// Advice on the runs that would decide an open question; `None` if the answer needs nothing more.
pub(super) fn advice(baseline: &GroupRecord, against: &Against) -> Option<String> {
    // Without a test that represents all, the first that is undecided.
    let is_undecided = |test: &&TestComparison| {
        let figure = test.leading();
        figure.is_some_and(|figure| matches!(figure.verdict, Verdict::Open { .. }))
    };
    let open = || against.tests.iter().find(is_undecided);
    let figure = against.headline().or_else(open)?.leading()?;
    let is_open = matches!(figure.verdict, Verdict::Open { .. });
    if !is_open || bound(figure).is_some_and(|bound| bound <= DETECTED) {
        return None;
    }
    let runs = |count: u64| {
        format!(
            "To detect a difference of 5 %, compare {} runs per side, joined by commas.",
            number(count as f64)
        )
    };
    if let Verdict::Open { because: Undecided::NoSeries } = figure.verdict {
        let command = command(baseline, &against.candidate)?;
        return Some(format!(
            "To decide, run each test for at least {SECONDS_MIN} s on both sides: {command} --time \
             {SECONDS_MIN}s"
        ));
    }
    let interval = figure.interval?;
    let needed = interval.needed_for_5_percent?;
    Some(match interval.from {
        Samples::Seconds if needed > ADVISED_S_MAX => {
            "These runs vary so much that a test must run for more than an hour to detect a \
             difference of 5 %. Compare several runs per side, joined by commas."
                .to_owned()
        }
        Samples::Seconds => {
            let time_s = rounded_up(needed);
            let sentence = format!(
                "To detect a difference of 5 %, run each test for {time_s} s on both sides"
            );
            match command(baseline, &against.candidate) {
                Some(command) => format!("{sentence}: {command} --time {time_s}s"),
                None => format!("{sentence} (--time {time_s}s)."),
            }
        }
        Samples::Passes => runs(needed.div_ceil(PASSES)),
        Samples::Runs => runs(needed),
    })
}

/// A time that users would choose.
fn rounded_up(seconds: u64) -> u64 {
    let step = match seconds {
        ..=60 => 5,
        61..=600 => 30,
        _ => 60,
    };
    seconds.next_multiple_of(step)
}

/// The command that repeats a side, if both ran one suite on one target.
fn command(baseline: &GroupRecord, candidate: &GroupRecord) -> Option<String> {
    let (suite, target) = match (&candidate.suites[..], &candidate.targets[..]) {
        ([suite], [target]) if baseline.suites == [suite.clone()] => (suite, target),
        _ => return None,
    };
    // Other names are those of plans, whose files are not known.
    suites::named(suite)?;
    let needs_no_quotes =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':' | '=' | ',');
    let example = if baseline.targets == candidate.targets { "" } else { "such as " };
    (!target.is_empty() && target.chars().all(needs_no_quotes))
        .then(|| format!("{example}flushmark run {suite} {target}"))
}

/// A test that differs by at least this factor stands out, if few do.
const OUTLIER_MIN: f64 = 1.5;
/// Most tests that stand out.
const OUTLIERS_MAX: usize = 3;

/// Names the few tests that differ much more than the others, such as those of one OSD among many.
fn outliers(against: &Against) -> Option<String> {
    let far = |test: &TestComparison| {
        let figure = test.leading()?;
        let ratio = figure.ratio.filter(|ratio| *ratio > 0.0 && !test.broken_off)?;
        let change = change(ratio, figure.metric);
        (ratio.ln().abs() >= OUTLIER_MIN.ln()).then(|| (test.test.clone(), ratio, change))
    };
    let mut outliers: Vec<(String, f64, String)> = against.tests.iter().filter_map(far).collect();
    let few = outliers.len() <= OUTLIERS_MAX && outliers.len() * 2 < against.tests.len();
    if outliers.is_empty() || !few {
        return None;
    }
    outliers.sort_by(|a, b| b.1.ln().abs().total_cmp(&a.1.ln().abs()));
    let named = outliers.into_iter().map(|(test, _, change)| format!("{test} ({change})"));
    Some(format!("Most different: {}.", named.collect::<Vec<_>>().join(", ")))
}
