//! Wrapping of sentences into lines.

use anstyle::Style;
use workload::number::number;

use crate::look::{Look, paint, visible};

/// Units written after a number and a space; rates (`MiB/s`, `commits/s`) are recognised by their
/// end.
const UNITS: [&str; 21] = [
    "ns", "µs", "us", "ms", "s", "min", "h", "B", "kB", "MB", "GB", "TB", "PB", "KiB", "MiB",
    "GiB", "TiB", "PiB", "IOPS", "rpm", "°C",
];

/// Breaks text at spaces into lines of at most `width` characters; a longer word gets a separate
/// line. A number and its unit stay together.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut lines = vec![String::new()];
    let mut used = 0;
    for words in words.chunk_by(|number, unit| is_number(number) && is_unit(unit)) {
        let words = words.join(" ");
        let length = words.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(&words);
            used += length;
        }
    }
    lines
}

fn is_number(word: &str) -> bool {
    let number = word.trim_start_matches(['(', '~', '±', '-']);
    number.starts_with(|c: char| c.is_ascii_digit())
        && number.ends_with(|c: char| c.is_ascii_digit())
}

/// Punctuation of the sentence may follow the unit.
fn is_unit(word: &str) -> bool {
    let word = word.trim_end_matches([',', ';', '.', ':', ')']);
    word.ends_with("/s") || UNITS.contains(&word)
}

/// Wraps the text, with `first` before the first line and `indent` spaces before the others. Every
/// line ends with a newline.
pub(crate) fn hanging(first: &str, indent: usize, text: &str, width: usize) -> String {
    let lines = wrap(text, width.saturating_sub(indent));
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| match index {
            0 => format!("{first}{line}\n"),
            _ => format!("{:indent$}{line}\n", ""),
        })
        .collect()
}

/// As much of a sentence as fits into one line: all of it, or without its parentheses, or up to a
/// comma or semicolon. Its first clause may be longer. A list after a colon is never cut short, but
/// left out.
pub(crate) fn within(sentence: &str, width: usize) -> String {
    let fits = |text: &str| text.chars().count() <= width;
    let sentence = sentence.trim_end_matches('.');
    if fits(sentence) {
        return sentence.to_owned();
    }
    let mut bare = String::new();
    let mut depth = 0_u32;
    for character in sentence.chars() {
        match character {
            '(' => {
                depth += 1;
                bare.truncate(bare.trim_end().len());
            }
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => bare.push(character),
            _ => {}
        }
    }
    if fits(&bare) {
        return bare;
    }
    let clauses = bare.match_indices([',', ';', ':']).map(|(at, _)| at);
    let list = bare.find(": ").unwrap_or(bare.len());
    let is_end = |at: &usize| *at <= list && bare[*at..].chars().nth(1) == Some(' ');
    let ends: Vec<usize> = clauses.filter(is_end).collect();
    let fitting = ends.iter().rev().find(|&&end| fits(&bare[..end]));
    fitting.or(ends.first()).map_or(bare.as_str(), |&end| &bare[..end]).to_owned()
}

impl Look {
    /// The text on lines of the page's width, below `first`, which may contain styles.
    pub(crate) fn hanging(&self, first: &str, text: &str) -> String {
        hanging(first, visible(first), text, self.columns())
    }

    /// Like [`Look::hanging`], with the text in a style.
    pub(crate) fn hanging_in(&self, style: Style, first: &str, text: &str) -> String {
        let lines = self.hanging(&format!("{first}{style}"), text);
        format!("{}{style:#}\n", lines.trim_end_matches('\n'))
    }

    pub(crate) fn paragraph(&self, text: &str) -> String {
        self.hanging("", text)
    }

    /// A label in a column of `width` characters, and its words.
    pub(crate) fn labelled(&self, label: &str, width: usize, words: &str) -> String {
        self.hanging(&paint(self.palette.faint, &format!("{label:<width$}")), words)
    }

    /// An indented line of a list's entry: a label and its words.
    pub(crate) fn detail(&self, label: &str, words: &str) -> String {
        self.hanging(&paint(self.palette.faint, &format!("{:4}{label}: ", "")), words)
    }
}

/// `1 run`, `36,600 runs`.
pub fn counted(count: u64, noun: &str) -> String {
    let ending = match (count, noun.ends_with("sh")) {
        (1, _) => "",
        (_, true) => "es",
        (_, false) => "s",
    };
    format!("{} {noun}{ending}", number(count as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_only() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable word", 4), ["unbreakable", "word"]);
        assert_eq!(wrap("", 4), [""]);
    }

    #[test]
    fn a_sentence_in_one_line() {
        let sentence = "One connection makes 1,583 commits/s (4 KiB write), p99 1.78 ms, within \
                        etcd's limit of 10 ms.";
        let at = |width| within(sentence, width);
        assert_eq!(at(100), sentence.trim_end_matches('.'));
        assert_eq!(
            at(85),
            "One connection makes 1,583 commits/s, p99 1.78 ms, within etcd's limit of 10 ms"
        );
        assert_eq!(at(60), "One connection makes 1,583 commits/s, p99 1.78 ms");
        assert_eq!(at(40), "One connection makes 1,583 commits/s");
        assert_eq!(at(20), "One connection makes 1,583 commits/s", "the first clause");
        assert_eq!(within("No clause (none)", 5), "No clause");
        let two = "99 % take 16.1 ms or less: 17 % at about 120 µs, 83 % at about 7.9 ms";
        assert_eq!(within(two, 60), "99 % take 16.1 ms or less");
    }

    #[test]
    fn a_number_and_its_unit_stay_together() {
        assert_eq!(wrap("took 0.28 s, not 1 ms", 9), ["took", "0.28 s,", "not 1 ms"]);
        assert_eq!(
            wrap("(36,600 commits/s) at 2 min 5 s", 6),
            ["(36,600 commits/s)", "at", "2 min", "5 s"]
        );
        assert_eq!(wrap("3 drives and vda1 s", 6), ["3", "drives", "and", "vda1 s"], "no units");
    }

    #[test]
    fn later_lines_hang_below_the_first() {
        let look = Look { columns: Look::COLUMNS_MIN, ..Look::plain() };
        let [first, rest] = ["do: ", "x".repeat(56).as_str()].map(str::to_owned);
        assert_eq!(look.hanging(&first, &format!("{rest} y")), format!("do: {rest}\n    y\n"));
        let bold = look.hanging_in(Style::new().bold(), &first, &format!("{rest} y"));
        assert_eq!(bold, format!("do: \u{1b}[1m{rest}\n    y\u{1b}[0m\n"));
    }
}
