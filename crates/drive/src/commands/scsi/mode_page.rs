//! The caching mode page, with MODE SENSE and MODE SELECT.

use super::super::bytes::{at_least, big_endian};
use super::super::{CacheReading, InvalidAnswer};
use crate::{AfterPowerCycle, ToldBy};

const CACHING: u8 = 0x08;

/// Room for a header, a block descriptor or two, and the page.
pub const BYTES_MAX: usize = 192;

/// Page control of MODE SENSE (SPC-5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    Current,
    /// A mask: ones where a value can be changed.
    Changeable,
}

/// The two generations of the commands. Every modern drive knows the long one; some bridges know
/// only the short one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// 10-byte commands, an 8-byte header.
    Long,
    /// 6-byte commands, a 4-byte header.
    Short,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pages {
    /// The caching page only.
    Caching,
    /// All pages. USB bridges are tested with what Windows requests, which is all pages with room
    /// for 192 bytes; some fail when asked for a single page (drivers/usb/storage/scsiglue.c:
    /// `skip_ms_page_8`, `use_192_bytes_for_3f`).
    All,
}

/// MODE SENSE that returns the caching page. "Disable Block Descriptors" is not set: some drives do
/// not know it, and skipping a block descriptor is easy.
pub fn sense(form: Form, pages: Pages, values: Values) -> Vec<u8> {
    let page = match pages {
        Pages::Caching => CACHING,
        Pages::All => 0x3F,
    };
    let page = match values {
        Values::Current => page,
        Values::Changeable => 0b01 << 6 | page,
    };
    let length = BYTES_MAX as u8;
    match form {
        Form::Long => vec![0x5A, 0, page, 0, 0, 0, 0, 0, length, 0],
        Form::Short => vec![0x1A, 0, page, 0, length, 0],
    }
}

/// The caching page as received, with the facts in its header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachingPage {
    bytes: Vec<u8>,
}

impl CachingPage {
    const WRITE_CACHE_ENABLE: u8 = 1 << 2;
    const SAVEABLE: u8 = 1 << 7;

    /// Decodes an answer to [`sense`]: header, block descriptors, page (SPC-5, mode parameter list
    /// format; SBC-4, Caching mode page).
    pub fn decode(form: Form, answer: &[u8]) -> Result<CachingPage, InvalidAnswer> {
        let (header_bytes, descriptors_at, descriptors_width) = match form {
            Form::Long => (8, 6, 2),
            Form::Short => (4, 3, 1),
        };
        at_least(answer, header_bytes)?;
        let descriptors_bytes =
            big_endian(answer, descriptors_at, descriptors_width).unwrap_or(0) as usize;
        // A count that exceeds the answer; some buffers come back whole, with zeros after the
        // answer.
        let length = match form {
            Form::Long => 2 + big_endian(answer, 0, 2).unwrap_or(0) as usize,
            Form::Short => 1 + usize::from(answer[0]),
        };
        let answer = &answer[..length.min(answer.len())];
        let mut pages = answer.get(header_bytes + descriptors_bytes..).unwrap_or_default();
        if pages.len() < 2 {
            return Err(InvalidAnswer("it ends before the first page".to_owned()));
        }
        let (page, length) = loop {
            // Bit 6 marks a subpage, which has its two-byte length further back; bit 7 only says
            // that the page can be saved.
            let (other, length) = match *pages {
                [first, length, ..] if first & 0x7f == CACHING => break (pages, length),
                [first, _, upper, lower, ..] if first & 0x40 != 0 => {
                    (4, u16::from_be_bytes([upper, lower]))
                }
                [_, length, ..] => (2, u16::from(length)),
                _ => return Err(InvalidAnswer("page 08h is missing".to_owned())),
            };
            pages = pages.get(other + usize::from(length)..).unwrap_or_default();
        };
        let whole = page.get(..2 + usize::from(length)).filter(|whole| whole.len() > 2);
        let whole = whole.ok_or_else(|| {
            InvalidAnswer(format!("a page of {length} bytes in {} bytes", page.len()))
        })?;
        Ok(CachingPage { bytes: whole.to_vec() })
    }

    fn write_cache(&self) -> bool {
        self.bytes[2] & Self::WRITE_CACHE_ENABLE != 0
    }

