//! A state as bytes: the drive before the command, the complete epochs, the surviving writes of the
//! last one, and the checker's writes. Nothing is copied to create one.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use simdrive::SECTOR_BYTES;

use crate::epochs::{Epoch, epochs};
use crate::log::Entry;
use crate::state::State;

/// The unit of lookups.
pub(crate) const BLOCK_BYTES: u64 = 4096;

/// A recorded drive: its original content, and everything that was written to it.
#[derive(Debug)]
pub struct Tape {
    base: Arc<File>,
    log: Arc<File>,
    entries: Vec<Entry>,
    /// The entries that wrote to each block, in order.
    writers: HashMap<u64, Vec<u32>>,
    capacity_bytes: u64,
}

impl Tape {
    /// Starts with a base image and an empty log file.
    pub fn new(base: Arc<File>, log: Arc<File>, capacity_bytes: u64) -> Tape {
        Tape { base, log, entries: Vec::new(), writers: HashMap::new(), capacity_bytes }
    }

    pub fn push(&mut self, entry: Entry) {
        let index = self.entries.len() as u32;
        for block in blocks(&entry) {
            self.writers.entry(block).or_default().push(index);
        }
        self.entries.push(entry);
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Size of the entries in the log file.
    pub fn log_bytes(&self) -> u64 {
        self.entries.iter().map(Entry::log_bytes).sum()
    }

    /// Reads the drive's content after all entries.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let there = |index: u32| self.entries[index as usize].range();
        in_blocks(offset, buffer.len(), |block, within, part| {
            buffer[part.clone()]
                .copy_from_slice(&self.block(block, there)?[within..within + part.len()]);
            Ok(())
        })
    }

    /// A block after the entries selected by `there`, which returns the surviving range of an
    /// entry.
    fn block(&self, block: u64, there: impl Fn(u32) -> Option<(u64, u64)>) -> io::Result<Block> {
        let mut data = [0; BLOCK_BYTES as usize];
        let start = block * BLOCK_BYTES;
        let writers = self.writers.get(&block).map_or(&[][..], Vec::as_slice);
        // Go back to the last entry that filled the whole block, then forward from there.
        let covers =
            |(offset, bytes): (u64, u64)| offset <= start && offset + bytes >= start + BLOCK_BYTES;
        let first = writers.iter().rposition(|&index| there(index).is_some_and(covers));
        if first.is_none() {
            let length = BLOCK_BYTES.min(self.capacity_bytes - start) as usize;
            self.base.read_exact_at(&mut data[..length], start)?;
        }
        for &index in &writers[first.unwrap_or(0)..] {
            let Some((offset, bytes)) = there(index) else { continue };
            let (from, to) = (offset.max(start), (offset + bytes).min(start + BLOCK_BYTES));
            if from >= to {
                continue;
            }
            let part = &mut data[(from - start) as usize..(to - start) as usize];
            match self.entries[index as usize] {
                Entry::Write { data_at, .. } => {
                    self.log.read_exact_at(part, data_at + from - offset)?;
                }
                _ => part.fill(0),
            }
        }
        Ok(data)
    }
}

/// Calls `each` for the blocks of a range: block, offset in it, and the part of the range.
fn in_blocks(
    offset: u64,
    length: usize,
    mut each: impl FnMut(u64, usize, std::ops::Range<usize>) -> io::Result<()>,
) -> io::Result<()> {
    let mut done = 0;
    while done < length {
        let at = offset + done as u64;
        let within = (at % BLOCK_BYTES) as usize;
        let part = (BLOCK_BYTES as usize - within).min(length - done);
        each(at / BLOCK_BYTES, within, done..done + part)?;
        done += part;
    }
    Ok(())
}

#[derive(Debug)]
pub struct Recording {
    tape: Tape,
    epochs: Vec<Epoch>,
}

impl Recording {
    /// Splits a tape into epochs.
    pub fn new(tape: Tape) -> Recording {
        let epochs = epochs(&tape.entries);
        Recording { tape, epochs }
    }

    pub fn epochs(&self) -> &[Epoch] {
        &self.epochs
    }

    pub fn entries(&self) -> &[Entry] {
        &self.tape.entries
    }

    /// Size of the entries in the log file.
    pub fn log_bytes(&self) -> u64 {
        self.tape.log_bytes()
    }

    pub const fn capacity_bytes(&self) -> u64 {
        self.tape.capacity_bytes
    }

    /// Offset and length of each write of an epoch, in bytes.
    pub fn ranges(&self, epoch: &Epoch) -> Vec<(u64, u64)> {
        epoch.writes.iter().filter_map(|&index| self.tape.entries[index].range()).collect()
    }

