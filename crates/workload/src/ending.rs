//! The tests that end with the first job of another one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The tests that end once a job of one test has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// None, not even the test's other jobs.
    #[default]
    Nothing,
    /// Those of the same group that run at the same time, with the test's other jobs.
    Group,
    /// All that run at the same time.
    Concurrent,
    /// All, including those that have not started.
    Run,
}

impl Ends {
    /// Returns `true` if a test of this group ends one of the group `other` that runs at the same
    /// time.
    pub const fn reaches(self, group: u32, other: u32) -> bool {
        match self {
            Ends::Nothing => false,
            Ends::Group => group == other,
            Ends::Concurrent | Ends::Run => true,
        }
    }

    /// Returns `true` if a test of this group prevents one of the group `later` that has not started.
    pub const fn prevents(self, group: u32, later: u32) -> bool {
        match self {
            Ends::Nothing | Ends::Concurrent => false,
            Ends::Group => group == later,
            Ends::Run => true,
        }
    }

    /// Returns `true` for [`Ends::Nothing`].
    pub const fn is_nothing(&self) -> bool {
        matches!(self, Ends::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_group_spares_those_outside_of_it() {
        let reached = |ends: Ends| [ends.reaches(1, 1), ends.reaches(1, 2)];
        assert_eq!(reached(Ends::Nothing), [false, false]);
        assert_eq!(reached(Ends::Group), [true, false]);
        assert_eq!([reached(Ends::Concurrent), reached(Ends::Run)], [[true, true]; 2]);
        let prevented = |ends: Ends| [ends.prevents(1, 1), ends.prevents(1, 2)];
        assert_eq!([prevented(Ends::Nothing), prevented(Ends::Concurrent)], [[false, false]; 2]);
        assert_eq!((prevented(Ends::Group), prevented(Ends::Run)), ([true, false], [true, true]));
        assert!(Ends::default().is_nothing() && !Ends::Group.is_nothing());
    }
}
