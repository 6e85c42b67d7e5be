//! Times and sizes on this machine, compared with their limits.

pub mod fleet;
pub mod import;
pub mod report;
pub mod store;
pub mod web;
