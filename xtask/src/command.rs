//! Running other programs.

use std::ops::Range;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A command that runs in the root of the repository.
pub fn command(program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs a program, with its output shown.
pub fn shown(program: &str, args: &[&str]) -> anyhow::Result<()> {
    eprintln!("$ {program} {}", args.join(" "));
    let status =
        command(program, args).status().with_context(|| format!("cannot start {program}"))?;
    if !status.success() {
        bail!("{program} {} ended with {status}", args.join(" "));
    }
    Ok(())
}

/// Runs a program and returns its stdout.
pub fn output(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output =
        command(program, args).output().with_context(|| format!("cannot start {program}"))?;
    stdout_of(program, args, &output)
}

/// Runs a program and returns its stdout, and the share of one processor that it used between two
/// moments after its start. This includes its threads, the kernel's workers for its io_uring, and
/// its children.
pub fn watched_output(
    program: &str,
    args: &[&str],
    window: Range<Duration>,
) -> anyhow::Result<(String, f64)> {
    let begun = Instant::now();
    let mut command = command(program, args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().with_context(|| format!("cannot start {program}"))?;
    let process = child.id();
    let watcher = std::thread::spawn(move || {
        let used_at = |moment: Duration| {
            std::thread::sleep(moment.saturating_sub(begun.elapsed()));
            (begun.elapsed().as_secs_f64(), processor_s(process))
        };
        let (first, last) = (used_at(window.start), used_at(window.end));
        (last.1 - first.1) / (last.0 - first.0)
    });
    let output = child.wait_with_output().with_context(|| format!("cannot wait for {program}"))?;
    let share = watcher
        .join()
        .map_err(|_| anyhow::anyhow!("watching the processor time of {program} failed"))?;
    Ok((stdout_of(program, args, &output)?, share))
}

/// Runs a program and returns its stdout, and the largest size of its memory (RSS) in bytes.
pub fn peak_output(program: &str, args: &[&str]) -> anyhow::Result<(String, u64)> {
    let mut command = command(program, args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().with_context(|| format!("cannot start {program}"))?;
    let process = child.id();
    let watcher = std::thread::spawn(move || {
        // The kernel keeps the maximum, so only the last moments before the end can be missed.
        let read = || peak_bytes(&std::fs::read_to_string(format!("/proc/{process}/status")).ok()?);
        let mut peak = 0;
        while let Some(bytes) = read() {
            peak = bytes;
            std::thread::sleep(Duration::from_millis(5));
        }
        peak
    });
    let output = child.wait_with_output().with_context(|| format!("cannot wait for {program}"))?;
    let peak =
        watcher.join().map_err(|_| anyhow::anyhow!("watching the memory of {program} failed"))?;
    Ok((stdout_of(program, args, &output)?, peak))
}

/// The maximum in a process's `status`; `None` once it has ended.
fn peak_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib << 10)
}

/// The stdout of a program that has succeeded.
fn stdout_of(program: &str, args: &[&str], output: &Output) -> anyhow::Result<String> {
    if !output.status.success() {
        bail!(
            "{program} {} ended with {}: {}",
            args.join(" "),
            output.status,
            text_of(&output.stderr).trim()
        );
    }
    Ok(text_of(&output.stdout))
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Processor time that a process and its children have used, in seconds; 0 once it has ended.
fn processor_s(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // Fields after the name, which ends with the last bracket; the 12th and 13th are user and
    // system time.
    let fields = stat.rsplit_once(") ").map(|(_, fields)| fields.split(' ')).into_iter().flatten();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    let children = std::fs::read_to_string(format!("/proc/{process}/task/{process}/children"))
        .unwrap_or_default();
    let children =
        children.split_whitespace().filter_map(|child| child.parse().ok()).map(processor_s);
    ticks / rustix::param::clock_ticks_per_second() as f64 + children.sum::<f64>()
}

/// True if a program with this name exists and starts.
pub fn is_there(program: &str, args: &[&str]) -> bool {
    let mut command = command(program, args);
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_size_of_a_process() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        assert_eq!(peak_bytes(status), Some(2 << 20));
        // A process that has ended has no memory.
        assert_eq!(peak_bytes("Name:\tx\nState:\tZ (zombie)\n"), None);
    }
}
