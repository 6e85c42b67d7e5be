//! Requests of other threads while a commit was under way.

use std::collections::BTreeSet;

use drive::DeviceNumber;
use foldhash::{HashMap, HashMapExt as _};

use crate::commits::{OffCpu, Own};
use crate::event::{Command, Operation};
use crate::requests::{Phase, Request};

/// True if it is one of these, which are in the order of submission. Those of `sync` can be very
/// many.
fn is_among(own: &[Own], request: &Request) -> bool {
    let first = own.partition_point(|own| own.request.queued < request.queued);
    let same_time = own[first..].iter().take_while(|own| own.request.queued == request.queued);
    same_time.into_iter().any(|own| own.request.extent == request.extent)
}

/// The times in which others' requests, not reads, were under way that ended while a thread was off
/// its CPU.
pub(crate) fn other_writes(
    off_cpu: &[OffCpu],
    drives: &BTreeSet<DeviceNumber>,
    all: &[&Request],
    own: &[Own],
) -> Vec<(u64, u64)> {
    let mut times: Vec<(u64, u64)> = Vec::new();
    for request in all {
        let Some(done) = request.done else { continue };
        let off = off_cpu.get(off_cpu.partition_point(|off| off.waking < done));
        let Some(off) = off.filter(|off| off.from < done) else { continue };
        if request.flags.operation == Operation::Read
            || !drives.contains(&request.extent.device)
            || is_among(own, request)
        {
            continue;
        }
        times.push((request.queued.max(off.from), done));
    }
    times.sort_unstable();
    times.dedup_by(|next, before| {
        let overlaps = next.0 <= before.1;
        if overlaps {
            before.1 = before.1.max(next.1);
        }
        overlaps
    });
    times
}

/// Others with requests at a commit's drives while its own were there.
pub(crate) fn company(thread: u32, all: &[&Request], own: &[Own]) -> Vec<(u32, Command)> {
    let at_drive = |request: &Request| {
        let mut spans = request
            .spans
            .iter()
            .filter(|span| matches!(span.phase, Phase::Device | Phase::Flush(_)));
        let first = spans.next()?;
        let last = spans.next_back().unwrap_or(first);
        Some((first.from, last.to))
    };
    let mut windows: HashMap<DeviceNumber, (u64, u64)> = HashMap::new();
    for own in own {
        if let Some((from, to)) = at_drive(&own.request) {
            let window = windows.entry(own.request.extent.device).or_insert((from, to));
            *window = (window.0.min(from), window.1.max(to));
        }
    }
    let mut others = Vec::new();
    for request in all {
        let Some(&(from, to)) = windows.get(&request.extent.device) else { continue };
        let begins = request.spans.iter().find(|span| span.phase == Phase::Device);
        let begins = begins.map_or(request.queued, |span| span.from);
        let is_there = begins < to && request.done.is_none_or(|done| done > from);
        if is_there && request.thread != thread && !is_among(own, request) {
            others.push((request.thread, request.command));
        }
    }
    others
}
