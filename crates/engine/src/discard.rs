//! Discards instead of writes: releases the space of each block.

use rustix::fs::{FallocateFlags, FileType, fallocate, fstat};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use workload::SyncCall;

use crate::disk::Disk;
use crate::open_files::OpenFiles;

/// `BLKDISCARD` of include/uapi/linux/fs.h: takes an offset and a length.
const DISCARD: Opcode = opcode::none(0x12, 119);

/// A block device or the files of a job, on which each write is a discard, like fio's `trim`.
#[derive(Debug)]
pub struct DiscardDisk {
    files: OpenFiles,
    is_device: bool,
}

impl DiscardDisk {
    /// # Errors
    /// As the kernel reports them.
    pub fn new(files: OpenFiles) -> Result<DiscardDisk, Errno> {
        let (file, _) = files.at(files.part().start);
        let is_device = FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::BlockDevice;
        Ok(DiscardDisk { files, is_device })
    }
}

impl Disk for DiscardDisk {
    fn write_name(&self) -> &'static str {
        "discard"
    }

    fn read(&mut self, _block: &mut [u8], _offset: u64) -> Result<usize, Errno> {
        Err(Errno::OPNOTSUPP)
    }

    #[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        let (file, offset) = self.files.at(offset);
        let bytes = block.len() as u64;
        if self.is_device {
            // SAFETY: BLKDISCARD reads an offset and a length from the address that it is given,
            // and changes no memory.
            let range = unsafe { Setter::<DISCARD, [u64; 2]>::new([offset, bytes]) };
            // SAFETY: as above; the user requested the discard.
            unsafe { ioctl(file, range)? };
        } else {
            fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes)?;
        }
        Ok(block.len())
    }

    fn sync(&mut self, call: SyncCall, offset: u64) -> Result<(), Errno> {
        crate::disk::sync(self.files.at(offset).0, call)
    }

    fn renew(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn a_discarded_block_has_no_space_and_reads_as_zeros() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, vec![1; 64 << 10]).unwrap();
        let before = std::fs::metadata(&path).unwrap().blocks();
        let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let mut disk = DiscardDisk::new(OpenFiles::single(file.into())).unwrap();
        match disk.write(&[0; 16 << 10], 16 << 10) {
            Err(Errno::OPNOTSUPP) => {
                eprintln!(
                    "skipped: a_discarded_block_has_no_space_and_reads_as_zeros: no holes on this \
                     filesystem"
                );
                return;
            }
            answer => assert_eq!(answer, Ok(16 << 10)),
        }
        disk.sync(SyncCall::Fsync, 0).unwrap();
        let content = std::fs::read(&path).unwrap();
        assert!(content[16 << 10..32 << 10].iter().all(|&byte| byte == 0));
        assert!(content[..16 << 10].iter().chain(&content[32 << 10..]).all(|&byte| byte == 1));
        assert!(std::fs::metadata(&path).unwrap().blocks() < before);
    }
}
