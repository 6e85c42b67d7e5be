//! Files and directories that are created, looked up or removed one by one: each is one operation,
//! as with fio's engines `filecreate`, `filestat`, `filedelete` and those for directories.

use std::fmt::Write as _;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, openat, statat, unlinkat};
use rustix::io::{Errno, pwrite};
use workload::{EntryCall, EntryKind, SyncCall};

use crate::disk::{BlockDisk, Disk};

/// A name that ends with a number.
#[derive(Debug)]
struct NumberedName {
    text: String,
    prefix_bytes: usize,
}

impl NumberedName {
    fn new(prefix: &str) -> NumberedName {
        NumberedName { text: prefix.to_owned(), prefix_bytes: prefix.len() }
    }

    fn numbered(&mut self, number: u64) -> &str {
        self.text.truncate(self.prefix_bytes);
        let _ = write!(self.text, "{number}");
        &self.text
    }
}

/// The entries of all jobs of a test, numbered from 0. They are removed on drop, including those
/// that the jobs have created in order.
#[derive(Debug)]
pub struct Entries<'a> {
    directory: BorrowedFd<'a>,
    kind: EntryKind,
    /// The names of each job's entries without their numbers.
    prefixes: Vec<String>,
    /// The number of entries of each job that existed beforehand.
    prepared: u64,
}

impl<'a> Entries<'a> {
    /// The entries in `directory`, of which none exists yet.
    pub const fn new(
        directory: BorrowedFd<'a>,
        kind: EntryKind,
        prefixes: Vec<String>,
    ) -> Entries<'a> {
        Entries { directory, kind, prefixes, prepared: 0 }
    }

    /// The number of entries of each job that existed beforehand.
    pub const fn prepared(&self) -> u64 {
        self.prepared
    }

    /// Creates the next entry of each job; a file contains `content`.
    ///
    /// # Errors
    /// As the kernel reports them.
    pub fn prepare_next(&mut self, content: &[u8]) -> Result<(), Errno> {
        let number = self.prepared;
        self.prepared += 1;
        for prefix in &self.prefixes {
            let mut name = NumberedName::new(prefix);
            match self.kind {
                EntryKind::Directory => create_directory(self.directory, name.numbered(number))?,
                EntryKind::File => {
                    let file = open_new(self.directory, name.numbered(number))?;
                    if pwrite(&file, content, 0)? != content.len() {
                        return Err(Errno::NOSPC);
                    }
                }
            }
        }
        Ok(())
    }
}

impl Drop for Entries<'_> {
    fn drop(&mut self) {
        for prefix in &self.prefixes {
            let mut name = NumberedName::new(prefix);
            for number in 0.. {
                let name = name.numbered(number);
                let removed = unlinkat(self.directory, name, removal(self.kind));
                if removed.is_err() && number >= self.prepared {
                    break;
                }
            }
        }
    }
}

fn open_new(directory: BorrowedFd<'_>, name: &str) -> Result<rustix::fd::OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::RUSR | Mode::WUSR)
}

fn create_directory(directory: BorrowedFd<'_>, name: &str) -> Result<(), Errno> {
    mkdirat(directory, name, Mode::RWXU)
}

const fn removal(kind: EntryKind) -> AtFlags {
    match kind {
        EntryKind::File => AtFlags::empty(),
        EntryKind::Directory => AtFlags::REMOVEDIR,
    }
}

/// The entries of one job, each of which counts as one block.
#[derive(Debug)]
pub struct EntryDisk<'a> {
    directory: BorrowedFd<'a>,
    call: EntryCall,
    kind: EntryKind,
    name: NumberedName,
    block_bytes: u64,
}

impl<'a> EntryDisk<'a> {
    pub fn new(
        directory: BorrowedFd<'a>,
        call: EntryCall,
        kind: EntryKind,
        prefix: &str,
        block_bytes: u32,
    ) -> EntryDisk<'a> {
        let (name, block_bytes) = (NumberedName::new(prefix), u64::from(block_bytes));
        EntryDisk { directory, call, kind, name, block_bytes }
    }
}

impl BlockDisk for EntryDisk<'_> {}

