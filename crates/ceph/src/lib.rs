//! Knowledge about Ceph, and a cluster's answers about itself. Everything is a pure function; the
//! commands to a cluster are sent elsewhere.
//!
//! | module | question it answers |
//! | --- | --- |
//! | [`release`] | which releases are there, and which is this version? |
//! | [`sizing`] | what hardware does a planned cluster need, and what may be expected of it? |
//! | `ask` | which commands are sent to monitors, manager and OSDs? |
//! | `answers` | what came back, and why not, if nothing did? |
//! | `facts` | what do the answers say about the cluster, its OSDs and its pools? |
//! | [`osd_bench`] | what does an OSD's own benchmark do, and when does the OSD refuse it? |
//! | [`latency`] | where did the time of a write go, by an OSD's own counters? |
//!
//! Releases differ in what they answer (Nautilus 14 to Tentacle 20 were considered). Unknown keys
//! are ignored and missing ones leave a fact unknown; nothing here fails because of a release.
//!
//! ```
//! use ceph::{Answers, ClusterFacts, Missing, Question};
//!
//! let mut answers = Answers::default();
//! answers.insert(Question::Status, Ok(br#"{"fsid": "3f1c"}"#.to_vec()));
//! answers.insert(Question::OsdMetadata, Err(Missing::from_errno(-13, "access denied")));
//! let facts = ClusterFacts::from_answers(&answers);
//! assert_eq!(facts.fsid.as_deref(), Some("3f1c"));
//! let reason = facts.not_known.iter().find(|missing| missing.question == "osd metadata");
//! assert_eq!(reason.unwrap().to_string(), "osd metadata: not permitted: access denied");
//! ```

mod answers;
mod ask;
mod facts;
pub mod latency;
mod lenient;
mod medium;
pub mod osd_bench;
pub mod release;
pub mod sizing;

pub use answers::{Answers, DocumentError, Missing, NotKnown};
pub use ask::{Question, Recipient};
pub use facts::{
    BlueFsUse, ClusterFacts, Device, Drive, FullRatios, Health, HealthCheck, MclockCapacity,
    OsdFacts, OsdSettings, PgStates, PoolFacts, PoolKind, Setting,
};
pub use medium::Medium;
