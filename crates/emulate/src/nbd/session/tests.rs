use proptest::prelude::*;

use nbd::wire::info_request;

use super::*;

fn export() -> Export {
    Export {
        name: "consumer-nvme".to_owned(),
        description: "Generic consumer NVMe drive".to_owned(),
        bytes: 1 << 30,
        flush: true,
        fua: true,
        read_only: false,
        rotational: false,
        sector_bytes: 512,
    }
}

fn option_of(option: u32, data: &[u8]) -> Vec<u8> {
    [&OptionHeader { option, bytes: data.len() as u32 }.to_bytes()[..], data].concat()
}

fn request_of(flags: u16, command: u16, offset: u64, bytes: u32, data: &[u8]) -> Vec<u8> {
    let header = RequestHeader { flags, command, cookie: 7, offset, bytes };
    [&header.to_bytes()[..], data].concat()
}

/// Requests with their data, replies, and whether the session has ended.
type Said = (Vec<(Request, Vec<u8>)>, Vec<u8>, bool);

/// The result of feeding all of `words` at once: requests and replies.
fn said(words: &[u8]) -> Said {
    let mut out = Vec::new();
    let mut session = Session::greet(export(), &mut out);
    out.clear();
    let (mut rest, mut asked) = (words, Vec::new());
    loop {
        let (used, step) = session.step(rest, &mut out);
        match step {
            Step::Needs(bytes) => {
                assert!(bytes > rest.len());
                return (asked, out, false);
            }
            Step::Went => {}
            Step::Asked(request, data) => asked.push((request, data.to_vec())),
            Step::Over => return (asked, out, true),
        }
        rest = &rest[used..];
    }
}

fn in_transmission(words: &[u8]) -> Said {
    let greeting =
        [&3u32.to_be_bytes()[..], &option_of(option::GO, &info_request("", &[]))].concat();
    let before = said(&greeting).1.len();
    let (asked, out, over) = said(&[&greeting, words].concat());
    (asked, out[before..].to_vec(), over)
}

