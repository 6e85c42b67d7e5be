//! Calls of the library that may never return, and how a process ends that has left one behind.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time between two looks at whether to give up.
const LOOK: Duration = Duration::from_millis(100);

/// True if a thread may still be in a call that nobody waits for.
static ABANDONED: AtomicBool = AtomicBool::new(false);

/// Calls on a separate thread, and returns the result, or `None` if there is none within the limit.
/// The thread is then abandoned, and drops the result should there be one later.
///
/// Also returns `None` if no thread can be started.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    call: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let begun = Instant::now();
    unless(|| begun.elapsed() >= limit, call)
}

/// As [`within`], but waits until `give_up` returns true, which is asked ten times a second.
pub(crate) fn unless<T: Send + 'static>(
    give_up: impl Fn() -> bool,
    call: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    // The call's captures are dropped before the result is sent: if they held the last reference
    // to a connection, the library would close it while the process ends.
    let calling = move || {
        // The receiver may have stopped waiting.
        let _ = sender.send(call());
    };
    std::thread::Builder::new().name("ceph-call".to_owned()).spawn(calling).ok()?;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(result) => return Some(result),
            Err(RecvTimeoutError::Timeout) if !give_up() => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                ABANDONED.store(true, Ordering::Relaxed);
                return None;
            }
        }
    }
}

/// Ends the process with this exit code.
///
/// Differs from [`std::process::exit`] if a call of the library was given up and may still run: the
/// destructors of Ceph's libraries, which would take away what the call uses, do not run then.
#[expect(unsafe_code, reason = "calls libc")]
pub fn exit(code: i32) -> ! {
    if ABANDONED.load(Ordering::Relaxed) {
        let _ = std::io::stdout().flush();
        // SAFETY: Ends the process.
        unsafe { libc::_exit(code) }
    }
    std::process::exit(code)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_call_that_takes_too_long_is_abandoned() {
        assert_eq!(within(Duration::from_secs(20), || 1), Some(1));
        let (release, held) = mpsc::channel::<()>();
        assert_eq!(within(Duration::from_millis(10), move || held.recv()), None);
        drop(release);
    }

    #[test]
    fn what_a_call_owns_is_dropped_before_its_result_arrives() {
        for _ in 0..200 {
            let owned = Arc::new(());
            let of_call = Arc::clone(&owned);
            let references = within(Duration::from_secs(20), move || Arc::strong_count(&of_call));
            assert_eq!((references, Arc::strong_count(&owned)), (Some(2), 1));
        }
    }
}
