//! Questions to an ATA drive, sent through SCSI's ATA PASS-THROUGH (16): libata, SAS adapters and
//! USB bridges all translate it.

use super::super::ata::identify::{IDENTIFY_DEVICE, Identify};
use super::super::ata::smart::Attributes;
use super::super::ata::{
    AtaCommand, BLOCK_BYTES, CHECK_POWER_MODE, Registers, read_log, set_write_cache, smart,
    statistics, written,
};
use super::super::connection::Connection;
use super::super::{CacheReading, CommandError, DriveIdentity};
use crate::{Health, Wear};

const READ_DATA: &str = "SMART READ DATA";

fn block(
    connection: &mut Connection,
    name: &'static str,
    command: AtaCommand,
) -> Result<Vec<u8>, CommandError> {
    connection.scsi_in(name, &command.reading(), BLOCK_BYTES)
}

fn identify(connection: &mut Connection) -> Result<Identify, CommandError> {
    const COMMAND: &str = "IDENTIFY DEVICE";
    let answer = block(connection, COMMAND, IDENTIFY_DEVICE)?;
    Identify::decode(&answer).map_err(|what| connection.invalid_answer(COMMAND, what))
}

pub fn identity(connection: &mut Connection) -> Result<DriveIdentity, CommandError> {
    Ok(identify(connection)?.identity())
}

pub fn write_cache(connection: &mut Connection) -> Result<CacheReading, CommandError> {
    let reading = identify(connection)?.write_cache();
    reading.ok_or_else(|| {
        connection.unsupported("its IDENTIFY DEVICE data does not list its features")
    })
}

pub fn switch(connection: &mut Connection, on: bool) -> Result<(), CommandError> {
    connection.scsi_out("SET FEATURES", &set_write_cache(on).without_data(), &[])
}

pub fn health(connection: &mut Connection) -> Result<Health, CommandError> {
    let identify = identify(connection)?;
    check_smart(connection, &identify)?;
    if sleeps(connection)? {
        return Err(
            connection.unsupported("it is in standby, and reading its health would wake it")
        );
    }
    let answer = block(connection, READ_DATA, smart::READ_DATA)?;
    let attributes = attributes(connection, &answer)?;
    let mut health = attributes.health();
    if let Some(wear) = identify.identity().model.and_then(|model| attributes.wear(&model)) {
        health.host_bytes_written = wear.host.map(|host| host.bytes);
        health.medium_bytes_written =
            health.host_bytes_written.and_then(|bytes| wear.medium_bytes(bytes));
    }
    health.failing = verdict(connection)?;
    if identify.has_logs() {
        // The attributes are useful without the statistics; bridges pass READ LOG EXT on less often
        // than SMART.
        if let Err(gone @ CommandError::Gone { .. }) =
            add_statistics(connection, &identify, &mut health)
        {
            return Err(gone);
        }
    }
    Ok(health)
}

/// Asks for the counters of bytes written. Sends SMART commands only to a model whose counters are
/// known.
pub fn wear(connection: &mut Connection) -> Result<Wear, CommandError> {
    const UNKNOWN: &str = "it has no known counter of what it writes to its flash";
    let identify = identify(connection)?;
    let model = identify.identity().model.filter(|model| written::are_known(model));
    let model = model.ok_or_else(|| connection.unsupported(UNKNOWN))?;
    check_smart(connection, &identify)?;
    let answer = block(connection, READ_DATA, smart::READ_DATA)?;
    let wear = attributes(connection, &answer)?.wear(&model);
    wear.ok_or_else(|| connection.unsupported(UNKNOWN))
}

fn check_smart(connection: &Connection, identify: &Identify) -> Result<(), CommandError> {
    match identify.smart() {
        Some((true, true)) | None => Ok(()),
        Some((true, false)) => {
            Err(connection
                .unsupported("SMART is switched off (`smartctl --smart=on` switches it on)"))
        }
        Some((false, _)) => Err(connection.unsupported("it has no SMART")),
    }
}

/// Returns whether SMART would make a disk spin up: some keep their counters on the platters.
fn sleeps(connection: &mut Connection) -> Result<bool, CommandError> {
    let sense = connection.scsi_sense("CHECK POWER MODE", &CHECK_POWER_MODE.for_registers())?;
    Ok(Registers::from_sense(&sense).is_some_and(Registers::is_standby))
}

fn attributes<'a>(
    connection: &Connection,
    answer: &'a [u8],
) -> Result<Attributes<'a>, CommandError> {
    Attributes::decode(answer).map_err(|what| connection.invalid_answer(READ_DATA, what))
}

/// `None` where the registers are lost on the way.
fn verdict(connection: &mut Connection) -> Result<Option<bool>, CommandError> {
    let sense =
        connection.scsi_sense("SMART RETURN STATUS", &smart::RETURN_STATUS.for_registers())?;
    Ok(Registers::from_sense(&sense).and_then(smart::failing))
}

fn add_statistics(
    connection: &mut Connection,
    identify: &Identify,
    health: &mut Health,
) -> Result<(), CommandError> {
    const COMMAND: &str = "READ LOG EXT";
    let directory = block(connection, COMMAND, read_log(statistics::DIRECTORY, 0))?;
    if !statistics::is_listed(&directory) {
        return Ok(());
    }
    let list = block(connection, COMMAND, read_log(statistics::LOG, statistics::PAGES))?;
    for page in statistics::pages(&list) {
        let answer = block(connection, COMMAND, read_log(statistics::LOG, page))?;
        statistics::add(health, page, &answer, identify.sector_bytes())
            .map_err(|what| connection.invalid_answer(COMMAND, what))?;
    }
    Ok(())
}
