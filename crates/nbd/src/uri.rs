//! The address of an export: the NBD URI standard (NetworkBlockDevice/nbd, doc/uri.md).

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::wire::PORT;

/// Longest name of an export.
const NAME_BYTES_MAX: usize = 4096;
/// The characters that are escaped in a name or a path: those with a meaning in a URI, and
/// invisible ones.
const ENCODED: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'&').add(b'<').add(b'>').add(b'?');

/// The way to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    Unix(PathBuf),
    /// Host and port.
    Tcp(String, u16),
}

/// The address of an export.
///
/// ```
/// use nbd::{Transport, Uri};
///
/// let uri: Uri = "nbd+unix:///disk?socket=/run/nbd.sock".parse()?;
/// assert_eq!(uri.export, "disk");
/// assert_eq!(uri.transport, Transport::Unix("/run/nbd.sock".into()));
/// let uri: Uri = "nbd://storage.example".parse()?;
/// assert_eq!((uri.export.as_str(), uri.transport), ("", Transport::Tcp("storage.example".into(), 10809)));
/// # Ok::<(), nbd::InvalidUri>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uri {
    pub transport: Transport,
    /// The export's name; empty for the server's default.
    pub export: String,
}

/// Why a text is not the address of an export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid NBD address `{uri}`: {because}")]
pub struct InvalidUri {
    uri: String,
    because: String,
}

impl FromStr for Uri {
    type Err = InvalidUri;

    fn from_str(text: &str) -> Result<Uri, InvalidUri> {
        parse(text)
            .map_err(|because| InvalidUri { uri: unseen::escaped(text).into_owned(), because })
    }
}

fn parse(text: &str) -> Result<Uri, String> {
    let expected = "expected nbd://HOST[:PORT]/EXPORT or nbd+unix:///EXPORT?socket=PATH";
    let (scheme, rest) = text.split_once("://").ok_or(expected)?;
    let is_unix = match scheme {
        "nbd" => false,
        "nbd+unix" => true,
        "nbds" | "nbds+unix" | "nbds+vsock" => {
            return Err("TLS is not supported; use nbd:// or nbd+unix://".to_owned());
        }
        "nbd+vsock" | "nbd+ssh" => {
            let transport = scheme.trim_start_matches("nbd+");
            return Err(format!(
                "the transport {transport} is not supported; use nbd:// or nbd+unix://"
            ));
        }
        _ => return Err(expected.to_owned()),
    };
    if rest.contains('#') {
        return Err("it has a fragment (`#`); write a `#` in a name as %23".to_owned());
    }
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let export = decoded(path)?;
    if export.len() > NAME_BYTES_MAX {
        return Err(format!("the name of an export has at most {NAME_BYTES_MAX} bytes"));
    }
    let mut socket = None;
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        match parameter.split_once('=') {
            Some(("socket", path)) if is_unix && socket.is_none() && !path.is_empty() => {
                socket = Some(decoded(path)?);
            }
            _ => {
                let parameter = unseen::escaped(parameter);
                let known = if is_unix { "expected one socket=PATH" } else { "expected none" };
                return Err(format!("unexpected parameter `{parameter}`; {known}"));
            }
        }
    }
    if !is_unix {
        let (host, port) = host_and_port(authority)?;
        return Ok(Uri { transport: Transport::Tcp(host, port), export });
    }
    if !authority.is_empty() {
        return Err(format!(
            "a unix socket has no host, so nbd+unix: is followed by three slashes; {expected}"
        ));
    }
    let socket = socket.ok_or("the path of the socket is missing; append ?socket=PATH")?;
    Ok(Uri { transport: Transport::Unix(PathBuf::from(socket)), export })
}

