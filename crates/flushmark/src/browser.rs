//! The person's browser.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What opens a page where `$BROWSER` names nothing.
const DESKTOP: &str = "xdg-open";
/// What cannot open a page has said so by then; what still runs is a browser at work.
const FAILS_WITHIN: Duration = Duration::from_secs(2);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(20);

/// Opens an address: with the first of `$BROWSER` that works (commands between colons, `%s` for the address), else with the desktop's own.
///
/// # Errors
/// Where none works: a sentence that says what was tried and what to do.
pub fn open(address: &str) -> Result<(), String> {
    let named = std::env::var("BROWSER").ok().filter(|named| !named.trim().is_empty());
    let commands = named.as_deref().unwrap_or(DESKTOP);
    let mut tried = Vec::new();
    for command in commands.split(':').filter(|command| !command.trim().is_empty()) {
        match start(&words(command, address)) {
            Ok(()) => return Ok(()),
            Err(why) => tried.push(format!("`{}` {why}", command.trim())),
        }
    }
    Err(format!("no browser was opened: {}; open {address} yourself, or name a browser in BROWSER", tried.join(", ")))
}

/// Opens a file.
///
/// # Errors
/// As [`open`].
pub fn open_file(path: &Path) -> Result<(), String> {
    let whole = path.canonicalize().map_err(|error| format!("no browser was opened: {}: {error}", path.display()))?;
    open(&file_address(&whole))
}

/// A path as an address: what means something in one is written as `%XX`.
fn file_address(path: &Path) -> String {
    let encode = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(*byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    format!("file://{}", path.as_os_str().as_encoded_bytes().iter().map(encode).collect::<String>())
}

/// The words of a command, the address among them or behind them.
fn words(command: &str, address: &str) -> Vec<String> {
    let has_place = command.contains("%s");
    let words = command.split_whitespace().map(|word| word.replace("%s", address));
    words.chain((!has_place).then(|| address.to_owned())).collect()
}

fn start(words: &[String]) -> Result<(), String> {
    let [program, arguments @ ..] = words else { return Err("is no command".to_owned()) };
    // In a group of its own: the Ctrl-C that ends a server is not meant for the browser.
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "is not installed".to_owned(),
            _ => format!("cannot be started ({error})"),
        })?;
    let begun = Instant::now();
    while begun.elapsed() < FAILS_WITHIN {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("failed ({status})")),
            Ok(None) => std::thread::sleep(LOOK),
            Err(error) => return Err(format!("cannot be waited for ({error})")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_stands_where_the_command_wants_it() {
        assert_eq!(words("firefox", "http://h/"), ["firefox", "http://h/"]);
        assert_eq!(
            words(" chromium --app=%s --new-window", "http://h/"),
            ["chromium", "--app=http://h/", "--new-window"]
        );
    }

    #[test]
    fn a_path_stays_one_whatever_it_is_called() {
        assert_eq!(file_address(Path::new("/srv/a b/50%?#ü.html")), "file:///srv/a%20b/50%25%3F%23%C3%BC.html");
    }

    #[test]
    fn a_command_that_fails_or_is_none_says_so_and_one_that_stays_is_at_work() {
        let start = |command: &str| start(&words(command, "x"));
        assert_eq!(start("no-such-browser").unwrap_err(), "is not installed");
        assert_eq!(start("false").unwrap_err(), "failed (exit status: 1)");
        assert_eq!(start("true"), Ok(()));
        let stays = ["sleep".to_owned(), (FAILS_WITHIN + Duration::from_secs(1)).as_secs().to_string()];
        assert_eq!(super::start(&stays), Ok(()));
    }
}
