//! The whole cycle on emulated drives, honest and lying: write, cut, switch on, read back, judge. Nothing is mounted, nobody needs to be root; the drives are served to the lanes over NBD within this process.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use emulate::drive::{Cut, Drive};
use emulate::honesty::{Honesty, Lie};
use emulate::image::Image;
use emulate::nbd::client::Client;
use emulate::plug::Plug;
use emulate::serve::connection::Socket;
use emulate::serve::control::Order;
use emulate::serve::handle::{Event, Handle};
use emulate::serve::{Server, Ways};
use engine::Stop;
use simdrive::run::Machine;

use crate::disk::{DeadDisk, Disk, OpenDisk};
use crate::drive_facts::DriveFacts;
use crate::filling::fill;
use crate::geometry::Geometry;
use crate::journal;
use crate::reading::read_and_judge;
use crate::run_header::RunHeader;
use crate::validity::{AtCut, Circumstance, Void, voids};
use crate::verdict::Verdict;
use crate::witness::Witness;
use crate::writing::Writing;

/// Records of 4 KiB, four lanes that flush, two that write with FUA, one that does neither.
const GEOMETRY: Geometry = Geometry {
    sector_bytes: 512,
    record_sectors: 8,
    slots_per_lane: 200,
    flush_lanes: 4,
    fua_lanes: 2,
    control_lanes: 1,
    writes_per_sync: 2,
};
/// How large the drives are: no more than their models need.
const CAPACITY_BYTES: u64 = 2 << 30;

