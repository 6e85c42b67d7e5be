//! Ends a run cleanly on Ctrl-C and `kill`.

use std::sync::atomic::{AtomicI32, Ordering};

use engine::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// The request to stop, which every run checks.
pub static STOP: Stop = Stop::new();

static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The first signal asks the run to stop: what was measured is printed and the test files are
/// removed. A second one ends the program at once, in case a device hangs; the janitor then removes
/// the files. SIGHUP stays ignored if the parent ignored it (`nohup`).
pub fn listen() -> std::io::Result<()> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let hang_up = (!is_ignored(SIGHUP, &status)).then_some(SIGHUP);
    let heard = [SIGINT, SIGTERM].into_iter().chain(hang_up);
    let mut signals = signal_hook::iterator::Signals::new(heard)?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            if STOP.is_requested() {
                if let Some(words) = crate::write_cache::last_words() {
                    crate::exit::complain(words);
                }
                rados::exit(128 + signal);
            }
            SIGNAL.store(signal, Ordering::Relaxed);
            STOP.request();
        }
    })?;
    Ok(())
}

/// Returns whether a process with this status ignores the signal. The mask has signal 1 in its
/// lowest bit (proc_pid_status(5)).
fn is_ignored(signal: i32, status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// The signal that requested the stop, if any.
pub fn received() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ignored_is_read_from_the_status() {
        let status = "Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(SIGHUP, status) && !is_ignored(SIGINT, status));
        assert!(!is_ignored(SIGHUP, "Name:\tx\n"));
    }
}
