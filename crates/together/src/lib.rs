//! Runs on several targets or hosts whose tests begin at the same moment.
//!
//! A [`Line`] is made for the runs of this process, one [`Runner`] for each. Before each test, a
//! runner gives the engine its [`engine::StartLine`]; there it waits until all other runners have
//! arrived, and then, if there are other hosts, until those have.
//!
//! | module | how the moment is agreed on |
//! | --- | --- |
//! | `line` | within this process |
//! | `hosts` | between hosts, in a PostgreSQL database, by the clock of its server |
//! | `schedule` | by the time of day alone |

mod clock;
mod error;
mod hosts;
mod line;
mod position;
mod schedule;

pub use error::{GroupError, Problem};
pub use hosts::{Group, Hosts};
pub use line::{Line, Runner};
pub use schedule::Schedule;
