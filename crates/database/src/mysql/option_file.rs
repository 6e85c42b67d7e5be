//! User and password from `~/.my.cnf`, as the MySQL client reads them (its documentation, "Using
//! Option Files").

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The groups that every client program of MySQL or MariaDB reads, and the shell's.
const GROUPS: [&str; 4] = ["client", "client-server", "client-mariadb", "mysql"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
}

/// The result of the search.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) login: Login,
    /// Why the file was ignored.
    pub(super) passed_over: Option<String>,
}

pub(super) fn look_up() -> Found {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    home.map(|home| in_file(&Path::new(&home).join(".my.cnf"))).unwrap_or_default()
}

fn in_file(path: &Path) -> Found {
    let passed_over = |why| Found { login: Login::default(), passed_over: Some(why) };
    let shown = path.display();
    match fs::metadata(path) {
        Err(_) => Found::default(),
        // The clients ignore such a file as well.
        Ok(file) if file.permissions().mode() & 0o002 != 0 => passed_over(format!(
            "the option file {shown} was ignored because every user can write to it; run chmod \
             600 on it"
        )),
        Ok(_) => match fs::read_to_string(path) {
            Ok(text) => Found { login: in_text(&text), passed_over: None },
            Err(error) => passed_over(format!("the option file {shown} cannot be read: {error}")),
        },
    }
}

/// The last value of each option counts.
fn in_text(text: &str) -> Login {
    let mut login = Login::default();
    let mut applies = false;
    for line in text.lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            applies = GROUPS.contains(&group.0.trim());
            continue;
        }
        if !applies || line.starts_with(['#', ';', '!']) {
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let value = value_of(value);
        match key.trim().replace('_', "-").trim_start_matches("loose-") {
            "user" => login.user = Some(value),
            "password" => login.password = Some(value),
            _ => {}
        }
    }
    login
}

/// A value without its quotes, or up to a comment if it has none, with its escape sequences
/// resolved.
fn value_of(written: &str) -> String {
    let written = written.trim();
    let quote = written.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let inner = quote.and_then(|quote| written[1..].rfind(quote).map(|end| &written[1..=end]));
    let text = match inner {
        Some(inner) => inner,
        // `#` begins a comment in the middle of a line, too.
        None => written.split(" #").next().unwrap_or(written).trim_end(),
    };
    let mut value = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        match characters.next() {
            Some('b') => value.push('\u{8}'),
            Some('t') => value.push('\t'),
            Some('n') => value.push('\n'),
            Some('r') => value.push('\r'),
            Some('s') => value.push(' '),
            Some(c @ ('\\' | '\'' | '"')) => value.push(c),
            Some(other) => value.extend(['\\', other]),
            None => value.push('\\'),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_value_in_a_clients_group() {
        let text = "user=nobody\n[mysqld]\npassword=of-the-server\n[client]\n# password=old\n\
                    user = anna\npassword=\"a#b \\\"c\\\"\"\n[mysqldump]\npassword=other\n\
                    [client-mariadb]\nuser='bench'\n";
        let login = in_text(text);
        assert_eq!(login.user.as_deref(), Some("bench"));
        assert_eq!(login.password.as_deref(), Some("a#b \"c\""));
    }

    #[test]
    fn values() {
        for (written, value) in [
            ("x # comment", "x"),
            ("a#b", "a#b"),
            (r"a\sb\\c", r"a b\c"),
            (r"C:\dir", r"C:\dir"),
            ("'open", "'open"),
            ("\"\"", ""),
            ("", ""),
        ] {
            assert_eq!(value_of(written), value, "{written}");
        }
    }

    #[test]
    fn a_file_that_all_can_write_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        assert_eq!(in_file(&path), Found::default(), "no file");
        fs::write(&path, "[client]\npassword=secret\n").unwrap();
        for (mode, is_taken) in [(0o600, true), (0o644, true), (0o646, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(in_file(&path).login.password.is_some(), is_taken, "{mode:o}");
        }
        let why = in_file(&path).passed_over.unwrap().replace(&*path.to_string_lossy(), "MY.CNF");
        insta::assert_snapshot!(why, @"the option file MY.CNF was ignored because every user can write to it; run chmod 600 on it");
    }

    proptest! {
        #[test]
        fn any_password_can_be_quoted(password in "[^\r\n]{0,16}") {
            let escaped = password.replace('\\', "\\\\").replace('"', "\\\"");
            let login = in_text(&format!("[client]\npassword=\"{escaped}\"\n"));
            prop_assert_eq!(login.password, Some(password));
        }

        #[test]
        fn nothing_panics(text in ".*\n?.*") {
            let _ = in_text(&text);
        }
    }
}
