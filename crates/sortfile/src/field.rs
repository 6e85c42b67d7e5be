//! Keys such as `2.3,4`, and the bytes of a record that they select.

use std::str::FromStr;

use thiserror::Error;

use crate::other_ordering::OtherOrdering;
use crate::records::Unit;

/// A part of each record to sort by, from one position to another, as in GNU `sort -k`.
///
/// ```
/// let key: sortfile::Key = "2.3,4br".parse()?;
/// assert!(key.reverse);
/// assert_eq!(key.to_string(), "2.3,4br");
/// # Ok::<(), sortfile::KeyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Start of the key.
    pub from: Position,
    /// End of the key, inclusive; the end of the record if `None`. Character 0 means the end of the
    /// field.
    pub to: Option<Position>,
    /// Sorts in descending order.
    pub reverse: bool,
}

/// A field, and a byte in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Number of the field, from 1.
    pub field: usize,
    /// Number of the byte in the field, from 1.
    pub character: usize,
    /// Counts bytes from the first non-blank of the field.
    pub skip_blanks: bool,
}

/// Why a key is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum KeyError {
    /// It does not start with a number.
    #[error(
        "invalid key; expected FIELD[.CHARACTER][br][,FIELD[.CHARACTER][br]], such as 2,2 or \
         1.3,1.8r"
    )]
    Form,
    /// A field or character is 0.
    #[error("fields start at 1, and so do the characters at which a key starts")]
    Zero,
    /// An ordering of GNU `sort` that is not supported.
    #[error("unsupported ordering {:?}: keys are compared byte by byte; {}", .0.letter(), .0.instead())]
    Ordering(OtherOrdering),
}

impl FromStr for Key {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (from, to) = match text.split_once(',') {
            Some((from, to)) => (from, Some(to)),
            None => (text, None),
        };
        let (from, mut reverse) = place(from, 1)?;
        if from.character == 0 {
            return Err(KeyError::Zero);
        }
        let to = match to.map(|to| place(to, 0)).transpose()? {
            Some((to, too)) => {
                reverse |= too;
                Some(to)
            }
            None => None,
        };
        Ok(Self { from, to, reverse })
    }
}

/// Parses `3.2br`: field, character, and the letters after them.
fn place(text: &str, character: usize) -> Result<(Position, bool), KeyError> {
    let (field, rest) = number(text)?;
    let (character, letters) = match rest.strip_prefix('.') {
        Some(rest) => number(rest)?,
        None => (character, rest),
    };
    if field == 0 {
        return Err(KeyError::Zero);
    }
    let mut place = Position { field, character, skip_blanks: false };
    let mut reverse = false;
    for letter in letters.chars() {
        match letter {
            'b' => place.skip_blanks = true,
            'r' => reverse = true,
            _ => {
                let other = OtherOrdering::ALL.into_iter().find(|other| other.letter() == letter);
                return Err(other.map_or(KeyError::Form, KeyError::Ordering));
            }
        }
    }
    Ok((place, reverse))
}

/// A number and the text after it. A number beyond the range saturates, as no record is that long.
fn number(text: &str) -> Result<(usize, &str), KeyError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return Err(KeyError::Form);
    }
    let (digits, rest) = text.split_at(digits);
    Ok((digits.parse().unwrap_or(usize::MAX), rest))
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = |f: &mut std::fmt::Formatter<'_>, place: &Position, usual: usize| {
            write!(f, "{}", place.field)?;
            if place.character != usual {
                write!(f, ".{}", place.character)?;
            }
            f.write_str(if place.skip_blanks { "b" } else { "" })
        };
        place(f, &self.from, 1)?;
        if let Some(to) = &self.to {
            f.write_str(",")?;
            place(f, to, 0)?;
        }
        f.write_str(if self.reverse { "r" } else { "" })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fields {
    /// The empty string between a non-blank and a blank: blanks belong to the field that follows
    /// them.
    Blanks,
    /// A separator byte, which belongs to no field.
    Separated(u8),
    /// Nothing: a record is one field.
    One,
}

impl Fields {
    pub(crate) fn of(unit: Unit, separator: Option<u8>) -> Self {
        match (unit, separator) {
            (_, Some(byte)) => Self::Separated(byte),
            (Unit::Lines { .. }, None) => Self::Blanks,
            (Unit::Records(_), None) => Self::One,
        }
    }
}

