//! QEMU's monitor (QMP): what the emulated controllers executed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::PATIENCE;

/// A connection to the monitor.
pub struct Monitor {
    stream: BufReader<UnixStream>,
    log: PathBuf,
}

/// QEMU logs each command for an NVMe drive, because its statistics lack their flushes.
pub const LOGGED: &str = "pci_nvme_io_cmd";

/// The commands that a drive has executed since QEMU started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Executed {
    pub writes: u64,
    pub flushes: u64,
}

impl Executed {
    pub fn since(self, before: Executed) -> Executed {
        Executed { writes: self.writes - before.writes, flushes: self.flushes - before.flushes }
    }
}

impl Monitor {
    /// Connects to the socket of a QEMU that runs and logs [`LOGGED`] to a file.
    pub fn connect(socket: &Path, log: &Path) -> anyhow::Result<Monitor> {
        let stream = UnixStream::connect(socket).context("QEMU's monitor does not answer")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut monitor = Monitor { stream: BufReader::new(stream), log: log.to_owned() };
        let greeting = monitor.line()?;
        ensure!(greeting.get("QMP").is_some(), "QEMU's monitor begins with {greeting}");
        monitor.execute("qmp_capabilities")?;
        Ok(monitor)
    }

    fn line(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        self.stream.read_line(&mut line).context("QEMU's monitor does not answer")?;
        serde_json::from_str(&line).with_context(|| format!("QEMU's monitor sent `{line}`"))
    }

    fn execute(&mut self, command: &str) -> anyhow::Result<Value> {
        writeln!(self.stream.get_mut(), "{}", json!({ "execute": command }))?;
        loop {
            let mut line = self.line()?;
            if let Some(error) = line.get("error") {
                bail!("QEMU's monitor refused {command}: {error}");
            }
            // Events come between commands and their answers.
            if let Some(answer) = line.get_mut("return") {
                return Ok(answer.take());
            }
        }
    }

    /// Asks QEMU about the drive with this identifier.
    pub fn executed(&mut self, drive: &str) -> anyhow::Result<Executed> {
        let drives = self.execute("query-blockstats")?;
        let drives = drives.as_array().map(Vec::as_slice).unwrap_or_default();
        let stats = drives.iter().find(|stats| stats["device"] == drive);
        let stats = &stats.with_context(|| format!("QEMU has no drive {drive}"))?["stats"];
        let count = |key: &str| stats[key].as_u64().with_context(|| format!("{drive}: {stats}"));
        Ok(Executed { writes: count("wr_operations")?, flushes: count("flush_operations")? })
    }

    /// The flushes that all NVMe drives together have executed.
    pub fn nvme_flushes(&self) -> anyhow::Result<u64> {
        let log = std::fs::read_to_string(&self.log)
            .with_context(|| format!("cannot read {}", self.log.display()))?;
        Ok(log.lines().filter(|line| line.contains("NVME_NVM_CMD_FLUSH")).count() as u64)
    }
}
