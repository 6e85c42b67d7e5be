//! Questions to an ATA drive, sent through SCSI's ATA PASS-THROUGH (16): libata, SAS adapters and
//! USB bridges all translate it.

use super::super::ata::identify::{IDENTIFY_DEVICE, Identify};
use super::super::ata::{
    AtaCommand, BLOCK_BYTES, CHECK_POWER_MODE, Registers, read_log, set_write_cache, smart,
    statistics,
};
use super::super::connection::Connection;
use super::super::{CacheReading, CommandError, DriveIdentity};
use crate::Health;

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
    match identify.smart() {
        Some((true, true)) | None => {}
        Some((true, false)) => {
            return Err(connection
                .unsupported("SMART is switched off (`smartctl --smart=on` switches it on)"));
        }
        Some((false, _)) => return Err(connection.unsupported("it has no SMART")),
    }
    if sleeps(connection)? {
        return Err(
            connection.unsupported("it is in standby, and reading its health would wake it")
        );
    }
    let mut health = attributes(connection)?;
    health.failing = verdict(connection)?;
    if identify.has_logs() {
        // The attributes are useful without the statistics; bridges pass READ LOG EXT on less often
        // than SMART.
        if let Err(gone @ CommandError::Gone { .. }) = add_statistics(connection, &mut health) {
            return Err(gone);
        }
    }
    Ok(health)
}

/// Returns whether SMART would make a disk spin up: some keep their counters on the platters.
fn sleeps(connection: &mut Connection) -> Result<bool, CommandError> {
    let sense = connection.scsi_sense("CHECK POWER MODE", &CHECK_POWER_MODE.for_registers())?;
    Ok(Registers::from_sense(&sense).is_some_and(Registers::is_standby))
}

fn attributes(connection: &mut Connection) -> Result<Health, CommandError> {
    const COMMAND: &str = "SMART READ DATA";
    let answer = block(connection, COMMAND, smart::READ_DATA)?;
    smart::decode(&answer).map_err(|what| connection.invalid_answer(COMMAND, what))
}

/// `None` where the registers are lost on the way.
fn verdict(connection: &mut Connection) -> Result<Option<bool>, CommandError> {
    let sense =
        connection.scsi_sense("SMART RETURN STATUS", &smart::RETURN_STATUS.for_registers())?;
    Ok(Registers::from_sense(&sense).and_then(smart::failing))
}

fn add_statistics(connection: &mut Connection, health: &mut Health) -> Result<(), CommandError> {
    const COMMAND: &str = "READ LOG EXT";
    let directory = block(connection, COMMAND, read_log(statistics::DIRECTORY, 0))?;
    if !statistics::is_listed(&directory) {
        return Ok(());
    }
    let list = block(connection, COMMAND, read_log(statistics::LOG, statistics::PAGES))?;
    for page in statistics::pages(&list) {
        let answer = block(connection, COMMAND, read_log(statistics::LOG, page))?;
        statistics::add(health, page, &answer)
            .map_err(|what| connection.invalid_answer(COMMAND, what))?;
    }
    Ok(())
}
