//! The moment at which a test begins together with those of others.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::job::Stop;

/// Waits until the others are ready; `None` if it was stopped.
type Arrive = dyn Fn(&Stop) -> Option<Instant> + Send + Sync;
type Begun = dyn Fn(Instant) + Send + Sync;

/// Agrees with others, on this host or elsewhere, on the moment at which a test begins.
#[derive(Clone)]
pub struct StartLine {
    arrive: Arc<Arrive>,
    begun: Arc<Begun>,
}

impl StartLine {
    /// `arrive` is called once everything is prepared and every job has warmed up. It returns the
    /// agreed moment, which should be in the future, or `None` if it was asked to stop. `begun`
    /// is called with the moment at which the measurement really began.
    pub fn new(
        arrive: impl Fn(&Stop) -> Option<Instant> + Send + Sync + 'static,
        begun: impl Fn(Instant) + Send + Sync + 'static,
    ) -> StartLine {
        StartLine { arrive: Arc::new(arrive), begun: Arc::new(begun) }
    }

    pub(crate) fn arrive(&self, stop: &Stop) -> Option<Instant> {
        (self.arrive)(stop)
    }

    pub(crate) fn begun(&self, at: Instant) {
        (self.begun)(at);
    }
}

impl fmt::Debug for StartLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StartLine")
    }
}
