//! One client's session: bytes in, replies and requests out. It does not use a socket, so tests can
//! feed it anything.

use nbd::wire::{
    EXPORT_PADDING_BYTES, Error, MAGIC, OPTION_BYTES, OPTION_BYTES_MAX, OPTION_MAGIC, OptionHeader,
    OptionReply, PAYLOAD_BYTES_MAX, REQUEST_BYTES, RequestHeader, STRUCTURED_REPLY_MAGIC,
    SimpleReply, answer, be_u32, chunk, command, command_flag, handshake, info, option,
    parse_info_request, transmission,
};

#[expect(clippy::struct_excessive_bools, reason = "independent flags of the protocol")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Name of the export; clients may also use the empty name.
    pub name: String,
    /// One line of text for display.
    pub description: String,
    /// Size of the drive.
    pub bytes: u64,
    /// True if FLUSH is offered.
    pub flush: bool,
    /// True if FUA is offered.
    pub fua: bool,
    /// True if it refuses writes.
    pub read_only: bool,
    /// True if it rotates.
    pub rotational: bool,
    /// The smallest unit of reads and writes, in bytes.
    pub sector_bytes: u32,
}

impl Export {
    fn flags(&self, structured: bool) -> u16 {
        let set = |on: bool, flag: u16| if on { flag } else { 0 };
        transmission::HAS_FLAGS
            | transmission::SEND_TRIM
            | transmission::SEND_WRITE_ZEROES
            | transmission::CAN_MULTI_CONN
            // Only clients that asked for structured replies may see this flag.
            | set(structured, transmission::SEND_DF)
            | set(self.read_only, transmission::READ_ONLY)
            | set(self.flush, transmission::SEND_FLUSH)
            | set(self.fua, transmission::SEND_FUA)
            | set(self.rotational, transmission::ROTATIONAL)
    }
}

/// A client's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The client's ID of the request, returned in the reply.
    pub cookie: u64,
    pub kind: Kind,
    /// Offset in bytes.
    pub offset: u64,
    pub bytes: u32,
    /// Forced unit access: safe when replied.
    pub fua: bool,
    /// For WRITE_ZEROES: the range stays allocated.
    pub no_hole: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Read,
    /// Writes the attached data.
    Write,
    Flush,
    Trim,
    WriteZeroes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// More input is needed: this many bytes in total, from the beginning of the input.
    Needs(usize),
    /// An option was processed.
    Went,
    /// A request, with the data of a write.
    Asked(Request, &'a [u8]),
    /// The session has ended; earlier requests may still be answered.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Flags,
    Options,
    Transmission,
    Over,
}

#[derive(Debug, Clone)]
pub struct Session {
    export: Export,
    phase: Phase,
    no_zeroes: bool,
    structured: bool,
}

impl Session {
    /// Starts a session: writes the greeting to `out`.
    pub fn greet(export: Export, out: &mut Vec<u8>) -> Session {
        out.extend(MAGIC.to_be_bytes());
        out.extend(OPTION_MAGIC.to_be_bytes());
        out.extend((handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES).to_be_bytes());
        Session { export, phase: Phase::Flags, no_zeroes: false, structured: false }
    }

