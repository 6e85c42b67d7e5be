//! Arguments that say where runs are kept.

use std::fmt;
use std::str::FromStr;

use store::{InvalidLocation, Location};

/// The value of `--store`, of `FLUSHMARK_STORE` and of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreName {
    /// `none`: runs are not kept.
    Nothing,
    Place(Location),
}

impl FromStr for StoreName {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<StoreName, InvalidLocation> {
        match text {
            "none" => Ok(StoreName::Nothing),
            place => place.parse().map(StoreName::Place),
        }
    }
}

impl fmt::Display for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreName::Nothing => f.write_str("none"),
            StoreName::Place(location) => location.fmt(f),
        }
    }
}

/// For verbs that measure.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct KeepArgs {
    /// Keep the run in this store: a file, or postgres://USER@HOST/DATABASE; or none
    #[arg(long, value_name = "STORE", value_hint = clap::ValueHint::FilePath, long_help = "\
Keep the run in this store: a file, or postgres://USER@HOST/DATABASE (password: PGPASSWORD, \
~/.pgpass); `none` keeps nothing. Default: $FLUSHMARK_STORE, else `store` in the configuration \
file, else results.db in $XDG_DATA_HOME/flushmark or ~/.local/share/flushmark. Runs on a model or \
null: are kept only if this option names a store; smoke runs never are.")]
    pub store: Option<StoreName>,

    /// A name for this run, for lists, comparisons and reports
    #[arg(long, value_name = "TEXT", value_parser = parse_label)]
    pub label: Option<String>,
}

/// For verbs that read kept runs.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct StoreArgs {
    /// The store: a file, or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "STORE", global = true, value_hint = clap::ValueHint::FilePath, long_help = "\
The store: a file, or postgres://USER@HOST/DATABASE (password: PGPASSWORD, ~/.pgpass). Default: \
$FLUSHMARK_STORE, else `store` in the configuration file, else results.db in \
$XDG_DATA_HOME/flushmark or ~/.local/share/flushmark.")]
    pub store: Option<StoreName>,
}

/// Longer labels would not fit into a table.
const LABEL_CHARACTERS_MAX: usize = 60;

fn parse_label(text: &str) -> Result<String, String> {
    let label = text.trim();
    let fits = !label.is_empty()
        && label.chars().count() <= LABEL_CHARACTERS_MAX
        && !label.chars().any(char::is_control);
    fits.then(|| label.to_owned()).ok_or_else(|| {
        format!("expected 1 to {LABEL_CHARACTERS_MAX} characters without line breaks")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels() {
        assert_eq!(parse_label(" new rack ").as_deref(), Ok("new rack"));
        for wrong in ["", " ", "a\nb", &"x".repeat(61)] {
            insta::allow_duplicates! {
                insta::assert_snapshot!(parse_label(wrong).unwrap_err(), @"expected 1 to 60 characters without line breaks");
            }
        }
    }

    #[test]
    fn none_is_no_file() {
        assert_eq!("none".parse(), Ok(StoreName::Nothing));
        assert_eq!("./none".parse(), Ok(StoreName::Place(Location::Sqlite("./none".into()))));
        for text in ["none", "a.db", "postgres://u@h/d"] {
            assert_eq!(text.parse::<StoreName>().unwrap().to_string(), text);
        }
    }
}
