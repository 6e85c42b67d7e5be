//! The hardware of a planned cluster, by rules that state their source and their releases.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `plan` | what the user plans, and what no plan can be |
//! | `capacity` | sizes as drives' labels print them |
//! | [`block_db`] | the size of `block.db` |
//! | [`levels`] | RocksDB's levels, and what BlueStore makes of a DB device |
//! | [`hosts`] | memory, processors, network, defaults by release |
//! | [`prediction`] | latency and rate to expect of a layout |
//! | `source` | rules and their sources |

pub mod block_db;
mod capacity;
pub mod hosts;
pub mod levels;
mod plan;
pub mod prediction;
mod source;

use schemars::JsonSchema;
use serde::Serialize;

pub use block_db::{BlockDb, GivenSize};
pub use capacity::{Capacity, InvalidCapacity};
pub use plan::{ErasureCode, InvalidErasureCode, Plan, PlanError, Redundancy, Workload};
pub use prediction::{Basis, Candidate, Cost, Layout, Origin, Prediction, Span};
pub use source::{Advice, Rule, Source};

use crate::medium::Medium;
use crate::release::Release;

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/ceph-sizing/1";

/// The JSON output of `flushmark ceph sizing`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SizingDocument {
    /// The name and version of this format.
    pub schema: String,
    /// The version of flushmark that made the document.
    pub flushmark: String,
    pub plan: PlanRecord,
    /// Capacity before replication, in bytes.
    pub raw_bytes: u64,
    /// Capacity for data, before the reserve for failures, in bytes.
    pub usable_bytes: u64,
    /// `null` for OSDs on flash, which need no separate device.
    pub block_db: Option<BlockDb>,
    /// Memory to provision per OSD, in bytes.
    pub memory_bytes_per_osd: u64,
    /// Threads to provide per OSD.
    pub threads_per_osd: u32,
    /// The other subjects.
    pub advice: Vec<Advice>,
    /// Lowest and highest S, the software's part of a write's latency, in microseconds.
    pub software_us: Span,
    pub software_basis: Basis,
    /// The rules behind S and k.
    pub latency_rules: Vec<Rule>,
    pub predictions: Vec<Prediction>,
    /// Published figures to compare with.
    pub references: Vec<Rule>,
    /// Assumptions and doubts, in sentences.
    pub notes: Vec<String>,
    /// The sources that the document uses.
    pub sources: Vec<SourceRecord>,
}

/// The plan, as the document records it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanRecord {
    pub osds: u32,
    pub hosts: Option<u32>,
    pub medium: Medium,
    /// Size of an OSD's data device, in bytes.
    pub data_bytes: u64,
    pub workload: Workload,
    /// `Squid 19.2.1`; without a point release, the latest one of the series.
    pub release: String,
    pub redundancy: Redundancy,
    /// Assumed round trip between hosts, in microseconds.
    pub rtt_us: f64,
}

/// A source, and where to read it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SourceRecord {
    pub source: Source,
    pub name: &'static str,
    pub place: &'static str,
}

/// Applies all rules to a plan. Each candidate becomes a prediction.
///
/// # Errors
/// Fails if no cluster can be like that.
pub fn size(
    plan: &Plan,
    candidates: &[Candidate],
    flushmark: &str,
) -> Result<SizingDocument, PlanError> {
    plan.check()?;
    let block_db = (plan.medium == Medium::Hdd).then(|| block_db::size(plan));
    let mut advice = vec![hosts::wal(plan)];
    advice.extend(hosts::sharing(plan));
    advice.extend([hosts::memory(plan), hosts::processors(plan), hosts::network(plan)]);
    advice.extend([hosts::allocation(plan), hosts::op_shards(plan)]);
    let predictions: Result<Vec<_>, _> =
        candidates.iter().map(|candidate| prediction::predict(plan, candidate)).collect();
    let disk_commit_us = candidates
        .iter()
        .find(|candidate| candidate.layout == Layout::HddOnly)
        .map(|candidate| candidate.commit_us);
    let cost = Cost::of(plan.version);
    let raw_bytes = plan.data.0.saturating_mul(u64::from(plan.osds));
    let mut document = SizingDocument {
        schema: SCHEMA.to_owned(),
        flushmark: flushmark.to_owned(),
        plan: PlanRecord {
            osds: plan.osds,
            hosts: plan.hosts,
            medium: plan.medium,
            data_bytes: plan.data.0,
            workload: plan.workload,
            release: plan.version.to_string(),
            redundancy: plan.redundancy,
            rtt_us: plan.rtt_us,
        },
        raw_bytes,
        usable_bytes: (raw_bytes as f64 * plan.redundancy.efficiency()) as u64,
        block_db,
        memory_bytes_per_osd: hosts::memory_per_osd(plan),
        threads_per_osd: hosts::threads_per_osd(plan).1,
        advice,
        software_us: cost.software(),
        software_basis: cost.origin.basis(),
        latency_rules: prediction::latency_rules(plan),
        predictions: predictions?,
        references: prediction::references(plan, disk_commit_us),
        notes: notes(plan),
        sources: Vec::new(),
    };
    document.sources = sources(&document);
    Ok(document)
}

