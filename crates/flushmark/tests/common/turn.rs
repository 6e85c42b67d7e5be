//! Turns of the tests of one binary, which run side by side.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A test's use of something that others use too. Tests that fail give it back as others do.
pub enum Turn {
    Shared { _guard: RwLockReadGuard<'static, ()> },
    Alone { _guard: RwLockWriteGuard<'static, ()> },
}

impl Turn {
    /// Waits until no test uses it alone.
    pub fn shared(used: &'static RwLock<()>) -> Turn {
        Turn::Shared { _guard: used.read().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Waits until no other test uses it.
    pub fn alone(used: &'static RwLock<()>) -> Turn {
        Turn::Alone { _guard: used.write().unwrap_or_else(PoisonError::into_inner) }
    }
}
