//! Runs of programs, loop devices, mounts, certificates, an unprivileged user and the examples of
//! the documentation, for tests.
//!
//! Tests that this machine or user cannot run are skipped, with the line `skipped: TEST: REASON`
//! on stderr.

#![allow(clippy::unwrap_used, clippy::missing_panics_doc, reason = "a test fails by panicking")]

mod certificate;
pub mod examples;
mod loop_device;
mod mount;
mod nobody;
mod run;
mod shared_directory;
mod system;

pub use certificate::Certificate;
pub use loop_device::LoopDevice;
pub use mount::Mount;
pub use nobody::{NOBODY, Nobody, install_program};
pub use run::{Run, interrupt};
pub use shared_directory::shared_directory;
pub use system::{entries, install, is_root, kill, needs_program, needs_root, system};
