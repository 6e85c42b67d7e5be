//! The steps, and how they are named.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// Rows of one insert while the table is loaded.
const LOAD_ROWS: u32 = 100;
/// Rows of one insert or delete in the step with big transactions, and beside queries.
const BIG_ROWS: u32 = 50;
/// Rows of one insert or delete in the step with small transactions.
const SMALL_ROWS: u32 = 5;
/// The rates beside queries, in rows per second of each client.
const RATES: [u32; 3] = [100, 500, 1000];

/// A step of the benchmark, displayed as its author names it, such as `l.i1` or `qr500`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Rows are inserted in the order of the primary key, the table's only index.
    Load,
    /// Three secondary indexes are created.
    Index,
    /// Inserts and deletes as fast as possible, 50 rows per transaction.
    BigChanges,
    /// The same with 5 rows per transaction.
    SmallChanges,
    /// Queries as fast as possible, while rows are inserted and deleted at this rate per client and
    /// second.
    Queries { kind: QueryKind, rate: NonZeroU32 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryKind {
    /// The next ten rows of a secondary index, which contains all that is returned.
    Range,
    /// Ten rows by primary key.
    Point,
}

/// Why steps cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSteps {
    #[error(
        "unknown step `{}`: expected l.i0, l.x, l.i1, l.i2, qrN or qpN, where N is the rate of \
         inserts beside the queries, from 1 to 1000000, such as qr100",
        unseen::escaped(.0)
    )]
    Unknown(String),
    #[error("the steps must begin with l.i0, which loads the table, but begin with {0}")]
    NotLoaded(Step),
    #[error("the step {0} needs the indexes of l.x: name l.x after l.i0")]
    NotIndexed(Step),
    #[error("the step {0} can only come once, at the beginning")]
    Repeated(Step),
}

/// All steps in the usual order.
pub fn usual_steps() -> Vec<Step> {
    let rates = RATES.into_iter().filter_map(NonZeroU32::new);
    let queries = rates.flat_map(|rate| {
        [QueryKind::Range, QueryKind::Point].map(|kind| Step::Queries { kind, rate })
    });
    [Step::Load, Step::Index, Step::BigChanges, Step::SmallChanges]
        .into_iter()
        .chain(queries)
        .collect()
}

/// Checks that each step finds the table in the state that it needs.
pub fn valid_order(steps: &[Step]) -> Result<(), InvalidSteps> {
    for (at, step) in steps.iter().enumerate() {
        match (at, step) {
            (0, Step::Load) | (1, Step::Index) => {}
            (0, other) => return Err(InvalidSteps::NotLoaded(*other)),
            (_, Step::Load | Step::Index) => return Err(InvalidSteps::Repeated(*step)),
            (1, other) => return Err(InvalidSteps::NotIndexed(*other)),
            _ => {}
        }
    }
    Ok(())
}

impl Step {
    /// Rows of one insert and of one delete. A rate below a second's batch makes smaller batches.
    pub fn rows_per_commit(self) -> u32 {
        match self {
            Step::Load => LOAD_ROWS,
            Step::Index => 0,
            Step::BigChanges => BIG_ROWS,
            Step::SmallChanges => SMALL_ROWS,
            Step::Queries { rate, .. } => BIG_ROWS.min(rate.get()),
        }
    }

    /// Inserts that each client makes if the step is not limited in time. Of the rows that are
    /// changed after the load, four fifths belong to big and one fifth to small transactions.
    pub fn inserts(self, rows_loaded: u64) -> Option<u64> {
        let rows = match self {
            Step::Load => rows_loaded,
            Step::BigChanges => rows_loaded * 4 / 5,
            Step::SmallChanges => rows_loaded / 5,
            Step::Index | Step::Queries { .. } => return None,
        };
        Some(rows.div_ceil(u64::from(self.rows_per_commit())).max(1))
    }

    /// Returns whether each insert is followed by a delete.
    pub fn deletes(self) -> bool {
        !matches!(self, Step::Load | Step::Index)
    }

