//! A comparison as GitHub-flavoured Markdown, for tickets and pull requests.

use compare::Comparison;
use unseen::mask;

use super::{ComparisonView, Figures, described, letters};

/// The comparison as Markdown: the result first, then the tables.
pub fn compare_markdown(comparison: &Comparison, figures: Figures) -> String {
    let mut text = String::new();
    let letters_there: Vec<String> =
        letters().skip(1).take(comparison.candidates.len()).map(String::from).collect();
    let all = comparison.candidates.iter().zip(&letters_there);
    let all =
        all.map(|(against, letter)| ComparisonView { against, names: ["A", letter], figures });
    for view in all.clone() {
        text += &format!("**{}**\n\n", cell(&view.sentence()));
    }
    let groups = std::iter::once(&comparison.baseline)
        .chain(comparison.candidates.iter().map(|one| &one.candidate));
    for (letter, group) in letters().zip(groups) {
        text += &format!(
            "- {letter}: `{}`, {}\n",
            group.label.replace('`', "'"),
            cell(&described(group))
        );
    }
    for view in all {
        let letter = view.names[1];
        text += &format!("\n| {letter} against A | A | {letter} | ratio | 95 % interval | |\n");
        text += "| --- | ---: | ---: | ---: | ---: | --- |\n";
        for (test, figures) in view.tests() {
            for figure in figures {
                text += &row(&[
                    format!("{test}, {}", figure.name),
                    figure.baseline,
                    figure.candidate,
                    figure.ratio,
                    figure.interval,
                    figure.verdict,
                ]);
            }
        }
        let unpaired =
            view.unpaired().into_iter().map(|(test, why)| format!("{test}: not compared, {why}"));
        let lines: Vec<String> = view
            .remarks()
            .into_iter()
            .chain(unpaired)
            .map(|line| format!("- {}\n", cell(&line)))
            .collect();
        if !lines.is_empty() {
            text += &format!("\n{}", lines.concat());
        }
        let differences = view.differences();
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

/// Escapes names of drives and files that would otherwise become markup.
fn cell(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' | '~' => {
                escaped.extend(['\\', character]);
            }
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '&' => escaped += "&amp;",
            other => escaped.push(mask(other)),
        }
    }
    escaped
}