#[test]
fn go_reports_size_flags_and_requested_information() {
    let words = [
        &3u32.to_be_bytes()[..],
        &option_of(
            option::GO,
            &info_request("consumer-nvme", &[info::NAME, info::DESCRIPTION, info::BLOCK_SIZE]),
        ),
    ];
    let (_, out, over) = said(&words.concat());
    assert!(!over);
    let text: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
    // Each reply: magic, option 7, kind, length, data. Flags 0x1ed: all but read-only and
    // rotational.
    let answers: Vec<&str> = text.split("0003e889045565a9").skip(1).collect();
    insta::assert_debug_snapshot!(answers, @r#"
    [
        "00000007000000030000000c00000000000040000000016d",
        "00000007000000030000000f0001636f6e73756d65722d6e766d65",
        "00000007000000030000001d000247656e6572696320636f6e73756d6572204e564d65206472697665",
        "00000007000000030000000e0003000002000000100002000000",
        "000000070000000100000000",
    ]
    "#);
}

#[test]
fn a_drive_without_volatile_cache_takes_no_flush() {
    let protected = Export { flush: false, fua: false, ..export() };
    assert_eq!(protected.flags(false) & (transmission::SEND_FLUSH | transmission::SEND_FUA), 0);
    let mut out = Vec::new();
    let mut session = Session::greet(protected, &mut out);
    let words = [
        &3u32.to_be_bytes()[..],
        &option_of(option::GO, &info_request("", &[])),
        &request_of(0, command::FLUSH, 0, 0, &[]),
    ];
    let words = words.concat();
    let mut rest = &words[..];
    for _ in 0..3 {
        out.clear();
        let (used, step) = session.step(rest, &mut out);
        assert_eq!(step, Step::Went);
        rest = &rest[used..];
    }
    assert_eq!(out, SimpleReply { error: 22, cookie: 7 }.to_bytes());
}

#[test]
fn the_old_way_to_choose_an_export() {
    for (flags, padding) in [(1u32, 124), (3, 0)] {
        let (_, out, over) =
            said(&[&flags.to_be_bytes()[..], &option_of(option::EXPORT_NAME, b"")].concat());
        assert_eq!((out.len(), over), (10 + padding, false));
        assert_eq!(out[..8], (1u64 << 30).to_be_bytes());
    }
    assert!(said(&[&3u32.to_be_bytes()[..], &option_of(option::EXPORT_NAME, b"other")].concat()).2);
}

#[test]
fn unknown_and_invalid_options_are_answered() {
    let answer_of = |name, data: &[u8]| {
        let (_, out, over) = said(&[&3u32.to_be_bytes()[..], &option_of(name, data)].concat());
        (be_u32(&out, 12).unwrap(), over)
    };
    assert_eq!(answer_of(5, b""), (answer::UNSUPPORTED, false));
    assert_eq!(answer_of(10, b"base:allocation"), (answer::UNSUPPORTED, false));
    assert_eq!(answer_of(option::LIST, b"x"), (answer::INVALID, false));
    assert_eq!(answer_of(option::LIST, b""), (answer::SERVER, false));
    assert_eq!(answer_of(option::GO, b"x"), (answer::INVALID, false));
    assert_eq!(answer_of(option::INFO, &info_request("other", &[])), (answer::UNKNOWN, false));
    assert_eq!(answer_of(option::ABORT, b""), (answer::ACK, true));
}

#[test]
fn requests_and_their_data() {
    let words = [
        request_of(command_flag::FUA, command::WRITE, 4096, 4, b"data"),
        request_of(0, command::READ, 512, 1024, b""),
        request_of(0, command::FLUSH, 0, 0, b""),
        request_of(command_flag::NO_HOLE, command::WRITE_ZEROES, 0, 1 << 31, b""),
        request_of(0, command::DISCONNECT, 0, 0, b""),
    ];
    let (asked, out, over) = in_transmission(&words.concat());
    assert!(over && out.is_empty());
    let kinds: Vec<(Kind, bool, usize)> =
        asked.iter().map(|(one, data)| (one.kind, one.fua, data.len())).collect();
    assert_eq!(
        kinds,
        [
            (Kind::Write, true, 4),
            (Kind::Read, false, 0),
            (Kind::Flush, false, 0),
            (Kind::WriteZeroes, false, 0)
        ]
    );
}

#[test]
fn invalid_requests_are_answered_and_garbage_ends_the_session() {
    let error_of = |words: &[u8]| {
        let (asked, out, over) = in_transmission(words);
        assert!(asked.is_empty());
        (be_u32(&out, 4), over)
    };
    assert_eq!(error_of(&request_of(0, 5, 0, 512, b"")), (Some(22), false));
    assert_eq!(error_of(&request_of(1 << 9, command::READ, 0, 512, b"")), (Some(22), false));
    assert_eq!(error_of(&request_of(0, command::READ, 0, u32::MAX, b"")), (Some(75), false));
    assert_eq!(error_of(&request_of(0, command::WRITE, 0, u32::MAX, b"")), (None, true));
    assert_eq!(error_of(&[0; REQUEST_BYTES]), (None, true));
}

#[test]
fn structured_answers_after_they_were_asked_for() {
    let mut out = Vec::new();
    let mut session = Session::greet(export(), &mut out);
    session.structured = true;
    let request =
        Request { cookie: 7, kind: Kind::Read, offset: 512, bytes: 2, fua: false, no_hole: false };
    out.clear();
    session.done(&request, &mut out, |data| {
        data.extend(b"ab");
        Ok(())
    });
    let expected =
        "668e33ef 0001 0001 0000000000000007 0000000a 0000000000000200 6162".replace(' ', "");
    assert_eq!(out.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), expected);
    out.clear();
    session.done(&request, &mut out, |_| Err(Error::Io));
    let expected = "668e33ef 0001 8001 0000000000000007 00000006 00000005 0000".replace(' ', "");
    assert_eq!(out.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), expected);
}

/// Possible input of a client: partly valid, partly arbitrary.
fn words() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(3u32.to_be_bytes().to_vec()),
        (0u32..12, prop::collection::vec(any::<u8>(), 0..64))
            .prop_map(|(name, data)| option_of(name, &data)),
        Just(option_of(option::GO, &info_request("", &[1, 2, 3]))),
        (any::<u16>(), 0u16..9, any::<u64>(), 0u32..64, prop::collection::vec(any::<u8>(), 0..64))
            .prop_map(|(flags, code, offset, bytes, data)| request_of(
                flags, code, offset, bytes, &data
            )),
        prop::collection::vec(any::<u8>(), 0..40),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Splitting the input into pieces makes no difference.
    #[test]
    fn what_comes_in_pieces_means_the_same(words in words(), cut in 1usize..50) {
        let whole = said(&words);
        let mut out = Vec::new();
        let mut session = Session::greet(export(), &mut out);
        out.clear();
        let (mut held, mut asked, mut over) = (Vec::new(), Vec::new(), false);
        for piece in words.chunks(cut) {
            held.extend_from_slice(piece);
            while !over {
                let (used, step) = session.step(&held, &mut out);
                match step {
                    Step::Needs(_) => break,
                    Step::Went => {}
                    Step::Asked(request, data) => asked.push((request, data.to_vec())),
                    Step::Over => over = true,
                }
                held.drain(..used);
            }
        }
        prop_assert_eq!((asked, out, over), whole);
    }
}
