//! The arguments of `trace`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};

use super::{Format, parse_time};

/// Show where a commit spends its time, layer by layer
///
/// Traces the commits (fsync, fdatasync, writes with O_SYNC or O_DSYNC, ...) of a command, of a
/// process, or of all processes with files in a directory or on a device, with the kernel's own
/// tracer. Nothing needs to be installed. Needs root.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  sudo flushmark trace -- dd if=/dev/zero of=here bs=4k count=1000 oflag=dsync
  sudo flushmark trace --path /var/lib/postgresql --for 30s
  sudo flushmark trace --pid $(pidof -s mariadbd)
  sudo flushmark trace --device /dev/nvme0n1 --keep commits.trace
  flushmark trace read commits.trace")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(group = clap::ArgGroup::new("subject").required(true)
    .args(["path", "device", "pid", "command"]))]
pub struct TraceArgs {
    #[command(subcommand)]
    pub action: Option<TraceAction>,

    /// Trace all processes with open files in this directory, or with this file open
    #[arg(long, value_name = "PATH")]
    pub path: Option<PathBuf>,

    /// Trace all processes with open files on this device, or on a filesystem on it
    #[arg(long, value_name = "DEV")]
    pub device: Option<PathBuf>,

    /// Trace this process and those that it creates
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,

    /// Run this command and trace it and the processes that it creates
    #[arg(value_name = "COMMAND", last = true)]
    pub command: Vec<OsString>,

    /// How long to trace [default: 10s, or until the command ends; a command that still runs then is
    /// asked to end]
    #[arg(long = "for", value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,

    /// Keep the events in this file, for `flushmark trace read`
    #[arg(long, value_name = "FILE")]
    pub keep: Option<PathBuf>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Also write the trace's result (JSON) to this file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum TraceAction {
    Read(ReadArgs),
}

/// Show a kept trace, or a text that blkparse, trace-cmd report or trace_pipe printed
///
/// A text without system calls shows the requests of each thread that belong together as commits.
#[derive(Debug, Parser)]
pub struct ReadArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Also write the trace's result (JSON) to this file
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
