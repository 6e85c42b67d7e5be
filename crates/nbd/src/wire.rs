//! Constants and layouts of the protocol, from doc/proto.md. All numbers are big-endian.

/// The greeting of a server: two magic numbers and its handshake flags.
pub const GREETING_BYTES: usize = 18;
/// The second magic number of a server that has no options (oldstyle negotiation).
pub const OLDSTYLE_MAGIC: u64 = 0x0000_4202_8186_1253;
/// The registered port.
pub const PORT: u16 = 10809;

/// The server's first magic number.
pub const MAGIC: u64 = 0x4e42_444d_4147_4943;
/// The magic number before each option, and the server's second.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// The magic number before each reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// The magic number before each request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// The magic number before a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// The magic number before a chunk of a structured reply.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Size of a request without its data.
pub const REQUEST_BYTES: usize = 28;
/// Size of an option without its data.
pub const OPTION_BYTES: usize = 16;
/// Size of a reply to an option without its data.
pub const OPTION_REPLY_BYTES: usize = 20;
/// Size of a simple reply without its data.
pub const SIMPLE_REPLY_BYTES: usize = 16;
/// The reply to EXPORT_NAME without padding: size and flags.
pub const EXPORT_BYTES: usize = 10;
/// The padding after that reply, for clients without [`handshake::NO_ZEROES`].
pub const EXPORT_PADDING_BYTES: usize = 124;
/// Largest data of a write or read: the specification requires at least this much for clients that
/// did not ask.
pub const PAYLOAD_BYTES_MAX: u32 = 32 << 20;
/// Largest data of an option: names have at most 4096 bytes.
pub const OPTION_BYTES_MAX: u32 = 16 << 10;

pub mod handshake {
    /// Both sides: a failed option does not end the session.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// Both sides: no padding after the reply to EXPORT_NAME.
    pub const NO_ZEROES: u16 = 2;
}

pub mod option {
    /// Selects an export; the old way.
    pub const EXPORT_NAME: u32 = 1;
    /// Ends the session.
    pub const ABORT: u32 = 2;
    /// Lists all names.
    pub const LIST: u32 = 3;
    /// Asks about an export.
    pub const INFO: u32 = 6;
    /// Selects an export.
    pub const GO: u32 = 7;
    /// Asks for structured replies.
    pub const STRUCTURED_REPLY: u32 = 8;
}

/// Answers to options.
pub mod answer {
    /// Done.
    pub const ACK: u32 = 1;
    /// One export's name.
    pub const SERVER: u32 = 2;
    /// Information about an export.
    pub const INFO: u32 = 3;
    /// Set in all answers that are errors.
    pub const ERROR: u32 = 1 << 31;
    /// Unknown option.
    pub const UNSUPPORTED: u32 = ERROR + 1;
    /// The server's configuration forbids it.
    pub const POLICY: u32 = ERROR + 2;
    /// The option's data is invalid.
    pub const INVALID: u32 = ERROR + 3;
    /// Only over an encrypted connection.
    pub const TLS_REQUIRED: u32 = ERROR + 5;
    pub const UNKNOWN: u32 = ERROR + 6;
    /// The server is shutting down.
    pub const SHUTDOWN: u32 = ERROR + 7;
}

/// Kinds of information about an export.
pub mod info {
    /// Size and flags.
    pub const EXPORT: u16 = 0;
    pub const NAME: u16 = 1;
    /// One line of text for display.
    pub const DESCRIPTION: u16 = 2;
    /// Minimum, preferred and maximum size of a request.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Flags of an export.
pub mod transmission {
    /// Always set.
    pub const HAS_FLAGS: u16 = 1;
    /// Writes fail.
    pub const READ_ONLY: u16 = 1 << 1;
    pub const SEND_FLUSH: u16 = 1 << 2;
    pub const SEND_FUA: u16 = 1 << 3;
    /// The drive rotates.
    pub const ROTATIONAL: u16 = 1 << 4;
    pub const SEND_TRIM: u16 = 1 << 5;
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// Reads can be replied to in one chunk.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection covers all connections.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
}

pub mod command {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    /// Ends the session.
    pub const DISCONNECT: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const WRITE_ZEROES: u16 = 6;
}

pub mod command_flag {
    /// Safe when replied.
    pub const FUA: u16 = 1;
    /// Zeros must stay allocated.
    pub const NO_HOLE: u16 = 1 << 1;
    /// Reply in one chunk.
    pub const DF: u16 = 1 << 2;
}

/// Chunks of a structured reply.
pub mod chunk {
    /// The last one.
    pub const FLAG_DONE: u16 = 1;
    pub const OFFSET_DATA: u16 = 1;
    pub const ERROR: u16 = (1 << 15) + 1;
}

/// Error numbers of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Error {
    /// Writes are refused.
    Permission = 1,
    /// An I/O error.
    Io = 5,
    NoMemory = 12,
    Invalid = 22,
    /// No space, or beyond the end.
    NoSpace = 28,
    /// The request is too large.
    Overflow = 75,
    Unsupported = 95,
    /// The server is shutting down.
    Shutdown = 108,
}

