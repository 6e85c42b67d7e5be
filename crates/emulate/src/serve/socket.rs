//! The two kinds of sockets of NBD clients, and their listeners.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

/// A listening socket for NBD clients.
#[derive(Debug)]
pub enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl Listener {
    pub(super) fn accept(&self) -> io::Result<Socket> {
        match self {
            Listener::Unix(listener) => Ok(Socket::Unix(listener.accept()?.0)),
            Listener::Tcp(listener) => Ok(Socket::Tcp(listener.accept()?.0)),
        }
    }

    pub(super) fn prepare(&self) -> io::Result<()> {
        match self {
            Listener::Unix(listener) => listener.set_nonblocking(true),
            Listener::Tcp(listener) => listener.set_nonblocking(true),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Unix(listener) => listener.as_fd(),
            Listener::Tcp(listener) => listener.as_fd(),
        }
    }
}

/// The address at which a client waits for the probe. The server connects to it, because
/// descriptors cannot be passed between threads with separate tables.
#[derive(Debug)]
pub enum ProbeAddress {
    Unix(std::os::unix::net::SocketAddr),
    Tcp(std::net::SocketAddr),
}

impl ProbeAddress {
    pub(super) fn connect(&self) -> io::Result<Socket> {
        match self {
            ProbeAddress::Unix(address) => UnixStream::connect_addr(address).map(Socket::Unix),
            ProbeAddress::Tcp(address) => TcpStream::connect(address).map(Socket::Tcp),
        }
    }
}

#[derive(Debug)]
pub enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    /// Configures it for a server: non-blocking, and replies are not held back to be sent together
    /// (`TCP_NODELAY`).
    pub fn prepare(&self) -> io::Result<()> {
        match self {
            Socket::Unix(stream) => stream.set_nonblocking(true),
            Socket::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)
            }
        }
    }

    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => stream.read(buffer),
            Socket::Tcp(stream) => stream.read(buffer),
        }
    }

    pub(super) fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => stream.write(data),
            Socket::Tcp(stream) => stream.write(data),
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Unix(stream) => stream.as_fd(),
            Socket::Tcp(stream) => stream.as_fd(),
        }
    }
}
