//! The client's side of the negotiation: from a connected stream to an export.

use std::io::{self, Read, Write};

use crate::error::{NbdError, Violation};
use crate::wire::{
    EXPORT_BYTES, EXPORT_PADDING_BYTES, GREETING_BYTES, MAGIC, OLDSTYLE_MAGIC, OPTION_MAGIC,
    OPTION_REPLY_BYTES, OptionHeader, OptionReply, PAYLOAD_BYTES_MAX, answer, be_u16, be_u32,
    be_u64, handshake, info, info_request, option, transmission,
};

/// Most information replies to one option; the protocol has five kinds.
const INFO_REPLIES_MAX: usize = 64;
/// Largest data of a reply: a string has at most 4096 bytes.
const REPLY_BYTES_MAX: u32 = 8192;
/// Largest valid minimum size of a request.
const SIZE_MIN_MAX: u32 = 64 << 10;
/// The smallest unit of an export whose server names none.
const DEFAULT_UNIT_BYTES: u32 = 512;
/// The size that suits most servers.
const DEFAULT_PREFERRED_BYTES: u32 = 4096;

/// The sizes of requests that an export accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestSizes {
    /// Offsets and lengths are multiples of this, a power of two.
    pub min_bytes: u32,
    /// Multiples of this are efficient.
    pub preferred_bytes: u32,
    /// Largest read or write.
    pub max_bytes: u32,
}

impl RequestSizes {
    /// The sizes of a server that names none. doc/proto.md: clients should then expect any server
    /// to support 32 MiB.
    pub const UNNAMED: RequestSizes = RequestSizes {
        min_bytes: DEFAULT_UNIT_BYTES,
        preferred_bytes: DEFAULT_PREFERRED_BYTES,
        max_bytes: PAYLOAD_BYTES_MAX,
    };

    fn parse(data: &[u8]) -> Option<RequestSizes> {
        if data.len() != 12 {
            return None;
        }
        let (min_bytes, preferred_bytes, max_bytes) =
            (be_u32(data, 0)?, be_u32(data, 4)?, be_u32(data, 8)?);
        let is_valid = min_bytes.is_power_of_two()
            && min_bytes <= SIZE_MIN_MAX
            && preferred_bytes.is_power_of_two()
            && preferred_bytes >= min_bytes
            && max_bytes >= min_bytes;
        is_valid.then_some(RequestSizes { min_bytes, preferred_bytes, max_bytes })
    }
}

/// An export, as its server describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export {
    /// Never 0.
    pub bytes: u64,
    flags: u16,
    pub sizes: RequestSizes,
}

impl Export {
    fn new(bytes: u64, flags: u16, sizes: RequestSizes) -> Result<Export, Violation> {
        // Offsets are signed in the kernel and in other clients.
        if bytes == 0 || i64::try_from(bytes).is_err() {
            return Err(Violation::Size(bytes));
        }
        Ok(Export { bytes, flags, sizes })
    }

    /// A flag has a meaning only if the server says that it sends flags.
    const fn has(&self, flag: u16) -> bool {
        self.flags & transmission::HAS_FLAGS != 0 && self.flags & flag != 0
    }

    pub const fn is_read_only(&self) -> bool {
        self.has(transmission::READ_ONLY)
    }

    pub const fn takes_flush(&self) -> bool {
        self.has(transmission::SEND_FLUSH)
    }

    pub const fn takes_fua(&self) -> bool {
        self.has(transmission::SEND_FUA)
    }

    pub const fn takes_trim(&self) -> bool {
        self.has(transmission::SEND_TRIM)
    }

    pub const fn is_rotational(&self) -> bool {
        self.has(transmission::ROTATIONAL)
    }

    /// Several connections see each other's writes, and a flush on one covers all of them.
    pub const fn takes_several_connections(&self) -> bool {
        self.has(transmission::CAN_MULTI_CONN)
    }
}

