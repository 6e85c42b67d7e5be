//! Errors of a database server, one sentence each.

use std::time::Duration;

use blame::Blame;
use unseen::escaped;

use crate::server_url::Product;

/// A problem with a particular server.
#[derive(Debug, thiserror::Error)]
#[error("the server {server} {problem}")]
pub struct DatabaseError {
    /// Its URL, which contains no password.
    pub server: String,
    #[source]
    pub problem: Problem,
}

/// A problem with a server. The message continues a sentence that began with its URL; text from a
/// server is shown with its control characters escaped.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("has an invalid URL: {}", escaped(.0))]
    Url(String),
    #[error("cannot be connected to with this TLS mode: {}", escaped(.0))]
    Tls(String),
    #[error(
        "rejected the login: {}. Check the user in the URL, and give the password in {}",
        escaped(.said), .product.password_places()
    )]
    NotAdmitted { said: String, product: Product },
    #[error("has no such database: {}. Name an existing one in the URL", escaped(.0))]
    NoDatabase(String),
    #[error(
        "accepts no more connections: {}. Use fewer clients (--clients), or raise max_connections",
        escaped(.0)
    )]
    TooManyConnections(String),
    #[error("cannot be reached: {}. Check that it runs, and host and port in the URL", escaped(.0))]
    Unreachable(String),
    #[error("has not answered for {} s; check it, or wait longer with --timeout", .0.as_secs_f64())]
    Silent(Duration),
    #[error(
        "closed the connection: {}. It was stopped or restarted, or the connection was killed",
        escaped(.0)
    )]
    Gone(String),
    #[error("has no space left: {}", escaped(.0))]
    Full(String),
    #[error("is read-only ({}): name the primary server", escaped(.0))]
    ReadOnly(String),
    #[error("denied a privilege: {}. {advice}", escaped(.0), advice = PRIVILEGE)]
    LacksPrivilege(String),
    #[error("is {found}, which is too old: expected {oldest} or newer")]
    TooOld { found: String, oldest: &'static str },
    #[error("reported an error: {}", escaped(.0))]
    Refused(String),
    #[error("sent an answer without {0}; it may not be PostgreSQL, MariaDB or MySQL")]
    Incomplete(&'static str),
    #[error(
        "is busy: {0}. The figures would include that load, and it would be slowed down; try \
         again when the server is idle, or give --busy"
    )]
    Busy(String),
    #[error(
        "has {free} free in {directory}, but this run may write {needed}: free some space, or \
         {instead}"
    )]
    WouldFill {
        directory: String,
        free: String,
        needed: String,
        /// Advice that makes the run write less.
        instead: &'static str,
    },
}

const PRIVILEGE: &str = "`db commits` needs CREATE on the database (PostgreSQL), or CREATE, DROP \
                         and INSERT on `flushmark\\_%`.* (MariaDB, MySQL); `db bench` there also \
                         needs SELECT, DELETE, ALTER and INDEX";

impl DatabaseError {
    pub const fn blame(&self) -> Blame {
        match self.problem {
            Problem::Url(_)
            | Problem::NotAdmitted { .. }
            | Problem::NoDatabase(_)
            | Problem::LacksPrivilege(_)
            | Problem::TooOld { .. } => Blame::Usage,
            Problem::ReadOnly(_) | Problem::Busy(_) | Problem::WouldFill { .. } => Blame::Safety,
            _ => Blame::System,
        }
    }
}
