//! Device Statistics: counters whose meaning the standard defines, so no vendor table is needed.

use super::super::InvalidAnswer;
use super::super::bytes::{at_least, little_endian};
use super::BLOCK_BYTES;
use crate::Health;

/// The log that lists all logs.
pub const DIRECTORY: u8 = 0x00;
/// The Device Statistics log.
pub const LOG: u8 = 0x04;
/// The page that lists the log's pages.
pub const PAGES: u8 = 0x00;

/// Power cycles, hours, and logical sectors written.
const GENERAL: u8 = 0x01;
const ERRORS: u8 = 0x04;
const TEMPERATURE: u8 = 0x05;
const SOLID_STATE: u8 = 0x07;

/// Returns whether the log directory lists the Device Statistics log: one word per log with the
/// number of its pages (ACS-4, General Purpose Log Directory).
pub fn is_listed(directory: &[u8]) -> bool {
    little_endian(directory, 2 * usize::from(LOG), 2).is_some_and(|pages| pages > 0)
}

/// The listed pages that are of interest here.
pub fn pages(list: &[u8]) -> Vec<u8> {
    let count = list.get(8).map_or(0, |count| usize::from(*count));
    let listed = list.iter().skip(9).take(count);
    listed
        .copied()
        .filter(|page| [GENERAL, ERRORS, TEMPERATURE, SOLID_STATE].contains(page))
        .collect()
}

/// Adds the statistics of a page. Each takes eight bytes: the value in the low bytes, and in the
/// highest bits whether it is supported and valid (ACS-4, Device Statistics log).
pub fn add(
    health: &mut Health,
    page: u8,
    answer: &[u8],
    sector_bytes: u64,
) -> Result<(), InvalidAnswer> {
    const SUPPORTED_AND_VALID: u64 = 0b11;

    at_least(answer, BLOCK_BYTES)?;
    if answer[2] != page {
        return Err(InvalidAnswer(format!("page {:02X}h instead of {page:02X}h", answer[2])));
    }
    let statistic = |at: usize, bytes: usize| {
        let flags = little_endian(answer, at, 8)? >> 62;
        if flags == SUPPORTED_AND_VALID { little_endian(answer, at, bytes) } else { None }
    };
    match page {
        GENERAL => {
            health.power_cycles = statistic(8, 4).or(health.power_cycles);
            health.power_on_hours = statistic(16, 4).or(health.power_on_hours);
            let written = statistic(24, 6).and_then(|sectors| sectors.checked_mul(sector_bytes));
            health.host_bytes_written = written.or(health.host_bytes_written);
        }
        ERRORS => health.media_errors = health.media_errors.max(statistic(8, 4)),
        TEMPERATURE => {
            let degrees = statistic(8, 1).map(|degrees| i16::from(degrees as u8 as i8));
            health.temperature_celsius = degrees.or(health.temperature_celsius);
        }
        SOLID_STATE => health.used_percent = statistic(8, 1).map(|percent| percent as u16),
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A page with these statistics; `None` is supported but not valid.
    pub fn page(number: u8, values: &[Option<u64>]) -> Vec<u8> {
        let mut page = vec![0; BLOCK_BYTES];
        page[0] = 1;
        page[2] = number;
        for (index, value) in values.iter().enumerate() {
            let statistic = value.map_or(0b10 << 62, |value| 0b11 << 62 | value);
            page[8 + 8 * index..][..8].copy_from_slice(&statistic.to_le_bytes());
        }
        page
    }

    pub fn list(pages: &[u8]) -> Vec<u8> {
        let mut list = vec![0; BLOCK_BYTES];
        list[0] = 1;
        list[8] = pages.len() as u8;
        list[9..9 + pages.len()].copy_from_slice(pages);
        list
    }

    #[test]
    fn counters_of_the_standard_win_over_attributes() {
        let mut health =
            Health { power_cycles: Some(1), power_on_hours: Some(2), ..Health::default() };
        add(&mut health, GENERAL, &page(GENERAL, &[Some(61), None, Some(1000)]), 4096).unwrap();
        add(&mut health, TEMPERATURE, &page(TEMPERATURE, &[Some(0xF6)]), 512).unwrap();
        add(&mut health, SOLID_STATE, &page(SOLID_STATE, &[Some(104)]), 512).unwrap();
        add(&mut health, ERRORS, &page(ERRORS, &[Some(3)]), 512).unwrap();
        assert_eq!(
            health,
            Health {
                power_cycles: Some(61),
                power_on_hours: Some(2),
                temperature_celsius: Some(-10),
                used_percent: Some(104),
                media_errors: Some(3),
                host_bytes_written: Some(4_096_000),
                ..Health::default()
            }
        );
    }

    #[test]
    fn another_page_than_asked_is_refused() {
        let page = page(GENERAL, &[]);
        let refused = add(&mut Health::default(), SOLID_STATE, &page, 512).unwrap_err();
        insta::assert_snapshot!(refused.0, @"page 01h instead of 07h");
    }

    #[test]
    fn only_listed_pages_are_asked_for() {
        assert_eq!(pages(&list(&[0, 1, 2, 3, 7])), [1, 7]);
        assert!(pages(&[]).is_empty());
        let mut boast = list(&[]);
        boast[8] = 255;
        assert!(pages(&boast).is_empty());
        assert!(!is_listed(&[0; 512]));
        let mut directory = vec![0; 512];
        directory[8] = 8;
        assert!(is_listed(&directory));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(
            answer in proptest::collection::vec(any::<u8>(), 0..600),
            page in 0_u8..9,
            sector_bytes: u64,
        ) {
            let _ = add(&mut Health::default(), page, &answer, sector_bytes);
            let _ = (pages(&answer), is_listed(&answer));
        }
    }
}
