//! Which results a person means by a word.
//!
//! | word | what it names |
//! | --- | --- |
//! | `12` | the kept run of this number |
//! | `last`, `last~3` | this machine's newest kept run, the third before it; those of no known machine count, runs that are being measured do not |
//! | `last@db7`, `last~3@all` | the same among the runs of the machine `db7`, among those of all |
//! | `@before` | every kept run with this tag, oldest first |
//! | anything else | a document's file; `./12` where its name looks like one of the above |
//! | several joined by commas | all of them together |

use std::path::Path;

use anyhow::Context as _;
use measurement::RunDocument;
use store::{Filter, HostScope, RunId, Store, StoredRun, Tag};

use crate::args::store::StoreArgs;
use crate::exit::WrongUse;
use crate::keeping::{self, Reading};

/// One result, or several that were named together.
#[derive(Debug, Clone)]
pub struct Selected {
    /// What the person wrote.
    pub word: String,
    /// The documents, in the order in which they were named.
    pub documents: Vec<RunDocument>,
    /// The machine that measured them all, where the store knows one.
    pub host: Option<String>,
}

/// What one word between commas names.
#[derive(Debug, PartialEq, Eq)]
enum Word<'a> {
    Run(RunId),
    /// So many before the newest, of the machine of this name or of one's own.
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
            return Ok(Word::Run(text.parse().map_err(|error: store::NotARunId| WrongUse(error.to_string()))?));
        }
        if let Some(tag) = text.strip_prefix('@') {
            return Ok(Word::Tag(tag.parse().map_err(|error: store::NotATag| WrongUse(error.to_string()))?));
        }
        match text.strip_prefix("last") {
            Some(rest) if rest.is_empty() || rest.starts_with(['~', '@']) => last(text, rest),
            _ => Ok(Word::File(Path::new(text))),
        }
    }
}

/// What stands behind `last`: how many before it, and on which machine.
fn last<'a>(text: &str, rest: &'a str) -> Result<Word<'a>, WrongUse> {
    let (before, host) = rest.split_once('@').map_or((rest, None), |(before, host)| (before, Some(host)));
    let before = if before.is_empty() { Some(0) } else { before[1..].parse().ok() };
    let before = before.ok_or_else(|| WrongUse(format!("`{text}`: write how many before the last, such as last~1")))?;
    if host.is_some_and(str::is_empty) {
        return Err(WrongUse(format!("`{text}`: write a machine's name, or {EVERY_HOST}: last@{EVERY_HOST}")));
    }
    Ok(Word::Last { before, host })
}

/// In place of a machine's name.
const EVERY_HOST: &str = "all";

/// What each word names: kept runs, documents' files, or several joined by commas.
///
/// # Errors
/// When a word names nothing, or what it names does not read as a result.
pub fn select(words: &[String], place: &StoreArgs) -> anyhow::Result<Vec<Selected>> {
    // Opened by the first word that needs it: files can be read where nothing was ever kept.
    let mut store = None;
    words.iter().map(|word| group(word, place, &mut store)).collect()
}

fn group(word: &str, place: &StoreArgs, store: &mut Option<Store>) -> anyhow::Result<Selected> {
    let (mut documents, mut hosts) = (Vec::new(), Vec::new());
    for part in word.split(',') {
        match Word::parse(part)? {
            Word::File(path) => {
                documents.push(document(part, path)?);
                hosts.push(None);
            }
            kept => {
                let store = match store {
                    Some(store) => store,
                    None => store.insert(Reading::of(place)?.expect()?),
                };
                for run in named(part, &kept, store)? {
                    let kept = store.get(run)?;
                    documents.push(kept.document);
                    hosts.push(kept.summary.host);
                }
            }
        }
    }
    Ok(Selected { word: word.to_owned(), documents, host: common(hosts) })
}

/// The host of all, if it is one.
pub fn common(hosts: Vec<Option<String>>) -> Option<String> {
    let first = hosts.first()?.clone();
    hosts.into_iter().all(|host| host == first).then_some(first).flatten()
}

/// The kept runs that words name.
///
/// # Errors
/// When a word names none, or a file.
pub fn runs(words: &[String], store: &mut Store) -> anyhow::Result<Vec<RunId>> {
    let mut runs = Vec::new();
    for part in words.iter().flat_map(|word| word.split(',')) {
        match Word::parse(part)? {
            Word::File(_) => {
                return Err(WrongUse(format!(
                    "`{part}` names no kept run; write a number from `flushmark results list`, last, last~1 or @TAG"
                ))
                .into());
            }
            kept => runs.extend(named(part, &kept, store)?),
        }
    }
    Ok(runs)
}

/// A kept run, and at most `count` before it that measured the same: suite, drives, host and target.
///
/// # Errors
/// When the word does not name one kept run, or nothing like it was kept before.
pub fn with_earlier(word: &str, count: u32, place: &StoreArgs) -> anyhow::Result<(Selected, Selected)> {
    let mut store = Reading::of(place)?.expect()?;
    let [run] = runs(&[word.to_owned()], &mut store)?[..] else {
        return Err(WrongUse(format!("`{word}` names several runs; one is compared with those before it")).into());
    };
    let StoredRun { summary: now, document } = store.get(run)?;
    let mut earlier = store.earlier(run, count)?;
    earlier.reverse();
    if earlier.is_empty() {
        let what = format!(
            "{} holds no earlier run of {} on {} to compare `{word}` with",
            store.location(),
            now.suite,
            now.target
        );
        return Err(WrongUse(what).into());
    }
    let label = if earlier.len() == 1 { "the one before".to_owned() } else { format!("the {} before", earlier.len()) };
    let documents = earlier.into_iter().map(|run| Ok(store.get(run)?.document)).collect::<anyhow::Result<_>>()?;
    let earlier = Selected { word: label, documents, host: now.host.clone() };
    Ok((earlier, Selected { word: word.to_owned(), documents: vec![document], host: now.host }))
}

fn named(text: &str, word: &Word<'_>, store: &mut Store) -> anyhow::Result<Vec<RunId>> {
    let none =
        |what: &str, store: &Store| WrongUse(format!("`{text}` names no run: {} holds {what}", store.location()));
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
                None => keeping::host_name().map_or(HostScope::All, HostScope::Own),
            };
            let of = match &whose {
                HostScope::All => String::new(),
                HostScope::Host(host) => format!(" of {host}"),
                HostScope::Own(host) => format!(" of {host}, this machine; last@{EVERY_HOST} is that of all"),
            };
            let missing = format!("{}{of}", if *before == 0 { "none" } else { "fewer" });
            Ok(vec![store.newest(&whose, *before)?.ok_or_else(|| none(&missing, store))?])
        }
    }
}

fn document(word: &str, path: &Path) -> anyhow::Result<RunDocument> {
    if !path.exists() {
        return Err(WrongUse(format!(
            "`{word}` names no result: there is no such file. Kept runs are named by their number, last, last~1 or @TAG"
        ))
        .into());
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {word}"))?;
    Ok(RunDocument::from_json(&text).map_err(|error| match formats::import(word, &text, None) {
        Ok(imported) => WrongUse(format!(
            "{word} is {}; `flushmark results import {}` keeps it and says the number to name it by",
            described(&imported),
            judge::shell_word(word)
        )),
        Err(_) => WrongUse(format!("{word}: {error}")),
    })?)
}

/// What a file is that is no single result: another tool's output, or several of our own.
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
