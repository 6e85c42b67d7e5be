//! The whole cycle on emulated drives, honest and lying: write, power cut, power on, read back,
//! judge. It needs neither mounts nor root, because lanes reach the drives over NBD within this
//! process.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use emulate::{
    Cut, CutTrigger, Drive, Endpoints, Event, Handle, Honesty, Image, Lie, Order, Server, Socket,
};
use engine::Stop;
use nbd::Client;
use simdrive::Machine;

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

/// Records of 4 KiB; four lanes flush, two write with FUA, and one does neither.
const GEOMETRY: Geometry = Geometry {
    sector_bytes: 512,
    record_sectors: 8,
    slots_per_lane: 200,
    flush_lanes: 4,
    fua_lanes: 2,
    control_lanes: 1,
    writes_per_sync: 2,
};
/// Capacity of the drives: the smallest that their models allow.
const CAPACITY_BYTES: u64 = 2 << 30;

#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    #[error(
        "{model} has no volatile cache, so a power cut loses nothing and lies about flushes change \
         nothing; use a model that has one, such as consumer-nvme"
    )]
    NoVolatileCache { model: String },
    #[error(transparent)]
    Impossible(#[from] simdrive::Impossible),
    #[error(transparent)]
    Verify(#[from] crate::error::VerifyError),
    #[error("{what}: {source}")]
    System { what: &'static str, source: io::Error },
    #[error("interrupted")]
    Interrupted,
}

/// The outcome of a cycle on one drive.
#[derive(Debug)]
pub struct DemoCycle {
    pub run: RunHeader,
    /// The drive's behaviour at the cut, which only the emulator knows.
    pub cut: Option<Cut>,
    /// The result of the check.
    pub verdict: Verdict,
    /// Why the cycle proves nothing, if so.
    pub voids: Vec<Void>,
}

/// An emulated drive that lanes connect to.
struct ServedDrive {
    handle: Handle,
}

impl ServedDrive {
    /// The drive's own count of power cuts, which a real drive reports by SMART.
    fn unsafe_shutdowns(&self) -> Option<u64> {
        self.handle.order(Order::Status)?.get("cuts")?.as_u64()
    }
}

impl OpenDisk for ServedDrive {
    type Disk = Remote;

    fn open_disk(&self, _with_fua: bool) -> io::Result<Remote> {
        let (ours, theirs) = UnixStream::pair()?;
        self.handle.admit(Socket::Unix(theirs));
        Ok(Remote { client: Client::connect(ours)? })
    }
}

struct Remote {
    client: Client<UnixStream>,
}

impl Disk for Remote {
    fn write(&mut self, offset_bytes: u64, block: &[u8]) -> io::Result<()> {
        self.client.write(offset_bytes, block, false)
    }

    fn write_durably(&mut self, offset_bytes: u64, block: &[u8]) -> io::Result<()> {
        // As the kernel does if the drive has no FUA, or needs none.
        self.client.write(offset_bytes, block, self.client.export().takes_fua())?;
        if self.client.export().takes_flush() && !self.client.export().takes_fua() {
            self.client.flush()
        } else {
            Ok(())
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.client.export().takes_flush() { self.client.flush() } else { Ok(()) }
    }

    fn read(&mut self, offset_bytes: u64, block: &mut [u8]) -> io::Result<()> {
        self.client.read(offset_bytes, block)
    }

    fn size_bytes(&self) -> u64 {
        self.client.export().bytes
    }
}

/// Refuses a model without a volatile cache, on which every cycle looks the same.
pub fn expect_volatile_cache(machine: &Machine) -> Result<(), DemoError> {
    if machine.drive(true)?.identity().volatile_cache {
        return Ok(());
    }
    Err(DemoError::NoVolatileCache { model: machine.model.model.clone() })
}

/// Cycles on a drive of a model with some lies.
#[derive(Debug, Clone, Copy)]
pub struct Cycles<'a> {
    pub machine: &'a Machine,
    pub lies: &'a [Lie],
    /// Time under load before the first power cut; a tenth of it before each further one.
    pub time: Duration,
    pub seed: u64,
    /// The directory for the journals.
    pub place: &'a Path,
    pub stop: &'a Stop,
}

impl Cycles<'_> {
    /// Runs cycles until one is conclusive, and returns it with the number of power cuts. A liar is
    /// cut until it is caught. An honest drive is cut until a cycle is not void and lost something
    /// that was never flushed: a cut in the middle of a flush may lose nothing. It ends earlier if
    /// another cycle, as long as the longest so far, would end after `until`.
    ///
    /// A drive that writes its cache back within fractions of a millisecond loses little of what it
    /// promised, and lanes on a slow machine learn of no promise in that time: then most cuts show
    /// nothing, but many short cycles do.
    pub fn conclusive(&self, until: Instant) -> Result<(DemoCycle, u64), DemoError> {
        let mut longest = Duration::ZERO;
        let mut cuts = 1;
        loop {
            let begun = Instant::now();
            let time = if cuts == 1 { self.time } else { self.time / 10 };
            let done = Cycles { seed: self.seed ^ cuts << 32, time, ..*self }.once()?;
            longest = longest.max(begun.elapsed());
            let lost_unflushed = done.cut.as_ref().is_some_and(|cut| cut.lost_unflushed > 0);
            let honest_is_shown = self.lies.is_empty() && done.voids.is_empty() && lost_unflushed;
            if !done.verdict.is_kept() || honest_is_shown || Instant::now() + longest > until {
                return Ok((done, cuts));
            }
            cuts += 1;
        }
    }

    fn once(&self) -> Result<DemoCycle, DemoError> {
        let Cycles { machine, lies, seed, .. } = *self;
        let system = |what| move |source| DemoError::System { what, source };
        let mut machine = machine.clone();
        machine.capacity_bytes = Some(CAPACITY_BYTES);
        let device = machine.drive(true)?;
        let image = Image::in_memory(device.identity().capacity_bytes);
        let drive =
            Drive::new(device, image, Honesty::of(lies), machine.model.host.request_most.0, seed);
        let plug = CutTrigger::new(None, seed);
        let (handle, inbox) = Handle::new().map_err(system("serving the drive"))?;
        let (name, label) = (&machine.model.model, &machine.model.label);
        let (server, events) = Server::new(drive, name, label, Endpoints::default(), plug, inbox)
            .map_err(system("serving the drive"))?;
        let thread = std::thread::spawn(move || server.run());
        let drive = ServedDrive { handle };
        let outcome = self.judged(&drive);
        let cut = events.try_iter().find_map(|event| match event {
            Event::Cut(cut) => Some(cut),
            _ => None,
        });
        drive.handle.stop();
        let _ = thread.join();
        let (run, verdict, voids) = outcome?;
        Ok(DemoCycle { run, cut, verdict, voids })
    }

    fn judged(&self, drive: &ServedDrive) -> Result<(RunHeader, Verdict, Vec<Void>), DemoError> {
        let Cycles { time, seed, place, stop, .. } = *self;
        let system = |what| move |source| DemoError::System { what, source };
        let run = RunHeader::plain(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, GEOMETRY);
        let mut disk = drive.open_disk(false).map_err(system("connecting to the drive"))?;
        fill(&mut disk, &run, stop, &mut |_| ()).map_err(system("filling the drive"))?;
        drop(disk);
        let path = place.join(format!("journal-{seed}"));
        let mut witness = Witness::journal(&path, "another drive", false)?;
        let unsafe_shutdowns_before = drive.unsafe_shutdowns();
        let facts = DriveFacts::default();
        let writing = Writing { run: &run, storage: drive, facts: &facts, time: None, stop };
        std::thread::scope(|scope| {
            // The power is cut while all lanes write.
            let cutter = scope.spawn(|| {
                std::thread::sleep(time);
                drive.handle.order(Order::Cut);
            });
            let written = writing.run(&mut witness, &mut |_| ());
            let _ = cutter.join();
            written
        })?;
        if stop.is_requested() {
            return Err(DemoError::Interrupted);
        }
        drive.handle.order(Order::PowerOn);
        let ledger = journal::read(&path)?.ledger;
        let _ = std::fs::remove_file(&path);
        let recorded = ledger.cycles.into_iter().next_back();
        let obligations = recorded.as_ref().map(|cycle| &cycle.obligations);
        let mut wanted = |_| !stop.is_requested();
        let judged = match drive.open_disk(false) {
            Ok(mut disk) => read_and_judge(&mut disk, &run, obligations, &mut wanted),
            // A drive that does not come back is read all the same: every sector fails.
            Err(_) => read_and_judge(&mut DeadDisk, &run, obligations, &mut wanted),
        };
        let (_, verdict) = judged.map_err(|_| DemoError::Interrupted)?;
        let voids = voids(&Circumstance {
            unsafe_shutdowns_before,
            unsafe_shutdowns_now: drive.unsafe_shutdowns(),
            control: Some(verdict.legal),
            volatile_cache: Some(true),
            never_issued: verdict.never_issued,
            acknowledged_writes: verdict.acknowledged_writes(),
            at_cut: AtCut::of(recorded.as_ref()),
            ..Circumstance::default()
        });
        Ok((run, verdict, voids))
    }
}
