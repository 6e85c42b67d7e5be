//! Arguments of `flushmark emulate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use emulate::{Address, CutAfter, Lie, Order};

use super::{Format, parse_time};

/// Serve a modelled drive over NBD, FUSE or a block device
///
/// The drive has the model's latency and cache, and loses power on demand.
#[derive(Debug, Parser)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  flushmark emulate consumer-nvme --nbd drive.sock
  sudo flushmark emulate samsung-980-1tb,capacity=8GiB --mount /mnt --fs ext4
  flushmark emulate ctl drive.ctl cut
  flushmark emulate disk-7200rpm-cache-on --nbd :10809 --lie ignore-flush --cut-after random=30s

MODEL is a model's name (see `flushmark models`), a model file, or `ideal`, which adds no latency.
Settings after commas are those of sim:MODEL (capacity=SIZE, write-cache=on|off, seed=N, raid=...).

Lies: ignore-flush, ignore-fua, ack-early=TIME (what is acknowledged as durable becomes so only
after TIME). A power cut can also do damage, each with a probability. Per write: bit-corruption=P,
shorn=P (torn), flying=P (misdirected), unserializable=P, metadata=P. Per cut: dead=P, read-only=P."
)]
pub struct EmulateArgs {
    #[command(subcommand)]
    pub action: Option<EmulateAction>,

    /// The drive: a model's name, a model file, or `ideal`
    #[arg(required = true)]
    pub model: Option<String>,

    #[command(flatten)]
    pub options: EmulateOptions,
}

/// Options of an emulated drive.
#[derive(Debug, Args)]
pub struct EmulateOptions {
    /// Serve it over NBD: a socket's path or HOST:PORT (:PORT for this machine only) [default: a
    /// new socket, unless a file or a mount is requested]
    #[arg(long, value_name = "ADDRESS")]
    pub nbd: Option<Address>,

    /// Serve it as the file DIR/drive through FUSE
    #[arg(long, value_name = "DIR", conflicts_with = "mount")]
    pub fuse: Option<PathBuf>,

    /// With --fuse: attach a loop device to that file (root)
    #[arg(long = "loop", requires = "fuse")]
    pub loop_device: bool,

    /// Mount a filesystem on it here: sets up FUSE file, loop device, mkfs and mount, and undoes
    /// them in order (root)
    #[arg(long, value_name = "DIR")]
    pub mount: Option<PathBuf>,

    /// The filesystem for --mount
    #[arg(long = "fs", value_enum, value_name = "FS", default_value_t = Fs::Ext4, requires = "mount")]
    pub filesystem: Fs,

    /// Keep the data in this sparse file [default: in memory, lost at exit]
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,

    /// Let --image overwrite a file that no emulated drive created
    #[arg(long, requires = "image")]
    pub destroy_data: bool,

    /// How the drive lies (see below); can be given several times
    #[arg(long, value_name = "LIE")]
    pub lie: Vec<Lie>,

    /// Seed for random choices: what a power cut loses, what else fails
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Cut the power after this: writes=N, flushes=N, time=T, or random=T (T on average); counted
    /// anew from each power-on
    #[arg(long, value_name = "MOMENT")]
    pub cut_after: Option<CutAfter>,

    /// Restore power this long after each cut [default: on request]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub power_on_after: Option<Duration>,

    /// Start with this percentage of the drive filled, as if written once, long ago
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_percent)]
    pub fill: f64,

    /// Accept orders on this socket (`flushmark emulate ctl`) [default: a new socket]
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Show no live status line
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub enum EmulateAction {
    /// Send an order to an emulated drive
    #[command(after_help = "\
Orders:
  status     show what it is and what it is doing
  cut        cut its power: clients lose it in the middle of their requests
  power-on   restore its power, with the data that survived
  wear N     overwrite it at random N times, in no time, to age the drive
  fill P     fill P percent of it, as if written once, long ago")]
    Ctl {
        /// Its control socket
        #[arg(value_name = "SOCKET")]
        socket: PathBuf,

        /// The order
        #[arg(value_name = "ORDER", required = true, num_args = 1..=2)]
        order: Vec<String>,

        /// Output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Remove what killed processes left behind: mounts, loop devices, FUSE directories
    CleanUp {
        /// Only what was left here [default: everything]
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fs {
    Ext4,
    Xfs,
}

pub fn parse_order(words: &[String]) -> Result<Order, String> {
    words.join(" ").parse().map_err(|bad: emulate::InvalidOrder| bad.to_string())
}

fn parse_percent(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "expected a number from 0 to 100".to_owned())
}
