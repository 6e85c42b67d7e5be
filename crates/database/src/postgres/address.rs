//! The URL of a PostgreSQL database: the options that the client understands, and those that are
//! read here because the client does not.

use std::borrow::Cow;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::said;
use crate::connect_error::ConnectError;
use crate::tls_mode::TlsMode;

/// A parsed URL.
pub(crate) struct Address {
    /// The options that the client understands.
    pub(crate) config: Config,
    pub(crate) ssl_mode: TlsMode,
    /// File with CA certificates, from the URL.
    pub(crate) ssl_root_cert: Option<PathBuf>,
    /// Password file, from the URL.
    pub(crate) pass_file: Option<PathBuf>,
}

impl Address {
    pub(crate) fn read(url: &str) -> Result<Address, ConnectError> {
        let (mut ssl_mode, mut ssl_root_cert, mut pass_file) = (TlsMode::Prefer, None, None);
        let (place, query) = url.split_once('?').unwrap_or((url, ""));
        let mut others = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = || {
                percent_decode_str(value)
                    .decode_utf8()
                    .map_err(|_| unread(&format!("`{key}` is not UTF-8")))
            };
            match key {
                "sslmode" => {
                    let word: Cow<'_, str> = value()?;
                    ssl_mode = TlsMode::of_libpq(&word).ok_or_else(|| {
                        unread(&format!(
                            "unknown sslmode `{word}`, expected disable, prefer, require, \
                             verify-ca or verify-full"
                        ))
                    })?;
                }
                "sslrootcert" => ssl_root_cert = Some(PathBuf::from(value()?.into_owned())),
                "passfile" => pass_file = Some(PathBuf::from(value()?.into_owned())),
                _ => others.push(pair),
            }
        }
        let known = if others.is_empty() {
            place.to_owned()
        } else {
            format!("{place}?{}", others.join("&"))
        };
        let config: Config =
            known.parse().map_err(|error: tokio_postgres::Error| unread(&said(&error)))?;
        // Like libpq: a local socket needs no encryption.
        let is_local = config.get_hostaddrs().is_empty()
            && config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        Ok(Address {
            config,
            ssl_mode: if is_local { TlsMode::Disable } else { ssl_mode },
            ssl_root_cert,
            pass_file,
        })
    }
}

fn unread(cause: &str) -> ConnectError {
    ConnectError::Url(cause.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_unknown_to_the_client_are_read_here() {
        let address = Address::read(
            "postgres://u@h/d?sslmode=verify-full&connect_timeout=3&sslrootcert=%2Fa%20b.crt&passfile=p&application_name=x",
        );
        let address = address.unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(address.ssl_mode, TlsMode::VerifyFull);
        assert_eq!(address.ssl_root_cert, Some("/a b.crt".into()));
        assert_eq!(address.pass_file, Some("p".into()));
        assert_eq!(address.config.get_application_name(), Some("x"));
        assert_eq!(address.config.get_connect_timeout().map(std::time::Duration::as_secs), Some(3));
    }

    #[test]
    fn what_is_encrypted() {
        let mode = |url: &str| {
            Address::read(url)
                .map(|address| address.ssl_mode)
                .map_err(|problem| problem.to_string())
        };
        assert_eq!(mode("postgres://h/d"), Ok(TlsMode::Prefer));
        assert_eq!(mode("postgres://h/d?sslmode=allow"), Ok(TlsMode::Prefer));
        assert_eq!(
            mode("postgres://%2Frun%2Fpostgresql/d?sslmode=verify-full"),
            Ok(TlsMode::Disable)
        );
        for word in ["disable", "prefer", "require", "verify-ca", "verify-full"] {
            assert_eq!(
                mode(&format!("postgres://h/d?sslmode={word}")).map(TlsMode::libpq_name),
                Ok(word)
            );
        }
        insta::assert_snapshot!(mode("postgres://h/d?sslmode=full").unwrap_err(), @"the URL is invalid: unknown sslmode `full`, expected disable, prefer, require, verify-ca or verify-full");
        insta::assert_snapshot!(mode("postgres://h/d?sslrootcert=%ff").unwrap_err(), @"the URL is invalid: `sslrootcert` is not UTF-8");
        insta::assert_snapshot!(mode("postgres://h/d?sslcert=x").unwrap_err(), @"the URL is invalid: unknown option `sslcert`");
    }
}
