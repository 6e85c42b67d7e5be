//! The verdict: what the storage is suited for, and the reason.

use maud::{Markup, html};
use measurement::{Fitness, Grade, RunDocument, Use};
use workload::WriteCache;

use super::RunSection;
use crate::heading::Look;
use crate::prose::prose;

/// Findings that are listed below the grades, besides the one that decides.
const MORE_MAX: usize = 4;
/// Steps of a grade's gauge.
pub(crate) const STEPS: usize = 5;

/// The grades with their reasons, and the titles of the findings.
///
/// `answer` is the sentence of the run's picture; without grades, it is the verdict.
pub(super) fn section(place: &RunSection<'_>, answer: Option<&str>) -> Markup {
    let document = place.document;
    let grades: Vec<(Use, &Fitness)> = Use::ALL
        .into_iter()
        .filter_map(|fit_for| Some((fit_for, document.fitness.get(&fit_for)?)))
        .collect();
    let known = grades.iter().any(|(_, fitness)| fitness.grade != Grade::Unknown);
    let answer = answer.filter(|_| !known);
    // A probe's own finding decides, or else the first one, unless something else does.
    let own = document.findings.iter().position(|finding| finding.id == document.suite);
    let above = answer.is_none().then(|| own.unwrap_or(0));
    let deciding =
        answer.or_else(|| above.and_then(|at| Some(document.findings.get(at)?.title.as_str())));
    html! {
        section.verdict aria-labelledby=(place.within("verdict")) {
            (place.part("verdict", "Verdict"))
            @if let Some(deciding) = &deciding { p.deciding { (prose(deciding)) } }
            @if let (false, Some((_, fitness))) = (known, grades.first()) {
                p.notice { "No grades. " (prose(&fitness.because)) " " code { "flushmark check" } " grades what storage is fit for." }
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
                @if let Some(setting) = graded_setting(document) {
                    p { "With the write cache " (setting.name()) ":" }
                }
                ul.grades {
                    @for (fit_for, Fitness { grade, because }) in grades {
                        li class={ "grade " (grade.name()) } {
                            (place.level().below().heading(Look::Title, None, &html! { (fit_for.label()) }))
                            p.word { (gauge(*grade)) strong { span.sign aria-hidden="true" { (sign(*grade)) } (grade.name()) } }
                            p { (prose(because)) }
                        }
                    }
                }
            }
            @if let Some(sentence) = grades_under_each_setting(document) {
                p { (prose(&sentence)) }
            }
            @let others = document.findings.len().saturating_sub(usize::from(above.is_some()));
            @if others > 0 {
                ul.more {
                    @for (index, finding) in document.findings.iter().enumerate().filter(|(at, _)| Some(*at) != above).take(MORE_MAX) {
                        li { a href={ "#" (place.within(&format!("finding-{}", index + 1))) } { (prose(&finding.title)) } }
                    }
                    @if others > MORE_MAX {
                        li { a href={ "#" (place.within("findings")) } { (others - MORE_MAX) " more" } }
                    }
                }
            }
        }
    }
}

/// The setting that the grades are for, if both were measured and it makes a difference.
fn graded_setting(document: &RunDocument) -> Option<WriteCache> {
    let grades = document.fitness_under_each_setting.as_ref()?;
    match (document.fitness == grades.off, document.fitness == grades.on) {
        (true, false) => Some(WriteCache::Off),
        (false, true) => Some(WriteCache::On),
        _ => None,
    }
}

/// The grades with the write cache off and on, in a sentence; `None` unless both were measured.
fn grades_under_each_setting(document: &RunDocument) -> Option<String> {
    let grades = document.fitness_under_each_setting.as_ref()?;
    let [off, on] = [&grades.off, &grades.on].map(|fitness| {
        let grade = |fit_for: Use| {
            Some(format!("{} {}", fit_for.label(), fitness.get(&fit_for)?.grade.name()))
        };
        Use::ALL.into_iter().filter_map(grade).collect::<Vec<_>>().join(", ")
    });
    Some(match graded_setting(document) {
        Some(WriteCache::Off) => format!("With it on: {on}."),
        Some(_) => format!("With it off: {off}."),
        None => format!("With the write cache off: {off}; with it on: {on}."),
    })
}

/// As many filled marks as the grade is worth, readable without colour.
fn gauge(grade: Grade) -> Markup {
    html! {
        span.gauge aria-hidden="true" {
            @for step in 0..STEPS { span.filled[step < filled(grade)] {} }
        }
    }
}

/// The number of a gauge's marks that are filled.
pub(crate) const fn filled(grade: Grade) -> usize {
    match grade {
        Grade::Unknown => 0,
        Grade::Unfit => 1,
        Grade::Poor => 2,
        Grade::Fair => 3,
        Grade::Good => 4,
        Grade::Excellent => 5,
    }
}

/// A sign before the word: two grades never differ by colour alone.
pub(crate) const fn sign(grade: Grade) -> &'static str {
    match grade {
        Grade::Unknown => "?",
        Grade::Unfit => "✗",
        Grade::Poor => "!",
        Grade::Fair => "~",
        Grade::Good => "✓",
        Grade::Excellent => "✓✓",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_under_both_settings_has_grades_for_both() {
        let under = |setting, sync_us| {
            let results = samples::suite("write-cache", 15.0, sync_us).into_iter();
            results.filter(move |result| result.workload.write_cache == setting)
        };
        let judged = |results: Vec<measurement::TestResult>| {
            let document = samples::document(results);
            let case = judge::Case::new(&document.results, None, &document.host);
            let fitness_under_each_setting = judge::judge(&case).under_each_setting;
            RunDocument { fitness_under_each_setting, ..document }
        };
        let off = under(WriteCache::Off, 25.0);
        let both = judged(off.chain(under(WriteCache::On, 1700.0)).collect());
        let graded_on = both.fitness_under_each_setting.clone().unwrap().on;
        let now_on = RunDocument { fitness: graded_on, ..both.clone() };
        insta::assert_snapshot!(grades_under_each_setting(&now_on).unwrap(), @"With it off: Ceph OSD good, ZFS SLOG excellent, database log excellent, general use excellent.");
        insta::assert_snapshot!(grades_under_each_setting(&both).unwrap(), @"With the write cache off: Ceph OSD good, ZFS SLOG excellent, database log excellent, general use excellent; with it on: Ceph OSD poor, ZFS SLOG poor, database log fair, general use good.");
        let one = judged(under(WriteCache::On, 1700.0).collect());
        assert_eq!(grades_under_each_setting(&one), None);
    }
}
