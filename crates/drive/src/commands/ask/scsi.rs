//! Questions to a SCSI drive.

use super::super::connection::Connection;
use super::super::scsi::inquiry::{self, Inquiry};
use super::super::scsi::log_page;
use super::super::scsi::mode_page::{self, CachingPage, Form, Pages, Values};
use super::super::{CacheReading, CommandError, DriveIdentity};
use crate::Health;

/// The set of questions that are safe to ask a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// All questions of the standard.
    Usual,
    /// Only those that the kernel, too, asks a USB bridge: no vital product data, and mode pages
    /// all at once (drivers/usb/storage/scsiglue.c: `skip_vpd_pages`, `skip_ms_page_8`).
    Usb,
}

pub fn inquiry(connection: &mut Connection) -> Result<Inquiry, CommandError> {
    const COMMAND: &str = "INQUIRY";
    let answer = connection.scsi_in(COMMAND, &inquiry::STANDARD, inquiry::STANDARD_BYTES)?;
    Inquiry::decode(&answer).map_err(|what| connection.invalid_answer(COMMAND, what))
}

pub fn identity(connection: &mut Connection, care: Care) -> Result<DriveIdentity, CommandError> {
    let mut identity = inquiry(connection)?.identity();
    if care == Care::Usb {
        return Ok(identity);
    }
    identity.serial = vital_product_data(connection, inquiry::SERIAL_NUMBER)?
        .and_then(|page| inquiry::serial_number(&page));
    identity.rotation = vital_product_data(connection, inquiry::CHARACTERISTICS)?
        .and_then(|page| inquiry::rotation(&page));
    Ok(identity)
}

/// A page that many devices lack: `None` then.
fn vital_product_data(
    connection: &mut Connection,
    page: u8,
) -> Result<Option<Vec<u8>>, CommandError> {
    match connection.scsi_in("INQUIRY", &inquiry::page(page), inquiry::PAGE_BYTES) {
        Ok(answer) => Ok(Some(answer)),
        Err(CommandError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A way to ask for the caching page.
type Way = (Form, Pages);

fn caching_page(
    connection: &mut Connection,
    (form, pages): Way,
    values: Values,
) -> Result<CachingPage, CommandError> {
    const COMMAND: &str = "MODE SENSE";
    let answer = connection.scsi_in(
        COMMAND,
        &mode_page::sense(form, pages, values),
        mode_page::BYTES_MAX,
    )?;
    CachingPage::decode(form, &answer).map_err(|what| connection.invalid_answer(COMMAND, what))
}

/// The current page, by whichever form of the command the drive supports.
fn current_page(
    connection: &mut Connection,
    care: Care,
) -> Result<(Way, CachingPage), CommandError> {
    let [first, second] = match care {
        Care::Usual => [(Form::Long, Pages::Caching), (Form::Short, Pages::Caching)],
        Care::Usb => [(Form::Short, Pages::All), (Form::Long, Pages::All)],
    };
    match caching_page(connection, first, Values::Current) {
        Ok(page) => return Ok((first, page)),
        Err(CommandError::Refused { .. } | CommandError::InvalidAnswer { .. }) => {}
        Err(error) => return Err(error),
    }
    match caching_page(connection, second, Values::Current) {
        Ok(page) => Ok((second, page)),
        Err(CommandError::Refused { answer, .. }) => {
            Err(connection.unsupported(format!("it has no caching mode page ({answer})")))
        }
        Err(error) => Err(error),
    }
}

pub fn write_cache(connection: &mut Connection, care: Care) -> Result<CacheReading, CommandError> {
    let (way, page) = current_page(connection, care)?;
    let changeable = match caching_page(connection, way, Values::Changeable) {
        Ok(mask) => Some(mask),
        Err(CommandError::Refused { .. } | CommandError::InvalidAnswer { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(page.reading(changeable.as_ref()))
}

pub fn switch(connection: &mut Connection, care: Care, on: bool) -> Result<(), CommandError> {
    let ((form, _), page) = current_page(connection, care)?;
    let (command, list) = page.select(form, on);
    connection.scsi_out("MODE SELECT", &command, &list)
}

pub fn health(connection: &mut Connection) -> Result<Health, CommandError> {
    const COMMAND: &str = "LOG SENSE";
    let list =
        match connection.scsi_in(COMMAND, &log_page::sense(log_page::PAGES), log_page::BYTES_MAX) {
            Err(CommandError::Refused { answer, .. }) => {
                return Err(connection.unsupported(format!("it has no health logs ({answer})")));
            }
            list => list?,
        };
    let mut health = Health::default();
    for page in log_page::pages(&list) {
        let answer = match connection.scsi_in(COMMAND, &log_page::sense(page), log_page::BYTES_MAX)
        {
            // Listed, but refused: the other pages still help.
            Err(CommandError::Refused { .. }) => continue,
            answer => answer?,
        };
        log_page::add(&mut health, page, &answer)
            .map_err(|what| connection.invalid_answer(COMMAND, what))?;
    }
    if health == Health::default() {
        return Err(connection.unsupported("its logs contain no health data"));
    }
    Ok(health)
}
