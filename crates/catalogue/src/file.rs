//! The TOML format of a published drive.
//!
//! Each drive has a file, `drives/NAME.toml`:
//!
//! | key | meaning |
//! | --- | --- |
//! | `drive` | the name that commands accept, equal to the name of the file |
//! | `aliases` | other names that commands accept; left out if there are none |
//! | `label` | the name shown to users |
//! | `vendor`, `model`, `capacity_gb` | as published; of one drive of an array |
//! | `class` | `enterprise-nvme`, `enterprise-pcie`, `enterprise-sas`, `enterprise-sata`, `consumer-nvme`, `consumer-pcie`, `consumer-sata`, `cloud-local`, `cloud-volume`, `disk`, `usb-stick` |
//! | `array` | `{ level = "raid1", members = 2, controller = "software" }`; left out for one drive |
//! | `power_loss_protection` | `yes`, `no`, `claimed` or `unknown` |
//! | `power_loss_protection_source` | the source of that claim; left out exactly when `unknown` |
//! | `power_loss_protection_against` | the measurement against it; only with `claimed` |
//! | `[[table]]` | tests of one source that were made by one method |
//!
//! A table has these keys; those that the source does not state are left out:
//!
//! | key | meaning |
//! | --- | --- |
//! | `workload` | the source's name for the test or table; required |
//! | `source`, `source_url` | the title and address of the publication; required |
//! | `year`, `os` | when, and on which operating system |
//! | `tool` | `fio`, `diskinfo`, `pg_test_fsync`, `fsync.py`, `hdd-speed-test`, `fsyncperf` or `flushmark`; required |
//! | `filesystem` | `none` (a block device), `ext4`, `xfs`, `btrfs`, `zfs`, `ntfs` or `unknown` (files); required |
//! | `calls` | `blocking` or `asynchronous` |
//! | `direct` | `true` if the page cache was bypassed |
//! | `file_size` | the size of each job's file |
//! | `seconds` | the duration of each test |
//! | `note` | anything else about the method |
//! | `doubt` | why the figures may be wrong |
//! | `held_out` | `true` if models are not fitted to these tests, which check them instead |
//! | `rows` | the tests |
//!
//! A row is one line, without the figures that were not published:
//!
//! | key | meaning |
//! | --- | --- |
//! | `pattern` | as in plans, such as `"randwrite"`; left out if the source does not state it |
//! | `block`, `depth`, `jobs` | as in plans: `"4 KiB"`, `1`, `1` |
//! | `sync` | a sync method as in plans, or `flush`: a FLUSH CACHE after each write |
//! | `sync_every` | one sync after this many writes; left out exactly when `sync` is `none` |
//! | `write_cache` | `on`, `off`, `default` (as shipped) or `unknown` |
//! | `iops`, `mib_per_s` | the rates |
//! | `write_us`, `write_p50_us`, `write_p99_us` | the write's latency: mean, median, 99th percentile |
//! | `sync_us`, `sync_p50_us`, `sync_p99_us` | the latency of the sync call after it |
//! | `io_us`, `io_p99_us` | the latency of a write together with its sync |
//!
//! At least one figure is required.

use std::sync::LazyLock;

use serde::Deserialize;
use workload::{ByteSize, Pattern, Submission};

use crate::drive::{Array, Class, Drive, PowerLossProtection};
use crate::embedded::{self, embedded_files};
use crate::row::{Part, PublishedSync, Quantity, Row, WriteCache};
use crate::table::{PublishedFilesystem, Table, Tool};

