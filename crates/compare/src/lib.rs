//! Compares results: what differs, how certain that is, and whether it is allowed. Pure functions
//! from result documents to a [`Comparison`].
//!
//! | module | what it holds |
//! | --- | --- |
//! | `metric` | the figures of a test that are compared, with name, unit and good direction |
//! | `group` | one side: one run, or several whose results are merged |
//! | `pairing` | matches the tests of the two sides |
//! | `autoregression` | the noise of a mean of a few seconds |
//! | `bootstrap` | how far a ratio could be off by chance, from seconds or passes |
//! | `student` | Student's distribution, for intervals from few values |
//! | `comparison` | a baseline against candidates: ratios, intervals, verdicts |
//! | `headline` | the test that represents all |
//! | `facts` | other differences between the runs |
//! | `condition` | limits for a comparison (`--fail-if`) |
//!
//! `docs/compare.md` explains the statistics. `report` prints the page.

mod autoregression;
mod bootstrap;
mod comparison;
mod condition;
mod facts;
mod group;
mod headline;
mod metric;
mod pairing;
mod student;

pub use bootstrap::SECONDS_MIN;
pub use comparison::{
    Against, Comparison, Direction, Interval, MetricComparison, Samples, TestComparison, Undecided,
    Verdict, json_schema,
};
pub use condition::{
    Condition, ConditionError, Exceeded, Failure, Limit, Missing, NothingChecked, Order, Unchecked,
};
pub use facts::FactDifference;
pub use group::{Group, GroupRecord};
pub use metric::{Course, Metric, Operation, Piece, Point};
pub use pairing::{Unpaired, UnpairedReason};
