//! The seam between commands and their transport: the kernel, or a simulated drive in tests.

use std::fmt::Debug;
use std::time::Duration;

use rustix::io::Errno;

/// Transports single commands to one drive, and returns its answers.
pub trait Carrier: Debug + Send {
    /// Sends a SCSI command.
    ///
    /// # Errors
    /// The kernel's, when the command did not reach the drive or no answer came. A refusal by the
    /// drive is not an error here.
    fn scsi(
        &mut self,
        cdb: &[u8],
        payload: Payload<'_>,
        timeout: Duration,
    ) -> Result<ScsiAnswer, Errno>;

    /// Sends an NVMe admin command that reads into `data` (which may be empty).
    fn nvme(
        &mut self,
        command: NvmeCommand,
        data: &mut [u8],
        timeout: Duration,
    ) -> Result<NvmeAnswer, Errno>;
}

/// The data of a SCSI command.
#[derive(Debug)]
pub enum Payload<'a> {
    /// The command has no data.
    None,
    /// Read from the drive.
    In(&'a mut [u8]),
    /// Written to the drive.
    Out(&'a [u8]),
}

/// A drive's answer to a SCSI command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScsiAnswer {
    /// SAM-5, status codes: 00h is GOOD, 02h CHECK CONDITION.
    pub status: u8,
    /// Sense data; empty if there is none.
    pub sense: Vec<u8>,
    /// Number of bytes received into [`Payload::In`].
    pub received: usize,
}

/// The part of an NVMe admin command that these modules need (NVMe Base 2.0, Common Command
/// Format).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvmeCommand {
    /// Command Dword 0, opcode.
    pub opcode: u8,
    /// Namespace identifier: 0 for none, FFFFFFFFh for all.
    pub namespace: u32,
    pub dword10: u32,
    pub dword11: u32,
}

/// A drive's answer to an NVMe command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvmeAnswer {
    /// Status code in bits 7:0, status code type in bits 10:8; 0 is success.
    pub status: u16,
    /// Dword 0 of the completion.
    pub result: u32,
}
