//! The demonstration of `verify`: what each drive did, and what was found out from outside.

use std::collections::BTreeMap;

use verify::demo::Cycle;
use verify::words;

use crate::look::{Look, paint};
use crate::number::rate;
use crate::prose::hanging;

/// Width of the drives' names on the left.
const LABEL: usize = 23;

/// What is about to be shown.
pub fn demo_intro(label: &str, look: &Look) -> String {
    let words = format!(
        "One after the other, emulated drives ({label}) are written to by seven lanes: four that flush, two whose writes bypass the cache (FUA), and one that does \
         neither. A second later their plug is pulled under load; they are switched on again and read back. What a drive really did is on the left. Whoever judges it on the right knows nothing of \
         that: only the records, which say what they are, and a journal of what had been acknowledged."
    );
    look.finish(hanging("", 0, &words, look.columns()) + "\n")
}

/// One drive, and how many cuts it took until there was something to tell.
pub fn demo_cycle(lie: &str, cycle: &Cycle, cuts: u64, look: &Look) -> String {
    let name = if lie.is_empty() { "honest" } else { lie };
    let verdict = &cycle.verdict;
    let acknowledged: u64 = verdict.tallies.iter().map(|tally| tally.acknowledged_writes).sum();
    let palette = &look.palette;
    let (style, words) = if !verdict.is_kept() {
        let mut classes: BTreeMap<&str, u64> = BTreeMap::new();
        for finding in &verdict.findings {
            *classes.entry(finding.class.name()).or_default() += 1;
        }
        let classes: Vec<String> =
            classes.into_iter().map(|(class, count)| format!("{} {class}", rate(count as f64))).collect();
        let rollback = verdict.rollback.map(|rollback| {
            format!("; one earlier moment explains all: {} before the cut", words::age(rollback.by_us))
        });
        (palette.bad, format!("fails: {}{}", classes.join(", "), rollback.unwrap_or_default()))
    } else if let Some(void) = cycle.voids.first() {
        (palette.warning, format!("void: {}", void.sentence()))
    } else {
        (
            palette.good,
            format!(
                "kept; {} writes that nobody had called safe were lost, so the cut did bite",
                rate(verdict.legal.control_lost as f64)
            ),
        )
    };
    let first = paint(palette.strong, &format!("{name:<LABEL$}"));
    let mut text = hanging(
        &first,
        LABEL,
        &format!(
            "{} acknowledged writes{}",
            rate(acknowledged as f64),
            if cuts > 1 { format!(", in cut {cuts}") } else { String::new() }
        ),
        look.columns(),
    );
    let indent = " ".repeat(LABEL);
    let lines = hanging(&format!("{indent}{style}"), LABEL, &words, look.columns());
    text += &format!("{}{style:#}\n", lines.trim_end_matches('\n'));
    if let Some(finding) = verdict.findings.first() {
        text += &hanging(&indent, LABEL, &format!("such as: {}", words::sentence(finding, &cycle.run)), look.columns());
    }
    look.finish(text)
}

/// What to do with a real one.
pub fn demo_outro(look: &Look) -> String {
    let words = "With a real drive: `flushmark verify write TARGET --journal FILE` (the journal on another drive), cut its power while that writes, and afterwards `flushmark verify check TARGET \
                 --journal FILE`. `flushmark verify --help` has the way with a second machine.";
    look.finish("\n".to_owned() + &hanging("", 0, words, look.columns()))
}
