//! Documents that state their kind and version in the field `schema`.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A kind of document, as the field `schema` states it: `flushmark/NAME/VERSION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    pub(crate) name: &'static str,
    /// The newest version that this program reads.
    pub(crate) version: u32,
    /// The document, and the commands that write it.
    pub(crate) document: &'static str,
}

impl Kind {
    /// The name and version of the document.
    pub fn schema(self) -> String {
        format!("flushmark/{}/{}", self.name, self.version)
    }
}

/// Why a text could not be read as a document of a kind.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    #[error("not a {}: invalid JSON ({error})", kind.document)]
    Json { kind: Kind, error: serde_json::Error },
    #[error("not a {}: `\"schema\": \"{}\"` is missing", .0.document, .0.schema())]
    Foreign(Kind),
    /// Another document of flushmark, such as one of `verify`.
    #[error("document `{found}` is not a {} (`{}`)", kind.document, kind.schema())]
    OtherKind { kind: Kind, found: String },
    #[error(
        "document `{found}` was written by a newer flushmark; this version reads up to `{}`. Use \
         that version or a later one",
        kind.schema()
    )]
    Newer { kind: Kind, found: String },
    #[error("invalid `{}` document: {error}", kind.schema())]
    Damaged { kind: Kind, error: serde_json::Error },
}

/// Reads a document of this kind, of its newest or an earlier version. `schema` returns the field
/// of that name.
pub(crate) fn read<T: DeserializeOwned>(
    text: &str,
    kind: Kind,
    schema: impl Fn(&T) -> &str,
) -> Result<T, DocumentError> {
    #[derive(Deserialize)]
    struct Versioned {
        schema: Option<String>,
    }
    // Almost every text is a valid document, so the field is read by itself only after a failure.
    let document = serde_json::from_str::<T>(text);
    if let Ok(document) = document
        && schema(&document) == kind.schema()
    {
        return Ok(document);
    }
    let value: serde_json::Value =
        serde_json::from_str(text).map_err(|error| DocumentError::Json { kind, error })?;
    let found = Versioned::deserialize(&value).ok().and_then(|versioned| versioned.schema);
    let found = found.ok_or(DocumentError::Foreign(kind))?;
    match found.strip_prefix("flushmark/").and_then(|rest| rest.split_once('/')) {
        Some((name, version))
            if name == kind.name
                && version.parse::<u32>().is_ok_and(|version| version > kind.version) =>
        {
            Err(DocumentError::Newer { kind, found })
        }
        Some(_) if found == kind.schema() => Err(serde_json::from_str::<T>(text)
            .err()
            .map_or(DocumentError::Foreign(kind), |error| DocumentError::Damaged { kind, error })),
        Some(_) => Err(DocumentError::OtherKind { kind, found }),
        None => Err(DocumentError::Foreign(kind)),
    }
}
