//! The audit of a host: dangerous and costly settings in detail, good ones as a list.

use measurement::host_document::{CStateEffect, Effect};
use measurement::{AuditLine, HostDocument, HostGrade};
use workload::number::{latency, number};

use crate::columns::{Column, Columns};
use crate::look::{Look, paint};
use crate::target::host_words;

/// Below this factor the difference may be run-to-run variation.
const NOTICEABLE: f64 = 1.1;

/// The machine, the audit lines by grade, and the measured effect of C-states.
pub fn host_page(document: &HostDocument, look: &Look) -> String {
    let mut text = format!(
        "{}{}\n",
        paint(look.palette.faint, &format!("{:<13}", "host")),
        host_words(&document.facts)
    );
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
                (None, _) => line.found.clone(),
            })
            .of(lines, look);
    }
    if document.audit.is_empty() {
        text += "\nNo facts about this machine: are /proc and /sys mounted?\n";
    }
    if let Some(effect) = &document.measured {
        text += &format!("\n{}", measured(effect, look));
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

fn measured(effect: &CStateEffect, look: &Look) -> String {
    let mut text = look.heading(&format!("With C-states held off, measured in {}", effect.path));
    text += &Columns::<Effect>::new()
        .with(Column::left("median latency"), |test| test.test.clone())
        .with(Column::right("as the host is set"), |test| latency(test.before_us))
        .with(Column::right("held off"), |test| latency(test.after_us))
        .with(Column::right("ratio"), |test| format!("{} x", number(test.ratio())))
        .of(&effect.tests, look);
    let most = effect.tests.iter().map(Effect::ratio).fold(1.0, f64::max);
    let words = if most >= NOTICEABLE {
        format!(
            "Deep C-states increase the latency up to {} times. They were held off only during the \
             tests ({} rounds each).",
            number(most),
            effect.rounds
        )
    } else {
        format!("C-states make no noticeable difference ({} rounds each).", effect.rounds)
    };
    text + &look.paragraph(&words)
}

#[cfg(test)]
mod golden;
