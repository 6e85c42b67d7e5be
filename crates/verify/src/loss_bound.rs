//! The bound on the probability of a loss that clean cycles prove.

/// Confidence level of the bounds.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// Upper bound of the probability of a loss per power cut, at 95 % confidence, after this many
/// cycles without a loss; 1 if there was none.
///
/// A drive that loses data with probability p per cut survives k cuts clean with probability (1 -
/// p)^k. The bound is the p for which that is 5 %.
///
/// ```
/// assert!((verify::loss_per_cut_below(1) - 0.95).abs() < 1e-12);
/// assert!(verify::loss_per_cut_below(59) < 0.05);
/// ```
pub fn loss_per_cut_below(clean_cycles: u32) -> f64 {
    if clean_cycles == 0 {
        return 1.0;
    }
    1.0 - (1.0 - CONFIDENCE).powf(1.0 / f64::from(clean_cycles))
}

/// The number of clean cycles that bring the bound below a probability between 0 and 1.
pub fn cycles_for(chance: f64) -> u32 {
    ((1.0 - CONFIDENCE).ln() / (1.0 - chance).ln()).ceil() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_approaches_the_rule_of_three() {
        assert!((loss_per_cut_below(0) - 1.0).abs() < f64::EPSILON);
        for cycles in [100, 300, 3000] {
            let ratio = loss_per_cut_below(cycles) / (3.0 / f64::from(cycles));
            assert!((0.97..1.01).contains(&ratio), "{ratio}");
        }
    }

    #[test]
    fn what_a_few_cycles_prove() {
        // 0.95^k first falls below 0.05 at k = 59, 0.5^k at k = 5.
        assert_eq!((cycles_for(0.05), cycles_for(0.5)), (59, 5));
        // 1 - 0.05, and 1 minus the square root of 0.05.
        assert!((loss_per_cut_below(1) - 0.95).abs() < 1e-12);
        assert!((loss_per_cut_below(2) - 0.776_393_202_250_021).abs() < 1e-12);
    }

    #[test]
    fn cycles_and_bound_are_inverse() {
        for chance in [0.5, 0.1, 0.05, 0.01, 0.001] {
            let cycles = cycles_for(chance);
            assert!(
                loss_per_cut_below(cycles) <= chance && loss_per_cut_below(cycles - 1) > chance
            );
        }
    }
}
