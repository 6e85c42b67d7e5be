//! Page-aligned memory, as direct I/O requires.

/// A page, which is at least any device's alignment.
const ALIGNMENT_BYTES: usize = 4096;

/// A block of memory that begins on a page boundary.
#[derive(Debug)]
pub(crate) struct AlignedBlock {
    memory: Vec<u8>,
    start: usize,
    length: usize,
}

impl AlignedBlock {
    /// A block of `length` zero bytes.
    pub(crate) fn new(length: usize) -> AlignedBlock {
        // Never grown, because that could move it.
        let memory = vec![0; length + ALIGNMENT_BYTES];
        let start = memory.as_ptr().align_offset(ALIGNMENT_BYTES).min(ALIGNMENT_BYTES);
        AlignedBlock { memory, start, length }
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.memory[self.start..self.start + self.length]
    }

    #[inline]
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned_and_has_its_length() {
        for length in [512, 4096, 1 << 20] {
            let mut block = AlignedBlock::new(length);
            assert_eq!(
                (block.bytes().as_ptr() as usize % 4096, block.bytes_mut().len()),
                (0, length)
            );
        }
    }
}
