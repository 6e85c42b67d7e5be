//! The measurements of a workload: histograms, time series, steady state, and the result document
//! that stores them. No I/O.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `histogram` | a latency distribution that merges without loss and is stored as text |
//! | [`series`] | rates and latencies second by second |
//! | `progress` | what is shown while a test runs |
//! | `steady_state` | whether a series has settled (SNIA PTS) |
//! | `proof` | what the device counted, against what the workload claims |
//! | `result` | one test's result |
//! | `anatomy` | where the time of traced commits goes, and what reached the drive |
//! | `drive_traffic` | what drives were asked for, sent and given while commits were traced |
//! | `passes` | the parts of a test that was made in several passes |
//! | `sorting` | where the time of a sort went: to the sort or to the drive |
//! | `priorities` | latencies by I/O priority |
//! | `merging` | results of the same tests, added up |
//! | `finding` | one conclusion with its evidence, and fitness grades |
//! | [`drives_document`], [`host_document`] | the JSON output of `flushmark drives` and `flushmark host` |
//! | [`ceph_document`] | the JSON output of `flushmark ceph layout` and `flushmark ceph check` |
//! | `audit` | one host setting, with its grade |
//! | [`started_at`] | the start time of a run, as documents write it |
//! | [`watch`] | what devices and processes did in an interval, and since they appeared |
//! | `database` | a database server and its settings |
//! | `server_activity` | what a database server did in an interval, by its own counters |
//! | `insert_benchmark` | a step of the Insert Benchmark |
//! | `group` | runs on several targets or hosts whose tests began at the same moment |
//! | `anonymous` | documents without what identifies a drive or a host |
//! | `target` | what a run was made on, and its kind |
//! | [`document`] | the whole run as one JSON document, and its schema |
//! | [`trace_document`] | the JSON output of `flushmark trace` |
//! | `versioned` | how documents state their kind and version |
//!
//! The engine and the models (`simdrive`) fill a [`TestResult`]; `judge` reads it; `report` and
//! `store` carry the [`RunDocument`].

mod anatomy;
mod anonymous;
mod audit;
pub mod ceph_document;
mod database;
mod disk_counters;
pub mod document;
mod drive_traffic;
pub mod drives_document;
mod finding;
mod group;
mod histogram;
pub mod host_document;
mod insert_benchmark;
pub mod json_schema;
mod merging;
mod osd;
mod passes;
mod priorities;
mod progress;
mod proof;
mod result;
pub mod series;
mod server_activity;
mod sorting;
pub mod started_at;
mod steady_state;
mod target;
pub mod trace_document;
mod versioned;
pub mod watch;

pub use anatomy::{
    Anatomy, Committer, Company, Drawn, DrawnRequest, DrawnStage, Layer, Reached, Stage, StageTimes,
};
pub use audit::{AuditLine, HostGrade};
pub use database::{DatabaseProduct, DatabaseRecord, ServerSetting};
pub use disk_counters::DiskCounters;
pub use document::{Outcome, RunDocument, Skipped, Source};
pub use drive_traffic::{DriveTraffic, OperationCounts};
pub use drives_document::DrivesDocument;
pub use finding::{Confidence, Evidence, Finding, Fitness, FitnessUnderEachSetting, Grade, Use};
pub use group::{Agreement, GroupRecord, GroupStart, GroupTotal};
pub use histogram::{BytesError, HIGHEST_NS, Histogram, HistogramError, LatencySummary};
pub use host_document::HostDocument;
pub use insert_benchmark::{
    DriveCosts, InsertBenchmarkStep, OperationCosts, OperationKind, RATE_SHARE_MIN,
    StatementFigures,
};
pub use merging::{FieldDifference, MergeError};
pub use osd::{DriveCommit, DriveCommitOrigin, OsdRecord};
pub use passes::Pass;
pub use priorities::PriorityLatency;
pub use progress::{Headline, Progress};
pub use proof::{DeviceCounts, DeviceProof, Proof};
pub use result::{
    CpuUse, Ended, Histograms, MODEL_ENGINE, Measured, RateRecord, TestResult, WorkloadRecord,
};
pub use series::Series;
pub use server_activity::{
    CounterUnit, FileActivity, ServerActivity, ServerCount, ServerCounter, ServerCpu, ServerFile,
    ServerSeries, ServerSyncs, ServerWrites,
};
pub use sorting::{SortFigures, SortRecord};
pub use steady_state::{SteadyState, Window};
pub use target::{CephRecord, ExportRecord, OtherKind, TargetKind, TargetRecord};
pub use trace_document::{TraceDocument, TraceRecord};
pub use versioned::{DocumentError, Kind};
