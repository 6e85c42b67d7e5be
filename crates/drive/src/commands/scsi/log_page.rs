//! Log pages: a SCSI drive's health.

use super::super::InvalidAnswer;
use super::super::bytes::{at_least, big_endian};
use crate::Health;

/// Room for a page; the interesting counters are at its beginning.
pub const BYTES_MAX: usize = 512;

/// The page that lists all pages.
pub const PAGES: u8 = 0x00;

const WRITE_ERRORS: u8 = 0x02;
const READ_ERRORS: u8 = 0x03;
const TEMPERATURE: u8 = 0x0D;
const START_STOP_CYCLES: u8 = 0x0E;
const SOLID_STATE: u8 = 0x11;
const BACKGROUND_SCAN: u8 = 0x15;
const INFORMATIONAL_EXCEPTIONS: u8 = 0x2F;

/// LOG SENSE of a page's cumulative values (SPC-5).
pub fn sense(page: u8) -> [u8; 10] {
    const CUMULATIVE: u8 = 0b01 << 6;
    let [upper, lower] = (BYTES_MAX as u16).to_be_bytes();
    [0x4D, 0, CUMULATIVE | page, 0, 0, 0, 0, upper, lower, 0]
}

/// The listed pages that are of interest here.
pub fn pages(list: &[u8]) -> Vec<u8> {
    let listed = body(PAGES, list).unwrap_or_default();
    listed
        .iter()
        .copied()
        .filter(|page| {
            [
                WRITE_ERRORS, READ_ERRORS, TEMPERATURE, START_STOP_CYCLES, SOLID_STATE,
                BACKGROUND_SCAN, INFORMATIONAL_EXCEPTIONS,
            ]
            .contains(page)
        })
        .collect()
}

fn body(page: u8, answer: &[u8]) -> Result<&[u8], InvalidAnswer> {
    at_least(answer, 4)?;
    if answer[0] & 0x3f != page {
        return Err(InvalidAnswer(format!(
            "page {:02X}h instead of {page:02X}h",
            answer[0] & 0x3f
        )));
    }
    let length = big_endian(answer, 2, 2).unwrap_or(0) as usize;
    Ok(&answer[4..(4 + length).min(answer.len())])
}

/// The value of one parameter: two bytes of code, one of control, one of length, then the value.
fn parameter(mut body: &[u8], wanted: u16) -> Option<&[u8]> {
    while let [upper, lower, _, length, ref rest @ ..] = *body {
        let value = rest.get(..usize::from(length))?;
        if u16::from_be_bytes([upper, lower]) == wanted {
            return Some(value);
        }
        body = &rest[value.len()..];
    }
    None
}

/// A counter of any width.
fn counter(value: &[u8]) -> Option<u64> {
    big_endian(value, 0, value.len().min(8)).filter(|_| !value.is_empty())
}

/// Adds the values of a page (SPC-5 and SBC-4, log parameters).
pub fn add(health: &mut Health, page: u8, answer: &[u8]) -> Result<(), InvalidAnswer> {
    /// "Not available" in place of a temperature.
    const NO_TEMPERATURE: u8 = 0xFF;
    const TOTAL_UNCORRECTED: u16 = 0x0006;
    const ACCUMULATED_CYCLES: u16 = 0x0004;
    const PERCENTAGE_USED: u16 = 0x0001;
    const STATUS: u16 = 0x0000;

    let body = body(page, answer)?;
    match page {
        WRITE_ERRORS | READ_ERRORS => {
            if let Some(errors) = parameter(body, TOTAL_UNCORRECTED).and_then(counter) {
                health.media_errors = Some(health.media_errors.unwrap_or(0).saturating_add(errors));
            }
        }
        TEMPERATURE => {
            let degrees = parameter(body, STATUS).and_then(|value| value.get(1));
            let reported = degrees
                .filter(|degrees| **degrees != NO_TEMPERATURE)
                .map(|degrees| i16::from(*degrees));
            health.temperature_celsius = reported.or(health.temperature_celsius);
        }
        START_STOP_CYCLES => {
            health.power_cycles = parameter(body, ACCUMULATED_CYCLES).and_then(counter);
        }
        SOLID_STATE => {
            let percent = parameter(body, PERCENTAGE_USED).and_then(|value| value.get(3));
            health.used_percent = percent.map(|percent| u16::from(*percent));
        }
        BACKGROUND_SCAN => {
            let minutes = parameter(body, STATUS).and_then(|value| big_endian(value, 0, 4));
            health.power_on_hours = minutes.map(|minutes| minutes / 60);
        }
        INFORMATIONAL_EXCEPTIONS => {
            if let Some([code, qualifier, ..]) = parameter(body, STATUS) {
                health.failing = Some(predicts_failure(*code, *qualifier));
            }
        }
        _ => {}
    }
    Ok(())
}

