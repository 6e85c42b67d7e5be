//! The processes that commit, by name.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use measurement::watch::ProcessReading;
use trace::{SyncCounts, Syncs, TraceError};

use crate::exit::complain;

/// The count of a process that ended is kept this long, for Prometheus to read it.
const KEPT_AFTER_END: Duration = Duration::from_mins(1);

/// The kernel counts by thread; here are the processes.
pub struct Processes {
    counts: SyncCounts,
    syncs: Syncs,
    /// The process of each thread.
    threads: HashMap<u32, u32>,
    by_pid: BTreeMap<u32, Process>,
}

struct Process {
    command: String,
    syncs: u64,
    last_sync: Instant,
}

impl Processes {
    /// `None`, with a message, where the kernel's tracer may not be used.
    pub fn begin() -> Option<Processes> {
        let counts = SyncCounts::start().map_err(|error| complain(&not_shown(&error))).ok()?;
        Some(Processes {
            counts,
            syncs: Syncs::default(),
            threads: HashMap::new(),
            by_pid: BTreeMap::new(),
        })
    }

    /// Reads what the kernel has no room for until the end of the interval.
    pub fn relieve(&mut self) -> Result<(), TraceError> {
        if self.counts.records_events() { self.take() } else { Ok(()) }
    }

    /// The syncs of all processes so far, and whether the kernel missed some since the last
    /// reading.
    pub fn read(&mut self) -> Result<(Vec<ProcessReading>, bool), TraceError> {
        self.take()?;
        self.forget_ended();
        let readings = self.by_pid.iter().map(|(&pid, process)| ProcessReading {
            command: process.command.clone(),
            pid,
            syncs: process.syncs,
        });
        Ok((readings.collect(), std::mem::take(&mut self.syncs.incomplete)))
    }

    /// Returns whether any process that has synced still runs.
    pub fn sync(&self) -> bool {
        !self.threads.is_empty()
    }

    fn take(&mut self) -> Result<(), TraceError> {
        let Processes { counts, syncs, threads, by_pid } = self;
        counts.add_to(syncs)?;
        for (thread, count) in syncs.threads.drain() {
            let pid = *threads.entry(thread).or_insert_with(|| process_of(thread));
            let process = by_pid.entry(pid).or_insert_with(|| Process {
                command: command_of(pid)
                    .or_else(|| counts.command(thread))
                    .unwrap_or_else(|| "unknown".to_owned()),
                syncs: 0,
                last_sync: Instant::now(),
            });
            process.syncs += count;
            process.last_sync = Instant::now();
        }
        Ok(())
    }

    fn forget_ended(&mut self) {
        let runs = |pid: u32| Path::new(&format!("/proc/{pid}")).exists();
        self.by_pid
            .retain(|&pid, process| process.last_sync.elapsed() < KEPT_AFTER_END || runs(pid));
        let by_pid = &self.by_pid;
        // The number of a thread that ended may soon be that of another.
        self.threads.retain(|&thread, pid| by_pid.contains_key(pid) && runs(thread));
    }
}

/// The reason why processes are not shown.
pub fn not_shown(error: &TraceError) -> String {
    match error {
        TraceError::NotRoot => {
            "the processes that commit are not shown, because that needs root".to_owned()
        }
        error => format!("the processes that commit are not shown: {error}"),
    }
}

/// The process of a thread; the thread itself, if it has ended.
fn process_of(thread: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let process = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    process.and_then(|process| process.trim().parse().ok()).unwrap_or(thread)
}

fn command_of(pid: u32) -> Option<String> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end_matches('\n').to_owned())
}
