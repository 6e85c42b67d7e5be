//! From events to what a trace shows.

use measurement::TraceRecord;
use trace::{Event, Header, Joiner, Summary, Traffic, Trailer};

use super::threads::Files;

/// Adds up the commits of a trace.
pub struct Analysis {
    joiner: Joiner,
    summary: Summary,
    traffic: Traffic,
    /// Flags of files that were opened before the trace; `None` if they are not known any more.
    files: Option<Files>,
}

impl Analysis {
    /// An analysis of processes that still run.
    pub fn of_running(header: &Header) -> Analysis {
        Analysis { files: Some(Files::default()), ..Analysis::of_kept(header) }
    }

    pub fn of_kept(header: &Header) -> Analysis {
        Analysis {
            joiner: Joiner::new(&header.scope),
            summary: Summary::default(),
            traffic: Traffic::new(&header.scope),
            files: None,
        }
    }

    /// Takes an event, in the order of time. Returns the thread if it completed a commit.
    pub fn event(&mut self, event: &Event) -> Option<u32> {
        self.traffic.event(event);
        if event.is_loss()
            && let Some(files) = &mut self.files
        {
            *files = Files::default();
        }
        let commit = self.joiner.event(event)?;
        let known = commit.is_durable();
        let flag = match (commit.sync_flag(), known) {
            (None, None | Some(true)) if !commit.call.is_sync() => {
                self.files.as_mut().and_then(|files| files.sync_flag(commit.thread, commit.file))
            }
            (flag, _) => flag,
        };
        if !known.unwrap_or(flag.is_some()) {
            return None;
        }
        self.summary.add(&commit, flag);
        Some(commit.thread)
    }

    pub fn record(self, header: &Header, trailer: &Trailer) -> TraceRecord {
        let device = |number| {
            let found = header.devices.iter().find(|device| device.disk_device() == number);
            found.map_or_else(|| number.to_string(), |device| device.disk_name().to_owned())
        };
        let command =
            |thread: u32| trailer.names.get(&thread).filter(|name| !name.is_empty()).cloned();
        TraceRecord {
            seconds: trailer.seconds,
            events: trailer.counted.events,
            lost: trailer.counted.lost,
            lost_uncounted: trailer.counted.lost_uncounted,
            missing: trailer.counted.missing.clone(),
            anatomies: self.summary.finish(command, device),
            traffic: self.traffic.finish(&trailer.counted.missing, device),
        }
    }
}