/// What keeps a demonstration from running.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The model: there is nothing to see on it.
    #[error(
        "{model} has no volatile cache, so that a cut takes nothing from it and lies about flushes change nothing; name a model that has one, such as consumer-nvme"
    )]
    NoVolatileCache {
        /// Its name.
        model: String,
    },
    /// The model.
    #[error(transparent)]
    Impossible(#[from] simdrive::assembly::Impossible),
    /// Writing or reading back.
    #[error(transparent)]
    Verify(#[from] crate::error::VerifyError),
    /// A call failed.
    #[error("{what}: {source}")]
    System {
        /// What was done.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
}

/// What one drive's cycle came to.
#[derive(Debug)]
pub struct Cycle {
    /// The run.
    pub run: RunHeader,
    /// What the drive did at the cut, as nobody but the emulator knows.
    pub cut: Option<Cut>,
    /// What was found out from outside.
    pub verdict: Verdict,
    /// Why that proves nothing, if so.
    pub voids: Vec<Void>,
}

/// A served drive that lanes connect to.
struct Plugged {
    handle: Handle,
}

impl Plugged {
    /// The drive's own count of power cuts, which a real one tells by SMART.
    fn unsafe_shutdowns(&self) -> Option<u64> {
        self.handle.order(Order::Status)?.get("cuts")?.as_u64()
    }
}

impl OpenDisk for Plugged {
    type Disk = Remote;

    fn open_disk(&self, _with_fua: bool) -> io::Result<Remote> {
        let (ours, theirs) = UnixStream::pair()?;
        self.handle.admit(Socket::Unix(theirs));
        Ok(Remote { client: Client::connect(ours)? })
    }
}

/// One lane's connection.
struct Remote {
    client: Client<UnixStream>,
}

impl Disk for Remote {
    fn write(&mut self, offset_bytes: u64, block: &[u8]) -> io::Result<()> {
        self.client.write(offset_bytes, block, false)
    }

    fn write_durably(&mut self, offset_bytes: u64, block: &[u8]) -> io::Result<()> {
        // As the kernel does where the drive has no FUA, or needs none.
        self.client.write(offset_bytes, block, self.client.takes_fua())?;
        if self.client.takes_flush() && !self.client.takes_fua() { self.client.flush() } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.client.takes_flush() { self.client.flush() } else { Ok(()) }
    }

    fn read(&mut self, offset_bytes: u64, block: &mut [u8]) -> io::Result<()> {
        self.client.read(offset_bytes, block)
    }

    fn size_bytes(&self) -> u64 {
        self.client.bytes()
    }
}

/// Refuses a model on which there is nothing to see.
///
/// # Errors
/// When it has no volatile cache, or cannot be.
pub fn expect_volatile_cache(machine: &Machine) -> Result<(), DemoError> {
    if machine.drive(true)?.identity().volatile_cache {
        return Ok(());
    }
    Err(DemoError::NoVolatileCache { model: machine.model.model.clone() })
}

/// Cycles on a drive of this model that tells these lies, each cut after `time` under load, and how many it took.
/// An honest drive is cut until a cycle is not void and the cut took something that nobody had asked to keep (one in
/// the middle of a flush may take nothing), a liar until it is caught, as long as another cycle like the longest so
/// far ends before `until`. The witness's journal is written below `place`.
///
/// # Errors
/// When the drive cannot be served, or somebody wants the end.
pub fn conclusive(
    machine: &Machine,
    lies: &[Lie],
    time: Duration,
    seed: u64,
    place: &Path,
    until: Instant,
    stop: &Stop,
) -> Result<(Cycle, u64), DemoError> {
    let mut longest = Duration::ZERO;
    let mut cuts = 1;
    loop {
        let begun = Instant::now();
        let done = cycle(machine, lies, time, seed ^ cuts << 32, place, stop)?;
        longest = longest.max(begun.elapsed());
        let took_something = done.cut.as_ref().is_some_and(|cut| cut.lost_unflushed > 0);
        let is_told = !done.verdict.is_kept() || (lies.is_empty() && done.voids.is_empty() && took_something);
        if is_told || Instant::now() + longest > until {
            return Ok((done, cuts));
        }
        cuts += 1;
    }
}

fn cycle(
    machine: &Machine,
    lies: &[Lie],
    time: Duration,
    seed: u64,
    place: &Path,
    stop: &Stop,
) -> Result<Cycle, DemoError> {
    let system = |what| move |source| DemoError::System { what, source };
    let mut machine = machine.clone();
    machine.capacity_bytes = Some(CAPACITY_BYTES);
    let device = machine.drive(true)?;
    let image = Image::in_memory(device.identity().capacity_bytes);
    let drive = Drive::new(device, image, Honesty::of(lies), machine.model.host.request_most.0, seed);
    let plug = Plug::new(None, seed);
    let (server, handle, events) =
        Server::new(drive, &machine.model.model, &machine.model.label, Ways::default(), plug)
            .map_err(system("serving the drive"))?;
    let thread = std::thread::spawn(move || server.run());
    let plugged = Plugged { handle };
    let outcome = judged(&plugged, time, seed, place, stop);
    let cut = events.try_iter().find_map(|event| match event {
        Event::Cut(cut) => Some(cut),
        _ => None,
    });
    plugged.handle.stop();
    let _ = thread.join();
    let (run, verdict, voids) = outcome?;
    Ok(Cycle { run, cut, verdict, voids })
}

fn judged(
    plugged: &Plugged,
    time: Duration,
    seed: u64,
    place: &Path,
    stop: &Stop,
) -> Result<(RunHeader, Verdict, Vec<Void>), DemoError> {
    let system = |what| move |source| DemoError::System { what, source };
    let run = RunHeader::plain(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, GEOMETRY);
    let mut disk = plugged.open_disk(false).map_err(system("connecting to the drive"))?;
    fill(&mut disk, &run, stop, &mut |_| ()).map_err(system("filling the drive"))?;
    drop(disk);
    let path = place.join(format!("journal-{seed}"));
    let mut witness = Witness::journal(&path, "another drive", false)?;
    let unsafe_shutdowns_before = plugged.unsafe_shutdowns();
    let facts = DriveFacts::default();
    let writing = Writing { run: &run, storage: plugged, facts: &facts, time: None, stop };
    std::thread::scope(|scope| {
        // Somebody pulls the plug while everybody writes.
        let puller = scope.spawn(|| {
            std::thread::sleep(time);
            plugged.handle.order(Order::Cut);
        });
        let written = writing.run(&mut witness, &mut |_| ());
        let _ = puller.join();
        written
    })?;
    if stop.is_requested() {
        return Err(DemoError::Interrupted);
    }
    plugged.handle.order(Order::PowerOn);
    let ledger = journal::read(&path)?.ledger;
    let _ = std::fs::remove_file(&path);
    let heard = ledger.cycles.into_iter().next_back();
    let obligations = heard.as_ref().map(|cycle| &cycle.obligations);
    let mut wanted = |_| !stop.is_requested();
    let judged = match plugged.open_disk(false) {
        Ok(mut disk) => read_and_judge(&mut disk, &run, obligations, &mut wanted),
        // A drive that does not come up again is read all the same: each of its sectors fails.
        Err(_) => read_and_judge(&mut DeadDisk, &run, obligations, &mut wanted),
    };
    let (_, verdict) = judged.map_err(|_| DemoError::Interrupted)?;
    let voids = voids(&Circumstance {
        unsafe_shutdowns_before,
        unsafe_shutdowns_now: plugged.unsafe_shutdowns(),
        control: Some(verdict.legal),
        volatile_cache: Some(true),
        never_issued: verdict.never_issued,
        acknowledged_writes: verdict.acknowledged_writes(),
        at_cut: AtCut::of(heard.as_ref()),
        ..Circumstance::default()
    });
    Ok((run, verdict, voids))
}
