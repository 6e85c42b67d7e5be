//! Drives as files: the recorded drive, and one file per state being checked, in one FUSE
//! directory. All requests are answered immediately: no latency is modelled here.

use std::fs::File;
use std::io::{self, IoSlice, Read as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use emulate::LoopQueue;
use emulate::fuse::wire::{self, Error, REQUEST_BYTES_MAX};
use emulate::fuse::{self, MountError, Mounted};
use emulate::fuse::{FIRST_FILE, FileFacts, Files, Next, Wanted, dispatch, whole_sectors};
use rustix::io::Errno;

use simdrive::SECTOR_BYTES;

use crate::recorded::Recorded;
use crate::state::State;
use crate::view::{Recording, View};

/// Nodes after the directory: the recorded drive, then the states.
const RECORDED: u64 = FIRST_FILE;
const FIRST_STATE: u64 = RECORDED + 1;
/// Zeros are written to a state in pieces of this size.
const ZEROS_BYTES: usize = 1 << 20;

/// The queue properties of a recorded drive: it has a volatile cache, so flushes come, and no limit
/// on its depth, because nothing takes time here.
pub(crate) const QUEUE: LoopQueue = LoopQueue { flushes: true, rotational: false, depth: u32::MAX };
/// The name of the recorded drive's file.
pub(crate) const DRIVE: &str = "drive";

/// The prefix of the names of states' files.
const STATE: &str = "state-";

pub(crate) fn state_name(slot: usize) -> String {
    format!("{STATE}{slot}")
}

/// The users of states' files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenedBy {
    /// A check, for its state only: a handle that is still open when the next state comes has no
    /// access to that one.
    Checks,
    /// A loop device, for one state after the other: the caller ensures that nothing of a state is
    /// left when the next one comes.
    LoopDevices,
}

/// The content of the files.
#[derive(Debug)]
struct Drives {
    recorded: Mutex<Option<Recorded>>,
    recording: Option<Arc<Recording>>,
    states: Vec<Mutex<Slot>>,
    opened_by: OpenedBy,
    capacity_bytes: u64,
}

/// Serves one state after the other.
#[derive(Debug, Default)]
struct Slot {
    view: Option<View>,
    /// The handle for new opens.
    handle: u64,
}

/// The mounted directory, unmounted on drop.
#[derive(Debug)]
pub(crate) struct Served {
    drives: Arc<Drives>,
    mounted: Option<Mounted>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Mounts the directory with only the recorded drive. A single thread answers: everything
    /// written before a flush arrived has then been acknowledged before it arrived, and the log has
    /// the order of the promises.
    pub(crate) fn of_recorded(directory: &Path, recorded: Recorded) -> Result<Served, MountError> {
        let capacity_bytes = recorded.capacity_bytes();
        let drives = Drives {
            recorded: Mutex::new(Some(recorded)),
            recording: None,
            states: Vec::new(),
            opened_by: OpenedBy::Checks,
            capacity_bytes,
        };
        Served::mount(directory, drives, 1)
    }

    /// Mounts the directory with `states` files for states of a recording, and as many threads.
    pub(crate) fn of_states(
        directory: &Path,
        recording: Arc<Recording>,
        states: usize,
        opened_by: OpenedBy,
    ) -> Result<Served, MountError> {
        let capacity_bytes = recording.capacity_bytes();
        let drives = Drives {
            recorded: Mutex::new(None),
            recording: Some(recording),
            states: std::iter::repeat_with(Mutex::default).take(states).collect(),
            opened_by,
            capacity_bytes,
        };
        Served::mount(directory, drives, states)
    }

