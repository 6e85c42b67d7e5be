//! From a job file's lines to its sections.

use std::time::Duration;

use super::{KEYS, value};
use crate::plan::PlanError;

/// One `key=value` line.
#[derive(Debug, Clone)]
struct Setting {
    key: &'static str,
    /// `None` for a key that stands alone.
    value: Option<String>,
    line: usize,
}

/// A job section with what `[global]` gave it.
#[derive(Debug, Clone)]
pub struct Section {
    file: String,
    /// What stands in its brackets.
    pub name: String,
    /// Where.
    pub line: usize,
    settings: Vec<Setting>,
}

/// Splits the text into job sections. Each begins with the global settings that stand above it; its own come after those.
pub fn sections(file: &str, text: &str) -> Result<Vec<Section>, PlanError> {
    let mut global: Vec<Setting> = Vec::new();
    let mut sections: Vec<Section> = Vec::new();
    let mut in_global = false;
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let error = |message: String| PlanError::new(file, line, &message);
        // fio ends a line at the first of these, wherever it stands.
        let content = raw.split([';', '#']).next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        if let Some(name) = content.strip_prefix('[') {
            let name = name.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| error(format!("{content} is no section; write [name]")))?;
            // fio compares these six letters only.
            in_global = name.starts_with("global");
            if !in_global {
                let (file, name) = (file.to_owned(), name.to_owned());
                sections.push(Section { file, name, line, settings: global.clone() });
            }
            continue;
        }
        let setting = setting(content, line).map_err(error)?;
        match (in_global, sections.last_mut()) {
            (true, _) => global.push(setting),
            (false, Some(section)) => section.settings.push(setting),
            (false, None) => {
                return Err(error(format!(
                    "{} stands before any section; put it under [global] or a job",
                    setting.key
                )));
            }
        }
    }
    Ok(sections)
}

fn setting(content: &str, line: usize) -> Result<Setting, String> {
    let (key, value) = match content.split_once('=') {
        Some((key, value)) => (key.trim(), Some(value.trim().to_owned())),
        None => (content, None),
    };
    let known = match key {
        "readwrite" => Some("rw"),
        "blocksize" => Some("bs"),
        key => KEYS.into_iter().find(|known| *known == key),
    };
    let Some(key) = known else {
        return Err(format!("{key} is not understood and not ignored either; understood are {}", KEYS.join(", ")));
    };
    if let Some(value) = value.as_ref().filter(|value| value.contains("${")) {
        return Err(format!("{key}: {value:?} names an environment variable, which is not read here; write its value"));
    }
    Ok(Setting { key, value, line })
}

impl Section {
    pub fn error(&self, line: usize, message: &str) -> PlanError {
        PlanError::new(&self.file, line, message)
    }

    /// The setting that holds: the last one.
    fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|setting| setting.key == key)
    }

    /// The line of the setting that holds, or of the section where it has none.
    pub fn line_of(&self, key: &str) -> usize {
        self.get(key).map_or(self.line, |setting| setting.line)
    }

    /// A value read by `read`, or an error that says what it `takes`.
    pub fn read<T>(
        &self,
        key: &str,
        takes: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, PlanError> {
        let Some(setting) = self.get(key) else { return Ok(None) };
        let value = setting.value.as_deref().unwrap_or_default();
        read(value).map(Some).ok_or_else(|| self.error(setting.line, &format!("{key}: {value:?} is not {takes}")))
    }

    /// A text that is not empty.
    pub fn text(&self, key: &str, takes: &str) -> Result<Option<String>, PlanError> {
        self.read(key, takes, |value| Some(value.to_owned()).filter(|text| !text.is_empty()))
    }

    /// A flag; its key alone sets it.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, PlanError> {
        if self.get(key).is_some_and(|setting| setting.value.is_none()) {
            return Ok(Some(true));
        }
        self.read(key, "0 or 1", |value| match value {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    /// A whole number within a range.
    pub fn whole(&self, key: &str, low: u64, high: u64) -> Result<Option<u64>, PlanError> {
        let takes = format!("a whole number from {low} to {high}");
        self.read(key, &takes, |value| value::number(value).filter(|number| (low..=high).contains(number)))
    }

    /// A time.
    pub fn time(&self, key: &str) -> Result<Option<Duration>, PlanError> {
        self.read(key, "a time in seconds, or with us, ms, s, m, h, d", value::time)
    }
}
