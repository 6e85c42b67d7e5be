//! The samples of a result document, missing or contradictory measurements, and the choice of the
//! model to start from.

use std::time::Duration;

use catalogue::model::{Filesystem, Fua, Model, Parameters};
use catalogue::{Class, models};
use drive::{Place, Transport};
use measurement::{Ended, RunDocument, TargetKind, TestResult, WorkloadRecord};
use workload::{
    Area, BlockBytes, Depth, EngineChoice, Jobs, Layout, Limit, Pattern, Sharing, Streams,
    Submission, SyncMethod, SyncTiming, Test, WarmUp, Work, Workload,
};

use super::misfit;
use crate::sample::{Figure, NoComparison, Sample};

/// Maximum virtual time of a sample's test: effects that take longer do not show in a short
/// measurement anyway.
const TIME_MAX_S: f64 = 5.0;
/// Approximate number of operations simulated per sample: a fit runs each test hundreds of times.
const OPS_MAX: f64 = 30_000.0;
/// Two measurements of one test that differ by a larger factor cannot be of the same drive.
const REPEAT_RATIO_MAX: f64 = 2.0;
/// The factor by which a commit may seem faster, by chance, than the same write without a sync.
const COMMIT_GAIN_MAX: f64 = 1.25;
/// At depth 1, rate times latency is one second, minus the short time between operations.
const SECOND_US: std::ops::RangeInclusive<f64> = 0.4e6..=1.1e6;
/// Up to this size, a block's latency is dominated by the cost per operation; above, by its bytes.
const SMALL_BLOCK_BYTES_MAX: u64 = 16 << 10;

/// The reason why no model can be derived from a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unfit {
    #[error("the numbers of a smoke run are meaningless; run the suite without --smoke")]
    Smoke,
    #[error("the target `{0}` is not a drive")]
    NoDrive(String),
    #[error(
        "missing {what}, which is needed to determine {needed_for}; run `flushmark check TARGET \
         --output RESULT.json` to measure everything that is needed"
    )]
    Missing {
        /// The missing measurement.
        what: &'static str,
        /// The quantity that it determines.
        needed_for: &'static str,
    },
    #[error("{0}; measure again while nothing else uses the drive")]
    Contradiction(String),
    #[error("no model runs these tests: {0}")]
    NotRun(NoComparison),
}

/// The samples of a document, except those without information about the drive: buffered,
/// rate-limited, ended early.
///
/// # Errors
/// Fails if a required measurement is missing or two contradict each other.
pub fn samples(document: &RunDocument) -> Result<Vec<Sample>, Unfit> {
    if document.smoke {
        return Err(Unfit::Smoke);
    }
    if document.target.kind == TargetKind::Null {
        return Err(Unfit::NoDrive(document.target.given.clone()));
    }
    let of_drive: Vec<&TestResult> =
        document.results.iter().filter(|result| is_of_drive(result)).collect();
    let small = |result: &&&TestResult| {
        let WorkloadRecord { depth, jobs, block_bytes, .. } = result.workload;
        depth == 1 && jobs == 1 && block_bytes <= SMALL_BLOCK_BYTES_MAX
    };
    let writes = |result: &&&TestResult| result.workload.pattern.is_some_and(Pattern::writes);
    let missing = |what, needed_for| Unfit::Missing { what, needed_for };
    let unsynced = |result: &&&TestResult| result.workload.sync == Some(SyncMethod::None);
    let by_call =
        |result: &&&TestResult| result.workload.sync.is_some_and(|sync| sync.call().is_some());
    of_drive.iter().filter(small).filter(writes).find(unsynced).ok_or(missing(
        "the measurement of a small write at depth 1 without a sync",
        "the cost of a write without its flush",
    ))?;
    of_drive.iter().filter(small).filter(writes).find(by_call).ok_or(missing(
        "the measurement of a small write at depth 1 with fsync or fdatasync",
        "the cost of a flush",
    ))?;
    of_drive.iter().filter(small).find(|result| !writes(result)).ok_or(missing(
        "the measurement of a small read at depth 1",
        "the read latency of the medium",
    ))?;
    if let Some(contradiction) = contradiction(&of_drive) {
        return Err(Unfit::Contradiction(contradiction));
    }
    Ok(of_drive.into_iter().filter_map(sample).collect())
}

