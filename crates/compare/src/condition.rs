//! Limits for a comparison: `commit_p99 > +10%`, `iops < -5%`, `commit_p99 > 5ms`.
//!
//! A condition states when a test fails. With `%` it applies to the change from the baseline,
//! otherwise to the candidate's value. A change counts only if it is more than noise: the ratio is
//! beyond the limit *and* its interval excludes 1. Without an interval the ratio alone decides.
//!
//! A figure that the baseline has but that cannot be checked fails as well: a test that disappeared
//! or ended early must not turn a gate green.

use std::fmt;
use std::str::FromStr;

use crate::comparison::{Comparison, MetricComparison};
use crate::metric::Metric;
use crate::pairing::UnpairedReason;

/// The side of a limit that fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// The value that a figure is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// A change from the baseline, as a share: 0.1 for `+10%`.
    Change(f64),
    /// A value of the candidate, in the metric's unit.
    Value(f64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The figure that is limited.
    pub metric: Metric,
    /// The side of the limit that fails.
    pub order: Order,
    pub limit: Limit,
    /// The condition as the user wrote it.
    pub text: String,
}

/// A condition that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionError {
    text: String,
    /// Characters before the invalid part.
    at: usize,
    /// Length of the invalid part, in characters.
    length: usize,
    what: String,
}

impl fmt::Display for ConditionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        writeln!(f, "  {}", self.text)?;
        write!(f, "  {:at$}{}", "", "^".repeat(self.length.max(1)), at = self.at)
    }
}

impl std::error::Error for ConditionError {}

/// A test that exceeded a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Exceeded<'a> {
    pub condition: &'a Condition,
    pub candidate: &'a str,
    pub test: &'a str,
    pub figure: &'a MetricComparison,
}

/// A test of the baseline that could not be checked against a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Unchecked<'a> {
    pub condition: &'a Condition,
    /// Label of the candidate that lacks the figure.
    pub candidate: &'a str,
    pub test: &'a str,
    pub because: Missing<'a>,
}

/// Why a figure that the baseline has could not be checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Missing<'a> {
    /// The candidate does not have the test.
    Test,
    /// The candidate's test of this name has a different workload, in these fields.
    DifferentWorkload(&'a [String]),
    /// The candidate's test does not have the figure.
    Figure,
    /// A run of the test ended early, on either side.
    BrokenOff,
    /// The baseline's value is 0, so there is no relative change.
    Zero,
}

/// Why a limit was not kept.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure<'a> {
    /// A test exceeds the limit.
    Exceeded(Exceeded<'a>),
    /// A test could not be checked.
    Unchecked(Unchecked<'a>),
}

/// A limit on a figure that no test of the baseline has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` checked nothing: no test on both sides has `{metric}`{but}")]
pub struct NothingChecked {
    text: String,
    metric: String,
    but: String,
}

impl Order {
    const ALL: [(&'static str, Order); 4] =
        [(">=", Order::AtLeast), ("<=", Order::AtMost), (">", Order::Above), ("<", Order::Below)];

    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Order::Above => value > limit,
            Order::AtLeast => value >= limit,
            Order::Below => value < limit,
            Order::AtMost => value <= limit,
        }
    }
}

impl FromStr for Condition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Condition, ConditionError> {
        let refused = |part: &str, what: String| {
            // `part` is a slice of `text`, so its offset is known.
            let start =
                (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize).min(text.len());
            let at = text.get(..start).unwrap_or(text).chars().count();
            ConditionError { text: text.to_owned(), at, length: part.chars().count(), what }
        };
        let end = &text[text.len()..];
        let name = text.split(['<', '>', '=']).next().unwrap_or(text);
        let rest = &text[name.len()..];
        let name = name.trim();
        if name.is_empty() {
            return Err(refused(
                text,
                "expected METRIC > LIMIT, such as `commit_p99 > +10%`".to_owned(),
            ));
        }
        let metric = Metric::named(name).ok_or_else(|| {
            let names: Vec<String> = Metric::all().map(Metric::name).collect();
            refused(name, format!("unknown metric `{name}`; expected one of {}", names.join(", ")))
        })?;
        let (sign, order) =
            Order::ALL.into_iter().find(|(sign, _)| rest.starts_with(sign)).ok_or_else(|| {
                let found = if rest.is_empty() { end } else { &rest[..1] };
                refused(found, format!("expected one of > >= < <= after `{name}`"))
            })?;
        let limit_text = rest[sign.len()..].trim();
        let limit = limit(metric, limit_text)
            .map_err(|what| refused(if limit_text.is_empty() { end } else { limit_text }, what))?;
        Ok(Condition { metric, order, limit, text: text.trim().to_owned() })
    }
}

