//! The devices that rows run on: a private zram device, and a private loop device on a file in
//! memory. Both are removed at the end.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::rows::Rig;
use super::zram::Zram;
use crate::command::{command, output};

const BYTES: u64 = 1 << 30;

pub struct Rigs {
    zram: Zram,
    image: LoopDevice,
}

impl Rigs {
    /// Sets both devices up and fills the loop device, so reads find data.
    pub fn set_up() -> anyhow::Result<Rigs> {
        Ok(Rigs { zram: Zram::hot_add(BYTES)?, image: LoopDevice::make()? })
    }

    pub fn target(&self, rig: Rig) -> &str {
        match rig {
            Rig::Null => "null:",
            Rig::Model => "sim:enterprise-nvme",
            Rig::Zram => &self.zram.device,
            Rig::Loop => &self.image.device,
        }
    }
}

/// A loop device on a file in memory, filled with random data.
struct LoopDevice {
    device: String,
    image: PathBuf,
}

impl LoopDevice {
    fn make() -> anyhow::Result<LoopDevice> {
        let image =
            Path::new("/dev/shm").join(format!("flushmark-versus-{}.img", std::process::id()));
        let memory =
            fs::File::create(&image).with_context(|| format!("cannot make {}", image.display()))?;
        let mut made = LoopDevice { device: String::new(), image };
        memory
            .set_len(BYTES)
            .with_context(|| format!("cannot make {} 1 GiB long", made.image.display()))?;
        let device = output("losetup", &["--find", "--show", &made.image.to_string_lossy()])?;
        made.device.push_str(device.trim());
        let (into, count) = (format!("of={}", made.device), format!("count={}", BYTES >> 20));
        let fill = ["if=/dev/urandom", &into, "bs=1M", &count, "oflag=direct", "status=none"];
        let status = command("dd", &fill).status().context("cannot start dd")?;
        if !status.success() {
            bail!("cannot fill {}: dd ended with {status}", made.device);
        }
        Ok(made)
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if !self.device.is_empty() {
            let _ = output("losetup", &["--detach", &self.device]);
        }
        let _ = fs::remove_file(&self.image);
    }
}
