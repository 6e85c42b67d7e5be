//! The read and write buffers of a job.
//!
//! One region of page-aligned memory, cut into slots of one block each. Contents are generated
//! once. Before each write, every 4 KiB of its slot is stamped with the write's number and offset.
//! No two writes are then equal for a drive that deduplicates, and a reader can identify the write.

use rand_core::Rng as _;
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use workload::{BlockContents, Content};

use crate::seal::Sealer;
use crate::stamp::stamp_header;

/// Granularity of drives that compress or deduplicate.
pub const PIECE: usize = 4096;
#[derive(Debug)]
pub struct Buffers {
    memory: *mut u8,
    length: usize,
    slot_bytes: usize,
    content: Content,
    marking: Marking,
    writes: u64,
}

/// The bytes of a block that change before each write.
#[derive(Debug)]
enum Marking {
    /// Nothing: zeros.
    None,
    /// Its stamps.
    Stamps,
    /// All of it: the next of these contents.
    Contents(BlockContents),
    /// A seal, which makes damage visible.
    Seal(Sealer),
}

// SAFETY: the memory belongs exclusively to this value; the pointer is never shared outside of its
// borrows.
#[expect(unsafe_code, reason = "owns its mapping, as a Box would")]
unsafe impl Send for Buffers {}

impl Buffers {
    /// Maps and fills `slots` slots of `slot_bytes` each.
    ///
    /// # Errors
    /// Fails if the system is out of memory.
    pub fn new(
        slots: usize,
        slot_bytes: usize,
        content: Content,
        generator: &mut Xoshiro256PlusPlus,
    ) -> std::io::Result<Buffers> {
        // Populated, because untouched pages would all be the kernel's shared zero page. Direct I/O
        // can pin that page only in a slow way (a special page table entry ends `gup_fast`), at 150
        // ns per write.
        let mut buffers = Buffers::map(slots, slot_bytes, content, MapFlags::POPULATE)?;
        fill(buffers.all_mut(), content, generator);
        Ok(buffers)
    }

    /// Slots that only have a length, for operations that transfer no data. They take no memory.
    ///
    /// # Errors
    /// Fails if the system is out of memory.
    pub fn unused(slots: usize, slot_bytes: usize) -> std::io::Result<Buffers> {
        Buffers::map(slots, slot_bytes, Content::Zero, MapFlags::NORESERVE)
    }

    #[expect(unsafe_code, reason = "page-aligned memory comes from mmap")]
    fn map(
        slots: usize,
        slot_bytes: usize,
        content: Content,
        flags: MapFlags,
    ) -> std::io::Result<Buffers> {
        // Slots start on page boundaries, so any logical block size is aligned.
        let stride = slot_bytes.next_multiple_of(PIECE);
        let length = stride.checked_mul(slots).ok_or(rustix::io::Errno::NOMEM)?;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | flags);
        // SAFETY: a new anonymous mapping at an address of the kernel's choosing overlaps nothing.
        let memory = unsafe { mmap_anonymous(std::ptr::null_mut(), length, protection, flags)? };
        let memory = memory.cast();
        let marking = if content == Content::Zero { Marking::None } else { Marking::Stamps };
        Ok(Buffers { memory, length, slot_bytes, content, marking, writes: 0 })
    }

    /// Fills each block that is written with the next of these contents, instead of a stamp.
    pub fn with_duplicates(mut self, contents: BlockContents) -> Buffers {
        self.marking = Marking::Contents(contents);
        self
    }

    /// Seals each block that is written.
    pub fn with_seal(mut self, sealer: Sealer) -> Buffers {
        self.marking = Marking::Seal(sealer);
        self
    }

    pub fn slots(&self) -> usize {
        self.length / self.stride()
    }

    fn stride(&self) -> usize {
        self.slot_bytes.next_multiple_of(PIECE)
    }

    #[inline]
    fn all_mut(&mut self) -> &mut [u8] {
        self.all_and_marking().0
    }

    #[inline]
    #[expect(unsafe_code, reason = "a view of the owned mapping")]
    fn all_and_marking(&mut self) -> (&mut [u8], &mut Marking) {
        // SAFETY: the mapping is `length` bytes, readable, writable, initialised by the kernel, and
        // borrowed mutably through `self`. It does not overlap with the marking.
        let all = unsafe { std::slice::from_raw_parts_mut(self.memory, self.length) };
        (all, &mut self.marking)
    }

    /// A slot as a read buffer.
    #[inline]
    pub fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        let (start, bytes) = (slot * self.stride(), self.slot_bytes);
        &mut self.all_mut()[start..start + bytes]
    }

    /// Stamps a slot for the next write, and returns it.
    #[inline]
    pub fn stamped(&mut self, slot: usize, offset: u64) -> &mut [u8] {
        let number = self.writes;
        self.writes += 1;
        let content = self.content;
        let (start, bytes) = (slot * self.stride(), self.slot_bytes);
        let (all, marking) = self.all_and_marking();
        let block = &mut all[start..start + bytes];
        match marking {
            Marking::None => {}
            Marking::Stamps => stamp(block, number, offset),
            Marking::Contents(contents) => {
                fill(block, content, &mut contents.next_content().bytes());
            }
            Marking::Seal(sealer) => {
                if !sealer.fills() {
                    stamp(block, number, offset);
                }
                sealer.seal(block, number, offset);
            }
        }
        block
    }

    /// Stamps the next slot in turn. A pool of several slots separates consecutive writes in
    /// memory.
    #[inline]
    pub fn next_stamped(&mut self, offset: u64) -> &mut [u8] {
        let slot = (self.writes % self.slots() as u64) as usize;
        self.stamped(slot, offset)
    }

    /// Address and length in bytes of a slot, for the asynchronous interfaces.
    pub fn address(&self, slot: usize) -> (u64, u32) {
        (self.memory as u64 + (slot * self.stride()) as u64, self.slot_bytes as u32)
    }

    /// Address and length of the whole region, for registration with the kernel.
    pub fn region(&self) -> (u64, usize) {
        (self.memory as u64, self.length)
    }
}

