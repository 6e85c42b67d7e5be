//! Results as a lake: a directory of Parquet files that query engines read as two tables, `tests`
//! and `bins`, in the layout of Apache Hive.
//!
//! ```text
//! tests/month=2026-11/host=db7/RUN.parquet
//! bins/month=2026-11/host=db7/RUN.parquet
//! ```
//!
//! Each run has two files named for its [`RunKey`]: exporting it again replaces them. The
//! partition keys are columns for query engines, and therefore not columns in the files: pyarrow
//! refuses tables that have both.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::columns::Run;
use crate::parquet::{self, NotWritten};
use crate::run_key::RunKey;

/// A property that the runs of a directory share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartitionKey {
    /// The month in which the run began, UTC: `2026-11`.
    Month,
    /// The machine that measured.
    Host,
}

impl PartitionKey {
    pub const ALL: [PartitionKey; 2] = [PartitionKey::Month, PartitionKey::Host];

    /// The name of the column.
    pub const fn name(self) -> &'static str {
        match self {
            PartitionKey::Month => "month",
            PartitionKey::Host => "host",
        }
    }

    fn value(self, run: Run<'_>) -> Option<String> {
        match self {
            PartitionKey::Month => Some(run.document.began()?.strftime("%Y-%m").to_string()),
            PartitionKey::Host => run.host.map(str::to_owned),
        }
    }
}

/// The partition keys of a lake in the order of its directories: at least one, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partitioning(Vec<PartitionKey>);

/// A text that does not name partition keys.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPartitioning {
    #[error("unknown partition key `{0}`; expected month, host, or both: month,host")]
    Unknown(String),
    #[error("the partition key {} is given twice", .0.name())]
    Twice(PartitionKey),
}

impl FromStr for Partitioning {
    type Err = InvalidPartitioning;

    /// Parses the names of keys, separated by commas.
    fn from_str(text: &str) -> Result<Partitioning, InvalidPartitioning> {
        let mut keys = Vec::new();
        for name in text.split(',') {
            let key = PartitionKey::ALL.into_iter().find(|key| key.name() == name);
            let key = key.ok_or_else(|| InvalidPartitioning::Unknown(name.to_owned()))?;
            if keys.contains(&key) {
                return Err(InvalidPartitioning::Twice(key));
            }
            keys.push(key);
        }
        Ok(Partitioning(keys))
    }
}

impl fmt::Display for Partitioning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|key| key.name()).collect();
        f.write_str(&names.join(","))
    }
}

/// The tables of a lake, each a directory in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// One row per test.
    Tests,
    /// One row per histogram bin.
    Bins,
}

impl Table {
    /// The order of writing: a test that a query finds already has its bins.
    pub const ALL: [Table; 2] = [Table::Bins, Table::Tests];

    /// The name of the directory.
    pub const fn name(self) -> &'static str {
        match self {
            Table::Tests => "tests",
            Table::Bins => "bins",
        }
    }
}

impl Partitioning {
    /// The file of a run in a table, relative to the lake.
    pub fn path(&self, table: Table, run: Run<'_>) -> PathBuf {
        let mut path = PathBuf::from(table.name());
        for &key in &self.0 {
            let value = key.value(run).filter(|value| !value.is_empty());
            let value = value.map_or_else(|| UNKNOWN.to_owned(), |value| escaped(&value));
            path.push(format!("{}={value}", key.name()));
        }
        path.join(format!("{}.parquet", RunKey::of(run.document)))
    }

    /// The content of that file.
    pub fn content(&self, table: Table, run: Run<'_>) -> Result<Vec<u8>, NotWritten> {
        match table {
            Table::Tests => parquet::tests_with(&[run], |column| {
                self.0.iter().all(|key| key.name() != column.name)
            }),
            Table::Bins => parquet::bins(&[run]),
        }
    }

    /// Returns whether these keys give such a path below a table's directory. Another order or
    /// number of keys in one table makes it unreadable.
    pub fn is_layout_of(&self, path_in_table: &Path) -> bool {
        let names: Option<Vec<&str>> = path_in_table
            .parent()
            .into_iter()
            .flatten()
            .map(|part| part.to_str()?.split_once('=').map(|(name, _)| name))
            .collect();
        names.is_some_and(|names| names.into_iter().eq(self.0.iter().map(|key| key.name())))
    }
}

/// The value of runs that have none, which query engines read as null.
const UNKNOWN: &str = "__HIVE_DEFAULT_PARTITION__";

/// A value as Hive writes it in the name of a directory: characters that are special there or on
/// some filesystem as `%` and two hexadecimal digits.
fn escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        if character.is_ascii_control() || "\"#%'*/:=?\\{}[]^".contains(character) {
            escaped += &format!("%{:02X}", character as u32);
        } else {
            escaped.push(character);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(keys: &str, host: Option<&str>, started_at: &str) -> String {
        let mut document = samples::document::checked();
        started_at.clone_into(&mut document.started_at);
        let keys: Partitioning = keys.parse().unwrap();
        let path = keys.path(Table::Tests, Run { document: &document, host });
        assert!(keys.is_layout_of(path.strip_prefix("tests").unwrap()));
        path.parent().unwrap().to_str().unwrap().to_owned()
    }

    #[test]
    fn directories_are_those_of_hive() {
        let november = "2026-11-30T23:59:59Z";
        assert_eq!(path("month", None, november), "tests/month=2026-11");
        assert_eq!(path("host,month", Some("db7"), november), "tests/host=db7/month=2026-11");
        assert_eq!(
            path("month,host", Some("a/b=c%"), november),
            "tests/month=2026-11/host=a%2Fb%3Dc%25"
        );
        assert_eq!(path("host", Some("größe 1"), november), "tests/host=größe 1");
        // Months are those of UTC.
        assert_eq!(path("month", None, "2026-12-01T00:30:00+01:00"), "tests/month=2026-11");
        let unknown = "month=__HIVE_DEFAULT_PARTITION__/host=__HIVE_DEFAULT_PARTITION__";
        for host in [None, Some("")] {
            assert_eq!(
                path("month,host", host, "1970-01-01T00:00:00Z"),
                format!("tests/{unknown}")
            );
        }
        assert_eq!(path("host", Some(".."), november), "tests/host=..");
        assert_eq!(path("host", Some("a\nb\u{7f}"), november), "tests/host=a%0Ab%7F");
    }

    #[test]
    fn keys_are_known_and_given_once() {
        let refused = |text: &str| text.parse::<Partitioning>().unwrap_err().to_string();
        insta::assert_snapshot!(refused("day"), @"unknown partition key `day`; expected month, host, or both: month,host");
        insta::assert_snapshot!(refused(""), @"unknown partition key ``; expected month, host, or both: month,host");
        insta::assert_snapshot!(refused("month,"), @"unknown partition key ``; expected month, host, or both: month,host");
        insta::assert_snapshot!(refused("month,host,month"), @"the partition key month is given twice");
        assert_eq!("host,month".parse::<Partitioning>().unwrap().to_string(), "host,month");
    }

    #[test]
    fn a_layout_has_the_same_keys_in_the_same_order() {
        let keys: Partitioning = "month,host".parse().unwrap();
        assert!(keys.is_layout_of(Path::new("month=2026-11/host=x/a.parquet")));
        for other in ["host=x/month=2026-11/a.parquet", "month=2026-11/a.parquet", "a.parquet"] {
            assert!(!keys.is_layout_of(Path::new(other)), "{other}");
        }
    }
}
