//! On a raw block device, a synchronous `O_DSYNC` write also flushes the whole cache.

use measurement::{Confidence, Evidence, Finding, WorkloadRecord};
use workload::number::latency;
use workload::{Submission, SyncMethod};

use crate::case::Case;
use crate::wording::{flushes, measure_write_cache, median, sync_name};

/// Nearly one flush per write although FUA covers the data. Flushes of other programs only add to
/// it.
const FLUSHED_MIN: f64 = 0.9;
/// Without FUA the kernel emulates it with a flush, so there are two.
const FLUSHED_TWICE_MIN: f64 = 1.8;

/// `blkdev_write_iter` in block/fops.c: the direct write carries FUA because of `O_DSYNC`, and if
/// it completes synchronously, `generic_write_sync` follows, which is a FLUSH on a block device. An
/// asynchronous write has returned `-EIOCBQUEUED` by then and avoids the FLUSH.
pub(super) fn judge(case: &Case<'_>) -> Option<Finding> {
    if !case.is_raw_device() {
        return None;
    }
    let fua = case.drives().iter().any(|drive| drive.queue.fua == Some(true));
    let least = if fua { FLUSHED_MIN } else { FLUSHED_TWICE_MIN };
    let methods = [SyncMethod::ODsync, SyncMethod::OSync, SyncMethod::RwfDsync];
    let durable = methods
        .into_iter()
        .filter_map(|sync| case.small_write_submitted(sync, Submission::Blocking))
        .find(|result| result.flushes_per_commit() >= Some(least))?;
    let mut evidence = vec![median(durable), Evidence::fact("engine", durable.engine.as_str())];
    evidence.extend(flushes(durable));
    evidence.extend(case.flushing_commit().map(median));
    let sent = if fua {
        "a FUA write and a FLUSH"
    } else {
        "a write and two FLUSHes because the drive has no FUA"
    };
    let wanted = WorkloadRecord {
        submission: Some(Submission::Asynchronous),
        ..durable.comparable_workload()
    };
    let compare = match case.results.iter().find(|other| other.comparable_workload() == wanted) {
        Some(other) => format!("the same write takes {} that way.", latency(other.p50_us())),
        None if case.is_modelled() => format!("{} measures both.", measure_write_cache(case)),
        None => "measure them with `--engine io_uring` before comparing methods.".to_owned(),
    };
    let advice = format!("Writes through io_uring or libaio avoid the FLUSH: {compare}");
    Some(Finding {
        id: "o-dsync-flushes-too".to_owned(),
        title: format!(
            "Each blocking {} write to the raw device sends {sent} ({}): one flush more than \
             durability needs.",
            durable.workload.sync.map_or("O_DSYNC", sync_name),
            latency(durable.p50_us())
        ),
        evidence,
        confidence: Confidence::High,
        doubt: None,
        advice,
    })
}
