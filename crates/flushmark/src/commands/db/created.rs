//! The schema that a run created on a server, and its removal.

use std::time::{Duration, Instant};

use database::{DatabaseError, Session, Workspace};

use super::connect::Server;
use crate::exit;

/// Limit of the time that a restarted server takes to accept clients again.
const RESTART_MAX: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(250);

/// Prints what killed runs left, with the statements that remove it. It is not dropped here: only
/// the user knows that no other flushmark still uses it.
pub fn name_leftovers(session: &mut Session) -> Result<(), DatabaseError> {
    for (name, statement) in database::leftovers(session)? {
        exit::complain(&format!(
            "{name} on this server was left by a run that was killed; remove it with `{statement}`"
        ));
    }
    Ok(())
}

/// Creates a schema with a name that no other run uses.
pub fn create(session: &mut Session) -> Result<Workspace, DatabaseError> {
    let now = jiff::Timestamp::now().as_nanosecond() as u64;
    // The process ID separates runs that begin in the same microsecond.
    Workspace::create(session, (now / 1000) ^ (u64::from(std::process::id()) << 24))
}

/// Drops the schema, over a new connection if the first one is gone. Prints the statement that does
/// it if that fails.
pub fn remove(workspace: &Workspace, mut session: Session, server: &Server) {
    let begun = Instant::now();
    let mut removed = workspace.drop_from(&mut session);
    // The lock of the schema belongs to the first connection.
    drop(session);
    while removed.is_err() && begun.elapsed() < RESTART_MAX {
        std::thread::sleep(PAUSE);
        removed = server.open().and_then(|mut session| workspace.drop_from(&mut session));
    }
    if let Err(error) = removed {
        exit::complain(&format!(
            "{} could not be removed: {error}; remove it with `{}`",
            workspace.name(),
            workspace.removal()
        ));
    }
}
