//! `flushmark results compare`: compares results.

use anyhow::Context as _;
use compare::{Comparison, Condition, Group};
use report::Figures;

use crate::args::comparison::{CompareArgs, ComparisonFormat};
use crate::args::store::StoreArgs;
use crate::commands::{look, print};
use crate::exit::{ExitStatus, WrongUse, complain, is_broken_pipe};
use crate::selection::{self, Selected};

/// Compares, prints, and checks the limits.
pub fn run(args: &CompareArgs, store: &StoreArgs) -> anyhow::Result<ExitStatus> {
    let (baseline, candidates) = sides(args, store)?;
    let groups: Vec<Group<'_>> = candidates.iter().map(group).collect();
    let comparison = Comparison::of(&group(&baseline), &groups, &args.test);
    if !comparison.has_tests() && !args.test.is_empty() {
        return Err(
            no_such_test(&args.test, &Comparison::of(&group(&baseline), &groups, "")).into()
        );
    }
    let figures = match (args.all, args.verbose) {
        (true, _) => Figures::All,
        (false, true) => Figures::Leading,
        (false, false) => Figures::Rate,
    };
    let printed = print(&match args.format {
        ComparisonFormat::Text => report::compare_page(&comparison, figures, &look()),
        ComparisonFormat::Json => {
            serde_json::to_string_pretty(&comparison).context("cannot write the comparison")? + "\n"
        }
        ComparisonFormat::Markdown => report::compare_markdown(&comparison, figures),
    });
    // A closed stdout is not an error, but a pipeline still needs the exit code.
    printed.or_else(|error| if is_broken_pipe(&error) { Ok(()) } else { Err(error) })?;
    judge(&args.fail_if, &comparison)
}

/// The error for a pattern that matches no test, with the names that it could match.
fn no_such_test(pattern: &str, all: &Comparison) -> WrongUse {
    let mut names: Vec<String> = Vec::new();
    for test in all.candidates.iter().flat_map(|against| &against.tests) {
        let name = format!("`{}`", test.test);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let have = if names.is_empty() {
        "they have no tests in common".to_owned()
    } else {
        format!("they have {}", names.join(", "))
    };
    WrongUse(format!("no test on both sides matches `{pattern}`; {have}"))
}

/// Selects every word once, and separates the baseline from the others.
fn sides(args: &CompareArgs, store: &StoreArgs) -> anyhow::Result<(Selected, Vec<Selected>)> {
    if let Some(count) = args.last {
        let [word] = args.results.as_slice() else {
            return Err(WrongUse(
                "--last takes a single result to compare with earlier runs".to_owned(),
            )
            .into());
        };
        let (earlier, now) = selection::with_earlier(word, count, store)?;
        return Ok((earlier, vec![now]));
    }
    let mut words = args.results.clone();
    let baseline = match &args.baseline {
        None => words.remove(0),
        Some(word) => {
            if let Some(position) = words.iter().position(|other| other == word) {
                words.remove(position);
            }
            word.clone()
        }
    };
    if words.is_empty() {
        return Err(WrongUse(format!(
            "nothing to compare `{baseline}` with; name another result, or several joined by commas"
        ))
        .into());
    }
    words.insert(0, baseline);
    let mut selected = selection::select(&words, store)?;
    let baseline = selected.remove(0);
    Ok((baseline, selected))
}

fn group(selected: &Selected) -> Group<'_> {
    Group { label: selected.word.clone(), runs: selected.documents.iter().collect() }
}

/// Prints which test exceeds which limit. A limit that no test could be checked against is an
/// error, whatever the others say.
fn judge(conditions: &[Condition], comparison: &Comparison) -> anyhow::Result<ExitStatus> {
    let mut verdict = ExitStatus::Done;
    let mut unchecked = None;
    for condition in conditions {
        match condition.failures(comparison) {
            Ok(failures) => {
                for failure in &failures {
                    complain(&report::failure(failure));
                    verdict = ExitStatus::Unfit;
                }
            }
            Err(nothing) => unchecked = unchecked.or(Some(nothing)),
        }
    }
    match unchecked {
        Some(nothing) => Err(WrongUse(format!("--fail-if {nothing}")).into()),
        None => Ok(verdict),
    }
}
