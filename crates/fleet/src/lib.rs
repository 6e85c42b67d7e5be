//! Drives of many hosts compared: which differ from others of their kind, which from their own
//! past, and what may be the cause.
//!
//! Latencies are compared as logarithms: a drive that is twice as slow is as far from the middle
//! whatever the middle is. The middle is a median and the spread a median deviation, so slow drives
//! do not hide each other. The limit depends on the number of comparisons, so a large fleet raises no
//! more false alarms than a small one.
//!
//! | module | content |
//! | --- | --- |
//! | `summary` | latencies of many runs added up |
//! | `specimen` | one drive as one run found it |
//! | `outliers` | drives that are slower than others of their kind |
//! | `drift` | drives that became slower than they were |
//! | `trend` | the latency of a drive from run to run, with what changed |
//! | `change` | where a series of latencies rises |
//! | `facts` | facts of a run's document |
//! | `cause` | facts that differ from those of the others |
//! | `map` | every drive in every test of a suite |
//! | `choice` | which drives are looked at |
//! | `table` | the cost of a sync, host by host |
//! | `scaling` | what more hosts add |
//! | `robust` | medians, deviations, limits |
//! | `document` | all of these as JSON |

/// There is nothing to compare, in a sentence for users.
pub const NO_RUN: &str = "No complete run of a known host. Runs on models belong to no host.";

mod cause;
mod change;
mod choice;
pub mod document;
mod drift;
mod facts;
pub mod map;
pub mod outliers;
mod robust;
mod scaling;
mod specimen;
mod summary;
mod table;
mod trend;

pub use cause::Cause;
pub use change::Shape;
pub use choice::DriveChoice;
pub use document::{Answer, FleetDocument};
pub use drift::{Drift, Drifts, HISTORY_MIN};
pub use facts::{Change, facts};
pub use outliers::{Outlier, Outliers, outliers};
pub use scaling::{Scaling, Step, Together, scaling};
pub use specimen::{Fact, FactValue, Kind, Specimen, specimens};
pub use summary::{By, HostFigure, Summary, SummaryRow, Summing};
pub use table::{Place, Table, TableRow, table};
pub use trend::{Trend, TrendPoint, trends};
