//! Calls that change the space of a file instead of writing to it: discards, `fallocate`,
//! `ftruncate`.

use rustix::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use rustix::fs::{FallocateFlags, FileType, fallocate, fstat, ftruncate};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, Updater, ioctl, opcode};
use workload::{DonorSpace, SpaceCall, SyncCall};

use crate::disk::{Backed, BlockDisk, Disk};
use crate::open_files::OpenFiles;

/// `BLKDISCARD` of include/uapi/linux/fs.h: takes an offset and a length.
const DISCARD: Opcode = opcode::none(0x12, 119);

/// `EXT4_IOC_MOVE_EXT` of fs/ext4/ext4.h.
const EXCHANGE: Opcode = opcode::read_write::<MoveExtent>(b'f', 15);

/// `struct move_extent` of fs/ext4/ext4.h; offsets and lengths are in blocks of the filesystem.
#[repr(C)]
#[derive(Debug, Default)]
struct MoveExtent {
    reserved: u32,
    donor: u32,
    start: u64,
    donor_start: u64,
    blocks: u64,
    /// Set by the kernel.
    moved: u64,
}

/// The file whose blocks are exchanged for those of the job.
#[derive(Debug)]
struct OpenDonor {
    file: OwnedFd,
    block_bytes: u64,
    space: DonorSpace,
}

impl OpenDonor {
    /// Exchanges the blocks of a range; returns the number of its bytes that were exchanged.
    fn exchange(&self, file: BorrowedFd<'_>, offset: u64, bytes: u64) -> Result<u64, Errno> {
        if self.space == DonorSpace::Reserved {
            return self.exchange_reserved(file, offset, bytes);
        }
        fallocate(&self.file, FallocateFlags::empty(), offset, bytes)?;
        let exchanged = self.exchange_reserved(file, offset, bytes);
        ftruncate(&self.file, 0)?;
        exchanged
    }

    #[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
    fn exchange_reserved(
        &self,
        file: BorrowedFd<'_>,
        offset: u64,
        bytes: u64,
    ) -> Result<u64, Errno> {
        let start = offset / self.block_bytes;
        let blocks = (offset + bytes).div_ceil(self.block_bytes) - start;
        let donor = self.file.as_raw_fd() as u32;
        let mut range =
            MoveExtent { donor, start, donor_start: start, blocks, ..MoveExtent::default() };
        // SAFETY: EXT4_IOC_MOVE_EXT reads and writes a struct of this layout at the address that
        // it is given.
        let update = unsafe { Updater::<EXCHANGE, MoveExtent>::new(&mut range) };
        // SAFETY: as above. Both files belong to the run, and their data does not change.
        unsafe { ioctl(file, update)? };
        match range.moved {
            // The range begins after the end of one of the files.
            0 => Err(Errno::INVAL),
            moved => Ok(bytes.min(moved * self.block_bytes)),
        }
    }
}

/// A block device or the files of a job, on which each write is such a call, like fio's `trim` and
/// its engines `falloc`, `ftruncate` and `e4defrag`.
#[derive(Debug)]
pub struct SpaceDisk {
    files: OpenFiles,
    call: SpaceCall,
    is_device: bool,
    donor: Option<OpenDonor>,
}

impl SpaceDisk {
    /// # Errors
    /// As the kernel reports them.
    pub fn new(files: OpenFiles, call: SpaceCall) -> Result<SpaceDisk, Errno> {
        let (file, _) = files.at(files.part().start);
        let is_device = FileType::from_raw_mode(fstat(file)?.st_mode) == FileType::BlockDevice;
        Ok(SpaceDisk { files, call, is_device, donor: None })
    }

    /// Sets the file with which blocks are exchanged.
    ///
    /// # Errors
    /// As the kernel reports them.
    pub fn with_donor(self, file: OwnedFd, space: DonorSpace) -> Result<SpaceDisk, Errno> {
        let block_bytes = (fstat(&file)?.st_blksize as u64).max(1);
        Ok(SpaceDisk { donor: Some(OpenDonor { file, block_bytes, space }), ..self })
    }
}