/// Parses a limit into the metric's unit.
fn limit(metric: Metric, text: &str) -> Result<Limit, String> {
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '+' | '-')))
        .unwrap_or(text.len());
    let (number, unit) = (&text[..split], text[split..].trim());
    let number: f64 = number.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| {
        "expected a number with % for a change from the baseline (`+10%`) or a value with its unit \
         (`5ms`)".to_owned()
    })?;
    if unit == "%" {
        return Ok(Limit::Change(number / 100.0));
    }
    let factor = match (metric, unit) {
        (Metric::Latency(..), "ns") | (Metric::SortS, "ms") => 1e-3,
        (Metric::Latency(..), "ms") => 1e3,
        (Metric::Latency(..), "s") => 1e6,
        (Metric::Latency(..), "us" | "µs")
        | (Metric::MibPerS, "" | "MiB/s")
        | (Metric::SortS, "s")
        | (Metric::Iops | Metric::CommitsPerS, "" | "/s") => 1.0,
        (Metric::SortS, "min") => 60.0,
        (Metric::Latency(..), _) => {
            return Err(format!(
                "`{}` is a latency; expected a limit in ns, us, ms or s, or a change in %",
                metric.name()
            ));
        }
        _ => {
            return Err(format!(
                "invalid unit `{unit}`: `{}` is in {}",
                metric.name(),
                metric.unit()
            ));
        }
    };
    if number < 0.0 {
        return Err(format!(
            "`{}` is never below 0; write a change from the baseline with %",
            metric.name()
        ));
    }
    Ok(Limit::Value(number * factor))
}

impl Condition {
    /// Returns whether the figure is on the failing side.
    fn exceeded_by(&self, figure: &MetricComparison) -> bool {
        match self.limit {
            Limit::Value(limit) => self.order.holds(figure.candidate, limit),
            Limit::Change(limit) => {
                let beyond_noise = figure
                    .interval
                    .is_none_or(|interval| interval.low > 1.0 || interval.high < 1.0);
                beyond_noise
                    && figure.change().is_some_and(|change| self.order.holds(change, limit))
            }
        }
    }

    /// Returns whether only the ratio of the figure was judged, because its variation is unknown.
    pub fn is_blind_to_noise(&self, figure: &MetricComparison) -> bool {
        matches!(self.limit, Limit::Change(_)) && figure.interval.is_none() && !figure.exact
    }

