//! The drive that the command works on: a plain image before the recording starts, then a log on
//! top of it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::log::LogWriter;
use crate::printed::{Lines, Pipe};
use crate::view::Tape;

/// A drive that is being recorded.
///
/// The command's output is read before each of its writes and flushes is recorded. So a line
/// printed before a flush started precedes that flush in the log, even if our threads are scheduled
/// late.
#[derive(Debug)]
pub(crate) struct Recorded {
    base: Arc<File>,
    capacity_bytes: u64,
    stage: Stage,
    pipe: Pipe,
    lines: Lines,
}

#[derive(Debug)]
enum Stage {
    /// Writes go directly to the base image.
    Preparing { log: Arc<File> },
    /// Writes go to the log.
    Recording { writer: LogWriter, tape: Tape },
    /// Writes are discarded: the recording has ended.
    Over,
}

impl Stage {
    fn note(&mut self, line: &[u8]) -> io::Result<()> {
        if let Stage::Recording { writer, tape } = self {
            tape.push(writer.printed(line)?);
        }
        Ok(())
    }
}

impl Recorded {
    /// Uses a sparse base of that size and an empty log, both open for reading and writing; `pipe`
    /// delivers the command's output.
    pub(crate) fn new(base: File, log: File, pipe: Pipe, capacity_bytes: u64) -> Recorded {
        Recorded {
            base: Arc::new(base),
            capacity_bytes,
            stage: Stage::Preparing { log: Arc::new(log) },
            pipe,
            lines: Lines::default(),
        }
    }

