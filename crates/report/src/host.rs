//! The audit of a host: dangerous and costly settings in detail, good ones as a list.

use measurement::host_document::CStateEffect;
use measurement::{AuditLine, HostDocument, HostGrade};
use workload::number::{latency, number};

use crate::columns::{Cell, Column, Columns};
use crate::look::{Look, paint};
use crate::prose::{detail, hanging};
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
        let mut table = Columns::new([Column::left(""), Column::prose("")]);
        for line in lines {
            let words = match (&line.command, grade) {
                (_, HostGrade::Unknown) => format!("{}. {} {}", line.found, line.why, line.advice),
                (Some(command), _) => format!("{} (`{command}`)", line.found),
                (None, _) => line.found.clone(),
            };
            table.row([Cell::from(line.subject.clone()), Cell::from(words)]);
        }
        text += &table.render(look);
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
    let mut text = hanging("  ", 2, &format!("{}: {}", line.subject, line.found), look.columns());
    text = format!("{style}{}{style:#}\n", text.trim_end_matches('\n'));
    text += &detail("why", &line.why, look);
    if !line.advice.is_empty() {
        text += &detail("to do", &line.advice, look);
    }
    if let Some(command) = &line.command {
        // A command is not wrapped, so that it can be copied.
        text += &format!("{:6}$ {command}\n", "");
    }
    text
}

fn measured(effect: &CStateEffect, look: &Look) -> String {
    let mut text = look.heading(&format!("With C-states held off, measured in {}", effect.path));
    let mut table = Columns::new([
        Column::left("median latency"),
        Column::right("as the host is set"),
        Column::right("held off"),
        Column::right("ratio"),
    ]);
    for test in &effect.tests {
        table.row([
            Cell::from(test.test.clone()),
            Cell::from(latency(test.before_us)),
            Cell::from(latency(test.after_us)),
            Cell::from(format!("{} x", number(test.ratio()))),
        ]);
    }
    text += &table.render(look);
    let most =
        effect.tests.iter().map(measurement::host_document::Effect::ratio).fold(1.0, f64::max);
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
    text + &hanging("", 0, &words, look.columns())
}

#[cfg(test)]
mod golden;
