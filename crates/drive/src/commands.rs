//! The facts that a drive reports in response to its own commands: ATA through SCSI, SCSI, NVMe.
//!
//! | module | purpose |
//! | --- | --- |
//! | `command_set` | the command sets that a device understands |
//! | `ata`, `scsi`, `nvme` | encode commands and decode answers, without I/O |
//! | `ask` | conversations: the commands for one question, in order |
//! | `connection` | sends one command, and turns failures into errors |
//! | `carrier` | the seam below it: the kernel, or a simulated drive in tests |
//! | `passthrough` | the kernel's ioctls |
//! | `virtio` | virtio-blk, which is asked through sysfs |
//!
//! Only queries and the switch of the write cache are ever sent. USB devices are asked with care:
//! removable media (sticks, card readers) are left alone, because some of them hang on commands
//! that every disk knows.

mod answer;
mod ask;
mod ata;
mod bytes;
mod cache_reading;
mod carrier;
mod command_set;
mod connection;
mod error;
mod identity;
mod nvme;
mod passthrough;
mod scsi;
#[cfg(test)]
mod tests;
mod virtio;

pub use answer::Answer;
pub use cache_reading::{AfterPowerCycle, CacheReading, ToldBy};
pub use error::CommandError;
pub use identity::{DriveIdentity, Rotation};

use crate::block::sysfs_place;
use crate::system_root::Attributes;
use crate::{BlockDevice, Health, SystemRoot, Wear};
use ask::scsi::Care;
use command_set::{Ata, CommandSet};
use connection::Connection;
use error::InvalidAnswer;
use passthrough::Passthrough;
use virtio::VirtioConfig;

/// A drive that accepts commands.
///
/// ```no_run
/// use drive::{BlockDevice, OpenDrive, SystemRoot};
///
/// let root = SystemRoot::default();
/// let disk = BlockDevice::read(&root, "8:0".parse()?)?;
/// let mut drive = OpenDrive::open(&root, &disk)?;
/// println!("write cache on: {}", drive.write_cache()?.enabled);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OpenDrive(Opened);

#[derive(Debug)]
enum Opened {
    Nvme(Connection),
    Scsi { connection: Connection, ata: Ata, dialect: Option<Dialect> },
    Virtio(VirtioConfig),
}

/// The command set of a drive that accepts SCSI commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// ATA inside; SCSI's pages, which its translation layer makes up, are second best.
    Ata,
    Scsi,
}

impl OpenDrive {
    /// Opens a whole disk for commands. Sends nothing yet.
    ///
    /// # Errors
    /// [`CommandError::NotSupported`] for devices that take no commands (layers, memory, loop
    /// devices, partitions; the message names the device to ask instead),
    /// [`CommandError::NeedsRoot`], and [`CommandError::Gone`] also when the disk's name now
    /// belongs to another disk.
    pub fn open(root: &SystemRoot, disk: &BlockDevice) -> Result<OpenDrive, CommandError> {
        let device = || disk.path.clone();
        let place = sysfs_place(root, disk.device)
            .ok_or_else(|| CommandError::Gone { device: device() })?;
        let command_set = CommandSet::of(disk, &Attributes { directory: place })
            .map_err(|because| CommandError::NotSupported { device: device(), because })?;
        let connection = || {
            let carrier = Passthrough::open(&root.path(&disk.path), disk.device);
            let carrier = carrier.map_err(|errno| Connection::not_opened(&disk.path, errno))?;
            Ok::<_, CommandError>(Connection::new(&disk.path, Box::new(carrier)))
        };
        Ok(OpenDrive(match command_set {
            CommandSet::Nvme => Opened::Nvme(connection()?),
            CommandSet::Scsi(ata) => Opened::Scsi { connection: connection()?, ata, dialect: None },
            CommandSet::VirtioConfig(cache_type) => {
                Opened::Virtio(VirtioConfig { device: device(), cache_type })
            }
        }))
    }

    /// Asks for the state of the volatile write cache.
    ///
    /// # Errors
    /// When the drive does not answer, its answer is invalid, or this user may not ask. A drive
    /// without a cache is not an error.
    pub fn write_cache(&mut self) -> Result<CacheReading, CommandError> {
        match &mut self.0 {
            Opened::Nvme(connection) => ask::nvme::write_cache(connection),
            Opened::Scsi { connection, ata, dialect } => {
                let care = ata.care();
                in_dialect(connection, *ata, dialect, ask::ata::write_cache, |connection| {
                    ask::scsi::write_cache(connection, care)
                })
            }
            Opened::Virtio(config) => config.write_cache(),
        }
    }

    /// Switches the cache with the drive's own command. Only a subsequent reading shows the result.
    pub fn set_write_cache(&mut self, on: bool) -> Result<(), CommandError> {
        let reading = self.write_cache()?;
        match &mut self.0 {
            Opened::Nvme(connection) | Opened::Scsi { connection, .. } if !reading.present => {
                Err(connection.unsupported("it has no volatile write cache"))
            }
            Opened::Nvme(connection) => ask::nvme::switch(connection, on),
            // Use the command set that answered: the other may not work.
            Opened::Scsi { connection, .. } if reading.told_by == ToldBy::AtaIdentify => {
                ask::ata::switch(connection, on)
            }
            Opened::Scsi { connection, ata, .. } => ask::scsi::switch(connection, ata.care(), on),
            Opened::Virtio(config) => config.set_write_cache(on),
        }
    }

