//! A cache that makes the write fast and the flush slow.

use drive::{Transport, WriteCache};
use measurement::{Confidence, Evidence, Finding, Stage};

use super::Traced;
use crate::wording::switch_cache;

/// From this share of a commit on, the flush is its cost.
const MOST_OF_IT: f64 = 0.5;
/// The flush takes at least this many times as long as the write.
const TIMES: f64 = 4.0;

pub(super) fn judge(traced: &Traced<'_>) -> Option<Finding> {
    let flush = traced.anatomy.mean_us(Stage::Flush);
    let write = traced.anatomy.mean_us(Stage::DataWrite) + traced.anatomy.mean_us(Stage::LogWrite);
    let is_cost = flush > traced.anatomy.commit_us() * MOST_OF_IT && flush > write * TIMES;
    (is_cost && write > 0.0).then(|| {
        let drive = traced.drives.first();
        let is_switchable = drive.is_some_and(|one| {
            one.queue.write_cache == Some(WriteCache::WriteBack)
                && matches!(one.transport, Transport::Sata | Transport::Sas | Transport::Nvme)
        });
        let path =
            drive.map_or_else(|| "/dev/NAME".to_owned(), |one| one.path.display().to_string());
        let switch = if is_switchable {
            format!(
                "With the cache off, a commit needs no flush, and its writes take as long as the \
                 medium does: on drives with power-loss protection that is often faster. Measure \
                 it: {}, then `flushmark check`.",
                switch_cache("off", &path)
            )
        } else {
            "`flushmark check` shows what drives with power-loss protection do in comparison."
                .to_owned()
        };
        Finding {
            id: "traced-slow-flush".to_owned(),
            title: format!(
                "The write cache of {} makes the write fast and the flush slow: {:.0} % of {} is \
                 the flush.",
                traced.devices(),
                flush / traced.anatomy.commit_us() * 100.0,
                traced.words()
            ),
            evidence: vec![
                Evidence::number("writes, mean per commit", write, "us"),
                Evidence::number("flush, mean per commit", flush, "us"),
            ],
            confidence: Confidence::High,
            doubt: None,
            advice: switch,
        }
    })
}
