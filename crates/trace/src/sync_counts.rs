//! The threads that commit, and how often: counts of system calls, cheap enough to run all the
//! time.
//!
//! The kernel counts by itself where it has histograms (CONFIG_HIST_TRIGGERS, which distributions'
//! kernels have): a call costs some hundred nanoseconds more, and a reading costs one small file
//! for each kind of call. Other kernels record an event for each call, and the events are counted
//! here.

use std::collections::HashMap;

use crate::decode::Tracepoint;
use crate::event::Syscall;
use crate::histogram::Histogram;
use crate::page::{Lost, Page};
use crate::tracefs::{Instance, TraceError, Tracefs};

/// Records of 32 bytes that one CPU makes in a quarter of a second at 30,000 syncs per second.
const KIB_PER_CPU: u32 = 256;
/// The needs of an instance that records no events.
const KIB_WITHOUT_EVENTS: u32 = 4;
/// Threads in one of the kernel's histograms; those of threads that ended stay in it.
const THREADS_MAX: usize = 2048;

/// A running count of syncs. Dropping it leaves nothing behind.
#[derive(Debug)]
pub struct SyncCounts {
    method: Method,
    // Dropped last: the instance is in it.
    tracefs: Tracefs,
}

#[derive(Debug)]
enum Method {
    /// The kernel counts.
    Histograms(Instance, Vec<Counting>),
    /// Events are counted here.
    Events(Instance),
}

/// A histogram in the kernel, and what it said last.
#[derive(Debug)]
struct Counting {
    tracepoint: Tracepoint,
    last: Histogram,
}

/// The syncs since the reading before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Syncs {
    /// By thread.
    pub threads: HashMap<u32, u64>,
    /// True if there were more, of which the kernel kept no count.
    pub incomplete: bool,
}

impl SyncCounts {
    /// Starts to count the syncs of all threads.
    pub fn start() -> Result<SyncCounts, TraceError> {
        let tracefs = Tracefs::open()?;
        tracefs.remove_abandoned();
        let calls = || Syscall::ALL.into_iter().filter(|call| call.is_sync());
        let counting: Vec<Counting> = calls()
            .map(|call| Counting {
                tracepoint: Tracepoint::Enter(call),
                last: Histogram::default(),
            })
            .collect();
        let instance = tracefs.instance("syncs", KIB_WITHOUT_EVENTS)?;
        let method = if instance.has_histograms(Tracepoint::Enter(Syscall::Fsync)) {
            for one in &counting {
                instance.count(one.tracepoint, THREADS_MAX)?;
            }
            instance.switch_on()?;
            Method::Histograms(instance, counting)
        } else {
            drop(instance);
            let mut instance = tracefs.instance("syncs", KIB_PER_CPU)?;
            for one in &counting {
                instance.enable(one.tracepoint, one.tracepoint.condition())?;
            }
            instance.open_readers()?;
            instance.switch_on()?;
            Method::Events(instance)
        };
        Ok(SyncCounts { method, tracefs })
    }

    /// True if the kernel records events, which have to be read several times a second: it keeps
    /// only so many.
    pub fn records_events(&self) -> bool {
        matches!(self.method, Method::Events(_))
    }

    /// The name that a thread had when it synced; for those that have ended since.
    pub fn command(&self, thread: u32) -> Option<String> {
        match &self.method {
            Method::Histograms(_, counting) => counting
                .iter()
                .find_map(|one| one.last.threads.get(&thread))
                .map(|entry| entry.command.clone()),
            Method::Events(_) => self.tracefs.command(thread),
        }
    }

    /// Adds the syncs since the reading before.
    pub fn add_to(&mut self, syncs: &mut Syncs) -> Result<(), TraceError> {
        match &mut self.method {
            Method::Histograms(instance, counting) => {
                counting.iter_mut().try_for_each(|one| one.add_to(instance, syncs))
            }
            Method::Events(instance) => instance.read(|decoders, bytes| {
                let page = Page::new(bytes)?;
                syncs.incomplete |= page.lost != Lost::None;
                for record in page {
                    let (at, record) = record?;
                    if let Some(event) = decoders.decode(at, record) {
                        *syncs.threads.entry(event.thread).or_default() += 1;
                    }
                }
                Ok(())
            }),
        }
    }
}

impl Counting {
    fn add_to(&mut self, instance: &Instance, syncs: &mut Syncs) -> Result<(), TraceError> {
        let Some(text) = instance.counted(self.tracepoint)? else { return Ok(()) };
        let now = Histogram::parse(&text);
        for (thread, count) in now.since(&self.last) {
            *syncs.threads.entry(thread).or_default() += count;
        }
        syncs.incomplete |= now.dropped > self.last.dropped;
        if now.threads.len() > THREADS_MAX / 2 {
            // Threads that ended would fill it. The syncs of a few microseconds are not counted.
            instance.count(self.tracepoint, THREADS_MAX)?;
            self.last = Histogram::default();
        } else {
            self.last = now;
        }
        Ok(())
    }
}
