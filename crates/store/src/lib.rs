//! Keeps every run: in SQLite by default, in PostgreSQL where many hosts write.
//!
//! A run is begun before its first test, each test is appended when it is done, and the run is finished with its findings: a run that was killed leaves
//! what it had measured. The whole document comes back equal, histograms included; beside it stand columns for what lists show and filters ask for.
//! Each call is one transaction, and is on disk when it returns.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`location`] | where a store is: a file, or a PostgreSQL database |
//! | [`mod@store`] | the store: begin, append, finish, insert, get, tag, note, delete, copy |
//! | [`list`] | which runs, newest first |
//! | [`list_document`] | the list as JSON, and its schema |
//! | [`history`] | which run is the last, and which of the same kind were before it |
//! | [`run`] | what a store says of a run |
//! | [`error`] | what can go wrong, one sentence each |
//! | `identity` | whether a document is there already, whole or its beginning |
//! | `writing`, `reading` | the rows of a run |
//! | `packing` | documents as compressed JSON |
//! | [`process`] | which process measures a run, and whether it still lives |
//! | `engine` | the few things that a database does for the store |
//! | `sqlite`, `postgres` | the two that do them |
//! | `migrations` | the schema, version by version |
//!
//! The host's name is a column of the store and no part of a document, so that a document can be shown around.

mod engine;
pub mod error;
pub mod history;
mod identity;
pub mod list;
pub mod list_document;
pub mod location;
mod migrations;
mod packing;
mod postgres;
pub mod process;
mod reading;
pub mod run;
mod sqlite;
pub mod store;
pub mod unwritable;
mod writing;

pub use error::{Problem, StoreError};
pub use history::Whose;
pub use list::Filter;
pub use list_document::ListDocument;
pub use location::{Location, NoLocation};
pub use run::{DriveName, End, Headline, Kept, NotARunId, NotATag, Origin, RunId, State, Summary, Tag};
pub use store::{Copied, Inserted, LOCK_WAIT, Store};
pub use unwritable::Unwritable;