/// Negotiates an export on a stream to a server. The stream is ready for requests afterwards.
///
/// # Errors
/// If the server refuses the export, sends something else than the protocol demands, or the stream
/// fails.
pub fn negotiate<S: Read + Write>(stream: &mut S, name: &str) -> Result<Export, NbdError> {
    let greeting: [u8; GREETING_BYTES] = read(stream)?;
    if be_u64(&greeting, 0) != Some(MAGIC) {
        return Err(Violation::Greeting.into());
    }
    match be_u64(&greeting, 8) {
        Some(OPTION_MAGIC) => {}
        Some(OLDSTYLE_MAGIC) => return Err(Violation::Oldstyle.into()),
        _ => return Err(Violation::Greeting.into()),
    }
    let flags = be_u16(&greeting, 16).unwrap_or_default();
    if flags & handshake::FIXED_NEWSTYLE == 0 {
        return Err(Violation::NotFixed.into());
    }
    let flags = flags & (handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
    let mut first = u32::from(flags).to_be_bytes().to_vec();
    let kinds = info_request(name, &[info::BLOCK_SIZE]);
    first.extend(option_of(option::GO, &kinds));
    stream.write_all(&first).map_err(broken)?;
    match go(stream, name)? {
        Some(export) => Ok(export),
        None => export_name(stream, name, flags & handshake::NO_ZEROES != 0),
    }
}

fn option_of(option: u32, data: &[u8]) -> Vec<u8> {
    let mut words = OptionHeader { option, bytes: data.len() as u32 }.to_bytes().to_vec();
    words.extend(data);
    words
}

/// Reads the replies to GO; `None` if the server does not know that option.
fn go(stream: &mut impl Read, name: &str) -> Result<Option<Export>, NbdError> {
    let invalid = |what| NbdError::from(Violation::Negotiation(what));
    let (mut size_and_flags, mut sizes) = (None, RequestSizes::UNNAMED);
    for _ in 0..INFO_REPLIES_MAX {
        let header: [u8; OPTION_REPLY_BYTES] = read(stream)?;
        let reply = OptionReply::from_bytes(&header).ok_or_else(|| invalid("no magic number"))?;
        if reply.option != option::GO {
            return Err(invalid("it answers another option"));
        }
        if reply.bytes > REPLY_BYTES_MAX {
            return Err(invalid("it is too long"));
        }
        let mut memory = [0; REPLY_BYTES_MAX as usize];
        let data = &mut memory[..reply.bytes as usize];
        stream.read_exact(data).map_err(broken)?;
        match reply.answer {
            answer::INFO => match (be_u16(data, 0), &data[data.len().min(2)..]) {
                (Some(info::EXPORT), what) if what.len() == EXPORT_BYTES => {
                    size_and_flags = be_u64(what, 0).zip(be_u16(what, 8));
                }
                (Some(info::BLOCK_SIZE), what) => {
                    sizes = RequestSizes::parse(what)
                        .ok_or_else(|| invalid("it names impossible block sizes"))?;
                }
                (None | Some(info::EXPORT), _) => {
                    return Err(invalid("it is too short"));
                }
                // Other kinds may be sent without having been requested.
                (Some(_), _) => {}
            },
            answer::ACK => {
                let (bytes, flags) =
                    size_and_flags.ok_or_else(|| invalid("the size of the export is missing"))?;
                return Ok(Some(Export::new(bytes, flags, sizes)?));
            }
            answer::UNSUPPORTED => return Ok(None),
            answer::UNKNOWN => return Err(NbdError::UnknownExport(name.to_owned())),
            answer::TLS_REQUIRED => return Err(NbdError::TlsRequired),
            error if error & answer::ERROR != 0 => {
                let message = String::from_utf8_lossy(data).into_owned();
                return Err(NbdError::Refused { export: name.to_owned(), message });
            }
            _ => return Err(invalid("its kind is unknown")),
        }
    }
    Err(invalid("there are too many"))
}

/// Selects an export the old way. A server refuses it by closing the connection.
fn export_name<S: Read + Write>(
    stream: &mut S,
    name: &str,
    no_zeroes: bool,
) -> Result<Export, NbdError> {
    stream.write_all(&option_of(option::EXPORT_NAME, name.as_bytes())).map_err(broken)?;
    let reply: [u8; EXPORT_BYTES] = match read(stream) {
        Err(NbdError::Violation(Violation::ClosedEarly)) => {
            return Err(NbdError::UnknownExport(name.to_owned()));
        }
        reply => reply?,
    };
    if !no_zeroes {
        let _padding: [u8; EXPORT_PADDING_BYTES] = read(stream)?;
    }
    let (bytes, flags) = be_u64(&reply, 0).zip(be_u16(&reply, 8)).unwrap_or_default();
    Ok(Export::new(bytes, flags, RequestSizes::UNNAMED)?)
}

fn read<const BYTES: usize>(stream: &mut impl Read) -> Result<[u8; BYTES], NbdError> {
    let mut bytes = [0; BYTES];
    stream.read_exact(&mut bytes).map_err(broken)?;
    Ok(bytes)
}

fn broken(error: io::Error) -> NbdError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::BrokenPipe => Violation::ClosedEarly.into(),
        _ => NbdError::Io(error),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A server with a prepared answer, whatever the client sends.
    struct Script<'a> {
        says: &'a [u8],
        heard: Vec<u8>,
    }

    impl Read for Script<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.says.read(buffer)
        }
    }

    impl Write for Script<'_> {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.heard.extend(data);
            Ok(data.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn greeting(flags: u16) -> Vec<u8> {
        [&MAGIC.to_be_bytes()[..], &OPTION_MAGIC.to_be_bytes(), &flags.to_be_bytes()].concat()
    }

    fn reply(answer: u32, data: &[u8]) -> Vec<u8> {
        let header = OptionReply { option: option::GO, answer, bytes: data.len() as u32 };
        [&header.to_bytes()[..], data].concat()
    }

    fn export_info(bytes: u64, flags: u16) -> Vec<u8> {
        let data =
            [&info::EXPORT.to_be_bytes()[..], &bytes.to_be_bytes(), &flags.to_be_bytes()].concat();
        reply(answer::INFO, &data)
    }

    fn sizes_info(sizes: [u32; 3]) -> Vec<u8> {
        let sizes = sizes.map(u32::to_be_bytes);
        let data = [&info::BLOCK_SIZE.to_be_bytes()[..], sizes.as_flattened()].concat();
        reply(answer::INFO, &data)
    }

    fn negotiated(parts: &[Vec<u8>]) -> Result<Export, NbdError> {
        let says = parts.concat();
        negotiate(&mut Script { says: &says, heard: Vec::new() }, "disk")
    }

    fn refused(parts: &[Vec<u8>]) -> String {
        negotiated(parts).unwrap_err().to_string()
    }

    #[test]
    fn go_returns_size_flags_and_sizes_of_requests() {
        let flags = transmission::HAS_FLAGS | transmission::SEND_FLUSH | transmission::READ_ONLY;
        let says = [
            greeting(3),
            reply(answer::INFO, &[0, 9, 1, 2, 3]),
            export_info(1 << 30, flags),
            sizes_info([512, 4096, 1 << 20]),
            reply(answer::ACK, &[]),
        ];
        let export = negotiated(&says).unwrap();
        assert!(export.takes_flush() && export.is_read_only() && !export.takes_fua());
        let sizes = RequestSizes { min_bytes: 512, preferred_bytes: 4096, max_bytes: 1 << 20 };
        assert_eq!((export.bytes, export.sizes), (1 << 30, sizes));
        let mut says = says.to_vec();
        says[2] = export_info(1 << 30, flags & !transmission::HAS_FLAGS);
        assert!(!negotiated(&says).unwrap().takes_flush(), "flags without HAS_FLAGS mean nothing");
    }

    #[test]
    fn a_server_without_go_is_asked_the_old_way() {
        for (flags, padding) in [(1, EXPORT_PADDING_BYTES), (3, 0)] {
            let unsupported = reply(answer::UNSUPPORTED, b"");
            let export = [&(1u64 << 20).to_be_bytes()[..], &[0, 1], &vec![0; padding]].concat();
            let says = [greeting(flags), unsupported, export].concat();
            let mut stream = Script { says: &says, heard: Vec::new() };
            assert_eq!(negotiate(&mut stream, "disk").unwrap().bytes, 1 << 20);
            assert!(stream.says.is_empty(), "{} bytes are left", stream.says.len());
            assert!(stream.heard.ends_with(&option_of(option::EXPORT_NAME, b"disk")));
        }
        insta::assert_snapshot!(refused(&[greeting(3), reply(answer::UNSUPPORTED, b"")]), @"the server has no export `disk`");
    }

    #[test]
    fn what_a_server_must_not_say_is_a_sentence() {
        let oldstyle = [&MAGIC.to_be_bytes()[..], &OLDSTYLE_MAGIC.to_be_bytes(), &[0, 0]].concat();
        insta::assert_snapshot!(refused(&[b"HTTP/1.1 400 Bad Request".to_vec()]), @"the server does not speak NBD: its greeting is invalid");
        insta::assert_snapshot!(refused(&[oldstyle]), @"the server uses the oldstyle negotiation of NBD, which is not supported");
        insta::assert_snapshot!(refused(&[greeting(0)]), @"the server does not support fixed newstyle negotiation");
        insta::assert_snapshot!(refused(&[]), @"the server closed the connection during the negotiation");
        let after_greeting = |parts: &[Vec<u8>]| refused(&[&[greeting(3)], parts].concat());
        insta::assert_snapshot!(after_greeting(&[vec![0; 20]]), @"the server sent an invalid reply during the negotiation: no magic number");
        let other = OptionReply { option: option::LIST, answer: answer::ACK, bytes: 0 };
        insta::assert_snapshot!(after_greeting(&[other.to_bytes().to_vec()]), @"the server sent an invalid reply during the negotiation: it answers another option");
        let long = OptionReply { option: option::GO, answer: answer::INFO, bytes: u32::MAX };
        insta::assert_snapshot!(after_greeting(&[long.to_bytes().to_vec()]), @"the server sent an invalid reply during the negotiation: it is too long");
        insta::assert_snapshot!(after_greeting(&[reply(answer::INFO, &[0])]), @"the server sent an invalid reply during the negotiation: it is too short");
        insta::assert_snapshot!(after_greeting(&[reply(answer::INFO, &[0, 0, 1])]), @"the server sent an invalid reply during the negotiation: it is too short");
        insta::assert_snapshot!(after_greeting(&[reply(answer::ACK, &[])]), @"the server sent an invalid reply during the negotiation: the size of the export is missing");
        insta::assert_snapshot!(after_greeting(&[reply(77, &[])]), @"the server sent an invalid reply during the negotiation: its kind is unknown");
        insta::assert_snapshot!(after_greeting(&vec![export_info(512, 1); 65]), @"the server sent an invalid reply during the negotiation: there are too many");
        insta::assert_snapshot!(after_greeting(&[sizes_info([3, 4096, 4096])]), @"the server sent an invalid reply during the negotiation: it names impossible block sizes");
        let sized = |bytes| after_greeting(&[export_info(bytes, 1), reply(answer::ACK, &[])]);
        insta::assert_snapshot!(sized(0), @"the server offers an export of 0 bytes, which is an invalid size");
        insta::assert_snapshot!(sized(u64::MAX), @"the server offers an export of 18446744073709551615 bytes, which is an invalid size");
        insta::assert_snapshot!(after_greeting(&[reply(answer::UNKNOWN, b"no")]), @"the server has no export `disk`");
        insta::assert_snapshot!(after_greeting(&[reply(answer::TLS_REQUIRED, b"")]), @"the server requires TLS, which is not supported");
        insta::assert_snapshot!(after_greeting(&[reply(answer::POLICY, b"not you\x1b[2J")]), @r"the server refuses the export `disk`: not you\u{1b}[2J");
    }

    proptest! {
        /// A server's words, valid or not, lead to an export or an error.
        #[test]
        fn whatever_a_server_says_is_an_export_or_an_error(
            parts in prop::collection::vec(prop_oneof![
                Just(greeting(3)),
                (0u32..9, prop::collection::vec(any::<u8>(), 0..20))
                    .prop_map(|(answer, data)| reply(answer, &data)),
                (any::<u64>(), any::<u16>()).prop_map(|(bytes, flags)| export_info(bytes, flags)),
                prop::array::uniform3(any::<u32>()).prop_map(sizes_info),
                prop::collection::vec(any::<u8>(), 0..40),
            ], 0..6),
        ) {
            let says = [&[greeting(3)][..], &parts].concat();
            if let Ok(export) = negotiated(&says) {
                prop_assert!(export.bytes > 0 && export.sizes.min_bytes.is_power_of_two());
            }
        }
    }
}
