//! Progress on stderr while tests run: a bar on a terminal, plain lines elsewhere, nothing with
//! `--quiet`.

use std::cell::RefCell;
use std::io::{IsTerminal as _, Write as _};
use std::ops::Range;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use measurement::{Skipped, TestResult};
use report::Look;
use workload::Plan;

pub struct Progress {
    look: Look,
    display: Display,
    /// Before each line, if lines of several runs are mixed.
    label: String,
    test: Running,
    /// The reason that was printed last, and the tests skipped for it since.
    skipped: RefCell<Option<Repeated>>,
}

struct Repeated {
    because: String,
    more: usize,
}

enum Display {
    Quiet,
    Bar(ProgressBar),
    Lines,
}

struct Running {
    name: String,
    position: String,
    warm_up: Duration,
    expected: Option<Duration>,
    later: Duration,
    /// When this test began, in real time and in the target's time: a model's clock has another
    /// pace.
    begun: Option<(Instant, f64)>,
}

impl Progress {
    pub fn new(quiet: bool, look: &Look) -> Progress {
        let display = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Display::Quiet,
            (false, true) => Display::Bar(bar()),
            (false, false) => Display::Lines,
        };
        Progress::shown(display, look, String::new())
    }

    /// The progress of one run among several: lines that begin with its target.
    pub fn among_others(quiet: bool, look: &Look, target: &str) -> Progress {
        let display = if quiet { Display::Quiet } else { Display::Lines };
        Progress::shown(display, look, format!("{}: ", unseen::escaped(target)))
    }

    fn shown(display: Display, look: &Look, label: String) -> Progress {
        let test = Running {
            name: String::new(),
            position: String::new(),
            warm_up: Duration::ZERO,
            expected: None,
            later: Duration::ZERO,
            begun: None,
        };
        Progress { look: *look, display, label, test, skipped: RefCell::new(None) }
    }

    /// The next group of tests begins, usually a single test.
    pub fn begin(&mut self, plan: &Plan, group: Range<usize>) {
        let time = |test: &workload::Test| {
            test.work.limit().time().map(|time| time + test.work.warm_up().0)
        };
        let tests = &plan.tests[group.clone()];
        self.test = Running {
            name: names(tests),
            position: position(&group, plan.tests.len()),
            warm_up: tests.iter().map(|test| test.work.warm_up().0).max().unwrap_or_default(),
            expected: tests.iter().filter_map(time).max(),
            later: plan.tests[group.end..].iter().filter_map(time).sum(),
            begun: None,
        };
        if let Display::Bar(bar) = &self.display {
            bar.set_length(1000);
            bar.set_position(0);
            let name = unseen::masked(&self.test.name);
            bar.set_prefix(format!("{} {name}", self.test.position));
            bar.set_message("preparing");
        }
    }

    /// Updates the running test's live figures.
    pub fn live(&mut self, live: &measurement::Progress) {
        let Display::Bar(bar) = &self.display else { return };
        let test = &mut self.test;
        let (begun, from_s) = *test.begun.get_or_insert((Instant::now(), live.elapsed_s));
        let done_s = (live.elapsed_s + test.warm_up.as_secs_f64()).max(0.0);
        let expected_s = test.expected.unwrap_or_default().as_secs_f64();
        bar.set_position(((done_s / expected_s.max(0.001)).clamp(0.0, 1.0) * 1000.0) as u64);
        let passed_s = live.elapsed_s - from_s;
        let pace = if passed_s > 0.0 { begun.elapsed().as_secs_f64() / passed_s } else { 1.0 };
        let left_s = ((expected_s - done_s).max(0.0) + test.later.as_secs_f64()) * pace;
        let left = Duration::try_from_secs_f64(left_s).unwrap_or(test.later);
        bar.set_message(report::live_line(live.iops, live.commit_p99_us, left, &self.look));
    }

    /// The tests that were just measured are repeated under the tracer.
    pub fn tracing(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.set_message("tracing");
        }
    }

    pub fn measured(&self, result: &TestResult) {
        self.end_of_skipped();
        self.line(&report::done_line(&self.test.position, result, &self.look));
    }

    pub fn skipped(&self, skipped: &Skipped) {
        if let Some(repeated) = self.skipped.borrow_mut().as_mut()
            && repeated.because == skipped.because
        {
            repeated.more += 1;
            return;
        }
        self.end_of_skipped();
        let Skipped { test, because } = skipped;
        self.line(&format!("{} {test}: skipped, {because}", self.test.position));
        *self.skipped.borrow_mut() = Some(Repeated { because: because.clone(), more: 0 });
    }

    /// Prints how many tests were skipped for the same reason as the last one printed.
    fn end_of_skipped(&self) {
        let repeated = self.skipped.take();
        if let Some(Repeated { more: more @ 1.., .. }) = repeated {
            let tests = report::counted(more as u64, "test");
            self.line(&format!("{tests} more skipped for the same reason"));
        }
    }

    /// Prints a permanent line.
    pub fn line(&self, line: &str) {
        // Ignore write errors (`2>&1 | head`); the run continues.
        let write = || drop(writeln!(std::io::stderr(), "{}{line}", self.label));
        match &self.display {
            Display::Quiet => {}
            Display::Bar(bar) => bar.suspend(write),
            Display::Lines => write(),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.end_of_skipped();
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }
}

/// The joined names of tests that run in parallel.
pub fn names(tests: &[workload::Test]) -> String {
    let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
    names.join(" + ")
}

fn position(group: &Range<usize>, tests: usize) -> String {
    match group.len() {
        1 => format!("[{}/{tests}]", group.end),
        _ => format!("[{}-{}/{tests}]", group.start + 1, group.end),
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::new(1000);
    if let Ok(style) = ProgressStyle::with_template("{prefix} {bar:24} {msg}") {
        bar.set_style(style);
    }
    bar
}
