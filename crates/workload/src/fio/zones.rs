//! Options about zones: `zonemode` and what belongs to it.

use super::section::Section;
use super::value;
use crate::blocks::Workload;
use crate::pattern::Operation;
use crate::plan::PlanError;
use crate::size::format_bytes;
use crate::zones::{ZoneCollection, Zoning};

/// A value of `zonemode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZoneMode {
    /// Zones are ignored.
    None,
    /// Each zone is accessed sequentially, with gaps between them.
    Strided,
    /// Writes go to the write pointers of zones.
    Zoned,
}

/// Options that have a meaning with `zonemode=zbd` only.
const LIMITS: [&str; 2] = ["max_open_zones", "job_max_open_zones"];

impl Section {
    /// # Errors
    /// Fails if the value is invalid.
    pub fn zone_mode(&self) -> Result<ZoneMode, PlanError> {
        let mode = self.read("zonemode", "one of none, strided, zbd", |mode| match mode {
            "none" => Some(ZoneMode::None),
            "strided" => Some(ZoneMode::Strided),
            "zbd" => Some(ZoneMode::Zoned),
            _ => None,
        })?;
        Ok(mode.unwrap_or(ZoneMode::None))
    }

    /// Parses a number of bytes, or of zones if `zonesize` is set.
    pub fn bytes_or_zones(&self, text: &str) -> Option<u64> {
        let Some(zones) = text.strip_suffix(['z', 'Z']) else { return value::number(text) };
        let zone_bytes = self.read("zonesize", "", value::number).ok().flatten()?;
        zones.parse::<u64>().ok()?.checked_mul(zone_bytes)
    }

    /// The use of zones by a workload.
    ///
    /// # Errors
    /// Fails if a value is invalid, or if the workload cannot respect zones.
    pub fn zoning(&self, workload: &Workload) -> Result<Option<Zoning>, PlanError> {
        let takes = "a multiple of 512 B, from 512";
        let zone_bytes = self.read("zonesize", takes, |text| {
            value::number(text).filter(|&bytes| bytes >= 512 && bytes.is_multiple_of(512))
        })?;
        let [max_open, job_max_open] = LIMITS.map(|key| self.whole(key, 0, 4096));
        let limited =
            |zones: Option<u64>| zones.filter(|&zones| zones > 0).map(|zones| zones as u32);
        let share = |key| {
            self.read(key, "a number from 0 to 1", |text| {
                text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share))
            })
        };
        let threshold = share("zone_reset_threshold")?.unwrap_or(0.0);
        let frequency = share("zone_reset_frequency")?.filter(|&frequency| frequency > 0.0);
        let zoning = Zoning {
            zone_bytes,
            max_open: limited(max_open?),
            job_max_open: limited(job_max_open?),
            ignore_drive_limit: self.flag("ignore_zone_limits")?.unwrap_or(false),
            read_beyond_write_pointer: self.flag("read_beyond_wp")?.unwrap_or(false),
            collection: frequency
                .filter(|_| workload.pattern.writes())
                .map(|frequency| ZoneCollection { threshold, frequency }),
        };
        if self.zone_mode()? != ZoneMode::Zoned {
            return Ok(None);
        }
        self.expect_zonable(workload, &zoning)?;
        Ok(Some(zoning))
    }

    fn expect_zonable(&self, workload: &Workload, zoning: &Zoning) -> Result<(), PlanError> {
        let wrong = |key: &str, because: &str| Err(self.wrong(key, &format!("{key}: {because}")));
        let skipped = self.read("zoneskip", "a size", |text| self.bytes_or_zones(text))?;
        let ranged = self.read("zonerange", "a size", value::number)?;
        let transfers = workload.pattern.operation() == Operation::Transfer;
        if !transfers && !workload.pattern.trims() {
            return wrong("zonemode", "zbd requires reads, writes or trims of blocks");
        }
        if workload.order.skip_bytes().is_some() {
            return wrong("rw", "zonemode=zbd accesses the blocks of a zone without gaps");
        }
        if skipped.is_some_and(|bytes| bytes > 0) {
            return wrong("zoneskip", "must be 0 with zonemode=zbd, which uses every zone");
        }
        if ranged.is_some() && ranged != zoning.zone_bytes {
            return wrong("zonerange", "must be the same as zonesize with zonemode=zbd");
        }
        if workload.files.per_job > 1 {
            return wrong("zonemode", "zbd uses the zones of a single file; use nrfiles=1");
        }
        if zoning.zone_bytes.is_some_and(|bytes| bytes < u64::from(workload.largest_bytes())) {
            let block = format_bytes(workload.largest_bytes().into());
            return wrong("zonesize", &format!("must not be smaller than a block, {block}"));
        }
        if workload.pattern.trims() && workload.sizes.is_some() {
            let key = if self.has("bssplit") { "bssplit" } else { "bsrange" };
            return wrong(key, "a trim with zonemode=zbd resets a zone; use one bs, the zonesize");
        }
        Ok(())
    }
}
