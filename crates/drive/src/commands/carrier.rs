//! The seam between commands and what carries them: the kernel, or in tests a simulated drive.

use std::fmt::Debug;
use std::time::Duration;

use rustix::io::Errno;

/// Carries single commands to one drive, and what the drive answers back.
pub trait Carrier: Debug + Send {
    /// Sends a SCSI command.
    ///
    /// # Errors
    /// The kernel's, when the command did not reach the drive or no answer came. A drive that refuses is no error here.
    fn scsi(&mut self, cdb: &[u8], payload: Payload<'_>, patience: Duration) -> Result<ScsiAnswer, Errno>;

    /// Sends an NVMe admin command that reads into `data` (which may be empty).
    ///
    /// # Errors
    /// As for [`Carrier::scsi`].
    fn nvme(&mut self, command: NvmeCommand, data: &mut [u8], patience: Duration) -> Result<NvmeAnswer, Errno>;
}

/// What travels with a SCSI command.
#[derive(Debug)]
pub enum Payload<'a> {
    /// Nothing.
    None,
    /// From the drive.
    In(&'a mut [u8]),
    /// To the drive.
    Out(&'a [u8]),
}

/// A drive's answer to a SCSI command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScsiAnswer {
    /// SAM-5, status codes: 00h is GOOD, 02h CHECK CONDITION.
    pub status: u8,
    /// Sense data, empty where there is none.
    pub sense: Vec<u8>,
    /// Bytes that came into [`Payload::In`].
    pub received: usize,
}

/// An NVMe admin command, as far as these modules need one (NVMe Base 2.0, Common Command Format).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvmeCommand {
    /// Command Dword 0, opcode.
    pub opcode: u8,
    /// Namespace identifier: 0 for none, FFFFFFFFh for all.
    pub namespace: u32,
    /// Command Dword 10.
    pub dword10: u32,
    /// Command Dword 11.
    pub dword11: u32,
}

/// A drive's answer to an NVMe command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvmeAnswer {
    /// Status code in bits 7:0, its type in 10:8; 0 is success.
    pub status: u16,
    /// Dword 0 of the completion.
    pub result: u32,
}
