//! What a drive says of itself when it is asked with its own commands: ATA through SCSI, SCSI, NVMe.
//!
//! | module | its job |
//! | --- | --- |
//! | `language` | which commands a device understands |
//! | `ata`, `scsi`, `nvme` | commands encoded and answers decoded, without I/O |
//! | `ask` | conversations: the commands for one question, in their order |
//! | `line` | sends one command, and puts what goes wrong into words |
//! | `carrier` | the seam below it: the kernel, or in tests a simulated drive |
//! | `passthrough` | the kernel's ioctls |
//! | `virtio` | virtio-blk, which is asked in sysfs |
//!
//! Nothing but questions and the switch of the write cache is ever sent. USB is asked with care: what has a removable medium (sticks, card readers) is left
//! alone, because some of them hang at questions that every disk knows.

mod answer;
mod ask;
mod ata;
mod bytes;
mod cache_reading;
mod carrier;
mod error;
mod identity;
mod language;
mod line;
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
use crate::{BlockDevice, Health, SystemRoot};
use ask::scsi::Care;
use error::Nonsense;
use language::{Ata, Language};
use line::Line;
use passthrough::Passthrough;
use virtio::VirtioConfig;

/// A drive that takes commands.
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
    Nvme(Line),
    Scsi { line: Line, ata: Ata, dialect: Option<Dialect> },
    Virtio(VirtioConfig),
}

/// What a drive that takes SCSI commands speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// ATA inside; SCSI's own pages, which its translation layer makes up, are the second best.
    Ata,
    Scsi,
}

impl OpenDrive {
    /// Opens a whole disk for its commands. Nothing is sent yet.
    ///
    /// # Errors
    /// [`CommandError::NotSupported`] for what takes no commands (layers, memory, loop devices, partitions; the message says whom to ask instead),
    /// [`CommandError::NeedsRoot`], and [`CommandError::Gone`] also when the disk's name belongs to another one by now.
    pub fn open(root: &SystemRoot, disk: &BlockDevice) -> Result<OpenDrive, CommandError> {
        let device = || disk.path.clone();
        let place = sysfs_place(root, disk.device).ok_or_else(|| CommandError::Gone { device: device() })?;
        let language = Language::of(disk, &Attributes { directory: place })
            .map_err(|because| CommandError::NotSupported { device: device(), because })?;
        let line = || {
            let carrier = Passthrough::open(&root.path(&disk.path), disk.device);
            let carrier = carrier.map_err(|errno| Line::not_opened(&disk.path, errno))?;
            Ok::<_, CommandError>(Line::new(&disk.path, Box::new(carrier)))
        };
        Ok(OpenDrive(match language {
            Language::Nvme => Opened::Nvme(line()?),
            Language::Scsi(ata) => Opened::Scsi { line: line()?, ata, dialect: None },
            Language::VirtioConfig(cache_type) => Opened::Virtio(VirtioConfig { device: device(), cache_type }),
        }))
    }

    /// Asks for the state of the volatile write cache.
    ///
    /// # Errors
    /// When the drive does not answer, answers nonsense, or this user may not ask. A drive without a cache is no error.
    pub fn write_cache(&mut self) -> Result<CacheReading, CommandError> {
        match &mut self.0 {
            Opened::Nvme(line) => ask::nvme::write_cache(line),
            Opened::Scsi { line, ata, dialect } => {
                let care = ata.care();
                in_dialect(line, *ata, dialect, ask::ata::write_cache, |line| ask::scsi::write_cache(line, care))
            }
            Opened::Virtio(config) => config.write_cache(),
        }
    }

    /// Switches the cache by the device's own command. What came of it, only a reading tells.
    ///
    /// # Errors
    /// When the drive has no cache that can be switched, or refuses.
    pub fn set_write_cache(&mut self, on: bool) -> Result<(), CommandError> {
        let reading = self.write_cache()?;
        match &mut self.0 {
            Opened::Nvme(line) | Opened::Scsi { line, .. } if !reading.present => {
                Err(line.unsupported("it has no volatile write cache"))
            }
            Opened::Nvme(line) => ask::nvme::switch(line, on),
            // By the command that belongs to the answer: the other one may not work.
            Opened::Scsi { line, .. } if reading.told_by == ToldBy::AtaIdentify => ask::ata::switch(line, on),
            Opened::Scsi { line, ata, .. } => ask::scsi::switch(line, ata.care(), on),
            Opened::Virtio(config) => config.set_write_cache(on),
        }
    }

