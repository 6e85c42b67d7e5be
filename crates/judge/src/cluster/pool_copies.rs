//! Pools whose writes are acknowledged with too few copies.

use ceph::{ClusterFacts, PoolFacts, PoolKind};
use measurement::{Confidence, Evidence, Finding};

use super::words::{commands, list, verb};
use crate::wording::shell_word;

/// Pools for measurements keep one copy on purpose.
const OF_FLUSHMARK: &str = "flushmark-";

pub(super) fn too_few(facts: &ClusterFacts) -> Option<Finding> {
    let is_thin = |pool: &&PoolFacts| {
        pool.kind == PoolKind::Replicated
            && (pool.size.is_some_and(|size| size < 3) || pool.min_size == Some(1))
            && !pool.name.starts_with(OF_FLUSHMARK)
    };
    let pools: Vec<&PoolFacts> = facts.pools.iter().filter(is_thin).collect();
    let least = pools.iter().filter_map(|pool| pool.size).min()?;
    let risk = if least == 1 {
        "the failure of one drive loses data"
    } else if pools.iter().any(|pool| pool.min_size == Some(1)) {
        "a write may be acknowledged with a single copy, and the failure of that drive loses it"
    } else {
        "after one failure a single copy is left, and writes stop"
    };
    let (does, effort) = if least < 3 {
        let more = "It takes a third failure domain and the space for another copy, and the \
                    cluster copies data until it is done.";
        (verb(pools.len(), "keeps", "keep"), more)
    } else {
        (verb(pools.len(), "accepts writes with", "accept writes with"), "No data are moved.")
    };
    let changes = pools.iter().flat_map(|pool| {
        let name = shell_word(&pool.name);
        let size = pool.size.is_some_and(|size| size < 3);
        let size = size.then(|| format!("ceph osd pool set {name} size 3"));
        let min_size = pool.min_size.is_some_and(|min_size| min_size < 2);
        size.into_iter().chain(min_size.then(|| format!("ceph osd pool set {name} min_size 2")))
    });
    Some(Finding {
        id: "ceph-pool-copies".to_owned(),
        title: format!(
            "{} {} {does} too few copies: {risk}.",
            verb(pools.len(), "Pool", "Pools"),
            names(&pools)
        ),
        evidence: pools.iter().map(|pool| sizes(pool)).collect(),
        confidence: Confidence::High,
        doubt: None,
        advice: format!("Unless the data can be made again: {}. {effort}", commands(changes)),
    })
}

pub(super) fn chunks_without_reserve(facts: &ClusterFacts) -> Option<Finding> {
    let is_thin = |pool: &&PoolFacts| match &pool.kind {
        PoolKind::Erasure { chunks: Some((data, _)), .. } => {
            pool.min_size.is_some_and(|min_size| min_size <= u64::from(*data))
        }
        _ => false,
    };
    let pools: Vec<&PoolFacts> = facts.pools.iter().filter(is_thin).collect();
    let changes = pools.iter().filter_map(|pool| {
        let least = pool.min_size? + 1;
        Some(format!("ceph osd pool set {} min_size {least}", shell_word(&pool.name)))
    });
    let has_one_coding_chunk =
        |pool: &&PoolFacts| matches!(&pool.kind, PoolKind::Erasure { chunks: Some((_, 1)), .. });
    let price = if pools.iter().any(has_one_coding_chunk) {
        " A pool with one coding chunk then stops at the first failure; a new pool with two or more \
         of them avoids both."
    } else {
        ""
    };
    (!pools.is_empty()).then(|| Finding {
        id: "ceph-pool-chunks".to_owned(),
        title: format!(
            "{} {} {} writes with no chunk to spare: the next failure loses what was written.",
            verb(pools.len(), "Pool", "Pools"),
            names(&pools),
            verb(pools.len(), "acknowledges", "acknowledge")
        ),
        evidence: pools.iter().map(|pool| sizes(pool)).collect(),
        confidence: Confidence::High,
        doubt: None,
        advice: format!("Keep one chunk in reserve: {}.{price}", commands(changes)),
    })
}

fn names(pools: &[&PoolFacts]) -> String {
    list(&pools.iter().map(|pool| pool.name.clone()).collect::<Vec<_>>())
}

fn sizes(pool: &PoolFacts) -> Evidence {
    let number = |number: Option<u64>| number.map_or("unknown".to_owned(), |n| n.to_string());
    let sizes = format!("size {}, min_size {}", number(pool.size), number(pool.min_size));
    Evidence::fact(pool.name.as_str(), sizes)
}
