//! A client that sends one request at a time: accesses an emulated drive without mounting anything.

use std::io::{self, Read, Write};

use super::wire::{
    Error, OPTION_MAGIC, REQUEST_MAGIC, SIMPLE_REPLY_MAGIC, command, command_flag, option,
    transmission,
};

/// The greeting: two magic numbers and the handshake flags.
const GREETING_BYTES: usize = 18;
/// The reply to EXPORT_NAME without padding: size and flags.
const EXPORT_BYTES: usize = 10;

#[derive(Debug)]
pub struct Client<S> {
    stream: S,
    bytes: u64,
    flags: u16,
    cookie: u64,
    request: Vec<u8>,
}

impl<S: Read + Write> Client<S> {
    /// Connects to the default export (with an empty name).
    ///
    /// # Errors
    /// Those of the stream.
    pub fn connect(mut stream: S) -> io::Result<Client<S>> {
        stream.read_exact(&mut [0; GREETING_BYTES])?;
        // Flags: FIXED_NEWSTYLE and NO_ZEROES.
        let words = [
            &3u32.to_be_bytes()[..],
            &OPTION_MAGIC.to_be_bytes(),
            &option::EXPORT_NAME.to_be_bytes(),
            &[0; 4],
        ];
        stream.write_all(&words.concat())?;
        let mut export = [0; EXPORT_BYTES];
        stream.read_exact(&mut export)?;
        let bytes = export.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let flags = u16::from_be_bytes([export[8], export[9]]);
        Ok(Client { stream, bytes, flags, cookie: 0, request: Vec::new() })
    }

    /// Size of the drive.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns whether it supports FLUSH.
    pub const fn takes_flush(&self) -> bool {
        self.flags & transmission::SEND_FLUSH != 0
    }

    /// Returns whether it supports FUA.
    pub const fn takes_fua(&self) -> bool {
        self.flags & transmission::SEND_FUA != 0
    }

    fn ask(
        &mut self,
        code: u16,
        flags: u16,
        offset: u64,
        bytes: u32,
        data: &[u8],
    ) -> io::Result<()> {
        self.cookie += 1;
        self.request.clear();
        self.request.extend(REQUEST_MAGIC.to_be_bytes());
        self.request.extend(flags.to_be_bytes());
        self.request.extend(code.to_be_bytes());
        self.request.extend(self.cookie.to_be_bytes());
        self.request.extend(offset.to_be_bytes());
        self.request.extend(bytes.to_be_bytes());
        self.request.extend(data);
        self.stream.write_all(&self.request)?;
        let mut answer = [0; 16];
        self.stream.read_exact(&mut answer)?;
        let word =
            |at: usize| answer[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        if word(0) != SIMPLE_REPLY_MAGIC || answer[8..] != self.cookie.to_be_bytes() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the server's reply does not match the request",
            ));
        }
        match word(4) {
            0 => Ok(()),
            error if error == Error::Permission as u32 => {
                Err(io::ErrorKind::PermissionDenied.into())
            }
            error if error == Error::NoSpace as u32 => Err(io::ErrorKind::StorageFull.into()),
            error => Err(io::Error::other(format!("the drive failed with error {error}"))),
        }
    }

    /// Reads from the drive.
    ///
    /// # Errors
    /// The drive's and the stream's.
    pub fn read(&mut self, offset: u64, data: &mut [u8]) -> io::Result<()> {
        self.ask(command::READ, 0, offset, data.len() as u32, &[])?;
        self.stream.read_exact(data)
    }

    /// Writes to the drive; with `fua`, the data is safe on return.
    ///
    /// # Errors
    /// The drive's and the stream's.
    pub fn write(&mut self, offset: u64, data: &[u8], fua: bool) -> io::Result<()> {
        let flags = if fua { command_flag::FUA } else { 0 };
        self.ask(command::WRITE, flags, offset, data.len() as u32, data)
    }

    /// Flushes the drive.
    ///
    /// # Errors
    /// The drive's and the stream's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.ask(command::FLUSH, 0, 0, 0, &[])
    }
}
