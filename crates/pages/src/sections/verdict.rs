//! The verdict: what the storage is suited for, and the reason.

use maud::{Markup, html};
use measurement::{Fitness, Grade, Use};

use super::RunSection;
use crate::heading::Look;
use crate::prose::prose;

/// Steps of a grade's gauge.
const STEPS: usize = 5;

/// The grades with their reasons, and the titles of the findings.
pub(super) fn section(place: &RunSection<'_>) -> Markup {
    let document = place.document;
    let grades: Vec<(Use, &Fitness)> = Use::ALL
        .into_iter()
        .filter_map(|fit_for| Some((fit_for, document.fitness.get(&fit_for)?)))
        .collect();
    let known = grades.iter().any(|(_, fitness)| fitness.grade != Grade::Unknown);
    html! {
        section.verdict aria-labelledby=(place.within("verdict")) {
            (place.part("verdict", "Verdict"))
            @if let Some(finding) = document.findings.first() {
                p.deciding { (prose(&finding.title)) }
            }
            @if let (false, Some((_, fitness))) = (known, grades.first()) {
                p.notice { "No grades: " (prose(&fitness.because)) " " code { "flushmark check" } " grades what storage is fit for." }
            } @else if grades.is_empty() {
                p.notice {
                    "No grades: "
                    @match &document.source {
                        Some(source) => { (source.tool) " measured, and its output does not \
                            contain enough to judge by." }
                        None => { "this suite does not measure what the storage is fit for; " code { "flushmark check" } " does." }
                    }
                }
            } @else {
                ul.grades {
                    @for (fit_for, Fitness { grade, because }) in grades {
                        li class={ "grade " (grade.name()) } {
                            (place.level().below().heading(Look::Title, None, &html! { (fit_for.label()) }))
                            p.word { (gauge(*grade)) strong { (grade.name()) } }
                            p { (prose(because)) }
                        }
                    }
                }
            }
            @if document.findings.len() > 1 {
                ul.more {
                    @for (index, finding) in document.findings.iter().enumerate().skip(1) {
                        li { a href={ "#" (place.within(&format!("finding-{}", index + 1))) } { (prose(&finding.title)) } }
                    }
                }
            }
        }
    }
}

/// As many filled marks as the grade is worth, readable without colour.
fn gauge(grade: Grade) -> Markup {
    let filled = match grade {
        Grade::Unknown => 0,
        Grade::Unfit => 1,
        Grade::Poor => 2,
        Grade::Fair => 3,
        Grade::Good => 4,
        Grade::Excellent => 5,
    };
    html! {
        span.gauge aria-hidden="true" {
            @for step in 0..STEPS { span.filled[step < filled] {} }
        }
    }
}