impl Disk for EntryDisk<'_> {
    fn read_name(&self) -> &'static str {
        "stat"
    }

    fn write_name(&self) -> &'static str {
        match (self.call, self.kind) {
            (EntryCall::Create, EntryKind::File) => "open with O_CREAT",
            (EntryCall::Create, EntryKind::Directory) => "mkdir",
            (EntryCall::Remove, EntryKind::File) => "unlink",
            (EntryCall::Remove, EntryKind::Directory) => "rmdir",
            (EntryCall::Stat, _) => "stat",
        }
    }

    fn read(&mut self, block: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let name = self.name.numbered(offset / self.block_bytes);
        statat(self.directory, name, AtFlags::empty())?;
        Ok(block.len())
    }

    fn write(&mut self, block: &[u8], offset: u64) -> Result<usize, Errno> {
        let name = self.name.numbered(offset / self.block_bytes);
        match (self.call, self.kind) {
            (EntryCall::Create, EntryKind::File) => drop(open_new(self.directory, name)?),
            (EntryCall::Create, EntryKind::Directory) => create_directory(self.directory, name)?,
            (EntryCall::Remove, kind) => unlinkat(self.directory, name, removal(kind))?,
            (EntryCall::Stat, _) => return Err(Errno::OPNOTSUPP),
        }
        Ok(block.len())
    }

    fn sync(&mut self, _call: SyncCall, _offset: u64) -> Result<(), Errno> {
        rustix::fs::fsync(self.directory)
    }

    fn renew(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    const BLOCK: u64 = 4096;

    fn disk(at: BorrowedFd<'_>, call: EntryCall, kind: EntryKind) -> EntryDisk<'_> {
        EntryDisk::new(at, call, kind, "job-", BLOCK as u32)
    }

    #[test]
    fn each_block_is_one_entry() {
        let parent = tempfile::tempdir().unwrap();
        let directory = std::fs::File::open(parent.path()).unwrap();
        for kind in [EntryKind::File, EntryKind::Directory] {
            let path = parent.path().join("job-7");
            let mut block = [0; BLOCK as usize];
            let of = |call| disk(directory.as_fd(), call, kind);
            let mut stats = of(EntryCall::Stat);
            assert_eq!(stats.read(&mut block, 7 * BLOCK), Err(Errno::NOENT));
            assert_eq!(of(EntryCall::Create).write(&block, 7 * BLOCK), Ok(block.len()));
            let created = std::fs::metadata(&path).unwrap();
            assert_eq!(created.is_dir(), kind == EntryKind::Directory);
            assert_eq!(stats.read(&mut block, 7 * BLOCK), Ok(block.len()));
            assert_eq!(stats.read(&mut block, 8 * BLOCK), Err(Errno::NOENT));
            assert_eq!(of(EntryCall::Remove).write(&block, 7 * BLOCK), Ok(block.len()));
            assert!(!path.exists());
            assert_eq!(of(EntryCall::Remove).write(&block, 7 * BLOCK), Err(Errno::NOENT));
        }
    }

    #[test]
    fn an_error_names_the_system_call() {
        let parent = tempfile::tempdir().unwrap();
        let directory = std::fs::File::open(parent.path()).unwrap();
        let names = |call| {
            [EntryKind::File, EntryKind::Directory]
                .map(|kind| disk(directory.as_fd(), call, kind).write_name())
        };
        assert_eq!(names(EntryCall::Create), ["open with O_CREAT", "mkdir"]);
        assert_eq!(names(EntryCall::Remove), ["unlink", "rmdir"]);
        let stats = disk(directory.as_fd(), EntryCall::Stat, EntryKind::File);
        assert_eq!(stats.read_name(), "stat");
    }

    #[test]
    fn the_entries_of_all_jobs_are_created_and_removed_and_no_others() {
        let parent = tempfile::tempdir().unwrap();
        std::fs::write(parent.path().join("other"), "x").unwrap();
        std::fs::write(parent.path().join("a-4"), "beyond the last one").unwrap();
        let directory = std::fs::File::open(parent.path()).unwrap();
        for kind in [EntryKind::File, EntryKind::Directory] {
            let prefixes = vec!["a-".to_owned(), "b-".to_owned()];
            let mut entries = Entries::new(directory.as_fd(), kind, prefixes);
            (0..3).for_each(|_| entries.prepare_next(b"content").unwrap());
            assert_eq!(entries.prepared(), 3);
            let count = || std::fs::read_dir(parent.path()).unwrap().count();
            assert_eq!(count(), 2 + 6);
            if kind == EntryKind::File {
                assert_eq!(std::fs::read(parent.path().join("b-2")).unwrap(), b"content");
            }
            // A job has removed an entry and created another.
            EntryDisk::new(directory.as_fd(), EntryCall::Remove, kind, "a-", 1)
                .write(&[0], 0)
                .unwrap();
            EntryDisk::new(directory.as_fd(), EntryCall::Create, kind, "b-", 1)
                .write(&[0], 3)
                .unwrap();
            drop(entries);
            assert_eq!(count(), 2);
        }
    }
}
