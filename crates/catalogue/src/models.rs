//! The built-in models: one for each drive of the catalogue, and one for each class.

use std::sync::LazyLock;

use crate::embedded::{self, embedded_files};
use crate::model::Model;

/// The name and the text of every file in `models/`.
const FILES: &[(&str, &str)] = embedded_files!["models":
    "cloud-volume",
    "consumer-nvme",
    "consumer-sata",
    "disk-7200rpm-cache-off",
    "disk-7200rpm-cache-on",
    "enterprise-nvme",
    "enterprise-sata",
    "usb-stick",
    "crucial-t500-2tb-ext4",
    "gcp-hyperdisk-balanced-1tb-ext4",
    "gcp-local-nvme-x2-raid0-ext4",
    "intel-710-sata",
    "kioxia-cd6-3840gb",
    "micron-5100-eco-960gb",
    "samsung-950-pro-nvme",
    "samsung-980-1tb",
    "samsung-990-pro-ext4",
    "samsung-pm9a3-ext4",
    "seagate-nytro-1351-3840gb",
];

static MODELS: LazyLock<Vec<Model>> = LazyLock::new(|| embedded::parsed(FILES, parse));

pub fn models() -> &'static [Model] {
    &MODELS
}

/// The text of a built-in model, including comments.
pub fn model_text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|&(_, text)| text)
}

/// Parses a model's file.
pub fn parse(text: &str) -> Result<Model, toml::de::Error> {
    toml::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_and_the_list_agree() {
        embedded::assert_complete("models", FILES);
    }

    #[test]
    fn every_model_reads_and_is_named_as_its_file() {
        for ((name, _), model) in FILES.iter().zip(models()) {
            assert_eq!(model.model, *name);
            assert!(!model.basis.is_empty());
        }
    }

    #[test]
    fn a_fitted_model_is_found_by_its_own_name_and_by_those_of_its_drive() {
        for model in models() {
            assert_eq!(crate::find_model(&model.model).unwrap(), model);
            let Some(name) = &model.fitted_to else { continue };
            let drive = crate::find(name).unwrap();
            assert_eq!(drive.name, *name);
            assert_eq!(model.class, drive.class);
            for name in drive.aliases.iter().chain([&drive.name]) {
                assert_eq!(crate::find_model(name).unwrap(), model, "{name}");
            }
        }
    }

    #[test]
    fn a_model_survives_writing_and_reading() {
        for model in models() {
            assert_eq!(parse(&toml::to_string(model).unwrap()).unwrap(), *model);
        }
    }
}
