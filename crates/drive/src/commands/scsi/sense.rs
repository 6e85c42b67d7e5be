//! Status and sense data: a SCSI drive's report on a command that did not simply succeed.

use std::fmt;

/// SAM-5: sense data has the details.
pub const CHECK_CONDITION: u8 = 0x02;

// Sense keys (SPC-5, sense key and additional sense code definitions).
pub const RECOVERED_ERROR: u8 = 0x1;
pub const ILLEGAL_REQUEST: u8 = 0x5;
pub const UNIT_ATTENTION: u8 = 0x6;

/// Decoded sense data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sense {
    /// The kind of error.
    pub key: u8,
    /// ASC: the error.
    pub code: u8,
    /// ASCQ: qualifies the error.
    pub qualifier: u8,
    /// True if details come as a list of descriptors.
    pub descriptors: bool,
}

impl Sense {
    /// Decodes both formats; `None` for anything else.
    pub fn decode(sense: &[u8]) -> Option<Sense> {
        let at = |index: usize| sense.get(index).copied();
        // A short answer may lack the codes: the key alone is useful, too.
        match at(0)? & 0x7f {
            0x70 | 0x71 => Some(Sense {
                key: at(2)? & 0x0f,
                code: at(12).unwrap_or(0),
                qualifier: at(13).unwrap_or(0),
                descriptors: false,
            }),
            0x72 | 0x73 => Some(Sense {
                key: at(1)? & 0x0f,
                code: at(2).unwrap_or(0),
                qualifier: at(3).unwrap_or(0),
                descriptors: true,
            }),
            _ => None,
        }
    }

    /// The first descriptor of a type, with its two bytes of header.
    pub fn descriptor(self, sense: &[u8], kind: u8) -> Option<&[u8]> {
        if !self.descriptors {
            return None;
        }
        let length = usize::from(*sense.get(7)?);
        let mut rest = sense.get(8..)?;
        rest = &rest[..length.min(rest.len())];
        while let [found, bytes, ..] = *rest {
            let whole = rest.get(..2 + usize::from(bytes))?;
            if found == kind {
                return Some(whole);
            }
            rest = &rest[whole.len()..];
        }
        None
    }
}

impl fmt::Display for Sense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sense { key, code, qualifier, .. } = *self;
        match (key_in_words(key), code_in_words(code, qualifier)) {
            (key, Some(code)) => write!(f, "{key}, {code}")?,
            (key, None) => f.write_str(key)?,
        }
        write!(f, " (sense {key:X}h/{code:02X}h/{qualifier:02X}h)")
    }
}

fn key_in_words(key: u8) -> &'static str {
    match key {
        0x0 => "no sense",
        RECOVERED_ERROR => "recovered error",
        0x2 => "not ready",
        0x3 => "medium error",
        0x4 => "hardware error",
        ILLEGAL_REQUEST => "illegal request",
        UNIT_ATTENTION => "unit attention",
        0x7 => "data protect",
        0xB => "command aborted",
        _ => "uncommon error",
    }
}

/// The codes that queries and cache switches can meet (SPC-5, ASC and ASCQ assignments).
fn code_in_words(code: u8, qualifier: u8) -> Option<&'static str> {
    Some(match (code, qualifier) {
        (0x04, 0x01) => "it is becoming ready",
        (0x04, 0x02) => "it is not started",
        (0x04, 0x0B | 0x0C) => "the port is not active",
        (0x04, _) => "it is not ready",
        (0x1A, _) => "wrong length of the parameter list",
        (0x20, 0x00) => "unknown command",
        (0x20, _) => "the initiator may not send this command",
        (0x21, _) => "address out of range",
        (0x24, _) => "invalid field in the command",
        (0x25, _) => "logical unit not supported",
        (0x26, _) => "invalid field in the parameter list",
        (0x27, _) => "write protected",
        (0x29, _) => "it was reset or switched on",
        (0x2A, _) => "another initiator changed its parameters",
        (0x39, _) => "saving parameters is not supported",
        (0x3A, _) => "no medium",
        (0x44, _) => "internal failure",
        (0x5D, _) => "it predicts its own failure",
        (0x74, _) => "denied by its security settings",
        _ => return None,
    })
}

/// A status without sense data.
pub fn status_in_words(status: u8) -> String {
    let words = match status {
        0x02 => "check condition without sense data",
        0x08 => "busy",
        0x18 => "reserved by another host",
        0x28 => "its queue is full",
        0x40 => "task aborted",
        _ => return format!("status {status:02X}h"),
    };
    format!("{words} (status {status:02X}h)")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn in_words(sense: &[u8]) -> String {
        Sense::decode(sense).unwrap().to_string()
    }

    #[test]
    fn both_formats_say_the_same() {
        let fixed = [0x70, 0, 0x05, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0x00, 0, 0, 0, 0];
        let descriptor = [0x72, 0x05, 0x24, 0x00, 0, 0, 0, 0];
        insta::assert_snapshot!(in_words(&fixed), @"illegal request, invalid field in the command (sense 5h/24h/00h)");
        assert_eq!(in_words(&fixed), in_words(&descriptor));
    }

    #[test]
    fn troubles_in_words() {
        let words = |key, code, qualifier| in_words(&[0x72, key, code, qualifier, 0, 0, 0, 0]);
        insta::assert_snapshot!(words(0x5, 0x20, 0x00), @"illegal request, unknown command (sense 5h/20h/00h)");
        insta::assert_snapshot!(words(0x7, 0x27, 0x00), @"data protect, write protected (sense 7h/27h/00h)");
        insta::assert_snapshot!(words(0x2, 0x3A, 0x01), @"not ready, no medium (sense 2h/3Ah/01h)");
        insta::assert_snapshot!(words(0xB, 0x99, 0x07), @"command aborted (sense Bh/99h/07h)");
        insta::assert_snapshot!(words(0x9, 0x80, 0x01), @"uncommon error (sense 9h/80h/01h)");
        insta::assert_snapshot!(status_in_words(0x18), @"reserved by another host (status 18h)");
        insta::assert_snapshot!(status_in_words(0x77), @"status 77h");
    }

    #[test]
    fn a_short_answer_still_has_its_key() {
        insta::assert_snapshot!(in_words(&[0xF0, 0, 0x02]), @"not ready (sense 2h/00h/00h)");
        assert_eq!(Sense::decode(&[0x70, 0]), None);
        assert_eq!(Sense::decode(&[]), None);
        assert_eq!(Sense::decode(&[0x11, 0, 5]), None);
    }

    #[test]
    fn descriptors_are_found_behind_others() {
        let mut sense = vec![0x72, 1, 0, 0x1D, 0, 0, 0, 20];
        sense.extend([0x02, 0x06, 0, 0, 0, 0, 0, 0, 0x09, 0x02, 0xAA, 0xBB]);
        let decoded = Sense::decode(&sense).unwrap();
        assert_eq!(decoded.descriptor(&sense, 0x09), Some(&[0x09, 0x02, 0xAA, 0xBB][..]));
        assert_eq!(decoded.descriptor(&sense, 0x03), None);
        // A descriptor that claims more bytes than there are.
        sense[17] = 200;
        assert_eq!(decoded.descriptor(&sense, 0x09), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(sense in proptest::collection::vec(any::<u8>(), 0..70), kind: u8) {
            if let Some(decoded) = Sense::decode(&sense) {
                let _ = (decoded.to_string(), decoded.descriptor(&sense, kind));
            }
        }
    }
}
