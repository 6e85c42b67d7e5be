//! Connections to database servers, what they say about durability and about their activity, and
//! commits made in them.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `server_url` | the URL of a server, which contains no password |
//! | `postgres`, `mysql` | how each product is connected to: addresses, TLS, password files |
//! | `connection` | a connection to either product |
//! | `session` | a connection whose statements end within a time limit |
//! | `facts` | product, version, settings, role, and where the log is |
//! | `activity` | what a server does, by its own counters |
//! | `load` | what other clients do meanwhile |
//! | `workspace` | the schema that a run creates and drops, and those that killed runs left |
//! | `commits` | clients that commit one row at a time, timed |
//! | `result` | the same as a test's result |
//! | [`insert_benchmark`] | the Insert Benchmark: its steps, their clients, their results |
//! | `error`, `connect_error` | one sentence each |

mod activity;
mod commits;
mod connect_error;
mod connection;
mod error;
mod facts;
pub mod insert_benchmark;
mod load;
mod mysql;
mod postgres;
mod result;
mod server_url;
mod session;
mod tls_mode;
mod workspace;

pub use activity::{Break, Interval, Meter, Snapshot};
pub use commits::{Finish, ROW_BYTES, Run, Seen, run};
pub use connect_error::ConnectError;
pub use error::{DatabaseError, Problem};
pub use facts::{Facts, LogPlace};
pub use load::Load;
pub use postgres::{connect as connect_postgres, said};
pub use result::Clients;
pub use server_url::{InvalidUrl, Product, ServerUrl};
pub use session::Session;
pub use workspace::{Workspace, leftovers};
