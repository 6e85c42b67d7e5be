//! From events to the document of a trace.

use drive::BlockDevice;
use measurement::{TraceDocument, trace_document};
use trace::{Commit, Event, Header, Joiner, Summary, SyncFlag, Trailer};

/// Adds up the commits of a trace.
pub struct Analysis<F> {
    joiner: Joiner,
    summary: Summary,
    /// Finds the flag of a file that was opened before the trace.
    flag_of_file: F,
}

impl<F: FnMut(&Commit) -> Option<SyncFlag>> Analysis<F> {
    pub fn new(header: &Header, flag_of_file: F) -> Analysis<F> {
        let joiner = Joiner::new(&header.scope);
        Analysis { joiner, summary: Summary::default(), flag_of_file }
    }

    /// Takes an event, in the order of time. Returns the thread if it completed a commit.
    pub fn event(&mut self, event: &Event) -> Option<u32> {
        let commit = self.joiner.event(event)?;
        let known = commit.is_durable();
        let flag = match (commit.sync_flag(), known) {
            (None, None | Some(true)) if !commit.call.is_sync() => (self.flag_of_file)(&commit),
            (flag, _) => flag,
        };
        if !known.unwrap_or(flag.is_some()) {
            return None;
        }
        self.summary.add(&commit, flag);
        Some(commit.thread)
    }

    pub fn document(self, header: &Header, trailer: &Trailer) -> TraceDocument {
        let device = |number| {
            let found = header.devices.iter().find(|device| device.disk_device() == number);
            found.map_or_else(|| number.to_string(), |device| device.disk_name().to_owned())
        };
        let command =
            |thread: u32| trailer.names.get(&thread).filter(|name| !name.is_empty()).cloned();
        let anatomies = self.summary.finish(command, device);
        let devices: Vec<&BlockDevice> = header.devices.iter().collect();
        TraceDocument {
            schema: trace_document::SCHEMA.to_owned(),
            flushmark: env!("CARGO_PKG_VERSION").to_owned(),
            subject: header.subject.clone(),
            kernel: header.kernel.clone(),
            seconds: trailer.seconds,
            events: trailer.counted.events,
            lost: trailer.counted.lost,
            lost_uncounted: trailer.counted.lost_uncounted,
            missing: trailer.counted.missing.clone(),
            findings: judge::trace(&anatomies, &devices),
            anatomies,
        }
    }
}
