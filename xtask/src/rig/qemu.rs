//! `cargo xtask rig qemu`: a real kernel with real drivers, on drives of kinds that this machine
//! does not have.
//!
//! Debian's kernel is unpacked (never installed), combined with a small initramfs that contains the
//! real `flushmark` and the tools it is compared with, and booted under QEMU's software emulation.
//! The tests run on the host: each sends commands to the guest and checks their output.
//!
//! | module | content |
//! | --- | --- |
//! | `kernel` | fetching and unpacking the kernel package |
//! | `initramfs` | the image with programs, libraries and modules |
//! | `machine` | the machine and its drives, as a QEMU process |
//! | `guest` | commands in the guest, and their output |
//! | `monitor` | what the emulated controllers executed |
//! | `tests` | the tests |

mod guest;
mod initramfs;
mod kernel;
mod machine;
mod monitor;
mod tests;

use std::time::{Duration, Instant};

use super::Outcome;
use crate::build;
use crate::command::root;
use machine::Machine;

/// Debian packages of what the rig boots and compares with.
pub const PACKAGES: [&str; 15] = [
    "qemu-system-x86", "busybox-static", "cpio", "kmod", "hdparm", "sdparm", "nvme-cli",
    "smartmontools", "mdadm", "lvm2", "cryptsetup-bin", "e2fsprogs", "xfsprogs", "util-linux",
    "fio",
];

#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// Only tests whose names contain this
    #[arg(value_name = "NAME")]
    pub filter: Option<String>,

    /// Boot the machine, run this shell command in it, and print its output
    #[arg(long, value_name = "COMMAND")]
    pub run: Option<String>,
}

/// Boots the machine and runs its tests, or one command.
pub fn run(options: &Options) -> anyhow::Result<Outcome> {
    let begun = Instant::now();
    let work = root().join("target/rig");
    std::fs::create_dir_all(&work)?;
    let work = work.canonicalize()?;
    let kernel = kernel::unpack(&work)?;
    let binary = build::flushmark_of_tests()?;
    let directory = tempfile::Builder::new().prefix("rig-").tempdir_in(&work)?;
    let image = initramfs::build(directory.path(), &kernel, &binary)?;
    let mut machine = Machine::new(&kernel.image, &image, directory.path(), &binary);
    println!("kernel {} under software emulation, {}", kernel.release, machine::description());
    let mut guest = machine.boot()?;
    println!("booted after {:.0} s", begun.elapsed().as_secs_f64());
    if let Some(script) = &options.run {
        let output = guest.run(script)?;
        print!("{}", output.stdout);
        eprint!("{}", output.stderr);
        anyhow::ensure!(output.code == 0, "the command ended with {}", output.code);
        return Ok(Outcome::default());
    }
    let mut outcome = Outcome::default();
    for (name, test) in tests::ALL {
        if options.filter.as_ref().is_some_and(|filter| !name.contains(filter.as_str())) {
            continue;
        }
        let begun = Instant::now();
        let mut result = test(&mut guest);
        // A guest that does not respond would fail the other tests, too, so it is started again.
        if guest.is_lost() {
            println!("{}", machine.console_end());
            let stalled = machine.has_stalled();
            guest = machine.boot()?;
            if let (true, Err(error)) = (stalled, &result) {
                println!("rig {name}: the emulated processors stalled, so it runs again: {error}");
                result = test(&mut guest);
            }
        }
        match result {
            Ok(()) => {
                outcome.passed += 1;
                println!("rig {name} ... ok ({:.1} s)", begun.elapsed().as_secs_f64());
            }
            Err(error) => {
                outcome.failed += 1;
                println!("rig {name} ... FAILED\n{error:?}");
            }
        }
    }
    println!(
        "rig: {} passed, {} failed, {:.0} s",
        outcome.passed,
        outcome.failed,
        begun.elapsed().as_secs_f64()
    );
    Ok(outcome)
}

/// Limit on any step in the guest: emulation is some twenty times slower than the machine itself,
/// and on a busy machine a kernel with twenty drives is silent for more than a minute before it is
/// ready.
const PATIENCE: Duration = Duration::from_mins(5);
