//! Server side of the network block device (NBD) protocol: fixed newstyle negotiation, simple and
//! structured replies.
//!
//! | module | content |
//! | --- | --- |
//! | `wire` | constants and layouts of the protocol |
//! | `client` | a client, for measurements and demonstrations |
//! | `session` | one client's session, from bytes to requests, without a socket |
//!
//! Implements the protocol's specification (NetworkBlockDevice/nbd, doc/proto.md). Offers FLUSH and
//! FUA where the drive has a volatile cache, TRIM, WRITE_ZEROES, and several connections: all of
//! them lead to one drive, so a flush on one covers what was acknowledged on another.

pub(crate) mod client;
pub(crate) mod session;
pub(crate) mod wire;

pub use client::Client;
pub use session::{Export, Kind, Request, Session, Step};
