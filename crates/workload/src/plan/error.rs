//! What is wrong with a plan, in one line.

use std::fmt;

/// The file, the line, and what is wrong there: which field, which value, and what it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanError {
    /// The file's name as it was given.
    pub file: String,
    /// The line, from 1 on; 0 on a command line, which has none.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl PlanError {
    /// An error that is one line of plain text, whatever it quotes: a quoted value may hold line ends and what a terminal obeys.
    pub(crate) fn new(file: &str, line: usize, message: &str) -> PlanError {
        PlanError { file: file.to_owned(), line, message: crate::unseen::escaped(message).into_owned() }
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

/// " (did you mean `x`?)" for the known name that is nearest to a wrong one, if any is near.
pub fn did_you_mean(wrong: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|known| (distance(wrong, known), known)).min();
    match nearest {
        Some((distance, known)) if distance <= 2.max(known.len() / 3) => format!(" (did you mean `{known}`?)"),
        _ => String::new(),
    }
}

/// Levenshtein's distance.
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
