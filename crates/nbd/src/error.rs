//! The errors of reaching and using an export.

use std::io;

use unseen::escaped;

/// Longest part of a server's message that is shown.
const MESSAGE_CHARACTERS_MAX: usize = 200;

/// Why an export cannot be reached, or can no longer be used.
#[derive(Debug, thiserror::Error)]
pub enum NbdError {
    #[error("no connection to the server ({})", plain(.0))]
    Connect(io::Error),
    #[error("the connection to the server failed ({})", plain(.0))]
    Io(io::Error),
    #[error("{0}")]
    Violation(#[from] Violation),
    #[error("the server has no export {}", export_label(.0))]
    UnknownExport(String),
    #[error("the server requires TLS, which is not supported")]
    TlsRequired,
    /// The server answered with another error.
    #[error("the server refuses the export {}{}", export_label(export), said(message))]
    Refused {
        export: String,
        /// The server's text, which can be empty.
        message: String,
    },
}

/// A violation of the protocol by a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    #[error("the server does not speak NBD: its greeting is invalid")]
    Greeting,
    #[error("the server uses the oldstyle negotiation of NBD, which is not supported")]
    Oldstyle,
    #[error("the server does not support fixed newstyle negotiation")]
    NotFixed,
    #[error("the server sent an invalid reply during the negotiation: {0}")]
    Negotiation(&'static str),
    #[error("the server closed the connection during the negotiation")]
    ClosedEarly,
    #[error("the server offers an export of {0} bytes, which is an invalid size")]
    Size(u64),
    #[error(
        "the server sent an invalid reply: it does not begin with the magic number of a simple \
         reply"
    )]
    ReplyMagic,
    #[error("the server sent an invalid reply: no request with its cookie is in flight")]
    ReplyCookie,
    #[error("the server closed the connection while requests were in flight")]
    Closed,
    #[error("the server has not replied to a request for {0} seconds")]
    Silent(u64),
}

/// The system's message without Rust's error number suffix.
fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it does not respond".to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_lowercase()
        }
    }
}

fn export_label(name: &str) -> String {
    if name.is_empty() { "with an empty name".to_owned() } else { format!("`{}`", escaped(name)) }
}

fn said(message: &str) -> String {
    if message.is_empty() {
        return String::new();
    }
    let message: String = message.chars().take(MESSAGE_CHARACTERS_MAX).collect();
    format!(": {}", escaped(&message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_sentences_and_show_no_invisible_character() {
        let unknown = |name: &str| NbdError::UnknownExport(name.to_owned()).to_string();
        insta::assert_snapshot!(unknown(""), @"the server has no export with an empty name");
        insta::assert_snapshot!(unknown("a\u{202e}b"), @r"the server has no export `a\u{202e}b`");
        let refused =
            |message: String| NbdError::Refused { export: "disk".to_owned(), message }.to_string();
        insta::assert_snapshot!(refused(String::new()), @"the server refuses the export `disk`");
        insta::assert_snapshot!(refused("in\nuse".to_owned()), @r"the server refuses the export `disk`: in\nuse");
        assert!(refused("x".repeat(4096)).len() < 250);
        let silent = NbdError::Connect(io::ErrorKind::WouldBlock.into());
        insta::assert_snapshot!(silent, @"no connection to the server (it does not respond)");
        insta::assert_snapshot!(NbdError::Connect(io::Error::from_raw_os_error(111)), @"no connection to the server (connection refused)");
    }
}