    fn mount(directory: &Path, drives: Drives, threads: usize) -> Result<Served, MountError> {
        let drives = Arc::new(drives);
        let (served, place) = (Arc::clone(&drives), directory.to_owned());
        let (tell, told) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            // The connection stays with these threads. What they read and write through `Drives`
            // was opened before, and is never replaced: a recorded drive keeps its two files, and
            // all states are of one recording.
            fuse::separate_descriptors();
            let kernel = match fuse::attach(&place, None) {
                Ok((kernel, mounted)) => {
                    let _ = tell.send(Ok(mounted));
                    kernel
                }
                Err(error) => {
                    let _ = tell.send(Err(error));
                    return;
                }
            };
            std::thread::scope(|scope| {
                for _ in 1..threads {
                    scope.spawn(|| serve(&served, &kernel));
                }
                serve(&served, &kernel);
            });
        });
        let ended = |_| MountError::Failed {
            directory: directory.to_owned(),
            because: "its thread ended".to_owned(),
        };
        let mounted = told.recv().map_err(ended)??;
        Ok(Served { drives, mounted: Some(mounted), thread: Some(thread) })
    }

    /// Calls `work` with the recorded drive.
    pub(crate) fn recorded<T>(
        &self,
        work: impl FnOnce(&mut Recorded) -> io::Result<T>,
    ) -> io::Result<T> {
        lock(&self.drives.recorded)
            .as_mut()
            .map_or_else(|| Err(io::ErrorKind::NotFound.into()), work)
    }

    /// Puts a state of the recording into a slot, or empties the slot. Returns the error if the
    /// previous state could not be served as recorded.
    pub(crate) fn put(&self, slot: usize, state: Option<&State>) -> Option<io::Error> {
        let recording = self.drives.recording.as_ref();
        let view =
            recording.zip(state).map(|(recording, state)| View::new(Arc::clone(recording), state));
        let mut slot = lock(&self.drives.states[slot]);
        slot.handle += u64::from(self.drives.opened_by == OpenedBy::Checks);
        std::mem::replace(&mut slot.view, view).and_then(View::into_broke)
    }

    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.mounted.as_ref().map(|mounted| mounted.directory().join(name)).unwrap_or_default()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // If the connection cannot be aborted, processes with open files keep it and its threads
        // until this process ends.
        if self.mounted.take().is_some_and(|mounted| mounted.abort().is_err()) {
            return;
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked was answering one request; the next one continues from there.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(drives: &Drives, mut kernel: &File) {
    let mut input = vec![0; REQUEST_BYTES_MAX];
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
        // A reply that is no longer wanted is not an error.
        let _ = match dispatch(&request, drives) {
            Next::NoReply => continue,
            Next::Answer(answer) => kernel.write(&answer),
            Next::Do(wanted) => {
                match drives.carry_out(request.node, request.handle, wanted, &mut data) {
                    Ok(Done::Read) => {
                        let header = wire::data_header(request.unique, data.len() as u32);
                        kernel.write_vectored(&[IoSlice::new(&header), IoSlice::new(&data)])
                    }
                    Ok(Done::Written(bytes)) => {
                        kernel.write(&wire::written(request.unique, bytes as u32))
                    }
                    Ok(Done::Nothing) => kernel.write(&wire::answer(request.unique, |_| ())),
                    Err(error) => kernel.write(&wire::refusal(request.unique, error)),
                }
            }
        };
    }
}

/// The result of an operation.
enum Done {
    Read,
    Written(usize),
    Nothing,
}

impl Files for Drives {
    fn find(&self, name: &[u8]) -> Option<u64> {
        let name = std::str::from_utf8(name).ok()?;
        if name == DRIVE {
            return self.recording.is_none().then_some(RECORDED);
        }
        let slot: usize = name.strip_prefix(STATE)?.parse().ok()?;
        (slot < self.states.len()).then_some(FIRST_STATE + slot as u64)
    }

    fn listed(&self) -> Vec<(u64, String)> {
        let states =
            (0..self.states.len()).map(|slot| (FIRST_STATE + slot as u64, state_name(slot)));
        let recorded = self.recording.is_none().then(|| (RECORDED, DRIVE.to_owned()));
        recorded.into_iter().chain(states).collect()
    }

