//! How long something takes on this machine, beside what it may take.

pub mod import;
pub mod report;
pub mod store;
pub mod web;
