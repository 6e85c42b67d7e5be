//! Processor time of a server on this host.

use std::fs;

/// Seconds of processor time of a process, and of all processes that it started, directly or
/// indirectly; `None` if it is gone. A process that has ended still counts: its time passes to its
/// parent.
pub fn seconds(pid: u32) -> Option<f64> {
    let mut processes = Vec::new();
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let is_process =
            entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit());
        // A process may end meanwhile.
        if is_process && let Ok(stat) = fs::read_to_string(entry.path().join("stat")) {
            processes.extend(Process::parse(&stat));
        }
    }
    let per_second = rustix::param::clock_ticks_per_second();
    Some(of_tree(&processes, pid)? as f64 / per_second as f64)
}

/// The number of processors that a process may run on; `None` if it is gone.
pub fn processors(pid: u32) -> Option<u32> {
    allowed(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// Parses the line `Cpus_allowed` of `/proc/PID/status`: a mask in hexadecimal, by words.
fn allowed(status: &str) -> Option<u32> {
    let mask = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed:"))?.trim();
    let words = mask.split(',').map(|word| u32::from_str_radix(word, 16).ok());
    words.map(|word| word.map(u32::count_ones)).sum()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    /// Its own time, and that of its children that have ended.
    ticks: u64,
}

impl Process {
    /// Parses `/proc/PID/stat` (proc_pid_stat(5)). The name in parentheses may contain anything.
    fn parse(stat: &str) -> Option<Process> {
        let pid = stat.split(' ').next()?.parse().ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let parent = fields.get(1)?.parse().ok()?;
        // utime, stime, cutime and cstime are fields 14 to 17, and the state is field 3.
        let ticks = fields.get(11..15)?.iter().map(|field| field.parse::<u64>().ok());
        Some(Process { pid, parent, ticks: ticks.sum::<Option<u64>>()? })
    }
}

fn of_tree(processes: &[Process], root: u32) -> Option<u64> {
    let mut ticks = processes.iter().find(|process| process.pid == root)?.ticks;
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        let is_child = |process: &&Process| process.parent == parent && process.pid != parent;
        for child in processes.iter().filter(is_child) {
            ticks += child.ticks;
            parents.push(child.pid);
        }
    }
    Some(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_spaces() {
        let stat = "42 (postgres: a) b) S 7 42 42 0 -1 4194560 1 2 3 4 100 20 3 1 20 0 1 0 9 8 7";
        assert_eq!(Process::parse(stat), Some(Process { pid: 42, parent: 7, ticks: 124 }));
        for not_a_stat in ["", "42", "42 (sh) S", "x (sh) S 1 1 1 0 -1 0 0 0 0 0 1 1 1 1 20"] {
            assert_eq!(Process::parse(not_a_stat), None, "{not_a_stat}");
        }
    }

    #[test]
    fn all_processes_below_the_first_count() {
        let process = |pid, parent, ticks| Process { pid, parent, ticks };
        let all = [process(1, 0, 1000), process(5, 1, 10), process(6, 5, 4), process(7, 6, 2)];
        assert_eq!(of_tree(&all, 5), Some(16));
        assert_eq!(of_tree(&all, 9), None);
    }

    #[test]
    fn the_processors_of_a_mask() {
        let status =
            |mask: &str| format!("Name:\tpostgres\nCpus_allowed:\t{mask}\nMems_allowed:\t1\n");
        assert_eq!(allowed(&status("3")), Some(2));
        assert_eq!(allowed(&status("ff,00000001")), Some(9));
        assert_eq!((allowed(&status("x")), allowed("Name:\tpostgres\n")), (None, None));
        assert!(processors(std::process::id()).is_some_and(|processors| processors >= 1));
    }

    #[test]
    fn this_process_has_used_some() {
        assert!(seconds(std::process::id()).is_some_and(|seconds| seconds >= 0.0));
    }
}
