//! The targets for our sort.

/// Minimum ratios of a peer's time to ours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Target {
    /// Compared with the fastest peer.
    pub fastest: Option<f64>,
    /// Compared with std's `sort_unstable`.
    pub std: f64,
}

/// The data sets with separate targets.
pub const NAMED: [&str; 9] = [
    "urls", "composite-text", "composite-binary", "prefix-48", "genome", "ascii", "words",
    "uniform-8", "uniform-16",
];

/// The targets of a data set. std's sort must not be the better choice on any.
pub fn of(data: &str) -> Target {
    match data {
        "urls" | "composite-text" | "composite-binary" => Target { fastest: Some(1.5), std: 3.0 },
        "prefix-48" | "genome" => Target { fastest: Some(1.5), std: 1.0 },
        "ascii" | "words" => Target { fastest: Some(1.1), std: 1.0 },
        "uniform-8" | "uniform-16" => Target { fastest: Some(0.9), std: 1.0 },
        _ => Target { fastest: None, std: 1.0 },
    }
}

impl Target {
    pub fn wanted(self) -> String {
        match self.fastest {
            Some(fastest) => format!("{fastest} std {}", self.std),
            None => format!("std {}", self.std),
        }
    }

    /// True if both ratios reach their target.
    pub fn is_met(self, fastest: f64, std: f64) -> bool {
        self.fastest.is_none_or(|wanted| fastest >= wanted) && std >= self.std
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_only_if_both_ratios_reach_it() {
        let urls = of("urls");
        assert!(urls.is_met(1.5, 3.0));
        assert!(!urls.is_met(1.49, 3.0));
        assert!(!urls.is_met(1.5, 2.9));
        assert_eq!(urls.wanted(), "1.5 std 3");
        // If only std is named, another peer may be faster.
        assert!(of("equal").is_met(0.1, 1.0));
        assert_eq!(of("equal").wanted(), "std 1");
    }

    #[test]
    fn named_data_sets_have_separate_targets() {
        assert!(NAMED.iter().all(|named| of(named).fastest.is_some()));
        assert!(of("any other").fastest.is_none());
    }
}
