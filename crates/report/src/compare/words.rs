//! Figures, ratios and intervals of a comparison as words.
//!
//! A difference is a factor of speed, seen from the slower side: "8 % slower" means that the same
//! work takes 8 % longer, whether the figure is a rate or a latency, and "8 % faster" that 8 % more
//! of it is done in the same time. So rates and latencies that changed together are described by
//! the same words, and swapping the sides only swaps "slower" and "faster".

use compare::{Interval, Metric, MetricComparison, Undecided, Verdict};
use workload::number::{latency, number, seconds, throughput};

use crate::columns::NONE;

/// Smaller factors are written in percent: `8 % slower`, but `1.30× slower`.
const TIMES_MIN: f64 = 1.195;
/// An interval within this factor of 1 is an answer: no larger difference exists. A wider one leaves
/// the question open.
const BOUND_MAX: f64 = 1.1;

pub(super) fn figure_name(metric: Metric) -> String {
    match metric {
        Metric::Iops => "operations/s".to_owned(),
        Metric::MibPerS => "MiB/s".to_owned(),
        Metric::CommitsPerS => "commits/s".to_owned(),
        Metric::SortS => "time of a sort".to_owned(),
        Metric::Latency(of, at) => format!("{} {}", of.name(), at.name().replace('_', ".")),
    }
}

pub(super) fn value(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Iops | Metric::CommitsPerS => number(value),
        Metric::MibPerS => throughput(value),
        Metric::SortS => seconds(value),
        Metric::Latency(..) => latency(value),
    }
}

pub(super) fn with_unit(metric: Metric, number: f64) -> String {
    let number = value(metric, number);
    match metric {
        Metric::Iops | Metric::CommitsPerS => format!("{number}/s"),
        Metric::MibPerS => format!("{number} MiB/s"),
        Metric::SortS | Metric::Latency(..) => number,
    }
}

/// A ratio to three digits: `0.0157`, `0.998`, `1.05`, `12.3`.
pub(super) fn ratio(value: f64) -> String {
    match value {
        value if value > 0.0 && value < 0.0995 => {
            let zeros = (-value.log10()).floor() as usize;
            format!("{value:.0$}", zeros + 3)
        }
        value if value < 0.9995 => format!("{value:.3}"),
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => number(value),
    }
}

/// The interval of a ratio as numbers.
pub(super) fn interval(figure: &MetricComparison) -> String {
    match figure.interval {
        Some(interval) => format!("{} to {}", ratio(interval.low), ratio(interval.high)),
        None if figure.exact => "exact".to_owned(),
        None => NONE.to_owned(),
    }
}

/// The factor by which the candidate is faster; below 1 if it is slower.
fn speed(ratio: f64, metric: Metric) -> f64 {
    if metric.more_is_better() { ratio } else { 1.0 / ratio }
}

/// A factor in either direction, seen from the slower side: at least 1.
pub(super) fn fold(factor: f64) -> f64 {
    factor.max(1.0 / factor)
}

/// The range of several such factors: `2.6 to 131×`.
pub(super) fn factor_range([least, greatest]: [f64; 2]) -> String {
    match [least, greatest].map(|factor| Size::of(factor).to_string()) {
        [one, other] if one == other => one,
        _ => Size::range(least, greatest),
    }
}

/// A factor in either direction, seen from the slower side, with its unit.
struct Size {
    number: String,
    unit: &'static str,
}

impl Size {
    fn of(factor: f64) -> Size {
        let fold = fold(factor);
        let percent = (fold - 1.0) * 100.0;
        let (number, unit) = match fold {
            fold if fold < 1.0005 => ("<0.1".to_owned(), " %"),
            fold if fold < 1.0095 => (format!("{percent:.1}"), " %"),
            fold if fold < TIMES_MIN => (format!("{percent:.0}"), " %"),
            fold if fold < 1.995 => (format!("{fold:.2}"), "×"),
            fold if fold < 9.95 => (format!("{fold:.1}"), "×"),
            fold => (number(fold), "×"),
        };
        Size { number, unit }
    }

    /// `12.1 to 15.2×`, `6 to 10 %`, `18 % to 1.30×`.
    fn range(from: f64, to: f64) -> String {
        let [from, to] = [from, to].map(Size::precise);
        if from.unit != to.unit {
            format!("{from} to {to}")
        } else if from.number == to.number {
            to.to_string()
        } else {
            format!("{} to {to}", from.number)
        }
    }

    /// With three digits, so the ends of a narrow interval differ.
    fn precise(factor: f64) -> Size {
        let fold = fold(factor);
        let size = Size::of(factor);
        if size.unit == "×" { Size { number: ratio(fold), ..size } } else { size }
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", self.number, self.unit)
    }
}

fn direction(speed: f64) -> &'static str {
    if speed < 1.0 { "slower" } else { "faster" }
}

/// A ratio above 0 in words: `13.9× slower`, `8 % faster`.
pub(super) fn change(ratio: f64, metric: Metric) -> String {
    let speed = speed(ratio, metric);
    format!("{} {}", Size::of(speed), direction(speed))
}

/// The interval of a difference: `12.1 to 15.2×`.
pub(super) fn range(interval: Interval, metric: Metric) -> String {
    let mut ends = [interval.low, interval.high].map(|end| speed(end, metric));
    ends.sort_by(|a, b| a.ln().abs().total_cmp(&b.ln().abs()));
    Size::range(ends[0], ends[1])
}

/// The interval of a ratio that may be chance: `between 12 % slower and 1.30× faster`.
pub(super) fn either_way(interval: Interval, metric: Metric) -> String {
    let mut ends = [interval.low, interval.high].map(|end| speed(end, metric));
    ends.sort_by(f64::total_cmp);
    let [low, high] = ends.map(|end| format!("{} {}", Size::of(end), direction(end)));
    format!("between {low} and {high}")
}

/// The largest difference that the interval allows, as a factor, if it is small enough to be called
/// none.
pub(super) fn bound(figure: &MetricComparison) -> Option<f64> {
    let Verdict::Open { because } = figure.verdict else { return None };
    let interval = figure.interval.filter(|_| because.is_noise())?;
    let bound = interval.high.max(1.0 / interval.low);
    (bound <= BOUND_MAX).then_some(bound)
}

/// A bound in percent, rounded up: `4 %`, `0.3 %`.
pub(super) fn percent_up(bound: f64) -> String {
    let percent = (bound - 1.0) * 100.0;
    if percent <= 0.95 {
        format!("{:.1} %", (percent * 10.0).ceil().max(1.0) / 10.0)
    } else {
        format!("{:.0} %", percent.ceil())
    }
}

/// Why there is no verdict, in few words.
pub(super) fn unknown(because: Undecided) -> &'static str {
    match because {
        Undecided::Noise | Undecided::Chance { .. } => "not significant",
        Undecided::Identical => "exact",
        Undecided::NoSeries | Undecided::NotInSeries => "unknown",
        Undecided::TooShort { .. } => "too short",
        Undecided::BrokenOff { .. } => "ended early",
        Undecided::Stalled => "stalled",
        Undecided::FewSecondsDecide => "by few seconds",
        Undecided::Zero => "a value is 0",
    }
}
