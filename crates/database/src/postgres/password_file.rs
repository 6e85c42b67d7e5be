//! The password, if it is not in the URL, where every process of the machine could see it: libpq's
//! variable and file (its documentation, "The Password File").

use std::borrow::Cow;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// libpq's directories for sockets, Debian's and upstream's. The password file calls them
/// `localhost`.
const SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];
/// Port if none is given.
const PORT: u16 = 5432;

/// The result of the search.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) password: Option<String>,
    /// Why the file was ignored; libpq warns in the same cases.
    pub(super) passed_over: Option<String>,
}

/// Looks in `PGPASSWORD`, then in the file named by the URL or by `PGPASSFILE`, otherwise in
/// `~/.pgpass`.
pub(super) fn look_up(config: &Config, pass_file: Option<PathBuf>) -> Found {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(password) = variable("PGPASSWORD") {
        return Found {
            password: Some(password.to_string_lossy().into_owned()),
            passed_over: None,
        };
    }
    let named = pass_file.or_else(|| variable("PGPASSFILE").map(PathBuf::from));
    let Some(path) =
        named.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".pgpass")))
    else {
        return Found::default();
    };
    // If the URL names no user, the client uses the account's name.
    let account = variable("USER").map(|name| name.to_string_lossy().into_owned());
    in_file(&path, &Wanted::of(config, account))
}

fn in_file(path: &Path, wanted: &Wanted) -> Found {
    let passed_over = |why: String| Found { password: None, passed_over: Some(why) };
    let shown = path.display();
    match fs::metadata(path) {
        Err(_) => Found::default(),
        Ok(file) if !file.is_file() => {
            passed_over(format!("the password file {shown} is not a regular file"))
        }
        Ok(file) if file.permissions().mode() & 0o077 != 0 => passed_over(format!(
            "the password file {shown} was ignored because other users can read it; run chmod 600 \
             on it"
        )),
        Ok(_) => match fs::read_to_string(path) {
            Ok(text) => Found { password: in_text(&text, wanted), passed_over: None },
            Err(error) => passed_over(format!("the password file {shown} cannot be read: {error}")),
        },
    }
}

/// The connection that a line must match.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    /// Names of the host that the file may use.
    hosts: Vec<String>,
    port: String,
    database: Option<String>,
    user: Option<String>,
}

impl Wanted {
    fn of(config: &Config, account: Option<String>) -> Wanted {
        let hosts = match config.get_hosts().first() {
            Some(Host::Tcp(name)) => vec![name.clone()],
            Some(Host::Unix(directory)) => {
                let directory = directory.to_string_lossy().into_owned();
                let is_usual = SOCKET_DIRECTORIES.contains(&directory.as_str());
                is_usual.then(|| "localhost".to_owned()).into_iter().chain([directory]).collect()
            }
            None => config.get_hostaddrs().first().map(ToString::to_string).into_iter().collect(),
        };
        let user = config.get_user().map(str::to_owned).or(account);
        let database = config.get_dbname().map(str::to_owned).or_else(|| user.clone());
        Wanted {
            hosts,
            port: config.get_ports().first().unwrap_or(&PORT).to_string(),
            database,
            user,
        }
    }

    fn is_for(&self, [host, port, database, user]: [&Field<'_>; 4]) -> bool {
        (host.is_any() || self.hosts.iter().any(|name| host.text == *name))
            && (port.is_any() || port.text == self.port)
            && (database.is_any() || self.database.as_deref() == Some(&*database.text))
            && (user.is_any() || self.user.as_deref() == Some(&*user.text))
    }
}

/// One of the five fields of a line.
struct Field<'a> {
    text: Cow<'a, str>,
    /// As written in the file; `\*` is not a wildcard.
    written: &'a str,
}

impl Field<'_> {
    fn is_any(&self) -> bool {
        self.written == "*"
    }
}