fn is_of_drive(result: &TestResult) -> bool {
    let record = &result.workload;
    record.pattern.is_some()
        && record.direct
        && record.rate.is_none()
        && record.priorities.is_default()
        && record.think.is_none()
        && record.flow.is_none()
        && matches!(record.layout, None | Some(Layout::Overwrite))
        && record.sharing == Sharing::None
        && record.job_files.is_none()
        && (record.offset_bytes, record.end_fsync) == (0, false)
        && result.ended == Ended::Limit
        && result.iops > 0.0
}

/// A contradiction between results, as a sentence without a full stop.
fn contradiction(results: &[&TestResult]) -> Option<String> {
    for result in results {
        let WorkloadRecord { depth, jobs, sync_every, .. } = result.workload;
        let turn = result.commit_us.or(result.write_us).or(result.read_us);
        if let (1, 1, 1, Some(turn)) = (depth, jobs, sync_every, turn)
            && !SECOND_US.contains(&(turn.mean * result.iops))
        {
            return Some(format!(
                "`{}` reports {:.0} operations per second of {:.1} µs each, which is impossible \
                 for one at a time",
                result.test, result.iops, turn.mean
            ));
        }
    }
    for (index, one) in results.iter().enumerate() {
        for other in &results[index + 1..] {
            if one.workload == other.workload && ratio(one.iops, other.iops) > REPEAT_RATIO_MAX {
                return Some(format!(
                    "`{}` and `{}` are the same test with contradictory results: {:.0} and {:.0} \
                     operations per second",
                    one.test, other.test, one.iops, other.iops
                ));
            }
        }
    }
    let plain =
        |record: &WorkloadRecord| WorkloadRecord { sync: Some(SyncMethod::None), ..record.clone() };
    for synced in
        results.iter().filter(|result| result.workload.sync.is_some_and(SyncMethod::is_durable))
    {
        for unsynced in results.iter().filter(|result| result.workload == plain(&synced.workload)) {
            if synced.iops > unsynced.iops * COMMIT_GAIN_MAX {
                return Some(format!(
                    "`{}` is faster than `{}`, the same test without durability ({:.0} and {:.0} \
                     operations per second), which is a contradiction",
                    synced.test, unsynced.test, synced.iops, unsynced.iops
                ));
            }
        }
    }
    None
}

fn ratio(one: f64, other: f64) -> f64 {
    (one / other).max(other / one)
}

/// `None` for a test that no plan can express (the document was edited by hand) and for tests that
/// ran concurrently with others.
fn sample(result: &TestResult) -> Option<Sample> {
    let record = &result.workload;
    if !record.beside.is_empty() {
        return None;
    }
    let mut workload = Workload::new(record.pattern?, BlockBytes::new(record.block_bytes).ok()?);
    workload.read_percent = record.read_percent.unwrap_or(workload.read_percent);
    workload.depth = Depth::new(record.depth.into()).ok()?;
    workload.jobs = Jobs::new(record.jobs.into()).ok()?;
    workload.sync = record.sync?;
    // With a sync flag, an asynchronous write differs from a blocking one.
    workload.engine = match result.comparable_workload().submission {
        Some(Submission::Asynchronous) => EngineChoice::Libaio,
        Some(Submission::Blocking) => EngineChoice::Psync,
        None => EngineChoice::Auto,
    };
    workload.sync_every = record.sync_every.max(1);
    workload.sync_timing = match (record.sync_queued, record.drain) {
        (true, _) => SyncTiming::Queued,
        (false, true) => SyncTiming::Drained,
        (false, false) => SyncTiming::Undrained,
    };
    workload.order = record.order.clone();
    workload.streams = Streams::new(record.streams.into()).ok()?;
    workload.size = Area::Bytes(record.size_bytes);
    workload.seed = record.seed;
    let time_s = result.elapsed_s.min(TIME_MAX_S).min(OPS_MAX / result.iops);
    workload.limit = Limit::Time(Duration::try_from_secs_f64(time_s.max(0.02)).ok()?);
    workload.warm_up = WarmUp(Duration::from_millis(10));
    let test = Test {
        write_cache: record.write_cache,
        ..Test::alone(result.test.clone(), Work::Blocks(workload))
    };
    Some(Sample { test, figure: Figure::Iops(result.iops), span: (result.iops, result.iops) })
}