fn notes(plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    if plan.version.is_newer_than_known() {
        notes.push(format!(
            "Release {} is newer than known: the rules of {} are used.",
            plan.version,
            Release::NEWEST
        ));
    } else if !plan.version.is_exact() {
        notes.push(format!(
            "Assumes the latest point release of {}; state yours with --release, such as {}.2.0.",
            plan.version.release(),
            plan.version.release().number()
        ));
    }
    if let (Some(hosts), copies) = (plan.hosts, plan.redundancy.osds())
        && hosts < copies
    {
        notes.push(format!(
            "{} on {hosts} host{}: with hosts as failure domain (the default) placement groups \
             never become clean; {copies} hosts are needed.",
            plan.redundancy,
            if hosts == 1 { "" } else { "s" }
        ));
    }
    if let Redundancy::Replicated { size: 1 } = plan.redundancy {
        notes.push("With 1 replica, the loss of a drive is the loss of its data.".to_owned());
    }
    notes
}

/// Each source once, in the order of its first use.
fn sources(document: &SizingDocument) -> Vec<SourceRecord> {
    let db = document.block_db.iter().flat_map(|db| &db.rules);
    let totals =
        document.predictions.iter().filter_map(|prediction| prediction.total_rule.as_ref());
    let rules = db
        .chain(document.advice.iter().flat_map(|advice| &advice.rules))
        .chain(&document.latency_rules)
        .chain(totals.chain(&document.references));
    let mut used: Vec<SourceRecord> = Vec::new();
    for source in rules.map(|rule| rule.source) {
        if used.iter().all(|record| record.source != source) {
            used.push(SourceRecord { source, name: source.name(), place: source.place() });
        }
    }
    used
}

/// The JSON Schema (draft 2020-12) of [`SizingDocument`]. The repository keeps it as
/// `schemas/ceph-sizing-1.json`.
pub fn json_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(SizingDocument);
    schema.insert("title".to_owned(), format!("flushmark ceph sizing document, {SCHEMA}").into());
    if let Some(own) =
        schema.pointer_mut("/properties/schema").and_then(serde_json::Value::as_object_mut)
    {
        own.insert("const".to_owned(), SCHEMA.into());
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 24 disks of 16 TB for RBD, on Squid.
    pub(super) fn plan() -> Plan {
        Plan {
            osds: 24,
            medium: Medium::Hdd,
            data: Capacity(16_000_000_000_000),
            workload: Workload::Rbd,
            version: Release::Squid.into(),
            hosts: None,
            redundancy: Redundancy::Replicated { size: 3 },
            db: None,
            db_device: None,
            osds_per_db_device: None,
            rtt_us: 50.0,
        }
    }

    #[test]
    fn capacities() {
        let document = size(&plan(), &[], "0").unwrap();
        assert_eq!(
            (document.raw_bytes / 1_000_000_000_000, document.usable_bytes / 1_000_000_000_000),
            (384, 128)
        );
        let coded = Plan { redundancy: Redundancy::ErasureCoded { k: 4, m: 2 }, ..plan() };
        assert_eq!(size(&coded, &[], "0").unwrap().usable_bytes / 1_000_000_000_000, 256);
    }

    #[test]
    fn notes_state_assumptions() {
        let notes = |change: fn(&mut Plan)| {
            let mut plan = plan();
            change(&mut plan);
            size(&plan, &[], "0").unwrap().notes.join(" ")
        };
        insta::assert_snapshot!(notes(|_| ()), @"Assumes the latest point release of Squid 19; state yours with --release, such as 19.2.0.");
        insta::assert_snapshot!(notes(|plan| plan.version = "21.2.0".parse().unwrap()), @"Release 21.2.0 is newer than known: the rules of Tentacle 20 are used.");
        insta::assert_snapshot!(notes(|plan| (plan.version, plan.hosts) = ("19.2.1".parse().unwrap(), Some(2))), @"3 replicas on 2 hosts: with hosts as failure domain (the default) placement groups never become clean; 3 hosts are needed.");
        insta::assert_snapshot!(notes(|plan| (plan.version, plan.redundancy) = ("19.2.1".parse().unwrap(), Redundancy::Replicated { size: 1 })), @"With 1 replica, the loss of a drive is the loss of its data.");
    }

    #[test]
    fn every_rule_states_its_source_and_releases() {
        for release in Release::ALL {
            for medium in [Medium::Hdd, Medium::Ssd] {
                let plan = Plan { version: release.into(), medium, ..plan() };
                let document = size(&plan, &[], "0").unwrap();
                let rules = document.advice.iter().flat_map(|advice| &advice.rules);
                let db = document.block_db.iter().flat_map(|db| &db.rules);
                for rule in
                    rules.chain(db).chain(&document.latency_rules).chain(&document.references)
                {
                    assert!(!rule.releases.is_empty() && !rule.says.is_empty(), "{rule:?}");
                    assert!(document.sources.iter().any(|used| used.source == rule.source));
                }
                assert!(document.advice.iter().all(|advice| !advice.rules.is_empty()));
            }
        }
    }
}
