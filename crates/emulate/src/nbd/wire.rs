//! Constants and layouts of the protocol, from doc/proto.md. All numbers are big-endian.

/// The server's first magic number.
pub(crate) const MAGIC: u64 = 0x4e42_444d_4147_4943;
/// The magic number before each option, and the server's second.
pub(crate) const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// The magic number before each reply to an option.
pub(crate) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// The magic number before each request.
pub(crate) const REQUEST_MAGIC: u32 = 0x2560_9513;
/// The magic number before a simple reply.
pub(crate) const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// The magic number before a chunk of a structured reply.
pub(crate) const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Size of a request without its data.
pub(crate) const REQUEST_BYTES: usize = 28;
/// Size of an option without its data.
pub(crate) const OPTION_BYTES: usize = 16;
/// Largest data of a write or read: the specification requires at least this much for clients that
/// did not ask.
pub(crate) const PAYLOAD_BYTES_MAX: u32 = 32 << 20;
/// Largest data of an option: names have at most 4096 bytes.
pub(crate) const OPTION_BYTES_MAX: u32 = 16 << 10;

pub(crate) mod handshake {
    /// Both sides: a failed option does not end the session.
    pub(crate) const FIXED_NEWSTYLE: u16 = 1;
    /// Both sides: no padding after the reply to EXPORT_NAME.
    pub(crate) const NO_ZEROES: u16 = 2;
}

pub(crate) mod option {
    /// Selects an export; the old way.
    pub(crate) const EXPORT_NAME: u32 = 1;
    /// Ends the session.
    pub(crate) const ABORT: u32 = 2;
    /// Lists all names.
    pub(crate) const LIST: u32 = 3;
    /// Asks about an export.
    pub(crate) const INFO: u32 = 6;
    /// Selects an export.
    pub(crate) const GO: u32 = 7;
    /// Asks for structured replies.
    pub(crate) const STRUCTURED_REPLY: u32 = 8;
}

/// Answers to options.
pub(crate) mod answer {
    /// Done.
    pub(crate) const ACK: u32 = 1;
    /// One export's name.
    pub(crate) const SERVER: u32 = 2;
    /// Information about an export.
    pub(crate) const INFO: u32 = 3;
    /// Unknown option.
    pub(crate) const UNSUPPORTED: u32 = 0x8000_0001;
    /// The option's data is invalid.
    pub(crate) const INVALID: u32 = 0x8000_0003;
    pub(crate) const UNKNOWN: u32 = 0x8000_0006;
}

/// Kinds of information about an export.
pub(crate) mod info {
    /// Size and flags.
    pub(crate) const EXPORT: u16 = 0;
    pub(crate) const NAME: u16 = 1;
    /// One line of text for display.
    pub(crate) const DESCRIPTION: u16 = 2;
    /// Minimum, preferred and maximum size of a request.
    pub(crate) const BLOCK_SIZE: u16 = 3;
}

/// Flags of an export.
pub(crate) mod transmission {
    /// Always set.
    pub(crate) const HAS_FLAGS: u16 = 1;
    /// Writes fail.
    pub(crate) const READ_ONLY: u16 = 1 << 1;
    pub(crate) const SEND_FLUSH: u16 = 1 << 2;
    pub(crate) const SEND_FUA: u16 = 1 << 3;
    /// The drive rotates.
    pub(crate) const ROTATIONAL: u16 = 1 << 4;
    pub(crate) const SEND_TRIM: u16 = 1 << 5;
    pub(crate) const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// Reads can be replied to in one chunk.
    pub(crate) const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection covers all connections.
    pub(crate) const CAN_MULTI_CONN: u16 = 1 << 8;
}

pub(crate) mod command {
    pub(crate) const READ: u16 = 0;
    pub(crate) const WRITE: u16 = 1;
    /// Ends the session.
    pub(crate) const DISCONNECT: u16 = 2;
    pub(crate) const FLUSH: u16 = 3;
    pub(crate) const TRIM: u16 = 4;
    pub(crate) const WRITE_ZEROES: u16 = 6;
}

pub(crate) mod command_flag {
    /// Safe when replied.
    pub(crate) const FUA: u16 = 1;
    /// Zeros must stay allocated.
    pub(crate) const NO_HOLE: u16 = 1 << 1;
    /// Reply in one chunk.
    pub(crate) const DF: u16 = 1 << 2;
}

/// Chunks of a structured reply.
pub(crate) mod chunk {
    /// The last one.
    pub(crate) const FLAG_DONE: u16 = 1;
    pub(crate) const OFFSET_DATA: u16 = 1;
    pub(crate) const ERROR: u16 = (1 << 15) + 1;
}

/// Error numbers of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Error {
    /// Writes are refused.
    Permission = 1,
    /// An I/O error.
    Io = 5,
    Invalid = 22,
    /// No space, or beyond the end.
    NoSpace = 28,
    /// The request is too large.
    Overflow = 75,
}
