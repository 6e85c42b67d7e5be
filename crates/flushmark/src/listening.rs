//! The sockets on which servers listen.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};

use crate::exit::WrongUse;

/// Listens on an address that this verb got from this option.
pub fn listen(address: SocketAddr, verb: &str, option: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => WrongUse(format!(
            "{address} is in use, perhaps by another `flushmark {verb}`; use another port, such as \
             {option} {}, or {option} 0 for a free one",
            address.port().wrapping_add(1)
        ))
        .into(),
        ErrorKind::AddrNotAvailable => WrongUse(format!(
            "{address} is not an address of this machine; run `ip address` to \
                              list them"
        ))
        .into(),
        ErrorKind::PermissionDenied => WrongUse(format!(
            "only root can listen on port {}; use a port from 1024 on",
            address.port()
        ))
        .into(),
        _ => anyhow::Error::new(error).context(format!("cannot listen on {address}")),
    })
}
