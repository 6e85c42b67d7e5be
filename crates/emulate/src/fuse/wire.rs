//! Encoding of requests and replies, in the machine's byte order.

/// Size of a request's header.
pub const HEADER_BYTES: usize = 40;
/// Largest data of one request: 256 pages, the kernel's limit.
pub const PAYLOAD_BYTES_MAX: u32 = 1 << 20;
/// Buffer size for reading from the kernel's file: a write with its data and both headers.
pub const REQUEST_BYTES_MAX: usize = PAYLOAD_BYTES_MAX as usize + 4096;
/// Node of the directory.
pub const ROOT: u64 = 1;

/// Errors in replies (`errno`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Error {
    /// `EPERM`.
    Permission = 1,
    /// `ENOENT`.
    NoEntry = 2,
    /// `EIO`.
    Io = 5,
    /// `EINVAL`.
    Invalid = 22,
    /// `ENOSPC`: the disk that stores the image is full.
    NoSpace = 28,
    /// `EROFS`: the drive accepts no more writes.
    ReadOnly = 30,
    /// `ENOSYS`; the kernel does not ask again.
    NotImplemented = 38,
    /// `EOPNOTSUPP`.
    Unsupported = 95,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// The kernel's ID of the request; 0 for requests without a reply.
    pub unique: u64,
    /// Node of the file or directory.
    pub node: u64,
    /// The handle returned by OPEN; 0 for requests without an open file.
    pub handle: u64,
    pub op: Op<'a>,
}

/// The operation of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op<'a> {
    /// Negotiate the protocol version.
    Init {
        /// Major version of the kernel's protocol.
        major: u32,
        minor: u32,
        flags: u32,
    },
    /// Find the file with this name.
    Lookup(&'a [u8]),
    /// Get size and mode.
    GetAttributes,
    /// Change size, mode or time.
    SetAttributes {
        /// True if the size is to change.
        size: bool,
    },
    Open,
    OpenDirectory,
    /// List names.
    ReadDirectory {
        /// Number of names already listed.
        offset: u64,
        /// Room for the reply.
        bytes: u32,
    },
    Read {
        offset: u64,
        bytes: u32,
    },
    Write {
        offset: u64,
        data: &'a [u8],
    },
    Fsync,
    /// Punch a hole or write zeros.
    Fallocate {
        offset: u64,
        bytes: u64,
        /// `FALLOCATE_*` flags.
        mode: u32,
    },
    /// Get the size of the filesystem.
    StatFs,
    /// Requests with an empty reply: close, access checks.
    Acknowledge,
    /// Requests without a reply: forgotten nodes, interruptions.
    NoReply,
    /// All other requests.
    Unknown,
}

/// [`Op::Fallocate`]: keep the file's size.
pub const FALLOCATE_KEEP_SIZE: u32 = 1;
/// [`Op::Fallocate`]: punch a hole.
pub const FALLOCATE_PUNCH_HOLE: u32 = 2;
/// [`Op::Fallocate`]: write zeros.
pub const FALLOCATE_ZERO_RANGE: u32 = 0x10;

/// Parses a request of the kernel; `None` if it is malformed.
pub fn parse(bytes: &[u8]) -> Option<Request<'_>> {
    let (length, opcode) = (u32_at(bytes, 0)? as usize, u32_at(bytes, 4)?);
    let (unique, node) = (u64_at(bytes, 8)?, u64_at(bytes, 16)?);
    let body = bytes.get(HEADER_BYTES..length)?;
    let op = match opcode {
        1 => Op::Lookup(body.split(|&byte| byte == 0).next()?),
        3 => Op::GetAttributes,
        4 => Op::SetAttributes { size: u32_at(body, 0)? & 1 << 3 != 0 },
        14 => Op::Open,
        15 => Op::Read { offset: u64_at(body, 8)?, bytes: u32_at(body, 16)? },
        16 => {
            let bytes = u32_at(body, 16)? as usize;
            Op::Write { offset: u64_at(body, 8)?, data: body.get(40..)?.get(..bytes)? }
        }
        17 => Op::StatFs,
        20 => Op::Fsync,
        26 => {
            Op::Init { major: u32_at(body, 0)?, minor: u32_at(body, 4)?, flags: u32_at(body, 12)? }
        }
        27 => Op::OpenDirectory,
        28 => Op::ReadDirectory { offset: u64_at(body, 8)?, bytes: u32_at(body, 16)? },
        43 => Op::Fallocate {
            offset: u64_at(body, 8)?,
            bytes: u64_at(body, 16)?,
            mode: u32_at(body, 24)?,
        },
        // RELEASE, FLUSH, RELEASEDIR, ACCESS.
        18 | 25 | 29 | 34 => Op::Acknowledge,
        // FORGET, INTERRUPT, BATCH_FORGET.
        2 | 36 | 42 => Op::NoReply,
        _ => Op::Unknown,
    };
    // READ, WRITE, FSYNC and FALLOCATE start with the handle.
    let handle = if matches!(opcode, 15 | 16 | 20 | 43) { u64_at(body, 0)? } else { 0 };
    Some(Request { unique, node, handle, op })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|&bytes| u32::from_ne_bytes(bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|&bytes| u64::from_ne_bytes(bytes))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    pub node: u64,
    /// Size of the file.
    pub bytes: u64,
    /// File type and permissions.
    pub mode: u32,
    /// Owner: user and group ID.
    pub owner: (u32, u32),
}

