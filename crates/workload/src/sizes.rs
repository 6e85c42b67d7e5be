//! Mixed block sizes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::size::format_bytes;

/// The sizes of reads and writes, with their weights. Each list has at least one entry with a
/// weight above 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockSizes {
    /// Random blocks begin on multiples of this many bytes.
    pub align_bytes: u32,
    /// The direction whose blocks begin on multiples of more bytes; `null`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coarse: Option<CoarseAlignment>,
    pub reads: Vec<SizeShare>,
    pub writes: Vec<SizeShare>,
}

/// The alignment of the reads, or of the writes, where the other direction has a finer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoarseAlignment {
    /// `true` for reads, `false` for writes.
    pub reads: bool,
    /// Random blocks of this direction begin on multiples of this many bytes, which is a multiple
    /// of the other alignment.
    pub bytes: u32,
}

/// One of several block sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeShare {
    /// Bytes of one read or write.
    pub bytes: u32,
    /// Relative frequency, compared with the weights of the other sizes.
    pub weight: u32,
}

impl BlockSizes {
    fn all(&self) -> impl Iterator<Item = &SizeShare> {
        self.reads.iter().chain(&self.writes)
    }

    /// The largest size of reads and writes.
    pub fn largest_bytes(&self) -> u32 {
        self.all().map(|share| share.bytes).max().unwrap_or(self.align_bytes)
    }

    /// Returns `true` if every size, and the alignment, is a multiple of `bytes`.
    pub fn are_multiples_of(&self, bytes: u64) -> bool {
        self.all()
            .map(|share| share.bytes)
            .chain([self.align_bytes])
            .all(|size| u64::from(size) % bytes == 0)
    }

    /// The mean size when this percentage of the operations are reads.
    pub fn mean_bytes(&self, read_percent: u8) -> f64 {
        let mean = |shares: &[SizeShare]| {
            let weight: f64 = shares.iter().map(|share| f64::from(share.weight)).sum();
            shares.iter().map(|share| f64::from(share.bytes) * f64::from(share.weight)).sum::<f64>()
                / weight.max(1.0)
        };
        let reads = f64::from(read_percent) / 100.0;
        mean(&self.reads) * reads + mean(&self.writes) * (1.0 - reads)
    }

    /// The sizes in the notation of fio's `bssplit`: those of reads, a comma, those of writes.
    /// Percentages are rounded.
    pub fn notation(&self) -> String {
        let list = |shares: &[SizeShare]| {
            let weight: u32 = shares.iter().map(|share| share.weight).sum();
            let percent = |share: &SizeShare| {
                (f64::from(share.weight) * 100.0 / f64::from(weight.max(1))).round()
            };
            let shares = shares.iter().map(|share| format!("{}/{}", share.bytes, percent(share)));
            shares.collect::<Vec<_>>().join(":")
        };
        if self.reads == self.writes {
            list(&self.reads)
        } else {
            format!("{},{}", list(&self.reads), list(&self.writes))
        }
    }

    /// The range of sizes, such as `512 B to 64 KiB`.
    pub fn title(&self) -> String {
        let least = self.all().map(|share| share.bytes).min().unwrap_or(0);
        format!(
            "{} to {}",
            format_bytes(u64::from(least)),
            format_bytes(u64::from(self.largest_bytes()))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_weighs_sizes_and_directions() {
        let share = |bytes, weight| SizeShare { bytes, weight };
        let sizes = BlockSizes {
            align_bytes: 4096,
            coarse: None,
            reads: vec![share(4096, 3), share(8192, 1)],
            writes: vec![share(65536, 1)],
        };
        assert!((sizes.mean_bytes(100) - 5120.0).abs() < 1e-6);
        assert!((sizes.mean_bytes(50) - 35328.0).abs() < 1e-6);
        assert_eq!(sizes.notation(), "4096/75:8192/25,65536/100");
        assert_eq!((sizes.largest_bytes(), sizes.title().as_str()), (65536, "4 KiB to 64 KiB"));
        assert!(sizes.are_multiples_of(4096) && !sizes.are_multiples_of(8192));
    }
}
