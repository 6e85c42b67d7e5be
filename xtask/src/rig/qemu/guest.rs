//! Commands in the guest, over a virtio serial port.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::PATIENCE;
use super::monitor::Monitor;

/// Limit on a start: four times as long as on a busy machine.
const START: Duration = Duration::from_mins(2);

/// A guest that accepts commands.
pub struct Guest {
    stream: BufReader<UnixStream>,
    /// An answer is outstanding, so the next one would be mistaken for another's.
    lost: bool,
    /// Devices by serial number.
    devices: HashMap<String, String>,
    monitor: Monitor,
}

/// The output and exit code of a command.
#[derive(Debug)]
pub struct Output {
    /// Exit code, as in a shell.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Guest {
    /// Waits until the guest with this socket is ready; `monitor` connects to its QEMU.
    pub fn connect(
        socket: &Path,
        monitor: impl FnOnce() -> anyhow::Result<Monitor>,
    ) -> anyhow::Result<Guest> {
        let begun = Instant::now();
        let stream = loop {
            match UnixStream::connect(socket) {
                Ok(stream) => break stream,
                Err(_) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(error) => return Err(error).context("QEMU did not open its socket"),
            }
        };
        stream.set_read_timeout(Some(START))?;
        let mut guest = Guest {
            stream: BufReader::new(stream),
            lost: false,
            devices: HashMap::new(),
            monitor: monitor()?,
        };
        guest.wait_until_ready()?;
        guest.stream.get_ref().set_read_timeout(Some(PATIENCE))?;
        Ok(guest)
    }

    /// Waits until the guest reports that it accepts commands: after its start, and after each
    /// reboot.
    pub fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        loop {
            let line = self.line().context("the guest did not start")?;
            if line.trim() == "ready" {
                return Ok(());
            }
        }
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line)?;
        ensure!(!line.is_empty(), "the guest is gone");
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// Sends a script without waiting for its end, because it ends the machine.
    pub fn send(&mut self, script: &str) -> anyhow::Result<()> {
        let line = STANDARD.encode(script) + "\n";
        self.stream
            .get_mut()
            .write_all(line.as_bytes())
            .context("the guest does not accept commands")
    }

    /// True if the guest can no longer be used.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Runs a shell script to completion.
    pub fn run(&mut self, script: &str) -> anyhow::Result<Output> {
        let output = self.answer(script);
        self.lost |= output.is_err();
        output
    }

    fn answer(&mut self, script: &str) -> anyhow::Result<Output> {
        self.send(script)?;
        let header = self.line().with_context(|| format!("no answer to: {script}"))?;
        let mut numbers = header.split_whitespace().map(str::parse::<usize>);
        let (Some(Ok(code)), Some(Ok(out)), Some(Ok(err))) =
            (numbers.next(), numbers.next(), numbers.next())
        else {
            bail!("the guest answered `{}` to: {script}", header.trim());
        };
        let mut take = |length| -> anyhow::Result<String> {
            let mut bytes = vec![0; length];
            self.stream.read_exact(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Output { code: code as i32, stdout: take(out)?, stderr: take(err)? })
    }

    /// Runs a script that must succeed; returns its stdout without the last newline.
    pub fn must(&mut self, script: &str) -> anyhow::Result<String> {
        let output = self.run(script)?;
        ensure!(
            output.code == 0,
            "`{script}` ended with {}\nstdout: {}\nstderr: {}",
            output.code,
            output.stdout.trim(),
            output.stderr.trim()
        );
        Ok(output.stdout.trim_end().to_owned())
    }

    /// Runs a script whose stdout is JSON.
    pub fn json(&mut self, script: &str) -> anyhow::Result<serde_json::Value> {
        let text = self.must(script)?;
        serde_json::from_str(&text).with_context(|| format!("`{script}` printed no JSON: {text}"))
    }

    /// Runs a script that must exit with this code; returns its stderr.
    pub fn refused(&mut self, script: &str, code: i32) -> anyhow::Result<String> {
        let output = self.run(script)?;
        ensure!(
            output.code == code,
            "`{script}` ended with {} instead of {code}\nstdout: {}\nstderr: {}",
            output.code,
            output.stdout.trim(),
            output.stderr.trim()
        );
        Ok(output.stderr)
    }

    /// Restarts the kernel, like a reset button: drives keep their power.
    pub fn reboot(&mut self) -> anyhow::Result<()> {
        // Without a sync: what should be durable must already be.
        let rebooted =
            self.send("echo b > /proc/sysrq-trigger").and_then(|()| self.wait_until_ready());
        self.lost |= rebooted.is_err();
        // Device names change from boot to boot.
        self.forget_devices();
        rebooted
    }

    /// Looks up all devices again, because their names have changed.
    pub fn forget_devices(&mut self) {
        self.devices.clear();
    }

    /// The machine below the guest.
    pub fn monitor(&mut self) -> &mut Monitor {
        &mut self.monitor
    }

    /// The device of the drive with that serial number, such as `/dev/sda`: looked up once per
    /// boot.
    pub fn device(&mut self, serial: &str) -> anyhow::Result<String> {
        if !self.devices.contains_key(serial) {
            let listed = self.must("serials")?;
            let pairs = listed.lines().filter_map(|line| line.split_once(' '));
            self.devices =
                pairs.map(|(serial, device)| (serial.to_owned(), device.to_owned())).collect();
        }
        self.devices
            .get(serial)
            .cloned()
            .with_context(|| format!("the guest has no drive {serial}"))
    }
}