    /// Processes the next part of the client's input. Returns the number of bytes of `input` used,
    /// and writes replies to `out`.
    #[inline]
    pub fn step<'a>(&mut self, input: &'a [u8], out: &mut Vec<u8>) -> (usize, Step<'a>) {
        match self.phase {
            Phase::Transmission => self.request(input, out),
            Phase::Flags => self.flags(input),
            Phase::Options => self.option(input, out),
            Phase::Over => (input.len(), Step::Over),
        }
    }

    fn over<'a>(&mut self, used: usize) -> (usize, Step<'a>) {
        self.phase = Phase::Over;
        (used, Step::Over)
    }

    fn flags<'a>(&mut self, input: &'a [u8]) -> (usize, Step<'a>) {
        let Some(flags) = be_u32(input, 0) else { return (0, Step::Needs(4)) };
        let known = u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        if flags & !known != 0 {
            return self.over(4);
        }
        self.no_zeroes = flags & u32::from(handshake::NO_ZEROES) != 0;
        self.phase = Phase::Options;
        (4, Step::Went)
    }

    fn option<'a>(&mut self, input: &'a [u8], out: &mut Vec<u8>) -> (usize, Step<'a>) {
        let Some(header) = input.first_chunk::<OPTION_BYTES>() else {
            return (0, Step::Needs(OPTION_BYTES));
        };
        let header = OptionHeader::from_bytes(header);
        let Some(OptionHeader { option: name, bytes }) =
            header.filter(|header| header.bytes <= OPTION_BYTES_MAX)
        else {
            return self.over(input.len());
        };
        let end = OPTION_BYTES + bytes as usize;
        let Some(data) = input.get(OPTION_BYTES..end) else { return (0, Step::Needs(end)) };
        match name {
            option::EXPORT_NAME => {
                // The protocol has no error reply here.
                if !self.is_named(data) {
                    return self.over(end);
                }
                out.extend(self.export.bytes.to_be_bytes());
                out.extend(self.export.flags(self.structured).to_be_bytes());
                if !self.no_zeroes {
                    out.extend([0; EXPORT_PADDING_BYTES]);
                }
                self.phase = Phase::Transmission;
            }
            option::ABORT => {
                reply_option(out, name, answer::ACK, &[]);
                return self.over(end);
            }
            option::LIST if data.is_empty() => {
                let mut entry = (self.export.name.len() as u32).to_be_bytes().to_vec();
                entry.extend(self.export.name.bytes());
                reply_option(out, name, answer::SERVER, &entry);
                reply_option(out, name, answer::ACK, &[]);
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                reply_option(out, name, answer::ACK, &[]);
            }
            option::LIST | option::STRUCTURED_REPLY => {
                reply_option(out, name, answer::INVALID, b"this option has no data");
            }
            option::INFO | option::GO => self.inform(name, data, out),
            _ => reply_option(out, name, answer::UNSUPPORTED, &[]),
        }
        (end, Step::Went)
    }

    fn inform(&mut self, name: u32, data: &[u8], out: &mut Vec<u8>) {
        let Some((export, wanted)) = parse_info_request(data) else {
            reply_option(out, name, answer::INVALID, b"a name and a list of kinds were expected");
            return;
        };
        if !self.is_named(export) {
            reply_option(out, name, answer::UNKNOWN, b"unknown export name");
            return;
        }
        let mut tell = |kind: u16, what: &[u8]| {
            reply_option(out, name, answer::INFO, &[&kind.to_be_bytes(), what].concat());
        };
        let export = &self.export;
        tell(
            info::EXPORT,
            &[&export.bytes.to_be_bytes()[..], &export.flags(self.structured).to_be_bytes()]
                .concat(),
        );
        for kind in wanted {
            match kind {
                info::NAME => tell(kind, export.name.as_bytes()),
                info::DESCRIPTION => tell(kind, export.description.as_bytes()),
                info::BLOCK_SIZE => {
                    let sizes =
                        [export.sector_bytes, 4096, PAYLOAD_BYTES_MAX].map(u32::to_be_bytes);
                    tell(kind, sizes.as_flattened());
                }
                _ => {}
            }
        }
        reply_option(out, name, answer::ACK, &[]);
        if name == option::GO {
            self.phase = Phase::Transmission;
        }
    }

    fn is_named(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.name.as_bytes()
    }

    #[inline]
    fn request<'a>(&mut self, input: &'a [u8], out: &mut Vec<u8>) -> (usize, Step<'a>) {
        let Some(header) = input.first_chunk::<REQUEST_BYTES>() else {
            return (0, Step::Needs(REQUEST_BYTES));
        };
        // After invalid data, or a write too large to be skipped, the start of the next request is
        // unknown.
        let is_valid = |header: &RequestHeader| {
            header.command != command::WRITE || header.bytes <= PAYLOAD_BYTES_MAX
        };
        let Some(RequestHeader { flags, command: code, cookie, offset, bytes }) =
            RequestHeader::from_bytes(header).filter(is_valid)
        else {
            return self.over(input.len());
        };
        let end = REQUEST_BYTES + if code == command::WRITE { bytes as usize } else { 0 };
        let Some(data) = input.get(REQUEST_BYTES..end) else { return (0, Step::Needs(end)) };
        let (kind, allowed) = match code {
            command::READ => (Kind::Read, command_flag::FUA | command_flag::DF),
            command::WRITE => (Kind::Write, command_flag::FUA),
            command::FLUSH => (Kind::Flush, command_flag::FUA),
            command::TRIM => (Kind::Trim, command_flag::FUA),
            command::WRITE_ZEROES => (Kind::WriteZeroes, command_flag::FUA | command_flag::NO_HOLE),
            command::DISCONNECT => return self.over(end),
            _ => {
                self.fail(cookie, None, Error::Invalid, out);
                return (end, Step::Went);
            }
        };
        let fua = flags & command_flag::FUA != 0;
        let failed = if flags & !allowed != 0
            || (fua && !self.export.fua)
            || (kind == Kind::Flush && !self.export.flush)
        {
            Some(Error::Invalid)
        } else if kind == Kind::Read && bytes > PAYLOAD_BYTES_MAX {
            Some(Error::Overflow)
        } else {
            None
        };
        if let Some(error) = failed {
            self.fail(cookie, Some(kind), error, out);
            return (end, Step::Went);
        }
        let no_hole = flags & command_flag::NO_HOLE != 0;
        (end, Step::Asked(Request { cookie, kind, offset, bytes, fua, no_hole }, data))
    }

    /// Replies to a finished request; for a read, `data` appends the requested number of bytes, or
    /// fails and changes nothing.
    #[inline]
    pub fn done(
        &self,
        request: &Request,
        out: &mut Vec<u8>,
        data: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>,
    ) {
        if request.kind != Kind::Read {
            simple_reply(out, 0, request.cookie);
            return;
        }
        let start = out.len();
        if self.structured {
            out.extend(STRUCTURED_REPLY_MAGIC.to_be_bytes());
            out.extend(chunk::FLAG_DONE.to_be_bytes());
            out.extend(chunk::OFFSET_DATA.to_be_bytes());
            out.extend(request.cookie.to_be_bytes());
            out.extend((request.bytes + 8).to_be_bytes());
            out.extend(request.offset.to_be_bytes());
        } else {
            simple_reply(out, 0, request.cookie);
        }
        if let Err(error) = data(out) {
            out.truncate(start);
            self.fail(request.cookie, Some(Kind::Read), error, out);
        }
    }

    /// Replies to a failed request.
    pub fn fail(&self, cookie: u64, kind: Option<Kind>, error: Error, out: &mut Vec<u8>) {
        if self.structured && kind == Some(Kind::Read) {
            out.extend(STRUCTURED_REPLY_MAGIC.to_be_bytes());
            out.extend(chunk::FLAG_DONE.to_be_bytes());
            out.extend(chunk::ERROR.to_be_bytes());
            out.extend(cookie.to_be_bytes());
            out.extend(6u32.to_be_bytes());
            out.extend((error as u32).to_be_bytes());
            // Length of the error message: none.
            out.extend(0u16.to_be_bytes());
        } else {
            simple_reply(out, error as u32, cookie);
        }
    }
}

fn simple_reply(out: &mut Vec<u8>, error: u32, cookie: u64) {
    out.extend(SimpleReply { error, cookie }.to_bytes());
}

fn reply_option(out: &mut Vec<u8>, option: u32, answer: u32, data: &[u8]) {
    out.extend(OptionReply { option, answer, bytes: data.len() as u32 }.to_bytes());
    out.extend(data);
}

#[cfg(test)]
mod tests;
