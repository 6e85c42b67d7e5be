//! Which results a person means by a word.

use std::path::Path;

use anyhow::Context as _;
use measurement::RunDocument;

use crate::exit::WrongUse;

/// One result, or several that were named together.
#[derive(Debug, Clone)]
pub struct Selected {
    /// What the person wrote.
    #[allow(dead_code, reason = "only what sets several results side by side calls them by it")]
    pub word: String,
    /// The documents, in the order in which they were named.
    pub documents: Vec<RunDocument>,
}

/// What each word names: a document's file, or several joined by commas.
///
/// # Errors
/// When a word names nothing, or what it names does not read as a result.
pub fn select(words: &[String]) -> anyhow::Result<Vec<Selected>> {
    words.iter().map(|word| group(word)).collect()
}

fn group(word: &str) -> anyhow::Result<Selected> {
    let documents = word.split(',').map(document).collect::<anyhow::Result<_>>()?;
    Ok(Selected { word: word.to_owned(), documents })
}

fn document(word: &str) -> anyhow::Result<RunDocument> {
    let path = Path::new(word);
    if !path.exists() {
        return Err(WrongUse(format!("`{word}` names no result: there is no such file")).into());
    }
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {word}"))?;
    Ok(RunDocument::from_json(&text).map_err(|error| WrongUse(format!("{word}: {error}")))?)
}
