//! The errors that keep hosts from beginning together.

use blame::Blame;

/// A problem with the group on its server.
#[derive(Debug, thiserror::Error)]
#[error("the group `{}` {problem}", unseen::escaped(.group))]
pub struct GroupError {
    pub group: String,
    pub problem: Problem,
}

#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("cannot meet in the store: {0}")]
    Unreachable(database::ConnectError),
    #[error("cannot meet in the store: {0}")]
    Refused(String),
    #[error(
        "is of {theirs} hosts, and this one expects {ours}: give the same --hosts on all of them"
    )]
    HostsDiffer { ours: u32, theirs: u32 },
    #[error("runs another plan on the other hosts, or their flushmark has another version")]
    PlansDiffer,
    #[error(
        "already has a host `{}`: give each host its own name, or end the other run",
        unseen::escaped(.0)
    )]
    NameTaken(String),
    #[error("is complete: {0} hosts have joined it")]
    Full(u32),
    #[error("began without this host: {present} of {expected} hosts began at {at}")]
    TooLate { present: u32, expected: u32, at: String },
}

impl GroupError {
    pub const fn blame(&self) -> Blame {
        match self.problem {
            Problem::HostsDiffer { .. }
            | Problem::PlansDiffer
            | Problem::NameTaken(_)
            | Problem::Full(_) => Blame::Usage,
            Problem::Unreachable(_) | Problem::Refused(_) | Problem::TooLate { .. } => {
                Blame::System
            }
        }
    }
}
