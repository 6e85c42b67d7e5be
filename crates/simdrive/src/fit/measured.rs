//! The samples of a result document, what is missing or contradicts in them, and which model to start from.

use std::time::Duration;

use catalogue::model::{Filesystem, Fua, Model, Parameters};
use catalogue::{Class, models};
use drive::{Place, Transport};
use measurement::{Ended, RunDocument, TargetKind, TestResult, WorkloadRecord};
use workload::{
    Area, BlockBytes, Depth, EngineChoice, Jobs, Layout, Limit, Pattern, Sharing, Streams, Submission, SyncMethod,
    SyncTiming, Test, WarmUp, Work, Workload,
};

use super::misfit;
use crate::sample::{Figure, NoComparison, Sample};

/// Virtual time of a sample's test, at most: what takes longer to show is not in a short measurement anyway.
const TIME_MOST_S: f64 = 5.0;
/// Operations that a sample's test simulates, about: a fit runs it hundreds of times.
const OPS_MOST: f64 = 30_000.0;
/// Two measurements of one test that differ by more are no measurements of one drive.
const REPEATED_MOST: f64 = 2.0;
/// How much faster than the same write without a sync a commit may seem by chance.
const COMMIT_GAIN_MOST: f64 = 1.25;
/// Rate times latency at depth 1 is one second; turning from one operation to the next takes the rest, and that is little.
const SECOND_US: std::ops::RangeInclusive<f64> = 0.4e6..=1.1e6;
/// Blocks up to this size tell what an operation costs; above, their bytes do.
const SMALL_MOST_BYTES: u64 = 16 << 10;

/// Why no model can be made of a result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unfit {
    /// A smoke run.
    #[error("this is the result of a smoke run, whose numbers mean nothing; run the suite without --smoke")]
    Smoke,
    /// No drive was measured.
    #[error("the target was `{0}`, which is no drive")]
    NoDrive(String),
    /// A number that a model cannot do without.
    #[error(
        "{what} is missing, without which nobody can tell {needed_for}; `flushmark check TARGET --output RESULT.json` measures all that is needed"
    )]
    Missing {
        /// The number.
        what: &'static str,
        /// What it tells.
        needed_for: &'static str,
    },
    /// Numbers that do not go together.
    #[error("{0}; measure again while nothing else uses the drive")]
    Contradiction(String),
    /// No model can run the tests.
    #[error("no model runs these tests: {0}")]
    NotRun(NoComparison),
}

/// The samples of a document, without those that say nothing about the drive: buffered, at a fixed rate, ended early.
///
/// # Errors
/// When a number is missing that a model needs, or two contradict.
pub fn samples(document: &RunDocument) -> Result<Vec<Sample>, Unfit> {
    if document.smoke {
        return Err(Unfit::Smoke);
    }
    if document.target.kind == TargetKind::Null {
        return Err(Unfit::NoDrive(document.target.given.clone()));
    }
    let of_drive: Vec<&TestResult> = document.results.iter().filter(|result| is_of_drive(result)).collect();
    let small = |result: &&&TestResult| {
        let WorkloadRecord { depth, jobs, block_bytes, .. } = result.workload;
        depth == 1 && jobs == 1 && block_bytes <= SMALL_MOST_BYTES
    };
    let writes = |result: &&&TestResult| result.workload.pattern.is_some_and(Pattern::writes);
    let missing = |what, needed_for| Unfit::Missing { what, needed_for };
    let unsynced = |result: &&&TestResult| result.workload.sync == Some(SyncMethod::None);
    let by_call = |result: &&&TestResult| result.workload.sync.is_some_and(|sync| sync.call().is_some());
    of_drive.iter().filter(small).filter(writes).find(unsynced).ok_or(missing(
        "a small write at depth 1 that is not made durable",
        "what the write costs from what the flush costs",
    ))?;
    of_drive
        .iter()
        .filter(small)
        .filter(writes)
        .find(by_call)
        .ok_or(missing("a small write at depth 1 with fsync or fdatasync", "what a flush costs"))?;
    of_drive
        .iter()
        .filter(small)
        .find(|result| !writes(result))
        .ok_or(missing("a small read at depth 1", "how fast the medium is read"))?;
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
        && matches!(record.layout, None | Some(Layout::Overwrite))
        && record.sharing == Sharing::None
        && (record.offset_bytes, record.end_fsync) == (0, false)
        && result.ended == Ended::Limit
        && result.iops > 0.0
}

