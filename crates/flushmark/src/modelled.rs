//! Describes a model as the system describes a real machine, so that the header and the judgement
//! treat both alike.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use catalogue::Class;
use catalogue::model::{Filesystem, Parameters};
use drive::{
    Backing, BlockDevice, DeviceNumber, Mount, MountTable, Place, PlaceKind, Queue, Transport,
    WriteCache,
};
use simdrive::{Identity, Impossible, Machine, SimTarget};

use crate::exit::WrongUse;

/// Mount point of modelled filesystems.
const MOUNT_POINT: &str = "/model";

/// The machine that the user named, as `given`.
pub fn machine(given: &str, target: &SimTarget<'_>) -> anyhow::Result<Machine> {
    let wrong = |error: String| WrongUse(error);
    // A path has a slash or an extension; a model's name has neither.
    let path = Path::new(target.model);
    let machine = if target.model.contains('/')
        || path.extension().is_some_and(|ending| ending == "toml")
    {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let model = catalogue::models::parse(&text)
            .map_err(|error| wrong(format!("{} is not a valid model: {error}", path.display())))?;
        target.machine(&model)
    } else {
        let model =
            simdrive::model(target.model).map_err(|error| match catalogue::find(target.model) {
                // Only the catalogue has a similar name.
                Err(unknown) if error.nearest.is_empty() && !unknown.nearest.is_empty() => {
                    wrong(unknown.to_string())
                }
                _ => wrong(error.to_string()),
            })?;
        target.machine(&model)
    };
    let machine = machine.map_err(|error| wrong(error.to_string()))?;
    let is_on =
        machine.drive(false).map_err(|error| wrong(error.to_string()))?.identity().volatile_cache;
    if machine.write_cache.requires_on().is_some_and(|on| on != is_on) {
        let what = format!(
            "`{given}`: this drive reports no volatile write cache, so there is none to switch"
        );
        return Err(wrong(what).into());
    }
    Ok(machine)
}

/// The filesystem and the drive of the machine that the user named as `given`.
pub fn place(given: &str, machine: &Machine) -> Result<Place, Impossible> {
    let identity = machine.drive(false)?.identity();
    let model = &machine.model;
    let device = match &model.drive {
        Parameters::Array(array) => {
            // Each member has the model's label; the capacity is the array's.
            let whole = device(given, machine, &identity);
            let member =
                BlockDevice { name: "member".to_owned(), size_bytes: None, ..whole.clone() };
            // Distinct device numbers make distinct drives.
            let numbered =
                |minor| BlockDevice { device: DeviceNumber { major: 0, minor }, ..member.clone() };
            BlockDevice {
                transport: Transport::Md,
                layer: Some(format!("raid{}", array.level.number())),
                model: None,
                layers: (1..=array.members).map(numbered).collect(),
                ..whole
            }
        }
        _ => device(given, machine, &identity),
    };
    let mount = match model.host.filesystem {
        Filesystem::None => None,
        Filesystem::Ext4 => ext4(),
    };
    let kind = if mount.is_some() { PlaceKind::Directory } else { PlaceKind::BlockDevice };
    Ok(Place {
        path: PathBuf::from(given),
        kind,
        device: device.device,
        mount,
        size_bytes: (kind == PlaceKind::BlockDevice).then_some(identity.capacity_bytes),
        backing: Backing::BlockDevice(Box::new(device)),
        space: None,
        direct_io: None,
    })
}

fn device(given: &str, machine: &Machine, identity: &Identity) -> BlockDevice {
    BlockDevice {
        // Major number 0: no driver of this machine has it.
        device: DeviceNumber { major: 0, minor: 0 },
        path: PathBuf::from(given),
        name: given.to_owned(),
        partition: None,
        transport: transport(machine.model.class, identity),
        layer: None,
        model: Some(machine.model.label.clone()),
        vendor: None,
        serial: None,
        firmware: None,
        size_bytes: Some(identity.capacity_bytes),
        read_only: Some(false),
        queue: Queue {
            logical_block_bytes: Some(512),
            max_request_bytes: Some(machine.model.host.request_most.0),
            rotational: Some(identity.rotational),
            nr_requests: Some(u64::from(identity.queue_depth)),
            write_cache: Some(if identity.volatile_cache {
                WriteCache::WriteBack
            } else {
                WriteCache::WriteThrough
            }),
            fua: Some(identity.fua),
            counts_io: Some(true),
            ..Queue::default()
        },
        cache_type: None,
        link: None,
        backing_file: None,
        backing_device: None,
        rbd_image: None,
        layers: Vec::new(),
        holders: Vec::new(),
    }
}

/// An ext4 with a distribution's usual mount options.
fn ext4() -> Option<Mount> {
    let line = format!("1 0 0:0 / {MOUNT_POINT} rw,relatime - ext4 sim rw\n");
    MountTable::parse(line.as_bytes()).ok()?.mounts().first().cloned()
}

const fn transport(class: Class, identity: &Identity) -> Transport {
    match class {
        Class::EnterpriseNvme | Class::EnterprisePcie | Class::ConsumerNvme | Class::CloudLocal => {
            Transport::Nvme
        }
        Class::EnterpriseSas => Transport::Sas,
        Class::EnterpriseSata | Class::ConsumerPcie | Class::ConsumerSata | Class::Disk => {
            Transport::Sata
        }
        // virtio-blk has no FUA.
        Class::CloudVolume if identity.fua => Transport::Nvme,
        Class::CloudVolume => Transport::Virtio,
        Class::UsbStick => Transport::Usb,
    }
}
