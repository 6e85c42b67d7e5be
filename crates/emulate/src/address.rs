//! The address of an NBD server: a unix socket or a TCP port. Without an explicit host it listens
//! only on this machine.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use nbd::{Transport, Uri};

use crate::serve::socket::Listener;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Unix(PathBuf),
    /// Host and port.
    Tcp(String, u16),
}

/// Why an address cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error("`{0}` is in use by another server: choose another address")]
    InUse(Address),
    #[error("`{path}` is a stale socket that no server listens on: remove it (`rm {path}`) or \
             choose another path", path = .0.display())]
    Left(PathBuf),
    #[error("`{}` exists and is not a socket: choose another path", .0.display())]
    Exists(PathBuf),
    #[error("cannot listen on `{address}`: {source}")]
    System { address: Address, source: io::Error },
}

/// Parses `HOST:PORT`, `:PORT` on this machine, and `HOST` alone if it has brackets or dots like an
/// address; everything else is a path.
impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let tcp = |host: &str, port: &str| {
            let port = port.parse().map_err(|_| {
                format!("invalid port `{port}`; expected HOST:PORT or the path of a socket")
            })?;
            let host = if host.is_empty() {
                "127.0.0.1"
            } else {
                host.trim_start_matches('[').trim_end_matches(']')
            };
            Ok(Address::Tcp(host.to_owned(), port))
        };
        if text.is_empty() {
            return Err(
                "the address is empty; expected HOST:PORT or the path of a socket".to_owned()
            );
        }
        if text.contains('/') {
            return Ok(Address::Unix(PathBuf::from(text)));
        }
        match text.rsplit_once(':') {
            Some((host, port)) => tcp(host, port),
            None if text.parse::<std::net::IpAddr>().is_ok() || text == "localhost" => {
                Ok(Address::Tcp(text.to_owned(), nbd::wire::PORT))
            }
            None => Ok(Address::Unix(PathBuf::from(text))),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "{}", path.display()),
            Address::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Address::Tcp(host, port) => write!(f, "{host}:{port}"),
        }
    }
}

impl Address {
    /// The address that clients use.
    pub fn uri(&self) -> String {
        let transport = match self {
            Address::Unix(path) => Transport::Unix(path.clone()),
            Address::Tcp(host, port) => Transport::Tcp(host.clone(), *port),
        };
        Uri { transport, export: String::new() }.to_string()
    }

    pub fn listen(&self) -> Result<Listener, AddressError> {
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => AddressError::InUse(self.clone()),
            _ => AddressError::System { address: self.clone(), source },
        };
        match self {
            Address::Unix(path) => Ok(Listener::Unix(listen_unix(path)?)),
            Address::Tcp(host, port) => {
                let addresses: Vec<SocketAddr> =
                    (host.as_str(), *port).to_socket_addrs().map_err(failed)?.collect();
                TcpListener::bind(&addresses[..]).map(Listener::Tcp).map_err(failed)
            }
        }
    }
}

/// Listens on a new unix socket, to which only its owner may connect.
pub(crate) fn listen_unix(path: &Path) -> Result<UnixListener, AddressError> {
    let address = || Address::Unix(path.to_owned());
    if let Ok(metadata) = std::fs::symlink_metadata(path) {
        if !metadata.file_type().is_socket() {
            return Err(AddressError::Exists(path.to_owned()));
        }
        return Err(match UnixStream::connect(path) {
            Ok(_) => AddressError::InUse(address()),
            Err(_) => AddressError::Left(path.to_owned()),
        });
    }
    let listener = UnixListener::bind(path)
        .map_err(|source| AddressError::System { address: address(), source })?;
    let owner_only = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(path, owner_only)
        .map_err(|source| AddressError::System { address: address(), source })?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_they_are_typed() {
        let read = |text: &str| text.parse::<Address>().map(|address| address.to_string());
        assert_eq!(read(":10809"), Ok("127.0.0.1:10809".to_owned()));
        assert_eq!(read("localhost"), Ok("localhost:10809".to_owned()));
        assert_eq!(read("0.0.0.0:99"), Ok("0.0.0.0:99".to_owned()));
        assert_eq!(read("[::1]:99"), Ok("[::1]:99".to_owned()));
        assert_eq!("drive.sock".parse(), Ok(Address::Unix("drive.sock".into())));
        assert_eq!("/run/a:b".parse(), Ok(Address::Unix("/run/a:b".into())));
        assert!(read("host:port").is_err() && read("").is_err());
    }

    #[test]
    fn what_is_there_already() {
        let directory = tempfile::tempdir().unwrap();
        let refused = |name: &str| {
            let path = directory.path().join(name);
            listen_unix(&path)
                .unwrap_err()
                .to_string()
                .replace(directory.path().to_str().unwrap(), "DIR")
        };
        std::fs::write(directory.path().join("file"), b"").unwrap();
        insta::assert_snapshot!(refused("file"), @"`DIR/file` exists and is not a socket: choose another path");
        let listener = listen_unix(&directory.path().join("socket")).unwrap();
        insta::assert_snapshot!(refused("socket"), @"`DIR/socket` is in use by another server: choose another address");
        drop(listener);
        insta::assert_snapshot!(refused("socket"), @"`DIR/socket` is a stale socket that no server listens on: remove it (`rm DIR/socket`) or choose another path");
    }
}
