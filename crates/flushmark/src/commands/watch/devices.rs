//! The devices that are watched.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use drive::{BlockDevice, Counters, DeviceNumber, DriveError, NoBlockDevice, Place, SystemRoot};
use measurement::watch::{CommitsReading, DeviceReading};

use crate::exit::{WrongUse, complain};

pub struct Devices {
    root: SystemRoot,
    watched: Vec<Watched>,
}

struct Watched {
    name: String,
    number: DeviceNumber,
}

impl Devices {
    /// The drives below these places; all drives if none is named.
    pub fn find(root: &SystemRoot, places: &[PathBuf]) -> anyhow::Result<Devices> {
        let drives = if places.is_empty() {
            drive::drives(root)
        } else {
            let below = places.iter().map(|path| drives_below(root, path));
            below.collect::<Result<Vec<_>, _>>()?.concat()
        };
        let mut watched: Vec<Watched> = Vec::new();
        for drive in drives {
            let number = drive.disk_device();
            if watched.iter().all(|known| known.number != number) {
                watched.push(Watched { name: drive.disk_name().to_owned(), number });
            }
        }
        if watched.is_empty() {
            let words = "no drive was found under /sys/block; name a device or a path to watch";
            return Err(WrongUse(words.to_owned()).into());
        }
        Ok(Devices { root: root.clone(), watched })
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.watched.iter().map(|watched| watched.name.as_str())
    }

    /// The counters of those that are still there, with their commits if these are traced.
    pub fn read(
        &mut self,
        commits: Option<&HashMap<DeviceNumber, CommitsReading>>,
    ) -> Vec<DeviceReading> {
        let Devices { root, watched } = self;
        let mut readings = Vec::new();
        watched.retain(|Watched { name, number }| match Counters::read(root, *number) {
            Ok(counters) => {
                let commits = commits.map(|all| all.get(number).cloned().unwrap_or_default());
                readings.push(DeviceReading { device: name.clone(), counters, commits });
                true
            }
            Err(error) => {
                complain(&farewell(name, &error));
                false
            }
        });
        readings
    }

    /// # Errors
    /// If all of them have vanished.
    pub fn expect_some(&self) -> anyhow::Result<()> {
        anyhow::ensure!(!self.watched.is_empty(), "none of the watched devices is left");
        Ok(())
    }
}

fn farewell(name: &str, error: &DriveError) -> String {
    match error {
        DriveError::NoSuchDevice { .. } => format!("{name} has vanished and is no longer watched"),
        // Its file vanished while it was read.
        DriveError::MalformedCounters { text, .. } if text.is_empty() => {
            format!("{name} has vanished and is no longer watched")
        }
        error => format!("{name} is no longer watched: {error}"),
    }
}

fn drives_below(root: &SystemRoot, path: &Path) -> anyhow::Result<Vec<BlockDevice>> {
    let place = Place::of(root, path)?;
    let device = place.block_device().ok_or_else(|| WrongUse(not_on_a_device(&place)))?;
    Ok(device.drives().into_iter().cloned().collect())
}

fn not_on_a_device(place: &Place) -> String {
    let instead = match place.no_block_device() {
        Some(NoBlockDevice::Pool { .. }) => {
            "name the drives of its pool, which `zpool status -P` lists"
        }
        _ => "name a device, or a path on a drive",
    };
    format!(
        "{} is not on a block device (its filesystem is {}), so the kernel counts no writes and \
         flushes for it; {instead}",
        place.path.display(),
        place.fs_type().unwrap_or("unknown")
    )
}

#[cfg(test)]
mod tests {
    use drive::Backing;

    use super::*;

    #[test]
    fn a_pool_has_drives_to_name() {
        let backing = Backing::NoBlockDevice(NoBlockDevice::Pool { source: "tank/db".to_owned() });
        let place = samples::place::directory("/tank/db", "/tank/db", "zfs", "rw", backing);
        insta::assert_snapshot!(not_on_a_device(&place), @"/tank/db is not on a block device (its filesystem is zfs), so the kernel counts no writes and flushes for it; name the drives of its pool, which `zpool status -P` lists");
    }
}
