//! The content of a sector after its header: a pure function of run, address and version.
//!
//! It can be recreated from these three numbers, in pieces of 64 bytes, so that the origin of every
//! misplaced piece can be found. It does not compress and no two sectors are equal, so a drive with
//! compression or deduplication has to write all of it.

use crate::mix;

/// Size of a piece whose origin can be found.
pub(crate) const CHUNK_BYTES: usize = 64;
/// The payload is generated in words of this size.
pub(crate) const WORD_BYTES: usize = 8;
const WORDS: u64 = (CHUNK_BYTES / WORD_BYTES) as u64;

/// The payload of one version of one sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payload(u64);

impl Payload {
    #[inline]
    pub fn new(run_id: u64, address_bytes: u64, version: u32) -> Payload {
        Payload(mix::key([run_id, address_bytes, u64::from(version)]))
    }

    /// Word `word` of chunk `chunk`. The header is chunk 0, so the payload begins with chunk 1.
    #[inline]
    pub fn word(self, chunk: usize, word: usize) -> u64 {
        mix::mix(self.0, chunk as u64 * WORDS + word as u64)
    }

    pub fn chunk(self, chunk: usize) -> [u8; CHUNK_BYTES] {
        let mut bytes = [0; CHUNK_BYTES];
        for (word, place) in bytes.chunks_exact_mut(WORD_BYTES).enumerate() {
            place.copy_from_slice(&self.word(chunk, word).to_le_bytes());
        }
        bytes
    }

    /// Fills a sector after its header.
    pub fn fill(self, body: &mut [u8]) {
        for (index, place) in body.chunks_exact_mut(WORD_BYTES).enumerate() {
            place.copy_from_slice(&mix::mix(self.0, WORDS + index as u64).to_le_bytes());
        }
    }

    /// Returns whether a sector's body is this payload.
    pub fn is(self, body: &[u8]) -> bool {
        let mut difference = 0;
        for (index, place) in body.chunks_exact(WORD_BYTES).enumerate() {
            let mut word = [0; WORD_BYTES];
            word.copy_from_slice(place);
            difference |= u64::from_le_bytes(word) ^ mix::mix(self.0, WORDS + index as u64);
        }
        difference == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_payload_is_mixed() {
        // Computed independently of this code, from the key of run, address and version.
        let payload = Payload::new(7, 4096, 3);
        assert_eq!(
            (payload.word(1, 0), payload.word(2, 5)),
            (0xd8fa_a55a_e53e_4618, 0x9602_9f56_e05d_ee4d)
        );
        let mut body = [0; 2 * CHUNK_BYTES];
        payload.fill(&mut body);
        assert_eq!(body[..WORD_BYTES], 0xd8fa_a55a_e53e_4618_u64.to_le_bytes());
        assert_eq!(
            body[CHUNK_BYTES + 5 * WORD_BYTES..][..WORD_BYTES],
            0x9602_9f56_e05d_ee4d_u64.to_le_bytes()
        );
    }

    #[test]
    fn a_chunk_made_alone_is_the_chunk_of_the_whole() {
        let payload = Payload::new(1, 4096, 3);
        let mut body = [0; 4096 - CHUNK_BYTES];
        payload.fill(&mut body);
        assert!(payload.is(&body));
        for (index, chunk) in body.chunks_exact(CHUNK_BYTES).enumerate() {
            assert_eq!(chunk, payload.chunk(index + 1));
        }
        body[1000] ^= 4;
        assert!(!payload.is(&body));
    }

    #[test]
    fn it_does_not_compress() {
        let mut body = vec![0; 1 << 20];
        Payload::new(7, 0, 0).fill(&mut body);
        let mut counts = [0u32; 256];
        body.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
        // Each byte value occurs about 4096 times, with a standard deviation of 64.
        assert!(counts.iter().all(|count| (3700..4500).contains(count)), "{counts:?}");
        let words: std::collections::HashSet<&[u8]> = body.chunks_exact(8).collect();
        assert_eq!(words.len(), body.len() / 8, "a repeated word could be compressed");
    }
}