/// What does not go together in results, as a sentence without its end.
fn contradiction(results: &[&TestResult]) -> Option<String> {
    for result in results {
        let WorkloadRecord { depth, jobs, sync_every, .. } = result.workload;
        let turn = result.commit_us.or(result.write_us).or(result.read_us);
        if let (1, 1, 1, Some(turn)) = (depth, jobs, sync_every, turn)
            && !SECOND_US.contains(&(turn.mean * result.iops))
        {
            return Some(format!(
                "`{}` says {:.0} operations a second of {:.1} µs each, which one at a time cannot be",
                result.test, result.iops, turn.mean
            ));
        }
    }
    for (index, one) in results.iter().enumerate() {
        for other in &results[index + 1..] {
            if one.workload == other.workload && ratio(one.iops, other.iops) > REPEATED_MOST {
                return Some(format!(
                    "`{}` and `{}` are the same test, and contradict: {:.0} and {:.0} operations a second",
                    one.test, other.test, one.iops, other.iops
                ));
            }
        }
    }
    let plain = |record: &WorkloadRecord| WorkloadRecord { sync: Some(SyncMethod::None), ..record.clone() };
    for synced in results.iter().filter(|result| result.workload.sync.is_some_and(SyncMethod::is_durable)) {
        for unsynced in results.iter().filter(|result| result.workload == plain(&synced.workload)) {
            if synced.iops > unsynced.iops * COMMIT_GAIN_MOST {
                return Some(format!(
                    "`{}` is faster than `{}`, the same without durability ({:.0} and {:.0} operations a second): they contradict",
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

/// `None` for what a plan could not have asked for, since the document was written by hand, and for what ran beside other tests.
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
    // An asynchronous write with a flag is not what a blocking one is.
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
    let time_s = result.elapsed_s.min(TIME_MOST_S).min(OPS_MOST / result.iops);
    workload.limit = Limit::Time(Duration::try_from_secs_f64(time_s.max(0.02)).ok()?);
    workload.warm_up = WarmUp(Duration::from_millis(10));
    let test = Test { write_cache: record.write_cache, ..Test::alone(result.test.clone(), Work::Blocks(workload)) };
    Some(Sample { test, figure: Figure::Iops(result.iops), span: (result.iops, result.iops) })
}

/// The model to start from: of those that are attached in the same way the one that comes nearest, on the same kind of filesystem and of the same size.
///
/// # Errors
/// When none can run the samples' tests.
pub fn start(document: &RunDocument, samples: &[Sample]) -> Result<Model, Unfit> {
    let place = document.drive.as_ref();
    let transports: Vec<Transport> = place
        .and_then(Place::block_device)
        .map(|device| device.drives().iter().map(|drive| drive.transport).collect())
        .unwrap_or_default();
    let mut nearest: Result<(f64, Model), Unfit> = Err(Unfit::NotRun(NoComparison::Skipped {
        test: document.suite.clone(),
        because: "there is no model of a drive that is attached in this way".to_owned(),
    }));
    let fitting = |model: &&Model| {
        // One drive is no array.
        let is_array = matches!(model.drive, Parameters::Array(_));
        is_array == (transports.len() > 1) && transports.iter().all(|transport| is_attached_by(model.class, *transport))
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

/// A model on the filesystem of a place, of its size and with or without FUA as its drive.
pub fn alike(model: &Model, place: Option<&Place>) -> Model {
    let mut model = model.clone();
    let Some(place) = place else { return model };
    model.host.filesystem = if place.mount.is_some() { Filesystem::Ext4 } else { Filesystem::None };
    let no_fua =
        place.block_device().is_some_and(|device| device.drives().iter().any(|drive| drive.queue.fua == Some(false)));
    match &mut model.drive {
        Parameters::SolidState(drive) if no_fua => drive.fua = Fua::Absent,
        Parameters::Volume(drive) => drive.fua = !no_fua,
        _ => {}
    }
    let size_bytes = place.block_device().map(drive::BlockDevice::drives).and_then(|drives| {
        let [drive] = drives.as_slice() else { return None };
        // Of a partition the size is its own.
        drive.size_bytes.filter(|_| drive.partition.is_none())
    });
    if let Some(size_bytes) = size_bytes {
        let gb = (size_bytes as f64 / 1e9).round();
        match &mut model.drive {
            Parameters::SolidState(drive) => drive.capacity_gb = gb,
            Parameters::Disk(drive) => drive.capacity_gb = gb,
            Parameters::Stick(drive) => drive.capacity_gb = gb,
            Parameters::Volume(drive) => drive.capacity_gb = gb,
            Parameters::Array(_) => {}
        }
    }
    model
}

const fn is_attached_by(class: Class, transport: Transport) -> bool {
    match transport {
        Transport::Nvme | Transport::NvmeFabrics => {
            matches!(class, Class::EnterpriseNvme | Class::ConsumerNvme | Class::CloudLocal | Class::CloudVolume)
        }
        Transport::Sata | Transport::Sas | Transport::Scsi => {
            matches!(class, Class::EnterpriseSata | Class::ConsumerSata | Class::Disk)
        }
        Transport::Usb | Transport::Mmc => {
            matches!(class, Class::UsbStick | Class::ConsumerSata | Class::ConsumerNvme | Class::Disk)
        }
        // Anything may be behind software of another.
        _ => true,
    }
}
