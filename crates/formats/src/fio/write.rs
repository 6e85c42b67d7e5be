//! Results as fio's JSON and JSON+, for existing scripts and plots.
//!
//! Keys and units are those of fio 3 (HOWTO, "JSON output", and the output of fio 3.33). The
//! latency of a commit, which fio does not have, is under `commit` next to `sync` in the same form;
//! readers of fio's JSON ignore it.

use jiff::{SignedDuration, Timestamp};
use measurement::{
    Ended, Histogram, LatencySummary, RunDocument, TargetKind, TargetRecord, TestResult,
};
use serde_json::{Map, Value, json};
use workload::fio::FioEngine;
use workload::{BlockOrder, Compute, ComputeTask, DonorSpace, Pattern, SyncMethod, TargetName};

use super::bins::gathered;
use crate::columns::drive;

/// fio's default list of percentiles.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];
/// Upper ends of fio's latency ranges in each unit; milliseconds have two more.
const SHARES: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Error number of a failed job whose message contains none.
const EIO: i64 = 5;

/// The choice between fio's JSON and JSON+.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bins {
    With,
    Without,
}

/// The document, with a final newline.
pub fn json(document: &RunDocument, bins: Bins) -> String {
    let began = document.began().unwrap_or(Timestamp::UNIX_EPOCH);
    // fio's time is that of the report, and the tests ran one after another.
    let elapsed_s: f64 = document.results.iter().map(|result| result.elapsed_s).sum();
    let elapsed = SignedDuration::try_from_secs_f64(elapsed_s).unwrap_or_default();
    let ended = began.checked_add(elapsed).unwrap_or(began);
    let version = match &document.source {
        Some(source) if source.tool == "fio" => {
            format!("fio-{}", source.version.as_deref().unwrap_or("unknown"))
        }
        _ => format!("flushmark-{}", document.flushmark),
    };
    let elapsed_s = elapsed_s.ceil() as u64;
    let jobs = document
        .results
        .iter()
        .enumerate()
        .map(|(group, result)| job(document, result, group, elapsed_s, bins));
    let jobs: Vec<Value> = jobs.collect();
    let disks = disks(document);
    let document = json!({
        "fio version": version,
        "timestamp": ended.as_second(),
        "timestamp_ms": ended.as_millisecond(),
        "time": ended.strftime("%a %b %e %H:%M:%S %Y").to_string(),
        "global options": {},
        "jobs": jobs,
        "disk_util": disks,
    });
    // Serialisation cannot fail: strings, numbers, and lists of them.
    serde_json::to_string_pretty(&document).map(|text| text + "\n").unwrap_or_default()
}

/// The drive, and the counters of block devices that fio reported.
fn disks(document: &RunDocument) -> Vec<Value> {
    let sectors = |bytes: u64| bytes / 512;
    let counted = document.source.iter().flat_map(|source| &source.disks).map(|disk| {
        json!({
            "name": disk.device,
            "read_ios": disk.reads,
            "write_ios": disk.writes,
            "read_sectors": disk.bytes_read.map(sectors),
            "write_sectors": disk.bytes_written.map(sectors),
            "read_merges": disk.reads_merged,
            "write_merges": disk.writes_merged,
            "read_ticks": disk.read_ms,
            "write_ticks": disk.write_ms,
            "util": disk.busy_percent,
        })
    });
    let counted: Vec<Value> = counted.collect();
    let named = drive(document).into_iter().map(|name| json!({ "name": name }));
    let is_counted = |name: &Value| counted.iter().any(|disk| disk["name"] == name["name"]);
    let named: Vec<Value> = named.filter(|name| !is_counted(name)).collect();
    named.into_iter().chain(counted).collect()
}

