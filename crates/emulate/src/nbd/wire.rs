//! Numbers and layouts of the protocol, as doc/proto.md has them. All numbers go over the wire with the highest byte first.

/// The server's first word.
pub const MAGIC: u64 = 0x4e42_444d_4147_4943;
/// The word before each option, and the server's second.
pub const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
/// The word before each reply to an option.
pub const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
/// The word before each request.
pub const REQUEST_MAGIC: u32 = 0x2560_9513;
/// The word before a simple reply.
pub const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
/// The word before a chunk of a structured reply.
pub const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Bytes of a request without its data.
pub const REQUEST_BYTES: usize = 28;
/// Bytes of an option without its data.
pub const OPTION_BYTES: usize = 16;
/// The most that a write may carry and a read may ask for: the specification has servers take so much at least from clients that did not ask.
pub const PAYLOAD_BYTES_MOST: u32 = 32 << 20;
/// The most that an option may carry: names have 4096 bytes at most.
pub const OPTION_BYTES_MOST: u32 = 16 << 10;

/// Flags of the handshake.
pub mod handshake {
    /// Both sides: options may fail without an end of the conversation.
    pub const FIXED_NEWSTYLE: u16 = 1;
    /// Both sides: no padding behind the answer to EXPORT_NAME.
    pub const NO_ZEROES: u16 = 2;
}

/// Options.
pub mod option {
    /// Chooses an export; the old way.
    pub const EXPORT_NAME: u32 = 1;
    /// Ends the conversation.
    pub const ABORT: u32 = 2;
    /// Asks for all names.
    pub const LIST: u32 = 3;
    /// Asks about an export.
    pub const INFO: u32 = 6;
    /// Chooses an export.
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
    /// Something about an export.
    pub const INFO: u32 = 3;
    /// Not known here.
    pub const UNSUPPORTED: u32 = 0x8000_0001;
    /// The option's data makes no sense.
    pub const INVALID: u32 = 0x8000_0003;
    /// There is no such export.
    pub const UNKNOWN: u32 = 0x8000_0006;
}

/// Kinds of information about an export.
pub mod info {
    /// Size and flags.
    pub const EXPORT: u16 = 0;
    /// Its name.
    pub const NAME: u16 = 1;
    /// A line for people.
    pub const DESCRIPTION: u16 = 2;
    /// Least, best and largest size of a request.
    pub const BLOCK_SIZE: u16 = 3;
}

/// Flags of an export.
pub mod transmission {
    /// Always set.
    pub const HAS_FLAGS: u16 = 1;
    /// Writes fail.
    pub const READ_ONLY: u16 = 1 << 1;
    /// FLUSH is understood.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// FUA is understood.
    pub const SEND_FUA: u16 = 1 << 3;
    /// The drive rotates.
    pub const ROTATIONAL: u16 = 1 << 4;
    /// TRIM is understood.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// WRITE_ZEROES is understood.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// Reads can be answered in one piece.
    pub const SEND_DF: u16 = 1 << 7;
    /// A flush on one connection covers all.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;
}

/// Commands.
pub mod command {
    /// Reads.
    pub const READ: u16 = 0;
    /// Writes.
    pub const WRITE: u16 = 1;
    /// Ends the conversation.
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
    /// Safe when answered.
    pub const FUA: u16 = 1;
    /// Zeros have to take place.
    pub const NO_HOLE: u16 = 1 << 1;
    /// Answer in one piece.
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

/// Errors, as the protocol numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Error {
    /// Writes are refused.
    Permission = 1,
    /// Something failed.
    Io = 5,
    /// The request makes no sense here.
    Invalid = 22,
    /// No space, or beyond the end.
    NoSpace = 28,
    /// The request is too large.
    Overflow = 75,
}
