//! Reports as terminal text, Markdown and JSON. All functions are pure, from data to text; the
//! binary prints.
//!
//! | item | content |
//! | --- | --- |
//! | [`target_header`] | the target, its storage stack and its cache state |
//! | [`check_page`] | the key numbers, their distributions, findings, grades, nearest drives, the next command |
//! | [`run_page`] | a plan's results in the plan's table, deviations, findings |
//! | [`drives_page`], [`cache_status_page`] | the machine's drives and their caches |
//! | [`ceph_layout_page`] | the layout of a Ceph cluster |
//! | [`ceph_check_page`] | whether a Ceph cluster is well, and what a commit costs on it |
//! | [`ceph_osds_page`] | the OSDs of a Ceph cluster, each by itself |
//! | [`database_commits_page`] | commits on a database server, by number of clients |
//! | [`ServerLines`], [`database_watch_page`] | what a watched database server does |
//! | [`database_prediction_page`] | what a server would commit on other storage |
//! | [`insert_benchmark_page`], [`STEP_RATES`], [`STEP_COSTS`] | the steps of the Insert Benchmark |
//! | [`ceph_tell_bench_page`] | the OSDs' own benchmark beside what a commit costs |
//! | [`trace_page`], [`stage_name`] | where traced commits spent their time |
//! | [`WatchLines`], [`Shown`], [`flushes_not_counted`] | a watched machine |
//! | [`host_page`] | the audit of the host |
//! | [`cache_switched`], [`cache_restored`] | a write cache that was switched or restored |
//! | [`suites()`], [`catalogue()`], [`drive()`] | the suites; the published measurements |
//! | [`ceph_sizing_page`] | a planned Ceph cluster |
//! | [`emulation_page`], [`emulation_status`], [`emulation_line`], [`cut_sentence`] | a drive that is being emulated |
//! | [`crash_page`], [`crash_state`], [`crash_line`] | a crash test |
//! | [`live_line`], [`done_line`] | a running test, and a completed one |
//! | [`compare_page`], [`compare_markdown`], [`ComparisonView`], [`failure`] | comparisons, and failed conditions |
//! | [`verify_page`], [`verify_begun`], [`verify_written`], [`verify_event`], [`verify_standing`] | the fate of acknowledged writes, and the progress of cycles |
//! | [`import_page`] | imported files of other tools |
//! | [`markdown`] | a run for tickets and forum posts |
//! | [`sort_sentence`], [`SORT_COLUMNS`] | the time of a sort, by cause |
//! | [`json`], [`json_line`] | the result document |
//! | [`run_list`], [`run_list_json`], [`kept_page`] | the runs of a store |
//! | [`target_facts`], [`evidence_words`], [`confidence_words`] | the same texts for HTML pages |
//!
//! [`Look`] determines colours, characters and width. All pages use `columns` and `prose` for
//! layout.

mod cache;
mod catalogue;
mod ceph;
mod check;
mod columns;
mod compare;
mod crash;
mod database;
mod database_prediction;
mod database_watch;
mod demo;
mod distribution;
mod drive_traffic;
mod drives;
mod emulation;
mod findings;
mod fit;
mod fleet;
mod group;
mod host;
mod import;
mod imported;
mod insert_benchmark;
mod kept;
mod look;
mod markdown;
mod models;
mod nearest;
mod notes;
mod progress;
mod prose;
mod sorting;
mod suites;
mod tables;
mod target;
mod trace;
mod verify;
mod watch;
mod write_hole;

pub use self::ceph::{
    ceph_check_page, ceph_layout_page, ceph_osds_page, ceph_sizing_page, ceph_tell_bench_page,
};
pub use cache::{cache_restored, cache_switched};
pub use catalogue::{catalogue, drive};
pub use check::check_page;
pub use compare::{
    ComparisonView, FigureView, Figures, TestView, compare_markdown, compare_page, failure,
};
pub use crash::{CrashReport, Failure, crash_line, crash_page, crash_state};
pub use database::database_commits_page;
pub use database_prediction::database_prediction_page;
pub use database_watch::{ServerLines, ServerSecond, database_watch_page};
pub use demo::{demo_cycle, demo_intro, demo_outro};
pub use drive_traffic::{COMMANDS_GIVEN, TrafficColumn, TrafficRow, traffic_rows};
pub use drives::{cache_status_page, drives_page};
pub use emulation::{cut_sentence, emulation_line, emulation_page, emulation_status};
pub use findings::{confidence_words, evidence_words};
pub use fit::{FitRow, fit_page};
pub use fleet::{fleet_page, fleet_table_markdown, what_changed, what_differs};
pub use group::{group_sentences, group_totals};
pub use host::host_page;
pub use import::{ImportedFile, copied_line, import_page};
pub use imported::disk_sentences;
pub use insert_benchmark::{STEP_COSTS, STEP_RATES, StepColumn, insert_benchmark_page};
pub use kept::{kept_page, run_list, run_list_json};
pub use look::{Detail, Glyphs, Look, Palette};
pub use markdown::markdown;
pub use models::models;
pub use progress::{done_line, live_line};
pub use prose::counted;
pub use sorting::{SORT_COLUMNS, SortColumn, sort_sentence};
pub use suites::suites;
pub use tables::{etcd_verdict, run_page, wal_answer};
pub use target::{TargetFact, Weight, target_facts, target_header};
pub use trace::{AnatomyWords, NO_COMMIT, recorded, request_words, stage_name, trace_page};
pub use verify::{verify_begun, verify_event, verify_page, verify_standing, verify_written};
pub use watch::{Shown, WatchLines, flushes_not_counted};
pub use write_hole::write_hole_page;

use measurement::RunDocument;

/// The result document as indented JSON, with a final newline.
pub fn json(document: &RunDocument) -> String {
    // Serialisation cannot fail: numbers, texts, lists, and maps with text keys.
    serde_json::to_string_pretty(document).map(|text| text + "\n").unwrap_or_default()
}

/// The result document as JSON in one line, for files with several documents.
pub fn json_line(document: &RunDocument) -> String {
    serde_json::to_string(document).map(|text| text + "\n").unwrap_or_default()
}