    fn saveable(&self) -> bool {
        self.bytes[0] & Self::SAVEABLE != 0
    }

    /// The state of the write cache. `changeable` is the mask of changeable values; a drive that
    /// refuses to return it cannot change any (SPC-5, MODE SENSE, changeable values).
    pub fn reading(&self, changeable: Option<&CachingPage>) -> CacheReading {
        let enabled = self.write_cache();
        let switchable = changeable.is_some_and(CachingPage::write_cache);
        CacheReading {
            // The page has no bit for a cache that exists but is off. A cache that can be switched
            // on must exist.
            present: enabled || switchable,
            enabled,
            switchable,
            // `select` saves whatever can be saved, as the kernel's switch does (drivers/scsi/sd.c,
            // cache_type_store).
            after_power_cycle: match (switchable, self.saveable()) {
                (false, _) => AfterPowerCycle::Unknown,
                (true, true) => AfterPowerCycle::Keeps,
                (true, false) => AfterPowerCycle::Reverts,
            },
            told_by: ToldBy::ScsiCachingPage,
        }
    }

    /// MODE SELECT of this page with only the write cache changed: command and parameter list. The
    /// page is sent back as it came, because bits that cannot be changed must keep their values; PS
    /// is reserved in this direction, and the header's lengths and medium are zero.
    pub fn select(&self, form: Form, on: bool) -> (Vec<u8>, Vec<u8>) {
        const PAGE_FORMAT: u8 = 1 << 4;

        let mut page = self.bytes.clone();
        page[0] &= !Self::SAVEABLE;
        page[2] =
            page[2] & !Self::WRITE_CACHE_ENABLE | if on { Self::WRITE_CACHE_ENABLE } else { 0 };
        let options = PAGE_FORMAT | u8::from(self.saveable());
        let header_bytes = match form {
            Form::Long => 8,
            Form::Short => 4,
        };
        let mut list = vec![0; header_bytes];
        list.extend(page);
        let [upper, lower] = (list.len() as u16).to_be_bytes();
        let command = match form {
            Form::Long => vec![0x55, options, 0, 0, 0, 0, 0, upper, lower, 0],
            // A page has at most 257 bytes, and one received with the short command fits its
            // answer.
            Form::Short => vec![0x15, options, 0, 0, lower, 0],
        };
        (command, list)
    }
}