    pub(crate) const fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// Starts recording.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        self.base.sync_data()?;
        if let Stage::Preparing { log } = std::mem::replace(&mut self.stage, Stage::Over) {
            let tape = Tape::new(Arc::clone(&self.base), Arc::clone(&log), self.capacity_bytes);
            self.stage = Stage::Recording { writer: LogWriter::new(log), tape };
        }
        Ok(())
    }

    /// Records the lines that the command has printed so far. Returns `false` when no process can
    /// print any more.
    pub(crate) fn note_lines(&mut self) -> io::Result<bool> {
        let Recorded { pipe, lines, stage, .. } = self;
        pipe.drain(|piece| lines.add(piece, |line| stage.note(line)))
    }

    /// Records the last line after the command has ended, with or without a line end.
    pub(crate) fn note_last_line(&mut self) -> io::Result<()> {
        self.note_lines()?;
        match std::mem::take(&mut self.lines).unfinished() {
            Some(line) => self.stage.note(&line),
            None => Ok(()),
        }
    }

    /// Returns whether everything so far has been recorded.
    pub(crate) fn is_whole(&self) -> io::Result<()> {
        match &self.stage {
            Stage::Recording { writer, .. } => writer.is_whole(),
            Stage::Preparing { .. } | Stage::Over => Ok(()),
        }
    }

    pub(crate) fn end(&mut self) -> io::Result<Option<Tape>> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Recording { mut writer, tape } => {
                writer.finish()?;
                Ok(Some(tape))
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match &self.stage {
            Stage::Recording { tape, .. } => tape.read(offset, buffer),
            _ => self.base.read_exact_at(buffer, offset),
        }
    }

    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.note_lines()?;
        match &mut self.stage {
            Stage::Preparing { .. } => self.base.write_all_at(data, offset),
            Stage::Recording { writer, tape } => {
                let entry = writer.write(offset, data)?;
                tape.push(entry);
                Ok(())
            }
            Stage::Over => Ok(()),
        }
    }

    pub(crate) fn zero(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        self.note_lines()?;
        match &mut self.stage {
            Stage::Preparing { .. } => {
                let flags =
                    rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
                Ok(rustix::fs::fallocate(&*self.base, flags, offset, bytes)?)
            }
            Stage::Recording { writer, tape } => {
                let entry = writer.zeros(offset, bytes)?;
                tape.push(entry);
                Ok(())
            }
            Stage::Over => Ok(()),
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.note_lines()?;
        if let Stage::Recording { writer, tape } = &mut self.stage {
            let entry = writer.flush()?;
            tape.push(entry);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::log::Entry;
    use crate::printed::until_the_end;

    const CAPACITY: u64 = 8192;

    fn on(log: File) -> (Recorded, File, io::PipeWriter) {
        let base = tempfile::tempfile().unwrap();
        base.set_len(CAPACITY).unwrap();
        let held = base.try_clone().unwrap();
        let (reader, printer) = io::pipe().unwrap();
        (Recorded::new(base, log, Pipe::new(reader.into()).unwrap(), CAPACITY), held, printer)
    }

    fn byte(recorded: &Recorded, at: u64) -> u8 {
        let mut byte = [0];
        recorded.read(at, &mut byte).unwrap();
        byte[0]
    }

    #[test]
    fn what_is_written_goes_to_the_base_then_to_the_log_then_nowhere() {
        let (mut recorded, base, mut printer) = on(tempfile::tempfile().unwrap());
        let each = |recorded: &mut Recorded, printer: &mut io::PipeWriter, value: u8| {
            recorded.write(0, &[value; 4096]).unwrap();
            recorded.zero(512, 512).unwrap();
            writeln!(printer, "line").unwrap();
            recorded.flush().unwrap();
            [0, 512, 1024].map(|at| byte(recorded, at))
        };
        assert_eq!(
            (each(&mut recorded, &mut printer, 1), recorded.end().unwrap().is_none()),
            ([1, 0, 1], true)
        );
        let (reader, mut printer) = io::pipe().unwrap();
        let pipe = Pipe::new(reader.into()).unwrap();
        let mut recorded = Recorded::new(base, tempfile::tempfile().unwrap(), pipe, CAPACITY);
        recorded.begin().unwrap();
        assert_eq!(byte(&recorded, 0), 1);
        assert_eq!(each(&mut recorded, &mut printer, 2), [2, 0, 2]);
        assert_eq!(recorded.end().unwrap().unwrap().entries().len(), 4);
        // The log was returned, and further writes are discarded.
        assert_eq!(each(&mut recorded, &mut printer, 3), [1, 0, 1]);
        assert!(recorded.end().unwrap().is_none());
    }

    #[test]
    fn a_line_stands_before_the_flush_that_the_command_asked_for_after_it() {
        let (mut recorded, _base, mut printer) = on(tempfile::tempfile().unwrap());
        recorded.begin().unwrap();
        recorded.write(0, &[1; 512]).unwrap();
        write!(printer, "done\nand").unwrap();
        recorded.flush().unwrap();
        writeln!(printer, " on").unwrap();
        recorded.zero(0, 512).unwrap();
        write!(printer, "last").unwrap();
        drop(printer);
        recorded.note_last_line().unwrap();
        until_the_end(|| !recorded.note_lines().unwrap());
        let tape = recorded.end().unwrap().unwrap();
        let name = |entry: &Entry| match entry {
            Entry::Write { .. } => "write".to_owned(),
            Entry::Zeros { .. } => "zeros".to_owned(),
            Entry::Flush => "flush".to_owned(),
            Entry::Printed(line) => String::from_utf8(line.clone()).unwrap(),
        };
        let entries: Vec<String> = tape.entries().iter().map(name).collect();
        assert_eq!(entries, ["write", "done", "flush", "and on", "zeros", "last"]);
    }

    #[test]
    fn a_log_that_is_full_is_not_whole() {
        let (mut recorded, _base, _printer) =
            on(File::options().read(true).write(true).open("/dev/full").unwrap());
        recorded.begin().unwrap();
        recorded.is_whole().unwrap();
        let full = io::ErrorKind::StorageFull;
        assert_eq!(recorded.write(0, &[1; 512]).unwrap_err().kind(), full);
        assert_eq!(recorded.is_whole().unwrap_err().kind(), full);
        assert_eq!(recorded.end().unwrap_err().kind(), full);
    }
}
