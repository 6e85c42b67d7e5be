//! A watched machine: one line for each device and interval.

use measurement::watch::{CommitLatencies, DeviceRates, Interval, ProcessRate};
use workload::number::{latency, number};

use crate::columns::NONE;
use crate::look::{Look, paint};

/// Processes named in one line.
const NAMED: usize = 3;
const TIME: usize = "12:00:00".len();
/// Widths of the columns of figures.
const WRITES: usize = 8;
const FLUSHES: usize = 9;
const LATENCY: usize = 8;
const MOSTLY: usize = "block layer 99 %".len();

/// Lays out the lines of a watch, whose columns stay where they are.
#[derive(Debug, Clone, Copy)]
pub struct WatchLines {
    /// Width of the devices' names.
    names: usize,
    shown: Shown,
}

/// The columns that need the kernel's tracer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Latencies of commits.
    pub commits: bool,
    /// The processes that commit.
    pub processes: bool,
}

impl WatchLines {
    /// Lines for devices of these names.
    pub fn new<'a>(devices: impl Iterator<Item = &'a str>, shown: Shown) -> WatchLines {
        let names = devices.map(|name| name.chars().count()).chain(["device".len()]).max();
        WatchLines { names: names.unwrap_or(0), shown }
    }

    /// The line above them.
    pub fn header(&self, look: &Look) -> String {
        let last = if self.shown.processes { "syncs by" } else { "" };
        let cells = ["writes/s", "flushes/s", "write", "flush"].map(str::to_owned);
        let commits = ["commit", "p99", "mostly"].map(str::to_owned);
        let line = self.line("time", "device", &cells, &commits, last);
        look.finish(paint(look.palette.faint, &line) + "\n")
    }

    /// The lines about an interval that ended at this time of day. The processes commit to any
    /// device; the first line names them.
    pub fn interval(&self, interval: &Interval, time: &str, look: &Look) -> String {
        let mut processes = interval.processes.as_deref().map_or_else(String::new, named);
        if interval.syncs_incomplete {
            let comma = if processes.is_empty() { "" } else { ", " };
            processes += &format!("{comma}and syncs that were not counted");
        }
        let mut text = String::new();
        for rates in &interval.devices {
            let cells = cells(rates, interval.seconds);
            let commits = commit_cells(rates.commits.as_ref());
            text += &self.line(time, &rates.device, &cells, &commits, &processes);
            text.push('\n');
            processes.clear();
        }
        look.finish(text)
    }

    fn line(
        &self,
        time: &str,
        device: &str,
        cells: &[String; 4],
        commits: &[String; 3],
        last: &str,
    ) -> String {
        let [writes, flushes, write, flush] = cells;
        let names = self.names;
        let mut line = format!(
            "{time:<TIME$}  {device:<names$}  {writes:>WRITES$}  {flushes:>FLUSHES$}  \
             {write:>LATENCY$}  {flush:>LATENCY$}  "
        );
        if self.shown.commits {
            let [median, p99, mostly] = commits;
            line += &format!("{median:>LATENCY$}  {p99:>LATENCY$}  {mostly:<MOSTLY$}  ");
        }
        (line + last).trim_end().to_owned()
    }
}

/// The median and the 99th percentile of commits, and the layer that takes most of the mean one.
fn commit_cells(commits: Option<&CommitLatencies>) -> [String; 3] {
    let Some(commits) = commits else { return [NONE, NONE, ""].map(str::to_owned) };
    let mostly = commits.longest_layer().map_or_else(String::new, |(layer, share)| {
        format!("{} {:.0} %", layer.name(), share * 100.0)
    });
    [latency(commits.whole.p50_us), latency(commits.whole.p99_us), mostly]
}

fn cells(rates: &DeviceRates, seconds: f64) -> [String; 4] {
    let none = || NONE.to_owned();
    let mean = |ms: Option<f64>, per_s: Option<f64>| {
        ms.zip(per_s).map_or_else(none, |(ms, per_s)| mean(ms, per_s * seconds))
    };
    [
        rates.writes_per_s.map_or_else(none, number),
        rates.flushes_per_s.map_or_else(none, number),
        mean(rates.write_ms, rates.writes_per_s),
        mean(rates.flush_ms, rates.flushes_per_s),
    ]
}

/// The mean of this many times. Their sum is known in whole milliseconds, so 0 means a limit.
fn mean(ms: f64, count: f64) -> String {
    if ms > 0.0 { latency(ms * 1e3) } else { format!("<{}", latency(1e3 / count)) }
}

fn named(processes: &[ProcessRate]) -> String {
    let named = processes.iter().take(NAMED).map(|process| {
        let ProcessRate { command, pid, syncs_per_s } = process;
        format!("{} ({pid}) {}/s", unseen::masked(command), number(*syncs_per_s))
    });
    let named = named.collect::<Vec<_>>().join(", ");
    match processes.get(NAMED..).unwrap_or_default() {
        [] => named,
        others => {
            let rate: f64 = others.iter().map(|process| process.syncs_per_s).sum();
            format!("{named}, {} more {}/s", others.len(), number(rate))
        }
    }
}

