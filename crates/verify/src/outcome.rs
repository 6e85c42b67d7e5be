//! The outcome of a cycle, and of all cycles so far.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::loss_bound::loss_per_cut_below;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub run_id: u64,
    pub result: CycleResult,
    /// True if only the user's statement shows that the power was cut.
    pub on_word: bool,
    /// Number of records that had to be there.
    pub obligations: u64,
    /// Number of these that are missing or damaged.
    pub broken: u64,
    /// The same counts by age of the acknowledgement.
    pub ages: Vec<AgeCount>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CycleResult {
    /// Everything that was promised is there.
    Kept,
    /// Something that was promised is missing or damaged.
    Fails,
    /// The cycle proves nothing.
    Void,
}

/// Obligations whose acknowledgement had this age when power was lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgeCount {
    /// The maximum age in milliseconds; `None` for all older ones.
    pub up_to_ms: Option<u32>,
    pub obligations: u64,
    /// Number of these that were broken.
    pub broken: u64,
}

/// The outcomes of all cycles.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    /// Cycles that lost nothing.
    pub clean: u32,
    /// The part of these for which only the user's statement shows that the power was cut.
    pub on_word: u32,
    /// Cycles that lost something.
    pub failed: u32,
    /// Cycles that prove nothing.
    pub void: u32,
    /// Cycles with acknowledged writes that were never judged. They may have been losses.
    pub unjudged: u32,
    /// Losses by age of the acknowledgement, over all cycles that were not void.
    pub ages: Vec<AgeCount>,
}

impl Standing {
    /// Counts one more verdict.
    pub fn count(&mut self, result: CycleResult, on_word: bool) {
        match result {
            CycleResult::Kept => {
                self.clean += 1;
                self.on_word += u32::from(on_word);
            }
            CycleResult::Fails => self.failed += 1,
            CycleResult::Void => self.void += 1,
        }
    }

    /// Upper bound of the probability of a loss per power cut, at 95 % confidence. There is none
    /// after a loss, without a clean cycle, or with an unjudged cycle: a check that never finished
    /// may have hidden a loss.
    pub fn bound(&self) -> Option<f64> {
        (self.clean > 0 && self.failed == 0 && self.unjudged == 0)
            .then(|| loss_per_cut_below(self.clean))
    }

    /// Returns whether every cycle was shown to have lost nothing.
    pub fn is_clean(&self) -> bool {
        self.failed == 0 && self.void == 0 && self.unjudged == 0
    }
}
