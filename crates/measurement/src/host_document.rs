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
    /// The measured effect of holding C-states off; absent if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<SettingEffect>,
    /// The measured effect of the governor `performance`; absent if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_governor: Option<SettingEffect>,
    /// Why a setting was not measured, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_measured: Vec<String>,
}

/// What a setting costs on this host: the same tests as the host is set and with the setting
/// changed, alternating.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingEffect {
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
    /// Median latency with the setting changed, in microseconds.
    pub after_us: f64,
    /// The lowest and the highest ratio of the two in a round; absent in older documents. With
    /// seven rounds, the true median ratio is between them with a confidence of 98 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratios: Option<(f64, f64)>,
}

impl Effect {
    /// From the medians of rounds, each with the host's own settings and with the setting changed,
    /// in microseconds. `None` without rounds.
    pub fn of_rounds(test: String, rounds: &[(f64, f64)]) -> Option<Effect> {
        let ratios = rounds.iter().map(|&(before, after)| ratio(before, after));
        let spread = (ratios.clone().min_by(f64::total_cmp)?, ratios.max_by(f64::total_cmp)?);
        Some(Effect {
            test,
            before_us: median(rounds.iter().map(|round| round.0))?,
            after_us: median(rounds.iter().map(|round| round.1))?,
            ratios: Some(spread),
        })
    }

    /// `before_us` over `after_us`; above 1, the host's own setting costs latency.
    pub fn ratio(&self) -> f64 {
        ratio(self.before_us, self.after_us)
    }

    /// Returns `true` if the change lowered the latency in every round.
    pub fn exceeds_noise(&self) -> bool {
        self.ratios.is_some_and(|(lowest, _)| lowest > 1.0)
    }
}

fn ratio(before_us: f64, after_us: f64) -> f64 {
    if after_us > 0.0 { before_us / after_us } else { 1.0 }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
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
            Effect { test: String::new(), before_us, after_us, ratios: None }.ratio()
        };
        assert!((ratio(30.0, 20.0) - 1.5).abs() < 1e-12);
        assert!((ratio(20.0, 40.0) - 0.5).abs() < 1e-12);
        // No ratio with a latency of zero.
        assert!((ratio(30.0, 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_effect_is_one_that_shows_in_every_round() {
        let of = |rounds: &[(f64, f64)]| Effect::of_rounds("test".to_owned(), rounds);
        // Noise: the median ratio is 1.12, but one round has the opposite sign.
        let noise = of(&[(30.0, 25.0), (28.0, 25.0), (27.0, 28.0)]).unwrap();
        assert_eq!((noise.before_us, noise.after_us), (28.0, 25.0));
        assert!(!noise.exceeds_noise() && noise.ratio() > 1.1);
        let effect = of(&[(50.0, 20.0), (60.0, 21.0), (45.0, 22.0)]).unwrap();
        assert!(effect.exceeds_noise());
        assert_eq!(effect.ratios.map(|(_, highest)| highest), Some(60.0 / 21.0));
        assert_eq!(of(&[]), None);
        // A document of an older version has no rounds.
        assert!(!Effect { ratios: None, ..effect }.exceeds_noise());
    }
}
