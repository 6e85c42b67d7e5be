//! Block orders that a pattern alone does not express.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::steady_fill::SteadyFill;

/// fio's limit.
const SEQUENCE_MAX: usize = 64;

/// The difference between a block order and the pattern's default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockOrder {
    /// Plain: sequential, or uniformly random.
    #[default]
    Plain,
    /// Sequential, skipping this many bytes after each block. A negative number goes backwards.
    SkipBytes(i64),
    /// Sequential within zones, with a gap after each zone.
    Strided {
        /// Bytes of a zone, accessed one block after the other.
        zone_bytes: u64,
        /// Bytes skipped after each zone.
        skip_bytes: u64,
    },
    /// A fixed list of blocks instead of random ones, repeated.
    Sequence {
        /// Block numbers, counted from the start of the region.
        blocks: Vec<u64>,
        /// If set, each repetition is shifted by the length of the list.
        advances: bool,
    },
    /// Random: the nth most popular block is drawn 1/n^theta times as often as the first. Popular
    /// blocks are scattered.
    Zipf(f64),
    /// Random: a share `h` of the draws goes to a share `1 - h` of the blocks, and so on within
    /// each. Popular blocks are scattered.
    Pareto(f64),
    /// Random: adjacent zones, each with its share of the draws.
    Zones(Vec<Zone>),
    /// Random writes that bring a flash drive to its steady state in one pass.
    SteadyFill(SteadyFill),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Zone {
    /// Percentage of the draws.
    pub access_percent: u8,
    /// Percentage of the blocks.
    pub size_percent: u8,
}

impl BlockOrder {
    /// Returns `true` for [`BlockOrder::Plain`].
    pub fn is_plain(&self) -> bool {
        *self == BlockOrder::Plain
    }

    /// The number of operations of a pass over this many blocks, if a pass is not each block once.
    pub(crate) fn operations_of_pass(&self, blocks: u64) -> Option<u64> {
        match self {
            BlockOrder::SteadyFill(fill) => Some(fill.writes(blocks)),
            _ => None,
        }
    }

    /// The number of bytes skipped after each block, if this is [`BlockOrder::SkipBytes`].
    pub const fn skip_bytes(&self) -> Option<i64> {
        match self {
            BlockOrder::SkipBytes(bytes) => Some(*bytes),
            _ => None,
        }
    }

    /// The order in fio's notation.
    pub fn notation(&self) -> String {
        match self {
            BlockOrder::Plain => "plain".to_owned(),
            BlockOrder::SkipBytes(bytes) => format!("skip {bytes} B"),
            BlockOrder::Strided { zone_bytes, skip_bytes } => {
                format!("zones of {zone_bytes} B, skip {skip_bytes} B")
            }
            BlockOrder::Sequence { blocks, .. } => {
                let blocks: Vec<String> = blocks.iter().map(u64::to_string).collect();
                format!("sequence:{}", blocks.join(","))
            }
            BlockOrder::Zipf(theta) => format!("zipf:{theta}"),
            BlockOrder::Pareto(share) => format!("pareto:{share}"),
            BlockOrder::Zones(zones) => {
                let zone = |zone: &Zone| format!("{}/{}", zone.access_percent, zone.size_percent);
                format!("zoned:{}", zones.iter().map(zone).collect::<Vec<_>>().join(":"))
            }
            BlockOrder::SteadyFill(SteadyFill { over_provisioning, regions }) => {
                format!("sprandom, spr_op={over_provisioning}, spr_num_regions={regions}")
            }
        }
    }

    /// Parses a value of fio's `random_distribution`: `random`, `zipf:1.1`, `pareto:0.2`,
    /// `zoned:50/5:30/15:20/80`, `sequence:2,0,1`. Trailing zones without a share divide the
    /// remainder.
    pub fn from_distribution(text: &str) -> Option<BlockOrder> {
        let number = |value: &str| value.parse::<f64>().ok().filter(|number| number.is_finite());
        match text.split_once(':') {
            None if text == "random" => Some(BlockOrder::Plain),
            // As in fio: theta = 1 is excluded, where the closed form of the sum over 1/n^theta is
            // undefined.
            Some(("zipf", theta)) => number(theta)
                .filter(|&theta| theta > 0.0 && theta < 100.0 && (theta - 1.0).abs() > f64::EPSILON)
                .map(BlockOrder::Zipf),
            Some(("pareto", share)) => {
                number(share).filter(|&share| share > 0.0 && share < 1.0).map(BlockOrder::Pareto)
            }
            Some(("sequence", blocks)) => {
                let blocks: Option<Vec<u64>> =
                    blocks.split(',').map(|block| block.parse().ok()).collect();
                let blocks = blocks.filter(|blocks| blocks.len() <= SEQUENCE_MAX)?;
                Some(BlockOrder::Sequence { blocks, advances: false })
            }
            Some(("zoned", zones)) => Zone::list(zones).map(BlockOrder::Zones),
            _ => None,
        }
    }
}

