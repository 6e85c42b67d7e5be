//! The content of a drive, in memory or in a sparse file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{FallocateFlags, fallocate};

/// Memory is allocated in pieces of this size at the first write. The kernel provides only the
/// pages that are touched.
const PIECE_BYTES: u64 = 1 << 20;

/// The content of a drive.
#[derive(Debug)]
pub struct Image {
    bytes: u64,
    medium: Medium,
}

#[derive(Debug)]
enum Medium {
    Memory(Vec<Option<Box<[u8]>>>),
    File(File),
}

impl Image {
    pub fn in_memory(bytes: u64) -> Image {
        let pieces = bytes.div_ceil(PIECE_BYTES) as usize;
        Image {
            bytes,
            medium: Medium::Memory(std::iter::repeat_with(|| None).take(pieces).collect()),
        }
    }

    /// The first `bytes` of a file, which must be at least that long and open for reading and
    /// writing.
    pub const fn in_file(file: File, bytes: u64) -> Image {
        Image { bytes, medium: Medium::File(file) }
    }

    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads a range, which must be within the image; unwritten parts are zeros.
    pub fn read(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        match &self.medium {
            Medium::Memory(pieces) => {
                let mut rest = buffer;
                for (piece, within, length) in split(offset, rest.len()) {
                    let (part, behind) = rest.split_at_mut(length);
                    match &pieces[piece] {
                        Some(content) => part.copy_from_slice(&content[within..within + length]),
                        None => part.fill(0),
                    }
                    rest = behind;
                }
                Ok(())
            }
            Medium::File(file) => file.read_exact_at(buffer, offset),
        }
    }

    /// Reads a range and appends it to `out`.
    ///
    /// # Errors
    /// Those of the file; `out` is unchanged then.
    pub fn append(&self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let start = out.len();
        match &self.medium {
            // Reads into memory that was not zeroed before: zeroing would add a fifth to the time
            // of a large read.
            Medium::Memory(pieces) => {
                for (piece, within, length) in split(offset, bytes) {
                    match &pieces[piece] {
                        Some(content) => out.extend_from_slice(&content[within..within + length]),
                        None => out.resize(out.len() + length, 0),
                    }
                }
                Ok(())
            }
            Medium::File(file) => {
                out.resize(start + bytes, 0);
                file.read_exact_at(&mut out[start..], offset).inspect_err(|_| out.truncate(start))
            }
        }
    }

    /// Writes to a range, which must be within the image.
    ///
    /// # Errors
    /// Those of the file, such as a full disk; a part may have been written then.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        match &mut self.medium {
            Medium::Memory(pieces) => {
                let mut rest = data;
                for (piece, within, length) in split(offset, rest.len()) {
                    let (part, behind) = rest.split_at(length);
                    let content = pieces[piece]
                        .get_or_insert_with(|| vec![0; PIECE_BYTES as usize].into_boxed_slice());
                    content[within..within + length].copy_from_slice(part);
                    rest = behind;
                }
                Ok(())
            }
            Medium::File(file) => file.write_all_at(data, offset),
        }
    }

    /// Returns whether a range is known to be zeros because nothing was ever written near it.
    pub fn is_untouched(&self, offset: u64, bytes: u64) -> bool {
        match &self.medium {
            Medium::Memory(pieces) => {
                split(offset, bytes as usize).all(|(piece, ..)| pieces[piece].is_none())
            }
            Medium::File(_) => false,
        }
    }

    /// Writes the previous content back; zeros become holes again, which even a full disk accepts.
    pub fn restore(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        if data.iter().all(|&byte| byte == 0) {
            self.clear(offset, data.len() as u64)
        } else {
            self.write(offset, data)
        }
    }

    /// Fills a range with zeros that stay allocated in the file.
    pub fn zero(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        match &self.medium {
            Medium::Memory(_) => self.clear(offset, bytes),
            Medium::File(file) => {
                match fallocate(
                    file,
                    FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE,
                    offset,
                    bytes,
                ) {
                    Err(rustix::io::Errno::OPNOTSUPP) => write_zeros(file, offset, bytes),
                    other => Ok(other?),
                }
            }
        }
    }

    /// Fills a range with zeros, and releases its space.
    pub fn clear(&mut self, offset: u64, bytes: u64) -> io::Result<()> {
        match &mut self.medium {
            Medium::Memory(pieces) => {
                for (piece, within, length) in split(offset, bytes as usize) {
                    if length == PIECE_BYTES as usize {
                        pieces[piece] = None;
                    } else if let Some(content) = &mut pieces[piece] {
                        content[within..within + length].fill(0);
                    }
                }
                Ok(())
            }
            Medium::File(file) => {
                let punched = fallocate(
                    &*file,
                    FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
                    offset,
                    bytes,
                );
                match punched {
                    // A filesystem that cannot punch holes gets zeros.
                    Err(rustix::io::Errno::OPNOTSUPP) => write_zeros(file, offset, bytes),
                    other => Ok(other?),
                }
            }
        }
    }

    /// Makes the content survive a crash of this host, if it is in a file.
    pub fn sync(&self) -> io::Result<()> {
        match &self.medium {
            Medium::Memory(_) => Ok(()),
            Medium::File(file) => file.sync_data(),
        }
    }
}

fn write_zeros(file: &File, offset: u64, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; bytes.min(PIECE_BYTES) as usize];
    let (mut at, end) = (offset, offset + bytes);
    while at < end {
        let length = (end - at).min(PIECE_BYTES);
        file.write_all_at(&zeros[..length as usize], at)?;
        at += length;
    }
    Ok(())
}

/// Splits a range at the boundaries of pieces: piece, offset in it, length.
fn split(offset: u64, length: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let end = offset + length as u64;
    let mut at = offset;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let within = at % PIECE_BYTES;
            let length = (PIECE_BYTES - within).min(end - at);
            let piece = at / PIECE_BYTES;
            at += length;
            (piece as usize, within as usize, length as usize)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(bytes: u64) -> [Image; 2] {
        let file = tempfile::tempfile().unwrap();
        file.set_len(bytes).unwrap();
        [Image::in_memory(bytes), Image::in_file(file, bytes)]
    }

    #[test]
    fn holds_what_was_written_and_zeros_elsewhere() {
        for mut image in both(3 << 20) {
            // Across the boundary of two pieces.
            image.write((1 << 20) - 512, &[7; 1024]).unwrap();
            let mut buffer = [1; 2048];
            image.read((1 << 20) - 1024, &mut buffer).unwrap();
            assert_eq!(buffer[..512], [0; 512]);
            assert_eq!(buffer[512..1536], [7; 1024]);
            assert_eq!(buffer[1536..], [0; 512]);
        }
    }

    #[test]
    fn what_is_cleared_is_zeros() {
        for mut image in both(4 << 20) {
            image.write(0, &vec![9; 4 << 20]).unwrap();
            image.clear(512, 3 << 20).unwrap();
            let mut buffer = vec![1; 4 << 20];
            image.read(0, &mut buffer).unwrap();
            assert_eq!(buffer[..512], [9; 512]);
            assert!(buffer[512..512 + (3 << 20)].iter().all(|&byte| byte == 0));
            assert!(buffer[512 + (3 << 20)..].iter().all(|&byte| byte == 9));
        }
    }
}
