//! A connection to an export.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Shutdown, SocketAddrUnix, SocketFlags, SocketType, shutdown, socket_with,
};

use crate::error::NbdError;
use crate::negotiation::{Export, negotiate};
use crate::uri::{Transport, Uri};
use crate::wire::{RequestHeader, command};

/// Time limit for connecting, and for negotiating. A server that serves one client at a time leaves
/// others waiting.
const NEGOTIATION_TIME_MAX: Duration = Duration::from_secs(10);

/// A connected socket.
#[derive(Debug)]
pub enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn set_timeouts(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => {
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)
            }
            Stream::Tcp(stream) => {
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)
            }
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(data),
            Stream::Tcp(stream) => stream.write(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream with a deadline for everything together, so a server that sends one byte at a time is
/// not waited for either.
struct Timed<'a> {
    stream: &'a mut Stream,
    deadline: Instant,
}

impl Timed<'_> {
    fn limit(&self) -> io::Result<()> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_timeouts(Some(left))
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.limit()?;
        self.stream.read(buffer)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.limit()?;
        self.stream.write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A connection on which requests can be sent. Says goodbye to the server on drop, so call
/// [`Connection::abandon`] if a request was sent in part.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    export: Export,
    is_abandoned: bool,
}

impl Connection {
    /// Connects to an export.
    ///
    /// # Errors
    /// If no server listens there, or it does not offer the export.
    pub fn open(uri: &Uri) -> Result<Connection, NbdError> {
        Connection::open_within(uri, NEGOTIATION_TIME_MAX)
    }

    fn open_within(uri: &Uri, time_max: Duration) -> Result<Connection, NbdError> {
        let mut stream = connect(&uri.transport, time_max).map_err(NbdError::Connect)?;
        let deadline = Instant::now() + time_max;
        let export = negotiate(&mut Timed { stream: &mut stream, deadline }, &uri.export)?;
        stream.set_timeouts(None).map_err(NbdError::Io)?;
        Ok(Connection { stream, export, is_abandoned: false })
    }

    /// Limits the time that a blocking receive waits for the server.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn limit_silence(&self, time: Duration) -> io::Result<()> {
        self.stream.set_timeouts(Some(time))
    }

    pub const fn export(&self) -> &Export {
        &self.export
    }

    /// Closes the socket on drop without a message to the server.
    pub const fn abandon(&mut self) {
        self.is_abandoned = true;
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if !self.is_abandoned {
            let goodbye = RequestHeader {
                flags: 0,
                command: command::DISCONNECT,
                cookie: 0,
                offset: 0,
                bytes: 0,
            };
            let _ = self.stream.write_all(&goodbye.to_bytes());
        }
        // A thread with a separate descriptor table closes only its copy of the descriptor.
        let _ = shutdown(&self.stream, Shutdown::Both);
    }
}

fn connect(transport: &Transport, time_max: Duration) -> io::Result<Stream> {
    match transport {
        Transport::Unix(path) => connect_unix(path, time_max).map(Stream::Unix),
        Transport::Tcp(host, port) => {
            let mut last = io::Error::from(io::ErrorKind::NotFound);
            for address in (host.as_str(), *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&address, time_max) {
                    Ok(stream) => {
                        // Small requests are not held back to be sent together.
                        stream.set_nodelay(true)?;
                        return Ok(Stream::Tcp(stream));
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

/// Connects with a time limit, because a connection to a server whose queue of clients is full
/// waits until it accepts one.
fn connect_unix(path: &Path, time_max: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(time_max))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread::{sleep, spawn};

    use super::*;
    use crate::wire::{MAGIC, OPTION_MAGIC};

    const TIME_MAX: Duration = Duration::from_millis(200);

    /// The error of a connection to this address, which must not take much longer than the limit.
    fn refused(transport: Transport) -> String {
        let begun = Instant::now();
        let uri = Uri { transport, export: String::new() };
        let error = Connection::open_within(&uri, TIME_MAX).unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        error.to_string()
    }

    #[test]
    fn a_server_that_says_nothing_is_not_waited_for_forever() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nbd");
        let _listener = UnixListener::bind(&path).unwrap();
        insta::assert_snapshot!(refused(Transport::Unix(path)), @"the connection to the server failed (it does not respond)");
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        insta::assert_snapshot!(refused(Transport::Tcp("127.0.0.1".to_owned(), port)), @"the connection to the server failed (it does not respond)");
    }

    #[test]
    fn a_server_that_sends_one_byte_at_a_time_is_not_waited_for_forever() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nbd");
        let listener = UnixListener::bind(&path).unwrap();
        let server = spawn(move || {
            let mut stream = listener.accept().unwrap().0;
            let greeting = [MAGIC.to_be_bytes(), OPTION_MAGIC.to_be_bytes()].concat();
            // Each byte alone is in time.
            for byte in greeting.into_iter().chain([0; 100]) {
                sleep(TIME_MAX / 4);
                if stream.write_all(&[byte]).is_err() {
                    return;
                }
            }
        });
        insta::assert_snapshot!(refused(Transport::Unix(path)), @"the connection to the server failed (it does not respond)");
        server.join().unwrap();
    }

    #[test]
    fn a_server_that_accepts_no_more_clients_is_not_waited_for_forever() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nbd");
        let socket =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .unwrap();
        rustix::net::bind(&socket, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        rustix::net::listen(&socket, 0).unwrap();
        let _queued = UnixStream::connect(&path).unwrap();
        insta::assert_snapshot!(refused(Transport::Unix(path)), @"no connection to the server (it does not respond)");
    }

    #[test]
    fn a_server_that_is_not_running_is_an_error_of_one_sentence() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("nbd");
        insta::assert_snapshot!(refused(Transport::Unix(path.clone())), @"no connection to the server (no such file or directory)");
        drop(UnixListener::bind(&path).unwrap());
        insta::assert_snapshot!(refused(Transport::Unix(path)), @"no connection to the server (connection refused)");
        insta::assert_snapshot!(refused(Transport::Unix("x".repeat(200).into())), @"no connection to the server (file name too long)");
    }
}
