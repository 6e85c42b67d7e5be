//! The link between a drive and its host, as the kernel reports it.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Transport;
use crate::system_root::Attributes;

/// The speed of a drive's link. A bad cable, a wrong slot or a worn connector makes it slower than
/// the drive could.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// As negotiated: `16.0 GT/s PCIe x4`, `6.0 Gbps`, `12.0 Gbit`.
    pub now: String,
    /// The fastest that the drive (PCIe), the controller (SATA) or the port (SAS) can do.
    pub most: Option<String>,
}

impl Link {
    /// The link of the disk in this directory of sysfs; `None` for other transports, and where the
    /// kernel does not know.
    pub(crate) fn of_sysfs_path(disk: &Path, transport: Transport) -> Option<Link> {
        match transport {
            Transport::Nvme => pcie(disk),
            Transport::Sata => sata(disk),
            Transport::Sas => sas(disk),
            _ => None,
        }
    }
}

fn pcie(disk: &Path) -> Option<Link> {
    let function = disk.ancestors().find(|above| above.join("current_link_speed").exists())?;
    let function = Attributes { directory: function.to_owned() };
    let speed = |which: &str| {
        let speed = known(function.text(format!("{which}_link_speed")))?;
        Some(format!("{speed} x{}", known(function.text(format!("{which}_link_width")))?))
    };
    Some(Link { now: speed("current")?, most: speed("max") })
}

/// The link of a port of libata, such as `ata1/link1/ata_link/link1`.
fn sata(disk: &Path) -> Option<Link> {
    let port = disk.ancestors().find(|above| {
        let name = above.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_prefix("ata").is_some_and(|number| number.parse::<u32>().is_ok())
    })?;
    let port = Attributes { directory: port.to_owned() };
    let link = port.entries("").into_iter().find(|name| name.starts_with("link"))?;
    let speed = |file: &str| known(port.text(format!("{link}/ata_link/{link}/{file}")));
    Some(Link { now: speed("sata_spd")?, most: speed("hw_sata_spd_limit") })
}

/// A port of several lanes is as fast as its slowest: `port-0:0/phy-0:0/sas_phy/phy-0:0`.
fn sas(disk: &Path) -> Option<Link> {
    let port = disk.ancestors().find(|above| {
        above.file_name().is_some_and(|name| name.to_string_lossy().starts_with("port-"))
    })?;
    let port = Attributes { directory: port.to_owned() };
    let lanes = port.entries("").into_iter().filter(|name| name.starts_with("phy-"));
    let speed = |lane: &str, file: &str| known(port.text(format!("{lane}/sas_phy/{lane}/{file}")));
    let number = |speed: &str| -> f64 {
        speed.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(f64::INFINITY)
    };
    let (lane, now) = lanes
        .filter_map(|lane| speed(&lane, "negotiated_linkrate").map(|now| (lane, now)))
        .min_by(|(_, one), (_, other)| number(one).total_cmp(&number(other)))?;
    Some(Link { now, most: speed(&lane, "maximum_linkrate") })
}

/// The kernel writes `Unknown` for a link of virtual hardware, and `<unknown>` for one that is down.
fn known(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.to_lowercase().contains("unknown") && text != "0")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The link of a disk in a tree with these files.
    fn link(disk: &str, transport: Transport, files: &[(&str, &str)]) -> Option<Link> {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(disk)).unwrap();
        for (file, text) in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        Link::of_sysfs_path(&root.path().join(disk), transport)
    }

    fn shown(link: Option<Link>) -> String {
        link.map_or("none".to_owned(), |link| {
            format!("{} of {}", link.now, link.most.unwrap_or_default())
        })
    }

    #[test]
    fn links_of_each_transport() {
        let nvme = "pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1";
        let pcie = |speed, width| {
            [
                ("pci0000:00/0000:01:00.0/current_link_speed", speed),
                ("pci0000:00/0000:01:00.0/current_link_width", width),
                ("pci0000:00/0000:01:00.0/max_link_speed", "16.0 GT/s PCIe"),
                ("pci0000:00/0000:01:00.0/max_link_width", "4"),
            ]
        };
        let slow = link(nvme, Transport::Nvme, &pcie("2.5 GT/s PCIe", "1"));
        assert_eq!(shown(slow), "2.5 GT/s PCIe x1 of 16.0 GT/s PCIe x4");
        assert_eq!(link(nvme, Transport::Nvme, &pcie("Unknown", "0")), None);
        assert_eq!(link(nvme, Transport::Virtio, &pcie("2.5 GT/s PCIe", "1")), None);
        assert_eq!(link(nvme, Transport::Nvme, &[]), None);

        let sata = "pci0000:00/0000:00:17.0/ata3/host2/target2:0:0/2:0:0:0/block/sdc";
        let at = "pci0000:00/0000:00:17.0/ata3/link3/ata_link/link3";
        let (now, most) = (format!("{at}/sata_spd"), format!("{at}/hw_sata_spd_limit"));
        let files = [(now.as_str(), "1.5 Gbps"), (most.as_str(), "6.0 Gbps")];
        assert_eq!(shown(link(sata, Transport::Sata, &files)), "1.5 Gbps of 6.0 Gbps");
        assert_eq!(link(sata, Transport::Sata, &[(&now, "<unknown>")]), None);

        let sas = "pci0000:00/host0/port-0:1/end_device-0:1/target0:0:1/0:0:1:0/block/sda";
        let lane = |number: u32, file: &str| {
            let lane = format!("phy-0:{number}");
            format!("pci0000:00/host0/port-0:1/{lane}/sas_phy/{lane}/{file}")
        };
        let files = [
            (lane(0, "negotiated_linkrate"), "12.0 Gbit"),
            (lane(1, "negotiated_linkrate"), "6.0 Gbit"),
            (lane(1, "maximum_linkrate"), "12.0 Gbit"),
        ];
        let files: Vec<(&str, &str)> =
            files.iter().map(|(file, text)| (file.as_str(), *text)).collect();
        assert_eq!(shown(link(sas, Transport::Sas, &files)), "6.0 Gbit of 12.0 Gbit");
    }
}