/// The name and the text of every file in `drives/`.
const FILES: &[(&str, &str)] = embedded_files!["drives":
    "adata-legend-960-2tb",
    "adata-sp900",
    "adata-sp900-120gb",
    "adata-sp920",
    "aliyun-ecs-i3-2xlarge-local-ssd",
    "aliyun-ecs-i4p-16xlarge-local-ssd",
    "aliyun-ecs-i4p-2xlarge-local-ssd",
    "apacer-as340-480gb",
    "corsair-mp600-2tb",
    "corsair-mp600-500gb",
    "crucial-m550",
    "crucial-mx200",
    "crucial-t500-2tb",
    "dell-xs1715-400gb",
    "fusion-io-iodrive2-410gb",
    "gcp-hyperdisk-balanced-1tb",
    "gcp-local-nvme-x2-raid0",
    "hgst-ssd1600mm-800gb",
    "hpe-mk000480gwcev-480gb-x2-raid1",
    "intel-510",
    "intel-520",
    "intel-520-180gb",
    "intel-520-60gb",
    "intel-535-240gb",
    "intel-545-512gb",
    "intel-710-sata",
    "intel-750-400gb",
    "intel-d7-p5510-7600gb",
    "intel-dc-p3520-450gb-x2-raid1",
    "intel-dc-p3600-800gb",
    "intel-dc-p3700",
    "intel-dc-p3700-1600gb",
    "intel-dc-p3700-400gb",
    "intel-dc-p4510-2tb",
    "intel-dc-p4600-2tb",
    "intel-dc-s3500",
    "intel-dc-s3500-1600gb",
    "intel-dc-s3610-1600gb",
    "intel-dc-s3700-100gb",
    "intel-dc-s3700-200gb",
    "intel-dc-s3700-400gb",
    "intel-dc-s3710-200gb",
    "intel-dc-s4510-480gb",
    "intel-optane-900p-480gb",
    "intel-optane-dc-p4800x-375gb",
    "intel-optane-m10-16gb",
    "kingston-dc600m-960gb-x2-raid1",
    "kingston-dc600m-960gb-x4-raid10",
    "kingston-kc3000-1tb-x4-raid10",
    "kingston-kc3000-2tb-x2-raid1",
    "kingston-kc3000-512gb",
    "kingston-sedc1500m-7680gb-x2-raid1",
    "kingston-sedc600-960gb-x2-raid1",
    "kingston-v300-120gb",
    "kingston-v300-60gb",
    "kioxia-cd6-3840gb",
    "lense20512gmsp34meat2ta-512gb",
    "liteon-ece-200-200gb",
    "micron-1100-256gb-x2-raid1",
    "micron-5100-eco-960gb",
    "micron-m500dc-480gb",
    "micron-p400e-400gb",
    "netlist-ev3-16gb",
    "plextor-m6e-120gb",
    "plextor-px-0128m5s-128gb",
    "plextor-px-128m5",
    "pliant-lb206s-200gb",
    "samsung-840-evo-250gb",
    "samsung-850-evo-250gb",
    "samsung-850-pro-128gb",
    "samsung-850-pro-256gb",
    "samsung-850-pro-512gb",
    "samsung-860-evo-1tb",
    "samsung-860-evo-2tb-x4-raid10",
    "samsung-860-pro-512gb",
    "samsung-950-pro-512gb",
    "samsung-950-pro-nvme",
    "samsung-970-evo-1tb",
    "samsung-970-evo-plus-2tb",
    "samsung-970-pro-512gb",
    "samsung-980-1tb",
    "samsung-983-dct-960gb",
    "samsung-990-pro-2tb",
    "samsung-990-pro-2tb-x2-raid1",
    "samsung-mzilt3t8hbls-3840gb",
    "samsung-mzqlw960hmjp-960gb",
    "samsung-mzvlb512hajq-512gb",
    "samsung-mzvlq512halu-512gb",
    "samsung-pm1643a-960gb",
    "samsung-pm863",
    "samsung-pm863-1920gb",
    "samsung-pm863-240gb",
    "samsung-pm863a-240gb",
    "samsung-pm961-128gb",
    "samsung-pm983-kingston-dc1500m-960gb-raid1",
    "samsung-pm983a-960gb",
    "samsung-pm9a1-512gb-x2-raid1",
    "samsung-pm9a3-960gb",
    "samsung-sm863-240gb",
    "samsung-xp941-256gb",
    "sandisk-cloudspeed-ii-eco-960gb",
    "sandisk-extreme-pro-960gb",
    "sandisk-lightning-ii-400gb",
    "sandisk-sx300-1300gb",
    "sandisk-ultra-ii-120gb",
    "sandisk-ultra-ii-240gb",
    "sandisk-ultra-ii-960gb",
    "sandisk-ultra-plus-256gb",
    "seagate-nytro-1351-3840gb",
    "sk-hynix-gold-p31-500gb",
    "sk-hynix-hfs960gd0mee-960gb",
    "t-force-tm8fpl500g-500gb",
    "team-t253480gb-480gb",
    "team-t253x2512g-512gb",
    "tesla-2tb",
    "toshiba-ocz-vt180-960gb",
    "transcend-220s-1tb",
    "wd-blue-wds100t2b0a-1tb",
    "wd-wd2002fyps-2tb",
    "wd-wd2002fyps-2tb-x4-raid5",
    "wd-wd2502abys",
    "wd-wd40ezrx-4tb-x2-raid1",
    "xpg-gammix-s70-blade-2tb",
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
    #[serde(default)]
    aliases: Vec<String>,
    label: String,
    vendor: Option<String>,
    model: Option<String>,
    capacity_gb: Option<u32>,
    class: Class,
    array: Option<Array>,
    power_loss_protection: Claim,
    power_loss_protection_source: Option<String>,
    power_loss_protection_against: Option<String>,
    table: Vec<TableFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Claim {
    Yes,
    No,
    Claimed,
    Unknown,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    workload: String,
    source: String,
    source_url: String,
    year: Option<u16>,
    os: Option<String>,
    tool: Tool,
    filesystem: PublishedFilesystem,
    calls: Option<Submission>,
    direct: Option<bool>,
    file_size: Option<String>,
    seconds: Option<u32>,
    note: Option<String>,
    doubt: Option<String>,
    #[serde(default)]
    held_out: bool,
    rows: Vec<RowFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowFile {
    pattern: Option<String>,
    block: String,
    depth: u32,
    jobs: u32,
    sync: String,
    sync_every: Option<u32>,
    write_cache: WriteCache,
    iops: Option<f64>,
    mib_per_s: Option<f64>,
    write_us: Option<f64>,
    write_p50_us: Option<f64>,
    write_p99_us: Option<f64>,
    sync_us: Option<f64>,
    sync_p50_us: Option<f64>,
    sync_p99_us: Option<f64>,
    io_us: Option<f64>,
    io_p99_us: Option<f64>,
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
    #[error("table `{table}`: {what}")]
    Table {
        table: String,
        /// The problem, as a phrase.
        what: String,
    },
    #[error(
        "power_loss_protection: `yes` and `no` need a power_loss_protection_source, `claimed` also \
         a power_loss_protection_against, `unknown` must have neither"
    )]
    UnsourcedClaim,
    #[error("{} cannot consist of {} drives", .0.level.label(), .0.members)]
    ImpossibleArray(Array),
}

