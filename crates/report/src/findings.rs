//! Findings with their evidence, and grades of fitness.

use std::collections::BTreeMap;

use anstyle::Style;
use measurement::{Confidence, Evidence, Finding, Fitness, FitnessUnderEachSetting, Grade, Use};
use workload::number::latency;

use crate::look::{Look, paint};

/// All findings: title, evidence, doubt and advice.
pub(crate) fn findings(findings: &[Finding], look: &Look) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut text = look.heading("Findings");
    for (index, finding) in findings.iter().enumerate() {
        let number = format!("{:>2}. ", index + 1);
        text += &look.hanging_in(look.palette.strong, &number, &finding.title);
        let evidence: Vec<String> = finding.evidence.iter().map(evidence_words).collect();
        text += &look.detail("because", &evidence.join("; "));
        text += &look.detail("confidence", &confidence_words(finding));
        text += &look.detail("to do", &finding.advice);
    }
    look.finish(text)
}

/// The confidence in a finding, with the reason if it is lowered.
pub fn confidence_words(finding: &Finding) -> String {
    let word = match finding.confidence {
        Confidence::Low => "low",
        Confidence::Medium => "medium",
        Confidence::High => "high",
    };
    finding.doubt.as_ref().map_or_else(|| word.to_owned(), |doubt| format!("{word}: {doubt}"))
}

/// The evidence as text: `write + fsync p50 1.74 ms`.
pub fn evidence_words(evidence: &Evidence) -> String {
    let value = match (&evidence.value, evidence.unit.as_str()) {
        (value, "us") => value.as_f64().map_or_else(|| value.to_string(), latency),
        (value, unit) => {
            let words = match (value.as_str(), value.as_f64()) {
                (Some(words), _) => words.to_owned(),
                (None, Some(number)) => trimmed(number),
                (None, None) => value.to_string(),
            };
            if unit.is_empty() { words } else { format!("{words} {unit}") }
        }
    };
    format!("{} {value}", evidence.what)
}

/// A number with at most two decimals, without trailing zeros.
fn trimmed(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The grade of each use with its reason.
pub(crate) fn fitness(fitness: &BTreeMap<Use, Fitness>, look: &Look) -> String {
    if fitness.is_empty() {
        return String::new();
    }
    let mut text = look.heading("Fit for");
    for fit_for in Use::ALL {
        let Some(Fitness { grade, because }) = fitness.get(&fit_for) else { continue };
        let first = format!(
            "  {:<14}{}",
            fit_for.label(),
            paint(style_of(*grade, look), &format!("{:<11}", grade.name()))
        );
        text += &look.hanging(&first, because);
    }
    look.finish(text)
}

/// The grades of each use with the write cache off and with it on.
pub(crate) fn fitness_under_each_setting(grades: &FitnessUnderEachSetting, look: &Look) -> String {
    let mut text = look.heading("Fit for, with the write cache off and on");
    for fit_for in Use::ALL {
        let mut label = fit_for.label();
        for (setting, fitness) in [("off", &grades.off), ("on", &grades.on)] {
            let Some(Fitness { grade, because }) = fitness.get(&fit_for) else { continue };
            let first = format!(
                "  {label:<14}{setting:<5}{}",
                paint(style_of(*grade, look), &format!("{:<11}", grade.name()))
            );
            text += &look.hanging(&first, because);
            label = "";
        }
    }
    look.finish(text)
}

fn style_of(grade: Grade, look: &Look) -> Style {
    match grade {
        Grade::Excellent | Grade::Good => look.palette.good,
        Grade::Fair | Grade::Poor => look.palette.warning,
        Grade::Unfit => look.palette.bad,
        Grade::Unknown => look.palette.faint,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_shows_everything_it_has() {
        let finding = Finding {
            id: "no-power-loss-protection".to_owned(),
            title: "This drive has no power-loss protection: a 4 KiB commit takes 1.74 ms, 82 \
                    times its write alone."
                .to_owned(),
            evidence: vec![
                Evidence::number("write + fsync p50", 1740.0, "us"),
                Evidence::number("ratio", 82.0, ""),
                Evidence::fact("kernel's view of the cache", "write back"),
            ],
            confidence: Confidence::Medium,
            doubt: Some("the latencies fall into two groups".to_owned()),
            advice: "Use a drive with capacitors for databases.".to_owned(),
        };
        insta::assert_snapshot!(findings(&[finding], &Look::plain()), @"
        Findings
         1. This drive has no power-loss protection: a 4 KiB commit takes 1.74 ms, 82 times its write alone.
            because: write + fsync p50 1.74 ms; ratio 82; kernel's view of the cache write back
            confidence: medium: the latencies fall into two groups
            to do: Use a drive with capacitors for databases.
        ");
        assert_eq!(findings(&[], &Look::plain()), "");
    }

    #[test]
    fn grades_are_shown_with_their_reasons() {
        let fit = |grade, because: &str| Fitness { grade, because: because.to_owned() };
        let all = BTreeMap::from([
            (
                Use::CephOsd,
                fit(Grade::Poor, "574 commits/s at depth 1; OSDs want 10 000 and more."),
            ),
            (Use::General, fit(Grade::Good, "Reads and unsynced writes are fast.")),
        ]);
        insta::assert_snapshot!(fitness(&all, &Look::plain()), @"
        Fit for
          Ceph OSD      poor       574 commits/s at depth 1; OSDs want 10 000 and more.
          general use   good       Reads and unsynced writes are fast.
        ");
    }
}