/// The model to start from: the closest of those with the same kind of attachment, on the same kind
/// of filesystem and of the same size.
pub fn start(document: &RunDocument, samples: &[Sample]) -> Result<Model, Unfit> {
    let place = document.drive.as_ref();
    let transports: Vec<Transport> = place
        .and_then(Place::block_device)
        .map(|device| device.drives().iter().map(|drive| drive.transport).collect())
        .unwrap_or_default();
    let mut nearest: Result<(f64, Model), Unfit> = Err(Unfit::NotRun(NoComparison::Skipped {
        test: document.suite.clone(),
        because: "no model has this kind of attachment".to_owned(),
    }));
    let fitting = |model: &&Model| {
        // A single drive is not an array.
        let is_array = matches!(model.drive, Parameters::Array(_));
        is_array == (transports.len() > 1)
            && transports.iter().all(|transport| is_attached_by(model.class, *transport))
    };
    let candidates: Vec<&Model> = models().iter().filter(fitting).collect();
    let candidates = if candidates.is_empty() { models().iter().collect() } else { candidates };
    for candidate in candidates {
        let model = alike(candidate, place);
        match (misfit(&model, samples), &nearest) {
            (Ok(misfit), Ok((least, _))) if misfit >= *least => {}
            (Ok(misfit), _) => nearest = Ok((misfit, model)),
            (Err(error), Err(_)) => nearest = Err(Unfit::NotRun(error)),
            (Err(_), Ok(_)) => {}
        }
    }
    nearest.map(|(_, model)| model)
}

/// Puts a model on the filesystem of a place, with its size, and with or without FUA as on its
/// drive.
pub fn alike(model: &Model, place: Option<&Place>) -> Model {
    let mut model = model.clone();
    let Some(place) = place else { return model };
    model.host.filesystem = if place.mount.is_some() { Filesystem::Ext4 } else { Filesystem::None };
    let no_fua = place
        .block_device()
        .is_some_and(|device| device.drives().iter().any(|drive| drive.queue.fua == Some(false)));
    match &mut model.drive {
        Parameters::SolidState(drive) if no_fua => drive.fua = Fua::Absent,
        Parameters::Volume(drive) => drive.fua = !no_fua,
        _ => {}
    }
    let size_bytes = place.block_device().map(drive::BlockDevice::drives).and_then(|drives| {
        let [drive] = drives.as_slice() else { return None };
        // The size of a partition differs from the drive's.
        drive.size_bytes.filter(|_| drive.partition.is_none())
    });
    if let Some(size_bytes) = size_bytes {
        model.drive.set_capacity_gb((size_bytes as f64 / 1e9).round());
    }
    model
}

const fn is_attached_by(class: Class, transport: Transport) -> bool {
    match transport {
        Transport::Nvme | Transport::NvmeFabrics => {
            matches!(
                class,
                Class::EnterpriseNvme
                    | Class::EnterprisePcie
                    | Class::ConsumerNvme
                    | Class::ConsumerPcie
                    | Class::CloudLocal
                    | Class::CloudVolume
            )
        }
        Transport::Sata | Transport::Sas | Transport::Scsi => {
            matches!(
                class,
                Class::EnterpriseSas
                    | Class::EnterpriseSata
                    | Class::ConsumerSata
                    | Class::ConsumerPcie
                    | Class::Disk
            )
        }
        Transport::Usb | Transport::Mmc => {
            matches!(
                class,
                Class::UsbStick | Class::ConsumerSata | Class::ConsumerNvme | Class::Disk
            )
        }
        // Third-party software can have any drive under it.
        _ => true,
    }
}
