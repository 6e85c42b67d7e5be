//! A comparison as GitHub-flavoured Markdown, for tickets and pull requests.

use compare::Comparison;

use super::{
    Figures, described, differences, figure_name, interval, letters, ratio, sentence, shown, title, unpaired, value,
};
use crate::columns::NONE;

/// The page's content as Markdown: what it comes to first, then the tables.
pub fn compare_markdown(comparison: &Comparison, figures: Figures) -> String {
    let mut text = String::new();
    for (against, letter) in comparison.candidates.iter().zip(letters().skip(1)) {
        text += &format!("**{}**\n\n", cell(&sentence::sentence(against, letter)));
    }
    let groups = std::iter::once(&comparison.baseline).chain(comparison.candidates.iter().map(|one| &one.candidate));
    for (letter, group) in letters().zip(groups) {
        text += &format!("- {letter}: `{}`, {}\n", group.label.replace('`', "'"), cell(&described(group)));
    }
    for (against, letter) in comparison.candidates.iter().zip(letters().skip(1)) {
        text += &format!("\n| {letter} against A | A | {letter} | ratio | 95 % interval | |\n");
        text += "| --- | ---: | ---: | ---: | ---: | --- |\n";
        for test in &against.tests {
            for figure in shown(test, figures) {
                text += &row(&[
                    format!("{}, {}", title(test), figure_name(figure.metric)),
                    value(figure.metric, figure.baseline),
                    value(figure.metric, figure.candidate),
                    figure.ratio.map_or(NONE.to_owned(), ratio),
                    interval(figure),
                    super::verdict(figure).to_owned(),
                ]);
            }
        }
        let remarks = super::remarks(against, figures);
        let unpaired = unpaired(against, letter).into_iter().map(|(test, why)| format!("{test}: not compared, {why}"));
        let lines: Vec<String> =
            remarks.into_iter().chain(unpaired).map(|line| format!("- {}\n", cell(&line))).collect();
        if !lines.is_empty() {
            text += &format!("\n{}", lines.concat());
        }
        let differences = differences(against);
        if !differences.is_empty() {
            text += &format!("\n| what else differs | A | {letter} |\n| --- | --- | --- |\n");
            for (fact, baseline, candidate) in differences {
                text += &row(&[fact, baseline, candidate]);
            }
        }
    }
    text
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.iter().map(|text| cell(text)).collect::<Vec<_>>().join(" | "))
}

/// Text that stays text: what a drive or a file calls itself must not become markup.
fn cell(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => escaped.extend(['\\', character]),
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
