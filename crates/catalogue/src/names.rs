//! Finding a drive or a model by name.

use crate::drive::Drive;
use crate::file::drives;
use crate::model::Model;
use crate::models::models;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown drive `{name}`{}; run `flushmark catalogue` for a list", suggestion(.nearest))]
pub struct NoSuchDrive {
    pub name: String,
    /// Similar names, the most likely first; at most three.
    pub nearest: Vec<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown model `{name}`{}; run `flushmark models` for a list", suggestion(.nearest))]
pub struct NoSuchModel {
    pub name: String,
    /// Similar names, the most likely first; at most three.
    pub nearest: Vec<&'static str>,
}

const SUGGESTIONS_MAX: usize = 3;

fn suggestion(nearest: &[&str]) -> String {
    let quoted: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => format!(" (did you mean {only}?)"),
        Some((last, others)) => format!(" (did you mean {} or {last}?)", others.join(", ")),
    }
}

/// The drive with this name; letter case is ignored.
pub fn find(name: &str) -> Result<&'static Drive, NoSuchDrive> {
    let wanted = name.trim().to_lowercase();
    drives().iter().find(|drive| drive.name == wanted).ok_or_else(|| {
        let names: Vec<_> = drives().iter().map(|drive| drive.name.as_str()).collect();
        NoSuchDrive { name: name.to_owned(), nearest: nearest(&wanted, &names) }
    })
}

/// The model with this name; letter case is ignored.
pub fn find_model(name: &str) -> Result<&'static Model, NoSuchModel> {
    let wanted = name.trim().to_lowercase();
    models().iter().find(|model| model.model == wanted).ok_or_else(|| {
        let names: Vec<_> = models().iter().map(|model| model.model.as_str()).collect();
        NoSuchModel { name: name.to_owned(), nearest: nearest(&wanted, &names) }
    })
}

/// Names that contain `name`, otherwise names within a few typing mistakes of it.
fn nearest(wanted: &str, names: &[&'static str]) -> Vec<&'static str> {
    let names = || names.iter().copied();
    let containing: Vec<_> =
        names().filter(|name| !wanted.is_empty() && name.contains(wanted)).collect();
    if !containing.is_empty() {
        return containing.into_iter().take(SUGGESTIONS_MAX).collect();
    }
    // One mistake in three letters still resembles the intended name.
    let mut near: Vec<_> = names()
        .map(|name| (edit_distance(wanted, name), name))
        .filter(|(distance, name)| distance * 3 <= name.len())
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, name)| name).take(SUGGESTIONS_MAX).collect()
}

/// Number of letters to insert, remove or replace to turn one word into the other (Levenshtein
/// distance).
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    // `row[i]` is the distance from the part of `from` read so far to the first `i` letters of
    // `to`.
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (read, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = read + 1;
        for (index, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[index + 1];
            row[index + 1] = replaced.min(row[index] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_does_not_matter() {
        assert_eq!(find("Samsung-980-1TB").unwrap().name, "samsung-980-1tb");
    }

    #[test]
    fn distances_by_hand() {
        for (from, to, distance) in
            [("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("ssd", "ssd", 0)]
        {
            assert_eq!(edit_distance(from, to), distance, "{from} {to}");
        }
    }

    #[test]
    fn messages() {
        let message = |name: &str| find(name).unwrap_err().to_string();
        insta::assert_snapshot!(message("samsung-908-1tb"), @"unknown drive `samsung-908-1tb` (did you mean `samsung-980-1tb`?); run `flushmark catalogue` for a list");
        insta::assert_snapshot!(message("pm9a3"), @"unknown drive `pm9a3` (did you mean `samsung-pm9a3-ext4`?); run `flushmark catalogue` for a list");
        insta::assert_snapshot!(message("micron"), @"unknown drive `micron` (did you mean `micron-5100-eco-960gb`?); run `flushmark catalogue` for a list");
        insta::assert_snapshot!(message("floppy"), @"unknown drive `floppy`; run `flushmark catalogue` for a list");
        insta::assert_snapshot!(message(""), @"unknown drive ``; run `flushmark catalogue` for a list");
        insta::assert_snapshot!(message("gcp"), @"unknown drive `gcp` (did you mean `gcp-hyperdisk-balanced-1tb-ext4` or `gcp-local-nvme-x2-raid0-ext4`?); run `flushmark catalogue` for a list");
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_found_or_gets_suggestions(name in "\\PC{0,40}") {
            if let Err(error) = find(&name) {
                proptest::prop_assert!(error.nearest.len() <= SUGGESTIONS_MAX);
            }
        }

        #[test]
        fn a_distance_is_the_same_both_ways(from in "[a-d]{0,8}", to in "[a-d]{0,8}") {
            proptest::prop_assert_eq!(edit_distance(&from, &to), edit_distance(&to, &from));
            proptest::prop_assert_eq!(edit_distance(&from, &to) == 0, from == to);
        }
    }
}
