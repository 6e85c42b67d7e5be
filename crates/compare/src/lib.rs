//! Results against results: what differs, how surely, and whether that is allowed. Pure functions from result documents to a [`Comparison`].
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`metric`] | the figures of a test that are compared, each with its name, unit and good direction |
//! | [`group`] | one side: one run, or several whose results are added up |
//! | [`pairing`] | which test of one side is which of the other |
//! | [`bootstrap`] | how far a ratio could be off by chance, from the series second by second |
//! | [`student`] | Student's distribution, for intervals from few values |
//! | [`comparison`] | the comparison of a baseline with candidates: ratios, intervals, verdicts |
//! | [`facts`] | what else differs between the runs |
//! | [`condition`] | limits that a comparison has to keep (`--fail-if`) |
//!
//! `docs/compare.md` has the statistics in prose. `report` draws the page.

pub mod bootstrap;
pub mod comparison;
pub mod condition;
pub mod facts;
pub mod group;
pub mod metric;
pub mod pairing;
pub mod student;

pub use comparison::{
    Against, Comparison, Direction, MetricComparison, TestComparison, Undecided, Verdict, json_schema,
};
pub use condition::{Condition, ConditionError, Exceeded, Failure, Missing, NothingToJudge, Unheld};
pub use facts::FactDifference;
pub use group::{Group, GroupRecord};
pub use metric::{Metric, Operation, Point};
pub use pairing::{Unpaired, UnpairedReason};
