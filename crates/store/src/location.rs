//! Where a store is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A file, or a PostgreSQL database.
///
/// ```
/// let fleet: store::Location = "postgres://bench:secret@db1/flushmark".parse()?;
/// assert_eq!(fleet.to_string(), "postgres://bench@db1/flushmark");
/// # Ok::<(), store::NoLocation>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// An SQLite database file.
    Sqlite(PathBuf),
    /// A PostgreSQL database, as a URL.
    Postgres(String),
}

/// A text that names no place for a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoLocation {
    /// Nothing was written.
    #[error("name a file, or a PostgreSQL database: postgres://USER@HOST/DATABASE")]
    Empty,
    /// A URL of something else.
    #[error("`{0}://` is no kind of store; name a file, or a PostgreSQL database: postgres://USER@HOST/DATABASE")]
    Scheme(String),
}

impl FromStr for Location {
    type Err = NoLocation;

    fn from_str(text: &str) -> Result<Location, NoLocation> {
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Ok(Location::Postgres(text.to_owned())),
            Some((scheme, _)) if is_scheme(scheme) => Err(NoLocation::Scheme(scheme.to_owned())),
            _ if text.is_empty() => Err(NoLocation::Empty),
            _ => Ok(Location::Sqlite(PathBuf::from(text))),
        }
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

impl Location {
    /// The file in a person's own data directory, by the XDG base directory specification: `$XDG_DATA_HOME/flushmark/results.db`, or below
    /// `~/.local/share`. `None` where neither variable is an absolute path.
    pub fn of_person(xdg_data_home: Option<&Path>, home: Option<&Path>) -> Option<Location> {
        // The specification: a relative path is to be ignored.
        let absolute = |path: &&Path| path.is_absolute();
        let data = xdg_data_home.filter(absolute).map(Path::to_owned);
        let data = data.or_else(|| home.filter(absolute).map(|home| home.join(".local/share")))?;
        Some(Location::Sqlite(data.join("flushmark/results.db")))
    }
}

/// As a person may see it: a password in a URL is left out.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Sqlite(path) => path.display().fmt(f),
            Location::Postgres(url) => f.write_str(&without_password(url)),
        }
    }
}

fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    // A password may hold an `@` that somebody forgot to write as %40; the last one ends it.
    let (person, place) = rest.rsplit_once('@').map_or((None, rest), |(person, place)| (Some(person), place));
    let person = person.map(|person| format!("{}@", person.split(':').next().unwrap_or_default())).unwrap_or_default();
    let shown = query.map(|query| query.split('&').filter(|pair| !pair.starts_with("password")).collect::<Vec<_>>());
    let query =
        shown.filter(|pairs| !pairs.is_empty()).map(|pairs| format!("?{}", pairs.join("&"))).unwrap_or_default();
    format!("{scheme}://{person}{place}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!("a/b.db".parse(), Ok(Location::Sqlite("a/b.db".into())));
        assert_eq!("postgresql://h/d".parse(), Ok(Location::Postgres("postgresql://h/d".into())));
        assert_eq!("".parse::<Location>().unwrap_err(), NoLocation::Empty);
        assert_eq!(
            "mysql://h/d".parse::<Location>().unwrap_err().to_string(),
            "`mysql://` is no kind of store; name a file, or a PostgreSQL database: postgres://USER@HOST/DATABASE"
        );
    }

    #[test]
    fn a_password_is_never_shown() {
        let shown = |text: &str| text.parse::<Location>().unwrap().to_string();
        assert_eq!(shown("postgres://u:pass@word@h:5433/d"), "postgres://u@h:5433/d");
        assert_eq!(
            shown("postgres://h/d?user=u&password=secret&sslmode=disable"),
            "postgres://h/d?user=u&sslmode=disable"
        );
        assert_eq!(shown("postgres://h/d?password=secret"), "postgres://h/d");
    }

    #[test]
    fn a_persons_own() {
        let of = |data, home| Location::of_person(Some(Path::new(data)), Some(Path::new(home)));
        assert_eq!(of("/d", "/h"), Some(Location::Sqlite("/d/flushmark/results.db".into())));
        assert_eq!(of("d", "/h"), Some(Location::Sqlite("/h/.local/share/flushmark/results.db".into())));
        assert_eq!(of("", ""), None);
    }
}
