//! The URL of a store: the options that the client understands, and those that flushmark reads
//! because the client does not.

use std::borrow::Cow;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use postgres::Config;
use postgres::config::Host;

use super::problem::said;
use crate::error::Problem;

/// What to encrypt and verify: libpq's names, with libpq's meanings (its documentation, "SSL
/// Support").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SslMode {
    /// No encryption.
    Disable,
    /// Encryption if the server supports it.
    Prefer,
    /// Encryption; verified as with [`SslMode::VerifyCa`] if there is a CA certificate, unverified
    /// otherwise.
    Require,
    /// Encryption, with a certificate signed by the CA.
    VerifyCa,
    /// The same, and the certificate must match the host name.
    VerifyFull,
}

impl SslMode {
    fn named(word: &str) -> Option<SslMode> {
        Some(match word {
            "disable" => SslMode::Disable,
            // Trying without encryption first is no safer: an eavesdropper sees as much.
            "allow" | "prefer" => SslMode::Prefer,
            "require" => SslMode::Require,
            "verify-ca" => SslMode::VerifyCa,
            "verify-full" => SslMode::VerifyFull,
            _ => return None,
        })
    }

    /// The name that libpq uses.
    pub(super) const fn name(self) -> &'static str {
        match self {
            SslMode::Disable => "disable",
            SslMode::Prefer => "prefer",
            SslMode::Require => "require",
            SslMode::VerifyCa => "verify-ca",
            SslMode::VerifyFull => "verify-full",
        }
    }
}

/// A parsed URL.
pub(super) struct Address {
    /// The options that the client understands.
    pub(super) config: Config,
    pub(super) ssl_mode: SslMode,
    /// File with CA certificates, from the URL.
    pub(super) ssl_root_cert: Option<PathBuf>,
    /// Password file, from the URL.
    pub(super) pass_file: Option<PathBuf>,
}

impl Address {
    pub(super) fn read(url: &str) -> Result<Address, Problem> {
        let (mut ssl_mode, mut ssl_root_cert, mut pass_file) = (SslMode::Prefer, None, None);
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
                    ssl_mode = SslMode::named(&word).ok_or_else(|| {
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
            known.parse().map_err(|error: postgres::Error| unread(&said(&error)))?;
        // Like libpq: a local socket needs no encryption.
        let is_local = config.get_hostaddrs().is_empty()
            && config.get_hosts().iter().all(|host| matches!(host, Host::Unix(_)));
        Ok(Address {
            config,
            ssl_mode: if is_local { SslMode::Disable } else { ssl_mode },
            ssl_root_cert,
            pass_file,
        })
    }
}

fn unread(cause: &str) -> Problem {
    Problem::Url(cause.to_owned())
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
        assert_eq!(address.ssl_mode, SslMode::VerifyFull);
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
        assert_eq!(mode("postgres://h/d"), Ok(SslMode::Prefer));
        assert_eq!(mode("postgres://h/d?sslmode=allow"), Ok(SslMode::Prefer));
        assert_eq!(
            mode("postgres://%2Frun%2Fpostgresql/d?sslmode=verify-full"),
            Ok(SslMode::Disable)
        );
        for word in ["disable", "prefer", "require", "verify-ca", "verify-full"] {
            assert_eq!(
                mode(&format!("postgres://h/d?sslmode={word}")).map(SslMode::name),
                Ok(word)
            );
        }
        insta::assert_snapshot!(mode("postgres://h/d?sslmode=full").unwrap_err(), @"has an invalid URL: unknown sslmode `full`, expected disable, prefer, require, verify-ca or verify-full; expected postgres://USER@HOST/DATABASE");
        insta::assert_snapshot!(mode("postgres://h/d?sslrootcert=%ff").unwrap_err(), @"has an invalid URL: `sslrootcert` is not UTF-8; expected postgres://USER@HOST/DATABASE");
        insta::assert_snapshot!(mode("postgres://h/d?sslcert=x").unwrap_err(), @"has an invalid URL: unknown option `sslcert`; expected postgres://USER@HOST/DATABASE");
    }
}
