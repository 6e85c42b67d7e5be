//! Repetitions of a test, as one row with their spread.

use measurement::TestResult;

/// A test, and each time that it ran.
pub(crate) struct Repetitions<'a> {
    pub(crate) test: &'a str,
    /// Indexes of its results in the document.
    pub(crate) indexes: Vec<usize>,
    results: Vec<&'a TestResult>,
}

/// The tests of a run in the order of their first results.
pub(crate) fn repetitions(results: &[TestResult]) -> Vec<Repetitions<'_>> {
    let mut tests: Vec<Repetitions<'_>> = Vec::new();
    for (index, result) in results.iter().enumerate() {
        let test = without_number(&result.test);
        match tests.iter_mut().find(|known| known.test == test) {
            Some(known) => {
                known.indexes.push(index);
                known.results.push(result);
            }
            None => tests.push(Repetitions { test, indexes: vec![index], results: vec![result] }),
        }
    }
    tests
}

/// The name of a test without the number that a plan adds to each repetition: ` (run 2)`.
fn without_number(name: &str) -> &str {
    let numbered = name.strip_suffix(')').and_then(|name| name.rsplit_once(" (run "));
    numbered
        .filter(|(_, number)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
        .map_or(name, |(name, _)| name)
}

/// A figure of a test: the middle of its repetitions, and how far they are from it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Middle {
    pub(crate) value: f64,
    /// Half of the distance between the lowest and the highest, relative to the middle; `None` for
    /// a single result.
    pub(crate) spread: Option<f64>,
}

impl Repetitions<'_> {
    pub(crate) fn are_several(&self) -> bool {
        self.results.len() > 1
    }

    /// The test's name, with the number of its repetitions.
    pub(crate) fn name(&self) -> String {
        match self.results.len() {
            1 => self.test.to_owned(),
            count => format!("{} ({count} times)", self.test),
        }
    }

    pub(crate) fn middle(&self, figure: impl Fn(&TestResult) -> Option<f64>) -> Option<Middle> {
        let mut values: Vec<f64> =
            self.results.iter().filter_map(|result| figure(result)).collect();
        values.sort_by(f64::total_cmp);
        let (lowest, highest) = (*values.first()?, *values.last()?);
        let value = f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2]);
        let spread = (values.len() > 1 && value > 0.0).then(|| (highest - lowest) / 2.0 / value);
        Some(Middle { value, spread })
    }

    pub(crate) fn most(&self, figure: impl Fn(&TestResult) -> Option<f64>) -> Option<f64> {
        self.results.iter().filter_map(|result| figure(result)).max_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_have_a_middle_and_a_spread() {
        let mut results = samples::check();
        let mut again = results[1].clone();
        again.iops = results[1].iops * 1.5;
        results.push(again);
        let tests = repetitions(&results);
        assert_eq!(tests.len(), results.len() - 1);
        assert_eq!(tests[1].indexes, [1, results.len() - 1]);
        assert_eq!(tests[1].name(), "write + fsync (2 times)");
        let iops = results[1].iops;
        let middle = tests[1].middle(|result| Some(result.iops)).unwrap();
        assert!((middle.value / iops - 1.25).abs() < 1e-9, "{middle:?}");
        assert!((middle.spread.unwrap() - 0.2).abs() < 1e-9, "{middle:?}");
        assert_eq!(tests[1].most(|result| Some(result.iops)), Some(iops * 1.5));
        assert_eq!(tests[0].middle(|result| Some(result.iops)).unwrap().spread, None);
        assert_eq!(without_number("write 4 KiB (run 12)"), "write 4 KiB");
        for other in ["write (run )", "write (run x)", "write (2 jobs)", "(run"] {
            assert_eq!(without_number(other), other);
        }
        let study = samples::suite("fsync-study", 15.0, 890.0);
        assert_eq!((study.len(), repetitions(&study).len()), (72, 36));
        assert_eq!((tests[0].name().as_str(), tests[0].are_several()), ("write", false));
    }
}
