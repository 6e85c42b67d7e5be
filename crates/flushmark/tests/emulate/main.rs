//! `flushmark emulate` from outside: third-party clients, power cuts, misbehaving clients, and
//! leftovers.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod cuts;
mod files;
mod nbd;
mod target;
