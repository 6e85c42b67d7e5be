//! Drives that users measured themselves, beside the embedded ones.

use serde::Serialize;

use crate::drive::Drive;
use crate::file::{BadDriveFile, drives, parse};

/// The origin of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Published, and part of the program.
    Published,
    /// From the user's directory.
    Own,
}

/// A drive with its origin.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Listed<'a> {
    pub origin: Origin,
    #[serde(flatten)]
    pub drive: &'a Drive,
}

/// Why a file of the user's directory is not an entry.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotOwn {
    #[error("line {line}: {what}")]
    Line { line: usize, what: String },
    #[error("{0}")]
    File(BadDriveFile),
    #[error("`drive` is `{0}`; expected the name of the file without .toml")]
    OtherName(String),
    #[error("`{0}` is a name in the built-in catalogue; choose another")]
    Taken(String),
    #[error("`{0}` is also a name of another own entry")]
    Twice(String),
}

/// The entries of a user, none with a name of an embedded drive.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnDrives(Vec<Drive>);

impl OwnDrives {
    /// Adds the file `NAME.toml` with this text.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), NotOwn> {
        let drive = parse(text).map_err(|error| match error {
            BadDriveFile::Form(form) => NotOwn::Line {
                line: 1 + form.span().map_or(0, |span| newlines(text, span.start)),
                what: form.message().to_owned(),
            },
            other => NotOwn::File(other),
        })?;
        if drive.name != name {
            return Err(NotOwn::OtherName(drive.name));
        }
        for own in drive.aliases.iter().chain([&drive.name]) {
            if drives().iter().any(|drive| drive.is_named(own)) {
                return Err(NotOwn::Taken(own.clone()));
            }
            if self.0.iter().any(|drive| drive.is_named(own)) {
                return Err(NotOwn::Twice(own.clone()));
            }
        }
        self.0.push(drive);
        Ok(())
    }

    /// The embedded drives and these.
    pub fn with_published(&self) -> Vec<Listed<'_>> {
        let published = drives().iter().map(|drive| Listed { origin: Origin::Published, drive });
        let own = self.0.iter().map(|drive| Listed { origin: Origin::Own, drive });
        published.chain(own).collect()
    }
}

fn newlines(text: &str, end: usize) -> usize {
    text.bytes().take(end).filter(|&byte| byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{find, to_toml};

    fn file(name: &str) -> String {
        let mut drive = find("samsung-980-1tb").unwrap().clone();
        (drive.name, drive.label, drive.aliases) = (name.to_owned(), name.to_owned(), Vec::new());
        to_toml(&drive)
    }

    #[test]
    fn entries_stand_beside_the_published_ones() {
        let mut own = OwnDrives::default();
        own.add("mine", &file("mine")).unwrap();
        let listed = own.with_published();
        assert_eq!(listed.len(), drives().len() + 1);
        let found = crate::search(&listed, "MINE").unwrap();
        assert_eq!((found.len(), found[0].origin), (1, Origin::Own));
        assert_eq!(serde_json::to_value(found[0]).unwrap()["origin"], "own");
    }

    #[test]
    fn invalid_files_are_refused_with_the_reason() {
        let mut own = OwnDrives::default();
        own.add("mine", &file("mine")).unwrap();
        let mut refused = |name: &str, text: &str| own.add(name, text).unwrap_err().to_string();
        insta::assert_snapshot!(refused("x", &file("x").replace("class = ", "clas = ")), @"line 6: unknown field `clas`, expected one of `drive`, `aliases`, `label`, `vendor`, `model`, `capacity_gb`, `class`, `array`, `power_loss_protection`, `power_loss_protection_source`, `power_loss_protection_against`, `table`");
        insta::assert_snapshot!(refused("x", "drive = "), @"line 1: string values must be quoted, expected literal string");
        insta::assert_snapshot!(refused("x", &file("x").replace("iops = 574", "iops = -574")), @"row 1 of table `journal write`: invalid figure -574");
        insta::assert_snapshot!(refused("x", &file("y")), @"`drive` is `y`; expected the name of the file without .toml");
        insta::assert_snapshot!(refused("intel-520", &file("intel-520")), @"`intel-520` is a name in the built-in catalogue; choose another");
        insta::assert_snapshot!(refused("mine", &file("mine")), @"`mine` is also a name of another own entry");
    }
}
