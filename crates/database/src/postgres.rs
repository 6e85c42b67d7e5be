//! PostgreSQL: its URLs, its TLS, its password file.

mod address;
mod encryption;
mod password_file;

use std::error::Error as _;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Config, Error};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::connect_error::ConnectError;
use crate::tls_mode::TlsMode;
pub(crate) use address::Address;

/// Connects to the database of a URL, within `wait` unless the URL gives a time. Without a password
/// in the URL or in `password`, it is looked up where libpq looks.
pub fn connect(
    url: &str,
    password: Option<&str>,
    wait: Duration,
) -> Result<postgres::Client, ConnectError> {
    let access = Access::read(url, password, wait)?;
    let connect = |config: Config| postgres::Config::from(config).connect(access.connector.clone());
    let connected = connect(access.config.clone());
    let connected = access.plainly(&connected).map(connect).unwrap_or(connected);
    connected.map_err(|error| access.why_not(&error))
}

/// Connects a client that shares its thread with others. Its statements end only while the
/// connection, which is returned as well, is driven.
pub(crate) async fn connect_sharing(
    url: &str,
    password: Option<&str>,
    wait: Duration,
) -> Result<(tokio_postgres::Client, impl Future<Output = Result<(), Error>>), ConnectError> {
    let access = Access::read(url, password, wait)?;
    let mut connected = access.config.connect(access.connector.clone()).await;
    if let Some(config) = access.plainly(&connected) {
        connected = config.connect(access.connector.clone()).await;
    }
    connected.map_err(|error| access.why_not(&error))
}

/// Drives a connection until the work with its client is done: in the task of that work, because
/// waking another one takes processor time. If the connection fails, so does the work.
pub(crate) async fn while_driving<T>(
    connection: impl Future<Output = Result<(), Error>>,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let mut connection = Some(Box::pin(connection));
    let mut work = pin!(work);
    let mut failure = None;
    let done = poll_fn(|context| {
        let ended = connection.as_mut().map(|open| open.as_mut().poll(context));
        if let Some(Poll::Ready(ended)) = ended {
            failure = ended.err();
            // Statements in flight wait until it is dropped.
            connection = None;
        }
        work.as_mut().poll(context)
    });
    let done = done.await;
    done.map_err(|error| failure.unwrap_or(error))
}

/// The configuration of a connection.
struct Access {
    config: Config,
    connector: MakeRustlsConnect,
    /// A password file that was not used, and why.
    passed_over: Option<String>,
}

impl Access {
    fn read(url: &str, password: Option<&str>, wait: Duration) -> Result<Access, ConnectError> {
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
        config.ssl_mode(match ssl_mode {
            TlsMode::Disable => SslMode::Disable,
            TlsMode::Prefer => SslMode::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => SslMode::Require,
        });
        let connector = encryption::connector(ssl_mode, ssl_root_cert)?;
        Ok(Access { config, connector, passed_over })
    }

    /// The configuration for a second attempt without encryption, if encryption was preferred and
    /// failed.
    fn plainly<T>(&self, connected: &Result<T, Error>) -> Option<Config> {
        let error = connected.as_ref().err()?;
        let is_preferred = self.config.get_ssl_mode() == SslMode::Prefer;
        (is_preferred && is_of_encryption(error))
            .then(|| self.config.clone().ssl_mode(SslMode::Disable).clone())
    }

    fn why_not(&self, error: &Error) -> ConnectError {
        match (why_not_connected(error), &self.passed_over) {
            (ConnectError::NotAdmitted(said), Some(why)) => {
                ConnectError::NotAdmitted(format!("{said}; {why}"))
            }
            (error, _) => error,
        }
    }
}

/// The client does not expose the kinds of its errors, only their text.
fn is_of_encryption(error: &Error) -> bool {
    error.to_string().starts_with("error performing TLS handshake")
}

fn why_not_connected(error: &Error) -> ConnectError {
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
pub fn said(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(refusal), _) => refusal.message().to_owned(),
        (None, Some(cause)) => cause.to_string(),
        (None, None) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_connection_ends_the_work_and_says_why() {
        let error = |option: &str| format!("{option}=1").parse::<Config>().unwrap_err();
        let (held, waits) = tokio::sync::oneshot::channel::<()>();
        // Like a connection, it holds what the work waits for until it is dropped.
        let connection = poll_fn(move |_| {
            assert!(!held.is_closed());
            Poll::Ready(Err(error("connection")))
        });
        let work = async { waits.await.map_err(|_| error("work")) };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ended = runtime.block_on(while_driving(connection, work));
        assert_eq!(said(&ended.unwrap_err()), "unknown option `connection`");
    }
}