    /// Connections of one client.
    pub fn connections(self) -> u32 {
        match self {
            Step::Load | Step::Index => 1,
            Step::BigChanges | Step::SmallChanges => 2,
            Step::Queries { .. } => 3,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Load => f.write_str("l.i0"),
            Step::Index => f.write_str("l.x"),
            Step::BigChanges => f.write_str("l.i1"),
            Step::SmallChanges => f.write_str("l.i2"),
            Step::Queries { kind: QueryKind::Range, rate } => write!(f, "qr{rate}"),
            Step::Queries { kind: QueryKind::Point, rate } => write!(f, "qp{rate}"),
        }
    }
}

impl FromStr for Step {
    type Err = InvalidSteps;

    fn from_str(text: &str) -> Result<Step, InvalidSteps> {
        let unknown = || InvalidSteps::Unknown(text.to_owned());
        let kind = match text {
            "l.i0" => return Ok(Step::Load),
            "l.x" => return Ok(Step::Index),
            "l.i1" => return Ok(Step::BigChanges),
            "l.i2" => return Ok(Step::SmallChanges),
            _ if text.starts_with("qr") => QueryKind::Range,
            _ if text.starts_with("qp") => QueryKind::Point,
            _ => return Err(unknown()),
        };
        let digits = text.get(2..).filter(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
        let rate = digits.and_then(|digits| digits.parse().ok()).ok_or_else(unknown)?;
        if rate > NonZeroU32::new(1_000_000).ok_or_else(unknown)? {
            return Err(unknown());
        }
        Ok(Step::Queries { kind, rate })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn steps(names: &str) -> Result<Vec<Step>, InvalidSteps> {
        let steps: Vec<Step> = names.split(',').map(str::parse).collect::<Result<_, _>>()?;
        valid_order(&steps).map(|()| steps)
    }

    #[test]
    fn the_usual_steps_are_valid_and_named_as_their_author_does() {
        let usual = usual_steps();
        assert_eq!(valid_order(&usual), Ok(()));
        let names: Vec<String> = usual.iter().map(Step::to_string).collect();
        assert_eq!(names.join(","), "l.i0,l.x,l.i1,l.i2,qr100,qp100,qr500,qp500,qr1000,qp1000");
    }

    #[test]
    fn steps_that_cannot_be_run() {
        let refusal = |names| steps(names).unwrap_err().to_string();
        insta::assert_snapshot!(refusal("l.i0,l.i3"), @"unknown step `l.i3`: expected l.i0, l.x, l.i1, l.i2, qrN or qpN, where N is the rate of inserts beside the queries, from 1 to 1000000, such as qr100");
        insta::assert_snapshot!(refusal("l.x,l.i0"), @"the steps must begin with l.i0, which loads the table, but begin with l.x");
        insta::assert_snapshot!(refusal("l.i0,qr100"), @"the step qr100 needs the indexes of l.x: name l.x after l.i0");
        insta::assert_snapshot!(refusal("l.i0,l.x,l.i1,l.i0"), @"the step l.i0 can only come once, at the beginning");
        for unknown in ["qr", "qr0", "qp-1", "qr1000001", "qr+5", "Qr100", "", "qp99999999999"] {
            assert!(matches!(steps(unknown), Err(InvalidSteps::Unknown(_))), "{unknown}");
        }
        assert!(steps("l.i0").is_ok() && steps("l.i0,l.x,l.i2,l.i1,qp7").is_ok());
    }

    #[test]
    fn the_size_of_a_step() {
        let inserts = |step: Step| step.inserts(1_000_000);
        assert_eq!(inserts(Step::Load), Some(10_000));
        assert_eq!(inserts(Step::BigChanges), Some(16_000));
        assert_eq!(inserts(Step::SmallChanges), Some(40_000));
        assert_eq!((Step::Load.inserts(1), Step::SmallChanges.inserts(1)), (Some(1), Some(1)));
        let slow: Step = "qr20".parse().unwrap();
        assert_eq!((inserts(slow), slow.rows_per_commit()), (None, 20));
    }

    proptest! {
        #[test]
        fn a_name_means_the_step_that_has_it(rate in 1u32..=1_000_000, is_range: bool) {
            let kind = if is_range { QueryKind::Range } else { QueryKind::Point };
            let step = Step::Queries { kind, rate: NonZeroU32::new(rate).unwrap() };
            prop_assert_eq!(step.to_string().parse::<Step>(), Ok(step));
        }
    }
}
