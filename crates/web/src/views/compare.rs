//! Runs side by side.

use pages::Run;
use store::StoredRun;

use super::frame::{Here, with_charts};
use super::run::named;
use crate::assets::Needs;

/// The charts have no more distinct colours and dashes.
pub const RUNS_MAX: usize = 7;

/// Sorts the runs by time: the oldest is the baseline.
pub fn page(mut kept: Vec<StoredRun>) -> String {
    kept.sort_by_key(|kept| (kept.summary.at, kept.summary.id));
    let runs: Vec<Run<'_>> = kept.iter().map(|kept| named(&kept.summary, &kept.document)).collect();
    let content = pages::content(&runs);
    with_charts(&pages::naming::tab_title(&runs), Here::Runs, &content, Needs::Plain)
}
