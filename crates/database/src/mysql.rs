//! MariaDB and MySQL: their URLs, their TLS, their option file.

mod address;
mod option_file;

use std::error::Error as _;
use std::io;
use std::time::Duration;

use mysql::{Conn, DriverError, OptsBuilder, SslOpts};

use crate::connect_error::ConnectError;
use crate::tls_mode::TlsMode;
pub(crate) use address::{Address, Host};

/// Errors of the server when it has no room for another client, for one more of this user, and for
/// one more of this user in total.
const TOO_MANY_CONNECTIONS: [u16; 3] = [1040, 1203, 1226];
const UNKNOWN_DATABASE: u16 = 1049;
/// Wrong user, password or host; no access to the database; no authentication plugin in common.
const NOT_ADMITTED: [u16; 5] = [1044, 1045, 1130, 1251, 1698];

/// Connects. Without a password in `password`, it is looked up where the MySQL client looks: in
/// `~/.my.cnf`, then in `MYSQL_PWD`. Each read or write of the connection ends within `wait`.
pub(crate) fn connect(
    address: &Address,
    password: Option<&str>,
    wait: Duration,
) -> Result<Conn, ConnectError> {
    let option_file::Found { login, passed_over } = option_file::look_up();
    let variable = || std::env::var("MYSQL_PWD").ok().filter(|value| !value.is_empty());
    let user = address.user.clone().or(login.user).or_else(|| std::env::var("USER").ok());
    let password = password.map(str::to_owned).or(login.password).or_else(variable);
    let mut options = OptsBuilder::new()
        .prefer_socket(false)
        .user(user)
        .pass(password)
        .db_name(address.database.clone())
        .tcp_connect_timeout(Some(address.connect_timeout.unwrap_or(wait)))
        .read_timeout(Some(wait))
        .write_timeout(Some(wait));
    let is_local = matches!(address.host, Host::Socket(_));
    options = match &address.host {
        Host::Socket(path) => options.socket(Some(path.to_string_lossy())),
        Host::Tcp { name, port } => options.ip_or_hostname(Some(name)).tcp_port(*port),
    };
    // Like the MySQL client: a local socket needs no encryption.
    let mode = if is_local { TlsMode::Disable } else { address.tls };
    let connected = match tls(mode, address)? {
        None => Conn::new(options),
        Some(tls) if mode == TlsMode::Prefer => {
            Conn::new(options.clone().ssl_opts(tls)).or_else(|error| match error {
                mysql::Error::DriverError(DriverError::TlsNotSupported)
                | mysql::Error::TlsError(_) => Conn::new(options),
                error => Err(error),
            })
        }
        Some(tls) => Conn::new(options.ssl_opts(tls)),
    };
    connected.map_err(|error| match (why_not_connected(&error), passed_over) {
        (ConnectError::NotAdmitted(said), Some(why)) => {
            ConnectError::NotAdmitted(format!("{said}; {why}"))
        }
        (error, _) => error,
    })
}

fn tls(mode: TlsMode, address: &Address) -> Result<Option<SslOpts>, ConnectError> {
    let unverified = SslOpts::default()
        .with_danger_accept_invalid_certs(true)
        .with_danger_skip_domain_validation(true);
    let verified = || {
        let path = address.ca.clone().ok_or_else(|| {
            ConnectError::Tls("ssl-mode=VERIFY_CA and VERIFY_IDENTITY need ssl-ca=FILE".to_owned())
        })?;
        std::fs::metadata(&path)
            .map_err(|error| ConnectError::Tls(format!("ssl-ca={}: {error}", path.display())))?;
        Ok(SslOpts::default().with_root_cert_path(Some(path)))
    };
    Ok(match mode {
        TlsMode::Disable => None,
        TlsMode::Prefer | TlsMode::Require => Some(unverified),
        TlsMode::VerifyCa => Some(verified()?.with_danger_skip_domain_validation(true)),
        TlsMode::VerifyFull => Some(verified()?),
    })
}

fn why_not_connected(error: &mysql::Error) -> ConnectError {
    match error {
        mysql::Error::MySqlError(refusal) if NOT_ADMITTED.contains(&refusal.code) => {
            ConnectError::NotAdmitted(said(error))
        }
        mysql::Error::MySqlError(refusal) if refusal.code == UNKNOWN_DATABASE => {
            ConnectError::NoDatabase(said(error))
        }
        mysql::Error::MySqlError(refusal) if TOO_MANY_CONNECTIONS.contains(&refusal.code) => {
            ConnectError::TooManyConnections(said(error))
        }
        mysql::Error::TlsError(_) | mysql::Error::DriverError(DriverError::TlsNotSupported) => {
            ConnectError::Tls(said(error))
        }
        // A certificate that is not accepted is found in the first exchange of data.
        _ if of_system(error)
            .and_then(io::Error::get_ref)
            .is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>) =>
        {
            ConnectError::Tls(said(error))
        }
        mysql::Error::DriverError(
            DriverError::UnknownAuthPlugin(_)
            | DriverError::OldMysqlPasswordDisabled
            | DriverError::CleartextPluginDisabled,
        ) => ConnectError::NotAdmitted(said(error)),
        _ => ConnectError::Unreachable(said(error)),
    }
}

fn of_system(error: &mysql::Error) -> Option<&io::Error> {
    match error {
        mysql::Error::IoError(error) => Some(error),
        mysql::Error::CodecError(error) => error.source()?.downcast_ref(),
        _ => None,
    }
}

/// The message of the server or the system, without the client's text around it.
pub(crate) fn said(error: &mysql::Error) -> String {
    if let Some(cause) = of_system(error) {
        return cause.to_string();
    }
    match error {
        mysql::Error::MySqlError(refusal) => refusal.message.clone(),
        mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, why, _)))) => why.clone(),
        mysql::Error::DriverError(cause) => cause.to_string(),
        mysql::Error::TlsError(cause) => cause.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_that_are_not_accepted() {
        let cause = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        let error = io::Error::new(io::ErrorKind::InvalidData, cause);
        let error = mysql::Error::CodecError(error.into());
        assert!(matches!(why_not_connected(&error), ConnectError::Tls(_)));
        insta::assert_snapshot!(said(&error), @"invalid peer certificate: UnknownIssuer");
        let closed = mysql::Error::IoError(io::ErrorKind::ConnectionReset.into());
        assert!(matches!(why_not_connected(&closed), ConnectError::Unreachable(_)));
    }
}
