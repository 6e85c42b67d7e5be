//! Opens pages in the user's browser.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// All but the unreserved characters of RFC 3986, and the slash.
const RESERVED_IN_PATHS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');
/// The command used when `$BROWSER` is not set.
const DESKTOP: &str = "xdg-open";
/// A command that cannot open the page fails within this time; one that still runs is the browser
/// itself.
const FAILS_WITHIN: Duration = Duration::from_secs(2);
/// Interval between checks whether the command has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Opens an address with the first command in `$BROWSER` that works (commands are separated by
/// colons, `%s` is the address), or else with the desktop's default.
///
/// # Errors
/// If none works: a message with what was tried and what to do.
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
    Err(format!(
        "no browser could be opened: {}; open {address} yourself, or set BROWSER",
        tried.join(", ")
    ))
}

pub fn open_file(path: &Path) -> Result<(), String> {
    let whole = path
        .canonicalize()
        .map_err(|error| format!("no browser could be opened: {}: {error}", path.display()))?;
    open(&file_address(&whole))
}

/// A path as a `file://` URL. Reserved characters are written as `%XX`.
fn file_address(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    format!("file://{}", percent_encode(bytes, RESERVED_IN_PATHS))
}

/// The words of a command, with the address in place of `%s` or at the end.
fn words(command: &str, address: &str) -> Vec<String> {
    let has_place = command.contains("%s");
    let words = command.split_whitespace().map(|word| word.replace("%s", address));
    words.chain((!has_place).then(|| address.to_owned())).collect()
}

fn start(words: &[String]) -> Result<(), String> {
    let [program, arguments @ ..] = words else { return Err("is not a command".to_owned()) };
    // In a separate process group: Ctrl-C must stop the server, not the browser.
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
    fn the_address_replaces_percent_s() {
        assert_eq!(words("firefox", "http://h/"), ["firefox", "http://h/"]);
        assert_eq!(
            words(" chromium --app=%s --new-window", "http://h/"),
            ["chromium", "--app=http://h/", "--new-window"]
        );
    }

    #[test]
    fn reserved_characters_of_a_path_are_escaped() {
        assert_eq!(
            file_address(Path::new("/srv/a b/50%?#ü.html")),
            "file:///srv/a%20b/50%25%3F%23%C3%BC.html"
        );
    }

    #[test]
    fn failures_are_reported_and_a_command_that_keeps_running_succeeds() {
        let start = |command: &str| start(&words(command, "x"));
        assert_eq!(start("no-such-browser").unwrap_err(), "is not installed");
        assert_eq!(start("false").unwrap_err(), "failed (exit status: 1)");
        assert_eq!(start("true"), Ok(()));
        let stays =
            ["sleep".to_owned(), (FAILS_WITHIN + Duration::from_secs(1)).as_secs().to_string()];
        assert_eq!(super::start(&stays), Ok(()));
    }
}
