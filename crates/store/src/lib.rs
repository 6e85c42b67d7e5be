//! Stores every run: in SQLite by default, in PostgreSQL where many hosts write.
//!
//! A run begins before its first test, each test is appended when it is done, and the run is
//! finished with its findings. A run that was killed leaves what it had measured. The whole
//! document is returned unchanged, histograms included; the columns beside it serve lists and
//! filters. Each call is one transaction, and is on disk when it returns.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `location` | the place of a store: a file, or a PostgreSQL database |
//! | `store` | the store: begin, append, finish, insert, get, tag, note, delete, copy |
//! | `list` | filters, and the list of runs, newest first |
//! | [`list_document`] | the list as JSON, and its schema |
//! | `figures` | the figures of many runs at once |
//! | `history` | the last run, and earlier runs of the same kind |
//! | `run` | what a store records of a run besides its document |
//! | `error` | errors, one sentence each |
//! | `identity` | whether a document is already stored, completely or in part |
//! | `writing`, `reading` | the rows of a run |
//! | `packing` | documents as compressed JSON |
//! | [`process`] | the process that measures a run, and whether it is alive |
//! | `engine` | the few operations that the store needs from a database |
//! | `sqlite`, `postgres` | the two implementations |
//! | `migrations` | the schema, version by version |
//!
//! The host's name is a column of the store and not part of a document, so documents can be shared.

mod engine;
mod error;
mod figures;
mod history;
mod identity;
mod list;
pub mod list_document;
mod location;
mod migrations;
mod packing;
mod postgres;
pub mod process;
mod reading;
mod run;
mod sqlite;
mod store;
mod unwritable;
mod writing;

pub use error::{Problem, StoreError};
pub use figures::{Figures, RunFigures, Which};
pub use history::HostScope;
pub use list::Filter;
pub use list_document::ListDocument;
pub use location::{InvalidLocation, Location};
pub use run::{
    DriveName, End, Headline, NotARunId, NotATag, Origin, RunId, State, StoredRun, Summary, Tag,
};
pub use store::{Copied, Inserted, LOCK_WAIT, Store};
pub use unwritable::Unwritable;
