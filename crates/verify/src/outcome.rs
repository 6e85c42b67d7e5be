//! What became of a cycle, and of all cycles so far.

use crate::bound::loss_per_cut_below;

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Which.
    pub run_id: u64,
    /// In one word.
    pub result: CycleResult,
    /// Whether nothing but a person's word shows that the power was cut.
    pub on_word: bool,
    /// Records that had to be there.
    pub obligations: u64,
    /// Records of these that were not as they must be.
    pub broken: u64,
    /// By how old the acknowledgement was.
    pub ages: Vec<AgeCount>,
}

/// How a cycle ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CycleResult {
    /// Everything that was promised is there.
    Kept,
    /// Something is not.
    Fails,
    /// It proves nothing.
    Void,
}

/// Obligations whose acknowledgement was this old when the power went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct AgeCount {
    /// At most so old, in milliseconds; `None` for all that is older.
    pub up_to_ms: Option<u32>,
    /// How many.
    pub obligations: u64,
    /// How many of them were broken.
    pub broken: u64,
}

/// How all cycles went.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Standing {
    /// Cycles that lost nothing.
    pub clean: u32,
    /// Of these, such of which a person's word alone says that the power was cut.
    pub on_word: u32,
    /// Cycles that lost something.
    pub failed: u32,
    /// Cycles that prove nothing.
    pub void: u32,
    /// Cycles in which something was acknowledged, and which nobody judged: what would have been found may have been a loss.
    pub unjudged: u32,
    /// Of all that were not void: what was lost, by how old its acknowledgement was.
    pub ages: Vec<AgeCount>,
}

impl Standing {
    /// One more verdict.
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

    /// With 95 % confidence, the chance of a loss in one cut is below this. Nothing is below anything after a loss, without a clean cycle, or while a cycle is not judged: a check that never
    /// ended may be what the loss looked like.
    pub fn bound(&self) -> Option<f64> {
        (self.clean > 0 && self.failed == 0 && self.unjudged == 0).then(|| loss_per_cut_below(self.clean))
    }

    /// Whether every cycle that was written lost nothing, and was shown to.
    pub fn is_clean(&self) -> bool {
        self.failed == 0 && self.void == 0 && self.unjudged == 0
    }
}
