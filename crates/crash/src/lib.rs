//! Every power cut at once.
pub mod check;
pub mod epochs;
pub mod explore;
pub mod log;
pub mod minimise;
pub mod owners;
pub mod record;
pub mod recorded;
pub mod sampling;
pub mod served;
pub mod session;
pub mod state;
pub mod view;
