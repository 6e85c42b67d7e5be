//! The emulated drive: `flushmark emulate` with a filesystem on it, its power, and two files that
//! show whether a cut was real.
//!
//! | file | written just before a cut | required content afterwards |
//! | --- | --- | --- |
//! | `memory` | into the kernel's page cache | what was synced before: a power cut takes the kernel's memory with it |
//! | `cache` | directly to the drive, without a flush | the same, or the drive's volatile cache had nothing to lose at this moment |

use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::machine::end_of;

/// A volatile cache without power-loss protection.
const MODEL: &str = "consumer-nvme,capacity=4GiB";
/// The names of the two files.
const MEMORY: &str = "memory";
const CACHE: &str = "cache";
/// Their content before the first cut.
const SYNCED: u8 = b'A';
/// Written to the kernel's memory just before a cut.
const UNSYNCED: u8 = b'B';
/// Size of the file in the kernel's memory: some pages.
const MEMORY_BYTES: usize = 64 << 10;
/// Size of the file in the drive's cache: one block. With four, which take as long as some commits,
/// the losses of a lying drive were found after five cuts instead of one or two.
const CACHE_BYTES: usize = 4096;

/// A served drive, taken down when dropped.
pub struct EmulatedDrive {
    binary: PathBuf,
    child: Child,
    mounted: PathBuf,
    control: PathBuf,
    log: PathBuf,
}

impl EmulatedDrive {
    /// Serves a drive without power-loss protection, with an empty ext4 on it. All of its files are
    /// under `directory`.
    pub fn start(
        binary: &Path,
        directory: &Path,
        lie: Option<&str>,
        seed: u64,
    ) -> anyhow::Result<EmulatedDrive> {
        EmulatedDrive::of_model(MODEL, binary, directory, lie, seed)
    }

    /// The same with a drive of this model, such as `enterprise-nvme,capacity=4GiB`.
    pub fn of_model(
        model: &str,
        binary: &Path,
        directory: &Path,
        lie: Option<&str>,
        seed: u64,
    ) -> anyhow::Result<EmulatedDrive> {
        let mounted = directory.join("mounted");
        std::fs::create_dir(&mounted)?;
        let (control, log) = (directory.join("control"), directory.join("emulate.log"));
        let mut command = Command::new(binary);
        command.args([
            "emulate",
            model,
            "--fs",
            "ext4",
            "--quiet",
            "--format",
            "json",
            "--seed",
            &seed.to_string(),
        ]);
        command.arg("--mount").arg(&mounted).arg("--control").arg(&control);
        if let Some(lie) = lie {
            command.args(["--lie", lie]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log)?);
        // Ctrl-C is handled by the rig, which first takes down whatever uses the drive.
        command.process_group(0);
        let mut child = command.spawn().context("cannot start flushmark")?;
        let stdout = child.stdout.take().context("flushmark has no stdout")?;
        let drive = EmulatedDrive { binary: binary.to_owned(), child, mounted, control, log };
        // The facts are printed once everything is set up.
        if !BufReader::new(stdout).lines().map_while(Result::ok).any(|line| line == "}") {
            bail!("the drive did not come up: {}", drive.said());
        }
        Ok(drive)
    }

    /// The root of its filesystem.
    pub fn mounted(&self) -> &Path {
        &self.mounted
    }

    /// Writes everything to the drive, and flushes it there.
    pub fn sync(&self) -> anyhow::Result<()> {
        Ok(rustix::fs::syncfs(File::open(&self.mounted)?)?)
    }

    fn witness(&self, name: &str) -> PathBuf {
        self.mounted.join(name)
    }

    /// Creates the two files, which are overwritten at every cut.
    pub fn lay_out(&self) -> anyhow::Result<()> {
        std::fs::write(self.witness(MEMORY), vec![SYNCED; MEMORY_BYTES])?;
        std::fs::write(self.witness(CACHE), vec![SYNCED; CACHE_BYTES])?;
        self.sync()
    }

    /// Opens the two files for the cut with this number, and the connection for the command;
    /// nothing is written yet.
    pub fn plug(&self, cut: u32) -> anyhow::Result<Plug> {
        let mut options = File::options();
        options.write(true);
        let memory = options.open(self.witness(MEMORY))?;
        let direct = rustix::fs::OFlags::DIRECT.bits();
        let cache = options.custom_flags(direct as i32).open(self.witness(CACHE))?;
        // The content depends on the cut, so one that survived cannot be mistaken for the next.
        let mark = b'a' + (cut % 20) as u8;
        let control = UnixStream::connect(&self.control)
            .context("the drive's control socket cannot be reached")?;
        Ok(Plug { memory, cache, mark, control })
    }

