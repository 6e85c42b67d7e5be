//! A connection to one drive: sends a command, and turns failures into errors.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

use super::CommandError;
use super::carrier::{Carrier, NvmeAnswer, NvmeCommand, Payload, ScsiAnswer};
use super::nvme;
use super::scsi::sense::{self, Sense};

/// Queries are answered from the drive's memory, but may wait behind requests in flight.
const QUERY_TIMEOUT: Duration = Duration::from_secs(15);

/// Switching a cache off makes the drive write it out first; ATA allows a flush to take more than
/// 30 s (ACS-4, FLUSH CACHE).
const SWITCH_TIMEOUT: Duration = Duration::from_mins(1);

/// A drive reports a reset, a power cycle or a changed parameter once to each initiator, instead of
/// an answer. Several may be pending.
const UNIT_ATTENTIONS_MAX: usize = 5;

/// A drive, its transport, and its name for errors.
#[derive(Debug)]
pub struct Connection {
    device: PathBuf,
    carrier: Box<dyn Carrier>,
}

impl Connection {
    pub fn new(device: &Path, carrier: Box<dyn Carrier>) -> Connection {
        Connection { device: device.to_owned(), carrier }
    }

    /// Sends a SCSI command that reads up to `length_max` bytes; fewer may come.
    pub fn scsi_in(
        &mut self,
        command: &'static str,
        cdb: &[u8],
        length_max: usize,
    ) -> Result<Vec<u8>, CommandError> {
        let mut data = vec![0; length_max];
        let answer = self.scsi(command, cdb, &mut Payload::In(&mut data), QUERY_TIMEOUT)?;
        self.accepted(command, &answer)?;
        data.truncate(answer.received);
        Ok(data)
    }

    /// Sends a SCSI command that writes `data`.
    pub fn scsi_out(
        &mut self,
        command: &'static str,
        cdb: &[u8],
        data: &[u8],
    ) -> Result<(), CommandError> {
        let mut payload = if data.is_empty() { Payload::None } else { Payload::Out(data) };
        let answer = self.scsi(command, cdb, &mut payload, SWITCH_TIMEOUT)?;
        self.accepted(command, &answer)
    }

    /// Sends a SCSI command without data, which is answered by sense data.
    pub fn scsi_sense(
        &mut self,
        command: &'static str,
        cdb: &[u8],
    ) -> Result<Vec<u8>, CommandError> {
        Ok(self.scsi(command, cdb, &mut Payload::None, QUERY_TIMEOUT)?.sense)
    }

    fn scsi(
        &mut self,
        command: &'static str,
        cdb: &[u8],
        payload: &mut Payload<'_>,
        timeout: Duration,
    ) -> Result<ScsiAnswer, CommandError> {
        let mut attentions = 0;
        loop {
            let again = match payload {
                Payload::None => Payload::None,
                Payload::In(data) => Payload::In(data),
                Payload::Out(data) => Payload::Out(data),
            };
            let answer = self
                .carrier
                .scsi(cdb, again, timeout)
                .map_err(|errno| self.not_carried(command, errno))?;
            let sense = Sense::decode(&answer.sense);
            let attention =
                answer.status != 0 && sense.is_some_and(|sense| sense.key == sense::UNIT_ATTENTION);
            if !attention || attentions == UNIT_ATTENTIONS_MAX {
                return Ok(answer);
            }
            attentions += 1;
        }
    }

    fn accepted(&self, command: &'static str, answer: &ScsiAnswer) -> Result<(), CommandError> {
        let sense = Sense::decode(&answer.sense);
        let recovered = sense.is_some_and(|sense| sense.key == sense::RECOVERED_ERROR);
        match (answer.status, sense) {
            (0, _) => Ok(()),
            _ if recovered => Ok(()),
            (sense::CHECK_CONDITION, Some(sense)) => Err(self.refused(command, sense.to_string())),
            (status, _) => Err(self.refused(command, sense::status_in_words(status))),
        }
    }

    /// Sends an NVMe command and returns the answer, success or not.
    pub fn nvme(
        &mut self,
        command: &'static str,
        what: NvmeCommand,
        data: &mut [u8],
    ) -> Result<NvmeAnswer, CommandError> {
        let timeout =
            if what.opcode == nvme::SET_FEATURES { SWITCH_TIMEOUT } else { QUERY_TIMEOUT };
        let answer = self
            .carrier
            .nvme(what, data, timeout)
            .map_err(|errno| self.not_carried(command, errno))?;
        if nvme::is_path_lost(answer.status) {
            return Err(self.gone());
        }
        Ok(answer)
    }

    /// The same, but any status except success is an error.
    pub fn nvme_accepted(
        &mut self,
        command: &'static str,
        what: NvmeCommand,
        data: &mut [u8],
    ) -> Result<u32, CommandError> {
        let answer = self.nvme(command, what, data)?;
        match answer.status {
            0 => Ok(answer.result),
            status => Err(self.refused(command, nvme::status_in_words(status))),
        }
    }

    fn not_carried(&self, command: &'static str, errno: Errno) -> CommandError {
        match errno {
            // Usually EACCES from opening the node and from the NVMe driver, and EPERM from the
            // SCSI layer.
            Errno::PERM | Errno::ACCESS => CommandError::NeedsRoot { device: self.device.clone() },
            Errno::NODEV | Errno::NXIO | Errno::NOENT => self.gone(),
            Errno::NOTTY | Errno::INVAL | Errno::OPNOTSUPP => {
                self.unsupported(format!("its driver does not pass {command} on"))
            }
            errno => CommandError::Io {
                device: self.device.clone(),
                command,
                source: io::Error::from(errno),
            },
        }
    }

    /// The error when the kernel did not open the node.
    pub fn not_opened(device: &Path, errno: Errno) -> CommandError {
        let device = device.to_owned();
        match errno {
            Errno::PERM | Errno::ACCESS => CommandError::NeedsRoot { device },
            Errno::NODEV | Errno::NXIO => CommandError::Gone { device },
            Errno::NOENT => {
                let because =
                    "/dev has no node for it here (are you in a container?); run flushmark on the \
                     host"
                        .to_owned();
                CommandError::NotSupported { device, because }
            }
            errno => {
                CommandError::Io { device, command: "a command", source: io::Error::from(errno) }
            }
        }
    }

    pub fn gone(&self) -> CommandError {
        CommandError::Gone { device: self.device.clone() }
    }

    pub fn unsupported(&self, because: impl Into<String>) -> CommandError {
        CommandError::NotSupported { device: self.device.clone(), because: because.into() }
    }

    pub fn refused(&self, command: &'static str, answer: String) -> CommandError {
        CommandError::Refused { device: self.device.clone(), command, answer }
    }

    pub fn invalid_answer(
        &self,
        command: &'static str,
        what: super::InvalidAnswer,
    ) -> CommandError {
        CommandError::InvalidAnswer { device: self.device.clone(), command, what: what.0 }
    }
}
