//! Arguments of `flushmark ceph`.

use std::path::PathBuf;
use std::time::Duration;

use ceph::release::Version;
use ceph::sizing::{Capacity, ErasureCode, Workload};
use clap::{ArgGroup, Parser, Subcommand, ValueEnum};

use super::store::{KeepArgs, StoreArgs};
use super::{CommonArgs, DeliveryArgs, Format, parse_time};

/// Examine and measure a Ceph cluster, or size a planned one
#[derive(Debug, Parser)]
pub struct CephArgs {
    #[command(subcommand)]
    pub command: CephCommand,
}

#[derive(Debug, Subcommand)]
pub enum CephCommand {
    Check(CheckArgs),
    Sizing(SizingArgs),
    Layout(LayoutArgs),
    Osds(OsdsArgs),
    TellBench(TellBenchArgs),
    Bench(BenchArgs),
}

/// How to reach the cluster; as for Ceph's own tools
#[derive(Debug, clap::Args)]
pub struct AccessArgs {
    /// The user, without `client.` [default: admin]
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    pub id: Option<String>,

    /// The configuration file [default: $CEPH_CONF, else Ceph's own places]
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub conf: Option<PathBuf>,

    /// The file with the user's key
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub keyring: Option<PathBuf>,

    /// The cluster's name, from which the names of these files follow [default: ceph]
    #[arg(long, value_name = "NAME", help_heading = "Cluster")]
    pub cluster: Option<String>,
}

/// Where OSDs are measured
#[derive(Debug, clap::Args)]
pub struct PlaceArgs {
    /// The pool in which the objects are created
    #[arg(long, value_name = "POOL")]
    pub pool: Option<String>,

    /// Create the pool flushmark-bench with a single replica, and delete it at the end; the commands
    /// are shown and asked for first
    #[arg(long, conflicts_with = "pool")]
    pub make_pool: bool,

    /// Do not ask
    #[arg(long, requires = "make_pool")]
    pub yes: bool,
}

impl PlaceArgs {
    pub const fn is_absent(&self) -> bool {
        self.pool.is_none() && !self.make_pool
    }
}

/// What the cluster consists of, and what is wrong with its layout
///
/// Only reads. Shows OSDs with their drives, block.db, memory and shards; pools; the settings that
/// determine commit latency; and findings with what to do.
#[derive(Debug, Parser)]
pub struct LayoutArgs {
    #[command(flatten)]
    pub access: AccessArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Whether a cluster is well, what a commit costs on it, and which OSDs are slow
///
/// Without --pool or --make-pool nothing is measured. With one of them, each OSD is measured for a
/// few seconds; the whole takes less than two minutes.
#[derive(Debug, Parser)]
pub struct CheckArgs {
    #[command(flatten)]
    pub place: PlaceArgs,

    #[command(flatten)]
    pub access: AccessArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Show no progress on stderr
    #[arg(long, short)]
    pub quiet: bool,

    #[command(flatten)]
    pub keep: KeepArgs,
}

/// Which OSDs; all that are up by default
#[derive(Debug, clap::Args)]
pub struct OsdChoice {
    /// Only these OSDs
    #[arg(long = "osd", value_name = "ID", value_delimiter = ',')]
    pub osds: Vec<u32>,

    /// Only OSDs on this host
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,

    /// Only OSDs of this device class, such as ssd
    #[arg(long, value_name = "CLASS")]
    pub class: Option<String>,
}

/// Run the OSDs' own benchmark, and show how far it is from what a commit costs
///
/// `ceph tell osd.N bench`, in both forms: 3,000 blocks of 4 KiB over parts of 100 objects, and
/// 1 GiB in blocks of 4 MiB, each a new object. The OSD removes them. OSDs are benchmarked one
/// after the other, and serve their clients slowly meanwhile; the commands are shown and asked for
/// first.
#[derive(Debug, Parser)]
pub struct TellBenchArgs {
    #[command(flatten)]
    pub choice: OsdChoice,

    /// Do not ask
    #[arg(long)]
    pub yes: bool,

    /// Show the figures at depth 1 of this result of `flushmark ceph osds`: a kept run (12, last,
    /// last~1) or a file [default: the newest kept one of this cluster]
    #[arg(long, value_name = "RESULT")]
    pub compare: Option<String>,

    #[command(flatten)]
    pub access: AccessArgs,

    #[command(flatten)]
    pub store: StoreArgs,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// What one client gets from a pool, or from an image with and without librbd's cache
///
/// Runs a suite as `flushmark run` does, with the same rules: objects are created and removed, an
/// image is overwritten only with --destroy-data and never while another client has it open.
#[derive(Debug, Parser)]
#[command(
    group(ArgGroup::new("storage").args(["pool", "image"]).required(true)),
    after_help = "\
Examples:
  flushmark ceph bench --pool rbd
  flushmark ceph bench --image rbd/test --destroy-data
  flushmark ceph bench journal --image rbd/test --cache off --time 30s --destroy-data"
)]
pub struct BenchArgs {
    /// A suite (see `flushmark suites`), a plan (TOML) or a fio job file
    #[arg(value_name = "SUITE", default_value = "ceph-disk")]
    pub plan: String,

    /// Measure objects in this pool
    #[arg(long, value_name = "POOL")]
    pub pool: Option<String>,

    /// Measure this image
    #[arg(long, value_name = "POOL/IMAGE")]
    pub image: Option<String>,

    /// Measure the image with librbd's cache off, on, or first off and then on, and compare
    #[arg(long, value_enum, default_value_t = CacheChoice::Both, conflicts_with = "pool")]
    pub cache: CacheChoice,

