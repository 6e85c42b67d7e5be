//! Student's t distribution.
//!
//! Computed with the regularised incomplete beta function, from its continued fraction (Abramowitz
//! & Stegun, Handbook of Mathematical Functions, 26.5.8 and 26.7.1); the fraction is evaluated by
//! Lentz's method.

/// Smaller changes are below the precision of an `f64`.
const EPSILON: f64 = 1e-14;
/// The fraction converges in fewer terms for every pair that occurs here.
const TERMS_MAX: u32 = 500;
/// Above this many degrees of freedom, Student's distribution equals the normal one to four digits.
const FREEDOM_MAX: f64 = 1e5;

/// The probability of a value at least this far from 0, on either side, with `freedom` degrees of
/// freedom.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    let freedom = freedom.clamp(1.0, FREEDOM_MAX);
    if t.is_infinite() {
        return 0.0;
    }
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The distance from 0 beyond which only `share` of all values lie, both sides together.
pub fn beyond(share: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, freedom) > share {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if two_sided(middle, freedom) > share {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// I_x(a, b).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only on one side of the mean.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    let floor =
        |value: f64| if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / floor(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = below;
    for term in 1..=TERMS_MAX {
        let step = f64::from(term);
        let even = step * (b - step) * x / ((a + 2.0 * step - 1.0) * (a + 2.0 * step));
        let odd = -(a + step) * (a + b + step) * x / ((a + 2.0 * step) * (a + 2.0 * step + 1.0));
        let before = fraction;
        for coefficient in [even, odd] {
            below = 1.0 / floor(1.0 + coefficient * below);
            above = floor(1.0 + coefficient / above);
            fraction *= above * below;
        }
        if (fraction - before).abs() <= EPSILON * fraction.abs() {
            break;
        }
    }
    front * fraction
}

/// ln Γ(x) for x > 0: Stirling's series, taken above 10 by Γ(x) = Γ(x + 1) / x.
fn ln_gamma(x: f64) -> f64 {
    let mut shift = 0.0;
    let mut x = x;
    while x < 10.0 {
        shift -= x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series =
        inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    shift + (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_every_textbook() {
        for (freedom, at_5_percent, at_1_percent) in [
            (1.0, 12.706, 63.657),
            (2.0, 4.303, 9.925),
            (3.0, 3.182, 5.841),
            (5.0, 2.571, 4.032),
            (10.0, 2.228, 3.169),
            (30.0, 2.042, 2.750),
            (120.0, 1.980, 2.617),
        ] {
            assert!(
                (beyond(0.05, freedom) - at_5_percent).abs() < 6e-4,
                "{freedom}: {}",
                beyond(0.05, freedom)
            );
            assert!(
                (beyond(0.01, freedom) - at_1_percent).abs() < 6e-4,
                "{freedom}: {}",
                beyond(0.01, freedom)
            );
        }
        assert!((beyond(0.05, f64::INFINITY) - 1.95996).abs() < 1e-4);
    }

    #[test]
    fn one_degree_of_freedom_is_cauchys_distribution() {
        for t in [0.1_f64, 1.0, 5.0, 100.0] {
            let exact = 1.0 - std::f64::consts::FRAC_2_PI * t.atan();
            assert!((two_sided(t, 1.0) - exact).abs() < 1e-10, "{t}");
        }
    }

    #[test]
    fn edges() {
        assert!((two_sided(0.0, 4.0) - 1.0).abs() < 1e-12);
        assert!(two_sided(f64::INFINITY, 4.0) < 1e-12);
    }

    #[test]
    fn factorials_and_the_root_of_pi() {
        let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
        for n in [1, 2, 5, 10, 11, 20] {
            let exact = factorial(n - 1).ln();
            assert!((ln_gamma(f64::from(n)) - exact).abs() < 4e-12, "{n}");
        }
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 4e-12);
    }

    #[test]
    fn for_whole_numbers_the_beta_function_is_a_binomial_sum() {
        // I_x(a, b) is the probability of at least a successes in a + b - 1 trials of probability
        // x.
        let choose = |n: u32, k: u32| {
            (0..k).fold(1.0, |product, at| product * f64::from(n - at) / f64::from(at + 1))
        };
        for (a, b) in [(1, 1), (1, 4), (2, 3), (5, 2), (9, 9), (3, 20)] {
            for x in [0.0, 0.01, 0.3, 0.5, 0.77, 0.99, 1.0_f64] {
                let trials = a + b - 1;
                let chance = |k: u32| {
                    choose(trials, k) * x.powi(k as i32) * (1.0 - x).powi((trials - k) as i32)
                };
                let exact: f64 = (a..=trials).map(chance).sum();
                let found = incomplete_beta(x, f64::from(a), f64::from(b));
                assert!((found - exact).abs() < 1e-10, "I_{x}({a}, {b}): {found} for {exact}");
            }
        }
    }

    #[test]
    fn beyond_is_the_inverse_of_two_sided() {
        for freedom in [1.0, 2.5, 17.0, 1e4] {
            for share in [0.5, 0.05, 1e-4] {
                let found = two_sided(beyond(share, freedom), freedom);
                assert!((found / share - 1.0).abs() < 1e-6, "{share} with {freedom}: {found}");
            }
        }
    }
}