    /// Asks for the drive's health.
    ///
    /// # Errors
    /// Those of [`write_cache`](OpenDrive::write_cache), and [`CommandError::NotSupported`] where a
    /// drive keeps no health counters.
    pub fn health(&mut self) -> Result<Health, CommandError> {
        match &mut self.0 {
            Opened::Nvme(connection) => ask::nvme::health(connection),
            Opened::Scsi { connection, ata, dialect } => {
                in_dialect(connection, *ata, dialect, ask::ata::health, ask::scsi::health)
            }
            Opened::Virtio(config) => Err(CommandError::NotSupported {
                device: config.device.clone(),
                because: "the host does not expose the drive's health".to_owned(),
            }),
        }
    }

    /// Asks for the drive's counters of what it has written to its medium.
    ///
    /// # Errors
    /// Those of [`write_cache`](OpenDrive::write_cache), and [`CommandError::NotSupported`] where a
    /// drive has no such counter, or none whose meaning is known.
    pub fn wear(&mut self) -> Result<Wear, CommandError> {
        match &mut self.0 {
            Opened::Nvme(connection) => ask::nvme::wear(connection),
            Opened::Scsi { connection, ata, dialect } => {
                in_dialect(connection, *ata, dialect, ask::ata::wear, |connection| {
                    Err(connection.unsupported("SCSI has no counter of what a drive writes"))
                })
            }
            Opened::Virtio(config) => Err(CommandError::NotSupported {
                device: config.device.clone(),
                because: "the host does not expose the drive's counters".to_owned(),
            }),
        }
    }

    /// Asks for model, serial number and firmware. SCSI's names for a SATA drive, which sysfs
    /// shows, are truncated; these are complete.
    pub fn identity(&mut self) -> Result<DriveIdentity, CommandError> {
        match &mut self.0 {
            Opened::Nvme(connection) => ask::nvme::identity(connection),
            Opened::Scsi { connection, ata, dialect } => {
                let care = ata.care();
                in_dialect(connection, *ata, dialect, ask::ata::identity, |connection| {
                    ask::scsi::identity(connection, care)
                })
            }
            Opened::Virtio(config) => Err(CommandError::NotSupported {
                device: config.device.clone(),
                because: "a virtio disk has only the serial number in sysfs".to_owned(),
            }),
        }
    }
}

impl Ata {
    fn care(self) -> Care {
        if self == Ata::BehindUsb { Care::Usb } else { Care::Usual }
    }
}

/// Asks in ATA if the drive knows it; in SCSI otherwise, or if ATA fails.
fn in_dialect<T>(
    connection: &mut Connection,
    ata: Ata,
    dialect: &mut Option<Dialect>,
    in_ata: impl Fn(&mut Connection) -> Result<T, CommandError>,
    in_scsi: impl Fn(&mut Connection) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let spoken = match *dialect {
        Some(known) => known,
        None => *dialect.insert(find_dialect(connection, ata)?),
    };
    if spoken == Dialect::Scsi {
        return in_scsi(connection);
    }
    match (in_ata(connection), ata) {
        (Ok(answer), _) => Ok(answer),
        (Err(gone @ CommandError::Gone { .. }), _) => Err(gone),
        // Users who may read the node may send MODE SENSE and LOG SENSE, but not ATA commands
        // (drivers/scsi/scsi_ioctl.c, `scsi_cmd_allowed`).
        (Err(needs_root @ CommandError::NeedsRoot { .. }), _) => {
            in_scsi(connection).map_err(|_| needs_root)
        }
        // Behind a USB bridge, ATA was only a guess.
        (Err(_), Ata::BehindUsb) => in_scsi(connection),
        (Err(error), Ata::Inside | Ata::IfItSaysSo) => {
            in_scsi(connection).map_err(|second| match second {
                gone @ CommandError::Gone { .. } => gone,
                _ => error,
            })
        }
    }
}

fn find_dialect(connection: &mut Connection, ata: Ata) -> Result<Dialect, CommandError> {
    if ata == Ata::Inside {
        return Ok(Dialect::Ata);
    }
    let inquiry = ask::scsi::inquiry(connection)?;
    if !inquiry.is_disk {
        return Err(
            connection.unsupported("its INQUIRY reports that it is not a disk, or not present")
        );
    }
    if ata == Ata::BehindUsb {
        if inquiry.removable {
            return Err(connection.unsupported(
                "USB sticks and card readers may hang on such commands, so none is sent",
            ));
        }
        return Ok(Dialect::Ata);
    }
    Ok(if inquiry.is_sata() { Dialect::Ata } else { Dialect::Scsi })
}
