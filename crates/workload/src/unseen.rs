//! Characters that show as nothing, or change how others show.
//!
//! A name from outside (a job file, a model, a note) may hold them: `report\u{202e}nosj.exe` reads
//! `reportexe.json`, and a zero-width space makes two names look alike. Whatever is shown to a user
//! shows them.

use std::borrow::Cow;

/// What stands for a character that is not shown where columns must stay aligned.
const REPLACEMENT: char = '\u{fffd}';

/// In order. The Unicode Character Database 16.0: Default_Ignorable_Code_Point of
/// DerivedCoreProperties.txt, General_Category Cf of DerivedGeneralCategory.txt without the signs
/// that have a shape (Prepended_Concatenation_Mark of PropList.txt), and Zl and Zp, which end lines.
const UNSEEN: [(char, char); 20] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202a}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Whether a character shows as nothing or changes how others show: control characters, controls of
/// the direction of writing, and everything of no width.
pub fn is_unseen(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    character.is_control() || UNSEEN.iter().any(|&(first, last)| (first..=last).contains(&character))
}

/// Text for a sentence: each such character as its escape, such as `\u{202e}`.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unseen) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        if is_unseen(character) {
            escaped.extend(character.escape_default());
        } else {
            escaped.push(character);
        }
    }
    Cow::Owned(escaped)
}

/// Text for a table or a page: each such character replaced by one of the same width as any other,
/// a line end or tab by a space.
pub fn masked(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_unseen) { Cow::Owned(text.chars().map(mask).collect()) } else { Cow::Borrowed(text) }
}

/// One character of [`masked`].
pub fn mask(character: char) -> char {
    match character {
        '\n' | '\r' | '\t' | '\u{2028}' | '\u{2029}' => ' ',
        unseen if is_unseen(unseen) => REPLACEMENT,
        seen => seen,
    }
}

#[cfg(test)]
mod tests {
    use unicode_general_category::{GeneralCategory, get_general_category};

    use super::*;

    #[test]
    fn every_format_character_of_unicode_that_has_no_shape_is_known() {
        // PropList.txt: Prepended_Concatenation_Mark.
        let has_a_shape = |c: char| {
            matches!(
                c,
                '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{110bd}' | '\u{110cd}'
            )
        };
        for character in '\0'..=char::MAX {
            let hides = match get_general_category(character) {
                GeneralCategory::Format => !has_a_shape(character),
                GeneralCategory::Control | GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => true,
                _ => continue,
            };
            assert_eq!(is_unseen(character), hides, "{character:?}");
        }
    }

    #[test]
    fn texts_are_shown() {
        assert_eq!(escaped("ab\u{202e}c\u{200b}\u{1b}[2J"), "ab\\u{202e}c\\u{200b}\\u{1b}[2J");
        assert_eq!(masked("ab\u{202e}c\u{2066}\u{e0041}\td\n"), "ab\u{fffd}c\u{fffd}\u{fffd} d ");
        for listed in
            ["\u{200b}", "\u{200f}", "\u{202a}", "\u{2060}", "\u{2069}", "\u{feff}", "\u{61c}", "\u{180e}", "\u{ad}"]
        {
            assert_eq!(masked(listed), "\u{fffd}", "{listed:?}");
        }
    }

    #[test]
    fn what_is_seen_stays_as_it_is() {
        for text in ["write + fsync, 85 µs", "▁▂▃│─ ● → ’…", "Größe 容量 שלום", "naïve e\u{301}"]
        {
            assert!(matches!(escaped(text), Cow::Borrowed(same) if same == text));
            assert!(matches!(masked(text), Cow::Borrowed(same) if same == text));
        }
    }
}
