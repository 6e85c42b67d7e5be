//! Errors of connecting.

/// Each variant holds what the server, the client library or the system reported.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("the URL is invalid: {0}")]
    Url(String),
    /// The connection cannot be encrypted, or the server's certificate cannot be trusted, as the
    /// URL requires.
    #[error("the connection cannot be encrypted as the URL requires: {0}")]
    Tls(String),
    #[error("the login was rejected: {0}")]
    NotAdmitted(String),
    #[error("the database does not exist: {0}")]
    NoDatabase(String),
    #[error("the server accepts no more connections: {0}")]
    TooManyConnections(String),
    #[error("the server cannot be reached: {0}")]
    Unreachable(String),
}
