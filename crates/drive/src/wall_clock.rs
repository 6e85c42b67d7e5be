//! The error of this host's clock.

use std::io;
use std::time::Duration;

/// The kernel's own account of its clock, which a time server's client keeps up to date
/// (adjtimex(2)).
///
/// ```
/// let clock = drive::WallClock::read()?;
/// if let Some(error) = clock.error {
///     println!("right within {error:?}");
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WallClock {
    /// Upper bound of its error; `None` if no time server's client keeps it right.
    pub error: Option<Duration>,
}

impl WallClock {
    /// Asks the kernel, which any user may.
    pub fn read() -> io::Result<WallClock> {
        #[expect(unsafe_code, reason = "libc's structure has reserved fields, and no constructor")]
        // SAFETY: the structure consists of integers, for which zero is a value.
        let mut state: libc::timex = unsafe { std::mem::zeroed() };
        #[expect(unsafe_code, reason = "rustix has no adjtimex")]
        // SAFETY: the structure lives until the call returns. With no modes set, the kernel changes
        // nothing and only fills it in.
        let answer = unsafe { libc::adjtimex(&raw mut state) };
        if answer < 0 {
            return Err(io::Error::last_os_error());
        }
        let is_kept = answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
        let error_us = u64::try_from(state.maxerror).unwrap_or(0);
        Ok(WallClock { error: is_kept.then(|| Duration::from_micros(error_us)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_answers_any_user() {
        let clock = WallClock::read().unwrap();
        // The kernel gives up on a clock whose error has grown to 16 s (NTP_PHASE_LIMIT).
        assert!(clock.error.is_none_or(|error| error <= Duration::from_secs(16)), "{clock:?}");
    }
}
