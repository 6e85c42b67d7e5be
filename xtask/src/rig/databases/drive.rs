//! The emulated drive: `flushmark emulate` with a filesystem on it, its plug, and the proof that a cut takes the kernel's memory with it.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::machine::end_of;

/// A volatile cache without power-loss protection.
const MODEL: &str = "consumer-nvme,capacity=4GiB";
/// What the witness holds on the drive, and what it holds in the kernel's memory only.
const SYNCED: u8 = b'A';
const UNSYNCED: u8 = b'B';
/// Some pages.
const WITNESS_BYTES: usize = 64 << 10;

/// A drive that is served. Dropping it takes it down.
pub struct EmulatedDrive {
    binary: PathBuf,
    child: Child,
    mounted: PathBuf,
    control: PathBuf,
    log: PathBuf,
}

impl EmulatedDrive {
    /// Serves one with an empty ext4 on it. Everything of it lies below `directory`.
    pub fn start(binary: &Path, directory: &Path, lie: Option<&str>, seed: u64) -> anyhow::Result<EmulatedDrive> {
        let mounted = directory.join("mounted");
        std::fs::create_dir(&mounted)?;
        let (control, log) = (directory.join("control"), directory.join("emulate.log"));
        let mut command = Command::new(binary);
        command.args(["emulate", MODEL, "--fs", "ext4", "--quiet", "--format", "json", "--seed", &seed.to_string()]);
        command.arg("--mount").arg(&mounted).arg("--control").arg(&control);
        if let Some(lie) = lie {
            command.args(["--lie", lie]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        let mut child = command.spawn().context("cannot start flushmark")?;
        let stdout = child.stdout.take().context("flushmark has no stdout")?;
        let drive = EmulatedDrive { binary: binary.to_owned(), child, mounted, control, log };
        // The facts are printed when everything stands.
        if !BufReader::new(stdout).lines().map_while(Result::ok).any(|line| line == "}") {
            bail!("the drive did not come up: {}", drive.said());
        }
        Ok(drive)
    }

    /// The root of its filesystem.
    pub fn mounted(&self) -> &Path {
        &self.mounted
    }

    /// Everything that was written so far goes to the drive, and is flushed there.
    pub fn sync(&self) -> anyhow::Result<()> {
        Ok(rustix::fs::syncfs(File::open(&self.mounted)?)?)
    }

    fn witness(&self) -> PathBuf {
        self.mounted.join("witness")
    }

    /// Writes the witness, to be there at every cut.
    pub fn lay_out(&self) -> anyhow::Result<()> {
        std::fs::write(self.witness(), vec![SYNCED; WITNESS_BYTES])?;
        self.sync()
    }

    /// Opens the witness for [`EmulatedDrive::cut`]; until then nothing is written.
    pub fn open_witness(&self) -> anyhow::Result<File> {
        Ok(File::options().write(true).open(self.witness())?)
    }

    /// Pulls the plug. The witness is overwritten in place just before: nothing that is written for other files takes that along, so that it is in the kernel's memory and nowhere else.
    pub fn cut(&self, witness: &File) -> anyhow::Result<Taken> {
        witness.write_all_at(&vec![UNSYNCED; WITNESS_BYTES], 0)?;
        // Not by the command, whose start would take as long as several commits.
        let mut control = UnixStream::connect(&self.control).context("the drive takes no orders")?;
        control.write_all(b"cut\n")?;
        let mut answer = String::new();
        BufReader::new(control).read_line(&mut answer)?;
        let answer: Value = serde_json::from_str(&answer).with_context(|| format!("an order's answer: {answer}"))?;
        ensure!(answer["power"] == "off", "the drive has power after a cut: {answer}");
        let writes = |what: &str| answer["last_cut"][what].as_u64().with_context(|| format!("no `{what}`: {answer}"));
        Ok(Taken {
            volatile: writes("lost_unacknowledged")? + writes("lost_unflushed")?,
            promised: writes("lost_promised")?,
        })
    }

    /// Puts the plug in again; returns when the filesystem is mounted.
    pub fn power_on(&self) -> anyhow::Result<()> {
        let output = Command::new(&self.binary).args(["emulate", "ctl"]).arg(&self.control).arg("power-on").output()?;
        if !output.status.success() {
            bail!(
                "the filesystem did not come back: {} {}",
                String::from_utf8_lossy(&output.stderr).trim(),
                self.said()
            );
        }
        Ok(())
    }

    /// What became of the witness.
    pub fn ask_witness(&self) -> anyhow::Result<Witness> {
        let held = std::fs::read(self.witness()).context("the witness cannot be read any more")?;
        Ok(if held.contains(&UNSYNCED) {
            Witness::MemorySurvived
        } else if held.len() == WITNESS_BYTES && held.iter().all(|&byte| byte == SYNCED) {
            Witness::AsSynced
        } else {
            Witness::Damaged
        })
    }

    fn said(&self) -> String {
        end_of(&std::fs::read_to_string(&self.log).unwrap_or_default())
    }
}

/// Writes that a cut took from the drive.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taken {
    /// Those that it may take: under way, or in the volatile cache and not flushed.
    pub volatile: u64,
    /// Those that were flushed: lies.
    pub promised: u64,
}

/// What a file holds that was synced once, and overwritten without a sync just before the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Witness {
    /// What was synced: the drive's own.
    AsSynced,
    /// What only the kernel can have known: there was no power cut, and nothing that was seen after it proves anything.
    MemorySurvived,
    /// Something else: the drive lost what was synced.
    Damaged,
}

impl Drop for EmulatedDrive {
    fn drop(&mut self) {
        if let (Ok(None), Some(pid)) = (self.child.try_wait(), Pid::from_raw(self.child.id() as i32)) {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}
