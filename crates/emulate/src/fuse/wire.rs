//! Requests and answers as bytes, in the machine's own order.

/// Bytes of a request's header.
pub const HEADER_BYTES: usize = 40;
/// Data of one request: 256 pages, the kernel's own limit.
pub const PAYLOAD_BYTES_MOST: u32 = 1 << 20;
/// What has to fit into one read of the kernel's file: a write with its data and both headers.
pub const REQUEST_BYTES_MOST: usize = PAYLOAD_BYTES_MOST as usize + 4096;
/// The directory.
pub const ROOT: u64 = 1;

/// Errors that are answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Error {
    /// Not allowed.
    Permission = 1,
    /// No such file.
    NoEntry = 2,
    /// Something failed.
    Io = 5,
    /// Makes no sense.
    Invalid = 22,
    /// The disk below is full.
    NoSpace = 28,
    /// The drive takes no writes any more.
    ReadOnly = 30,
    /// Not known here; the kernel does not ask again.
    NotImplemented = 38,
    /// Not possible here.
    Unsupported = 95,
}

/// What the kernel asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request<'a> {
    /// The kernel's name for it; 0 for what gets no answer.
    pub unique: u64,
    /// The file or directory.
    pub node: u64,
    /// What OPEN answered for the file that this goes through; 0 where it goes through none.
    pub handle: u64,
    /// What.
    pub op: Op<'a>,
}

/// What the kernel asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op<'a> {
    /// Which version of the protocol.
    Init {
        /// The kernel's main version.
        major: u32,
        /// Its lesser one.
        minor: u32,
        /// What it can do.
        flags: u32,
    },
    /// The file of a name.
    Lookup(&'a [u8]),
    /// Size and mode.
    GetAttributes,
    /// A change of size, mode or time.
    SetAttributes {
        /// Whether it is the size.
        size: bool,
    },
    /// A file is opened.
    Open,
    /// A directory is opened.
    OpenDirectory,
    /// Names.
    ReadDirectory {
        /// How many were told already.
        offset: u64,
        /// Room for the answer.
        bytes: u32,
    },
    /// Reads.
    Read {
        /// Where.
        offset: u64,
        /// How much.
        bytes: u32,
    },
    /// Writes.
    Write {
        /// Where.
        offset: u64,
        /// What.
        data: &'a [u8],
    },
    /// Flushes.
    Fsync,
    /// A hole, or zeros.
    Fallocate {
        /// Where.
        offset: u64,
        /// How much.
        bytes: u64,
        /// How.
        mode: u32,
    },
    /// How large the filesystem is.
    StatFs,
    /// Something that has an empty answer: closing, access rights.
    Nod,
    /// Something that has none: forgotten nodes, interruptions.
    Silence,
    /// Everything else.
    Unknown,
}

/// [`Op::Fallocate`]: the file does not grow.
pub const FALLOCATE_KEEP_SIZE: u32 = 1;
/// [`Op::Fallocate`]: a hole.
pub const FALLOCATE_PUNCH_HOLE: u32 = 2;
/// [`Op::Fallocate`]: zeros.
pub const FALLOCATE_ZERO_RANGE: u32 = 0x10;

/// Reads a request as it came from the kernel; `None` if that cannot be one.
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
        26 => Op::Init { major: u32_at(body, 0)?, minor: u32_at(body, 4)?, flags: u32_at(body, 12)? },
        27 => Op::OpenDirectory,
        28 => Op::ReadDirectory { offset: u64_at(body, 8)?, bytes: u32_at(body, 16)? },
        43 => Op::Fallocate { offset: u64_at(body, 8)?, bytes: u64_at(body, 16)?, mode: u32_at(body, 24)? },
        // RELEASE, FLUSH, RELEASEDIR, ACCESS.
        18 | 25 | 29 | 34 => Op::Nod,
        // FORGET, INTERRUPT, BATCH_FORGET.
        2 | 36 | 42 => Op::Silence,
        _ => Op::Unknown,
    };
    // READ, WRITE, FSYNC and FALLOCATE begin with it.
    let handle = if matches!(opcode, 15 | 16 | 20 | 43) { u64_at(body, 0)? } else { 0 };
    Some(Request { unique, node, handle, op })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|&bytes| u32::from_ne_bytes(bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|&bytes| u64::from_ne_bytes(bytes))
}

/// What can be said of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// Its node.
    pub node: u64,
    /// Bytes.
    pub bytes: u64,
    /// Type and rights.
    pub mode: u32,
    /// Whose it is.
    pub owner: (u32, u32),
}

impl Attributes {
    fn put(&self, out: &mut Vec<u8>) {
        let words = [self.node, self.bytes, self.bytes.div_ceil(512), 0, 0, 0];
        out.extend(words.into_iter().flat_map(u64::to_ne_bytes));
        let (uid, gid) = self.owner;
        let links = if self.node == ROOT { 2 } else { 1 };
        // Three parts of seconds; mode, links, owner, device, block size, flags.
        let words = [0, 0, 0, self.mode, links, uid, gid, 0, 4096, 0];
        out.extend(words.into_iter().flat_map(u32::to_ne_bytes));
    }
}

