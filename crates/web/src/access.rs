//! The checks of requests: the host name that the browser used, the token of a server that other
//! machines can reach, and the origin of a form.
//!
//! A page of any site can make a browser send requests to 127.0.0.1. It cannot read the answers,
//! unless its own name resolves to 127.0.0.1 (DNS rebinding). In that case the browser sends that
//! name as `Host`, and the request is refused. Changes are accepted only as a POST from a page of
//! this server (`Origin`) that carries a secret which only this server's pages contain.

use std::fmt;
use std::net::SocketAddr;

use subtle::ConstantTimeEq as _;

/// 256 bits: impossible to guess.
const TOKEN_BYTES: usize = 32;
/// Fewest characters of a token that a user chooses: 128 bits if they are hexadecimal digits.
pub const CHOSEN_MIN: usize = 32;

/// A random secret in hexadecimal digits.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    pub fn random() -> std::io::Result<Token> {
        let mut bytes = [0_u8; TOKEN_BYTES];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += rustix::rand::getrandom(
                &mut bytes[filled..],
                rustix::rand::GetRandomFlags::empty(),
            )?;
        }
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A token that the user chose; `None` if it is too short to be safe, or has characters that
    /// an address would have to escape.
    pub fn chosen(text: &str) -> Option<Token> {
        let fits = text.len() >= CHOSEN_MIN
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte));
        fits.then(|| Token(text.to_owned()))
    }

    /// Compares in constant time, so the timing does not reveal where two tokens differ.
    fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

/// Keeps tokens out of logs.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The rules by which this server admits requests.
#[derive(Debug)]
pub struct Access {
    address: SocketAddr,
    /// Host and port as shown to the user.
    name: String,
    /// Required from every client; `None` if only this machine can reach the server.
    token: Option<Token>,
    /// Carried by every form of this server's pages.
    form: Token,
}

/// The parts of a request that decide about its admission.
#[derive(Debug, Clone, Copy, Default)]
pub struct Credentials<'a> {
    pub host: Option<&'a str>,
    pub cookies: Option<&'a str>,
    /// In the address.
    pub token: Option<&'a str>,
    /// The `Authorization` header, with which programs such as Prometheus send it.
    pub authorization: Option<&'a str>,
}

/// The decision about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    /// The address contained the token: it is stored as a cookie, and the browser is redirected to
    /// the address without it.
    TokenInAddress,
    /// The `Host` is not this server's.
    WrongHost,
    /// The token is missing or wrong.
    NoToken,
}

impl Access {
    /// For a server that listens on `address` and is known to users as `name` (host and port).
    /// Requires this token; without one, none on a loopback address, and a random one otherwise.
    pub fn new(address: SocketAddr, name: &str, token: Option<Token>) -> std::io::Result<Access> {
        let token = match token {
            None if address.ip().is_loopback() => None,
            None => Some(Token::random()?),
            given => given,
        };
        Ok(Access { address, name: name.to_owned(), token, form: Token::random()? })
    }

    /// The address to open in a browser, with the token if one is required.
    pub fn address(&self) -> String {
        match &self.token {
            None => format!("http://{}/", self.name),
            Some(token) => format!("http://{}/?token={}", self.name, token.as_str()),
        }
    }

    /// The secret that this server's forms carry.
    pub fn form_secret(&self) -> &str {
        self.form.as_str()
    }

    /// The `Set-Cookie` header that stores the token. Its name contains the port, because cookies
    /// are shared by all ports of a host. `Lax` and not `Strict`, so a user who follows a link from
    /// a chat stays logged in; a link can only read.
    pub fn cookie(&self) -> Option<String> {
        let token = self.token.as_ref()?;
        Some(format!("{}={}; Path=/; HttpOnly; SameSite=Lax", self.cookie_name(), token.as_str()))
    }

    fn cookie_name(&self) -> String {
        format!("flushmark_{}", self.address.port())
    }

    /// Decides about a request. Without a token, the `Host` must be a name of this server; with
    /// one, the token or its cookie must be correct.
    pub fn admit(&self, asked: &Credentials<'_>) -> Admission {
        let Some(token) = &self.token else {
            return if asked.host.is_some_and(|host| self.is_our_name(host)) {
                Admission::Admitted
            } else {
                Admission::WrongHost
            };
        };
        // The host name is not checked here: the browser sends a cookie only to the name that set
        // it, so a page of another site has none to send.
        if asked.token.is_some_and(|given| token.is(given)) {
            return Admission::TokenInAddress;
        }
        let bearer = asked.authorization.and_then(|header| header.strip_prefix("Bearer "));
        if bearer.is_some_and(|given| token.is(given.trim())) {
            return Admission::Admitted;
        }
        let name = self.cookie_name();
        let mut cookies = asked
            .cookies
            .unwrap_or_default()
            .split(';')
            .filter_map(|cookie| cookie.trim().split_once('='));
        let admitted = cookies.any(|(given_name, given)| given_name == name && token.is(given));
        if admitted { Admission::Admitted } else { Admission::NoToken }
    }

    fn is_our_name(&self, host: &str) -> bool {
        let port = self.address.port();
        let name = match host.strip_suffix(&format!(":{port}")) {
            Some(name) => name,
            // Browsers omit the default port of HTTP.
            None if port == 80 => host,
            None => return false,
        };
        let is_address =
            name.trim_start_matches('[').trim_end_matches(']').parse() == Ok(self.address.ip());
        is_address || name.eq_ignore_ascii_case("localhost")
    }

