//! The audit of a host: dangerous and costly settings in detail, good ones as a list.

use measurement::host_document::{Effect, SettingEffect};
use measurement::{AuditLine, HostDocument, HostGrade};
use workload::number::{latency, number};

use crate::columns::{Column, Columns};
use crate::look::Look;
use crate::target::host_words;

/// The machine, the audit lines by grade, and the measured effects.
pub fn host_page(document: &HostDocument, look: &Look) -> String {
    let mut text = look.labelled("host", 13, &host_words(&document.facts));
    let of = |grade| document.audit.iter().filter(move |line| line.grade == grade);
    for (grade, title, style) in [
        (HostGrade::Dangerous, "Dangerous: data may be lost", look.palette.bad),
        (HostGrade::CostsLatency, "Costs latency", look.palette.warning),
    ] {
        for (index, line) in of(grade).enumerate() {
            if index == 0 {
                text += &format!("\n{}", look.heading(title));
            }
            text += &entry(line, style, look);
        }
    }
    for (grade, title) in
        [(HostGrade::Unknown, "Unknown from this host"), (HostGrade::Good, "Good")]
    {
        let mut lines = of(grade).peekable();
        if lines.peek().is_none() {
            continue;
        }
        text += &format!("\n{}", look.heading(title));
        text += &Columns::<AuditLine>::new()
            .with(Column::left(""), |line| line.subject.clone())
            .with(Column::prose(""), |line| match (&line.command, grade) {
                (_, HostGrade::Unknown) => format!("{}. {} {}", line.found, line.why, line.advice),
                (Some(command), _) => format!("{} (`{command}`)", line.found),
                (None, _) if !line.advice.is_empty() => format!("{}. {}", line.found, line.advice),
                (None, _) => line.found.clone(),
            })
            .of(lines, look);
    }
    if document.audit.is_empty() {
        text += "\nNo facts about this machine: are /proc and /sys mounted?\n";
    }
    for (effect, change, cause) in [
        (&document.measured, "C-states held off", "Deep C-states increase"),
        (
            &document.measured_governor,
            "the governor performance",
            "The host's own governor increases",
        ),
    ] {
        if let Some(effect) = effect {
            text += &format!("\n{}", measured(effect, change, cause, look));
        }
    }
    if !document.not_measured.is_empty() {
        text += &format!("\n{}", look.heading("Not measured"));
        for reason in &document.not_measured {
            text += &look.hanging("  ", reason);
        }
    }
    look.finish(text)
}

fn entry(line: &AuditLine, style: anstyle::Style, look: &Look) -> String {
    let mut text = look.hanging("  ", &format!("{}: {}", line.subject, line.found));
    text = format!("{style}{}{style:#}\n", text.trim_end_matches('\n'));
    text += &look.detail("why", &line.why);
    if !line.advice.is_empty() {
        text += &look.detail("to do", &line.advice);
    }
    if let Some(command) = &line.command {
        // A command is not wrapped, so that it can be copied.
        text += &format!("{:6}$ {command}\n", "");
    }
    text
}

fn measured(effect: &SettingEffect, change: &str, cause: &str, look: &Look) -> String {
    let mut text = look.heading(&format!("With {change}, measured in {}", effect.path));
    text += &Columns::<Effect>::new()
        .with(Column::left("median latency"), |test| test.test.clone())
        .with(Column::right("as the host is set"), |test| latency(test.before_us))
        .with(Column::right("changed"), |test| latency(test.after_us))
        .with(Column::right("ratio"), |test| format!("{} x", number(test.ratio())))
        .with(Column::right("in single rounds").optional(), |test| {
            let (lowest, highest) = test.ratios?;
            Some(format!("{} to {} x", number(lowest), number(highest)))
        })
        .of(&effect.tests, look);
    let noticed = effect.tests.iter().filter(|test| test.exceeds_noise());
    let words = match noticed.map(Effect::ratio).max_by(f64::total_cmp) {
        Some(most) => format!(
            "{cause} the latency up to {} times. The setting was changed only during the tests ({} \
             rounds each).",
            number(most),
            effect.rounds
        ),
        None => format!(
            "No effect: the difference is within the noise of {} rounds each.",
            effect.rounds
        ),
    };
    text + &look.paragraph(&words)
}

#[cfg(test)]
mod golden;
