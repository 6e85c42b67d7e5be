//! Files that are drives: the one that is recorded, and one for each state that is being checked. One FUSE directory, answered at once: nothing here takes a drive's time.

use std::fs::File;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use emulate::fuse::mount::{self, MountError, Mounted};
use emulate::fuse::wire::{
    self, Attributes, Error, FALLOCATE_KEEP_SIZE, FALLOCATE_PUNCH_HOLE, FALLOCATE_ZERO_RANGE, Op, REQUEST_BYTES_MOST,
    ROOT, Request,
};
use rustix::io::Errno;

use crate::recorded::Recorded;
use crate::view::View;

/// Nodes after the directory: the recorded drive, then the states.
const RECORDED: u64 = 2;
const FIRST_STATE: u64 = 3;

/// The name of the recorded drive's file.
pub const DRIVE: &str = "drive";

/// The name of a state's file.
pub fn state_name(slot: usize) -> String {
    format!("state-{slot}")
}

/// What the files lead to.
#[derive(Debug)]
struct Drives {
    recorded: Mutex<Recorded>,
    states: Vec<Mutex<Option<View>>>,
    capacity_bytes: u64,
}

/// The directory. Dropping it takes it away.
#[derive(Debug)]
pub struct Served {
    drives: Arc<Drives>,
    kernel: Arc<File>,
    mounted: Option<Mounted>,
    threads: Vec<JoinHandle<()>>,
}

impl Served {
    /// Mounts it, with so many files for states. One thread answers.
    ///
    /// # Errors
    /// When the machine does not allow it.
    pub fn mount(directory: &Path, recorded: Recorded, states: usize) -> Result<Served, MountError> {
        let (kernel, mounted) = mount::attach(directory)?;
        let capacity_bytes = recorded.capacity_bytes();
        let states = std::iter::repeat_with(|| Mutex::new(None)).take(states).collect();
        let drives = Arc::new(Drives { recorded: Mutex::new(recorded), states, capacity_bytes });
        let mut served = Served { drives, kernel: Arc::new(kernel), mounted: Some(mounted), threads: Vec::new() };
        served.add_thread();
        Ok(served)
    }

    /// One more thread that answers. While something is recorded there is one alone: then whatever was written before a flush came has been acknowledged before it came, and the log's order is the order of
    /// promises.
    pub fn add_thread(&mut self) {
        let (drives, kernel) = (Arc::clone(&self.drives), Arc::clone(&self.kernel));
        self.threads.push(std::thread::spawn(move || serve(&drives, &kernel)));
    }

    /// The recorded drive.
    pub fn recorded<T>(&self, work: impl FnOnce(&mut Recorded) -> T) -> T {
        work(&mut lock(&self.drives.recorded))
    }

    /// Puts a state into a slot, or takes it out. Nobody may have the slot's file open for anything but its loop device.
    pub fn put(&self, slot: usize, view: Option<View>) {
        *lock(&self.drives.states[slot]) = view;
    }

    /// The path of a file.
    pub fn path(&self, name: &str) -> std::path::PathBuf {
        self.mounted.as_ref().map(|mounted| mounted.directory().join(name)).unwrap_or_default()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.mounted = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A thread that panicked was answering one request; the next one finds what the last one left.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(drives: &Drives, mut kernel: &File) {
    let mut input = vec![0; REQUEST_BYTES_MOST];
    let mut data = Vec::new();
    loop {
        let bytes = match kernel.read(&mut input) {
            Ok(bytes) => bytes,
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::INTR | Errno::NOENT | Errno::AGAIN) => continue,
                // Unmounted.
                _ => return,
            },
        };
        let Some(request) = wire::parse(&input[..bytes]) else { continue };
        if let Op::Read { offset, bytes } = request.op {
            let bytes = u64::from(bytes).min(drives.capacity_bytes.saturating_sub(offset));
            data.resize(bytes as usize, 0);
            match drives.read(request.node, offset, &mut data) {
                Ok(()) => {
                    let mut header = wire::answer(request.unique, |_| ());
                    header[..4].copy_from_slice(&(16 + bytes as u32).to_ne_bytes());
                    let _ = kernel.write_vectored(&[IoSlice::new(&header), IoSlice::new(&data)]);
                }
                Err(error) => drop(kernel.write(&wire::refusal(request.unique, error))),
            }
            continue;
        }
        if let Some(answer) = drives.answer(&request) {
            // An answer that nobody waits for any more is no error.
            let _ = kernel.write(&answer);
        }
    }
}