    /// The lines printed by the end of an epoch.
    pub fn printed_by(&self, epoch: &Epoch) -> Vec<u8> {
        let mut text = Vec::new();
        for entry in &self.tape.entries[..epoch.end] {
            if let Entry::Printed(line) = entry {
                text.extend_from_slice(line);
                text.push(b'\n');
            }
        }
        text
    }

    /// Returns whether it has the epoch and the writes of a state.
    pub fn has(&self, state: &State) -> bool {
        self.epochs.get(state.epoch).is_some_and(|epoch| {
            let torn = state.torn.is_none_or(|(write, sectors)| {
                let range =
                    epoch.writes.get(write).and_then(|&index| self.tape.entries[index].range());
                // Some sectors survive, and some are lost.
                let parts =
                    range.is_some_and(|(_, bytes)| (1..bytes / SECTOR_BYTES).contains(&sectors));
                parts && !state.lost.contains(&write)
            });
            torn && state.lost.last().is_none_or(|last| *last < epoch.writes.len())
        })
    }
}

fn blocks(entry: &Entry) -> std::ops::Range<u64> {
    entry.range().map_or(0..0, |(offset, bytes)| {
        offset / BLOCK_BYTES..(offset + bytes).div_ceil(BLOCK_BYTES)
    })
}

type Block = [u8; BLOCK_BYTES as usize];

/// A state that can be read and written.
#[derive(Debug)]
pub(crate) struct View {
    recording: Arc<Recording>,
    epoch: usize,
    /// Entries before this one survive completely.
    before: u32,
    /// The surviving later entries, each with its surviving length.
    kept: HashMap<u32, u64>,
    /// Blocks written to the view itself.
    own: HashMap<u64, Box<Block>>,
    /// The first error when reading the recording.
    broke: OnceCell<io::Error>,
}

impl View {
    /// A state of a recording.
    ///
    /// # Panics
    /// If no power cut during the recording could have left it ([`Recording::has`]).
    pub(crate) fn new(recording: Arc<Recording>, state: &State) -> View {
        assert!(recording.has(state), "no power cut could have left state {state}");
        let epoch = &recording.epochs[state.epoch];
        let before = match state.epoch.checked_sub(1) {
            Some(last) => recording.epochs[last].end,
            None => 0,
        };
        let mut kept = HashMap::new();
        for (number, &index) in epoch.writes.iter().enumerate() {
            if state.lost.contains(&number) {
                continue;
            }
            let whole = recording.tape.entries[index].range().map_or(0, |(_, bytes)| bytes);
            let bytes = match state.torn {
                Some((torn, sectors)) if torn == number => whole.min(sectors * SECTOR_BYTES),
                _ => whole,
            };
            kept.insert(index as u32, bytes);
        }
        View {
            recording,
            epoch: state.epoch,
            before: before as u32,
            kept,
            own: HashMap::new(),
            broke: OnceCell::new(),
        }
    }

