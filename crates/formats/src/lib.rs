//! What other tools write and read. Pure functions between text and [`RunDocument`](measurement::RunDocument)s; the binary opens the files.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`import`](mod@import) | which tool wrote a text, and what came out of it |
//! | [`encoding`] | a file's bytes as text |
//! | [`error`] | why a text could not be read |
//! | [`origin`] | the tools whose output is read |
//! | [`fio`] | fio: its JSON and JSON+ in both directions, its text for people as input |
//! | [`diskinfo`] | FreeBSD's `diskinfo -S`, as input |
//! | [`pg_test_fsync`] | PostgreSQL's `pg_test_fsync`, as input |
//! | `told` | what a foreign tool tells of one test, and the result that it makes |
//! | `pasted` | text that came through a forum or a mail |
//! | [`columns`] | the columns that tables of results have |
//! | [`csv`], [`parquet`] | those columns as a spreadsheet's file and a query engine's |
//! | [`openmetrics`] | a run as metrics, for Prometheus |
//!
//! Nothing is made up on the way in: what a tool does not tell stays `null`, what had to be assumed is a note of the result, and a text that was cut short is
//! refused as a whole.

pub mod columns;
pub mod csv;
pub mod diskinfo;
pub mod encoding;
pub mod error;
pub mod fio;
pub mod import;
pub mod openmetrics;
pub mod origin;
pub mod parquet;
mod pasted;
pub mod pg_test_fsync;
mod told;

pub use encoding::decoded;
pub use error::ImportError;
pub use import::{Imported, import};
pub use origin::Origin;
