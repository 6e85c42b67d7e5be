//! Resolves the words with which users select results.
//!
//! | word | selects |
//! | --- | --- |
//! | `12` | the kept run of this number |
//! | `last`, `last~3` | this machine's newest kept run, the third before it; includes runs of unknown machines, excludes runs that are being measured |
//! | `last@db7`, `last~3@all` | the same among the runs of the machine `db7`, or of all machines |
//! | `@before` | every kept run with this tag, oldest first |
//! | anything else | a file with a result document; write `./12` if its name looks like one of the above |
//! | several, joined by commas | all of them together |

use std::path::Path;

use anyhow::Context as _;
use measurement::RunDocument;
use store::{Filter, HostScope, Problem, RunId, Store, StoreError, StoredRun, Tag};

use crate::args::store::StoreArgs;
use crate::exit::WrongUse;
use crate::keeping::{self, Reading};

/// One result, or several selected together.
#[derive(Debug, Clone)]
pub struct Selected {
    /// The word as the user wrote it.
    pub word: String,
    /// The documents, in the order given.
    pub documents: Vec<RunDocument>,
    /// The machine that measured them all, if the store knows it and it is the same.
    pub host: Option<String>,
}

/// A result, and the machine that measured it if the store knows it.
#[derive(Debug, Clone)]
pub struct Measured {
    pub document: RunDocument,
    pub host: Option<String>,
}

/// A result that is not read yet.
enum Source {
    File(String),
    Kept(RunId),
}

impl Source {
    fn read(&self, store: &mut Option<Store>) -> anyhow::Result<Measured> {
        match (self, store) {
            (Source::Kept(run), Some(store)) => {
                let StoredRun { summary, document } = store.get(*run)?;
                Ok(Measured { document, host: summary.host })
            }
            (Source::Kept(run), None) => anyhow::bail!("run {run} has no store"),
            (Source::File(path), _) => {
                Ok(Measured { document: document(path, Path::new(path))?, host: None })
            }
        }
    }
}

/// Selected results, each of which is read when its turn comes: there may be more than memory
/// holds.
pub struct Results {
    sources: std::vec::IntoIter<Source>,
    store: Option<Store>,
    /// Runs that were deleted since they were selected are left out: nobody named them.
    skips_deleted: bool,
}

impl Results {
    /// Those that the words select, in this order.
    pub fn named(words: &[String], place: &StoreArgs) -> anyhow::Result<Results> {
        let mut store = None;
        let mut sources = Vec::new();
        for word in words {
            sources.extend(resolve(word, place, &mut store)?);
        }
        Ok(Results { sources: sources.into_iter(), store, skips_deleted: false })
    }

    /// The kept runs that match a filter, oldest first.
    pub fn matching(filter: &Filter, place: &StoreArgs) -> anyhow::Result<Results> {
        let mut store = Reading::of(place)?.expect()?;
        let runs = store.ids(filter)?;
        if runs.is_empty() {
            return Err(WrongUse(format!("no runs in {} match", store.location())).into());
        }
        let sources: Vec<Source> = runs.into_iter().rev().map(Source::Kept).collect();
        Ok(Results { sources: sources.into_iter(), store: Some(store), skips_deleted: true })
    }
}

impl Iterator for Results {
    type Item = anyhow::Result<Measured>;

    fn next(&mut self) -> Option<anyhow::Result<Measured>> {
        loop {
            let read = self.sources.next()?.read(&mut self.store);
            let is_deleted = |error: &anyhow::Error| {
                let problem = error.downcast_ref().map(|error: &StoreError| &error.problem);
                matches!(problem, Some(Problem::NoRun(_)))
            };
            match read {
                Err(error) if self.skips_deleted && is_deleted(&error) => {}
                read => return Some(read),
            }
        }
    }
}

/// The selection of a word without commas.
#[derive(Debug, PartialEq, Eq)]
enum Word<'a> {
    Run(RunId),
    /// The run this many before the newest, of the given machine or of this one.
    Last {
        before: u32,
        host: Option<&'a str>,
    },
    Tag(Tag),
    File(&'a Path),
}