    fn facts(&self, node: u64) -> Option<FileFacts> {
        let handle = if node == RECORDED {
            0
        } else {
            let slot = self.states.get(node.checked_sub(FIRST_STATE)? as usize)?;
            lock(slot).handle
        };
        Some(FileFacts { bytes: self.capacity_bytes, handle })
    }
}

impl Drives {
    fn carry_out(
        &self,
        node: u64,
        handle: u64,
        wanted: Wanted<'_>,
        data: &mut Vec<u8>,
    ) -> Result<Done, Error> {
        if node == RECORDED {
            let mut recorded = lock(&self.recorded);
            return carry_out(
                recorded.as_mut().ok_or(Error::NoEntry)?,
                self.capacity_bytes,
                wanted,
                data,
            );
        }
        let slot = node.checked_sub(FIRST_STATE).and_then(|slot| self.states.get(slot as usize));
        let mut slot = lock(slot.ok_or(Error::NoEntry)?);
        // The state may have been replaced since the handle was checked.
        if slot.handle != handle {
            return Err(Error::Io);
        }
        carry_out(&mut slot.view, self.capacity_bytes, wanted, data)
    }
}

trait Content {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()>;
    fn zero(&mut self, offset: u64, bytes: u64) -> io::Result<()>;
    fn flush(&mut self) -> io::Result<()>;
}

impl Content for Recorded {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.read(offset, buffer)
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write(offset, data)
    }

    fn zero(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        self.zero(offset, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flush()
    }
}

