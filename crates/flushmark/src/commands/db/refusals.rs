//! Servers that a measurement would disturb, or that would disturb it.

use std::path::Path;

use database::{DatabaseError, Facts, Load, Problem, Session};
use drive::{Place, SystemRoot};
use workload::number::about_bytes;

/// # Errors
/// If the server accepts no writes.
pub fn expect_writable(facts: &Facts, session: &Session) -> Result<(), DatabaseError> {
    match facts.read_only {
        Some(why) => Err(session.error(Problem::ReadOnly(why.to_owned()))),
        None => Ok(()),
    }
}

/// # Errors
/// If other clients load the server.
pub fn expect_idle(session: &mut Session) -> Result<(), DatabaseError> {
    let load = Load::watch(session)?;
    match load.objection(session.url().product()) {
        Some(problem) => Err(session.error(problem)),
        None => Ok(()),
    }
}

/// The problem with the free space of a directory, if there is one; `instead` is advice that makes
/// the run write less.
pub fn too_small(directory: &Path, needed: u64, instead: &'static str) -> Option<Problem> {
    let free = Place::of(&SystemRoot::default(), directory).ok()?.space?.available_bytes;
    (free < needed).then(|| Problem::WouldFill {
        directory: directory.display().to_string(),
        free: about_bytes(free),
        needed: about_bytes(needed),
        instead,
    })
}
