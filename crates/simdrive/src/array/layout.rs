//! Where the bytes of an array lie on its members.

use catalogue::model::Level;

/// A range on one member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Which member.
    pub member: usize,
    /// Where on it.
    pub offset: u64,
    /// How much.
    pub bytes: u64,
    /// Where in the array, for data.
    pub array_offset: u64,
}

/// The layout of an array: chunks go round the members; parity moves by one member a stripe (md's left-symmetric).
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// How the members share the work.
    pub level: Level,
    /// How many.
    pub members: usize,
    /// Bytes on one member before the next follows.
    pub chunk: u64,
}

impl Layout {
    /// Members that hold parity in each stripe.
    pub const fn parities(&self) -> usize {
        match self.level {
            Level::Raid0 | Level::Raid1 => 0,
            Level::Raid5 => 1,
            Level::Raid6 => 2,
        }
    }

    /// Bytes of data in a stripe.
    pub const fn stripe_bytes(&self) -> u64 {
        match self.level {
            Level::Raid1 => self.chunk,
            _ => self.chunk * (self.members - self.parities()) as u64,
        }
    }

    /// Bytes that the array holds when each member holds so many.
    pub const fn capacity(&self, member_bytes: u64) -> u64 {
        member_bytes / self.chunk * self.stripe_bytes()
    }

    /// The member that holds a stripe's parity of this number.
    pub const fn parity_member(&self, stripe: u64, parity: usize) -> usize {
        let last = self.members - 1;
        (last - (stripe % self.members as u64) as usize + parity) % self.members
    }

    /// The data of a range within one stripe, chunk by chunk.
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
            pieces.push(Piece { member, offset: stripe * self.chunk + in_chunk, bytes, array_offset: at });
            at += bytes;
        }
        pieces
    }

    /// The range of each parity chunk that belongs to a range of data within one stripe.
    pub fn parity(&self, offset: u64, bytes: u64) -> Vec<Piece> {
        let stripe = offset / self.stripe_bytes();
        let first = offset % self.stripe_bytes();
        let last = first + bytes - 1;
        let (start, bytes) =
            if first / self.chunk == last / self.chunk { (first % self.chunk, bytes) } else { (0, self.chunk) };
        (0..self.parities())
            .map(|parity| Piece {
                member: self.parity_member(stripe, parity),
                offset: stripe * self.chunk + start,
                bytes,
                array_offset: offset,
            })
            .collect()
    }

    /// A range cut at the ends of stripes.
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
        let level = prop::sample::select(vec![Level::Raid0, Level::Raid1, Level::Raid5, Level::Raid6]);
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
}