impl Word<'_> {
    fn parse(text: &str) -> Result<Word<'_>, WrongUse> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
            return Ok(Word::Run(
                text.parse().map_err(|error: store::NotARunId| WrongUse(error.to_string()))?,
            ));
        }
        if let Some(tag) = text.strip_prefix('@') {
            return Ok(Word::Tag(
                tag.parse().map_err(|error: store::NotATag| WrongUse(error.to_string()))?,
            ));
        }
        match text.strip_prefix("last") {
            Some(rest) if rest.is_empty() || rest.starts_with(['~', '@']) => last(text, rest),
            _ => Ok(Word::File(Path::new(text))),
        }
    }
}

/// Parses what follows `last`: `~N` and `@HOST`.
fn last<'a>(text: &str, rest: &'a str) -> Result<Word<'a>, WrongUse> {
    let (before, host) =
        rest.split_once('@').map_or((rest, None), |(before, host)| (before, Some(host)));
    let before = if before.is_empty() { Some(0) } else { before[1..].parse().ok() };
    let before = before.ok_or_else(|| {
        WrongUse(format!(
            "invalid `{text}`: expected the number of runs before the last, such as last~1"
        ))
    })?;
    if host.is_some_and(str::is_empty) {
        return Err(WrongUse(format!(
            "invalid `{text}`: expected a machine's name, or {EVERY_HOST} for all machines: \
             last@{EVERY_HOST}"
        )));
    }
    Ok(Word::Last { before, host })
}

/// Means every machine.
const EVERY_HOST: &str = "all";

/// The results that the words select: kept runs, files, or several joined by commas.
pub fn select(words: &[String], place: &StoreArgs) -> anyhow::Result<Vec<Selected>> {
    // Opened by the first word that needs it: files can be read without a store.
    let mut store = None;
    words.iter().map(|word| group(word, place, &mut store)).collect()
}

fn group(word: &str, place: &StoreArgs, store: &mut Option<Store>) -> anyhow::Result<Selected> {
    let (mut documents, mut hosts) = (Vec::new(), Vec::new());
    for source in resolve(word, place, store)? {
        let Measured { document, host } = source.read(store)?;
        documents.push(document);
        hosts.push(host);
    }
    Ok(Selected { word: word.to_owned(), documents, host: common(hosts) })
}

/// The runs that a word with commas selects. Opens the store if it needs it.
fn resolve(
    word: &str,
    place: &StoreArgs,
    store: &mut Option<Store>,
) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for part in word.split(',') {
        match Word::parse(part)? {
            Word::File(_) => sources.push(Source::File(part.to_owned())),
            kept => {
                let store = match store {
                    Some(store) => store,
                    None => store.insert(Reading::of(place)?.expect()?),
                };
                sources.extend(named(part, &kept, store)?.into_iter().map(Source::Kept));
            }
        }
    }
    Ok(sources)
}

/// The host, if it is the same for all.
pub fn common(hosts: Vec<Option<String>>) -> Option<String> {
    let first = hosts.first()?.clone();
    hosts.into_iter().all(|host| host == first).then_some(first).flatten()
}

/// The kept runs that the words select.
pub fn runs(words: &[String], store: &mut Store) -> anyhow::Result<Vec<RunId>> {
    let mut runs = Vec::new();
    for part in words.iter().flat_map(|word| word.split(',')) {
        match Word::parse(part)? {
            Word::File(_) => {
                return Err(WrongUse(format!(
                    "`{part}` is not a kept run; expected a number from `flushmark results list`, \
                     last, last~1 or @TAG"
                ))
                .into());
            }
            kept => runs.extend(named(part, &kept, store)?),
        }
    }
    Ok(runs)
}

