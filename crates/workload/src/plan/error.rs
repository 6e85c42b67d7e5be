//! One-line errors in plans.

use std::fmt;

/// An error in a plan: the file, the line, the field, the value, and the expected values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// The file name as given by the user.
    pub file: String,
    /// The line, counted from 1; 0 for a command line.
    pub line: usize,
    /// The error message, without file and line.
    pub message: String,
}

impl PlanError {
    /// Creates a one-line, plain-text error. A quoted value may contain line ends and terminal
    /// control sequences.
    pub(crate) fn new(file: &str, line: usize, message: &str) -> PlanError {
        PlanError { file: file.to_owned(), line, message: unseen::escaped(message).into_owned() }
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file, self.message),
            line => write!(f, "{}:{line}: {}", self.file, self.message),
        }
    }
}

impl std::error::Error for PlanError {}

/// A suggestion such as " (did you mean `x`?)", if a known name is similar to the unknown one.
pub fn did_you_mean(wrong: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|known| (distance(wrong, known), known)).min();
    match nearest {
        Some((distance, known)) if distance <= 2.max(known.len() / 3) => {
            format!(" (did you mean `{known}`?)")
        }
        _ => String::new(),
    }
}

/// Levenshtein distance.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let substituted = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_counts_characters_to_put_in_take_out_or_exchange() {
        for (one, other, expected) in [
            ("", "", 0),
            ("size", "size", 0),
            ("", "size", 4),
            ("size", "", 4),
            ("sise", "size", 1),
            ("siize", "size", 1),
            ("sze", "size", 1),
            ("kitten", "sitting", 3),
            ("saturday", "sunday", 3),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn the_nearest_name_is_meant_if_it_is_near() {
        assert_eq!(
            did_you_mean("dirct", &["depth", "direct", "sync"]),
            " (did you mean `direct`?)"
        );
        // Two edits are accepted in any name, a third of the length in a long one.
        assert_eq!(did_you_mean("sn", &["sync"]), " (did you mean `sync`?)");
        assert_eq!(did_you_mean("s", &["sync"]), "");
        assert_eq!(
            did_you_mean("wrmup", &["read_percent", "warm_up"]),
            " (did you mean `warm_up`?)"
        );
        assert_eq!(
            did_you_mean("comp_percent", &["read_percent"]),
            " (did you mean `read_percent`?)"
        );
        assert_eq!(did_you_mean("compl_percent", &["read_percent"]), "");
        assert_eq!(did_you_mean("x", &[]), "");
    }
}
