//! Parses the lines of a job file, or the words of a command line, into sections.

use std::time::Duration;

use super::options::{self, ANYTHING, FLAG, FioOption, Role};
use super::{Environment, value};
use crate::plan::{PlanError, did_you_mean};

/// An option with its value.
#[derive(Debug, Clone)]
struct Setting {
    option: &'static FioOption,
    /// `None` for an option without a value.
    value: Option<String>,
    line: usize,
}

/// A job section, including the settings inherited from `[global]`.
#[derive(Debug, Clone)]
pub struct Section {
    file: String,
    /// The name in brackets, or after `--name`.
    pub name: String,
    /// The line number of its heading; 0 on a command line.
    pub line: usize,
    settings: Vec<Setting>,
}

/// Collects settings into sections, and all unsupported options into one error.
pub struct Collector<'a> {
    file: &'a str,
    environment: Environment<'a>,
    global: Vec<Setting>,
    sections: Vec<Section>,
    in_global: bool,
    problems: Vec<Problem>,
}

/// An unsupported option.
struct Problem {
    line: usize,
    message: String,
}

impl<'a> Collector<'a> {
    /// Settings before the first section are rejected unless `in_global` is set.
    pub fn new(file: &'a str, environment: Environment<'a>, in_global: bool) -> Collector<'a> {
        let (global, sections, problems) = (Vec::new(), Vec::new(), Vec::new());
        Collector { file, environment, global, sections, in_global, problems }
    }

    /// Starts a section. It inherits the global settings above it.
    pub fn begin(&mut self, name: &str, line: usize) {
        let (file, name, settings) = (self.file.to_owned(), name.to_owned(), self.global.clone());
        self.in_global = false;
        self.sections.push(Section { file, name, line, settings });
    }

    /// Applies the following settings to all later sections.
    pub fn begin_global(&mut self) {
        self.in_global = true;
    }

    /// Adds a setting, or records it as unsupported.
    ///
    /// # Errors
    /// Fails if the setting precedes all sections.
    pub fn set(&mut self, key: &str, value: Option<&str>, line: usize) -> Result<(), PlanError> {
        let problem = match options::find(key) {
            None => Some(format!("`{key}`{}", did_you_mean(key, &options::known_names()))),
            Some(option) if option.role == Role::Refused => {
                Some(format!("`{key}` ({})", option.meaning))
            }
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
                Some(substituted.map_err(|message| {
                    PlanError::new(self.file, line, &format!("{key}: {message}"))
                })?)
            }
        };
        let setting = Setting { option, value, line };
        match (self.in_global, self.sections.last_mut()) {
            (true, _) => self.global.push(setting),
            (false, Some(section)) => section.settings.push(setting),
            (false, None) => {
                let message = format!("{key} must be in a section; put it under [global] or a job");
                return Err(PlanError::new(self.file, line, &message));
            }
        }
        Ok(())
    }

    /// Returns the sections.
    ///
    /// # Errors
    /// Fails with one error for all unsupported options.
    pub fn finish(self) -> Result<Vec<Section>, PlanError> {
        let Some(first) = self.problems.first() else { return Ok(self.sections) };
        let mut lines_of: Vec<(&str, Vec<usize>)> = Vec::new();
        for problem in &self.problems {
            match lines_of.iter_mut().find(|(message, _)| *message == problem.message) {
                Some((_, lines)) if lines.contains(&problem.line) => {}
                Some((_, lines)) => lines.push(problem.line),
                None => lines_of.push((&problem.message, vec![problem.line])),
            }
        }
        let numbered = |(message, lines): &(&str, Vec<usize>)| match lines.split_last() {
            Some((last, [])) if *last != first.line => format!("{message} in line {last}"),
            Some((last, others)) if !others.is_empty() => {
                let others: Vec<String> = others.iter().map(ToString::to_string).collect();
                format!("{message} in lines {} and {last}", others.join(", "))
            }
            // The line of the first one is already part of the error.
            _ => (*message).to_owned(),
        };
        let listed: Vec<String> = lines_of.iter().map(numbered).collect();
        let (what, them) = match listed.len() {
            1 => ("unsupported option".to_owned(), "it"),
            count => (format!("{count} unsupported options:"), "them"),
        };
        let listed = listed.join(", ");
        let message =
            format!("{what} {listed}; remove {them}, or see docs/fio.md for the supported options");
        Err(PlanError::new(self.file, first.line, &message))
    }
}

