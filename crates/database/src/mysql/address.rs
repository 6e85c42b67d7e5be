//! The URL of a MariaDB or MySQL database.

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;

use crate::connect_error::ConnectError;
use crate::tls_mode::TlsMode;

const PORT: u16 = 3306;
/// Debian's socket.
const USUAL_SOCKET: &str = "/run/mysqld/mysqld.sock";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    Tcp { name: String, port: u16 },
    Socket(PathBuf),
}

/// A parsed URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) user: Option<String>,
    pub(crate) host: Host,
    pub(crate) database: Option<String>,
    pub(crate) tls: TlsMode,
    /// File with CA certificates.
    pub(crate) ca: Option<PathBuf>,
    pub(crate) connect_timeout: Option<Duration>,
}

impl Address {
    /// Reads what follows `mysql://`.
    pub(crate) fn read(rest: &str) -> Result<Address, ConnectError> {
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = place.split_once('/').unwrap_or((place, ""));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(decoded("the user", user)?), host),
            None => (None, authority),
        };
        let mut address = Address {
            user: user.filter(|user| !user.is_empty()),
            host: host_of(host)?,
            database: Some(decoded("the database", database)?).filter(|name| !name.is_empty()),
            tls: TlsMode::Prefer,
            ca: None,
            connect_timeout: None,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            address.set(key, decoded(key, value)?)?;
        }
        Ok(address)
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), ConnectError> {
        match key {
            "ssl-mode" => {
                self.tls = TlsMode::of_mysql(&value).ok_or_else(|| {
                    invalid(format!(
                        "unknown ssl-mode `{value}`, expected DISABLED, PREFERRED, REQUIRED, \
                         VERIFY_CA or VERIFY_IDENTITY"
                    ))
                })?;
            }
            "ssl-ca" => self.ca = Some(value.into()),
            "socket" => self.host = Host::Socket(value.into()),
            "connect_timeout" => {
                let seconds = value.parse::<u32>().ok().filter(|&seconds| seconds > 0);
                let seconds = seconds.ok_or_else(|| {
                    invalid(format!("connect_timeout `{value}`, expected seconds above zero"))
                })?;
                self.connect_timeout = Some(Duration::from_secs(seconds.into()));
            }
            _ => return Err(invalid(format!("unknown option `{key}`"))),
        }
        Ok(())
    }
}

/// `HOST`, `HOST:PORT`, `[IPV6]:PORT`, a percent-encoded path of a socket, or nothing for the usual
/// socket.
fn host_of(text: &str) -> Result<Host, ConnectError> {
    if text.is_empty() {
        return Ok(Host::Socket(USUAL_SOCKET.into()));
    }
    let (name, port) = match text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        Some((name, "")) => (name, None),
        Some((name, rest)) => (name, Some(rest.strip_prefix(':').unwrap_or(rest))),
        None => text.split_once(':').map_or((text, None), |(name, port)| (name, Some(port))),
    };
    let name = decoded("the host", name)?;
    if name.starts_with('/') {
        return Ok(Host::Socket(name.into()));
    }
    if name.is_empty() {
        return Err(invalid("the host is missing before the port".to_owned()));
    }
    let port = match port {
        None => PORT,
        Some(text) => {
            let port = text.parse().ok().filter(|&port| port > 0);
            port.ok_or_else(|| invalid(format!("port `{text}`, expected 1 to 65535")))?
        }
    };
    Ok(Host::Tcp { name, port })
}

fn decoded(what: &str, text: &str) -> Result<String, ConnectError> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(std::borrow::Cow::into_owned).map_err(|_| invalid(format!("{what} is not UTF-8")))
}

fn invalid(why: String) -> ConnectError {
    ConnectError::Url(why)
}

#[cfg(test)]
mod tests {
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Address {
        Address::read(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn tcp(name: &str, port: u16) -> Host {
        Host::Tcp { name: name.to_owned(), port }
    }

    #[test]
    fn places() {
        let host = |text: &str| read(text).host;
        assert_eq!(host("root@db1/shop"), tcp("db1", 3306));
        assert_eq!(host("db1:3307"), tcp("db1", 3307));
        assert_eq!(host("u@[::1]:3307/d"), tcp("::1", 3307));
        assert_eq!(host("u@[::1]/d"), tcp("::1", 3306));
        assert_eq!(host("u@/d"), Host::Socket(USUAL_SOCKET.into()));
        assert_eq!(host("u@%2Ftmp%2Fm.sock/d"), Host::Socket("/tmp/m.sock".into()));
        assert_eq!(host("u@localhost/d?socket=/tmp/m.sock"), Host::Socket("/tmp/m.sock".into()));
        let all = read("a%40b@h/d%20e?ssl-mode=verify_identity&ssl-ca=%2Fca&connect_timeout=3");
        assert_eq!(all.user.as_deref(), Some("a@b"));
        assert_eq!(all.database.as_deref(), Some("d e"));
        assert_eq!((all.tls, all.ca), (TlsMode::VerifyFull, Some("/ca".into())));
        assert_eq!(all.connect_timeout, Some(Duration::from_secs(3)));
    }

    #[test]
    fn invalid_urls() {
        let error = |text: &str| Address::read(text).unwrap_err().to_string();
        insta::assert_snapshot!(error("h:0/d"), @"the URL is invalid: port `0`, expected 1 to 65535");
        insta::assert_snapshot!(error(":3306/d"), @"the URL is invalid: the host is missing before the port");
        insta::assert_snapshot!(error("h/d?ssl-mode=full"), @"the URL is invalid: unknown ssl-mode `full`, expected DISABLED, PREFERRED, REQUIRED, VERIFY_CA or VERIFY_IDENTITY");
        insta::assert_snapshot!(error("h/d?connect_timeout=0"), @"the URL is invalid: connect_timeout `0`, expected seconds above zero");
        insta::assert_snapshot!(error("h/d?charset=x"), @"the URL is invalid: unknown option `charset`");
        insta::assert_snapshot!(error("h/%ff"), @"the URL is invalid: the database is not UTF-8");
    }

    proptest! {
        #[test]
        fn any_name_can_be_written(user in "\\PC{1,12}", host in "[^/:\\[\\]]\\PC{0,11}", database in "\\PC{1,12}") {
            let encoded = |text: &str| utf8_percent_encode(text, NON_ALPHANUMERIC).to_string();
            let address = read(&format!("{}@{}/{}", encoded(&user), encoded(&host), encoded(&database)));
            prop_assert_eq!(address.user, Some(user));
            prop_assert_eq!(address.host, tcp(&host, PORT));
            prop_assert_eq!(address.database, Some(database));
        }

        #[test]
        fn nothing_panics(text in "\\PC{0,40}") {
            let _ = Address::read(&text);
        }
    }
}
