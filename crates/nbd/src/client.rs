//! A client that sends one request at a time, over any stream.

use std::io::{self, Read, Write};

use crate::error::{NbdError, Violation};
use crate::negotiation::{Export, negotiate};
use crate::wire::{Error, RequestHeader, SIMPLE_REPLY_BYTES, SimpleReply, command, command_flag};

#[derive(Debug)]
pub struct Client<S> {
    stream: S,
    export: Export,
    cookie: u64,
    request: Vec<u8>,
}

impl<S: Read + Write> Client<S> {
    /// Connects to the default export (with an empty name).
    ///
    /// # Errors
    /// Those of the stream and of the negotiation.
    pub fn connect(mut stream: S) -> io::Result<Client<S>> {
        let export = negotiate(&mut stream, "").map_err(|error| match error {
            NbdError::Io(error) => error,
            other => io::Error::other(other),
        })?;
        Ok(Client { stream, export, cookie: 0, request: Vec::new() })
    }

    pub const fn export(&self) -> &Export {
        &self.export
    }

    fn ask(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        bytes: u32,
        data: &[u8],
    ) -> io::Result<()> {
        self.cookie += 1;
        let cookie = self.cookie;
        self.request.clear();
        self.request.extend(RequestHeader { flags, command, cookie, offset, bytes }.to_bytes());
        self.request.extend(data);
        self.stream.write_all(&self.request)?;
        let mut header = [0; SIMPLE_REPLY_BYTES];
        self.stream.read_exact(&mut header)?;
        let invalid = |violation| io::Error::new(io::ErrorKind::InvalidData, violation);
        let reply =
            SimpleReply::from_bytes(&header).ok_or_else(|| invalid(Violation::ReplyMagic))?;
        if reply.cookie != cookie {
            return Err(invalid(Violation::ReplyCookie));
        }
        if reply.error == 0 {
            return Ok(());
        }
        Err(match Error::of(reply.error) {
            Error::Permission => io::ErrorKind::PermissionDenied.into(),
            Error::NoSpace => io::ErrorKind::StorageFull.into(),
            _ => io::Error::other(format!("the drive failed with error {}", reply.error)),
        })
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