/// A state; an empty slot reads as zeros.
impl Content for Option<View> {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        if let Some(view) = self {
            return view.read(offset, buffer);
        }
        buffer.fill(0);
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.as_mut().map_or(Ok(()), |view| view.write(offset, data))
    }

    fn zero(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        let zeros = vec![0; ZEROS_BYTES];
        let end = offset + bytes;
        let mut at = offset;
        while at < end {
            let length = (end - at).min(ZEROS_BYTES as u64);
            Content::write(self, at, &zeros[..length as usize])?;
            at += length;
        }
        Ok(())
    }

    /// A state that is being checked loses nothing.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn carry_out(
    content: &mut impl Content,
    capacity_bytes: u64,
    wanted: Wanted<'_>,
    data: &mut Vec<u8>,
) -> Result<Done, Error> {
    match wanted {
        Wanted::Read { offset, bytes } => {
            data.resize(bytes as usize, 0);
            content.read(offset, data).map_err(error_of)?;
            Ok(Done::Read)
        }
        Wanted::Write { offset, data } => {
            let held = |first, length| {
                let mut held = vec![0; length as usize];
                content.read(first, &mut held).map_err(error_of).map(|()| held)
            };
            let (first, whole) = whole_sectors(offset, data, capacity_bytes, held)?;
            content.write(first, &whole).map_err(error_of)?;
            Ok(Done::Written(data.len()))
        }
        Wanted::Trim { offset, bytes } | Wanted::Zero { offset, bytes } => {
            if offset.checked_add(bytes).is_none_or(|end| end > capacity_bytes) {
                return Err(Error::NoSpace);
            }
            // As for a block device.
            if !(offset | bytes).is_multiple_of(SECTOR_BYTES) {
                return Err(Error::Invalid);
            }
            content.zero(offset, bytes).map_err(error_of)?;
            Ok(Done::Nothing)
        }
        Wanted::Flush => content.flush().map_err(error_of).map(|()| Done::Nothing),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature for `map_err`")]
fn error_of(error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::StorageFull { Error::NoSpace } else { Error::Io }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;

    use super::*;
    use crate::printed::after_printing;

    /// Three times the size of a piece of zeros.
    const CAPACITY: u64 = 3 << 20;

    fn recorded() -> Recorded {
        let base = tempfile::tempfile().unwrap();
        base.set_len(CAPACITY).unwrap();
        base.write_all_at(&[0xbb; 4096], 0).unwrap();
        Recorded::new(base, tempfile::tempfile().unwrap(), after_printing(""), CAPACITY)
    }

    fn mounted(
        test: &str,
        work: impl FnOnce(&Path) -> Result<Served, MountError>,
    ) -> Option<(Served, tempfile::TempDir)> {
        let directory = tempfile::tempdir().unwrap();
        match work(directory.path()) {
            Ok(served) => Some((served, directory)),
            Err(error) => {
                eprintln!("skipped: {test}: {error}");
                None
            }
        }
    }

    fn drives(
        recorded: Option<Recorded>,
        recording: Option<Arc<Recording>>,
        states: usize,
    ) -> Drives {
        Drives {
            recorded: Mutex::new(recorded),
            recording,
            states: std::iter::repeat_with(Mutex::default).take(states).collect(),
            opened_by: OpenedBy::Checks,
            capacity_bytes: CAPACITY,
        }
    }

    #[test]
    fn a_directory_lists_the_recorded_drive_or_the_states() {
        let mut over = recorded();
        over.begin().unwrap();
        let recording = Arc::new(Recording::new(over.end().unwrap().unwrap()));
        let mut of_states = drives(None, Some(recording), 2);
        of_states.states[1].get_mut().unwrap().handle = 7;
        for (drives, listed) in [
            (drives(Some(recorded()), None, 0), &[(2, "drive", 0)][..]),
            (of_states, &[(3, "state-0", 0), (4, "state-1", 7)]),
        ] {
            let expected: Vec<(u64, String)> =
                listed.iter().map(|&(node, name, _)| (node, name.to_owned())).collect();
            assert_eq!(drives.listed(), expected);
            for &(node, name, handle) in listed {
                assert_eq!(drives.find(name.as_bytes()), Some(node));
                assert_eq!(drives.facts(node), Some(FileFacts { bytes: CAPACITY, handle }));
            }
            let unknown =
                ["drive", "state-0", "state-1", "state-2", "state-", "x"].map(str::as_bytes);
            for name in unknown
                .into_iter()
                .filter(|name| listed.iter().all(|(_, known, _)| known.as_bytes() != *name))
            {
                assert_eq!(drives.find(name), None);
            }
            assert_eq!((drives.facts(1), drives.facts(5)), (None, None));
        }
    }

    #[test]
    fn zeros_take_whole_sectors_within_the_drive() {
        let mut over = recorded();
        over.write(0, &vec![0xbb; CAPACITY as usize]).unwrap();
        over.begin().unwrap();
        let recording = Arc::new(Recording::new(over.end().unwrap().unwrap()));
        let state = View::new(Arc::clone(&recording), &State::whole(0));
        let of_states = drives(None, Some(recording), 1);
        of_states.states[0].lock().unwrap().view = Some(state);
        let mut prepared = recorded();
        prepared.write(0, &vec![0xbb; CAPACITY as usize]).unwrap();
        for (drives, node) in
            [(drives(Some(prepared), None, 0), RECORDED), (of_states, FIRST_STATE)]
        {
            let mut data = Vec::new();
            let mut ask =
                |wanted: Wanted<'_>| drives.carry_out(node, 0, wanted, &mut data).map(drop);
            for (offset, bytes) in [(256, 512), (512, 256)] {
                assert_eq!(ask(Wanted::Trim { offset, bytes }), Err(Error::Invalid));
            }
            for (offset, bytes) in [(CAPACITY - 512, 1024), (u64::MAX - 511, 512)] {
                assert_eq!(ask(Wanted::Zero { offset, bytes }), Err(Error::NoSpace));
            }
            assert_eq!(ask(Wanted::Trim { offset: 512, bytes: 512 }), Ok(()));
            assert_eq!(ask(Wanted::Zero { offset: 2048, bytes: CAPACITY - 2048 }), Ok(()));
            assert_eq!(ask(Wanted::Write { offset: CAPACITY - 1, data: b"x" }), Ok(()));
            assert_eq!(ask(Wanted::Flush), Ok(()));
            assert_eq!(ask(Wanted::Read { offset: 0, bytes: CAPACITY as u32 }), Ok(()));
            let mut expected = vec![0; CAPACITY as usize];
            expected[..512].fill(0xbb);
            expected[1024..2048].fill(0xbb);
            expected[CAPACITY as usize - 1] = b'x';
            assert!(data == expected);
            assert_eq!(
                drives.carry_out(FIRST_STATE + 1, 0, Wanted::Flush, &mut data).map(drop),
                Err(Error::NoEntry)
            );
        }
    }

    #[test]
    fn an_empty_slot_is_zeros_and_refuses_old_handles() {
        let drives = drives(None, None, 1);
        let mut data = vec![1; 8];
        let read = Wanted::Read { offset: 0, bytes: 512 };
        let ask = |node, handle, wanted, data: &mut _| {
            drives.carry_out(node, handle, wanted, data).map(drop)
        };
        assert_eq!(
            ask(FIRST_STATE, 0, Wanted::Write { offset: 0, data: &[1; 512] }, &mut data),
            Ok(())
        );
        assert_eq!(ask(FIRST_STATE, 0, read, &mut data), Ok(()));
        assert_eq!(data, [0; 512]);
        assert_eq!(ask(FIRST_STATE, 1, Wanted::Flush, &mut data), Err(Error::Io));
        assert_eq!(ask(RECORDED, 0, Wanted::Flush, &mut data), Err(Error::NoEntry));
    }

    #[test]
    fn a_full_log_is_a_full_drive() {
        assert_eq!(error_of(io::ErrorKind::StorageFull.into()), Error::NoSpace);
        assert_eq!(error_of(io::ErrorKind::NotFound.into()), Error::Io);
    }

    #[test]
    fn writes_may_begin_and_end_anywhere() {
        let mounted = mounted("writes_may_begin_and_end_anywhere", |directory| {
            Served::of_recorded(directory, recorded())
        });
        let Some((served, _directory)) = mounted else { return };
        served.recorded(Recorded::begin).unwrap();
        let file = File::options().read(true).write(true).open(served.path(DRIVE)).unwrap();
        file.write_all_at(&[7; 9000], 100).unwrap();
        file.write_all_at(b"x", CAPACITY - 1).unwrap();
        assert!(file.write_all_at(b"xy", CAPACITY - 1).is_err());
        let mut held = vec![0; 9200];
        file.read_exact_at(&mut held, 0).unwrap();
        let expected = [vec![0xbb; 100], vec![7; 9000], vec![0; 100]].concat();
        assert!(held == expected);
        let tape = served.recorded(Recorded::end).unwrap().unwrap();
        let ranges: Vec<(u64, u64)> =
            tape.entries().iter().filter_map(crate::log::Entry::range).collect();
        assert!(
            ranges.iter().all(|(offset, bytes)| (offset | bytes).is_multiple_of(SECTOR_BYTES)),
            "{ranges:?}"
        );
        assert_eq!(ranges.last(), Some(&(CAPACITY - 512, 512)));
    }

    #[test]
    fn a_handle_of_one_state_has_no_access_to_the_next() {
        let mut recorded = recorded();
        recorded.begin().unwrap();
        let recording = Arc::new(Recording::new(recorded.end().unwrap().unwrap()));
        let mounted = mounted("a_handle_of_one_state_has_no_access_to_the_next", |directory| {
            Served::of_states(directory, recording, 1, OpenedBy::Checks)
        });
        let Some((served, _directory)) = mounted else { return };
        let put = || served.put(0, Some(&State::whole(0)));
        let open =
            || File::options().read(true).write(true).open(served.path(&state_name(0))).unwrap();
        put();
        let stale = open();
        stale.write_all_at(&[7; 512], 0).unwrap();
        put();
        assert!(stale.write_all_at(&[7; 512], 0).is_err());
        assert!(stale.read_exact_at(&mut [0; 512], 0).is_err());
        let mut held = [0; 512];
        open().read_exact_at(&mut held, 0).unwrap();
        assert_eq!(held, [0xbb; 512]);
        // An open file does not prevent unmounting.
        drop(served);
        assert!(stale.write_all_at(&[7; 512], 0).is_err());
    }
}
