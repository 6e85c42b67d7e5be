//! The bytes that are searched for signatures.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

/// Bytes to search at each end. The innermost magic numbers are those of a ZFS label, which lie up
/// to 512 KiB from the start and 768 KiB from the end (two labels of 256 KiB at each end, the last
/// aligned down).
const EDGE_BYTES: u64 = 1 << 20;

/// The bytes near both ends of a device; all bytes of a small one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceEdges {
    pub(super) len_bytes: u64,
    pub(super) head: Vec<u8>,
    pub(super) tail: Vec<u8>,
}

impl DeviceEdges {
    /// The edges of a device whose whole content is `bytes`.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let edge = bytes.len().min(EDGE_BYTES as usize);
        DeviceEdges {
            len_bytes: bytes.len() as u64,
            head: bytes[..edge].to_vec(),
            tail: bytes[bytes.len() - edge..].to_vec(),
        }
    }

    /// Reads the edges of a device or file.
    ///
    /// Those of opening and reading.
    pub fn read(mut file: &File) -> io::Result<Self> {
        // `metadata().len()` is 0 for a block device; seeking to its end shows the size.
        let len_bytes = file.seek(SeekFrom::End(0))?;
        let edge = len_bytes.min(EDGE_BYTES) as usize;
        let (mut head, mut tail) = (vec![0; edge], vec![0; edge]);
        file.read_exact_at(&mut head, 0)?;
        file.read_exact_at(&mut tail, len_bytes - edge as u64)?;
        Ok(DeviceEdges { len_bytes, head, tail })
    }

    pub fn len_bytes(&self) -> u64 {
        self.len_bytes
    }

    /// Returns whether both ends contain only zeros: a new or wiped device. A device that has no
    /// signature and is not blank may contain data without a magic number, such as a database on
    /// the raw device.
    pub fn is_blank(&self) -> bool {
        self.head.iter().chain(&self.tail).all(|&byte| byte == 0)
    }

    /// The `len` bytes at `offset`, if they lie entirely within one edge.
    pub(super) fn at(&self, offset: u64, len: usize) -> Option<&[u8]> {
        fn within(edge: &[u8], start: u64, len: usize) -> Option<&[u8]> {
            let start = usize::try_from(start).ok()?;
            edge.get(start..start.checked_add(len)?)
        }
        within(&self.head, offset, len).or_else(|| {
            let tail_start = self.len_bytes - self.tail.len() as u64;
            within(&self.tail, offset.checked_sub(tail_start)?, len)
        })
    }

    pub(super) fn has(&self, offset: u64, mark: &[u8]) -> bool {
        self.at(offset, mark.len()) == Some(mark)
    }

    pub(super) fn le16(&self, offset: u64) -> Option<u16> {
        Some(u16::from_le_bytes(self.at(offset, 2)?.try_into().ok()?))
    }

    pub(super) fn le32(&self, offset: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.at(offset, 4)?.try_into().ok()?))
    }

    pub(super) fn be16(&self, offset: u64) -> Option<u16> {
        Some(u16::from_be_bytes(self.at(offset, 2)?.try_into().ok()?))
    }
}
