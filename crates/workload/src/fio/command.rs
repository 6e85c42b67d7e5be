//! Parses the words of a command line into sections.

use super::options::{self, Value};
use super::section::{Collector, Section};
use super::{COMMAND_LINE, Environment};
use crate::plan::PlanError;

/// Parses the sections of a command line. Like fio's `getopt_long_only`, an option starts with one
/// or two dashes, and its value follows after `=` or as the next word. Each `name` starts a job;
/// options before the first one apply to all jobs.
///
/// # Errors
/// Fails at a word that is not an option, at a missing value, or with one error for all unsupported
/// options.
pub fn sections(words: &[&str], environment: Environment<'_>) -> Result<Vec<Section>, PlanError> {
    let words = if words.first() == Some(&"fio") { &words[1..] } else { words };
    let error = |message: String| PlanError::new(COMMAND_LINE, 0, &message);
    let mut collector = Collector::new(COMMAND_LINE, environment, true);
    let mut named = false;
    let mut words = words.iter().copied();
    while let Some(word) = words.next() {
        let option = word
            .strip_prefix("--")
            .or_else(|| word.strip_prefix('-'))
            .filter(|option| !option.is_empty());
        let Some(option) = option else {
            return Err(error(format!(
                "expected an option such as --rw=randwrite instead of {word:?}; to run a job file: \
                 flushmark run JOB.fio"
            )));
        };
        let (key, value) = match option.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => match options::find(option) {
                Some(known) if known.value == Value::Required => {
                    let value = words.next();
                    (option, Some(value.ok_or_else(|| error(format!("{word} needs a value")))?))
                }
                // If an unknown option has a value, the value is not reported as an option.
                None => {
                    if words.clone().next().is_some_and(|next| !next.starts_with('-')) {
                        words.next();
                    }
                    (option, None)
                }
                Some(_) => (option, None),
            },
        };
        match (key, value) {
            ("name", Some(name)) if !name.is_empty() => {
                named = true;
                collector.begin(name, 0);
            }
            ("name", _) => return Err(error("name: expected a name".to_owned())),
            _ => collector.set(key, value, 0)?,
        }
    }
    if !named {
        collector.begin("fio", 0);
    }
    collector.finish()
}