impl Error {
    const ALL: [Error; 8] = [
        Error::Permission,
        Error::Io,
        Error::NoMemory,
        Error::Invalid,
        Error::NoSpace,
        Error::Overflow,
        Error::Unsupported,
        Error::Shutdown,
    ];

    /// The error with this number. The protocol requires that clients treat an unknown one as
    /// [`Error::Invalid`].
    pub fn of(number: u32) -> Error {
        Error::ALL.into_iter().find(|error| *error as u32 == number).unwrap_or(Error::Invalid)
    }
}

/// A request without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHeader {
    /// A set of [`command_flag`].
    pub flags: u16,
    /// One of [`command`].
    pub command: u16,
    /// Chosen by the client and returned in the reply.
    pub cookie: u64,
    pub offset: u64,
    pub bytes: u32,
}

impl RequestHeader {
    #[inline]
    pub fn to_bytes(self) -> [u8; REQUEST_BYTES] {
        let mut header = [0; REQUEST_BYTES];
        header[..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
        header[4..6].copy_from_slice(&self.flags.to_be_bytes());
        header[6..8].copy_from_slice(&self.command.to_be_bytes());
        header[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        header[16..24].copy_from_slice(&self.offset.to_be_bytes());
        header[24..].copy_from_slice(&self.bytes.to_be_bytes());
        header
    }

    /// `None` without the magic number.
    #[inline]
    pub fn from_bytes(header: &[u8; REQUEST_BYTES]) -> Option<RequestHeader> {
        (be_u32(header, 0)? == REQUEST_MAGIC).then_some(RequestHeader {
            flags: be_u16(header, 4)?,
            command: be_u16(header, 6)?,
            cookie: be_u64(header, 8)?,
            offset: be_u64(header, 16)?,
            bytes: be_u32(header, 24)?,
        })
    }
}

/// A simple reply without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimpleReply {
    /// 0, or the number of an [`Error`].
    pub error: u32,
    /// That of the request.
    pub cookie: u64,
}

impl SimpleReply {
    #[inline]
    pub fn to_bytes(self) -> [u8; SIMPLE_REPLY_BYTES] {
        let mut header = [0; SIMPLE_REPLY_BYTES];
        header[..4].copy_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
        header[4..8].copy_from_slice(&self.error.to_be_bytes());
        header[8..].copy_from_slice(&self.cookie.to_be_bytes());
        header
    }

    /// `None` without the magic number.
    #[inline]
    pub fn from_bytes(header: &[u8; SIMPLE_REPLY_BYTES]) -> Option<SimpleReply> {
        (be_u32(header, 0)? == SIMPLE_REPLY_MAGIC)
            .then_some(SimpleReply { error: be_u32(header, 4)?, cookie: be_u64(header, 8)? })
    }
}

/// An option without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionHeader {
    /// One of [`option`].
    pub option: u32,
    /// Size of the data.
    pub bytes: u32,
}

impl OptionHeader {
    pub fn to_bytes(self) -> [u8; OPTION_BYTES] {
        let mut header = [0; OPTION_BYTES];
        header[..8].copy_from_slice(&OPTION_MAGIC.to_be_bytes());
        header[8..12].copy_from_slice(&self.option.to_be_bytes());
        header[12..].copy_from_slice(&self.bytes.to_be_bytes());
        header
    }

    /// `None` without the magic number.
    pub fn from_bytes(header: &[u8; OPTION_BYTES]) -> Option<OptionHeader> {
        (be_u64(header, 0)? == OPTION_MAGIC)
            .then_some(OptionHeader { option: be_u32(header, 8)?, bytes: be_u32(header, 12)? })
    }
}

