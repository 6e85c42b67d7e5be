//! Single values of a plan, parsed by the kind of their field.

use std::ops::Range;
use std::time::Duration;

use toml::de::DeValue;

use super::error::PlanError;
use super::fields::{Field, Kind};
use crate::blocks::Area;
use crate::size::{ByteSize, format_bytes};

/// The plan file being parsed, for error positions.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl Source<'_> {
    /// The line on which a span starts, counted from 1.
    pub fn line(&self, span: &Range<usize>) -> usize {
        self.text.bytes().take(span.start).filter(|&byte| byte == b'\n').count() + 1
    }

    pub fn error(&self, span: &Range<usize>, message: impl Into<String>) -> PlanError {
        PlanError::new(self.file, self.line(span), &message.into())
    }

    /// The first line of the text at a span.
    pub fn written(&self, span: &Range<usize>) -> &str {
        self.text.get(span.clone()).unwrap_or_default().lines().next().unwrap_or_default()
    }

    fn wrong(&self, value: &Value<'_>, field: &Field) -> PlanError {
        let written = self.written(&value.span);
        self.error(
            &value.span,
            format!("{}: {written} is invalid: expected {}", field.name, description(field.kind)),
        )
    }
}

#[derive(Debug, Clone)]
pub struct Value<'a> {
    pub content: &'a DeValue<'a>,
    pub span: Range<usize>,
}

/// An example that is not too small: 4 KiB, or the minimum if that is larger.
fn size_example(low: u64) -> String {
    format!("\"{}\"", format_bytes(low.max(4 << 10)).replace(' ', ""))
}

/// A description of the valid values, for errors and the reference page.
pub fn description(kind: Kind) -> String {
    match kind {
        Kind::Text => "text in quotes".to_owned(),
        Kind::Word(words) => format!("one of {}", words().join(", ")),
        Kind::Size(low, high) if high > 1 << 50 => {
            format!("a size of at least {}, such as {}", format_bytes(low), size_example(low))
        }
        Kind::Size(low, high) => {
            format!(
                "a size from {} to {}, such as {}",
                format_bytes(low),
                format_bytes(high),
                size_example(low)
            )
        }
        Kind::Area(low, _) => {
            format!(
                "a size of at least {}, such as {}, or a share of the target, such as \"50%\"",
                format_bytes(low),
                size_example(low)
            )
        }
        Kind::Whole(low, high) if high > 1 << 50 => format!("a whole number of at least {low}"),
        Kind::Whole(low, high) => format!("a whole number from {low} to {high}"),
        Kind::Rate(high) => format!("a number above 0, up to {high}"),
        Kind::Flag => "true or false".to_owned(),
        Kind::Time { zero: false } => {
            "a time above zero, up to a year, such as \"5s\", \"250ms\" or \"1h30min\"".to_owned()
        }
        Kind::Time { zero: true } => {
            "a time up to a year, such as \"5s\", \"250ms\" or \"0s\"".to_owned()
        }
        Kind::Steps => {
            "a list of steps, such as [\"write log append 4KiB\", \"sync log fdatasync\"]"
                .to_owned()
        }
        Kind::Files => "a table of files, such as { log = { size = \"64MiB\" } }".to_owned(),
        Kind::Matrix => "a table of lists, such as { jobs = [1, 4] }".to_owned(),
        Kind::Defaults => "a table of fields of tests, such as [defaults]".to_owned(),
        Kind::Tests => "a list of tables, each written [[test]]".to_owned(),
    }
}

/// Parses values of one field.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    pub source: Source<'a>,
    pub field: &'static Field,
}

impl Reader<'_> {
    fn check<T>(&self, value: &Value<'_>, read: Option<T>) -> Result<T, PlanError> {
        read.ok_or_else(|| self.source.wrong(value, self.field))
    }

    pub fn text(&self, value: &Value<'_>) -> Result<String, PlanError> {
        self.check(value, value.content.as_str().map(str::to_owned))
    }

    /// One of the field's words, converted by `from_name`.
    pub fn word<T>(
        &self,
        value: &Value<'_>,
        from_name: impl Fn(&str) -> Option<T>,
    ) -> Result<T, PlanError> {
        self.check(value, value.content.as_str().and_then(from_name))
    }

    pub fn flag(&self, value: &Value<'_>) -> Result<bool, PlanError> {
        self.check(value, value.content.as_bool())
    }

    /// A whole number within the field's range.
    pub fn whole(&self, value: &Value<'_>) -> Result<u64, PlanError> {
        let Kind::Whole(low, high) = self.field.kind else { return self.check(value, None) };
        self.check(value, integer(value.content).filter(|number| (low..=high).contains(number)))
    }

    /// A size within the field's range: a number with a unit in quotes, or a number of bytes.
    pub fn size(&self, value: &Value<'_>) -> Result<u64, PlanError> {
        let Kind::Size(low, high) = self.field.kind else { return self.check(value, None) };
        let bytes = match value.content.as_str() {
            Some(text) => text.parse::<ByteSize>().ok().map(|size| size.0),
            None => integer(value.content),
        };
        self.check(value, bytes.filter(|bytes| (low..=high).contains(bytes)))
    }

    /// A size within the field's range, or a percentage of the target.
    pub fn area(&self, value: &Value<'_>) -> Result<Area, PlanError> {
        let Kind::Area(low, high) = self.field.kind else { return self.check(value, None) };
        let text = value.content.as_str();
        let area = if let Some(percent) = text.and_then(|text| text.trim().strip_suffix('%')) {
            percent
                .trim_end()
                .parse()
                .ok()
                .filter(|percent| (1..=100).contains(percent))
                .map(Area::Percent)
        } else {
            let bytes = match text {
                Some(text) => text.parse::<ByteSize>().ok().map(|size| size.0),
                None => integer(value.content),
            };
            bytes.filter(|bytes| (low..=high).contains(bytes)).map(Area::Bytes)
        };
        self.check(value, area)
    }

    /// A rate within the field's range.
    pub fn rate(&self, value: &Value<'_>) -> Result<f64, PlanError> {
        let Kind::Rate(high) = self.field.kind else { return self.check(value, None) };
        let number = match value.content {
            DeValue::Float(float) => float.as_str().replace('_', "").parse().ok(),
            other => integer(other).map(|number| number as f64),
        };
        self.check(value, number.filter(|&number| number > 0.0 && number <= high))
    }

    pub fn time(&self, value: &Value<'_>) -> Result<Duration, PlanError> {
        let Kind::Time { zero } = self.field.kind else { return self.check(value, None) };
        let time = value.content.as_str().and_then(duration);
        self.check(value, time.filter(|time| zero || !time.is_zero()))
    }
}

fn integer(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
}

/// The longest accepted duration. Anything above is a typing error.
const YEAR_S: f64 = 366.0 * 86_400.0;

/// `90s`, `250ms`, `1h30min`: whole or decimal numbers, each with its unit. At most a year.
pub fn duration(text: &str) -> Option<Duration> {
    let mut seconds = 0.0;
    let mut rest = text.trim();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        let unit_s = match unit {
            "us" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * unit_s;
        rest = after.trim_start();
    }
    Duration::try_from_secs_f64(seconds).ok().filter(|_| seconds <= YEAR_S)
}
