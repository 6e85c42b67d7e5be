//! The options of `sprandom`: random preconditioning in one pass.

use super::section::Section;
use crate::blocks::{Jobs, Workload};
use crate::order::BlockOrder;
use crate::pattern::Pattern;
use crate::plan::PlanError;
use crate::steady_fill::SteadyFill;

/// Options that would write other blocks than those of the pass, or more or fewer of them.
const REFUSED: [(&str, &str); 5] = [
    ("random_distribution", "the pass determines the order of the blocks; remove it"),
    ("io_size", "the pass determines the number of writes; remove it"),
    ("filesize", "a pass covers a whole file; set size instead"),
    ("ramp_time", "writes of a warm-up are not part of the pass; remove it"),
    ("latency_target", "writes of the search are not part of the pass; remove it"),
];

impl Section {
    /// The order of `sprandom`, if the section has it.
    ///
    /// # Errors
    /// Fails if a value is invalid, or another option contradicts the pass.
    pub(super) fn steady_fill(&self, workload: &Workload) -> Result<Option<BlockOrder>, PlanError> {
        let takes = "a number above 0 and below 1, such as 0.15";
        let over_provisioning = self.read("spr_op", takes, |text| {
            text.parse().ok().filter(|ratio| *ratio > 0.0 && *ratio < 1.0)
        })?;
        let regions = self.whole("spr_num_regions", 1, SteadyFill::REGIONS_MAX.into())?;
        if self.flag("sprandom")? != Some(true) {
            return Ok(None);
        }
        if workload.pattern != Pattern::RandWrite {
            return Err(self.wrong("sprandom", "sprandom: requires rw=randwrite"));
        }
        if let Some((key, because)) = REFUSED.iter().find(|(key, _)| self.has(key)) {
            return Err(self.wrong(key, &format!("{key}: with sprandom, {because}")));
        }
        // fio rejects both values.
        self.read("random_generator", "lfsr with sprandom", |text| (text == "lfsr").then_some(()))?;
        if self.flag("norandommap")? == Some(false) {
            let message = "norandommap: sprandom writes some blocks again; remove it";
            return Err(self.wrong("norandommap", message));
        }
        let several = if workload.jobs > Jobs::MIN {
            Some(("numjobs", "one job writes all of the pass; use numjobs=1"))
        } else if workload.files.per_job > 1 {
            Some(("nrfiles", "one file is written in a pass; use nrfiles=1"))
        } else if workload.sizes.is_some() {
            let keys = ["bssplit", "bsrange", "blockalign"];
            let key = keys.into_iter().find(|key| self.has(key)).unwrap_or("bs");
            Some((key, "all blocks have the same size and alignment; use one bs"))
        } else {
            None
        };
        if let Some((key, because)) = several {
            return Err(self.wrong(key, &format!("{key}: with sprandom, {because}")));
        }
        let default = SteadyFill::DEFAULT;
        Ok(Some(BlockOrder::SteadyFill(SteadyFill {
            over_provisioning: over_provisioning.unwrap_or(default.over_provisioning),
            regions: regions.map_or(default.regions, |regions| regions as u32),
        })))
    }
}
