//! The facts that a store records of a run besides its document.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use measurement::{Ended, Grade, RunDocument, TestResult};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use uuid::Uuid;

/// A run's number in its store; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct RunId(pub(crate) i64);

/// A text that is not a run number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid run number `{0}`; `flushmark results list` shows the numbers")]
pub struct NotARunId(String);

impl FromStr for RunId {
    type Err = NotARunId;

    fn from_str(text: &str) -> Result<RunId, NotARunId> {
        let number = text
            .parse()
            .ok()
            .filter(|&number: &i64| number > 0 && text.starts_with(|c: char| c.is_ascii_digit()));
        number.map(RunId).ok_or_else(|| NotARunId(text.to_owned()))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl RunId {
    /// The number as it appears in JSON.
    pub fn number(self) -> i64 {
        self.0
    }
}

/// A word that users attach to runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Tag(String);

/// A text that cannot be a tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid tag `{0}`: expected up to 64 letters, digits and any of - _ . : / +, starting with a \
     letter or digit"
)]
pub struct NotATag(String);

impl FromStr for Tag {
    type Err = NotATag;

    /// Excludes the characters that separate words on a command line (comma, `@`, `~`).
    fn from_str(text: &str) -> Result<Tag, NotATag> {
        let fits = text.starts_with(char::is_alphanumeric)
            && text.chars().count() <= 64
            && text
                .chars()
                .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/' | '+'));
        if fits { Ok(Tag(text.to_owned())) } else { Err(NotATag(text.to_owned())) }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Tag {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Facts about a run that its document does not contain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// Name of the machine that measured; `None` for a model and where it is unknown.
    pub host: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Its process is measuring.
    Running,
    /// All tests of its plan have run.
    Complete,
    /// It ended early: by a signal or an error, or because its process is gone.
    Interrupted,
}

impl State {
    /// The name in the database, in lists and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Complete => "complete",
            State::Interrupted => "interrupted",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All tests of its plan have run.
    Complete,
    /// It ended before its plan was done.
    Interrupted,
}

impl End {
    /// Derived from a whole document: the last test shows a signal or an error.
    pub(crate) fn of(document: &RunDocument) -> End {
        let is_whole = document.results.iter().all(|result| result.ended == Ended::Limit);
        if is_whole { End::Complete } else { End::Interrupted }
    }
}

impl From<End> for State {
    fn from(end: End) -> State {
        match end {
            End::Complete => State::Complete,
            End::Interrupted => State::Interrupted,
        }
    }
}

/// A drive under a run's target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DriveName {
    /// Model name as reported by the drive.
    pub model: Option<String>,
    /// Serial number, if the user who measured had permission to read it.
    pub serial: Option<String>,
    pub firmware: Option<String>,
}

impl DriveName {
    pub fn of(document: &RunDocument) -> Vec<DriveName> {
        let mut drives: Vec<DriveName> = Vec::new();
        let mut add = |model: Option<String>, serial: Option<String>, firmware: Option<String>| {
            let drive = DriveName { model, serial, firmware };
            let is_same =
                |known: &DriveName| (&known.model, &known.serial) == (&drive.model, &drive.serial);
            let is_named = drive.model.is_some() || drive.serial.is_some();
            if is_named && !drives.iter().any(is_same) {
                drives.push(drive);
            }
        };
        let beneath = document.drive.as_ref().and_then(|place| match &place.backing {
            drive::Backing::BlockDevice(device) => Some(device),
            drive::Backing::NoBlockDevice(_) => None,
        });
        for device in beneath.iter().flat_map(|device| device.drives()) {
            add(device.label(), device.serial.clone(), device.firmware.clone());
        }
        for record in document.drives.iter().filter(|record| record.device.layers.is_empty()) {
            let device = &record.device;
            add(device.label(), device.serial.clone(), device.firmware.clone());
        }
        add(document.source.as_ref().and_then(|source| source.drive.clone()), None, None);
        drives
    }
}

/// The latency to show in a list: of the first test of single 4 KiB commits, else of the first test
/// with commits, else of the first test with any latency.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Headline {
    pub test: String,
    /// True if it is commit latency.
    pub is_commit: bool,
    /// Median, in microseconds.
    pub p50_us: f64,
    /// 99th percentile, in microseconds.
    pub p99_us: f64,
}

impl Headline {
    /// `None` for a test without latencies.
    pub(crate) fn of(result: &TestResult) -> Option<Headline> {
        let latency = result.headline_us()?;
        Some(Headline {
            test: result.test.clone(),
            is_commit: result.commit_us.is_some(),
            p50_us: latency.p50,
            p99_us: latency.p99,
        })
    }
}

