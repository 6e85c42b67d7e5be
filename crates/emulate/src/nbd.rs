//! The network block device protocol, server's side: newstyle fixed negotiation, simple and structured replies.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`wire`] | the numbers and layouts of the protocol |
//! | [`client`] | the other side, for measuring and for demonstrations |
//! | [`session`] | one client's conversation, from bytes to requests, without any socket |
//!
//! After the protocol's own specification (NetworkBlockDevice/nbd, doc/proto.md). What is offered: FLUSH and FUA where the drive has a volatile cache, TRIM, WRITE_ZEROES, several connections (all of them
//! lead to one drive, so that a flush on one covers what was acknowledged on another).

pub mod client;
pub mod session;
pub mod wire;
