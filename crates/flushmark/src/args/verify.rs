//! Arguments of `flushmark verify`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use verify::SyncMethod;
use workload::ByteSize;

use super::{Format, one_of, parse_time};

/// Prove that acknowledged writes survive a power loss
///
/// If they do not, the check finds out how the drive lies.
#[derive(Debug, Parser)]
#[command(after_help = "\
Step by step, with a second machine at 192.0.2.1:
  there:  flushmark verify record --journal sdx.journal --listen 192.0.2.1:5401
  here:   flushmark verify write /dev/sdx --destroy-data --recorder 192.0.2.1:5401
  (cut the drive's power during the write, then restore it)
  here:   flushmark verify check /dev/sdx --recorder 192.0.2.1:5401

With a second drive instead of a second machine, use --journal FILE in place of --recorder.

Exit codes of check:
  0  the drive is honest
  1  it lost or damaged acknowledged data, the run proves nothing, or a cycle of the journal was
     never checked
  2  usage error
  3  refused
  4  read error")]
pub struct VerifyArgs {
    #[command(subcommand)]
    pub action: VerifyAction,
}

#[derive(Debug, Subcommand)]
pub enum VerifyAction {
    Write(WriteArgs),
    Record(RecordArgs),
    Check(CheckArgs),
    Demo(DemoArgs),
}

/// Write self-describing records until power is lost
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark verify write /mnt/new-ssd --journal /srv/new-ssd.journal
  flushmark verify write /dev/sdx --destroy-data --recorder recorder.lan:5401
  flushmark verify write /mnt/new-ssd --lanes 8 --sync fdatasync --time 10min

In a directory, the file flushmark-verify.dat is created and kept for the check; `verify check
DIRECTORY --remove` removes it.")]
#[expect(clippy::struct_excessive_bools, reason = "independent command-line switches")]
pub struct WriteArgs {
    /// A directory, a file, or a device under /dev
    pub target: String,

    /// The recorder to report acknowledged writes to: HOST:PORT
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "journal")]
    pub recorder: Option<String>,

    /// Record acknowledged writes in this file, which must be on another drive
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// Lanes that write and sync, one thread per lane
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub lanes: u16,

    /// Lanes whose writes are durable when they return (FUA) [default: 1; 0 where --sync is such a
    /// method]
    #[arg(long, value_name = "N")]
    pub fua_lanes: Option<u16>,

    /// Lanes that never sync: the control group, which must be able to lose data
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub control_lanes: u16,

    /// How lanes make their writes durable
    #[arg(long, value_name = "METHOD", default_value = "fsync",
        value_parser = one_of(SyncMethod::ALL, SyncMethod::name))]
    pub sync: SyncMethod,

    /// Writes per sync of a lane
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub writes_per_sync: u16,

    /// Size of a record: one sector to 1 MiB
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub record: ByteSize,

    /// Size of the area to write [default: 256 MiB; for a file, all of it]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<ByteSize>,

    /// Stop after this time, such as 30s or 10min [default: write until power is lost]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,

    /// The drive has power-loss protection: it must not even lose what was never synced
    #[arg(long)]
    pub protected: bool,

    /// Allow overwriting the content of the target file or device
    #[arg(long)]
    pub destroy_data: bool,

    /// Overwrite a run that was never checked; its cycle stays unjudged forever
    #[arg(long)]
    pub abandon_unjudged: bool,

    /// Show no progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

/// Record acknowledged writes from another machine, and cut its power if asked to
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark verify record --journal sdx.journal --listen 192.0.2.1:5401
  flushmark verify record --journal sdx.journal --listen 192.0.2.1:5401 \\
      --cut-command 'ipmitool -I lanplus -H server-bmc -U admin -E chassis power cycle' --cycles 59

The recorder listens on this machine only, unless --listen names another address; anyone who can
reach that address can send it records. The cut comes 0, 1, 3, 10, 30, 100, 300 and 1000 ms after a
sync was acknowledged, in turn from cycle to cycle.")]
pub struct RecordArgs {
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5401")]
    pub listen: String,

    /// The file to record in; an existing journal is continued
    #[arg(long, value_name = "FILE")]
    pub journal: PathBuf,

    /// The command that cuts the power of the machine or drive under test
    #[arg(long, value_name = "COMMAND")]
    pub cut_command: Option<String>,

    /// Let the target write for this long before the cut
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time, requires = "cut_command")]
    pub cut_after: Duration,

    /// Stop after this many verdicts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cycles: Option<u32>,
}

/// Check what became of everything that was acknowledged
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark verify check /dev/sdx --recorder recorder.lan:5401
  flushmark verify check /mnt/new-ssd --journal /srv/new-ssd.journal --format json
  flushmark verify check /mnt/new-ssd --journal /srv/new-ssd.journal --power-was-cut
  flushmark verify check /mnt/new-ssd --remove

Run this before anything else writes to the drive. Nothing is written to the target.")]
#[expect(clippy::struct_excessive_bools, reason = "independent command-line switches")]
pub struct CheckArgs {
    /// The target that `verify write` wrote to
    pub target: String,

    /// The recorder that recorded the acknowledged writes; it also keeps the verdict: HOST:PORT
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "journal")]
    pub recorder: Option<String>,

    /// The journal that recorded the acknowledged writes; it also keeps the verdict
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// You cut the drive's power yourself: accepted as evidence where nothing else shows it, and
    /// reported as your statement
    #[arg(long)]
    pub power_was_cut: bool,

    /// This is the drive that was written, although it is empty or reports another identity; needs
    /// a recorder or journal
    #[arg(long)]
    pub same_drive: bool,

    /// Afterwards remove the file that flushmark created in a directory, unless it is evidence
    /// against the drive
    #[arg(long)]
    pub remove: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// Show no progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

/// Run the whole cycle on emulated drives, honest and lying, in under half a minute
#[derive(Debug, Parser)]
pub struct DemoArgs {
    /// The drive: a model of `flushmark models` with a volatile cache
    #[arg(long, value_name = "MODEL", default_value = "consumer-nvme")]
    pub model: String,

    /// How long lanes write before the power cut; a tenth of it before each further cut
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "1s")]
    pub time: Duration,

    /// Seed for random choices
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn the_recorder_listens_on_this_machine_only_by_default() {
        let args = VerifyArgs::parse_from(["verify", "record", "--journal", "j"]);
        let VerifyAction::Record(record) = args.action else { panic!("it is `record`") };
        let address: std::net::SocketAddr = record.listen.parse().unwrap();
        assert!(address.ip().is_loopback());
    }

    #[test]
    fn contradictory_options_are_refused() {
        for wrong in [
            &["verify", "write", "/srv", "--recorder", "a:1", "--journal", "j"][..],
            &["verify", "record", "--journal", "j", "--cycles", "0"],
            &["verify", "record", "--journal", "j", "--cut-after", "1s"],
            &["verify", "record"],
            &["verify", "write", "/srv", "--sync", "o_sync"],
        ] {
            assert!(VerifyArgs::try_parse_from(wrong).is_err(), "{wrong:?}");
        }
    }
}
