//! A linear function of several terms, such that its relative errors are smallest.

/// A measured value, and the terms whose coefficients are to be found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row<const N: usize> {
    pub terms: [f64; N],
    /// Not 0.
    pub value: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub standard_error: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit<const N: usize> {
    pub coefficients: [Estimate; N],
    /// Standard deviation of the values from the function, as a share of themselves.
    pub relative_error: f64,
}

impl<const N: usize> Fit<N> {
    /// `None` if the rows do not determine the coefficients and their errors.
    pub fn of(rows: &[Row<N>]) -> Option<Fit<N>> {
        // Divided by its value, each row predicts 1.
        let scaled = || rows.iter().map(|row| row.terms.map(|term| term / row.value));
        let mut squares = [[0.0; N]; N];
        let mut sums = [0.0; N];
        for terms in scaled() {
            for (i, &term) in terms.iter().enumerate() {
                sums[i] += term;
                terms.iter().zip(&mut squares[i]).for_each(|(other, sum)| *sum += term * other);
            }
        }
        let inverse = inverse(squares)?;
        let values = inverse.map(|row| product(&row, &sums));
        let freedom = rows.len().checked_sub(N).filter(|&freedom| freedom > 0)?;
        let missed: f64 = scaled().map(|terms| (product(&terms, &values) - 1.0).powi(2)).sum();
        let variance = missed / freedom as f64;
        let coefficients = std::array::from_fn(|i| Estimate {
            value: values[i],
            standard_error: (variance * inverse[i][i]).sqrt(),
        });
        Some(Fit { coefficients, relative_error: variance.sqrt() })
    }
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

/// Gauss and Jordan's way, for a symmetric positive matrix, which needs no exchange of rows.
fn inverse<const N: usize>(mut matrix: [[f64; N]; N]) -> Option<[[f64; N]; N]> {
    let mut result: [[f64; N]; N] =
        std::array::from_fn(|i| std::array::from_fn(|j| if i == j { 1.0 } else { 0.0 }));
    for at in 0..N {
        let scale: f64 = matrix[at].iter().map(|term| term.abs()).sum();
        let pivot = matrix[at][at];
        if pivot.is_nan() || pivot <= scale * 1e-12 {
            return None;
        }
        matrix[at] = matrix[at].map(|term| term / pivot);
        result[at] = result[at].map(|term| term / pivot);
        for other in (0..N).filter(|&other| other != at) {
            let factor = matrix[other][at];
            for column in 0..N {
                matrix[other][column] -= factor * matrix[at][column];
                result[other][column] -= factor * result[at][column];
            }
        }
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(x: f64, second: f64, value: f64) -> Row<3> {
        Row { terms: [1.0, x, second], value }
    }

    #[test]
    fn values_of_a_function_have_no_error() {
        let value = |x: f64, second: f64| 600.0 + 2.0 * x + 150.0 * second;
        let rows = [(0.0, 0.0), (100.0, 1.0), (2000.0, 0.0), (2000.0, 1.0), (500.0, 0.0)];
        let fit = Fit::of(&rows.map(|(x, second)| row(x, second, value(x, second)))).unwrap();
        for (estimate, expected) in fit.coefficients.iter().zip([600.0, 2.0, 150.0]) {
            assert!((estimate.value / expected - 1.0).abs() < 1e-9, "{fit:?}");
            assert!(estimate.standard_error < expected * 1e-6, "{fit:?}");
        }
        assert!(fit.relative_error < 1e-9, "{fit:?}");
    }

    /// Two values at each x, one 10 % above and one 10 % below.
    #[test]
    fn errors_are_relative() {
        let pair = |x: f64, y: f64| [0.9, 1.1].map(|off| Row { terms: [1.0, x], value: y * off });
        let rows = [pair(0.0, 500.0), pair(1000.0, 2500.0), pair(2000.0, 4500.0)].concat();
        let fit = Fit::of(&rows).unwrap();
        assert!((fit.relative_error - 0.12).abs() < 0.01, "{fit:?}");
        let [at_zero, slope] = fit.coefficients;
        assert!(at_zero.standard_error < 60.0, "{fit:?}");
        assert!((slope.value - 2.0).abs() < 2.0 * slope.standard_error, "{fit:?}");
    }

    #[test]
    fn rows_that_do_not_determine_the_coefficients() {
        let same = [row(1.0, 1.0, 1.0); 5];
        assert_eq!(Fit::of(&same), None);
        let exact = [row(0.0, 0.0, 1.0), row(1.0, 0.0, 2.0), row(1.0, 1.0, 3.0)];
        assert_eq!(Fit::of(&exact), None, "no errors");
    }
}