impl BlockDisk for SpaceDisk {}

impl Backed for SpaceDisk {
    type Storage = OpenFiles;

    fn storage(&self) -> &OpenFiles {
        &self.files
    }
}

impl Disk for SpaceDisk {
    fn write_name(&self) -> &'static str {
        match self.call {
            SpaceCall::Discard => "discard",
            SpaceCall::Allocate | SpaceCall::Reserve => "fallocate",
            SpaceCall::Truncate => "ftruncate",
            SpaceCall::Exchange => "EXT4_IOC_MOVE_EXT",
        }
    }

    fn read(&mut self, _block: &mut [u8], _offset: u64) -> Result<usize, Errno> {
        Err(Errno::OPNOTSUPP)
    }

    #[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        let (file, offset) = self.files.at(offset);
        let bytes = block.len() as u64;
        match self.call {
            SpaceCall::Discard if self.is_device => {
                // SAFETY: BLKDISCARD reads an offset and a length from the address that it is
                // given, and changes no memory.
                let range = unsafe { Setter::<DISCARD, [u64; 2]>::new([offset, bytes]) };
                // SAFETY: as above; the user requested the discard.
                unsafe { ioctl(file, range)? };
            }
            SpaceCall::Discard => {
                let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                fallocate(file, hole, offset, bytes)?;
            }
            SpaceCall::Allocate => fallocate(file, FallocateFlags::empty(), offset, bytes)?,
            SpaceCall::Reserve => fallocate(file, FallocateFlags::KEEP_SIZE, offset, bytes)?,
            SpaceCall::Truncate => ftruncate(file, offset)?,
            SpaceCall::Exchange => {
                let donor = self.donor.as_ref().ok_or(Errno::BADF)?;
                return donor.exchange(file, offset, bytes).map(|moved| moved as usize);
            }
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
        let mut disk = SpaceDisk::new(OpenFiles::single(file.into()), SpaceCall::Discard).unwrap();
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
    #[test]
    fn each_call_changes_the_length_and_the_space_as_its_name_says() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = std::fs::File::create_new(&path).unwrap();
        let file = std::os::fd::OwnedFd::from(file);
        let after = |call, offset| {
            let files = OpenFiles::single(file.try_clone().unwrap());
            let done = SpaceDisk::new(files, call).unwrap().write(&[0; 4096], offset);
            assert_eq!(done, Ok(4096), "{call:?}");
            let file = std::fs::metadata(&path).unwrap();
            (file.len(), file.blocks() > 0)
        };
        assert_eq!(after(SpaceCall::Truncate, 64 << 10), (64 << 10, false));
        assert_eq!(after(SpaceCall::Truncate, 0), (0, false));
        assert_eq!(after(SpaceCall::Reserve, 0), (0, true));
        assert_eq!(after(SpaceCall::Allocate, 8192), (8192 + 4096, true));
        assert_eq!(after(SpaceCall::Truncate, 0), (0, false));
    }

    #[test]
    fn an_error_names_the_system_call() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "x").unwrap();
        for (call, name) in [
            (SpaceCall::Discard, "discard"),
            (SpaceCall::Allocate, "fallocate"),
            (SpaceCall::Reserve, "fallocate"),
            (SpaceCall::Truncate, "ftruncate"),
            (SpaceCall::Exchange, "EXT4_IOC_MOVE_EXT"),
        ] {
            // Not open for writing.
            let file = std::fs::File::open(&path).unwrap();
            let mut disk = SpaceDisk::new(OpenFiles::single(file.into()), call).unwrap();
            assert!(disk.write(&[0; 4096], 0).is_err(), "{call:?}");
            assert_eq!(disk.write_name(), name);
        }
    }
}
