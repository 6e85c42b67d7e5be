//! Future events, ordered by time; simultaneous ones in insertion order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::Ns;

/// Future events of one kind.
#[derive(Debug, Clone)]
pub struct Agenda<E> {
    /// The next event, stored separately: in a purely sequential simulation the heap is never used.
    next: Option<Entry<E>>,
    /// All later events.
    later: BinaryHeap<Reverse<Entry<E>>>,
    entered: u64,
}

#[derive(Debug, Clone)]
struct Entry<E> {
    at: Ns,
    order: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl<E> Default for Agenda<E> {
    fn default() -> Agenda<E> {
        Agenda::new()
    }
}

impl<E> Agenda<E> {
    pub const fn new() -> Agenda<E> {
        Agenda { next: None, later: BinaryHeap::new(), entered: 0 }
    }

    #[inline]
    pub fn enter(&mut self, at: Ns, event: E) {
        let entry = Entry { at, order: self.entered, event };
        self.entered += 1;
        match &mut self.next {
            None => self.next = Some(entry),
            Some(next) if at < next.at => self.later.push(Reverse(std::mem::replace(next, entry))),
            Some(_) => self.later.push(Reverse(entry)),
        }
    }

    #[inline]
    pub fn next_at(&self) -> Option<Ns> {
        self.next.as_ref().map(|entry| entry.at)
    }

    /// Removes the next event, if it is due at `now`.
    #[inline]
    pub fn take(&mut self, now: Ns) -> Option<(Ns, E)> {
        let entry = self.next.take_if(|entry| entry.at <= now)?;
        if let Some(Reverse(later)) = self.later.pop() {
            self.next = Some(later);
        }
        Some((entry.at, entry.event))
    }

    /// Removes all events, as after a power cut.
    pub fn clear(&mut self) {
        self.next = None;
        self.later.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_at_once_happens_in_the_order_of_entry() {
        let mut agenda = Agenda::new();
        for (at, name) in [(5, 'a'), (3, 'b'), (5, 'c'), (3, 'd')] {
            agenda.enter(at, name);
        }
        assert_eq!(agenda.next_at(), Some(3));
        assert_eq!(agenda.take(2), None);
        let order: String = std::iter::from_fn(|| agenda.take(9)).map(|(_, name)| name).collect();
        assert_eq!(order, "bdac");
    }

    #[test]
    fn events_come_by_their_time_and_not_before_it() {
        let mut agenda = Agenda::default();
        // In random order, and added while others are removed.
        let at = |number: u64| number * 7919 % 101;
        for number in 0..100 {
            agenda.enter(at(number), number);
        }
        let mut taken = Vec::new();
        for now in 0..101 {
            while let Some((when, number)) = agenda.take(now) {
                assert_eq!((when, at(number % 100)), (now, now % 101));
                taken.push(number);
                if number < 100 {
                    agenda.enter(now, number + 100);
                }
            }
            assert!(agenda.next_at().is_none_or(|next| next > now));
        }
        taken.sort_unstable();
        assert!(taken.iter().copied().eq(0..200));
        agenda.enter(5, 0);
        agenda.enter(6, 1);
        agenda.clear();
        assert_eq!((agenda.next_at(), agenda.take(9)), (None, None));
    }
}
