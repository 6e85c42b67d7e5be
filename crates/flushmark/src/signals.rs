//! Ctrl-C and `kill` end a run cleanly.

use std::sync::atomic::{AtomicI32, Ordering};

use engine::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// The wish to stop, which every run looks at.
pub static STOP: Stop = Stop::new();

static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The first signal asks the run to stop: what was measured is printed, the test files are removed. A second one ends the program at once, for
/// a device that does not answer; the files are then removed by the janitor.
pub fn listen() -> std::io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if STOP.is_requested() {
                if let Some(words) = crate::write_cache::last_words() {
                    crate::exit::complain(words);
                }
                std::process::exit(128 + signal);
            }
            SIGNAL.store(signal, Ordering::Relaxed);
            STOP.request();
        }
    })?;
    Ok(())
}

/// The signal that asked for the end, if one did.
pub fn received() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}