impl Drives {
    fn answer(&self, request: &Request<'_>) -> Option<Vec<u8>> {
        let unique = request.unique;
        let result = match request.op {
            Op::Silence => return None,
            Op::Init { flags, .. } => Ok(wire::init(unique, flags)),
            Op::Nod => Ok(wire::answer(unique, |_| ())),
            Op::OpenDirectory => Ok(wire::opened_directory(unique)),
            Op::Open => Ok(wire::opened(unique, 0)),
            Op::StatFs => Ok(wire::stat_fs(unique, self.capacity_bytes)),
            Op::Lookup(name) => {
                let node = std::str::from_utf8(name).ok().and_then(|name| self.node(name));
                node.and_then(|node| self.attributes(node))
                    .map(|found| wire::entry(unique, &found))
                    .ok_or(Error::NoEntry)
            }
            Op::GetAttributes | Op::SetAttributes { size: false } => {
                self.attributes(request.node).map(|found| wire::attributes(unique, &found)).ok_or(Error::NoEntry)
            }
            Op::SetAttributes { size: true } => Err(Error::Permission),
            Op::ReadDirectory { offset, bytes } => {
                let names: Vec<(u64, String)> = std::iter::once((RECORDED, DRIVE.to_owned()))
                    .chain((0..self.states.len()).map(|slot| (FIRST_STATE + slot as u64, state_name(slot))))
                    .collect();
                let names: Vec<(u64, &str)> = names.iter().map(|(node, name)| (*node, name.as_str())).collect();
                Ok(wire::directory(unique, &names, offset, bytes))
            }
            Op::Write { offset, data } => {
                self.write(request.node, offset, data).map(|()| wire::written(unique, data.len() as u32))
            }
            Op::Fsync => self.flush(request.node).map(|()| wire::answer(unique, |_| ())),
            Op::Fallocate { offset, bytes, mode } => {
                let zeros =
                    mode & FALLOCATE_KEEP_SIZE != 0 && mode & (FALLOCATE_PUNCH_HOLE | FALLOCATE_ZERO_RANGE) != 0;
                if zeros {
                    self.zero(request.node, offset, bytes).map(|()| wire::answer(unique, |_| ()))
                } else {
                    Err(Error::Unsupported)
                }
            }
            Op::Read { .. } | Op::Unknown => Err(Error::NotImplemented),
        };
        Some(result.unwrap_or_else(|error| wire::refusal(unique, error)))
    }

    fn node(&self, name: &str) -> Option<u64> {
        if name == DRIVE {
            return Some(RECORDED);
        }
        let slot: usize = name.strip_prefix("state-")?.parse().ok()?;
        (slot < self.states.len()).then_some(FIRST_STATE + slot as u64)
    }

    fn attributes(&self, node: u64) -> Option<Attributes> {
        let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        match node {
            ROOT => Some(Attributes { node, bytes: 4096, mode: 0o040_700, owner }),
            node if node < FIRST_STATE + self.states.len() as u64 => {
                Some(Attributes { node, bytes: self.capacity_bytes, mode: 0o100_600, owner })
            }
            _ => None,
        }
    }

    fn state(&self, node: u64) -> Result<&Mutex<Option<View>>, Error> {
        node.checked_sub(FIRST_STATE).and_then(|slot| self.states.get(slot as usize)).ok_or(Error::NoEntry)
    }

    fn read(&self, node: u64, offset: u64, data: &mut [u8]) -> Result<(), Error> {
        let read = if node == RECORDED {
            lock(&self.recorded).read(offset, data)
        } else {
            let slot = lock(self.state(node)?);
            // An empty one is zeros.
            data.fill(0);
            slot.as_ref().map_or(Ok(()), |view| view.read(offset, data))
        };
        read.map_err(|error| error_of(&error))
    }

    fn within(&self, offset: u64, bytes: u64) -> Result<(), Error> {
        let fits = offset.checked_add(bytes).is_some_and(|end| end <= self.capacity_bytes);
        match (fits, (offset | bytes).is_multiple_of(512)) {
            (true, true) => Ok(()),
            (false, _) => Err(Error::NoSpace),
            (true, false) => Err(Error::Invalid),
        }
    }

    fn write(&self, node: u64, offset: u64, data: &[u8]) -> Result<(), Error> {
        self.within(offset, data.len() as u64)?;
        let written = if node == RECORDED {
            lock(&self.recorded).write(offset, data)
        } else {
            match &mut *lock(self.state(node)?) {
                Some(view) => view.write(offset, data),
                None => Ok(()),
            }
        };
        written.map_err(|error| error_of(&error))
    }

    fn zero(&self, node: u64, offset: u64, bytes: u64) -> Result<(), Error> {
        self.within(offset, bytes)?;
        if node == RECORDED {
            return lock(&self.recorded).zero(offset, bytes).map_err(|error| error_of(&error));
        }
        let zeros = vec![0; 1 << 20];
        let mut at = offset;
        while at < offset + bytes {
            let length = (offset + bytes - at).min(zeros.len() as u64);
            self.write(node, at, &zeros[..length as usize])?;
            at += length;
        }
        Ok(())
    }

    fn flush(&self, node: u64) -> Result<(), Error> {
        // A state that is being checked loses nothing.
        if node == RECORDED { lock(&self.recorded).flush().map_err(|error| error_of(&error)) } else { Ok(()) }
    }
}

fn error_of(error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::StorageFull { Error::NoSpace } else { Error::Io }
}
