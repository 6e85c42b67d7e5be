//! What may be typed after `flushmark crash`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use crash::state::State;
use workload::ByteSize;

use super::{Format, parse_time};

#[expect(clippy::struct_excessive_bools, reason = "switches that a person sets one by one")]
/// Every power cut at once: record what a command writes, then check each state that a cut could have left
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  sudo flushmark crash --prepare 'sqlite3 db \"create table t(n)\"' \\
      --check 'sqlite3 db \"pragma integrity_check\"' --expect ok \\
      -- sh -c 'for n in $(seq 100); do sqlite3 db \"insert into t values($n)\" && echo $n; done'
  sudo flushmark crash --resume DIR --state 17-3,5 --shell

The command and the check run in the filesystem on the recorded drive, and find it in $CRASH_DIR as
well; its block device in $CRASH_DRIVE. The check finds the lines that the command had printed before
the cut in the file $CRASH_PRINTED: whatever they acknowledge has to be there. It fails a state by
its exit code, or with --expect by saying something else.

A state's name is EPOCH, EPOCH-LOST, EPOCH~WRITE.SECTORS: the power went before the flush that ends
the epoch, without those of its writes, and with that write torn after so many sectors.")]
pub struct CrashArgs {
    /// A command of the shell that judges a state
    #[arg(long, value_name = "COMMAND", required_unless_present = "resume", conflicts_with = "resume")]
    pub check: Option<String>,

    /// The state is good only if the check says just this
    #[arg(long, value_name = "TEXT", conflicts_with = "resume")]
    pub expect: Option<String>,

    /// A command of the shell that lays out what COMMAND finds; what it writes cannot be lost
    #[arg(long, value_name = "COMMAND", conflicts_with = "resume")]
    pub prepare: Option<String>,

    /// The filesystem on the drive; none: the command gets the drive itself, as the file $CRASH_DRIVE
    #[arg(long = "fs", value_enum, value_name = "FS", default_value_t = CrashFs::Ext4, conflicts_with = "resume")]
    pub filesystem: CrashFs,

    /// Mount nothing for the check: it gets the state's drive as $CRASH_DRIVE (for e2fsck and its like)
    #[arg(long, conflicts_with = "resume")]
    pub check_unmounted: bool,

    /// The drive's size
    #[arg(long, value_name = "SIZE", default_value = "1GiB", conflicts_with = "resume")]
    pub size: ByteSize,

    /// How many states are tried between two flushes, at most, besides the flush boundaries
    #[arg(long, value_name = "N", default_value_t = 8, conflicts_with = "resume")]
    pub samples: usize,

    /// Decides which of them
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "resume")]
    pub seed: u64,

    /// What the drive writes whole or not at all; a write of more may be torn
    #[arg(long, value_name = "SIZE", default_value = "4KiB", conflicts_with = "resume")]
    pub atomic: ByteSize,

    /// A check that takes longer fails its state
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s", conflicts_with = "resume")]
    pub timeout: Duration,

    /// How long after the command's end is recorded: what nobody synced is written out by and by
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "3s", conflicts_with = "resume")]
    pub settle: Duration,

    /// Checks at a time [default: as many as there are processors]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256))]
    pub jobs: Option<u64>,

    /// End with the first state that fails
    #[arg(long)]
    pub first: bool,

    /// Keep the recording and the results here [default: below ~/.local/state/flushmark/crash]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub session: Option<PathBuf>,

    /// Go on with an earlier test, as it was begun
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,

    /// With --resume: check this state alone
    #[arg(long, value_name = "STATE", requires = "resume")]
    pub state: Option<State>,

    /// With --state: look around in it with a shell; nothing that is done there is kept
    #[arg(long, requires = "state")]
    pub shell: bool,

    /// How to print the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// No progress on stderr
    #[arg(long, short)]
    pub quiet: bool,

    /// What is recorded
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "resume", conflicts_with = "resume")]
    pub command: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CrashFs {
    Ext4,
    Xfs,
    None,
}