    /// Asks for the drive's health.
    ///
    /// # Errors
    /// As [`write_cache`](OpenDrive::write_cache); and [`CommandError::NotSupported`] where a drive keeps no account of it.
    pub fn health(&mut self) -> Result<Health, CommandError> {
        match &mut self.0 {
            Opened::Nvme(line) => ask::nvme::health(line),
            Opened::Scsi { line, ata, dialect } => in_dialect(line, *ata, dialect, ask::ata::health, ask::scsi::health),
            Opened::Virtio(config) => Err(CommandError::NotSupported {
                device: config.device.clone(),
                because: "the host keeps the drive's health to itself".to_owned(),
            }),
        }
    }

    /// Asks who the drive is. SCSI's names for a SATA drive, which sysfs shows, are cut short; these are whole.
    ///
    /// # Errors
    /// As [`write_cache`](OpenDrive::write_cache).
    pub fn identity(&mut self) -> Result<DriveIdentity, CommandError> {
        match &mut self.0 {
            Opened::Nvme(line) => ask::nvme::identity(line),
            Opened::Scsi { line, ata, dialect } => {
                let care = ata.care();
                in_dialect(line, *ata, dialect, ask::ata::identity, |line| ask::scsi::identity(line, care))
            }
            Opened::Virtio(config) => Err(CommandError::NotSupported {
                device: config.device.clone(),
                because: "a virtio disk has no name but the serial number in sysfs".to_owned(),
            }),
        }
    }
}

impl Ata {
    fn care(self) -> Care {
        if self == Ata::BehindUsb { Care::Usb } else { Care::Usual }
    }
}

/// Asks in ATA where there is ATA, and in SCSI where that is all there is or ATA came to nothing.
fn in_dialect<T>(
    line: &mut Line,
    ata: Ata,
    dialect: &mut Option<Dialect>,
    in_ata: impl Fn(&mut Line) -> Result<T, CommandError>,
    in_scsi: impl Fn(&mut Line) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let spoken = match *dialect {
        Some(known) => known,
        None => *dialect.insert(find_dialect(line, ata)?),
    };
    if spoken == Dialect::Scsi {
        return in_scsi(line);
    }
    match (in_ata(line), ata) {
        (Ok(answer), _) => Ok(answer),
        (Err(gone @ CommandError::Gone { .. }), _) => Err(gone),
        // Users with the right to read the node may send MODE SENSE and LOG SENSE, and no ATA (drivers/scsi/scsi_ioctl.c, `scsi_cmd_allowed`).
        (Err(needs_root @ CommandError::NeedsRoot { .. }), _) => in_scsi(line).map_err(|_| needs_root),
        // Behind USB, ATA was only a guess.
        (Err(_), Ata::BehindUsb) => in_scsi(line),
        (Err(error), Ata::Inside | Ata::IfItSaysSo) => in_scsi(line).map_err(|second| match second {
            gone @ CommandError::Gone { .. } => gone,
            _ => error,
        }),
    }
}

fn find_dialect(line: &mut Line, ata: Ata) -> Result<Dialect, CommandError> {
    if ata == Ata::Inside {
        return Ok(Dialect::Ata);
    }
    let inquiry = ask::scsi::inquiry(line)?;
    if !inquiry.is_disk {
        return Err(line.unsupported("its INQUIRY says that it is no disk, or none that is there"));
    }
    if ata == Ata::BehindUsb {
        if inquiry.removable {
            return Err(line.unsupported("sticks and card readers may hang at such questions, so none is asked"));
        }
        return Ok(Dialect::Ata);
    }
    Ok(if inquiry.is_sata() { Dialect::Ata } else { Dialect::Scsi })
}
