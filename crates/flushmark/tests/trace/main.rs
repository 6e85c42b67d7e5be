//! Traces of real commits on real filesystems and devices, with the kernel's own tracer.
//!
//! | module | content |
//! | --- | --- |
//! | `commits` | each way to commit |
//! | `sqlite` | commits of SQLite |
//! | `cross_checks` | a trace compared with what others know: other tracers, the drive's model |
//! | `endings` | lost events, full disks, signals, devices that vanish, refusals |
//! | `tracing` | what these tests share |

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod commits;
#[path = "../common/mod.rs"]
mod common;
mod cross_checks;
mod endings;
mod sqlite;
mod tracing;