/// Parses a drive's file.
pub fn parse(text: &str) -> Result<Drive, BadDriveFile> {
    let file: DriveFile = toml::from_str(text)?;
    let claim = (
        file.power_loss_protection,
        file.power_loss_protection_source,
        file.power_loss_protection_against,
    );
    let power_loss_protection = match claim {
        (Claim::Yes, Some(source), None) => PowerLossProtection::Yes { source },
        (Claim::No, Some(source), None) => PowerLossProtection::No { source },
        (Claim::Claimed, Some(source), Some(against)) => {
            PowerLossProtection::Claimed { source, against }
        }
        (Claim::Unknown, None, None) => PowerLossProtection::Unknown,
        _ => return Err(BadDriveFile::UnsourcedClaim),
    };
    if let Some(array) = file.array.filter(|array| !array.is_possible()) {
        return Err(BadDriveFile::ImpossibleArray(array));
    }
    Ok(Drive {
        name: file.drive,
        aliases: file.aliases,
        label: file.label,
        vendor: file.vendor,
        model: file.model,
        capacity_gb: file.capacity_gb,
        class: file.class,
        array: file.array,
        power_loss_protection,
        tables: file.table.into_iter().map(TableFile::read).collect::<Result<_, _>>()?,
    })
}

impl TableFile {
    fn read(self) -> Result<Table, BadDriveFile> {
        let file_bytes = self.file_size.map(|size| match size.parse() {
            Ok(ByteSize(0)) => Err("file_size must be at least 1 B".to_owned()),
            Ok(ByteSize(bytes)) => Ok(bytes),
            Err(error) => Err(format!("file_size: {error}")),
        });
        let file_bytes = file_bytes
            .transpose()
            .map_err(|what| BadDriveFile::Table { table: self.workload.clone(), what })?;
        let mut rows = Vec::new();
        for (index, row) in self.rows.into_iter().enumerate() {
            let row = row.read().map_err(|what| BadDriveFile::Row {
                table: self.workload.clone(),
                row: index + 1,
                what,
            })?;
            rows.push(row);
        }
        if rows.is_empty() {
            let what = "it has no rows".to_owned();
            return Err(BadDriveFile::Table { table: self.workload, what });
        }
        Ok(Table {
            workload: self.workload,
            source: self.source,
            source_url: self.source_url,
            year: self.year,
            os: self.os,
            tool: self.tool,
            filesystem: self.filesystem,
            calls: self.calls,
            direct: self.direct,
            file_bytes,
            seconds: self.seconds,
            note: self.note,
            doubt: self.doubt,
            held_out: self.held_out,
            rows,
        })
    }
}

impl RowFile {
    fn read(self) -> Result<Row, String> {
        let pattern = match self.pattern {
            None => None,
            Some(name) => {
                Some(Pattern::from_name(&name).ok_or(format!("unknown pattern `{name}`"))?)
            }
        };
        let ByteSize(block_bytes) = self.block.parse().map_err(|error| format!("{error}"))?;
        let sync = PublishedSync::from_name(&self.sync)
            .ok_or(format!("unknown sync method `{}`", self.sync))?;
        if sync.is_durable() != self.sync_every.is_some() {
            return Err(format!("sync `{}` and sync_every contradict each other", self.sync));
        }
        if block_bytes == 0 || self.depth == 0 || self.jobs == 0 || self.sync_every == Some(0) {
            return Err("block, depth, jobs and sync_every must be at least 1".to_owned());
        }
        let row = Row {
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
            write_p50_us: self.write_p50_us,
            write_p99_us: self.write_p99_us,
            sync_us: self.sync_us,
            sync_p50_us: self.sync_p50_us,
            sync_p99_us: self.sync_p99_us,
            io_us: self.io_us,
            io_p99_us: self.io_p99_us,
        };
        if row.figures().next().is_none() {
            return Err("it has no figures".to_owned());
        }
        let is_valid = |figure: f64| figure > 0.0 && figure.is_finite();
        if let Some((_, figure)) = row.figures().find(|(_, figure)| !is_valid(*figure)) {
            return Err(format!("invalid figure {figure}"));
        }
        let sync_latency =
            row.figures().any(|(quantity, _)| matches!(quantity, Quantity::Latency(Part::Sync, _)));
        if sync_latency && !sync.is_durable() {
            return Err("it has the latency of a sync but no sync".to_owned());
        }
        Ok(row)
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
