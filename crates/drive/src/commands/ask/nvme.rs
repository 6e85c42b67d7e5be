//! Questions to an NVMe drive. The block device takes admin commands for its controller
//! (drivers/nvme/host/ioctl.c, `nvme_ioctl`).

use super::super::carrier::NvmeCommand;
use super::super::connection::Connection;
use super::super::nvme::{self, Capabilities, Controller};
use super::super::{CacheReading, CommandError, DriveIdentity};
use crate::{Health, MediumWrites, Wear, WrittenBytes};

const GET_FEATURES: &str = "Get Features";
const SET_FEATURES: &str = "Set Features";
const GET_LOG_PAGE: &str = "Get Log Page";

fn controller(connection: &mut Connection) -> Result<Controller, CommandError> {
    const COMMAND: &str = "Identify";
    let mut answer = vec![0; nvme::IDENTIFY_BYTES];
    connection.nvme_accepted(COMMAND, nvme::IDENTIFY_CONTROLLER, &mut answer)?;
    Controller::decode(&answer).map_err(|what| connection.invalid_answer(COMMAND, what))
}

pub fn identity(connection: &mut Connection) -> Result<DriveIdentity, CommandError> {
    Ok(controller(connection)?.identity())
}

/// Capabilities of the cache feature; `None` when the drive does not report them.
fn capabilities(
    connection: &mut Connection,
    controller: &Controller,
) -> Result<Option<Capabilities>, CommandError> {
    if !controller.selects {
        return Ok(None);
    }
    let answer = connection.nvme(GET_FEATURES, nvme::GET_WRITE_CACHE_CAPABILITIES, &mut [])?;
    Ok((answer.status == 0).then(|| Capabilities::decode(answer.result)))
}

pub fn write_cache(connection: &mut Connection) -> Result<CacheReading, CommandError> {
    let controller = controller(connection)?;
    if !controller.has_write_cache {
        return Ok(nvme::reading(None, None));
    }
    let value = connection.nvme_accepted(GET_FEATURES, nvme::GET_WRITE_CACHE, &mut [])?;
    Ok(nvme::reading(Some(value), capabilities(connection, &controller)?))
}

/// Saves the setting where the drive can, as the kernel does with SCSI drives.
pub fn switch(connection: &mut Connection, on: bool) -> Result<(), CommandError> {
    let controller = controller(connection)?;
    let saveable =
        capabilities(connection, &controller)?.is_some_and(|capabilities| capabilities.saveable);
    if saveable {
        let answer = connection.nvme(SET_FEATURES, nvme::set_write_cache(on, true), &mut [])?;
        if !nvme::is_not_saveable(answer.status) {
            return match answer.status {
                0 => Ok(()),
                status => Err(connection.refused(SET_FEATURES, nvme::status_in_words(status))),
            };
        }
    }
    connection.nvme_accepted(SET_FEATURES, nvme::set_write_cache(on, false), &mut [])?;
    Ok(())
}

fn log(
    connection: &mut Connection,
    page: NvmeCommand,
    bytes: usize,
) -> Result<Vec<u8>, CommandError> {
    let mut answer = vec![0; bytes];
    connection.nvme_accepted(GET_LOG_PAGE, page, &mut answer)?;
    Ok(answer)
}

pub fn health(connection: &mut Connection) -> Result<Health, CommandError> {
    let answer = log(connection, nvme::SMART_LOG, nvme::SMART_BYTES)?;
    let health =
        nvme::health(&answer).map_err(|what| connection.invalid_answer(GET_LOG_PAGE, what))?;
    // The health is useful without this.
    let written = match controller(connection)
        .and_then(|controller| medium_written(connection, &controller, Unlisted::Skip))
    {
        Err(gone @ CommandError::Gone { .. }) => return Err(gone),
        written => written.ok().flatten(),
    };
    Ok(Health { medium_bytes_written: written.map(|written| written.bytes), ..health })
}

pub fn wear(connection: &mut Connection) -> Result<Wear, CommandError> {
    let controller = controller(connection)?;
    let medium = medium_written(connection, &controller, Unlisted::Ask)?.ok_or_else(|| {
        connection.unsupported("it has no known counter of what it writes to its flash")
    })?;
    let smart = log(connection, nvme::SMART_LOG, nvme::SMART_BYTES)?;
    Ok(Wear { host: nvme::data_written(&smart), medium: MediumWrites::Bytes(medium) })
}

/// The treatment of a vendor's log page when the drive does not list its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unlisted {
    Ask,
    /// A drive may count the refusal in its error log, which monitoring reports.
    Skip,
}

type Decode = fn(&[u8]) -> Option<WrittenBytes>;

/// Asks for the bytes written to flash: takes the first log page that counts them.
fn medium_written(
    connection: &mut Connection,
    controller: &Controller,
    unlisted: Unlisted,
) -> Result<Option<WrittenBytes>, CommandError> {
    let listed = if controller.lists_logs {
        Some(log(connection, nvme::SUPPORTED_LOGS, nvme::SUPPORTED_LOGS_BYTES)?)
    } else {
        None
    };
    let asks = |page| match &listed {
        Some(listed) => nvme::is_listed(listed, page),
        None => unlisted == Unlisted::Ask,
    };
    let pages: [(u8, bool, NvmeCommand, Decode); 2] = [
        (nvme::INTEL_PAGE, controller.is_intel(), nvme::INTEL_LOG, nvme::intel_written),
        (nvme::OCP_PAGE, true, nvme::OCP_LOG, nvme::ocp_written),
    ];
    for (page, is_its_vendors, command, decode) in pages {
        if !is_its_vendors || !asks(page) {
            continue;
        }
        let written = match log(connection, command, nvme::SMART_BYTES) {
            Ok(answer) => decode(&answer),
            Err(CommandError::Refused { .. }) => None,
            Err(error) => return Err(error),
        };
        if written.is_some() {
            return Ok(written);
        }
    }
    Ok(None)
}
