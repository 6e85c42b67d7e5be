//! Calls of the library that may never return.

use std::sync::mpsc;
use std::time::Duration;

/// Calls on a separate thread, and returns the result, or `None` if there is none within the limit.
/// The thread is then abandoned, and drops the result should there be one later.
///
/// Also returns `None` if no thread can be started.
pub(crate) fn within<T: Send + 'static>(
    limit: Duration,
    call: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    let calling = move || {
        // The receiver may have stopped waiting.
        let _ = sender.send(call());
    };
    std::thread::Builder::new().name("ceph-call".to_owned()).spawn(calling).ok()?;
    receiver.recv_timeout(limit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_takes_too_long_is_abandoned() {
        assert_eq!(within(Duration::from_secs(20), || 1), Some(1));
        let (release, held) = mpsc::channel::<()>();
        assert_eq!(within(Duration::from_millis(10), move || held.recv()), None);
        drop(release);
    }
}
