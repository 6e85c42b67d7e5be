//! Finding a drive or a model by name.

use crate::drive::Drive;
use crate::file::drives;
use crate::model::Model;
use crate::models::models;
use crate::own::Listed;

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
    drives()
        .iter()
        .find(|drive| drive.is_named(&wanted))
        .ok_or_else(|| NoSuchDrive { name: name.to_owned(), nearest: similar_drives(&wanted) })
}

/// The drive with this name, or all drives with this text in a name or label, at least one; letter
/// case is ignored.
pub fn search<'a>(listed: &[Listed<'a>], text: &str) -> Result<Vec<Listed<'a>>, NoSuchDrive> {
    let wanted = text.trim().to_lowercase();
    if let Some(named) = listed.iter().find(|listed| listed.drive.is_named(&wanted)) {
        return Ok(vec![*named]);
    }
    let has_text = |listed: &&Listed<'_>| {
        let drive = listed.drive;
        let names = drive.aliases.iter().chain([&drive.name, &drive.label]);
        names.map(|name| name.to_lowercase()).any(|name| name.contains(&wanted))
    };
    let found: Vec<_> = listed.iter().filter(has_text).copied().collect();
    if found.is_empty() || wanted.is_empty() {
        return Err(NoSuchDrive { name: text.to_owned(), nearest: similar_drives(&wanted) });
    }
    Ok(found)
}

fn similar_drives(wanted: &str) -> Vec<&'static str> {
    let names: Vec<_> = drives().iter().map(|drive| drive.name.as_str()).collect();
    nearest(wanted, &names)
}

/// The published drives of the model that a drive reports, such as `Samsung SSD 990 PRO 2TB`. Vendor,
/// capacity and the word SSD may be absent on either side; everything else must agree, because a
/// 980 is not a 980 PRO.
///
/// ```
/// let found = catalogue::reported_as("Samsung SSD 980 1TB");
/// assert!(found.iter().all(|drive| drive.model.as_deref() == Some("980")));
/// assert!(!found.is_empty() && catalogue::reported_as("Samsung SSD 980 PRO 1TB").is_empty());
/// assert_eq!(catalogue::reported_as("Samsung 980 1 TB"), found);
/// ```
pub fn reported_as(model: &str) -> Vec<&'static Drive> {
    let reported = words(model);
    let is_model = |drive: &&Drive| {
        let vendor = words(drive.vendor.as_deref().unwrap_or_default());
        let distinctive = |words: &[String]| -> Vec<String> {
            words
                .iter()
                .filter(|word| !vendor.contains(word) && !is_general(word))
                .cloned()
                .collect()
        };
        let published = drive.model.as_deref().unwrap_or_default();
        // `PM9A3 (MZ1L2960HCJR-00A07)` has two names.
        let names = published.split(['(', ')']).map(words).map(|name| distinctive(&name));
        let own = distinctive(&reported);
        !own.is_empty() && names.into_iter().any(|name| name == own)
    };
    drives().iter().filter(is_model).collect()
}

/// The words of a model's name, in upper case. `960 GB` is one word.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in name.split(|letter: char| letter.is_whitespace() || letter == '_') {
        let word = word.to_uppercase();
        match words.last_mut() {
            Some(number) if is_unit(&word) && is_number(number) => number.push_str(&word),
            _ if word.is_empty() => {}
            _ => words.push(word),
        }
    }
    words
}

fn is_unit(word: &str) -> bool {
    matches!(word, "GB" | "TB")
}

fn is_number(word: &str) -> bool {
    word.chars().all(|letter| letter.is_ascii_digit() || letter == '.')
}

/// Words that do not distinguish models: kinds, and capacities such as `960GB`.
fn is_general(word: &str) -> bool {
    let number = word.strip_suffix("GB").or_else(|| word.strip_suffix("TB"));
    number.is_some_and(is_number) || matches!(word, "SSD" | "NVME" | "ATA" | "SATA")
}

/// The model with this name, or the one that was fitted to the drive with this name; letter case
/// is ignored.
pub fn find_model(name: &str) -> Result<&'static Model, NoSuchModel> {
    let wanted = name.trim().to_lowercase();
    let direct = models().iter().find(|model| model.model == wanted);
    let fitted = || {
        let drive = drives().iter().find(|drive| drive.is_named(&wanted))?;
        models().iter().find(|model| model.fitted_to.as_ref() == Some(&drive.name))
    };
    direct.or_else(fitted).ok_or_else(|| {
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
    use crate::own::OwnDrives;

    #[test]
    fn case_does_not_matter() {
        assert_eq!(find("Samsung-980-1TB").unwrap().name, "samsung-980-1tb");
        assert_eq!(find("Samsung-990-PRO-ext4").unwrap().name, "samsung-990-pro-2tb");
        assert_eq!(find_model("Samsung-990-PRO-2TB").unwrap().model, "samsung-990-pro-ext4");
    }

    #[test]
    fn a_name_finds_one_drive_and_a_part_of_names_finds_all() {
        let own = OwnDrives::default();
        let names = |text: &str| {
            let found = search(&own.with_published(), text).unwrap();
            found.into_iter().map(|listed| listed.drive.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(names("intel-520"), ["intel-520"]);
        assert_eq!(names("intel-520-"), ["intel-520-180gb", "intel-520-60gb"]);
        // Of an alias, and of a label.
        assert_eq!(names("t500-2tb-ext4"), ["crucial-t500-2tb"]);
        assert_eq!(names("wd wd2502"), ["wd-wd2502abys"]);
        for text in ["floppy", " "] {
            assert!(search(&own.with_published(), text).is_err());
        }
    }

    #[test]
    fn a_reported_model_finds_the_drives_of_that_model_only() {
        let names = |model: &str| {
            let found = reported_as(model);
            found.into_iter().map(|drive| drive.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(names("Samsung SSD 970 EVO Plus 2TB"), ["samsung-970-evo-plus-2tb"]);
        assert_eq!(names("CT2000T500SSD8"), ["crucial-t500-2tb"]);
        assert_eq!(names("SAMSUNG MZ1L2960HCJR-00A07"), ["samsung-pm9a3-960gb"]);
        for unknown in ["Samsung SSD", "2TB", "", "QEMU HARDDISK"] {
            assert_eq!(names(unknown), [""; 0], "{unknown}");
        }
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
        insta::assert_snapshot!(message("samsung-908-1tb"), @"unknown drive `samsung-908-1tb` (did you mean `samsung-980-1tb`, `samsung-970-evo-1tb` or `samsung-860-evo-1tb`?); run `flushmark catalogue` for a list");
        insta::assert_snapshot!(message("pm9a3"), @"unknown drive `pm9a3` (did you mean `samsung-pm9a3-960gb`?); run `flushmark catalogue` for a list");
        insta::assert_snapshot!(message("micron"), @"unknown drive `micron` (did you mean `micron-1100-256gb-x2-raid1`, `micron-5100-eco-960gb` or `micron-m500dc-480gb`?); run `flushmark catalogue` for a list");
        insta::assert_snapshot!(message("floppy"), @"unknown drive `floppy`; run `flushmark catalogue` for a list");
        insta::assert_snapshot!(message(""), @"unknown drive ``; run `flushmark catalogue` for a list");
        insta::assert_snapshot!(message("gcp"), @"unknown drive `gcp` (did you mean `gcp-hyperdisk-balanced-1tb` or `gcp-local-nvme-x2-raid0`?); run `flushmark catalogue` for a list");
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
