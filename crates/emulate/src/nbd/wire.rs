//! Constants and layouts of the protocol, from doc/proto.md. All numbers are big-endian.

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
/// Largest data of a write or read: the specification requires at least this much for clients that
/// did not ask.
pub const PAYLOAD_BYTES_MAX: u32 = 32 << 20;
/// Largest data of an option: names have at most 4096 bytes.
pub const OPTION_BYTES_MAX: u32 = 16 << 10;

/// Flags of the handshake.
pub mod handshake {
    /// Both sides: a failed option does not end the session.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// Both sides: no padding after the reply to EXPORT_NAME.
    pub const NO_ZEROES: u16 = 2;
}

/// Options.
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
    /// Unknown option.
    pub const UNSUPPORTED: u32 = 0x8000_0001;
    /// The option's data is invalid.
    pub const INVALID: u32 = 0x8000_0003;
    /// Unknown export.
    pub const UNKNOWN: u32 = 0x8000_0006;
}

/// Kinds of information about an export.
pub mod info {
    /// Size and flags.
    pub const EXPORT: u16 = 0;
    /// Its name.
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
    /// FLUSH is supported.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// FUA is supported.
    pub const SEND_FUA: u16 = 1 << 3;
    /// The drive rotates.
    pub const ROTATIONAL: u16 = 1 << 4;
    /// TRIM is supported.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// WRITE_ZEROES is supported.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// Reads can be replied to in one chunk.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection covers all connections.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
}

/// Commands.
pub mod command {
    /// Reads.
    pub const READ: u16 = 0;
    /// Writes.
    pub const WRITE: u16 = 1;
    /// Ends the session.
    pub const DISCONNECT: u16 = 2;
    /// Flushes.
    pub const FLUSH: u16 = 3;
    /// Trims.
    pub const TRIM: u16 = 4;
    /// Writes zeros.
    pub const WRITE_ZEROES: u16 = 6;
}

/// Flags of a command.
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
    /// Data.
    pub const OFFSET_DATA: u16 = 1;
    /// An error.
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
    /// The request is invalid.
    Invalid = 22,
    /// No space, or beyond the end.
    NoSpace = 28,
    /// The request is too large.
    Overflow = 75,
}
