//! Commands from their acceptance to the report that they are done.

use std::io;

use simdrive::{Ns, Op, Slab};

use super::command::Done;
use super::contents::Stamps;

/// An accepted command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InProgress {
    pub(super) tag: u64,
    pub(super) op: Op,
    /// The stamps of a write that could be lost.
    pub(super) stamps: Option<Stamps>,
    pub(super) fua: bool,
}

impl InProgress {
    pub(super) const fn new(tag: u64, op: Op) -> InProgress {
        InProgress { tag, op, stamps: None, fua: false }
    }
}

/// The commands of a host that were not reported as done yet, and the number of writes and flushes
/// that were.
#[derive(Debug)]
pub(super) struct Commands {
    in_progress: Slab<InProgress>,
    done: Vec<Done>,
    writes: u64,
    fua_writes: u64,
    flushes: u64,
}

impl Commands {
    pub(super) const fn new() -> Commands {
        Commands {
            in_progress: Slab::new(),
            done: Vec::new(),
            writes: 0,
            fua_writes: 0,
            flushes: 0,
        }
    }

    /// Accepts a command, and returns its ID. IDs are small, and used again.
    #[inline]
    pub(super) fn begin(&mut self, command: InProgress) -> u32 {
        self.in_progress.insert(command)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: u32) -> &mut InProgress {
        self.in_progress.get_mut(id)
    }

    /// Ends a command at this time.
    #[inline]
    pub(super) fn end(&mut self, id: u32, at: Ns, failed: Option<io::ErrorKind>) -> InProgress {
        let command = self.in_progress.remove(id);
        self.report(command, at, failed);
        command
    }

    /// Acknowledges a flush when it arrives.
    pub(super) fn acknowledge_flush(&mut self, tag: u64, at: Ns) {
        self.report(InProgress::new(tag, Op::Flush), at, None);
    }

    /// Acknowledges a discard when it arrives. It is not counted.
    pub(super) fn acknowledge_discard(&mut self, tag: u64, at: Ns) {
        self.done.push(Done { tag, at, failed: None });
    }

    #[inline]
    fn report(&mut self, command: InProgress, at: Ns, failed: Option<io::ErrorKind>) {
        match command.op {
            Op::Write => {
                self.writes += u64::from(failed.is_none());
                self.fua_writes += u64::from(failed.is_none() && command.fua);
            }
            Op::Flush => self.flushes += 1,
            Op::Read => {}
        }
        self.done.push(Done { tag: command.tag, at, failed });
    }

    /// Returns whether a command is done that was not reported yet.
    #[inline]
    pub(super) const fn has_news(&self) -> bool {
        !self.done.is_empty()
    }

    /// Appends the commands that were not reported yet to `done`.
    #[inline]
    pub(super) fn take_done(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.done);
    }

    /// Forgets all commands, done or not: nobody receives their replies.
    pub(super) fn abandon(&mut self) {
        self.in_progress = Slab::new();
        self.done.clear();
    }

    pub(super) fn count(&self) -> usize {
        self.in_progress.count()
    }

    pub(super) const fn writes(&self) -> u64 {
        self.writes
    }

    pub(super) const fn fua_writes(&self) -> u64 {
        self.fua_writes
    }

    pub(super) const fn flushes(&self) -> u64 {
        self.flushes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_reported_once_in_the_order_of_their_end() {
        let mut commands = Commands::new();
        let write = commands.begin(InProgress::new(10, Op::Write));
        let read = commands.begin(InProgress::new(11, Op::Read));
        commands.end(read, 5, None);
        commands.acknowledge_flush(12, 6);
        commands.end(write, 7, None);
        let mut done = Vec::new();
        assert!(commands.has_news());
        commands.take_done(&mut done);
        assert_eq!(
            done.iter().map(|done| (done.tag, done.at)).collect::<Vec<_>>(),
            [(11, 5), (12, 6), (10, 7)]
        );
        assert!(!commands.has_news() && commands.count() == 0);
    }

    #[test]
    fn only_acknowledged_writes_count_and_discards_do_not() {
        let mut commands = Commands::new();
        for failed in [None, Some(io::ErrorKind::StorageFull), None] {
            let id = commands.begin(InProgress::new(1, Op::Write));
            commands.end(id, 0, failed);
        }
        commands.acknowledge_discard(2, 0);
        commands.acknowledge_flush(3, 0);
        assert_eq!((commands.writes(), commands.flushes()), (2, 1));
    }

    #[test]
    fn what_is_abandoned_is_never_reported() {
        let mut commands = Commands::new();
        commands.begin(InProgress::new(1, Op::Write));
        commands.acknowledge_flush(2, 0);
        commands.abandon();
        assert!(!commands.has_news() && commands.count() == 0);
        // The flush had been acknowledged, so it counts all the same.
        assert_eq!(commands.flushes(), 1);
    }
}
