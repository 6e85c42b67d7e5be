//! Text copied from forums and mails: quoted, fenced, with any kind of tabs and spaces, and without
//! its indentation.

use std::borrow::Cow;

/// A non-empty line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Number in the text, from 1.
    pub number: usize,
    /// The line without quotation marks and surrounding white space.
    pub text: &'a str,
}

/// Removes quotation marks (`> `) before the lines of JSON. Its own lines cannot begin with one,
/// because JSON strings contain no line ends.
pub fn unquoted(text: &str) -> Cow<'_, str> {
    if text.lines().any(|line| line.trim_start().starts_with('>')) {
        let bare = |line: &str| {
            line.trim_start_matches(|c: char| c == '>' || c.is_whitespace()).to_owned() + "\n"
        };
        text.lines().map(bare).collect::<String>().into()
    } else {
        text.into()
    }
}

/// The non-empty lines, without quotation marks (`> `), code fences and surrounding white space.
///
/// A carriage return also ends a line: a progress line captured from a terminal has many of them,
/// and the next line of the output follows the last.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let bare = |line| -> &str {
        str::trim(line).trim_start_matches(|c: char| c == '>' || c.is_whitespace())
    };
    let numbered = text.lines().enumerate();
    let pieces =
        numbered.flat_map(|(index, line)| line.split('\r').map(move |piece| (index + 1, piece)));
    let bare_lines = pieces.map(move |(number, piece)| Line { number, text: bare(piece) });
    bare_lines.filter(|line| {
        !line.text.is_empty() && !line.text.starts_with("```") && !line.text.starts_with("~~~")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surroundings_of_a_line_are_removed() {
        let text = "```text\n> > write: IOPS=5\n\u{a0}\u{a0}lat (usec): min=1\t\r\n\nJobs: \
                    1\rJobs: 2\rend\n```";
        let read: Vec<_> = lines(text).map(|line| (line.number, line.text)).collect();
        assert_eq!(
            read,
            [
                (2, "write: IOPS=5"),
                (3, "lat (usec): min=1"),
                (5, "Jobs: 1"),
                (5, "Jobs: 2"),
                (5, "end")
            ]
        );
    }
}
