//! Invisible characters, and characters that change how others are displayed.
//!
//! Names from outside (a file's name, a drive's model, a note) may contain them:
//! `report\u{202e}nosj.exe` displays as `reportexe.json`, and a zero-width space makes two names
//! look alike. They are made visible in everything that is shown to the user.
//!
//! ```
//! assert_eq!(unseen::escaped("report\u{202e}nosj.exe"), r"report\u{202e}nosj.exe");
//! assert_eq!(unseen::masked("report\u{202e}nosj.exe"), "report\u{fffd}nosj.exe");
//! ```

use std::borrow::Cow;

/// Replaces an invisible character where columns must stay aligned.
const REPLACEMENT: char = '\u{fffd}';

/// Sorted ranges from the Unicode Character Database 16.0: Default_Ignorable_Code_Point of
/// DerivedCoreProperties.txt, General_Category Cf of DerivedGeneralCategory.txt except the visible
/// signs (Prepended_Concatenation_Mark of PropList.txt), and Zl and Zp, which end lines.
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

/// Returns `true` for a character that is invisible or changes how others are displayed: control
/// characters, directional formatting characters, and everything of zero width.
pub fn is_unseen(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    character.is_control()
        || UNSEEN.iter().any(|&(first, last)| (first..=last).contains(&character))
}

/// Escapes invisible characters for use in a sentence, for example as `\u{202e}`.
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

/// Masks invisible characters for a table or a page: each is replaced by one of normal width, line
/// ends and tabs by a space.
pub fn masked(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_unseen) {
        Cow::Owned(text.chars().map(mask).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// Masks one character, as [`masked`] does.
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
                '\u{600}'
                    ..='\u{605}'
                        | '\u{6dd}'
                        | '\u{890}'
                        | '\u{891}'
                        | '\u{8e2}'
                        | '\u{110bd}'
                        | '\u{110cd}'
            )
        };
        for character in '\0'..=char::MAX {
            let hides = match get_general_category(character) {
                GeneralCategory::Format => !has_a_shape(character),
                GeneralCategory::Control
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator => true,
                _ => continue,
            };
            assert_eq!(is_unseen(character), hides, "{character:?}");
        }
    }

    #[test]
    fn texts_are_shown() {
        assert_eq!(escaped("ab\u{202e}c\u{200b}\u{1b}[2J"), "ab\\u{202e}c\\u{200b}\\u{1b}[2J");
        assert_eq!(masked("ab\u{202e}c\u{2066}\u{e0041}\td\n"), "ab\u{fffd}c\u{fffd}\u{fffd} d ");
        for listed in [
            "\u{200b}", "\u{200f}", "\u{202a}", "\u{2060}", "\u{2069}", "\u{feff}", "\u{61c}",
            "\u{180e}", "\u{ad}",
        ] {
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
