//! The mapping of an array's bytes to its members.

use catalogue::model::Level;

/// A range on one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub member: usize,
    /// Offset on the member, in bytes.
    pub offset: u64,
    pub bytes: u64,
    /// Offset in the array, for data.
    pub array_offset: u64,
}

/// The layout of an array: chunks rotate over the members; parity moves by one member per stripe
/// (md's left-symmetric).
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub level: Level,
    pub members: usize,
    /// Chunk size: bytes on one member before the next follows.
    pub chunk: u64,
}

impl Layout {
    /// Number of parity members per stripe.
    pub const fn parities(&self) -> usize {
        match self.level {
            Level::Raid0 | Level::Raid1 => 0,
            Level::Raid5 => 1,
            Level::Raid6 => 2,
        }
    }

    /// Bytes of data per stripe.
    pub const fn stripe_bytes(&self) -> u64 {
        match self.level {
            Level::Raid1 => self.chunk,
            _ => self.chunk * (self.members - self.parities()) as u64,
        }
    }

    /// Capacity of the array for a given capacity of each member, in bytes.
    pub const fn capacity(&self, member_bytes: u64) -> u64 {
        member_bytes / self.chunk * self.stripe_bytes()
    }

    /// The member with a given parity of a stripe.
    pub const fn parity_member(&self, stripe: u64, parity: usize) -> usize {
        let last = self.members - 1;
        (last - (stripe % self.members as u64) as usize + parity) % self.members
    }

