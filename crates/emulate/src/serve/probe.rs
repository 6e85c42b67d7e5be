//! Measures the cost of the transport at the start: a client of our own sends commands to the
//! probe, a drive with a known latency.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use nbd::Client;
use rustix::fs::{Mode, OFlags};
use rustix::thread::CpuSet;
use simdrive::Ns;

use super::handle::Handle;
use super::socket::Socket;
use super::transport_cost::{TransportCost, TransportCosts};

/// Latency of the probe drive: long enough for both sides to fall asleep, as with a real drive.
pub(crate) const PROBE_NS: Ns = 300_000;
/// Size of the probe drive.
pub(crate) const PROBE_BYTES: u64 = 1 << 20;
/// Commands of each kind.
const ROUNDS: usize = 120;
/// The size of reads and writes.
const BLOCK_BYTES: usize = 4096;

/// Measures with client and server on the same processor and on different ones.
/// [`crate::serve::pace::Pace`] estimates the actual cost later.
fn on_one_and_two_processors(
    server: &Handle,
    mut measure: impl FnMut() -> io::Result<TransportCost>,
) -> io::Result<TransportCosts> {
    let allowed = rustix::thread::sched_getaffinity(None)?;
    let only = |cpu| {
        let mut set = CpuSet::new();
        set.set(cpu);
        set
    };
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
    let here = cpus.next().unwrap_or_default();
    let mut floors: Option<TransportCosts> = None;
    for there in [Some(here), cpus.next()].into_iter().flatten() {
        server.run_on(only(there));
        rustix::thread::sched_setaffinity(None, &only(here))?;
        let measured = measure();
        rustix::thread::sched_setaffinity(None, &allowed)?;
        server.run_on(allowed);
        let floor = measured?;
        let of = |one: fn(Ns, Ns) -> Ns, other: TransportCost| TransportCost {
            read_ns: one(other.read_ns, floor.read_ns),
            write_ns: one(other.write_ns, floor.write_ns),
            flush_ns: one(other.flush_ns, floor.flush_ns),
        };
        floors = Some(match floors {
            None => TransportCosts { min: floor, max: floor },
            Some(TransportCosts { min, max }) => {
                TransportCosts { min: of(Ns::min, min), max: of(Ns::max, max) }
            }
        });
    }
    Ok(floors.unwrap_or_default())
}

/// The time beyond the drive's latency: the lower quartile, because other activity on the host only
/// adds to it.
fn floor_of(mut one: impl FnMut(usize) -> io::Result<()>) -> io::Result<Ns> {
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let begun = Instant::now();
        one(round)?;
        times.push(begun.elapsed().saturating_sub(Duration::from_nanos(PROBE_NS)).as_nanos() as Ns);
    }
    times.sort_unstable();
    Ok(times[ROUNDS / 4])
}

/// Measures through a file or a block device, with direct I/O at depth 1.
pub(crate) fn of_file(server: &Handle, path: &Path, flushes: bool) -> io::Result<TransportCosts> {
    let file =
        rustix::fs::open(path, OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty())?;
    let file = File::from(file);
    // Direct I/O needs memory aligned to the sector size.
    let mut memory = vec![0; 2 * BLOCK_BYTES];
    let start = memory.as_ptr().align_offset(BLOCK_BYTES);
    let block = &mut memory[start..start + BLOCK_BYTES];
    let place = |round: usize| (round * BLOCK_BYTES) as u64 % PROBE_BYTES;
    on_one_and_two_processors(server, || {
        Ok(TransportCost {
            read_ns: floor_of(|round| file.read_exact_at(block, place(round)))?,
            write_ns: floor_of(|round| file.write_all_at(block, place(round)))?,
            flush_ns: if flushes { floor_of(|_| file.sync_data())? } else { 0 },
        })
    })
}

/// Measures through a socket connected to the probe.
pub(crate) fn of_socket(
    server: &Handle,
    socket: Socket,
    flushes: bool,
) -> io::Result<TransportCosts> {
    match socket {
        Socket::Unix(stream) => of_stream(server, stream, flushes),
        Socket::Tcp(stream) => {
            stream.set_nodelay(true)?;
            of_stream(server, stream, flushes)
        }
    }
}

fn of_stream(
    server: &Handle,
    stream: impl io::Read + io::Write,
    flushes: bool,
) -> io::Result<TransportCosts> {
    let mut client = Client::connect(stream)?;
    let place = |round: usize| (round * BLOCK_BYTES) as u64 % PROBE_BYTES;
    let mut block = [0; BLOCK_BYTES];
    on_one_and_two_processors(server, || {
        Ok(TransportCost {
            read_ns: floor_of(|round| client.read(place(round), &mut block))?,
            write_ns: floor_of(|round| client.write(place(round), &[0; BLOCK_BYTES], false))?,
            flush_ns: if flushes { floor_of(|_| client.flush())? } else { 0 },
        })
    })
}
