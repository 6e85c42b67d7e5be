//! The text of a histogram that the kernel counts (Documentation/trace/histogram.rst).

use std::collections::HashMap;

/// The count of each thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    pub threads: HashMap<u32, Entry>,
    /// Events of threads for which the kernel had no room.
    pub dropped: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The thread's name when it was counted first.
    pub command: String,
    pub count: u64,
}

impl Histogram {
    /// Reads the kernel's text. Lines that are not understood count nothing.
    pub fn parse(text: &str) -> Histogram {
        let mut histogram = Histogram::default();
        for line in text.lines() {
            if let Some((thread, entry)) = entry(line) {
                histogram.threads.insert(thread, entry);
            } else if let Some(dropped) = line.trim().strip_prefix("Dropped:") {
                histogram.dropped = dropped.trim().parse().unwrap_or(0);
            }
        }
        histogram
    }

    /// The counts since an earlier reading; all of them, if the kernel has begun again.
    pub fn since(&self, earlier: &Histogram) -> impl Iterator<Item = (u32, u64)> {
        self.threads.iter().filter_map(|(&thread, &Entry { count, .. })| {
            let before = earlier.threads.get(&thread).map_or(0, |entry| entry.count);
            let new = count.checked_sub(before).unwrap_or(count);
            (new > 0).then_some((thread, new))
        })
    }
}

/// A line `{ common_pid: postgres        [      4711] } hitcount:        280`.
fn entry(line: &str) -> Option<(u32, Entry)> {
    let (key, values) = line.trim().strip_prefix("{ common_pid: ")?.rsplit_once("] }")?;
    let (command, thread) = key.rsplit_once('[')?;
    let count = values.trim().strip_prefix("hitcount:")?.split_whitespace().next()?;
    let entry = Entry { command: command.trim_end().to_owned(), count: count.parse().ok()? };
    Some((thread.trim().parse().ok()?, entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# event histogram
#
# trigger info: hist:keys=common_pid.execname:vals=hitcount:sort=hitcount:size=2048 [active]
#

{ common_pid: etcd            [        99] } hitcount:          1
{ common_pid: postgres        [      4711] } hitcount:        280

Totals:
    Hits: 281
    Entries: 2
    Dropped: 3
";

    fn histogram(threads: &[(u32, &str, u64)], dropped: u64) -> Histogram {
        let entry = |&(thread, command, count): &(u32, &str, u64)| {
            (thread, Entry { command: command.to_owned(), count })
        };
        Histogram { threads: threads.iter().map(entry).collect(), dropped }
    }

    #[test]
    fn a_histogram_of_threads() {
        let expected = histogram(&[(99, "etcd", 1), (4711, "postgres", 280)], 3);
        assert_eq!(Histogram::parse(TEXT), expected);
    }

    #[test]
    fn names_of_threads_may_contain_anything() {
        for (line, expected) in [
            ("{ common_pid: a } [7] {:      [        12] } hitcount:          5", "a } [7] {:"),
            ("{ common_pid: db writer       [        12] } hitcount:  5  bytes:  9", "db writer"),
        ] {
            assert_eq!(Histogram::parse(line), histogram(&[(12, expected, 5)], 0), "{line}");
        }
        for line in ["{ common_pid: db [  12] } bytes:  280", "{ common_pid: db [ 12", "", "{"] {
            assert_eq!(Histogram::parse(line), Histogram::default(), "{line}");
        }
    }

    #[test]
    fn only_what_is_new_counts_and_a_histogram_that_began_again_counts_whole() {
        let earlier = histogram(&[(1, "a", 10), (2, "b", 20), (3, "c", 30)], 0);
        let now = histogram(&[(1, "a", 15), (2, "b", 20), (3, "c", 4), (4, "d", 1)], 0);
        let mut since: Vec<_> = now.since(&earlier).collect();
        since.sort_unstable();
        assert_eq!(since, [(1, 5), (3, 4), (4, 1)]);
    }
}