/// A kept run, and up to `count` earlier ones with the same suite, drives, host and target.
///
/// # Errors
/// If the word does not select exactly one kept run, or no such earlier run was kept.
pub fn with_earlier(
    word: &str,
    count: u32,
    place: &StoreArgs,
) -> anyhow::Result<(Selected, Selected)> {
    let mut store = Reading::of(place)?.expect()?;
    let [run] = runs(&[word.to_owned()], &mut store)?[..] else {
        return Err(WrongUse(format!(
            "`{word}` selects several runs; expected a single one to compare with earlier runs"
        ))
        .into());
    };
    let StoredRun { summary: now, document } = store.get(run)?;
    let mut earlier = store.earlier(run, count)?;
    earlier.reverse();
    if earlier.is_empty() {
        let what = format!(
            "{} has no earlier run of {} on {} to compare `{word}` with",
            store.location(),
            now.suite,
            now.target
        );
        return Err(WrongUse(what).into());
    }
    let label = if earlier.len() == 1 {
        "the one before".to_owned()
    } else {
        format!("the {} before", earlier.len())
    };
    let documents = earlier
        .into_iter()
        .map(|run| Ok(store.get(run)?.document))
        .collect::<anyhow::Result<_>>()?;
    let earlier = Selected { word: label, documents, host: now.host.clone() };
    Ok((earlier, Selected { word: word.to_owned(), documents: vec![document], host: now.host }))
}

fn named(text: &str, word: &Word<'_>, store: &mut Store) -> anyhow::Result<Vec<RunId>> {
    let none = |what: &str, store: &Store| {
        WrongUse(format!("no run matches `{text}`: {} has {what}", store.location()))
    };
    match word {
        Word::Run(run) => Ok(vec![*run]),
        Word::File(_) => Ok(Vec::new()),
        Word::Tag(tag) => {
            let mut runs = store.ids(&Filter { tag: Some(tag.clone()), ..Filter::default() })?;
            runs.reverse();
            if runs.is_empty() { Err(none("none with this tag", store).into()) } else { Ok(runs) }
        }
        Word::Last { before, host } => {
            let whose = match host {
                Some(EVERY_HOST) => HostScope::All,
                Some(host) => HostScope::Host((*host).to_owned()),
                None => keeping::own_name().map_or(HostScope::All, HostScope::Own),
            };
            let of = match &whose {
                HostScope::All => String::new(),
                HostScope::Host(host) => format!(" of {host}"),
                HostScope::Own(host) => {
                    format!(" of {host}, this machine; use last@{EVERY_HOST} for all machines")
                }
            };
            let missing = format!("{}{of}", if *before == 0 { "none" } else { "fewer" });
            Ok(vec![store.newest(&whose, *before)?.ok_or_else(|| none(&missing, store))?])
        }
    }
}

fn document(word: &str, path: &Path) -> anyhow::Result<RunDocument> {
    if !path.exists() {
        return Err(WrongUse(format!(
            "`{word}` not found: it is neither a file nor a kept run (a number, last, last~1 or \
             @TAG)"
        ))
        .into());
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {word}"))?;
    Ok(RunDocument::from_json(&text).map_err(|error| match formats::import(word, &text, None) {
        Ok(imported) => WrongUse(format!(
            "{word} is {}; run `flushmark results import {}` to keep it, then use the number that \
             is printed",
            described(&imported),
            judge::shell_word(word)
        )),
        Err(_) => WrongUse(format!("{word}: {error}")),
    })?)
}

/// Describes a file that is not a single result.
fn described(imported: &formats::Imported) -> String {
    match (imported.origin, imported.documents.len()) {
        (formats::Origin::Flushmark, count) => format!("{count} results in one file"),
        (tool, _) => format!("the output of {tool}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!(Word::parse("12").unwrap(), Word::Run("12".parse().unwrap()));
        let last = |before, host| Word::Last { before, host };
        assert_eq!(Word::parse("last").unwrap(), last(0, None));
        assert_eq!(Word::parse("last~3").unwrap(), last(3, None));
        assert_eq!(Word::parse("last@db7.example").unwrap(), last(0, Some("db7.example")));
        assert_eq!(Word::parse("last~3@all").unwrap(), last(3, Some("all")));
        assert_eq!(Word::parse("@a.b").unwrap(), Word::Tag("a.b".parse().unwrap()));
        for file in ["lasting.json", "./12", "12.json", "a@b"] {
            assert_eq!(Word::parse(file).unwrap(), Word::File(Path::new(file)));
        }
        for wrong in ["0", "last~", "last~x", "last~-1", "last@", "last~@db7", "@", "@a b"] {
            assert!(Word::parse(wrong).is_err(), "{wrong}");
        }
    }
}
