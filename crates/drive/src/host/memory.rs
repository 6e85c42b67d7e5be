//! Writeback settings: Documentation/admin-guide/sysctl/vm.rst,
//! Documentation/admin-guide/mm/transhuge.rst.

use super::facts::MemoryFacts;
use crate::SystemRoot;
use crate::block::chosen;

/// The kernel counts these times in hundredths of a second (`USER_HZ`).
const CENTISECOND_MS: u64 = 10;

impl MemoryFacts {
    pub(super) fn read(root: &SystemRoot) -> Self {
        let vm = root.attributes("proc/sys/vm");
        let time_ms =
            |file| vm.parsed::<u64>(file).and_then(|time| time.checked_mul(CENTISECOND_MS));
        // The kernel rejects values above 100.
        let percent = |file| vm.parsed::<u64>(file).filter(|&percent| percent <= 100);
        MemoryFacts {
            dirty_percent: percent("dirty_ratio"),
            dirty_background_percent: percent("dirty_background_ratio"),
            dirty_bytes: vm.parsed("dirty_bytes"),
            dirty_background_bytes: vm.parsed("dirty_background_bytes"),
            dirty_expire_ms: time_ms("dirty_expire_centisecs"),
            dirty_writeback_ms: time_ms("dirty_writeback_centisecs"),
            transparent_huge_pages: root
                .attributes("sys/kernel/mm/transparent_hugepage")
                .text("enabled")
                .and_then(|text| chosen(&text)),
            laptop_mode: vm.parsed("laptop_mode"),
        }
    }
}
