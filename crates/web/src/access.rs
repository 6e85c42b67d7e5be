//! Who may ask: the name under which a browser asks, the token of a server that others can reach, and who may change something.
//!
//! A page of any site can make a browser send requests to 127.0.0.1. It cannot read the answers, unless its own name is made to resolve to 127.0.0.1
//! (DNS rebinding); then the browser sends that name as `Host`, and is refused. What changes something is asked for by POST, from a page of this server
//! (`Origin`), with a word that only pages of this server know.

use std::fmt;
use std::net::SocketAddr;

use subtle::ConstantTimeEq as _;

/// 256 bits: nobody guesses them.
const TOKEN_BYTES: usize = 32;

/// A secret word.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// A new one, from the kernel.
    ///
    /// # Errors
    /// When the kernel gives no random numbers.
    pub fn random() -> std::io::Result<Token> {
        let mut bytes = [0_u8; TOKEN_BYTES];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())?;
        }
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// As it is written into an address or a form.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compared in a time that tells nothing of where the two differ.
    fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

/// Not for logs.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// Who may ask this server.
#[derive(Debug)]
pub struct Access {
    address: SocketAddr,
    /// Name and port as a person writes them.
    name: String,
    /// What everybody has to know; `None` where only this machine can ask.
    token: Option<Token>,
    /// What the forms of our pages carry.
    form: Token,
}

/// What of a request decides.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// The header `Host`.
    pub host: Option<&'a str>,
    /// The header `Cookie`.
    pub cookies: Option<&'a str>,
    /// The parameter `token` of the address.
    pub token: Option<&'a str>,
}

/// What is done with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// It is answered.
    Admitted,
    /// The token stood in the address: from now on it is kept as a cookie, and the address is shown without it.
    Welcomed,
    /// It came under a name that is not this server's.
    StrangeHost,
    /// No token, or a wrong one.
    NoToken,
}

impl Access {
    /// For a server at this address, which people find under this name and port: open to all of this machine where nothing else can reach it, else by
    /// token.
    ///
    /// # Errors
    /// When the kernel gives no random numbers.
    pub fn new(address: SocketAddr, name: &str) -> std::io::Result<Access> {
        let token = if address.ip().is_loopback() { None } else { Some(Token::random()?) };
        Ok(Access { address, name: name.to_owned(), token, form: Token::random()? })
    }

    /// The address to open in a browser.
    pub fn address(&self) -> String {
        match &self.token {
            None => format!("http://{}/", self.name),
            Some(token) => format!("http://{}/?token={}", self.name, token.as_str()),
        }
    }

    /// The word that a form of ours carries.
    pub fn form_word(&self) -> &str {
        self.form.as_str()
    }

    /// The header that keeps the token. Of another name for each port, because a cookie belongs to all ports of a host. Lax and not Strict: a person
    /// who follows a link in a chat is known then, and what a link can do is reading.
    pub fn cookie(&self) -> Option<String> {
        let token = self.token.as_ref()?;
        Some(format!("{}={}; Path=/; HttpOnly; SameSite=Lax", self.cookie_name(), token.as_str()))
    }

    fn cookie_name(&self) -> String {
        format!("flushmark_{}", self.address.port())
    }

    /// Whether a request may be answered.
    pub fn admit(&self, asked: &Asked<'_>) -> Entry {
        let Some(token) = &self.token else {
            return if asked.host.is_some_and(|host| self.is_our_name(host)) {
                Entry::Admitted
            } else {
                Entry::StrangeHost
            };
        };
        // Under any name: a cookie belongs to the name under which it was given, so a page of another site has none to send.
        if asked.token.is_some_and(|given| token.is(given)) {
            return Entry::Welcomed;
        }
        let name = self.cookie_name();
        let mut cookies =
            asked.cookies.unwrap_or_default().split(';').filter_map(|cookie| cookie.trim().split_once('='));
        let admitted = cookies.any(|(given_name, given)| given_name == name && token.is(given));
        if admitted { Entry::Admitted } else { Entry::NoToken }
    }

    fn is_our_name(&self, host: &str) -> bool {
        let port = self.address.port();
        let name = match host.strip_suffix(&format!(":{port}")) {
            Some(name) => name,
            // Browsers leave the port of plain HTTP out.
            None if port == 80 => host,
            None => return false,
        };
        let is_address = name.trim_start_matches('[').trim_end_matches(']').parse() == Ok(self.address.ip());
        is_address || name.eq_ignore_ascii_case("localhost")
    }

