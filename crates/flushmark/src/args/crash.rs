//! Arguments of `flushmark crash`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use crash::State;
use workload::ByteSize;

use super::{Format, parse_time};

#[expect(clippy::struct_excessive_bools, reason = "independent command-line switches")]
/// Check the states that a power cut could have left
///
/// Records what a command writes to a drive, and runs a check in the state at each flush and in a
/// sample of the states between two flushes.
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  sudo flushmark crash --prepare 'sqlite3 db \"create table t(n)\"' \\
      --check 'sqlite3 db \"pragma integrity_check\"' --expect ok \\
      -- sh -c 'for n in $(seq 100); do sqlite3 db \"insert into t values($n)\" && echo $n; done'
  sudo flushmark crash --resume DIR --state 17-3,5 --shell

The command and the check run in the filesystem on the recorded drive. $CRASH_DIR names its
directory, $CRASH_DRIVE its block device. The file $CRASH_PRINTED holds the lines that the command
had printed before the cut; the check must find whatever they acknowledge. A state fails if the
check's exit code is not 0, or if its output differs from --expect.

The name of a state is EPOCH, EPOCH-LOST or EPOCH~WRITE.SECTORS: power was lost before the flush
that ends the epoch, without the LOST writes, or with that write torn after so many sectors.")]
pub struct CrashArgs {
    /// Shell command that checks a state
    #[arg(
        long,
        value_name = "COMMAND",
        required_unless_present = "resume",
        conflicts_with = "resume"
    )]
    pub check: Option<String>,

    /// A state passes only if the check prints exactly this
    #[arg(long, value_name = "TEXT", conflicts_with = "resume")]
    pub expect: Option<String>,

    /// Shell command that sets up what COMMAND needs; its writes cannot be lost
    #[arg(long, value_name = "COMMAND", conflicts_with = "resume")]
    pub prepare: Option<String>,

    /// The filesystem on the drive; with `none`, the command gets the drive itself as the file
    /// $CRASH_DRIVE
    #[arg(long = "fs", value_enum, value_name = "FS", default_value_t = CrashFs::Ext4, conflicts_with = "resume")]
    pub filesystem: CrashFs,

    /// Do not mount the state for the check, which gets its drive as $CRASH_DRIVE (for e2fsck and
    /// the like)
    #[arg(long, conflicts_with = "resume")]
    pub check_unmounted: bool,

    /// Size of the drive
    #[arg(long, value_name = "SIZE", default_value = "1GiB", conflicts_with = "resume")]
    pub size: ByteSize,

    /// States to check between two flushes, at most, besides those at the flushes
    #[arg(long, value_name = "N", default_value_t = 8, conflicts_with = "resume")]
    pub samples: usize,

    /// Seed for choosing these states
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "resume")]
    pub seed: u64,

    /// The largest write that the drive never tears
    #[arg(long, value_name = "SIZE", default_value = "4KiB", conflicts_with = "resume")]
    pub atomic: ByteSize,

    /// A state fails if its check takes longer
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s", conflicts_with = "resume")]
    pub timeout: Duration,

    /// How long to record after the command ends, while the kernel writes back what was not synced
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "3s", conflicts_with = "resume")]
    pub settle: Duration,

    /// Checks to run in parallel (1 to 256) [default: one per processor]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=256))]
    pub jobs: Option<u64>,

    /// Stop at the first state that fails
    #[arg(long)]
    pub first: bool,

    /// Keep the recording and the results here [default: below ~/.local/state/flushmark/crash]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub session: Option<PathBuf>,

    /// Resume an earlier test with its original options
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,

    /// With --resume: check this state alone
    #[arg(long, value_name = "STATE", requires = "resume")]
    pub state: Option<State>,

    /// With --state: open a shell in that state; changes are discarded
    #[arg(long, requires = "state")]
    pub shell: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Show no progress on stderr
    #[arg(long, short)]
    pub quiet: bool,

    /// The command whose writes are recorded
    #[arg(
        value_name = "COMMAND",
        last = true,
        required_unless_present = "resume",
        conflicts_with = "resume"
    )]
    pub command: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CrashFs {
    Ext4,
    Xfs,
    None,
}