impl Attributes {
    fn put(&self, out: &mut Vec<u8>) {
        let words = [self.node, self.bytes, self.bytes.div_ceil(512), 0, 0, 0];
        out.extend(words.into_iter().flat_map(u64::to_ne_bytes));
        let (uid, gid) = self.owner;
        let links = if self.node == ROOT { 2 } else { 1 };
        // Three nanosecond fields; mode, links, owner, device, block size, flags.
        let words = [0, 0, 0, self.mode, links, uid, gid, 0, 4096, 0];
        out.extend(words.into_iter().flat_map(u32::to_ne_bytes));
    }
}

/// Cache time for names and attributes, which never change.
const VALID_S: u64 = 3600;

/// A reply: the header, followed by what `body` appends.
pub fn answer(unique: u64, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![0; 16];
    body(&mut out);
    let length = out.len() as u32;
    out[..4].copy_from_slice(&length.to_ne_bytes());
    out[8..16].copy_from_slice(&unique.to_ne_bytes());
    out
}

pub fn refusal(unique: u64, error: Error) -> Vec<u8> {
    let mut out = answer(unique, |_| ());
    out[4..8].copy_from_slice(&(-(error as i32)).to_ne_bytes());
    out
}

pub fn init(unique: u64, kernel_flags: u32) -> Vec<u8> {
    // ASYNC_READ, BIG_WRITES, ASYNC_DIO, PARALLEL_DIROPS, MAX_PAGES.
    let wanted = 1 | 1 << 5 | 1 << 15 | 1 << 18 | 1 << 22;
    answer(unique, |out| {
        // Version 7.31 has everything that is needed; no readahead.
        out.extend([7, 31, 0, kernel_flags & wanted].into_iter().flat_map(u32::to_ne_bytes));
        // Background requests before the kernel waits, and before it considers itself congested.
        // The default of 12 would limit the drive's queue depth.
        out.extend([1024u16, 768].into_iter().flat_map(u16::to_ne_bytes));
        // Largest write, and granularity of timestamps.
        out.extend([PAYLOAD_BYTES_MAX, 1].into_iter().flat_map(u32::to_ne_bytes));
        out.extend([(PAYLOAD_BYTES_MAX / 4096) as u16, 0].into_iter().flat_map(u16::to_ne_bytes));
        out.extend([0; 32]);
    })
}

/// The reply to LOOKUP.
pub fn entry(unique: u64, attributes: &Attributes) -> Vec<u8> {
    answer(unique, |out| {
        out.extend(
            [attributes.node, 0, VALID_S, VALID_S, 0].into_iter().flat_map(u64::to_ne_bytes),
        );
        attributes.put(out);
    })
}

/// The reply to GETATTR and SETATTR.
pub fn attributes(unique: u64, attributes: &Attributes) -> Vec<u8> {
    answer(unique, |out| {
        out.extend([VALID_S, 0].into_iter().flat_map(u64::to_ne_bytes));
        attributes.put(out);
    })
}

/// The reply to OPEN, with the handle that the kernel will put into every request on this file.
pub fn opened(unique: u64, handle: u64) -> Vec<u8> {
    // DIRECT_IO, PARALLEL_DIRECT_WRITES: no page cache in between, and no lock around each write.
    opened_with(unique, handle, 1 | 1 << 6)
}

/// The reply to OPENDIR.
pub fn opened_directory(unique: u64) -> Vec<u8> {
    opened_with(unique, 0, 0)
}

fn opened_with(unique: u64, handle: u64, flags: u32) -> Vec<u8> {
    answer(unique, |out| {
        out.extend(handle.to_ne_bytes());
        out.extend([flags, 0].into_iter().flat_map(u32::to_ne_bytes));
    })
}

/// The reply to WRITE.
pub fn written(unique: u64, bytes: u32) -> Vec<u8> {
    answer(unique, |out| out.extend([bytes, 0].into_iter().flat_map(u32::to_ne_bytes)))
}

