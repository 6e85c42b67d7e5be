//! Flushes that are missing, and flushes that nobody needs.

use drive::WriteCache;
use measurement::{Confidence, Evidence, Finding, Stage};

use super::Traced;

/// The kernel takes the cache for volatile, yet a commit ends without a flush or FUA.
pub(super) fn no_flush(traced: &Traced<'_>) -> Option<Finding> {
    let reached = &traced.anatomy.reached;
    let all_volatile = all_with(traced, WriteCache::WriteBack);
    let writes = reached.data_writes + reached.journal_writes;
    let is_missing = all_volatile
        && writes as f64 >= traced.count()
        && reached.flushes() == 0
        && reached.fua_sent == 0;
    is_missing.then(|| Finding {
        id: "traced-no-flush".to_owned(),
        title: format!(
            "{} has a volatile cache, but {} sent it neither a flush nor FUA: a power cut loses \
             what was committed.",
            traced.devices(),
            traced.words()
        ),
        evidence: vec![
            Evidence::number("writes per commit", traced.each(writes), ""),
            Evidence::number("flushes per commit", 0.0, ""),
            Evidence::fact("cache, as the kernel sees it", "write back"),
        ],
        confidence: Confidence::High,
        doubt: None,
        advice: "Look for the mount options `nobarrier` and `barrier=0`, and for layers between \
                 filesystem and drive that drop flushes: `flushmark host` names them."
            .to_owned(),
    })
}

/// Flushes reach a drive that has nothing to flush.
pub(super) fn needless(traced: &Traced<'_>) -> Option<Finding> {
    let all_through = all_with(traced, WriteCache::WriteThrough);
    let flushes = traced.anatomy.reached.flushes();
    let waits = traced.anatomy.mean_us(Stage::Flush) > 0.0;
    (all_through && flushes > 0 && waits).then(|| Finding {
        id: "traced-needless-flush".to_owned(),
        title: format!("{} has no volatile cache, and was flushed all the same.", traced.devices()),
        evidence: vec![
            Evidence::number("flushes per commit", traced.each(flushes), ""),
            Evidence::number("flush, mean per commit", traced.anatomy.mean_us(Stage::Flush), "us"),
        ],
        confidence: Confidence::Medium,
        doubt: Some("The setting may have been changed during the trace.".to_owned()),
        advice: "The kernel stops flushes to a write-through cache by itself. Check with \
                 `flushmark drives` what drive and kernel say about it."
            .to_owned(),
    })
}

/// True if the kernel takes the caches of all drives for this kind.
fn all_with(traced: &Traced<'_>, cache: WriteCache) -> bool {
    !traced.drives.is_empty()
        && traced.drives.iter().all(|drive| drive.queue.write_cache == Some(cache))
}
