//! The network block device (NBD) protocol: its messages, and a client.
//!
//! | module | content |
//! | --- | --- |
//! | [`wire`] | constants and layouts, for clients, servers and tests |
//! | `uri` | the address of an export, `nbd://HOST/EXPORT` |
//! | `negotiation` | from a connected stream to an export |
//! | `connection` | from an address to an export |
//! | `client` | one request at a time, over any stream |
//!
//! Implements the protocol's specification (NetworkBlockDevice/nbd, doc/proto.md and doc/uri.md) as
//! far as a client without TLS needs it: fixed newstyle negotiation and simple replies. Everything
//! from the server is checked, and no memory is allocated by a size that it names.

#![warn(unreachable_pub)]

mod client;
mod connection;
mod error;
mod negotiation;
mod uri;
pub mod wire;

pub use client::Client;
pub use connection::{Connection, Stream};
pub use error::{NbdError, Violation};
pub use negotiation::{Export, RequestSizes, negotiate};
pub use uri::{InvalidUri, Transport, Uri};