    /// Reads a range, which must be within the drive.
    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        in_blocks(offset, buffer.len(), |block, within, part| {
            match self.own.get(&block) {
                Some(own) => {
                    buffer[part.clone()].copy_from_slice(&own[within..within + part.len()]);
                }
                None => buffer[part.clone()]
                    .copy_from_slice(&self.recorded(block)?[within..within + part.len()]),
            }
            Ok(())
        })
    }

    /// Writes to this view only.
    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        in_blocks(offset, data.len(), |block, within, part| {
            if !self.own.contains_key(&block) {
                let whole = part.len() == BLOCK_BYTES as usize;
                let held = if whole { [0; BLOCK_BYTES as usize] } else { self.recorded(block)? };
                self.own.insert(block, Box::new(held));
            }
            if let Some(own) = self.own.get_mut(&block) {
                own[within..within + part.len()].copy_from_slice(&data[part]);
            }
            Ok(())
        })
    }

    /// The error that kept it from being read correctly, if any: its reader only sees an I/O error,
    /// as from a drive.
    pub(crate) fn into_broke(self) -> Option<io::Error> {
        self.broke.into_inner()
    }

    /// The recording's content of a block.
    fn recorded(&self, block: u64) -> io::Result<Block> {
        let tape = &self.recording.tape;
        let read = tape.block(block, |index| {
            let (offset, bytes) = tape.entries[index as usize].range()?;
            if index < self.before {
                Some((offset, bytes))
            } else {
                self.kept.get(&index).map(|bytes| (offset, *bytes))
            }
        });
        read.inspect_err(|error| {
            drop(self.broke.set(io::Error::new(error.kind(), error.to_string())));
        })
    }

    /// A hash of the content: equal states need to be checked only once. It covers only what the
    /// last epoch touched, so compare it only within one epoch.
    pub(crate) fn fingerprint(&self) -> io::Result<u64> {
        use std::hash::{DefaultHasher, Hasher as _};
        let mut touched: Vec<u64> = Vec::new();
        for &index in &self.recording.epochs[self.epoch].writes {
            touched.extend(blocks(&self.recording.tape.entries[index]));
        }
        touched.sort_unstable();
        touched.dedup();
        let mut hasher = DefaultHasher::new();
        for block in touched {
            hasher.write_u64(block);
            hasher.write(&self.recorded(block)?);
        }
        Ok(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::log::LogWriter;

    /// A capacity that is not a multiple of the block size.
    const CAPACITY: u64 = (64 << 10) + 1536;

    #[derive(Debug, Clone)]
    enum Did {
        Write(u64, u64, u8),
        Zeros(u64, u64),
        Flush,
    }

    fn did() -> impl Strategy<Value = Did> {
        let range = (0u64..100, 1u64..28);
        prop_oneof![
            6 => (range.clone(), 1u8..255).prop_map(|((first, count), value)| Did::Write(first, count, value)),
            1 => range.prop_map(|(first, count)| Did::Zeros(first, count)),
            2 => Just(Did::Flush),
        ]
    }

    proptest! {
        /// A view equals a copy of the image with the writes applied one after the other.
        #[test]
        fn a_view_is_the_copy_that_was_not_made(
            history in prop::collection::vec(did(), 1..60),
            pick: prop::sample::Index,
            keep in prop::collection::vec(any::<bool>(), 60),
            tear in prop::option::of((0usize..60, 1u64..8)),
        ) {
            let base = tempfile::tempfile().unwrap();
            base.write_all_at(&vec![0xbb; CAPACITY as usize], 0).unwrap();
            let log = tempfile::NamedTempFile::new().unwrap();
            let mut writer = LogWriter::new(Arc::new(log.reopen().unwrap()));
            let mut entries = Vec::new();
            for did in &history {
                entries.push(match *did {
                    Did::Write(first, count, value) => writer.write(first * 512, &vec![value; (count * 512) as usize]).unwrap(),
                    Did::Zeros(first, count) => writer.zeros(first * 512, count * 512).unwrap(),
                    Did::Flush => writer.flush().unwrap(),
                });
            }
            writer.finish().unwrap();
            let mut tape = Tape::new(Arc::new(base), Arc::new(log.reopen().unwrap()), CAPACITY);
            entries.into_iter().for_each(|entry| tape.push(entry));
            let recording = Arc::new(Recording::new(tape));
            let number = pick.index(recording.epochs().len());
            let epoch = recording.epochs()[number].clone();
            let lost: BTreeSet<usize> = (0..epoch.writes.len()).filter(|&write| !keep[write]).collect();
            let ranges = recording.ranges(&epoch);
            let has_it = |write: usize, sectors: u64| ranges.get(write).is_some_and(|(_, bytes)| sectors < bytes / 512);
            let torn = tear.filter(|(write, sectors)| has_it(*write, *sectors) && !lost.contains(write));
            let state = State { epoch: number, lost, torn };
            prop_assert!(recording.has(&state));
            for write in 0..=ranges.len() {
                let whole = ranges.get(write).map_or(0, |(_, bytes)| bytes / 512);
                for sectors in [0, whole, whole + 1, 1 << 55, u64::MAX] {
                    let torn = State { torn: Some((write, sectors)), ..State::whole(number) };
                    prop_assert!(!recording.has(&torn), "{}", torn);
                }
            }
            // The copy.
            let mut expected = vec![0xbb; CAPACITY as usize];
            let before = number.checked_sub(1).map_or(0, |last| recording.epochs()[last].end);
            for (index, did) in history.iter().enumerate() {
                let place = epoch.writes.iter().position(|&write| write == index);
                let most = match place {
                    _ if index < before => u64::MAX,
                    Some(write) if state.lost.contains(&write) => 0,
                    Some(write) if torn.is_some_and(|(torn, _)| torn == write) => torn.unwrap().1,
                    Some(_) => u64::MAX,
                    None => 0,
                };
                let (first, count, value) = match *did {
                    Did::Write(first, count, value) => (first, count.min(most), value),
                    Did::Zeros(first, count) => (first, count.min(most), 0),
                    Did::Flush => continue,
                };
                expected[(first * 512) as usize..((first + count) * 512) as usize].fill(value);
            }
            let mut view = View::new(Arc::clone(&recording), &state);
            let mut held = vec![0; CAPACITY as usize];
            view.read(0, &mut held).unwrap();
            prop_assert!(held == expected);
            // The checker's writes stay in the view.
            view.write(1536, &[1; 5120]).unwrap();
            expected[1536..1536 + 5120].fill(1);
            view.read(0, &mut held).unwrap();
            prop_assert!(held == expected);
            let other = View::new(Arc::clone(&recording), &state);
            let again = View::new(recording, &state);
            prop_assert_eq!(other.fingerprint().unwrap(), again.fingerprint().unwrap());
        }
    }
}
