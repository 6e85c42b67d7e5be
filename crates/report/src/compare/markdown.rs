//! A comparison as GitHub-flavoured Markdown, for tickets and pull requests.

use compare::Comparison;
use unseen::mask;

use super::{ComparisonView, Figures, described, letters};

/// The comparison as Markdown: the answer first, then the sides and the tables.
pub fn compare_markdown(comparison: &Comparison, figures: Figures) -> String {
    let mut text = String::new();
    let letters_there: Vec<String> =
        letters().skip(1).take(comparison.candidates.len()).map(String::from).collect();
    let all = comparison.candidates.iter().zip(&letters_there);
    let all =
        all.map(|(against, letter)| ComparisonView { against, names: ["A", letter], figures });
    for view in all.clone() {
        text += &format!("**{}** {}", cell(&view.answer()), cell(&view.addition()));
        text = text.trim_end().to_owned() + "\n\n";
        text += &view
            .advice(&comparison.baseline)
            .map_or(String::new(), |advice| format!("{}\n\n", cell(&advice)));
    }
    let groups = std::iter::once(&comparison.baseline)
        .chain(comparison.candidates.iter().map(|one| &one.candidate));
    for ((letter, name), group) in letters().zip(comparison.names()).zip(groups) {
        text += &format!("- {letter}: {}, {}\n", cell(&name), cell(&described(&name, group)));
    }
    for view in all {
        text += &lines(&view);
        if figures != Figures::Rate {
            text += &figures_table(&view);
        }
        text += &remarks(&view);
    }
    text
}

fn lines(view: &ComparisonView<'_>) -> String {
    let [baseline, candidate] = view.names;
    let mut text = format!(
        "\n| {candidate} against {baseline} | {baseline} | {candidate} | difference | significance \
         |\n| --- | ---: | ---: | --- | --- |\n"
    );
    for line in view.lines() {
        let name = if line.is_further { format!("· {}", line.name) } else { line.name };
        text += &row(&[
            name,
            line.baseline,
            line.candidate,
            line.difference,
            line.significance.to_owned(),
        ]);
    }
    text
}

fn figures_table(view: &ComparisonView<'_>) -> String {
    let [baseline, candidate] = view.names;
    let mut text = format!("\n| figure | {baseline} | {candidate} | ratio | 95 % interval | |\n");
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
    text
}

/// Caveats, tests that are not compared, and what else differs. The brief form only names them.
fn remarks(view: &ComparisonView<'_>) -> String {
    let [baseline, candidate] = view.names;
    let is_brief = view.figures == Figures::Rate;
    let unpaired =
        view.unpaired().into_iter().map(|(test, why)| format!("{test}: not compared, {why}"));
    let remarks = if is_brief { Vec::new() } else { view.remarks() };
    let lines: Vec<String> =
        remarks.into_iter().chain(unpaired).map(|line| format!("- {}\n", cell(&line))).collect();
    let mut text = String::new();
    if !lines.is_empty() {
        text += &format!("\n{}", lines.concat());
    }
    let differences = view.differences();
    if differences.is_empty() {
        return text;
    }
    if is_brief {
        let facts: Vec<String> = differences.into_iter().map(|(fact, ..)| fact).collect();
        return text + &format!("\nAlso different: {}.\n", cell(&facts.join(", ")));
    }
    text += &format!("\n| what else differs | {baseline} | {candidate} |\n| --- | --- | --- |\n");
    for (fact, baseline, candidate) in differences {
        text += &row(&[fact, baseline, candidate]);
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