    /// Whether a form came from a page of this server.
    pub fn may_change(&self, origin: Option<&str>, host: Option<&str>, form_word: Option<&str>) -> bool {
        let same_origin = match (origin.and_then(|origin| origin.strip_prefix("http://")), host) {
            (Some(from), Some(host)) => from == host,
            _ => false,
        };
        same_origin && form_word.is_some_and(|given| self.form.is(given))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(address: &str) -> Access {
        Access::new(address.parse().unwrap(), address).unwrap()
    }

    fn from_host(host: &str) -> Asked<'_> {
        Asked { host: Some(host), ..Asked::default() }
    }

    #[test]
    fn on_this_machine_only_its_own_names_are_answered() {
        let local = access("127.0.0.1:7325");
        for own in ["127.0.0.1:7325", "localhost:7325", "LOCALHOST:7325"] {
            assert_eq!(local.admit(&from_host(own)), Entry::Admitted, "{own}");
        }
        for other in
            ["evil.example:7325", "127.0.0.1", "127.0.0.1:80", "127.0.0.2:7325", "localhost.evil.example:7325", ""]
        {
            assert_eq!(local.admit(&from_host(other)), Entry::StrangeHost, "{other}");
        }
        assert_eq!(local.admit(&Asked::default()), Entry::StrangeHost);
        assert_eq!(access("[::1]:7325").admit(&from_host("[::1]:7325")), Entry::Admitted);
        assert_eq!(access("127.0.0.1:80").admit(&from_host("localhost")), Entry::Admitted);
        assert_eq!(local.cookie(), None);
        assert_eq!(local.address(), "http://127.0.0.1:7325/");
    }

    #[test]
    fn others_need_the_token() {
        let open = access("192.0.2.7:7325");
        let token = open.address().split_once("?token=").unwrap().1.to_owned();
        assert_eq!(token.len(), 2 * TOKEN_BYTES);
        let by_token = |token: &str| open.admit(&Asked { host: Some("bench:7325"), cookies: None, token: Some(token) });
        let by_cookie =
            |cookies: &str| open.admit(&Asked { host: Some("bench:7325"), cookies: Some(cookies), token: None });
        assert_eq!(by_token(&token), Entry::Welcomed);
        for wrong in ["", "0", &token[1..], &format!("{token}0"), &token.replace(|c: char| c.is_ascii_digit(), "x")] {
            assert_eq!(by_token(wrong), Entry::NoToken, "{wrong}");
        }
        let cookie = open.cookie().unwrap();
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Lax"), "{cookie}");
        let pair = cookie.split(';').next().unwrap();
        assert_eq!(by_cookie(pair), Entry::Admitted);
        assert_eq!(by_cookie(&format!("other=1; {pair}")), Entry::Admitted);
        assert_eq!(by_cookie(&pair.replace("7325", "7326")), Entry::NoToken);
        assert_eq!(by_cookie("flushmark_7325="), Entry::NoToken);
        assert_eq!(open.admit(&from_host("bench:7325")), Entry::NoToken);
    }

    #[test]
    fn two_servers_have_two_tokens_and_none_is_printed() {
        let (one, other) = (access("192.0.2.7:1"), access("192.0.2.7:1"));
        assert_ne!(one.address(), other.address());
        assert_ne!(one.form_word(), other.form_word());
        assert!(!format!("{one:?}").contains(one.form_word()));
    }

    #[test]
    fn only_our_own_forms_change_something() {
        let local = access("127.0.0.1:7325");
        let (origin, host) = (Some("http://127.0.0.1:7325"), Some("127.0.0.1:7325"));
        assert!(local.may_change(origin, host, Some(local.form_word())));
        assert!(!local.may_change(origin, host, Some("guess")));
        assert!(!local.may_change(origin, host, None));
        for foreign in [
            None,
            Some("null"),
            Some("http://evil.example"),
            Some("https://127.0.0.1:7325"),
            Some("http://127.0.0.1:80"),
        ] {
            assert!(!local.may_change(foreign, host, Some(local.form_word())), "{foreign:?}");
        }
        assert!(!local.may_change(origin, None, Some(local.form_word())));
    }
}