/// How long the kernel may believe names and attributes: they never change.
const VALID_S: u64 = 3600;

/// An answer: the header and what `body` puts behind it.
pub fn answer(unique: u64, body: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = vec![0; 16];
    body(&mut out);
    let length = out.len() as u32;
    out[..4].copy_from_slice(&length.to_ne_bytes());
    out[8..16].copy_from_slice(&unique.to_ne_bytes());
    out
}

/// An answer that says no.
pub fn refusal(unique: u64, error: Error) -> Vec<u8> {
    let mut out = answer(unique, |_| ());
    out[4..8].copy_from_slice(&(-(error as i32)).to_ne_bytes());
    out
}

/// The answer to INIT.
pub fn init(unique: u64, kernel_flags: u32) -> Vec<u8> {
    // ASYNC_READ, BIG_WRITES, ASYNC_DIO, PARALLEL_DIROPS, MAX_PAGES.
    let wanted = 1 | 1 << 5 | 1 << 15 | 1 << 18 | 1 << 22;
    answer(unique, |out| {
        // Version 7.31 has everything that is used; no readahead.
        out.extend([7, 31, 0, kernel_flags & wanted].into_iter().flat_map(u32::to_ne_bytes));
        // Requests in the background before the kernel waits, and before it calls itself congested. Its default, 12, would be the drive's depth.
        out.extend([1024u16, 768].into_iter().flat_map(u16::to_ne_bytes));
        // Largest write, and the grain of times.
        out.extend([PAYLOAD_BYTES_MOST, 1].into_iter().flat_map(u32::to_ne_bytes));
        out.extend([(PAYLOAD_BYTES_MOST / 4096) as u16, 0].into_iter().flat_map(u16::to_ne_bytes));
        out.extend([0; 32]);
    })
}

/// The answer to LOOKUP.
pub fn entry(unique: u64, attributes: &Attributes) -> Vec<u8> {
    answer(unique, |out| {
        out.extend([attributes.node, 0, VALID_S, VALID_S, 0].into_iter().flat_map(u64::to_ne_bytes));
        attributes.put(out);
    })
}

/// The answer to GETATTR and SETATTR.
pub fn attributes(unique: u64, attributes: &Attributes) -> Vec<u8> {
    answer(unique, |out| {
        out.extend([VALID_S, 0].into_iter().flat_map(u64::to_ne_bytes));
        attributes.put(out);
    })
}

/// The answer to OPEN, with the handle that the kernel will name in every request through this file.
pub fn opened(unique: u64, handle: u64) -> Vec<u8> {
    // DIRECT_IO, PARALLEL_DIRECT_WRITES: no page cache in between, and no lock around each write.
    opened_with(unique, handle, 1 | 1 << 6)
}

/// The answer to OPENDIR.
pub fn opened_directory(unique: u64) -> Vec<u8> {
    opened_with(unique, 0, 0)
}

fn opened_with(unique: u64, handle: u64, flags: u32) -> Vec<u8> {
    answer(unique, |out| {
        out.extend(handle.to_ne_bytes());
        out.extend([flags, 0].into_iter().flat_map(u32::to_ne_bytes));
    })
}

/// The answer to WRITE.
pub fn written(unique: u64, bytes: u32) -> Vec<u8> {
    answer(unique, |out| out.extend([bytes, 0].into_iter().flat_map(u32::to_ne_bytes)))
}

/// The answer to STATFS: a filesystem of that many bytes, all of them taken.
pub fn stat_fs(unique: u64, bytes: u64) -> Vec<u8> {
    answer(unique, |out| {
        out.extend([bytes / 4096, 0, 0, 1, 0].into_iter().flat_map(u64::to_ne_bytes));
        out.extend([4096, 255, 4096, 0].into_iter().flat_map(u32::to_ne_bytes));
        out.extend([0; 24]);
    })
}

/// The header of the answer to READ; so much data follows it.
pub fn data_header(unique: u64, bytes: u32) -> Vec<u8> {
    let mut out = answer(unique, |_| ());
    out[..4].copy_from_slice(&(16 + bytes).to_ne_bytes());
    out
}

/// The answer to READDIR: the directory itself and the files, from the name numbered `offset` on, as far as they fit.
pub fn directory(unique: u64, files: &[(u64, String)], offset: u64, bytes: u32) -> Vec<u8> {
    // As `dirent.h` numbers them: a directory, a regular file.
    let directories = [(ROOT, ".", 4), (ROOT, "..", 4)];
    let names = directories.into_iter().chain(files.iter().map(|(node, name)| (*node, name.as_str(), 8)));
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
        assert_eq!(parsed, Request { unique: 9, node: 2, handle: 3, op: Op::Write { offset: 8192, data: b"data" } });
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
