//! Runs side by side.

use ::compare::{Comparison, Group};
use maud::html;
use pages::Run;
use report::{Figures, Look};
use store::Kept;

use super::frame::{Here, with_charts};
use super::run::label;
use crate::assets::Needs;

/// More than the charts have colours and dashes for.
pub const RUNS_MOST: usize = 7;

/// The runs in the order of time: what was before is what the others are compared with.
pub fn page(mut kept: Vec<Kept>) -> String {
    kept.sort_by_key(|kept| (kept.summary.at, kept.summary.id));
    let runs: Vec<Run<'_>> =
        kept.iter().map(|kept| Run { label: label(&kept.summary), document: &kept.document }).collect();
    let groups: Vec<Group<'_>> =
        runs.iter().map(|run| Group { label: run.label.clone(), runs: vec![run.document] }).collect();
    let lead = html! {
        @if let [baseline, candidates @ ..] = groups.as_slice() {
            @let comparison = Comparison::of(baseline, candidates, "");
            section.run aria-labelledby="compared" {
                h2 #compared { "What differs" }
                pre.compared tabindex="0" role="region" aria-label="The comparison as text" {
                    (report::compare_page(&comparison, Figures::Leading, &Look::plain()))
                }
            }
        }
    };
    let content = pages::content_after(&lead, &runs);
    let numbers: Vec<String> = kept.iter().map(|kept| kept.summary.id.to_string()).collect();
    with_charts(&format!("Runs {}", numbers.join(", ")), Here::Runs, &content, Needs::Plain)
}
