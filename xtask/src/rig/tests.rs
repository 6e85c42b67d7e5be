//! What is proved in the guest.

use super::guest::Guest;

/// A test, and its name.
type Test = (&'static str, fn(&mut Guest) -> anyhow::Result<()>);

/// All of them, in the order in which they run.
pub const ALL: &[Test] = &[];
