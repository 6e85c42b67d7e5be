//! Colours, characters and width of a page. The binary chooses them by terminal and `NO_COLOR`.

use anstyle::{AnsiColor, Style};
use unseen::{is_unseen, mask};

/// The style of each kind of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Palette {
    /// Headings and decisive figures.
    pub strong: Style,
    /// Labels, units and asides.
    pub faint: Style,
    pub good: Style,
    pub warning: Style,
    pub bad: Style,
    /// Worse than bad: lost data, or unusable.
    pub worst: Style,
}

impl Palette {
    /// No escape sequences, for files, pipes and `NO_COLOR`.
    pub const fn plain() -> Palette {
        let none = Style::new();
        Palette { strong: none, faint: none, good: none, warning: none, bad: none, worst: none }
    }

    /// The terminal's sixteen colours, which suit its background.
    pub const fn coloured() -> Palette {
        Palette {
            strong: Style::new().bold(),
            faint: Style::new().dimmed(),
            good: AnsiColor::Green.on_default(),
            warning: AnsiColor::Yellow.on_default(),
            bad: AnsiColor::Red.on_default(),
            worst: AnsiColor::Red.on_default().bold().invert(),
        }
    }
}

/// The characters that a terminal can display.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Glyphs {
    /// Blocks, arrows and `µ`.
    #[default]
    Unicode,
    /// For terminals whose locale is not UTF-8.
    Ascii,
}

/// The amount of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// As much as fits on a screen: figures, grades, headlines of findings.
    Brief,
    /// Also distributions, evidence, confidence and the nearest published drives.
    #[default]
    Full,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Colours and styles.
    pub palette: Palette,
    /// Unicode or ASCII.
    pub glyphs: Glyphs,
    /// Width in characters, at least [`Look::COLUMNS_MIN`].
    pub columns: usize,
    pub detail: Detail,
}

impl Look {
    /// Width of the narrowest page.
    pub const COLUMNS_MIN: usize = 60;
    /// Width if the terminal's is unknown; longer lines are hard to read.
    pub const COLUMNS: usize = 100;

    /// Unicode without colour, [`Look::COLUMNS`] wide, for files and pipes.
    pub const fn plain() -> Look {
        Look {
            palette: Palette::plain(),
            glyphs: Glyphs::Unicode,
            columns: Look::COLUMNS,
            detail: Detail::Full,
        }
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns.max(Look::COLUMNS_MIN)
    }

    /// The last step of every page: replaces invisible characters, those that move a terminal's
    /// cursor, and those that ASCII lacks, one for one to keep columns aligned.
    pub(crate) fn finish(&self, text: String) -> String {
        let text =
            if text.chars().any(|c| c != '\n' && is_unseen(c)) { self.masked(&text) } else { text };
        match self.glyphs {
            Glyphs::Unicode => text,
            Glyphs::Ascii => text.chars().map(ascii).collect(),
        }
    }

    /// Keeps only line ends, tabs at the start of a line (as in `diskinfo`'s table), and the styles
    /// of a coloured palette.
    fn masked(&self, text: &str) -> String {
        let mut masked = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            let style = if self.palette == Palette::plain() { None } else { style_at(rest) };
            let length = style.unwrap_or(character.len_utf8());
            let begins_line = masked.is_empty() || masked.ends_with('\n');
            if style.is_some() || character == '\n' || (character == '\t' && begins_line) {
                masked += &rest[..length];
            } else {
                masked.push(mask(character));
            }
            rest = &rest[length..];
        }
        masked
    }

    pub(crate) fn heading(&self, text: &str) -> String {
        self.hanging_in(self.palette.strong, "", text)
    }
}

impl Default for Look {
    fn default() -> Look {
        Look::plain()
    }
}

/// `text` in that style; unchanged if the style is plain.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// Number of characters that a terminal shows.
pub(crate) fn visible(text: &str) -> usize {
    let (mut rest, mut count) = (text, 0);
    while let Some(character) = rest.chars().next() {
        let style = style_at(rest);
        count += usize::from(style.is_none());
        rest = &rest[style.unwrap_or(character.len_utf8())..];
    }
    count
}

/// The length of the style that the text begins with (`ESC [ 1 m`).
fn style_at(text: &str) -> Option<usize> {
    let parameters = text.strip_prefix("\u{1b}[")?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    parameters[end..].starts_with('m').then_some(2 + end + 1)
}

#[expect(clippy::match_same_arms, reason = "one line for each kind of sign")]
fn ascii(character: char) -> char {
    match character {
        'µ' => 'u',
        '×' => 'x',
        '●' | '•' => '*',
        '◄' | '←' => '<',
        '→' => '>',
        '▁' => '.',
        '▂' => ':',
        '▃' => '-',
        '▄' => '=',
        '▅' => '+',
        '▆' => '*',
        '▇' => '%',
        '█' => '#',
        '│' => '|',
        '─' | '–' | '—' => '-',
        '┴' | '└' | '┘' | '┬' => '+',
        '’' => '\'',
        '…' => '.',
        ascii if ascii.is_ascii() => ascii,
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_keeps_columns_aligned() {
        let ascii = Look { glyphs: Glyphs::Ascii, ..Look::plain() };
        let text = "● 85 µs ▁▂▃▄▅▆▇█ → ok";
        let finished = ascii.finish(text.to_owned());
        assert!(finished.is_ascii());
        assert_eq!(finished.chars().count(), text.chars().count());
        insta::assert_snapshot!(finished, @"* 85 us .:-=+*%# > ok");
    }

    #[test]
    fn invisible_characters_and_cursor_movements_are_masked() {
        let coloured = Look { palette: Palette::coloured(), ..Look::plain() };
        let bold = paint(coloured.palette.strong, "name");
        let text = format!("{bold} a\u{202e}b\u{200b}c\u{1b}[2Jd\n");
        assert_eq!(coloured.finish(text), format!("{bold} a\u{fffd}b\u{fffd}c\u{fffd}[2Jd\n"));
        assert_eq!(coloured.finish("\t4 kbytes:\na\tb\n".to_owned()), "\t4 kbytes:\na b\n");
        // Without colours, every style is masked.
        assert_eq!(Look::plain().finish("\u{1b}[31mred\n".to_owned()), "\u{fffd}[31mred\n");
        let ascii = Look { glyphs: Glyphs::Ascii, ..Look::plain() };
        assert_eq!(ascii.finish("a\u{2066}b\n".to_owned()), "a?b\n");
    }

    #[test]
    fn plain_has_no_escapes_and_colour_ends_where_it_should() {
        assert_eq!(paint(Palette::plain().bad, "unfit"), "unfit");
        assert_eq!(paint(Palette::coloured().bad, "unfit"), "\u{1b}[31munfit\u{1b}[0m");
    }
}