#[cfg(test)]
pub mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A caching page as a SAS drive has it: 20 bytes, some of them set.
    pub fn page(write_cache: bool, saveable: bool) -> Vec<u8> {
        let mut page = vec![0; 20];
        page[0] = CACHING | if saveable { 0x80 } else { 0 };
        page[1] = 18;
        page[2] = 0x10 | if write_cache { 0x04 } else { 0 };
        page[4..12].copy_from_slice(&[0xFF, 0xFF, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF]);
        page[12] = 0x80;
        page
    }

    /// An answer with one block descriptor of eight bytes.
    pub fn answer(form: Form, page: &[u8]) -> Vec<u8> {
        let descriptor = [0, 0xFF, 0xFF, 0xFF, 0, 0, 0x02, 0];
        let total = descriptor.len() + page.len();
        let mut answer = match form {
            Form::Long => vec![0, (6 + total) as u8, 0, 0x10, 0, 0, 0, 8],
            Form::Short => vec![(3 + total) as u8, 0, 0x10, 8],
        };
        answer.extend(descriptor);
        answer.extend(page);
        answer
    }

    fn decode(form: Form, page: &[u8]) -> CachingPage {
        CachingPage::decode(form, &answer(form, page)).unwrap()
    }

    #[test]
    fn the_cache_follows_header_and_block_descriptor() {
        for form in [Form::Long, Form::Short] {
            let mask = decode(form, &page(true, false));
            for (on, saveable, after_power_cycle) in
                [(true, true, AfterPowerCycle::Keeps), (false, false, AfterPowerCycle::Reverts)]
            {
                let reading = decode(form, &page(on, saveable)).reading(Some(&mask));
                let told_by = ToldBy::ScsiCachingPage;
                let expected = CacheReading {
                    present: true,
                    enabled: on,
                    switchable: true,
                    after_power_cycle,
                    told_by,
                };
                assert_eq!(reading, expected);
            }
        }
    }

    #[test]
    fn the_page_is_found_among_all() {
        // Error recovery, a subpage of caching with a two-byte length, caching, and a
        // vendor-specific page without a format.
        let mut pages = vec![0x81, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x48, 0x01, 0, 2, 0x08, 18];
        pages.extend(page(true, true));
        pages.extend([0x00, 0xFF]);
        assert_eq!(decode(Form::Short, &pages), decode(Form::Short, &page(true, true)));
    }

    #[test]
    fn a_cache_that_cannot_be_changed() {
        let fixed = decode(Form::Long, &page(false, true));
        for mask in [None, Some(&fixed)] {
            let reading = decode(Form::Long, &page(true, true)).reading(mask);
            assert!(reading.present && reading.enabled && !reading.switchable);
            assert_eq!(reading.after_power_cycle, AfterPowerCycle::Unknown);
            assert!(!decode(Form::Long, &page(false, true)).reading(mask).present);
        }
    }

    #[test]
    fn the_switch_sends_the_page_back_with_one_bit_changed() {
        let (command, list) = decode(Form::Long, &page(true, true)).select(Form::Long, false);
        assert_eq!(command, [0x55, 0x11, 0, 0, 0, 0, 0, 0, 28, 0]);
        assert_eq!(list[..8], [0; 8]);
        assert_eq!(list[8..], page(false, false));

        let (command, list) = decode(Form::Short, &page(false, false)).select(Form::Short, true);
        assert_eq!(command, [0x15, 0x10, 0, 0, 24, 0]);
        assert_eq!(list[4..], page(true, false));
    }

    #[test]
    fn the_questions_as_spc_writes_them() {
        assert_eq!(
            sense(Form::Long, Pages::Caching, Values::Current),
            [0x5A, 0, 0x08, 0, 0, 0, 0, 0, 192, 0]
        );
        assert_eq!(
            sense(Form::Short, Pages::Caching, Values::Changeable),
            [0x1A, 0, 0x48, 0, 192, 0]
        );
        assert_eq!(sense(Form::Short, Pages::All, Values::Current), [0x1A, 0, 0x3F, 0, 192, 0]);
    }

    #[test]
    fn nonsense_is_refused() {
        let refusal = |answer: &[u8]| CachingPage::decode(Form::Long, answer).unwrap_err().0;
        insta::assert_snapshot!(refusal(&[0, 6]), @"2 bytes; expected 8");
        insta::assert_snapshot!(refusal(&[0; 192]), @"it ends before the first page");
        insta::assert_snapshot!(refusal(&[0, 6, 0, 0, 0, 0, 0xFF, 0xFF]), @"it ends before the first page");
        insta::assert_snapshot!(refusal(&[0, 26, 0, 0, 0, 0, 0, 0, 0x3F, 18, 4, 0, 0]), @"page 08h is missing");
        insta::assert_snapshot!(refusal(&[0, 9, 0, 0, 0, 0, 0, 0, 0x48, 1, 0]), @"page 08h is missing");
        insta::assert_snapshot!(refusal(&[0, 26, 0, 0, 0, 0, 0, 0, 0x08, 18, 4, 0, 0]), @"a page of 18 bytes in 5 bytes");
        insta::assert_snapshot!(refusal(&[0, 26, 0, 0, 0, 0, 0, 0, 0x08, 0, 4, 0, 0]), @"a page of 0 bytes in 5 bytes");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(answer in proptest::collection::vec(any::<u8>(), 0..300), on: bool) {
            for form in [Form::Long, Form::Short] {
                if let Ok(page) = CachingPage::decode(form, &answer) {
                    let _ = (page.reading(Some(&page)), page.select(form, on));
                }
            }
        }

        #[test]
        fn a_switch_and_back_is_the_page_as_it_was(mut bytes in proptest::collection::vec(any::<u8>(), 20)) {
            bytes[0] = CACHING;
            bytes[1] = 18;
            let page = CachingPage { bytes: bytes.clone() };
            let (_, list) = page.select(Form::Long, !page.write_cache());
            let changed = CachingPage { bytes: list[8..].to_vec() };
            prop_assert_ne!(changed.write_cache(), page.write_cache());
            prop_assert_eq!(&changed.select(Form::Long, page.write_cache()).1[8..], &bytes[..]);
        }
    }
}
