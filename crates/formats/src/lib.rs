//! Import and export of other tools' formats. Pure functions between text and
//! [`RunDocument`](measurement::RunDocument)s; the binary opens the files.
//!
//! | module | content |
//! | --- | --- |
//! | `import` | detects the tool that wrote a text, and imports it |
//! | `encoding` | decodes a file into text |
//! | `error` | errors of importing |
//! | `origin` | the supported tools |
//! | [`fio`] | fio: JSON and JSON+ in both directions, normal text output as input |
//! | `diskinfo` | FreeBSD's `diskinfo -S`, as input |
//! | `pg_test_fsync` | PostgreSQL's `pg_test_fsync`, as input |
//! | `fsyncperf` | `fsyncperf` of github.com/lni, as input |
//! | `sysbench` | `sysbench fileio`, as input |
//! | `foreign` | a test as another tool reports it, and its conversion to a result |
//! | `pasted` | text copied from forums and mails |
//! | `markup` | tags and entities of web pages, the transfer encoding of mails |
//! | [`columns`] | the columns of result tables |
//! | [`csv`], [`parquet`] | those columns as CSV and Parquet |
//! | [`lake`] | Parquet files of many runs in directories that query engines read as one table |
//! | `run_key` | what identifies a run in tables |
//! | [`openmetrics`] | a run, or a watched machine, as metrics for Prometheus |
//! | [`grafana`] | a dashboard over these metrics |
//!
//! Imports invent nothing: what a tool does not report stays `null`, assumptions become notes of
//! the result, and a text that is cut short is rejected as a whole.

pub mod columns;
pub mod csv;
mod diskinfo;
mod encoding;
mod error;
pub mod fio;
mod foreign;
mod fsyncperf;
pub mod grafana;
mod import;
pub mod lake;
mod markup;
pub mod openmetrics;
mod origin;
pub mod parquet;
mod pasted;
mod pg_test_fsync;
mod run_key;
mod sysbench;

pub use encoding::decoded;
pub use error::ImportError;
pub use import::{Imported, import};
pub use origin::Origin;
pub use run_key::RunKey;
