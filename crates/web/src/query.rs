//! The filter of the list, as part of an address: a filter is a link.

use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use store::Filter;

pub const RUNS_PER_PAGE: u32 = 50;
/// All but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The values that the user entered into the fields of the filter, and which page of the list is
/// shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    fields: [String; FIELDS.len()],
    /// Number of pages of newer runs before this one.
    pub page: u32,
}

#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    pub label: &'static str,
    /// The `type` of the HTML input.
    pub kind: &'static str,
    read: fn(&str, &mut Filter) -> Result<(), String>,
}

const fn field(
    name: &'static str,
    label: &'static str,
    kind: &'static str,
    read: fn(&str, &mut Filter) -> Result<(), String>,
) -> Field {
    Field { name, label, kind, read }
}

/// All fields, in the order of the form.
pub const FIELDS: [Field; 9] = [
    field("host", "Host", "text", |text, filter| set(&mut filter.host, text)),
    field("drive", "Drive: model or serial", "text", |text, filter| set(&mut filter.drive, text)),
    field("suite", "Suite", "text", |text, filter| set(&mut filter.suite, text)),
    field("test", "Test", "text", |text, filter| set(&mut filter.test, text)),
    field("target", "Target", "text", |text, filter| set(&mut filter.target, text)),
    field("since", "Since", "date", |text, filter| {
        filter.since = Some(midnight(text, 0)?);
        Ok(())
    }),
    field("until", "Until", "date", |text, filter| {
        filter.until = Some(midnight(text, 1)?);
        Ok(())
    }),
    field("tag", "Tag", "text", |text, filter| {
        filter.tag = Some(text.parse().map_err(|error: store::NotATag| error.to_string())?);
        Ok(())
    }),
    field("note", "Note", "text", |text, filter| set(&mut filter.note, text)),
];

#[expect(clippy::unnecessary_wraps, reason = "what a field's `read` returns")]
fn set(value: &mut Option<String>, text: &str) -> Result<(), String> {
    *value = Some(text.to_owned());
    Ok(())
}

/// Midnight (UTC, as all times on these pages) at the start of a day, or of one some days later.
fn midnight(text: &str, days: i64) -> Result<jiff::Timestamp, String> {
    let wrong = |_| format!("invalid date `{text}`; expected YYYY-MM-DD, such as 2026-11-21");
    let day: Date = text.parse().map_err(wrong)?;
    let day = day.checked_add(days.days()).map_err(wrong)?;
    day.to_zoned(TimeZone::UTC).map(|midnight| midnight.timestamp()).map_err(wrong)
}

impl Query {
    /// Parses the parameters of an address. Unknown names are ignored, so old links still work.
    pub fn read(parameters: &[(String, String)]) -> Query {
        let mut query = Query::default();
        for (name, value) in parameters {
            if let Some(index) = FIELDS.iter().position(|field| field.name == name) {
                value.trim().clone_into(&mut query.fields[index]);
            } else if name == "page" {
                query.page = value.parse().unwrap_or(0);
            }
        }
        query
    }

    /// Each field with its current value.
    pub fn fields(&self) -> impl Iterator<Item = (&'static Field, &str)> {
        FIELDS.iter().zip(self.fields.iter().map(String::as_str))
    }

    /// True if any filter is set.
    pub fn narrows(&self) -> bool {
        self.fields.iter().any(|text| !text.is_empty())
    }

    /// The filter for the store. It asks for one run more than a page shows, to find out whether
    /// there are more.
    ///
    /// # Errors
    /// The name of each invalid field, with a message.
    pub fn filter(&self) -> Result<Filter, Vec<(&'static str, String)>> {
        let skip = self.page.saturating_mul(RUNS_PER_PAGE);
        let mut filter = Filter { limit: Some(RUNS_PER_PAGE + 1), skip, ..Filter::default() };
        let mut wrong = Vec::new();
        for (field, text) in self.fields().filter(|(_, text)| !text.is_empty()) {
            if let Err(sentence) = (field.read)(text, &mut filter) {
                wrong.push((field.name, sentence));
            }
        }
        if wrong.is_empty() { Ok(filter) } else { Err(wrong) }
    }

    /// The address of another page of the same list.
    pub fn address(&self, page: u32) -> String {
        let mut parts: Vec<String> = self
            .fields()
            .filter(|(_, text)| !text.is_empty())
            .map(|(field, text)| format!("{}={}", field.name, utf8_percent_encode(text, RESERVED)))
            .collect();
        if page > 0 {
            parts.push(format!("page={page}"));
        }
        if parts.is_empty() { "/".to_owned() } else { format!("/?{}", parts.join("&")) }
    }

    /// The address of the list filtered by one field alone.
    pub fn by(name: &str, text: &str) -> String {
        format!("/?{name}={}", utf8_percent_encode(text, RESERVED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Query {
        let pairs: Vec<_> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Query::read(&pairs)
    }

    #[test]
    fn a_filter_is_a_link() {
        let query = query(&[
            ("drive", " <b>&970 "),
            ("since", "2026-11-01"),
            ("until", "2026-11-21"),
            ("page", "2"),
            ("old", "x"),
        ]);
        assert_eq!(
            query.address(3),
            "/?drive=%3Cb%3E%26970&since=2026-11-01&until=2026-11-21&page=3"
        );
        let filter = query.filter().unwrap();
        assert_eq!(filter.drive.as_deref(), Some("<b>&970"));
        assert_eq!(filter.since.unwrap().to_string(), "2026-11-01T00:00:00Z");
        // The last day is included.
        assert_eq!(filter.until.unwrap().to_string(), "2026-11-22T00:00:00Z");
        assert_eq!((filter.limit, filter.skip), (Some(51), 100));
    }

    #[test]
    fn every_field_narrows() {
        for field in &FIELDS {
            let text = if field.kind == "date" { "2026-11-21" } else { "x" };
            let query = query(&[(field.name, text)]);
            let nothing = Filter { limit: Some(51), ..Filter::default() };
            assert_ne!(query.filter().unwrap(), nothing, "{}", field.name);
            assert!(query.narrows());
        }
        assert!(!query(&[("host", " "), ("page", "x")]).narrows());
        assert_eq!(query(&[]).address(0), "/");
    }

    #[test]
    fn invalid_fields_are_reported_one_by_one() {
        let wrong = query(&[("since", "yesterday"), ("tag", "a b"), ("until", "9999-12-31")])
            .filter()
            .unwrap_err();
        let messages: Vec<String> =
            wrong.iter().map(|(name, sentence)| format!("{name}: {sentence}")).collect();
        insta::assert_snapshot!(messages.join("\n"), @r"
        since: invalid date `yesterday`; expected YYYY-MM-DD, such as 2026-11-21
        until: invalid date `9999-12-31`; expected YYYY-MM-DD, such as 2026-11-21
        tag: invalid tag `a b`: expected up to 64 letters, digits and any of - _ . : / +, starting with a letter or digit
        ");
    }

    #[test]
    fn pages_beyond_the_end_are_empty_without_an_error() {
        assert_eq!(query(&[("page", "4294967295")]).filter().unwrap().skip, u32::MAX);
        assert_eq!(query(&[("page", "-1")]).page, 0);
    }
}
