//! The JSON output of `flushmark host`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::AuditLine;

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/host/1";

/// The audit of a machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostDocument {
    /// The name and version of this format.
    pub schema: String,
    /// The version of flushmark that audited the host.
    pub flushmark: String,
    /// Facts read from the kernel.
    pub facts: drive::HostFacts,
    /// The settings and their effect on commits, most serious first.
    pub audit: Vec<AuditLine>,
    /// The measured effect of settings that are safe to change; `null` if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<CStateEffect>,
}

/// What deep C-states cost on this host: the same tests with deep C-states allowed and disabled,
/// alternating.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CStateEffect {
    /// Directory in which it was measured.
    pub path: String,
    /// Rounds of each setting; the figures are medians over them.
    pub rounds: u32,
    pub tests: Vec<Effect>,
}

/// One test under both settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    pub test: String,
    /// Median latency with the host's own settings, in microseconds.
    pub before_us: f64,
    /// Median latency with deep C-states disabled, in microseconds.
    pub after_us: f64,
}

impl Effect {
    /// `before_us` over `after_us`; above 1, deep C-states cost latency.
    pub fn ratio(&self) -> f64 {
        if self.after_us > 0.0 { self.before_us / self.after_us } else { 1.0 }
    }
}

/// The JSON Schema (draft 2020-12) of [`HostDocument`]. The repository keeps it as
/// `schemas/host-1.json`.
pub fn json_schema() -> schemars::Schema {
    crate::json_schema::of::<HostDocument>("host", SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratio_is_before_over_after() {
        let ratio = |before_us: f64, after_us: f64| {
            Effect { test: String::new(), before_us, after_us }.ratio()
        };
        assert!((ratio(30.0, 20.0) - 1.5).abs() < 1e-12);
        assert!((ratio(20.0, 40.0) - 0.5).abs() < 1e-12);
        // No ratio with a latency of zero.
        assert!((ratio(30.0, 0.0) - 1.0).abs() < 1e-12);
    }
}