/// Tests run one after another, so each is a separate group.
fn job(
    document: &RunDocument,
    result: &TestResult,
    group: usize,
    elapsed_s: u64,
    bins: Bins,
) -> Value {
    let runtime_ms = result.elapsed_s * 1e3;
    let busy_ms = runtime_ms * f64::from(result.workload.jobs);
    let percent = |seconds: f64| if busy_ms > 0.0 { 100.0 * seconds * 1e3 / busy_ms } else { 0.0 };
    let histograms = &result.histograms;
    // The latency of a durable write, or of a round of steps, is that of the commit.
    let write = (
        result.write_us.or(result.commit_us),
        histograms.write.as_ref().or(histograms.commit.as_ref()),
    );
    let read = (result.read_us, histograms.read.as_ref());
    let (reads, writes) = operations(result);
    let shares = Shares::of([read.1, write.1].into_iter().flatten());
    json!({
        "jobname": result.test,
        "groupid": group,
        "error": error(&result.ended),
        "eta": 0,
        "elapsed": elapsed_s,
        "job options": options(document, result),
        "read": direction(result, reads, read, bins),
        "write": direction(result, writes, write, bins),
        "trim": direction(result, 0, (None, None), bins),
        "sync": { "total_ios": result.proof.syncs, "lat_ns": latency(result.sync_us, histograms.sync.as_ref(), bins) },
        "commit": {
            "total_ios": result.proof.commits,
            "lat_ns": latency(result.commit_us, histograms.commit.as_ref(), bins),
        },
        "job_runtime": busy_ms.round() as u64,
        "usr_cpu": percent(result.cpu.user_s),
        "sys_cpu": percent(result.cpu.system_s),
        "latency_ns": shares.unit(1),
        "latency_us": shares.unit(1_000),
        "latency_ms": shares.milliseconds(),
        "latency_depth": result.workload.depth,
    })
}

/// The numbers of reads and writes. A round of a step program counts as a write.
fn operations(result: &TestResult) -> (u64, u64) {
    match result.workload.pattern {
        None if !result.workload.steps.is_empty() => (0, result.ops),
        // If a tool does not report separate counts, the pattern decides.
        Some(pattern) if result.proof.reads + result.proof.writes == 0 => {
            if pattern.writes() {
                (0, result.ops)
            } else {
                (result.ops, 0)
            }
        }
        _ => (result.proof.reads, result.proof.writes),
    }
}

fn error(ended: &Ended) -> i64 {
    match ended {
        Ended::Limit | Ended::Interrupted => 0,
        Ended::Failed { error } => error
            .rsplit_once("with error ")
            .and_then(|(_, number)| number.parse().ok())
            .unwrap_or(EIO),
    }
}

fn options(document: &RunDocument, result: &TestResult) -> Value {
    let workload = &result.workload;
    let mut options = Map::new();
    let mut set = |name: &str, value: String| options.insert(name.to_owned(), Value::String(value));
    set("name", result.test.clone());
    for (name, value) in place(&document.target) {
        set(name, value.to_owned());
    }
    // A sort writes its runs and reads them again, each sequentially.
    let otherwise = if workload.sort.is_some() { Pattern::Rw } else { Pattern::Write };
    let pattern = workload.pattern.unwrap_or(otherwise);
    let names = FioEngine::names_of(pattern);
    let pattern = names.map_or(pattern.name(), |(_, rw)| rw).to_owned();
    set(
        "rw",
        workload.order.skip_bytes().map_or(pattern.clone(), |skip| format!("{pattern}:{skip}")),
    );
    if let Some(percent) = workload.read_percent {
        set("rwmixread", percent.to_string());
    }
    match &workload.sizes {
        None => set("bs", workload.block_bytes.to_string()),
        Some(sizes) => set("bssplit", sizes.notation()),
    };
    match &workload.order {
        BlockOrder::Plain | BlockOrder::SkipBytes(_) => {}
        BlockOrder::Strided { zone_bytes, skip_bytes } => {
            set("zonemode", "strided".to_owned());
            set("zonesize", zone_bytes.to_string());
            set("zoneskip", skip_bytes.to_string());
        }
        BlockOrder::SteadyFill(fill) => {
            set("sprandom", "1".to_owned());
            set("spr_op", fill.over_provisioning.to_string());
            set("spr_num_regions", fill.regions.to_string());
        }
        other => drop(set("random_distribution", other.notation())),
    }
    if let Some(zoning) = workload.zoning {
        set("zonemode", "zbd".to_owned());
        if let Some(bytes) = zoning.zone_bytes {
            set("zonesize", bytes.to_string());
        }
        if let Some(zones) = zoning.max_open {
            set("max_open_zones", zones.to_string());
        }
    }
    if let Some(space) = workload.donor {
        set("donorname", "donor".to_owned());
        set("inplace", u8::from(space == DonorSpace::InPlace).to_string());
    }
    if let Some(Compute { load_percent, chunk_us, task, while_io }) = workload.compute {
        set("cpuload", load_percent.to_string());
        set("cpuchunks", chunk_us.to_string());
        let mode = match task {
            ComputeTask::Spin => "noop",
            ComputeTask::Sort => "qsort",
        };
        set("cpumode", mode.to_owned());
        if while_io {
            set("exit_on_io_done", "1".to_owned());
        }
    }
    set("iodepth", workload.depth.to_string());
    set("numjobs", workload.jobs.to_string());
    match workload.sync {
        Some(SyncMethod::Fsync | SyncMethod::LinkedFsync) => {
            set("fsync", workload.sync_every.to_string())
        }
        Some(SyncMethod::Fdatasync | SyncMethod::LinkedFdatasync) => {
            set("fdatasync", workload.sync_every.to_string())
        }
        Some(SyncMethod::OSync) => set("sync", "sync".to_owned()),
        Some(SyncMethod::ODsync | SyncMethod::RwfDsync) => set("sync", "dsync".to_owned()),
        Some(SyncMethod::None) | None => None,
    };
    set("direct", u8::from(workload.direct).to_string());
    set("ioengine", names.map_or_else(|| engine(result), |(engine, _)| engine).to_owned());
    // fio's size is per job.
    let each_bytes = workload.size_bytes / u64::from(workload.jobs.max(1));
    if workload.pattern.is_some_and(Pattern::visits_entries) {
        set("filesize", workload.block_bytes.to_string());
        set("nrfiles", (each_bytes / workload.block_bytes.max(1)).to_string());
    } else if each_bytes > 0 {
        set("size", each_bytes.to_string());
    }
    if let Some(rate) = workload.rate {
        set("rate_iops", rate.per_second.round().to_string());
    }
    if !workload.steps.is_empty() {
        set("steps", workload.steps.join("; "));
    }
    Value::Object(options)
}

