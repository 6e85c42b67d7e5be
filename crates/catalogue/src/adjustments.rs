//! Changes of class models, so that they commit like drives with few published rows.

use std::sync::LazyLock;

use serde::Deserialize;

/// A drive whose model is that of its class, with other costs of a commit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adjustment {
    /// The name of the drive.
    pub drive: String,
    /// The name of the model of its class.
    pub model: String,
    /// The logarithm of the factor of the costs of a commit.
    pub change: f64,
}

/// Written by `cargo xtask docs`, because finding them takes seconds.
const TEXT: &str = include_str!("../adjustments.toml");

static ADJUSTMENTS: LazyLock<Vec<Adjustment>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        adjustment: Vec<Adjustment>,
    }
    // The file is part of the program, and a test reads it.
    let file: File =
        toml::from_str(TEXT).unwrap_or_else(|error| panic!("adjustments.toml: {error}"));
    file.adjustment
});

/// The adjustment of this drive; `None` if it has a separate model, or if its rows say nothing
/// about commits.
pub fn adjustment(drive: &str) -> Option<&'static Adjustment> {
    ADJUSTMENTS.iter().find(|adjustment| adjustment.drive == drive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_names_a_drive_and_a_model() {
        assert!(!ADJUSTMENTS.is_empty());
        for adjustment in ADJUSTMENTS.iter() {
            assert_eq!(crate::find(&adjustment.drive).unwrap().name, adjustment.drive);
            assert_eq!(crate::find_model(&adjustment.model).unwrap().model, adjustment.model);
            assert!(adjustment.change.is_finite());
        }
    }
}
