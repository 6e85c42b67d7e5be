//! Commits of a trace that has no system calls, such as `blkparse`'s.
//!
//! A thread that commits again and again waits for its requests, so a commit of it begins when it
//! submits a request while none of its own is open, and ends with the last one. A flush without
//! data belongs to the writes before it.

use std::collections::HashMap;

use crate::event::{Event, Operation, Syscall, What};
use crate::requests::Requests;

/// The events with a call around the requests of each commit; unchanged if there are calls already.
pub fn with_calls(events: Vec<Event>) -> Vec<Event> {
    if events.iter().any(|event| matches!(event.what, What::Enter { .. })) {
        return events;
    }
    let mut requests = Requests::new([]);
    events.iter().for_each(|event| requests.event(event));
    // The requests of each thread: when they began and ended, and whether they are bare flushes.
    let mut threads: HashMap<u32, Vec<(u64, u64, bool)>> = HashMap::new();
    for request in requests.since(0) {
        let Some(done) = request.done else { continue };
        if matches!(request.flags.operation, Operation::Write | Operation::Flush) {
            let of_thread = threads.entry(request.thread).or_default();
            of_thread.push((request.queued, done, request.is_bare_flush()));
        }
    }
    let mut edges: Vec<Event> = Vec::new();
    for (thread, requests) in threads {
        let mut calls: Vec<(u64, u64)> = Vec::new();
        let mut flushed = true;
        for (queued, done, is_flush) in requests {
            match calls.last_mut() {
                Some(last) if queued <= last.1 || (is_flush && !flushed) => {
                    last.1 = last.1.max(done);
                }
                _ => calls.push((queued, done)),
            }
            flushed = is_flush;
        }
        for (from, to) in calls {
            let enter = What::Enter { call: Syscall::Inferred, file: -1, flags: 0 };
            edges.push(Event { at: from, thread, what: enter });
            edges.push(Event { at: to, thread, what: What::Return { result: 0 } });
        }
    }
    // A call begins before the events at its first moment, and ends after those at its last.
    let rank = |event: &Event| match event.what {
        What::Enter { .. } => 0,
        What::Return { .. } => 2,
        _ => 1,
    };
    let mut all = [edges, events].concat();
    all.sort_by_key(|event| (event.at, rank(event)));
    all
}
