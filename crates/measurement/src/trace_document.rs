//! The JSON output of `flushmark trace`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::anatomy::Anatomy;
use crate::drive_traffic::DriveTraffic;
use crate::finding::Finding;
use crate::versioned::{self, DocumentError, Kind};

/// The name and version of the document.
pub const SCHEMA: &str = "flushmark/trace/1";
const KIND: Kind = Kind { name: "trace", version: 1, document: "document of `trace`" };

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceDocument {
    /// The name and version of this format.
    pub schema: String,
    /// The version of flushmark that wrote it.
    pub flushmark: String,
    /// What was traced, as it was named.
    pub subject: String,
    /// The kernel's release.
    pub kernel: String,
    #[serde(flatten)]
    pub trace: TraceRecord,
    /// Conclusions from the anatomies.
    pub findings: Vec<Finding>,
}

impl TraceDocument {
    /// Reads a document of this or an earlier version.
    ///
    /// # Errors
    /// If the text is cut short, is something else, or has a newer version.
    pub fn from_json(text: &str) -> Result<TraceDocument, DocumentError> {
        versioned::read(text, KIND, |document: &TraceDocument| &document.schema)
    }
}

/// What a trace shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TraceRecord {
    pub seconds: f64,
    /// Events that were read.
    pub events: u64,
    /// Events that the kernel dropped because they were not read in time.
    pub lost: u64,
    /// True if some pages of events were lost without their number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost_uncounted: bool,
    /// Tracepoints that this kernel lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The kinds of commits, most time first.
    pub anatomies: Vec<Anatomy>,
    /// Drives whose drivers report the commands that they give them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<DriveTraffic>,
}

/// The JSON Schema (draft 2020-12) of [`TraceDocument`]. The repository keeps it as
/// `schemas/trace-1.json`.
pub fn json_schema() -> schemars::Schema {
    crate::json_schema::of::<TraceDocument>("trace", SCHEMA)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_back_and_another_is_refused() {
        assert_eq!(SCHEMA, KIND.schema());
        let document = TraceDocument {
            schema: SCHEMA.to_owned(),
            flushmark: "1.0.0".to_owned(),
            subject: "dd".to_owned(),
            kernel: "6.18".to_owned(),
            trace: TraceRecord { events: 7, ..TraceRecord::default() },
            findings: Vec::new(),
        };
        let text = serde_json::to_string(&document).unwrap();
        assert_eq!(TraceDocument::from_json(&text).unwrap(), document);
        let refused = |schema: &str| {
            TraceDocument::from_json(&text.replace(SCHEMA, schema)).unwrap_err().to_string()
        };
        insta::assert_snapshot!(refused("flushmark/run/1"), @"document `flushmark/run/1` is not a document of `trace` (`flushmark/trace/1`)");
        insta::assert_snapshot!(refused("flushmark/trace/2"), @"document `flushmark/trace/2` was written by a newer flushmark; this version reads up to `flushmark/trace/1`. Use that version or a later one");
    }
}