/// The password in the first matching line of `host:port:database:user:password`, with `\` before a
/// colon or backslash that is part of a field.
fn in_text(text: &str, wanted: &Wanted) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = fields(line);
        let (host, port, database, user) =
            (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let password = fields.next()?;
        wanted.is_for([&host, &port, &database, &user]).then(|| password.text.into_owned())
    })
}

fn fields(line: &str) -> impl Iterator<Item = Field<'_>> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let mut escaped = false;
        let end = line.find(|c| {
            let ends = c == ':' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let written = end.map_or(line, |end| &line[..end]);
        rest = end.map(|end| &line[end + 1..]);
        Some(Field { text: unescaped(written), written })
    })
}

fn unescaped(written: &str) -> Cow<'_, str> {
    if !written.contains('\\') {
        return Cow::Borrowed(written);
    }
    let mut text = String::with_capacity(written.len());
    let mut characters = written.chars();
    while let Some(c) = characters.next() {
        // A backslash at the very end is literal.
        text.push(if c == '\\' { characters.next().unwrap_or(c) } else { c });
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wanted(url: &str) -> Wanted {
        Wanted::of(&url.parse().unwrap(), Some("anna".to_owned()))
    }

    #[test]
    fn the_first_matching_line_is_used() {
        let text = "# db1:5432:fleet:bench:commented out\n\nnonsense\ndb1:5433:fleet:bench:other \
                    port\n\
                    db1:5432:*:bench:this\\:one\\\\\ndb1:*:*:*:too \
                    late\nlocalhost:*:*:*:socket\n*:*:anna:anna:own\r\n";
        let of = |url: &str| in_text(text, &wanted(url));
        assert_eq!(of("postgres://bench@db1/fleet").as_deref(), Some("this:one\\"));
        assert_eq!(of("postgres://bench@db1:5433/fleet").as_deref(), Some("other port"));
        assert_eq!(of("postgres://else@db1/fleet").as_deref(), Some("too late"));
        assert_eq!(of("postgres://u@%2Fvar%2Frun%2Fpostgresql/d").as_deref(), Some("socket"));
        assert_eq!(
            of("postgres://db2").as_deref(),
            Some("own"),
            "the account's name as user and database"
        );
        assert_eq!(of("postgres://bench@db2/fleet"), None);
    }

    #[test]
    fn an_escaped_star_is_a_name() {
        assert_eq!(in_text("\\*:*:*:*:x", &wanted("postgres://u@h/d")), None);
        assert_eq!(in_text("*:*:*:*:a\\", &wanted("postgres://u@h/d")).as_deref(), Some("a\\"));
        assert_eq!(in_text("*:*:*:*", &wanted("postgres://u@h/d")), None, "four fields");
    }

    proptest! {
        #[test]
        fn any_name_and_password_can_be_written(database in "[^\r\n]{1,12}", password in "[^\r\n]{0,12}") {
            let escaped = |text: &str| text.replace('\\', "\\\\").replace(':', "\\:");
            let line = format!("*:*:{}:*:{}\n", escaped(&database), escaped(&password));
            let one = Wanted { database: Some(database.clone()), ..wanted("postgres://u@h/d") };
            // A lone `*` matches every name, including this one.
            prop_assert_eq!(in_text(&line, &one), Some(password));
        }

        #[test]
        fn nothing_in_a_file_panics(text in ".*\n?.*") {
            let _ = in_text(&text, &wanted("postgres://u@h/d"));
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pgpass");
        let found = || in_file(&path, &wanted("postgres://u@h/d"));
        assert_eq!(found(), Found::default(), "no file");
        fs::write(&path, "*:*:*:*:secret\n").unwrap();
        for (mode, is_taken) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(found().password.is_some(), is_taken, "{mode:o}");
        }
        let why = found().passed_over.unwrap().replace(&*path.to_string_lossy(), "PGPASS");
        insta::assert_snapshot!(why, @"the password file PGPASS was ignored because other users can read it; run chmod 600 on it");
        let directory = in_file(directory.path(), &wanted("postgres://u@h/d"));
        assert!(directory.passed_over.unwrap().ends_with("is not a regular file"));
    }
}
