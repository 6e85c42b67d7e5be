//! PostgreSQL: its URLs, its TLS, its password file.

mod address;
mod encryption;
mod password_file;

use std::error::Error as _;
use std::path::PathBuf;
use std::time::Duration;

use postgres::error::SqlState;
use postgres::{Client, Config, NoTls, config};

use crate::connect_error::ConnectError;
use crate::tls_mode::TlsMode;
pub(crate) use address::Address;

/// Connects to the database of a URL, within `wait` unless the URL gives a time. Without a password
/// in the URL or in `password`, it is looked up where libpq looks.
pub fn connect(url: &str, password: Option<&str>, wait: Duration) -> Result<Client, ConnectError> {
    let Address { mut config, ssl_mode, ssl_root_cert, pass_file } = Address::read(url)?;
    let mut passed_over = None;
    if let Some(password) = password {
        config.password(password);
    } else if config.get_password().is_none_or(<[u8]>::is_empty) {
        let found = password_file::look_up(&config, pass_file);
        found.password.map(|password| config.password(password));
        passed_over = found.passed_over;
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(wait);
    }
    // A server that disappears without closing the connection, such as after a power loss, is
    // noticed within this time.
    config.tcp_user_timeout(wait).keepalives_idle(wait);
    if config.get_application_name().is_none() {
        config.application_name("flushmark");
    }
    encrypted_as_wanted(&mut config, ssl_mode, ssl_root_cert).map_err(|error| {
        match (error, passed_over) {
            (ConnectError::NotAdmitted(said), Some(why)) => {
                ConnectError::NotAdmitted(format!("{said}; {why}"))
            }
            (error, _) => error,
        }
    })
}

fn encrypted_as_wanted(
    config: &mut Config,
    mode: TlsMode,
    root_cert: Option<PathBuf>,
) -> Result<Client, ConnectError> {
    let plainly = |config: &mut Config| config.ssl_mode(config::SslMode::Disable).connect(NoTls);
    let connected =
        match mode {
            TlsMode::Disable => plainly(config),
            TlsMode::Prefer => {
                let connector = encryption::connector(mode, root_cert)?;
                let encrypted = config.ssl_mode(config::SslMode::Prefer).connect(connector);
                encrypted.or_else(|error| {
                    if is_of_encryption(&error) { plainly(config) } else { Err(error) }
                })
            }
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => config
                .ssl_mode(config::SslMode::Require)
                .connect(encryption::connector(mode, root_cert)?),
        };
    connected.map_err(|error| why_not_connected(&error))
}

/// The client does not expose the kinds of its errors, only their text.
fn is_of_encryption(error: &postgres::Error) -> bool {
    error.to_string().starts_with("error performing TLS handshake")
}

fn why_not_connected(error: &postgres::Error) -> ConnectError {
    match error.code() {
        Some(
            &SqlState::INVALID_PASSWORD
            | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION
            | &SqlState::INSUFFICIENT_PRIVILEGE,
        ) => ConnectError::NotAdmitted(said(error)),
        Some(&SqlState::INVALID_CATALOG_NAME) => ConnectError::NoDatabase(said(error)),
        Some(&SqlState::TOO_MANY_CONNECTIONS) => ConnectError::TooManyConnections(said(error)),
        None if is_of_encryption(error) => ConnectError::Tls(said(error)),
        // The client detects this before it contacts the server.
        None if error.source().is_some_and(|cause| cause.to_string().contains("password")) => {
            ConnectError::NotAdmitted(said(error))
        }
        _ => ConnectError::Unreachable(said(error)),
    }
}

/// The message of the server or the system, without the client's text around it.
pub fn said(error: &postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(refusal), _) => refusal.message().to_owned(),
        (None, Some(cause)) => cause.to_string(),
        (None, None) => error.to_string(),
    }
}
