//! `flushmark report`: results or traces as an HTML page.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use anyhow::Context as _;
use measurement::TraceDocument;
use pages::{Run, Trace};
use report::counted;

use super::{print, trace};
use crate::args::report::{PageArgs, ReportArgs};
use crate::browser;
use crate::exit::{self, ExitStatus, Refused, WrongUse};
use crate::selection::{self, Selected};

/// Enough of a file to recognize a report.
const HEAD_BYTES: u64 = 4096;

/// Renders what the words select and writes the page.
pub fn run(args: &ReportArgs) -> anyhow::Result<ExitStatus> {
    match &args.card {
        Some(file) => write_card(file, args),
        None => write(&args.page, || render(args)),
    }
}

/// Writes the card of the only selected run.
fn write_card(file: &Path, args: &ReportArgs) -> anyhow::Result<ExitStatus> {
    let to_stdout = file == Path::new("-");
    if !to_stdout && file.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("svg")) {
        return Err(WrongUse(format!(
            "a card is an SVG file, and {} does not end in .svg; where only PNG is accepted, \
             convert the card, for example with `rsvg-convert` or a browser",
            file.display()
        ))
        .into());
    }
    if !to_stdout && !args.page.force {
        expect_ours(file, "card", pages::is_card)?;
    }
    if traces(&args.words)?.is_some() {
        return Err(WrongUse(
            "a card shows the result of a run, not a trace; leave out --card for a page of the \
             trace"
                .to_owned(),
        )
        .into());
    }
    let selected = selection::select(&args.words, &args.store)?;
    let runs: Vec<Run<'_>> =
        selected.iter().flat_map(|selected| runs_of(selected, labels(&args.words))).collect();
    let [run] = &runs[..] else {
        return Err(WrongUse(format!(
            "a card shows one result, and {} are named; leave out --card to compare them on a page",
            runs.len()
        ))
        .into());
    };
    let card = pages::card(run);
    if to_stdout {
        print(&card)?;
        return Ok(ExitStatus::Done);
    }
    wholefile::replace(file, card.as_bytes(), None)
        .with_context(|| format!("cannot write the card to {}", file.display()))?;
    print(&format!("{}: {}\n", file.display(), workload::number::about_bytes(card.len() as u64)))?;
    Ok(ExitStatus::Done)
}

/// A page, and what is on it in words: the number of its runs and tests, or of its traces.
pub struct Rendered {
    pub page: String,
    pub contents: String,
}

/// Writes a page where the user wants it. It is rendered only if it may be written.
pub fn write(
    place: &PageArgs,
    render: impl FnOnce() -> anyhow::Result<Rendered>,
) -> anyhow::Result<ExitStatus> {
    let to_stdout = place.output == Path::new("-");
    if to_stdout && place.open {
        return Err(WrongUse(
            "--open needs a file, but --output - writes to stdout; name a file or leave out --open"
                .to_owned(),
        )
        .into());
    }
    if !to_stdout && !place.force {
        expect_ours(&place.output, "report", pages::is_report)?;
    }
    let Rendered { page, contents } = render()?;
    if to_stdout {
        print(&page)?;
        return Ok(ExitStatus::Done);
    }
    wholefile::replace(&place.output, page.as_bytes(), None)
        .with_context(|| format!("cannot write the report to {}", place.output.display()))?;
    let size = workload::number::about_bytes(page.len() as u64);
    print(&format!("{}: {contents}, {size}\n", place.output.display()))?;
    if place.open {
        // The report exists; failing to open it is not an error.
        browser::open_file(&place.output).unwrap_or_else(|why| exit::complain(&why));
    }
    Ok(ExitStatus::Done)
}