/// fio's name of the engine.
fn engine(result: &TestResult) -> &str {
    match result.engine.as_str() {
        "librbd" => "rbd",
        "librados" => "rados",
        other => other,
    }
}

/// fio's options that name the target.
fn place(target: &TargetRecord) -> Vec<(&'static str, &str)> {
    let given = target.given.as_str();
    match target.kind {
        TargetKind::Directory => vec![("directory", given)],
        TargetKind::File | TargetKind::BlockDevice => vec![("filename", given)],
        TargetKind::Nbd => vec![("uri", given)],
        TargetKind::Image | TargetKind::Objects => place_in_ceph(given),
        TargetKind::Database
        | TargetKind::Null
        | TargetKind::Model
        | TargetKind::Unknown
        | TargetKind::Other(_) => Vec::new(),
    }
}

/// fio's options for an image or a pool of a Ceph cluster; of the options that may follow its name,
/// fio has only two.
fn place_in_ceph(given: &str) -> Vec<(&'static str, &str)> {
    let (TargetName::Image(name) | TargetName::Pool(name)) = TargetName::parse(given) else {
        return Vec::new();
    };
    let mut words = name.split(':');
    let path = words.next().unwrap_or_default();
    let (pool, image) =
        path.split_once('/').map_or((path, None), |(pool, image)| (pool, Some(image)));
    let mut options = vec![("pool", pool)];
    options.extend(image.map(|image| ("rbdname", image)));
    options.extend(words.filter_map(|word| match word.split_once('=')? {
        ("id", id) => Some(("clientname", id)),
        ("cluster", cluster) => Some(("clustername", cluster)),
        _ => None,
    }));
    options
}

type Timed<'a> = (Option<LatencySummary>, Option<&'a Histogram>);

fn direction(result: &TestResult, ios: u64, (summary, histogram): Timed<'_>, bins: Bins) -> Value {
    let share = if result.ops > 0 { ios as f64 / result.ops as f64 } else { 0.0 };
    let bytes_per_s = result.mib_per_s * f64::from(1 << 20) * share;
    let per_second = result.iops * share;
    let seconds: Vec<f64> = if ios > 0 {
        result.series.iops.iter().map(|iops| iops * share).collect()
    } else {
        Vec::new()
    };
    let iops_spread = Spread::of(&seconds);
    let kib_per_io = if per_second > 0.0 { bytes_per_s / per_second / 1024.0 } else { 0.0 };
    let timed = latency(summary, histogram, bins);
    json!({
        "io_bytes": (bytes_per_s * result.elapsed_s).round() as u64,
        "io_kbytes": (bytes_per_s * result.elapsed_s / 1024.0).round() as u64,
        "bw_bytes": bytes_per_s.round() as u64,
        "bw": (bytes_per_s / 1024.0).round() as u64,
        "iops": per_second,
        "runtime": if ios > 0 { (result.elapsed_s * 1e3).round() as u64 } else { 0 },
        "total_ios": ios,
        "short_ios": 0,
        "drop_ios": 0,
        "slat_ns": latency(None, None, bins),
        "clat_ns": timed,
        "lat_ns": timed,
        "bw_min": (iops_spread.min * kib_per_io).round() as u64,
        "bw_max": (iops_spread.max * kib_per_io).round() as u64,
        "bw_agg": if seconds.is_empty() { 0.0 } else { 100.0 },
        "bw_mean": iops_spread.mean * kib_per_io,
        "bw_dev": iops_spread.deviation * kib_per_io,
        "bw_samples": seconds.len(),
        "iops_min": iops_spread.min.round() as u64,
        "iops_max": iops_spread.max.round() as u64,
        "iops_mean": iops_spread.mean,
        "iops_stddev": iops_spread.deviation,
        "iops_samples": seconds.len(),
    })
}

