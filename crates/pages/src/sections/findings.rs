//! Findings with their evidence, linked to the charts that show it.

use maud::{Markup, html};
use measurement::{Evidence, Finding};

use super::overview::names;
use super::{RunSection, osds};
use crate::evidence::test_of;
use crate::heading::Look;
use crate::prose::prose;

/// The tests of a run that evidence may link to.
struct Tests {
    /// Names of all tests.
    names: Vec<String>,
    /// Indexes of those that have a section.
    shown: Vec<usize>,
}

/// Every finding in full.
pub(super) fn section(place: &RunSection<'_>) -> Markup {
    let findings = &place.document.findings;
    let results = &place.document.results;
    let tests = Tests { names: names(results), shown: osds::tests_shown(results) };
    html! {
        section.findings aria-labelledby=(place.within("findings")) {
            (place.part("findings", "Findings"))
            @if findings.is_empty() { p.notice { "None: nothing in the numbers or facts is \
                                                  unusual." } }
            @for (index, finding) in findings.iter().enumerate() { (one(place, index, finding, &tests)) }
        }
    }
}

fn one(place: &RunSection<'_>, index: usize, finding: &Finding, tests: &Tests) -> Markup {
    html! {
        article.finding id=(place.within(&format!("finding-{}", index + 1))) {
            (place.level().below().heading(Look::Title, None, &html! { (index + 1) ". " (prose(&finding.title)) }))
            dl {
                dt { "because" }
                dd { ul { @for evidence in &finding.evidence { li { (piece(place, evidence, tests)) } } } }
                dt { "confidence" }
                dd { (prose(&report::confidence_words(finding))) }
                dt { "to do" }
                dd { (prose(&finding.advice)) }
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
