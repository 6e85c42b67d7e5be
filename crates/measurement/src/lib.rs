//! What came out of a workload: histograms, series, steady state, and the result document that keeps them. No I/O.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`histogram`] | a latency distribution that merges without loss and travels as text |
//! | [`series`] | what happened second by second |
//! | [`progress`] | what is told of a test while it runs |
//! | [`steady_state`] | whether a series has settled (SNIA PTS) |
//! | [`proof`] | what the device saw, against what was claimed |
//! | [`result`] | one test's result |
//! | [`sorting`] | what a sort came to: its own time and the drive's |
//! | [`merging`] | results of one kind, added up |
//! | [`finding`] | a sentence of judgement with its evidence, and fitness grades |
//! | [`drives_document`], [`host_document`] | what `flushmark drives` and `flushmark host` print for programs |
//! | [`audit`] | a sentence about a host's setting, with its grade |
//! | [`started_at`] | when a run began, as documents write it |
//! | [`target`] | what a run went to, and of which kind it is |
//! | [`document`] | the whole run as one JSON document, and its schema |
//!
//! The engine and the models (`simdrive`) fill a [`TestResult`]; `judge` reads it; `report` and `store` carry the [`RunDocument`].

pub mod audit;
pub mod document;
pub mod drives_document;
pub mod finding;
pub mod histogram;
pub mod host_document;
mod json_schema;
pub mod merging;
pub mod progress;
pub mod proof;
pub mod result;
pub mod series;
pub mod sorting;
pub mod started_at;
pub mod steady_state;
pub mod target;

pub use audit::{AuditLine, HostGrade};
pub use document::{NotADocument, Outcome, RunDocument, Skipped, Source};
pub use drives_document::DrivesDocument;
pub use finding::{Confidence, Evidence, Finding, Fitness, Grade, Use};
pub use histogram::{Histogram, LatencySummary};
pub use host_document::HostDocument;
pub use merging::{FieldDifference, NotOfOneKind};
pub use progress::{Headline, Progress};
pub use proof::{DeviceCounts, DeviceProof, Proof};
pub use result::{CpuUse, Ended, Histograms, TestResult, WorkloadRecord};
pub use series::Series;
pub use sorting::{SortFigures, SortRecord};
pub use steady_state::SteadyState;
pub use target::{OtherKind, TargetKind, TargetRecord};
