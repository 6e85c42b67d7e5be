//! The user's configuration file.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;

use crate::args::Color;
use crate::args::store::StoreName;
use crate::exit::WrongUse;

/// The settings of the file; options and environment variables take precedence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Config {
    pub store: Option<StoreName>,
    /// The host's name in kept runs.
    pub host: Option<String>,
    pub color: Option<Color>,
}

static CONFIG: OnceLock<Config> = OnceLock::new();

/// Reads the file once, before anything else happens.
///
/// # Errors
/// If there is a file that cannot be read, or that sets something unknown.
pub fn load() -> Result<&'static Config, WrongUse> {
    let config = match path() {
        Some(path) => read(&path)?,
        None => Config::default(),
    };
    Ok(CONFIG.get_or_init(|| config))
}

/// The loaded settings, or none before [`load`].
pub fn current() -> &'static Config {
    CONFIG.get_or_init(Config::default)
}

/// `$XDG_CONFIG_HOME/flushmark/config.toml`, or the same below `~/.config`.
fn path() -> Option<PathBuf> {
    let directory = |name: &str| {
        // The XDG base directory specification requires relative paths to be ignored.
        std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let config =
        directory("XDG_CONFIG_HOME").or_else(|| Some(directory("HOME")?.join(".config")))?;
    Some(config.join("flushmark/config.toml"))
}

fn read(path: &Path) -> Result<Config, WrongUse> {
    let refused = |why: String| WrongUse(format!("{}: {why}", path.display()));
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text).map_err(refused),
        // A directory that this user may not search contains no configuration of this user.
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound
                    | std::io::ErrorKind::NotADirectory
                    | std::io::ErrorKind::PermissionDenied
            ) =>
        {
            Ok(Config::default())
        }
        Err(error) => Err(refused(format!("cannot be read: {error}"))),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    store: Option<String>,
    host: Option<String>,
    color: Option<String>,
}

fn parse(text: &str) -> Result<Config, String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start].matches('\n').count() + 1);
        let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{line}{}", error.message())
    })?;
    let store = file.store.map(|store| store.parse());
    let color = file.color.map(|color| {
        clap::ValueEnum::from_str(&color, false).map_err(|_| {
            format!("unknown `color = \"{color}\"`; expected \"auto\", \"always\" or \"never\"")
        })
    });
    Ok(Config {
        store: store.transpose().map_err(|error: store::InvalidLocation| error.to_string())?,
        host: file.host.map(|host| host.trim().to_owned()).filter(|host| !host.is_empty()),
        color: color.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_it_may_set() {
        let text = "store = \"postgres://bench@db1/fleet\"\nhost = \"db7\"\ncolor = \"never\"\n";
        let store = "postgres://bench@db1/fleet".parse().unwrap();
        assert_eq!(
            parse(text).unwrap(),
            Config { store: Some(store), host: Some("db7".to_owned()), color: Some(Color::Never) }
        );
        assert_eq!(parse("").unwrap(), Config::default());
        assert_eq!(parse("store = \"none\"").unwrap().store, Some(StoreName::Nothing));
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        let refused = |text: &str| parse(text).unwrap_err();
        insta::assert_snapshot!(refused("host = \"db7\"\nstor = \"x\"\n"), @"line 2: unknown field `stor`, expected one of `store`, `host`, `color`");
        insta::assert_snapshot!(refused("color = \"blue\""), @r#"unknown `color = "blue"`; expected "auto", "always" or "never""#);
        insta::assert_snapshot!(refused("store = \"mysql://h/d\""), @"unknown kind of store `mysql://`; expected a file or a PostgreSQL database: postgres://USER@HOST/DATABASE");
        insta::assert_snapshot!(refused("host = 7"), @"line 1: invalid type: integer `7`, expected a string");
    }

    #[test]
    fn a_missing_file_sets_nothing() {
        assert_eq!(read(Path::new("/nonexistent/config.toml")).unwrap(), Config::default());
        let refused = read(Path::new("/proc/self")).unwrap_err().to_string();
        insta::assert_snapshot!(refused, @"/proc/self: cannot be read: Is a directory (os error 21)");
    }
}