    /// Switches the power on; returns when the filesystem is mounted.
    pub fn power_on(&self) -> anyhow::Result<()> {
        self.ctl("power-on").context("the filesystem did not come back").map(drop)
    }

    /// The flushes that the drive has served, by its own account.
    pub fn flushes(&self) -> anyhow::Result<u64> {
        let status = self.ctl("status")?;
        status["flushes"].as_u64().with_context(|| format!("no count of flushes: {status}"))
    }

    fn ctl(&self, order: &str) -> anyhow::Result<Value> {
        let output = Command::new(&self.binary)
            .args(["emulate", "ctl"])
            .arg(&self.control)
            .args([order, "--format", "json"])
            .output()?;
        if !output.status.success() {
            bail!("{} {}", String::from_utf8_lossy(&output.stderr).trim(), self.said());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// The evidence of the two files after a cut.
    pub fn hear(&self, cut: &Cut) -> anyhow::Result<Testimony> {
        let read =
            |name| std::fs::read(self.witness(name)).context("a witness cannot be read any more");
        let (memory, cache) = (read(MEMORY)?, read(CACHE)?);
        if memory.contains(&UNSYNCED) {
            return Ok(Testimony::MemorySurvived);
        }
        if memory.len() != MEMORY_BYTES || memory.iter().any(|&byte| byte != SYNCED) {
            return Ok(Testimony::Damaged);
        }
        let is_there = |&byte: &u8| byte == cut.mark;
        Ok(if cache.iter().all(is_there) { Testimony::CacheSurvived } else { Testimony::CacheLost })
    }

    fn said(&self) -> String {
        end_of(&std::fs::read_to_string(&self.log).unwrap_or_default())
    }
}

/// The handles for a cut, opened long before it.
pub struct Plug {
    memory: File,
    cache: File,
    /// Written to the drive just before the cut.
    mark: u8,
    /// The control socket: running the command would take as long as several commits.
    control: UnixStream,
}

impl Plug {
    /// Cuts the power. The files are overwritten in place just before it, and writes to other files
    /// do not take that along. No process has them open when power returns.
    pub fn pull(self) -> anyhow::Result<Cut> {
        // Direct I/O requires memory aligned to the block size.
        let space = vec![self.mark; 2 * CACHE_BYTES];
        let from = space.as_ptr().align_offset(CACHE_BYTES);
        self.memory.write_all_at(&vec![UNSYNCED; MEMORY_BYTES], 0)?;
        self.cache.write_all_at(&space[from..from + CACHE_BYTES], 0)?;
        let ordered = Instant::now();
        (&self.control).write_all(b"cut\n")?;
        let mut answer = String::new();
        BufReader::new(&self.control).read_line(&mut answer)?;
        let answer: Value = serde_json::from_str(&answer)
            .with_context(|| format!("invalid answer to a command: {answer}"))?;
        ensure!(answer["power"] == "off", "the drive still has power after a cut: {answer}");
        let promised = answer["last_cut"]["lost_promised"].as_u64();
        let promised =
            promised.with_context(|| format!("the answer does not say what was lost: {answer}"))?;
        Ok(Cut { ordered, promised, mark: self.mark })
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Cut {
    /// The time at which the command was sent.
    pub ordered: Instant,
    /// Writes that the drive had reported as durable and lost, by its own account.
    pub promised: u64,
    mark: u8,
}

/// The evidence of the two files after a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Testimony {
    /// The drive's volatile cache lost what was not flushed, and the kernel's memory is gone.
    CacheLost,
    /// The drive had already made everything durable.
    CacheSurvived,
    /// Content that was only in the kernel's memory is there: the power was not cut, and nothing
    /// seen afterwards proves anything.
    MemorySurvived,
    /// Content that was synced long ago is gone.
    Damaged,
}

impl Drop for EmulatedDrive {
    fn drop(&mut self) {
        if let (Ok(None), Some(pid)) =
            (self.child.try_wait(), Pid::from_raw(self.child.id() as i32))
        {
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.child.wait();
    }
}
