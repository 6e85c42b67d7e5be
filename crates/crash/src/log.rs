//! The log of what a command wrote to the drive, in order: one file, from which states can be
//! rebuilt at any time.
//!
//! ```text
//! entry   kind u8   offset u64   bytes u64   data (for a write: bytes)     little-endian numbers
//! kind    1 write, 2 zeros, 3 flush, 4 a line that the command printed (its bytes as data)
//! ```

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// Size of an entry without its data.
const HEADER_BYTES: u64 = 17;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Data was written.
    Write {
        /// Offset on the drive, in bytes.
        offset: u64,
        bytes: u64,
        /// Position of the data in the log file.
        data_at: u64,
    },
    /// Zeros were written, or a range was trimmed.
    Zeros {
        /// Offset on the drive, in bytes.
        offset: u64,
        bytes: u64,
    },
    /// A flush: everything before it is safe from here on.
    Flush,
    /// The command printed a line: whatever the line acknowledges had been acknowledged by now.
    Printed(Vec<u8>),
}

impl Entry {
    /// Offset and length of a write or of zeros.
    pub const fn range(&self) -> Option<(u64, u64)> {
        match self {
            Entry::Write { offset, bytes, .. } | Entry::Zeros { offset, bytes } => {
                Some((*offset, *bytes))
            }
            Entry::Flush | Entry::Printed(_) => None,
        }
    }

    /// Size of the entry in the log file.
    pub const fn log_bytes(&self) -> u64 {
        HEADER_BYTES
            + match self {
                Entry::Write { bytes, .. } => *bytes,
                Entry::Printed(line) => line.len() as u64,
                Entry::Zeros { .. } | Entry::Flush => 0,
            }
    }
}

#[derive(Debug)]
pub(crate) struct LogWriter {
    file: BufWriter<Arc<File>>,
    at: u64,
    /// The first error: a part of an entry may be in the file, so nothing can be appended.
    broken: Option<io::Error>,
}

impl LogWriter {
    /// The file must be empty.
    pub(crate) fn new(file: Arc<File>) -> LogWriter {
        LogWriter { file: BufWriter::with_capacity(1 << 20, file), at: 0, broken: None }
    }

    /// Returns whether it still records. It stops at its first error.
    pub(crate) fn is_whole(&self) -> io::Result<()> {
        match &self.broken {
            Some(error) => Err(again(error)),
            None => Ok(()),
        }
    }

    fn guarded(
        &mut self,
        work: impl FnOnce(&mut BufWriter<Arc<File>>) -> io::Result<()>,
    ) -> io::Result<()> {
        self.is_whole()?;
        work(&mut self.file).map_err(|error| {
            let told = again(&error);
            self.broken = Some(error);
            told
        })
    }

    fn put(&mut self, kind: u8, offset: u64, bytes: u64, data: &[u8]) -> io::Result<u64> {
        self.guarded(|file| {
            file.write_all(&[kind])?;
            file.write_all(&offset.to_le_bytes())?;
            file.write_all(&bytes.to_le_bytes())?;
            file.write_all(data)
        })?;
        let data_at = self.at + HEADER_BYTES;
        self.at = data_at + data.len() as u64;
        Ok(data_at)
    }

    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<Entry> {
        let bytes = data.len() as u64;
        let data_at = self.put(1, offset, bytes, data)?;
        // Flushed because it is read back through the file.
        self.guarded(BufWriter::flush)?;
        Ok(Entry::Write { offset, bytes, data_at })
    }

    pub(crate) fn zeros(&mut self, offset: u64, bytes: u64) -> io::Result<Entry> {
        self.put(2, offset, bytes, &[])?;
        Ok(Entry::Zeros { offset, bytes })
    }

    pub(crate) fn flush(&mut self) -> io::Result<Entry> {
        self.put(3, 0, 0, &[])?;
        Ok(Entry::Flush)
    }

    pub(crate) fn printed(&mut self, line: &[u8]) -> io::Result<Entry> {
        self.put(4, 0, line.len() as u64, line)?;
        Ok(Entry::Printed(line.to_vec()))
    }

