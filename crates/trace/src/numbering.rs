//! The numbers of new threads: the kernel counts up to a maximum, and then begins again with the
//! lowest numbers that are free.

use std::fs;

/// As long as the kernel is not within this part of the maximum, it does not begin again before the
/// next look: a thousand threads or more would have to begin in that time.
const LAST_PART: u32 = 32;

/// The initial PID namespace, whose numbers the tracer uses (`PROC_PID_INIT_INO`).
const INITIAL: &str = "pid:[4026531836]";

/// True in a PID namespace with numbers that mean other threads to the tracer.
pub(crate) fn is_own() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|namespace| namespace.as_os_str() != INITIAL)
}

/// A number that no thread is below that begins before the next look at this.
pub(crate) fn lowest_to_come() -> u32 {
    let read = |path, field: fn(&str) -> Option<&str>| {
        field(&fs::read_to_string(path).ok()?)?.parse::<u32>().ok()
    };
    let latest = read("/proc/loadavg", |text| text.split_whitespace().nth(4));
    let max = read("/proc/sys/kernel/pid_max", |text| Some(text.trim()));
    latest.zip(max).map_or(0, |(latest, max)| lowest_after(latest, max))
}

fn lowest_after(latest: u32, max: u32) -> u32 {
    if latest < max - max / LAST_PART { latest } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise_until_they_come_near_the_maximum() {
        assert_eq!(
            [1, 20_000, 31_743, 31_744, 32_767].map(|latest| lowest_after(latest, 32_768)),
            [1, 20_000, 31_743, 0, 0]
        );
    }

    #[test]
    fn a_thread_that_begins_now_is_not_below() {
        let lowest = lowest_to_come();
        let own = std::thread::spawn(|| rustix::thread::gettid().as_raw_nonzero().get() as u32);
        let own = own.join().unwrap();
        assert!(lowest <= own, "{lowest} {own}");
    }
}
