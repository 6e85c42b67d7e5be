//! `ceph tell osd.N bench`: a benchmark inside an OSD, which removes what it wrote.
//!
//! It writes to the OSD's object store, without client, network, placement group or copies. It
//! queues all writes and waits for the last one, so it shows what the store can do with a deep
//! queue, not what a commit takes.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::answers::Missing;
use crate::lenient;

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/ceph-tell-bench/1";

/// From this size on, a block is limited by throughput instead of by operations.
const LARGE_BYTES: u64 = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OsdBench {
    pub bytes: u64,
    pub block_bytes: u64,
    /// Size and number of the objects that are overwritten; if `None`, each block is a new object.
    pub objects: Option<(u64, u64)>,
}

impl OsdBench {
    /// The benchmark of an OSD that starts for the first time, to fill
    /// `osd_mclock_max_capacity_iops_*`.
    pub const SMALL_WRITES: OsdBench =
        OsdBench { bytes: 12_288_000, block_bytes: 4096, objects: Some((4 << 20, 100)) };
    /// The benchmark without arguments.
    pub const LARGE_WRITES: OsdBench =
        OsdBench { bytes: 1 << 30, block_bytes: 4 << 20, objects: None };

    /// Bytes that it occupies until it ends.
    pub fn space_bytes(&self) -> u64 {
        self.objects.map_or(self.bytes, |(size, number)| size * number)
    }

    /// The command as librados takes it.
    pub fn command(&self) -> String {
        let mut command = json!({
            "prefix": "bench", "format": "json", "count": self.bytes, "size": self.block_bytes,
        });
        if let (Some((size, number)), Value::Object(command)) = (self.objects, &mut command) {
            command.insert("object_size".to_owned(), size.into());
            command.insert("object_num".to_owned(), number.into());
        }
        command.to_string()
    }
}

/// As on the command line after `ceph tell osd.N`.
impl fmt::Display for OsdBench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bench {} {}", self.bytes, self.block_bytes)?;
        self.objects.map_or(Ok(()), |(size, number)| write!(f, " {size} {number}"))
    }
}

/// Limits beyond which an OSD refuses a benchmark (`OSD::asok_command` in src/osd/OSD.cc): its
/// clients wait while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OsdBenchLimits {
    /// `osd_bench_max_block_size`
    pub block_bytes: u64,
    /// `osd_bench_small_size_max_iops`
    pub small_per_s: u64,
    /// `osd_bench_large_size_max_throughput`
    pub large_bytes_per_s: u64,
    /// `osd_bench_duration`
    pub seconds: u64,
}

impl Default for OsdBenchLimits {
    fn default() -> OsdBenchLimits {
        OsdBenchLimits {
            block_bytes: 64 << 20,
            small_per_s: 100,
            large_bytes_per_s: 100 << 20,
            seconds: 30,
        }
    }
}

/// The limits among the settings that an OSD runs with.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RunningLimits {
    #[serde(rename = "osd_bench_max_block_size", deserialize_with = "lenient::de_whole")]
    max_block_size: Option<u64>,
    #[serde(rename = "osd_bench_small_size_max_iops", deserialize_with = "lenient::de_whole")]
    small_size_max_iops: Option<u64>,
    #[serde(
        rename = "osd_bench_large_size_max_throughput",
        deserialize_with = "lenient::de_whole"
    )]
    large_size_max_throughput: Option<u64>,
    #[serde(rename = "osd_bench_duration", deserialize_with = "lenient::de_whole")]
    duration: Option<u64>,
}

impl OsdBenchLimits {
    /// Reads the answer to [`Question::RunningConfig`](crate::Question::RunningConfig). A setting
    /// that the release does not report has Ceph's default.
    ///
    /// # Errors
    /// If the answer is not JSON.
    pub fn of_running_config(answer: &[u8]) -> Result<OsdBenchLimits, Missing> {
        let running: RunningLimits =
            lenient::parse(answer).map_err(|error| Missing::Unreadable(error.to_string()))?;
        let default = OsdBenchLimits::default();
        Ok(OsdBenchLimits {
            block_bytes: running.max_block_size.unwrap_or(default.block_bytes),
            small_per_s: running.small_size_max_iops.unwrap_or(default.small_per_s),
            large_bytes_per_s: running
                .large_size_max_throughput
                .unwrap_or(default.large_bytes_per_s),
            seconds: running.duration.unwrap_or(default.seconds),
        })
    }

    /// The limit that a benchmark exceeds.
    pub fn exceeded_by(&self, bench: &OsdBench) -> Option<ExceededLimit> {
        if bench.block_bytes > self.block_bytes {
            let (setting, set) = ("osd_bench_max_block_size", self.block_bytes);
            return Some(ExceededLimit { setting, set, needed: bench.block_bytes });
        }
        let seconds = self.seconds.max(1);
        let (setting, set, needed) = if bench.block_bytes < LARGE_BYTES {
            let needed = bench.bytes.div_ceil(bench.block_bytes).div_ceil(seconds);
            ("osd_bench_small_size_max_iops", self.small_per_s, needed)
        } else {
            let needed = bench.bytes.div_ceil(seconds);
            ("osd_bench_large_size_max_throughput", self.large_bytes_per_s, needed)
        };
        (set < needed).then_some(ExceededLimit { setting, set, needed })
    }
}

/// A setting that makes an OSD refuse a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExceededLimit {
    pub setting: &'static str,
    pub set: u64,
    /// The lowest value that lets the benchmark run.
    pub needed: u64,
}

