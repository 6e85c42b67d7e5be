//! Server side of the network block device (NBD) protocol: fixed newstyle negotiation, simple and
//! structured replies.
//!
//! A `session` turns one client's bytes into requests, without a socket. The messages are those of
//! the crate `nbd`.
//!
//! Implements the protocol's specification (NetworkBlockDevice/nbd, doc/proto.md). Offers FLUSH and
//! FUA where the drive has a volatile cache, TRIM, WRITE_ZEROES, and several connections: all of
//! them lead to one drive, so a flush on one covers what was acknowledged on another.

pub(crate) mod session;

pub use session::{Export, Kind, Request, Session, Step};