/// A run as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// The run's number in this store.
    pub id: RunId,
    /// The run's identity in every store, a UUID.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub uuid: Uuid,
    /// Time of the measurement, UTC, RFC 3339; if the document does not record it, the time at
    /// which it was stored.
    #[serde(serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Name of the machine that measured.
    pub host: Option<String>,
    /// The drives under the target.
    pub drives: Vec<DriveName>,
    /// Name of the plan or suite.
    pub suite: String,
    /// The name that the user gave the run.
    pub label: Option<String>,
    /// The target; directories and files with absolute paths.
    pub target: String,
    /// The tool that measured, with its version.
    pub tool: String,
    /// Number of measured tests.
    pub tests: u32,
    /// The latency to show in a list.
    pub headline: Option<Headline>,
    /// The grade as a database's log; `null` if the run was not graded.
    pub log_grade: Option<Grade>,
    pub tags: Vec<Tag>,
    /// The user's note; empty if there is none.
    pub note: String,
    pub state: State,
}

fn as_text<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

#[derive(Debug, Clone, PartialEq)]
pub struct StoredRun {
    /// The store's own facts about the run.
    pub summary: Summary,
    pub document: RunDocument,
}

#[cfg(test)]
mod tests {
    use super::*;
    use samples::document::modelled;

    #[test]
    fn numbers_and_tags() {
        assert_eq!("12".parse(), Ok(RunId(12)));
        for wrong in ["", "0", "-1", "+1", "1.5", "last", "99999999999999999999"] {
            assert!(wrong.parse::<RunId>().is_err(), "{wrong}");
        }
        assert_eq!("before-fw2.1".parse::<Tag>().unwrap().as_str(), "before-fw2.1");
        for wrong in ["", "-x", "a,b", "@a", "a b", "a~1", &"x".repeat(65)] {
            assert!(wrong.parse::<Tag>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn each_drive_is_named_once_and_only_if_it_has_a_name() {
        let imported = |drive: &str| {
            let source = measurement::Source {
                tool: "fio".to_owned(),
                version: None,
                drive: Some(drive.to_owned()),
                disks: Vec::new(),
            };
            RunDocument { source: Some(source), ..modelled() }
        };
        let models = |document: &RunDocument| -> Vec<Option<String>> {
            DriveName::of(document).into_iter().map(|drive| drive.model).collect()
        };
        let [first, other] = ["Samsung 980 1 TB", "another"].map(|model| Some(model.to_owned()));
        assert_eq!(models(&modelled()), std::slice::from_ref(&first));
        assert_eq!(models(&imported("Samsung 980 1 TB")), std::slice::from_ref(&first));
        assert_eq!(models(&imported("another")), [first, other.clone()]);
        assert_eq!(models(&RunDocument { drive: None, ..imported("another") }), [other]);
        assert_eq!(DriveName::of(&RunDocument { drive: None, ..modelled() }), []);
    }

    #[test]
    fn programs_read_numbers_words_and_times_as_text() {
        let uuid = Uuid::from_u128(7);
        let summary = Summary {
            id: RunId(12),
            uuid,
            at: "2026-11-20T10:00:00Z".parse().unwrap(),
            host: None,
            drives: Vec::new(),
            suite: "check".to_owned(),
            label: None,
            target: "/srv".to_owned(),
            tool: "fio".to_owned(),
            tests: 1,
            headline: None,
            log_grade: None,
            tags: vec!["fleet".parse().unwrap()],
            note: String::new(),
            state: State::Complete,
        };
        let value = serde_json::to_value(&summary).unwrap();
        assert_eq!((&value["id"], &value["tags"][0]), (&12.into(), &"fleet".into()));
        assert_eq!(
            (&value["uuid"], &value["at"]),
            (&uuid.to_string().into(), &"2026-11-20T10:00:00Z".into())
        );
        assert_eq!((summary.id.number(), summary.id.to_string()), (12, "12".to_owned()));
        assert_eq!(
            (summary.tags[0].as_str(), summary.tags[0].to_string()),
            ("fleet", "fleet".to_owned())
        );
        for state in [State::Running, State::Complete, State::Interrupted] {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
    }

    #[test]
    fn a_run_is_whole_if_each_test_came_to_its_limit() {
        let mut document = modelled();
        assert_eq!(State::from(End::of(&document)), State::Complete);
        document.results.last_mut().unwrap().ended = Ended::Interrupted;
        assert_eq!(State::from(End::of(&document)), State::Interrupted);
    }
}
