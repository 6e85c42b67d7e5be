//! The position of a run among its tests.

/// Twice the number of the test that it is before, and one more if it is ready for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position(i64);

impl Position {
    pub(crate) const DONE: Position = Position(i64::MAX);

    /// Before a test; earlier ones are over, or left out.
    pub(crate) const fn before(test: usize) -> Position {
        Position(2 * test as i64)
    }

    pub(crate) const fn ready_for(test: usize) -> Position {
        Position(2 * test as i64 + 1)
    }

    pub(crate) const fn number(self) -> i64 {
        self.0
    }

    /// Ready for the test, or past it: nobody has to wait for it there.
    pub(crate) fn has_come_to(self, test: usize) -> bool {
        self >= Position::ready_for(test)
    }
}
