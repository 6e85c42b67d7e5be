//! Questions to an NVMe drive. The block device takes admin commands for its controller
//! (drivers/nvme/host/ioctl.c, `nvme_ioctl`).

use super::super::connection::Connection;
use super::super::nvme::{self, Capabilities, Controller};
use super::super::{CacheReading, CommandError, DriveIdentity};
use crate::Health;

const GET_FEATURES: &str = "Get Features";
const SET_FEATURES: &str = "Set Features";

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

pub fn health(connection: &mut Connection) -> Result<Health, CommandError> {
    const COMMAND: &str = "Get Log Page";
    let mut answer = vec![0; nvme::SMART_BYTES];
    connection.nvme_accepted(COMMAND, nvme::SMART_LOG, &mut answer)?;
    nvme::health(&answer).map_err(|what| connection.invalid_answer(COMMAND, what))
}
