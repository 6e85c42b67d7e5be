//! A trace that is added up while it runs.

use std::path::Path;
use std::time::{Duration, Instant};

use measurement::TraceRecord;
use trace::{Detail, Event, Header, Live, Trailer};

use super::analysis::Analysis;
use super::keeping::Keeping;
use super::threads::Names;

/// A trace that runs.
pub struct Recording<'a> {
    header: &'a Header,
    live: Live,
    began: Instant,
    taken: Taken,
}

/// The events so far: analysed, with their names, and kept in a file if requested.
struct Taken {
    analysis: Analysis,
    names: Names,
    keeping: Option<Keeping>,
}

impl<'a> Recording<'a> {
    /// Starts the tracer, which records no calls before a thread is followed. Events are also kept
    /// in `file`.
    pub fn start(header: &'a Header, file: Option<&Path>) -> anyhow::Result<Recording<'a>> {
        let live = Live::start(&header.scope, Detail::Commits)?;
        let taken = Taken {
            analysis: Analysis::of_running(header),
            names: Names::default(),
            keeping: file.map(|path| Keeping::begin(path, header)).transpose()?,
        };
        Ok(Recording { header, live, began: Instant::now(), taken })
    }

    /// Follows these threads too, and all that they will create.
    pub fn follow(&mut self, threads: &[u32]) -> anyhow::Result<()> {
        Ok(self.live.follow(threads)?)
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Takes what the kernel has recorded; to be called every
    /// [`READ_INTERVAL`](trace::READ_INTERVAL) or so.
    pub fn read(&mut self) -> anyhow::Result<()> {
        self.live.read()?.try_for_each(|event| self.taken.event(&event))
    }

    /// Stops the tracer, and completes the file.
    pub fn finish(self) -> anyhow::Result<TraceRecord> {
        let Recording { header, live, began, mut taken, .. } = self;
        let (left, counted) = live.finish()?;
        left.iter().try_for_each(|event| taken.event(event))?;
        let seconds = began.elapsed().as_secs_f64();
        let trailer = Trailer { seconds, counted, names: taken.names.0 };
        let record = taken.analysis.record(header, &trailer);
        if let Some(keeping) = taken.keeping {
            keeping.finish(&trailer)?;
        }
        Ok(record)
    }
}

impl Taken {
    fn event(&mut self, event: &Event) -> anyhow::Result<()> {
        if let Some(keeping) = &mut self.keeping {
            keeping.event(event)?;
        }
        if let Some(thread) = self.analysis.event(event) {
            self.names.see(thread);
        }
        Ok(())
    }
}
