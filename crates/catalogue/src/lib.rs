//! Published measurements of drives, each with its source, embedded in the binary.
//!
//! A row says exactly what was published. Nothing derived is stored: figures that follow from others, such as
//! [`Row::commit_us`], are methods. Repeated runs of one test stay separate rows, because their spread is a figure, too.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`drive`] | the words: [`Drive`], [`Class`], [`PowerLossProtection`] |
//! | [`row`] | one published test: [`Row`] |
//! | [`mod@file`] | the TOML form of a drive, one file each under `drives/` |
//! | [`model`] | what a modelled drive is made of, as data |
//! | [`mod@models`] | the built-in ones, one file each under `models/` |
//! | [`names`] | finding a drive or model by its name, and what to offer when there is none |
//!
//! To add a drive, write `drives/NAME.toml` as its neighbours are written and name it in [`mod@file`]'s list; a test holds the
//! list to the folder.
//!
//! ```
//! let drive = catalogue::find("samsung-980-1tb")?;
//! let commits: Vec<f64> = drive.rows.iter().filter_map(catalogue::Row::commit_us).collect();
//! assert_eq!(commits, [1e6 / 574.0]);
//! # Ok::<(), catalogue::NoSuchDrive>(())
//! ```

pub mod drive;
pub mod file;
pub mod model;
pub mod models;
pub mod names;
pub mod row;

pub use drive::{Class, Drive, PowerLossProtection};
pub use file::drives;
pub use model::Model;
pub use models::models;
pub use names::{NoSuchDrive, NoSuchModel, find, find_model};
pub use row::{PublishedSync, Row, WriteCache};
