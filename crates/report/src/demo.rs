//! The demonstration of `verify`: what each drive did, and what was found out from outside.

use std::collections::BTreeMap;

use emulate::drive::Cut;
use verify::demo::DemoCycle;
use verify::sentences;
use workload::number::{latency, number};

use crate::look::{Look, paint};
use crate::prose::hanging;

/// Width of the drives' names on the left.
const LABEL: usize = 23;

/// What is about to be shown.
pub fn demo_intro(label: &str, look: &Look) -> String {
    let words = format!(
        "One after the other, emulated drives ({label}) are written to by seven lanes: four that flush, two whose writes bypass the cache (FUA), and one that does \
         neither. Their plug is pulled under load; they are switched on again and read back. On the left stands how a drive lies, behind \"really\" what the cut did to it. Whoever judges it below knows \
         neither: only the records, which say what they are, a journal of what had been acknowledged, and the drive's count of power cuts."
    );
    look.finish(hanging("", 0, &words, look.columns()) + "\n")
}

/// One drive, and how many cuts it took until there was something to tell.
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
        let classes: Vec<String> =
            classes.into_iter().map(|(class, count)| format!("{} {class}", number(count as f64))).collect();
        let rollback = verdict.rollback.map(|rollback| {
            format!("; one earlier moment explains all: {} before the cut", latency(rollback.by_us as f64))
        });
        (palette.bad, format!("fails: {}{}", classes.join(", "), rollback.unwrap_or_default()))
    } else if let Some(void) = cycle.voids.first() {
        (palette.warning, format!("void: {}", void.sentence()))
    } else {
        let lost = number(verdict.legal.control_lost as f64);
        (palette.good, format!("kept; of what nobody had called safe, {lost} records are missing"))
    };
    let first = paint(palette.strong, &format!("{name:<LABEL$}"));
    let mut text = hanging(
        &first,
        LABEL,
        &format!(
            "{} acknowledged writes{}",
            number(acknowledged as f64),
            if cuts > 1 { format!(", in cut {cuts}") } else { String::new() }
        ),
        look.columns(),
    );
    let indent = " ".repeat(LABEL);
    if let Some(cut) = &cycle.cut {
        text += &hanging(&indent, LABEL, &format!("really: {}", cut_words(cut)), look.columns());
    }
    let lines = hanging(&format!("{indent}{style}"), LABEL, &words, look.columns());
    text += &format!("{}{style:#}\n", lines.trim_end_matches('\n'));
    if let Some(finding) = verdict.findings.first() {
        text +=
            &hanging(&indent, LABEL, &format!("such as: {}", sentences::sentence(finding, &cycle.run)), look.columns());
    }
    look.finish(text)
}

/// What a cut did, as nobody but the emulator knows.
fn cut_words(cut: &Cut) -> String {
    let mut struck: BTreeMap<&str, u64> = BTreeMap::new();
    for injected in &cut.injected {
        *struck.entry(injected.fault.name()).or_default() += 1;
    }
    let lost = [
        (cut.lost_unacknowledged, "under way"),
        (cut.lost_unflushed, "that nobody had called safe"),
        (cut.lost_promised, "that the drive had called safe"),
    ];
    let lost = lost.into_iter().filter(|&(count, _)| count > 0);
    let mut words: Vec<String> = lost.map(|(count, which)| format!("{} {which}", number(count as f64))).collect();
    if words.is_empty() {
        words.push("nothing".to_owned());
    }
    let faults: Vec<String> =
        struck.into_iter().map(|(fault, count)| format!("{} {fault}", number(count as f64))).collect();
    let faults = if faults.is_empty() { String::new() } else { format!("; faults: {}", faults.join(", ")) };
    format!("writes lost at the cut: {}{faults}", words.join(", "))
}

/// What to do with a real one.
pub fn demo_outro(look: &Look) -> String {
    let words = "With a real drive: `flushmark verify write TARGET --journal FILE` (the journal on another drive), cut its power while that writes, and afterwards `flushmark verify check TARGET \
                 --journal FILE`. `flushmark verify --help` has the way with a second machine.";
    look.finish("\n".to_owned() + &hanging("", 0, words, look.columns()))
}
