//! The subset of fio job files that flushmark reads.
