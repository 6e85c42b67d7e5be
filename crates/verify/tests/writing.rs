//! A whole run over storage that is not a file, like a client of an emulated drive.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::Stop;
use verify::survey::Survey;
use verify::{
    Disk, DriveFacts, Geometry, LaneKind, OpenDisk, RunHeader, Witness, Writing, fill, judge,
    superblock,
};

/// Memory shared by several lanes. It loses power after a number of calls, and then accepts
/// nothing.
struct Memory {
    bytes: Arc<Mutex<Vec<u8>>>,
    calls_left: Arc<AtomicU64>,
}

impl Memory {
    fn new(run: &RunHeader, calls: u64) -> Memory {
        let bytes = vec![0; run.geometry.size_bytes() as usize];
        Memory { bytes: Arc::new(Mutex::new(bytes)), calls_left: Arc::new(AtomicU64::new(calls)) }
    }

    fn call(&self) -> io::Result<()> {
        let took = self
            .calls_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        took.map(drop).map_err(|_| io::Error::other("the power is gone"))
    }
}

impl OpenDisk for Memory {
    type Disk = Memory;

    fn open_disk(&self, _: bool) -> io::Result<Memory> {
        Ok(Memory { bytes: Arc::clone(&self.bytes), calls_left: Arc::clone(&self.calls_left) })
    }
}

impl Disk for Memory {
    fn write(&mut self, offset: u64, block: &[u8]) -> io::Result<()> {
        self.call()?;
        self.bytes.lock().unwrap()[offset as usize..offset as usize + block.len()]
            .copy_from_slice(block);
        Ok(())
    }

    fn write_durably(&mut self, offset: u64, block: &[u8]) -> io::Result<()> {
        self.write(offset, block)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.call()
    }

    fn read(&mut self, offset: u64, block: &mut [u8]) -> io::Result<()> {
        block.copy_from_slice(
            &self.bytes.lock().unwrap()[offset as usize..offset as usize + block.len()],
        );
        Ok(())
    }

    fn size_bytes(&self) -> u64 {
        self.bytes.lock().unwrap().len() as u64
    }
}

fn run() -> RunHeader {
    let geometry = Geometry {
        sector_bytes: 512,
        record_sectors: 8,
        slots_per_lane: 50,
        flush_lanes: 2,
        fua_lanes: 1,
        control_lanes: 1,
        writes_per_sync: 2,
    };
    RunHeader::plain(77, geometry)
}

fn written(run: &RunHeader, memory: &Memory, time: Option<Duration>) -> verify::Written {
    fill(&mut memory.open_disk(false).unwrap(), run, &Stop::new(), &mut |_| ()).unwrap();
    let facts = DriveFacts::default();
    let writing = Writing { run, storage: memory, facts: &facts, time, stop: &Stop::new() };
    writing.run(&mut Witness::Nobody, &mut |_| ()).unwrap()
}

#[test]
fn what_lanes_write_side_by_side_is_all_there() {
    let run = run();
    let memory = Memory::new(&run, u64::MAX);
    let done = written(&run, &memory, Some(Duration::from_millis(200)));
    assert!(done.failures.is_empty() && done.by_kind.iter().all(|&count| count > 100), "{done:?}");
    assert_eq!(superblock::parse(&memory.bytes.lock().unwrap()[..4096]), Ok(run.clone()));
    let survey = Survey::take(&mut memory.open_disk(false).unwrap(), &run, &mut |_| true).unwrap();
    let verdict = judge(&run, None, &survey);
    assert!(verdict.is_kept() && verdict.never_issued.is_none(), "{:?}", verdict.findings);
    // The records themselves prove nearly everything that was acknowledged, except the last
    // operations of each lane.
    let known: u64 = verdict.tallies.iter().map(|tally| tally.acknowledged_writes).sum();
    let all = done.by_kind[LaneKind::Flush as usize] * 2 + done.by_kind[LaneKind::Fua as usize];
    assert!(known <= all && all - known <= 20, "{known} of {all}");
}

#[test]
fn lanes_that_lose_their_power_stop_each_at_its_first_error() {
    let run = run();
    let memory = Memory::new(&run, 5000);
    let done = written(&run, &memory, None);
    assert_eq!(done.failures.len(), 4, "and the run ends when the last has stopped");
    assert!(done.failures.iter().all(|failure| failure.source.to_string() == "the power is gone"));
    let survey = Survey::take(&mut memory.open_disk(false).unwrap(), &run, &mut |_| true).unwrap();
    assert!(judge(&run, None, &survey).is_kept());
}