    /// Makes the log durable.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.guarded(|file| {
            file.flush()?;
            file.get_ref().sync_data()
        })
    }
}

/// A copy of the error for another caller.
fn again(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Reads a log. An incomplete entry at the end is dropped.
pub(crate) fn read(file: &File) -> io::Result<Vec<Entry>> {
    let length = file.metadata()?.len();
    let mut entries = Vec::new();
    let mut at = 0;
    while at + HEADER_BYTES <= length {
        let mut header = [0; HEADER_BYTES as usize];
        file.read_exact_at(&mut header, at)?;
        let number = |from: usize| {
            header[from..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        let (offset, bytes) = (number(1), number(9));
        let data_at = at + HEADER_BYTES;
        let data_bytes = if matches!(header[0], 1 | 4) { bytes } else { 0 };
        let Some(end) = data_at.checked_add(data_bytes).filter(|end| *end <= length) else { break };
        entries.push(match header[0] {
            1 => Entry::Write { offset, bytes, data_at },
            2 => Entry::Zeros { offset, bytes },
            3 => Entry::Flush,
            4 => {
                let mut line = vec![0; bytes as usize];
                file.read_exact_at(&mut line, data_at)?;
                Entry::Printed(line)
            }
            kind => {
                let what = format!("the log has an entry of unknown kind {kind} at byte {at}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
        });
        at = end;
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_was_written_and_stops_at_a_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut writer = LogWriter::new(Arc::new(File::create(&path).unwrap()));
        let entries = vec![
            writer.write(4096, &[7; 1024]).unwrap(),
            writer.zeros(0, 8192).unwrap(),
            writer.flush().unwrap(),
            writer.printed(b"committed 1").unwrap(),
            writer.write(512, &[9; 512]).unwrap(),
        ];
        writer.finish().unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        assert_eq!(read(&file).unwrap(), entries);
        assert_eq!(
            entries.iter().map(Entry::log_bytes).sum::<u64>(),
            file.metadata().unwrap().len()
        );
        let Entry::Write { data_at, bytes, .. } = entries[4] else { panic!() };
        let mut data = [0; 512];
        file.read_exact_at(&mut data, data_at).unwrap();
        assert_eq!((data, bytes), ([9; 512], 512));
        // Wherever the file is cut off, the complete entries are read.
        let whole = std::fs::read(&path).unwrap();
        let ends = entries.iter().scan(0, |end, entry| {
            *end += entry.log_bytes();
            Some(*end)
        });
        let ends: Vec<u64> = ends.collect();
        for length in (0..=whole.len() as u64).rev() {
            file.set_len(length).unwrap();
            let there = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(read(&file).unwrap(), entries[..there], "{length}");
        }
        file.write_all_at(&whole, 0).unwrap();
        file.write_all_at(&[99], ends[1]).unwrap();
        let error = read(&file).unwrap_err().to_string();
        assert_eq!(error, "the log has an entry of unknown kind 99 at byte 1058");
    }

    /// Anything after a partial entry would be read as the rest of it.
    #[test]
    fn nothing_is_recorded_after_the_first_error() {
        let mut writer = LogWriter::new(Arc::new(File::create("/dev/full").unwrap()));
        writer.flush().unwrap();
        let full = io::ErrorKind::StorageFull;
        assert_eq!(writer.write(0, &[7; 512]).unwrap_err().kind(), full);
        assert_eq!(writer.is_whole().unwrap_err().kind(), full);
        // The disk may have free space again by now, but it is too late.
        writer.file = BufWriter::new(Arc::new(tempfile::tempfile().unwrap()));
        assert_eq!(writer.zeros(0, 512).unwrap_err().kind(), full);
        assert_eq!(writer.finish().unwrap_err().kind(), full);
        assert_eq!(writer.finish().unwrap_err().kind(), full);
        assert_eq!(writer.file.get_ref().metadata().unwrap().len(), 0);
    }
}
