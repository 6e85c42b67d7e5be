//! Questions to a SCSI drive.

use super::super::line::Line;
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

pub fn inquiry(line: &mut Line) -> Result<Inquiry, CommandError> {
    const COMMAND: &str = "INQUIRY";
    let answer = line.scsi_in(COMMAND, &inquiry::STANDARD, inquiry::STANDARD_BYTES)?;
    Inquiry::decode(&answer).map_err(|what| line.nonsense(COMMAND, what))
}

pub fn identity(line: &mut Line, care: Care) -> Result<DriveIdentity, CommandError> {
    let mut identity = inquiry(line)?.identity();
    if care == Care::Usb {
        return Ok(identity);
    }
    identity.serial = vital_product_data(line, inquiry::SERIAL_NUMBER)?.and_then(|page| inquiry::serial_number(&page));
    identity.rotation = vital_product_data(line, inquiry::CHARACTERISTICS)?.and_then(|page| inquiry::rotation(&page));
    Ok(identity)
}

/// A page that many devices lack: `None` then.
fn vital_product_data(line: &mut Line, page: u8) -> Result<Option<Vec<u8>>, CommandError> {
    match line.scsi_in("INQUIRY", &inquiry::page(page), inquiry::PAGE_BYTES) {
        Ok(answer) => Ok(Some(answer)),
        Err(CommandError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A way to ask for the caching page.
type Way = (Form, Pages);

fn caching_page(line: &mut Line, (form, pages): Way, values: Values) -> Result<CachingPage, CommandError> {
    const COMMAND: &str = "MODE SENSE";
    let answer = line.scsi_in(COMMAND, &mode_page::sense(form, pages, values), mode_page::BYTES_MAX)?;
    CachingPage::decode(form, &answer).map_err(|what| line.nonsense(COMMAND, what))
}

/// The current page, by whichever form of the command the drive supports.
fn current_page(line: &mut Line, care: Care) -> Result<(Way, CachingPage), CommandError> {
    let [first, second] = match care {
        Care::Usual => [(Form::Long, Pages::Caching), (Form::Short, Pages::Caching)],
        Care::Usb => [(Form::Short, Pages::All), (Form::Long, Pages::All)],
    };
    match caching_page(line, first, Values::Current) {
        Ok(page) => return Ok((first, page)),
        Err(CommandError::Refused { .. } | CommandError::Nonsense { .. }) => {}
        Err(error) => return Err(error),
    }
    match caching_page(line, second, Values::Current) {
        Ok(page) => Ok((second, page)),
        Err(CommandError::Refused { answer, .. }) => {
            Err(line.unsupported(format!("it has no caching mode page ({answer})")))
        }
        Err(error) => Err(error),
    }
}

pub fn write_cache(line: &mut Line, care: Care) -> Result<CacheReading, CommandError> {
    let (way, page) = current_page(line, care)?;
    let changeable = match caching_page(line, way, Values::Changeable) {
        Ok(mask) => Some(mask),
        Err(CommandError::Refused { .. } | CommandError::Nonsense { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(page.reading(changeable.as_ref()))
}

pub fn switch(line: &mut Line, care: Care, on: bool) -> Result<(), CommandError> {
    let ((form, _), page) = current_page(line, care)?;
    let (command, list) = page.select(form, on);
    line.scsi_out("MODE SELECT", &command, &list)
}

pub fn health(line: &mut Line) -> Result<Health, CommandError> {
    const COMMAND: &str = "LOG SENSE";
    let list = match line.scsi_in(COMMAND, &log_page::sense(log_page::PAGES), log_page::BYTES_MAX) {
        Err(CommandError::Refused { answer, .. }) => {
            return Err(line.unsupported(format!("it has no health logs ({answer})")));
        }
        list => list?,
    };
    let mut health = Health::default();
    for page in log_page::pages(&list) {
        let answer = match line.scsi_in(COMMAND, &log_page::sense(page), log_page::BYTES_MAX) {
            // Listed, but refused: the other pages still help.
            Err(CommandError::Refused { .. }) => continue,
            answer => answer?,
        };
        log_page::add(&mut health, page, &answer).map_err(|what| line.nonsense(COMMAND, what))?;
    }
    if health == Health::default() {
        return Err(line.unsupported("its logs contain no health data"));
    }
    Ok(health)
}
