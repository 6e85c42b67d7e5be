//! The kernel's ring buffer: the records in one page (a "sub-buffer") of it.

use std::num::NonZeroU64;

/// Time and length of the page, before its records.
const HEADER: usize = 16;
/// Bits of the length: records were lost before this page; how many follows the records.
const MISSED: u64 = 1 << 31;
const MISSED_COUNTED: u64 = 1 << 30;
const LENGTH: u64 = MISSED_COUNTED - 1;

/// The first 5 bits of a record.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// The kernel keeps the upper 5 bits of an absolute time from the time of the page.
const STAMP_BITS: u32 = 59;

/// A page that is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    #[error("a page of the kernel's trace of {0} bytes, expected at least 16")]
    Short(usize),
    #[error("a page of the kernel's trace that says it holds {said} bytes, but holds {held}")]
    Length { said: usize, held: usize },
    #[error("a record at byte {0} of a page that reaches beyond the page")]
    Record(usize),
}

/// Records that the kernel dropped because nobody read them in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    None,
    Counted(NonZeroU64),
    /// There was no room for the number.
    Uncounted,
}

/// The records of one page, in the order of time.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    records: &'a [u8],
    position: usize,
    time: u64,
    pub lost: Lost,
}

impl<'a> Page<'a> {
    /// The page at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Result<Page<'a>, PageError> {
        let word = |at: usize| {
            let bytes = bytes.get(at..at + 8)?;
            Some(u64::from_ne_bytes(bytes.try_into().ok()?))
        };
        let short = PageError::Short(bytes.len());
        let (time, commit) = (word(0).ok_or(short)?, word(8).ok_or(short)?);
        let said = (commit & LENGTH) as usize;
        let held = bytes.len() - HEADER;
        let records = bytes[HEADER..].get(..said).ok_or(PageError::Length { said, held })?;
        let lost = if commit & MISSED == 0 {
            Lost::None
        } else {
            let counted = (commit & MISSED_COUNTED != 0).then(|| word(HEADER + said)).flatten();
            counted.and_then(NonZeroU64::new).map_or(Lost::Uncounted, Lost::Counted)
        };
        Ok(Page { records, position: 0, time, lost })
    }

    /// The time of its first record; before the first one is read.
    pub fn begins(&self) -> u64 {
        self.time
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.records.get(at..at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    }

    /// The next record: its time and its bytes.
    fn record(&mut self) -> Result<Option<(u64, &'a [u8])>, PageError> {
        loop {
            let start = self.position;
            if start == self.records.len() {
                return Ok(None);
            }
            let broken = PageError::Record(start + HEADER);
            let header = self.word(start).ok_or(broken)?;
            let (kind, delta) = (header & 31, u64::from(header >> 5));
            let first = self.word(start + 4).ok_or(broken);
            match kind {
                PADDING => {
                    // Without a delta, nothing follows on this page.
                    if delta == 0 {
                        return Ok(None);
                    }
                    self.time = self.time.wrapping_add(delta);
                    self.position = self.after(start + 4, first? as usize, broken)?;
                }
                TIME_EXTEND => {
                    let delta = (u64::from(first?) << 27) | delta;
                    self.time = self.time.wrapping_add(delta);
                    self.position = start + 8;
                }
                TIME_STAMP => {
                    let low = (u64::from(first?) << 27) | delta;
                    let high = self.time >> STAMP_BITS << STAMP_BITS;
                    self.time = high | (low & ((1 << STAMP_BITS) - 1));
                    self.position = start + 8;
                }
                _ => {
                    self.time = self.time.wrapping_add(delta);
                    // A length of 0 says that the length follows, itself included.
                    let (data, length) = match kind {
                        0 => {
                            let length = first? as usize;
                            (start + 8, length.checked_sub(4).ok_or(broken)?)
                        }
                        words => (start + 4, words as usize * 4),
                    };
                    self.position = self.after(data, length, broken)?;
                    return Ok(Some((self.time, &self.records[data..self.position])));
                }
            }
        }
    }

    fn after(&self, data: usize, length: usize, broken: PageError) -> Result<usize, PageError> {
        let end = data.checked_add(length.next_multiple_of(4)).ok_or(broken)?;
        if end > self.records.len() { Err(broken) } else { Ok(end) }
    }
}

