//! The filters of the list, of the fleet and of the history, as part of an address: a filter is a link.

use fleet::DriveChoice;
use jiff::ToSpan as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use store::Filter;

pub const RUNS_PER_PAGE: u32 = 50;
/// All but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A filter: the page that it is on, and its fields.
#[derive(Debug)]
pub struct Form {
    pub path: &'static str,
    pub fields: &'static [Field],
}

/// The runs and drives that a query asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub runs: Filter,
    pub drives: DriveChoice,
}

/// The values that the user entered into the fields of a filter, and which page is shown.
#[derive(Debug, Clone)]
pub struct Query {
    pub form: &'static Form,
    values: Vec<String>,
    /// The column to sort by; empty for the usual order.
    pub sort: String,
    /// Number of pages before this one.
    pub page: u32,
}

#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub name: &'static str,
    pub label: &'static str,
    /// The `type` of the HTML input.
    pub kind: &'static str,
    read: fn(&str, &mut Wanted) -> Result<(), String>,
}

const fn field(
    name: &'static str,
    label: &'static str,
    kind: &'static str,
    read: fn(&str, &mut Wanted) -> Result<(), String>,
) -> Field {
    Field { name, label, kind, read }
}

const HOST: Field = field("host", "Host", "text", |text, wanted| set(&mut wanted.runs.host, text));
const SUITE: Field =
    field("suite", "Suite", "text", |text, wanted| set(&mut wanted.runs.suite, text));
const SINCE: Field = field("since", "Since", "date", |text, wanted| {
    wanted.runs.since = Some(midnight(text, 0)?);
    Ok(())
});
const UNTIL: Field = field("until", "Until", "date", |text, wanted| {
    wanted.runs.until = Some(midnight(text, 1)?);
    Ok(())
});
const TAG: Field = field("tag", "Tag", "text", |text, wanted| {
    wanted.runs.tag = Some(text.parse().map_err(|error: store::NotATag| error.to_string())?);
    Ok(())
});

/// The list of runs.
pub static LIST: Form = Form {
    path: "/",
    fields: &[
        HOST,
        field("drive", "Drive: model or serial", "text", |text, wanted| {
            set(&mut wanted.runs.drive, text)
        }),
        SUITE,
        field("test", "Test", "text", |text, wanted| set(&mut wanted.runs.test, text)),
        field("target", "Target", "text", |text, wanted| set(&mut wanted.runs.target, text)),
        SINCE,
        UNTIL,
        TAG,
        field("label", "Label", "text", |text, wanted| set(&mut wanted.runs.label, text)),
        field("note", "Note", "text", |text, wanted| set(&mut wanted.runs.note, text)),
    ],
};

/// The drives of all hosts.
pub static FLEET: Form = Form {
    path: "/fleet",
    fields: &[
        field("model", "Model", "text", |text, wanted| set(&mut wanted.drives.model, text)),
        field("firmware", "Firmware", "text", |text, wanted| {
            set(&mut wanted.drives.firmware, text)
        }),
        HOST,
        SUITE,
        SINCE,
        UNTIL,
        TAG,
    ],
};

