//! The recorder's messages during cycles, and what the cycles prove together.

use verify::{AgeCount, CycleResult, Event, Standing, cycles_for};

use super::{count, percent};
use crate::columns::{Column, Columns};
use crate::look::Look;
use crate::prose::counted;

/// The results of the cycles so far, and what they prove.
pub fn verify_standing(standing: &Standing, look: &Look) -> String {
    let cycles = standing.clean + standing.failed + standing.void;
    let words = format!("{} judged: {}.", counted(u64::from(cycles), "cycle"), counts(standing));
    let mut text = look.paragraph(&words);
    text += &ages(&standing.ages, look);
    text.push('\n');
    look.finish(text + &loss_bound(standing, look))
}

/// The number of cycles with each result.
fn counts(standing: &Standing) -> String {
    let Standing { clean, on_word, failed, void, unjudged, .. } = standing;
    let mut words = format!("{clean} kept");
    if *on_word > 0 {
        words += &format!(" ({on_word} with only the user's statement that the power was cut)");
    }
    words += &format!(", {failed} failed, {void} void");
    if *unjudged > 0 {
        words += &format!("; {unjudged} never judged");
    }
    words
}

/// The upper bound on losses that clean cycles prove.
pub(super) fn loss_bound(standing: &Standing, look: &Look) -> String {
    let words = match (standing.bound(), standing.failed, standing.unjudged) {
        (_, 1.., _) => {
            "A drive that failed once is not cleared by cycles that it passed.".to_owned()
        }
        (_, 0, unjudged @ 1..) => format!(
            "{} had acknowledged writes and {} never judged, so nothing follows from the clean \
             ones: the unjudged ones may contain a loss.",
            counted(u64::from(unjudged), "cycle"),
            if unjudged == 1 { "was" } else { "were" }
        ),
        (None, 0, 0) => return String::new(),
        (Some(bound), 0, 0) => {
            let clean = standing.clean;
            // The next round figure to aim for.
            let next = [0.5, 0.1, 0.05, 0.01, 0.001].into_iter().find(|&chance| chance < bound);
            let more = next.map_or(String::new(), |chance| {
                format!(
                    "; {} clean cycles would bring it below {}",
                    cycles_for(chance),
                    percent(chance)
                )
            });
            format!(
                "With {}, the chance of a loss in one cut is below {} at 95 % confidence{more}.",
                counted(u64::from(clean), "clean cycle"),
                percent(bound)
            )
        }
    };
    look.paragraph(&words)
}

/// Losses by age of the writes, without ages that have no required records.
pub(super) fn ages(ages: &[AgeCount], look: &Look) -> String {
    if ages.iter().all(|age| age.obligations == 0) {
        return String::new();
    }
    let mut table = Columns::<(String, &AgeCount)>::new()
        .with(Column::left("acknowledged before the end"), |(ages, _)| ages.clone())
        .with(Column::right("records"), |(_, age)| count(age.obligations))
        .with(Column::right("broken"), |(_, age)| count(age.broken));
    let mut from = "0".to_owned();
    for age in ages {
        let label = match age.up_to_ms {
            Some(up_to_ms) => {
                let to = if up_to_ms < 1000 {
                    format!("{up_to_ms} ms")
                } else {
                    format!("{} s", up_to_ms / 1000)
                };
                let label = format!("{from} to {to}");
                from = to;
                label
            }
            None => format!("{from} and more"),
        };
        if age.obligations > 0 {
            table.row(&(label, age));
        }
    }
    format!("\n{}{}", look.heading("Losses by age"), table.render(look))
}

/// The message for an event; `None` if the event is not shown.
pub fn verify_event(event: &Event) -> Option<String> {
    Some(match event {
        Event::Began(cycle, run) => {
            let drive = &run.circumstances.drive;
            let on = if drive.is_empty() { String::new() } else { format!(" ({drive})") };
            format!("cycle {cycle}: run {} begins on {}{on}", run.name(), run.circumstances.target)
        }
        Event::CutStarted(delay_ms) => {
            format!("cutting the power, {delay_ms} ms after a sync was acknowledged")
        }
        Event::CutFailed(why) => {
            format!("the cut command failed ({why}); cut the power by hand, or fix the command")
        }
        Event::Silent(commits) => format!(
            "the writer fell silent after {} acknowledged writes; check the target when its power \
             is back",
            count(*commits)
        ),
        Event::Ended(why) => format!("the writer ended on its own ({why})"),
        Event::Judged(outcome, standing) => {
            let result = match outcome.result {
                CycleResult::Kept => "kept",
                CycleResult::Fails => "FAILS",
                CycleResult::Void => "void",
            };
            format!(
                "verdict: {result}, {} of {} records broken; so far {}",
                count(outcome.broken),
                count(outcome.obligations),
                counts(standing)
            )
        }
        Event::TurnedAway(peer, what) => format!("{peer} was rejected: {what}"),
        Event::JournalFailed(_) => return None,
    })
}
