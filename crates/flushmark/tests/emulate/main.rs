//! `flushmark emulate` from outside: clients that nobody here wrote, power cuts, bad clients, and what is left behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod cuts;
mod files;
mod nbd;
mod served;