/// The sentence about watched devices that do not count their flushes.
pub fn flushes_not_counted(devices: &[String]) -> String {
    let (count, them) = match devices {
        [_] => ("does", "its"),
        _ => ("do", "their"),
    };
    format!(
        "{} {count} not count {them} flushes, so `{NONE}` stands for the rate and the time of them",
        devices.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use measurement::Stage;
    use measurement::watch::SampledCommits;

    use super::*;

    fn rates(device: &str, writes: f64, flushes: Option<f64>) -> DeviceRates {
        DeviceRates {
            device: device.to_owned(),
            writes_per_s: Some(writes),
            flushes_per_s: flushes,
            write_ms: Some(0.0),
            flush_ms: flushes.map(|_| 8.31),
            commits: None,
        }
    }

    fn process(command: &str, pid: u32, syncs_per_s: f64) -> ProcessRate {
        ProcessRate { command: command.to_owned(), pid, syncs_per_s }
    }

    fn interval(devices: Vec<DeviceRates>, processes: Option<Vec<ProcessRate>>) -> Interval {
        Interval {
            time: "2026-11-20T19:30:00Z".to_owned(),
            seconds: 1.0,
            devices,
            processes,
            syncs_incomplete: false,
        }
    }

    fn page(interval: &Interval) -> String {
        let names = interval.devices.iter().map(|rates| rates.device.as_str());
        let commits = interval.devices.iter().any(|rates| rates.commits.is_some());
        let shown = Shown { commits, processes: interval.processes.is_some() };
        let lines = WatchLines::new(names, shown);
        let look = Look::plain();
        lines.header(&look) + &lines.interval(interval, "19:30:00", &look)
    }

    #[test]
    fn lines_with_processes() {
        let processes = vec![
            process("postgres", 4711, 120.0),
            process("etcd", 99, 14.2),
            process("evil\n\u{1b}[2J", 7, 3.0),
            process("a", 8, 1.0),
            process("b", 9, 0.5),
        ];
        let devices = vec![rates("nvme0n1", 12_412.3, Some(120.0)), rates("zram0", 3.0, None)];
        let mut interval = interval(devices, Some(processes));
        insta::assert_snapshot!(page(&interval), @"
        time      device   writes/s  flushes/s     write     flush  syncs by
        19:30:00  nvme0n1    12,412        120  <80.6 ns   8.31 ms  postgres (4711) 120/s, etcd (99) 14.2/s, evil �[2J (7) 3/s, 2 more 1.5/s
        19:30:00  zram0           3          -   <333 µs         -
        ");
        interval.syncs_incomplete = true;
        interval.processes.as_mut().unwrap().truncate(1);
        insta::assert_snapshot!(page(&interval), @"
        time      device   writes/s  flushes/s     write     flush  syncs by
        19:30:00  nvme0n1    12,412        120  <80.6 ns   8.31 ms  postgres (4711) 120/s, and syncs that were not counted
        19:30:00  zram0           3          -   <333 µs         -
        ");
    }

    #[test]
    fn lines_with_sampled_commits() {
        let mut sampled = SampledCommits::default();
        sampled.add(&[(Stage::Thread, 30_000), (Stage::Flush, 8_310_000)].into());
        let mut busy = rates("sda", 120.0, Some(120.0));
        busy.commits = sampled.latencies();
        let devices = vec![busy, rates("sdb", 3.0, Some(3.0))];
        let processes = vec![process("postgres", 4711, 120.0)];
        insta::assert_snapshot!(page(&interval(devices, Some(processes))), @"
        time      device  writes/s  flushes/s     write     flush    commit       p99  mostly            syncs by
        19:30:00  sda          120        120  <8.33 µs   8.31 ms   8.34 ms   8.34 ms  drive 100 %       postgres (4711) 120/s
        19:30:00  sdb            3          3   <333 µs   8.31 ms         -         -
        ");
    }

    #[test]
    fn lines_without_processes() {
        let mut idle = rates("sda", 0.0, Some(0.0));
        (idle.write_ms, idle.flush_ms) = (None, None);
        let mut reset = idle.clone();
        (reset.writes_per_s, reset.flushes_per_s) = (None, None);
        insta::assert_snapshot!(page(&interval(vec![idle, reset], None)), @"
        time      device  writes/s  flushes/s     write     flush
        19:30:00  sda            0          0         -         -
        19:30:00  sda            -          -         -         -
        ");
    }

    #[test]
    fn what_does_not_count() {
        insta::assert_snapshot!(flushes_not_counted(&["zram0".to_owned()]), @"zram0 does not count its flushes, so `-` stands for the rate and the time of them");
        insta::assert_snapshot!(flushes_not_counted(&["zram0".to_owned(), "ram1".to_owned()]), @"zram0, ram1 do not count their flushes, so `-` stands for the rate and the time of them");
    }
}