impl Zone {
    /// Parses zones that together cover all draws and all blocks.
    fn list(text: &str) -> Option<Vec<Zone>> {
        let percent = |text: &str| text.parse::<u8>().ok().filter(|percent| *percent <= 100);
        let mut parts: Vec<(u8, Option<u8>)> = Vec::new();
        for part in text.split(':') {
            let (access, size) = part.split_once('/')?;
            let size = if size.is_empty() { None } else { Some(percent(size)?) };
            parts.push((percent(access)?, size));
        }
        let given: u32 = parts.iter().filter_map(|(_, size)| *size).map(u32::from).sum();
        let missing = parts.iter().filter(|(_, size)| size.is_none()).count() as u32;
        let left = 100u32.checked_sub(given)?;
        let each = left.checked_div(missing).unwrap_or(0);
        let zone = |(access_percent, size): &(u8, Option<u8>)| Zone {
            access_percent: *access_percent,
            size_percent: size.unwrap_or(each as u8),
        };
        let zones: Vec<Zone> = parts.iter().map(zone).collect();
        let sum =
            |share: fn(&Zone) -> u8| zones.iter().map(|zone| u32::from(share(zone))).sum::<u32>();
        let whole = sum(|zone| zone.access_percent) == 100 && sum(|zone| zone.size_percent) == 100;
        // A zone with a share of the draws needs blocks.
        let empty = zones.iter().any(|zone| zone.size_percent == 0 && zone.access_percent > 0);
        (whole && !empty).then_some(zones)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_are_read_and_written_back() {
        for text in ["zipf:1.2", "pareto:0.9", "zoned:50/5:30/15:20/80", "sequence:2,0,1"] {
            assert_eq!(BlockOrder::from_distribution(text).unwrap().notation(), text);
        }
        assert_eq!(BlockOrder::from_distribution("random"), Some(BlockOrder::Plain));
        let left_out = BlockOrder::from_distribution("zoned:50/5:30/15:20/").unwrap();
        assert_eq!(left_out.notation(), "zoned:50/5:30/15:20/80");
        let shared = BlockOrder::from_distribution("zoned:40/10:30/:30/").unwrap();
        assert_eq!(shared.notation(), "zoned:40/10:30/45:30/45");
        // A zone can receive no draws, or all of them.
        assert!(BlockOrder::from_distribution("zoned:0/50:100/50").is_some());
        let sequence = |blocks: usize| format!("sequence:{}", vec!["1"; blocks].join(","));
        assert!(BlockOrder::from_distribution(&sequence(64)).is_some());
        for wrong in [
            &sequence(65),
            "normal",
            "zipf:0",
            "zipf:100",
            "zipf:nan",
            "pareto:0",
            "zoned:100/0:0/100",
            "zoned:50/60:50/60",
            "zoned:50/30:40/70",
            "zipf",
            "sequence:",
            "sequence:1,x",
            "zipf:1",
            "zipf:-1",
            "pareto:1",
            "zoned:50/5",
            "zoned:50/50:50/0",
            "zoned:",
            "zoned:300/50:1/50",
        ] {
            assert_eq!(BlockOrder::from_distribution(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn an_order_says_what_it_skips() {
        let strided = BlockOrder::Strided { zone_bytes: 8192, skip_bytes: 512 };
        for (order, notation, skip) in [
            (BlockOrder::Plain, "plain", None),
            (BlockOrder::SkipBytes(-8192), "skip -8192 B", Some(-8192)),
            (strided, "zones of 8192 B, skip 512 B", None),
        ] {
            assert_eq!((order.notation().as_str(), order.skip_bytes()), (notation, skip));
            assert_eq!(order.is_plain(), order == BlockOrder::default());
        }
    }
}