fn host_and_port(authority: &str) -> Result<(String, u16), String> {
    if authority.contains('@') {
        return Err("a user name has no meaning without TLS".to_owned());
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or("`[` without `]`")?;
            match rest.strip_prefix(':') {
                None if !rest.is_empty() => return Err("expected a port after `]`".to_owned()),
                port => (host, port),
            }
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    if host.is_empty() {
        return Err("the host is missing".to_owned());
    }
    let port = match port {
        None | Some("") => PORT,
        Some(port) => port.parse().ok().filter(|&port| port > 0).ok_or_else(|| {
            format!("invalid port `{}`; expected 1 to 65535", unseen::escaped(port))
        })?,
    };
    Ok((decoded(host)?, port))
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| "it is not UTF-8 after percent-decoding".to_owned())?;
    if decoded.contains('\0') {
        return Err("it contains a null character".to_owned());
    }
    Ok(decoded.into_owned())
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let export = utf8_percent_encode(&self.export, ENCODED);
        match &self.transport {
            Transport::Unix(path) => {
                let path = path.display().to_string();
                write!(f, "nbd+unix:///{export}?socket={}", utf8_percent_encode(&path, ENCODED))
            }
            Transport::Tcp(host, port) => {
                if host.contains(':') {
                    write!(f, "nbd://[{host}]")?;
                } else {
                    write!(f, "nbd://{}", utf8_percent_encode(host, ENCODED))?;
                }
                if *port != PORT {
                    write!(f, ":{port}")?;
                }
                if self.export.is_empty() { Ok(()) } else { write!(f, "/{export}") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_as_they_are_typed() {
        let read = |text: &str| text.parse::<Uri>().unwrap().to_string();
        assert_eq!(read("nbd://localhost"), "nbd://localhost");
        assert_eq!(read("nbd://localhost/"), "nbd://localhost");
        assert_eq!(read("nbd://localhost:10809/disk"), "nbd://localhost/disk");
        assert_eq!(read("nbd://[::1]:99/a/b"), "nbd://[::1]:99/a/b");
        assert_eq!(read("nbd://host//absolute"), "nbd://host//absolute");
        assert_eq!(read("nbd+unix:///?socket=/run/a b"), "nbd+unix:///?socket=/run/a%20b");
        assert_eq!(read("nbd+unix:///x%3fy?socket=s"), "nbd+unix:///x%3Fy?socket=s");
    }

    #[test]
    fn what_is_not_an_address_is_refused_with_the_reason() {
        let refused = |text: &str| text.parse::<Uri>().unwrap_err().to_string();
        insta::assert_snapshot!(refused("nbds://host/disk"), @"invalid NBD address `nbds://host/disk`: TLS is not supported; use nbd:// or nbd+unix://");
        insta::assert_snapshot!(refused("nbd+vsock://2/"), @"invalid NBD address `nbd+vsock://2/`: the transport vsock is not supported; use nbd:// or nbd+unix://");
        insta::assert_snapshot!(refused("nbd+x://h"), @"invalid NBD address `nbd+x://h`: expected nbd://HOST[:PORT]/EXPORT or nbd+unix:///EXPORT?socket=PATH");
        insta::assert_snapshot!(refused("nbd+unix:///disk"), @"invalid NBD address `nbd+unix:///disk`: the path of the socket is missing; append ?socket=PATH");
        insta::assert_snapshot!(refused("nbd+unix://disk?socket=/s"), @"invalid NBD address `nbd+unix://disk?socket=/s`: a unix socket has no host, so nbd+unix: is followed by three slashes; expected nbd://HOST[:PORT]/EXPORT or nbd+unix:///EXPORT?socket=PATH");
        insta::assert_snapshot!(refused("nbd:///disk"), @"invalid NBD address `nbd:///disk`: the host is missing");
        insta::assert_snapshot!(refused("nbd://h:0"), @"invalid NBD address `nbd://h:0`: invalid port `0`; expected 1 to 65535");
        insta::assert_snapshot!(refused("nbd://user@h"), @"invalid NBD address `nbd://user@h`: a user name has no meaning without TLS");
        insta::assert_snapshot!(refused("nbd://h/x?socket=/s"), @"invalid NBD address `nbd://h/x?socket=/s`: unexpected parameter `socket=/s`; expected none");
        insta::assert_snapshot!(refused("nbd+unix:///?socket=a&socket=b"), @"invalid NBD address `nbd+unix:///?socket=a&socket=b`: unexpected parameter `socket=b`; expected one socket=PATH");
        insta::assert_snapshot!(refused("nbd://h/#x"), @"invalid NBD address `nbd://h/#x`: it has a fragment (`#`); write a `#` in a name as %23");
        insta::assert_snapshot!(refused("nbd://h/%ff"), @"invalid NBD address `nbd://h/%ff`: it is not UTF-8 after percent-decoding");
        insta::assert_snapshot!(refused("nbd://h/%00"), @"invalid NBD address `nbd://h/%00`: it contains a null character");
        insta::assert_snapshot!(refused("nbd://[::1"), @"invalid NBD address `nbd://[::1`: `[` without `]`");
        insta::assert_snapshot!(refused("nbd://[::1]x"), @"invalid NBD address `nbd://[::1]x`: expected a port after `]`");
        insta::assert_snapshot!(refused(&format!("nbd://h/{}", "x".repeat(4097))).replace('x', ""), @"invalid NBD address `nbd://h/`: the name of an eport has at most 4096 bytes");
    }

    proptest! {
        #[test]
        fn an_address_is_read_as_it_was_written(
            export in "[^\0]{0,20}", socket in "[^\0]{1,20}", host in "[a-z0-9.-]{1,20}",
            port in 1u16.., is_unix: bool,
        ) {
            let transport = if is_unix {
                Transport::Unix(socket.into())
            } else {
                Transport::Tcp(host, port)
            };
            let uri = Uri { transport, export };
            prop_assert_eq!(uri.to_string().parse(), Ok(uri));
        }

        #[test]
        fn any_text_is_an_address_or_refused(text in "(nbd|nbd\\+unix)://.{0,40}") {
            let _ = text.parse::<Uri>();
        }
    }
}
