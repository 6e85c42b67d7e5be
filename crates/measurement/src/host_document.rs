//! What `flushmark host` prints for programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::AuditLine;

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/host/1";

/// The audit of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostDocument {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The version that looked.
    pub flushmark: String,
    /// The facts.
    pub facts: drive::HostFacts,
    /// What they mean, the gravest first.
    pub audit: Vec<AuditLine>,
    /// The effect of what may be changed without harm, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<CStateEffect>,
}

/// What deep C-states cost here: the same tests with them allowed and held off, in turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CStateEffect {
    /// Where it was measured.
    pub path: String,
    /// Turns of each setting; the figures are medians over them.
    pub rounds: u32,
    /// The tests.
    pub tests: Vec<Effect>,
}

/// One test under both settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// What was done.
    pub test: String,
    /// Median latency as the host is set, in microseconds.
    pub before_us: f64,
    /// Median latency with C-states held off, in microseconds.
    pub after_us: f64,
}

impl Effect {
    /// How many times as long it takes as the host is set; above 1, C-states cost latency.
    pub fn ratio(&self) -> f64 {
        if self.after_us > 0.0 { self.before_us / self.after_us } else { 1.0 }
    }
}

/// The JSON Schema (draft 2020-12) of [`HostDocument`]. The repository keeps it as `schemas/host-1.json`.
pub fn json_schema() -> schemars::Schema {
    crate::json_schema::of::<HostDocument>("host", SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effect_is_how_many_times_as_long_it_takes_as_the_host_is_set() {
        let ratio = |before_us: f64, after_us: f64| Effect { test: String::new(), before_us, after_us }.ratio();
        assert!((ratio(30.0, 20.0) - 1.5).abs() < 1e-12);
        assert!((ratio(20.0, 40.0) - 0.5).abs() < 1e-12);
        // A latency of nothing compares with nothing.
        assert!((ratio(30.0, 0.0) - 1.0).abs() < 1e-12);
    }
}
