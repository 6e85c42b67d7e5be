//! Findings with their evidence, and grades of fitness.

use std::collections::BTreeMap;

use anstyle::Style;
use measurement::{Confidence, Evidence, Finding, Fitness, FitnessUnderEachSetting, Grade, Use};
use workload::number::latency;

use crate::look::{Detail, Look, paint};
use crate::prose::within;

/// Findings listed in brief; the most important ones come first.
const BRIEF: usize = 5;
/// Width of the columns of a use and of a grade.
const USE: usize = 14;
const GRADE: usize = 11;

/// All findings: title, evidence, doubt and advice; in brief their titles, and the command that the
/// advice names.
pub(crate) fn findings(findings: &[Finding], look: &Look) -> String {
    if findings.is_empty() {
        return String::new();
    }
    if look.detail == Detail::Brief {
        return headlines(findings, look);
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

fn headlines(findings: &[Finding], look: &Look) -> String {
    let mut text = look.heading("Findings");
    for (index, finding) in findings.iter().take(BRIEF).enumerate() {
        text += &look.hanging(&format!("{:>2}. ", index + 1), &finding.title);
        if let Some(command) = command_in(&finding.advice) {
            text += &look.hanging_in(look.palette.strong, &format!("{:4}", ""), command);
        }
    }
    let more = findings.len().saturating_sub(BRIEF);
    let more = if more == 0 { String::new() } else { format!("{more} more, and ") };
    let hint = format!("-v shows {more}evidence, confidence and advice");
    text += &look.hanging_in(look.palette.faint, "    ", &hint);
    look.finish(text)
}

/// The first command that advice quotes: words between backticks, of which the first is a program.
/// A bare `flushmark check` would measure the current directory again, which is never the advice.
fn command_in(advice: &str) -> Option<&str> {
    let quoted = advice.split('`').skip(1).step_by(2);
    quoted.into_iter().find(|&words| {
        let program = words.split(' ').next().unwrap_or_default();
        PROGRAMS.contains(&program) && words.contains(' ') && words != "flushmark check"
    })
}

/// Programs that advice quotes.
const PROGRAMS: [&str; 9] =
    ["flushmark", "sudo", "mount", "echo", "lsblk", "findmnt", "smartctl", "tune2fs", "zpool"];

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
            "  {:<USE$}{}",
            fit_for.label(),
            paint(style_of(*grade, look), &format!("{:<GRADE$}", grade.name()))
        );
        text += &match look.detail {
            Detail::Full => look.hanging(&first, because),
            Detail::Brief => {
                let room = brief_columns(look) - (2 + USE + GRADE);
                look.hanging(&first, &within(because, room))
            }
        };
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
                "  {label:<USE$}{setting:<5}{}",
                paint(style_of(*grade, look), &format!("{:<GRADE$}", grade.name()))
            );
            text += &match look.detail {
                Detail::Full => look.hanging(&first, because),
                Detail::Brief => {
                    let room = brief_columns(look) - (2 + USE + 5 + GRADE);
                    look.hanging(&first, &within(because, room))
                }
            };
            label = "";
        }
    }
    look.finish(text)
}

/// Reasons are shortened to a line of this width. On a narrower page they take two, rather than lose
/// the limit that decided; more would not leave room for the rest on one screen.
fn brief_columns(look: &Look) -> usize {
    look.columns().max(80)
}

pub(crate) fn style_of(grade: Grade, look: &Look) -> Style {
    match grade {
        Grade::Excellent | Grade::Good => look.palette.good,
        Grade::Fair => look.palette.warning,
        Grade::Poor => look.palette.bad,
        Grade::Unfit => look.palette.worst,
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
    fn in_brief_a_finding_is_its_title_and_a_command() {
        let finding = |advice: &str| Finding {
            id: "x".to_owned(),
            title: "The drive loses its cache on power failure.".to_owned(),
            evidence: Vec::new(),
            confidence: Confidence::High,
            doubt: None,
            advice: advice.to_owned(),
        };
        let advice = [
            "Compare `write through` and run `flushmark cache off /dev/sda` as root.",
            "Run `flushmark verify` to find out.",
        ];
        let mut found: Vec<Finding> = advice.into_iter().map(finding).collect();
        let brief = Look { detail: Detail::Brief, ..Look::plain() };
        insta::assert_snapshot!(findings(&found, &brief), @"
        Findings
         1. The drive loses its cache on power failure.
            flushmark cache off /dev/sda
         2. The drive loses its cache on power failure.
            flushmark verify
            -v shows evidence, confidence and advice
        ");
        found.extend(vec![finding(""); 5]);
        insta::assert_snapshot!(findings(&found, &brief).lines().last().unwrap(), @"    -v shows 2 more, and evidence, confidence and advice");
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
