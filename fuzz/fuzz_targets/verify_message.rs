//! Any bytes are a message, the beginning of one, or nonsense; what is a message is the same when it is framed and read again; and no ledger is upset by it.

#![no_main]

use verify::Ledger;
use verify::message::{Framed, frame, parse, unframe};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Framed::Whole(_, _, taken) = unframe(bytes) {
        assert!(taken <= bytes.len());
    }
    if let Ok(message) = parse(bytes) {
        let framed = frame(1, &message);
        assert_eq!(unframe(&framed), Framed::Whole(1, message.clone(), framed.len()));
        let mut ledger = Ledger::default();
        let _ = ledger.apply(1, &message).and_then(|()| ledger.apply(2, &message));
        let _ = ledger.standing();
    }
});
