//! Finding a drive or a model by its name.

use crate::drive::Drive;
use crate::file::drives;
use crate::model::Model;
use crate::models::models;

/// The catalogue has no drive of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the catalogue has no drive called `{name}`{}; `flushmark catalogue` lists them all", offer(.nearest))]
pub struct NoSuchDrive {
    /// What was asked for.
    pub name: String,
    /// Names that may have been meant, the likeliest first; at most three.
    pub nearest: Vec<&'static str>,
}

/// There is no model of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no model called `{name}`{}; `flushmark models` lists them all", offer(.nearest))]
pub struct NoSuchModel {
    /// What was asked for.
    pub name: String,
    /// Names that may have been meant, the likeliest first; at most three.
    pub nearest: Vec<&'static str>,
}

/// Names offered at most.
const OFFERED_MAX: usize = 3;

fn offer(nearest: &[&str]) -> String {
    let quoted: Vec<String> = nearest.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => format!(", but {only}"),
        Some((last, others)) => format!(", but {} and {last}", others.join(", ")),
    }
}

/// The drive of that name, in upper or lower case.
///
/// # Errors
/// When there is none; the error offers names that are near.
pub fn find(name: &str) -> Result<&'static Drive, NoSuchDrive> {
    let wanted = name.trim().to_lowercase();
    drives().iter().find(|drive| drive.name == wanted).ok_or_else(|| {
        let names: Vec<_> = drives().iter().map(|drive| drive.name.as_str()).collect();
        NoSuchDrive { name: name.to_owned(), nearest: nearest(&wanted, &names) }
    })
}

/// The model of that name, in upper or lower case.
///
/// # Errors
/// When there is none; the error offers names that are near.
pub fn find_model(name: &str) -> Result<&'static Model, NoSuchModel> {
    let wanted = name.trim().to_lowercase();
    models().iter().find(|model| model.model == wanted).ok_or_else(|| {
        let names: Vec<_> = models().iter().map(|model| model.model.as_str()).collect();
        NoSuchModel { name: name.to_owned(), nearest: nearest(&wanted, &names) }
    })
}

/// Names that contain what was asked for, else names that a few slips of the finger lead to.
fn nearest(wanted: &str, names: &[&'static str]) -> Vec<&'static str> {
    let names = || names.iter().copied();
    let containing: Vec<_> = names().filter(|name| !wanted.is_empty() && name.contains(wanted)).collect();
    if !containing.is_empty() {
        return containing.into_iter().take(OFFERED_MAX).collect();
    }
    // One slip in three letters still looks like the name that was meant.
    let mut near: Vec<_> = names()
        .map(|name| (edit_distance(wanted, name), name))
        .filter(|(distance, name)| distance * 3 <= name.len())
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, name)| name).take(OFFERED_MAX).collect()
}

/// Letters to insert, remove or replace to get from one word to the other (Levenshtein).
fn edit_distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    // `row[i]` is the distance from what has been read of `from` to the first `i` letters of `to`.
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
        for (from, to, distance) in [("", "abc", 3), ("abc", "", 3), ("kitten", "sitting", 3), ("ssd", "ssd", 0)] {
            assert_eq!(edit_distance(from, to), distance, "{from} {to}");
        }
    }

    #[test]
    fn what_a_person_reads() {
        let told = |name: &str| find(name).unwrap_err().to_string();
        insta::assert_snapshot!(told("samsung-908-1tb"), @"the catalogue has no drive called `samsung-908-1tb`, but `samsung-980-1tb`; `flushmark catalogue` lists them all");
        insta::assert_snapshot!(told("pm9a3"), @"the catalogue has no drive called `pm9a3`, but `samsung-pm9a3-ext4`; `flushmark catalogue` lists them all");
        insta::assert_snapshot!(told("micron"), @"the catalogue has no drive called `micron`, but `micron-5100-eco-960gb`; `flushmark catalogue` lists them all");
        insta::assert_snapshot!(told("floppy"), @"the catalogue has no drive called `floppy`; `flushmark catalogue` lists them all");
        insta::assert_snapshot!(told(""), @"the catalogue has no drive called ``; `flushmark catalogue` lists them all");
        insta::assert_snapshot!(told("gcp"), @"the catalogue has no drive called `gcp`, but `gcp-hyperdisk-balanced-1tb-ext4` and `gcp-local-nvme-x2-raid0-ext4`; `flushmark catalogue` lists them all");
    }

    proptest::proptest! {
        #[test]
        fn any_name_is_found_or_answered(name in "\\PC{0,40}") {
            if let Err(error) = find(&name) {
                proptest::prop_assert!(error.nearest.len() <= OFFERED_MAX);
            }
        }

        #[test]
        fn a_distance_is_the_same_both_ways(from in "[a-d]{0,8}", to in "[a-d]{0,8}") {
            proptest::prop_assert_eq!(edit_distance(&from, &to), edit_distance(&to, &from));
            proptest::prop_assert_eq!(edit_distance(&from, &to) == 0, from == to);
        }
    }
}
