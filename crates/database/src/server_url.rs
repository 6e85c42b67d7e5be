//! The URL of a server, which contains no password.

use std::fmt;
use std::str::FromStr;

use crate::mysql;
use crate::postgres;

/// The protocol that a URL names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    Postgres,
    /// MariaDB or MySQL.
    Mysql,
}

impl Product {
    /// The places where the user can give a password, in the words of an error.
    pub const fn password_places(self) -> &'static str {
        match self {
            Product::Postgres => {
                "PGPASSWORD, in ~/.pgpass or the file that PGPASSFILE names, or type it when asked"
            }
            Product::Mysql => "~/.my.cnf, in MYSQL_PWD, or type it when asked",
        }
    }
}

/// A server and a database on it.
///
/// ```
/// let url: database::ServerUrl = "postgres://bench@db1/shop".parse()?;
/// assert_eq!(url.to_string(), "postgres://bench@db1/shop");
/// assert!("postgres://bench:secret@db1/shop".parse::<database::ServerUrl>().is_err());
/// # Ok::<(), database::InvalidUrl>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    product: Product,
    text: String,
}

/// The text is not quoted: it may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    #[error(
        "unknown kind of database; expected a URL postgres://USER@HOST/DATABASE or \
         mysql://USER@HOST/DATABASE"
    )]
    Scheme,
    #[error(
        "the URL contains a password, which other users of this machine can see: leave it out, \
         and give it in {}",
        .0.password_places()
    )]
    Password(Product),
    #[error("invalid URL: {why}; expected {}", expected(*.product))]
    Invalid { why: String, product: Product },
}

const fn expected(product: Product) -> &'static str {
    match product {
        Product::Postgres => {
            "postgres://USER@HOST:PORT/DATABASE or postgres://USER@%2FDIRECTORY/DATABASE"
        }
        Product::Mysql => "mysql://USER@HOST:PORT/DATABASE or mysql://USER@%2FSOCKET/DATABASE",
    }
}

impl FromStr for ServerUrl {
    type Err = InvalidUrl;

    fn from_str(text: &str) -> Result<ServerUrl, InvalidUrl> {
        let (scheme, rest) = text.split_once("://").ok_or(InvalidUrl::Scheme)?;
        let product = match scheme {
            "postgres" | "postgresql" => Product::Postgres,
            "mysql" | "mariadb" => Product::Mysql,
            _ => return Err(InvalidUrl::Scheme),
        };
        if has_password(rest) {
            return Err(InvalidUrl::Password(product));
        }
        let read = match product {
            Product::Postgres => postgres::Address::read(text).map(drop),
            Product::Mysql => mysql::Address::read(rest).map(drop),
        };
        read.map_err(|error| match error {
            crate::ConnectError::Url(why) => InvalidUrl::Invalid { why, product },
            other => InvalidUrl::Invalid { why: other.to_string(), product },
        })?;
        Ok(ServerUrl { product, text: text.to_owned() })
    }
}

/// A password may itself contain `/`, `?` or `@`, so everything up to the last `@` counts.
fn has_password(rest: &str) -> bool {
    let in_query = rest.split_once('?').is_some_and(|(_, query)| {
        let key = |pair: &str| pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
        query.split('&').any(|pair| key(pair).starts_with("pass") && key(pair) != "passfile")
    });
    let person = rest.rsplit_once('@').map(|(person, _)| person);
    in_query || person.is_some_and(|person| person.contains(':'))
}

impl ServerUrl {
    pub const fn product(&self) -> Product {
        self.product
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The part after `://`; the whole text if it has no scheme.
    pub(crate) fn rest(&self) -> &str {
        self.text.split_once("://").map_or(&self.text, |(_, rest)| rest)
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refusal(text: &str) -> String {
        text.parse::<ServerUrl>().unwrap_err().to_string()
    }

    #[test]
    fn invalid_urls() {
        insta::assert_snapshot!(refusal("db1"), @"unknown kind of database; expected a URL postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE");
        insta::assert_snapshot!(refusal("oracle://u:p@h/d"), @"unknown kind of database; expected a URL postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE");
        insta::assert_snapshot!(refusal("postgres://u:secret@h/d"), @"the URL contains a password, which other users of this machine can see: leave it out, and give it in PGPASSWORD, in ~/.pgpass or the file that PGPASSFILE names, or type it when asked");
        insta::assert_snapshot!(refusal("mariadb://u:s/e@cr?et@h/d"), @"the URL contains a password, which other users of this machine can see: leave it out, and give it in ~/.my.cnf, in MYSQL_PWD, or type it when asked");
        insta::assert_snapshot!(refusal("postgres://h/d?sslmode=full"), @"invalid URL: unknown sslmode `full`, expected disable, prefer, require, verify-ca or verify-full; expected postgres://USER@HOST:PORT/DATABASE or postgres://USER@%2FDIRECTORY/DATABASE");
        insta::assert_snapshot!(refusal("mysql://h:x/d"), @"invalid URL: port `x`, expected 1 to 65535; expected mysql://USER@HOST:PORT/DATABASE or mysql://USER@%2FSOCKET/DATABASE");
        for with in ["postgres://h/d?password=secret", "mysql://h/d?passwd=secret"] {
            assert!(refusal(with).starts_with("the URL contains a password"), "{with}");
        }
        assert!("postgres://h/d?passfile=p".parse::<ServerUrl>().is_ok());
    }

    proptest! {
        #[test]
        fn a_password_is_refused_and_not_repeated(password in "[^@]{0,6}[qz]{6}\\PC{0,6}") {
            for scheme in ["postgres", "mysql"] {
                let error = refusal(&format!("{scheme}://u:{password}@h/d"));
                prop_assert!(error.starts_with("the URL contains a password"));
                prop_assert!(!error.contains(&password));
            }
        }
    }
}
