//! The devices that rows run on: a private zram device, and a private loop device on a file in
//! memory. Both are removed at the end.

use super::rows::Rig;
use super::zram::Zram;
use crate::versus::loop_device::LoopDevice;

const BYTES: u64 = 1 << 30;

pub struct Rigs {
    zram: Zram,
    image: LoopDevice,
}

impl Rigs {
    /// Sets both devices up and fills the loop device, so reads find data.
    pub fn set_up() -> anyhow::Result<Rigs> {
        Ok(Rigs { zram: Zram::hot_add(BYTES)?, image: LoopDevice::make(BYTES)? })
    }

    pub fn target(&self, rig: Rig) -> &str {
        match rig {
            Rig::Null => "null:",
            Rig::Model => "sim:enterprise-nvme",
            Rig::Zram => &self.zram.device,
            Rig::Loop => &self.image.path,
        }
    }
}
