//! A real file or device, accessed by plain system calls, or by io_uring for FUA writes on raw
//! devices.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use drive::DirectIo;
use engine::{DurableWrites, open_flags};
use rustix::fs::{Mode, OFlags, SeekFrom, fdatasync, fsync, seek};
use rustix::io::{Errno, IoSlice, ReadWriteFlags, pwritev2};
use workload::OpenFlag;

use crate::aligned::AlignedBlock;
use crate::disk::{Disk, OpenDisk};
use crate::run_header::{FuaPath, SyncMethod};

/// A file or device, and how lanes use it. Each thread opens it separately: a sync error is
/// reported once per open file, and a ring belongs to a thread.
#[derive(Debug, Clone)]
pub struct DiskSpec {
    pub path: PathBuf,
    /// True if lanes bypass the page cache.
    pub direct: bool,
    pub flush_method: SyncMethod,
    /// Write method of FUA lanes.
    pub fua_method: SyncMethod,
    /// Path of FUA writes to the kernel.
    pub fua_path: FuaPath,
}

/// An open file or device.
#[derive(Debug)]
pub struct FileDisk {
    file: File,
    sync: fn(&File) -> Result<(), Errno>,
    durable: Durable,
    size_bytes: u64,
    alignment_bytes: u64,
}

/// The method for durable writes.
#[derive(Debug)]
enum Durable {
    Not,
    Flagged,
    OpenedSo(File),
    Queued(Box<DurableWrites>),
}

impl DiskSpec {
    /// Opens the storage for a lane. `with_fua` prepares for FUA writes.
    pub fn open(&self, with_fua: bool) -> io::Result<FileDisk> {
        let durable = if with_fua { self.durable()? } else { Durable::Not };
        let file = open(&self.path, OFlags::RDWR | direct_flag(self.direct))?;
        let sync = if self.flush_method == SyncMethod::Fdatasync {
            |file: &File| fdatasync(file)
        } else {
            |file: &File| fsync(file)
        };
        FileDisk::of(file, sync, durable, self.direct)
    }

    fn durable(&self) -> io::Result<Durable> {
        let dsync = self.fua_method == SyncMethod::ODsync;
        let durable = dsync.then_some(OpenFlag::ODsync);
        let flags = OFlags::RDWR | direct_flag(self.direct) | open_flags(durable);
        let file = open(&self.path, flags)?;
        Ok(match (self.fua_path, dsync) {
            (FuaPath::IoUring, _) => {
                let flags = if dsync { ReadWriteFlags::empty() } else { ReadWriteFlags::DSYNC };
                // The ring keeps the file open.
                Durable::Queued(Box::new(DurableWrites::new(file.as_fd(), flags)?))
            }
            (FuaPath::Blocking, true) => Durable::OpenedSo(file),
            (FuaPath::Blocking, false) => Durable::Flagged,
        })
    }
}

impl OpenDisk for DiskSpec {
    type Disk = FileDisk;

    fn open_disk(&self, with_fua: bool) -> io::Result<FileDisk> {
        self.open(with_fua)
    }
}

/// Opens a target for reading, with direct I/O if possible. Also returns whether direct I/O is
/// used.
pub(crate) fn open_to_read(path: &Path) -> io::Result<(FileDisk, bool)> {
    let sync = |file: &File| fsync(file);
    let (file, direct) = match open(path, OFlags::RDONLY | OFlags::DIRECT) {
        // Some filesystems accept O_DIRECT and use the page cache all the same.
        Ok(file) => {
            let direct = DirectIo::of(&file) != Some(DirectIo::Unsupported);
            (file, direct)
        }
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
            (open(path, OFlags::RDONLY)?, false)
        }
        Err(error) => return Err(error),
    };
    if !direct {
        // Drop cached pages: they may differ from what the drive holds.
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    }
    Ok((FileDisk::of(file, sync, Durable::Not, direct)?, direct))
}

fn direct_flag(direct: bool) -> OFlags {
    if direct { OFlags::DIRECT } else { OFlags::empty() }
}

fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    Ok(rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?.into())
}

impl FileDisk {
    fn of(
        file: File,
        sync: fn(&File) -> Result<(), Errno>,
        durable: Durable,
        direct: bool,
    ) -> io::Result<FileDisk> {
        // A device has no file length, so seek to its end.
        let size_bytes = seek(&file, SeekFrom::End(0))?;
        // Direct I/O may need larger pieces than the logical block, which is still the unit of
        // atomic writes.
        let alignment_bytes = match DirectIo::of(&file).filter(|_| direct) {
            Some(DirectIo::Aligned { offset_bytes, .. }) => u64::from(offset_bytes),
            _ => 1,
        };
        Ok(FileDisk { file, sync, durable, size_bytes, alignment_bytes })
    }
}

