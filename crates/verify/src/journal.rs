//! The journal: an append-only file on another drive or machine.
//!
//! ```text
//! 0 "flushmark journl" (16) | 16 format (4) | 20 frames, as in the module `message`
//! ```
//!
//! A power cut may tear whatever was not yet synced, and leave any part of it. So the journal is
//! read up to the first unreadable frame, and the rest is cut off before anything is appended.
//! Unreadable data that had been synced is damage; then nothing is appended, because that would cut
//! off whatever follows. To distinguish the two, a frame after each sync marks how far it reached.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use crate::error::VerifyError;
use crate::ledger::Ledger;
use crate::message::{FRAME_BYTES_MAX, Framed, Message, frame, unframe};

/// The first bytes of a journal.
const MAGIC: [u8; 16] = *b"flushmark journl";
const FORMAT: u32 = 1;
const HEAD_BYTES: usize = 20;
/// A frame of a mark: length and checksum, time, kind, and how far the sync reached.
const MARK_BYTES: usize = 8 + MARK_LENGTH as usize;
const MARK_LENGTH: u32 = 8 + 1 + 8;

/// A journal open for writing.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadJournal {
    pub ledger: Ledger,
    /// End of the readable part; `None` if that is the end of the file.
    pub cut_off: Option<CutOff>,
}

/// The end of the readable part of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutOff {
    /// End of the last whole frame.
    pub at_bytes: u64,
    /// Number of bytes after it.
    pub lost_bytes: u64,
    /// True if these bytes had been synced: then this is damage and not a torn end.
    pub is_damage: bool,
}

impl Journal {
    /// Opens a journal to continue it, or creates one. A torn end is cut off, so that what is
    /// appended can be read.
    pub fn open(path: &Path) -> Result<(Journal, ReadJournal), VerifyError> {
        let call = |action| VerifyError::call(action, path);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(call("open the journal"))?;
        // Two writers would interleave their runs.
        if rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(VerifyError::Busy { path: path.to_owned() });
        }
        let size_bytes = file.metadata().map_err(call("read the size of the journal"))?.len();
        let mut journal = Journal { file, path: path.to_owned(), size_bytes };
        if size_bytes < HEAD_BYTES as u64 {
            let mut there = Vec::new();
            (&journal.file).read_to_end(&mut there).map_err(call("read the journal"))?;
            if !MAGIC.starts_with(&there[..there.len().min(MAGIC.len())]) {
                return Err(VerifyError::NoJournal { path: path.to_owned() });
            }
            journal.cut_to(0).map_err(call("begin the journal"))?;
            journal
                .append(&[&MAGIC[..], &FORMAT.to_le_bytes()].concat())
                .map_err(call("begin the journal"))?;
            journal.file.sync_all().map_err(call("sync the journal"))?;
            sync_directory_of(path).map_err(call("sync the directory of the journal"))?;
            return Ok((journal, ReadJournal { ledger: Ledger::default(), cut_off: None }));
        }
        let read = read(path)?;
        if let Some(cut_off) = read.cut_off {
            if cut_off.is_damage {
                return Err(VerifyError::JournalDamaged {
                    path: path.to_owned(),
                    at_bytes: cut_off.at_bytes,
                });
            }
            journal
                .cut_to(cut_off.at_bytes)
                .map_err(call("cut off the torn end of the journal"))?;
        }
        Ok((journal, read))
    }

    /// Appends a message, which is not durable before [`Journal::sync`].
    pub fn add(&mut self, at_us: u64, message: &Message) -> io::Result<()> {
        self.append(&frame(at_us, message))
    }

    /// Makes everything that was added durable.
    ///
    /// # Errors
    /// Errors of the system calls. After an error, nothing more may be acknowledged.
    pub fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()?;
        self.synced(self.size_bytes)
    }

    /// A second handle, for a thread that syncs while others append. It reads
    /// [`Journal::size_bytes`] before its sync and passes that to [`Journal::synced`] afterwards.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Marks that a sync has returned that began at this size. The next sync makes the mark
    /// durable.
    pub fn synced(&mut self, to_bytes: u64) -> io::Result<()> {
        self.append(&frame(0, &Message::Synced { to_bytes }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.size_bytes += bytes.len() as u64;
        Ok(())
    }

    fn cut_to(&mut self, size_bytes: u64) -> io::Result<()> {
        self.file.set_len(size_bytes)?;
        self.size_bytes = size_bytes;
        Ok(())
    }
}

fn sync_directory_of(path: &Path) -> io::Result<()> {
    let parent =
        path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}

/// Reads a journal.
///
/// # Errors
/// If it cannot be read, is not a journal, or contradicts itself. A torn end is not an error.
pub fn read(path: &Path) -> Result<ReadJournal, VerifyError> {
    let call = |action| VerifyError::call(action, path);
    let no_journal = || VerifyError::NoJournal { path: path.to_owned() };
    let mut file = File::open(path).map_err(call("open the journal"))?;
    let size = file.metadata().map_err(call("read the size of the journal"))?.len();
    let mut head = [0; HEAD_BYTES];
    file.read_exact(&mut head).map_err(|_| no_journal())?;
    if head[..16] != MAGIC {
        return Err(no_journal());
    }
    if head[16..] != FORMAT.to_le_bytes() {
        return Err(VerifyError::NewerFormat { path: path.to_owned() });
    }
    let mut ledger = Ledger::default();
    let mut pending = Vec::with_capacity(2 * FRAME_BYTES_MAX);
    let mut at_bytes = HEAD_BYTES as u64;
    let mut piece = vec![0; FRAME_BYTES_MAX];
    'file: loop {
        let count = file.read(&mut piece).map_err(call("read the journal"))?;
        pending.extend_from_slice(&piece[..count]);
        let mut used = 0;
        loop {
            match unframe(&pending[used..]) {
                Framed::Whole(at_us, message, bytes) => {
                    let contradiction = |what: crate::obligations::Inconsistent| {
                        VerifyError::JournalContradicts { path: path.to_owned(), what: what.0 }
                    };
                    ledger.apply(at_us, &message).map_err(contradiction)?;
                    used += bytes;
                }
                Framed::Partial => break,
                Framed::Nonsense(_) => {
                    at_bytes += used as u64;
                    break 'file;
                }
            }
        }
        at_bytes += used as u64;
        pending.drain(..used);
        if count == 0 {
            break;
        }
    }
    let lost_bytes = size.saturating_sub(at_bytes);
    let mut cut_off = None;
    if lost_bytes > 0 {
        let is_damage = was_safe(&mut file, at_bytes).map_err(call("read the journal"))?;
        cut_off = Some(CutOff { at_bytes, lost_bytes, is_damage });
    }
    Ok(ReadJournal { ledger, cut_off })
}

