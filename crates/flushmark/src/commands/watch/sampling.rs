//! Traces a sample of the commits, which keeps watching cheap.

use std::collections::HashMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use drive::{DeviceNumber, SystemRoot};
use measurement::watch::{CommitsReading, SampledCommits};
use trace::{Detail, Event, Joiner, Live, TraceError};

use crate::tracing::scope;

/// Events after which the tracer pauses until the next interval: some 80 commits.
const EVENTS_PER_INTERVAL: usize = 1_000;
/// The first look at what was recorded. Each next one follows after twice the time, so a busy
/// machine records little more than is wanted.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LONGEST_LOOK: Duration = Duration::from_millis(250);

/// Traces commits at the beginning of each interval.
pub struct Sampler {
    live: Live,
    joiner: Joiner,
    burst: Option<Burst>,
    commits: HashMap<DeviceNumber, CommitsReading>,
}

/// A time in which events are recorded.
struct Burst {
    look: Instant,
    pause: Duration,
    events: usize,
}

impl Sampler {
    /// For all drives of this machine: a commit may write to any of them.
    pub fn begin(root: &SystemRoot) -> anyhow::Result<Sampler> {
        let header = scope::of_all(root, String::new())?;
        let mut live = Live::start(&header.scope, Detail::Syncs)?;
        live.pause()?;
        Ok(Sampler {
            live,
            joiner: Joiner::new(&header.scope),
            burst: None,
            commits: HashMap::new(),
        })
    }

    /// Begins to trace.
    pub fn record(&mut self) -> Result<(), TraceError> {
        self.live.resume()?;
        let look = Instant::now() + FIRST_LOOK;
        self.burst = Some(Burst { look, pause: FIRST_LOOK, events: 0 });
        Ok(())
    }

    /// The moment at which [`look`](Sampler::look) is due.
    pub fn next_look(&self) -> Option<Instant> {
        self.burst.as_ref().map(|burst| burst.look)
    }

    /// Takes what was recorded, if that is due; pauses if it is enough.
    pub fn look(&mut self) -> Result<(), TraceError> {
        let Sampler { live, joiner, commits, burst: Some(burst), .. } = self else { return Ok(()) };
        if Instant::now() < burst.look {
            return Ok(());
        }
        for event in live.read()? {
            burst.events += 1;
            take(joiner, commits, &event);
        }
        if burst.events >= EVENTS_PER_INTERVAL {
            return self.pause();
        }
        burst.pause = (burst.pause * 2).min(LONGEST_LOOK);
        burst.look = Instant::now() + burst.pause;
        Ok(())
    }

    fn pause(&mut self) -> Result<(), TraceError> {
        self.burst = None;
        for event in self.live.pause()? {
            take(&mut self.joiner, &mut self.commits, &event);
        }
        Ok(())
    }

    /// The commits of each device since the reading before, and since the beginning. Nothing is
    /// recorded until [`record`](Sampler::record).
    pub fn read(&mut self) -> Result<HashMap<DeviceNumber, CommitsReading>, TraceError> {
        if self.burst.is_some() {
            self.pause()?;
        }
        let reading = self.commits.clone();
        for commits in self.commits.values_mut() {
            commits.last = SampledCommits::default();
        }
        Ok(reading)
    }
}

fn take(joiner: &mut Joiner, commits: &mut HashMap<DeviceNumber, CommitsReading>, event: &Event) {
    let Some(commit) = joiner.event(event) else { return };
    let stages_ns = commit.stages_ns();
    for device in commit.devices() {
        let CommitsReading { all, last } = commits.entry(device).or_default();
        all.add(&stages_ns);
        last.add(&stages_ns);
    }
}

/// The reason why latencies of commits are not shown.
pub fn not_shown(error: &impl Display) -> String {
    format!("the latencies of commits are not shown: {error}")
}
