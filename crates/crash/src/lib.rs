//! Every power cut at once.
pub mod epochs;
pub mod log;
pub mod minimise;
pub mod sampling;
pub mod state;
pub mod view;