/// An OSD's answer to `bench`, with Ceph's names of the fields in JSON. Fields that a release does
/// not report are `null`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct OsdBenchResult {
    #[serde(deserialize_with = "lenient::de_whole")]
    pub bytes_written: Option<u64>,
    #[serde(rename = "blocksize", deserialize_with = "lenient::de_whole")]
    pub block_bytes: Option<u64>,
    #[serde(rename = "elapsed_sec", deserialize_with = "lenient::de_number")]
    pub elapsed_s: Option<f64>,
    #[serde(rename = "bytes_per_sec", deserialize_with = "lenient::de_number")]
    pub bytes_per_s: Option<f64>,
    #[serde(deserialize_with = "lenient::de_number")]
    pub iops: Option<f64>,
}

impl OsdBenchResult {
    /// # Errors
    /// If the answer is not JSON.
    pub fn parse(answer: &[u8]) -> Result<OsdBenchResult, Missing> {
        lenient::parse(answer).map_err(|error| Missing::Unreadable(error.to_string()))
    }
}

/// The JSON output of `flushmark ceph tell-bench`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TellBenchDocument {
    /// The name and version of this format.
    pub schema: String,
    /// The version of flushmark that made the document.
    pub flushmark: String,
    /// The cluster's identifier; `null` if it did not report one.
    pub cluster: Option<String>,
    /// The result of `flushmark ceph osds` from which the figures at depth 1 are; `null` if there
    /// is none.
    pub compared_with: Option<ComparedWith>,
    /// By id.
    pub osds: Vec<BenchedOsd>,
}

/// A result of `flushmark ceph osds`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedWith {
    /// The kept run or the file.
    pub result: String,
    pub started_at: String,
    pub pool: String,
    /// Copies that each of its writes waited for; `null` if unknown.
    pub replicas: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BenchedOsd {
    pub id: u32,
    pub host: Option<String>,
    pub class: Option<String>,
    /// 4 KiB blocks, written over parts of existing objects.
    pub small: OsdBenchResult,
    /// Blocks of 4 MiB, each a new object.
    pub large: OsdBenchResult,
    /// 4 KiB writes by a client, one at a time, from `compared_with`.
    pub depth_1: Option<DepthOne>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DepthOne {
    pub commits_per_s: f64,
    /// The mean in microseconds.
    pub commit_us: f64,
}

/// The JSON Schema (draft 2020-12) of [`TellBenchDocument`]. The repository keeps it as
/// `schemas/ceph-tell-bench-1.json`.
pub fn json_schema() -> schemars::Schema {
    let mut schema = schemars::schema_for!(TellBenchDocument);
    schema
        .insert("title".to_owned(), format!("flushmark ceph tell-bench document, {SCHEMA}").into());
    if let Some(own) = schema.pointer_mut("/properties/schema").and_then(Value::as_object_mut) {
        own.insert("const".to_owned(), SCHEMA.into());
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [OsdBench; 2] = [OsdBench::SMALL_WRITES, OsdBench::LARGE_WRITES];

    #[test]
    fn commands_are_those_of_ceph() {
        let all = BOTH.map(|bench| format!("{bench}\n{}", bench.command()));
        insta::assert_snapshot!(all.join("\n"), @r#"
        bench 12288000 4096 4194304 100
        {"count":12288000,"format":"json","object_num":100,"object_size":4194304,"prefix":"bench","size":4096}
        bench 1073741824 4194304
        {"count":1073741824,"format":"json","prefix":"bench","size":4194304}
        "#);
    }

    #[test]
    fn limits_are_those_of_the_running_osd() {
        let config = br#"{"osd_bench_small_size_max_iops": "50", "osd_bench_duration": 30,
            "osd_bench_large_size_max_throughput": "1048576"}"#;
        let limits = OsdBenchLimits::of_running_config(config).unwrap();
        assert_eq!(limits.block_bytes, OsdBenchLimits::default().block_bytes);
        let [small, large] = BOTH.map(|bench| limits.exceeded_by(&bench));
        let (setting, set) = ("osd_bench_small_size_max_iops", 50);
        assert_eq!(small, Some(ExceededLimit { setting, set, needed: 100 }));
        let (setting, set) = ("osd_bench_large_size_max_throughput", 1 << 20);
        assert_eq!(large, Some(ExceededLimit { setting, set, needed: 35_791_395 }));
        assert!(OsdBenchLimits::of_running_config(b"-").is_err());
    }

    #[test]
    fn both_stay_within_the_defaults() {
        let limits = OsdBenchLimits::default();
        assert_eq!(BOTH.map(|bench| limits.exceeded_by(&bench)), [None, None]);
        // The wiki's `ceph tell osd.N bench 268435456 4096` needs a raised limit.
        let wiki = OsdBench { bytes: 268_435_456, ..OsdBench::SMALL_WRITES };
        assert_eq!(limits.exceeded_by(&wiki).map(|limit| limit.needed), Some(2185));
        let block = OsdBench { block_bytes: 128 << 20, ..OsdBench::LARGE_WRITES };
        let limit = limits.exceeded_by(&block).unwrap();
        assert_eq!((limit.setting, limit.needed), ("osd_bench_max_block_size", 128 << 20));
    }

    #[test]
    fn an_answer_is_read() {
        let answer = br#"{"bytes_written": 12288000, "blocksize": 4096,
            "elapsed_sec": 0.065277971000000004, "bytes_per_sec": 188241144.93387055,
            "iops": 45957.310774870741}"#;
        let result = OsdBenchResult::parse(answer);
        assert_eq!(result.map(|result| result.iops.map(f64::round)), Ok(Some(45957.0)));
        assert!(OsdBenchResult::parse(b"no").is_err());
    }
}