    /// The chunks of a range within one stripe.
    pub fn data(&self, offset: u64, bytes: u64) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let stripe = at / self.stripe_bytes();
            let within = at % self.stripe_bytes();
            let index = (within / self.chunk) as usize;
            let in_chunk = within % self.chunk;
            let bytes = (end - at).min(self.chunk - in_chunk);
            let member = match self.level {
                Level::Raid0 => index,
                Level::Raid1 => 0,
                Level::Raid5 | Level::Raid6 => {
                    (self.parity_member(stripe, self.parities() - 1) + 1 + index) % self.members
                }
            };
            pieces.push(Piece {
                member,
                offset: stripe * self.chunk + in_chunk,
                bytes,
                array_offset: at,
            });
            at += bytes;
        }
        pieces
    }

    /// The range of each parity chunk that corresponds to a data range within one stripe.
    pub fn parity(&self, offset: u64, bytes: u64) -> Vec<Piece> {
        let stripe = offset / self.stripe_bytes();
        let first = offset % self.stripe_bytes();
        let last = first + bytes - 1;
        let (start, bytes) = if first / self.chunk == last / self.chunk {
            (first % self.chunk, bytes)
        } else {
            (0, self.chunk)
        };
        (0..self.parities())
            .map(|parity| Piece {
                member: self.parity_member(stripe, parity),
                offset: stripe * self.chunk + start,
                bytes,
                array_offset: offset,
            })
            .collect()
    }

    /// Splits a range at stripe boundaries.
    pub fn by_stripe(&self, offset: u64, bytes: u64) -> Vec<(u64, u64)> {
        let mut ranges = Vec::new();
        let (mut at, end) = (offset, offset + bytes);
        while at < end {
            let stripe_end = (at / self.stripe_bytes() + 1) * self.stripe_bytes();
            ranges.push((at, end.min(stripe_end) - at));
            at = end.min(stripe_end);
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn layouts() -> impl Strategy<Value = Layout> {
        let level =
            prop::sample::select(vec![Level::Raid0, Level::Raid1, Level::Raid5, Level::Raid6]);
        (level, 4usize..7).prop_map(|(level, members)| Layout { level, members, chunk: 65536 })
    }

    proptest! {
        #[test]
        fn no_two_bytes_share_a_place(layout in layouts(), stripe in 0u64..50) {
            let start = stripe * layout.stripe_bytes();
            let mut pieces = layout.data(start, layout.stripe_bytes());
            pieces.extend(layout.parity(start, layout.stripe_bytes()));
            for (index, one) in pieces.iter().enumerate() {
                prop_assert_eq!(one.offset / layout.chunk, stripe);
                prop_assert!(pieces[index + 1..].iter().all(|other| other.member != one.member));
            }
            let bytes: u64 = pieces.iter().map(|piece| piece.bytes).sum();
            let on = if layout.level == Level::Raid1 { 1 } else { layout.members as u64 };
            prop_assert_eq!(bytes, layout.chunk * on);
        }

        #[test]
        fn a_range_is_covered_once(layout in layouts(), offset in 0u64..10_000, sectors in 1u64..3000) {
            let (offset, bytes) = (offset * 512, sectors * 512);
            let mut at = offset;
            for (start, length) in layout.by_stripe(offset, bytes) {
                for piece in layout.data(start, length) {
                    prop_assert_eq!(piece.array_offset, at);
                    at += piece.bytes;
                }
            }
            prop_assert_eq!(at, offset + bytes);
        }
    }

    /// The data members of each stripe, and its parity members.
    fn places(layout: Layout, stripes: u64) -> Vec<(Vec<usize>, Vec<usize>)> {
        let members = |pieces: Vec<Piece>| pieces.iter().map(|piece| piece.member).collect();
        let of = |stripe| {
            let (start, bytes) = (stripe * layout.stripe_bytes(), layout.stripe_bytes());
            (members(layout.data(start, bytes)), members(layout.parity(start, bytes)))
        };
        (0..stripes).map(of).collect()
    }

    #[test]
    fn parity_moves_as_in_the_kernel_s_default_layout() {
        // ALGORITHM_LEFT_SYMMETRIC of drivers/md/raid5.c: P is on the last member minus the stripe
        // number, Q after it, data after these.
        let raid5 = Layout { level: Level::Raid5, members: 3, chunk: 4096 };
        assert_eq!(
            places(raid5, 4),
            [
                (vec![0, 1], vec![2]),
                (vec![2, 0], vec![1]),
                (vec![1, 2], vec![0]),
                (vec![0, 1], vec![2]),
            ]
        );
        let raid6 = Layout { level: Level::Raid6, ..raid5 };
        let raid6 = Layout { members: 4, ..raid6 };
        assert_eq!(
            places(raid6, 4),
            [
                (vec![1, 2], vec![3, 0]),
                (vec![0, 1], vec![2, 3]),
                (vec![3, 0], vec![1, 2]),
                (vec![2, 3], vec![0, 1]),
            ]
        );
        assert_eq!(places(Layout { level: Level::Raid0, ..raid5 }, 1), [(vec![0, 1, 2], vec![])]);
        assert_eq!(places(Layout { level: Level::Raid1, ..raid5 }, 1), [(vec![0], vec![])]);
    }

    #[test]
    fn an_array_holds_whole_chunks_of_its_members_but_the_parity() {
        // Two chunks of each member, and part of a third.
        let capacity =
            |level| Layout { level, members: 4, chunk: 4096 }.capacity(3 * 4096 - 512) / 4096;
        assert_eq!(
            [Level::Raid0, Level::Raid1, Level::Raid5, Level::Raid6].map(capacity),
            [8, 2, 6, 4]
        );
    }

    #[test]
    fn parity_covers_what_changes_of_its_chunk() {
        let layout = Layout { level: Level::Raid5, members: 3, chunk: 4096 };
        let parity = |offset, bytes| {
            let piece = layout.parity(offset, bytes)[0];
            (piece.member, piece.offset, piece.bytes, piece.array_offset)
        };
        // Within a chunk of the second stripe, up to its end, and past it.
        assert_eq!(parity(8192 + 512, 1024), (1, 4096 + 512, 1024, 8192 + 512));
        assert_eq!(
            parity(8192 + 4096 + 512, 4096 - 512),
            (1, 4096 + 512, 4096 - 512, 8192 + 4096 + 512)
        );
        assert_eq!(parity(8192 + 3584, 1024), (1, 4096, 4096, 8192 + 3584));
        let pieces = layout.data(8192 + 3584, 1024);
        let piece =
            |member, offset, array_offset| Piece { member, offset, bytes: 512, array_offset };
        assert_eq!(pieces, [piece(2, 4096 + 3584, 8192 + 3584), piece(0, 4096, 8192 + 4096)]);
        assert_eq!(
            layout.by_stripe(8192 - 512, 8192 + 1024),
            [(7680, 512), (8192, 8192), (16384, 512)]
        );
    }
}