impl<'a> Iterator for Page<'a> {
    type Item = Result<(u64, &'a [u8]), PageError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.record();
        if record.is_err() {
            self.position = self.records.len();
        }
        record.transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A page of these words, written as the kernel would.
    fn page(time: u64, words: &[u32], missed: u64, after: &[u8]) -> Vec<u8> {
        let mut bytes = time.to_ne_bytes().to_vec();
        bytes.extend(((words.len() as u64 * 4) | missed).to_ne_bytes());
        words.iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.extend(after);
        bytes
    }

    fn records(bytes: &[u8]) -> Result<Vec<(u64, usize)>, PageError> {
        Page::new(bytes)?.map(|record| record.map(|(time, data)| (time, data.len()))).collect()
    }

    const fn header(kind: u32, delta: u32) -> u32 {
        kind | (delta << 5)
    }

    #[test]
    fn each_kind_of_record() {
        let words = [
            header(2, 10), // 8 bytes, 10 ns later
            7,
            8,
            header(TIME_EXTEND, 5), // 5 + 2 << 27 later
            2,
            header(0, 1), // 12 bytes of length and data
            12,
            7,
            8,
            header(PADDING, 3), // 4 bytes to skip
            4,
            header(TIME_STAMP, 77), // at 77 + 1 << 27
            1,
            header(1, 0),
            9,
            header(PADDING, 0),
        ];
        let after = 1_010 + 5 + (2 << 27) + 1;
        let stamped = 77 + (1 << 27);
        assert_eq!(
            records(&page(1_000, &words, 0, &[])).unwrap(),
            [(1_010, 8), (after, 8), (stamped, 4)]
        );
    }

    #[test]
    fn an_absolute_time_keeps_the_upper_bits_of_the_page() {
        let time = (0b10101_u64 << 59) | 5;
        let words = [header(TIME_STAMP, 7), 0, header(1, 0), 9];
        let read = records(&page(time, &words, 0, &[])).unwrap();
        assert_eq!(read, [((0b10101 << 59) | 7, 4)]);
    }

    #[test]
    fn lost_records_are_counted_where_the_kernel_says_how_many() {
        let lost = |missed, after: &[u8]| Page::new(&page(0, &[], missed, after)).unwrap().lost;
        assert_eq!(lost(0, &[]), Lost::None);
        assert_eq!(lost(MISSED, &[]), Lost::Uncounted);
        let five = Lost::Counted(NonZeroU64::new(5).unwrap());
        assert_eq!(lost(MISSED | MISSED_COUNTED, &5_u64.to_ne_bytes()), five);
        assert_eq!(lost(MISSED | MISSED_COUNTED, &[]), Lost::Uncounted);
    }

    #[test]
    fn what_is_not_a_page() {
        assert_eq!(records(&[0; 15]), Err(PageError::Short(15)));
        let mut long = page(0, &[header(1, 0), 9], 0, &[]);
        long[8] = 200;
        assert_eq!(records(&long), Err(PageError::Length { said: 200, held: 8 }));
        assert_eq!(records(&page(0, &[header(9, 0), 9], 0, &[])), Err(PageError::Record(16)));
        assert_eq!(records(&page(0, &[header(0, 0), 3], 0, &[])), Err(PageError::Record(16)));
        assert_eq!(
            records(&page(0, &[header(0, 0), u32::MAX], 0, &[])),
            Err(PageError::Record(16))
        );
    }

    proptest! {
        #[test]
        fn no_page_is_fatal(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = records(&bytes);
        }

        #[test]
        fn no_record_leaves_its_page(words in prop::collection::vec(any::<u32>(), 0..60)) {
            let bytes = page(0, &words, 0, &[]);
            if let Ok(page) = Page::new(&bytes) {
                let held: usize = page.filter_map(Result::ok).map(|(_, data)| data.len()).sum();
                prop_assert!(held <= bytes.len());
            }
        }
    }
}
