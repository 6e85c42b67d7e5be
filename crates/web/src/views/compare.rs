//! Runs side by side.

use ::compare::{Comparison, Group};
use maud::html;
use pages::{Content, Run};
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
    let Content { markup, figures } = pages::content(&runs);
    let markup = html! {
        @if let [baseline, candidates @ ..] = groups.as_slice() {
            @let comparison = Comparison::of(baseline, candidates, "");
            section.compared aria-label="Comparison" {
                pre tabindex="0" { (report::compare_page(&comparison, Figures::Leading, &Look::plain())) }
            }
        }
        (markup)
    };
    let numbers: Vec<String> = kept.iter().map(|kept| kept.summary.id.to_string()).collect();
    with_charts(&format!("Runs {}", numbers.join(", ")), Here::Runs, &Content { markup, figures }, Needs::Plain)
}
