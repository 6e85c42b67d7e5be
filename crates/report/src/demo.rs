//! The demonstration of `verify`: how each emulated drive behaved, and what `verify` found.

use std::collections::BTreeMap;

use emulate::Cut;
use verify::demo::DemoCycle;
use verify::sentences;
use workload::number::{latency, number};

use crate::look::{Look, paint};

const LABEL: usize = 23;

/// The introduction of the demonstration.
pub fn demo_intro(label: &str, look: &Look) -> String {
    let words = format!(
        "Seven lanes write to each emulated drive ({label}): four that flush, two whose writes \
         bypass the cache (FUA), and one that does \
        neither. The drive loses power under load, is switched on again and read back. The left \
         column shows how the drive lies, \"really\" what the power cut did to it. The verdict \
         below is made without \
        that knowledge, only from the self-describing records, the journal of acknowledged writes, \
         and the drive's count of power cuts."
    );
    look.finish(look.paragraph(&words) + "\n")
}

/// One drive, and the number of power cuts until there was a result.
pub fn demo_cycle(lie: &str, cycle: &DemoCycle, cuts: u64, look: &Look) -> String {
    let name = if lie.is_empty() { "honest" } else { lie };
    let verdict = &cycle.verdict;
    let acknowledged = verdict.acknowledged_writes();
    let palette = &look.palette;
    let (style, words) = if !verdict.is_kept() {
        let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
        for finding in &verdict.findings {
            *classes.entry(finding.class.name()).or_default() += 1;
        }
        let classes: Vec<String> = classes
            .into_iter()
            .map(|(class, count)| format!("{} {class}", number(count as f64)))
            .collect();
        let rollback = verdict.rollback.map(|rollback| {
            format!(
                "; consistent with a rollback to {} before the cut",
                latency(rollback.by_us as f64)
            )
        });
        (palette.bad, format!("fails: {}{}", classes.join(", "), rollback.unwrap_or_default()))
    } else if let Some(void) = cycle.voids.first() {
        (palette.warning, format!("void: {}", void.sentence()))
    } else {
        let lost = number(verdict.legal.control_lost as f64);
        (palette.good, format!("kept; {lost} records that no flush had covered are missing"))
    };
    let first = paint(palette.strong, &format!("{name:<LABEL$}"));
    let mut text = look.hanging(
        &first,
        &format!(
            "{} acknowledged writes{}",
            number(acknowledged as f64),
            if cuts > 1 { format!(", in cut {cuts}") } else { String::new() }
        ),
    );
    let indent = " ".repeat(LABEL);
    if let Some(cut) = &cycle.cut {
        text += &look.hanging(&indent, &format!("really: {}", cut_words(cut)));
    }
    text += &look.hanging_in(style, &indent, &words);
    if let Some(finding) = verdict.findings.first() {
        text += &look
            .hanging(&indent, &format!("such as: {}", sentences::sentence(finding, &cycle.run)));
    }
    look.finish(text)
}

/// The effect of a cut, as known only to the emulator.
fn cut_words(cut: &Cut) -> String {
    let mut struck: BTreeMap<&str, u64> = BTreeMap::new();
    for injected in &cut.injected {
        *struck.entry(injected.fault.name()).or_default() += 1;
    }
    let lost = [
        (cut.lost_unacknowledged, "unacknowledged"),
        (cut.lost_unflushed, "acknowledged but not flushed"),
        (cut.lost_promised, "acknowledged as durable"),
    ];
    let lost = lost.into_iter().filter(|&(count, _)| count > 0);
    let mut words: Vec<String> =
        lost.map(|(count, which)| format!("{} {which}", number(count as f64))).collect();
    if words.is_empty() {
        words.push("nothing".to_owned());
    }
    let faults: Vec<String> = struck
        .into_iter()
        .map(|(fault, count)| format!("{} {fault}", number(count as f64)))
        .collect();
    let faults =
        if faults.is_empty() { String::new() } else { format!("; faults: {}", faults.join(", ")) };
    format!("writes lost at the cut: {}{faults}", words.join(", "))
}

/// Instructions for a real drive.
pub fn demo_outro(look: &Look) -> String {
    let words = "With a real drive: run `flushmark verify write TARGET --journal FILE` (with the \
                 journal on another drive), cut the drive's power while it writes, then run \
                 `flushmark verify check TARGET \
    --journal FILE`. `flushmark verify --help` describes the setup with a second machine.";
    look.finish("\n".to_owned() + &look.paragraph(words))
}
