//! Loop devices in memory.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::command::{command, output};

/// A loop device on a file in memory, filled with random data.
pub struct LoopDevice {
    /// Such as `/dev/loop3`.
    pub path: String,
    image: PathBuf,
}

impl LoopDevice {
    pub fn make(bytes: u64) -> anyhow::Result<LoopDevice> {
        let image =
            Path::new("/dev/shm").join(format!("flushmark-versus-{}.img", std::process::id()));
        let memory =
            fs::File::create(&image).with_context(|| format!("cannot make {}", image.display()))?;
        let mut made = LoopDevice { path: String::new(), image };
        memory
            .set_len(bytes)
            .with_context(|| format!("cannot make {} {bytes} bytes long", made.image.display()))?;
        let device = output("losetup", &["--find", "--show", &made.image.to_string_lossy()])?;
        made.path.push_str(device.trim());
        let (into, count) = (format!("of={}", made.path), format!("count={}", bytes >> 20));
        let fill = ["if=/dev/urandom", &into, "bs=1M", &count, "oflag=direct", "status=none"];
        let status = command("dd", &fill).status().context("cannot start dd")?;
        if !status.success() {
            bail!("cannot fill {}: dd ended with {status}", made.path);
        }
        Ok(made)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if !self.path.is_empty() {
            let _ = output("losetup", &["--detach", &self.path]);
        }
        let _ = fs::remove_file(&self.image);
    }
}
