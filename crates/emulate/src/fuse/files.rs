//! Files of a fixed size in one directory. Requests about names, sizes and open files are answered
//! here; reads, writes and flushes are passed to the server.

use std::borrow::Cow;

use simdrive::SECTOR_BYTES;

use super::wire::{
    self, Attributes, Error, FALLOCATE_KEEP_SIZE, FALLOCATE_PUNCH_HOLE, FALLOCATE_ZERO_RANGE, Op,
    ROOT, Request,
};

/// The node of the first file; the directory's node is the one before.
pub const FIRST_FILE: u64 = ROOT + 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileFacts {
    pub bytes: u64,
    /// The handle for new opens. Requests with an older handle are refused: the content that they
    /// belong to no longer exists.
    pub handle: u64,
}

/// The files of a directory. A file with the node [`FIRST_FILE`] always exists.
pub trait Files {
    /// The node of the file with this name.
    fn find(&self, name: &[u8]) -> Option<u64>;
    /// Node and name of the listed files.
    fn listed(&self) -> Vec<(u64, String)>;
    /// Facts about the file with this node, if there is one.
    fn facts(&self, node: u64) -> Option<FileFacts>;
}

/// A request for a file's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// Read a range within the file.
    Read {
        offset: u64,
        /// Length in bytes; not zero.
        bytes: u32,
    },
    Write {
        offset: u64,
        data: &'a [u8],
    },
    /// Punch a hole.
    Trim {
        offset: u64,
        bytes: u64,
    },
    Zero {
        offset: u64,
        bytes: u64,
    },
    /// Make all written data durable.
    Flush,
}

/// The next action on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<'a> {
    /// Send this reply.
    Answer(Vec<u8>),
    NoReply,
    /// The server has to execute this and reply.
    Do(Wanted<'a>),
}

/// Decides how to handle a request.
#[inline]
pub fn dispatch<'a>(request: &Request<'a>, files: &impl Files) -> Next<'a> {
    let unique = request.unique;
    let attributes = |node| attributes(node, files).ok_or(Error::NoEntry);
    let answer = match request.op {
        Op::NoReply => return Next::NoReply,
        Op::Read { .. } | Op::Write { .. } | Op::Fsync | Op::Fallocate { .. } => {
            match wanted(request, files) {
                // Reading beyond the end returns nothing.
                Ok(Wanted::Read { bytes: 0, .. }) => Ok(wire::answer(unique, |_| ())),
                Ok(wanted) => return Next::Do(wanted),
                Err(error) => Err(error),
            }
        }
        Op::Init { flags, .. } => Ok(wire::init(unique, flags)),
        Op::Acknowledge => Ok(wire::answer(unique, |_| ())),
        Op::OpenDirectory => Ok(wire::opened_directory(unique)),
        Op::Open => files
            .facts(request.node)
            .map(|facts| wire::opened(unique, facts.handle))
            .ok_or(Error::NoEntry),
        Op::StatFs => {
            Ok(wire::stat_fs(unique, files.facts(FIRST_FILE).map_or(0, |facts| facts.bytes)))
        }
        Op::Lookup(name) => {
            let found = files.find(name).ok_or(Error::NoEntry).and_then(attributes);
            found.map(|found| wire::entry(unique, &found))
        }
        Op::ReadDirectory { offset, bytes } => {
            Ok(wire::directory(unique, &files.listed(), offset, bytes))
        }
        // A drive cannot be resized.
        Op::SetAttributes { size: true } => Err(Error::Permission),
        Op::GetAttributes | Op::SetAttributes { size: false } => {
            attributes(request.node).map(|found| wire::attributes(unique, &found))
        }
        Op::Unknown => Err(Error::NotImplemented),
    };
    Next::Answer(answer.unwrap_or_else(|error| wire::refusal(unique, error)))
}

fn wanted<'a>(request: &Request<'a>, files: &impl Files) -> Result<Wanted<'a>, Error> {
    let facts = files.facts(request.node).ok_or(Error::NoEntry)?;
    if request.handle != facts.handle {
        return Err(Error::Io);
    }
    match request.op {
        Op::Read { offset, bytes } => {
            let bytes = u64::from(bytes).min(facts.bytes.saturating_sub(offset)) as u32;
            Ok(Wanted::Read { offset, bytes })
        }
        Op::Write { offset, data } => Ok(Wanted::Write { offset, data }),
        Op::Fsync => Ok(Wanted::Flush),
        Op::Fallocate { offset, bytes, mode } if mode & FALLOCATE_KEEP_SIZE != 0 => {
            if mode & FALLOCATE_PUNCH_HOLE != 0 {
                Ok(Wanted::Trim { offset, bytes })
            } else if mode & FALLOCATE_ZERO_RANGE != 0 {
                Ok(Wanted::Zero { offset, bytes })
            } else {
                Err(Error::Unsupported)
            }
        }
        _ => Err(Error::Unsupported),
    }
}

