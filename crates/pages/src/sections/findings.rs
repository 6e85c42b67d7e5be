//! Findings with their evidence, linked to the charts that show it.

use maud::{Markup, html};
use measurement::{Evidence, Finding};

use super::overview::names;
use super::{RunSection, osds};
use crate::evidence::test_of;
use crate::fold::fold;
use crate::heading::{Level, Look};
use crate::prose::prose;

/// The tests of a run that evidence may link to.
struct Tests {
    /// Names of all tests.
    names: Vec<String>,
    /// Indexes of those that have a section.
    shown: Vec<usize>,
}

/// Every finding of a run in full.
pub(super) fn section(place: &RunSection<'_>) -> Markup {
    let results = &place.document.results;
    let tests = Tests { names: names(results), shown: osds::tests_shown(results) };
    let heading = place.part("findings", "Findings");
    let piece = |evidence: &Evidence| piece(place, evidence, &tests);
    all(&place.anchor, &heading, place.level().below(), &place.document.findings, &piece)
}

/// Findings in full below an anchor, with `piece` for each piece of evidence.
pub(super) fn all(
    anchor: &str,
    heading: &Markup,
    level: Level,
    findings: &[Finding],
    piece: &dyn Fn(&Evidence) -> Markup,
) -> Markup {
    html! {
        section.findings aria-labelledby={ (anchor) "-findings" } {
            (heading)
            @if findings.is_empty() { p.notice { "None in the numbers and facts of this run." } }
            @for (index, finding) in (1_usize..).zip(findings) {
                article.finding id={ (anchor) "-finding-" (index) } {
                    (fold(
                        &level.heading(Look::Title, None, &html! { (index) ". " (prose(&finding.title)) }),
                        &html! { dl {
                            dt { "because" }
                            dd { ul { @for evidence in &finding.evidence { li { (piece(evidence)) } } } }
                            dt { "confidence" }
                            dd { (prose(&report::confidence_words(finding))) }
                            dt { "to do" }
                            dd { (prose(&finding.advice)) }
                        } },
                    ))
                }
            }
        }
    }
}

/// A number links to the chart of its test, a fact to the facts.
fn piece(place: &RunSection<'_>, evidence: &Evidence, tests: &Tests) -> Markup {
    let words = report::evidence_words(evidence);
    let test = test_of(evidence, &place.document.results);
    match test.filter(|index| tests.shown.contains(index)) {
        Some(index) => html! {
            (prose(&words)) " " a.seen href={ "#" (place.test(index)) } { "seen in “" (tests.names[index]) "”" }
        },
        None if evidence.value.is_string() => html! {
            (prose(&words)) " " a.seen href={ "#" (place.within("facts")) } { "seen in the facts" }
        },
        None => prose(&words),
    }
}
