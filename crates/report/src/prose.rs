//! Wrapping of sentences into lines.

use crate::look::{Look, paint};

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

/// An indented line of a list's entry: a label and its words.
pub(crate) fn detail(label: &str, words: &str, look: &Look) -> String {
    let label = format!("{:4}{label}: ", "");
    hanging(&paint(look.palette.faint, &label), label.chars().count(), words, look.columns())
}

/// Wraps the text, with `first` before the first line and as many spaces before the others. Every
/// line ends with a newline.
///
/// `first` counts as `first_width` characters because it may contain colours.
pub(crate) fn hanging(first: &str, first_width: usize, text: &str, width: usize) -> String {
    let lines = wrap(text, width.saturating_sub(first_width));
    lines
        .iter()
        .enumerate()
        .map(|(index, line)| match index {
            0 => format!("{first}{line}\n"),
            _ => format!("{:first_width$}{line}\n", ""),
        })
        .collect()
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
        assert_eq!(hanging("  do  ", 6, "one two three", 13), "  do  one two\n      three\n");
    }
}
