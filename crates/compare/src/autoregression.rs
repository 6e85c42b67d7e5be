//! The mean of a few neighbouring values, each of which resembles the one before.
//!
//! In a first-order autoregression, each value keeps a share of the one before, its memory: values
//! that are `k` apart correlate by memory^k. This has two effects on few values. They vary less
//! around their mean than they would around the true level, so the variance of the mean is
//! underestimated. And they contain less information than as many independent values, so the
//! estimate has fewer degrees of freedom. Both follow from the covariance matrix: the expected
//! value and the variance of a quadratic form (Satterthwaite, An approximate distribution of
//! estimates of variance components, Biometrics Bulletin 2, 1946).

/// The variance of the mean of a few values, estimated from their sample variance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanNoise {
    /// Variance of the mean, as a multiple of the sample variance divided by the count, which it
    /// would be without memory.
    pub inflation: f64,
    /// Degrees of freedom of the sample variance; the count minus one without memory.
    pub freedom: f64,
}

impl MeanNoise {
    /// `count` values with this memory, at least 0 and below 1. A single value reveals nothing, so
    /// `count` must be at least 2.
    pub fn of(count: usize, memory: f64) -> MeanNoise {
        debug_assert!(count >= 2 && (0.0..1.0).contains(&memory), "{count} values, {memory}");
        let correlation = |row: usize, column: usize| memory.powi(row.abs_diff(column) as i32);
        let n = count as f64;
        let column_means: Vec<f64> = (0..count)
            .map(|column| (0..count).map(|row| correlation(row, column)).sum::<f64>() / n)
            .collect();
        // The covariance of the deviations from the mean with the values.
        let centred = |row: usize, column: usize| correlation(row, column) - column_means[column];
        let trace: f64 = (0..count).map(|at| centred(at, at)).sum();
        let trace_of_square: f64 = (0..count)
            .flat_map(|row| (0..count).map(move |column| (row, column)))
            .map(|(row, column)| centred(row, column) * centred(column, row))
            .sum();
        let variance_of_mean = column_means.iter().sum::<f64>() / n;
        let sample_variance = trace / (n - 1.0);
        MeanNoise {
            inflation: variance_of_mean / (sample_variance / n),
            freedom: trace * trace / trace_of_square,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_memory_it_is_the_textbook_s_standard_error() {
        for count in [2, 5, 14] {
            let noise = MeanNoise::of(count, 0.0);
            assert!((noise.inflation - 1.0).abs() < 1e-12, "{count}: {noise:?}");
            assert!((noise.freedom - (count - 1) as f64).abs() < 1e-9, "{count}: {noise:?}");
        }
    }

    #[test]
    fn two_values_by_hand() {
        // With a correlation of 1/2, the mean has a variance of (1 + 1/2) / 2, and half the squared
        // difference an expected value of 1/2: 3/4 for an estimate of 1/4.
        let noise = MeanNoise::of(2, 0.5);
        assert!((noise.inflation - 3.0).abs() < 1e-12 && (noise.freedom - 1.0).abs() < 1e-12);
    }

    #[test]
    fn five_values_by_hand() {
        // The variance of the mean is (5 + 2 (4/2 + 3/4 + 2/8 + 1/16)) / 25 = 0.445, the expected
        // sample variance 5/4 (1 - 0.445).
        let noise = MeanNoise::of(5, 0.5);
        assert!((noise.inflation - 0.445 * 4.0 / (1.0 - 0.445)).abs() < 1e-12, "{noise:?}");
        assert!((noise.freedom - 3.235).abs() < 1e-3, "{noise:?}");
    }

    #[test]
    fn of_many_values_the_inflation_is_that_of_a_long_mean() {
        // (1 + memory) / (1 - memory)
        let noise = MeanNoise::of(400, 0.5);
        assert!((noise.inflation - 3.0).abs() < 0.01, "{noise:?}");
    }
}