    /// Do not write the image once beforehand; the first write to each of its objects then creates
    /// the object
    #[arg(long, conflicts_with = "pool")]
    pub no_fill: bool,

    /// Run every timed test for this long, such as 30s or 4h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,

    /// Run the whole suite in seconds to show that everything works; the numbers are meaningless
    /// and are not kept
    #[arg(long, conflicts_with = "store")]
    pub smoke: bool,

    #[command(flatten)]
    pub access: AccessArgs,

    #[command(flatten)]
    pub common: CommonArgs,

    #[command(flatten)]
    pub keep: KeepArgs,
}

/// The states of librbd's cache to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CacheChoice {
    /// Each write waits for the cluster
    Off,
    /// Writes are acknowledged from this machine's memory, and only a flush makes them durable
    On,
    Both,
}

/// What a commit costs on each OSD by itself, which ones are slow, and where the time goes
///
/// Creates 16 objects of 4 MiB on each OSD, in a separate namespace, and removes them at the end.
/// In a pool with copies, the latency includes those on other OSDs.
#[derive(Debug, Parser)]
#[command(group(ArgGroup::new("where").args(["pool", "make_pool"]).required(true)))]
pub struct OsdsArgs {
    #[command(flatten)]
    pub place: PlaceArgs,

    #[command(flatten)]
    pub choice: OsdChoice,

    /// Measure all OSDs at the same time
    #[arg(long)]
    pub parallel: bool,

    /// Also write at this depth (2 to 1024)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1024))]
    pub depth: Option<u32>,

    /// Time of each test
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time)]
    pub time: Duration,

    #[command(flatten)]
    pub access: AccessArgs,

    #[command(flatten)]
    pub delivery: DeliveryArgs,

    #[command(flatten)]
    pub keep: KeepArgs,
}

/// What to provide for a planned cluster, and the latency and rate to expect of it
///
/// Contacts no cluster. Each rule comes with its source and the releases that it holds for.
#[derive(Debug, Parser)]
#[command(
    group(ArgGroup::new("medium").args(["hdd", "ssd"]).required(true)),
    after_help = "\
Examples:
  flushmark ceph sizing --osds 24 --hosts 4 --hdd 16TB --workload rbd
  flushmark ceph sizing --osds 24 --hdd 16TB --workload rgw --release 14.2.11 --db-size 60GB
  flushmark ceph sizing --osds 48 --hdd 16TB --workload rbd --db-device 1.92TB --osds-per-db 6
  flushmark ceph sizing --osds 12 --ssd 3.84TB --workload rbd --drive micron-5100-eco-960gb

Sizes are in powers of 1000, as on a drive's label (16TB), or of 1024 (56GiB)."
)]
pub struct SizingArgs {
    /// Number of OSDs
    #[arg(long, value_name = "N")]
    pub osds: u32,

    /// The OSDs are on disks of this size
    #[arg(long, value_name = "SIZE")]
    pub hdd: Option<Capacity>,

    /// The OSDs are on flash drives of this size
    #[arg(long, value_name = "SIZE")]
    pub ssd: Option<Capacity>,

    /// What clients use
    #[arg(long, value_enum)]
    pub workload: WorkloadArg,

    /// Ceph's release: a name, a number or a version, such as squid, 19 or 19.2.1 [default:
    /// the newest one that is known]
    #[arg(long, value_name = "RELEASE")]
    pub release: Option<Version>,

    /// Number of hosts, for figures per host
    #[arg(long, value_name = "N")]
    pub hosts: Option<u32>,

    /// Copies of each object
    #[arg(long, value_name = "N", default_value_t = 3, conflicts_with = "ec")]
    pub replicas: u32,

    /// Erasure code instead of copies: data chunks + coding chunks
    #[arg(long, value_name = "K+M")]
    pub ec: Option<ErasureCode>,

    /// Examine a block.db of this size
    #[arg(long, value_name = "SIZE", conflicts_with = "ssd")]
    pub db_size: Option<Capacity>,

    /// Size of the flash drive that several OSDs share for block.db
    #[arg(long, value_name = "SIZE", conflicts_with = "ssd")]
    pub db_device: Option<Capacity>,

    /// OSDs that share a flash drive [default: as many as fit]
    #[arg(long, value_name = "N", conflicts_with = "ssd")]
    pub osds_per_db: Option<u32>,

    /// The flash drive that OSDs commit to: a modelled drive (see `flushmark models`) or one of
    /// `flushmark catalogue`, also with settings such as `,write-cache=off` [default: one with and
    /// one without power-loss protection]
    #[arg(long, value_name = "NAME", conflicts_with = "commit_us")]
    pub drive: Option<String>,

    /// A commit of that flash drive in microseconds, such as the mean of `write + fdatasync` in
    /// `flushmark check`
    #[arg(long, value_name = "MICROSECONDS")]
    pub commit_us: Option<f64>,

    /// Round trip between hosts in microseconds
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 50.0)]
    pub rtt_us: f64,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WorkloadArg {
    /// Block devices
    Rbd,
    /// Object storage
    Rgw,
    /// Both, or CephFS
    Mixed,
}

impl From<WorkloadArg> for Workload {
    fn from(workload: WorkloadArg) -> Workload {
        match workload {
            WorkloadArg::Rbd => Workload::Rbd,
            WorkloadArg::Rgw => Workload::Rgw,
            WorkloadArg::Mixed => Workload::Mixed,
        }
    }
}
