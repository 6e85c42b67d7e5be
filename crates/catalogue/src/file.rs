//! The TOML format of a published drive.
//!
//! Each drive has a file, `drives/NAME.toml`:
//!
//! | key | meaning |
//! | --- | --- |
//! | `drive` | the name that commands accept, equal to the name of the file |
//! | `label` | the name shown to users |
//! | `class` | `enterprise-nvme`, `enterprise-sata`, `consumer-nvme`, `consumer-sata`, `cloud-local`, `cloud-volume`, `disk`, `usb-stick` |
//! | `source`, `source_url` | who measured and published, and the address |
//! | `power_loss_protection` | `yes`, `no` or `unknown` |
//! | `power_loss_protection_source` | the source of that claim; left out exactly when `unknown` |
//! | `[[table]]` | a table of the source: its name is in `workload`, its tests are in `rows` |
//!
//! A row is one line, without the figures that were not published:
//!
//! | key | meaning |
//! | --- | --- |
//! | `pattern`, `block`, `depth`, `jobs` | as in plans: `"randwrite"`, `"4 KiB"`, `1`, `1` |
//! | `sync` | a sync method as in plans, or `flush`: a FLUSH CACHE after each write |
//! | `sync_every` | one sync after this many writes; left out exactly when `sync` is `none` |
//! | `write_cache` | `on`, `off` or `default` |
//! | `iops`, `mib_per_s`, `write_us`, `sync_us` | the figures; at least one |

use std::sync::LazyLock;

use serde::Deserialize;
use workload::{ByteSize, Pattern};

use crate::drive::{Class, Drive, PowerLossProtection};
use crate::embedded::{self, embedded_files};
use crate::row::{PublishedSync, Row, WriteCache};

/// The name and the text of every file in `drives/`.
const FILES: &[(&str, &str)] = embedded_files!["drives":
    "crucial-t500-2tb-ext4",
    "gcp-hyperdisk-balanced-1tb-ext4",
    "gcp-local-nvme-x2-raid0-ext4",
    "intel-710-sata",
    "kioxia-cd6-3840gb",
    "micron-5100-eco-960gb",
    "samsung-950-pro-nvme",
    "samsung-980-1tb",
    "samsung-990-pro-ext4",
    "samsung-pm9a3-ext4",
    "seagate-nytro-1351-3840gb",
];

static DRIVES: LazyLock<Vec<Drive>> = LazyLock::new(|| embedded::parsed(FILES, parse));

/// All drives of the catalogue, sorted by name.
pub fn drives() -> &'static [Drive] {
    &DRIVES
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DriveFile {
    drive: String,
    label: String,
    class: Class,
    source: String,
    source_url: String,
    power_loss_protection: PowerLossProtection,
    power_loss_protection_source: Option<String>,
    table: Vec<TableFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    workload: String,
    rows: Vec<RowFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowFile {
    pattern: String,
    block: String,
    depth: u32,
    jobs: u32,
    sync: String,
    sync_every: Option<u32>,
    write_cache: WriteCache,
    iops: Option<f64>,
    mib_per_s: Option<f64>,
    write_us: Option<f64>,
    sync_us: Option<f64>,
}

/// Why a drive's file is invalid.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BadDriveFile {
    /// Not TOML, an unknown or missing key, or a value of the wrong type.
    #[error("{0}")]
    Form(#[from] toml::de::Error),
    /// A row with a wrong value, or with values that contradict each other.
    #[error("row {row} of table `{table}`: {what}")]
    Row {
        table: String,
        /// Number of the row, from 1.
        row: usize,
        /// The problem, as a phrase.
        what: String,
    },
    #[error(
        "power_loss_protection is `{0}`: `yes` and `no` need a power_loss_protection_source, \
         `unknown` must have none"
    )]
    UnsourcedClaim(&'static str),
}

/// Parses a drive's file.
pub fn parse(text: &str) -> Result<Drive, BadDriveFile> {
    let file: DriveFile = toml::from_str(text)?;
    let known = file.power_loss_protection != PowerLossProtection::Unknown;
    if known != file.power_loss_protection_source.is_some() {
        return Err(BadDriveFile::UnsourcedClaim(file.power_loss_protection.label()));
    }
    let mut rows = Vec::new();
    for table in file.table {
        for (index, row) in table.rows.into_iter().enumerate() {
            let row = row.read(&table.workload).map_err(|what| BadDriveFile::Row {
                table: table.workload.clone(),
                row: index + 1,
                what,
            })?;
            rows.push(row);
        }
    }
    Ok(Drive {
        name: file.drive,
        label: file.label,
        class: file.class,
        power_loss_protection: file.power_loss_protection,
        power_loss_protection_source: file.power_loss_protection_source,
        source: file.source,
        source_url: file.source_url,
        rows,
    })
}

impl RowFile {
    fn read(self, workload: &str) -> Result<Row, String> {
        let pattern = Pattern::from_name(&self.pattern)
            .ok_or(format!("unknown pattern `{}`", self.pattern))?;
        let ByteSize(block_bytes) = self.block.parse().map_err(|error| format!("{error}"))?;
        let sync = PublishedSync::from_name(&self.sync)
            .ok_or(format!("unknown sync method `{}`", self.sync))?;
        if sync.is_durable() != self.sync_every.is_some() {
            return Err(format!("sync `{}` and sync_every contradict each other", self.sync));
        }
        let figures = [self.iops, self.mib_per_s, self.write_us, self.sync_us];
        if figures.iter().all(Option::is_none) {
            return Err("it has no figures".to_owned());
        }
        if let Some(figure) =
            figures.iter().flatten().find(|figure| !(**figure > 0.0 && figure.is_finite()))
        {
            return Err(format!("invalid figure {figure}"));
        }
        if block_bytes == 0 || self.depth == 0 || self.jobs == 0 || self.sync_every == Some(0) {
            return Err("block, depth, jobs and sync_every must be at least 1".to_owned());
        }
        Ok(Row {
            workload: workload.to_owned(),
            pattern,
            block_bytes,
            depth: self.depth,
            jobs: self.jobs,
            sync,
            sync_every: self.sync_every,
            write_cache: self.write_cache,
            iops: self.iops,
            mib_per_s: self.mib_per_s,
            write_us: self.write_us,
            sync_us: self.sync_us,
        })
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
