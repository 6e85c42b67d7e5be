//! What a person may type after `flushmark verify`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use verify::run_header::SyncMethod;
use workload::ByteSize;

use super::{Format, parse_time};

/// Proof that acknowledged writes survive a power cut, or which kind of lie was told
#[derive(Debug, Parser)]
#[command(after_help = "\
Step by step, with a second machine at 192.0.2.1:
  there:  flushmark verify record --journal sdx.journal --listen 192.0.2.1:5401
  here:   flushmark verify write /dev/sdx --destroy-data --recorder 192.0.2.1:5401
  (cut the drive's power while that writes, and switch it on again)
  here:   flushmark verify check /dev/sdx --recorder 192.0.2.1:5401

With a second drive instead of a second machine: --journal FILE in place of --recorder.
Exit codes of check: 0 kept, 1 the drive broke its word, or the run proves nothing, or a cycle of
the journal was never judged; 2 wrong use, 3 refused, 4 something could not be read.")]
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

/// Write records that say what they are, until the power goes
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark verify write /mnt/new-ssd --journal /srv/new-ssd.journal
  flushmark verify write /dev/sdx --destroy-data --recorder recorder.lan:5401
  flushmark verify write /mnt/new-ssd --lanes 8 --sync fdatasync --time 10min

In a directory, the file flushmark-verify.dat is made, and stays to be checked; `verify check
DIRECTORY --remove` removes it.")]
#[expect(clippy::struct_excessive_bools, reason = "switches that a person sets one by one")]
pub struct WriteArgs {
    /// A directory, a file, or a device under /dev
    pub target: String,

    /// The recorder that hears what is acknowledged: HOST:PORT
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "journal")]
    pub recorder: Option<String>,

    /// Keep what is acknowledged in this file, which must lie on another drive
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// Lanes that write and sync, one thread each
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub lanes: u16,

    /// Lanes whose writes are durable when they return (FUA) [default: 1; 0 where --sync is such a method]
    #[arg(long, value_name = "N")]
    pub fua_lanes: Option<u16>,

    /// Lanes that never sync: the control, which must be able to lose something
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub control_lanes: u16,

    /// How lanes make their writes durable: fsync, fdatasync, o_dsync or rwf_dsync
    #[arg(long, value_name = "METHOD", default_value = "fsync", value_parser = parse_method)]
    pub sync: SyncMethod,

    /// Writes of a lane before each of its syncs
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub writes_per_sync: u16,

    /// Size of a record: one sector to 1 MiB
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub record: ByteSize,

    /// Size of the area that is written [default: 256 MiB; of a file, all of it]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<ByteSize>,

    /// End after this time, such as 30s or 10min [default: write until the power goes]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time: Option<Duration>,

    /// The drive has power-loss protection: not even what was never synced may get lost
    #[arg(long)]
    pub protected: bool,

    /// Allow the content of the target, a file or a device, to be overwritten
    #[arg(long)]
    pub destroy_data: bool,

    /// Write over a run that was never checked; its cycle counts as unjudged for good
    #[arg(long)]
    pub abandon_unjudged: bool,

    /// No progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

/// Hear on another machine what was acknowledged, and have the power cut
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark verify record --journal sdx.journal --listen 192.0.2.1:5401
  flushmark verify record --journal sdx.journal --listen 192.0.2.1:5401 \\
      --cut-command 'ipmitool -H server-bmc -U admin -E chassis power cycle' --cycles 59

It listens on this machine alone unless --listen names another address; whoever can reach that
address can tell it things. The cut comes 0, 1, 3, 10, 30, 100, 300 and 1000 ms after a sync was
acknowledged, one after the other from cycle to cycle.")]
pub struct RecordArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5401")]
    pub listen: String,

    /// The file that keeps what was heard; an existing one is gone on with
    #[arg(long, value_name = "FILE")]
    pub journal: PathBuf,

    /// The command that cuts the power of the machine or drive under test
    #[arg(long, value_name = "COMMAND")]
    pub cut_command: Option<String>,

    /// Write for so long before the cut
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_time, requires = "cut_command")]
    pub cut_after: Duration,

    /// End after so many verdicts
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub cycles: Option<u32>,
}

/// What became of everything that was acknowledged
#[derive(Debug, Parser)]
#[command(after_help = "\
Examples:
  flushmark verify check /dev/sdx --recorder recorder.lan:5401
  flushmark verify check /mnt/new-ssd --journal /srv/new-ssd.journal --format json
  flushmark verify check /mnt/new-ssd --journal /srv/new-ssd.journal --power-was-cut
  flushmark verify check /mnt/new-ssd --remove

Check before anything else writes to the drive. Nothing is written to the target.")]
#[expect(clippy::struct_excessive_bools, reason = "switches that a person sets one by one")]
pub struct CheckArgs {
    /// The target of `verify write`
    pub target: String,

    /// The recorder that heard what was acknowledged, and keeps the verdict: HOST:PORT
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "journal")]
    pub recorder: Option<String>,

    /// The journal that kept what was acknowledged, and keeps the verdict
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,

    /// I cut the drive's power myself: taken for a sign where nothing else can tell, and said so
    #[arg(long)]
    pub power_was_cut: bool,

    /// This is the drive that was written, though it is empty or does not come back: needs a witness
    #[arg(long)]
    pub same_drive: bool,

    /// Remove the file that flushmark made in a directory afterwards, unless it is evidence against the drive
    #[arg(long)]
    pub remove: bool,

    /// How to print the verdict
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,

    /// No progress on stderr
    #[arg(long, short)]
    pub quiet: bool,
}

/// The whole cycle on emulated drives, honest and lying, in under half a minute
#[derive(Debug, Parser)]
pub struct DemoArgs {
    /// The drive: a model of `flushmark models` with a volatile cache
    #[arg(long, value_name = "MODEL", default_value = "consumer-nvme")]
    pub model: String,

    /// How long lanes write before the plug is pulled
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "1s")]
    pub time: Duration,

    /// Decides what is left to chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

fn parse_method(text: &str) -> Result<SyncMethod, String> {
    let names = || SyncMethod::ALL.map(SyncMethod::name).join(", ");
    SyncMethod::ALL
        .into_iter()
        .find(|method| method.name() == text)
        .ok_or_else(|| format!("`{text}` is no way to sync; there are {}", names()))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn the_recorder_listens_on_this_machine_alone_unless_told_otherwise() {
        let args = VerifyArgs::parse_from(["verify", "record", "--journal", "j"]);
        let VerifyAction::Record(record) = args.action else { panic!("it is `record`") };
        let address: std::net::SocketAddr = record.listen.parse().unwrap();
        assert!(address.ip().is_loopback());
    }

    #[test]
    fn what_contradicts_itself_is_wrong_use() {
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