/// The page of the selected runs, or of traces if the first word names one.
fn render(args: &ReportArgs) -> anyhow::Result<Rendered> {
    let labels = labels(&args.words);
    if let Some(traces) = traces(&args.words)? {
        let traces: Vec<Trace<'_>> = args
            .words
            .iter()
            .zip(&traces)
            .map(|(word, document)| Trace { label: labels.label(word).to_owned(), document })
            .collect();
        let commits = traces.iter().flat_map(|trace| &trace.document.trace.anatomies);
        let kinds = counted(commits.count() as u64, "kind");
        return Ok(Rendered {
            page: pages::trace_report(&traces),
            contents: format!("{}, {kinds} of commits", counted(traces.len() as u64, "trace")),
        });
    }
    let selected = selection::select(&args.words, &args.store)?;
    let runs: Vec<Run<'_>> =
        selected.iter().flat_map(|selected| runs_of(selected, labels)).collect();
    let tests: usize = runs.iter().map(|run| run.document.results.len()).sum();
    Ok(Rendered {
        page: pages::report(&runs),
        contents: format!(
            "{}, {}",
            counted(runs.len() as u64, "run"),
            counted(tests as u64, "test")
        ),
    })
}

/// The traces in these files; `None` if the first is none.
fn traces(words: &[String]) -> anyhow::Result<Option<Vec<TraceDocument>>> {
    let mut documents = Vec::new();
    for word in words {
        match trace::document_of_file(Path::new(word))? {
            Some(document) => documents.push(document),
            None if documents.is_empty() => return Ok(None),
            None => {
                return Err(WrongUse(format!(
                    "`{word}` is not a trace, but {} is; a page shows either traces or the results \
                     of runs",
                    words[0]
                ))
                .into());
            }
        }
    }
    Ok(Some(documents))
}

/// Short labels if the file names alone distinguish all words.
fn labels(words: &[String]) -> Labels {
    let mut short: Vec<&str> =
        words.iter().flat_map(|word| word.split(',')).map(short_label).collect();
    let count = short.len();
    short.sort_unstable();
    short.dedup();
    if short.len() == count { Labels::Short } else { Labels::AsGiven }
}

#[derive(Debug, Clone, Copy)]
enum Labels {
    Short,
    AsGiven,
}

impl Labels {
    fn label(self, word: &str) -> &str {
        match self {
            Labels::Short => short_label(word),
            Labels::AsGiven => word,
        }
    }
}

/// `check` for `results/check.json`.
fn short_label(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.strip_suffix(".json").filter(|stem| !stem.is_empty()).unwrap_or(name)
}

/// The runs of a word. Each is labelled with its part of the word if there are as many parts as
/// runs.
fn runs_of(selected: &Selected, labels: Labels) -> Vec<Run<'_>> {
    let parts: Vec<&str> = selected.word.split(',').collect();
    let named = parts.len() == selected.documents.len();
    let label = |index: usize| {
        let part = if named { parts[index] } else { selected.word.as_str() };
        let part = labels.label(part);
        if named { part.to_owned() } else { format!("{part} ({})", index + 1) }
    };
    selected
        .documents
        .iter()
        .enumerate()
        .map(|(index, document)| Run::new(label(index), document))
        .collect()
}

/// Refuses an existing file that flushmark did not make.
fn expect_ours(path: &Path, what: &str, is_ours: fn(&str) -> bool) -> anyhow::Result<()> {
    let mut head = Vec::new();
    let read = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
        Ok(file) => file.take(HEAD_BYTES).read_to_end(&mut head),
    };
    if path.is_dir() {
        return Err(
            WrongUse(format!("{} is a directory; name a file in it", path.display())).into()
        );
    }
    read.with_context(|| format!("cannot check whether {} is a flushmark {what}", path.display()))?;
    if head.is_empty() || is_ours(&String::from_utf8_lossy(&head)) {
        return Ok(());
    }
    Err(Refused(format!(
        "{} exists and is not a flushmark {what}, so it is not overwritten; name another file or \
         use --force",
        path.display()
    ))
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_the_file_s_name_unless_two_are_alike() {
        assert_eq!(short_label("results/check.json"), "check");
        assert_eq!(short_label(".json"), ".json");
        assert_eq!(short_label("last~3"), "last~3");
        let words =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert!(matches!(labels(&words(&["a/x.json", "b/y.json,z.json"])), Labels::Short));
        assert!(matches!(labels(&words(&["a/x.json", "b/x.json"])), Labels::AsGiven));
    }
}
