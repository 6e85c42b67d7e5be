//! The cost of a commit on an OSD, from an earlier `flushmark ceph osds`.

use ceph::osd_bench::{ComparedWith, DepthOne};
use measurement::{RunDocument, TestResult};
use store::Filter;

use crate::args::ceph::TellBenchArgs;
use crate::args::store::StoreArgs;
use crate::commands::ceph::osds::SUITE;
use crate::exit::WrongUse;
use crate::keeping::Reading;
use crate::selection;

/// Kept runs that are looked at for one of this cluster, from the newest.
const RUNS_MAX: u32 = 20;

/// A result of `flushmark ceph osds`.
pub struct Earlier {
    pub origin: ComparedWith,
    results: Vec<TestResult>,
}

/// The result that the user names, or else the newest kept one of this cluster.
pub fn find(args: &TellBenchArgs, cluster: Option<&str>) -> anyhow::Result<Option<Earlier>> {
    match &args.compare {
        Some(word) => named(word, &args.store, cluster).map(Some),
        None => Ok(newest(&args.store, cluster)),
    }
}

fn named(word: &str, store: &StoreArgs, cluster: Option<&str>) -> anyhow::Result<Earlier> {
    let selected = selection::select(&[word.to_owned()], store)?;
    let documents = selected.into_iter().flat_map(|selected| selected.documents);
    let Ok([document]) = <[RunDocument; 1]>::try_from(documents.collect::<Vec<_>>()) else {
        return Err(WrongUse(format!("--compare {word}: expected a single result")).into());
    };
    let other = document.target.ceph.as_ref().map(|ceph| ceph.cluster.clone());
    match Earlier::of_document(word.to_owned(), document, cluster) {
        Some(earlier) => Ok(earlier),
        None => Err(WrongUse(match other {
            Some(other) if Some(other.as_str()) != cluster => format!(
                "--compare {word}: it is a result of the cluster {other}, this one is {}",
                cluster.unwrap_or("not known")
            ),
            _ => format!("--compare {word}: expected a result of `flushmark ceph osds`"),
        })
        .into()),
    }
}

/// Without a store, there is nothing to compare with, which is not an error.
fn newest(store: &StoreArgs, cluster: Option<&str>) -> Option<Earlier> {
    let Ok(Reading::Open(mut store)) = Reading::of(store) else { return None };
    let suite = Some(SUITE.to_owned());
    let runs = store.ids(&Filter { suite, limit: Some(RUNS_MAX), ..Filter::default() }).ok()?;
    runs.into_iter().find_map(|run| {
        let document = store.get(run).ok()?.document;
        Earlier::of_document(format!("run {run}"), document, cluster)
    })
}

impl Earlier {
    /// `None` if the document is about something else.
    fn of_document(
        result: String,
        document: RunDocument,
        cluster: Option<&str>,
    ) -> Option<Earlier> {
        let ceph = document.target.ceph.filter(|ceph| Some(ceph.cluster.as_str()) == cluster)?;
        let has_osds = document.results.iter().any(|result| result.osd.is_some());
        has_osds.then_some(Earlier {
            origin: ComparedWith {
                result,
                started_at: document.started_at,
                pool: ceph.pool,
                replicas: ceph.replicas,
            },
            results: document.results,
        })
    }

    pub fn of(&self, osd: u32) -> Option<DepthOne> {
        let is_of = |result: &&TestResult| result.osd.as_ref().is_some_and(|one| one.id == osd);
        self.results.iter().filter(is_of).find_map(|result| {
            let commit_us = result.commit_us.filter(|_| result.workload.depth == 1)?.mean;
            Some(DepthOne { commits_per_s: result.commits_per_s?, commit_us })
        })
    }
}

#[cfg(test)]
mod tests {
    use measurement::{CephRecord, OsdRecord, TargetKind, TargetRecord};
    use samples::machine::write;
    use workload::SyncMethod;

    use super::*;

    /// A result about osd.2 of the cluster `mine`.
    fn document() -> RunDocument {
        let osd = OsdRecord::new(2, None, None);
        let result =
            TestResult { osd: Some(osd), ..write(SyncMethod::ODsync, 800.0, 0.0).result() };
        let ceph = CephRecord {
            cluster: "mine".to_owned(),
            pool: "bench".to_owned(),
            image: None,
            size_bytes: 1 << 30,
            object_bytes: 4 << 20,
            replicas: Some(3),
            cached: false,
        };
        let target = TargetRecord::new("rados:bench", TargetKind::Objects).with_ceph(ceph);
        RunDocument { target, ..samples::document(vec![result]) }
    }

    #[test]
    fn a_result_of_another_cluster_or_of_something_else_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let refused = |document: &RunDocument| {
            let file = place.path().join("result.json");
            std::fs::write(&file, report::json(document)).unwrap();
            let word = file.display().to_string();
            let error = named(&word, &StoreArgs::default(), Some("other")).err().unwrap();
            error.to_string().replace(&word, "FILE")
        };
        insta::assert_snapshot!(refused(&document()), @"--compare FILE: it is a result of the cluster mine, this one is other");
        insta::assert_snapshot!(refused(&samples::document(Vec::new())), @"--compare FILE: expected a result of `flushmark ceph osds`");
    }

    #[test]
    fn each_osd_has_its_own_figures() {
        let earlier = Earlier::of_document("1".to_owned(), document(), Some("mine")).unwrap();
        assert_eq!(earlier.origin.replicas, Some(3));
        assert!(earlier.of(2).unwrap().commit_us > 700.0);
        assert_eq!(earlier.of(1), None);
    }
}
