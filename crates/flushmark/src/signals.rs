//! Ctrl-C and `kill` end a run cleanly.

use std::sync::atomic::{AtomicI32, Ordering};

use engine::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// The wish to stop, which every run looks at.
pub static STOP: Stop = Stop::new();

static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The first signal asks the run to stop: what was measured is printed, the test files are removed. A second one ends the program at once, for
/// a device that does not answer; the files are then removed by the janitor. Signals that whoever started this wanted ignored (`nohup`) stay ignored.
pub fn listen() -> std::io::Result<()> {
    let ignored = std::fs::read_to_string("/proc/self/status").map_or(0, |status| ignored(&status));
    let heard = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored & 1 << (signal - 1) == 0);
    let mut signals = signal_hook::iterator::Signals::new(heard)?;
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

/// The signals that a process ignores, the first in the lowest bit (proc_pid_status(5)).
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// The signal that asked for the end, if one did.
pub fn received() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_status() {
        assert_eq!(ignored("Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n"), 0x1001);
        assert_eq!(ignored("Name:\tx\n"), 0);
    }
}