/// A short write may have left a partial block, so it is an error here.
fn whole(moved: usize, block: &[u8]) -> io::Result<()> {
    if moved == block.len() {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::WriteZero,
            format!("only {moved} of {} bytes were written", block.len()),
        ))
    }
}

impl Disk for FileDisk {
    #[inline]
    fn write(&mut self, offset_bytes: u64, block: &[u8]) -> io::Result<()> {
        whole(
            rustix::io::retry_on_intr(|| rustix::io::pwrite(&self.file, block, offset_bytes))?,
            block,
        )
    }

    #[inline]
    fn write_durably(&mut self, offset_bytes: u64, block: &[u8]) -> io::Result<()> {
        let moved = match &mut self.durable {
            Durable::Queued(writes) => writes.write(block, offset_bytes)?,
            Durable::OpenedSo(file) => rustix::io::pwrite(file, block, offset_bytes)?,
            Durable::Flagged => {
                pwritev2(&self.file, &[IoSlice::new(block)], offset_bytes, ReadWriteFlags::DSYNC)?
            }
            Durable::Not => return Err(io::ErrorKind::Unsupported.into()),
        };
        whole(moved, block)
    }

    #[inline]
    fn sync(&mut self) -> io::Result<()> {
        Ok((self.sync)(&self.file)?)
    }

    fn read(&mut self, offset_bytes: u64, block: &mut [u8]) -> io::Result<()> {
        let beyond = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), "the block is beyond the end of the target")
            }
            _ => error,
        };
        let end_bytes = offset_bytes + block.len() as u64;
        let from_bytes = offset_bytes - offset_bytes % self.alignment_bytes;
        let to_bytes = end_bytes.next_multiple_of(self.alignment_bytes);
        if (from_bytes, to_bytes) == (offset_bytes, end_bytes) {
            return self.file.read_exact_at(block, offset_bytes).map_err(beyond);
        }
        let mut wide = AlignedBlock::new((to_bytes - from_bytes) as usize);
        self.file.read_exact_at(wide.bytes_mut(), from_bytes).map_err(beyond)?;
        let skipped = (offset_bytes - from_bytes) as usize;
        block.copy_from_slice(&wide.bytes()[skipped..skipped + block.len()]);
        Ok(())
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written_by(fua_method: SyncMethod, fua_path: FuaPath) -> Option<Vec<u8>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("disk");
        std::fs::write(&path, vec![0; 16384]).unwrap();
        let spec = DiskSpec {
            path: path.clone(),
            direct: false,
            flush_method: SyncMethod::Fdatasync,
            fua_method,
            fua_path,
        };
        let mut disk = spec.open(true).ok()?;
        let mut block = AlignedBlock::new(4096);
        block.bytes_mut().fill(1);
        disk.write(0, block.bytes()).unwrap();
        disk.sync().unwrap();
        block.bytes_mut().fill(2);
        disk.write_durably(4096, block.bytes()).unwrap();
        disk.read(4096, block.bytes_mut()).unwrap();
        assert_eq!((block.bytes()[0], disk.size_bytes()), (2, 16384));
        assert!(disk.read(14336, block.bytes_mut()).is_err(), "beyond the end");
        Some(std::fs::read(path).unwrap())
    }

    #[test]
    fn a_sector_is_read_although_direct_io_needs_larger_pieces() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("disk");
        let content: Vec<u8> = (0..16384u32).map(|byte| (byte / 512) as u8).collect();
        std::fs::write(&path, &content).unwrap();
        let (mut disk, _) = open_to_read(&path).unwrap();
        disk.alignment_bytes = 4096;
        for from in (0..16384).step_by(512) {
            let mut block = AlignedBlock::new(512);
            disk.read(from as u64, block.bytes_mut()).unwrap();
            assert_eq!(block.bytes(), &content[from..from + 512]);
        }
        let beyond = disk.read(16384, AlignedBlock::new(512).bytes_mut()).unwrap_err();
        insta::assert_snapshot!(beyond, @"the block is beyond the end of the target");
    }

    #[test]
    fn every_fua_method_writes_the_same() {
        let expected = [vec![1; 4096], vec![2; 4096], vec![0; 8192]].concat();
        for method in [SyncMethod::ODsync, SyncMethod::RwfDsync] {
            assert_eq!(written_by(method, FuaPath::Blocking), Some(expected.clone()));
            match written_by(method, FuaPath::IoUring) {
                Some(content) => assert_eq!(content, expected),
                None => eprintln!("skipped: every_fua_method_writes_the_same: no io_uring"),
            }
        }
    }
}
