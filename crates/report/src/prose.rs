//! Wrapping of sentences into lines.

/// Breaks text at spaces into lines of at most `width` characters; a longer word gets a separate
/// line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += length;
        }
    }
    lines
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
    fn later_lines_hang_below_the_first() {
        assert_eq!(hanging("  do  ", 6, "one two three", 13), "  do  one two\n      three\n");
    }
}