/// The reply to STATFS: a full filesystem of this size.
pub fn stat_fs(unique: u64, bytes: u64) -> Vec<u8> {
    answer(unique, |out| {
        out.extend([bytes / 4096, 0, 0, 1, 0].into_iter().flat_map(u64::to_ne_bytes));
        out.extend([4096, 255, 4096, 0].into_iter().flat_map(u32::to_ne_bytes));
        out.extend([0; 24]);
    })
}

/// The header of the reply to READ, to be followed by `bytes` of data.
pub fn data_header(unique: u64, bytes: u32) -> Vec<u8> {
    let mut out = answer(unique, |_| ());
    out[..4].copy_from_slice(&(16 + bytes).to_ne_bytes());
    out
}

/// The reply to READDIR: the directory and its files, from name number `offset` on, as many as fit.
pub fn directory(unique: u64, files: &[(u64, String)], offset: u64, bytes: u32) -> Vec<u8> {
    // File types of `dirent.h`: a directory, a regular file.
    let directories = [(ROOT, ".", 4), (ROOT, "..", 4)];
    let names =
        directories.into_iter().chain(files.iter().map(|(node, name)| (*node, name.as_str(), 8)));
    answer(unique, |out| {
        for ((node, name, kind), next) in names.zip(1u64..).skip(offset as usize) {
            let length = (24 + name.len()).next_multiple_of(8);
            if out.len() - 16 + length > bytes as usize {
                return;
            }
            let end = out.len() + length;
            out.extend([node, next].into_iter().flat_map(u64::to_ne_bytes));
            out.extend([name.len() as u32, kind].into_iter().flat_map(u32::to_ne_bytes));
            out.extend(name.bytes());
            out.resize(end, 0);
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(opcode: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER_BYTES + body.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(opcode.to_ne_bytes());
        bytes.extend([9u64, 2].into_iter().flat_map(u64::to_ne_bytes));
        bytes.extend([0; 16]);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn requests_of_the_kernel() {
        let mut body = [3u64, 8192].map(u64::to_ne_bytes).concat();
        body.extend([4u32, 0].into_iter().flat_map(u32::to_ne_bytes));
        body.extend([0; 16]);
        body.extend(b"data");
        let bytes = request(16, &body);
        let parsed = parse(&bytes).unwrap();
        assert_eq!(
            parsed,
            Request {
                unique: 9,
                node: 2,
                handle: 3,
                op: Op::Write { offset: 8192, data: b"data" }
            }
        );
        let bytes = request(1, b"drive\0");
        assert_eq!(parse(&bytes).unwrap().op, Op::Lookup(b"drive"));
        assert_eq!(parse(&request(20, &[0; 16])).unwrap().op, Op::Fsync);
        assert_eq!(parse(&request(99, &[])).unwrap().op, Op::Unknown);
    }

    #[test]
    fn answers_have_the_lengths_that_the_kernel_wants() {
        let attributes = Attributes { node: 2, bytes: 4096, mode: 0o100_600, owner: (0, 0) };
        assert_eq!(entry(1, &attributes).len(), 16 + 128);
        assert_eq!(super::attributes(1, &attributes).len(), 16 + 104);
        assert_eq!(init(1, 0).len(), 16 + 64);
        assert_eq!(opened(1, 7).len(), 16 + 16);
        assert_eq!(opened_directory(1).len(), 16 + 16);
        assert_eq!(written(1, 0).len(), 16 + 8);
        assert_eq!(stat_fs(1, 4096).len(), 16 + 80);
        assert_eq!(data_header(1, 512)[..4], (16 + 512u32).to_ne_bytes());
        let refused = refusal(7, Error::Io);
        assert_eq!((refused.len(), refused[4..8].to_vec()), (16, (-5i32).to_ne_bytes().to_vec()));
    }

    #[test]
    fn a_directory_lists_itself_and_its_files() {
        let files = [(2, "drive".to_owned())];
        let listed = directory(1, &files, 0, 4096);
        let names: Vec<(u64, &[u8], u32)> = listed[16..]
            .chunks(32)
            .map(|entry| {
                let length = u32_at(entry, 16).unwrap() as usize;
                (u64_at(entry, 0).unwrap(), &entry[24..24 + length], u32_at(entry, 20).unwrap())
            })
            .collect();
        assert_eq!(names, [(1, &b"."[..], 4), (1, b"..", 4), (2, b"drive", 8)]);
        assert_eq!(directory(1, &files, 2, 4096).len(), 16 + 32);
        assert_eq!(directory(1, &files, 3, 4096).len(), 16);
        assert_eq!(directory(1, &files, 0, 64).len(), 16 + 64);
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(opcode in 0u32..60, body in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..240) {
            let bytes = request(opcode, &body);
            let _ = parse(&bytes);
            let _ = parse(&bytes[..cut.min(bytes.len())]);
        }
    }
}