    /// The tests that exceed the limit, and tests of the baseline that could not be checked.
    ///
    /// # Errors
    /// If no test has the figure: a limit that checked nothing was not kept.
    pub fn failures<'a>(
        &'a self,
        comparison: &'a Comparison,
    ) -> Result<Vec<Failure<'a>>, NothingChecked> {
        let mut judged = 0;
        let mut failures = Vec::new();
        for against in &comparison.candidates {
            let candidate = against.candidate.label.as_str();
            let unheld = |test, because| {
                Failure::Unchecked(Unchecked { condition: self, candidate, test, because })
            };
            for test in &against.tests {
                let name = test.test.as_str();
                match test.metric(self.metric) {
                    Some(_) if test.broken_off => failures.push(unheld(name, Missing::BrokenOff)),
                    Some(figure)
                        if matches!(self.limit, Limit::Change(_)) && figure.ratio.is_none() =>
                    {
                        failures.push(unheld(name, Missing::Zero));
                    }
                    Some(figure) => {
                        judged += 1;
                        if self.exceeded_by(figure) {
                            let exceeded =
                                Exceeded { condition: self, candidate, test: name, figure };
                            failures.push(Failure::Exceeded(exceeded));
                        }
                    }
                    None if test.only_in_baseline.contains(&self.metric) => {
                        failures.push(unheld(name, Missing::Figure));
                    }
                    None => {}
                }
            }
            for test in against.unpaired.iter().filter(|test| test.lost.contains(&self.metric)) {
                let because = match &test.reason {
                    UnpairedReason::DifferentWorkload { fields } => {
                        Missing::DifferentWorkload(fields)
                    }
                    UnpairedReason::OnlyInBaseline | UnpairedReason::OnlyInCandidate => {
                        Missing::Test
                    }
                };
                failures.push(unheld(&test.test, because));
            }
        }
        if judged > 0 || !failures.is_empty() {
            Ok(failures)
        } else {
            Err(self.nothing(comparison))
        }
    }

    fn nothing(&self, comparison: &Comparison) -> NothingChecked {
        let tests = comparison.candidates.iter().flat_map(|against| &against.tests);
        let mut names: Vec<String> =
            tests.flat_map(|test| &test.metrics).map(|figure| figure.metric.name()).collect();
        names.sort();
        names.dedup();
        let but = if names.is_empty() {
            String::new()
        } else {
            format!("; they have {}", names.join(", "))
        };
        NothingChecked { text: self.text.clone(), metric: self.metric.name(), but }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::metric::{Operation, Point};

    fn read(text: &str) -> Condition {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    fn refused(text: &str) -> String {
        text.parse::<Condition>().unwrap_err().to_string()
    }

    #[test]
    fn changes_and_values() {
        let p99 = Metric::Latency(Operation::Commit, Point::P99);
        let condition = read(" commit_p99 > +10% ");
        assert_eq!(
            (condition.metric, condition.order, condition.limit),
            (p99, Order::Above, Limit::Change(0.1))
        );
        assert_eq!(condition.text, "commit_p99 > +10%");
        assert_eq!(read("iops<-5%").limit, Limit::Change(-0.05));
        assert_eq!(read("commit_p99>=5ms").limit, Limit::Value(5000.0));
        assert_eq!(read("commit_p99 > 1.5 s").limit, Limit::Value(1.5e6));
        assert_eq!(read("read_mean <= 80µs").limit, Limit::Value(80.0));
        assert_eq!(read("mib_per_s < 200 MiB/s").limit, Limit::Value(200.0));
        assert_eq!(read("commits_per_s < 500").limit, Limit::Value(500.0));
        assert_eq!(read("sort_s > 1.5min").limit, Limit::Value(90.0));
    }

    #[test]
    fn errors_show_where() {
        insta::assert_snapshot!(refused("comit_p99 > +10%"), @"
        unknown metric `comit_p99`; expected one of commits_per_s, iops, mib_per_s, sort_s, commit_mean, commit_p50, commit_p90, commit_p99, commit_p99_9, write_mean, write_p50, write_p90, write_p99, write_p99_9, sync_mean, sync_p50, sync_p90, sync_p99, sync_p99_9, read_mean, read_p50, read_p90, read_p99, read_p99_9
          comit_p99 > +10%
          ^^^^^^^^^
        ");
        insta::assert_snapshot!(refused("commit_p99 = 10%"), @"
        expected one of > >= < <= after `commit_p99`
          commit_p99 = 10%
                     ^
        ");
        insta::assert_snapshot!(refused("commit_p99"), @"
        expected one of > >= < <= after `commit_p99`
          commit_p99
                    ^
        ");
        insta::assert_snapshot!(refused("commit_p99 >"), @"
        expected a number with % for a change from the baseline (`+10%`) or a value with its unit (`5ms`)
          commit_p99 >
                      ^
        ");
        insta::assert_snapshot!(refused("commit_p99 > ten"), @"
        expected a number with % for a change from the baseline (`+10%`) or a value with its unit (`5ms`)
          commit_p99 > ten
                       ^^^
        ");
        insta::assert_snapshot!(refused("commit_p99 > 5"), @"
        `commit_p99` is a latency; expected a limit in ns, us, ms or s, or a change in %
          commit_p99 > 5
                       ^
        ");
        insta::assert_snapshot!(refused("iops < 5 ms"), @"
        invalid unit `ms`: `iops` is in 1/s
          iops < 5 ms
                 ^^^^
        ");
        insta::assert_snapshot!(refused("iops < -5"), @"
        `iops` is never below 0; write a change from the baseline with %
          iops < -5
                 ^^
        ");
        insta::assert_snapshot!(refused("> 5"), @"
        expected METRIC > LIMIT, such as `commit_p99 > +10%`
          > 5
          ^^^
        ");
    }

    proptest! {
        #[test]
        fn nothing_that_is_typed_is_fatal(text in "\\PC{0,40}") {
            let _ = text.parse::<Condition>().map_err(|error| error.to_string());
        }

        #[test]
        fn a_condition_reads_back(percent in -99i32..1000, above in any::<bool>(), which in 0usize..23) {
            let metric = Metric::all().nth(which).unwrap();
            let text = format!("{} {} {percent:+}%", metric.name(), if above { ">" } else { "<" });
            let condition = read(&text);
            prop_assert_eq!(condition.metric, metric);
            prop_assert_eq!(condition.limit, Limit::Change(f64::from(percent) / 100.0));
        }
    }

    #[test]
    fn a_limit_itself_fails_only_where_its_sign_says_so() {
        for (order, fails) in [
            (Order::Below, [true, false, false]),
            (Order::AtMost, [true, true, false]),
            (Order::AtLeast, [false, true, true]),
            (Order::Above, [false, false, true]),
        ] {
            assert_eq!([4.0, 5.0, 6.0].map(|value| order.holds(value, 5.0)), fails, "{order:?}");
        }
        assert_eq!(read("iops < 0").limit, Limit::Value(0.0));
    }

    #[test]
    fn values_are_read_in_every_unit_of_their_metric() {
        for (text, value) in [
            ("commit_p99 > 500ns", 0.5),
            ("commit_p99 > 500us", 500.0),
            ("commit_p99 > 5ms", 5e3),
            ("commit_p99 > 5s", 5e6),
            ("sort_s > 500ms", 0.5),
            ("sort_s > 5s", 5.0),
            ("sort_s > 5min", 300.0),
            ("iops < 5/s", 5.0),
            ("mib_per_s < 5", 5.0),
        ] {
            let Limit::Value(limit) = read(text).limit else { panic!("{text}") };
            assert!((limit / value - 1.0).abs() < 1e-12, "{text}: {limit}");
        }
    }

    #[test]
    fn a_change_whose_interval_reaches_1_is_noise() {
        let figure = |ratio: f64, ends: Option<(f64, f64)>| MetricComparison {
            metric: Metric::Iops,
            unit: "1/s",
            baseline: 100.0,
            candidate: 100.0 * ratio,
            ratio: Some(ratio),
            interval: ends.map(|(low, high)| crate::comparison::Interval {
                low,
                high,
                chance: 0.01,
                from: crate::comparison::Samples::Seconds,
                needed_for_5_percent: None,
            }),
            exact: false,
            verdict: crate::comparison::Verdict::Open {
                because: crate::comparison::Undecided::Noise,
            },
        };
        let less = read("iops < -5%");
        assert!(less.exceeded_by(&figure(0.9, Some((0.8, 0.99)))));
        assert!(!less.exceeded_by(&figure(0.9, Some((0.8, 1.0)))));
        assert!(!less.exceeded_by(&figure(0.96, Some((0.95, 0.97)))));
        let more = read("iops > +5%");
        assert!(more.exceeded_by(&figure(1.1, Some((1.01, 1.2)))));
        assert!(!more.exceeded_by(&figure(1.1, Some((1.0, 1.2)))));
        assert!(more.exceeded_by(&figure(1.1, None)));
        // A value needs no interval, but is not judged without one that exists.
        let value = read("iops < 95");
        assert!(value.exceeded_by(&figure(0.9, Some((0.8, 1.2)))));
        let blind = |condition: &Condition, ends| condition.is_blind_to_noise(&figure(1.0, ends));
        assert!(blind(&more, None) && !blind(&more, Some((0.9, 1.1))) && !blind(&value, None));
    }
}
