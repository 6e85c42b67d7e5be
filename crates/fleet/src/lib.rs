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
//! | `specimen` | one drive as one run found it |
//! | `outliers` | drives that are slower than others of their kind |
//! | `drift` | drives that became slower than they were |
//! | `facts` | facts of a run's document |
//! | `cause` | facts that differ from those of the others |
//! | `robust` | medians, deviations, limits |

mod cause;
pub mod drift;
mod facts;
pub mod outliers;
mod robust;
pub mod specimen;

pub use cause::Cause;
pub use drift::{Drift, History, Shape, drifts};
pub use facts::{changes, facts};
pub use outliers::{Outlier, Outliers, outliers};
pub use specimen::{Fact, FactValue, Kind, Specimen};