/// A reply to an option, without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionReply {
    /// The option that it answers.
    pub option: u32,
    /// One of [`answer`].
    pub answer: u32,
    /// Size of the data.
    pub bytes: u32,
}

impl OptionReply {
    pub fn to_bytes(self) -> [u8; OPTION_REPLY_BYTES] {
        let mut header = [0; OPTION_REPLY_BYTES];
        header[..8].copy_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
        header[8..12].copy_from_slice(&self.option.to_be_bytes());
        header[12..16].copy_from_slice(&self.answer.to_be_bytes());
        header[16..].copy_from_slice(&self.bytes.to_be_bytes());
        header
    }

    /// `None` without the magic number.
    pub fn from_bytes(header: &[u8; OPTION_REPLY_BYTES]) -> Option<OptionReply> {
        (be_u64(header, 0)? == OPTION_REPLY_MAGIC).then_some(OptionReply {
            option: be_u32(header, 8)?,
            answer: be_u32(header, 12)?,
            bytes: be_u32(header, 16)?,
        })
    }
}

/// The data of INFO and GO: a name, and the requested kinds of information.
pub fn info_request(name: &str, kinds: &[u16]) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name.bytes());
    data.extend((kinds.len() as u16).to_be_bytes());
    data.extend(kinds.iter().flat_map(|kind| kind.to_be_bytes()));
    data
}

/// The name in the data of INFO and GO, and the requested kinds of information; `None` if it is
/// invalid.
pub fn parse_info_request(data: &[u8]) -> Option<(&[u8], impl Iterator<Item = u16>)> {
    let name_bytes = be_u32(data, 0)? as usize;
    let name = data.get(4..4usize.checked_add(name_bytes)?)?;
    let (count, kinds) = data[4 + name_bytes..].split_first_chunk::<2>()?;
    let kinds_match = kinds.len() == usize::from(u16::from_be_bytes(*count)) * 2;
    kinds_match
        .then(|| (name, kinds.chunks_exact(2).map(|kind| u16::from_be_bytes([kind[0], kind[1]]))))
}

/// The number at this offset; `None` beyond the end.
#[inline]
pub fn be_u16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|&bytes| u16::from_be_bytes(bytes))
}

/// The number at this offset; `None` beyond the end.
#[inline]
pub fn be_u32(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|&bytes| u32::from_be_bytes(bytes))
}

/// The number at this offset; `None` beyond the end.
#[inline]
pub fn be_u64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|&bytes| u64::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written_and_not_without_its_magic_number() {
        let request =
            RequestHeader { flags: 1, command: 2, cookie: 3 << 40, offset: 4 << 40, bytes: 5 };
        let reply = SimpleReply { error: 5, cookie: 6 << 40 };
        let (option, answer) = (
            OptionHeader { option: 7, bytes: 8 },
            OptionReply { option: 9, answer: answer::UNKNOWN, bytes: 10 },
        );
        assert_eq!(RequestHeader::from_bytes(&request.to_bytes()), Some(request));
        assert_eq!(SimpleReply::from_bytes(&reply.to_bytes()), Some(reply));
        assert_eq!(OptionHeader::from_bytes(&option.to_bytes()), Some(option));
        assert_eq!(OptionReply::from_bytes(&answer.to_bytes()), Some(answer));
        assert_eq!(RequestHeader::from_bytes(&[0; REQUEST_BYTES]), None);
        assert_eq!(SimpleReply::from_bytes(&[0; SIMPLE_REPLY_BYTES]), None);
        assert_eq!(OptionHeader::from_bytes(&[0; OPTION_BYTES]), None);
        assert_eq!(OptionReply::from_bytes(&[0; OPTION_REPLY_BYTES]), None);
    }

    #[test]
    fn the_data_of_go_is_read_as_it_was_written() {
        let data = info_request("disk", &[info::NAME, info::BLOCK_SIZE]);
        let (name, kinds) = parse_info_request(&data).unwrap();
        assert_eq!((name, kinds.collect()), (&b"disk"[..], vec![1, 3]));
        for cut in 0..data.len() {
            assert!(parse_info_request(&data[..cut]).is_none(), "{cut}");
        }
    }

    #[test]
    fn an_unknown_error_is_an_invalid_request() {
        assert_eq!((Error::of(28), Error::of(4711)), (Error::NoSpace, Error::Invalid));
    }
}
