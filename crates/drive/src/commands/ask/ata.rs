//! Questions to an ATA drive, sent through SCSI's ATA PASS-THROUGH (16): libata, SAS adapters and
//! USB bridges all translate it.

use super::super::ata::identify::{IDENTIFY_DEVICE, Identify};
use super::super::ata::{
    AtaCommand, BLOCK_BYTES, CHECK_POWER_MODE, Registers, read_log, set_write_cache, smart, statistics,
};
use super::super::line::Line;
use super::super::{CacheReading, CommandError, DriveIdentity};
use crate::Health;

fn block(line: &mut Line, name: &'static str, command: AtaCommand) -> Result<Vec<u8>, CommandError> {
    line.scsi_in(name, &command.reading(), BLOCK_BYTES)
}

fn identify(line: &mut Line) -> Result<Identify, CommandError> {
    const COMMAND: &str = "IDENTIFY DEVICE";
    let answer = block(line, COMMAND, IDENTIFY_DEVICE)?;
    Identify::decode(&answer).map_err(|what| line.nonsense(COMMAND, what))
}

pub fn identity(line: &mut Line) -> Result<DriveIdentity, CommandError> {
    Ok(identify(line)?.identity())
}

pub fn write_cache(line: &mut Line) -> Result<CacheReading, CommandError> {
    let reading = identify(line)?.write_cache();
    reading.ok_or_else(|| line.unsupported("its IDENTIFY DEVICE data does not list its features"))
}

pub fn switch(line: &mut Line, on: bool) -> Result<(), CommandError> {
    line.scsi_out("SET FEATURES", &set_write_cache(on).without_data(), &[])
}

pub fn health(line: &mut Line) -> Result<Health, CommandError> {
    let identify = identify(line)?;
    match identify.smart() {
        Some((true, true)) | None => {}
        Some((true, false)) => {
            return Err(line.unsupported("SMART is switched off (`smartctl --smart=on` switches it on)"));
        }
        Some((false, _)) => return Err(line.unsupported("it has no SMART")),
    }
    if sleeps(line)? {
        return Err(line.unsupported("it is in standby, and reading its health would wake it"));
    }
    let mut health = attributes(line)?;
    health.failing = verdict(line)?;
    if identify.has_logs() {
        // The attributes are useful without the statistics; bridges pass READ LOG EXT on less often
        // than SMART.
        if let Err(gone @ CommandError::Gone { .. }) = add_statistics(line, &mut health) {
            return Err(gone);
        }
    }
    Ok(health)
}

/// Returns whether SMART would make a disk spin up: some keep their counters on the platters.
fn sleeps(line: &mut Line) -> Result<bool, CommandError> {
    let sense = line.scsi_sense("CHECK POWER MODE", &CHECK_POWER_MODE.for_registers())?;
    Ok(Registers::from_sense(&sense).is_some_and(Registers::is_standby))
}

fn attributes(line: &mut Line) -> Result<Health, CommandError> {
    const COMMAND: &str = "SMART READ DATA";
    let answer = block(line, COMMAND, smart::READ_DATA)?;
    smart::decode(&answer).map_err(|what| line.nonsense(COMMAND, what))
}

/// `None` where the registers are lost on the way.
fn verdict(line: &mut Line) -> Result<Option<bool>, CommandError> {
    let sense = line.scsi_sense("SMART RETURN STATUS", &smart::RETURN_STATUS.for_registers())?;
    Ok(Registers::from_sense(&sense).and_then(smart::failing))
}

fn add_statistics(line: &mut Line, health: &mut Health) -> Result<(), CommandError> {
    const COMMAND: &str = "READ LOG EXT";
    let directory = block(line, COMMAND, read_log(statistics::DIRECTORY, 0))?;
    if !statistics::is_listed(&directory) {
        return Ok(());
    }
    let list = block(line, COMMAND, read_log(statistics::LOG, statistics::PAGES))?;
    for page in statistics::pages(&list) {
        let answer = block(line, COMMAND, read_log(statistics::LOG, page))?;
        statistics::add(health, page, &answer).map_err(|what| line.nonsense(COMMAND, what))?;
    }
    Ok(())
}
