//! What a person or a program reads: terminal text and JSON. Pure functions from data to text; the binary prints.
//!
//! | module | what it draws |
//! | --- | --- |
//! | [`target_header`] | what is measured, what lies beneath, how its cache stands |
//! | [`check_page`] | the numbers that decide, their distributions, findings, fitness, nearest drives, what to type next |
//! | [`run_page`] | a plan's results in the plan's own table, what was done differently, findings |
//! | [`drives_page`], [`cache_status_page`] | the machine's drives and their caches |
//! | [`host_page`] | the audit of the host |
//! | [`cache_switched`], [`cache_restored`] | what became of a write cache |
//! | [`suites()`], [`catalogue()`], [`drive()`] | what can be run; what others measured |
//! | [`emulation_page`], [`emulation_status`], [`emulation_line`], [`cut_sentence`] | a drive that is being emulated |
//! | [`crash_page`], [`crash_state`], [`crash_line`] | a crash test |
//! | [`live_line`], [`done_line`] | a test while it runs, and when it is done |
//! | [`compare_page`], [`compare_markdown`], [`Told`], [`failure`] | results against results, and limits that were not kept |
//! | [`verify_page`], [`verify_begun`], [`verify_written`], [`verify_event`], [`verify_standing`] | what became of acknowledged writes, and how the cycles go |
//! | [`import_page`] | what came out of other tools' files |
//! | [`markdown`] | a run for tickets and forum posts |
//! | [`sort_sentence`], [`SORT_COLUMNS`] | where the time of a sort went |
//! | [`json`], [`json_line`] | the result document |
//! | [`run_list`], [`run_list_json`], [`kept_page`] | what a store holds |
//! | [`target_facts`], [`evidence_words`], [`confidence_words`] | the same words for the pages that a browser shows |
//!
//! [`Look`] says how text is dressed. `columns` and `prose` are the letter case that all of them share.

mod cache;
mod catalogue;
mod check;
mod columns;
mod compare;
mod crash;
mod demo;
mod distribution;
mod drives;
mod emulation;
mod findings;
mod fit;
mod host;
mod import;
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
mod verify;
mod write_hole;

pub use cache::{cache_restored, cache_switched};
pub use catalogue::{catalogue, drive};
pub use check::check_page;
pub use compare::{Figures, Told, ToldFigure, compare_markdown, compare_page, failure};
pub use crash::{CrashReport, Failure, crash_line, crash_page, crash_state};
pub use demo::{demo_cycle, demo_intro, demo_outro};
pub use drives::{cache_status_page, drives_page};
pub use emulation::{cut_sentence, emulation_line, emulation_page, emulation_status};
pub use findings::{confidence_words, evidence_words};
pub use fit::{FitRow, fit_page};
pub use host::host_page;
pub use import::{ImportedFile, copied_line, import_page};
pub use kept::{kept_page, run_list, run_list_json};
pub use look::{Glyphs, Look, Palette};
pub use markdown::markdown;
pub use models::models;
pub use progress::{done_line, live_line};
pub use sorting::{SORT_COLUMNS, SortColumn, sort_sentence};
pub use suites::suites;
pub use tables::run_page;
pub use target::{TargetFact, Weight, target_facts, target_header};
pub use verify::{verify_begun, verify_event, verify_page, verify_standing, verify_written};
pub use write_hole::write_hole_page;

use measurement::RunDocument;

/// The result document as a program reads it: pretty, one document, a newline at its end.
pub fn json(document: &RunDocument) -> String {
    // Every type in it serialises: numbers, texts, lists, maps with text keys.
    serde_json::to_string_pretty(document).map(|text| text + "\n").unwrap_or_default()
}

/// The same in one line, for files that hold several.
pub fn json_line(document: &RunDocument) -> String {
    serde_json::to_string(document).map(|text| text + "\n").unwrap_or_default()
}
