//! The cost of a test for the server's host and its drives: counters before and after it.

use drive::{Counters, DeviceNumber, Place, SystemRoot};
use measurement::{DriveCosts, OperationCosts, OperationKind, ServerCpu};

use super::here::Here;
use super::server_cpu;

/// The counters that exist, if the server runs on this host.
pub struct HostMeter(Result<Source, String>);

/// The sources of a server on this host.
struct Source {
    /// Disks of the log and of the tables, each once; or why they are not known.
    disks: Result<Vec<DeviceNumber>, String>,
    pid: u32,
}

/// The counters at one moment.
pub struct Reading {
    disks: Option<Counters>,
    cpu_s: Option<f64>,
}

impl HostMeter {
    pub fn new(here: &Result<Here, String>) -> HostMeter {
        let source = |here: &Here| Source { disks: disks(here), pid: here.pid };
        HostMeter(here.as_ref().map(source).map_err(Clone::clone))
    }

    pub fn read(&self) -> Reading {
        let source = self.0.as_ref().ok();
        let root = SystemRoot::default();
        let disks = source.and_then(|source| source.disks.as_ref().ok()).and_then(|disks| {
            let counters = disks.iter().map(|disk| Counters::read(&root, *disk).ok());
            counters.reduce(|sum, one| Some(sum?.plus(&one?))).flatten()
        });
        Reading { disks, cpu_s: source.and_then(|source| server_cpu::seconds(source.pid)) }
    }

    /// The server's processor time between two readings; `None` if it is unknown.
    pub fn cpu(&self, before: &Reading, after: &Reading) -> Option<ServerCpu> {
        let source = self.0.as_ref().ok()?;
        let seconds = (after.cpu_s? - before.cpu_s?).max(0.0);
        Some(ServerCpu { seconds, processors: server_cpu::processors(source.pid)? })
    }

    /// The cost of each operation between two readings; `None` without operations.
    pub fn costs(
        &self,
        before: &Reading,
        after: &Reading,
        (operation, operations): (OperationKind, u64),
    ) -> Option<OperationCosts> {
        if operations == 0 {
            return None;
        }
        let each = |count: u64| count as f64 / operations as f64;
        let drives = before.disks.zip(after.disks).map(|(before, after)| {
            let counted = after.since(&before);
            DriveCosts {
                writes: each(counted.writes),
                written_kib: each(counted.written_bytes) / 1024.0,
                reads: each(counted.reads),
                read_kib: each(counted.read_bytes) / 1024.0,
            }
        });
        let cpu = self.cpu(before, after);
        let server_cpu_us = cpu.map(|cpu| cpu.seconds * 1e6 / operations as f64);
        let mut unknown = Vec::new();
        match &self.0 {
            Err(because) => unknown.push(format!(
                "the server's processor time and the requests to its drives are unknown: {because}"
            )),
            Ok(source) => {
                if server_cpu_us.is_none() {
                    unknown.push("the server's process was not found".to_owned());
                }
                if drives.is_none() {
                    let because = source.disks.as_ref().err().cloned();
                    let because = because.unwrap_or_else(|| "no counters were found".to_owned());
                    unknown.push(format!("the requests to its drives are unknown: {because}"));
                }
            }
        }
        Some(OperationCosts { operation, operations, drives, server_cpu_us, unknown })
    }
}

/// The disks of the server's log and tables.
fn disks(here: &Here) -> Result<Vec<DeviceNumber>, String> {
    let mut disks = Vec::new();
    for directory in [&here.log, &here.data] {
        let place =
            Place::of(&SystemRoot::default(), directory).map_err(|error| error.to_string())?;
        let device = place.block_device().ok_or_else(|| {
            format!("{} is not on a block device of this host", directory.display())
        })?;
        let disk = device.disk_device();
        if !disks.contains(&disk) {
            disks.push(disk);
        }
    }
    Ok(disks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(writes: u64, cpu_s: f64) -> Reading {
        let stat = format!("4 0 16 1 {writes} 0 {} 2 0 3 3 0 0 0 0 12 480", writes * 8);
        Reading { disks: Counters::parse(&stat), cpu_s: Some(cpu_s) }
    }

    #[test]
    fn costs_are_differences_by_operation() {
        let meter = HostMeter(Ok(Source { disks: Ok(Vec::new()), pid: std::process::id() }));
        let (before, after) = (reading(100, 1.0), reading(600, 1.5));
        let costs = meter.costs(&before, &after, (OperationKind::InsertedRow, 1000)).unwrap();
        let drives = costs.drives.unwrap();
        assert_eq!((drives.writes, drives.written_kib, drives.reads), (0.5, 2.0, 0.0));
        assert_eq!(costs.server_cpu_us, Some(500.0));
        let cpu = meter.cpu(&before, &after).unwrap();
        assert!((cpu.seconds - 0.5).abs() < 1e-9 && cpu.processors >= 1, "{cpu:?}");
        assert!(costs.unknown.is_empty(), "{:?}", costs.unknown);
        assert_eq!(meter.costs(&before, &after, (OperationKind::Query, 0)), None);
    }

    #[test]
    fn what_is_unknown_is_said() {
        let elsewhere = HostMeter(Err("it runs on db2".to_owned()));
        let unread = || Reading { disks: None, cpu_s: None };
        let costs = elsewhere.costs(&unread(), &unread(), (OperationKind::Query, 1)).unwrap();
        assert_eq!(
            costs.unknown,
            ["the server's processor time and the requests to its drives are unknown: it runs \
                on db2"]
        );
    }
}
