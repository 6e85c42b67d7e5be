//! What a person sees on stderr while tests run: a bar on a terminal, plain lines elsewhere, nothing with `--quiet`.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use measurement::{Skipped, TestResult};
use report::Look;
use workload::Plan;

/// The display of one run.
pub struct Progress {
    look: Look,
    display: Display,
    test: Running,
}

enum Display {
    Quiet,
    Bar(ProgressBar),
    Lines,
}

/// The test that is running.
struct Running {
    name: String,
    position: String,
    expected: Option<Duration>,
    later: Duration,
    begun: Instant,
}

impl Progress {
    /// Nothing yet. `quiet` keeps it so.
    pub fn new(quiet: bool, look: &Look) -> Progress {
        let display = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Display::Quiet,
            (false, true) => Display::Bar(bar()),
            (false, false) => Display::Lines,
        };
        let test = Running {
            name: String::new(),
            position: String::new(),
            expected: None,
            later: Duration::ZERO,
            begun: Instant::now(),
        };
        Progress { look: *look, display, test }
    }

    /// The next test begins.
    pub fn begin(&mut self, plan: &Plan, index: usize) {
        let time = |test: &workload::Test| test.work.limit().time().map(|time| time + test.work.warm_up().0);
        self.test = Running {
            name: plan.tests[index].name.clone(),
            position: format!("[{}/{}]", index + 1, plan.tests.len()),
            expected: time(&plan.tests[index]),
            later: plan.tests[index + 1..].iter().filter_map(time).sum(),
            begun: Instant::now(),
        };
        if let Display::Bar(bar) = &self.display {
            bar.set_length(1000);
            bar.set_position(0);
            bar.set_prefix(format!("{} {}", self.test.position, self.test.name));
            bar.set_message("preparing");
        }
    }

    /// The running test's live figures.
    pub fn live(&mut self, live: &engine::Progress) {
        let Display::Bar(bar) = &self.display else { return };
        let test = &self.test;
        let share = test.expected.map_or(0.0, |expected| test.begun.elapsed().as_secs_f64() / expected.as_secs_f64());
        bar.set_position((share.clamp(0.0, 1.0) * 1000.0) as u64);
        let left = test.expected.unwrap_or_default().saturating_sub(test.begun.elapsed()) + test.later;
        bar.set_message(report::live_line(live.iops, live.commit_p99_us, left, &self.look));
    }

    /// A test is done.
    pub fn measured(&self, result: &TestResult) {
        self.line(&report::done_line(&self.test.position, result, &self.look));
    }

    /// A test cannot run here.
    pub fn skipped(&self, skipped: &Skipped) {
        self.line(&format!("{} {}: skipped, {}", self.test.position, skipped.test, skipped.because));
    }

    /// A line that stays, beside the display.
    pub fn line(&self, line: &str) {
        // Nobody may be reading (`2>&1 | head`); the run goes on all the same.
        let write = || drop(writeln!(std::io::stderr(), "{line}"));
        match &self.display {
            Display::Quiet => {}
            Display::Bar(bar) => bar.suspend(write),
            Display::Lines => write(),
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(1000);
    if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24} {msg}") {
        bar.set_style(style);
    }
    bar
}