/// Returns whether data at an unreadable position had been synced: a later mark shows that. Damage
/// may hide where frames begin, so every offset is tried.
fn was_safe(file: &mut File, at_bytes: u64) -> io::Result<bool> {
    let mut begins_at = at_bytes + 1;
    file.seek(io::SeekFrom::Start(begins_at))?;
    let mut pending = Vec::with_capacity(2 * FRAME_BYTES_MAX);
    let mut piece = vec![0; FRAME_BYTES_MAX];
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok(false);
        }
        pending.extend_from_slice(&piece[..count]);
        let marks = (begins_at..).zip(pending.windows(MARK_BYTES));
        let mut reaches = marks.filter_map(|(at, bytes)| Some((at, marked(bytes)?)));
        // A mark cannot cover what follows it.
        if reaches.any(|(at, to_bytes)| (at_bytes + 1..=at).contains(&to_bytes)) {
            return Ok(true);
        }
        let tried = pending.len().saturating_sub(MARK_BYTES - 1);
        pending.drain(..tried);
        begins_at += tried as u64;
    }
}

/// The extent of the sync that these bytes mark, if they are a mark.
fn marked(bytes: &[u8]) -> Option<u64> {
    // Avoids computing the checksum nearly everywhere.
    if !bytes.starts_with(&MARK_LENGTH.to_le_bytes()) {
        return None;
    }
    match unframe(bytes) {
        Framed::Whole(_, Message::Synced { to_bytes }, _) => Some(to_bytes),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontier::Frontier;
    use crate::run_header::tests::sample;

    fn written(directory: &Path) -> PathBuf {
        let path = directory.join("journal");
        let (mut journal, before) = Journal::open(&path).unwrap();
        assert_eq!(before, ReadJournal { ledger: Ledger::default(), cut_off: None });
        journal.add(0, &Message::Begin(Box::new(sample()))).unwrap();
        journal.add(1, &Message::Lease(vec![(0, 100), (1, 100)])).unwrap();
        for seq in 1..=20 {
            let frontier = Frontier { completed: seq * 2, durable: seq * 2 };
            journal.add(seq * 1000, &Message::Acknowledge(vec![(0, frontier)])).unwrap();
        }
        journal.sync().unwrap();
        path
    }

    #[test]
    fn a_journal_is_read_up_to_its_cut_wherever_that_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path());
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(read(&path).unwrap().cut_off, None);
        let mut durable_before = 40;
        for end in (HEAD_BYTES..whole.len()).rev() {
            std::fs::write(&path, &whole[..end]).unwrap();
            let read = read(&path).unwrap();
            let durable = read
                .ledger
                .cycles
                .last()
                .map_or(0, |cycle| cycle.obligations.lanes[0].frontier.durable);
            assert!(durable <= durable_before, "{end}");
            durable_before = durable;
            let at =
                read.cut_off.map_or(end as u64, |cut_off| cut_off.at_bytes + cut_off.lost_bytes);
            assert_eq!(at, end as u64);
        }
    }

    #[test]
    fn what_follows_a_cut_can_be_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path());
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let (mut journal, before) = Journal::open(&path).unwrap();
        assert!(before.cut_off.is_some());
        journal.add(99_000, &Message::End("done".to_owned())).unwrap();
        drop(journal);
        let after = read(&path).unwrap();
        assert_eq!(after.cut_off, None);
        assert_eq!(after.ledger.cycles[0].ended.as_deref(), Some("done"));
    }

    #[test]
    fn one_damaged_frame_destroys_nothing_after_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path());
        let whole = std::fs::read(&path).unwrap();
        let second = match unframe(&whole[HEAD_BYTES..]) {
            Framed::Whole(_, _, bytes) => HEAD_BYTES + bytes,
            other => panic!("{other:?}"),
        };
        // The body, the checksum, and a length that reaches beyond the end.
        for (at, value) in [(second + 20, 0xff), (second + 5, 0xff), (second + 1, 0xf0)] {
            let mut damaged = whole.clone();
            damaged[at] = value;
            std::fs::write(&path, &damaged).unwrap();
            let cut_off = read(&path).unwrap().cut_off.unwrap();
            assert_eq!((cut_off.at_bytes, cut_off.is_damage), (second as u64, true));
            assert!(matches!(Journal::open(&path), Err(VerifyError::JournalDamaged { .. })));
            assert_eq!(std::fs::read(&path).unwrap(), damaged, "nothing was cut off");
        }
    }

    #[test]
    fn whole_frames_after_a_torn_one_are_cut_off_if_not_synced() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path());
        let safe = std::fs::read(&path).unwrap().len();
        let (mut journal, _) = Journal::open(&path).unwrap();
        for seq in 21..=200 {
            let frontier = Frontier { completed: seq * 2, durable: seq * 2 };
            journal.add(seq * 1000, &Message::Acknowledge(vec![(0, frontier)])).unwrap();
        }
        drop(journal);
        // As after a power cut, if the kernel had written the later page and not the earlier one.
        let mut torn = std::fs::read(&path).unwrap();
        assert!(torn.len() > safe + 4096);
        torn[safe..safe + 2048].fill(0);
        std::fs::write(&path, &torn).unwrap();
        let (mut journal, before) = Journal::open(&path).unwrap();
        let cut_off = before.cut_off.unwrap();
        assert_eq!((cut_off.at_bytes, cut_off.is_damage), (safe as u64, false));
        assert_eq!(before.ledger.cycles[0].obligations.lanes[0].frontier.durable, 40);
        journal.add(99_000, &Message::End("done".to_owned())).unwrap();
        journal.sync().unwrap();
        drop(journal);
        let after = read(&path).unwrap();
        assert_eq!((after.cut_off, after.ledger.cycles[0].ended.as_deref()), (None, Some("done")));
        // After a sync, the same would be damage.
        let mark = frame(0, &Message::Synced { to_bytes: torn.len() as u64 });
        std::fs::write(&path, [torn, mark].concat()).unwrap();
        assert!(matches!(Journal::open(&path), Err(VerifyError::JournalDamaged { .. })));
    }

    #[test]
    fn the_mark_is_found_after_any_amount_of_damage() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path());
        let whole = std::fs::read(&path).unwrap();
        // A sequence of lengths, each of which promises a long frame.
        let lengths = |bytes: usize| -> Vec<u8> {
            [0xff, 0xff, 0, 0].into_iter().cycle().take(bytes).collect()
        };
        // The mark is at every position within a read.
        let sizes = (FRAME_BYTES_MAX - 2 * MARK_BYTES..=FRAME_BYTES_MAX + 1).chain([4 << 20]);
        for size in sizes {
            let damage = lengths(size);
            let to_bytes = (whole.len() + size) as u64;
            let with = |to_bytes| {
                let mark = frame(0, &Message::Synced { to_bytes });
                std::fs::write(&path, [&whole[..], &damage, &mark].concat()).unwrap();
                read(&path).unwrap().cut_off.unwrap()
            };
            let expected = CutOff {
                at_bytes: whole.len() as u64,
                lost_bytes: (size + MARK_BYTES) as u64,
                is_damage: true,
            };
            assert_eq!(with(to_bytes), expected);
            assert_eq!(with(whole.len() as u64 + 1), expected);
            // A mark that covers only the readable part, and one that covers more than there was.
            assert!(!with(whole.len() as u64).is_damage);
            assert!(!with(to_bytes + 1).is_damage);
        }
    }

    #[test]
    fn trailing_zeros_are_a_torn_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = written(directory.path());
        // As left by filesystems that extend a file before its content is written.
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], &[0; 5000]].concat()).unwrap();
        let (_, before) = Journal::open(&path).unwrap();
        assert_eq!(
            before.cut_off.map(|cut_off| (cut_off.lost_bytes, cut_off.is_damage)),
            Some((5000, false))
        );
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }

    #[test]
    fn another_file_is_not_a_journal_and_stays_unchanged() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("letter");
        for content in ["Dear Sir", "Dear Sir or Madam, this is longer than a head."] {
            std::fs::write(&path, content).unwrap();
            assert!(matches!(Journal::open(&path), Err(VerifyError::NoJournal { .. })));
            assert!(matches!(read(&path), Err(VerifyError::NoJournal { .. })));
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
        }
    }

    #[test]
    fn two_writers_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("journal");
        let _first = Journal::open(&path).unwrap();
        assert!(matches!(Journal::open(&path), Err(VerifyError::Busy { .. })));
    }
}
