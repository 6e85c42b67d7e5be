//! The progress bar.

use std::time::{Duration, Instant};

use indicatif::{BinaryBytes, ProgressBar, ProgressStyle};

/// Shorter work is done before anyone could read a bar.
const SHORT: Duration = Duration::from_secs(1);

/// A progress bar on a terminal, for work that takes long enough to watch.
pub struct Bar {
    begun: Instant,
    bar: ProgressBar,
}

impl Bar {
    /// For this many bytes to read, if that is known.
    pub fn new(quiet: bool, expected: Option<u64>) -> Self {
        // Draws nothing if stderr is not a terminal.
        let bar =
            if quiet { ProgressBar::hidden() } else { ProgressBar::new(expected.unwrap_or(0)) };
        let form = if expected.is_some() {
            "{msg} {bar:30} {bytes}/{total_bytes} {binary_bytes_per_sec}, {eta} left{prefix}"
        } else {
            "{msg} {bytes} {binary_bytes_per_sec}{prefix}"
        };
        bar.set_style(
            ProgressStyle::with_template(form).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self { begun: Instant::now(), bar }
    }

    /// Restarts the bar after reading: runs may have to be merged before the first byte is written.
    pub fn begin_again(&self) {
        self.bar.reset();
        self.bar.set_message("merging");
    }

    /// A function to call with the number of bytes spilled so far.
    pub fn of_spilled(&self) -> impl Fn(u64) + Send + 'static {
        let bar = self.bar.clone();
        move |bytes| bar.set_prefix(format!(", {} spilled", BinaryBytes(bytes)))
    }

    pub fn advance(&self, what: &'static str, bytes: u64) {
        if self.begun.elapsed() > SHORT {
            self.bar.set_message(what);
            self.bar.inc(bytes);
        } else {
            self.bar.update(|state| state.set_pos(state.pos() + bytes));
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