/// Parses the sections of a job file.
///
/// # Errors
/// Fails at the first line that is neither a section nor a setting, or with one error for all
/// unsupported options.
pub fn sections(
    file: &str,
    text: &str,
    environment: Environment<'_>,
) -> Result<Vec<Section>, PlanError> {
    let mut collector = Collector::new(file, environment, false);
    for (index, raw) in text.lines().enumerate() {
        let line = index + 1;
        let error = |message: String| PlanError::new(file, line, &message);
        // fio ends a line at the first of these characters, wherever it occurs.
        let content = raw.split([';', '#']).next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        if let Some(name) = content.strip_prefix('[') {
            let name = name.strip_suffix(']').map(str::trim).filter(|name| !name.is_empty());
            let name =
                name.ok_or_else(|| error(format!("invalid section {content}; expected [name]")))?;
            // fio compares only these six letters.
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

/// Replaces each `${NAME}` in a value by that environment variable.
fn substituted(text: &str, environment: Environment<'_>) -> Result<String, String> {
    let mut parts = text.split("${");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) =
            part.split_once('}').ok_or_else(|| format!("{text:?} contains ${{ without }}"))?;
        // fio substitutes an empty string, which silently measures something else.
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

    /// An error at the effective setting.
    pub fn wrong(&self, key: &str, message: &str) -> PlanError {
        self.error(self.line_of(key), message)
    }

    /// The effective setting, which is the last one.
    fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|setting| setting.option.name == key)
    }

    /// Returns `true` if the section or `[global]` sets this option.
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Returns `true` if the section itself sets this option. As in fio, one that an engine does
    /// not have may be inherited from `[global]`, where it belongs to the engine set there.
    pub fn has_own(&self, key: &str) -> bool {
        self.get(key).is_some_and(|setting| setting.line > self.line)
    }

    /// The later of two settings.
    pub fn later<'k>(&self, one: &'k str, other: &'k str) -> Option<&'k str> {
        let key =
            |setting: &Setting| [one, other].into_iter().find(|key| *key == setting.option.name);
        self.settings.iter().rev().find_map(key)
    }

    /// The line of the effective setting, or of the section if the option is not set.
    pub fn line_of(&self, key: &str) -> usize {
        self.get(key).map_or(self.line, |setting| setting.line)
    }

    /// Parses a value with `read`; `takes` describes the valid values in the error.
    pub fn read<T>(
        &self,
        key: &str,
        takes: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, PlanError> {
        let Some(setting) = self.get(key) else { return Ok(None) };
        let value = setting.value.as_deref().unwrap_or_default();
        read(value).map(Some).ok_or_else(|| {
            self.error(setting.line, &format!("{key}: {value:?} is invalid: expected {takes}"))
        })
    }

    /// Text that is not empty.
    pub fn text(&self, key: &str, takes: &str) -> Result<Option<String>, PlanError> {
        self.read(key, takes, |value| Some(value.to_owned()).filter(|text| !text.is_empty()))
    }

    /// A flag; the key without a value sets it.
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

    pub fn whole(&self, key: &str, low: u64, high: u64) -> Result<Option<u64>, PlanError> {
        let takes = format!("a whole number from {low} to {high}");
        self.read(key, &takes, |value| {
            value::number(value).filter(|number| (low..=high).contains(number))
        })
    }

    pub fn time(&self, key: &str) -> Result<Option<Duration>, PlanError> {
        self.read(key, "a time in seconds, or with us, ms, s, m, h, d", value::time)
    }

    /// A time that is in microseconds if it has no unit.
    pub fn short_time(&self, key: &str) -> Result<Option<Duration>, PlanError> {
        self.read(key, "a time in microseconds, or with us, ms, s, m, h, d", |text| {
            let plain = text.bytes().all(|byte| byte.is_ascii_digit());
            if plain { value::time(&format!("{text}us")) } else { value::time(text) }
        })
    }

    /// Remarks for the user on accepted settings, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let noted = self.settings.iter().filter(|setting| setting.option.role == Role::Noted);
        let endless = self.flag("time_based") == Ok(Some(true))
            && self.time("runtime").is_ok_and(|time| time.is_none_or(|time| time.is_zero()));
        noted
            .map(|setting| format!("{}: {}", setting.option.name, setting.option.meaning))
            .chain(endless.then(|| "time_based: no effect without runtime, as in fio".to_owned()))
            .collect()
    }

    /// Checks the values of options that are accepted but have no effect: a value that fio would
    /// reject is an error here, too.
    pub fn check_accepted(&self) -> Result<(), PlanError> {
        for setting in self.settings.iter().filter(|setting| setting.option.role == Role::Accepted)
        {
            match setting.option.takes {
                FLAG => drop(self.flag(setting.option.name)?),
                ANYTHING => {}
                words => {
                    let plain = words.replace('`', "");
                    let one_of = if plain.contains(", ") { "one of " } else { "" };
                    self.read(setting.option.name, &format!("{one_of}{plain}"), |value| {
                        plain.split(", ").any(|word| word == value).then_some(())
                    })?;
                }
            }
        }
        Ok(())
    }
}
