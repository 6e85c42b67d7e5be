//! Maps errors of the client and the server to problems of the store.

use std::error::Error as _;
use std::time::Duration;

use postgres::error::SqlState;

use crate::error::Problem;

/// Why a statement failed; `wait` is how long it waited for locks.
pub(super) fn of_statement(error: &postgres::Error, wait: Duration) -> Problem {
    if error.is_closed()
        || error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
    {
        return Problem::Gone(said(error));
    }
    match error.code() {
        Some(&SqlState::LOCK_NOT_AVAILABLE) => Problem::Locked(wait),
        Some(&SqlState::DISK_FULL) => Problem::Full,
        Some(
            &SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW,
        ) => Problem::Gone(said(error)),
        Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => {
            Problem::Damaged(said(error))
        }
        _ => Problem::Refused(said(error)),
    }
}

/// The client does not expose the kinds of its errors, only their text.
pub(super) fn is_of_encryption(error: &postgres::Error) -> bool {
    error.to_string().starts_with("error performing TLS handshake")
}

/// Why there is no connection.
pub(super) fn of_connection(error: &postgres::Error) -> Problem {
    match error.code() {
        Some(
            &SqlState::INVALID_PASSWORD
            | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION
            | &SqlState::INSUFFICIENT_PRIVILEGE,
        ) => Problem::NotAdmitted(said(error)),
        Some(&SqlState::INVALID_CATALOG_NAME) => Problem::NoDatabase(said(error)),
        None if is_of_encryption(error) => Problem::Tls(said(error)),
        // The client detects this before it contacts the server.
        None if error.source().is_some_and(|cause| cause.to_string().contains("password")) => {
            Problem::NotAdmitted(said(error))
        }
        _ => Problem::Unreachable(said(error)),
    }
}

/// The message of the server or the system, without the client's text around it.
pub(super) fn said(error: &postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(refusal), _) => refusal.message().to_owned(),
        (None, Some(cause)) => cause.to_string(),
        (None, None) => error.to_string(),
    }
}
