//! On a raw block device a synchronous `O_DSYNC` write flushes the whole cache as well.

use measurement::{Confidence, Evidence, Finding};
use workload::number::latency;
use workload::{Submission, SyncMethod};

use crate::case::Case;
use crate::flush_path::FlushPath;
use crate::wording::{flushes, median, sync_name};

/// A flush for nearly each write, where FUA takes care of the data itself. Others' flushes only add to it.
const FLUSHED_LEAST: f64 = 0.9;
/// Without FUA the kernel emulates it with a flush of its own, so that there are two.
const FLUSHED_TWICE_LEAST: f64 = 1.8;

/// `blkdev_write_iter` in block/fops.c: the direct write carries FUA because of `O_DSYNC`, and when it completes at once
/// `generic_write_sync` follows, which is a FLUSH on a block device. An asynchronous write has returned `-EIOCBQUEUED` by then, and is
/// spared the FLUSH.
pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    if !case.is_raw_device() || FlushPath::of(case).not_durable_because().is_some() {
        return None;
    }
    let fua = case.drives().iter().any(|drive| drive.queue.fua == Some(true));
    let least = if fua { FLUSHED_LEAST } else { FLUSHED_TWICE_LEAST };
    let methods = [SyncMethod::ODsync, SyncMethod::OSync, SyncMethod::RwfDsync];
    let durable = methods
        .into_iter()
        .filter_map(|sync| case.small_write_submitted(sync, Submission::Blocking))
        .find(|result| result.flushes_per_commit() >= Some(least))?;
    let mut evidence = vec![median(durable), Evidence::fact("engine", durable.engine.as_str())];
    evidence.extend(flushes(durable));
    evidence.extend(case.flushing_commit().map(median));
    let sent = if fua { "a FUA write and then a FLUSH" } else { "a write and two FLUSHes, as the drive has no FUA" };
    Some(Finding {
        id: "o-dsync-flushes-too".to_owned(),
        title: format!(
            "On the raw device each plain {} write is {sent} ({}): the kernel flushes once more than durability needs.",
            durable.workload.sync.map_or("O_DSYNC", sync_name),
            latency(durable.p50_us())
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice: "Software that writes through io_uring or libaio is spared the FLUSH: measure that with `--engine io_uring` before comparing methods."
            .to_owned(),
    })
}
