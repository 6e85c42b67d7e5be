//! Medians, deviations from them, and limits that many comparisons need.

/// Makes a median deviation comparable with a standard deviation: 1 / Φ⁻¹(3/4).
const NORMAL: f64 = 1.482_602_218_505_602;

/// The median of some numbers; `None` without any.
pub(crate) fn median(numbers: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = numbers.into_iter().collect();
    let last = sorted.len().checked_sub(1)?;
    sorted.sort_by(f64::total_cmp);
    Some(f64::midpoint(sorted[last / 2], sorted[last.div_ceil(2)]))
}

/// Middle and spread of some numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub middle: f64,
    /// Like a standard deviation, but not moved by a few that are far away.
    pub deviation: f64,
}

impl Spread {
    /// With a deviation of at least `floor`. `None` without numbers.
    pub(crate) fn of(numbers: &[f64], floor: f64) -> Option<Spread> {
        let middle = median(numbers.iter().copied())?;
        let deviation = median(numbers.iter().map(|number| (number - middle).abs()))? * NORMAL;
        Some(Spread { middle, deviation: deviation.max(floor) })
    }

    /// Deviations from the middle.
    pub(crate) fn score(&self, number: f64) -> f64 {
        (number - self.middle) / self.deviation
    }
}

/// The score that among this many comparisons of normally distributed figures is exceeded with this
/// probability by any.
pub(crate) fn limit(comparisons: usize, probability: f64) -> f64 {
    let each = probability / comparisons.max(1) as f64;
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if tail(middle) > each {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The probability that a normally distributed figure is above `score`, which is not negative.
fn tail(score: f64) -> f64 {
    let density = (-score * score / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if score < 3.0 {
        // Below, the series of the integral; above, the continued fraction converges faster.
        let mut term = score;
        let mut sum = score;
        for number in 1..100 {
            term *= score * score / f64::from(2 * number + 1);
            sum += term;
        }
        return 0.5 - density * sum;
    }
    let fraction = (1..=60).rev().fold(score, |below, number| score + f64::from(number) / below);
    density / fraction
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median([]), None);
        assert_eq!(median([3.0]), Some(3.0));
        assert_eq!(median([4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }

    /// Values of the normal distribution from tables.
    #[test]
    fn limits_are_those_of_the_normal_distribution() {
        for (comparisons, expected) in [(1, 1.644_854), (50, 3.090_232), (50_000, 4.753_424)] {
            let limit = limit(comparisons, 0.05);
            assert!((limit - expected).abs() < 1e-5, "{comparisons}: {limit}");
        }
        assert!((tail(3.0 - 1e-12) - tail(3.0 + 1e-12)).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn some_that_are_far_away_move_neither_middle_nor_deviation_far(
            mut numbers in prop::collection::vec(0.0..1.0, 21..60),
        ) {
            let far = numbers.len() / 5;
            numbers.iter_mut().take(far).for_each(|number| *number += 1e6);
            let spread = Spread::of(&numbers, 1e-9).unwrap();
            prop_assert!(spread.middle < 1.0 && spread.deviation < 1.5);
        }
    }
}
