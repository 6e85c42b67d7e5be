//! The place of a store.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A file, or a PostgreSQL database.
///
/// ```
/// let fleet: store::Location = "postgres://bench:secret@db1/flushmark".parse()?;
/// assert_eq!(fleet.to_string(), "postgres://bench@db1/flushmark");
/// # Ok::<(), store::InvalidLocation>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// An SQLite database file.
    Sqlite(PathBuf),
    /// A PostgreSQL database, as a URL.
    Postgres(String),
}

/// A text that is not the location of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidLocation {
    #[error(
        "the store has no name; expected a file or a PostgreSQL database: \
         postgres://USER@HOST/DATABASE"
    )]
    Empty,
    #[error(
        "unknown kind of store `{0}://`; expected a file or a PostgreSQL database: \
         postgres://USER@HOST/DATABASE"
    )]
    Scheme(String),
}

impl FromStr for Location {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Location, InvalidLocation> {
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Ok(Location::Postgres(text.to_owned())),
            Some((scheme, _)) if is_scheme(scheme) => {
                Err(InvalidLocation::Scheme(scheme.to_owned()))
            }
            _ if text.is_empty() => Err(InvalidLocation::Empty),
            _ => Ok(Location::Sqlite(PathBuf::from(text))),
        }
    }
}

fn is_scheme(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

impl Location {
    /// The file in the user's data directory, by the XDG base directory specification:
    /// `$XDG_DATA_HOME/flushmark/results.db`, or below `~/.local/share`. `None` if neither variable
    /// is an absolute path.
    pub fn of_user(xdg_data_home: Option<&Path>, home: Option<&Path>) -> Option<Location> {
        // The specification requires relative paths to be ignored.
        let absolute = |path: &&Path| path.is_absolute();
        let data = xdg_data_home.filter(absolute).map(Path::to_owned);
        let data = data.or_else(|| home.filter(absolute).map(|home| home.join(".local/share")))?;
        Some(Location::Sqlite(data.join("flushmark/results.db")))
    }
}

/// For display: without the password of a URL.
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
    // A password may contain an `@` or a `?` that should have been written as %40 or %3F; the last
    // `@` ends it.
    let end =
        rest.split('?').next().and_then(|address| address.rfind('@')).or_else(|| rest.rfind('@'));
    let (person, rest) = end.map_or((None, rest), |end| (Some(&rest[..end]), &rest[end + 1..]));
    let person = person
        .map(|person| format!("{}@", person.split(':').next().unwrap_or_default()))
        .unwrap_or_default();
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let is_harmless =
        |pair: &&str| !pair.is_empty() && !pair.starts_with("password") && !pair.contains('@');
    let shown: Vec<&str> = query.split('&').filter(is_harmless).collect();
    let query = if shown.is_empty() { String::new() } else { format!("?{}", shown.join("&")) };
    format!("{scheme}://{person}{place}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!("a/b.db".parse(), Ok(Location::Sqlite("a/b.db".into())));
        assert_eq!("postgresql://h/d".parse(), Ok(Location::Postgres("postgresql://h/d".into())));
        assert_eq!("".parse::<Location>().unwrap_err(), InvalidLocation::Empty);
        assert_eq!(
            "mysql://h/d".parse::<Location>().unwrap_err().to_string(),
            "unknown kind of store `mysql://`; expected a file or a PostgreSQL database: \
             postgres://USER@HOST/DATABASE"
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
        assert_eq!(shown("postgres://u:pass?word@h/d"), "postgres://u@h/d");
        assert_eq!(shown("postgres://u:p@ss?word@h/d"), "postgres://u@ss");
        assert_eq!(
            shown("postgres://u:pass@h/d?connect_timeout=3"),
            "postgres://u@h/d?connect_timeout=3"
        );
    }

    #[test]
    fn the_users_data_directory() {
        let of = |data, home| Location::of_user(Some(Path::new(data)), Some(Path::new(home)));
        assert_eq!(of("/d", "/h"), Some(Location::Sqlite("/d/flushmark/results.db".into())));
        assert_eq!(
            of("d", "/h"),
            Some(Location::Sqlite("/h/.local/share/flushmark/results.db".into()))
        );
        assert_eq!(of("", ""), None);
    }

    #[test]
    fn what_cannot_be_a_scheme_is_a_file_name() {
        for name in ["a b://c", "://c", "/srv/x://y"] {
            assert_eq!(name.parse(), Ok(Location::Sqlite(name.into())));
        }
        assert_eq!(
            "git+ssh://h".parse::<Location>(),
            Err(InvalidLocation::Scheme("git+ssh".to_owned()))
        );
    }
}
