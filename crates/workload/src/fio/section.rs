//! From a job file's lines, or a command line's words, to sections.

use std::time::Duration;

use super::options::{self, ANYTHING, FLAG, FioOption, Role};
use super::{Environment, value};
use crate::plan::{PlanError, did_you_mean};

/// One option with its value.
#[derive(Debug, Clone)]
struct Setting {
    option: &'static FioOption,
    /// `None` for an option that stands alone.
    value: Option<String>,
    line: usize,
}

/// A job section with what `[global]` gave it.
#[derive(Debug, Clone)]
pub struct Section {
    file: String,
    /// The name in brackets, or after `--name`.
    pub name: String,
    /// Its first line; 0 on a command line.
    pub line: usize,
    settings: Vec<Setting>,
}

/// Collects settings into sections, and everything in them that is not understood into one error.
pub struct Collector<'a> {
    file: &'a str,
    environment: Environment<'a>,
    global: Vec<Setting>,
    sections: Vec<Section>,
    in_global: bool,
    problems: Vec<Problem>,
}

/// An option that cannot be taken.
struct Problem {
    line: usize,
    message: String,
}

impl<'a> Collector<'a> {
    /// With settings before the first section refused, unless `in_global`.
    pub fn new(file: &'a str, environment: Environment<'a>, in_global: bool) -> Collector<'a> {
        let (global, sections, problems) = (Vec::new(), Vec::new(), Vec::new());
        Collector { file, environment, global, sections, in_global, problems }
    }

    /// Begins a section; it has the global settings that stand above it.
    pub fn begin(&mut self, name: &str, line: usize) {
        let (file, name, settings) = (self.file.to_owned(), name.to_owned(), self.global.clone());
        self.in_global = false;
        self.sections.push(Section { file, name, line, settings });
    }

    /// Settings from here on hold for all later sections.
    pub fn begin_global(&mut self) {
        self.in_global = true;
    }

    /// Takes a setting, or notes why not.
    ///
    /// # Errors
    /// When it stands before any section.
    pub fn set(&mut self, key: &str, value: Option<&str>, line: usize) -> Result<(), PlanError> {
        let problem = match options::find(key) {
            None => Some(format!("`{key}`{}", did_you_mean(key, &options::known_names()))),
            Some(option) if option.role == Role::Refused => Some(format!("`{key}` ({})", option.meaning)),
            Some(_) => None,
        };
        if let Some(message) = problem {
            self.problems.push(Problem { line, message });
            return Ok(());
        }
        let Some(option) = options::find(key) else { return Ok(()) };
        let value = match value {
            None => None,
            Some(text) => {
                let substituted = substituted(text, self.environment);
                Some(substituted.map_err(|message| PlanError::new(self.file, line, &format!("{key}: {message}")))?)
            }
        };
        let setting = Setting { option, value, line };
        match (self.in_global, self.sections.last_mut()) {
            (true, _) => self.global.push(setting),
            (false, Some(section)) => section.settings.push(setting),
            (false, None) => {
                let message = format!("{key} stands before any section; put it under [global] or a job");
                return Err(PlanError::new(self.file, line, &message));
            }
        }
        Ok(())
    }

    /// The sections.
    ///
    /// # Errors
    /// When options were not understood: one error for all of them.
    pub fn finish(self) -> Result<Vec<Section>, PlanError> {
        let Some(first) = self.problems.first() else { return Ok(self.sections) };
        let numbered = |problem: &Problem| match problem.line {
            line if line != first.line => format!("{} in line {line}", problem.message),
            _ => problem.message.clone(),
        };
        let listed: Vec<String> = self.problems.iter().map(numbered).collect();
        let (what, them) = match listed.len() {
            1 => ("unsupported option".to_owned(), "it"),
            count => (format!("{count} unsupported options:"), "them"),
        };
        let listed = listed.join(", ");
        let message = format!("{what} {listed}; remove {them}, or see docs/fio.md for what is supported");
        Err(PlanError::new(self.file, first.line, &message))
    }
}

/// The sections of a job file.
///
/// # Errors
/// The first line that is not a section or a setting, or all options that are not understood.
pub fn sections(file: &str, text: &str, environment: Environment<'_>) -> Result<Vec<Section>, PlanError> {
    let mut collector = Collector::new(file, environment, false);
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
            let name = name.ok_or_else(|| error(format!("{content} is not a section; write [name]")))?;
            // fio compares these six letters only.
            if name.starts_with("global") {
                collector.begin_global();
            } else {
                collector.begin(name, line);
            }
            continue;
        }
        let (key, value) = match content.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (content, None),
        };
        collector.set(key, value, line)?;
    }
    collector.finish()
}

/// A value with each `${NAME}` replaced by that environment variable.
fn substituted(text: &str, environment: Environment<'_>) -> Result<String, String> {
    let mut parts = text.split("${");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').ok_or_else(|| format!("{text:?} has ${{ without }}"))?;
        // fio puts an empty text in its place, which measures something else without a word.
        let value = environment(name).filter(|value| !value.is_empty());
        whole += &value.ok_or_else(|| format!("the environment variable {name} is not set"))?;
        whole += rest;
    }
    Ok(whole)
}

impl Section {
    pub fn error(&self, line: usize, message: &str) -> PlanError {
        PlanError::new(&self.file, line, message)
    }

    /// An error at the setting that holds.
    pub fn wrong(&self, key: &str, message: &str) -> PlanError {
        self.error(self.line_of(key), message)
    }

    /// The setting that holds: the last one.
    fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|setting| setting.option.name == key)
    }

    /// Whether the section or `[global]` sets this option.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Which of two settings stands later.
    pub fn later<'k>(&self, one: &'k str, other: &'k str) -> Option<&'k str> {
        let key = |setting: &Setting| [one, other].into_iter().find(|key| *key == setting.option.name);
        self.settings.iter().rev().find_map(key)
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

    /// What the user should know about settings that were accepted, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let noted = self.settings.iter().filter(|setting| setting.option.role == Role::Noted);
        noted.map(|setting| format!("{}: {}", setting.option.name, setting.option.meaning)).collect()
    }

    /// Checks the values of the options that are accepted and not used: a value that fio would refuse is a mistake.
    pub fn check_accepted(&self) -> Result<(), PlanError> {
        for setting in self.settings.iter().filter(|setting| setting.option.role == Role::Accepted) {
            match setting.option.takes {
                FLAG => drop(self.flag(setting.option.name)?),
                ANYTHING => {}
                words => {
                    let plain = words.replace('`', "");
                    self.read(setting.option.name, &format!("one of {plain}"), |value| {
                        plain.split(", ").any(|word| word == value).then_some(())
                    })?;
                }
            }
        }
        Ok(())
    }
}
