//! Maps errors of statements to problems of the store.

use std::error::Error as _;
use std::time::Duration;

use database::said;
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
