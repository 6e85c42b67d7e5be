//! The hardware of a planned cluster, and what to expect of it.

use ceph::sizing::{Advice, Basis, BlockDb, Layout, Prediction, Rule, SizingDocument, Span};
use workload::number::{capacity, latency, number};

use crate::columns::{Column, Columns};
use crate::look::{Look, paint};
use crate::prose::counted;

/// Labels at the start of a line.
const LABEL: usize = 18;

/// The plan, each recommendation with its rules, the predictions, and the sources.
pub fn ceph_sizing_page(document: &SizingDocument, look: &Look) -> String {
    let plan = &document.plan;
    let hosts = plan
        .hosts
        .map_or(String::new(), |hosts| format!(" on {}", counted(u64::from(hosts), "host")));
    let words = format!(
        "{} of {} ({}){hosts}, {}, workload {}, {}",
        counted(u64::from(plan.osds), "OSD"),
        capacity(plan.data_bytes),
        plan.medium.name(),
        plan.redundancy,
        plan.workload.name(),
        plan.release,
    );
    let mut text = look.labelled("cluster", LABEL, &words);
    let words = format!(
        "{} raw, {} for data if filled completely; keep room for a lost host",
        capacity(document.raw_bytes),
        capacity(document.usable_bytes)
    );
    text += &look.labelled("capacity", LABEL, &words);
    for note in &document.notes {
        text += &look.labelled("note", LABEL, note);
    }
    text += &format!("\n{}", look.heading("What to provide"));
    if let Some(db) = &document.block_db {
        text += &block_db(db, look);
    }
    for advice in &document.advice {
        text += &provided(advice, look);
    }
    if !document.predictions.is_empty() {
        text += &format!(
            "\n{}",
            look.heading("What to expect of 4 KiB overwrites, one at a time and in parallel")
        );
        text += &predictions(document, look);
    }
    if !document.references.is_empty() {
        text += &format!("\n{}", look.heading("Published figures to compare with"));
        document.references.iter().for_each(|rule| text += &said("  ", rule, look));
    }
    text += &format!("\n{}", look.heading("Sources"));
    text += &Columns::new()
        .with(Column::left(""), |source: &ceph::sizing::SourceRecord| source.name)
        .with(Column::prose(""), |source| source.place)
        .of(&document.sources, look);
    look.finish(text)
}

fn block_db(db: &BlockDb, look: &Look) -> String {
    let mut take = format!("{} per OSD, {} % of it", capacity(db.bytes), number(db.percent));
    if let (Some(osds), Some(bytes)) = (db.osds_per_device, db.bytes_per_device) {
        take += &format!(
            "; {} for {} that share a device",
            capacity(bytes),
            counted(u64::from(osds), "OSD")
        );
    }
    let mut text = recommendation("block.db", &take, look);
    if let Some(given) = &db.given {
        let words = format!(
            "{}, {} %. {}",
            capacity(given.bytes),
            number(given.percent),
            given.notes.join(" ")
        );
        text += &look.detail("yours", &words);
    }
    db.rules.iter().for_each(|rule| text += &said("    ", rule, look));
    text
}

fn provided(advice: &Advice, look: &Look) -> String {
    let mut text = recommendation(advice.subject, &advice.take, look);
    advice.rules.iter().for_each(|rule| text += &said("    ", rule, look));
    text
}

fn recommendation(subject: &str, take: &str, look: &Look) -> String {
    let label = format!("  {subject:<width$}", width = LABEL - 2);
    look.hanging_in(look.palette.strong, &label, take)
}

/// The rule, its source and the releases that it holds for.
fn said(indent: &str, rule: &Rule, look: &Look) -> String {
    let words = format!("{} [{}: {}]", rule.says, rule.source.name(), rule.releases);
    look.hanging(&paint(look.palette.faint, &format!("{indent}- ")), &words)
}

fn predictions(document: &SizingDocument, look: &Look) -> String {
    let mut text = Columns::new()
        .with(Column::left("layout"), |row: &Prediction| row.layout.name())
        .with(Column::left("log on"), |row| row.drive.clone())
        .with(Column::right("commit").may_drop(1), |row| latency(row.commit_us))
        .with(Column::left("").may_drop(5), |row| row.commit_basis.name())
        .with(Column::right("k").may_drop(2), |row| number(row.commits))
        .with(Column::right("latency"), |row| between(row.latency_us, latency))
        .with(Column::right("per second").may_drop(4), |row| between(row.depth_1_per_s, number))
        .with(Column::right("parallel/s").may_drop(3), |row| {
            row.total_per_s.map(|total| between(total, number))
        })
        .of(&document.predictions, look);
    let widest = document.predictions.iter().map(|row| row.error_percent).fold(0.0_f64, f64::max);
    let error = match document.software_basis {
        Basis::Fitted => format!(
            "S and k are fitted to a cluster, whose measurements deviate from the prediction by {} % \
             (standard deviation). S is different on your hosts.",
            number(widest)
        ),
        Basis::Given | Basis::Modelled | Basis::Sources => format!(
            "The range of S alone is an error of up to ±{} %, and neither S nor k of this release \
             is fitted to a cluster.",
            number(widest)
        ),
    };
    let words = format!(
        "Latency is S + k x commit + {} x round trip. S, Ceph's own time, is {}; the round trip is \
         {}. {error} One at a time, the number of OSDs does not matter.",
        if document.plan.redundancy.osds() > 1 { "2" } else { "1" },
        between(document.software_us, latency),
        latency(document.plan.rtt_us),
    );
    text += &look.paragraph(&words);
    document.latency_rules.iter().for_each(|rule| text += &said("  ", rule, look));
    let mut shown: Vec<Layout> = Vec::new();
    for row in &document.predictions {
        let Some(rule) = row.total_rule.as_ref().filter(|_| !shown.contains(&row.layout)) else {
            continue;
        };
        shown.push(row.layout);
        let copies = document.plan.redundancy.osds();
        let says = format!(
            "In parallel, {}: {}; times {}, divided by {copies}",
            row.layout.name(),
            rule.says,
            counted(u64::from(document.plan.osds), "OSD"),
        );
        text += &said("  ", &Rule { says, ..rule.clone() }, look);
    }
    if document.predictions.iter().any(|row| row.total_per_s.is_none()) {
        text += &look
            .paragraph("No source has a parallel rate with flash of fewer than 10,000 commits/s.");
    }
    text
}

/// `1.1-1.3 ms`, or one figure if both ends look the same.
fn between(span: Span, shown: impl Fn(f64) -> String) -> String {
    let (low, high) = (shown(span.low), shown(span.high));
    if low == high {
        return low;
    }
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    match (low.split_once(' '), unit(&low) == unit(&high)) {
        (Some((value, _)), true) => format!("{value}-{high}"),
        _ => format!("{low}-{high}"),
    }
}

#[cfg(test)]
#[path = "sizing/golden.rs"]
mod golden;
