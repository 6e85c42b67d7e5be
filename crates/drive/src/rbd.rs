//! Images of a Ceph cluster that the kernel's driver presents as block devices
//! (Documentation/ABI/testing/sysfs-bus-rbd).

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SystemRoot;

/// The content of `current_snap` if no snapshot is mapped.
const NO_SNAPSHOT: &str = "-";

/// The image behind `/dev/rbdN`. Each write is on all replicas when it is acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RbdImage {
    pub pool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    pub name: String,
    /// Does not change when the image is renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// The mapped snapshot, which cannot be written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// The cluster's identifier, a UUID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
}

impl RbdImage {
    /// The image that the disk with this kernel name is mapped from.
    pub(crate) fn mapped_as(root: &SystemRoot, disk: &str) -> Option<RbdImage> {
        let number: u32 = disk.strip_prefix("rbd")?.parse().ok()?;
        let device = root.attributes(format!("sys/bus/rbd/devices/{number}"));
        let text = |file: &str| device.text(file).filter(|text| !text.is_empty());
        Some(RbdImage {
            pool: text("pool")?,
            namespace: text("pool_ns"),
            name: text("name")?,
            image_id: text("image_id"),
            snapshot: text("current_snap").filter(|snapshot| snapshot != NO_SNAPSHOT),
            cluster: text("cluster_fsid"),
        })
    }
}

/// As `rbd` names it: `pool/namespace/image@snapshot`.
impl fmt::Display for RbdImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/", self.pool)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)?;
        self.snapshot.as_ref().map_or(Ok(()), |snapshot| write!(f, "@{snapshot}"))
    }
}

#[cfg(test)]
mod tests {
    use captures::built;

    use super::*;
    use crate::{BlockDevice, DeviceNumber, Transport};

    fn read(machine: &captures::Machine, number: &str) -> BlockDevice {
        let number: DeviceNumber = number.parse().unwrap();
        BlockDevice::read(&SystemRoot::new(machine.path()), number).unwrap()
    }

    #[test]
    fn a_mapped_image_is_named_with_its_pool() {
        let machine = built::ceph_client();
        let disk = read(&machine, "252:0");
        let image = disk.rbd_image.as_ref().unwrap();
        assert_eq!((disk.transport, image.to_string().as_str()), (Transport::Rbd, "vms/db"));
        assert_eq!(image.image_id.as_deref(), Some("1a2b3c4d5e6f"));
        assert_eq!(image.cluster.as_deref(), Some("9e35ec43-3895-462d-a028-8bb1251ca16e"));
        assert_eq!(disk.label().as_deref(), Some("image vms/db"));
        let partition = read(&machine, "252:1");
        assert_eq!(partition.rbd_image, disk.rbd_image);
        let snapshot = read(&machine, "252:16").rbd_image.unwrap();
        assert_eq!(snapshot.to_string(), "vms/tenant/db@monday");
    }

    #[test]
    fn without_the_bus_the_device_has_no_image() {
        let machine = captures::Machine::new();
        machine.disk("rbd/0/block/rbd0", "252:0", &[("size", "2048")]);
        let disk = read(&machine, "252:0");
        assert_eq!((disk.transport, disk.rbd_image), (Transport::Rbd, None));
    }
}
