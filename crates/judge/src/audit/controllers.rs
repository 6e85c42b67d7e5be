//! RAID controllers and host adapters on PCI, between the kernel and the drives.

use drive::HostFacts;
use drive::host::Controller;
use measurement::AuditLine;

use super::line::{advised, costs, dangerous, good};

/// Adapters with a known ceiling: PCI ids, name, random IOPS over all attached drives.
///
/// The LSI 9211-8i (SAS2008) saturates at about 280,000 IOPS: Broadcom's product brief gives
/// 290,000, published measurements range from 250,000 to 280,000.
const CEILINGS: [(u16, u16, &str, &str); 1] =
    [(0x1000, 0x0072, "LSI SAS2008 (9211-8i and similar)", "280,000")];

pub(super) fn lines(host: &HostFacts) -> Vec<AuditLine> {
    host.controllers
        .iter()
        .filter(|controller| !controller.disks.is_empty() || controller.is_raid())
        .map(of_one)
        .collect()
}

fn of_one(controller: &Controller) -> AuditLine {
    let driver = controller.driver.as_deref().unwrap_or("no driver");
    let ids = format!(
        "{:04x}:{:04x} at {}, driver {driver}",
        controller.vendor_id, controller.device_id, controller.address
    );
    let disks = if controller.disks.is_empty() {
        "no disk".to_owned()
    } else {
        controller.disks.join(", ")
    };
    if controller.is_raid() {
        let why = "A RAID controller hides the drives. It acknowledges flushes from its own \
                   memory, which is safe only as long as its battery or capacitor is healthy, and \
                   often leaves the drives' caches on. Measurements show the controller's cache.";
        return advised(
            dangerous("raid-controller", format!("RAID controller in front of {disks}"), ids, why),
            "Check with the vendor's tool (storcli, perccli, ssacli, arcconf) that the cache has a \
             healthy battery, that it falls back to write-through without one, and that the \
             drives' caches are off; or use the drives in HBA mode.",
        );
    }
    let ceiling = CEILINGS.iter().find(|(vendor, device, ..)| {
        (*vendor, *device) == (controller.vendor_id, controller.device_id)
    });
    match ceiling {
        Some((_, _, name, iops)) => {
            let why = format!(
                "{name} saturates at about {iops} IOPS over all attached drives: several flash \
                 drives together are slower than one alone."
            );
            advised(
                costs("hba-ceiling", format!("Host adapter in front of {disks}"), ids, &why),
                "Spread flash drives over several adapters, or attach them directly to the \
                 mainboard.",
            )
        }
        None => good(
            "controller",
            format!("Controller of {disks}"),
            ids,
            "It does not hide the drives.",
        ),
    }
}
