//! Text that came through a forum or a mail: quoted, fenced, with tabs and spaces of every kind, and with its indentation lost.

use std::borrow::Cow;

/// One line that says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number in the text, from 1.
    pub number: usize,
    /// What it says, without what surrounds it.
    pub text: &'a str,
}

/// JSON without quotation marks (`> `) before its lines. None of its own lines begins with one, because its texts have no line ends.
pub fn unquoted(text: &str) -> Cow<'_, str> {
    if text.lines().any(|line| line.trim_start().starts_with('>')) {
        let bare = |line: &str| line.trim_start_matches(|c: char| c == '>' || c.is_whitespace()).to_owned() + "\n";
        text.lines().map(bare).collect::<String>().into()
    } else {
        text.into()
    }
}

/// The lines that say something, without quotation marks (`> `), code fences and white space around them.
///
/// A carriage return ends a line, too: a progress line that was captured from a terminal has many of them, with the output's next line behind the last.
pub fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let bare = |line| -> &str { str::trim(line).trim_start_matches(|c: char| c == '>' || c.is_whitespace()) };
    let numbered = text.lines().enumerate();
    let pieces = numbered.flat_map(|(index, line)| line.split('\r').map(move |piece| (index + 1, piece)));
    let told = pieces.map(move |(number, piece)| Line { number, text: bare(piece) });
    told.filter(|line| !line.text.is_empty() && !line.text.starts_with("```") && !line.text.starts_with("~~~"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_surrounds_a_line_is_no_part_of_it() {
        let text = "```text\n> > write: IOPS=5\n\u{a0}\u{a0}lat (usec): min=1\t\r\n\nJobs: 1\rJobs: 2\rend\n```";
        let read: Vec<_> = lines(text).map(|line| (line.number, line.text)).collect();
        assert_eq!(read, [(2, "write: IOPS=5"), (3, "lat (usec): min=1"), (5, "Jobs: 1"), (5, "Jobs: 2"), (5, "end")]);
    }
}