fn latency(summary: Option<LatencySummary>, histogram: Option<&Histogram>, bins: Bins) -> Value {
    let ns = |us: f64| (us * 1e3).round() as u64;
    let Some(summary) = summary.or_else(|| histogram.and_then(Histogram::summary)) else {
        return json!({ "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 });
    };
    let cells = histogram.map(|histogram| gathered(histogram.buckets())).unwrap_or_default();
    let mut percentiles: Vec<(f64, u64)> = vec![
        (50.0, ns(summary.p50)),
        (90.0, ns(summary.p90)),
        (99.0, ns(summary.p99)),
        (99.9, ns(summary.p99_9)),
        (99.99, ns(summary.p99_99)),
    ];
    if let Some(histogram) = histogram {
        let known: Vec<f64> = percentiles.iter().map(|(percent, _)| *percent).collect();
        let others = PERCENTILES.iter().filter(|percent| !known.contains(percent));
        percentiles
            .extend(others.map(|&percent| (percent, histogram.quantile_ns(percent / 100.0))));
        percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    let percentiles: Map<String, Value> =
        percentiles.into_iter().map(|(percent, ns)| (format!("{percent:.6}"), json!(ns))).collect();
    let mut timed = json!({
        "min": ns(summary.min),
        "max": ns(summary.max),
        "mean": summary.mean * 1e3,
        "stddev": deviation(summary.mean * 1e3, &cells),
        "N": summary.count,
        "percentile": percentiles,
    });
    if bins == Bins::With && !cells.is_empty() {
        let cells: Map<String, Value> =
            cells.into_iter().map(|(ns, count)| (ns.to_string(), json!(count))).collect();
        timed["bins"] = Value::Object(cells);
    }
    timed
}

fn deviation(mean: f64, cells: &[(u64, u64)]) -> f64 {
    let count: u64 = cells.iter().map(|(_, count)| count).sum();
    let squares: f64 =
        cells.iter().map(|&(ns, count)| (ns as f64 - mean).powi(2) * count as f64).sum();
    if count == 0 { 0.0 } else { (squares / count as f64).sqrt() }
}

/// Statistics of per-second figures.
#[derive(Default)]
struct Spread {
    min: f64,
    max: f64,
    mean: f64,
    deviation: f64,
}

impl Spread {
    fn of(values: &[f64]) -> Spread {
        if values.is_empty() {
            return Spread::default();
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Spread {
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
            mean,
            deviation: (squares / count).sqrt(),
        }
    }
}

/// The shares of latencies in fio's ranges.
struct Shares {
    cells: Vec<(u64, u64)>,
    count: u64,
}

impl Shares {
    fn of<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Shares {
        let cells: Vec<(u64, u64)> = histograms.flat_map(Histogram::buckets).collect();
        Shares { count: cells.iter().map(|(_, count)| count).sum(), cells }
    }

    /// Percentage of latencies from `above_ns` to below `to_ns`.
    fn between(&self, above_ns: u64, to_ns: u64) -> f64 {
        let within: u64 = self
            .cells
            .iter()
            .filter(|(ns, _)| (above_ns..to_ns).contains(ns))
            .map(|(_, count)| count)
            .sum();
        if self.count == 0 { 0.0 } else { 100.0 * within as f64 / self.count as f64 }
    }

    fn unit(&self, unit_ns: u64) -> Map<String, Value> {
        // Latencies below two of a unit belong to the smaller unit; nanoseconds have none.
        let mut above = if unit_ns == 1 { 0 } else { unit_ns };
        let mut shares = Map::new();
        for limit in SHARES {
            shares.insert(limit.to_string(), json!(self.between(above, limit * unit_ns)));
            above = limit * unit_ns;
        }
        shares
    }

    fn milliseconds(&self) -> Map<String, Value> {
        const MS: u64 = 1_000_000;
        let mut shares = self.unit(MS);
        shares.insert("2000".to_owned(), json!(self.between(1000 * MS, 2000 * MS)));
        shares.insert(">=2000".to_owned(), json!(self.between(2000 * MS, u64::MAX)));
        shares
    }
}