fn attributes(node: u64, files: &impl Files) -> Option<Attributes> {
    let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if node == ROOT {
        return Some(Attributes { node, bytes: 4096, mode: 0o040_700, owner });
    }
    files.facts(node).map(|facts| Attributes { node, bytes: facts.bytes, mode: 0o100_600, owner })
}

/// Offset and length of the whole sectors that contain a range.
#[inline]
pub(crate) const fn sectors_of(offset: u64, bytes: u64) -> (u64, u64) {
    let first = offset / SECTOR_BYTES * SECTOR_BYTES;
    (first, (offset + bytes).next_multiple_of(SECTOR_BYTES) - first)
}

/// Widens a write to whole sectors, with the existing data before and after it in the first and
/// last sector. This is needed because the kernel splits a large write at the page boundaries of
/// the writer's memory. `read` reads a number of bytes from an offset.
///
/// # Errors
/// Beyond the end, and those of `read`.
#[inline]
pub fn whole_sectors(
    offset: u64,
    data: &[u8],
    capacity_bytes: u64,
    read: impl FnOnce(u64, u64) -> Result<Vec<u8>, Error>,
) -> Result<(u64, Cow<'_, [u8]>), Error> {
    let bytes = data.len() as u64;
    if offset.checked_add(bytes).is_none_or(|end| end > capacity_bytes) {
        return Err(Error::NoSpace);
    }
    let (first, length) = sectors_of(offset, bytes);
    if (first, length) == (offset, bytes) {
        return Ok((offset, Cow::Borrowed(data)));
    }
    let mut wider = read(first, length)?;
    let within = (offset - first) as usize;
    wider[within..within + data.len()].copy_from_slice(data);
    Ok((first, Cow::Owned(wider)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One;

    impl Files for One {
        fn find(&self, name: &[u8]) -> Option<u64> {
            (name == b"one").then_some(FIRST_FILE)
        }

        fn listed(&self) -> Vec<(u64, String)> {
            vec![(FIRST_FILE, "one".to_owned())]
        }

        fn facts(&self, node: u64) -> Option<FileFacts> {
            (node == FIRST_FILE).then_some(FileFacts { bytes: 8192, handle: 7 })
        }
    }

    fn asked(node: u64, handle: u64, op: Op<'_>) -> Next<'_> {
        dispatch(&Request { unique: 1, node, handle, op }, &One)
    }

    fn refused(error: Error) -> Next<'static> {
        Next::Answer(wire::refusal(1, error))
    }

    #[test]
    fn requests_are_answered_or_passed_on() {
        let read = |offset, bytes| asked(FIRST_FILE, 7, Op::Read { offset, bytes });
        assert_eq!(read(100, 200), Next::Do(Wanted::Read { offset: 100, bytes: 200 }));
        assert_eq!(read(8000, 4096), Next::Do(Wanted::Read { offset: 8000, bytes: 192 }));
        assert_eq!(read(8192, 4096), Next::Answer(wire::answer(1, |_| ())));
        assert_eq!(asked(FIRST_FILE, 7, Op::Fsync), Next::Do(Wanted::Flush));
        let mode = FALLOCATE_KEEP_SIZE | FALLOCATE_ZERO_RANGE;
        let zero = asked(FIRST_FILE, 7, Op::Fallocate { offset: 0, bytes: 4096, mode });
        assert_eq!(zero, Next::Do(Wanted::Zero { offset: 0, bytes: 4096 }));
        assert_eq!(asked(ROOT, 0, Op::Lookup(b"two")), refused(Error::NoEntry));
        assert_eq!(
            asked(FIRST_FILE, 7, Op::SetAttributes { size: true }),
            refused(Error::Permission)
        );
        assert_eq!(
            asked(FIRST_FILE, 7, Op::Fallocate { offset: 0, bytes: 512, mode: 0 }),
            refused(Error::Unsupported)
        );
        // Opened before the content was replaced.
        assert_eq!(asked(FIRST_FILE, 6, Op::Fsync), refused(Error::Io));
        assert_eq!(asked(FIRST_FILE + 1, 0, Op::Fsync), refused(Error::NoEntry));
    }

    #[test]
    fn a_write_is_widened_to_whole_sectors() {
        let read = |offset: u64, bytes| Ok(vec![offset as u8 | 1; bytes as usize]);
        let never = |_, _| unreachable!();
        assert_eq!(
            whole_sectors(512, &[7; 1024], 8192, never),
            Ok((512, Cow::Borrowed(&[7; 1024][..])))
        );
        let (offset, wider) = whole_sectors(8000, &[7; 100], 8192, read).unwrap();
        assert_eq!((offset, wider.len()), (7680, 512));
        assert_eq!((wider[319], &wider[320..420], wider[420]), (1, &[7; 100][..], 1));
        assert_eq!(whole_sectors(8000, &[7; 200], 8192, never), Err(Error::NoSpace));
        assert_eq!(whole_sectors(u64::MAX, &[7; 2], 8192, never), Err(Error::NoSpace));
    }
}
