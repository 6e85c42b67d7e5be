//! Published measurements of drives, each with its source, embedded in the binary.
//!
//! A row contains exactly what was published. Nothing derived is stored: figures that follow from
//! others, such as [`Row::commit_us`], are methods. Repeated runs of a test stay separate rows,
//! because their spread is a figure, too.
//!
//! | module | content |
//! | --- | --- |
//! | `drive` | drives: [`Drive`], [`Class`], [`Array`], [`PowerLossProtection`] |
//! | `table` | published tables: [`Table`] |
//! | `row` | published tests: [`Row`] |
//! | `file` | the TOML format of a drive, one file each under `drives/` |
//! | `written` | writes that format |
//! | `own` | drives that users added, beside the embedded ones |
//! | [`model`] | the parameters of a modelled drive |
//! | [`mod@models`] | the built-in models, one file each under `models/` |
//! | `adjustments` | the changes of class models for drives with few published rows |
//! | `names` | finding a drive or model by name, with suggestions for unknown names |
//!
//! To add a drive, write `drives/NAME.toml` in the style of the others and name it in the list in
//! `src/file.rs`; a test compares the list with the folder.
//!
//! ```
//! let drive = catalogue::find("samsung-980-1tb")?;
//! let commits: Vec<f64> = drive.rows().filter_map(|(_, row)| row.commit_us()).collect();
//! assert_eq!(commits, [1e6 / 574.0]);
//! # Ok::<(), catalogue::NoSuchDrive>(())
//! ```

mod adjustments;
mod drive;
mod embedded;
mod file;
pub mod model;
pub mod models;
mod names;
mod own;
mod row;
mod table;
mod written;

pub use adjustments::{Adjustment, adjustment};
pub use drive::{Array, ArrayLevel, Class, Controller, Drive, PowerLossProtection};
pub use file::{BadDriveFile, drives, parse};
pub use model::Model;
pub use models::models;
pub use names::{NoSuchDrive, NoSuchModel, find, find_model, reported_as, search};
pub use own::{Listed, NotOwn, Origin, OwnDrives};
pub use row::{Part, PublishedSync, Quantity, Row, Statistic, WriteCache};
pub use table::{PublishedFilesystem, Table, Tool};
pub use written::to_toml;