/// As `isblank` in the C locale. A newline can be part of a record with another terminator, and
/// counts as blank, too.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n')
}

fn skip(record: &[u8], at: usize, while_it: impl Fn(u8) -> bool) -> usize {
    at + record[at..].iter().take_while(|&&byte| while_it(byte)).count()
}

impl Key {
    pub(crate) const WHOLE: Self = Self {
        from: Position { field: 1, character: 1, skip_blanks: false },
        to: None,
        reverse: false,
    };

    /// The bytes of the record that the key selects.
    pub(crate) fn of<'r>(&self, record: &'r [u8], fields: Fields) -> &'r [u8] {
        let begin = self.begin(record, fields);
        let end = self.to.map_or(record.len(), |to| end(record, fields, to));
        &record[begin..end.max(begin)]
    }

    fn begin(&self, record: &[u8], fields: Fields) -> usize {
        let mut at = 0;
        for _ in 1..self.from.field {
            if at == record.len() {
                break;
            }
            at = next_field(record, at, fields, true);
        }
        if self.from.skip_blanks {
            at = skip(record, at, is_blank);
        }
        at.saturating_add(self.from.character - 1).min(record.len())
    }
}

fn end(record: &[u8], fields: Fields, to: Position) -> usize {
    let mut at = 0;
    // Up to the end of the field, or up to its start.
    let whole = to.character == 0;
    let passed = if whole { to.field } else { to.field - 1 };
    for left in (0..passed).rev() {
        if at == record.len() {
            break;
        }
        at = next_field(record, at, fields, left > 0 || !whole);
    }
    if whole {
        return at;
    }
    if to.skip_blanks {
        at = skip(record, at, is_blank);
    }
    at.saturating_add(to.character).min(record.len())
}

/// The end of the field that starts at `at`, optionally including its separator.
fn next_field(record: &[u8], at: usize, fields: Fields, behind: bool) -> usize {
    match fields {
        Fields::Blanks => {
            let at = skip(record, at, is_blank);
            skip(record, at, |byte| !is_blank(byte))
        }
        Fields::Separated(separator) => {
            let at = skip(record, at, |byte| byte != separator);
            at + usize::from(behind && at < record.len())
        }
        Fields::One => record.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(key: &str, record: &str, fields: Fields) -> String {
        let key: Key = key.parse().unwrap();
        String::from_utf8(key.of(record.as_bytes(), fields).to_vec()).unwrap()
    }

    #[test]
    fn blanks_lead_their_field() {
        let record = "one  two\tthree";
        for (key, expected) in [
            ("1,1", "one"),
            ("2", "  two\tthree"),
            ("2,2", "  two"),
            ("2b,2", "two"),
            ("2.2,2.4", " tw"),
            ("2.2b,2", "wo"),
            ("2,2.2b", "  tw"),
            ("3.2,3.3", "th"),
            ("4", ""),
            ("3,2", ""),
            ("1.99,2", ""),
            ("99999999999999999999999", ""),
        ] {
            assert_eq!(named(key, record, Fields::Blanks), expected, "{key}");
        }
    }

    #[test]
    fn separators_belong_to_no_field() {
        let record = "one,,three,";
        for (key, expected) in [
            ("1,1", "one"),
            ("2,2", ""),
            ("2,3", ",three"),
            ("3,3.2", "th"),
            ("4,4", ""),
            ("5", ""),
            ("1,2.1", "one,,"),
        ] {
            assert_eq!(named(key, record, Fields::Separated(b',')), expected, "{key}");
        }
        assert_eq!(named("1.3,1.5", "a b c d", Fields::One), "b c");
    }

    #[test]
    fn keys_are_refused_with_a_reason() {
        for (key, error) in [
            ("", KeyError::Form),
            ("x", KeyError::Form),
            ("1,", KeyError::Form),
            ("1.", KeyError::Form),
            ("1x", KeyError::Form),
            ("0", KeyError::Zero),
            ("1.0", KeyError::Zero),
            ("1,0", KeyError::Zero),
            ("1n,1", KeyError::Ordering(OtherOrdering::Numeric)),
            ("1,2bV", KeyError::Ordering(OtherOrdering::Version)),
        ] {
            assert_eq!(key.parse::<Key>(), Err(error), "{key}");
        }
        for key in ["1", "1,1", "2.3,4.5", "1b,2br", "1,1.3"] {
            assert_eq!(key.parse::<Key>().unwrap().to_string(), key);
        }
    }
}
