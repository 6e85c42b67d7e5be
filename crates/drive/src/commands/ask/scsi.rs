//! With a SCSI drive.

use super::super::line::Line;
use super::super::scsi::inquiry::{self, Inquiry};
use super::super::scsi::log_page;
use super::super::scsi::mode_page::{self, CachingPage, Form, Values};
use super::super::{CacheReading, CommandError, DriveIdentity};
use crate::Health;

pub fn inquiry(line: &mut Line) -> Result<Inquiry, CommandError> {
    const COMMAND: &str = "INQUIRY";
    let answer = line.scsi_in(COMMAND, &inquiry::STANDARD, inquiry::STANDARD_BYTES)?;
    Inquiry::decode(&answer).map_err(|what| line.nonsense(COMMAND, what))
}

pub fn identity(line: &mut Line) -> Result<DriveIdentity, CommandError> {
    let mut identity = inquiry(line)?.identity();
    identity.serial = vital_product_data(line, inquiry::SERIAL_NUMBER)?.and_then(|page| inquiry::serial_number(&page));
    identity.rotation = vital_product_data(line, inquiry::CHARACTERISTICS)?.and_then(|page| inquiry::rotation(&page));
    Ok(identity)
}

/// A page that many devices do not have; `None` then.
fn vital_product_data(line: &mut Line, page: u8) -> Result<Option<Vec<u8>>, CommandError> {
    match line.scsi_in("INQUIRY", &inquiry::page(page), inquiry::PAGE_BYTES) {
        Ok(answer) => Ok(Some(answer)),
        Err(CommandError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn caching_page(line: &mut Line, form: Form, values: Values) -> Result<CachingPage, CommandError> {
    const COMMAND: &str = "MODE SENSE";
    let answer = line.scsi_in(COMMAND, &mode_page::sense(form, values), mode_page::BYTES_MAX)?;
    CachingPage::decode(form, &answer).map_err(|what| line.nonsense(COMMAND, what))
}

/// The page by whichever form of the command the drive knows.
fn current_page(line: &mut Line) -> Result<(Form, CachingPage), CommandError> {
    match caching_page(line, Form::Long, Values::Current) {
        Ok(page) => return Ok((Form::Long, page)),
        Err(CommandError::Refused { .. } | CommandError::Nonsense { .. }) => {}
        Err(error) => return Err(error),
    }
    match caching_page(line, Form::Short, Values::Current) {
        Ok(page) => Ok((Form::Short, page)),
        Err(CommandError::Refused { answer, .. }) => {
            Err(line.unsupported(format!("it gives no caching mode page ({answer})")))
        }
        Err(error) => Err(error),
    }
}

pub fn write_cache(line: &mut Line) -> Result<CacheReading, CommandError> {
    let (form, page) = current_page(line)?;
    let changeable = match caching_page(line, form, Values::Changeable) {
        Ok(mask) => Some(mask),
        Err(CommandError::Refused { .. } | CommandError::Nonsense { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(page.reading(changeable.as_ref()))
}

pub fn switch(line: &mut Line, on: bool) -> Result<(), CommandError> {
    let (form, page) = current_page(line)?;
    let (command, list) = page.select(form, on);
    line.scsi_out("MODE SELECT", &command, &list)
}

pub fn health(line: &mut Line) -> Result<Health, CommandError> {
    const COMMAND: &str = "LOG SENSE";
    let list = match line.scsi_in(COMMAND, &log_page::sense(log_page::PAGES), log_page::BYTES_MAX) {
        Err(CommandError::Refused { answer, .. }) => {
            return Err(line.unsupported(format!("it keeps no logs of its health ({answer})")));
        }
        list => list?,
    };
    let mut health = Health::default();
    for page in log_page::pages(&list) {
        let answer = match line.scsi_in(COMMAND, &log_page::sense(page), log_page::BYTES_MAX) {
            // Listed, and refused all the same: the other pages still tell.
            Err(CommandError::Refused { .. }) => continue,
            answer => answer?,
        };
        log_page::add(&mut health, page, &answer).map_err(|what| line.nonsense(COMMAND, what))?;
    }
    if health == Health::default() {
        return Err(line.unsupported("its logs say nothing of its health"));
    }
    Ok(health)
}