    /// True if a form was sent from a page of this server.
    pub fn may_change(
        &self,
        origin: Option<&str>,
        host: Option<&str>,
        form_secret: Option<&str>,
    ) -> bool {
        let same_origin = match (origin.and_then(|origin| origin.strip_prefix("http://")), host) {
            (Some(from), Some(host)) => from == host,
            _ => false,
        };
        same_origin && form_secret.is_some_and(|given| self.form.is(given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: &str) -> Access {
        Access::new(address.parse().unwrap(), address, None).unwrap()
    }

    fn from_host(host: &str) -> Credentials<'_> {
        Credentials { host: Some(host), ..Credentials::default() }
    }

    #[test]
    fn on_this_machine_only_its_own_names_are_answered() {
        let local = access("127.0.0.1:7325");
        for own in ["127.0.0.1:7325", "localhost:7325", "LOCALHOST:7325"] {
            assert_eq!(local.admit(&from_host(own)), Admission::Admitted, "{own}");
        }
        for other in [
            "evil.example:7325",
            "127.0.0.1",
            "127.0.0.1:80",
            "127.0.0.2:7325",
            "localhost.evil.example:7325",
            "",
        ] {
            assert_eq!(local.admit(&from_host(other)), Admission::WrongHost, "{other}");
        }
        assert_eq!(local.admit(&Credentials::default()), Admission::WrongHost);
        assert_eq!(access("[::1]:7325").admit(&from_host("[::1]:7325")), Admission::Admitted);
        assert_eq!(access("127.0.0.1:80").admit(&from_host("localhost")), Admission::Admitted);
        assert_eq!(local.cookie(), None);
        assert_eq!(local.address(), "http://127.0.0.1:7325/");
    }

    #[test]
    fn a_chosen_token_is_required_on_this_machine_too() {
        for wrong in ["", "short", &"x".repeat(31), &"x y".repeat(20), &"ü".repeat(40)] {
            assert!(Token::chosen(wrong).is_none(), "{wrong}");
        }
        let chosen = "0123456789abcdef0123456789ABC-._~";
        let address = "127.0.0.1:7325";
        let token = Token::chosen(chosen);
        let access = Access::new(address.parse().unwrap(), address, token).unwrap();
        assert_eq!(access.address(), format!("http://127.0.0.1:7325/?token={chosen}"));
        assert_eq!(access.admit(&from_host(address)), Admission::NoToken);
        let header = format!("Bearer {chosen}");
        let asked = Credentials { authorization: Some(&header), ..from_host(address) };
        assert_eq!(access.admit(&asked), Admission::Admitted);
    }

    #[test]
    fn others_need_the_token() {
        let open = access("192.0.2.7:7325");
        let token = open.address().split_once("?token=").unwrap().1.to_owned();
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        let by_token = |token: &str| {
            open.admit(&Credentials {
                host: Some("bench:7325"),
                token: Some(token),
                ..Credentials::default()
            })
        };
        let by_cookie = |cookies: &str| {
            open.admit(&Credentials {
                host: Some("bench:7325"),
                cookies: Some(cookies),
                ..Credentials::default()
            })
        };
        let by_header = |header: &str| {
            open.admit(&Credentials { authorization: Some(header), ..Credentials::default() })
        };
        assert_eq!(by_header(&format!("Bearer {token}")), Admission::Admitted);
        for wrong in ["", "Bearer", "Bearer ", "Bearer 0", &token, &format!("Basic {token}")] {
            assert_eq!(by_header(wrong), Admission::NoToken, "{wrong}");
        }
        assert_eq!(by_token(&token), Admission::TokenInAddress);
        for wrong in [
            "",
            "0",
            &token[1..],
            &format!("{token}0"),
            &token.replace(|c: char| c.is_ascii_digit(), "x"),
        ] {
            assert_eq!(by_token(wrong), Admission::NoToken, "{wrong}");
        }
        let cookie = open.cookie().unwrap();
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
        let pair = cookie.split(';').next().unwrap();
        assert_eq!(by_cookie(pair), Admission::Admitted);
        assert_eq!(by_cookie(&format!("other=1; {pair}")), Admission::Admitted);
        assert_eq!(by_cookie(&pair.replace("7325", "7326")), Admission::NoToken);
        assert_eq!(by_cookie("flushmark_7325="), Admission::NoToken);
        assert_eq!(open.admit(&from_host("bench:7325")), Admission::NoToken);
    }

    #[test]
    fn two_servers_have_two_tokens_and_none_is_printed() {
        let (one, other) = (access("192.0.2.7:1"), access("192.0.2.7:1"));
        assert_ne!(one.address(), other.address());
        assert_ne!(one.form_secret(), other.form_secret());
        assert!(!format!("{one:?}").contains(one.form_secret()));
    }

    #[test]
    fn only_our_own_forms_change_something() {
        let local = access("127.0.0.1:7325");
        let (origin, host) = (Some("http://127.0.0.1:7325"), Some("127.0.0.1:7325"));
        assert!(local.may_change(origin, host, Some(local.form_secret())));
        assert!(!local.may_change(origin, host, Some("guess")));
        assert!(!local.may_change(origin, host, None));
        for foreign in [
            None,
            Some("null"),
            Some("http://evil.example"),
            Some("https://127.0.0.1:7325"),
            Some("http://127.0.0.1:80"),
        ] {
            assert!(!local.may_change(foreign, host, Some(local.form_secret())), "{foreign:?}");
        }
        assert!(!local.may_change(origin, None, Some(local.form_secret())));
    }
}
