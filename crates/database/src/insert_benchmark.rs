//! The Insert Benchmark of Mark Callaghan, after his client `iibench.py` and the scripts around it
//! (<https://github.com/mdcallag/mytools/tree/master/bench/ibench>).
//!
//! Each client has a table of purchases. It is loaded in the order of its primary key, gets three
//! secondary indexes, and then keeps its size: each insert of new rows is followed by a delete of
//! as many of the oldest.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `step` | the steps, and how they are named |
//! | `rows` | the contents of rows |
//! | `queries` | which rows queries read |
//! | `statements` | the statements in each product's SQL |
//! | `prepared` | prepared statements of either product |
//! | `roles` | what the connections of a client do in a step |
//! | `pace` | when inserts at a given rate are due |
//! | `tally` | latencies, second by second |
//! | `run` | all clients of one step |
//! | `space` | how much storage a run may need |
//! | `result` | a step as a test's result |

mod pace;
mod prepared;
mod queries;
mod result;
mod roles;
mod rows;
mod run;
mod space;
mod statements;
mod step;
mod tally;

pub use result::StepMeasured;
pub use run::{Clients, StepSeen};
pub use space::bytes_needed;
pub use step::{InvalidSteps, QueryKind, Step, usual_steps, valid_order};
