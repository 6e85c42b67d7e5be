//! RAID controllers and host adapters on PCI: what stands between the kernel and the drives.

use drive::HostFacts;
use drive::host::Controller;
use measurement::AuditLine;

use super::line::{advised, costs, dangerous, good};

/// Adapters with a known ceiling: PCI ids, name, random I/Os a second over all drives behind it.
///
/// The LSI 9211-8i (SAS2008) ends at about 280,000 IOPS: Broadcom's product brief gives 290,000, people measure 250,000 to 280,000.
const CEILINGS: [(u16, u16, &str, &str); 1] = [(0x1000, 0x0072, "LSI SAS2008 (9211-8i and its kin)", "280,000")];

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    host.controllers
        .iter()
        .filter(|controller| !controller.disks.is_empty() || controller.is_raid())
        .map(of_one)
        .collect()
}

fn of_one(controller: &Controller) -> AuditLine {
    let driver = controller.driver.as_deref().unwrap_or("no driver");
    let ids =
        format!("{:04x}:{:04x} at {}, driver {driver}", controller.vendor_id, controller.device_id, controller.address);
    let disks = if controller.disks.is_empty() { "no disk".to_owned() } else { controller.disks.join(", ") };
    if controller.is_raid() {
        let why = "A RAID controller hides the drives: it answers flushes from its own memory, which is safe only while its battery or capacitor is, and often leaves the drives' own caches on unseen. What is measured is the controller's word.";
        return advised(
            dangerous("raid-controller", format!("RAID controller before {disks}"), ids, why),
            "See with the maker's tool (storcli, perccli, ssacli, arcconf) that the cache is protected by a healthy battery, that it falls back to write-through without one, and that the drives' own caches are off; or use the drives in HBA mode.",
        );
    }
    let ceiling =
        CEILINGS.iter().find(|(vendor, device, ..)| (*vendor, *device) == (controller.vendor_id, controller.device_id));
    match ceiling {
        Some((_, _, name, iops)) => {
            let why = format!(
                "{name} ends at about {iops} IOPS over all drives behind it: several flash drives together are slower than each alone."
            );
            advised(
                costs("hba-ceiling", format!("Host adapter before {disks}"), ids, &why),
                "Spread flash drives over several adapters, or attach them to the mainboard.",
            )
        }
        None => good("controller", format!("Controller before {disks}"), ids, "It hides no drives."),
    }
}
