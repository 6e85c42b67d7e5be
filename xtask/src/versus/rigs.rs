//! The devices that rows run on: a zram device and a loop device on a file in memory, both of our own and taken down at the end.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::rows::Rig;
use crate::command::{command, output};

const BYTES: u64 = 1 << 30;

/// What was set up.
pub struct Rigs {
    zram: Zram,
    image: LoopDevice,
}

impl Rigs {
    /// Sets both devices up and fills the loop device, so that reads find data.
    pub fn set_up() -> anyhow::Result<Rigs> {
        Ok(Rigs { zram: Zram::take()?, image: LoopDevice::make()? })
    }

    /// What a row names as its target.
    pub fn target(&self, rig: Rig) -> &str {
        match rig {
            Rig::Null => "null:",
            Rig::Model => "sim:enterprise-nvme",
            Rig::Zram => &self.zram.device,
            Rig::Loop => &self.image.device,
        }
    }
}

/// A zram device that nobody used.
struct Zram {
    device: String,
    sysfs: PathBuf,
}

impl Zram {
    fn take() -> anyhow::Result<Zram> {
        let idle = (0..16)
            .map(|index| PathBuf::from(format!("/sys/block/zram{index}")))
            .find(|sysfs| fs::read_to_string(sysfs.join("disksize")).is_ok_and(|size| size.trim() == "0"));
        let sysfs = idle.context("no idle zram device (modprobe zram, or write to /sys/class/zram-control/hot_add)")?;
        let name = sysfs.file_name().unwrap_or_default().to_string_lossy().into_owned();
        fs::write(sysfs.join("disksize"), BYTES.to_string()).context("cannot set the size of the zram device")?;
        Ok(Zram { device: format!("/dev/{name}"), sysfs })
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = fs::write(self.sysfs.join("reset"), "1");
    }
}

struct LoopDevice {
    device: String,
    image: PathBuf,
}

impl LoopDevice {
    fn make() -> anyhow::Result<LoopDevice> {
        let image = Path::new("/dev/shm").join(format!("flushmark-versus-{}.img", std::process::id()));
        fs::File::create(&image)?.set_len(BYTES)?;
        let mut made = LoopDevice { device: String::new(), image };
        let device = output("losetup", &["--find", "--show", &made.image.to_string_lossy()])?;
        made.device.push_str(device.trim());
        let (into, count) = (format!("of={}", made.device), format!("count={}", BYTES >> 20));
        let fill = ["if=/dev/urandom", &into, "bs=1M", &count, "oflag=direct", "status=none"];
        if !command("dd", &fill).status()?.success() {
            bail!("cannot fill {}", made.device);
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