impl Drop for Buffers {
    #[expect(unsafe_code, reason = "releases the mapping")]
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this length, and no borrow of it outlives
        // `self`.
        let _ = unsafe { munmap(self.memory.cast(), self.length) };
    }
}

/// Writes the number and the offset into each 4 KiB of a block.
#[inline]
fn stamp(block: &mut [u8], number: u64, offset: u64) {
    for (index, piece) in block.chunks_mut(PIECE).enumerate() {
        stamp_header(piece, number, offset + (index * PIECE) as u64);
    }
}

/// Fills memory with the given content; the memory must be zeroed.
pub fn fill(memory: &mut [u8], content: Content, generator: &mut Xoshiro256PlusPlus) {
    let random_bytes = match content {
        Content::Zero => return,
        Content::Random => PIECE,
        Content::Compressible(percent) => PIECE * usize::from(100 - percent.min(100)) / 100,
    };
    for piece in memory.chunks_mut(PIECE) {
        let random_bytes = random_bytes.min(piece.len());
        generator.fill_bytes(&mut piece[..random_bytes]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::random::generator;
    use workload::{Dedupe, DedupeSource};

    fn buffers(slots: usize, slot_bytes: usize, content: Content) -> Buffers {
        Buffers::new(slots, slot_bytes, content, &mut generator(1, 0)).unwrap()
    }

    #[test]
    fn no_two_pieces_of_two_writes_are_alike() {
        let mut buffers = buffers(2, 16384, Content::Random);
        let mut seen = std::collections::HashSet::new();
        for write in 0..6 {
            let block = buffers.next_stamped(write % 2 * 16384).to_vec();
            for piece in block.chunks(PIECE) {
                assert!(seen.insert(piece.to_vec()), "write {write} repeats a piece");
            }
        }
    }

    #[test]
    fn a_stamp_tells_number_and_offset() {
        let mut buffers = buffers(1, 8192, Content::Random);
        buffers.next_stamped(0);
        let block = buffers.next_stamped(40960);
        assert_eq!(block[..8], 1u64.to_le_bytes());
        assert_eq!(block[8..16], 40960u64.to_le_bytes());
        assert_eq!(block[PIECE + 8..PIECE + 16], 45056u64.to_le_bytes());
    }

    #[test]
    fn contents_compress_as_asked() {
        let zeros = |content| {
            let mut buffers = buffers(1, 1 << 20, content);
            let block = buffers.next_stamped(0);
            block.iter().filter(|&&byte| byte == 0).count() as f64 / block.len() as f64
        };
        assert!((zeros(Content::Zero) - 1.0).abs() < f64::EPSILON);
        assert!(zeros(Content::Random) < 0.01);
        assert!((zeros(Content::Compressible(70)) - 0.70).abs() < 0.02);
    }

    #[test]
    fn duplicates_are_equal_in_every_byte_and_compress_as_asked() {
        let dedupe =
            Dedupe { percent: 50, source: DedupeSource::Previous, first_job: 0, shared_jobs: 0 };
        let contents = BlockContents::new(dedupe, 0, 100, generator(1, 0));
        let mut buffers = buffers(2, 8192, Content::Compressible(50)).with_duplicates(contents);
        let mut seen = std::collections::HashSet::new();
        let repeated = (0..1000).filter(|write| {
            let block = buffers.next_stamped(write * 8192);
            assert!(block[2048..4096].iter().chain(&block[6144..]).all(|&byte| byte == 0));
            !seen.insert(block.to_vec())
        });
        assert!((430..570).contains(&repeated.count()));
    }

    #[test]
    fn odd_sizes_are_aligned_and_whole() {
        let mut buffers = buffers(3, 2300, Content::Random);
        assert_eq!(buffers.slots(), 3);
        assert_eq!(buffers.next_stamped(0).len(), 2300);
        assert_eq!(buffers.address(1).0 % PIECE as u64, 0);
    }
}
