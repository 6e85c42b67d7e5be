//! Health, placement groups and versions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// `HEALTH_OK`, `HEALTH_WARN` or `HEALTH_ERR`.
    pub status: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<HealthCheck>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HealthCheck {
    /// Such as `BLUEFS_SPILLOVER`.
    pub name: String,
    pub severity: String,
    pub message: String,
    /// One line for each daemon or pool concerned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub detail: Vec<String>,
    #[serde(default)]
    pub muted: bool,
}

impl Health {
    /// `health detail` has everything that `status` has.
    pub(super) fn of(status: &StatusAnswer, detail: HealthAnswer) -> Option<Health> {
        let answer = if detail.status.is_some() { detail } else { status.health.clone() };
        let checks = answer.checks.into_iter().map(|(name, check)| HealthCheck {
            name,
            severity: check.severity.unwrap_or_default(),
            message: check.summary.message.unwrap_or_default(),
            detail: check.detail.into_iter().filter_map(|line| line.message).collect(),
            muted: check.muted.unwrap_or(false),
        });
        Some(Health { status: answer.status?, checks: checks.collect() })
    }

    pub fn check(&self, name: &str) -> Option<&HealthCheck> {
        self.checks.iter().find(|check| check.name == name)
    }
}

/// The number of placement groups in each state, such as `active+clean+scrubbing+deep`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PgStates(pub BTreeMap<String, u64>);

impl PgStates {
    /// Parts of a state that mean that data is being copied, or waits for that. `degraded` and
    /// `undersized` are not among them: a PG may stay in them for want of OSDs, at rest.
    const RECOVERY: [&str; 6] =
        ["recovering", "recovery_wait", "backfilling", "backfill_wait", "backfill", "peering"];
    const SCRUB: [&str; 1] = ["scrubbing"];
    const SNAPTRIM: [&str; 2] = ["snaptrim", "snaptrim_wait"];

    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// PGs that are copied to other OSDs, or agree on what to copy.
    pub fn recovering(&self) -> u64 {
        self.in_any(&Self::RECOVERY)
    }

    pub fn scrubbing(&self) -> u64 {
        self.in_any(&Self::SCRUB)
    }

    /// PGs that remove the objects of deleted snapshots.
    pub fn trimming(&self) -> u64 {
        self.in_any(&Self::SNAPTRIM)
    }

    /// PGs with fewer copies than the pool wants.
    pub fn degraded(&self) -> u64 {
        self.in_any(&["degraded", "undersized"])
    }

    /// PGs that serve no I/O.
    pub fn inactive(&self) -> u64 {
        self.total() - self.in_any(&["active"])
    }

    fn in_any(&self, parts: &[&str]) -> u64 {
        let states = self.0.iter();
        let matching =
            states.filter(|(state, _)| state.split('+').any(|part| parts.contains(&part)));
        matching.map(|(_, count)| count).sum()
    }
}

/// The shares of an OSD from which on the cluster warns, stops backfills and stops writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FullRatios {
    pub near_full: f64,
    pub backfill_full: f64,
    pub full: f64,
}

/// Ceph's own defaults (src/common/options: `mon_osd_nearfull_ratio` and its siblings).
impl Default for FullRatios {
    fn default() -> FullRatios {
        FullRatios { near_full: 0.85, backfill_full: 0.9, full: 0.95 }
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct StatusAnswer {
    #[serde(deserialize_with = "lenient::de_text")]
    pub(super) fsid: Option<String>,
    health: HealthAnswer,
    pgmap: PgMap,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct PgMap {
    pgs_by_state: Vec<PgState>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct PgState {
    state_name: String,
    #[serde(deserialize_with = "lenient::de_whole")]
    count: Option<u64>,
}

impl StatusAnswer {
    pub(super) fn pgs(&self) -> Option<PgStates> {
        self.fsid.as_ref()?;
        let states = self.pgmap.pgs_by_state.iter();
        Some(PgStates(
            states.map(|state| (state.state_name.clone(), state.count.unwrap_or(0))).collect(),
        ))
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct HealthAnswer {
    #[serde(deserialize_with = "lenient::de_text")]
    status: Option<String>,
    checks: BTreeMap<String, CheckAnswer>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct CheckAnswer {
    #[serde(deserialize_with = "lenient::de_text")]
    severity: Option<String>,
    summary: Message,
    detail: Vec<Message>,
    #[serde(deserialize_with = "lenient::de_flag")]
    muted: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Message {
    #[serde(deserialize_with = "lenient::de_text")]
    message: Option<String>,
}

/// Daemon type, the daemon's whole version text, number of daemons.
pub(super) type VersionsAnswer = BTreeMap<String, BTreeMap<String, u64>>;

/// `overall` repeats the others.
pub(super) fn versions(answer: VersionsAnswer) -> VersionsAnswer {
    let types = answer.into_iter().filter(|(kind, _)| kind != "overall");
    let short = types.map(|(kind, counts)| {
        let mut by_version = BTreeMap::new();
        for (text, count) in counts {
            *by_version.entry(short_version(&text)).or_insert(0) += count;
        }
        (kind, by_version)
    });
    short.filter(|(_, counts)| !counts.is_empty()).collect()
}

/// `16.2.15 pacific` of `ceph version 16.2.15 (618f…) pacific (stable)`.
pub(super) fn short_version(text: &str) -> String {
    let words = text.strip_prefix("ceph version ").unwrap_or(text).split_whitespace();
    let named: Vec<&str> = words.filter(|word| !word.starts_with('(')).collect();
    named.join(" ")
}
