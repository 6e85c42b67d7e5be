//! Storage controllers on PCI.

use super::facts::Controller;
use crate::SystemRoot;
use crate::bus::{Attached, driver, hexadecimal};

/// Mass storage: the first byte of the PCI class code.
const MASS_STORAGE: u32 = 0x01;

/// Every storage controller, with the disks attached to it. USB is not one: its class is that of a
/// serial bus.
pub(super) fn controllers(root: &SystemRoot, disks: &[Attached]) -> Vec<Controller> {
    let bus = root.attributes("sys/bus/pci/devices");
    let found = bus.entries("").into_iter().filter_map(|address| {
        let number = |file: &str| hexadecimal(&bus.text(format!("{address}/{file}"))?);
        let class = number("class").filter(|class| class >> 16 == MASS_STORAGE)?;
        Some(Controller {
            class,
            vendor_id: number("vendor")?.try_into().ok()?,
            device_id: number("device")?.try_into().ok()?,
            driver: driver(&bus, &address),
            numa_node: bus.parsed(format!("{address}/numa_node")),
            disks: disks
                .iter()
                .filter(|disk| disk.place.iter().any(|part| part == address.as_str()))
                .map(|disk| disk.device.name.clone())
                .collect(),
            address,
        })
    });
    found.collect()
}
