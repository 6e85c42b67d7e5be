//! The drive that the command works on: before the recording begins a plain image, then a log on top of it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use crate::log::Recorder;
use crate::view::Tape;

/// A drive on its way into a recording.
#[derive(Debug)]
pub struct Recorded {
    base: Arc<File>,
    capacity_bytes: u64,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// Written straight into the base.
    Preparing { log: Arc<File> },
    /// Written into the log.
    Recording { recorder: Recorder, tape: Tape },
    /// What is written now is forgotten: the drive was taken away.
    Over,
}

impl Recorded {
    /// On a sparse base of that size and an empty log, both open for reading and writing.
    pub fn new(base: File, log: File, capacity_bytes: u64) -> Recorded {
        Recorded { base: Arc::new(base), capacity_bytes, stage: Stage::Preparing { log: Arc::new(log) } }
    }

    /// Its size.
    pub const fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// From now on everything is recorded.
    ///
    /// # Errors
    /// When the base cannot be made durable.
    pub fn begin(&mut self) -> io::Result<()> {
        self.base.sync_data()?;
        if let Stage::Preparing { log } = std::mem::replace(&mut self.stage, Stage::Over) {
            let tape = Tape::new(Arc::clone(&self.base), Arc::clone(&log), self.capacity_bytes);
            self.stage = Stage::Recording { recorder: Recorder::new(log), tape };
        }
        Ok(())
    }

    /// The command has printed a line.
    ///
    /// # Errors
    /// Those of the log.
    pub fn printed(&mut self, line: &[u8]) -> io::Result<()> {
        if let Stage::Recording { recorder, tape } = &mut self.stage {
            let entry = recorder.printed(line)?;
            tape.push(entry);
        }
        Ok(())
    }

    /// Whether all of it could be written down until now.
    ///
    /// # Errors
    /// The first one of the log.
    pub fn is_whole(&self) -> io::Result<()> {
        match &self.stage {
            Stage::Recording { recorder, .. } => recorder.is_whole(),
            Stage::Preparing { .. } | Stage::Over => Ok(()),
        }
    }

    /// The end; what was recorded.
    ///
    /// # Errors
    /// Those of the log.
    pub fn end(&mut self) -> io::Result<Option<Tape>> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Recording { mut recorder, tape } => {
                recorder.finish()?;
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
        match &mut self.stage {
            Stage::Preparing { .. } => self.base.write_all_at(data, offset),
            Stage::Recording { recorder, tape } => {
                let entry = recorder.write(offset, data)?;
                tape.push(entry);
                Ok(())
            }
            Stage::Over => Ok(()),
        }
    }

    pub(crate) fn zero(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        match &mut self.stage {
            Stage::Preparing { .. } => {
                let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
                Ok(rustix::fs::fallocate(&*self.base, flags, offset, bytes)?)
            }
            Stage::Recording { recorder, tape } => {
                let entry = recorder.zeros(offset, bytes)?;
                tape.push(entry);
                Ok(())
            }
            Stage::Over => Ok(()),
        }
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Stage::Recording { recorder, tape } = &mut self.stage {
            let entry = recorder.flush()?;
            tape.push(entry);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPACITY: u64 = 8192;

    fn on(log: File) -> (Recorded, File) {
        let base = tempfile::tempfile().unwrap();
        base.set_len(CAPACITY).unwrap();
        let held = base.try_clone().unwrap();
        (Recorded::new(base, log, CAPACITY), held)
    }

    fn byte(recorded: &Recorded, at: u64) -> u8 {
        let mut byte = [0];
        recorded.read(at, &mut byte).unwrap();
        byte[0]
    }

    #[test]
    fn what_is_written_goes_to_the_base_then_to_the_log_then_nowhere() {
        let (mut recorded, base) = on(tempfile::tempfile().unwrap());
        let each = |recorded: &mut Recorded, value: u8| {
            recorded.write(0, &[value; 4096]).unwrap();
            recorded.zero(512, 512).unwrap();
            recorded.printed(b"line").unwrap();
            recorded.flush().unwrap();
            [0, 512, 1024].map(|at| byte(recorded, at))
        };
        assert_eq!((each(&mut recorded, 1), recorded.end().unwrap().is_none()), ([1, 0, 1], true));
        let mut recorded = Recorded::new(base, tempfile::tempfile().unwrap(), CAPACITY);
        recorded.begin().unwrap();
        assert_eq!(byte(&recorded, 0), 1);
        assert_eq!(each(&mut recorded, 2), [2, 0, 2]);
        assert_eq!(recorded.end().unwrap().unwrap().entries().len(), 4);
        // The log was taken away, and what is written from now on is forgotten.
        assert_eq!(each(&mut recorded, 3), [1, 0, 1]);
        assert!(recorded.end().unwrap().is_none());
    }

    #[test]
    fn a_log_that_is_full_is_not_whole() {
        let (mut recorded, _base) = on(File::options().read(true).write(true).open("/dev/full").unwrap());
        recorded.begin().unwrap();
        recorded.is_whole().unwrap();
        let full = io::ErrorKind::StorageFull;
        assert_eq!(recorded.write(0, &[1; 512]).unwrap_err().kind(), full);
        assert_eq!(recorded.is_whole().unwrap_err().kind(), full);
        assert_eq!(recorded.end().unwrap_err().kind(), full);
    }
}
