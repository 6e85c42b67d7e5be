//! Any bytes are a conversation with an NBD server, or nonsense that ends it: it never panics, uses up no more than was said, and what comes in pieces means the same.

#![no_main]

use emulate::nbd::{Export, Session, Step};

fn export() -> Export {
    Export {
        name: "drive".to_owned(),
        description: "a drive".to_owned(),
        bytes: 1 << 20,
        flush: true,
        fua: true,
        read_only: false,
        rotational: false,
        sector_bytes: 512,
    }
}

/// The session's output, the number of requests, and whether it ended, for words sent in pieces of
/// this size.
fn said(words: &[u8], piece: usize) -> (Vec<u8>, usize, bool) {
    let mut out = Vec::new();
    let mut session = Session::greet(export(), &mut out);
    let (mut held, mut asked) = (Vec::new(), 0);
    for part in words.chunks(piece) {
        held.extend_from_slice(part);
        loop {
            let (used, step) = session.step(&held, &mut out);
            assert!(used <= held.len());
            match step {
                Step::Needs(bytes) => {
                    assert!(bytes > held.len());
                    break;
                }
                Step::Went => {}
                Step::Asked(request, data) => {
                    assert!(data.is_empty() || data.len() == request.bytes as usize);
                    asked += 1;
                }
                Step::Over => return (out, asked, true),
            }
            held.drain(..used);
        }
    }
    (out, asked, false)
}

libfuzzer_sys::fuzz_target!(|words: &[u8]| {
    let whole = said(words, usize::MAX);
    assert_eq!(said(words, 7), whole);
});