/// "Failure prediction threshold exceeded"; qualifier FFh marks a rehearsal.
fn predicts_failure(code: u8, qualifier: u8) -> bool {
    code == 0x5D && qualifier != 0xFF
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    pub fn page(number: u8, parameters: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        for (code, value) in parameters {
            body.extend(code.to_be_bytes());
            body.extend([0x03, value.len() as u8]);
            body.extend(*value);
        }
        raw_page(number, &body)
    }

    pub fn raw_page(number: u8, body: &[u8]) -> Vec<u8> {
        let mut page = vec![number, 0];
        page.extend((body.len() as u16).to_be_bytes());
        page.extend(body);
        page
    }

    pub fn drive() -> Vec<Vec<u8>> {
        vec![
            raw_page(PAGES, &[0x00, 0x02, 0x03, 0x0D, 0x0E, 0x11, 0x15, 0x18, 0x2F]),
            page(WRITE_ERRORS, &[(0, &[0, 0, 0, 9]), (6, &[0, 0, 0, 1])]),
            page(READ_ERRORS, &[(5, &[0; 8]), (6, &[0, 0, 0, 0, 0, 0, 0, 2])]),
            page(TEMPERATURE, &[(0, &[0, 34]), (1, &[0, 60])]),
            page(START_STOP_CYCLES, &[(1, b"202601"), (4, &[0, 0, 0, 77])]),
            page(SOLID_STATE, &[(1, &[0, 0, 0, 12])]),
            page(BACKGROUND_SCAN, &[(0, &[0, 0x0B, 0x4D, 0x9C, 0, 0, 0, 0, 0, 0, 0, 0])]),
            page(INFORMATIONAL_EXCEPTIONS, &[(0, &[0x5D, 0x32, 35, 0])]),
        ]
    }

    #[test]
    fn a_drive_reports_its_health() {
        let mut health = Health::default();
        for answer in drive() {
            add(&mut health, answer[0], &answer).unwrap();
        }
        assert_eq!(
            health,
            Health {
                used_percent: Some(12),
                power_cycles: Some(77),
                power_on_hours: Some(12346),
                media_errors: Some(3),
                temperature_celsius: Some(34),
                failing: Some(true),
                ..Health::default()
            }
        );
    }

    #[test]
    fn a_rehearsed_failure_is_none() {
        let mut health = Health::default();
        for (code, qualifier, failing) in
            [(0x00, 0x00, false), (0x5D, 0xFF, false), (0x5D, 0x10, true)]
        {
            let answer = page(INFORMATIONAL_EXCEPTIONS, &[(0, &[code, qualifier, 0])]);
            add(&mut health, INFORMATIONAL_EXCEPTIONS, &answer).unwrap();
            assert_eq!(health.failing, Some(failing));
        }
    }

    #[test]
    fn what_is_not_reported_is_none() {
        let mut health = Health::default();
        add(&mut health, TEMPERATURE, &page(TEMPERATURE, &[(0, &[0, 0xFF])])).unwrap();
        add(&mut health, WRITE_ERRORS, &page(WRITE_ERRORS, &[(6, &[])])).unwrap();
        add(&mut health, START_STOP_CYCLES, &page(START_STOP_CYCLES, &[])).unwrap();
        assert_eq!(health, Health::default());
    }

    #[test]
    fn only_listed_pages_are_asked_for() {
        assert_eq!(pages(&drive()[0]), [0x02, 0x03, 0x0D, 0x0E, 0x11, 0x15, 0x2F]);
        assert!(pages(&[]).is_empty());
        assert_eq!(sense(0x2F), [0x4D, 0, 0x6F, 0, 0, 0, 0, 2, 0, 0]);
    }

    #[test]
    fn nonsense_is_refused() {
        let refusal = |answer: &[u8]| add(&mut Health::default(), 0x0D, answer).unwrap_err().0;
        insta::assert_snapshot!(refusal(&[0x0D]), @"1 bytes; expected 4");
        insta::assert_snapshot!(refusal(&page(0x2F, &[])), @"page 2Fh instead of 0Dh");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(mut answer in proptest::collection::vec(any::<u8>(), 0..300), page in 0_u8..0x40) {
            let _ = pages(&answer);
            let _ = add(&mut Health::default(), page, &answer);
            if let Some(first) = answer.first_mut() {
                *first = page;
            }
            let _ = add(&mut Health { media_errors: Some(u64::MAX), ..Health::default() }, page, &answer);
        }
    }
}
