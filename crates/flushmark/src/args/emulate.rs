//! What may be typed after `flushmark emulate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use emulate::address::Address;
use emulate::cut_trigger::CutAfter;
use emulate::honesty::Lie;
use emulate::serve::control::Order;

use super::{Format, parse_time};

/// A drive that you do not own, as real storage: over NBD or as a block device, with its latency, its cache, and power cuts on demand
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

MODEL is a model's name (see `flushmark models`), a model's file, or `ideal`, which takes no time;
settings behind commas are those of sim:MODEL (capacity=SIZE, write-cache=on|off, seed=N, raid=...).

Lies: ignore-flush, ignore-fua, ack-early=TIME (what is acknowledged as safe is so only that much
later); and what else a power cut may do, with the chance of each write: bit-corruption=P, shorn=P,
flying=P, unserializable=P, metadata=P; or of each cut: dead=P, read-only=P."
)]
pub struct EmulateArgs {
    #[command(subcommand)]
    pub action: Option<EmulateAction>,

    /// The drive: a model's name, a model's file, or `ideal`
    #[arg(required = true)]
    pub model: Option<String>,

    #[command(flatten)]
    pub options: EmulateOptions,
}

/// How a drive is emulated.
#[derive(Debug, Args)]
pub struct EmulateOptions {
    /// Serve it over NBD: the path of a socket, or HOST:PORT (:PORT for this machine only) [default: a socket of its own, if neither a file nor a mount is asked for]
    #[arg(long, value_name = "ADDRESS")]
    pub nbd: Option<Address>,

    /// Serve it as the file DIR/drive, through FUSE
    #[arg(long, value_name = "DIR", conflicts_with = "mount")]
    pub fuse: Option<PathBuf>,

    /// With --fuse: attach a loop device to that file (root)
    #[arg(long = "loop", requires = "fuse")]
    pub loop_device: bool,

    /// Mount a filesystem on it here: FUSE file, loop device, mkfs and mount in one, and undone in order (root)
    #[arg(long, value_name = "DIR")]
    pub mount: Option<PathBuf>,

    /// The filesystem for --mount
    #[arg(long = "fs", value_enum, value_name = "FS", default_value_t = Fs::Ext4, requires = "mount")]
    pub filesystem: Fs,

    /// Keep the data in this sparse file; default: in memory, gone at the end
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,

    /// Let --image overwrite a file that was not made by an emulated drive
    #[arg(long, requires = "image")]
    pub destroy_data: bool,

    /// In what it is not honest; may be given several times (see below)
    #[arg(long, value_name = "LIE")]
    pub lie: Vec<Lie>,

    /// Decides what is left to chance: what a power cut takes, what goes wrong
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,

    /// Pull the plug after this: writes=N, flushes=N, time=T, or random=T (by chance, after T on average); counted anew from each power-on
    #[arg(long, value_name = "MOMENT")]
    pub cut_after: Option<CutAfter>,

    /// Put the plug in again so long after each cut; default: when told to
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub power_on_after: Option<Duration>,

    /// Start with so many percent of it laid out, as if written once, long ago
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = parse_percent)]
    pub fill: f64,

    /// Take orders on this socket (`flushmark emulate ctl`) [default: one of its own]
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,

    /// How to print what is served
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// No live line
    #[arg(long, short)]
    pub quiet: bool,
}

#[derive(Debug, Subcommand)]
pub enum EmulateAction {
    /// Give an emulated drive an order
    #[command(after_help = "\
Orders:
  status     what it is and does
  cut        pull its plug: clients lose it in the middle of whatever they do
  power-on   put it in again, with what survived
  wear N     overwrite it at random N times, in no time: what an old drive is like
  fill P     lay P percent of it out, as if written once, long ago")]
    Ctl {
        /// Its control socket
        #[arg(value_name = "SOCKET")]
        socket: PathBuf,

        /// What to do
        #[arg(value_name = "ORDER", required = true, num_args = 1..=2)]
        order: Vec<String>,

        /// How to print the answer
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Take away what killed processes left: mounts, loop devices, FUSE directories
    CleanUp {
        /// Only what was left here; default: everything
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Fs {
    Ext4,
    Xfs,
}

/// Words of an order as one.
pub fn parse_order(words: &[String]) -> Result<Order, String> {
    words.join(" ").parse().map_err(|bad: emulate::serve::control::InvalidOrder| bad.to_string())
}

fn parse_percent(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "write a number from 0 to 100".to_owned())
}