/// The runs of a drive model or of a host over time.
pub static HISTORY: Form = Form {
    path: "/history",
    fields: &[
        field("model", "Model", "text", |text, wanted| set(&mut wanted.runs.drive, text)),
        HOST,
        SUITE,
        SINCE,
        UNTIL,
        TAG,
    ],
};

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
    pub fn read(form: &'static Form, parameters: &[(String, String)]) -> Query {
        let values = vec![String::new(); form.fields.len()];
        let mut query = Query { form, values, sort: String::new(), page: 0 };
        for (name, value) in parameters {
            if let Some(index) = form.fields.iter().position(|field| field.name == name) {
                value.trim().clone_into(&mut query.values[index]);
            } else if name == "sort" {
                query.sort.clone_from(value);
            } else if name == "page" {
                query.page = value.parse().unwrap_or(0);
            }
        }
        query
    }

    /// Each field with its current value.
    pub fn fields(&self) -> impl Iterator<Item = (&'static Field, &str)> {
        self.form.fields.iter().zip(self.values.iter().map(String::as_str))
    }

    /// True if any filter is set.
    pub fn narrows(&self) -> bool {
        self.values.iter().any(|text| !text.is_empty())
    }

    /// The selection that the fields describe.
    ///
    /// # Errors
    /// The name of each invalid field, with a message.
    pub fn wanted(&self) -> Result<Wanted, Vec<(&'static str, String)>> {
        let mut wanted = Wanted::default();
        let mut wrong = Vec::new();
        for (field, text) in self.fields().filter(|(_, text)| !text.is_empty()) {
            if let Err(sentence) = (field.read)(text, &mut wanted) {
                wrong.push((field.name, sentence));
            }
        }
        if wrong.is_empty() { Ok(wanted) } else { Err(wrong) }
    }

    /// The runs of one page of the list. It asks for one run more than a page shows, to find out
    /// whether there are more.
    ///
    /// # Errors
    /// The name of each invalid field, with a message.
    pub fn runs(&self) -> Result<Filter, Vec<(&'static str, String)>> {
        let skip = self.page.saturating_mul(RUNS_PER_PAGE);
        Ok(Filter { limit: Some(RUNS_PER_PAGE + 1), skip, ..self.wanted()?.runs })
    }

    /// The address of another page in the same order.
    pub fn address(&self, page: u32) -> String {
        self.with(&[("sort", &self.sort), ("page", &page_text(page))])
    }

    /// The address of the first page in another order.
    pub fn sorted(&self, column: &str) -> String {
        self.with(&[("sort", column)])
    }

    /// The address of the first page with another value of one field.
    pub fn narrowed(&self, name: &str, text: &str) -> String {
        let mut query = self.clone();
        if let Some(index) = self.form.fields.iter().position(|field| field.name == name) {
            text.clone_into(&mut query.values[index]);
        }
        query.sorted(&self.sort)
    }

    fn with(&self, more: &[(&str, &str)]) -> String {
        let fields = self.fields().map(|(field, text)| (field.name, text));
        let parts: Vec<String> = fields
            .chain(more.iter().copied())
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| format!("{name}={}", utf8_percent_encode(text, RESERVED)))
            .collect();
        let path = self.form.path;
        if parts.is_empty() { path.to_owned() } else { format!("{path}?{}", parts.join("&")) }
    }

    /// The address of a page filtered by one field alone.
    pub fn by(form: &Form, name: &str, text: &str) -> String {
        format!("{}?{name}={}", form.path, utf8_percent_encode(text, RESERVED))
    }
}

/// The number of a page in its address; the first has none.
fn page_text(page: u32) -> String {
    if page == 0 { String::new() } else { page.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pairs: &[(&str, &str)]) -> Query {
        let pairs: Vec<_> =
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Query::read(&LIST, &pairs)
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
        let filter = query.runs().unwrap();
        assert_eq!(filter.drive.as_deref(), Some("<b>&970"));
        assert_eq!(filter.since.unwrap().to_string(), "2026-11-01T00:00:00Z");
        // The last day is included.
        assert_eq!(filter.until.unwrap().to_string(), "2026-11-22T00:00:00Z");
        assert_eq!((filter.limit, filter.skip), (Some(51), 100));
    }

    #[test]
    fn every_field_narrows() {
        for field in LIST.fields {
            let text = if field.kind == "date" { "2026-11-21" } else { "x" };
            let query = query(&[(field.name, text)]);
            let nothing = Filter { limit: Some(51), ..Filter::default() };
            assert_ne!(query.runs().unwrap(), nothing, "{}", field.name);
            assert!(query.narrows());
        }
        assert!(!query(&[("host", " "), ("page", "x")]).narrows());
        assert_eq!(query(&[]).address(0), "/");
    }

    #[test]
    fn invalid_fields_are_reported_one_by_one() {
        let wrong = query(&[("since", "yesterday"), ("tag", "a b"), ("until", "9999-12-31")])
            .runs()
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
        assert_eq!(query(&[("page", "4294967295")]).runs().unwrap().skip, u32::MAX);
        assert_eq!(query(&[("page", "-1")]).page, 0);
    }
}
