//! The text format of a tree of small files and links.
//!
//! ```text
//! # a comment
//! /proc/sys/vm/dirty_ratio = 20
//!
//! [/sys/devices/virtual/block/md0]     base directory of the relative paths that follow
//! dev = 9:0
//! slaves/sda1 -> /sys/devices/pci0000:00/.../sda/sda1
//!
//! /proc/swaps <<<
//! literal lines, up to a line that consists of
//! >>>
//! ```

use std::collections::BTreeSet;
use std::fmt;

/// A file or link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Absolute path on the machine.
    pub path: String,
    /// The file's text or the link's target.
    pub content: Content,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A file with this text, including its last newline.
    File(String),
    /// A link to this absolute path.
    Link(String),
}

/// A line that could not be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Line number, starting at 1.
    pub line: usize,
    /// The problem with the line.
    pub because: &'static str,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.because)
    }
}

impl std::error::Error for Malformed {}

/// Parses a tree.
///
/// # Errors
///
/// [`Malformed`] for the first line that has none of the forms above, repeats a path, or leads out
/// of the tree.
pub fn parse(text: &str) -> Result<Vec<Entry>, Malformed> {
    let mut entries = Vec::new();
    let mut places = BTreeSet::new();
    let mut directory = "";
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let line = line.trim_end();
        let malformed = |because| Malformed { line: index + 1, because };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            directory =
                section.strip_suffix(']').ok_or(malformed("expected `]` after the directory"))?;
            continue;
        }
        let (path, content) = if let Some(path) = line.strip_suffix(" <<<") {
            let mut block = String::new();
            loop {
                match lines.next() {
                    Some((_, ">>>")) => break,
                    Some((_, line)) => block.extend([line, "\n"]),
                    None => return Err(malformed("expected `>>>` after the block")),
                }
            }
            (path, Content::File(block))
        } else if let Some((path, target)) = line.split_once(" -> ") {
            (
                path,
                Content::Link(
                    sound(target)
                        .ok_or(malformed("expected an absolute path as the target of the link"))?,
                ),
            )
        } else if let Some((path, value)) = line.split_once(" = ") {
            (path, Content::File(format!("{value}\n")))
        } else {
            return Err(malformed("expected `path = value`, `path -> target` or `path <<<`"));
        };
        let path =
            if path.starts_with('/') { path.to_owned() } else { format!("{directory}/{path}") };
        let path = sound(&path)
            .ok_or(malformed("expected an absolute path, or one after a directory in brackets"))?;
        if !places.insert(path.clone()) {
            return Err(malformed("this path is repeated"));
        }
        entries.push(Entry { path, content });
    }
    Ok(entries)
}

/// The path, if it is absolute and has no `.`, `..` or empty parts.
fn sound(path: &str) -> Option<String> {
    let below = path.strip_prefix('/')?;
    below
        .split('/')
        .all(|part| !matches!(part, "" | "." | "..") && part == part.trim())
        .then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_parsed() {
        let text = "# comment\n/a/b = 1 = 2\n\n[/sys/x]\ndev = 8:0\nslaves/y -> /sys/y\n/proc/z \
                    <<<\n  two\n# lines\n>>>\n";
        let file = |path: &str, text: &str| Entry {
            path: path.into(),
            content: Content::File(text.into()),
        };
        let link =
            |path: &str, to: &str| Entry { path: path.into(), content: Content::Link(to.into()) };
        assert_eq!(
            parse(text),
            Ok(vec![
                file("/a/b", "1 = 2\n"),
                file("/sys/x/dev", "8:0\n"),
                link("/sys/x/slaves/y", "/sys/y"),
                file("/proc/z", "  two\n# lines\n"),
            ])
        );
    }

    #[test]
    fn malformed_lines_are_refused_with_their_number() {
        for (text, message) in [
            ("/a = 1\n/b", "line 2: expected `path = value`, `path -> target` or `path <<<`"),
            ("/a = 1\n/a = 2", "line 2: this path is repeated"),
            (
                "/../etc/passwd = 1",
                "line 1: expected an absolute path, or one after a directory in brackets",
            ),
            (
                "/a//b = 1",
                "line 1: expected an absolute path, or one after a directory in brackets",
            ),
            ("/a -> b", "line 1: expected an absolute path as the target of the link"),
            ("/a <<<\nb", "line 1: expected `>>>` after the block"),
            ("[/a", "line 1: expected `]` after the directory"),
        ] {
            assert_eq!(
                parse(text).map_err(|error| error.to_string()),
                Err(message.to_owned()),
                "{text}"
            );
        }
    }
}
